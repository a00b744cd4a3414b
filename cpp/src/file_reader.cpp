// Reading index files. The head is checked to the last count before anything is built from it; the parts are only looked
// at when their checksum is asked for, and otherwise when a search needs them.
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "file_bytes.hpp"
#include "file_directory.hpp"
#include "file_layout.hpp"
#include "pubmatch/checksum.hpp"
#include "pubmatch/error.hpp"
#include "pubmatch/file_format.hpp"

namespace pubmatch {

namespace {

using Bytes = std::span<const std::byte>;

void expect(bool right, const std::string& otherwise) {
  if (!right) throw FormatError(otherwise);
}

[[noreturn]] void truncated(std::uint64_t there, std::uint64_t needed) {
  throw FormatError("truncated: " + std::to_string(there) + " of " + std::to_string(needed) + " bytes");
}

// The header, of a file that is as long as it says, with sections that lie inside.
FileHeader read_header(Bytes file) {
  expect(!file.empty(), "not a pubmatch index file: it is empty");
  const std::size_t magic_bytes = std::min(file.size(), kFileMagic.size());
  expect(std::memcmp(file.data(), kFileMagic.data(), magic_bytes) == 0, "not a pubmatch index file");
  FileHeader header{};
  std::memcpy(&header, file.data(), std::min(file.size(), sizeof header));
  if (file.size() >= offsetof(FileHeader, header_bytes)) {
    expect(header.format <= kFileFormat, "written by a newer release (format " + std::to_string(header.format) +
                                             "; this one reads " + std::to_string(kFileFormat) + ")");
    expect(header.format == kFileFormat, "unknown format " + std::to_string(header.format));
  }
  if (file.size() < sizeof header) truncated(file.size(), sizeof header);
  expect(header.header_bytes == sizeof header,
         "impossible header of " + std::to_string(header.header_bytes) + " bytes");
  if (file.size() < header.file_bytes) truncated(file.size(), header.file_bytes);
  expect(file.size() == header.file_bytes,
         "too long: " + std::to_string(file.size()) + " instead of " + std::to_string(header.file_bytes) + " bytes");
  const std::uint64_t most = file.size();
  expect(header.cuts_bytes <= most && header.tuner_bytes <= most && header.active_bytes <= most &&
             header.node_count <= most / sizeof(NodeRecord) && FileSections(header).parts <= most,
         "header: sections longer than the file");
  return header;
}

// Only now is it worth saying more than "checksum mismatch": what fails here was written so.
void check_header(const FileHeader& header) {
  const auto within = [](const char* field, std::uint64_t value, std::uint64_t low, std::uint64_t high) {
    expect(value >= low && value <= high, std::string("header: impossible ") + field + " " + std::to_string(value));
  };
  expect(header.scalar_bytes == 4 || header.scalar_bytes == 8,
         "header: scalars of " + std::to_string(header.scalar_bytes) + " bytes");
  within("dimensions", header.dims, 1, kMaxDims);
  within("group", header.group, 1, kBlockEntries);
  within("node count", header.node_count, 1, UINT32_MAX);
  // Far more than there ever can be, and still no sum of theirs overflows.
  constexpr std::uint64_t kMany = std::uint64_t{1} << 60;
  within("next id", static_cast<std::uint64_t>(header.next_id), 0, kMany);
  within("packed size", header.packed_size, 0, kMany);
  within("number of updates", header.updates, 0, kMany);
  within("node kernel", header.node_kernel, 0, static_cast<std::uint64_t>(NodeKernel::kBitmap));
  within("split rule", header.split, 0, static_cast<std::uint64_t>(SplitRule::kQuadratic));
  within("layout: bitmap", header.layout_bitmap, 0, 1);
  within("layout: dynamic", header.layout_dynamic, 0, 1);
  within("layout: split rule", header.layout_split, 0, static_cast<std::uint64_t>(SplitRule::kQuadratic));
  within("layout: node capacity", header.layout_node_capacity, 4, kBlockEntries);
  within("layout: leaf capacity", header.layout_leaf_capacity, 4, kBlockEntries);
  within("layout: leaf target", header.layout_leaf_target, 1, header.layout_leaf_capacity);
  within("layout: buckets", header.layout_buckets, 4, kMaxBuckets);
}

Params read_params(const FileHeader& header) {
  Params params;
  params.node_capacity = header.node_capacity;
  params.leaf_capacity = header.leaf_capacity;
  params.buckets = header.buckets;
  params.fill = header.fill;
  params.node_kernel = static_cast<NodeKernel>(header.node_kernel);
  params.split = static_cast<SplitRule>(header.split);
  try {
    validate(params);
  } catch (const ArgumentError& error) {
    throw FormatError(std::string("header: ") + error.what());
  }
  return params;
}

Layout read_layout(const FileHeader& header) {
  Layout layout;
  layout.node_capacity = header.layout_node_capacity;
  layout.leaf_capacity = header.layout_leaf_capacity;
  layout.leaf_target = header.layout_leaf_target;
  layout.buckets = header.layout_buckets;
  layout.bitmap = header.layout_bitmap != 0;
  layout.dynamic = header.layout_dynamic != 0;
  layout.split = static_cast<SplitRule>(header.layout_split);
  return layout;
}

template <class V>
std::vector<V> read_values(Bytes section, std::size_t& at, std::size_t count) {
  expect(at <= section.size() && count <= (section.size() - at) / sizeof(V), "cuts: the section is too short");
  std::vector<V> values(count);
  if (count != 0) std::memcpy(values.data(), section.data() + at, count * sizeof(V));
  at += count * sizeof(V);
  return values;
}

std::shared_ptr<const Cuts> read_cuts(Bytes section, std::size_t dims) {
  std::size_t at = 0;
  const std::vector<std::uint8_t> counts = read_values<std::uint8_t>(section, at, dims);
  at = (at + 7) / 8 * 8;
  std::vector<std::vector<double>> fine;
  std::vector<std::vector<std::uint8_t>> coarse_of;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::string place = "cuts: dimension " + std::to_string(d);
    expect(counts[d] <= kMaxBuckets - 2, place + " has " + std::to_string(counts[d]));
    fine.push_back(read_values<double>(section, at, counts[d]));
    for (std::size_t i = 0; i < fine[d].size(); ++i)
      expect(std::isfinite(fine[d][i]) && (i == 0 || fine[d][i] > fine[d][i - 1]), place + ": not ascending");
  }
  for (std::size_t d = 0; d < dims; ++d) {
    coarse_of.push_back(read_values<std::uint8_t>(section, at, counts[d] + std::size_t{1}));
    for (std::size_t i = 0; i < coarse_of[d].size(); ++i) {
      const int step = coarse_of[d][i] - (i == 0 ? 0 : coarse_of[d][i - 1]);
      expect(step == 0 || (step == 1 && i != 0),
             "cuts: dimension " + std::to_string(d) + ": coarse buckets do not follow the fine ones");
    }
  }
  expect(at == section.size(), "cuts: the section is too long");
  return Cuts::restore(std::move(fine), std::move(coarse_of));
}

std::shared_ptr<LevelTuner> read_tuner(Bytes section) {
  try {
    return LevelTuner::from_bytes(section);
  } catch (const std::invalid_argument& error) {
    throw FormatError(std::string("tuner: ") + error.what());
  }
}

template <class T>
Node<T>* make_node(const PlacedNode& placed, bool bitmap, std::size_t dims, std::byte* file) {
  auto node = std::make_unique<Node<T>>();
  node->count = placed.record.count;
  node->live = placed.record.live;
  node->stride = placed.record.stride;
  node->room = file_room(placed.record);
  node->active = placed.record.active;
  node->height = placed.record.height;
  node->bitmap = bitmap;
  node->wide_ids = (placed.record.flags & kWideIds) != 0;
  node->uniform = (placed.record.flags & kUniform) != 0;
  node->dense = bitmap && placed.record.active == dims;
  node->active_dims.assign(placed.active_dims.begin(), placed.active_dims.end());
  if (bitmap) node->lines = Part{file + placed.lines, placed.sizes.lines, 0, false};
  node->entries = Part{file + placed.entries, placed.sizes.entries, 0, false};
  bind_views(*node, dims);
  return node.release();
}

// Nodes that use their parts where they lie in the file.
template <class T>
std::unique_ptr<Version<T>> make_version(const std::vector<PlacedNode>& placed, const FileHeader& header,
                                         std::shared_ptr<const Cuts> cuts, Bytes file) {
  // Parts that are not owned are never written to, so the mapping may well be read-only.
  auto* const data = const_cast<std::byte*>(file.data());
  std::vector<std::unique_ptr<Node<T>>> nodes;
  nodes.reserve(placed.size());
  for (const PlacedNode& node : placed)
    nodes.emplace_back(make_node<T>(node, header.layout_bitmap != 0, header.dims, data));
  for (std::size_t i = 0; i < placed.size(); ++i) {
    if (nodes[i]->leaf()) continue;
    std::vector<Node<T>*> children;
    for (std::size_t c = 0; c < nodes[i]->count; ++c) children.push_back(nodes[placed[i].first_child + c].get());
    nodes[i]->set_children(std::move(children));
  }
  auto version = std::make_unique<Version<T>>();
  version->size = header.size;
  version->serial = 1;
  version->group = header.group;
  version->packed_size = header.packed_size;
  version->updates = header.updates;
  version->factory = std::make_shared<const NodeFactory<T>>(header.dims, read_layout(header), std::move(cuts));
  if (header.layout_bitmap != 0) version->lazy_model = std::make_shared<const LazyWorkloadModel<T>>();
  version->root = nodes.front().get();
  for (std::unique_ptr<Node<T>>& node : nodes) static_cast<void>(node.release());
  return version;
}

AnyTree read_tree(const std::shared_ptr<const FileBytes>& keep, bool verify) {
  const Bytes file = keep->bytes();
  const FileHeader header = read_header(file);
  const FileSections sections(header);
  expect(checksum(file.subspan(kHeadChecksumFrom, sections.parts - kHeadChecksumFrom)) == header.head_checksum,
         "checksum mismatch in the head");
  expect(!verify || checksum(file.subspan(sections.parts)) == header.parts_checksum, "checksum mismatch in the nodes");
  check_header(header);
  const Params params = read_params(header);
  std::shared_ptr<const Cuts> cuts = read_cuts(file.subspan(sections.cuts, header.cuts_bytes), header.dims);
  std::shared_ptr<LevelTuner> tuner = read_tuner(file.subspan(sections.tuner, header.tuner_bytes));

  std::vector<NodeRecord> records(header.node_count);
  std::memcpy(records.data(), file.data() + sections.directory, records.size() * sizeof(NodeRecord));
  const Bytes active = file.subspan(sections.active, header.active_bytes);
  const std::vector<PlacedNode> placed =
      place_nodes(header, *cuts, records, {reinterpret_cast<const std::uint8_t*>(active.data()), active.size()});

  const auto finish = [&]<class T>() -> AnyTree {
    auto tree = std::make_shared<Tree<T>>(header.dims, params, make_version<T>(placed, header, std::move(cuts), file),
                                          header.next_id, std::move(tuner), keep);
    if (!verify)
      tree->also_check([keep, from = sections.parts, expected = header.parts_checksum] {
        if (checksum(keep->bytes().subspan(from)) != expected)
          throw CorruptIndexError("checksum mismatch in the nodes of the file");
      });
    return tree;
  };
  return header.scalar_bytes == 4 ? finish.template operator()<float>() : finish.template operator()<double>();
}

}  // namespace

AnyTree from_bytes(std::span<const std::byte> bytes) { return read_tree(FileBytes::copy(bytes), true); }

AnyTree load(const std::string& path, bool mmap, bool verify) {
  return read_tree(mmap ? FileBytes::map(path, verify) : FileBytes::read(path), verify);
}

}  // namespace pubmatch

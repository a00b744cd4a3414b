// Writing index files. A pinned version is written while others update the tree: only what its readers may look at is
// read, never the room behind a leaf's used slots.
#include <algorithm>
#include <cstring>

#include "file_layout.hpp"
#include "output_file.hpp"
#include "pubmatch/checksum.hpp"
#include "pubmatch/error.hpp"
#include "pubmatch/file_format.hpp"

namespace pubmatch {

namespace {

template <class V>
void append(std::vector<std::byte>& bytes, std::span<const V> values) {
  const std::span<const std::byte> raw = std::as_bytes(values);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
}

std::vector<std::byte> cuts_section(const Cuts& cuts) {
  std::vector<std::byte> bytes;
  for (std::size_t d = 0; d < cuts.dims(); ++d) bytes.push_back(static_cast<std::byte>(cuts.fine(d).size()));
  bytes.resize((bytes.size() + 7) / 8 * 8);
  for (std::size_t d = 0; d < cuts.dims(); ++d) append<double>(bytes, cuts.fine(d));
  for (std::size_t d = 0; d < cuts.dims(); ++d) append<std::uint8_t>(bytes, cuts.coarse_of(d));
  return bytes;
}

// One version in the form of a file: the head as a whole, the parts one after another.
template <class T>
class FileImage {
 public:
  FileImage(const Tree<T>& tree, const Version<T>& version) : factory_(*version.factory) {
    nodes_.push_back(version.root);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      nodes_.insert(nodes_.end(), nodes_[i]->children.begin(), nodes_[i]->children.end());
    describe(tree, version);
    make_head(cuts_section(factory_.cuts()), tree.tuner()->to_bytes());
  }

  std::size_t bytes() const { return header_.file_bytes; }

  template <class Emit>
  void emit(Emit&& out) {
    out(std::span<const std::byte>(head_));
    emit_parts(out);
  }

 private:
  void describe(const Tree<T>& tree, const Version<T>& version) {
    const Params& params = tree.params();
    const Layout& layout = factory_.layout();
    header_.magic = kFileMagic;
    header_.format = kFileFormat;
    header_.header_bytes = sizeof(FileHeader);
    header_.node_count = nodes_.size();
    header_.size = version.size;
    header_.next_id = tree.next_id();
    header_.packed_size = version.packed_size;
    header_.updates = version.updates;
    header_.fill = params.fill;
    header_.dims = static_cast<std::uint32_t>(factory_.dims());
    header_.scalar_bytes = sizeof(T);
    header_.group = version.group;
    header_.node_capacity = params.node_capacity;
    header_.leaf_capacity = params.leaf_capacity;
    header_.buckets = params.buckets;
    header_.layout_node_capacity = layout.node_capacity;
    header_.layout_leaf_capacity = layout.leaf_capacity;
    header_.layout_leaf_target = layout.leaf_target;
    header_.layout_buckets = layout.buckets;
    header_.node_kernel = static_cast<std::uint8_t>(params.node_kernel);
    header_.split = static_cast<std::uint8_t>(params.split);
    header_.layout_bitmap = layout.bitmap ? 1 : 0;
    header_.layout_dynamic = layout.dynamic ? 1 : 0;
    header_.layout_split = static_cast<std::uint8_t>(layout.split);
  }

  NodeRecord record(const Node<T>& node) const {
    NodeRecord record{};
    record.count = node.count;
    record.live = node.live;
    record.stride = node.bitmap_leaf() ? node.stride : file_lanes(node.count);
    record.active = node.bitmap ? node.active : std::uint16_t{0};
    record.height = node.height;
    record.flags = static_cast<std::uint8_t>((node.wide_ids ? kWideIds : 0) | (node.uniform ? kUniform : 0));
    return record;
  }

  void make_head(const std::vector<std::byte>& cuts, const std::vector<std::byte>& tuner) {
    std::vector<NodeRecord> directory;
    std::vector<std::uint8_t> active;
    std::uint64_t parts_bytes = 0;
    for (const Node<T>* node : nodes_) {
      directory.push_back(record(*node));
      active.insert(active.end(), node->active_dims.begin(), node->active_dims.end());
      const PartSizes sizes = file_part_sizes(header_, directory.back(), factory_.line_count(*node));
      parts_bytes += sizes.lines + sizes.entries;
    }
    header_.cuts_bytes = cuts.size();
    header_.tuner_bytes = tuner.size();
    header_.active_bytes = active.size();
    const FileSections sections(header_);
    header_.file_bytes = sections.parts + parts_bytes;
    Checksum parts;
    emit_parts([&](std::span<const std::byte> part) { parts.add(part); });
    header_.parts_checksum = parts.value();

    head_.resize(sections.parts);
    const auto place = [&](std::uint64_t at, auto values) {
      const auto raw = std::as_bytes(values);
      std::copy(raw.begin(), raw.end(), head_.begin() + static_cast<std::ptrdiff_t>(at));
    };
    place(sections.cuts, std::span(cuts));
    place(sections.tuner, std::span(tuner));
    place(sections.directory, std::span(directory));
    place(sections.active, std::span(active));
    place(0, std::span(&header_, 1));
    header_.head_checksum = checksum(std::span<const std::byte>(head_).subspan(kHeadChecksumFrom));
    place(0, std::span(&header_, 1));
  }

  template <class Emit>
  void emit_parts(Emit&& out) {
    for (const Node<T>* node : nodes_) {
      if (!factory_.layout().bitmap) break;
      const PartSizes sizes = file_part_sizes(header_, record(*node), factory_.line_count(*node));
      out(std::span<const std::byte>(node->lines.data, sizes.lines));
    }
    for (const Node<T>* node : nodes_) out(pack_entries(*node));
  }

  // The node's entries part without spare room.
  std::span<const std::byte> pack_entries(const Node<T>& node) {
    const NodeRecord record = this->record(node);
    scratch_.assign(file_part_sizes(header_, record, 0).entries, std::byte{0});
    Node<T> packed;
    packed.count = node.count;
    packed.height = node.height;
    packed.bitmap = node.bitmap;
    packed.wide_ids = node.wide_ids;
    packed.uniform = node.uniform;
    packed.stride = record.stride;
    packed.room = file_room(record);
    packed.lines.data = node.lines.data;
    packed.entries.data = scratch_.data();
    bind_views(packed, factory_.dims());
    if (node.count == 0) return scratch_;
    if (node.bitmap_leaf()) {
      const std::size_t values = std::size_t{node.count} * node.stride;
      if (values != 0) std::memcpy(packed.bounds, node.bounds, 2 * values * sizeof(T));
      if (values != 0 && !node.uniform) std::memcpy(packed.row_dims, node.row_dims, values);
    } else {
      for (std::size_t d = 0; d < factory_.dims(); ++d) {
        std::memcpy(packed.lower_lanes(d), node.lower_lanes(d), node.count * sizeof(T));
        std::memcpy(packed.upper_lanes(d), node.upper_lanes(d), node.count * sizeof(T));
      }
    }
    if (node.leaf()) std::memcpy(packed.ids, node.ids, std::size_t{node.count} * (node.wide_ids ? 8 : 4));
    return scratch_;
  }

  const NodeFactory<T>& factory_;
  std::vector<const Node<T>*> nodes_;  // breadth first
  FileHeader header_{};
  std::vector<std::byte> head_;
  std::vector<std::byte> scratch_;
};

}  // namespace

template <class T>
std::vector<std::byte> to_bytes(const Tree<T>& tree) {
  const auto pin = tree.pin();
  FileImage<T> image(tree, *pin);
  std::vector<std::byte> bytes;
  bytes.reserve(image.bytes());
  image.emit([&](std::span<const std::byte> piece) { append(bytes, piece); });
  return bytes;
}

template <class T>
void save(const Tree<T>& tree, const std::string& path) {
  if (path.find('\0') != std::string::npos) throw ArgumentError("a path cannot contain a null character");
  const auto pin = tree.pin();
  FileImage<T> image(tree, *pin);
  OutputFile file(path);
  image.emit([&](std::span<const std::byte> piece) { file.write(piece); });
  file.commit();
}

template std::vector<std::byte> to_bytes<float>(const Tree<float>&);
template std::vector<std::byte> to_bytes<double>(const Tree<double>&);
template void save<float>(const Tree<float>&, const std::string&);
template void save<double>(const Tree<double>&, const std::string&);

}  // namespace pubmatch

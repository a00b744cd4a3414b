#include "file_directory.hpp"

#include <string>

#include "pubmatch/error.hpp"

namespace pubmatch {

namespace {

// Every inner node but the root has at least two children, so that no tree of less than 2^64 boxes is higher.
constexpr std::size_t kMaxHeight = 64;

class Directory {
 public:
  Directory(const FileHeader& header, const Cuts& cuts, std::span<const NodeRecord> records,
            std::span<const std::uint8_t> active_dims)
      : header_(header),
        cuts_(cuts),
        records_(records),
        active_dims_(active_dims),
        bitmap_(header.layout_bitmap != 0) {}

  std::vector<PlacedNode> place() {
    std::vector<PlacedNode> nodes(records_.size());
    std::uint64_t lines_bytes = 0;
    for (at_ = 0; at_ < nodes.size(); ++at_) {
      PlacedNode& node = nodes[at_];
      node.record = records_[at_];
      check_counts(node.record);
      check_stride(node.record);
      node.active_dims = take_active(node.record);
      node.first_child = take_children(node.record);
      node.sizes = file_part_sizes(header_, node.record, count_lines(node));
      lines_bytes += node.sizes.lines;
      if (node.record.height == 0) live_ += node.record.live;
    }
    if (next_child_ != nodes.size() || next_active_ != active_dims_.size() || live_ != header_.size)
      throw FormatError("directory: it ends with " + std::to_string(next_child_) + " nodes, " +
                        std::to_string(next_active_) + " active dimensions and " + std::to_string(live_) +
                        " boxes, the header tells of " + std::to_string(nodes.size()) + ", " +
                        std::to_string(active_dims_.size()) + " and " + std::to_string(header_.size));
    std::uint64_t lines = FileSections(header_).parts;
    std::uint64_t entries = lines + lines_bytes;
    for (PlacedNode& node : nodes) {
      node.lines = lines;
      node.entries = entries;
      lines += node.sizes.lines;
      entries += node.sizes.entries;
    }
    if (entries != header_.file_bytes)
      throw FormatError("directory: its nodes need a file of " + std::to_string(entries) + " bytes, not " +
                        std::to_string(header_.file_bytes));
    return nodes;
  }

 private:
  void expect(bool right, const char* what, std::uint64_t value) const {
    if (!right) throw FormatError("directory: node " + std::to_string(at_) + ": " + what + " " + std::to_string(value));
  }

  void check_counts(const NodeRecord& record) const {
    const bool leaf = record.height == 0;
    expect(record.height < kMaxHeight, "impossible height", record.height);
    expect(record.count <= (leaf ? header_.layout_leaf_capacity : header_.layout_node_capacity),
           "more entries than the capacity:", record.count);
    expect(leaf || record.count > 0, "an inner node without children at height", record.height);
    // Only bitmap leaves keep dead slots.
    expect(leaf && bitmap_ ? record.live <= record.count : record.live == record.count,
           "impossible number alive:", record.live);
    const std::uint8_t flags = leaf ? (bitmap_ ? kWideIds | kUniform : kWideIds) : 0;
    expect((record.flags & ~flags) == 0, "unknown flags", record.flags);
  }

  void check_stride(const NodeRecord& record) const {
    if (record.height != 0 || !bitmap_)
      expect(record.stride == file_lanes(record.count), "impossible number of lanes", record.stride);
    else if ((record.flags & kUniform) != 0)
      expect(record.stride == record.active, "impossible row length", record.stride);
    else
      expect(record.stride <= header_.dims, "impossible row length", record.stride);
  }

  std::span<const std::uint8_t> take_active(const NodeRecord& record) {
    expect(bitmap_ || record.active == 0, "active dimensions in a compare node:", record.active);
    expect(record.active <= active_dims_.size() - next_active_, "no such active dimensions:", record.active);
    const auto active = active_dims_.subspan(next_active_, record.active);
    next_active_ += record.active;
    for (std::size_t j = 0; j < active.size(); ++j)
      expect(active[j] < header_.dims && (j == 0 || active[j] > active[j - 1]), "misplaced active dimension",
             active[j]);
    return active;
  }

  // Breadth first: each node but the root has been claimed by one before it when its turn comes, and by one only.
  std::size_t take_children(const NodeRecord& record) {
    expect(at_ < next_child_, "no parent for a node of height", record.height);
    const std::size_t first = next_child_;
    if (record.height == 0) return first;
    expect(record.count <= records_.size() - first, "missing children of", record.count);
    for (std::size_t c = first; c < first + record.count; ++c)
      expect(records_[c].height + 1 == record.height, "a child of the wrong height:", records_[c].height);
    next_child_ += record.count;
    return first;
  }

  std::uint32_t count_lines(const PlacedNode& node) const {
    std::uint32_t total = 0;
    for (const std::uint8_t d : node.active_dims)
      total += node.record.height == 0 ? cuts_.leaf_lines(d) : cuts_.inner_lines(d);
    return total;
  }

  const FileHeader& header_;
  const Cuts& cuts_;
  const std::span<const NodeRecord> records_;
  const std::span<const std::uint8_t> active_dims_;
  const bool bitmap_;
  std::size_t at_ = 0;
  std::size_t next_child_ = 1;
  std::size_t next_active_ = 0;
  std::uint64_t live_ = 0;
};

}  // namespace

std::vector<PlacedNode> place_nodes(const FileHeader& header, const Cuts& cuts, std::span<const NodeRecord> records,
                                    std::span<const std::uint8_t> active_dims) {
  return Directory(header, cuts, records, active_dims).place();
}

}  // namespace pubmatch

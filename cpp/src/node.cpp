#include "pubmatch/node.hpp"

namespace pubmatch {

namespace {

constexpr std::size_t kLine = 64;
// Kernels read whole vectors and may look this far behind the last lane.
constexpr std::size_t kSlack = 64;

std::size_t round_up(std::size_t value, std::size_t to) { return (value + to - 1) / to * to; }

// Where the ids begin inside a leaf's entries part.
struct EntriesPlan {
  std::size_t row_dims = 0;
  std::size_t ids = 0;
  std::size_t total = 0;
};

EntriesPlan plan_entries(const NodeFacts& facts) {
  EntriesPlan plan;
  const bool bitmap_leaf = facts.bitmap && facts.height == 0;
  const std::size_t values =
      bitmap_leaf ? std::size_t{2} * facts.room * facts.stride : std::size_t{2} * facts.dims * facts.stride;
  plan.row_dims = values * facts.scalar_bytes;
  plan.ids = plan.row_dims;
  if (bitmap_leaf && !facts.uniform) plan.ids += std::size_t{facts.room} * facts.stride;
  plan.ids = round_up(plan.ids, 8);
  plan.total = plan.ids;
  if (facts.height == 0) plan.total += std::size_t{facts.room} * (facts.wide_ids ? 8 : 4);
  plan.total = round_up(plan.total + kSlack, kLine);
  return plan;
}

}  // namespace

PartSizes part_sizes(const NodeFacts& facts) {
  PartSizes sizes;
  if (facts.bitmap) sizes.lines = kLine + std::size_t{facts.line_count} * kLine;
  sizes.entries = plan_entries(facts).total;
  return sizes;
}

Part allocate_part(PartUse use, std::size_t bytes, std::uint64_t birth, bool zeroed) {
  Part part;
  if (bytes == 0) return part;
  part.data = take_part_memory(use, bytes, zeroed);
  part.bytes = bytes;
  part.birth = birth;
  part.owned = true;
  return part;
}

void free_part(Part& part) {
  if (part.owned) return_part_memory(part.data, part.bytes);
  part = Part{};
}

template <class T>
NodeFacts facts_of(const Node<T>& node, std::size_t dims, std::size_t line_count) {
  return {node.room,
          node.stride,
          static_cast<std::uint32_t>(line_count),
          static_cast<std::uint32_t>(dims),
          sizeof(T),
          node.height,
          node.bitmap,
          node.wide_ids,
          node.uniform};
}

template <class T>
void bind_views(Node<T>& node, std::size_t dims) {
  if (node.bitmap) {
    std::byte* base = node.lines.data;
    node.live_bits = reinterpret_cast<std::uint64_t*>(base);
    node.line_words = reinterpret_cast<std::uint64_t*>(base + kLine);
  }
  const EntriesPlan plan = plan_entries(facts_of(node, dims));
  node.bounds = reinterpret_cast<T*>(node.entries.data);
  node.row_dims = node.bitmap_leaf() && !node.uniform
                      ? reinterpret_cast<std::uint8_t*>(node.entries.data + plan.row_dims)
                      : nullptr;
  node.ids = node.leaf() ? static_cast<void*>(node.entries.data + plan.ids) : nullptr;
}

template NodeFacts facts_of<float>(const Node<float>&, std::size_t, std::size_t);
template NodeFacts facts_of<double>(const Node<double>&, std::size_t, std::size_t);
template void bind_views<float>(Node<float>&, std::size_t);
template void bind_views<double>(Node<double>&, std::size_t);

}  // namespace pubmatch

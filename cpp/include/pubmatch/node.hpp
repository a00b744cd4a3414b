// A node of the R-tree and the memory it lies in.
//
// Two layouts share one node type:
//   compare  bounds as struct of arrays, [dimension][lower, upper][lane]; tested by comparing every lane.
//   bitmap   one 64-byte line per active dimension and bucket: bit c of a line is set when child (or entry) c may match
//            a value of that bucket. Lines of the event's buckets are ANDed; surviving entries are verified exactly.
// A dimension is active in an inner node when some child is constrained there, in a leaf when enough of its boxes are; the
// others have no lines. A leaf's rows hold the bounds of constrained dimensions only.
// Inner nodes of both layouts keep their children's envelopes as struct of arrays.
//
// A published node never changes, with one exception readers cannot see: the room behind a leaf's used slots. Its memory
// is in two parts (lines, entries), so that an update copies no more than it changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "pubmatch/params.hpp"
#include "pubmatch/part_pool.hpp"

namespace pubmatch {

struct Part {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::uint64_t birth = 0;  // the transaction that made it
  bool owned = false;       // false: inside a mapped file
};

inline constexpr std::uint8_t kPadDim = 255;

template <class T>
struct alignas(64) Node {
  // What a search of a dense leaf reads, in one line.
  std::uint16_t count = 0;   // children, or slots in use (dead ones included)
  std::uint16_t stride = 0;  // lanes per array of bounds; in a bitmap leaf: values per row
  std::uint16_t active = 0;  // active dimensions of a bitmap node
  std::uint8_t height = 0;   // 0: leaf
  bool bitmap = false;
  bool wide_ids = false;  // ids as int64 instead of uint32
  bool uniform = false;   // bitmap leaf: every row holds exactly the active dimensions
  bool dense = false;     // all dimensions are active
  // Views into the parts.
  std::uint64_t* line_words = nullptr;
  T* bounds = nullptr;  // struct of arrays, or rows of [lower × stride, upper × stride]
  std::uint8_t* row_dims = nullptr;
  void* ids = nullptr;
  std::uint64_t* live_bits = nullptr;  // kLineWords words

  std::uint16_t live = 0;  // children, or live entries
  std::uint16_t room = 0;  // slots the entries part has space for
  std::uint32_t number = 0;
  std::uint64_t birth = 0;
  Part lines;
  Part entries;
  std::vector<std::uint8_t> active_dims;
  std::vector<Node*> children;
  // Right above the leaves: each leaf, and where a search of it begins to read. So a search has that on its way before it
  // has seen the leaf's head, and reads the heads of those dense leaves alone in which something survives.
  struct Start {
    const Node* leaf = nullptr;
    const void* data = nullptr;  // the lines of a dense bitmap leaf, the bounds of a compare leaf; null for the others
  };
  std::vector<Start> starts;

  // Heads lie together like the parts.
  static void* operator new(std::size_t bytes) { return take_part_memory(PartUse::kHeads, bytes, false); }
  static void operator delete(void* head, std::size_t bytes) {
    return_part_memory(static_cast<std::byte*>(head), bytes);
  }

  const std::uint64_t* dense_lines() const { return bitmap_leaf() && dense ? line_words : nullptr; }
  const void* search_data() const {
    if (bitmap) return dense_lines();
    return bounds;
  }
  bool leaf() const { return height == 0; }
  bool bitmap_leaf() const { return bitmap && height == 0; }
  void set_children(std::vector<Node*> given) {
    children = std::move(given);
    starts.resize(height == 1 ? children.size() : 0);
    for (std::size_t c = 0; c < starts.size(); ++c) note_start(c);
  }
  // To be called when a child or the part its search begins with was replaced.
  void note_start(std::size_t c) {
    if (!starts.empty()) starts[c] = {children[c], children[c]->search_data()};
  }
  std::int64_t id(std::size_t slot) const {
    return wide_ids ? static_cast<const std::int64_t*>(ids)[slot]
                    : static_cast<std::int64_t>(static_cast<const std::uint32_t*>(ids)[slot]);
  }
  bool is_live(std::size_t slot) const { return !bitmap_leaf() || ((live_bits[slot / 64] >> (slot % 64)) & 1) != 0; }
  T* lower_lanes(std::size_t d) const { return bounds + 2 * d * stride; }
  T* upper_lanes(std::size_t d) const { return bounds + (2 * d + 1) * stride; }
  T* row(std::size_t slot) const { return bounds + 2 * slot * stride; }
  const std::uint8_t* dims_of_row(std::size_t slot) const {
    return uniform ? active_dims.data() : row_dims + slot * stride;
  }
};

// How many bytes each part of a node takes, from the facts in its head alone (files are checked with it).
struct PartSizes {
  std::size_t lines = 0;
  std::size_t entries = 0;
};

struct NodeFacts {
  std::uint32_t room = 0;
  std::uint32_t stride = 0;
  std::uint32_t line_count = 0;
  std::uint32_t dims = 0;
  std::uint32_t scalar_bytes = 4;
  std::uint8_t height = 0;
  bool bitmap = false;
  bool wide_ids = false;
  bool uniform = false;
};
PartSizes part_sizes(const NodeFacts& facts);
template <class T>
NodeFacts facts_of(const Node<T>& node, std::size_t dims, std::size_t line_count = 0);

// Memory aligned to a line. Throws std::bad_alloc.
Part allocate_part(PartUse use, std::size_t bytes, std::uint64_t birth, bool zeroed = true);
void free_part(Part& part);

// Points the views at the parts.
template <class T>
void bind_views(Node<T>& node, std::size_t dims);

extern template NodeFacts facts_of<float>(const Node<float>&, std::size_t, std::size_t);
extern template NodeFacts facts_of<double>(const Node<double>&, std::size_t, std::size_t);
extern template void bind_views<float>(Node<float>&, std::size_t);
extern template void bind_views<double>(Node<double>&, std::size_t);

}  // namespace pubmatch

// Every knob of the index in one place, validated together.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pubmatch {

inline constexpr std::size_t kMaxDims = 255;       // a dimension is one byte; 255 marks padding in rows
inline constexpr std::size_t kBlockEntries = 512;  // entries in a bitmap block: the bits of one 64-byte line
inline constexpr std::size_t kLineWords = kBlockEntries / 64;
inline constexpr std::size_t kMaxBuckets = 128;  // lines per dimension in a bitmap node, the absent line included

enum class NodeKernel : std::uint8_t { kAuto = 0, kCompare = 1, kBitmap = 2 };
enum class SplitRule : std::uint8_t { kRStar = 0, kQuadratic = 1 };

// 0 means "chosen from the data".
struct Params {
  std::uint32_t node_capacity = 0;
  std::uint32_t leaf_capacity = 0;
  std::uint32_t buckets = 0;  // lines per dimension in a bitmap leaf
  double fill = 0;            // share of a leaf that bulk loading uses
  NodeKernel node_kernel = NodeKernel::kAuto;
  SplitRule split = SplitRule::kRStar;

  bool operator==(const Params&) const = default;
};

// Throws ArgumentError naming the field and its value.
void validate(const Params& params);

// The same knobs with every "auto" decided, as one packed tree uses them.
struct Layout {
  std::uint32_t node_capacity = 64;
  std::uint32_t leaf_capacity = 64;
  std::uint32_t leaf_target = 64;  // entries bulk loading puts in a leaf
  std::uint32_t buckets = 28;
  bool bitmap = false;
  bool dynamic = false;  // the paper's tree: never repacked, split by `split`
  SplitRule split = SplitRule::kRStar;

  std::uint32_t node_target() const { return share(node_capacity); }
  // Fewest children of a node that is not the root, and fewest entries of such a leaf: two fifths, as usual for R-trees,
  // but never more than half of what bulk loading aims at.
  std::uint32_t node_minimum() const { return least(node_capacity, node_target(), 2); }
  std::uint32_t leaf_minimum() const { return least(leaf_capacity, leaf_target, 1); }

 private:
  std::uint32_t share(std::uint32_t capacity) const;
  static std::uint32_t least(std::uint32_t capacity, std::uint32_t target, std::uint32_t floor);
};

// Chooses the layout for `size` boxes of `dims` dimensions.
Layout choose_layout(const Params& params, std::size_t dims, std::size_t size);

}  // namespace pubmatch

// The directory of an index file, checked: where each node's parts and children are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "file_layout.hpp"
#include "pubmatch/cuts.hpp"

namespace pubmatch {

struct PlacedNode {
  NodeRecord record;
  std::span<const std::uint8_t> active_dims;
  std::size_t first_child = 0;  // index of the node; the others follow
  std::uint64_t lines = 0;      // offsets in the file
  std::uint64_t entries = 0;
  PartSizes sizes;
};

// Nothing is believed: after this, every node, part and active dimension lies where the searches may follow it. The
// header's own values (dims, scalar_bytes, layout) must have been checked. Throws FormatError.
std::vector<PlacedNode> place_nodes(const FileHeader& header, const Cuts& cuts, std::span<const NodeRecord> records,
                                    std::span<const std::uint8_t> active_dims);

}  // namespace pubmatch

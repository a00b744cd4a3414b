// How an overfull node is divided in two.
#pragma once

#include <cstdint>
#include <vector>

#include "pubmatch/box.hpp"
#include "pubmatch/params.hpp"

namespace pubmatch {

// For every box: 0 or 1, each side getting at least `minimum`. Guttman's quadratic split or the R*-tree's, after clipping
// infinite sides to the finite bounds present.
template <class T>
std::vector<std::uint8_t> split_boxes(const BoxView<T>& boxes, SplitRule rule, std::size_t minimum);

}  // namespace pubmatch

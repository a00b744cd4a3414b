#include "pubmatch/params.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "pubmatch/error.hpp"

namespace pubmatch {

namespace {

void expect_range(const char* field, double value, double low, double high) {
  if (value == 0 || (value >= low && value <= high)) return;
  throw ArgumentError(std::string(field) + " must be auto or between " + show(low) + " and " + show(high) + ", not " +
                      show(value));
}

}  // namespace

void validate(const Params& params) {
  expect_range("node_capacity", params.node_capacity, 4, kBlockEntries);
  expect_range("leaf_capacity", params.leaf_capacity, 4, kBlockEntries);
  expect_range("buckets", params.buckets, 4, kMaxBuckets);
  expect_range("fill", params.fill, 0.5, 1.0);
}

Layout choose_layout(const Params& params, std::size_t dims, std::size_t size) {
  Layout layout;
  const bool capacities_given = params.node_capacity != 0 || params.leaf_capacity != 0;
  switch (params.node_kernel) {
    case NodeKernel::kCompare:
      layout.bitmap = false;
      break;
    case NodeKernel::kBitmap:
      layout.bitmap = true;
      break;
    case NodeKernel::kAuto:
      // Bitmap lines pay from four dimensions on; a small index fits in a few compare nodes.
      layout.bitmap = dims >= 4 && size >= 2 * kBlockEntries && !capacities_given;
      break;
  }
  const std::uint32_t wide = layout.bitmap ? kBlockEntries : 64;
  layout.node_capacity = params.node_capacity != 0 ? params.node_capacity : wide;
  layout.leaf_capacity = params.leaf_capacity != 0 ? params.leaf_capacity : wide;
  const double fill = params.fill != 0 ? params.fill : 0.875;
  layout.leaf_target = std::max<std::uint32_t>(
      1, static_cast<std::uint32_t>(std::lround(static_cast<double>(layout.leaf_capacity) * fill)));
  layout.buckets = params.buckets != 0 ? params.buckets : 28;
  layout.dynamic = params.node_kernel == NodeKernel::kCompare && capacities_given;
  layout.split = params.split;
  return layout;
}

std::uint32_t Layout::share(std::uint32_t capacity) const {
  const double fill = static_cast<double>(leaf_target) / leaf_capacity;
  // At least four (capacities start there): a node divided evenly then never ends up with a single child.
  return std::max<std::uint32_t>(4, static_cast<std::uint32_t>(std::lround(capacity * fill)));
}

std::uint32_t Layout::least(std::uint32_t capacity, std::uint32_t target, std::uint32_t floor) {
  return std::max(floor, std::min(capacity * 2 / 5, target / 2));
}

}  // namespace pubmatch

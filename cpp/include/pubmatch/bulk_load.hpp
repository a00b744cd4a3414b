// Bulk loading: packs boxes into a whole tree of equal leaf depth.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "pubmatch/version.hpp"

namespace pubmatch {

// ids[i] names box i. events: row-major sample points the tree should be good for, or empty.
template <class T>
std::unique_ptr<Version<T>> bulk_load(const BoxView<T>& boxes, const std::int64_t* ids, const Params& params,
                                      std::span<const double> events, std::uint64_t serial);

// What a version is made of, counted node by node.
struct Measure {
  std::size_t bytes = 0;
  std::size_t nodes = 0;
  std::size_t leaves = 0;
  std::size_t active_dims = 0;  // summed over leaves
  std::size_t groups = 0;       // distinct sets of active dimensions among leaves
};
template <class T>
Measure measure(const Version<T>& version);

}  // namespace pubmatch

// WorkloadModel: how much work an event will be, from the buckets of its coordinates alone.
//
// A bitmap tree knows how many of its leaves meet each bucket of a dimension (the ones in the lines of the nodes above
// the leaves), and a few of its leaves tell which share of the boxes do. Taking dimensions as independent, the products of
// these shares are the leaves an event will visit, the boxes its first lines there will leave over and those that all lines
// will. Nothing of the tree is read, so the estimate costs next to nothing, where a descent to Level reads the inner nodes
// of every event before the first event is done. Visits alone do not do: they are fetched ahead, what survives is not.
// On W1 they order 128 events no better than chance, with the survivors 10 % of the mean response are saved, of 12 %.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "pubmatch/event_batch.hpp"
#include "pubmatch/prefetch.hpp"

namespace pubmatch {

template <class T>
struct Version;

template <class T>
class WorkloadModel {
 public:
  // The version is a bitmap tree of at least two levels.
  explicit WorkloadModel(const Version<T>& version);

  // The expected work of an event, counted in visits of a leaf.
  double workload(const EventBatch<T>& batch, std::size_t event) const;
  std::vector<double> workloads(const EventBatch<T>& batch) const;
  // What workloads() will read: a call that finds the caches cold has it on its way while the events are made ready.
  PUBMATCH_PREFETCHES void prefetch() const { prefetch_range(shares_.data(), shares_.size() * sizeof(Shares)); }

 private:
  std::size_t dims_;
  double leaves_;
  double boxes_;
  bool apart_;  // events are searched one by one
  struct Shares {
    float leaves = 0;  // that meet the bucket
    float boxes = 0;
  };
  std::vector<Shares> shares_;  // [dimension][inner line]
};

// Events in ascending order of expected work, as floats; equal ones as given.
std::vector<std::uint32_t> shortest_first(std::span<const double> work);

// Made when first asked for, so that loading a file reads no more than it must; shared by the versions of one packing.
template <class T>
class LazyWorkloadModel {
 public:
  const WorkloadModel<T>& of(const Version<T>& version) const {
    std::call_once(once_, [&] { model_ = std::make_unique<WorkloadModel<T>>(version); });
    return *model_;
  }

 private:
  mutable std::once_flag once_;
  mutable std::unique_ptr<WorkloadModel<T>> model_;
};

extern template class WorkloadModel<float>;
extern template class WorkloadModel<double>;

}  // namespace pubmatch

// WorkloadTable (paper, figure 3a): for every event its workload and the nodes its search goes on from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pubmatch/batch_intersect.hpp"

namespace pubmatch {

template <class T>
class WorkloadTable {
 public:
  // EstimateWorkload: carries all events of the batch down to `level` (1: the root) and notes where each one's search
  // paths stop. A leaf above the level ends a path too.
  WorkloadTable(const Version<T>& version, const EventBatch<T>& batch, std::size_t level);

  std::size_t size() const { return first_.size() - 1; }
  // The number of search paths of an event stopped at the level.
  std::uint32_t workload(std::size_t event) const { return first_[event + 1] - first_[event]; }
  // The event's nodes, as positions in nodes(), ascending.
  std::span<const std::uint32_t> list(std::size_t event) const {
    return {list_.data() + first_[event], list_.data() + first_[event + 1]};
  }
  const std::vector<const Node<T>*>& nodes() const { return nodes_; }
  // Where the lines of each node begin, if it is a dense leaf.
  const std::vector<const std::uint64_t*>& lines() const { return lines_; }
  // Events in ascending order of workload; equal ones as given.
  std::vector<std::uint32_t> sorted() const;

 private:
  std::vector<std::uint32_t> first_;
  std::vector<std::uint32_t> list_;
  std::vector<const Node<T>*> nodes_;
  std::vector<const std::uint64_t*> lines_;
};

extern template class WorkloadTable<float>;
extern template class WorkloadTable<double>;

}  // namespace pubmatch

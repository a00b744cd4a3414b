#include "pubmatch/workload_table.hpp"

#include <algorithm>
#include <numeric>

namespace pubmatch {

template <class T>
WorkloadTable<T>::WorkloadTable(const Version<T>& version, const EventBatch<T>& batch, std::size_t level) {
  std::vector<std::uint32_t> rows(batch.size());
  std::iota(rows.begin(), rows.end(), 0u);
  IntersectBuffer<T> current;
  IntersectBuffer<T> next;
  current.start(version.root, batch.size());
  BatchIntersect<T> intersect(version, batch);
  for (std::size_t reached = 1; reached < level; ++reached) {
    intersect.descend(current, rows.data(), next);
    std::swap(current, next);
  }
  first_.assign(batch.size() + 1, 0);
  nodes_.reserve(current.visits.size());
  for (const Visit<T>& visit : current.visits) {
    nodes_.push_back(visit.node);
    lines_.push_back(visit.lines);
    for (std::uint32_t i = visit.first; i < visit.last; ++i) ++first_[current.events[i] + 1];
  }
  std::partial_sum(first_.begin(), first_.end(), first_.begin());
  list_.resize(first_.back());
  std::vector<std::uint32_t> at(first_.begin(), first_.end() - 1);
  for (std::uint32_t v = 0; v < current.visits.size(); ++v)
    for (std::uint32_t i = current.visits[v].first; i < current.visits[v].last; ++i) list_[at[current.events[i]]++] = v;
}

template <class T>
std::vector<std::uint32_t> WorkloadTable<T>::sorted() const {
  std::vector<std::uint32_t> order(size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return workload(a) < workload(b); });
  return order;
}

template class WorkloadTable<float>;
template class WorkloadTable<double>;

}  // namespace pubmatch

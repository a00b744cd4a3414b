// BatchIntersect and IntersectBuffer (paper, figures 3b and 4): events carried down the tree together, level by level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pubmatch/event_batch.hpp"
#include "pubmatch/kernels.hpp"
#include "pubmatch/version.hpp"

namespace pubmatch {

// The items of one level: each node that some event meets, with those events. An event is a position in `rows`, the
// list of batch rows that travel together.
template <class T>
struct IntersectBuffer {
  std::vector<Visit<T>> visits;
  std::vector<std::uint32_t> events;

  void clear() {
    visits.clear();
    events.clear();
  }
  // The buffer of level 0: the root, met by all.
  void start(const Node<T>* root, std::size_t event_count);
  // The same with a visit per event: carried down, each event's nodes stay together, one event behind the other.
  void start_apart(const Node<T>* root, std::size_t event_count);
};

template <class T>
class BatchIntersect {
 public:
  BatchIntersect(const Version<T>& version, const EventBatch<T>& batch);

  // Fills `to` with the children that the events of `from` meet; leaves stay where they are.
  void descend(const IntersectBuffer<T>& from, const std::uint32_t* rows, IntersectBuffer<T>& to);

 private:
  void prefetch_lines(const Node<T>& node, std::size_t row) const;
  void prefetch_child(const Node<T>& parent, std::size_t c, const Visit<T>& visit) const;
  void descend_one(const Visit<T>& visit, std::uint32_t event, std::size_t row, IntersectBuffer<T>& to);
  void descend_many(const Visit<T>& visit, const std::uint32_t* events, const std::uint32_t* rows,
                    IntersectBuffer<T>& to);

  const KernelSet<T>& kernels_;
  const std::uint8_t* line_counts_;
  std::size_t leaf_bytes_;  // what the search of a compare leaf reads, about
  const EventBatch<T>& batch_;
  std::vector<std::uint64_t> masks_;
};

extern template struct IntersectBuffer<float>;
extern template struct IntersectBuffer<double>;
extern template class BatchIntersect<float>;
extern template class BatchIntersect<double>;

}  // namespace pubmatch

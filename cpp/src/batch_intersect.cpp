#include "pubmatch/batch_intersect.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <string>

#include "pubmatch/error.hpp"
#include "pubmatch/prefetch.hpp"

namespace pubmatch {

namespace {
constexpr std::size_t kEventsAhead = 3;  // events whose lines are on their way while one is tested

constexpr std::size_t kMostLeafBytes = 2048;  // of a leaf, on their way before its turn comes

// A leaf and its lines, if they are known.
template <class T>
Visit<T> visit_of(const Node<T>& parent, std::size_t c, std::uint32_t first, std::uint32_t last) {
  if (parent.starts.empty()) return {parent.children[c], first, last};
  const auto& [leaf, data] = parent.starts[c];
  return {leaf, first, last, parent.bitmap ? static_cast<const std::uint64_t*>(data) : nullptr};
}

// Visits number the events of a buffer with 32 bits.
template <class T>
void expect_room(const IntersectBuffer<T>& buffer, std::size_t more) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  if (more > kMost - buffer.events.size())
    throw ArgumentError("too many events for this level: they meet more than " + std::to_string(kMost) +
                        " nodes in all; give fewer events at once, or a level nearer the root");
}

}  // namespace

template <class T>
void IntersectBuffer<T>::start(const Node<T>* root, std::size_t event_count) {
  clear();
  if (event_count == 0) return;
  events.resize(event_count);
  std::iota(events.begin(), events.end(), 0u);
  visits.push_back({root, 0, static_cast<std::uint32_t>(event_count)});
}

template <class T>
void IntersectBuffer<T>::start_apart(const Node<T>* root, std::size_t event_count) {
  clear();
  events.resize(event_count);
  std::iota(events.begin(), events.end(), 0u);
  for (const std::uint32_t event : events) visits.push_back({root, event, event + 1});
}

template <class T>
BatchIntersect<T>::BatchIntersect(const Version<T>& version, const EventBatch<T>& batch)
    : kernels_(active_kernels().set<T>()), line_counts_(version.factory->cuts().inner_lines()), batch_(batch) {
  const std::size_t entry_bytes = 2 * batch.dims() * sizeof(T) + sizeof(std::uint32_t);
  leaf_bytes_ = std::min(kMostLeafBytes, version.factory->layout().leaf_target * entry_bytes);
}

// The lines an event needs in an inner node where all dimensions are active.
template <class T>
PUBMATCH_PREFETCHES void BatchIntersect<T>::prefetch_lines(const Node<T>& node, std::size_t row) const {
  if (!node.dense) return;
  const std::uint32_t* chosen = batch_.dense_inner(row);
  for (std::size_t j = 0; j < node.active; ++j)
    __builtin_prefetch(node.line_words + std::size_t{chosen[j]} * kLineWords);
}

template <class T>
void BatchIntersect<T>::descend(const IntersectBuffer<T>& from, const std::uint32_t* rows, IntersectBuffer<T>& to) {
  constexpr std::size_t kAhead = 2;
  to.clear();
  for (std::size_t v = 0; v < from.visits.size(); ++v) {
    const Visit<T>& visit = from.visits[v];
    if (v + kAhead < from.visits.size()) {
      const Node<T>& next = *from.visits[v + kAhead].node;
      if (!next.bitmap)
        for (std::size_t at = 0; at < next.entries.bytes; at += 64) __builtin_prefetch(next.entries.data + at);
      else if (!next.leaf())
        prefetch_lines(next, rows[from.events[from.visits[v + kAhead].first]]);
    }
    const std::uint32_t* events = from.events.data() + visit.first;
    if (visit.node->leaf()) {
      expect_room(to, visit.last - visit.first);
      const auto first = static_cast<std::uint32_t>(to.events.size());
      to.events.insert(to.events.end(), events, events + (visit.last - visit.first));
      to.visits.push_back({visit.node, first, static_cast<std::uint32_t>(to.events.size()), visit.lines});
    } else if (visit.last - visit.first == 1) {
      descend_one(visit, *events, rows[*events], to);
    } else {
      descend_many(visit, events, rows, to);
    }
  }
}

// What the search of a child reads first.
template <class T>
PUBMATCH_PREFETCHES void BatchIntersect<T>::prefetch_child(const Node<T>& parent, std::size_t c,
                                                           const Visit<T>& visit) const {
  if (visit.lines != nullptr) return;  // fetched by the scan
  __builtin_prefetch(visit.node);
  if (parent.bitmap || parent.starts.empty()) return;
  const auto* data = static_cast<const char*>(parent.starts[c].data);
  for (std::size_t at = 0; at < leaf_bytes_; at += 64) __builtin_prefetch(data + at);
}

template <class T>
void BatchIntersect<T>::descend_one(const Visit<T>& visit, std::uint32_t event, std::size_t row,
                                    IntersectBuffer<T>& to) {
  std::uint64_t mask[kLineWords];
  kernels_.meet(*visit.node, batch_, row, line_counts_, mask);
  expect_room(to, 1);
  const auto first = static_cast<std::uint32_t>(to.events.size());
  to.events.push_back(event);
  for (std::size_t w = 0; w < kLineWords; ++w)
    for (std::uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
      const std::size_t c = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      to.visits.push_back(visit_of(*visit.node, c, first, first + 1));
      prefetch_child(*visit.node, c, to.visits.back());
    }
}

template <class T>
void BatchIntersect<T>::descend_many(const Visit<T>& visit, const std::uint32_t* events, const std::uint32_t* rows,
                                     IntersectBuffer<T>& to) {
  const std::size_t size = visit.last - visit.first;
  masks_.resize(size * kLineWords);
  std::array<std::uint32_t, kBlockEntries + 1> place{};
  for (std::size_t i = 0; i < size; ++i) {
    std::uint64_t* mask = masks_.data() + i * kLineWords;
    if (i + kEventsAhead < size) prefetch_lines(*visit.node, rows[events[i + kEventsAhead]]);
    kernels_.meet(*visit.node, batch_, rows[events[i]], line_counts_, mask);
    for (std::size_t w = 0; w < kLineWords; ++w)
      for (std::uint64_t bits = mask[w]; bits != 0; bits &= bits - 1)
        ++place[w * 64 + static_cast<std::size_t>(std::countr_zero(bits)) + 1];
  }
  std::partial_sum(place.begin(), place.begin() + visit.node->count + 1, place.begin());
  const auto base = static_cast<std::uint32_t>(to.events.size());
  expect_room(to, place[visit.node->count]);
  for (std::size_t c = 0; c < visit.node->count; ++c) {
    if (place[c + 1] == place[c]) continue;
    to.visits.push_back(visit_of(*visit.node, c, base + place[c], base + place[c + 1]));
    __builtin_prefetch(to.visits.back().node);
  }
  to.events.resize(base + place[visit.node->count]);
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t* mask = masks_.data() + i * kLineWords;
    for (std::size_t w = 0; w < kLineWords; ++w)
      for (std::uint64_t bits = mask[w]; bits != 0; bits &= bits - 1)
        to.events[base + place[w * 64 + static_cast<std::size_t>(std::countr_zero(bits))]++] = events[i];
  }
}

template struct IntersectBuffer<float>;
template struct IntersectBuffer<double>;
template class BatchIntersect<float>;
template class BatchIntersect<double>;

}  // namespace pubmatch

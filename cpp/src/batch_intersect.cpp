#include "pubmatch/batch_intersect.hpp"

#include <array>
#include <bit>
#include <numeric>

namespace pubmatch {

namespace {
constexpr std::size_t kEventsAhead = 3;  // events whose lines are on their way while one is tested

// Where the lines of a child begin, if they are known.
template <class T>
const std::uint64_t* lines_of(const Node<T>& node, std::size_t c) {
  return node.child_lines.empty() ? nullptr : node.child_lines[c];
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

// The lines an event needs in an inner node where all dimensions are active.
template <class T>
void BatchIntersect<T>::prefetch_lines(const Node<T>& node, std::size_t row) const {
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

template <class T>
void BatchIntersect<T>::descend_one(const Visit<T>& visit, std::uint32_t event, std::size_t row,
                                    IntersectBuffer<T>& to) {
  std::uint64_t mask[kLineWords];
  kernels_.meet(*visit.node, batch_, row, line_counts_, mask);
  const auto first = static_cast<std::uint32_t>(to.events.size());
  to.events.push_back(event);
  for (std::size_t w = 0; w < kLineWords; ++w)
    for (std::uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
      const std::size_t c = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      const Node<T>* child = visit.node->children[c];
      const std::uint64_t* lines = lines_of(*visit.node, c);
      if (lines == nullptr) __builtin_prefetch(child);
      to.visits.push_back({child, first, first + 1, lines});
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
  const auto base = static_cast<std::uint32_t>(to.events.size());
  for (std::size_t c = 0; c < visit.node->count; ++c) {
    place[c + 1] += place[c];
    if (place[c + 1] == place[c]) continue;
    const Node<T>* child = visit.node->children[c];
    __builtin_prefetch(child);
    to.visits.push_back({child, base + place[c], base + place[c + 1], lines_of(*visit.node, c)});
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

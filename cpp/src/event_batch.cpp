#include "pubmatch/event_batch.hpp"

#include <cmath>
#include <limits>

namespace pubmatch {

namespace {

constexpr std::size_t kTail = 256;

template <class T, class P>
void round_both_ways(P x, T& down, T& up) {
  down = up = static_cast<T>(x);
  if constexpr (sizeof(T) < sizeof(P)) {
    if (static_cast<P>(down) > x) down = std::nextafter(down, -std::numeric_limits<T>::infinity());
    if (static_cast<P>(up) < x) up = std::nextafter(up, std::numeric_limits<T>::infinity());
  }
}

}  // namespace

template <class T>
EventBatch<T>::EventBatch(const float* points, std::size_t size, std::size_t dims, const Cuts* cuts)
    : size_(size), dims_(dims), stride_((dims + 15) / 16 * 16) {
  prepare(points, cuts);
}

template <class T>
EventBatch<T>::EventBatch(const double* points, std::size_t size, std::size_t dims, const Cuts* cuts)
    : size_(size), dims_(dims), stride_((dims + 15) / 16 * 16) {
  prepare(points, cuts);
}

template <class T>
template <class P>
void EventBatch<T>::prepare(const P* points, const Cuts* cuts) {
  const std::size_t cells = size_ * stride_ + kTail;
  down_.resize(cells);
  up_.resize(cells);
  if (cuts != nullptr) {
    leaf_lines_.resize(cells);
    inner_lines_.resize(cells);
    dense_leaf_.resize(cells);
    dense_inner_.resize(cells);
  }
  // Dimension by dimension: the tables of one stay in the cache.
  std::uint32_t leaf_base = 0;
  std::uint32_t inner_base = 0;
  for (std::size_t d = 0; d < dims_; ++d) {
    round_column(points, d);
    if (cuts == nullptr) continue;
    const std::uint8_t* const coarse_of = cuts->coarse_of(d).data();
    const std::uint8_t inner_absent = cuts->inner_lines(d) - 1;
    const std::uint8_t leaf_absent = cuts->leaf_lines(d) - 1;
    for (std::size_t e = 0; e < size_; ++e) {
      const P x = points[e * dims_ + d];
      const std::size_t at = e * stride_ + d;
      const std::uint8_t bucket = cuts->fine_bucket(d, static_cast<double>(x));
      const bool absent = std::isnan(x);
      inner_lines_[at] = absent ? inner_absent : bucket;
      leaf_lines_[at] = absent ? leaf_absent : coarse_of[bucket];
      dense_inner_[at] = inner_base + inner_lines_[at];
      dense_leaf_[at] = leaf_base + leaf_lines_[at];
    }
    leaf_base += cuts->leaf_lines(d);
    inner_base += cuts->inner_lines(d);
  }
}

template <class T>
template <class P>
void EventBatch<T>::round_column(const P* points, std::size_t d) {
  for (std::size_t e = 0; e < size_; ++e) {
    const P x = points[e * dims_ + d];
    const std::size_t at = e * stride_ + d;
    if (std::isnan(x)) {
      down_[at] = -std::numeric_limits<T>::infinity();
      up_[at] = std::numeric_limits<T>::infinity();
    } else {
      round_both_ways(x, down_[at], up_[at]);
    }
  }
}

template class EventBatch<float>;
template class EventBatch<double>;

}  // namespace pubmatch

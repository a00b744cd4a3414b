// Events (or query boxes) made ready for a tree: coordinates in the tree's type and the bucket of each.
//
// Every test in the tree has the form  lower <= down  and  upper >= up:
//   an event x          down = the greatest T <= x, up = the least T >= x   (a float64 point against float32 bounds, exactly)
//   an absent attribute down = -inf, up = +inf                              (only unconstrained sides pass)
//   meets [a, b]        down = b, up = a
//   contains [a, b]     down = a, up = b
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pubmatch/cuts.hpp"

namespace pubmatch {

template <class T>
class EventBatch {
 public:
  // cuts may be null: then no buckets are looked up.
  EventBatch(const float* points, std::size_t size, std::size_t dims, const Cuts* cuts);
  EventBatch(const double* points, std::size_t size, std::size_t dims, const Cuts* cuts);

  std::size_t size() const { return size_; }
  std::size_t dims() const { return dims_; }
  // Rows may be read up to index 255 whatever the dimensions: a damaged file cannot make a search read outside.
  const T* down(std::size_t event) const { return down_.data() + event * stride_; }
  const T* up(std::size_t event) const { return up_.data() + event * stride_; }
  const std::uint8_t* leaf_lines(std::size_t event) const { return leaf_lines_.data() + event * stride_; }
  const std::uint8_t* inner_lines(std::size_t event) const { return inner_lines_.data() + event * stride_; }
  // In nodes where all dimensions are active: the line of every dimension, counted from the node's first.
  const std::uint32_t* dense_leaf(std::size_t event) const { return dense_leaf_.data() + event * stride_; }
  const std::uint32_t* dense_inner(std::size_t event) const { return dense_inner_.data() + event * stride_; }

 private:
  template <class P>
  void prepare(const P* points, const Cuts* cuts);
  template <class P>
  void round_column(const P* points, std::size_t d);

  std::size_t size_;
  std::size_t dims_;
  std::size_t stride_;
  std::vector<T> down_, up_;
  std::vector<std::uint8_t> leaf_lines_, inner_lines_;
  std::vector<std::uint32_t> dense_leaf_, dense_inner_;
};

extern template class EventBatch<float>;
extern template class EventBatch<double>;

}  // namespace pubmatch

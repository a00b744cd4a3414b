// Finds the child a new box belongs to, the way the tree was packed: by comparing one bound after another.
//
// A packed tree divides boxes by their bounds, so each child has a cell: the range of its boxes' lower and of their upper
// bounds in every dimension. The router is a binary tree of comparisons that tells cells apart. It follows from the boxes
// alone, so it is not stored in files; updates keep it in step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pubmatch {

template <class T>
struct Cell {
  // Per dimension: least and greatest lower bound, least and greatest upper bound.
  std::vector<T> least_lower, greatest_lower, least_upper, greatest_upper;

  explicit Cell(std::size_t dims);
  void extend(const T* lower, const T* upper);
  void extend(const Cell& other);
};

template <class T>
class Router {
 public:
  struct Child {
    std::uint32_t number;
    Cell<T> cell;
  };

  // clip_low, clip_high: where unbounded sides count as ending, per dimension.
  Router(const std::vector<Child>& children, const std::vector<T>& clip_low, const std::vector<T>& clip_high);

  std::uint32_t find(const T* lower, const T* upper) const;
  // One child became two.
  void split(const Child& left, const Child& right, const std::vector<T>& clip_low, const std::vector<T>& clip_high);
  void remove(std::uint32_t number);
  std::size_t bytes() const { return steps_.capacity() * sizeof(Step); }

 private:
  // A comparison: on to `low` when the bound is below the threshold, else to `high`. Or, with dim = kChild, the child.
  struct Step {
    T threshold;
    std::uint32_t low;
    std::uint32_t high;
    std::uint8_t dim;
    bool on_upper;
  };
  static constexpr std::uint8_t kChild = 255;

  std::uint32_t build(std::vector<const Child*> children, const std::vector<T>& clip_low,
                      const std::vector<T>& clip_high);
  std::uint32_t at(std::uint32_t number) const;

  std::vector<Step> steps_;
  std::uint32_t first_ = 0;
};

extern template struct Cell<float>;
extern template struct Cell<double>;
extern template class Router<float>;
extern template class Router<double>;

}  // namespace pubmatch

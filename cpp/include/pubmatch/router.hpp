// Finds the child a new box belongs to, the way the tree was packed: by comparing one bound after another.
//
// A packed tree divides boxes by their bounds, so each child has a cell: the range of its boxes' lower and of their upper
// bounds in every dimension. The router is a binary tree of comparisons that tells cells apart. It follows from the boxes
// alone, so it is not stored in files; updates keep it in step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace pubmatch {

// The bounds of one side of some boxes: where they begin and end, and how many lie exactly there.
template <class T>
struct BoundRange {
  T least = std::numeric_limits<T>::infinity();
  T greatest = -std::numeric_limits<T>::infinity();
  std::size_t at_least = 0;
  std::size_t at_greatest = 0;

  void add(T bound) { add({bound, bound, 1, 1}); }
  void add(const BoundRange& other);
};

template <class T>
struct Cell {
  std::vector<BoundRange<T>> lower, upper;  // per dimension
  std::size_t boxes = 0;

  explicit Cell(std::size_t dims) : lower(dims), upper(dims) {}
  void extend(const T* lower_row, const T* upper_row);
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

  // Changes nothing but whose turn it is where children share a bound.
  std::uint32_t find(const T* lower, const T* upper);
  // One child became two.
  void split(const Child& left, const Child& right, const std::vector<T>& clip_low, const std::vector<T>& clip_high);
  void remove(std::uint32_t number);
  std::size_t bytes() const { return steps_.capacity() * sizeof(Step); }

 private:
  // A comparison: on to `low` when the bound is below the threshold, else to `high`. Or, with dim = kChild, the child.
  // Boxes whose bound is the threshold itself may have been packed on both sides (most sides have no bound in sparse
  // subscriptions); new ones are then dealt out as those were, or one side would take them all and split again and again.
  struct Step {
    T threshold = 0;
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    float low_share = 0;  // of the boxes at the threshold
    float credit = 0;     // of the low side
    std::uint8_t dim = 0;
    bool on_upper = false;
  };
  static constexpr std::uint8_t kChild = 255;

  struct Choice;

  std::uint32_t build(std::vector<const Child*> children, const std::vector<T>& clip_low,
                      const std::vector<T>& clip_high);
  static void choose_side(std::vector<const Child*>& children, std::size_t d, bool on_upper, T clip_low, T clip_high,
                          Choice& best);
  std::uint32_t at(std::uint32_t number) const;

  std::vector<Step> steps_;
  std::uint32_t first_ = 0;
};

extern template struct BoundRange<float>;
extern template struct BoundRange<double>;
extern template struct Cell<float>;
extern template struct Cell<double>;
extern template class Router<float>;
extern template class Router<double>;

}  // namespace pubmatch

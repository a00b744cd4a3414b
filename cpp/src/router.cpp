#include "pubmatch/router.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pubmatch {

namespace {

// Beside the balance, 0.5 to 1: of cutting through all of the children's range, and of dealing all boxes out.
constexpr double kCutCost = 16;
constexpr double kTieCost = 1;
constexpr double kNotApart = 1e6;

template <class Child>
const auto& range_of(const Child* child, std::size_t d, bool on_upper) {
  return on_upper ? child->cell.upper[d] : child->cell.lower[d];
}

template <class Child>
void sort_children(std::vector<const Child*>& children, std::size_t d, bool on_upper) {
  std::stable_sort(children.begin(), children.end(), [&](const Child* a, const Child* b) {
    const auto& x = range_of(a, d, on_upper);
    const auto& y = range_of(b, d, on_upper);
    return x.least != y.least ? x.least < y.least : x.greatest < y.greatest;
  });
}

}  // namespace

template <class T>
void BoundRange<T>::add(const BoundRange& other) {
  if (other.least <= least) {
    at_least = other.at_least + (other.least == least ? at_least : 0);
    least = other.least;
  }
  if (other.greatest >= greatest) {
    at_greatest = other.at_greatest + (other.greatest == greatest ? at_greatest : 0);
    greatest = other.greatest;
  }
}

template <class T>
void Cell<T>::extend(const T* lower_row, const T* upper_row) {
  for (std::size_t d = 0; d < lower.size(); ++d) {
    lower[d].add(lower_row[d]);
    upper[d].add(upper_row[d]);
  }
  ++boxes;
}

template <class T>
void Cell<T>::extend(const Cell& other) {
  for (std::size_t d = 0; d < lower.size(); ++d) {
    lower[d].add(other.lower[d]);
    upper[d].add(other.upper[d]);
  }
  boxes += other.boxes;
}

template <class T>
Router<T>::Router(const std::vector<Child>& children, const std::vector<T>& clip_low, const std::vector<T>& clip_high) {
  std::vector<const Child*> all;
  for (const Child& child : children) all.push_back(&child);
  first_ = build(std::move(all), clip_low, clip_high);
}

template <class T>
struct Router<T>::Choice {
  double cost = std::numeric_limits<double>::infinity();
  std::size_t dim = 0;
  std::size_t left = 1;
  bool on_upper = false;
  T threshold = 0;
  float low_share = 0;
};

// Looks for the comparison that divides the children most evenly without cutting through a cell; where every one cuts
// through some, for the one that cuts least.
template <class T>
std::uint32_t Router<T>::build(std::vector<const Child*> children, const std::vector<T>& clip_low,
                               const std::vector<T>& clip_high) {
  const auto step = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back({.low = children.front()->number, .dim = kChild});
  if (children.size() == 1) return step;
  Choice best;
  for (std::size_t d = 0; d < clip_low.size(); ++d)
    for (const bool on_upper : {false, true}) choose_side(children, d, on_upper, clip_low[d], clip_high[d], best);
  sort_children(children, best.dim, best.on_upper);
  const auto middle = children.begin() + static_cast<std::ptrdiff_t>(best.left);
  const std::uint32_t low = build({children.begin(), middle}, clip_low, clip_high);
  const std::uint32_t high = build({middle, children.end()}, clip_low, clip_high);
  steps_[step] = {.threshold = best.threshold,
                  .low = low,
                  .high = high,
                  .low_share = best.low_share,
                  .dim = static_cast<std::uint8_t>(best.dim),
                  .on_upper = best.on_upper};
  return step;
}

// Tries the comparisons on one bound of one dimension.
template <class T>
void Router<T>::choose_side(std::vector<const Child*>& children, std::size_t d, bool on_upper, T clip_low, T clip_high,
                            Choice& best) {
  const std::size_t size = children.size();
  sort_children(children, d, on_upper);
  const auto clip = [&](T v) { return static_cast<double>(std::clamp(v, clip_low, clip_high)); };
  // Boxes of this child and those behind it whose bounds are where its own begin.
  std::vector<std::size_t> tied(size);
  std::size_t boxes = 0;
  BoundRange<T> whole;
  for (std::size_t c = size; c-- > 0;) {
    const BoundRange<T>& own = range_of(children[c], d, on_upper);
    whole.add(own);
    const bool goes_on = c + 1 < size && range_of(children[c + 1], d, on_upper).least == own.least;
    tied[c] = own.at_least + (goes_on ? tied[c + 1] : 0);
    boxes += children[c]->cell.boxes;
  }
  const double width = clip(whole.greatest) - clip(whole.least);
  BoundRange<T> before;
  for (std::size_t left = 1; left < size; ++left) {
    before.add(range_of(children[left - 1], d, on_upper));
    const T threshold = range_of(children[left], d, on_upper).least;
    const bool tie = before.greatest == threshold;
    const double cut = width > 0 ? std::max(0.0, clip(before.greatest) - clip(threshold)) / width : 0;
    const double balance = static_cast<double>(std::max(left, size - left)) / static_cast<double>(size);
    // No comparison at all where both sides begin at the same bound and one goes on.
    const bool apart = tie || range_of(children[left - 1], d, on_upper).least < threshold;
    const auto at_threshold = static_cast<double>(tie ? before.at_greatest + tied[left] : 0);
    const double dealt_out = at_threshold / static_cast<double>(std::max<std::size_t>(boxes, 1));
    const double cost = (apart ? balance : kNotApart) + kCutCost * cut + kTieCost * dealt_out;
    if (cost >= best.cost) continue;
    const float low_share = tie ? static_cast<float>(static_cast<double>(before.at_greatest) / at_threshold) : 0;
    best = {cost, d, left, on_upper, threshold, low_share};
  }
}

template <class T>
std::uint32_t Router<T>::find(const T* lower, const T* upper) {
  Step* step = &steps_[first_];
  while (step->dim != kChild) {
    const T bound = step->on_upper ? upper[step->dim] : lower[step->dim];
    bool low = bound < step->threshold;
    if (bound == step->threshold && step->low_share > 0) {
      step->credit += step->low_share;
      low = step->credit >= 1;
      if (low) step->credit -= 1;
    }
    step = &steps_[low ? step->low : step->high];
  }
  return step->low;
}

template <class T>
std::uint32_t Router<T>::at(std::uint32_t number) const {
  std::uint32_t step = 0;
  while (steps_[step].dim != kChild || steps_[step].low != number) ++step;
  return step;
}

template <class T>
void Router<T>::split(const Child& left, const Child& right, const std::vector<T>& clip_low,
                      const std::vector<T>& clip_high) {
  const std::uint32_t place = at(left.number);
  const std::uint32_t pair = build({&left, &right}, clip_low, clip_high);
  steps_[place] = steps_[pair];
  // The moved comparison leaves a step nothing leads to; it must not look like a child.
  steps_[pair] = {};
}

template <class T>
void Router<T>::remove(std::uint32_t number) {
  const std::uint32_t gone = at(number);
  for (Step& step : steps_) {
    if (step.dim == kChild || (step.low != gone && step.high != gone) || step.low == step.high) continue;
    const std::uint32_t sibling = step.low == gone ? step.high : step.low;
    step = steps_[sibling];
    steps_[sibling] = {};
    break;
  }
  steps_[gone] = {};
}

template struct BoundRange<float>;
template struct BoundRange<double>;
template struct Cell<float>;
template struct Cell<double>;
template class Router<float>;
template class Router<double>;

}  // namespace pubmatch

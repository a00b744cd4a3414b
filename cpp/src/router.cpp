#include "pubmatch/router.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pubmatch {

template <class T>
Cell<T>::Cell(std::size_t dims)
    : least_lower(dims, std::numeric_limits<T>::infinity()),
      greatest_lower(dims, -std::numeric_limits<T>::infinity()),
      least_upper(dims, std::numeric_limits<T>::infinity()),
      greatest_upper(dims, -std::numeric_limits<T>::infinity()) {}

template <class T>
void Cell<T>::extend(const T* lower, const T* upper) {
  for (std::size_t d = 0; d < least_lower.size(); ++d) {
    least_lower[d] = std::min(least_lower[d], lower[d]);
    greatest_lower[d] = std::max(greatest_lower[d], lower[d]);
    least_upper[d] = std::min(least_upper[d], upper[d]);
    greatest_upper[d] = std::max(greatest_upper[d], upper[d]);
  }
}

template <class T>
void Cell<T>::extend(const Cell& other) {
  extend(other.least_lower.data(), other.least_upper.data());
  extend(other.greatest_lower.data(), other.greatest_upper.data());
}

template <class T>
Router<T>::Router(const std::vector<Child>& children, const std::vector<T>& clip_low, const std::vector<T>& clip_high) {
  std::vector<const Child*> all;
  for (const Child& child : children) all.push_back(&child);
  first_ = build(std::move(all), clip_low, clip_high);
}

// Looks for the comparison that divides the children most evenly without cutting through a cell; where every one cuts
// through some, for the one that cuts least.
template <class T>
std::uint32_t Router<T>::build(std::vector<const Child*> children, const std::vector<T>& clip_low,
                               const std::vector<T>& clip_high) {
  const auto step = static_cast<std::uint32_t>(steps_.size());
  steps_.push_back({T{0}, children.front()->number, 0, kChild, false});
  const std::size_t size = children.size();
  if (size == 1) return step;

  double best = std::numeric_limits<double>::infinity();
  std::size_t best_dim = 0;
  std::size_t best_left = 1;
  bool best_upper = false;
  const auto least = [](const Child* c, std::size_t d, bool on_upper) {
    return on_upper ? c->cell.least_upper[d] : c->cell.least_lower[d];
  };
  const auto sort_by = [&](std::size_t d, bool on_upper) {
    std::stable_sort(children.begin(), children.end(), [&](const Child* a, const Child* b) {
      const T x = least(a, d, on_upper);
      const T y = least(b, d, on_upper);
      if (x != y) return x < y;
      return on_upper ? a->cell.greatest_upper[d] < b->cell.greatest_upper[d]
                      : a->cell.greatest_lower[d] < b->cell.greatest_lower[d];
    });
  };
  for (std::size_t d = 0; d < clip_low.size(); ++d) {
    const double width = static_cast<double>(clip_high[d]) - static_cast<double>(clip_low[d]);
    const auto clip = [&](T v) { return static_cast<double>(std::clamp(v, clip_low[d], clip_high[d])); };
    for (const bool on_upper : {false, true}) {
      sort_by(d, on_upper);
      double reach = -std::numeric_limits<double>::infinity();
      for (std::size_t left = 1; left < size; ++left) {
        const Cell<T>& before = children[left - 1]->cell;
        reach = std::max(reach, clip(on_upper ? before.greatest_upper[d] : before.greatest_lower[d]));
        const double cut = width > 0 ? std::max(0.0, reach - clip(least(children[left], d, on_upper))) / width : 1;
        const double balance = static_cast<double>(std::max(left, size - left)) / static_cast<double>(size);
        // No comparison at all where both sides begin at the same bound.
        const bool apart = least(children[left - 1], d, on_upper) < least(children[left], d, on_upper);
        const double cost = apart ? balance + 16 * cut : 1e6 + 16 * cut;
        if (cost < best) {
          best = cost;
          best_dim = d;
          best_left = left;
          best_upper = on_upper;
        }
      }
    }
  }
  sort_by(best_dim, best_upper);
  const T threshold = least(children[best_left], best_dim, best_upper);
  const auto middle = children.begin() + static_cast<std::ptrdiff_t>(best_left);
  const std::uint32_t low = build({children.begin(), middle}, clip_low, clip_high);
  const std::uint32_t high = build({middle, children.end()}, clip_low, clip_high);
  steps_[step] = {threshold, low, high, static_cast<std::uint8_t>(best_dim), best_upper};
  return step;
}

template <class T>
std::uint32_t Router<T>::find(const T* lower, const T* upper) const {
  const Step* step = &steps_[first_];
  while (step->dim != kChild) {
    const T bound = step->on_upper ? upper[step->dim] : lower[step->dim];
    step = &steps_[bound < step->threshold ? step->low : step->high];
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
  steps_[pair] = {T{0}, 0, 0, 0, false};
}

template <class T>
void Router<T>::remove(std::uint32_t number) {
  const std::uint32_t gone = at(number);
  for (Step& step : steps_) {
    if (step.dim == kChild || (step.low != gone && step.high != gone) || step.low == step.high) continue;
    const std::uint32_t sibling = step.low == gone ? step.high : step.low;
    step = steps_[sibling];
    steps_[sibling] = {T{0}, 0, 0, 0, false};
    break;
  }
  steps_[gone] = {T{0}, 0, 0, 0, false};
}

template struct Cell<float>;
template struct Cell<double>;
template class Router<float>;
template class Router<double>;

}  // namespace pubmatch

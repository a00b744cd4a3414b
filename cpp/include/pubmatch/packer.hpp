// Cost-based packing: divides boxes into runs that few events visit.
//
// Boxes are split top-down in two, on the lower or the upper bound of one dimension, where the expected work
//   (leaves left)^0.7 × (events that reach the left side) + the same for the right
// is least. Events are a sample: the caller's, or the subscriptions' own centres, never assumed uniform. Bounds and
// events are compared by the bucket of Cuts they fall in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "pubmatch/box.hpp"
#include "pubmatch/cuts.hpp"

namespace pubmatch {

// Finite bounds of a sample of the boxes, per dimension, the least and the greatest of all among them: what Cuts are made
// from.
template <class T>
std::vector<std::vector<double>> sample_bounds(const BoxView<T>& boxes, std::span<const std::uint32_t> rows);

// Events as the boxes suggest them, row-major: centres of evenly spaced boxes; where a box has no centre, the next one's.
template <class T>
std::vector<T> sample_centres(const BoxView<T>& boxes, std::size_t most);

template <class T>
class Packer {
 public:
  // rows: which boxes to pack, in any order. events: row-major sample points, may be empty.
  Packer(const BoxView<T>& boxes, std::vector<std::uint32_t> rows, const Cuts& cuts, std::span<const double> events);

  using Emit = std::function<void(std::size_t first, std::size_t last)>;
  // Divides positions [first, last) into `parts` runs of nearly equal size and emits them in order.
  void divide(std::size_t first, std::size_t last, std::size_t parts, const Emit& emit);

  std::size_t size() const { return rows_.size(); }
  std::uint32_t row(std::size_t position) const { return rows_[order_[position]]; }
  std::vector<std::uint32_t> rows(std::size_t first, std::size_t last) const;

 private:
  struct Choice;
  struct Histograms;
  using Events = std::vector<std::uint32_t>;

  void divide(std::size_t first, std::size_t last, std::size_t parts, const Emit& emit, const Events& events);
  void fill(Histograms& h, std::size_t first, std::size_t last) const;
  void add_centres(std::size_t first, std::size_t last, std::size_t most);
  Events reaching(const Histograms& h, const Events& events) const;
  Choice choose(const Histograms& h, std::size_t parts, const Events& events) const;
  void choose_side(const Histograms& h, std::size_t d, bool on_upper, std::size_t parts,
                   const std::vector<std::uint32_t>& below, Choice& best) const;
  void split(std::size_t first, std::size_t middle, std::size_t last, const Choice& choice);

  const BoxView<T> boxes_;
  std::size_t dims_;
  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> order_;               // positions into rows_
  std::vector<std::uint8_t> codes_;                // per box: lower codes, then upper codes
  std::vector<std::uint8_t> event_codes_;          // per event: fine buckets
  std::vector<std::pair<T, std::uint32_t>> keys_;  // scratch of split()
  std::uint64_t random_ = 0x9e3779b97f4a7c15ull;
};

extern template class Packer<float>;
extern template class Packer<double>;

}  // namespace pubmatch

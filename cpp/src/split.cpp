#include "pubmatch/split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace pubmatch {

namespace {

// The boxes with finite sides, in double: volumes and margins need numbers.
struct Clipped {
  std::size_t dims;
  std::vector<double> lower, upper;

  template <class T>
  explicit Clipped(const BoxView<T>& boxes) : dims(boxes.dims), lower(boxes.size * dims), upper(boxes.size * dims) {
    for (std::size_t d = 0; d < dims; ++d) {
      double least = std::numeric_limits<double>::infinity();
      double greatest = -least;
      for (std::size_t i = 0; i < boxes.size; ++i)
        for (const double bound :
             {static_cast<double>(boxes.lower_row(i)[d]), static_cast<double>(boxes.upper_row(i)[d])})
          if (std::isfinite(bound)) {
            least = std::min(least, bound);
            greatest = std::max(greatest, bound);
          }
      // Where bounds do not differ the dimension tells nothing: sides of one leave volumes to the others.
      const bool differ = least < greatest;
      // Scaled to at most one per side, so that huge coordinates do not overflow volumes.
      const double width = greatest / 2 - least / 2;
      // A width lost to rounding (denormals), or bounds that are not numbers, must not make sides that are neither 0 nor 1.
      const auto clip = [&](double v, double otherwise) {
        const double scaled = differ ? (std::clamp(v, least, greatest) / 2 - least / 2) / width : otherwise;
        return std::isfinite(scaled) ? scaled : otherwise;
      };
      for (std::size_t i = 0; i < boxes.size; ++i) {
        lower[i * dims + d] = clip(static_cast<double>(boxes.lower_row(i)[d]), 0.0);
        upper[i * dims + d] = clip(static_cast<double>(boxes.upper_row(i)[d]), 1.0);
      }
    }
  }
};

struct Extent {
  std::vector<double> lower, upper;

  Extent(const Clipped& boxes, std::size_t i)
      : lower(boxes.lower.begin() + static_cast<std::ptrdiff_t>(i * boxes.dims),
              boxes.lower.begin() + static_cast<std::ptrdiff_t>((i + 1) * boxes.dims)),
        upper(boxes.upper.begin() + static_cast<std::ptrdiff_t>(i * boxes.dims),
              boxes.upper.begin() + static_cast<std::ptrdiff_t>((i + 1) * boxes.dims)) {}
  void extend(const Clipped& boxes, std::size_t i) {
    for (std::size_t d = 0; d < lower.size(); ++d) {
      lower[d] = std::min(lower[d], boxes.lower[i * boxes.dims + d]);
      upper[d] = std::max(upper[d], boxes.upper[i * boxes.dims + d]);
    }
  }
  double volume() const {
    double product = 1;
    for (std::size_t d = 0; d < lower.size(); ++d) product *= upper[d] - lower[d];
    return product;
  }
  double margin() const {
    double sum = 0;
    for (std::size_t d = 0; d < lower.size(); ++d) sum += upper[d] - lower[d];
    return sum;
  }
  double overlap(const Extent& other) const {
    double product = 1;
    for (std::size_t d = 0; d < lower.size(); ++d)
      product *= std::max(0.0, std::min(upper[d], other.upper[d]) - std::max(lower[d], other.lower[d]));
    return product;
  }
};

double joined_volume(const Extent& extent, const Clipped& boxes, std::size_t i) {
  Extent joined = extent;
  joined.extend(boxes, i);
  return joined.volume();
}

std::vector<std::uint8_t> quadratic(const Clipped& boxes, std::size_t size, std::size_t minimum) {
  // PickSeeds: the pair that wastes most.
  std::size_t seeds[2] = {0, 1};
  double worst = -std::numeric_limits<double>::infinity();
  std::vector<double> volumes(size);
  for (std::size_t i = 0; i < size; ++i) volumes[i] = Extent(boxes, i).volume();
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = i + 1; j < size; ++j) {
      const double waste = joined_volume(Extent(boxes, i), boxes, j) - volumes[i] - volumes[j];
      if (waste > worst) {
        worst = waste;
        seeds[0] = i;
        seeds[1] = j;
      }
    }
  constexpr std::uint8_t kOpen = 2;
  std::vector<std::uint8_t> side(size, kOpen);
  Extent extents[2] = {Extent(boxes, seeds[0]), Extent(boxes, seeds[1])};
  std::size_t sizes[2] = {1, 1};
  side[seeds[0]] = 0;
  side[seeds[1]] = 1;
  for (std::size_t left = size - 2; left > 0; --left) {
    for (const std::uint8_t s : {std::uint8_t{0}, std::uint8_t{1}})
      if (sizes[s] + left <= minimum) {  // the rest is needed here
        std::replace(side.begin(), side.end(), kOpen, s);
        return side;
      }
    // PickNext: the box with the strongest preference.
    std::size_t next = 0;
    double strongest = -1;
    std::uint8_t wanted = 0;
    for (std::size_t i = 0; i < size; ++i) {
      if (side[i] != kOpen) continue;
      const double first = joined_volume(extents[0], boxes, i) - extents[0].volume();
      const double second = joined_volume(extents[1], boxes, i) - extents[1].volume();
      if (std::abs(first - second) > strongest) {
        strongest = std::abs(first - second);
        next = i;
        wanted = first < second || (first == second && sizes[0] <= sizes[1]) ? 0 : 1;
      }
    }
    side[next] = wanted;
    extents[wanted].extend(boxes, next);
    ++sizes[wanted];
  }
  return side;
}

struct Sorted {
  std::vector<std::size_t> order;
  std::vector<Extent> before, after;  // extents of the first i + 1 and of those from i on

  Sorted(const Clipped& boxes, std::size_t size, std::size_t d, bool by_upper) : order(size) {
    std::iota(order.begin(), order.end(), std::size_t{0});
    const std::vector<double>& first = by_upper ? boxes.upper : boxes.lower;
    const std::vector<double>& second = by_upper ? boxes.lower : boxes.upper;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const double x = first[a * boxes.dims + d];
      const double y = first[b * boxes.dims + d];
      return x != y ? x < y : second[a * boxes.dims + d] < second[b * boxes.dims + d];
    });
    for (const std::size_t i : order) {
      before.push_back(before.empty() ? Extent(boxes, i) : before.back());
      before.back().extend(boxes, i);
    }
    for (std::size_t k = size; k-- > 0;) {
      after.push_back(after.empty() ? Extent(boxes, order[k]) : after.back());
      after.back().extend(boxes, order[k]);
    }
    std::reverse(after.begin(), after.end());
  }
};

std::vector<std::uint8_t> rstar(const Clipped& boxes, std::size_t size, std::size_t minimum) {
  // ChooseSplitAxis: least sum of margins; ChooseSplitIndex: least overlap, then least volume.
  double best_margin = std::numeric_limits<double>::infinity();
  std::vector<std::uint8_t> best(size, 0);
  for (std::size_t d = 0; d < boxes.dims; ++d) {
    double margin = 0;
    double overlap = std::numeric_limits<double>::infinity();
    double volume = overlap;
    std::vector<std::uint8_t> side(size, 0);
    for (const bool by_upper : {false, true}) {
      const Sorted sorted(boxes, size, d, by_upper);
      for (std::size_t k = minimum; k + minimum <= size; ++k) {
        const Extent& left = sorted.before[k - 1];
        const Extent& right = sorted.after[k];
        margin += left.margin() + right.margin();
        const double shared = left.overlap(right);
        const double both = left.volume() + right.volume();
        if (shared < overlap || (shared == overlap && both < volume)) {
          overlap = shared;
          volume = both;
          for (std::size_t i = 0; i < size; ++i) side[sorted.order[i]] = i < k ? 0 : 1;
        }
      }
    }
    if (margin < best_margin) {
      best_margin = margin;
      best = side;
    }
  }
  return best;
}

}  // namespace

template <class T>
std::vector<std::uint8_t> split_boxes(const BoxView<T>& boxes, SplitRule rule, std::size_t minimum) {
  const Clipped clipped(boxes);
  return rule == SplitRule::kQuadratic ? quadratic(clipped, boxes.size, minimum) : rstar(clipped, boxes.size, minimum);
}

template std::vector<std::uint8_t> split_boxes<float>(const BoxView<float>&, SplitRule, std::size_t);
template std::vector<std::uint8_t> split_boxes<double>(const BoxView<double>&, SplitRule, std::size_t);

}  // namespace pubmatch

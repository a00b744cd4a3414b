// Buckets of every dimension: values cut at quantiles of the subscriptions' bounds.
//
// Bucket b of a dimension holds the values v with cut[b-1] <= v < cut[b]. Bitmap nodes keep one line of bits per
// dimension and bucket. Inner nodes use the fine buckets, leaves the coarse ones (every coarse cut is a fine one), so an
// event's coordinate is looked up once. The last line of a dimension stands for "attribute absent".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pubmatch/params.hpp"
#include "pubmatch/prefetch.hpp"

namespace pubmatch {

class Cuts {
 public:
  // values[d]: a sample of the finite bounds of dimension d, in any order.
  Cuts(std::vector<std::vector<double>> values, std::size_t leaf_lines);
  // From a file: ascending fine cuts per dimension, and for every fine bucket its coarse one.
  static std::shared_ptr<const Cuts> restore(std::vector<std::vector<double>> fine,
                                             std::vector<std::vector<std::uint8_t>> coarse_of);

  std::size_t dims() const { return fine_.size(); }
  const std::vector<double>& fine(std::size_t d) const { return fine_[d]; }
  const std::vector<std::uint8_t>& coarse_of(std::size_t d) const { return coarse_of_[d]; }

  std::uint8_t fine_bucket(std::size_t d, double value) const { return grids_[d].bucket(value); }
  std::uint8_t coarse_bucket(std::size_t d, double value) const { return coarse_of_[d][fine_bucket(d, value)]; }

  // What looking buckets up reads: a call that finds the caches cold has it all on its way at once.
  PUBMATCH_PREFETCHES void prefetch() const {
    prefetch_range(grids_.data(), grids_.size() * sizeof(Grid));
    for (std::size_t d = 0; d < grids_.size(); ++d) {
      prefetch_range(grids_[d].cuts.data(), grids_[d].cuts.size() * sizeof(double));
      prefetch_range(coarse_of_[d].data(), coarse_of_[d].size());
    }
  }

  // Lines per dimension, the absent line included; the absent line is the last.
  std::uint8_t inner_lines(std::size_t d) const { return inner_lines_[d]; }
  std::uint8_t leaf_lines(std::size_t d) const { return leaf_lines_[d]; }
  const std::uint8_t* leaf_lines() const { return leaf_lines_.data(); }
  const std::uint8_t* inner_lines() const { return inner_lines_.data(); }

 private:
  Cuts() = default;
  void count_lines();
  void make_grid();

  static constexpr std::size_t kGridCells = 256;
  static constexpr std::size_t kStraight = 4;  // cuts counted without a branch
  struct Grid {
    double least = 0;
    double scale = 0;
    std::array<std::uint8_t, kGridCells + 1> below{};  // cuts in earlier cells
    std::vector<double> cuts;                          // and kStraight that no value reaches

    std::size_t cell(double value) const {
      constexpr double kLast = kGridCells - 1;
      double at = (value - least) * scale;
      at = at > 0 ? at : 0;  // of NaN too
      return static_cast<std::size_t>(static_cast<std::int32_t>(at < kLast ? at : kLast));
    }

    // How many cuts lie at or below the value. Those of later cells lie above it, so it does no harm to count on into them.
    std::uint8_t bucket(double value) const {
      const std::size_t at = cell(value);
      std::size_t first = below[at];
      std::size_t last = below[at + 1];
      while (last - first > kStraight) {
        const std::size_t middle = (first + last) / 2;
        if (cuts[middle] <= value)
          first = middle + 1;
        else
          last = middle;
      }
      const double* next = cuts.data() + first;
      for (std::size_t i = 0; i < kStraight; ++i) first += next[i] <= value ? 1 : 0;
      return static_cast<std::uint8_t>(first);
    }
  };

  std::vector<std::vector<double>> fine_;
  std::vector<std::vector<std::uint8_t>> coarse_of_;
  std::vector<Grid> grids_;
  // Indexed by any byte, so that a dimension read from a damaged file stays inside.
  std::array<std::uint8_t, 256> inner_lines_{};
  std::array<std::uint8_t, 256> leaf_lines_{};
};

}  // namespace pubmatch

#include "pubmatch/cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pubmatch {

namespace {

// At most `most` ascending distinct cuts at even quantiles of the values, and one just behind the greatest value: events
// beyond all bounds fall in buckets of their own.
std::vector<double> quantile_cuts(std::vector<double>& values, std::size_t most) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const double behind = std::nextafter(values.back(), std::numeric_limits<double>::infinity());
  most -= 2;
  std::vector<double> distinct = values;
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  if (distinct.size() <= most) {
    if (std::isfinite(behind)) distinct.push_back(behind);
    return distinct;
  }
  std::vector<double> cuts = {values.front()};
  for (std::size_t i = 1; i <= most; ++i) {
    const double cut = values[i * values.size() / (most + 1)];
    if (cut > cuts.back()) cuts.push_back(cut);
  }
  if (std::isfinite(behind)) cuts.push_back(behind);
  return cuts;
}

}  // namespace

Cuts::Cuts(std::vector<std::vector<double>> values, std::size_t leaf_lines) {
  for (std::vector<double>& column : values) {
    std::vector<double> fine = quantile_cuts(column, kMaxBuckets - 2);
    // Coarse cuts: evenly chosen fine ones. Fine bucket b lies above the first b cuts.
    const std::size_t coarse = std::min(fine.size(), leaf_lines - 2);
    std::vector<std::uint8_t> coarse_of(fine.size() + 1, 0);
    for (std::size_t b = 1, taken = 0; b <= fine.size(); ++b) {
      if (b * (coarse + 1) >= (taken + 1) * (fine.size() + 1)) ++taken;
      coarse_of[b] = static_cast<std::uint8_t>(taken);
    }
    fine_.push_back(std::move(fine));
    coarse_of_.push_back(std::move(coarse_of));
  }
  count_lines();
}

std::shared_ptr<const Cuts> Cuts::restore(std::vector<std::vector<double>> fine,
                                          std::vector<std::vector<std::uint8_t>> coarse_of) {
  std::shared_ptr<Cuts> cuts(new Cuts);
  cuts->fine_ = std::move(fine);
  cuts->coarse_of_ = std::move(coarse_of);
  cuts->count_lines();
  return cuts;
}

void Cuts::count_lines() {
  make_grid();
  for (std::size_t d = 0; d < fine_.size(); ++d) {
    inner_lines_[d] = static_cast<std::uint8_t>(fine_[d].size() + 2);
    leaf_lines_[d] = static_cast<std::uint8_t>(coarse_of_[d].back() + 2);
  }
}

// A grid over a dimension's range narrows the search. The grid cell of a value never falls as the value grows, so the cuts
// at or below a value are all of those in earlier cells, none of those in later ones, and some of its own cell's.
void Cuts::make_grid() {
  grids_.resize(fine_.size());
  for (std::size_t d = 0; d < fine_.size(); ++d) {
    Grid& grid = grids_[d];
    const std::vector<double>& cuts = fine_[d];
    grid.cuts = cuts;
    grid.cuts.resize(cuts.size() + kStraight, std::numeric_limits<double>::quiet_NaN());
    if (cuts.empty()) continue;
    grid.least = cuts.front();
    const double width = cuts.back() - cuts.front();
    grid.scale = std::isfinite(width) && width > 0 ? static_cast<double>(kGridCells) / width : 0;
    if (!std::isfinite(grid.scale)) grid.scale = 0;
    for (const double cut : cuts) ++grid.below[grid.cell(cut) + 1];
    for (std::size_t c = 0; c < kGridCells; ++c)
      grid.below[c + 1] = static_cast<std::uint8_t>(grid.below[c + 1] + grid.below[c]);
  }
}

}  // namespace pubmatch

// Random boxes and events, and a plain list of boxes that answers as an index must.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "pubmatch/rtree.hpp"

namespace pubmatch::test {

template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();

using Rows = std::vector<std::vector<std::int64_t>>;  // per event: ids, ascending

// Bounds lie on a coarse grid, so that boxes touch each other and the events. `open_share` of the sides have no bounds, a
// few more are bounded on one side only.
template <class T>
EntryList<T> random_boxes(std::size_t count, std::size_t dims, double open_share, std::int64_t first_id,
                          std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  EntryList<T> boxes(dims);
  std::vector<T> lower(dims);
  std::vector<T> upper(dims);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t d = 0; d < dims; ++d) {
      const double from = std::floor(uniform(random) * 64) / 64;
      const double to = from + std::floor(uniform(random) * uniform(random) * 48) / 64;
      const double kind = uniform(random);
      lower[d] = kind < open_share || kind > 0.98 ? -kInfinity<T> : static_cast<T>(from);
      upper[d] = kind < open_share || (kind > 0.96 && kind <= 0.98) ? kInfinity<T> : static_cast<T>(to);
    }
    boxes.add(lower.data(), upper.data(), first_id + static_cast<std::int64_t>(i));
  }
  return boxes;
}

// Row-major: on the grid, between its lines, beyond all bounds, or absent.
template <class P>
std::vector<P> random_points(std::size_t count, std::size_t dims, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<P> points;
  for (std::size_t i = 0; i < count * dims; ++i) {
    const double kind = uniform(random);
    const double x = uniform(random) * 1.3 - 0.05;
    if (kind < 0.03)
      points.push_back(std::numeric_limits<P>::quiet_NaN());
    else if (kind < 0.05)
      points.push_back(kind < 0.04 ? -kInfinity<P> : kInfinity<P>);
    else
      points.push_back(static_cast<P>(kind < 0.5 ? std::floor(x * 64) / 64 : x));
  }
  return points;
}

template <class T, class P>
bool contains(const T* lower, const T* upper, const P* point, std::size_t dims) {
  for (std::size_t d = 0; d < dims; ++d) {
    const auto x = static_cast<double>(point[d]);
    const bool inside = std::isnan(x) ? unconstrained(lower[d], upper[d])
                                      : static_cast<double>(lower[d]) <= x && x <= static_cast<double>(upper[d]);
    if (!inside) return false;
  }
  return true;
}

template <class T, class P>
bool related(BoxRelation relation, const T* lower, const T* upper, const P* a, const P* b, std::size_t dims) {
  for (std::size_t d = 0; d < dims; ++d) {
    const double low = static_cast<double>(lower[d]), high = static_cast<double>(upper[d]);
    const double from = static_cast<double>(a[d]), to = static_cast<double>(b[d]);
    const bool holds = relation == BoxRelation::kIntersecting ? low <= to && high >= from
                       : relation == BoxRelation::kCovering   ? low <= from && high >= to
                                                              : low >= from && high <= to;
    if (!holds) return false;
  }
  return true;
}

// What the index should hold.
template <class T>
class Model {
 public:
  explicit Model(std::size_t dims) : dims_(dims) {}

  std::size_t dims() const { return dims_; }
  std::size_t size() const { return boxes_.size(); }
  void add(const EntryList<T>& entries, const std::vector<std::int64_t>& ids) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const T* low = entries.view().lower_row(i);
      const T* high = entries.view().upper_row(i);
      REQUIRE(boxes_.try_emplace(ids[i], std::vector<T>(low, low + dims_), std::vector<T>(high, high + dims_)).second);
    }
  }
  std::size_t erase(const std::vector<std::int64_t>& ids) {
    std::size_t erased = 0;
    for (const std::int64_t id : ids) erased += boxes_.erase(id);
    return erased;
  }
  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> all;
    for (const auto& [id, box] : boxes_) all.push_back(id);
    return all;
  }
  template <class P>
  Rows match(const std::vector<P>& points) const {
    Rows rows(points.size() / dims_);
    for (std::size_t e = 0; e < rows.size(); ++e)
      for (const auto& [id, box] : boxes_)
        if (contains(box.first.data(), box.second.data(), points.data() + e * dims_, dims_)) rows[e].push_back(id);
    return rows;
  }
  template <class P>
  Rows query(BoxRelation relation, const BoxView<P>& queries) const {
    Rows rows(queries.size);
    for (std::size_t q = 0; q < queries.size; ++q)
      for (const auto& [id, box] : boxes_)
        if (related(relation, box.first.data(), box.second.data(), queries.lower_row(q), queries.upper_row(q), dims_))
          rows[q].push_back(id);
    return rows;
  }

 private:
  std::size_t dims_;
  std::map<std::int64_t, std::pair<std::vector<T>, std::vector<T>>> boxes_;
};

inline Rows rows_of(const Matches& matches, bool sorted = false) {
  Rows rows;
  for (std::size_t e = 0; e + 1 < matches.offsets.size(); ++e) {
    rows.emplace_back(matches.ids.data() + matches.offsets[e], matches.ids.data() + matches.offsets[e + 1]);
    if (!sorted) std::sort(rows.back().begin(), rows.back().end());
  }
  return rows;
}

inline std::vector<std::int64_t> lengths(const Rows& rows) {
  std::vector<std::int64_t> result;
  for (const std::vector<std::int64_t>& row : rows) result.push_back(static_cast<std::int64_t>(row.size()));
  return result;
}

}  // namespace pubmatch::test

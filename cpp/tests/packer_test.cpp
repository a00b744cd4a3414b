// The packer divides boxes into nearly equal runs, loses none, repeats itself, and keeps apart what lies apart.
#include "pubmatch/packer.hpp"

#include <doctest/doctest.h>

#include <numeric>
#include <set>

#include "box_fixtures.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

using Runs = std::vector<std::vector<std::uint32_t>>;

template <class T>
Runs divide(const EntryList<T>& boxes, std::vector<std::uint32_t> rows, std::size_t parts,
            const std::vector<double>& events) {
  const Cuts cuts(sample_bounds(boxes.view(), std::span<const std::uint32_t>(rows)), kMaxBuckets);
  const std::size_t size = rows.size();
  Packer<T> packer(boxes.view(), std::move(rows), cuts, events);
  REQUIRE(packer.size() == size);
  Runs runs;
  std::size_t expected_first = 0;
  packer.divide(0, size, parts, [&](std::size_t first, std::size_t last) {
    CHECK(first == expected_first);
    expected_first = last;
    runs.emplace_back();
    for (std::size_t i = first; i < last; ++i) runs.back().push_back(packer.row(i));
    CHECK(packer.rows(first, last) == runs.back());
  });
  CHECK(expected_first == size);
  return runs;
}

std::vector<std::uint32_t> all_rows(std::size_t size) {
  std::vector<std::uint32_t> rows(size);
  std::iota(rows.begin(), rows.end(), 0u);
  return rows;
}

std::vector<std::uint32_t> sorted_rows(const Runs& runs) {
  std::vector<std::uint32_t> rows;
  for (const auto& run : runs) rows.insert(rows.end(), run.begin(), run.end());
  std::sort(rows.begin(), rows.end());
  return rows;
}

}  // namespace

TEST_CASE_TEMPLATE("Packer: every box in exactly one of nearly equal runs, the same each time", T, float, double) {
  for (const double open_share : {0.0, 0.7, 1.0})
    for (const std::size_t size : {40u, 333u, 1500u})
      for (const std::size_t parts : {1u, 2u, 3u, 7u, 10u}) {
        CAPTURE(open_share);
        CAPTURE(size);
        CAPTURE(parts);
        const EntryList<T> boxes = random_boxes<T>(size, 5, open_share, 0, size + parts);
        const std::vector<double> events = random_points<double>(200, 5, 3);
        for (const std::vector<double>& sample : {std::vector<double>{}, events}) {
          const Runs runs = divide(boxes, all_rows(size), parts, sample);
          REQUIRE(runs.size() == parts);
          CHECK(sorted_rows(runs) == all_rows(size));
          for (const auto& run : runs) {
            CHECK(run.size() + 2 >= size / parts);
            CHECK(run.size() <= size / parts + 3);
          }
          CHECK(runs == divide(boxes, all_rows(size), parts, sample));
        }
      }
}

TEST_CASE("Packer: only the rows given are packed") {
  const EntryList<double> boxes = random_boxes<double>(200, 3, 0.2, 0, 1);
  std::vector<std::uint32_t> odd;
  for (std::uint32_t i = 1; i < 200; i += 2) odd.push_back(i);
  const Runs runs = divide(boxes, odd, 4, {});
  CHECK(runs.size() == 4);
  CHECK(sorted_rows(runs) == odd);
}

TEST_CASE("Packer: clusters come apart, in whatever dimension they differ") {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const std::size_t dim : {0u, 1u, 2u}) {
    CAPTURE(dim);
    EntryList<double> boxes(3);
    for (std::int64_t i = 0; i < 128; ++i) {
      double lower[3], upper[3];
      for (std::size_t d = 0; d < 3; ++d) {
        lower[d] = uniform(random) + (d == dim ? static_cast<double>(10 * (i % 4)) : 0);
        upper[d] = lower[d] + 0.5;
      }
      boxes.add(lower, upper, i);
    }
    for (const auto& run : divide(boxes, all_rows(128), 4, {})) {
      std::set<std::uint32_t> clusters;
      for (const std::uint32_t row : run) clusters.insert(row % 4);
      CHECK(clusters.size() == 1);
    }
  }
}

TEST_CASE("Packer: boxes that constrain different dimensions come apart") {
  EntryList<double> boxes(2);
  for (std::int64_t i = 0; i < 64; ++i) {
    const double at = static_cast<double>(i / 2);
    double lower[2] = {-kInfinity<double>, -kInfinity<double>};
    double upper[2] = {kInfinity<double>, kInfinity<double>};
    lower[i % 2] = at;
    upper[i % 2] = at + 1;
    boxes.add(lower, upper, i);
  }
  for (const auto& run : divide(boxes, all_rows(64), 2, {})) {
    std::set<std::uint32_t> kinds;
    for (const std::uint32_t row : run) kinds.insert(row % 2);
    CHECK(kinds.size() == 1);
  }
}

TEST_CASE("sample_bounds: finite bounds only, the least and the greatest among them") {
  const EntryList<float> boxes = random_boxes<float>(50000, 2, 0.3, 0, 4);
  const auto rows = all_rows(boxes.size());
  const std::vector<std::vector<double>> values = sample_bounds(boxes.view(), std::span<const std::uint32_t>(rows));
  for (std::size_t d = 0; d < 2; ++d) {
    double least = kInfinity<double>;
    double greatest = -least;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      for (const float bound : {boxes.view().lower_row(i)[d], boxes.view().upper_row(i)[d]})
        if (std::isfinite(bound)) {
          least = std::min(least, static_cast<double>(bound));
          greatest = std::max(greatest, static_cast<double>(bound));
        }
    const auto [low, high] = std::minmax_element(values[d].begin(), values[d].end());
    CHECK(*low == least);
    CHECK(*high == greatest);
  }
}

TEST_CASE("sample_centres: finite points, centres where a box has one") {
  EntryList<double> boxes(2);
  const double lower[2] = {2, -kInfinity<double>};
  const double upper[2] = {4, kInfinity<double>};
  for (std::int64_t i = 0; i < 10; ++i) boxes.add(lower, upper, i);
  const std::vector<double> points = sample_centres(boxes.view(), 4);
  REQUIRE(points.size() == 8);
  for (std::size_t i = 0; i < points.size(); i += 2) {
    CHECK(points[i] == 3);
    CHECK(std::isfinite(points[i + 1]));
  }
}

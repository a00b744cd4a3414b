// Both split rules: legal divisions of any boxes, and sensible ones of clustered boxes.
#include "pubmatch/split.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "box_fixtures.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

constexpr SplitRule kRules[] = {SplitRule::kRStar, SplitRule::kQuadratic};

template <class T>
void expect_legal(const EntryList<T>& boxes, std::size_t minimum) {
  for (const SplitRule rule : kRules) {
    CAPTURE(static_cast<int>(rule));
    CAPTURE(minimum);
    const std::vector<std::uint8_t> side = split_boxes(boxes.view(), rule, minimum);
    REQUIRE(side.size() == boxes.size());
    const auto left = static_cast<std::size_t>(std::count(side.begin(), side.end(), 0));
    const auto right = static_cast<std::size_t>(std::count(side.begin(), side.end(), 1));
    CHECK(left + right == boxes.size());
    CHECK(left >= minimum);
    CHECK(right >= minimum);
    CHECK(split_boxes(boxes.view(), rule, minimum) == side);
  }
}

// Boxes [i × step, i × step + width] in both dimensions.
template <class T>
EntryList<T> stairs(std::size_t size, T step, T width) {
  EntryList<T> boxes(2);
  for (std::size_t i = 0; i < size; ++i) {
    const T at = static_cast<T>(i) * step;
    const T lower[2] = {at, at};
    const T upper[2] = {at + width, at + width};
    boxes.add(lower, upper, static_cast<std::int64_t>(i));
  }
  return boxes;
}

}  // namespace

TEST_CASE_TEMPLATE("split: random boxes, open sides included", T, float, double) {
  for (const std::size_t size : {5u, 11u, 21u, 40u})
    for (const double open_share : {0.0, 0.3, 0.9, 1.0})
      for (const std::size_t minimum : {std::size_t{1}, size * 2 / 5, size / 2}) {
        CAPTURE(size);
        CAPTURE(open_share);
        for (std::uint64_t seed = 0; seed < 3; ++seed)
          expect_legal(random_boxes<T>(size, 3, open_share, 0, seed), minimum);
      }
}

TEST_CASE_TEMPLATE("split: widths that rounding loses, and coordinates that overflow", T, float, double) {
  using Limits = std::numeric_limits<T>;
  for (const std::size_t minimum : {1u, 4u, 5u}) {
    expect_legal(stairs<T>(11, 0, 0), minimum);
    expect_legal(stairs<T>(11, Limits::denorm_min(), 0), minimum);
    expect_legal(stairs<T>(11, 0, Limits::denorm_min()), minimum);
    expect_legal(stairs<T>(2 * minimum, Limits::denorm_min(), Limits::denorm_min()), minimum);
    expect_legal(stairs<T>(11, Limits::max() / 12, Limits::max() / 12), minimum);
  }
  EntryList<T> ends(1);
  for (std::int64_t i = 0; i < 10; ++i) {
    const T lower = i % 2 == 0 ? Limits::lowest() : -kInfinity<T>;
    const T upper = i % 3 == 0 ? Limits::max() : i % 3 == 1 ? kInfinity<T> : Limits::lowest();
    ends.add(&lower, &upper, i);
  }
  expect_legal(ends, 4);
}

TEST_CASE("split: boxes at infinity") {
  // Both bounds infinite on the same side: allowed, met only by an event at infinity.
  EntryList<double> boxes(2);
  for (std::int64_t i = 0; i < 12; ++i) {
    const double far = i % 2 == 0 ? kInfinity<double> : -kInfinity<double>;
    const double lower[2] = {far, 1};
    const double upper[2] = {far, static_cast<double>(i + 1)};
    boxes.add(lower, upper, i);
  }
  expect_legal(boxes, 5);
}

TEST_CASE_TEMPLATE("split: two clusters are separated", T, float, double) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const SplitRule rule : kRules)
    for (int round = 0; round < 10; ++round) {
      EntryList<T> boxes(3);
      for (std::int64_t i = 0; i < 20; ++i) {
        T lower[3], upper[3];
        for (std::size_t d = 0; d < 3; ++d) {
          lower[d] = static_cast<T>(uniform(random) + (i % 2 == 0 ? 0 : 20));
          upper[d] = lower[d] + static_cast<T>(0.1 + uniform(random));
        }
        boxes.add(lower, upper, i);
      }
      const std::vector<std::uint8_t> side = split_boxes(boxes.view(), rule, 8);
      for (std::size_t i = 0; i < side.size(); ++i) CHECK(side[i] == side[i % 2]);
      CHECK(side[0] != side[1]);
    }
}

TEST_CASE("split: the R* rule cuts across the dimension in which the boxes lie apart") {
  EntryList<double> boxes(2);
  for (std::int64_t i = 0; i < 10; ++i) {
    const double lower[2] = {0, static_cast<double>(i * 10)};
    const double upper[2] = {100, static_cast<double>(i * 10 + 5)};
    boxes.add(lower, upper, i);
  }
  const std::vector<std::uint8_t> side = split_boxes(boxes.view(), SplitRule::kRStar, 4);
  CHECK(std::is_sorted(side.begin(), side.end()));
}

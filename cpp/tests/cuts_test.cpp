// Buckets: every value falls where the definition says, coarse buckets are unions of fine ones, and counts stay in bounds.
#include "pubmatch/cuts.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

using namespace pubmatch;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kMost = std::numeric_limits<double>::max();

// The number of cuts at or below the value, counted one by one.
std::size_t counted(const std::vector<double>& cuts, double value) {
  std::size_t below = 0;
  for (const double cut : cuts) below += cut <= value ? 1 : 0;
  return below;
}

void expect_sound(const Cuts& cuts, std::size_t leaf_lines, const std::vector<double>& probes) {
  for (std::size_t d = 0; d < cuts.dims(); ++d) {
    const std::vector<double>& fine = cuts.fine(d);
    const std::vector<std::uint8_t>& coarse = cuts.coarse_of(d);
    for (std::size_t i = 1; i < fine.size(); ++i) REQUIRE(fine[i - 1] < fine[i]);
    REQUIRE(coarse.size() == fine.size() + 1);
    CHECK(coarse.front() == 0);
    for (std::size_t b = 1; b < coarse.size(); ++b) {
      CHECK(coarse[b] >= coarse[b - 1]);
      CHECK(coarse[b] <= coarse[b - 1] + 1);
    }
    CHECK(cuts.inner_lines(d) == fine.size() + 2);
    CHECK(cuts.inner_lines(d) <= kMaxBuckets);
    CHECK(cuts.leaf_lines(d) == coarse.back() + 2);
    CHECK(cuts.leaf_lines(d) <= leaf_lines);
    std::vector<double> values = probes;
    for (const double cut : fine) {
      values.push_back(cut);
      values.push_back(std::nextafter(cut, -kInf));
      values.push_back(std::nextafter(cut, kInf));
    }
    for (const double value : values) {
      REQUIRE(cuts.fine_bucket(d, value) == counted(fine, value));
      CHECK(cuts.coarse_bucket(d, value) == coarse[counted(fine, value)]);
    }
  }
}

}  // namespace

TEST_CASE("Cuts: buckets of many, of few and of clustered values") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, 1);
  std::vector<std::vector<double>> values(4);
  for (int i = 0; i < 3000; ++i) {
    values[0].push_back(normal(random));
    values[1].push_back(std::floor(normal(random) * 3));
    values[2].push_back(i % 10 == 0 ? normal(random) : 7.0);
    values[3].push_back(i % 2 == 0 ? -kMost : kMost);
  }
  const std::vector<double> probes = {-kInf, -kMost, -1, -0.0, 0.0, 0.5, 7, kMost, kInf};
  for (const std::size_t leaf_lines : {4, 5, 9, 28, 127, 128}) {
    CAPTURE(leaf_lines);
    expect_sound(Cuts(values, leaf_lines), leaf_lines, probes);
  }
}

TEST_CASE("Cuts: few distinct values get a bucket each, and so does all beyond them") {
  const Cuts cuts({{3, 1, 2, 1, 3, 3}}, 28);
  CHECK(cuts.fine(0) == std::vector<double>{1, 2, 3, std::nextafter(3.0, kInf)});
  CHECK(cuts.fine_bucket(0, 0.999) == 0);
  CHECK(cuts.fine_bucket(0, 1) == 1);
  CHECK(cuts.fine_bucket(0, 3) == 3);
  CHECK(cuts.fine_bucket(0, 3.001) == 4);
  CHECK(cuts.leaf_lines(0) == 6);  // five buckets and the absent line
}

TEST_CASE("Cuts: the greatest number has nothing behind it") {
  const Cuts cuts({{0, kMost}}, 28);
  CHECK(cuts.fine(0) == std::vector<double>{0, kMost});
  CHECK(cuts.fine_bucket(0, kInf) == 2);
}

TEST_CASE("Cuts: a dimension without bounds has one bucket and the absent line") {
  const Cuts cuts({{}, {1}}, 4);
  CHECK(cuts.inner_lines(0) == 2);
  CHECK(cuts.leaf_lines(0) == 2);
  for (const double value : {-kInf, 0.0, kInf}) CHECK(cuts.fine_bucket(0, value) == 0);
}

TEST_CASE("Cuts: quantiles divide skewed values evenly") {
  std::mt19937_64 random(6);
  std::exponential_distribution<double> skewed(1);
  std::vector<double> values;
  for (int i = 0; i < 20000; ++i) values.push_back(std::pow(skewed(random), 4));
  const Cuts cuts({values}, 28);
  std::vector<std::size_t> held(cuts.fine(0).size() + 1, 0);
  for (const double value : values) ++held[cuts.fine_bucket(0, value)];
  CHECK(held.front() == 0);  // nothing lies below the least bound
  CHECK(held.back() == 0);   // nor behind the greatest
  for (std::size_t b = 1; b + 1 < held.size(); ++b) CHECK(held[b] <= 2 * values.size() / 124);
}

TEST_CASE("Cuts: restored cuts answer as the first ones") {
  const Cuts cuts({{1, 4, 9, 16, 25, 36, 49}, {}}, 5);
  const auto again = Cuts::restore({cuts.fine(0), cuts.fine(1)}, {cuts.coarse_of(0), cuts.coarse_of(1)});
  REQUIRE(again->dims() == 2);
  expect_sound(*again, 5, {-1, 0, 5, 50});
  for (std::size_t d = 0; d < 2; ++d) {
    CHECK(again->inner_lines(d) == cuts.inner_lines(d));
    CHECK(again->leaf_lines(d) == cuts.leaf_lines(d));
  }
}

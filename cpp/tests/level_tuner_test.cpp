// LevelTuner looks for the best level: rounds, slopes, noise, drift.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "tuner_curves.hpp"

using namespace pubmatch::test;
using pubmatch::LevelTuner;
using pubmatch::TunerState;

TEST_CASE("a round is loops batches of upper, current and lower level, round-robin") {
  LevelTuner tuner(100, 2, 4);
  CHECK(run_batches(tuner, kConcave, 8, 6) == std::vector{3, 4, 5, 3, 4, 5});
  const TunerState state = tuner.state(8);
  CHECK(state.stable);
  CHECK(state.level == 4);
  CHECK(state.round == 1);
  CHECK(state.sums == std::array{10.0, 12.0, 11.0});  // CTime, UTime, LTime
}

TEST_CASE("the level a size is at can be asked for without taking a turn") {
  LevelTuner tuner(100, 2);
  CHECK(tuner.current_level(8, 5) == 5);  // as next_level() would start
  CHECK(tuner.current_level(8, 5, 1) == 1);
  CHECK(tuner.current_level(1, 5) == 1);
  CHECK(tuner.state(8).level == 0);
  settle(tuner, kConcave, 8);
  const int height = height_of(kConcave);
  CHECK(tuner.current_level(8, height) == kConcaveBest);
  CHECK(tuner.current_level(9, height) == kConcaveBest);  // the nearest size that has settled
  CHECK(tuner.current_level(8, kConcaveBest - 1) == kConcaveBest - 1);
  CHECK(tuner.current_level(8, height) == tuner.next_level(8, height));
}

TEST_CASE("the sums grow batch by batch and start again at a new level") {
  LevelTuner tuner(100, 2, 2);
  run_batches(tuner, kConcave, 8, 4);
  CHECK(tuner.state(8).sums == std::array{8.0, 20.0, 6.0});
  CHECK(tuner.state(8).round == 0);
  run_batches(tuner, kConcave, 8, 2);
  CHECK(tuner.state(8).level == 3);
  CHECK(tuner.state(8).round == 1);
  CHECK(tuner.state(8).sums == std::array{0.0, 0.0, 0.0});
}

TEST_CASE("it walks to the bottom of a concave curve from every level, one level per round") {
  for (int start = 1; start <= height_of(kConcave); ++start) {
    CAPTURE(start);
    LevelTuner tuner(100, 4, start);
    settle(tuner, kConcave, 128);
    CHECK(tuner.state(128).level == kConcaveBest);
    CHECK(tuner.state(128).round == std::abs(start - kConcaveBest) + 1);
    CHECK(run_batches(tuner, kConcave, 128, 20) == std::vector<int>(20, kConcaveBest));
  }
}

TEST_CASE("few loops do, where there is no noise") {
  for (const int loops : {1, 2, 3}) {
    for (const Curve& curve : {Curve{1, 100}, Curve{100, 1}, Curve{1, 2, 3}, Curve{3, 2, 1}, Curve{2, 1, 2}}) {
      CAPTURE(loops);
      LevelTuner up(100, loops), down(100, loops, 1);
      settle(up, curve, 128);
      settle(down, curve, 128);
      const auto best = std::min_element(curve.begin(), curve.end()) - curve.begin() + 1;
      CHECK(up.state(128).level == best);
      CHECK(down.state(128).level == best);
    }
  }
}

TEST_CASE("without noise the slightest slope is followed") {
  LevelTuner tuner(100, 4);
  settle(tuner, {1.0003, 1.0001, 1.0, 1.0001, 1.0002}, 64);
  CHECK(tuner.state(64).level == 3);
}

TEST_CASE("edges: no level above the root, none below the leaves") {
  SUBCASE("root") {
    LevelTuner tuner(100, 3, 1);
    CHECK(run_batches(tuner, {1, 2, 3}, 8, 6) == std::vector{1, 2, 1, 2, 1, 2});
    CHECK(tuner.state(8).stable);
    CHECK(tuner.state(8).level == 1);
    CHECK(tuner.state(8).sums == std::array{3.0, 0.0, 6.0});
  }
  SUBCASE("leaf") {
    LevelTuner tuner(100, 3);
    CHECK(run_batches(tuner, {3, 2, 1}, 8, 6) == std::vector{2, 3, 2, 3, 2, 3});
    CHECK(tuner.state(8).stable);
    CHECK(tuner.state(8).level == 3);
    CHECK(tuner.state(8).sums == std::array{3.0, 6.0, 0.0});
  }
  SUBCASE("a root that is a leaf") {
    LevelTuner tuner(100, 3);
    CHECK(run_batches(tuner, {1}, 8, 3) == std::vector{1, 1, 1});
    CHECK(tuner.state(8).stable);
  }
}

TEST_CASE("a flat curve settles where it is, after one round") {
  LevelTuner tuner(100, 8, 3);
  CHECK(settle(tuner, Curve(6, 0.25), 32) == 3 * 8);
  CHECK(tuner.state(32).level == 3);
}

TEST_CASE("times of zero, from a clock too coarse, settle too") {
  LevelTuner tuner(100, 8, 2);
  settle(tuner, Curve(3, 0.0), 32);
  CHECK(tuner.state(32).level == 2);
}

TEST_CASE("two-sided: where the current level is worse than both, the better side is taken and kept") {
  SUBCASE("up") {
    LevelTuner tuner(100, 4, 3);
    settle(tuner, {2, 3, 9, 4, 5}, 16);
    CHECK(tuner.state(16).level == 1);
  }
  SUBCASE("down") {
    LevelTuner tuner(100, 4, 3);
    settle(tuner, {2, 5, 9, 4, 3}, 16);
    CHECK(tuner.state(16).level == 5);
  }
}

TEST_CASE("a level once left is not entered again in the same phase") {
  // Whichever level is current always looks worst: bare sums would swing between two levels for ever.
  LevelTuner tuner(100, 4, 5);
  std::vector<int> visited = {5};
  int batches = 0;
  while (!tuner.state(8).stable) {
    REQUIRE(++batches <= 10 * 3 * 4);
    const int level = tuner.next_level(8, 10);
    tuner.record(8, level, level == tuner.state(8).level ? 2.0 : 1.0);
    if (tuner.state(8).level != visited.back()) visited.push_back(tuner.state(8).level);
  }
  CHECK(std::set(visited.begin(), visited.end()).size() == visited.size());
  CHECK(visited.back() == 1);
}

TEST_CASE("noise: always settles, and at 64 loops close to the best level") {
  for (const int loops : {1, 2, 4, 16, 64}) {
    for (const double noise : {0.05, 0.3, 0.99}) {
      int off = 0;
      for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        LevelTuner tuner(100, loops);
        settle(tuner, kConcave, 8, noise, seed);
        const int level = tuner.state(8).level;
        if (kConcave[static_cast<std::size_t>(level - 1)] > 1.11 * kConcave[kConcaveBest - 1]) ++off;
      }
      CAPTURE(loops);
      CAPTURE(noise);
      if (loops == 64) CHECK(off == 0);
    }
  }
}

TEST_CASE("noise on a flat curve settles within the bound") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LevelTuner tuner(100, 4);
    settle(tuner, Curve(7, 1.0), 2, 0.9, seed);
  }
}

TEST_CASE("an undecided round is prolonged instead of trusted") {
  // 2 % between the levels under 20 % noise: 64 batches cannot tell, several rounds of them can.
  LevelTuner tuner(100, 64);
  const int batches = settle(tuner, {1.0, 1.02}, 8, 0.2);
  CHECK(batches > 2 * 64);
  CHECK(tuner.state(8).level == 1);
  CHECK(tuner.state(8).sums[0] > 1.0 * 64);
}

TEST_CASE("when the spare rounds are spent the likelier side decides") {
  // 36 batches per level under 99 % noise seldom prove a difference of a fifth, but mostly point the right way.
  int right = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    LevelTuner tuner(100, 4);
    settle(tuner, {1.0, 1.2}, 128, 0.99, seed);
    if (tuner.state(128).level == 1) ++right;
  }
  CHECK(right >= 65);
}

TEST_CASE("a spike on the best level does not drive the tuner away") {
  LevelTuner tuner(100, 16, kConcaveBest);
  bool spiked = false;
  for (int i = 0; i < 3 * 16 * 10 && !tuner.state(8).stable; ++i) {
    const int level = tuner.next_level(8, height_of(kConcave));
    const bool spike = level == kConcaveBest && !spiked && i > 10;
    spiked |= spike;
    tuner.record(8, level, spike ? 1000.0 : kConcave[static_cast<std::size_t>(level - 1)]);
  }
  CHECK(spiked);
  CHECK(tuner.state(8).stable);
  CHECK(tuner.state(8).level == kConcaveBest);
}

TEST_CASE("a steep curve is not flattened by the spike rule") {
  for (int start = 1; start <= 5; ++start) {
    LevelTuner tuner(100, 4, start);
    settle(tuner, {1e6, 1e3, 1, 1e3, 1e6}, 8);
    CHECK(tuner.state(8).level == 3);
  }
}

TEST_CASE("a machine that slows down during the round changes nothing") {
  LevelTuner tuner(100, 16);
  double slowness = 1;
  while (!tuner.state(8).stable) {
    run_batch(tuner, {1.0, 0.9, 0.95}, 8, slowness);
    slowness *= 1.002;  // tenfold over the phase's first thousand batches
    REQUIRE(slowness < 1e3);
  }
  CHECK(tuner.state(8).level == 2);
}

TEST_CASE("updates are counted while stable, and threshold of them restart the search at the same level") {
  LevelTuner tuner(100, 4);
  tuner.updated(1000);  // before anything is stable
  settle(tuner, kConcave, 8);
  CHECK(tuner.state(8).updates == 0);
  tuner.updated(60);
  tuner.updated(39);
  CHECK(tuner.state(8).stable);
  CHECK(tuner.state(8).updates == 99);
  CHECK(run_batch(tuner, kConcave, 8) == kConcaveBest);
  tuner.updated(1);
  CHECK_FALSE(tuner.state(8).stable);
  CHECK(tuner.state(8).level == kConcaveBest);
  CHECK(tuner.state(8).round == 0);
  CHECK(tuner.state(8).sums == std::array{0.0, 0.0, 0.0});
  CHECK(run_batches(tuner, kConcave, 8, 3) == std::vector{3, 4, 5});
  CHECK(tuner.state(8).updates == 0);
  settle(tuner, kConcave, 8);
  CHECK(tuner.state(8).level == kConcaveBest);
}

TEST_CASE("drift: each phase finds the new bottom, in either direction") {
  LevelTuner tuner(100, 8);
  for (const int best : {5, 6, 4, 1, 7, 2}) {
    Curve curve;
    for (int level = 1; level <= 7; ++level) curve.push_back(1 + 0.1 * std::abs(level - best));
    settle(tuner, curve, 32, 0.02);
    CHECK(tuner.state(32).level == best);
    tuner.updated(100);
  }
}

TEST_CASE("where estimation never pays, the long run costs at most 3 % over first-come order") {
  const Curve curve = {1.0, 1.03, 1.08, 1.2};
  LevelTuner tuner(100000, 64);
  Noise factor(0.1);
  double cost = 0;
  constexpr int kBatches = 100000;
  for (int i = 0; i < kBatches; ++i) {
    cost += curve[static_cast<std::size_t>(run_batch(tuner, curve, 128, factor()) - 1)];
    if (i % 20000 == 19999) tuner.updated(100000);
  }
  CHECK(tuner.state(128).level == 1);
  CHECK(cost <= 1.03 * kBatches);
}

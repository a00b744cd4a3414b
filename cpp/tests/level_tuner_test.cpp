// LevelTuner against synthetic response curves: times come from a table over the levels, never from a clock.
#include "pubmatch/level_tuner.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

using pubmatch::LevelTuner;
using pubmatch::TunerState;

namespace {

using Curve = std::vector<double>;  // mean response time of level 1, 2, ...

const Curve kConcave = {10, 8, 6, 5, 5.5, 7, 9};
constexpr int kConcaveBest = 4;

int height_of(const Curve& curve) { return static_cast<int>(curve.size()); }

// Relative noise with a fixed seed: the same multipliers on every platform that has this engine.
class Noise {
 public:
  explicit Noise(double share, std::uint64_t seed = 1) : share_(share), engine_(seed) {}
  double operator()() { return 1 + share_ * (2 * static_cast<double>(engine_() >> 11) * 0x1p-53 - 1); }

 private:
  double share_;
  std::mt19937_64 engine_;
};

int run_batch(LevelTuner& tuner, const Curve& curve, std::int64_t batch_size, double factor = 1) {
  const int level = tuner.next_level(batch_size, height_of(curve));
  tuner.record(batch_size, level, curve[static_cast<std::size_t>(level - 1)] * factor);
  return level;
}

std::vector<int> run_batches(LevelTuner& tuner, const Curve& curve, std::int64_t batch_size, int count) {
  std::vector<int> levels;
  for (int i = 0; i < count; ++i) levels.push_back(run_batch(tuner, curve, batch_size));
  return levels;
}

// The batches it took to become stable; fails if that exceeds the bound the header promises.
int settle(LevelTuner& tuner, const Curve& curve, std::int64_t batch_size, double noise = 0, std::uint64_t seed = 1) {
  Noise factor(noise, seed);
  const int most = (height_of(curve) + 32) * 3 * tuner.loops();
  int batches = 0;
  do {
    run_batch(tuner, curve, batch_size, factor());
    ++batches;
  } while (!tuner.state(batch_size).stable && batches <= most);
  REQUIRE(batches <= most);
  return batches;
}

bool same(const TunerState& a, const TunerState& b) {
  return a.stable == b.stable && a.level == b.level && a.updates == b.updates && a.round == b.round && a.sums == b.sums;
}

std::vector<std::byte> with_word(std::vector<std::byte> bytes, std::size_t at, std::int64_t word) {
  for (std::size_t i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::byte>(word >> (8 * i) & 0xFF);
  return bytes;
}

// True if the bytes are refused; otherwise the tuner made from them must keep its promises.
bool refused_or_works(const std::vector<std::byte>& bytes) {
  std::shared_ptr<LevelTuner> tuner;
  try {
    tuner = LevelTuner::from_bytes(bytes);
  } catch (const std::invalid_argument&) {
    return true;
  }
  CHECK(tuner->to_bytes() == bytes);
  for (const std::int64_t size : {8, 128}) {
    for (int i = 0; i < 50; ++i) {
      const int level = run_batch(*tuner, kConcave, size);
      REQUIRE(level >= 1);
      REQUIRE(level <= height_of(kConcave));
    }
  }
  return false;
}

}  // namespace

TEST_CASE("a round is loops batches of upper, current and lower level, round-robin") {
  LevelTuner tuner(100, 2, 4);
  CHECK(run_batches(tuner, kConcave, 8, 6) == std::vector{3, 4, 5, 3, 4, 5});
  const TunerState state = tuner.state(8);
  CHECK(state.stable);
  CHECK(state.level == 4);
  CHECK(state.round == 1);
  CHECK(state.sums == std::array{10.0, 12.0, 11.0});  // CTime, UTime, LTime
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

TEST_CASE("size classes: exact to 16, then four to an octave, ending at powers of two") {
  std::set<int> small;
  for (std::int64_t size = 1; size <= 16; ++size) small.insert(LevelTuner::size_class(size));
  CHECK(small.size() == 16);
  for (const auto& [first, last] : {std::pair{17, 20}, {21, 24}, {25, 28}, {29, 32}, {33, 40}, {113, 128}}) {
    CHECK(LevelTuner::size_class(first) == LevelTuner::size_class(last));
    CHECK(LevelTuner::size_class(first) == LevelTuner::size_class(first - 1) + 1);
    CHECK(LevelTuner::size_class(last) == LevelTuner::size_class(last + 1) - 1);
  }
  CHECK(LevelTuner::size_class(1) == 0);
  CHECK(LevelTuner::size_class(std::numeric_limits<std::int64_t>::max()) == LevelTuner::kSizeClasses - 1);
}

TEST_CASE("batch sizes are tuned apart, sizes of one class together") {
  LevelTuner tuner(100, 4, 2);
  settle(tuner, {3, 2, 1}, 128);
  CHECK(tuner.state(128).level == 3);
  CHECK(same(tuner.state(120), tuner.state(128)));
  CHECK(tuner.state(2).level == 0);
  settle(tuner, {1, 2, 3}, 2);
  CHECK(tuner.state(2).level == 1);
  CHECK(tuner.state(128).level == 3);
}

TEST_CASE("times of different sizes in one class are compared per event") {
  // Level 2 always gets the small batches: by bare sums it would look 10 % better, per event it is 5 % worse.
  LevelTuner tuner(100, 8, 1);
  while (!tuner.state(128).stable) {
    const int level = tuner.next_level(128, 2);
    const std::int64_t size = level == 2 ? 113 : 128;
    tuner.record(size, level, static_cast<double>(size) * (level == 2 ? 1.05 : 1.0));
  }
  CHECK(tuner.state(128).level == 1);
}

TEST_CASE("where a new size starts") {
  SUBCASE("at the leaves") {
    LevelTuner tuner;
    tuner.next_level(64, 5);
    CHECK(tuner.state(64).level == 5);
  }
  SUBCASE("at the given level, or the leaves if the tree is lower") {
    LevelTuner tuner(100, 4, 3);
    tuner.next_level(64, 5);
    tuner.next_level(32, 2);
    CHECK(tuner.state(64).level == 3);
    CHECK(tuner.state(32).level == 2);
  }
  SUBCASE("a single event at the root") {
    LevelTuner tuner(100, 4, 3);
    tuner.next_level(1, 5);
    CHECK(tuner.state(1).level == 1);
  }
  SUBCASE("at the level of the nearest settled size") {
    LevelTuner tuner(100, 4);
    tuner.next_level(100, 7);  // starts at 7 and never settles, so it is no model for others
    settle(tuner, kConcave, 8);
    settle(tuner, {1, 2, 3, 4, 5, 6, 7}, 128);
    tuner.next_level(10, 7);
    tuner.next_level(96, 7);
    CHECK(tuner.state(100).level == 7);
    CHECK(tuner.state(10).level == kConcaveBest);
    CHECK(tuner.state(96).level == 1);
  }
  SUBCASE("what settled in a tree of one level is no model") {
    LevelTuner tuner(100, 4);
    settle(tuner, {1}, 8);
    tuner.next_level(9, 4);
    CHECK(tuner.state(9).level == 4);
  }
}

TEST_CASE("a growing tree makes a stable record unstable") {
  SUBCASE("from the same level") {
    LevelTuner tuner(100, 4);
    settle(tuner, {3, 1, 2, 3}, 8);
    CHECK(tuner.next_level(8, 5) == 1);
    CHECK_FALSE(tuner.state(8).stable);
    CHECK(tuner.state(8).level == 2);
  }
  SUBCASE("the leaves stay the leaves") {
    LevelTuner tuner(100, 4);
    settle(tuner, {3, 2, 1}, 8);
    tuner.next_level(8, 5);
    CHECK(tuner.state(8).level == 5);
  }
  SUBCASE("a tree of one level had no choice") {
    LevelTuner tuner(100, 4, 2);
    settle(tuner, {1}, 8);
    tuner.next_level(8, 3);
    CHECK(tuner.state(8).level == 2);
  }
}

TEST_CASE("a shrinking tree limits the levels") {
  SUBCASE("stable") {
    LevelTuner tuner(100, 4);
    settle(tuner, {4, 3, 2, 1}, 8);
    CHECK(tuner.next_level(8, 2) == 2);
    CHECK(tuner.next_level(8, 4) == 4);
    CHECK(tuner.state(8).stable);
  }
  SUBCASE("unstable") {
    LevelTuner tuner(100, 2, 5);
    run_batches(tuner, kConcave, 8, 4);
    CHECK(run_batches(tuner, {4, 3, 2}, 8, 4) == std::vector{2, 3, 2, 3});
    CHECK(tuner.state(8).stable);
    CHECK(tuner.state(8).level == 3);
  }
  SUBCASE("unstable, and the way back is open again") {
    LevelTuner tuner(100, 2, 3);
    run_batches(tuner, {5, 4, 3, 2, 1}, 8, 6);
    REQUIRE(tuner.state(8).level == 4);
    settle(tuner, {1, 2, 3}, 8);
    CHECK(tuner.state(8).level == 1);
  }
  SUBCASE("restarted") {
    LevelTuner tuner(100, 4);
    settle(tuner, {4, 3, 2, 1}, 8);
    tuner.updated(100);
    CHECK(run_batches(tuner, {1, 2}, 8, 4) == std::vector{1, 2, 1, 2});
  }
}

TEST_CASE("a height that goes to and fro cannot keep a record unstable") {
  LevelTuner tuner(100, 4);
  int batches = 0;
  while (!tuner.state(8).stable) {
    REQUIRE(++batches < 1000);
    const int height = batches % 2 == 0 ? 4 : 3;
    const int level = tuner.next_level(8, height);
    REQUIRE(level <= height);
    tuner.record(8, level, 1.0 + level);
  }
  for (int i = 0; i < 100; ++i) tuner.next_level(8, 3 + i % 2);
  CHECK(tuner.state(8).stable);
}

TEST_CASE("the highest tree there can be") {
  LevelTuner tuner(100, 2);
  constexpr int kHeight = std::numeric_limits<int>::max();
  CHECK(tuner.next_level(8, kHeight) == kHeight - 1);
  CHECK(tuner.next_level(8, kHeight) == kHeight);
}

TEST_CASE("levels not on trial, surplus times and times told while stable are ignored") {
  LevelTuner tuner(100, 2, 4);
  tuner.record(8, 4, 1.0);  // nobody asked for a level yet
  CHECK(tuner.state(8).level == 0);
  tuner.next_level(8, 7);
  const TunerState before = tuner.state(8);
  tuner.record(8, 1, 1.0);
  tuner.record(8, 7, 1.0);
  CHECK(same(tuner.state(8), before));
  for (int i = 0; i < 5; ++i) tuner.record(8, 4, 1.0);
  CHECK(tuner.state(8).sums == std::array{2.0, 0.0, 0.0});
  CHECK(run_batches(tuner, Curve(7, 3.0), 8, 4) == std::vector{5, 3, 5, 3});
  const TunerState settled = tuner.state(8);
  CHECK(settled.stable);
  tuner.record(8, 3, 0.1);
  CHECK(same(tuner.state(8), settled));
}

TEST_CASE("batches that are never told do not hold up the others") {
  LevelTuner tuner(100, 4);
  for (int i = 0; !tuner.state(8).stable; ++i) {
    REQUIRE(i < 10000);
    const int level = tuner.next_level(8, 7);
    if (i % 5 != 0) tuner.record(8, level, kConcave[static_cast<std::size_t>(level - 1)]);
  }
  CHECK(tuner.state(8).level == kConcaveBest);
}

TEST_CASE("bad arguments") {
  CHECK_THROWS_AS(LevelTuner(0, 64), std::invalid_argument);
  CHECK_THROWS_AS(LevelTuner(1, 0), std::invalid_argument);
  CHECK_THROWS_AS(LevelTuner(1, 1, -1), std::invalid_argument);
  LevelTuner tuner;
  CHECK_THROWS_WITH(tuner.next_level(0, 3), "batch_size must be at least 1, not 0");
  CHECK_THROWS_WITH(tuner.next_level(8, 0), "height must be at least 1, not 0");
  CHECK_THROWS_WITH(tuner.record(8, 0, 1.0), "level must be at least 1, not 0");
  CHECK_THROWS_WITH(tuner.record(8, 1, -1.0), "mean_response_s must be between 0 and 1e+12, not -1.0");
  CHECK_THROWS_AS(tuner.record(8, 1, std::nan("")), std::invalid_argument);
  CHECK_THROWS_AS(tuner.record(8, 1, std::numeric_limits<double>::infinity()), std::invalid_argument);
  CHECK_THROWS_AS(tuner.updated(-1), std::invalid_argument);
  CHECK_THROWS_AS(tuner.state(-5), std::invalid_argument);
  CHECK(tuner.state(8).level == 0);
}

TEST_CASE("counts of updates do not overflow") {
  LevelTuner tuner(100, 1);
  settle(tuner, {1, 2}, 8);
  tuner.updated(std::numeric_limits<std::int64_t>::max());
  tuner.updated(std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(tuner.state(8).stable);
}

TEST_CASE("the largest times leave all numbers finite") {
  LevelTuner tuner(100, 2, 2);
  for (int i = 0; i < 500; ++i) tuner.record(1, tuner.next_level(1, 3), i % 3 == 0 ? 1e12 : 0.0);
  CHECK(tuner.state(1).stable);
  CHECK(std::isfinite(tuner.state(1).sums[0]));
  CHECK(LevelTuner::from_bytes(tuner.to_bytes())->to_bytes() == tuner.to_bytes());
}

TEST_CASE("bytes: a copy made at any moment goes on exactly as the original") {
  LevelTuner tuner(50, 4, 5);
  std::shared_ptr<LevelTuner> copy_of;  // replaced now and then, driven side by side with the original
  Noise factor(0.4);
  for (int i = 0; i < 3000; ++i) {
    if (i % 37 == 0) {
      const auto bytes = tuner.to_bytes();
      const auto copy = LevelTuner::from_bytes(bytes);
      CHECK(copy->to_bytes() == bytes);
      for (const std::int64_t size : {2, 8, 128}) CHECK(same(copy->state(size), tuner.state(size)));
      copy_of = copy;
    }
    const std::int64_t size = i % 3 == 0 ? 2 : i % 3 == 1 ? 8 : 128;
    const double noise = factor();
    REQUIRE(run_batch(tuner, kConcave, size, noise) == run_batch(*copy_of, kConcave, size, noise));
    if (i % 100 == 0) {
      tuner.updated(10);
      copy_of->updated(10);
    }
  }
}

TEST_CASE("malformed bytes are refused") {
  LevelTuner tuner(50, 4);
  settle(tuner, kConcave, 128);
  run_batches(tuner, kConcave, 8, 7);  // in the middle of a round
  const auto good = tuner.to_bytes();
  SUBCASE("cut short or too long") {
    for (std::size_t length = 0; length < good.size(); ++length)
      CHECK_THROWS_AS(LevelTuner::from_bytes(std::span(good).first(length)), std::invalid_argument);
    auto longer = good;
    longer.resize(longer.size() + 8);
    CHECK_THROWS_AS(LevelTuner::from_bytes(longer), std::invalid_argument);
  }
  SUBCASE("settings that contradict the records") {
    constexpr std::size_t kLoopsAt = 24, kUpdatesAt = 40;
    LevelTuner other(50, 4);
    other.updated(10);
    settle(other, kConcave, 128);
    CHECK_THROWS_AS(LevelTuner::from_bytes(with_word(other.to_bytes(), kUpdatesAt, 9)), std::invalid_argument);
    other.next_level(16, 7);
    const int current = other.state(16).level;
    for (int i = 0; i < 4; ++i) other.record(16, current, 1.0);
    CHECK_THROWS_AS(LevelTuner::from_bytes(with_word(other.to_bytes(), kLoopsAt, 3)), std::invalid_argument);
    CHECK(LevelTuner::from_bytes(with_word(other.to_bytes(), kLoopsAt, 5))->loops() == 5);
  }
  SUBCASE("a word replaced: refused, or a tuner that works") {
    const std::int64_t nan = std::bit_cast<std::int64_t>(std::nan(""));
    const auto max = std::numeric_limits<std::int64_t>::max();
    const std::int64_t max_int = std::numeric_limits<int>::max();
    int refused = 0;
    for (std::size_t at = 0; at + 8 <= good.size(); at += 8) {
      for (const std::int64_t word :
           {std::int64_t{-1}, std::int64_t{0}, std::int64_t{3}, max_int, max_int + 1, nan, max})
        refused += refused_or_works(with_word(good, at, word)) ? 1 : 0;
    }
    CHECK(refused > static_cast<int>(good.size() / 8));
  }
  SUBCASE("a flipped bit: refused, or a tuner that works") {
    for (std::size_t bit = 0; bit < good.size() * 8; bit += 3) {
      auto bad = good;
      bad[bit / 8] ^= std::byte{1} << (bit % 8);
      refused_or_works(bad);
    }
  }
}

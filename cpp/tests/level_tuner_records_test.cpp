// LevelTuner keeps one record per class of batch sizes: where records start, what they forget, how they are saved.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tuner_curves.hpp"

using namespace pubmatch::test;
using pubmatch::LevelTuner;
using pubmatch::TunerState;

namespace {

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

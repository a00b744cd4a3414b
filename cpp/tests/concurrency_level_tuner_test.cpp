// LevelTuner shared by threads that match, update, look and save at the same time.
#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include "pubmatch/level_tuner.hpp"

using pubmatch::LevelTuner;

namespace {

constexpr std::array<double, 5> kCurve = {5, 3, 2, 3, 5};
constexpr int kHeight = 5;
constexpr int kBest = 3;

double response_s(int level) { return kCurve[static_cast<std::size_t>(level - 1)]; }

}  // namespace

TEST_CASE("threads that tune one batch size together settle on the best level") {
  LevelTuner tuner(1000, 16);
  std::atomic<int> out_of_range = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 2000; ++i) {
        const int level = tuner.next_level(32, kHeight);
        if (level < 1 || level > kHeight) {
          ++out_of_range;
          return;
        }
        tuner.record(32, level, response_s(level));
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(out_of_range == 0);
  CHECK(tuner.state(32).stable);
  CHECK(tuner.state(32).level == kBest);
}

TEST_CASE("matching, updating, reading and saving at once") {
  constexpr int kUpdates = 500;
  LevelTuner tuner(100, 4);
  std::atomic<bool> done = false;
  std::atomic<int> faults = 0;

  std::vector<std::thread> matchers;
  for (const std::int64_t size : {2, 32, 32}) {
    matchers.emplace_back([&, size] {
      for (int i = 0; i < 3000; ++i) {
        const int level = tuner.next_level(size, kHeight);
        tuner.record(size, level, response_s(level));
      }
    });
  }
  std::thread updater([&] {
    for (int i = 0; i < kUpdates; ++i) tuner.updated(1);
  });
  std::thread reader([&] {
    while (!done) {
      const auto state = tuner.state(32);
      if (state.level < 0 || state.level > kHeight || state.updates > kUpdates) ++faults;
      const auto bytes = tuner.to_bytes();
      if (LevelTuner::from_bytes(bytes)->to_bytes() != bytes) ++faults;
    }
  });
  for (auto& matcher : matchers) matcher.join();
  updater.join();
  done = true;
  reader.join();
  CHECK(faults == 0);

  // Whatever the threads did to each other's rounds, the tuner still works.
  for (const std::int64_t size : {2, 32}) {
    tuner.updated(100);
    for (int i = 0; i < 1000; ++i) {
      const int level = tuner.next_level(size, kHeight);
      tuner.record(size, level, response_s(level));
    }
    CHECK(tuner.state(size).stable);
    CHECK(tuner.state(size).level == kBest);
  }
}

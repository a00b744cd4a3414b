// Response curves for the tests of LevelTuner: times come from a table over the levels, never from a clock.
#pragma once

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "pubmatch/level_tuner.hpp"

namespace pubmatch::test {

using Curve = std::vector<double>;  // mean response time of level 1, 2, ...

inline const Curve kConcave = {10, 8, 6, 5, 5.5, 7, 9};
inline constexpr int kConcaveBest = 4;

inline int height_of(const Curve& curve) { return static_cast<int>(curve.size()); }

// Relative noise with a fixed seed: the same multipliers on every platform that has this engine.
class Noise {
 public:
  explicit Noise(double share, std::uint64_t seed = 1) : share_(share), engine_(seed) {}
  double operator()() { return 1 + share_ * (2 * static_cast<double>(engine_() >> 11) * 0x1p-53 - 1); }

 private:
  double share_;
  std::mt19937_64 engine_;
};

inline int run_batch(LevelTuner& tuner, const Curve& curve, std::int64_t batch_size, double factor = 1) {
  const int level = tuner.next_level(batch_size, height_of(curve));
  tuner.record(batch_size, level, curve[static_cast<std::size_t>(level - 1)] * factor);
  return level;
}

inline std::vector<int> run_batches(LevelTuner& tuner, const Curve& curve, std::int64_t batch_size, int count) {
  std::vector<int> levels;
  for (int i = 0; i < count; ++i) levels.push_back(run_batch(tuner, curve, batch_size));
  return levels;
}

// The batches it took to become stable; fails if that exceeds the bound the header promises.
inline int settle(LevelTuner& tuner, const Curve& curve, std::int64_t batch_size, double noise = 0,
                  std::uint64_t seed = 1) {
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

}  // namespace pubmatch::test

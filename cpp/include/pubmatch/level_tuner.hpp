// LevelTuner: the self-adaptive model of the batch-search paper (section 4.2, figure 6).
//
// It chooses the Level at which BatchSearch stops estimating, from nothing but the mean response times it is told.
// No clock and no randomness: the same calls give the same levels. A level is "upper" when it is nearer the root (a
// smaller number), "lower" when it is nearer the leaves.
//
// One record per batch size, each either
//   stable    the same level for every batch, while updates are counted against `threshold`; or
//   unstable  rounds of `loops` batches for each of the upper, the current and the lower level, round-robin, their mean
//             response times summed (UTime, CTime, LTime). A round's end settles, moves one level, or asks for
//             another round. At the root there is no upper level, at the leaves no lower one.
//
// Sizes. 1 to 16 have a record each; above, the sizes between two powers of two share four records: (16, 20], (20, 24],
// (24, 28], (28, 32], (32, 40], ... Times are compared per event, so sizes that share a record do not disturb it.
//
// The decision. The paper compares bare sums, which at small `loops` may wander without end, and leaves open what to do
// where CTime exceeds both others. Here, with gain = mean of CTime - (UTime or LTime) over the batches of this level's
// rounds, paired by their place in the round-robin (so that a slow change of the machine cancels out), and margin =
// about two standard errors of that mean (more when it rests on few batches):
//   move     to the neighbour with the larger gain, if it exceeds its margin. Where CTime exceeds both, this is the way
//            down the steeper side.
//   settle   if neither gain + margin exceeds 1 % of CTime: no neighbour can be worth moving to.
//   prolong  otherwise: another round at the same level, the evidence adding up. A phase has 8 to 32 rounds
//            to spare for this, more for small batches, which are noisier and cheaper. When they are spent, a gain
//            above half a standard error moves, anything less settles.
// The first move of a phase fixes its direction: a level once left as worse is not entered again in that phase. So, at
// one height, a phase makes at most height - 1 moves and height + 32 rounds, whatever times it is told. With times free
// of noise every round decides at once, as in figure 6. It finds the bottom of a curve with one valley; of several
// valleys it finds one.
//
// Spikes. A batch that met a page fault or lost its processor can outweigh a whole round. A time that lies further
// above the round's median than 8 times the upper quartile does, counts as no more than that.
//
// Where to start. A size not seen before starts at the level of the nearest size that has settled, since the best level
// changes slowly with the batch size (figure 7-b); without one at `initial_level`, or, by default, at the leaves: there
// the estimate is most exact, and if it costs too much the first moves find out. A single event has no order to gain
// from and starts at the root.
//
// Height. A tree that grows beyond the height last examined has levels nobody has tried: the record becomes unstable (a
// level that was the leaves' stays the leaves'). A tree that shrinks only limits the levels given out. A height that
// goes to and fro therefore cannot keep a record unstable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace pubmatch {

// What one record knows, as figure 6 names it.
struct TunerState {
  bool stable = false;
  int level = 0;                 // CurrentLevel; 0 while no batch of this size has been seen
  std::int64_t updates = 0;      // since the record became stable
  int round = 0;                 // rounds completed in the present, or if stable the last, unstable phase
  std::array<double, 3> sums{};  // CTime, UTime, LTime since the level was taken up; 0 for a level that is not there
};

// All members may be called from several threads at once.
class LevelTuner {
 public:
  // `threshold` updates make a stable record unstable; `initial_level` 0 means the leaves.
  explicit LevelTuner(std::int64_t threshold = 100000, int loops = 64, int initial_level = 0);
  ~LevelTuner();
  LevelTuner(const LevelTuner&) = delete;
  LevelTuner& operator=(const LevelTuner&) = delete;

  // The Level, from 1 to `height`, for the next batch of this size. `start`: where to begin when nothing is known, in
  // place of the leaves (0).
  int next_level(std::int64_t batch_size, int height, int start = 0);

  // The level that a batch of this size is at: what next_level() would give, but for the trial's round-robin.
  int current_level(std::int64_t batch_size, int height, int start = 0) const;

  // Tells the mean response time of a finished batch. A level that is not on trial (chosen by the user, or handed out
  // before the record moved on) and a stable record take no notice.
  void record(std::int64_t batch_size, int level, double mean_response_s);

  // Tells of `count` inserts and deletes.
  void updated(std::int64_t count);

  TunerState state(std::int64_t batch_size) const;

  std::int64_t threshold() const { return threshold_; }
  int loops() const { return loops_; }
  int initial_level() const { return initial_level_; }

  // The whole state: a tuner made from these bytes goes on exactly as this one would. Malformed bytes throw
  // std::invalid_argument.
  std::vector<std::byte> to_bytes() const;
  static std::shared_ptr<LevelTuner> from_bytes(std::span<const std::byte> bytes);

  // The record a batch size belongs to, from 0.
  static int size_class(std::int64_t batch_size);
  static constexpr int kSizeClasses = 252;

 private:
  struct Record;

  int starting_level(std::int64_t batch_size, int height, int start) const;
  int grown_level(const Record& record, std::int64_t batch_size, int height, int start) const;
  bool restart_due(const Record& record) const;

  const std::int64_t threshold_;
  const int loops_;
  const int initial_level_;
  mutable std::mutex mutex_;
  std::int64_t updates_ = 0;  // all updates ever told
  std::array<std::unique_ptr<Record>, kSizeClasses> records_;
};

}  // namespace pubmatch

#include "pubmatch/level_tuner.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

#include "pubmatch/error.hpp"

namespace pubmatch {

namespace {

constexpr int kUpper = 0, kCurrent = 1, kLower = 2, kSlots = 3;

constexpr double kWorthwhile = 0.01;     // a share of CTime: less than this is not worth more rounds
constexpr double kLastMargin = 0.5;      // standard errors, once the spare rounds are spent
constexpr double kSpike = 8.0;           // quartile distances above the median
constexpr double kMaxResponse_s = 1e12;  // keeps every sum and square finite
constexpr double kMaxTotal = 1e30;       // far more than any number of such times adds up to
constexpr int kMinSpareRounds = 8, kMaxSpareRounds = 32;
constexpr int kMaxRounds = 1 << 30;  // of a phase in stored bytes, out of reach otherwise
constexpr std::int64_t kNever = -1;
constexpr std::int64_t kSpareEvents = 1024;  // spare rounds times batch size: the noise falls with events, not batches

void expect_at_least(const char* name, std::int64_t value, std::int64_t least) {
  if (value >= least) return;
  throw ArgumentError(std::string(name) + " must be at least " + std::to_string(least) + ", not " +
                      std::to_string(value));
}

int spare_rounds(std::int64_t batch_size) {
  return static_cast<int>(std::clamp<std::int64_t>(kSpareEvents / batch_size, kMinSpareRounds, kMaxSpareRounds));
}

// Mean and spread of CTime - UTime or CTime - LTime, batch by batch (Welford's recurrence).
struct Gain {
  double mean = 0;
  double squares = 0;  // sum of squared deviations from the mean

  void add(double difference, std::int64_t count) {
    const double deviation = difference - mean;
    mean += deviation / static_cast<double>(count);
    squares += deviation * (difference - mean);
  }

  // One batch tells nothing about the spread.
  double standard_error(std::int64_t count) const {
    if (count < 2) return std::numeric_limits<double>::infinity();
    const auto n = static_cast<double>(count);
    return std::sqrt(squares / (n - 1) / n);
  }

  // Two standard errors, widened for few batches about as Student's distribution is.
  double margin(std::int64_t count) const {
    const double widening = 4.0 / static_cast<double>(std::max<std::int64_t>(count - 1, 1));
    return (2.0 + widening) * standard_error(count);
  }
};

// The byte form: little-endian 64-bit integers and doubles, in the order Record::transfer visits them.
constexpr std::int64_t kMagic = 0x52454E5554'4D50;  // "PMTUNER" read from the first byte on
constexpr std::int64_t kVersion = 1;

class Writer {
 public:
  void operator()(std::int64_t value) {
    for (int shift = 0; shift < 64; shift += 8)
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> shift & 0xFF));
  }
  void operator()(int value) { (*this)(static_cast<std::int64_t>(value)); }
  void operator()(bool value) { (*this)(static_cast<std::int64_t>(value)); }
  void operator()(double value) { (*this)(std::bit_cast<std::int64_t>(value)); }
  void operator()(const std::vector<double>& values) {
    (*this)(static_cast<std::int64_t>(values.size()));
    for (const double value : values) (*this)(value);
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

[[noreturn]] void reject(const char* what) {
  throw std::invalid_argument(std::string("malformed tuner state: ") + what);
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  void operator()(std::int64_t& value) {
    if (rest_.size() < 8) reject("it ends too early");
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < 8; ++i) bits |= static_cast<std::uint64_t>(rest_[i]) << (8 * i);
    rest_ = rest_.subspan(8);
    value = static_cast<std::int64_t>(bits);
  }
  void operator()(int& value) {
    const std::int64_t wide = integer();
    if (!std::in_range<int>(wide)) reject("a number is out of range");
    value = static_cast<int>(wide);
  }
  void operator()(bool& value) {
    const std::int64_t wide = integer();
    if (wide != 0 && wide != 1) reject("a flag is neither 0 nor 1");
    value = wide == 1;
  }
  void operator()(double& value) { value = std::bit_cast<double>(integer()); }
  void operator()(std::vector<double>& values) {
    const std::int64_t count = integer();
    // Checked against the bytes that are there before anything is allocated.
    if (count < 0 || static_cast<std::uint64_t>(count) > rest_.size() / 8) reject("it ends too early");
    values.resize(static_cast<std::size_t>(count));
    for (double& value : values) (*this)(value);
  }

  std::int64_t integer() {
    std::int64_t value = 0;
    (*this)(value);
    return value;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

bool within(double value, double low, double high) { return value >= low && value <= high; }  // false for NaN

}  // namespace

// The status of one class of batch sizes.
struct LevelTuner::Record {
  bool stable = false;
  int level = 1;
  int height = 1;     // the levels of this phase are 1 to height; within a phase it only falls
  int peak = 1;       // the highest tree seen since the phase began
  int direction = 0;  // of this phase: -1 towards the root, +1 towards the leaves, 0 before its first move
  int round = 0;
  int spare = 0;                     // rounds left for prolonging
  int turn = 0;                      // the slot whose turn it is
  std::int64_t settled_at = kNever;  // the tuner's update count when the record last became stable

  // Since the level was taken up:
  std::int64_t batches = 0;       // per slot, in completed rounds
  double current_total = 0;       // of those, per event
  std::array<Gain, kSlots> gain;  // of moving to that slot; the current one's stays empty
  std::array<double, kSlots> sums{};
  // The present round's times per event.
  std::array<std::vector<double>, kSlots> times;

  bool on_trial(int slot) const { return slot == kCurrent || (slot == kUpper ? level > 1 : level < height); }

  // A level this phase has left is still timed, for figure 6 compares three, but not entered again.
  bool open(int slot) const {
    const int step = slot - kCurrent;
    return step != 0 && on_trial(slot) && direction != -step;
  }

  void begin_phase(int start, int tree_height, std::int64_t batch_size) {
    stable = false;
    height = peak = tree_height;
    direction = 0;
    round = 0;
    spare = spare_rounds(batch_size);
    take_up(start);
  }

  void take_up(int new_level) {
    level = new_level;
    turn = 0;
    batches = 0;
    current_total = 0;
    gain = {};
    sums = {};
    for (auto& slot_times : times) slot_times.clear();
  }

  void settle(std::int64_t updates) {
    stable = true;
    settled_at = updates;
    times = {};  // gives the memory back
  }

  // The tree has become lower than this phase thought.
  void shrink(int tree_height) {
    height = tree_height;
    if (level < tree_height) return;
    direction = 0;
    take_up(tree_height);
  }

  int next_on_trial(int loops) {
    for (int tries = 0; tries < kSlots; ++tries) {
      const int slot = turn;
      turn = (turn + 1) % kSlots;
      if (wants(slot, loops)) return level + (slot - kCurrent);
    }
    return level;
  }

  bool wants(int slot, int loops) const { return on_trial(slot) && std::ssize(times[slot]) < loops; }

  bool round_complete(int loops) const {
    return !wants(kUpper, loops) && !wants(kCurrent, loops) && !wants(kLower, loops);
  }

  void clip_spikes() {
    std::vector<double> all;
    for (const auto& slot_times : times) all.insert(all.end(), slot_times.begin(), slot_times.end());
    const auto quartile = all.begin() + std::ssize(all) * 3 / 4;
    const auto middle = all.begin() + (std::ssize(all) - 1) / 2;
    std::nth_element(all.begin(), quartile, all.end());
    std::nth_element(all.begin(), middle, quartile);
    // Each level has at least a third of the times, so the quartile is one of the slowest level's: no level is cut off.
    const double limit = *middle + kSpike * (*quartile - *middle);
    for (auto& slot_times : times)
      for (double& time : slot_times) time = std::min(time, limit);
  }

  void add_evidence() {
    clip_spikes();
    const auto& current = times[kCurrent];
    for (std::size_t i = 0; i < current.size(); ++i) {
      ++batches;
      current_total += current[i];
      for (const int slot : {kUpper, kLower})
        if (on_trial(slot)) gain[slot].add(current[i] - times[slot][i], batches);
    }
    for (auto& slot_times : times) slot_times.clear();
    ++round;
  }

  // The open neighbour of largest gain among those whose gain exceeds `bar(gain)`, or kCurrent.
  template <class Bar>
  int best_beyond(Bar bar) const {
    int best = kCurrent;
    for (const int slot : {kUpper, kLower})
      if (open(slot) && gain[slot].mean > std::max(bar(gain[slot]), gain[best].mean)) best = slot;
    return best;
  }

  bool undecided() const {
    const double worthwhile = kWorthwhile * current_total / static_cast<double>(batches);
    for (const int slot : {kUpper, kLower})
      if (open(slot) && gain[slot].mean + gain[slot].margin(batches) > worthwhile) return true;
    return false;
  }

  void end_round(std::int64_t updates) {
    add_evidence();
    int slot = best_beyond([this](const Gain& g) { return g.margin(batches); });
    if (slot == kCurrent && undecided()) {
      if (spare > 0) {
        --spare;
        return;
      }
      slot = best_beyond([this](const Gain& g) { return batches < 2 ? 0 : kLastMargin * g.standard_error(batches); });
    }
    if (slot == kCurrent) return settle(updates);
    direction = slot - kCurrent;
    take_up(level + direction);
  }

  // Visits every field, for writing (a const record) or reading.
  template <class Self, class Archive>
  static void transfer(Self& self, Archive& archive) {
    archive(self.stable);
    for (auto* field : {&self.level, &self.height, &self.peak, &self.direction, &self.round, &self.spare, &self.turn})
      archive(*field);
    archive(self.settled_at);
    archive(self.batches);
    archive(self.current_total);
    for (auto& slot_gain : self.gain) archive(slot_gain.mean), archive(slot_gain.squares);
    for (auto& sum : self.sums) archive(sum);
    for (auto& slot_times : self.times) archive(slot_times);
  }

  // What every record that the tuner itself can have made fulfils, and all that its methods rely on.
  bool consistent(int loops, std::int64_t updates) const {
    if (level < 1 || level > height || height > peak) return false;
    if (std::abs(direction) > 1 || turn < 0 || turn >= kSlots) return false;
    if (round < 0 || round > kMaxRounds || spare < 0 || spare > kMaxSpareRounds) return false;
    if (settled_at < (stable ? 0 : kNever) || settled_at > updates) return false;
    if (batches < 0 || batches > std::int64_t{loops} * round) return false;
    if (!within(current_total, 0, kMaxTotal)) return false;
    for (int slot = 0; slot < kSlots; ++slot) {
      const auto& [mean, squares] = gain[slot];
      if (!within(mean, -kMaxResponse_s, kMaxResponse_s) || !within(squares, 0, kMaxTotal * kMaxTotal)) return false;
      if (!within(sums[slot], 0, kMaxTotal)) return false;
      const auto& slot_times = times[slot];
      if (std::ssize(slot_times) > ((stable || !on_trial(slot)) ? 0 : loops)) return false;
      if (!std::all_of(slot_times.begin(), slot_times.end(), [](double t) { return within(t, 0, kMaxResponse_s); }))
        return false;
    }
    return true;
  }
};

LevelTuner::LevelTuner(std::int64_t threshold, int loops, int initial_level)
    : threshold_(threshold), loops_(loops), initial_level_(initial_level) {
  expect_at_least("threshold", threshold, 1);
  expect_at_least("loops", loops, 1);
  expect_at_least("initial_level", initial_level, 0);
}

LevelTuner::~LevelTuner() = default;

int LevelTuner::size_class(std::int64_t batch_size) {
  expect_at_least("batch_size", batch_size, 1);
  if (batch_size <= 16) return static_cast<int>(batch_size) - 1;
  const auto below = static_cast<std::uint64_t>(batch_size) - 1;
  const int octave = static_cast<int>(std::bit_width(below)) - 1;  // at least 4
  const int quarter = static_cast<int>(below >> (octave - 2)) & 3;
  return 16 + (octave - 4) * 4 + quarter;
}

int LevelTuner::starting_level(std::int64_t batch_size, int height, int start) const {
  if (batch_size == 1) return 1;
  const int own = size_class(batch_size);
  for (int distance = 1; distance < kSizeClasses; ++distance) {
    for (const int other : {own - distance, own + distance}) {
      if (other < 0 || other >= kSizeClasses || !records_[other]) continue;
      // A tree of height 1 leaves no choice, so what settled there is no knowledge.
      const Record& known = *records_[other];
      if (known.settled_at != kNever && known.height > 1) return std::min(known.level, height);
    }
  }
  if (initial_level_ != 0) start = initial_level_;
  return start == 0 ? height : std::min(start, height);
}

// Where a record begins anew when the tree has grown beyond all it has seen.
int LevelTuner::grown_level(const Record& record, std::int64_t batch_size, int height, int start) const {
  if (record.peak == 1) return starting_level(batch_size, height, start);
  return record.level == record.height ? height : record.level;
}

int LevelTuner::current_level(std::int64_t batch_size, int height, int start) const {
  const int own = size_class(batch_size);
  expect_at_least("height", height, 1);
  const std::lock_guard lock(mutex_);
  if (!records_[own]) return starting_level(batch_size, height, start);
  const Record& record = *records_[own];
  return height > record.peak ? grown_level(record, batch_size, height, start) : std::min(record.level, height);
}

bool LevelTuner::restart_due(const Record& record) const {
  return record.stable && updates_ - record.settled_at >= threshold_;
}

int LevelTuner::next_level(std::int64_t batch_size, int height, int start) {
  const int own = size_class(batch_size);
  expect_at_least("height", height, 1);
  const std::lock_guard lock(mutex_);
  auto& slot = records_[own];
  if (!slot) {
    const int first = starting_level(batch_size, height, start);
    slot = std::make_unique<Record>();
    slot->begin_phase(first, height, batch_size);
  }
  Record& record = *slot;
  if (height > record.peak) {
    record.begin_phase(grown_level(record, batch_size, height, start), height, batch_size);
  } else if (restart_due(record)) {
    record.begin_phase(std::min(record.level, height), height, batch_size);
  } else if (!record.stable && height < record.height) {
    record.shrink(height);
  }
  return record.stable ? std::min(record.level, height) : record.next_on_trial(loops_);
}

void LevelTuner::record(std::int64_t batch_size, int level, double mean_response_s) {
  const int own = size_class(batch_size);
  expect_at_least("level", level, 1);
  if (!within(mean_response_s, 0, kMaxResponse_s)) {
    throw ArgumentError("mean_response_s must be between 0 and " + show(kMaxResponse_s) + ", not " +
                        show(mean_response_s));
  }
  const std::lock_guard lock(mutex_);
  if (!records_[own] || records_[own]->stable) return;
  Record& record = *records_[own];
  const int distance = level - record.level;
  if (distance < -1 || distance > 1) return;
  const int slot = distance + kCurrent;
  if (record.wants(slot, loops_)) {  // threads may hand in more than the round asked for
    record.times[slot].push_back(mean_response_s / static_cast<double>(batch_size));
    record.sums[slot] += mean_response_s;
  }
  if (record.round_complete(loops_)) record.end_round(updates_);
}

void LevelTuner::updated(std::int64_t count) {
  expect_at_least("count", count, 0);
  const std::lock_guard lock(mutex_);
  updates_ += std::min(count, std::numeric_limits<std::int64_t>::max() - updates_);
}

TunerState LevelTuner::state(std::int64_t batch_size) const {
  const int own = size_class(batch_size);
  const std::lock_guard lock(mutex_);
  if (!records_[own]) return {};
  const Record& record = *records_[own];
  const std::int64_t updates = record.stable ? updates_ - record.settled_at : 0;
  if (restart_due(record)) return {false, record.level, updates, 0, {}};
  return {record.stable,
          record.level,
          updates,
          record.round,
          {record.sums[kCurrent], record.sums[kUpper], record.sums[kLower]}};
}

std::vector<std::byte> LevelTuner::to_bytes() const {
  const std::lock_guard lock(mutex_);
  Writer writer;
  for (const std::int64_t value : {kMagic, kVersion, threshold_}) writer(value);
  writer(loops_);
  writer(initial_level_);
  writer(updates_);
  writer(static_cast<std::int64_t>(
      std::count_if(records_.begin(), records_.end(), [](const auto& r) { return r != nullptr; })));
  for (int own = 0; own < kSizeClasses; ++own) {
    if (!records_[own]) continue;
    writer(own);
    Record::transfer(std::as_const(*records_[own]), writer);
  }
  return writer.take();
}

std::shared_ptr<LevelTuner> LevelTuner::from_bytes(std::span<const std::byte> bytes) {
  Reader reader(bytes);
  if (reader.integer() != kMagic) reject("it does not begin as one");
  if (reader.integer() != kVersion) reject("unknown version");
  const std::int64_t threshold = reader.integer();
  int loops = 0, initial_level = 0;
  reader(loops);
  reader(initial_level);
  auto tuner = std::make_shared<LevelTuner>(threshold, loops, initial_level);
  reader(tuner->updates_);
  if (tuner->updates_ < 0) reject("a negative count of updates");
  const std::int64_t count = reader.integer();
  int previous = -1;
  for (std::int64_t i = 0; i < count; ++i) {
    int own = 0;
    reader(own);
    if (own <= previous || own >= kSizeClasses) reject("its records are out of order");
    auto record = std::make_unique<Record>();
    Record::transfer(*record, reader);
    if (!record->consistent(loops, tuner->updates_)) reject("a record contradicts itself");
    tuner->records_[own] = std::move(record);
    previous = own;
  }
  if (!reader.at_end()) reject("it goes on after its last record");
  return tuner;
}

}  // namespace pubmatch

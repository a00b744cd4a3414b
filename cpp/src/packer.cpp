#include "pubmatch/packer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace pubmatch {

namespace {

// Codes of a lower bound: 0 for -inf, else 1 + bucket; of an upper bound: its bucket, kNoUpper for +inf.
constexpr std::size_t kCodes = 130;
constexpr std::uint8_t kNoUpper = 129;
constexpr std::uint8_t kAbsent = 255;  // the code of an event that lacks the attribute

constexpr std::size_t kSampleBoxes = 8192;   // boxes a split decision looks at
constexpr std::size_t kSampleEvents = 4096;  // centres taken when the caller gives no events
constexpr std::size_t kFewEvents = 48;       // below this a node takes its own boxes' centres
constexpr std::size_t kSampleBounds = 20000;
// A side of many leaves will be split again, so its visits grow more slowly than its size: measured on the 12-D workloads,
// exponent 1 visits a fifth more leaves, 0.55 a twentieth.
constexpr double kFutureSplits = 0.7;
constexpr std::size_t kAhead = 16;  // boxes fetched before they are looked at: their order is anyone's guess
constexpr double kVisitCost = 2.0;  // cost of visiting a leaf, in lines, beside its active dimensions

bool reaches(std::uint8_t code, std::uint8_t lower, std::uint8_t upper) {
  if (code == kAbsent) return lower == 0 && upper == kNoUpper;
  return (lower == 0 || code + 1 >= lower) && (upper == kNoUpper || code <= upper);
}

}  // namespace

template <class T>
std::vector<std::vector<double>> sample_bounds(const BoxView<T>& boxes, std::span<const std::uint32_t> rows) {
  std::vector<std::vector<double>> values(boxes.dims);
  const std::size_t step = std::max<std::size_t>(1, rows.size() / kSampleBounds);
  std::vector<T> least(boxes.dims, std::numeric_limits<T>::infinity());
  std::vector<T> greatest(boxes.dims, -std::numeric_limits<T>::infinity());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const T* lower = boxes.lower_row(rows[i]);
    const T* upper = boxes.upper_row(rows[i]);
    for (std::size_t d = 0; d < boxes.dims; ++d)
      for (const T bound : {lower[d], upper[d]}) {
        if (!std::isfinite(bound)) continue;
        least[d] = std::min(least[d], bound);
        greatest[d] = std::max(greatest[d], bound);
        if (i % step == 0) values[d].push_back(static_cast<double>(bound));
      }
  }
  for (std::size_t d = 0; d < boxes.dims; ++d)
    if (least[d] <= greatest[d]) {
      values[d].push_back(static_cast<double>(least[d]));
      values[d].push_back(static_cast<double>(greatest[d]));
    }
  return values;
}

template <class T>
std::vector<T> sample_centres(const BoxView<T>& boxes, std::size_t most) {
  std::vector<T> points;
  const std::size_t step = std::max<std::size_t>(1, boxes.size / most);
  for (std::size_t i = 0; i < boxes.size && points.size() < most * boxes.dims; i += step)
    for (std::size_t d = 0; d < boxes.dims; ++d) {
      T low = boxes.lower_row(i)[d];
      T high = boxes.upper_row(i)[d];
      for (std::size_t next = 1; next < 32 && unconstrained(low, high); ++next) {
        // Spread out: neighbours may well leave the same sides open.
        const std::size_t other = (i + next * (step / 2 + 1)) % boxes.size;
        low = boxes.lower_row(other)[d];
        high = boxes.upper_row(other)[d];
      }
      if (!std::isfinite(low)) low = high;
      if (!std::isfinite(high)) high = low;
      points.push_back(std::isfinite(low) ? low / 2 + high / 2 : T{0});
    }
  return points;
}

// Per dimension and code: how many sampled boxes, and how far their other bound reaches.
template <class T>
struct Packer<T>::Histograms {
  struct Side {
    std::array<std::uint32_t, kCodes> boxes{};
    std::array<std::uint8_t, kCodes> reach{};  // by lower code: greatest upper code; by upper code: least lower code
    std::array<std::uint8_t, kCodes> near{};   // by lower code: least upper code; by upper code: greatest lower code
  };
  std::vector<Side> lower, upper;
  std::vector<std::uint8_t> least_lower, greatest_upper;
  std::size_t sampled = 0;
  double active = 0;

  explicit Histograms(std::size_t dims) : lower(dims), upper(dims), least_lower(dims, 255), greatest_upper(dims, 0) {}
};

template <class T>
struct Packer<T>::Choice {
  double cost = std::numeric_limits<double>::infinity();
  std::size_t left_parts = 1;
  std::size_t dim = 0;
  bool on_upper = false;
};

template <class T>
Packer<T>::Packer(const BoxView<T>& boxes, std::vector<std::uint32_t> rows, const Cuts& cuts,
                  std::span<const double> events)
    : boxes_(boxes), dims_(boxes.dims), rows_(std::move(rows)), order_(rows_.size()), codes_(rows_.size() * 2 * dims_) {
  std::iota(order_.begin(), order_.end(), 0u);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const T* lower = boxes.lower_row(rows_[i]);
    const T* upper = boxes.upper_row(rows_[i]);
    std::uint8_t* code = codes_.data() + i * 2 * dims_;
    for (std::size_t d = 0; d < dims_; ++d) {
      const bool no_lower = lower[d] == -std::numeric_limits<T>::infinity();
      const bool no_upper = upper[d] == std::numeric_limits<T>::infinity();
      code[d] = no_lower ? 0 : static_cast<std::uint8_t>(1 + cuts.fine_bucket(d, static_cast<double>(lower[d])));
      code[dims_ + d] = no_upper ? kNoUpper : cuts.fine_bucket(d, static_cast<double>(upper[d]));
    }
  }
  for (std::size_t i = 0; i < events.size(); ++i) {
    const bool absent = std::isnan(events[i]);
    event_codes_.push_back(absent ? kAbsent : cuts.fine_bucket(i % dims_, events[i]));
  }
  if (event_codes_.empty()) add_centres(0, order_.size(), kSampleEvents);
}

// Adds the centres, in buckets, of some boxes of the range as events; where a box has no centre it borrows another's.
template <class T>
void Packer<T>::add_centres(std::size_t first, std::size_t last, std::size_t most) {
  const std::size_t size = last - first;
  if (size == 0) return;
  const auto next = [&] {  // splitmix64
    std::uint64_t z = (random_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  };
  const auto random_code = [&] { return codes_.data() + order_[first + next() % size] * 2 * dims_; };
  for (std::size_t i = 0; i < std::min(most, size); ++i) {
    const std::uint8_t* own = random_code();
    for (std::size_t d = 0; d < dims_; ++d) {
      const std::uint8_t* code = own;
      for (int tries = 0; tries < 16 && code[d] == 0 && code[dims_ + d] == kNoUpper; ++tries) code = random_code();
      const std::size_t low = code[d] == 0 ? 0 : code[d] - 1u;
      const std::size_t high =
          code[dims_ + d] == kNoUpper ? std::max<std::size_t>(low, kMaxBuckets - 2) : code[dims_ + d];
      event_codes_.push_back(static_cast<std::uint8_t>((low + high) / 2));
    }
  }
}

template <class T>
std::vector<std::uint32_t> Packer<T>::rows(std::size_t first, std::size_t last) const {
  std::vector<std::uint32_t> result;
  result.reserve(last - first);
  for (std::size_t i = first; i < last; ++i) result.push_back(row(i));
  return result;
}

template <class T>
void Packer<T>::divide(std::size_t first, std::size_t last, std::size_t parts, const Emit& emit) {
  Events events(event_codes_.size() / dims_);
  std::iota(events.begin(), events.end(), 0u);
  divide(first, last, parts, emit, events);
}

template <class T>
void Packer<T>::divide(std::size_t first, std::size_t last, std::size_t parts, const Emit& emit, const Events& events) {
  if (parts <= 1) {
    emit(first, last);
    return;
  }
  Choice choice;
  Events inside;
  {
    Histograms histograms(dims_);
    fill(histograms, first, last);
    inside = reaching(histograms, events);
    if (inside.size() < kFewEvents) {
      const std::size_t known = event_codes_.size() / dims_;
      add_centres(first, last, 2 * kFewEvents);
      inside.resize(event_codes_.size() / dims_ - known);
      std::iota(inside.begin(), inside.end(), static_cast<std::uint32_t>(known));
    }
    choice = choose(histograms, parts, inside);
  }
  const std::size_t events_kept = event_codes_.size();
  const std::size_t middle = first + (last - first) * choice.left_parts / parts;
  split(first, middle, last, choice);
  divide(first, middle, choice.left_parts, emit, inside);
  event_codes_.resize(events_kept);
  divide(middle, last, parts - choice.left_parts, emit, inside);
  event_codes_.resize(events_kept);
}

template <class T>
void Packer<T>::fill(Histograms& h, std::size_t first, std::size_t last) const {
  for (std::size_t d = 0; d < dims_; ++d) {
    h.lower[d].near.fill(255);
    h.upper[d].reach.fill(255);
  }
  const std::size_t step = std::max<std::size_t>(1, (last - first) / kSampleBoxes);
  for (std::size_t i = first; i < last; i += step) {
    if (i + kAhead * step < last) __builtin_prefetch(codes_.data() + order_[i + kAhead * step] * 2 * dims_);
    const std::uint8_t* code = codes_.data() + order_[i] * 2 * dims_;
    for (std::size_t d = 0; d < dims_; ++d) {
      const std::uint8_t low = code[d];
      const std::uint8_t high = code[dims_ + d];
      auto& by_lower = h.lower[d];
      ++by_lower.boxes[low];
      by_lower.reach[low] = std::max(by_lower.reach[low], high);
      by_lower.near[low] = std::min(by_lower.near[low], high);
      auto& by_upper = h.upper[d];
      ++by_upper.boxes[high];
      by_upper.reach[high] = std::min(by_upper.reach[high], low);
      by_upper.near[high] = std::max(by_upper.near[high], low);
    }
    ++h.sampled;
  }
  for (std::size_t d = 0; d < dims_; ++d) {
    for (std::size_t c = 0; c < kCodes; ++c) {
      if (h.lower[d].boxes[c] != 0) h.least_lower[d] = std::min(h.least_lower[d], static_cast<std::uint8_t>(c));
      if (h.upper[d].boxes[c] != 0) h.greatest_upper[d] = std::max(h.greatest_upper[d], static_cast<std::uint8_t>(c));
    }
    const bool inactive = h.lower[d].boxes[0] == h.sampled && h.upper[d].boxes[kNoUpper] == h.sampled;
    h.active += inactive ? 0 : 1;
  }
}

template <class T>
typename Packer<T>::Events Packer<T>::reaching(const Histograms& h, const Events& events) const {
  Events inside;
  for (const std::uint32_t e : events) {
    const std::uint8_t* code = event_codes_.data() + std::size_t{e} * dims_;
    bool reached = true;
    for (std::size_t d = 0; d < dims_ && reached; ++d)
      reached = reaches(code[d], h.least_lower[d], h.greatest_upper[d]);
    if (reached) inside.push_back(e);
  }
  return inside;
}

template <class T>
typename Packer<T>::Choice Packer<T>::choose(const Histograms& h, std::size_t parts, const Events& events) const {
  Choice best;
  best.left_parts = parts / 2;
  std::vector<std::uint32_t> below(kMaxBuckets + 2);  // events with a code < index; absent ones apart
  for (std::size_t d = 0; d < dims_; ++d) {
    std::fill(below.begin(), below.end(), 0u);
    for (const std::uint32_t e : events) {
      const std::uint8_t code = event_codes_[std::size_t{e} * dims_ + d];
      if (code != kAbsent) ++below[code + 1];
    }
    std::partial_sum(below.begin(), below.end(), below.begin());
    choose_side(h, d, false, parts, below, best);
    choose_side(h, d, true, parts, below, best);
  }
  return best;
}

// Tries the splits on one bound of one dimension. The right side of a lower split starts at its least lower bound, the
// left side of an upper split ends at its greatest upper bound: that is what keeps events away.
template <class T>
void Packer<T>::choose_side(const Histograms& h, std::size_t d, bool on_upper, std::size_t parts,
                            const std::vector<std::uint32_t>& below, Choice& best) const {
  const auto& side = on_upper ? h.upper[d] : h.lower[d];
  const auto events_between = [&](std::size_t lower, std::size_t upper) -> double {
    const std::size_t from = lower == 0 ? 0 : lower - 1;
    const std::size_t to = upper == kNoUpper ? below.size() - 1 : std::min<std::size_t>(upper + 1, below.size() - 1);
    return from < to ? below[to] - below[from] : 0.0;
  };
  // Suffix reach and near of the codes from c on.
  std::array<std::uint8_t, kCodes + 1> right_reach{};
  std::array<std::uint8_t, kCodes + 1> right_near{};
  right_reach[kCodes] = on_upper ? 255 : 0;
  right_near[kCodes] = on_upper ? 0 : 255;
  for (std::size_t c = kCodes; c-- > 0;) {
    const bool some = side.boxes[c] != 0;
    right_reach[c] = right_reach[c + 1];
    right_near[c] = right_near[c + 1];
    if (!some) continue;
    right_reach[c] = on_upper ? std::min(right_reach[c], side.reach[c]) : std::max(right_reach[c], side.reach[c]);
    right_near[c] = on_upper ? std::max(right_near[c], side.near[c]) : std::min(right_near[c], side.near[c]);
  }
  std::uint8_t left_reach = on_upper ? 255 : 0;
  std::uint8_t left_near = on_upper ? 0 : 255;
  std::size_t first_code = kCodes;
  std::size_t taken = 0;
  std::size_t next_part = 1;
  const double sampled = static_cast<double>(h.sampled);
  const auto consider = [&](std::size_t left_parts, std::size_t left_last, std::size_t right_first) {
    double left_events = 0;
    double right_events = 0;
    double left_active = h.active;
    double right_active = h.active;
    if (on_upper) {
      left_events = events_between(left_reach, left_last);
      right_events = events_between(right_reach[right_first], h.greatest_upper[d]);
      if (right_first == kNoUpper && right_near[right_first] == 0) right_active -= 1;
    } else {
      left_events = events_between(first_code, left_reach);
      right_events = events_between(right_first, right_reach[right_first]);
      if (left_last == 0 && left_near == kNoUpper) left_active -= 1;
    }
    const double left_leaves = std::pow(static_cast<double>(left_parts), kFutureSplits);
    const double right_leaves = std::pow(static_cast<double>(parts - left_parts), kFutureSplits);
    const double cost = left_leaves * left_events * (kVisitCost + left_active) +
                        right_leaves * right_events * (kVisitCost + right_active);
    if (cost < best.cost) best = Choice{cost, left_parts, d, on_upper};
  };
  for (std::size_t c = 0; c < kCodes; ++c) {
    if (side.boxes[c] == 0) continue;
    first_code = std::min(first_code, c);
    left_reach = on_upper ? std::min(left_reach, side.reach[c]) : std::max(left_reach, side.reach[c]);
    left_near = on_upper ? std::max(left_near, side.near[c]) : std::min(left_near, side.near[c]);
    taken += side.boxes[c];
    std::size_t right_first = c + 1;
    while (right_first < kCodes && side.boxes[right_first] == 0) ++right_first;
    // Cuts inside this code: both sides keep it.
    for (; next_part < parts && static_cast<double>(next_part) * sampled < static_cast<double>(taken * parts);
         ++next_part)
      if (parts <= 16) consider(next_part, c, c);
    if (right_first == kCodes) break;
    // The cut right behind this code, rounded to whole parts.
    const auto nearest = static_cast<std::size_t>(std::lround(static_cast<double>(taken * parts) / sampled));
    const bool exact = taken * parts == nearest * h.sampled;
    if (nearest >= 1 && nearest < parts && (parts > 16 || exact)) consider(nearest, c, right_first);
  }
}

template <class T>
void Packer<T>::split(std::size_t first, std::size_t middle, std::size_t last, const Choice& choice) {
  const T* values = choice.on_upper ? boxes_.upper : boxes_.lower;
  const auto value_of = [&](std::size_t i) { return values + std::size_t{rows_[order_[i]]} * dims_ + choice.dim; };
  keys_.clear();
  for (std::size_t i = first; i < last; ++i) {
    if (i + kAhead < last) __builtin_prefetch(value_of(i + kAhead));
    keys_.emplace_back(*value_of(i), order_[i]);
  }
  std::nth_element(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(middle - first), keys_.end());
  for (std::size_t i = first; i < last; ++i) order_[i] = keys_[i - first].second;
}

template class Packer<float>;
template class Packer<double>;
template std::vector<float> sample_centres<float>(const BoxView<float>&, std::size_t);
template std::vector<double> sample_centres<double>(const BoxView<double>&, std::size_t);
template std::vector<std::vector<double>> sample_bounds<float>(const BoxView<float>&, std::span<const std::uint32_t>);
template std::vector<std::vector<double>> sample_bounds<double>(const BoxView<double>&, std::span<const std::uint32_t>);

}  // namespace pubmatch

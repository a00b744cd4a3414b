#include "pubmatch/matches.hpp"

#include <mutex>
#include <new>

namespace pubmatch {

namespace {

// Large results come and go with every batch, and fresh pages cost more than the ids written to them. The last few
// freed buffers wait here for the next call.
class Recycler {
 public:
  static constexpr std::size_t kLeast = std::size_t{1} << 12;  // ids; smaller ones malloc handles well
  static constexpr std::size_t kLarge = std::size_t{1} << 18;  // ids; from here on a batch's, not an event's
  static constexpr std::size_t kMost = std::size_t{1} << 24;   // ids kept in all: 128 MiB
  static constexpr std::size_t kBuffers = 512;

  // The last one freed of at least `capacity` ids, or none. An event's own ids, which begin few, must not take the buffer
  // that the whole batch's will ask for.
  std::int64_t* take(std::size_t capacity, std::size_t& got) {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = count_; i-- > 0;) {
      if (capacities_[i] < capacity || (capacities_[i] >= kLarge && capacity < kLarge)) continue;
      std::int64_t* data = buffers_[i];
      got = capacities_[i];
      kept_ -= got;
      --count_;
      buffers_[i] = buffers_[count_];
      capacities_[i] = capacities_[count_];
      return data;
    }
    return nullptr;
  }

  bool keep(std::int64_t* data, std::size_t capacity) {
    const std::lock_guard lock(mutex_);
    if (count_ == kBuffers || kept_ + capacity > kMost) return false;
    buffers_[count_] = data;
    capacities_[count_++] = capacity;
    kept_ += capacity;
    return true;
  }

 private:
  std::mutex mutex_;
  std::int64_t* buffers_[kBuffers]{};
  std::size_t capacities_[kBuffers]{};
  std::size_t count_ = 0;
  std::size_t kept_ = 0;
};

Recycler& recycler() {
  static Recycler* const kept = new Recycler;  // never destroyed: arrays may outlive static destruction
  return *kept;
}

}  // namespace

IdBuffer::~IdBuffer() {
  if (capacity_ >= Recycler::kLeast && recycler().keep(data_, capacity_)) return;
  std::free(data_);
}

void IdBuffer::reserve(std::size_t capacity) {
  if (capacity <= capacity_) return;
  if (data_ == nullptr && capacity >= kFirst) data_ = recycler().take(capacity, capacity_);
  if (capacity <= capacity_) return;
  void* grown =
      capacity > SIZE_MAX / sizeof(std::int64_t) ? nullptr : std::realloc(data_, capacity * sizeof(std::int64_t));
  if (grown == nullptr) throw std::bad_alloc();
  data_ = static_cast<std::int64_t*>(grown);
  capacity_ = capacity;
}

}  // namespace pubmatch

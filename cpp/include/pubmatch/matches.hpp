// What a search finds: ids per event in compressed sparse rows, with the order and the times events were finished in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace pubmatch {

// Uninitialised memory for ids; grows in place where the system can.
class IdBuffer {
 public:
  static constexpr std::size_t kFirst = 256;  // what is asked for when the first id is found

  IdBuffer() = default;
  IdBuffer(IdBuffer&& other) noexcept { swap(other); }
  IdBuffer& operator=(IdBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~IdBuffer();

  std::int64_t* data() { return data_; }
  const std::int64_t* data() const { return data_; }
  std::size_t size = 0;
  std::size_t capacity() const { return capacity_; }
  void reserve(std::size_t capacity);  // throws std::bad_alloc

 private:
  void swap(IdBuffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size, other.size);
    std::swap(capacity_, other.capacity_);
  }
  std::int64_t* data_ = nullptr;
  std::size_t capacity_ = 0;
};

struct Matches {
  std::vector<std::int64_t> offsets;
  IdBuffer ids;
  std::vector<std::int64_t> order;
  std::vector<double> response_s;
  int level = 1;
};

}  // namespace pubmatch

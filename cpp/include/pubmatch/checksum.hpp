// A fast 64-bit checksum for index files.
//
// Against accidents (flipped, lost or swapped bytes), not against forgers. Four lanes take the 8-byte little-endian words
// in turn:
//   lane = rotate_left(lane ^ word, 29) * kOdd
// and at the end are folded, with the length, into one value by steps of the same kind. Every step is invertible in the
// lane and in the word, so two inputs of one length that differ in a single word never share a checksum. The four lanes do
// not wait for each other, so that memory, not arithmetic, sets the speed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pubmatch {

class Checksum {
 public:
  static constexpr std::size_t kStep = 32;

  // All pieces but the last must be multiples of kStep long.
  void add(std::span<const std::byte> bytes);
  std::uint64_t value() const;

 private:
  std::array<std::uint64_t, 4> lanes_{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89};
  std::uint64_t length_ = 0;
};

std::uint64_t checksum(std::span<const std::byte> bytes);

}  // namespace pubmatch

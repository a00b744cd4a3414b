#include "pubmatch/checksum.hpp"

#include <bit>
#include <cstring>

namespace pubmatch {

namespace {

constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;

std::uint64_t step(std::uint64_t lane, std::uint64_t word) { return std::rotl(lane ^ word, 29) * kOdd; }

}  // namespace

void Checksum::add(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, 4> lanes = lanes_;
  std::array<std::uint64_t, 4> words;
  static_assert(sizeof words == kStep);
  const std::byte* data = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kStep; left -= kStep, data += kStep) {
    std::memcpy(words.data(), data, kStep);
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = step(lanes[i], words[i]);
  }
  if (left != 0) {
    words.fill(0);
    std::memcpy(words.data(), data, left);
    for (std::size_t i = 0; i < 4; ++i) lanes[i] = step(lanes[i], words[i]);
  }
  lanes_ = lanes;
  length_ += bytes.size();
}

std::uint64_t Checksum::value() const {
  std::uint64_t folded = length_;
  for (const std::uint64_t lane : lanes_) {
    folded = step(folded, lane);
    folded ^= folded >> 32;
  }
  return folded;
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.add(bytes);
  return sum.value();
}

}  // namespace pubmatch

// Where each subscription lies: id → (leaf number, slot), four bytes a place.
//
// The table stores places only. An id is compared by looking at the leaf, so the caller says how to read one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace pubmatch {

class IdMap {
 public:
  using ReadId = std::function<std::int64_t(std::uint32_t place)>;
  static constexpr std::uint32_t kNone = 0xffffffffu;

  explicit IdMap(std::size_t expected);

  template <class Read>
  std::uint32_t find(std::int64_t id, const Read& read) const {
    for (std::size_t at = start(id);; at = (at + 1) & mask_) {
      const std::uint32_t place = table_[at];
      if (place == kNone) return kNone;
      if (place != kGone && read(place) == id) return place;
    }
  }

  template <class Read>
  void add(std::int64_t id, std::uint32_t place, const Read& read) {
    if ((used_ + 1) * 4 > table_.size() * 3) rehash(read);
    std::size_t at = start(id);
    while (table_[at] != kNone && table_[at] != kGone) at = (at + 1) & mask_;
    used_ += table_[at] == kNone ? 1 : 0;
    table_[at] = place;
    ++live_;
  }

  // The id must be there, at `from`: reading it is up to the caller, who may already have moved it.
  void move(std::int64_t id, std::uint32_t from, std::uint32_t to) { table_[position(id, from)] = to; }
  void remove(std::int64_t id, std::uint32_t from) {
    table_[position(id, from)] = kGone;
    --live_;
  }

  std::size_t bytes() const { return table_.capacity() * sizeof(std::uint32_t); }
  std::size_t size() const { return live_; }

 private:
  static constexpr std::uint32_t kGone = 0xfffffffeu;

  std::size_t start(std::int64_t id) const {
    std::uint64_t z = static_cast<std::uint64_t>(id) * 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93ull;
    return static_cast<std::size_t>(z ^ (z >> 32)) & mask_;
  }
  std::size_t position(std::int64_t id, std::uint32_t place) const {
    std::size_t at = start(id);
    while (table_[at] != place) at = (at + 1) & mask_;
    return at;
  }
  void rehash(const ReadId& read);

  std::vector<std::uint32_t> table_;
  std::size_t mask_ = 0;
  std::size_t used_ = 0;  // places and traces of removed ones
  std::size_t live_ = 0;
};

}  // namespace pubmatch

#include "pubmatch/id_map.hpp"

#include <algorithm>
#include <bit>

namespace pubmatch {

IdMap::IdMap(std::size_t expected)
    : table_(std::bit_ceil(std::max<std::size_t>(16, expected * 3 / 2)), kNone), mask_(table_.size() - 1) {}

void IdMap::rehash(const ReadId& read) {
  std::vector<std::uint32_t> old(std::bit_ceil(std::max<std::size_t>(16, live_ * 2)), kNone);
  old.swap(table_);
  mask_ = table_.size() - 1;
  used_ = live_;
  for (const std::uint32_t place : old) {
    if (place == kNone || place == kGone) continue;
    std::size_t at = start(read(place));
    while (table_[at] != kNone) at = (at + 1) & mask_;
    table_[at] = place;
  }
}

}  // namespace pubmatch

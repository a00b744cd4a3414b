// Listing the set bits of a line, for targets that must look at them one by one.

inline constexpr bool kListsAtOnce = false;
inline constexpr std::size_t kListSlack = 4;

// The positions of the set bits, four at a time: how many there are is hard to predict, whether there are more than four
// is not. Writes up to four positions beyond the last.
inline std::size_t list_bits(const std::uint64_t* words, std::uint16_t* slots) {
  std::size_t found = 0;
  for (std::size_t w = 0; w < kLineWords; ++w) {
    std::uint64_t bits = words[w];
    const auto count = static_cast<std::size_t>(__builtin_popcountll(bits));
    for (std::size_t done = 0; done == 0 || done < count; done += 4)
      for (std::size_t i = 0; i < 4; ++i) {
        slots[found + done + i] = static_cast<std::uint16_t>(w * 64 + (bits == 0 ? 0 : __builtin_ctzll(bits)));
        bits &= bits - 1;
      }
    found += count;
  }
  return found;
}

// Exact verification of one row, bound by bound, for targets without masked loads.

template <class T>
inline bool row_contains(const T* low, const T* high, std::size_t k, const T* down, const T* up) {
  bool inside = true;
  for (std::size_t j = 0; j < k && inside; ++j) inside = (low[j] <= down[j]) & (high[j] >= up[j]);
  return inside;
}

template <class T>
inline bool row_contains_at(const T* low, const T* high, const std::uint8_t* dims, std::size_t k, const T* down,
                            const T* up, std::size_t) {
  bool inside = true;
  for (std::size_t j = 0; j < k && inside; ++j) inside = (low[j] <= down[dims[j]]) & (high[j] >= up[dims[j]]);
  return inside;
}

inline std::size_t write_chosen(const std::uint32_t* ids, std::uint64_t bits, std::int64_t* out) {
  std::int64_t* next = out;
  for (; bits != 0; bits &= bits - 1) *next++ = ids[__builtin_ctzll(bits)];
  return static_cast<std::size_t>(next - out);
}

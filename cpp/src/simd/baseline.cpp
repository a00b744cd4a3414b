// The kernels every machine can run (SSE2 on x86-64, NEON on arm64): compiler vector extensions only.
#include "kernel_targets.hpp"

namespace pubmatch::baseline {

using Line = std::uint64_t __attribute__((vector_size(64), may_alias));

inline bool any(const Line& line) {
  std::uint64_t words[kLineWords];
  __builtin_memcpy(words, &line, sizeof line);
  std::uint64_t some = 0;
  for (const std::uint64_t word : words) some |= word;
  return some != 0;
}

template <class T>
inline constexpr std::size_t kLanes = 16 / sizeof(T);

template <class T>
inline std::uint64_t lanes_containing(const T* lo, const T* hi, T down, T up) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kLanes<T>; ++i) bits |= static_cast<std::uint64_t>((lo[i] <= down) & (hi[i] >= up)) << i;
  return bits;
}

// clang-format off: the loops need the rows
#include "bits_by_four.inl"
#include "scalar_rows.inl"
inline constexpr std::size_t kSurvivorBytes = 256;

#include "leaf_scan.inl"
// clang-format on

}  // namespace pubmatch::baseline

namespace pubmatch {
const Kernels kBaselineKernels = {
    "baseline",
    {baseline::meet<float>, baseline::score_children<float>, baseline::scan_leaves<float>},
    {baseline::meet<double>, baseline::score_children<double>, baseline::scan_leaves<double>}};
}  // namespace pubmatch

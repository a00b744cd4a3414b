// AVX-512 kernels for machines with VBMI2, which lists the set bits of a line without looking at them one by one.
#include "kernel_targets.hpp"

#if PUBMATCH_X86

#include <immintrin.h>

#include <array>

namespace pubmatch::avx512vbmi2 {
constexpr std::array<std::uint8_t, 64> kByteNumbers = [] {
  std::array<std::uint8_t, 64> numbers{};
  for (std::uint8_t i = 0; i < 64; ++i) numbers[i] = i;
  return numbers;
}();
}  // namespace pubmatch::avx512vbmi2

PUBMATCH_BEGIN_TARGET("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,bmi,bmi2,popcnt,lzcnt")

namespace pubmatch::avx512vbmi2 {

#include "avx512_rows.inl"

inline constexpr bool kListsAtOnce = true;
inline constexpr std::size_t kListSlack = 64;

// Of each word, the numbers 0 … 63 compressed by its bits; the second half is rarely reached.
inline std::size_t list_bits(const std::uint64_t* words, std::uint16_t* slots) {
  const __m512i numbers = _mm512_loadu_si512(kByteNumbers.data());
  std::size_t found = 0;
  for (std::size_t w = 0; w < kLineWords; ++w) {
    const std::uint64_t bits = words[w];
    const auto count = static_cast<std::size_t>(_mm_popcnt_u64(bits));
    const __m512i chosen = _mm512_maskz_compress_epi8(bits, numbers);
    const __m512i first = _mm512_set1_epi16(static_cast<short>(w * 64));
    const __m512i low = _mm512_maskz_cvtepu8_epi16(~0u, _mm512_maskz_extracti64x4_epi64(0xff, chosen, 0));
    _mm512_storeu_si512(slots + found, _mm512_add_epi16(first, low));
    if (count > 32) {
      const __m512i high = _mm512_maskz_cvtepu8_epi16(~0u, _mm512_maskz_extracti64x4_epi64(0xff, chosen, 1));
      _mm512_storeu_si512(slots + found + 32, _mm512_add_epi16(first, high));
    }
    found += count;
  }
  return found;
}

inline constexpr std::size_t kSurvivorBytes = 1024;

#include "leaf_scan.inl"

}  // namespace pubmatch::avx512vbmi2

PUBMATCH_END_TARGET

namespace pubmatch {
const Kernels kAvx512Vbmi2Kernels = {
    "avx512vbmi2",
    {avx512vbmi2::meet<float>, avx512vbmi2::score_children<float>, avx512vbmi2::scan_leaves<float>},
    {avx512vbmi2::meet<double>, avx512vbmi2::score_children<double>, avx512vbmi2::scan_leaves<double>}};
}  // namespace pubmatch

#endif

// AVX2 kernels.
#include "kernel_targets.hpp"

#if PUBMATCH_X86

#include <immintrin.h>

PUBMATCH_BEGIN_TARGET("avx2,bmi,bmi2,popcnt,lzcnt")

namespace pubmatch::avx2 {

struct Line {
  __m256i low, high;
  Line& operator&=(const Line& other) {
    low = _mm256_and_si256(low, other.low);
    high = _mm256_and_si256(high, other.high);
    return *this;
  }
};

inline bool any(const Line& line) {
  const __m256i both = _mm256_or_si256(line.low, line.high);
  return _mm256_testz_si256(both, both) == 0;
}

template <class T>
inline constexpr std::size_t kLanes = 32 / sizeof(T);

inline std::uint64_t lanes_containing(const float* lo, const float* hi, float down, float up) {
  const __m256 below = _mm256_cmp_ps(_mm256_loadu_ps(lo), _mm256_set1_ps(down), _CMP_LE_OQ);
  const __m256 above = _mm256_cmp_ps(_mm256_loadu_ps(hi), _mm256_set1_ps(up), _CMP_GE_OQ);
  return static_cast<unsigned>(_mm256_movemask_ps(_mm256_and_ps(below, above)));
}

inline std::uint64_t lanes_containing(const double* lo, const double* hi, double down, double up) {
  const __m256d below = _mm256_cmp_pd(_mm256_loadu_pd(lo), _mm256_set1_pd(down), _CMP_LE_OQ);
  const __m256d above = _mm256_cmp_pd(_mm256_loadu_pd(hi), _mm256_set1_pd(up), _CMP_GE_OQ);
  return static_cast<unsigned>(_mm256_movemask_pd(_mm256_and_pd(below, above)));
}

// clang-format off: the loops need the rows
#include "bits_by_four.inl"
#include "scalar_rows.inl"
inline constexpr std::size_t kSurvivorBytes = 256;

#include "leaf_scan.inl"
// clang-format on

}  // namespace pubmatch::avx2

PUBMATCH_END_TARGET

namespace pubmatch {
const Kernels kAvx2Kernels = {"avx2",
                              {avx2::meet<float>, avx2::score_children<float>, avx2::scan_leaves<float>},
                              {avx2::meet<double>, avx2::score_children<double>, avx2::scan_leaves<double>}};
}  // namespace pubmatch

#endif

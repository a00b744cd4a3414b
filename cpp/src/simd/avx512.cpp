// AVX-512 kernels: one line is one register.
#include "kernel_targets.hpp"

#if PUBMATCH_X86

#include <immintrin.h>

PUBMATCH_BEGIN_TARGET("avx512f,avx512bw,avx512dq,avx512vl,bmi,bmi2,popcnt,lzcnt")

namespace pubmatch::avx512 {

#include "avx512_rows.inl"
#include "bits_by_four.inl"
inline constexpr std::size_t kSurvivorBytes = 1024;

#include "leaf_scan.inl"

}  // namespace pubmatch::avx512

PUBMATCH_END_TARGET

namespace pubmatch {
const Kernels kAvx512Kernels = {"avx512",
                                {avx512::meet<float>, avx512::score_children<float>, avx512::scan_leaves<float>},
                                {avx512::meet<double>, avx512::score_children<double>, avx512::scan_leaves<double>}};
}  // namespace pubmatch

#endif

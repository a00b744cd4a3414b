// What both AVX-512 targets share: a line is one register, sixteen bounds are compared at once.

using Line = std::uint64_t __attribute__((vector_size(64), may_alias));

inline bool any(Line line) { return _mm512_test_epi64_mask((__m512i)line, (__m512i)line) != 0; }

template <class T>
inline constexpr std::size_t kLanes = 64 / sizeof(T);

inline std::uint64_t lanes_containing(const float* lo, const float* hi, float down, float up) {
  const __mmask16 below = _mm512_cmp_ps_mask(_mm512_loadu_ps(lo), _mm512_set1_ps(down), _CMP_LE_OQ);
  return _mm512_mask_cmp_ps_mask(below, _mm512_loadu_ps(hi), _mm512_set1_ps(up), _CMP_GE_OQ);
}

inline std::uint64_t lanes_containing(const double* lo, const double* hi, double down, double up) {
  const __mmask8 below = _mm512_cmp_pd_mask(_mm512_loadu_pd(lo), _mm512_set1_pd(down), _CMP_LE_OQ);
  return _mm512_mask_cmp_pd_mask(below, _mm512_loadu_pd(hi), _mm512_set1_pd(up), _CMP_GE_OQ);
}

inline bool row_contains(const float* low, const float* high, std::size_t k, const float* down, const float* up) {
  for (std::size_t j = 0; j < k; j += 16) {
    const auto part = static_cast<__mmask16>(k - j >= 16 ? 0xffff : (1u << (k - j)) - 1);
    const __m512 l = _mm512_maskz_loadu_ps(part, low + j);
    const __m512 h = _mm512_maskz_loadu_ps(part, high + j);
    const __mmask16 in = _mm512_mask_cmp_ps_mask(part, l, _mm512_loadu_ps(down + j), _CMP_LE_OQ);
    if (_mm512_mask_cmp_ps_mask(in, h, _mm512_loadu_ps(up + j), _CMP_GE_OQ) != part) return false;
  }
  return true;
}

inline bool row_contains(const double* low, const double* high, std::size_t k, const double* down, const double* up) {
  for (std::size_t j = 0; j < k; j += 8) {
    const auto part = static_cast<__mmask8>(k - j >= 8 ? 0xff : (1u << (k - j)) - 1);
    const __m512d l = _mm512_maskz_loadu_pd(part, low + j);
    const __m512d h = _mm512_maskz_loadu_pd(part, high + j);
    const __mmask8 in = _mm512_mask_cmp_pd_mask(part, l, _mm512_loadu_pd(down + j), _CMP_LE_OQ);
    if (_mm512_mask_cmp_pd_mask(in, h, _mm512_loadu_pd(up + j), _CMP_GE_OQ) != part) return false;
  }
  return true;
}

inline bool row_contains_at(const float* low, const float* high, const std::uint8_t* dims, std::size_t k,
                            const float* down, const float* up, std::size_t dimensions) {
  bool inside = true;
  for (std::size_t j = 0; j < k; j += 16) {
    const auto part = static_cast<__mmask16>(k - j >= 16 ? 0xffff : (1u << (k - j)) - 1);
    const __m512i at = _mm512_maskz_cvtepu8_epi32(0xffff, _mm_maskz_loadu_epi8(part, dims + j));
    __m512 d;
    __m512 u;
    if (dimensions <= 32) {  // two registers hold the event: far cheaper than a gather
      d = _mm512_permutex2var_ps(_mm512_loadu_ps(down), at, _mm512_loadu_ps(down + 16));
      u = _mm512_permutex2var_ps(_mm512_loadu_ps(up), at, _mm512_loadu_ps(up + 16));
    } else {
      d = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), part, at, down, 4);
      u = _mm512_mask_i32gather_ps(_mm512_setzero_ps(), part, at, up, 4);
    }
    const __mmask16 in = _mm512_mask_cmp_ps_mask(part, _mm512_maskz_loadu_ps(part, low + j), d, _CMP_LE_OQ);
    inside &= _mm512_mask_cmp_ps_mask(in, _mm512_maskz_loadu_ps(part, high + j), u, _CMP_GE_OQ) == part;
  }
  return inside;
}

inline bool row_contains_at(const double* low, const double* high, const std::uint8_t* dims, std::size_t k,
                            const double* down, const double* up, std::size_t) {
  bool inside = true;
  for (std::size_t j = 0; j < k && inside; ++j) inside = (low[j] <= down[dims[j]]) & (high[j] >= up[dims[j]]);
  return inside;
}

// Eight ids at a time, of which only those chosen are read: behind them a writer may be adding others.
inline std::size_t write_chosen(const std::uint32_t* ids, std::uint64_t bits, std::int64_t* out) {
  std::int64_t* next = out;
  for (; bits != 0; bits >>= 8, ids += 8) {
    const auto chosen = static_cast<__mmask8>(bits);
    const __m512i eight = _mm512_maskz_cvtepu32_epi64(0xff, _mm256_maskz_loadu_epi32(chosen, ids));
    _mm512_storeu_si512(next, _mm512_maskz_compress_epi64(chosen, eight));
    next += _mm_popcnt_u32(chosen);
  }
  return static_cast<std::size_t>(next - out);
}

template <class T>
std::size_t verify(const Node<T>&, std::span<const std::uint16_t>, const T*, const T*, std::size_t, std::int64_t*,
                   std::size_t);

// Rows of up to 16 listed dimensions of up to 32: the event stays in four registers, a candidate takes two permutations
// and two comparisons. Only the row itself is read: behind it a writer may be adding another.
inline std::size_t verify(const Node<float>& node, std::span<const std::uint16_t> slots, const float* down,
                          const float* up, std::size_t dimensions, std::int64_t* out, std::size_t step) {
  const std::size_t stride = node.stride;
  if (node.row_dims == nullptr || stride > 16 || dimensions > 32 || node.wide_ids)
    return verify<float>(node, slots, down, up, dimensions, out, step);
  const auto part = static_cast<__mmask16>((1u << stride) - 1);
  const __m512 down0 = _mm512_loadu_ps(down);
  const __m512 down1 = _mm512_loadu_ps(down + 16);
  const __m512 up0 = _mm512_loadu_ps(up);
  const __m512 up1 = _mm512_loadu_ps(up + 16);
  const float* bounds = node.bounds;
  const std::uint8_t* row_dims = node.row_dims;
  const auto* ids = static_cast<const std::uint32_t*>(node.ids);
  std::size_t matched = 0;
  std::int64_t* next = out;
  for (const std::size_t slot : slots) {
    const float* low = bounds + 2 * slot * stride;
    const __m512i at = _mm512_maskz_cvtepu8_epi32(0xffff, _mm_maskz_loadu_epi8(part, row_dims + slot * stride));
    const __mmask16 in = _mm512_mask_cmp_ps_mask(part, _mm512_maskz_loadu_ps(part, low),
                                                 _mm512_permutex2var_ps(down0, at, down1), _CMP_LE_OQ);
    const __mmask16 inside = _mm512_mask_cmp_ps_mask(in, _mm512_maskz_loadu_ps(part, low + stride),
                                                     _mm512_permutex2var_ps(up0, at, up1), _CMP_GE_OQ);
    *next = ids[slot];
    const std::size_t found = inside == part;
    matched += found;
    next += found & step;
  }
  return matched;
}

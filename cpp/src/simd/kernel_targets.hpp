// Regions of code compiled for one instruction set. Only these functions may use it: no global -m flags, so that nothing
// else of the library, and no inline function of the standard library, can pick up instructions the machine lacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "pubmatch/kernels.hpp"
#include "pubmatch/prefetch.hpp"

#if defined(__x86_64__)
#define PUBMATCH_X86 1
#else
#define PUBMATCH_X86 0
#endif

#define PUBMATCH_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define PUBMATCH_BEGIN_TARGET(features) \
  PUBMATCH_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define PUBMATCH_END_TARGET PUBMATCH_PRAGMA(clang attribute pop)
#else
#define PUBMATCH_BEGIN_TARGET(features) PUBMATCH_PRAGMA(GCC push_options) PUBMATCH_PRAGMA(GCC target(features))
#define PUBMATCH_END_TARGET PUBMATCH_PRAGMA(GCC pop_options)
#endif

namespace pubmatch {
#if PUBMATCH_X86
extern const Kernels kAvx512Vbmi2Kernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx2Kernels;
#endif
extern const Kernels kBaselineKernels;
}  // namespace pubmatch

#include "pubmatch/kernels.hpp"

#include <cstdlib>
#include <cstring>

#include "pubmatch/error.hpp"
#include "simd/kernel_targets.hpp"

namespace pubmatch {

std::vector<const Kernels*> available_kernels() {
  std::vector<const Kernels*> found;
#if PUBMATCH_X86
  __builtin_cpu_init();
  const bool bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
  const bool avx512 = bits && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && __builtin_cpu_supports("avx512vbmi2")) found.push_back(&kAvx512Vbmi2Kernels);
  if (avx512) found.push_back(&kAvx512Kernels);
  if (bits && __builtin_cpu_supports("avx2")) found.push_back(&kAvx2Kernels);
#endif
  found.push_back(&kBaselineKernels);
  return found;
}

namespace {

const Kernels& choose() {
  const std::vector<const Kernels*> found = available_kernels();
  const char* forced = std::getenv("PUBMATCH_FORCE_KERNEL");
  if (forced == nullptr || *forced == '\0') return *found.front();
  std::string names;
  for (const Kernels* kernels : found) {
    if (std::strcmp(kernels->name, forced) == 0) return *kernels;
    names += names.empty() ? "" : ", ";
    names += kernels->name;
  }
  throw ArgumentError("PUBMATCH_FORCE_KERNEL names no kernel of this machine: '" + std::string(forced) +
                      "' is not one of " + names);
}

}  // namespace

const Kernels& active_kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace pubmatch

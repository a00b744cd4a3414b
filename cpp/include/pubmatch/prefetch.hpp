// Memory asked for before it is needed.
#pragma once

#include <cstddef>

// For functions that do nothing but prefetch: GCC takes them for functions without any effect, and drops the calls it
// does not inline.
#define PUBMATCH_PREFETCHES [[gnu::always_inline]] inline

namespace pubmatch {

PUBMATCH_PREFETCHES void prefetch_range(const void* data, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(static_cast<const char*>(data) + at);
}

}  // namespace pubmatch

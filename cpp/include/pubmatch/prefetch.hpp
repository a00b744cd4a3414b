// For functions that do nothing but prefetch: GCC takes them for functions without any effect, and drops the calls it
// does not inline.
#pragma once

#define PUBMATCH_PREFETCHES [[gnu::always_inline]] inline

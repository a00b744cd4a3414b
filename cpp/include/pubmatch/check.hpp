// Recomputes everything a tree says about itself.
#pragma once

#include "pubmatch/version.hpp"

namespace pubmatch {

// Every envelope, height, fan-out, active dimension and bitmap line against the boxes below, and every id against the
// others. Throws CorruptIndexError at the first lie.
template <class T>
void check(const Version<T>& version);

}  // namespace pubmatch

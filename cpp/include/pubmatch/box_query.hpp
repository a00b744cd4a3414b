// Queries by box: which boxes meet it, contain it, or lie inside it.
#pragma once

#include <cstdint>

#include "pubmatch/box.hpp"
#include "pubmatch/matches.hpp"
#include "pubmatch/version.hpp"

namespace pubmatch {

enum class BoxRelation : std::uint8_t { kIntersecting, kCovering, kCovered };

// P: the type of the given bounds; they are compared exactly. Throws ArgumentError for NaN or lower > upper.
template <class T, class P>
Matches box_query(const Version<T>& version, BoxRelation relation, const BoxView<P>& boxes);

}  // namespace pubmatch

// Memory for the parts of nodes, in slabs of huge pages.
//
// A search touches a few lines in each of many nodes, so with small pages it pays for address translation as much as for
// the lines themselves. Slabs ask the system for huge pages; parts of equal size take each other's place when updates
// copy them; a slab whose parts are all gone is given back.
#pragma once

#include <cstddef>

namespace pubmatch {

// What a part holds: parts of one kind lie together.
enum class PartUse { kLines, kEntries, kHeads };

// Aligned to 64 bytes. Throws std::bad_alloc.
std::byte* take_part_memory(PartUse use, std::size_t bytes, bool zeroed);
void return_part_memory(std::byte* data, std::size_t bytes);

}  // namespace pubmatch

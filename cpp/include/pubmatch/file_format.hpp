// Index files: one versioned, checksummed, position-independent buffer that can be used where it is mapped.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "pubmatch/rtree.hpp"

namespace pubmatch {

using AnyTree = std::variant<std::shared_ptr<Tree<float>>, std::shared_ptr<Tree<double>>>;

// The whole index as bytes: parameters, buckets, tuner state, nodes.
template <class T>
std::vector<std::byte> to_bytes(const Tree<T>& tree);
// Throws FormatError saying what is wrong. The bytes are copied.
AnyTree from_bytes(std::span<const std::byte> bytes);

// Writes to a temporary name beside `path`, syncs and renames. Throws std::system_error; the old file stays.
template <class T>
void save(const Tree<T>& tree, const std::string& path);
// mmap: use the file where it is mapped, shared between processes; it may be replaced meanwhile, as save() does it, but
// not cut short. verify: check the checksum of all bytes first; without it only structure and bounds are checked (no file
// can make a search read outside of it) and no node is touched before a search needs it. Throws FormatError saying what
// is wrong with the file, std::system_error when it cannot be read.
AnyTree load(const std::string& path, bool mmap, bool verify);

extern template std::vector<std::byte> to_bytes<float>(const Tree<float>&);
extern template std::vector<std::byte> to_bytes<double>(const Tree<double>&);
extern template void save<float>(const Tree<float>&, const std::string&);
extern template void save<double>(const Tree<double>&, const std::string&);

}  // namespace pubmatch

// Boxes as the caller gives them: row-major arrays of closed lower and upper bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace pubmatch {

template <class T>
struct BoxView {
  const T* lower = nullptr;
  const T* upper = nullptr;
  std::size_t size = 0;
  std::size_t dims = 0;

  const T* lower_row(std::size_t i) const { return lower + i * dims; }
  const T* upper_row(std::size_t i) const { return upper + i * dims; }
};

// A side without bounds: every value matches there, and so does an event that lacks the attribute.
template <class T>
bool unconstrained(T lower, T upper) {
  return lower == -std::numeric_limits<T>::infinity() && upper == std::numeric_limits<T>::infinity();
}

// Boxes with their ids, owned; what leaves are made of and taken apart into.
template <class T>
struct EntryList {
  std::size_t dims = 0;
  std::vector<T> lower;
  std::vector<T> upper;
  std::vector<std::int64_t> ids;

  explicit EntryList(std::size_t d) : dims(d) {}
  std::size_t size() const { return ids.size(); }
  BoxView<T> view() const { return {lower.data(), upper.data(), ids.size(), dims}; }
  void add(const T* low, const T* high, std::int64_t id) {
    lower.insert(lower.end(), low, low + dims);
    upper.insert(upper.end(), high, high + dims);
    ids.push_back(id);
  }
  void remove(const std::set<std::int64_t>& unwanted) {
    if (unwanted.empty()) return;
    EntryList rest(dims);
    for (std::size_t i = 0; i < size(); ++i)
      if (!unwanted.contains(ids[i])) rest.add(lower.data() + i * dims, upper.data() + i * dims, ids[i]);
    *this = std::move(rest);
  }
};

}  // namespace pubmatch

#include "pubmatch/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "pubmatch/error.hpp"

namespace pubmatch {

namespace {

template <class T>
class Checker {
 public:
  explicit Checker(const Version<T>& version) : factory_(*version.factory), dims_(factory_.dims()) {}

  // Returns the envelope of what lies below.
  Envelope<T> visit(const Node<T>& node, bool is_root, const std::string& where) {
    fan_out(node, is_root, where);
    active_dims(node, where);
    Envelope<T> whole(dims_);
    if (node.leaf()) {
      boxes(node, where);
      whole = factory_.envelope(node);
      for (std::size_t s = 0; s < node.count; ++s)
        if (node.is_live(s)) ids_.push_back(node.id(s));
    } else {
      for (std::size_t c = 0; c < node.count; ++c) {
        const Node<T>& child = *node.children[c];
        const std::string there = where + "/" + std::to_string(c);
        if (child.height + 1 != node.height) lie(there, "height is not one below its parent's");
        const Envelope<T> envelope = visit(child, false, there);
        for (std::size_t d = 0; d < dims_; ++d)
          if (node.lower_lanes(d)[c] != envelope.lower[d] || node.upper_lanes(d)[c] != envelope.upper[d])
            lie(there, "envelope in dimension " + std::to_string(d) + " is not that of its boxes");
        whole.extend(envelope.lower.data(), envelope.upper.data());
      }
    }
    if (node.bitmap) lines(node, where);
    return whole;
  }

  void ids(std::size_t size) {
    if (ids_.size() != size)
      lie("root", "holds " + std::to_string(ids_.size()) + " boxes, says " + std::to_string(size));
    std::sort(ids_.begin(), ids_.end());
    const auto twice = std::adjacent_find(ids_.begin(), ids_.end());
    if (twice != ids_.end()) lie("root", "id " + std::to_string(*twice) + " is there twice");
  }

 private:
  [[noreturn]] static void lie(const std::string& where, const std::string& what) {
    throw CorruptIndexError("node " + where + ": " + what);
  }

  void fan_out(const Node<T>& node, bool is_root, const std::string& where) const {
    const Layout& layout = factory_.layout();
    const std::size_t most = node.leaf() ? layout.leaf_capacity : layout.node_capacity;
    const std::size_t least = is_root       ? (node.leaf() ? 0 : 2)
                              : node.leaf() ? layout.leaf_minimum()
                                            : layout.node_minimum();
    if (node.count > most || node.live < least)
      lie(where, "fan-out " + std::to_string(node.live) + " is not within " + std::to_string(least) + " and " +
                     std::to_string(most));
    if (node.live > node.count || (!node.leaf() && node.children.size() != node.count))
      lie(where, "count disagrees with its children");
    if (node.starts.size() != (node.height == 1 ? node.count : 0u))
      lie(where, "the places where its leaves begin are miscounted");
    for (std::size_t c = 0; c < node.starts.size(); ++c)
      if (node.starts[c].leaf != node.children[c] || node.starts[c].data != node.children[c]->search_data())
        lie(where, "leaf " + std::to_string(c) + " begins elsewhere");
    if (node.bitmap != layout.bitmap) lie(where, "layout is not the tree's");
  }

  void active_dims(const Node<T>& node, const std::string& where) const {
    if (!node.bitmap) return;
    if (node.active != node.active_dims.size() || node.dense != (node.active == dims_) ||
        !std::is_sorted(node.active_dims.begin(), node.active_dims.end()))
      lie(where, "active dimensions are not in order");
    if (node.leaf()) return;  // a leaf may do without lines where few of its boxes are constrained
    std::vector<T> lower(dims_);
    std::vector<T> upper(dims_);
    for (std::size_t s = 0; s < node.count; ++s) {
      factory_.read_box(node, s, lower.data(), upper.data());
      for (std::size_t d = 0; d < dims_; ++d)
        if (!unconstrained(lower[d], upper[d]) &&
            !std::binary_search(node.active_dims.begin(), node.active_dims.end(), static_cast<std::uint8_t>(d)))
          lie(where, "dimension " + std::to_string(d) + " is constrained but not active");
    }
  }

  void boxes(const Node<T>& node, const std::string& where) const {
    std::vector<T> lower(dims_);
    std::vector<T> upper(dims_);
    std::size_t live = 0;
    for (std::size_t s = 0; s < node.count; ++s) {
      if (!node.is_live(s)) continue;
      ++live;
      factory_.read_box(node, s, lower.data(), upper.data());
      for (std::size_t d = 0; d < dims_; ++d)
        if (!(lower[d] <= upper[d]))
          lie(where, "box in slot " + std::to_string(s) + " is empty or NaN in dimension " + std::to_string(d));
      if (!node.bitmap || node.uniform) continue;
      const std::uint8_t* dims = node.dims_of_row(s);
      for (std::size_t j = 0; j < node.stride; ++j)
        if (dims[j] != kPadDim && dims[j] >= dims_)
          lie(where, "slot " + std::to_string(s) + " names a dimension too high");
    }
    if (live != node.live) lie(where, "live entries are miscounted");
  }

  // Every line, made anew from the boxes, must be the same to the bit; dead slots have no bit anywhere.
  void lines(const Node<T>& node, const std::string& where) const {
    Node<T> fresh = node;
    std::vector<std::byte> memory(node.lines.bytes + 64, std::byte{0});
    fresh.lines.data = memory.data() + (64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64) % 64;
    bind_views(fresh, dims_);
    std::vector<T> lower(dims_);
    std::vector<T> upper(dims_);
    for (std::size_t s = 0; s < node.count; ++s) {
      if (node.leaf() && !node.is_live(s)) continue;
      factory_.read_box(node, s, lower.data(), upper.data());
      factory_.mark(fresh, s, lower.data(), upper.data(), true);
    }
    if (std::memcmp(fresh.lines.data, node.lines.data, node.lines.bytes) != 0)
      lie(where, "a bitmap line is not that of its boxes");
  }

  const NodeFactory<T>& factory_;
  const std::size_t dims_;
  std::vector<std::int64_t> ids_;
};

}  // namespace

template <class T>
void check(const Version<T>& version) {
  Checker<T> checker(version);
  checker.visit(*version.root, true, "root");
  checker.ids(version.size);
}

template void check<float>(const Version<float>&);
template void check<double>(const Version<double>&);

}  // namespace pubmatch

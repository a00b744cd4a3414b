// Makes nodes of one layout from boxes or children, and keeps their lines in step with their bounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pubmatch/box.hpp"
#include "pubmatch/cuts.hpp"
#include "pubmatch/node.hpp"
#include "pubmatch/params.hpp"

namespace pubmatch {

template <class T>
struct Envelope {
  std::vector<T> lower;
  std::vector<T> upper;

  explicit Envelope(std::size_t dims)
      : lower(dims, std::numeric_limits<T>::infinity()), upper(dims, -std::numeric_limits<T>::infinity()) {}
  void extend(const T* low, const T* high) {
    for (std::size_t d = 0; d < lower.size(); ++d) {
      if (low[d] < lower[d]) lower[d] = low[d];
      if (high[d] > upper[d]) upper[d] = high[d];
    }
  }
  bool operator==(const Envelope&) const = default;
};

template <class T>
class NodeFactory {
 public:
  NodeFactory(std::size_t dims, const Layout& layout, std::shared_ptr<const Cuts> cuts)
      : dims_(dims), layout_(layout), cuts_(std::move(cuts)) {}

  std::size_t dims() const { return dims_; }
  const Layout& layout() const { return layout_; }
  const Cuts& cuts() const { return *cuts_; }

  // A leaf of the given rows of `boxes`; ids[row] names each. `spare` more slots get room.
  Node<T>* make_leaf(const BoxView<T>& boxes, std::span<const std::uint32_t> rows, const std::int64_t* ids,
                     std::size_t spare, std::uint64_t birth) const;
  // An inner node over the children, whose envelopes are given in the same order.
  Node<T>* make_inner(std::vector<Node<T>*> children, const std::vector<Envelope<T>>& envelopes,
                      std::uint64_t birth) const;
  static void destroy(Node<T>* node);  // this node and its parts, not its children

  Envelope<T> envelope(const Node<T>& node) const;
  // Adds all live boxes below the node.
  void collect(const Node<T>& node, EntryList<T>& entries) const;
  void read_box(const Node<T>& node, std::size_t slot, T* lower, T* upper) const;
  // Sets or clears the bits of one slot in every line its box may match.
  void mark(Node<T>& node, std::size_t slot, const T* lower, const T* upper, bool on) const;
  void write_lane(Node<T>& node, std::size_t lane, const T* lower, const T* upper) const;

  std::uint32_t line_count(const Node<T>& node) const;
  std::size_t bytes(const Node<T>& node) const;

 private:
  struct Buckets {
    std::size_t first, last;
    bool everything;
  };
  Buckets buckets(const Node<T>& node, std::size_t d, T lower, T upper) const;
  void allocate(Node<T>& node, std::size_t line_count, std::uint64_t birth) const;
  void activate(Node<T>& node, const std::vector<std::uint8_t>& active, std::uint64_t birth) const;
  void fill_lines(Node<T>& node) const;

  std::size_t dims_;
  Layout layout_;
  std::shared_ptr<const Cuts> cuts_;
};

extern template class NodeFactory<float>;
extern template class NodeFactory<double>;

}  // namespace pubmatch

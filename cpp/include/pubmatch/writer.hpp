// Updates. One writer at a time prepares the next version beside the current one, which readers go on using.
//
// A transaction copies what it changes, once: a node's head, and of its two parts only those it writes to. Nothing a
// reader can reach is touched, except the room behind the used slots of a bitmap leaf, which no version shows. When a
// transaction fails (no memory), all it made is freed and the writer itself is dropped; the next update makes a new one
// from the published version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "pubmatch/box.hpp"
#include "pubmatch/id_map.hpp"
#include "pubmatch/router.hpp"
#include "pubmatch/version.hpp"

namespace pubmatch {

template <class T>
class Writer {
 public:
  explicit Writer(const Version<T>& current);

  bool contains(std::int64_t id) const { return find(id) != IdMap::kNone; }
  std::size_t bytes() const;

  void begin(const Version<T>& current);
  void insert(const T* lower, const T* upper, std::int64_t id);
  bool erase(std::int64_t id);
  // Ends the transaction: tightens envelopes, condenses underfull nodes. The result is published with the garbage.
  std::unique_ptr<Version<T>> finish(Garbage<T>& garbage);
  void roll_back();

 private:
  static constexpr std::uint32_t kNoParent = 0xffffffffu;
  struct Place {
    Node<T>* node = nullptr;
    std::uint32_t parent = kNoParent;
  };

  // Numbers and the id map.
  Cell<T> enter(Node<T>* node, std::uint32_t parent);
  Cell<T> cell_of(const Node<T>& node) const;
  void route(const Node<T>& node);
  std::uint32_t new_number();
  std::uint32_t place_of(std::uint32_t number, std::size_t slot) const;
  std::int64_t id_at(std::uint32_t place) const;
  std::uint32_t find(std::int64_t id) const;
  void map_all(const Node<T>& leaf);
  void unmap_all(const Node<T>& leaf);

  // Copy on write.
  Node<T>* writable(std::uint32_t number);
  void own_lines(Node<T>& node);
  void own_entries(Node<T>& node);
  void note_start(const Node<T>& node);
  void widen(Node<T>& node, std::size_t room);
  void adopt(Node<T>* node);  // a node made in this transaction
  void discard(Node<T>* node);
  void discard_part(const Part& part);
  void replace(std::uint32_t number, Node<T>* node);

  // Insertion.
  std::size_t choose_lane(const Node<T>& node, const T* lower, const T* upper);
  std::uint32_t descend(const T* lower, const T* upper);
  void add_to_leaf(std::uint32_t number, const T* lower, const T* upper, std::int64_t id);
  std::size_t free_slot(Node<T>& leaf);
  bool fits(const Node<T>& leaf, const T* lower, const T* upper, std::int64_t id) const;
  void rebuild_leaf(std::uint32_t number, EntryList<T>& entries);
  void split_leaf(std::uint32_t number, EntryList<T>& entries);
  void split_inner(std::uint32_t number, std::vector<Node<T>*> children, std::vector<Envelope<T>> envelopes);
  void add_child(std::uint32_t parent, Node<T>* child, const Envelope<T>& envelope);
  void grow_root(Node<T>* left, Node<T>* right);
  void set_lane(std::uint32_t parent, std::size_t lane, const T* lower, const T* upper);
  std::vector<std::uint8_t> divide(const BoxView<T>& boxes, std::size_t minimum) const;
  EntryList<T> entries_of(const Node<T>& leaf) const;
  std::vector<Envelope<T>> envelopes_of(const Node<T>& node) const;

  // Deletion.
  void mark_dirty(std::uint32_t number);
  bool some_box_open(const Node<T>& leaf, std::size_t d) const;
  bool holds_envelope(std::uint32_t number, const T* lower, const T* upper) const;
  void refresh(std::uint32_t number, EntryList<T>& orphans);
  void remove_child(std::uint32_t parent, const Node<T>* child);
  void release(Node<T>* node);
  void shrink_root();
  std::size_t lane_of(const Node<T>& parent, const Node<T>* child) const;

  std::vector<Place> places_;
  std::vector<std::uint32_t> free_numbers_;
  IdMap map_;
  unsigned slot_bits_;
  std::unordered_map<std::uint32_t, Router<T>> routers_;  // of inner nodes, by number; none in the paper's tree

  // The transaction.
  std::shared_ptr<const NodeFactory<T>> factory_;
  std::uint64_t serial_ = 0;
  std::uint32_t root_ = 0;
  std::size_t size_ = 0;
  std::uint32_t group_ = 1;
  std::shared_ptr<const LazyWorkloadModel<T>> lazy_model_;
  Garbage<T> garbage_;                          // of the version before
  Garbage<T> made_;                             // by this transaction; freed when it fails
  std::vector<std::set<std::uint32_t>> dirty_;  // by height
  std::vector<T> box_, score_, clip_low_, clip_high_, scale_;
};

extern template class Writer<float>;
extern template class Writer<double>;

}  // namespace pubmatch

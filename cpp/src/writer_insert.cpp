// Insertion: choosing the leaf, adding to it, splitting what is overfull.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "pubmatch/kernels.hpp"
#include "pubmatch/packer.hpp"
#include "pubmatch/split.hpp"
#include "pubmatch/writer.hpp"

namespace pubmatch {

namespace {

constexpr std::size_t kSpare = 32;  // slots a grown leaf gets beyond its need

// What an envelope's growth weighs in ChooseSubtree, against the margin it has already.
constexpr double kEnlargement = 8;

}  // namespace

template <class T>
void Writer<T>::insert(const T* lower, const T* upper, std::int64_t id) {
  add_to_leaf(descend(lower, upper), lower, upper, id);
  ++size_;
}

// Down to a leaf, by the router or, in the paper's tree, by ChooseSubtree; envelopes on the way take the box in.
template <class T>
std::uint32_t Writer<T>::descend(const T* lower, const T* upper) {
  std::uint32_t number = root_;
  while (!places_[number].node->leaf()) {
    const Node<T>& node = *places_[number].node;
    std::size_t lane = 0;
    if (factory_->layout().dynamic)
      lane = choose_lane(node, lower, upper);
    else
      lane = lane_of(node, places_[routers_.at(number).find(lower, upper)].node);
    Envelope<T> envelope(factory_->dims());
    bool grows = false;
    for (std::size_t d = 0; d < factory_->dims(); ++d) {
      envelope.lower[d] = std::min(lower[d], node.lower_lanes(d)[lane]);
      envelope.upper[d] = std::max(upper[d], node.upper_lanes(d)[lane]);
      grows |= envelope.lower[d] != node.lower_lanes(d)[lane] || envelope.upper[d] != node.upper_lanes(d)[lane];
    }
    const std::uint32_t child = node.children[lane]->number;
    if (grows) set_lane(number, lane, envelope.lower.data(), envelope.upper.data());
    number = child;
  }
  return number;
}

// ChooseSubtree: the least enlargement of the envelope, then the least margin.
template <class T>
std::size_t Writer<T>::choose_lane(const Node<T>& node, const T* lower, const T* upper) {
  score_.resize(kBlockEntries);
  active_kernels().set<T>().score_children(node, factory_->dims(), lower, upper, clip_low_.data(), clip_high_.data(),
                                           scale_.data(), static_cast<T>(kEnlargement), score_.data());
  return static_cast<std::size_t>(std::min_element(score_.begin(), score_.begin() + node.count) - score_.begin());
}

// Whether the leaf can take the box as it is laid out.
template <class T>
bool Writer<T>::fits(const Node<T>& leaf, const T* lower, const T* upper, std::int64_t id) const {
  if (!leaf.wide_ids && (id < 0 || id > 0xffffffffll)) return false;
  if (!leaf.bitmap) return true;
  std::size_t constrained = 0;
  for (std::size_t d = 0; d < factory_->dims(); ++d) {
    if (unconstrained(lower[d], upper[d])) continue;
    ++constrained;
    const auto dim = static_cast<std::uint8_t>(d);
    if (leaf.uniform && !std::binary_search(leaf.active_dims.begin(), leaf.active_dims.end(), dim)) return false;
  }
  return constrained <= leaf.stride;
}

template <class T>
void Writer<T>::add_to_leaf(std::uint32_t number, const T* lower, const T* upper, std::int64_t id) {
  const std::size_t capacity = factory_->layout().leaf_capacity;
  {
    const Node<T>& leaf = *places_[number].node;
    // A leaf nearly full of live entries is split before its last slots are filled with what was deleted.
    const bool no_slot = leaf.count == capacity && leaf.live >= capacity - capacity / 16;
    if (no_slot || !fits(leaf, lower, upper, id)) {
      EntryList<T> entries = entries_of(leaf);
      entries.add(lower, upper, id);
      if (entries.size() <= capacity - capacity / 16)
        rebuild_leaf(number, entries);
      else
        split_leaf(number, entries);
      return;
    }
  }
  Node<T>& leaf = *writable(number);
  const std::size_t slot = free_slot(leaf);
  own_lines(leaf);
  factory_->write_lane(leaf, slot, lower, upper);
  if (leaf.wide_ids)
    static_cast<std::int64_t*>(leaf.ids)[slot] = id;
  else
    static_cast<std::uint32_t*>(leaf.ids)[slot] = static_cast<std::uint32_t>(id);
  if (leaf.bitmap) factory_->mark(leaf, slot, lower, upper, true);
  ++leaf.live;
  map_.add(id, place_of(number, slot), [&](std::uint32_t place) { return id_at(place); });
}

// A slot that may be written to: behind the used ones, or, when those are all there are, a dead one.
template <class T>
std::size_t Writer<T>::free_slot(Node<T>& leaf) {
  const std::size_t capacity = factory_->layout().leaf_capacity;
  if (leaf.count == capacity) {
    own_entries(leaf);  // older versions may still show what lies in the dead slot
    std::size_t slot = 0;
    while (leaf.is_live(slot)) ++slot;
    return slot;
  }
  if (leaf.count == leaf.room || !leaf.entries.owned)
    widen(leaf, std::min(capacity, (leaf.count + 2 * kSpare - 1) / kSpare * kSpare));
  if (!leaf.bitmap) own_entries(leaf);  // its lanes are read in whole vectors, behind the used ones too
  return leaf.count++;
}

// Lays the entries part out anew with more room.
template <class T>
void Writer<T>::widen(Node<T>& node, std::size_t room) {
  const Node<T> old = node;
  node.room = static_cast<std::uint16_t>(std::max<std::size_t>(room, node.count + 1u));
  if (!node.bitmap_leaf()) node.stride = node.room = static_cast<std::uint16_t>((node.room + 3) / 4 * 4);
  node.entries = allocate_part(PartUse::kEntries, part_sizes(facts_of(node, factory_->dims())).entries, serial_, false);
  made_.parts.push_back(node.entries);
  bind_views(node, factory_->dims());
  if (node.bitmap_leaf()) {
    std::memcpy(node.bounds, old.bounds, std::size_t{2} * old.count * old.stride * sizeof(T));
    if (!node.uniform) std::memcpy(node.row_dims, old.row_dims, std::size_t{old.count} * old.stride);
  } else {
    for (std::size_t i = 0; i < 2 * factory_->dims(); ++i)
      std::memcpy(node.bounds + i * node.stride, old.bounds + i * old.stride, old.count * sizeof(T));
  }
  if (node.leaf()) std::memcpy(node.ids, old.ids, std::size_t{old.count} * (node.wide_ids ? 8 : 4));
  discard_part(old.entries);
  if (!node.bitmap) note_start(node);
}

template <class T>
EntryList<T> Writer<T>::entries_of(const Node<T>& leaf) const {
  EntryList<T> entries(factory_->dims());
  factory_->collect(leaf, entries);
  return entries;
}

template <class T>
std::vector<Envelope<T>> Writer<T>::envelopes_of(const Node<T>& node) const {
  std::vector<Envelope<T>> envelopes(node.count, Envelope<T>(factory_->dims()));
  for (std::size_t c = 0; c < node.count; ++c)
    factory_->read_box(node, c, envelopes[c].lower.data(), envelopes[c].upper.data());
  return envelopes;
}

template <class T>
void Writer<T>::rebuild_leaf(std::uint32_t number, EntryList<T>& entries) {
  Node<T>* old = places_[number].node;
  unmap_all(*old);
  std::vector<std::uint32_t> rows(entries.size());
  std::iota(rows.begin(), rows.end(), 0u);
  Node<T>* leaf = factory_->make_leaf(entries.view(), rows, entries.ids.data(), kSpare, serial_);
  adopt(leaf);
  replace(number, leaf);
  discard(old);
  map_all(*leaf);
}

template <class T>
std::vector<std::uint8_t> Writer<T>::divide(const BoxView<T>& boxes, std::size_t minimum) const {
  const Layout& layout = factory_->layout();
  if (layout.dynamic) return split_boxes(boxes, layout.split, minimum);
  // Packed trees split as they are packed.
  std::vector<std::uint32_t> rows(boxes.size);
  std::iota(rows.begin(), rows.end(), 0u);
  const Cuts cuts(sample_bounds(boxes, std::span<const std::uint32_t>(rows)), kMaxBuckets);
  Packer<T> packer(boxes, rows, cuts, {});
  std::vector<std::uint8_t> side(boxes.size, 0);
  packer.divide(0, boxes.size, 2, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) side[packer.row(i)] = first == 0 ? 0 : 1;
  });
  return side;
}

template <class T>
void Writer<T>::split_leaf(std::uint32_t number, EntryList<T>& entries) {
  Node<T>* old = places_[number].node;
  unmap_all(*old);
  const std::vector<std::uint8_t> side = divide(entries.view(), factory_->layout().leaf_minimum());
  Node<T>* halves[2];
  Envelope<T> envelopes[2] = {Envelope<T>(factory_->dims()), Envelope<T>(factory_->dims())};
  for (const std::uint8_t half : {std::uint8_t{0}, std::uint8_t{1}}) {
    std::vector<std::uint32_t> rows;
    for (std::uint32_t i = 0; i < entries.size(); ++i) {
      if (side[i] != half) continue;
      rows.push_back(i);
      envelopes[half].extend(entries.view().lower_row(i), entries.view().upper_row(i));
    }
    halves[half] = factory_->make_leaf(entries.view(), rows, entries.ids.data(), kSpare, serial_);
    adopt(halves[half]);
  }
  replace(number, halves[0]);
  discard(old);
  halves[1]->number = new_number();
  places_[halves[1]->number] = {halves[1], places_[number].parent};
  map_all(*halves[0]);
  map_all(*halves[1]);
  const std::uint32_t parent = places_[number].parent;
  if (parent == kNoParent) {
    grow_root(halves[0], halves[1]);
    return;
  }
  if (!factory_->layout().dynamic)
    routers_.at(parent).split({halves[0]->number, cell_of(*halves[0])}, {halves[1]->number, cell_of(*halves[1])},
                              clip_low_, clip_high_);
  set_lane(parent, lane_of(*places_[parent].node, halves[0]), envelopes[0].lower.data(), envelopes[0].upper.data());
  add_child(parent, halves[1], envelopes[1]);
}

template <class T>
void Writer<T>::grow_root(Node<T>* left, Node<T>* right) {
  Node<T>* root = factory_->make_inner({left, right}, {factory_->envelope(*left), factory_->envelope(*right)}, serial_);
  adopt(root);
  root->number = new_number();
  root_ = root->number;
  places_[root_] = {root, kNoParent};
  places_[left->number].parent = places_[right->number].parent = root_;
  route(*root);
}

// Gives a child of the node a new envelope.
template <class T>
void Writer<T>::set_lane(std::uint32_t parent, std::size_t lane, const T* lower, const T* upper) {
  Node<T>& node = *writable(parent);
  own_entries(node);
  if (node.bitmap) {
    std::vector<T> old(2 * factory_->dims());
    factory_->read_box(node, lane, old.data(), old.data() + factory_->dims());
    bool new_dimension = false;
    for (std::size_t d = 0; d < factory_->dims(); ++d)
      new_dimension |=
          !unconstrained(lower[d], upper[d]) &&
          !std::binary_search(node.active_dims.begin(), node.active_dims.end(), static_cast<std::uint8_t>(d));
    if (!new_dimension) {
      own_lines(node);
      factory_->mark(node, lane, old.data(), old.data() + factory_->dims(), false);
      factory_->write_lane(node, lane, lower, upper);
      factory_->mark(node, lane, lower, upper, true);
      return;
    }
  }
  factory_->write_lane(node, lane, lower, upper);
  if (!node.bitmap) return;
  // A dimension became active: the node needs lines it does not have.
  Node<T>* rebuilt = factory_->make_inner(node.children, envelopes_of(node), serial_);
  adopt(rebuilt);
  replace(parent, rebuilt);
  discard(&node);
}

template <class T>
void Writer<T>::add_child(std::uint32_t parent, Node<T>* child, const Envelope<T>& envelope) {
  Node<T>& node = *writable(parent);
  std::vector<Node<T>*> children = node.children;
  std::vector<Envelope<T>> envelopes = envelopes_of(node);
  children.push_back(child);
  envelopes.push_back(envelope);
  if (children.size() > factory_->layout().node_capacity) {
    split_inner(parent, std::move(children), std::move(envelopes));
    return;
  }
  Node<T>* rebuilt = factory_->make_inner(std::move(children), envelopes, serial_);
  adopt(rebuilt);
  replace(parent, rebuilt);
  discard(&node);
  places_[child->number].parent = parent;
}

template <class T>
void Writer<T>::split_inner(std::uint32_t number, std::vector<Node<T>*> children, std::vector<Envelope<T>> envelopes) {
  Node<T>* old = places_[number].node;
  EntryList<T> boxes(factory_->dims());
  for (std::size_t c = 0; c < children.size(); ++c)
    boxes.add(envelopes[c].lower.data(), envelopes[c].upper.data(), static_cast<std::int64_t>(c));
  const std::vector<std::uint8_t> side = divide(boxes.view(), factory_->layout().node_minimum());
  Node<T>* halves[2];
  for (const std::uint8_t half : {std::uint8_t{0}, std::uint8_t{1}}) {
    std::vector<Node<T>*> part;
    std::vector<Envelope<T>> part_envelopes;
    for (std::size_t c = 0; c < children.size(); ++c) {
      if (side[c] != half) continue;
      part.push_back(children[c]);
      part_envelopes.push_back(envelopes[c]);
    }
    halves[half] = factory_->make_inner(std::move(part), part_envelopes, serial_);
    adopt(halves[half]);
  }
  replace(number, halves[0]);
  discard(old);
  halves[1]->number = new_number();
  places_[halves[1]->number] = {halves[1], places_[number].parent};
  for (const Node<T>* half : halves)
    for (const Node<T>* child : half->children) places_[child->number].parent = half->number;
  route(*halves[0]);
  route(*halves[1]);
  const std::uint32_t parent = places_[number].parent;
  if (parent == kNoParent) {
    grow_root(halves[0], halves[1]);
    return;
  }
  if (!factory_->layout().dynamic)
    routers_.at(parent).split({halves[0]->number, cell_of(*halves[0])}, {halves[1]->number, cell_of(*halves[1])},
                              clip_low_, clip_high_);
  const Envelope<T> left = factory_->envelope(*halves[0]);
  set_lane(parent, lane_of(*places_[parent].node, halves[0]), left.lower.data(), left.upper.data());
  add_child(parent, halves[1], factory_->envelope(*halves[1]));
}

template class Writer<float>;
template class Writer<double>;

}  // namespace pubmatch

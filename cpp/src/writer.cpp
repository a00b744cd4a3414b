// Transactions: numbering, copy on write, deletion and condensing. Insertion is in writer_insert.cpp.
#include "pubmatch/writer.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pubmatch/error.hpp"

namespace pubmatch {

template <class T>
Writer<T>::Writer(const Version<T>& current)
    : map_(current.size),
      slot_bits_(static_cast<unsigned>(std::bit_width(current.factory->layout().leaf_capacity - 1))),
      factory_(current.factory) {
  const Cuts& cuts = factory_->cuts();
  for (std::size_t d = 0; d < factory_->dims(); ++d) {
    // A dimension's usual range, a quarter wider: sides without bounds count as ending there.
    const std::vector<double>& fine = cuts.fine(d);
    const double low = fine.empty() ? 0 : fine.front();
    const double high = fine.empty() ? 0 : fine.back();
    const double width = high > low ? high / 4 - low / 4 : 1;
    clip_low_.push_back(static_cast<T>(low - width));
    clip_high_.push_back(static_cast<T>(high + width));
    scale_.push_back(static_cast<T>(1 / (4 * width)));
  }
  enter(current.root, kNoParent);
  root_ = current.root->number;
}

// Numbers a subtree of the published version. Readers never look at a node's number.
template <class T>
Cell<T> Writer<T>::enter(Node<T>* node, std::uint32_t parent) {
  node->number = new_number();
  places_[node->number] = {node, parent};
  if (node->leaf()) map_all(*node);
  if (factory_->layout().dynamic) {
    for (Node<T>* child : node->children) enter(child, node->number);
    return Cell<T>(0);
  }
  if (node->leaf()) return cell_of(*node);
  Cell<T> whole(factory_->dims());
  std::vector<typename Router<T>::Child> cells;
  for (Node<T>* child : node->children) {
    Cell<T> cell = enter(child, node->number);
    whole.extend(cell);
    cells.push_back({child->number, std::move(cell)});
  }
  routers_.emplace(node->number, Router<T>(cells, clip_low_, clip_high_));
  return whole;
}

template <class T>
Cell<T> Writer<T>::cell_of(const Node<T>& node) const {
  Cell<T> cell(factory_->dims());
  for (const Node<T>* child : node.children) cell.extend(cell_of(*child));
  if (!node.leaf()) return cell;
  std::vector<T> lower(factory_->dims());
  std::vector<T> upper(factory_->dims());
  for (std::size_t s = 0; s < node.count; ++s) {
    if (!node.is_live(s)) continue;
    factory_->read_box(node, s, lower.data(), upper.data());
    cell.extend(lower.data(), upper.data());
  }
  return cell;
}

// Makes the node's router from what lies below.
template <class T>
void Writer<T>::route(const Node<T>& node) {
  if (factory_->layout().dynamic) return;
  std::vector<typename Router<T>::Child> cells;
  for (const Node<T>* child : node.children) cells.push_back({child->number, cell_of(*child)});
  routers_.insert_or_assign(node.number, Router<T>(cells, clip_low_, clip_high_));
}

template <class T>
std::size_t Writer<T>::bytes() const {
  std::size_t total = map_.bytes() + places_.capacity() * sizeof(Place);
  for (const auto& [number, router] : routers_) total += router.bytes();
  return total;
}

template <class T>
std::uint32_t Writer<T>::new_number() {
  if (!free_numbers_.empty()) {
    const std::uint32_t number = free_numbers_.back();
    free_numbers_.pop_back();
    return number;
  }
  if (places_.size() >= (std::size_t{1} << (32 - slot_bits_)) - 2)
    throw ArgumentError("too many boxes: the index has no number left for another leaf");
  places_.emplace_back();
  return static_cast<std::uint32_t>(places_.size() - 1);
}

template <class T>
std::uint32_t Writer<T>::place_of(std::uint32_t number, std::size_t slot) const {
  return number << slot_bits_ | static_cast<std::uint32_t>(slot);
}

template <class T>
std::int64_t Writer<T>::id_at(std::uint32_t place) const {
  return places_[place >> slot_bits_].node->id(place & ((1u << slot_bits_) - 1));
}

template <class T>
std::uint32_t Writer<T>::find(std::int64_t id) const {
  return map_.find(id, [&](std::uint32_t place) { return id_at(place); });
}

template <class T>
void Writer<T>::map_all(const Node<T>& leaf) {
  for (std::size_t s = 0; s < leaf.count; ++s)
    if (leaf.is_live(s))
      map_.add(leaf.id(s), place_of(leaf.number, s), [&](std::uint32_t place) { return id_at(place); });
}

template <class T>
void Writer<T>::unmap_all(const Node<T>& leaf) {
  for (std::size_t s = 0; s < leaf.count; ++s)
    if (leaf.is_live(s)) map_.remove(leaf.id(s), place_of(leaf.number, s));
}

template <class T>
void Writer<T>::begin(const Version<T>& current) {
  serial_ = current.serial + 1;
  size_ = current.size;
  group_ = current.group;
  lazy_model_ = current.lazy_model;
  dirty_.assign(current.height() + 1, {});
}

template <class T>
void Writer<T>::adopt(Node<T>* node) {
  made_.nodes.push_back(node);
  for (const Part& part : {node->lines, node->entries})
    if (part.data != nullptr && part.birth == serial_) made_.parts.push_back(part);
}

template <class T>
void Writer<T>::discard_part(const Part& part) {
  garbage_.parts.push_back(part);
}

template <class T>
void Writer<T>::discard(Node<T>* node) {
  garbage_.nodes.push_back(node);
  discard_part(node->lines);
  discard_part(node->entries);
}

// The node's head, owned by this transaction, reachable from owned heads only.
template <class T>
Node<T>* Writer<T>::writable(std::uint32_t number) {
  Place& place = places_[number];
  if (place.node->birth == serial_) return place.node;
  Node<T>* old = place.node;
  auto copy = std::make_unique<Node<T>>(*old);
  copy->birth = serial_;
  made_.nodes.push_back(copy.get());
  Node<T>* fresh = copy.release();
  garbage_.nodes.push_back(old);
  replace(number, fresh);
  return fresh;
}

// Puts `node` in the place of the node of that number; its parent learns of it.
template <class T>
void Writer<T>::replace(std::uint32_t number, Node<T>* node) {
  const Node<T>* old = places_[number].node;
  node->number = number;
  places_[number].node = node;
  const std::uint32_t parent = places_[number].parent;
  if (parent == kNoParent) return;
  Node<T>* above = writable(parent);
  const std::size_t lane = lane_of(*above, old);
  above->children[lane] = node;
  above->note_start(lane);
}

template <class T>
std::size_t Writer<T>::lane_of(const Node<T>& parent, const Node<T>* child) const {
  return static_cast<std::size_t>(std::find(parent.children.begin(), parent.children.end(), child) -
                                  parent.children.begin());
}

template <class T>
void Writer<T>::own_lines(Node<T>& node) {
  if (!node.bitmap || node.lines.birth == serial_) return;
  Part copy = allocate_part(PartUse::kLines, node.lines.bytes, serial_, false);
  made_.parts.push_back(copy);
  std::memcpy(copy.data, node.lines.data, node.lines.bytes);
  discard_part(node.lines);
  node.lines = copy;
  bind_views(node, factory_->dims());
  note_start(node);
}

// Tells the node's parent that a part was replaced.
template <class T>
void Writer<T>::note_start(const Node<T>& node) {
  const std::uint32_t parent = places_[node.number].parent;
  if (parent == kNoParent || !node.leaf()) return;
  Node<T>& above = *writable(parent);
  above.note_start(lane_of(above, &node));
}

template <class T>
void Writer<T>::own_entries(Node<T>& node) {
  if (node.entries.birth == serial_) return;
  Part copy = allocate_part(PartUse::kEntries, node.entries.bytes, serial_, false);
  made_.parts.push_back(copy);
  std::memcpy(copy.data, node.entries.data, node.entries.bytes);
  discard_part(node.entries);
  node.entries = copy;
  bind_views(node, factory_->dims());
  if (!node.bitmap) note_start(node);
}

template <class T>
bool Writer<T>::erase(std::int64_t id) {
  const std::uint32_t place = find(id);
  if (place == IdMap::kNone) return false;
  const std::uint32_t number = place >> slot_bits_;
  const std::size_t slot = place & ((1u << slot_bits_) - 1);
  Node<T>& leaf = *writable(number);
  map_.remove(id, place);
  box_.resize(2 * factory_->dims());
  T* lower = box_.data();
  T* upper = lower + factory_->dims();
  factory_->read_box(leaf, slot, lower, upper);
  if (leaf.bitmap) {
    own_lines(leaf);
    factory_->mark(leaf, slot, lower, upper, false);
  } else {
    own_entries(leaf);
    const std::size_t last = leaf.count - 1u;
    if (slot != last) {
      for (std::size_t d = 0; d < factory_->dims(); ++d) {
        leaf.lower_lanes(d)[slot] = leaf.lower_lanes(d)[last];
        leaf.upper_lanes(d)[slot] = leaf.upper_lanes(d)[last];
      }
      const std::int64_t moved = leaf.id(last);
      if (leaf.wide_ids)
        static_cast<std::int64_t*>(leaf.ids)[slot] = moved;
      else
        static_cast<std::uint32_t*>(leaf.ids)[slot] = static_cast<std::uint32_t>(moved);
      map_.move(moved, place_of(number, last), place);
    }
    --leaf.count;
  }
  --leaf.live;
  --size_;
  if (leaf.live < factory_->layout().leaf_minimum() || holds_envelope(number, lower, upper)) mark_dirty(number);
  return true;
}

// Whether the leaf's envelope rests on this box in some dimension.
template <class T>
bool Writer<T>::holds_envelope(std::uint32_t number, const T* lower, const T* upper) const {
  const std::uint32_t parent = places_[number].parent;
  if (parent == kNoParent) return false;
  const Node<T>& above = *places_[parent].node;
  const std::size_t lane = lane_of(above, places_[number].node);
  const Node<T>& leaf = *places_[number].node;
  for (std::size_t d = 0; d < factory_->dims(); ++d) {
    if (lower[d] != above.lower_lanes(d)[lane] && upper[d] != above.upper_lanes(d)[lane]) continue;
    if (!leaf.bitmap || !unconstrained(lower[d], upper[d]) || !some_box_open(leaf, d)) return true;
  }
  return false;
}

// Whether a live box of a bitmap leaf has no bounds in the dimension.
template <class T>
bool Writer<T>::some_box_open(const Node<T>& leaf, std::size_t d) const {
  for (std::size_t s = 0; s < leaf.count; ++s) {
    if (!leaf.is_live(s)) continue;
    const std::uint8_t* dims = leaf.dims_of_row(s);
    const std::uint8_t* end = dims + leaf.stride;
    const std::uint8_t* found = std::find(dims, end, static_cast<std::uint8_t>(d));
    if (found == end) return true;
    const std::size_t j = static_cast<std::size_t>(found - dims);
    if (unconstrained(leaf.row(s)[j], leaf.row(s)[leaf.stride + j])) return true;
  }
  return false;
}

template <class T>
void Writer<T>::mark_dirty(std::uint32_t number) {
  const std::size_t height = places_[number].node->height;
  if (dirty_.size() <= height) dirty_.resize(height + 1);
  dirty_[height].insert(number);
}

// Tightens the node's envelope in its parent, or dissolves the node when it holds too little.
template <class T>
void Writer<T>::refresh(std::uint32_t number, EntryList<T>& orphans) {
  Node<T>* node = places_[number].node;
  const std::uint32_t parent = places_[number].parent;
  if (parent == kNoParent) return;
  const Layout& layout = factory_->layout();
  if (node->live < (node->leaf() ? layout.leaf_minimum() : layout.node_minimum())) {
    factory_->collect(*node, orphans);
    remove_child(parent, node);
    release(node);
    mark_dirty(parent);
    return;
  }
  const Envelope<T> envelope = factory_->envelope(*node);
  const Node<T>& above = *places_[parent].node;
  const std::size_t lane = lane_of(above, node);
  for (std::size_t d = 0; d < factory_->dims(); ++d)
    if (above.lower_lanes(d)[lane] != envelope.lower[d] || above.upper_lanes(d)[lane] != envelope.upper[d]) {
      set_lane(parent, lane, envelope.lower.data(), envelope.upper.data());
      mark_dirty(parent);
      return;
    }
}

// Forgets a subtree that left the tree: numbers, ids and memory.
template <class T>
void Writer<T>::release(Node<T>* node) {
  for (Node<T>* child : node->children) release(child);
  if (node->leaf()) unmap_all(*node);
  places_[node->number] = {};
  routers_.erase(node->number);
  free_numbers_.push_back(node->number);
  for (std::set<std::uint32_t>& level : dirty_) level.erase(node->number);
  discard(node);
}

template <class T>
void Writer<T>::remove_child(std::uint32_t parent, const Node<T>* child) {
  Node<T>* node = writable(parent);
  std::vector<Node<T>*> children = node->children;
  std::vector<Envelope<T>> envelopes = envelopes_of(*node);
  const std::size_t lane = lane_of(*node, child);
  children.erase(children.begin() + static_cast<std::ptrdiff_t>(lane));
  envelopes.erase(envelopes.begin() + static_cast<std::ptrdiff_t>(lane));
  if (children.empty()) {  // goes at the next height; a root is replaced by shrink_root()
    node->set_children({});
    node->count = node->live = 0;
    return;
  }
  if (!factory_->layout().dynamic) routers_.at(parent).remove(child->number);
  Node<T>* rebuilt = factory_->make_inner(std::move(children), envelopes, serial_);
  adopt(rebuilt);
  replace(parent, rebuilt);
  discard(node);
}

template <class T>
void Writer<T>::shrink_root() {
  for (;;) {
    Node<T>* root = places_[root_].node;
    if (root->leaf() || root->count > 1) return;
    const std::uint32_t old = root_;
    if (root->count == 1) {
      root_ = root->children[0]->number;
      places_[root_].parent = kNoParent;
    } else {
      const EntryList<T> none(factory_->dims());
      Node<T>* leaf = factory_->make_leaf(none.view(), {}, nullptr, 0, serial_);
      adopt(leaf);
      leaf->number = new_number();
      root_ = leaf->number;
      places_[root_] = {leaf, kNoParent};
    }
    places_[old] = {};
    routers_.erase(old);
    free_numbers_.push_back(old);
    for (std::set<std::uint32_t>& level : dirty_) level.erase(old);
    discard(root);
  }
}

template <class T>
std::unique_ptr<Version<T>> Writer<T>::finish(Garbage<T>& garbage) {
  // Condense from the leaves up; what is left over is inserted again, which may dirty nothing.
  EntryList<T> orphans(factory_->dims());
  for (std::size_t height = 0; height < dirty_.size(); ++height)
    while (!dirty_[height].empty()) {
      const std::uint32_t number = *dirty_[height].begin();
      dirty_[height].erase(dirty_[height].begin());
      refresh(number, orphans);
    }
  shrink_root();
  size_ -= orphans.size();
  for (std::size_t i = 0; i < orphans.size(); ++i)
    insert(orphans.lower.data() + i * orphans.dims, orphans.upper.data() + i * orphans.dims, orphans.ids[i]);

  auto next = std::make_unique<Version<T>>();
  next->root = places_[root_].node;
  next->size = size_;
  next->serial = serial_;
  next->factory = factory_;
  next->group = group_;
  next->lazy_model = lazy_model_;
  garbage = std::move(garbage_);
  garbage_ = {};
  made_ = {};
  return next;
}

template <class T>
void Writer<T>::roll_back() {
  made_.free();
  garbage_ = {};
}

template class Writer<float>;
template class Writer<double>;

}  // namespace pubmatch

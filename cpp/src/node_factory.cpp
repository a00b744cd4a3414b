#include "pubmatch/node_factory.hpp"

#include <algorithm>
#include <cstring>

namespace pubmatch {

namespace {

// A dimension gets lines in a leaf when at least one box in this many is constrained there. Lines of rarer ones would rule
// out next to nothing; verification does it.
constexpr std::size_t kWorthLines = 32;

std::uint16_t lanes(std::size_t count) { return static_cast<std::uint16_t>((count + 3) / 4 * 4); }

}  // namespace

template <class T>
void NodeFactory<T>::allocate(Node<T>& node, std::size_t line_count, std::uint64_t birth) const {
  const PartSizes sizes = part_sizes(facts_of(node, dims_, line_count));
  node.lines = allocate_part(PartUse::kLines, sizes.lines, birth);
  node.entries = allocate_part(PartUse::kEntries, sizes.entries, birth);
  bind_views(node, dims_);
}

// Gives the node its active dimensions and empty lines for them.
template <class T>
void NodeFactory<T>::activate(Node<T>& node, const std::vector<std::uint8_t>& active, std::uint64_t birth) const {
  node.active = static_cast<std::uint16_t>(active.size());
  node.dense = active.size() == dims_;
  std::size_t line_count = 0;
  for (const std::uint8_t d : active) line_count += node.leaf() ? cuts_->leaf_lines(d) : cuts_->inner_lines(d);
  allocate(node, line_count, birth);
  node.active_dims = active;
}

template <class T>
Node<T>* NodeFactory<T>::make_leaf(const BoxView<T>& boxes, std::span<const std::uint32_t> rows,
                                   const std::int64_t* ids, std::size_t spare, std::uint64_t birth) const {
  auto node = std::make_unique<Node<T>>();
  node->birth = birth;
  node->bitmap = layout_.bitmap;
  node->count = node->live = static_cast<std::uint16_t>(rows.size());
  // Rounded, so that the parts of leaves that grow have few different sizes and take each other's place.
  const std::size_t room = spare == 0 ? rows.size() : (rows.size() + 2 * spare - 1) / spare * spare;
  node->room = static_cast<std::uint16_t>(std::min<std::size_t>(room, layout_.leaf_capacity));
  for (const std::uint32_t row : rows) node->wide_ids |= ids[row] < 0 || ids[row] > 0xffffffffll;

  if (!layout_.bitmap) {
    node->stride = lanes(node->room);
    allocate(*node, 0, birth);
    for (std::size_t s = 0; s < rows.size(); ++s)
      write_lane(*node, s, boxes.lower_row(rows[s]), boxes.upper_row(rows[s]));
  } else {
    std::vector<std::uint32_t> constrained_in(dims_, 0);
    std::size_t most = 0;
    for (const std::uint32_t row : rows) {
      std::size_t constrained = 0;
      for (std::size_t d = 0; d < dims_; ++d) {
        const bool free = unconstrained(boxes.lower_row(row)[d], boxes.upper_row(row)[d]);
        constrained_in[d] += free ? 0 : 1;
        constrained += free ? 0 : 1;
      }
      most = std::max(most, constrained);
    }
    std::vector<std::uint8_t> active;
    bool all_have_lines = true;
    for (std::size_t d = 0; d < dims_; ++d) {
      if (constrained_in[d] * kWorthLines >= rows.size() && constrained_in[d] != 0)
        active.push_back(static_cast<std::uint8_t>(d));
      else
        all_have_lines &= constrained_in[d] == 0;
    }
    // Rows that list their own dimensions pay a byte for each; few open sides are cheaper stored.
    node->uniform = all_have_lines && (active.size() - most) * 2 * sizeof(T) <= most;
    node->stride = static_cast<std::uint16_t>(node->uniform ? active.size() : most);
    activate(*node, active, birth);
    for (std::size_t s = 0; s < rows.size(); ++s) {
      node->live_bits[s / 64] |= std::uint64_t{1} << (s % 64);
      write_lane(*node, s, boxes.lower_row(rows[s]), boxes.upper_row(rows[s]));
    }
    fill_lines(*node);
  }
  for (std::size_t s = 0; s < rows.size(); ++s) {
    if (node->wide_ids)
      static_cast<std::int64_t*>(node->ids)[s] = ids[rows[s]];
    else
      static_cast<std::uint32_t*>(node->ids)[s] = static_cast<std::uint32_t>(ids[rows[s]]);
  }
  return node.release();
}

template <class T>
Node<T>* NodeFactory<T>::make_inner(std::vector<Node<T>*> children, const std::vector<Envelope<T>>& envelopes,
                                    std::uint64_t birth) const {
  auto node = std::make_unique<Node<T>>();
  node->birth = birth;
  node->height = static_cast<std::uint8_t>(children.front()->height + 1);
  node->bitmap = layout_.bitmap;
  node->count = node->live = static_cast<std::uint16_t>(children.size());
  node->room = node->stride = lanes(children.size());
  if (layout_.bitmap) {
    std::vector<std::uint8_t> active;
    for (std::size_t d = 0; d < dims_; ++d) {
      const bool used = std::any_of(envelopes.begin(), envelopes.end(),
                                    [&](const Envelope<T>& e) { return !unconstrained(e.lower[d], e.upper[d]); });
      if (used) active.push_back(static_cast<std::uint8_t>(d));
    }
    activate(*node, active, birth);
    for (std::size_t c = 0; c < children.size(); ++c) node->live_bits[c / 64] |= std::uint64_t{1} << (c % 64);
  } else {
    allocate(*node, 0, birth);
  }
  for (std::size_t c = 0; c < children.size(); ++c)
    write_lane(*node, c, envelopes[c].lower.data(), envelopes[c].upper.data());
  if (layout_.bitmap) fill_lines(*node);
  node->set_children(std::move(children));
  return node.release();
}

template <class T>
void NodeFactory<T>::destroy(Node<T>* node) {
  free_part(node->lines);
  free_part(node->entries);
  delete node;
}

template <class T>
void NodeFactory<T>::write_lane(Node<T>& node, std::size_t lane, const T* lower, const T* upper) const {
  if (!node.bitmap_leaf()) {
    for (std::size_t d = 0; d < dims_; ++d) {
      node.lower_lanes(d)[lane] = lower[d];
      node.upper_lanes(d)[lane] = upper[d];
    }
    return;
  }
  T* low = node.row(lane);
  T* high = low + node.stride;
  if (node.uniform) {
    for (std::size_t j = 0; j < node.active; ++j) {
      low[j] = lower[node.active_dims[j]];
      high[j] = upper[node.active_dims[j]];
    }
    return;
  }
  std::uint8_t* dims = node.row_dims + lane * node.stride;
  std::size_t j = 0;
  for (std::size_t d = 0; d < dims_; ++d) {
    if (unconstrained(lower[d], upper[d])) continue;
    low[j] = lower[d];
    high[j] = upper[d];
    dims[j++] = static_cast<std::uint8_t>(d);
  }
  for (; j < node.stride; ++j) {
    low[j] = -std::numeric_limits<T>::infinity();
    high[j] = std::numeric_limits<T>::infinity();
    dims[j] = kPadDim;
  }
}

template <class T>
void NodeFactory<T>::read_box(const Node<T>& node, std::size_t slot, T* lower, T* upper) const {
  if (!node.bitmap_leaf()) {
    for (std::size_t d = 0; d < dims_; ++d) {
      lower[d] = node.lower_lanes(d)[slot];
      upper[d] = node.upper_lanes(d)[slot];
    }
    return;
  }
  std::fill(lower, lower + dims_, -std::numeric_limits<T>::infinity());
  std::fill(upper, upper + dims_, std::numeric_limits<T>::infinity());
  const T* low = node.row(slot);
  const std::uint8_t* dims = node.dims_of_row(slot);
  for (std::size_t j = 0; j < node.stride; ++j) {
    if (dims[j] >= dims_) continue;
    lower[dims[j]] = low[j];
    upper[dims[j]] = low[node.stride + j];
  }
}

template <class T>
void NodeFactory<T>::collect(const Node<T>& node, EntryList<T>& entries) const {
  for (const Node<T>* child : node.children) collect(*child, entries);
  if (!node.leaf()) return;
  std::vector<T> lower(dims_);
  std::vector<T> upper(dims_);
  for (std::size_t s = 0; s < node.count; ++s) {
    if (!node.is_live(s)) continue;
    read_box(node, s, lower.data(), upper.data());
    entries.add(lower.data(), upper.data(), node.id(s));
  }
}

template <class T>
Envelope<T> NodeFactory<T>::envelope(const Node<T>& node) const {
  Envelope<T> result(dims_);
  if (!node.bitmap_leaf()) {
    for (std::size_t d = 0; d < dims_ && node.count != 0; ++d) {
      result.lower[d] = *std::min_element(node.lower_lanes(d), node.lower_lanes(d) + node.count);
      result.upper[d] = *std::max_element(node.upper_lanes(d), node.upper_lanes(d) + node.count);
    }
    return result;
  }
  std::vector<std::uint32_t> listed(256, 0);  // rows that hold the dimension; the others have no bounds there
  for (std::size_t s = 0; s < node.count; ++s) {
    if (!node.is_live(s)) continue;
    const T* low = node.row(s);
    const std::uint8_t* dims = node.dims_of_row(s);
    for (std::size_t j = 0; j < node.stride; ++j) {
      const std::uint8_t d = dims[j];
      ++listed[d];
      if (d >= dims_) continue;
      result.lower[d] = std::min(result.lower[d], low[j]);
      result.upper[d] = std::max(result.upper[d], low[node.stride + j]);
    }
  }
  for (std::size_t d = 0; d < dims_; ++d)
    if (listed[d] < node.live) {
      result.lower[d] = -std::numeric_limits<T>::infinity();
      result.upper[d] = std::numeric_limits<T>::infinity();
    }
  return result;
}

template <class T>
typename NodeFactory<T>::Buckets NodeFactory<T>::buckets(const Node<T>& node, std::size_t d, T lower, T upper) const {
  std::size_t first = cuts_->fine_bucket(d, static_cast<double>(lower));
  std::size_t last = cuts_->fine_bucket(d, static_cast<double>(upper));
  if (node.leaf()) {
    first = cuts_->coarse_of(d)[first];
    last = cuts_->coarse_of(d)[last];
  }
  return {first, last, unconstrained(lower, upper)};
}

template <class T>
void NodeFactory<T>::mark(Node<T>& node, std::size_t slot, const T* lower, const T* upper, bool on) const {
  const std::size_t word = slot / 64;
  const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
  const auto put = [&](std::uint64_t* line) { line[word] = on ? line[word] | bit : line[word] & ~bit; };
  put(node.live_bits);
  std::uint64_t* base = node.line_words;
  for (std::size_t j = 0; j < node.active; ++j) {
    const std::size_t d = node.active_dims[j];
    const std::size_t line_count = node.leaf() ? cuts_->leaf_lines(d) : cuts_->inner_lines(d);
    const Buckets b = buckets(node, d, lower[d], upper[d]);
    for (std::size_t i = b.first; i <= b.last; ++i) put(base + i * kLineWords);
    if (b.everything) put(base + (line_count - 1) * kLineWords);
    base += line_count * kLineWords;
  }
}

// All lines at once: every slot toggles its bit where its buckets begin and after they end; running along the buckets
// with XOR turns the toggles into ranges.
template <class T>
void NodeFactory<T>::fill_lines(Node<T>& node) const {
  std::vector<T> lower(dims_);
  std::vector<T> upper(dims_);
  for (std::size_t s = 0; s < node.count; ++s) {
    if (node.leaf() && !node.is_live(s)) continue;
    read_box(node, s, lower.data(), upper.data());
    const std::size_t word = s / 64;
    const std::uint64_t bit = std::uint64_t{1} << (s % 64);
    std::uint64_t* base = node.line_words;
    for (std::size_t j = 0; j < node.active; ++j) {
      const std::size_t d = node.active_dims[j];
      const std::size_t line_count = node.leaf() ? cuts_->leaf_lines(d) : cuts_->inner_lines(d);
      const Buckets b = buckets(node, d, lower[d], upper[d]);
      base[b.first * kLineWords + word] ^= bit;
      if (b.last + 2 < line_count) base[(b.last + 1) * kLineWords + word] ^= bit;
      if (b.everything) base[(line_count - 1) * kLineWords + word] |= bit;
      base += line_count * kLineWords;
    }
  }
  std::uint64_t* base = node.line_words;
  for (std::size_t j = 0; j < node.active; ++j) {
    const std::size_t d = node.active_dims[j];
    const std::size_t line_count = node.leaf() ? cuts_->leaf_lines(d) : cuts_->inner_lines(d);
    for (std::size_t i = kLineWords; i < (line_count - 1) * kLineWords; ++i) base[i] ^= base[i - kLineWords];
    base += line_count * kLineWords;
  }
}

template <class T>
std::uint32_t NodeFactory<T>::line_count(const Node<T>& node) const {
  std::uint32_t total = 0;
  for (std::size_t j = 0; node.bitmap && j < node.active; ++j) {
    const std::size_t d = node.active_dims[j];
    total += node.leaf() ? cuts_->leaf_lines(d) : cuts_->inner_lines(d);
  }
  return total;
}

template <class T>
std::size_t NodeFactory<T>::bytes(const Node<T>& node) const {
  return sizeof(Node<T>) + node.children.capacity() * sizeof(Node<T>*) +
         node.starts.capacity() * sizeof(typename Node<T>::Start) + node.lines.bytes + node.entries.bytes;
}

template class NodeFactory<float>;
template class NodeFactory<double>;

}  // namespace pubmatch

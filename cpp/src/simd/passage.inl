// An event by itself: from leaf to leaf, each thing fetched a while before it is looked at.

template <class T>
inline void put(const LeafScan<T>& scan, Sink& sink, std::int64_t id) {
  if (!sink.counting) {
    if (__builtin_expect(sink.size == sink.capacity, 0)) scan.grow(sink);
    sink.ids[sink.size] = id;
  }
  ++sink.size;
}

// Whether the event lies inside the box of a bitmap leaf's slot.
template <class T>
inline bool slot_contains(const Node<T>& node, std::size_t slot, const T* down, const T* up, std::size_t dimensions) {
  const T* low = node.row(slot);
  const T* high = low + node.stride;
  if (node.uniform && node.dense) return row_contains(low, high, node.stride, down, up);
  return row_contains_at(low, high, node.dims_of_row(slot), node.stride, down, up, dimensions);
}

// Entries that survived the lines wait here, their rows on the way into the cache, until there are enough to verify.
template <class T>
struct Candidates {
  static constexpr std::size_t kCapacity = 64;
  const Node<T>* leaf[kCapacity];
  std::uint32_t position[kCapacity];
  std::uint32_t slot[kCapacity];
  std::size_t size = 0;

  void flush(const LeafScan<T>& scan) {
    for (std::size_t i = 0; i < size; ++i) {
      const Node<T>& node = *leaf[i];
      const std::size_t row = scan.rows[position[i]];
      if (slot_contains(node, slot[i], scan.batch->down(row), scan.batch->up(row), scan.batch->dims()))
        put(scan, scan.sinks[position[i]], node.id(slot[i]));
    }
    size = 0;
  }

  void add(const LeafScan<T>& scan, const Node<T>& node, std::uint32_t at, std::uint32_t where) {
    const char* row = reinterpret_cast<const char*>(node.row(where));
    __builtin_prefetch(row);
    __builtin_prefetch(row + 2 * node.stride * sizeof(T) - 1);
    leaf[size] = &node;
    position[size] = at;
    slot[size] = where;
    if (++size == kCapacity) flush(scan);
  }

  std::size_t add_all(const LeafScan<T>& scan, const Node<T>& node, std::uint32_t at, const Line& slots) {
    std::uint64_t words[kLineWords];
    __builtin_memcpy(words, &slots, sizeof words);
    std::size_t added = 0;
    for (std::uint32_t w = 0; w < kLineWords; ++w)
      for (std::uint64_t bits = words[w]; bits != 0; bits &= bits - 1, ++added)
        add(scan, node, at, w * 64 + static_cast<std::uint32_t>(__builtin_ctzll(bits)));
    return added;
  }
};

// An event's way through leaves whose lines are known and lie alike: the first lines of each are ANDed; leaves in which
// entries survive wait until their other lines and their heads are there.
template <class T>
class Passage {
 public:
  Passage(const LeafScan<T>& scan, std::uint32_t position)
      : scan_(scan),
        position_(position),
        chosen_(scan.batch->dense_leaf(scan.rows[position])),
        lines_(scan.batch->dims()) {
    for (std::size_t j = 0; j < kHead; ++j) head_[j] = std::size_t{chosen_[j < lines_ ? j : lines_ - 1]} * sizeof(Line);
  }

  PUBMATCH_PREFETCHES void fetch(const std::uint64_t* lines) const {
    const char* base = reinterpret_cast<const char*>(lines);
    for (std::size_t j = 0; j < kHead; ++j) __builtin_prefetch(base + head_[j]);
  }

  void visit(const Visit<T>& visit, Candidates<T>& candidates) {
    const char* base = reinterpret_cast<const char*>(visit.lines);
    Line acc = *reinterpret_cast<const Line*>(base + head_[0]);
    for (std::size_t j = 1; j < kHead; ++j) acc &= *reinterpret_cast<const Line*>(base + head_[j]);
    if (any(acc)) wait(*visit.node, visit.lines, acc, candidates);
  }

  void finish(Candidates<T>& candidates) {
    while (taken_ < added_) finish_one(candidates);
  }

 private:
  static constexpr std::size_t kWaiting = 8;

  void wait(const Node<T>& node, const std::uint64_t* lines, const Line& acc, Candidates<T>& candidates) {
    __builtin_prefetch(&node);
    for (std::size_t j = kHead; j < lines_; ++j) __builtin_prefetch(line_at(lines, chosen_[j]));
    if (added_ - taken_ == kWaiting) finish_one(candidates);
    const std::size_t at = added_++ % kWaiting;
    leaf_[at] = &node;
    left_[at] = acc;
  }

  void finish_one(Candidates<T>& candidates) {
    const std::size_t at = taken_++ % kWaiting;
    const Node<T>& node = *leaf_[at];
    Line acc;
    first_bits(node.count, acc);
    acc &= left_[at];
    for (std::size_t j = kHead; j < lines_; ++j) acc &= *line_at(node.line_words, chosen_[j]);
    if (any(acc)) candidates.add_all(scan_, node, position_, acc);
  }

  const LeafScan<T>& scan_;
  std::uint32_t position_;
  const std::uint32_t* chosen_;
  std::size_t lines_;
  std::size_t head_[kHead];
  const Node<T>* leaf_[kWaiting];
  Line left_[kWaiting];
  std::size_t taken_ = 0;
  std::size_t added_ = 0;
};

// The hot loops in terms of a few per-target primitives; included once per target inside its own namespace.
//
// Primitives the including file defines:
//   Line                       a 64-byte vector of bits; any(Line)
//   kLanes<T>                  how many bounds one comparison takes
//   lanes_containing(lo, hi, down, up)  bit i: lo[i] <= down and hi[i] >= up
//   row_contains(low, high, k, down, up)         a row whose dimensions are 0 … k-1
//   row_contains_at(low, high, dims, k, down, up, dimensions)  a row whose dimensions are listed
//   write_chosen(ids, bits, out)  writes the ids whose many bits are set, returns how many; may write kLineWords more
//   list_bits(words, slots)    writes the positions of the set bits, returns how many; may write kListSlack more
//   kListsAtOnce               whether that is faster than taking one bit after the other
//   kSurvivorBytes             what a survivor that waits for its row costs, in bytes of entries fetched in order
//   verify(node, slots, down, up, dimensions, out, step)  optional: an overload for one bound type

#include "node_tests.inl"
#include "passage.inl"

inline constexpr std::size_t kWorthSureness = 8;  // survivors from which asking which are sure pays

// The lines that one event needs in a leaf further on.
template <class T>
PUBMATCH_PREFETCHES void prefetch_lines(const LeafScan<T>& scan, const Node<T>& node, std::size_t row) {
  const std::size_t count = node.active;
  if (node.dense) {
    const std::uint32_t* chosen = scan.batch->dense_leaf(row);
    for (std::size_t j = 0; j < (count < kHead ? count : kHead); ++j)
      __builtin_prefetch(line_at(node.line_words, chosen[j]));
    return;
  }
  std::uint32_t chosen[256];
  choose_lines(node.active_dims.data(), count, scan.batch->leaf_lines(row), scan.leaf_line_counts, chosen);
  for (std::size_t j = 0; j < count; ++j) __builtin_prefetch(line_at(node.line_words, chosen[j]));
}

// ANDs the lines of one event; false when nothing is left.
template <class T>
bool surviving(const LeafScan<T>& scan, const Node<T>& node, std::size_t row, const Line& used, Line& acc) {
  if (node.active == 0) {
    __builtin_memcpy(&acc, node.live_bits, sizeof acc);
  } else if (node.dense) {
    if (!and_lines(node.line_words, scan.batch->dense_leaf(row), node.active, acc)) return false;
  } else {
    std::uint32_t chosen[256];
    choose_lines(node.active_dims.data(), node.active, scan.batch->leaf_lines(row), scan.leaf_line_counts, chosen);
    if (!and_lines(node.line_words, chosen, node.active, acc)) return false;
  }
  acc &= used;
  return true;
}

// One of few events in a leaf: survivors, of which it returns the number, wait for their rows.
template <class T>
std::size_t scan_for_one(const LeafScan<T>& scan, const Node<T>& node, std::uint32_t position,
                         Candidates<T>& candidates) {
  Line used;
  first_bits(node.count, used);
  Line acc;
  if (!surviving(scan, node, scan.rows[position], used, acc)) return 0;
  return candidates.add_all(scan, node, position, acc);
}

// Writes the ids of those slots that contain the event, one behind the other (with step 0 on top of each other), and
// returns how many. No branch on the outcome: which candidates match is anyone's guess.
template <class T>
inline std::size_t verify(const Node<T>& node, std::span<const std::uint16_t> slots, const T* down, const T* up,
                          std::size_t dimensions, std::int64_t* out, std::size_t step) {
  std::size_t matched = 0;
  for (const std::size_t slot : slots) {
    out[matched * step] = node.id(slot);
    matched += slot_contains(node, slot, down, up, dimensions);
  }
  return matched;
}

inline std::size_t count_bits(const std::uint64_t* words) {
  std::size_t count = 0;
  for (std::size_t w = 0; w < kLineWords; ++w) count += static_cast<std::size_t>(__builtin_popcountll(words[w]));
  return count;
}

// Set bits of a word up to which taking them one by one is faster than looking at eight slots at a time.
inline constexpr std::size_t kFewBits = 32;

// Writes the ids of those of 64 slots whose bits are set and returns how many; may write four more. Four at a time, the
// first four whether there are any or not: how many there are is hard to predict, that they are few is not. Reads the
// first id even if no bit is set.
inline std::size_t write_few(const std::uint32_t* ids, std::uint64_t bits, std::size_t count, std::int64_t* out) {
  for (std::size_t done = 0;; done += 4) {
    for (std::size_t i = 0; i < 4; ++i) {
      out[done + i] = ids[bits == 0 ? 0 : __builtin_ctzll(bits)];
      bits &= bits - 1;
    }
    if (done + 4 >= count) return count;
  }
}

// The same for the slots from `first` on.
template <class T>
inline std::size_t write_ids(const Node<T>& node, std::size_t first, std::uint64_t bits, std::int64_t* out) {
  const auto count = static_cast<std::size_t>(__builtin_popcountll(bits));
  if (node.wide_ids) {
    for (; bits != 0; bits &= bits - 1) *out++ = node.id(first + static_cast<std::size_t>(__builtin_ctzll(bits)));
    return count;
  }
  const auto* ids = static_cast<const std::uint32_t*>(node.ids) + first;
  return count <= kFewBits ? write_few(ids, bits, count, out) : write_chosen(ids, bits, out);
}

// The same for all slots of a leaf.
template <class T>
inline std::size_t write_marked(const Node<T>& node, const std::uint64_t* words, std::int64_t* out) {
  if (kListsAtOnce && !node.wide_ids) {
    std::uint16_t slots[kBlockEntries + kListSlack];
    const std::size_t found = list_bits(words, slots);
    const auto* ids = static_cast<const std::uint32_t*>(node.ids);
    for (std::size_t i = 0; i < found; ++i) out[i] = ids[slots[i]];
    return found;
  }
  std::int64_t* next = out;
  for (std::size_t w = 0; w * 64 < node.count; ++w) next += write_ids(node, w * 64, words[w], next);
  return static_cast<std::size_t>(next - out);
}

// For all ids of a leaf, and what write_chosen may write behind them.
template <class T>
inline void make_room(const LeafScan<T>& scan, Sink& sink) {
  while (sink.capacity - sink.size < kBlockEntries + kLineWords) scan.grow(sink);
}

// Takes the survivors of a dense leaf that need no verification out of `words` and into the sink: a box that may match the
// buckets on both sides of the event's holds the whole bucket between them. In the outermost buckets only boxes without
// bounds there are sure, which is what the line of the absent says; and that line is never in doubt itself.
template <class T>
void take_sure(const LeafScan<T>& scan, const Node<T>& node, std::size_t row, std::uint64_t* words, Sink& sink) {
  const std::uint32_t* chosen = scan.batch->dense_leaf(row);
  const std::uint8_t* buckets = scan.batch->leaf_lines(row);
  Line sure;
  __builtin_memcpy(&sure, words, sizeof sure);
  for (std::size_t d = 0; d < node.active; ++d) {
    const std::uint32_t absent = scan.leaf_line_counts[d] - 1u;
    const std::uint32_t bucket = buckets[d];
    const std::uint32_t first = chosen[d] - bucket;
    const bool inner = bucket > 0 && bucket + 1 < absent;
    sure &= *line_at(node.line_words, inner ? chosen[d] - 1 : first + absent);
    sure &= *line_at(node.line_words, inner ? chosen[d] + 1 : first + absent);
  }
  std::uint64_t taken[kLineWords];
  __builtin_memcpy(taken, &sure, sizeof sure);
  if (sink.counting) {
    sink.size += count_bits(taken);
  } else {
    sink.size += write_marked(node, taken, sink.ids + sink.size);
  }
  for (std::size_t w = 0; w < kLineWords; ++w) words[w] &= ~taken[w];
}

// Whether the events of a visit read so many of the leaf's lines that fetching all of them in order is faster.
template <class T>
bool lines_streamed(const Visit<T>& visit) {
  const std::size_t events = visit.last - visit.first;
  return events > 1 && events * visit.node->active * 256 >= visit.node->lines.bytes;
}

// Whether so much survived in the leaf before that fetching all entries in order is faster than the rows of the survivors.
template <class T>
bool entries_streamed(const Visit<T>& visit, std::size_t survivors) {
  return survivors * kSurvivorBytes >= visit.node->entries.bytes;
}

// The next leaf on its way into the second-level cache, for the first could not hold it. An equal share while each event is
// searched for, and of that a few lines at a time: a core has some twenty fetches under way, and what asks for more stands
// still.
template <class T>
class Ahead {
 public:
  Ahead(const Visit<T>* next, std::size_t survivors, std::size_t events) : events_(events) {
    if (next == nullptr || !next->node->bitmap) return;
    if (lines_streamed(*next)) lines_ = next->node->lines;
    if (entries_streamed(*next, survivors)) entries_ = next->node->entries;
    first_ = (lines_.bytes + 63) / 64;
    size_ = first_ + (entries_.bytes + 63) / 64;
  }

  void begin(std::size_t event) { due_ = size_ * (event + 1) / events_; }

  PUBMATCH_PREFETCHES void some() { fetch_to(due_ - at_ < kAtOnce ? due_ : at_ + kAtOnce); }
  // What is left of the event's share, in equal parts over what is left to do.
  PUBMATCH_PREFETCHES void part(std::size_t left) { fetch_to(due_ - (due_ - at_) * (left - 1) / left); }
  PUBMATCH_PREFETCHES void rest() { fetch_to(due_); }

 private:
  static constexpr std::size_t kAtOnce = 10;

  PUBMATCH_PREFETCHES void fetch_to(std::size_t end) {
    for (; at_ < end && at_ < first_; ++at_) __builtin_prefetch(lines_.data + at_ * 64, 0, 2);
    for (; at_ < end; ++at_) __builtin_prefetch(entries_.data + (at_ - first_) * 64, 0, 2);
  }

  Part lines_, entries_;
  std::size_t events_;
  std::size_t first_ = 0;  // of the entries
  std::size_t size_ = 0;
  std::size_t due_ = 0;
  std::size_t at_ = 0;
};

inline constexpr std::size_t kVerifiedAtOnce = 16;  // survivors, between which the next leaf is fetched

// A leaf that many events visit is in the cache after the first. Where much survives, so are its entries, and survivors are
// verified on the spot, without a branch on the outcome; where little does, they wait for their rows. An event's ids come
// in the same order either way. Meanwhile the next leaf is fetched.
template <class T>
void scan_for_many(const LeafScan<T>& scan, const Visit<T>& visit, const Visit<T>* next, Candidates<T>& candidates,
                   std::size_t& survivors) {
  const Node<T>& node = *visit.node;
  const std::size_t size = visit.last - visit.first;
  const bool here = entries_streamed(visit, survivors);
  Ahead<T> ahead(next, survivors, size);
  survivors = 0;
  Line used;
  first_bits(node.count, used);
  for (std::size_t k = 0; k < size; ++k) {
    ahead.begin(k);
    ahead.some();
    const std::uint32_t position = scan.events[visit.first + k];
    const std::size_t row = scan.rows[position];
    Line left;
    const bool any_left = surviving(scan, node, row, used, left);
    ahead.some();
    if (!any_left) {
      ahead.rest();
      continue;
    }
    std::uint64_t words[kLineWords];
    __builtin_memcpy(words, &left, sizeof left);
    const std::size_t count = count_bits(words);
    const bool some_sure = node.dense && count >= kWorthSureness;
    survivors += count;
    Sink& sink = scan.sinks[position];
    if (here || some_sure) {
      if (candidates.size != 0) candidates.flush(scan);
      if (!sink.counting) make_room(scan, sink);
    }
    if (some_sure) take_sure(scan, node, row, words, sink);
    if (!here) {
      ahead.rest();
      __builtin_memcpy(&left, words, sizeof left);
      candidates.add_all(scan, node, position, left);
      continue;
    }
    std::uint16_t slots[kBlockEntries + kListSlack];
    const std::size_t found = list_bits(words, slots);
    std::int64_t scrap[1];
    for (std::size_t i = 0; i < found; i += kVerifiedAtOnce) {
      const std::size_t some = found - i < kVerifiedAtOnce ? found - i : kVerifiedAtOnce;
      ahead.part((found - i + kVerifiedAtOnce - 1) / kVerifiedAtOnce);
      sink.size += verify(node, {slots + i, some}, scan.batch->down(row), scan.batch->up(row), scan.batch->dims(),
                          sink.counting ? scrap : sink.ids + sink.size, !sink.counting);
    }
    ahead.rest();
  }
}

template <class T>
void scan_compare_leaf(const LeafScan<T>& scan, const Visit<T>& visit) {
  const Node<T>& node = *visit.node;
  for (std::uint32_t k = visit.first; k < visit.last; ++k) {
    const std::uint32_t position = scan.events[k];
    const std::size_t row = scan.rows[position];
    std::uint64_t mask[kLineWords];
    compare_lanes(node, scan.batch->dims(), scan.batch->down(row), scan.batch->up(row), mask);
    Sink& sink = scan.sinks[position];
    if (sink.counting) {
      sink.size += count_bits(mask);
      continue;
    }
    make_room(scan, sink);
    for (std::size_t w = 0; w * 64 < node.count; ++w)
      sink.size += write_ids(node, w * 64, mask[w], sink.ids + sink.size);
  }
}

// Bounds and ids lie one after the other. Their lengths follow from the first line of the node's head, which is on its
// way already; the second is not.
template <class T>
PUBMATCH_PREFETCHES void prefetch_entries(const Node<T>& node) {
  const char* data = reinterpret_cast<const char*>(node.bounds);
  const char* end = reinterpret_cast<const char*>(node.ids) + node.count * (node.wide_ids ? 8 : 4);
  for (; data < end; data += 64) __builtin_prefetch(data);
}

// Fetches what the first events of a visit further on will read, unless that visit streams the whole leaf.
template <class T>
PUBMATCH_PREFETCHES void prefetch_visit(const LeafScan<T>& scan, const Visit<T>& visit) {
  if (scan.apart && visit.lines != nullptr)
    Passage<T>(scan, scan.events[visit.first]).fetch(visit.lines);
  else if (!visit.node->bitmap)
    prefetch_entries(*visit.node);
  else if (!lines_streamed(visit))
    for (std::uint32_t k = visit.first; k < visit.last; ++k)
      prefetch_lines(scan, *visit.node, scan.rows[scan.events[k]]);
}

inline constexpr std::size_t kNodesAhead = 32;
inline constexpr std::size_t kLinesAhead = 20;

// Takes the event of a visit through this leaf and those behind it whose lines are known; returns the visit after them.
template <class T>
std::size_t pass(const LeafScan<T>& scan, std::size_t first, std::size_t known, Candidates<T>& candidates) {
  const Visit<T>* visits = scan.visits;
  const std::uint32_t event = visits[first].first;
  Passage<T> passage(scan, scan.events[event]);
  std::size_t end = first;
  while (end < scan.visit_count && visits[end].lines != nullptr && visits[end].first == event) ++end;
  std::size_t v = first;
  for (; v + kLinesAhead < end; ++v) {
    passage.fetch(visits[v + kLinesAhead].lines);
    passage.visit(visits[v], candidates);
  }
  for (; v < end; ++v) {
    if (v + kLinesAhead < known) prefetch_visit(scan, visits[v + kLinesAhead]);
    passage.visit(visits[v], candidates);
  }
  passage.finish(candidates);
  return end;
}

template <class T>
void scan_leaves(const LeafScan<T>& scan) {
  const std::size_t known = scan.visit_count + scan.visits_behind;
  if (scan.begins)
    for (std::size_t v = 0; v < kLinesAhead && v < known; ++v) prefetch_visit(scan, scan.visits[v]);
  Candidates<T> candidates;
  std::size_t survivors = 0;
  for (std::size_t v = 0; v < scan.visit_count;) {
    if (scan.apart && scan.visits[v].lines != nullptr) {
      v = pass(scan, v, known, candidates);
      continue;
    }
    if (v + kNodesAhead < known) __builtin_prefetch(scan.visits[v + kNodesAhead].node);
    if (v + kLinesAhead < known) prefetch_visit(scan, scan.visits[v + kLinesAhead]);
    const Visit<T>& visit = scan.visits[v++];
    if (!visit.node->bitmap)
      scan_compare_leaf(scan, visit);
    else if (lines_streamed(visit) || entries_streamed(visit, survivors))
      scan_for_many(scan, visit, v < scan.visit_count ? &scan.visits[v] : nullptr, candidates, survivors);
    else {
      survivors = 0;
      for (std::uint32_t k = visit.first; k < visit.last; ++k)
        survivors += scan_for_one(scan, *visit.node, scan.events[k], candidates);
    }
  }
  candidates.flush(scan);
}

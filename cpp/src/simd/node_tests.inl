// What a node tells of an event or a box: lines of bits ANDed, envelopes compared, envelopes scored.

inline const Line* line_at(const std::uint64_t* words, std::uint32_t line) {
  return reinterpret_cast<const Line*>(words + std::size_t{line} * kLineWords);
}

// ANDs the chosen lines, the first few without a branch.
inline bool and_lines(const std::uint64_t* words, const std::uint32_t* chosen, std::size_t count, Line& result) {
  Line acc = *line_at(words, chosen[0]);
  const std::size_t head = count < kHead ? count : kHead;
  for (std::size_t j = 1; j < head; ++j) acc &= *line_at(words, chosen[j]);
  if (count > kHead && any(acc))
    for (std::size_t j = kHead; j < count; ++j) acc &= *line_at(words, chosen[j]);
  result = acc;
  return any(acc);
}

// The lines of an event in a node where only some dimensions are active.
inline void choose_lines(const std::uint8_t* active, std::size_t count, const std::uint8_t* event_lines,
                         const std::uint8_t* line_counts, std::uint32_t* chosen) {
  std::uint32_t base = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const std::uint8_t d = active[j];
    chosen[j] = base + event_lines[d];
    base += line_counts[d];
  }
}

inline void first_bits(std::size_t count, Line& line) {
  std::uint64_t words[kLineWords];
  for (std::size_t w = 0; w < kLineWords; ++w) {
    const std::size_t from = w * 64;
    words[w] = count >= from + 64 ? ~std::uint64_t{0} : count > from ? (std::uint64_t{1} << (count - from)) - 1 : 0;
  }
  __builtin_memcpy(&line, words, sizeof line);
}

// Whether few comparisons are left: then they cost less than a branch on what the first ones found.
inline constexpr std::size_t kBranchFree = 3;

template <class T>
void compare_lanes(const Node<T>& node, std::size_t dims, const T* down, const T* up, std::uint64_t* mask) {
  for (std::size_t w = 0; w < kLineWords; ++w) mask[w] = 0;
  const std::size_t stride = node.stride;
  for (std::size_t c = 0; c < node.count; c += kLanes<T>) {
    const T* bounds = node.bounds + c;
    std::uint64_t bits =
        node.count - c >= kLanes<T> ? (std::uint64_t{1} << kLanes<T>)-1 : (std::uint64_t{1} << (node.count - c)) - 1;
    if (dims <= kBranchFree)
      for (std::size_t d = 0; d < dims; ++d, bounds += 2 * stride)
        bits &= lanes_containing(bounds, bounds + stride, down[d], up[d]);
    else
      for (std::size_t d = 0; d < dims && bits != 0; ++d, bounds += 2 * stride)
        bits &= lanes_containing(bounds, bounds + stride, down[d], up[d]);
    mask[c / 64] |= bits << (c % 64);
  }
}

// Children whose envelopes are compared faster than their lines are fetched.
inline constexpr std::size_t kFewChildren = 16;

template <class T>
void meet(const Node<T>& node, const EventBatch<T>& batch, std::size_t row, const std::uint8_t* inner_line_counts,
          std::uint64_t* mask) {
  if (!node.bitmap || node.count <= kFewChildren) {
    compare_lanes(node, batch.dims(), batch.down(row), batch.up(row), mask);
    return;
  }
  Line acc;
  first_bits(node.count, acc);
  if (node.active != 0) {
    std::uint32_t own[256];
    const std::uint32_t* chosen = own;
    if (node.dense)
      chosen = batch.dense_inner(row);
    else
      choose_lines(node.active_dims.data(), node.active, batch.inner_lines(row), inner_line_counts, own);
    Line lines;
    and_lines(node.line_words, chosen, node.active, lines);
    acc &= lines;
  }
  __builtin_memcpy(mask, &acc, sizeof acc);
}

template <class T>
void score_children(const Node<T>& node, std::size_t dims, const T* lower, const T* upper, const T* clip_low,
                    const T* clip_high, const T* scale, T weight, T* score) {
  const std::size_t count = node.count;
  for (std::size_t c = 0; c < count; ++c) score[c] = 0;
  for (std::size_t d = 0; d < dims; ++d) {
    const T least = clip_low[d];
    const T greatest = clip_high[d];
    const T low = lower[d] < least ? least : lower[d];
    const T high = upper[d] > greatest ? greatest : upper[d];
    const T* lows = node.lower_lanes(d);
    const T* highs = node.upper_lanes(d);
    const T unit = scale[d];
    for (std::size_t c = 0; c < count; ++c) {
      const T l = lows[c] < least ? least : lows[c];
      const T h = highs[c] > greatest ? greatest : highs[c];
      const T below = l > low ? l - low : T{0};
      const T above = high > h ? high - h : T{0};
      score[c] += ((below + above) * weight + (h - l)) * unit;
    }
  }
}

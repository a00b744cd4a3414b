// Every kernel of this machine gives the same masks, scores and ids on the same nodes, and the right ones.
#include "pubmatch/kernels.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <numeric>
#include <string>

#include "box_fixtures.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

struct Shape {
  const char* name;
  std::size_t size, dims;
  double open_share;
  Params params;
};

const std::vector<Shape> kShapes = {
    {"paper", 300, 3, 0.1, {.node_capacity = 10, .leaf_capacity = 20, .node_kernel = NodeKernel::kCompare}},
    {"compare, odd lanes", 200, 5, 0.0, {.node_capacity = 7, .leaf_capacity = 13, .node_kernel = NodeKernel::kCompare}},
    {"compare, full block", 1500, 2, 0.0, {.leaf_capacity = 512, .node_kernel = NodeKernel::kCompare}},
    {"bitmap, dense", 1500, 4, 0.0, {.leaf_capacity = 300, .node_kernel = NodeKernel::kBitmap}},
    {"bitmap, twelve dimensions", 1500, 12, 0.0, {.leaf_capacity = 200, .node_kernel = NodeKernel::kBitmap}},
    {"bitmap, one dimension", 900, 1, 0.0, {.leaf_capacity = 70, .node_kernel = NodeKernel::kBitmap}},
    {"bitmap, sparse", 1200, 20, 0.85, {.leaf_capacity = 200, .node_kernel = NodeKernel::kBitmap}},
    {"bitmap, many levels", 400, 6, 0.4, {.node_capacity = 4, .leaf_capacity = 8, .node_kernel = NodeKernel::kBitmap}},
    {"bitmap, nothing constrained", 100, 3, 1.0, {.leaf_capacity = 64, .node_kernel = NodeKernel::kBitmap}},
};

template <class T>
void nodes_below(const Node<T>& node, std::vector<const Node<T>*>& nodes) {
  nodes.push_back(&node);
  for (const Node<T>* child : node.children) nodes_below(*child, nodes);
}

void grow(Sink& sink) {
  sink.buffer->reserve(std::max<std::size_t>(4, 2 * sink.capacity));
  sink.ids = sink.buffer->data();
  sink.capacity = sink.buffer->capacity();
}

template <class T>
void expect_same_masks(const NodeFactory<T>& factory, const Node<T>& node, const EventBatch<T>& batch) {
  std::vector<T> lower(factory.dims());
  std::vector<T> upper(factory.dims());
  for (std::size_t e = 0; e < batch.size(); ++e) {
    std::uint64_t first[kLineWords];
    for (const Kernels* kernels : available_kernels()) {
      CAPTURE(kernels->name);
      std::uint64_t mask[kLineWords];
      std::fill(mask, mask + kLineWords, 0xa5a5a5a5a5a5a5a5u);  // kernels must not rely on what was there
      kernels->set<T>().meet(node, batch, e, factory.cuts().inner_lines(), mask);
      if (kernels == available_kernels().front()) std::memcpy(first, mask, sizeof mask);
      REQUIRE(std::memcmp(first, mask, sizeof mask) == 0);
    }
    for (std::size_t c = 0; c < kBlockEntries; ++c) {
      const bool set = ((first[c / 64] >> (c % 64)) & 1) != 0;
      bool meets = c < node.count;
      if (meets) factory.read_box(node, c, lower.data(), upper.data());
      for (std::size_t d = 0; d < factory.dims() && meets; ++d)
        meets = lower[d] <= batch.down(e)[d] && upper[d] >= batch.up(e)[d];
      // Lines of buckets may let a child through that the bounds rule out, never the other way round.
      if (node.bitmap)
        REQUIRE((set || !meets));
      else
        REQUIRE(set == meets);
      if (c >= node.count) REQUIRE(!set);
    }
  }
}

template <class T>
void expect_same_scores(const NodeFactory<T>& factory, const Node<T>& node, const EntryList<T>& boxes) {
  const std::vector<T> clip_low(factory.dims(), T{-0.25});
  const std::vector<T> clip_high(factory.dims(), T{2});
  const std::vector<T> scale(factory.dims(), T{0.4});
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    std::vector<T> first;
    for (const Kernels* kernels : available_kernels()) {
      CAPTURE(kernels->name);
      std::vector<T> score(kBlockEntries, T{-1});
      kernels->set<T>().score_children(node, factory.dims(), boxes.view().lower_row(i), boxes.view().upper_row(i),
                                       clip_low.data(), clip_high.data(), scale.data(), T{8}, score.data());
      score.resize(node.count);
      if (first.empty()) first = score;
      REQUIRE(score == first);
      for (const T value : score) CHECK(value >= 0);
    }
  }
}

// All leaves of the tree in one scan: each with every event, or apart, every event with each of them.
template <class T>
Rows scan(const Kernels& kernels, const NodeFactory<T>& factory, const std::vector<const Node<T>*>& leaves,
          const EventBatch<T>& batch, bool counting, bool apart = false) {
  const auto size = static_cast<std::uint32_t>(batch.size());
  std::vector<std::uint32_t> events(size);
  std::iota(events.begin(), events.end(), 0u);
  const std::vector<std::uint32_t> rows(events.rbegin(), events.rend());  // position in the group is not the row
  std::vector<Visit<T>> visits;
  if (apart)
    for (const std::uint32_t event : events)
      for (const Node<T>* leaf : leaves) visits.push_back({leaf, event, event + 1, leaf->dense_lines()});
  else
    for (const Node<T>* leaf : leaves) visits.push_back({leaf, 0, size, leaf->dense_lines()});
  std::vector<IdBuffer> buffers(size);
  std::vector<Sink> sinks;
  for (IdBuffer& buffer : buffers) sinks.push_back({nullptr, 0, 0, counting, &buffer});
  kernels.set<T>().scan_leaves({.visits = visits.data(),
                                .visit_count = visits.size(),
                                .apart = apart,
                                .events = events.data(),
                                .rows = rows.data(),
                                .batch = &batch,
                                .leaf_line_counts = factory.cuts().leaf_lines(),
                                .sinks = sinks.data(),
                                .grow = grow});
  Rows found(size);
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<std::int64_t>& ids = found[rows[i]];
    if (counting)
      ids.push_back(static_cast<std::int64_t>(sinks[i].size));
    else
      ids.assign(sinks[i].ids, sinks[i].ids + sinks[i].size);
  }
  return found;
}

}  // namespace

TEST_CASE("kernels: the baseline is always there, and last") {
  REQUIRE(!available_kernels().empty());
  CHECK(std::string(available_kernels().back()->name) == "baseline");
}

TEST_CASE_TEMPLATE("kernels: same masks, scores and ids", T, float, double) {
  for (const Shape& shape : kShapes)
    for (const std::int64_t first_id : {std::int64_t{0}, std::int64_t{1} << 40}) {
      CAPTURE(shape.name);
      const EntryList<T> boxes = random_boxes<T>(shape.size, shape.dims, shape.open_share, first_id, 17);
      const auto tree = Tree<T>::build(boxes.view(), boxes.ids.data(), shape.params, {});
      // Leaves with dead slots and with room behind the used ones.
      tree->erase(boxes.ids.data(), shape.size / 10);
      const EntryList<T> more = random_boxes<T>(10, shape.dims, shape.open_share, first_id + 5000, 18);
      tree->insert(more.view(), more.ids.data());
      Model<T> model(shape.dims);
      model.add(boxes, boxes.ids);
      model.erase({boxes.ids.begin(), boxes.ids.begin() + static_cast<std::ptrdiff_t>(shape.size / 10)});
      model.add(more, more.ids);

      const auto version = tree->pin();
      const NodeFactory<T>& factory = *version->factory;
      const std::vector<double> points = random_points<double>(21, shape.dims, 19);
      const EventBatch<T> batch(points.data(), 21, shape.dims, &factory.cuts());
      std::vector<const Node<T>*> nodes;
      nodes_below(*version->root, nodes);
      std::vector<const Node<T>*> leaves;
      for (const Node<T>* node : nodes) {
        if (node->leaf()) leaves.push_back(node);
        if (!node->bitmap_leaf()) expect_same_masks(factory, *node, batch);
        if (!node->leaf()) expect_same_scores(factory, *node, more);
      }
      const Rows first = scan(*available_kernels().front(), factory, leaves, batch, false);
      Rows sorted = first;
      for (std::vector<std::int64_t>& ids : sorted) std::sort(ids.begin(), ids.end());
      CHECK(sorted == model.match(points));
      for (const Kernels* kernels : available_kernels()) {
        CAPTURE(kernels->name);
        CHECK(scan(*kernels, factory, leaves, batch, false) == first);  // in the same order, too
        const Rows counts = scan(*kernels, factory, leaves, batch, true);
        for (std::size_t e = 0; e < counts.size(); ++e)
          CHECK(counts[e] == std::vector<std::int64_t>{static_cast<std::int64_t>(first[e].size())});
        Rows apart = scan(*kernels, factory, leaves, batch, false, true);
        for (std::vector<std::int64_t>& ids : apart) std::sort(ids.begin(), ids.end());
        CHECK(apart == sorted);
        CHECK(scan(*kernels, factory, leaves, batch, true, true) == counts);
      }
    }
}

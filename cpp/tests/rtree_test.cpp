// The index against a plain list of boxes, in every layout, after every kind of update.
#include "pubmatch/rtree.hpp"

#include <doctest/doctest.h>

#include <set>
#include <utility>

#include "box_fixtures.hpp"
#include "pubmatch/error.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

struct Shape {
  const char* name;
  std::size_t dims;
  double open_share;
  Params params;
};

constexpr NodeKernel kCompare = NodeKernel::kCompare;
constexpr NodeKernel kBitmap = NodeKernel::kBitmap;

const std::vector<Shape> kShapes = {
    {"auto", 5, 0.2, {}},
    {"compare", 2, 0.1, {.node_kernel = kCompare}},
    {"bitmap", 4, 0.0, {.node_kernel = kBitmap}},
    {"bitmap, sparse", 24, 0.9, {.leaf_capacity = 40, .node_kernel = kBitmap}},
    {"bitmap, small", 3, 0.4, {.node_capacity = 4, .leaf_capacity = 4, .buckets = 4, .node_kernel = kBitmap}},
    {"bitmap, full leaves", 3, 0.2, {.node_capacity = 6, .leaf_capacity = 16, .fill = 1, .node_kernel = kBitmap}},
    {"paper, R*", 3, 0.1, {.node_capacity = 10, .leaf_capacity = 20, .node_kernel = kCompare}},
    {"paper, quadratic",
     3,
     0.1,
     {.node_capacity = 10, .leaf_capacity = 20, .node_kernel = kCompare, .split = SplitRule::kQuadratic}},
    {"least capacities", 1, 0.0, {.node_capacity = 4, .leaf_capacity = 4, .node_kernel = kCompare}},
    {"least capacities, quadratic, open",
     2,
     0.6,
     {.node_capacity = 4, .leaf_capacity = 4, .fill = 0.5, .node_kernel = kCompare, .split = SplitRule::kQuadratic}},
};

// The nodes of a level (leaves above it included) whose envelope, and those of all nodes above, the event meets.
template <class T>
std::int64_t paths(const NodeFactory<T>& factory, const Node<T>& node, const double* point, std::size_t level) {
  if (level == 1 || node.leaf()) return 1;
  std::int64_t total = 0;
  std::vector<T> lower(factory.dims());
  std::vector<T> upper(factory.dims());
  for (std::size_t c = 0; c < node.count; ++c) {
    factory.read_box(node, c, lower.data(), upper.data());
    if (contains(lower.data(), upper.data(), point, factory.dims()))
      total += paths(factory, *node.children[c], point, level - 1);
  }
  return total;
}

template <class T>
void expect_estimates(Tree<T>& tree, const std::vector<double>& points, std::size_t events) {
  const auto version = tree.pin();
  for (std::size_t level = 1; level <= tree.height(); ++level) {
    const std::vector<std::int64_t> estimates = tree.estimate(points.data(), events, level);
    REQUIRE(estimates.size() == events);
    for (std::size_t e = 0; e < events; ++e) {
      const std::int64_t exact = paths(*version->factory, *version->root, points.data() + e * tree.dims(), level);
      if (level == 1) CHECK(estimates[e] == 1);
      // Buckets may lead a search into a node that bounds would have ruled out.
      if (version->factory->layout().bitmap)
        CHECK(estimates[e] >= exact);
      else
        CHECK(estimates[e] == exact);
    }
  }
}

template <class T>
Rows streamed(Tree<T>& tree, const std::vector<double>& points, std::size_t events, const MatchOptions& options) {
  Rows rows(events);
  std::set<std::int64_t> seen;
  const auto stream = tree.stream(points.data(), events, options, 3);
  std::vector<std::int64_t> positions;
  Matches matches;
  while (stream->next(positions, matches)) {
    const Rows chunk = rows_of(matches);
    REQUIRE(chunk.size() == positions.size());
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      CHECK(seen.insert(positions[i]).second);
      rows[static_cast<std::size_t>(positions[i])] = chunk[i];
    }
  }
  CHECK(seen.size() == events);
  return rows;
}

template <class T>
void expect_same(Tree<T>& tree, const Model<T>& model, std::uint64_t seed) {
  constexpr std::size_t kEvents = 10;
  REQUIRE_NOTHROW(tree.check());
  REQUIRE(tree.size() == model.size());
  const std::vector<double> points = random_points<double>(kEvents, tree.dims(), seed);
  const Rows expected = model.match(points);
  for (std::size_t level = 0; level <= tree.height(); ++level)
    CHECK(rows_of(tree.match(points.data(), kEvents, {.level = level, .sort = true}), true) == expected);
  CHECK(rows_of(tree.match(points.data(), kEvents, {.order = Order::kFifo, .threads = 2})) == expected);
  CHECK(rows_of(tree.match(points.data(), kEvents, {.level = 2, .threads = 3})) == expected);
  CHECK(streamed(tree, points, kEvents, {.level = tree.height()}) == expected);
  CHECK(streamed(tree, points, kEvents, {.order = Order::kFifo, .threads = 2}) == expected);
  CHECK(tree.count(points.data(), kEvents, 1) == lengths(expected));
  CHECK(tree.count(points.data(), kEvents, 2) == lengths(expected));
  const std::vector<float> narrow(points.begin(), points.end());
  CHECK(rows_of(tree.match(narrow.data(), kEvents, {})) == model.match(narrow));
  expect_estimates(tree, points, kEvents);
  const EntryList<double> queries = random_boxes<double>(6, tree.dims(), 0.5, 0, seed);
  for (const BoxRelation relation : {BoxRelation::kIntersecting, BoxRelation::kCovering, BoxRelation::kCovered})
    CHECK(rows_of(tree.query(relation, queries.view())) == model.query(relation, queries.view()));
}

template <class T>
void insert(Tree<T>& tree, Model<T>& model, const EntryList<T>& boxes, bool own_ids) {
  const std::vector<std::int64_t> ids = tree.insert(boxes.view(), own_ids ? boxes.ids.data() : nullptr);
  if (own_ids) REQUIRE(ids == boxes.ids);
  model.add(boxes, ids);
}

template <class T>
void erase(Tree<T>& tree, Model<T>& model, std::vector<std::int64_t> ids) {
  ids.push_back(-77);  // nobody's
  REQUIRE(tree.erase(ids.data(), ids.size()) == model.erase(ids));
}

}  // namespace

TEST_CASE_TEMPLATE("Tree: built, grown, thinned out, emptied and filled again", T, float, double) {
  for (const Shape& shape : kShapes) {
    CAPTURE(shape.name);
    const auto boxes = [&](std::size_t count, std::int64_t first_id, std::uint64_t seed) {
      return random_boxes<T>(count, shape.dims, shape.open_share, first_id, seed);
    };
    Model<T> model(shape.dims);
    const EntryList<T> start = boxes(260, 0, 1);
    const auto tree = Tree<T>::build(start.view(), nullptr, shape.params, {});
    model.add(start, start.ids);
    expect_same(*tree, model, 1);
    std::mt19937_64 random(3);
    for (std::uint64_t step = 2; step < 12; ++step) {
      CAPTURE(step);
      const bool wide = step == 5;  // ids beyond 32 bits among narrow ones
      const std::int64_t first_id = wide ? -(std::int64_t{1} << 50) : static_cast<std::int64_t>(step) * 10000;
      insert(*tree, model, boxes(step == 7 ? 150 : 12, first_id, step), step % 2 == 1);
      std::vector<std::int64_t> ids = model.ids();
      std::shuffle(ids.begin(), ids.end(), random);
      ids.resize(step == 9 ? ids.size() * 9 / 10 : 10);
      erase(*tree, model, ids);
      expect_same(*tree, model, step);
    }
    erase(*tree, model, model.ids());
    CHECK(tree->height() == 1);
    expect_same(*tree, model, 20);
    insert(*tree, model, boxes(90, 0, 21), true);
    expect_same(*tree, model, 21);
  }
}

TEST_CASE_TEMPLATE("Tree: grown from nothing, box by box", T, float, double) {
  for (const Shape& shape : kShapes) {
    CAPTURE(shape.name);
    Model<T> model(shape.dims);
    const auto tree = std::make_shared<Tree<T>>(shape.dims, shape.params);
    CHECK(tree->height() == 1);
    expect_same(*tree, model, 1);
    for (std::uint64_t step = 0; step < 120; ++step) {
      insert(*tree, model, random_boxes<T>(1, shape.dims, shape.open_share, 0, step), false);
      REQUIRE_NOTHROW(tree->check());
      if (step % 40 == 7) expect_same(*tree, model, step);
    }
    while (model.size() != 0) {
      const std::vector<std::int64_t> ids = model.ids();
      erase(*tree, model, {ids[ids.size() / 2]});
      REQUIRE_NOTHROW(tree->check());
    }
    expect_same(*tree, model, 500);
  }
}

TEST_CASE("Tree: dimensions that few boxes of a leaf constrain have no lines, and are still obeyed") {
  // One box in a hundred is constrained in dimensions 2 and 3; its leaf keeps no lines for them.
  EntryList<double> boxes = random_boxes<double>(500, 4, 0, 0, 5);
  for (std::size_t i = 0; i < boxes.size(); ++i)
    for (std::size_t d = 2; d < 4; ++d)
      if (i % 100 != d) {
        boxes.lower[i * 4 + d] = -kInfinity<double>;
        boxes.upper[i * 4 + d] = kInfinity<double>;
      }
  const auto tree = Tree<double>::build(boxes.view(), nullptr, {.node_kernel = kBitmap}, {});
  Model<double> model(4);
  model.add(boxes, boxes.ids);
  const auto version = tree->pin();
  const Node<double>* leaf = version->root;
  while (!leaf->leaf()) leaf = leaf->children[0];
  REQUIRE(leaf->active == 2);
  for (std::uint64_t seed = 0; seed < 5; ++seed) expect_same(*tree, model, seed);
  insert(*tree, model, random_boxes<double>(5, 4, 0, 1000, 6), true);
  erase(*tree, model, {2, 103});
  expect_same(*tree, model, 7);
}

TEST_CASE("check: a parent that knows the start of a leaf at another place is found out") {
  const EntryList<double> boxes = random_boxes<double>(300, 2, 0.1, 0, 8);
  for (const NodeKernel kernel : {kBitmap, NodeKernel::kCompare}) {
    const auto tree = Tree<double>::build(boxes.view(), nullptr, {.leaf_capacity = 32, .node_kernel = kernel}, {});
    const auto version = tree->pin();
    Node<double>* above = version->root;
    while (above->height > 1) above = above->children[0];
    REQUIRE(above->starts.size() == above->children.size());
    CHECK(above->starts[0].data == above->children[0]->search_data());
    const void* const right = std::exchange(above->starts[0].data, nullptr);
    CHECK_THROWS_AS(tree->check(), CorruptIndexError);
    above->starts[0].data = right;
    CHECK_NOTHROW(tree->check());
  }
}

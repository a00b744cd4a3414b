// What the index promises about ids, errors, large batches and pinned versions.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <string>

#include "box_fixtures.hpp"
#include "pubmatch/error.hpp"
#include "pubmatch/rtree.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

using Ids = std::vector<std::int64_t>;

const Params kPaper{.node_capacity = 10, .leaf_capacity = 20, .node_kernel = NodeKernel::kCompare};
const Params kBitmap{.leaf_capacity = 32, .node_kernel = NodeKernel::kBitmap};

std::string error_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "";
}

EntryList<double> some(std::size_t count, std::uint64_t seed = 1) {
  return random_boxes<double>(count, 2, 0.1, 0, seed);
}

}  // namespace

TEST_CASE("ids: by default the next unused from 0") {
  for (const Params& params : {Params{}, kPaper, kBitmap}) {
    const auto tree = std::make_shared<Tree<double>>(2, params);
    CHECK(tree->insert(some(3).view(), nullptr) == Ids{0, 1, 2});
    const Ids own = {4, 6};
    CHECK(tree->insert(some(2).view(), own.data()) == own);
    CHECK(tree->insert(some(4).view(), nullptr) == Ids{3, 5, 7, 8});
    const Ids gone = {8};
    CHECK(tree->erase(gone.data(), 1) == 1);
    const Ids next = tree->insert(some(1).view(), nullptr);
    CHECK(next.size() == 1);
    CHECK(next[0] >= 8);
    CHECK(tree->insert(some(0).view(), nullptr).empty());
    CHECK_NOTHROW(tree->check());
  }
}

TEST_CASE("ids: defaults step around the ones a build was given") {
  const Ids own = {1, 0, 5};
  const auto tree = Tree<double>::build(some(3).view(), own.data(), {}, {});
  CHECK(tree->insert(some(4).view(), nullptr) == Ids{2, 3, 4, 6});
}

TEST_CASE("ids: any value, each erased once") {
  const Ids own = {std::numeric_limits<std::int64_t>::min(), -1, 0, 0xffffffffll, 0x100000000ll,
                   std::numeric_limits<std::int64_t>::max()};
  for (const Params& params : {kPaper, kBitmap}) {
    const auto tree = Tree<double>::build(some(6).view(), own.data(), params, {});
    Model<double> model(2);
    model.add(some(6), own);
    const std::vector<double> points = random_points<double>(40, 2, 9);
    CHECK(rows_of(tree->match(points.data(), 40, {})) == model.match(points));
    const Ids twice = {own[0], own[5], own[0], 12345};
    CHECK(tree->erase(twice.data(), twice.size()) == 2);
    CHECK(tree->erase(twice.data(), twice.size()) == 0);
    CHECK(tree->size() == 4);
    CHECK_NOTHROW(tree->check());
  }
}

TEST_CASE("errors: the rule, the place and the value; nothing changes") {
  for (const Params& params : {Params{}, kPaper, kBitmap}) {
    const auto tree = Tree<double>::build(some(100).view(), nullptr, params, {});
    Model<double> model(2);
    model.add(some(100), some(100).ids);
    const std::uint64_t version = tree->stats().version;
    EntryList<double> bad = some(20, 2);
    Ids ids(20);
    std::iota(ids.begin(), ids.end(), std::int64_t{200});

    bad.lower[2 * 17 + 1] = 5;
    bad.upper[2 * 17 + 1] = 3;
    CHECK(error_of([&] { tree->insert(bad.view(), nullptr); }) == "upper < lower at row 17, dimension 1 (3.0 < 5.0)");
    bad.lower[2 * 17 + 1] = std::nan("");
    CHECK(error_of([&] { tree->insert(bad.view(), ids.data()); }) == "lower bound is NaN at row 17, dimension 1");
    bad.lower[2 * 17 + 1] = 1;
    bad.upper[2 * 17 + 1] = std::nan("");
    CHECK(error_of([&] { tree->insert(bad.view(), nullptr); }) == "upper bound is NaN at row 17, dimension 1");
    bad = some(20, 2);
    ids[9] = ids[4];
    CHECK(error_of([&] { tree->insert(bad.view(), ids.data()); }) == "duplicate id 204 at rows 4 and 9");
    ids[9] = 99;
    CHECK(error_of([&] { tree->insert(bad.view(), ids.data()); }) == "id 99 at row 9 is in the index already");

    CHECK(tree->stats().version == version);
    CHECK(tree->size() == 100);
    const std::vector<double> points = random_points<double>(30, 2, 4);
    CHECK(rows_of(tree->match(points.data(), 30, {})) == model.match(points));
    CHECK_NOTHROW(tree->check());
    CHECK(tree->insert(some(2).view(), nullptr) == Ids{100, 101});  // no id was used up
  }
}

TEST_CASE("errors: impossible builds, dimensions, parameters and queries") {
  const EntryList<double> boxes = some(5);
  const Ids ids = {1, 2, 3, 2, 4};
  CHECK(error_of([&] { Tree<double>::build(boxes.view(), ids.data(), {}, {}); }) == "duplicate id 2 at rows 1 and 3");
  CHECK(error_of([] { Tree<double>(0, {}); }) == "dims must be between 1 and 255, not 0");
  CHECK(error_of([] { Tree<double>(256, {}); }) == "dims must be between 1 and 255, not 256");
  CHECK(error_of([] { Tree<float>(2, {.node_capacity = 3}); }).find("node_capacity") == 0);
  CHECK(error_of([] { Tree<float>(2, {.leaf_capacity = 513}); }).find("leaf_capacity") == 0);
  CHECK(error_of([] { Tree<float>(2, {.buckets = 129}); }).find("buckets") == 0);
  CHECK(error_of([] { Tree<float>(2, {.fill = 0.4}); }).find("fill") == 0);
  const auto tree = Tree<double>::build(boxes.view(), nullptr, {}, {});
  const double low[2] = {0, 2};
  const double high[2] = {1, 1};
  CHECK(error_of([&] { tree->query(BoxRelation::kCovering, BoxView<double>{low, high, 1, 2}); }) ==
        "upper < lower at row 0, dimension 1 (1.0 < 2.0)");
}

TEST_CASE("exactness: a float64 event between two float32 numbers meets neither") {
  const float edge = 0.1f;
  for (const Params& params : {kPaper, kBitmap}) {
    const auto tree = Tree<float>::build({&edge, &edge, 1, 1}, nullptr, params, {});
    const double exact = static_cast<double>(edge);
    const std::vector<double> points = {exact, std::nextafter(exact, 1.0), std::nextafter(exact, 0.0), 0.1};
    CHECK(tree->count(points.data(), points.size(), 1) == Ids{1, 0, 0, 0});
  }
}

TEST_CASE("large batches are searched in pieces with the same result and order") {
  constexpr std::size_t kEvents = 20000;
  const EntryList<double> boxes = some(60);
  const auto tree = Tree<double>::build(boxes.view(), nullptr, kPaper, {});
  Model<double> model(2);
  model.add(boxes, boxes.ids);
  const std::vector<double> points = random_points<double>(kEvents, 2, 6);
  const Rows expected = model.match(points);
  const Ids estimates = tree->estimate(points.data(), kEvents, 2);
  Ids order(kEvents);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return estimates[static_cast<std::size_t>(a)] < estimates[static_cast<std::size_t>(b)];
  });
  const Matches matches = tree->match(points.data(), kEvents, {.level = 2, .threads = 2, .sort = true});
  CHECK((rows_of(matches, true) == expected));
  CHECK((matches.order == order));
  CHECK((tree->count(points.data(), kEvents, 2) == lengths(expected)));
}

TEST_CASE("a stream shows the state it began with") {
  for (const Params& params : {kPaper, kBitmap}) {
    const EntryList<double> boxes = some(200);
    auto tree = Tree<double>::build(boxes.view(), nullptr, params, {});
    Model<double> model(2);
    model.add(boxes, boxes.ids);
    const std::vector<double> points = random_points<double>(9, 2, 6);
    const auto stream = tree->stream(points.data(), 9, {.order = Order::kFifo}, 2);
    tree->erase(boxes.ids.data(), 150);
    tree->insert(some(300, 7).view(), nullptr);
    tree.reset();  // the stream keeps what it needs
    Rows rows;
    Ids positions;
    Matches matches;
    while (stream->next(positions, matches))
      for (std::vector<std::int64_t>& row : rows_of(matches)) rows.push_back(std::move(row));
    CHECK(rows == model.match(points));
  }
}

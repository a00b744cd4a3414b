// Router: boxes go to the child whose cell holds them, and where several may, to each as often as it was packed with such.
#include "pubmatch/router.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <map>

#include "box_fixtures.hpp"
#include "pubmatch/rtree.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

constexpr float kOpen = std::numeric_limits<float>::infinity();
const std::vector<float> kClipLow = {-1, -1};
const std::vector<float> kClipHigh = {2, 2};

struct Box {
  float lower[2];
  float upper[2];
};

Router<float>::Child child_of(std::uint32_t number, const std::vector<std::pair<Box, std::size_t>>& boxes) {
  Router<float>::Child child{number, Cell<float>(2)};
  for (const auto& [box, count] : boxes)
    for (std::size_t i = 0; i < count; ++i) child.cell.extend(box.lower, box.upper);
  return child;
}

// How many of `tries` equal boxes go to each child.
std::map<std::uint32_t, std::size_t> found(Router<float>& router, const Box& box, std::size_t tries) {
  std::map<std::uint32_t, std::size_t> counts;
  for (std::size_t i = 0; i < tries; ++i) ++counts[router.find(box.lower, box.upper)];
  return counts;
}

}  // namespace

TEST_CASE("Router: a bound on either side of a gap leads to the child there") {
  const Box low{{0.0f, 0}, {0.2f, 1}};
  const Box high{{0.6f, 0}, {0.9f, 1}};
  Router<float> router({child_of(7, {{low, 5}}), child_of(9, {{high, 5}})}, kClipLow, kClipHigh);
  CHECK(found(router, low, 10) == std::map<std::uint32_t, std::size_t>{{7, 10}});
  CHECK(found(router, high, 10) == std::map<std::uint32_t, std::size_t>{{9, 10}});
}

TEST_CASE("Router: boxes without a bound are dealt out as they were packed") {
  const Box open{{-kOpen, 0}, {kOpen, 1}};
  const Box bounded{{0.5f, 0}, {kOpen, 1}};
  Router<float> router({child_of(1, {{open, 300}}), child_of(2, {{open, 100}, {bounded, 200}})}, kClipLow, kClipHigh);
  CHECK(found(router, open, 400) == std::map<std::uint32_t, std::size_t>{{1, 300}, {2, 100}});
  CHECK(found(router, bounded, 50) == std::map<std::uint32_t, std::size_t>{{2, 50}});
}

TEST_CASE("Router: children that nothing tells apart share what comes") {
  const Box same{{0.25f, 0}, {0.75f, 1}};
  Router<float> router({child_of(1, {{same, 10}}), child_of(2, {{same, 30}})}, kClipLow, kClipHigh);
  const std::map<std::uint32_t, std::size_t> counts = found(router, same, 40);
  CHECK(counts.at(1) == 10);
  CHECK(counts.at(2) == 30);
}

// A leaf that took all boxes without a bound would be split again and again.
TEST_CASE("replacing sparse boxes by others like them hardly adds leaves") {
  const std::size_t dims = 8;
  const EntryList<float> first = random_boxes<float>(30000, dims, 0.75, 0, 1);
  const EntryList<float> second = random_boxes<float>(15000, dims, 0.75, 0, 2);
  const auto tree = Tree<float>::build(first.view(), nullptr, Params{}, {});
  const std::size_t packed = tree->stats().leaves;
  const std::size_t array = 1000;
  for (std::size_t from = 0; from < 15000; from += array) {
    std::vector<std::int64_t> gone(array);
    for (std::size_t i = 0; i < array; ++i) gone[i] = static_cast<std::int64_t>(2 * (from + i));
    tree->erase(gone.data(), gone.size());
    const BoxView<float> all = second.view();
    tree->insert({all.lower_row(from), all.upper_row(from), array, dims}, nullptr);
  }
  CHECK_NOTHROW(tree->check());
  CHECK(tree->stats().leaves <= packed + packed / 4);
}

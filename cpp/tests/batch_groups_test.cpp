// Events that share their leaves finish in groups: of equal work where the work is known beforehand, else of equal size.
#include <doctest/doctest.h>

#include <map>
#include <numeric>

#include "box_fixtures.hpp"
#include "pubmatch/batch_search.hpp"
#include "pubmatch/bulk_load.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

constexpr std::size_t kDims = 4;
constexpr std::size_t kEvents = 200;

// How many events finished at each moment, in the order of time.
std::vector<std::size_t> groups_of(const Matches& matches) {
  std::map<double, std::size_t> at;
  for (const double response : matches.response_s) ++at[response];
  std::vector<std::size_t> sizes;
  for (const auto& [response, size] : at) sizes.push_back(size);
  return sizes;
}

}  // namespace

TEST_CASE("BatchSearch: groups of equal work get smaller as jobs get longer; the answers stay the same") {
  // Three sides of four are open, so that events find much.
  const EntryList<float> boxes = random_boxes<float>(6000, kDims, 0.75, 0, 3);
  const auto tree = Tree<float>::build(boxes.view(), boxes.ids.data(), Params{}, {});
  const auto version = tree->pin();
  REQUIRE(version->group > 1);
  REQUIRE(version->group < kEvents);
  REQUIRE(version->model() != nullptr);
  const std::vector<float> points = random_points<float>(kEvents, kDims, 4);
  const EventBatch<float> batch(points.data(), kEvents, kDims, &version->factory->cuts());
  Model<float> model(kDims);
  model.add(boxes, boxes.ids);
  const Rows expected = model.match(points);

  Rows first;
  for (const std::size_t threads : {1, 2, 5}) {
    BatchSearch<float> search(*version, batch, {.model = true, .threads = threads}, now_s());
    search.run();
    const Matches matches = search.matches();
    CHECK(rows_of(matches) == expected);
    if (first.empty()) first = rows_of(matches, true);
    CHECK(rows_of(matches, true) == first);  // in the same order, too

    const std::vector<std::size_t> sizes = groups_of(matches);
    CHECK(sizes.size() == (kEvents + version->group - 1) / version->group);
    CHECK(std::is_sorted(sizes.rbegin(), sizes.rend()));
    CHECK(sizes.front() > sizes.back());
    CHECK(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}) == kEvents);
  }

  BatchSearch<float> fifo(*version, batch, {.order = Order::kFifo}, now_s());
  fifo.run();
  const Matches given = fifo.matches();
  CHECK(rows_of(given) == expected);
  CHECK(groups_of(given).front() == version->group);
}

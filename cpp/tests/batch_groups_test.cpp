// Events that share their leaves finish in groups: of equal work where the model orders them, else of equal size.
#include <doctest/doctest.h>

#include <map>
#include <numeric>
#include <random>

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

TEST_CASE("BatchSearch: jobs of no work are told before a great many of them are done") {
  // All sides have bounds, and most of space lies in all boxes: an event far away meets next to none.
  EntryList<float> boxes = random_boxes<float>(6000, kDims, 0.0, 0, 3);
  std::mt19937_64 random(5);
  std::uniform_real_distribution<float> margin(0.0F, 0.2F);
  for (float& lower : boxes.lower) lower = margin(random);
  for (float& upper : boxes.upper) upper = 1 - margin(random);
  const auto tree = Tree<float>::build(boxes.view(), boxes.ids.data(), Params{}, {});
  const auto version = tree->pin();
  REQUIRE(version->group > 1);
  constexpr std::size_t kMany = 3000;
  std::vector<float> points = random_points<float>(kMany, kDims, 4);
  std::fill_n(points.begin(), kMany * 2 / 3 * kDims, 1e30F);
  const EventBatch<float> batch(points.data(), kMany, kDims, &version->factory->cuts());
  Model<float> model(kDims);
  model.add(boxes, boxes.ids);
  BatchSearch<float> search(*version, batch, {.model = true}, now_s());
  search.run();
  const Matches matches = search.matches();
  CHECK(rows_of(matches) == model.match(points));
  for (const std::size_t size : groups_of(matches)) CHECK(size <= 4 * version->group);
}

TEST_CASE("MatchStream: where events share their leaves, all chunks together are the batch's answer") {
  const EntryList<float> boxes = random_boxes<float>(6000, kDims, 0.75, 0, 3);
  const auto tree = Tree<float>::build(boxes.view(), boxes.ids.data(), Params{}, {});
  REQUIRE(tree->pin()->group > 1);
  const std::vector<float> points = random_points<float>(kEvents, kDims, 4);
  const Rows expected = rows_of(tree->match(points.data(), kEvents, {}));
  const auto stream = tree->stream(points.data(), kEvents, {}, 7);  // no group ends where a chunk does
  Rows rows(kEvents);
  std::vector<std::int64_t> positions;
  Matches matches;
  while (stream->next(positions, matches)) {
    const Rows chunk = rows_of(matches);
    for (std::size_t i = 0; i < positions.size(); ++i) rows[static_cast<std::size_t>(positions[i])] = chunk[i];
  }
  CHECK(rows == expected);
}

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

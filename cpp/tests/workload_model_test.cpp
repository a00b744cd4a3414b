// WorkloadModel: where dimensions are independent, the products of shares follow the work that events really are.
#include "pubmatch/workload_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "box_fixtures.hpp"
#include "pubmatch/bulk_load.hpp"
#include "pubmatch/workload_table.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

constexpr std::size_t kDims = 6;
constexpr std::size_t kBoxes = 60000;

// Boxes a tenth to three tenths wide: events near the edge of space meet few of them.
EntryList<float> narrow_boxes() {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<float> uniform(0, 1);
  EntryList<float> boxes(kDims);
  for (std::size_t i = 0; i < kBoxes; ++i) {
    float lower[kDims];
    float upper[kDims];
    for (std::size_t d = 0; d < kDims; ++d) {
      const float width = 0.1f + 0.2f * uniform(random);
      lower[d] = (1 - width) * uniform(random);
      upper[d] = lower[d] + width;
    }
    boxes.add(lower, upper, static_cast<std::int64_t>(i));
  }
  return boxes;
}

double correlation(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  double sx = 0, sy = 0, sxx = 0, syy = 0, sxy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    sx += x[i];
    sy += y[i];
    sxx += x[i] * x[i];
    syy += y[i] * y[i];
    sxy += x[i] * y[i];
  }
  return (n * sxy - sx * sy) / std::sqrt((n * sxx - sx * sx) * (n * syy - sy * sy));
}

}  // namespace

// Boxes that share a leaf bucket with the event in every dimension: those the lines cannot rule out.
std::size_t surviving_lines(const EntryList<float>& boxes, const Cuts& cuts, const EventBatch<float>& batch,
                            std::size_t event) {
  std::size_t surviving = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    bool met = true;
    for (std::size_t d = 0; d < kDims && met; ++d) {
      const std::uint8_t bucket = batch.leaf_lines(event)[d];
      met = cuts.coarse_bucket(d, boxes.lower[i * kDims + d]) <= bucket &&
            cuts.coarse_bucket(d, boxes.upper[i * kDims + d]) >= bucket;
    }
    surviving += met ? 1 : 0;
  }
  return surviving;
}

TEST_CASE("the model follows the work of a bitmap tree: visits, and what the lines cannot rule out") {
  const EntryList<float> boxes = narrow_boxes();
  const auto tree = Tree<float>::build(boxes.view(), boxes.ids.data(), Params{}, {});
  const auto version = tree->pin();
  REQUIRE(version->model() != nullptr);
  REQUIRE(version->group == 1);
  std::mt19937_64 random(8);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<float> points(500 * kDims);
  for (float& x : points) x = uniform(random);
  const EventBatch<float> batch(points.data(), 500, kDims, &version->factory->cuts());
  const WorkloadTable<float> table(*version, batch, version->height());
  std::vector<double> expected;
  std::vector<double> worked;
  for (std::size_t e = 0; e < batch.size(); ++e) {
    expected.push_back(version->model()->workload(batch, e));
    // With six dimensions a visit's first lines are all there are: a survivor costs 0.2 visits for them, 4 for its row.
    worked.push_back(table.workload(e) +
                     4.2 * static_cast<double>(surviving_lines(boxes, version->factory->cuts(), batch, e)));
  }
  CHECK(correlation(expected, worked) > 0.9);

  const std::vector<std::uint32_t> order = shortest_first(version->model()->workloads(batch));
  for (std::size_t i = 1; i < order.size(); ++i) CHECK(expected[order[i - 1]] <= expected[order[i]]);
}

TEST_CASE("compare trees and single leaves have no model") {
  const EntryList<float> flat = random_boxes<float>(5000, 2, 0.0, 0, 1);
  CHECK(Tree<float>::build(flat.view(), flat.ids.data(), Params{}, {})->pin()->model() == nullptr);
  const EntryList<float> few = random_boxes<float>(100, 12, 0.0, 0, 1);
  Params bitmap;
  bitmap.node_kernel = NodeKernel::kBitmap;
  CHECK(Tree<float>::build(few.view(), few.ids.data(), bitmap, {})->pin()->model() == nullptr);
}

TEST_CASE("an absent attribute counts only boxes unconstrained there") {
  EntryList<float> boxes = random_boxes<float>(20000, kDims, 0.3, 0, 3);
  const auto tree = Tree<float>::build(boxes.view(), boxes.ids.data(), Params{}, {});
  const auto version = tree->pin();
  std::vector<float> points(2 * kDims, 0.5f);
  for (std::size_t d = 0; d < kDims; ++d) points[kDims + d] = std::numeric_limits<float>::quiet_NaN();
  const EventBatch<float> batch(points.data(), 2, kDims, &version->factory->cuts());
  CHECK(version->model()->workload(batch, 1) < version->model()->workload(batch, 0));
}

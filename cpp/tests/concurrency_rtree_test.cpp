// Readers while a writer inserts and erases whole groups: every answer is that of one published state, and no reader ever
// sees an older state after a newer one.
#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "box_fixtures.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

using Ids = std::vector<std::int64_t>;

constexpr std::size_t kDims = 4;
constexpr std::size_t kGroup = 9;      // boxes inserted or erased together
constexpr std::int64_t kRounds = 150;  // groups that come; all but the last two go again
constexpr std::int64_t kFirstGroup = 100000;

struct Operation {
  bool insert;
  std::int64_t group;
};

Ids ids_of(std::int64_t group) {
  Ids ids;
  for (std::size_t i = 0; i < kGroup; ++i) ids.push_back(kFirstGroup + group * 100 + static_cast<std::int64_t>(i));
  return ids;
}

std::vector<Operation> schedule() {
  std::vector<Operation> operations;
  for (std::int64_t round = 0; round < kRounds; ++round) {
    operations.push_back({true, round});
    if (round >= 2) operations.push_back({false, round - 2});
  }
  return operations;
}

// Group ids that every state shows, and which state it is.
std::map<Ids, std::size_t> states() {
  std::map<Ids, std::size_t> result;
  std::map<std::int64_t, Ids> present;
  result[{}] = 0;
  std::size_t state = 0;
  for (const Operation& operation : schedule()) {
    if (operation.insert)
      present[operation.group] = ids_of(operation.group);
    else
      present.erase(operation.group);
    Ids all;
    for (const auto& [group, ids] : present) all.insert(all.end(), ids.begin(), ids.end());
    result[all] = ++state;
  }
  return result;
}

// The boxes of a group spread over the space, so that they go to many leaves, and all hold the point (0.5, …, 0.5).
EntryList<float> boxes_of(std::int64_t group) {
  EntryList<float> boxes = random_boxes<float>(kGroup, kDims, 0.2, 0, static_cast<std::uint64_t>(group) + 1);
  for (std::size_t i = 0; i < boxes.lower.size(); ++i) {
    boxes.lower[i] = std::min(boxes.lower[i], 0.5F);
    boxes.upper[i] = std::max(boxes.upper[i], 0.5F);
  }
  return boxes;
}

class Reader {
 public:
  Reader(Tree<float>& tree, const Rows& unchanging) : tree_(tree), states_(states()), background_(unchanging) {}

  // Returns what is wrong, or nothing. doctest's macros are left to the main thread.
  std::string look(std::size_t round) {
    constexpr std::size_t kEvents = 16;  // enough for the model to order them
    const std::vector<double> points(kEvents * kDims, 0.5);
    const MatchOptions options{.level = round % 3, .threads = 1 + round % 2, .sort = true};
    if (round % 4 == 3) {
      const Ids counts = tree_.count(points.data(), kEvents, 1);
      if (counts != Ids(kEvents, counts[0])) return "one count call saw two states";
      if ((counts[0] - static_cast<std::int64_t>(background_[0].size())) % static_cast<std::int64_t>(kGroup) != 0)
        return "part of a group was counted";
      return "";
    }
    const Rows rows = rows_of(tree_.match(points.data(), kEvents, options), true);
    for (const Ids& row : rows) {
      if (row != rows[0]) return "one match call saw two states";
      const auto first = std::lower_bound(row.begin(), row.end(), kFirstGroup);
      if (Ids(row.begin(), first) != background_[0]) return "boxes that never change were lost";
      const auto state = states_.find(Ids(first, row.end()));
      if (state == states_.end()) return "an answer is that of no published state";
      if (state->second < newest_) return "an older state after a newer one";
      newest_ = state->second;
    }
    return "";
  }

 private:
  Tree<float>& tree_;
  const std::map<Ids, std::size_t> states_;
  const Rows background_;
  std::size_t newest_ = 0;
};

void write_all(Tree<float>& tree) {
  for (const Operation& operation : schedule()) {
    const Ids ids = ids_of(operation.group);
    if (operation.insert)
      tree.insert(boxes_of(operation.group).view(), ids.data());
    else
      tree.erase(ids.data(), ids.size());
    std::this_thread::yield();
  }
}

}  // namespace

TEST_CASE("Tree: readers see published states only, while groups come and go") {
  const Params paper{.node_capacity = 10, .leaf_capacity = 20, .node_kernel = NodeKernel::kCompare};
  const Params compare{.node_kernel = NodeKernel::kCompare};
  const Params bitmap{.node_kernel = NodeKernel::kBitmap};
  const Params small{.node_capacity = 4, .leaf_capacity = 16, .node_kernel = NodeKernel::kBitmap};
  for (const Params& params : {paper, compare, bitmap, small}) {
    // Small enough that the packed layouts are repacked on the way.
    const EntryList<float> start = random_boxes<float>(150, kDims, 0.2, 0, 99);
    const auto tree = Tree<float>::build(start.view(), nullptr, params, {});
    Model<float> model(kDims);
    model.add(start, start.ids);
    const Rows unchanging = model.match(std::vector<double>(kDims, 0.5));

    std::atomic<bool> done{false};
    std::vector<std::string> wrong(2);
    std::vector<std::thread> readers;
    for (std::string& report : wrong)
      readers.emplace_back([&] {
        Reader reader(*tree, unchanging);
        for (std::size_t round = 0; report.empty() && !(done && round > 8); ++round) report = reader.look(round);
      });
    write_all(*tree);
    done = true;
    for (std::thread& reader : readers) reader.join();
    for (const std::string& report : wrong) CHECK(report == "");
    CHECK_NOTHROW(tree->check());
    CHECK(tree->size() == 150 + 2 * kGroup);
  }
}

TEST_CASE("Tree: several writers take turns") {
  const auto tree =
      std::make_shared<Tree<float>>(kDims, Params{.leaf_capacity = 16, .node_kernel = NodeKernel::kBitmap});
  std::vector<std::thread> writers;
  for (std::int64_t w = 0; w < 3; ++w)
    writers.emplace_back([&tree, w] {
      for (std::int64_t round = 0; round < 20; ++round) {
        const Ids ids = tree->insert(boxes_of(w * 100 + round).view(), nullptr);
        tree->erase(ids.data(), 4);
      }
    });
  for (std::thread& writer : writers) writer.join();
  CHECK(tree->size() == 3 * 20 * (kGroup - 4));
  CHECK_NOTHROW(tree->check());
  const std::vector<float> point(kDims, 0.5F);
  CHECK(tree->count(point.data(), 1, 1) == Ids{static_cast<std::int64_t>(tree->size())});
}

// BatchIntersect, WorkloadTable and BatchSearch on a tree drawn by hand, entry by entry (paper, figures 2 to 4).
//
//   root ─┬─ A [0,6]×[0,4] ──┬─ L0 [0,3]×[0,3]   boxes 0, 1
//         │                  └─ L1 [2,6]×[0,4]   boxes 2, 3
//         ├─ B [8,15]×[0,8] ─┬─ L2 [8,12]×[0,4]  boxes 4, 5
//         │                  ├─ L3 [10,14]×[1,3] box 6
//         │                  └─ L4 [13,15]×[6,8] box 7
//         └─ C [0,9]×[3,10] ─┬─ L5 [3,9]×[3,9]   box 8
//                            └─ L6 [0,7]×[6,10]  boxes 9, 10
#include <doctest/doctest.h>

#include <numeric>
#include <vector>

#include "box_fixtures.hpp"
#include "pubmatch/batch_search.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

namespace {

using Positions = std::vector<std::uint32_t>;

const std::vector<double> kLower = {0, 0, 1, 1, 2, 2, 4, 0, 8, 0, 9, 3, 10, 1, 13, 6, 3, 3, 5, 8, 0, 6};
const std::vector<double> kUpper = {2, 2, 3, 3, 5, 4, 6, 1, 10, 2, 12, 4, 14, 3, 15, 8, 9, 9, 7, 10, 1, 7};

// Event 1 meets nothing; event 4 meets B, but dead space inside it; several lie on borders.
const std::vector<double> kEvents = {2, 2, 20, 20, 10, 2, 5, 3.5, 14, 5, 8, 4, 6, 8.5, 14, 2};
constexpr std::size_t kEventCount = 8;

class DrawnTree {
 public:
  DrawnTree() {
    const Layout layout{.node_capacity = 4, .leaf_capacity = 4, .leaf_target = 4, .dynamic = true};
    const auto cuts = std::make_shared<const Cuts>(std::vector<std::vector<double>>(2), layout.buckets);
    version.factory = std::make_shared<const NodeFactory<double>>(2, layout, cuts);
    for (const Positions& rows : std::vector<Positions>{{0, 1}, {2, 3}, {4, 5}, {6}, {7}, {8}, {9, 10}})
      leaves.push_back(version.factory->make_leaf(boxes_, rows, ids_.data(), 0, 1));
    inner = {above({leaves[0], leaves[1]}), above({leaves[2], leaves[3], leaves[4]}), above({leaves[5], leaves[6]})};
    version.root = above({inner[0], inner[1], inner[2]});
    version.size = ids_.size();
  }
  ~DrawnTree() {
    Garbage<double> all;
    gather(version.root, all);
    all.free();
  }

  Positions names(const std::vector<const Node<double>*>& nodes, const std::vector<Node<double>*>& among) const {
    Positions found;
    for (const Node<double>* node : nodes)
      found.push_back(static_cast<std::uint32_t>(std::find(among.begin(), among.end(), node) - among.begin()));
    return found;
  }

  Version<double> version;
  std::vector<Node<double>*> leaves, inner;

 private:
  Node<double>* above(std::vector<Node<double>*> children) const {
    std::vector<Envelope<double>> envelopes;
    for (const Node<double>* child : children) envelopes.push_back(version.factory->envelope(*child));
    return version.factory->make_inner(std::move(children), envelopes, 1);
  }

  const BoxView<double> boxes_{kLower.data(), kUpper.data(), 11, 2};
  const std::vector<std::int64_t> ids_ = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
};

const EventBatch<double>& events() {
  static const EventBatch<double> batch(kEvents.data(), kEventCount, 2, nullptr);
  return batch;
}

std::vector<Positions> lists(const WorkloadTable<double>& table) {
  std::vector<Positions> all;
  for (std::size_t e = 0; e < table.size(); ++e) {
    all.emplace_back(table.list(e).begin(), table.list(e).end());
    CHECK(table.workload(e) == all.back().size());
  }
  return all;
}

}  // namespace

TEST_CASE("WorkloadTable: at level 1 every event waits at the root") {
  const DrawnTree tree;
  const WorkloadTable<double> table(tree.version, events(), 1);
  REQUIRE(table.size() == kEventCount);
  CHECK(table.nodes() == std::vector<const Node<double>*>{tree.version.root});
  CHECK(lists(table) == std::vector<Positions>(kEventCount, Positions{0}));
  CHECK(table.sorted() == Positions{0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("WorkloadTable: at level 2 events wait at the inner nodes they meet") {
  const DrawnTree tree;
  const WorkloadTable<double> table(tree.version, events(), 2);
  CHECK(tree.names(table.nodes(), tree.inner) == Positions{0, 1, 2});
  CHECK(lists(table) == std::vector<Positions>{{0}, {}, {1}, {0, 2}, {1}, {1, 2}, {2}, {1}});
  CHECK(table.sorted() == Positions{1, 0, 2, 4, 6, 7, 3, 5});
}

TEST_CASE("WorkloadTable: at level 3 events wait at leaves; dead space ends paths") {
  const DrawnTree tree;
  // A level beyond the leaves changes nothing: a leaf ends a path.
  for (const std::size_t level : {3, 4}) {
    const WorkloadTable<double> table(tree.version, events(), level);
    // Nobody meets L4, so the positions 4 and 5 are L5 and L6.
    CHECK(tree.names(table.nodes(), tree.leaves) == Positions{0, 1, 2, 3, 5, 6});
    CHECK(lists(table) == std::vector<Positions>{{0, 1}, {}, {2, 3}, {1, 4}, {}, {2, 4}, {4, 5}, {3}});
    CHECK(table.sorted() == Positions{1, 4, 7, 0, 2, 3, 5, 6});
  }
}

TEST_CASE("WorkloadTable: a batch without events is an empty table") {
  const DrawnTree tree;
  const EventBatch<double> none(kEvents.data(), 0, 2, nullptr);
  for (const std::size_t level : {1, 2, 3}) {
    const WorkloadTable<double> table(tree.version, none, level);
    CHECK(table.size() == 0);
    CHECK(table.nodes().empty());
    CHECK(table.sorted().empty());
  }
}

TEST_CASE("BatchIntersect: items of a level are nodes with their events, in the order of the batch") {
  const DrawnTree tree;
  Positions rows(kEventCount);
  std::iota(rows.begin(), rows.end(), 0u);
  BatchIntersect<double> intersect(tree.version, events());
  IntersectBuffer<double> root, second;
  root.start(tree.version.root, kEventCount);
  REQUIRE(root.visits.size() == 1);
  CHECK(root.events == rows);
  intersect.descend(root, rows.data(), second);
  std::vector<Positions> met;
  for (const Visit<double>& visit : second.visits)
    met.emplace_back(second.events.begin() + visit.first, second.events.begin() + visit.last);
  CHECK(met == std::vector<Positions>{{0, 3}, {2, 4, 5, 7}, {3, 5, 6}});
}

TEST_CASE("BatchIntersect: events are positions in the list of rows that travel together") {
  const DrawnTree tree;
  const Positions rows = {6, 1, 3};
  BatchIntersect<double> intersect(tree.version, events());
  IntersectBuffer<double> root, second;
  root.start(tree.version.root, rows.size());
  intersect.descend(root, rows.data(), second);
  REQUIRE(second.visits.size() == 2);
  CHECK(second.visits[0].node == tree.inner[0]);
  CHECK(second.visits[1].node == tree.inner[2]);
  // In A event 3 alone (position 2); in C events 6 and 3.
  CHECK(second.events == Positions{2, 0, 2});
}

TEST_CASE("BatchIntersect: events that start apart stay apart, one behind the other") {
  const DrawnTree tree;
  const Positions rows = {6, 1, 3};
  BatchIntersect<double> intersect(tree.version, events());
  IntersectBuffer<double> root, second, third;
  root.start_apart(tree.version.root, rows.size());
  CHECK(root.visits.size() == rows.size());
  intersect.descend(root, rows.data(), second);
  intersect.descend(second, rows.data(), third);
  std::vector<const Node<double>*> nodes;
  Positions whose;
  for (const Visit<double>& visit : third.visits) {
    REQUIRE(visit.last == visit.first + 1);
    nodes.push_back(visit.node);
    whose.push_back(third.events[visit.first]);
  }
  // Event 6 meets L5 and L6, event 1 nothing, event 3 L1 and L5.
  CHECK(tree.names(nodes, tree.leaves) == Positions{5, 6, 1, 5});
  CHECK(whose == Positions{0, 0, 2, 2});
}

TEST_CASE("BatchSearch: events finish shortest first, and all find what they meet") {
  DrawnTree tree;
  const Rows expected = {{0, 1, 2}, {}, {4, 6}, {2, 8}, {}, {8}, {8, 9}, {6}};
  const std::vector<Positions> orders = {{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 2, 4, 6, 7, 3, 5}, {1, 4, 7, 0, 2, 3, 5, 6}};
  for (const std::uint32_t group : {1, 3, 32}) {
    tree.version.group = group;
    for (std::size_t level = 1; level <= 3; ++level) {
      CAPTURE(group);
      CAPTURE(level);
      BatchSearch<double> search(tree.version, events(), {.level = level, .sort = true}, now_s());
      CHECK(search.order() == orders[level - 1]);
      search.run();
      const Matches matches = search.matches();
      CHECK(rows_of(matches, true) == expected);
      CHECK(std::equal(matches.order.begin(), matches.order.end(), search.order().begin(), search.order().end()));
      // A later event is never answered before an earlier one.
      for (std::size_t i = 1; i < kEventCount; ++i)
        CHECK(matches.response_s[search.order()[i - 1]] <= matches.response_s[search.order()[i]]);
    }
  }
}

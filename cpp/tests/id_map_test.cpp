// The map from ids to places against the standard library's, over many additions, moves and removals.
#include "pubmatch/id_map.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>
#include <unordered_map>
#include <vector>

using namespace pubmatch;

namespace {

// Ids at places, as the leaves of a tree hold them.
class Drawers {
 public:
  explicit Drawers(std::size_t places) : ids_(places, 0), map_(0) {
    for (std::size_t p = places; p-- > 0;) free_.push_back(static_cast<std::uint32_t>(p));
  }

  void add(std::int64_t id) {
    const std::uint32_t place = take();
    ids_[place] = id;
    map_.add(id, place, read());
    expected_[id] = place;
  }
  void move(std::int64_t id) {
    const std::uint32_t from = expected_.at(id);
    const std::uint32_t to = take();
    ids_[to] = id;
    ids_[from] = -99;  // the old place no longer tells the id
    map_.move(id, from, to);
    expected_[id] = to;
    free_.push_back(from);
  }
  void remove(std::int64_t id) {
    map_.remove(id, expected_.at(id));
    free_.push_back(expected_.at(id));
    expected_.erase(id);
  }
  bool holds(std::int64_t id) const { return expected_.count(id) != 0; }
  bool room() const { return !free_.empty(); }
  std::uint32_t find(std::int64_t id) const { return map_.find(id, read()); }
  void verify() const {
    REQUIRE(map_.size() == expected_.size());
    for (const auto& [id, place] : expected_) REQUIRE(find(id) == place);
  }
  std::size_t bytes() const { return map_.bytes(); }

 private:
  IdMap::ReadId read() const {
    return [this](std::uint32_t place) { return ids_[place]; };
  }
  std::uint32_t take() {
    const std::uint32_t place = free_.back();
    free_.pop_back();
    return place;
  }

  std::vector<std::int64_t> ids_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<std::int64_t, std::uint32_t> expected_;
  IdMap map_;
};

}  // namespace

TEST_CASE("IdMap: an empty map holds nothing") {
  const Drawers drawers(1);
  for (const std::int64_t id : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()})
    CHECK(drawers.find(id) == IdMap::kNone);
}

TEST_CASE("IdMap: ids of every size") {
  Drawers drawers(100);
  const std::vector<std::int64_t> ids = {0,
                                         -1,
                                         1,
                                         std::numeric_limits<std::int64_t>::min(),
                                         std::numeric_limits<std::int64_t>::max(),
                                         std::int64_t{1} << 32,
                                         (std::int64_t{1} << 32) - 1};
  for (const std::int64_t id : ids) drawers.add(id);
  drawers.verify();
  CHECK(drawers.find(2) == IdMap::kNone);
  for (const std::int64_t id : ids) {
    drawers.remove(id);
    CHECK(drawers.find(id) == IdMap::kNone);
    drawers.verify();
  }
}

TEST_CASE("IdMap: random additions, moves and removals") {
  std::mt19937_64 random(11);
  Drawers drawers(4000);
  for (int step = 0; step < 60000; ++step) {
    // Ids come in runs with equal low bits now and then, to make them collide.
    const auto id = static_cast<std::int64_t>(random() % 3000) * (step % 3 == 0 ? 4096 : 1);
    if (!drawers.holds(id)) {
      CHECK(drawers.find(id) == IdMap::kNone);
      if (drawers.room()) drawers.add(id);
    } else if (random() % 2 == 0 && drawers.room()) {
      drawers.move(id);
    } else {
      drawers.remove(id);
    }
    if (step % 5000 == 0) drawers.verify();
  }
  drawers.verify();
}

TEST_CASE("IdMap: coming and going ids leave no traces that pile up") {
  Drawers drawers(8);
  for (std::int64_t id = 0; id < 4; ++id) drawers.add(id);
  const std::size_t bytes = drawers.bytes();
  for (std::int64_t id = 4; id < 20000; ++id) {
    drawers.add(id);
    drawers.remove(id - 4);
  }
  drawers.verify();
  CHECK(drawers.bytes() <= 4 * bytes);
}

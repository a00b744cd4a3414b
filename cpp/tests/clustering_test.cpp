// The books of publisher clustering: a worked example, and recounting after many joins, moves and departures.
#include "pubmatch/clustering.hpp"

#include <doctest/doctest.h>

#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace pubmatch;

namespace {

AttributeMask mask(std::uint64_t low) { return {low, 0, 0, 0}; }

// As strategy 4 does it.
int join_by_cost(ClusterBooks& books, const std::vector<int>& attributes, std::int64_t limit) {
  books.begin(attributes, limit);
  books.create_each();
  const int number = books.finish();
  while (books.excess(number) > 0) books.relieve(number, books.cheapest_relief(number));
  return number;
}

std::vector<int> draw(std::mt19937& random) {
  std::vector<int> attributes;
  for (int attribute = 0; attribute < 8; ++attribute) {
    if (random() % 3 == 0) attributes.push_back(attribute * 30);  // in every word of the mask
  }
  if (attributes.empty()) attributes.push_back(0);
  return attributes;
}

}  // namespace

TEST_CASE("a split connects holders and drops who keeps nothing (figure 4.1)") {
  ClusterBooks books;
  books.begin(std::vector{0, 1}, kUnlimited);
  CHECK(books.create({}) == 1);
  const int first = books.finish();
  books.begin(std::vector{0, 2}, kUnlimited);
  CHECK(books.split(1, false) == 2);
  CHECK(books.create({}) == 3);
  const int second = books.finish();
  CHECK(books.clusters_of(first) == std::vector<std::int64_t>{1, 2});
  CHECK(books.clusters_of(second) == std::vector<std::int64_t>{2, 3});
  CHECK(books.owner(mask(1)) == 2);
  CHECK(books.owner(mask(6)) == 0);
  CHECK(books.deliveries() == books.useful());
  CHECK(books.check().empty());
}

TEST_CASE("impossible calls are refused") {
  ClusterBooks books;
  CHECK_THROWS_AS(books.begin({}, 1), std::invalid_argument);
  CHECK_THROWS_AS(books.begin(std::vector{256}, 1), std::invalid_argument);
  CHECK_THROWS_AS(books.begin(std::vector{0}, 0), std::invalid_argument);
  CHECK_THROWS_AS(books.view(1), std::invalid_argument);
  books.begin(std::vector{0}, 1);
  books.create({});
  books.finish();
  books.begin(std::vector{0, 1}, 1);
  CHECK_THROWS_AS(books.split(1, false), std::invalid_argument);  // would empty the cluster
}

TEST_CASE("what is counted along the way is what recounting gives") {
  std::mt19937 random(7);
  ClusterBooks books;
  std::vector<std::pair<int, std::int64_t>> present;
  for (int step = 0; step < 600; ++step) {
    if (random() % 3 != 0 || present.empty()) {
      const auto limit = static_cast<std::int64_t>(1 + random() % 9);
      present.emplace_back(join_by_cost(books, draw(random), limit), limit);
      const std::int64_t before = books.deliveries();
      const std::size_t moved = books.improve(present.back().first, 20, random());
      CHECK((moved == 0 ? books.deliveries() == before : books.deliveries() < before));
    } else {
      const std::size_t chosen = random() % present.size();
      books.leave(present[chosen].first, present[chosen].second);
      present.erase(present.begin() + static_cast<std::ptrdiff_t>(chosen));
    }
    REQUIRE(books.check() == "");
  }
  for (const auto& [number, limit] : present) books.leave(number, limit);
  CHECK(books.cluster_count() == 0);
  CHECK(books.combination_count() == 0);
  CHECK(books.check() == "");
}

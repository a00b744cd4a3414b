// Saving while others update: every file is one published state, whole.
#include <doctest/doctest.h>

#include <atomic>
#include <thread>

#include "file_fixtures.hpp"

using namespace pubmatch;
using namespace pubmatch::test;

TEST_CASE("file: a tree is saved while it is updated") {
  for (const Params& params : {kPaper, kBitmap, kSmallBitmap}) {
    const auto tree = make_tree<float>({"updated", 300, 4, 0.2, 0, params});
    std::atomic<bool> done{false};
    std::thread writer([&] {
      const std::vector<float> lower(8 * 4, 0.25F);
      const std::vector<float> upper(8 * 4, 0.5F);
      for (int round = 0; round < 60; ++round) {
        const std::vector<std::int64_t> ids = tree->insert({lower.data(), upper.data(), 8, 4}, nullptr);
        tree->erase(ids.data(), 4);
      }
      done = true;
    });
    do {
      const AnyTree saved = from_bytes(to_bytes(*tree));
      const Tree<float>& other = *std::get<std::shared_ptr<Tree<float>>>(saved);
      CHECK_NOTHROW(other.check());
      CHECK((other.size() - 300) % 4 == 0);
    } while (!done);
    writer.join();
    const AnyTree last = from_bytes(to_bytes(*tree));
    CHECK(std::get<std::shared_ptr<Tree<float>>>(last)->size() == 300 + 60 * 4);
  }
}

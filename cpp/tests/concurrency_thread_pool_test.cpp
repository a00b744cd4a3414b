// run_parallel: every part once, all at the same time, errors handed on, calls inside calls, and after a fork.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include "pubmatch/thread_pool.hpp"

using namespace pubmatch;

TEST_CASE("thread pool: every part runs once, the first on the calling thread") {
  for (const std::size_t threads : {1u, 2u, 3u, 8u, 5u}) {
    std::vector<std::atomic<int>> runs(threads);
    std::thread::id first;
    run_parallel(threads, [&](std::size_t part) {
      ++runs[part];
      if (part == 0) first = std::this_thread::get_id();
    });
    for (const std::atomic<int>& count : runs) CHECK(count == 1);
    CHECK(first == std::this_thread::get_id());
  }
}

TEST_CASE("thread pool: threads roused in time, too early, in vain or too few run every part once") {
  for (const std::size_t roused : {1u, 2u, 8u, 4u}) {
    for (const bool late : {false, true}) {
      rouse_threads(roused);
      if (late) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::vector<std::atomic<int>> runs(4);
      run_parallel(4, [&](std::size_t part) { ++runs[part]; });
      for (const std::atomic<int>& count : runs) CHECK(count == 1);
    }
    rouse_threads(roused);
  }
}

TEST_CASE("thread pool: parts run at the same time") {
  // Nobody passes the barrier before all four have come.
  std::barrier meeting(4);
  std::atomic<int> passed{0};
  run_parallel(4, [&](std::size_t) {
    meeting.arrive_and_wait();
    ++passed;
  });
  CHECK(passed == 4);
}

TEST_CASE("thread pool: an exception is handed on after all parts have ended") {
  for (const std::size_t thrower : {0u, 2u}) {
    std::atomic<int> ended{0};
    CHECK_THROWS_WITH_AS(run_parallel(4,
                                      [&](std::size_t part) {
                                        if (part == thrower) throw std::runtime_error("part fails");
                                        std::this_thread::sleep_for(std::chrono::milliseconds(5));
                                        ++ended;
                                      }),
                         "part fails", std::runtime_error);
    CHECK(ended == 3);
  }
  CHECK_THROWS_AS(run_parallel(1, [](std::size_t) { throw std::logic_error("alone"); }), std::logic_error);
  int runs = 0;
  run_parallel(1, [&](std::size_t) { ++runs; });
  CHECK(runs == 1);
}

TEST_CASE("thread pool: many callers, and calls from inside parts") {
  std::atomic<long> total{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 50; ++round)
        run_parallel(3, [&](std::size_t) {
          run_parallel(2, [&](std::size_t inner) { total += 1 + static_cast<long>(inner); });
        });
    });
  for (std::thread& caller : callers) caller.join();
  CHECK(total == 4L * 50 * 3 * (1 + 2));
}

// ThreadSanitizer cannot follow a process that forks while it has threads.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("thread pool: a forked child starts its own threads") {
  run_parallel(3, [](std::size_t) {});
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::atomic<int> runs{0};
    std::barrier meeting(3);  // passed only if there are three threads
    run_parallel(3, [&](std::size_t) {
      meeting.arrive_and_wait();
      ++runs;
    });
    _exit(runs == 3 ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}
#endif

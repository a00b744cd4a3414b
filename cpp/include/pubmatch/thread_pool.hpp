// The threads that `threads=k` uses. None exists before the first call that asks for more than one.
#pragma once

#include <cstddef>
#include <functional>

namespace pubmatch {

// Runs work(0) … work(threads - 1) at the same time, work(0) on the calling thread, and waits for all. The first
// exception is rethrown. After a fork the child starts its own threads.
void run_parallel(std::size_t threads, const std::function<void(std::size_t)>& work);

inline constexpr std::size_t kMaxThreads = 1024;

// Tells the pool that a run_parallel() of as many threads is about to come: waking up takes them about as long as making a
// batch ready.
void rouse_threads(std::size_t threads);

}  // namespace pubmatch

#include "pubmatch/thread_pool.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace pubmatch {

namespace {

// Looks at the others' progress before a thread goes to sleep: a few tens of microseconds, what waking up costs.
constexpr std::size_t kPatience = 1000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

struct Call {
  const std::function<void(std::size_t)>* work;
  std::atomic<std::size_t> pending;
  std::exception_ptr failure;
  std::condition_variable done;
};

struct Task {
  Call* call;
  std::size_t part;
};

class Pool {
 public:
  pid_t owner() const { return owner_; }

  void rouse(std::size_t threads) {
    {
      const std::lock_guard lock(mutex_);
      hire(threads - 1);
      roused_ = std::min(threads - 1, workers_);
    }
    wake(threads - 1);
  }

  void run(std::size_t threads, const std::function<void(std::size_t)>& work) {
    Call call{&work, threads - 1, nullptr, {}};
    {
      const std::lock_guard lock(mutex_);
      hire(threads - 1);
      queue(call, threads);
    }
    wake(threads - 1);
    std::exception_ptr own;
    try {
      work(0);
    } catch (...) {
      own = std::current_exception();
    }
    std::size_t patience = kPatience;
    std::unique_lock lock(mutex_);
    // Parts nobody has taken yet are done here rather than waited for.
    while (call.pending != 0) {
      const Task task = take(&call);
      if (task.call == nullptr && patience == 0) {
        call.done.wait(lock, [&] { return call.pending == 0; });
        break;
      }
      lock.unlock();
      if (task.call != nullptr)
        perform(task);
      else
        for (; patience != 0 && call.pending != 0; --patience) pause();
      lock.lock();
    }
    if (own == nullptr) own = call.failure;
    if (own != nullptr) std::rethrow_exception(own);
  }

 private:
  // With the mutex held. Where the system gives no more threads, there are fewer workers: the caller does what nobody takes.
  void hire(std::size_t workers) {
    try {
      for (; workers_ < workers; ++workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
    }
  }

  // All parts of the call but the first, or none; with the mutex held.
  void queue(Call& call, std::size_t threads) {
    try {
      for (std::size_t part = 1; part < threads; ++part) tasks_.push_back({&call, part});
    } catch (...) {
      std::erase_if(tasks_, [&](const Task& task) { return task.call == &call; });
      throw;
    }
    queued_ = tasks_.size();
  }

  // No more workers than are wanted: others would only get into their way.
  void wake(std::size_t workers) {
    for (std::size_t i = 0; i < workers; ++i) wake_.notify_one();
  }

  // The next task, of one call or of any; with the mutex held.
  Task take(const Call* of) {
    for (auto it = tasks_.begin(); it != tasks_.end(); ++it) {
      if (of != nullptr && it->call != of) continue;
      const Task task = *it;
      tasks_.erase(it);
      queued_ = tasks_.size();
      return task;
    }
    return {nullptr, 0};
  }

  void perform(const Task& task) {
    std::exception_ptr failure;
    try {
      (*task.call->work)(task.part);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    if (failure != nullptr && task.call->failure == nullptr) task.call->failure = failure;
    if (--task.call->pending == 0) task.call->done.notify_all();
  }

  void serve() {
    for (;;) {
      Task task{};
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return !tasks_.empty() || roused_ != 0; });
        if (roused_ != 0) --roused_;
        task = take(nullptr);
      }
      if (task.call != nullptr)
        perform(task);
      else
        for (std::size_t looks = 0; looks < kPatience && queued_ == 0; ++looks) pause();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Task> tasks_;
  std::atomic<std::size_t> queued_ = 0;  // tasks, to be looked at without the mutex
  std::size_t roused_ = 0;               // workers that should wake up though there is no task yet
  std::size_t workers_ = 0;
  const pid_t owner_ = getpid();
};

// Never destroyed: its detached threads may outlive main. A forked child has none of them and makes its own pool; no lock
// is taken on the way, for a lock held by another thread at the fork would stay locked in the child.
Pool& pool() {
  static std::atomic<Pool*> current = nullptr;
  Pool* found = current.load();
  while (found == nullptr || found->owner() != getpid()) {
    Pool* fresh = new Pool;
    if (current.compare_exchange_strong(found, fresh)) return *fresh;
    delete fresh;
  }
  return *found;
}

}  // namespace

void rouse_threads(std::size_t threads) {
  if (threads > 1) pool().rouse(threads);
}

void run_parallel(std::size_t threads, const std::function<void(std::size_t)>& work) {
  if (threads <= 1) {
    work(0);
    return;
  }
  pool().run(threads, work);
}

}  // namespace pubmatch

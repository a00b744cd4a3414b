// BatchSearch (paper, figure 2): the events of a batch, finished one after another, shortest job first.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "pubmatch/matches.hpp"
#include "pubmatch/workload_table.hpp"

namespace pubmatch {

enum class Order : std::uint8_t { kFifo = 0, kSjf = 1 };

struct SearchOptions {
  Order order = Order::kSjf;
  std::size_t level = 1;  // for SJF: 1 … height
  bool model = false;     // for SJF at level 1: order by the WorkloadModel where there is one, else as given
  std::size_t threads = 1;
  bool sort = false;
  bool count_only = false;
};

// The ids of a worker's finished events lie one after another in its arena; events searched together have each their own
// buffer.
struct Finished {
  std::uint32_t worker = 0;
  std::size_t first = 0;
  std::size_t count = 0;
  double response_s = 0;
};

template <class T>
class BatchSearch {
 public:
  BatchSearch(const Version<T>& version, const EventBatch<T>& batch, const SearchOptions& options, double started);
  ~BatchSearch();

  // Finishes every event.
  void run() { run_until(order_.size()); }
  // Finishes the next events in order, until at least `target` are done in all.
  void run_until(std::size_t target);

  const std::vector<std::uint32_t>& order() const { return order_; }
  const Finished& finished(std::size_t event) const { return finished_[event]; }
  // The matches of the given events, in the given order of events.
  Matches collect(const std::uint32_t* events, std::size_t count) const;
  Matches matches();                                 // of the whole batch, after run()
  void forget(std::size_t first, std::size_t last);  // the ids of these events of the order have been collected

 private:
  struct Worker;
  void divide(const std::vector<double>& work);
  std::size_t end_of_group(std::size_t first) const;
  bool take_group(std::size_t target, std::size_t& first, std::size_t& last);
  void descend(Worker& worker, std::size_t first, std::size_t last) const;
  void start(Worker& worker, std::size_t size) const;
  void start_from_table(Worker& worker, std::size_t size) const;
  void scan_together(std::size_t first, std::size_t last);
  void scan_apart(std::size_t part, std::size_t first, std::size_t last);
  LeafScan<T> leaf_scan(const Worker& visits, Worker& finds) const;
  IdBuffer& own_ids(Worker& lead, std::size_t i);
  void open_sink(Worker& worker, std::size_t i, IdBuffer& buffer) const;
  void close_sink(Worker& worker, std::size_t part, std::size_t i);

  const Version<T>& version_;
  const EventBatch<T>& batch_;
  SearchOptions options_;
  double started_;
  std::unique_ptr<WorkloadTable<T>> table_;
  std::vector<std::uint32_t> order_;
  std::vector<Finished> finished_;
  bool apart_;         // every event goes through its leaves by itself, those of a group one after the other
  std::size_t group_;  // events carried down together, and unless apart taken through the leaves together
  bool together_;      // events share their leaves, and their ids are wanted
  std::vector<std::size_t> ends_;  // of groups of equal work, in the order of events; empty: all have group_ events
  std::vector<IdBuffer> own_ids_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<std::size_t> next_{0};
  std::size_t done_ = 0;
};

// Seconds on a clock that only runs forward.
double now_s();

extern template class BatchSearch<float>;
extern template class BatchSearch<double>;

}  // namespace pubmatch

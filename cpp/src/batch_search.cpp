#include "pubmatch/batch_search.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include "pubmatch/thread_pool.hpp"

namespace pubmatch {

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

namespace {

void grow(Sink& sink) {
  sink.buffer->reserve(std::max<std::size_t>(256, 2 * sink.buffer->capacity()));
  sink.ids = sink.buffer->data();
  sink.capacity = sink.buffer->capacity();
}

// No larger than leaves every thread a share of the batch.
std::size_t shared_group(std::size_t group, std::size_t events, std::size_t threads) {
  return std::min(group, std::max<std::size_t>(1, (events + threads - 1) / threads));
}

}  // namespace

// One thread's scratch memory.
template <class T>
struct BatchSearch<T>::Worker {
  Worker(const Version<T>& version, const EventBatch<T>& batch, std::size_t group)
      : intersect(version, batch), sinks(group) {}

  BatchIntersect<T> intersect;
  IntersectBuffer<T> current, next;
  std::vector<std::uint32_t> rows;  // the group's events
  std::vector<std::uint32_t> places;
  std::vector<Sink> sinks;
  IdBuffer arena;
};

template <class T>
BatchSearch<T>::BatchSearch(const Version<T>& version, const EventBatch<T>& batch, const SearchOptions& options,
                            double started)
    : version_(version),
      batch_(batch),
      options_(options),
      started_(started),
      finished_(batch.size()),
      group_(shared_group(version.group, batch.size(), options.threads)),
      together_(group_ > 1 && !options.count_only) {
  if (options.order == Order::kSjf && options.level > 1) {
    table_ = std::make_unique<WorkloadTable<T>>(version, batch, options.level);
    order_ = table_->sorted();
  } else if (options.order == Order::kSjf && options.model && batch.size() > 1 && version.model() != nullptr) {
    order_ = version.model()->sorted(batch);
  } else {
    order_.resize(batch.size());
    std::iota(order_.begin(), order_.end(), 0u);
  }
  if (together_) own_ids_.resize(batch.size());
  const std::size_t workers = std::min(options_.threads, std::max<std::size_t>(1, batch.size()));
  for (std::size_t i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>(version, batch, group_));
}

template <class T>
BatchSearch<T>::~BatchSearch() = default;

template <class T>
bool BatchSearch<T>::take_group(std::size_t target, std::size_t& first, std::size_t& last) {
  first = next_.load();
  do {
    if (first >= target) return false;
    last = std::min(first + group_, order_.size());
  } while (!next_.compare_exchange_weak(first, last));
  return true;
}

// Free workers take the next group in order: the shortest jobs first, whatever the number of threads.
template <class T>
void BatchSearch<T>::run_until(std::size_t target) {
  run_parallel(workers_.size(), [&](std::size_t part) {
    std::size_t first = 0;
    std::size_t last = 0;
    while (take_group(target, first, last)) search_group(part, first, last);
  });
  done_ = next_.load();
}

// The nodes the group's events stopped at, each with its events, in the order of the table's nodes.
template <class T>
void BatchSearch<T>::start_from_table(Worker& worker, std::size_t size) const {
  IntersectBuffer<T>& buffer = worker.current;
  buffer.clear();
  const std::vector<const Node<T>*>& nodes = table_->nodes();
  if (size == 1) {
    buffer.events.push_back(0);
    for (const std::uint32_t node : table_->list(worker.rows[0])) buffer.visits.push_back({nodes[node], 0, 1});
    return;
  }
  std::vector<std::uint32_t>& place = worker.places;
  place.assign(nodes.size() + 1, 0);
  for (std::size_t i = 0; i < size; ++i)
    for (const std::uint32_t node : table_->list(worker.rows[i])) ++place[node + 1];
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    place[n + 1] += place[n];
    if (place[n + 1] != place[n]) buffer.visits.push_back({nodes[n], place[n], place[n + 1]});
  }
  buffer.events.resize(place.back());
  for (std::size_t i = 0; i < size; ++i)
    for (const std::uint32_t node : table_->list(worker.rows[i]))
      buffer.events[place[node]++] = static_cast<std::uint32_t>(i);
}

// The lines that the next event's search begins with: else every event would start by waiting.
template <class T>
void BatchSearch<T>::prefetch_start(std::size_t row) const {
  constexpr std::size_t kLeaves = 3;
  constexpr std::size_t kLines = 8;
  const std::span<const std::uint32_t> list = table_->list(row);
  for (std::size_t i = 0; i < std::min(kLeaves, list.size()); ++i) {
    const Node<T>& node = *table_->nodes()[list[i]];
    if (!node.bitmap_leaf() || !node.dense) return;
    const std::uint32_t* chosen = batch_.dense_leaf(row);
    for (std::size_t j = 0; j < std::min<std::size_t>(kLines, node.active); ++j)
      __builtin_prefetch(node.line_words + std::size_t{chosen[j]} * kLineWords);
  }
}

template <class T>
void BatchSearch<T>::search_group(std::size_t part, std::size_t first, std::size_t last) {
  Worker& worker = *workers_[part];
  const std::size_t size = last - first;
  worker.rows.assign(order_.begin() + static_cast<std::ptrdiff_t>(first),
                     order_.begin() + static_cast<std::ptrdiff_t>(last));
  if (table_ != nullptr)
    start_from_table(worker, size);
  else
    worker.current.start(version_.root, size);
  while (!worker.current.visits.empty() && !worker.current.visits.front().node->leaf()) {
    worker.intersect.descend(worker.current, worker.rows.data(), worker.next);
    std::swap(worker.current, worker.next);
  }

  for (std::size_t i = 0; i < size; ++i) {
    IdBuffer& buffer = together_ ? own_ids_[worker.rows[i]] : worker.arena;
    const std::size_t used = options_.count_only ? 0 : buffer.size;
    worker.sinks[i] = Sink{buffer.data(), used, buffer.capacity(), options_.count_only, &buffer};
  }
  LeafScan<T> scan;
  scan.visits = worker.current.visits.data();
  scan.visit_count = worker.current.visits.size();
  scan.events = worker.current.events.data();
  scan.rows = worker.rows.data();
  scan.batch = &batch_;
  scan.leaf_line_counts = version_.factory->cuts().leaf_lines();
  scan.sinks = worker.sinks.data();
  scan.grow = grow;
  if (table_ != nullptr && size == 1 && last < order_.size()) prefetch_start(order_[last]);
  active_kernels().set<T>().scan_leaves(scan);

  for (std::size_t i = 0; i < size; ++i) {
    Sink& sink = worker.sinks[i];
    Finished& finished = finished_[worker.rows[i]];
    finished.worker = static_cast<std::uint32_t>(part);
    finished.first = 0;
    finished.count = sink.size;
    if (options_.count_only) continue;
    IdBuffer& buffer = *sink.buffer;
    finished.first = buffer.size;
    finished.count -= buffer.size;
    buffer.size = sink.size;
    if (options_.sort) std::sort(buffer.data() + finished.first, buffer.data() + buffer.size);
  }
  const double response = now_s() - started_;
  for (std::size_t i = 0; i < size; ++i) finished_[worker.rows[i]].response_s = response;
}

template <class T>
Matches BatchSearch<T>::collect(const std::uint32_t* events, std::size_t count) const {
  Matches result;
  result.level = static_cast<int>(options_.level);
  result.offsets.resize(count + 1);
  result.response_s.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Finished& event = finished_[events[i]];
    result.offsets[i + 1] = result.offsets[i] + static_cast<std::int64_t>(event.count);
    result.response_s[i] = event.response_s;
  }
  if (options_.count_only) return result;
  result.ids.reserve(static_cast<std::size_t>(result.offsets[count]));
  result.ids.size = static_cast<std::size_t>(result.offsets[count]);
  for (std::size_t i = 0; i < count; ++i) {
    const Finished& event = finished_[events[i]];
    if (event.count == 0) continue;
    const IdBuffer& buffer = together_ ? own_ids_[events[i]] : workers_[event.worker]->arena;
    std::memcpy(result.ids.data() + result.offsets[i], buffer.data() + event.first, event.count * sizeof(std::int64_t));
  }
  return result;
}

template <class T>
Matches BatchSearch<T>::matches() {
  std::vector<std::uint32_t> all(batch_.size());
  std::iota(all.begin(), all.end(), 0u);
  const bool in_place = workers_.size() == 1 && !together_ && order_ == all && !options_.count_only;
  const bool count_only = std::exchange(options_.count_only, in_place || options_.count_only);
  Matches result = collect(all.data(), all.size());
  options_.count_only = count_only;
  // Finished in the order given, by one thread: the arena is the result.
  if (in_place) result.ids = std::move(workers_[0]->arena);
  result.order.assign(order_.begin(), order_.end());
  return result;
}

template <class T>
void BatchSearch<T>::drop_arena() {
  for (const std::unique_ptr<Worker>& worker : workers_) worker->arena.size = 0;
  for (std::size_t i = 0; together_ && i < done_; ++i) own_ids_[order_[i]] = IdBuffer();
}

template class BatchSearch<float>;
template class BatchSearch<double>;

}  // namespace pubmatch

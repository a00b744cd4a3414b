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

void reserve(Sink& sink, std::size_t capacity) {
  sink.buffer->reserve(capacity);
  sink.ids = sink.buffer->data();
  sink.capacity = sink.buffer->capacity();
}

void grow(Sink& sink) { reserve(sink, std::max(IdBuffer::kFirst, 2 * sink.buffer->capacity())); }

// Adds what another sink of the same event found.
void add_finds(Sink& sink, const Sink& other) {
  if (!sink.counting && other.size != 0) {
    reserve(sink, sink.size + other.size);
    std::memcpy(sink.ids + sink.size, other.ids, other.size * sizeof(std::int64_t));
  }
  sink.size += other.size;
}

// Events that go through their leaves one by one are carried down in groups of this size, so that what the next one reads
// is on its way while one is searched.
constexpr std::size_t kConvoy = 16;

// Where the share of a part begins when a buffer's visits are dealt out so that all parts have as many events in them.
template <class T>
std::size_t share_of_visits(const IntersectBuffer<T>& buffer, std::size_t part, std::size_t parts) {
  const std::size_t target = buffer.events.size() * part / parts;
  const auto begin = std::partition_point(buffer.visits.begin(), buffer.visits.end(),
                                          [&](const Visit<T>& visit) { return visit.first < target; });
  return static_cast<std::size_t>(begin - buffer.visits.begin());
}

// A group of equal work has at most as many events as this many groups of equal size: what has finished early should be
// told early, and a stream keeps what it has not told.
constexpr std::size_t kMostGroups = 4;

constexpr std::size_t kWorthSharing = std::size_t{1} << 15;  // ids to copy, from which several threads do it

// Several threads take smaller ones the fewer events are left, so that the last to finish keeps the others waiting less.
constexpr std::size_t kConvoysPerThread = 4;

std::size_t convoy(std::size_t left, std::size_t threads) {
  if (threads == 1) return kConvoy;
  return std::clamp<std::size_t>(left / (threads * kConvoysPerThread), 2, kConvoy);
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
  std::vector<IdBuffer> found;  // of the group's events, in the leaves this worker took
};

template <class T>
BatchSearch<T>::BatchSearch(const Version<T>& version, const EventBatch<T>& batch, const SearchOptions& options,
                            double started)
    : version_(version),
      batch_(batch),
      options_(options),
      started_(started),
      finished_(batch.size()),
      apart_(version.group == 1),
      group_(apart_ ? kConvoy : version.group),
      together_(!apart_ && !options.count_only) {
  if (options.order == Order::kSjf && options.level > 1) {
    table_ = std::make_unique<WorkloadTable<T>>(version, batch, options.level);
    order_ = table_->sorted();
  } else if (options.order == Order::kSjf && options.model && batch.size() > 1 && version.model() != nullptr) {
    const std::vector<double> work = version.model()->workloads(batch);
    order_ = shortest_first(work);
    if (!apart_) divide(work);
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

// Events that share their leaves finish together, when the last of them is done. So the first groups, of short jobs, have
// more events and the last ones fewer: all take about as long. Jobs of next to no work wait for no more than some groups.
template <class T>
void BatchSearch<T>::divide(const std::vector<double>& work) {
  const std::size_t groups = (order_.size() + group_ - 1) / group_;
  if (groups < 2) return;
  std::vector<double> done(order_.size());  // the work of the events up to each one, in order
  std::transform(order_.begin(), order_.end(), done.begin(), [&](std::uint32_t event) { return work[event]; });
  std::partial_sum(done.begin(), done.end(), done.begin());
  for (std::size_t g = 1; g <= groups; ++g) {
    const double target = done.back() * static_cast<double>(g) / static_cast<double>(groups);
    const auto end = g == groups
                         ? done.size()
                         : static_cast<std::size_t>(std::upper_bound(done.begin(), done.end(), target) - done.begin());
    std::size_t first = ends_.empty() ? 0 : ends_.back();
    for (; end - first > kMostGroups * group_; first += kMostGroups * group_)
      ends_.push_back(first + kMostGroups * group_);
    if (end > first) ends_.push_back(end);
  }
}

template <class T>
std::size_t BatchSearch<T>::end_of_group(std::size_t first) const {
  if (apart_) return std::min(first + convoy(order_.size() - first, workers_.size()), order_.size());
  if (ends_.empty()) return std::min(first + group_, order_.size());
  return *std::upper_bound(ends_.begin(), ends_.end(), first);
}

template <class T>
bool BatchSearch<T>::take_group(std::size_t target, std::size_t& first, std::size_t& last) {
  first = next_.load();
  do {
    if (first >= target) return false;
    last = end_of_group(first);
  } while (!next_.compare_exchange_weak(first, last));
  return true;
}

// Free workers take the next group in order: the shortest jobs first, whatever the number of threads. Where events share
// their leaves, a smaller group would share less, so all workers take leaves of the same group.
template <class T>
void BatchSearch<T>::run_until(std::size_t target) {
  const auto run_groups = [&](const auto& scan) {
    std::size_t first = 0;
    std::size_t last = 0;
    while (take_group(target, first, last)) scan(first, last);
  };
  if (apart_)
    run_parallel(workers_.size(), [&](std::size_t part) {
      run_groups([&](std::size_t first, std::size_t last) { scan_apart(part, first, last); });
    });
  else
    run_groups([&](std::size_t first, std::size_t last) { scan_together(first, last); });
  done_ = next_.load();
}

// The nodes the group's search begins with, each with its events.
template <class T>
void BatchSearch<T>::start(Worker& worker, std::size_t size) const {
  IntersectBuffer<T>& buffer = worker.current;
  if (table_ == nullptr) {
    if (apart_)
      buffer.start_apart(version_.root, size);
    else
      buffer.start(version_.root, size);
  } else if (apart_) {
    buffer.clear();
    for (std::uint32_t i = 0; i < size; ++i) {
      buffer.events.push_back(i);
      for (const std::uint32_t at : table_->list(worker.rows[i])) {
        const Node<T>* node = table_->nodes()[at];
        const std::uint64_t* lines = table_->lines()[at];
        if (lines == nullptr) __builtin_prefetch(node);
        buffer.visits.push_back({node, i, i + 1, lines});
      }
    }
  } else {
    start_from_table(worker, size);
  }
}

// The nodes the group's events stopped at, each with its events, in the order of the table's nodes.
template <class T>
void BatchSearch<T>::start_from_table(Worker& worker, std::size_t size) const {
  IntersectBuffer<T>& buffer = worker.current;
  buffer.clear();
  const std::vector<const Node<T>*>& nodes = table_->nodes();
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

// Carries the events of a group down to their leaves.
template <class T>
void BatchSearch<T>::descend(Worker& worker, std::size_t first, std::size_t last) const {
  const std::size_t size = last - first;
  worker.rows.assign(order_.begin() + static_cast<std::ptrdiff_t>(first),
                     order_.begin() + static_cast<std::ptrdiff_t>(last));
  start(worker, size);
  while (!worker.current.visits.empty() && !worker.current.visits.front().node->leaf()) {
    worker.intersect.descend(worker.current, worker.rows.data(), worker.next);
    std::swap(worker.current, worker.next);
  }
}

template <class T>
LeafScan<T> BatchSearch<T>::leaf_scan(const Worker& visits, Worker& finds) const {
  LeafScan<T> scan;
  scan.visits = visits.current.visits.data();
  scan.visit_count = visits.current.visits.size();
  scan.events = visits.current.events.data();
  scan.rows = visits.rows.data();
  scan.sinks = finds.sinks.data();
  scan.batch = &batch_;
  scan.leaf_line_counts = version_.factory->cuts().leaf_lines();
  scan.grow = grow;
  return scan;
}

// Every worker takes an equal share of the events' visits, the first writes straight to where an event's ids are kept, and
// the others' finds are added in turn: ids come in the same order whatever the number of threads.
template <class T>
void BatchSearch<T>::scan_together(std::size_t first, std::size_t last) {
  Worker& lead = *workers_[0];
  descend(lead, first, last);
  const std::size_t size = last - first;
  const std::size_t parts = workers_.size();
  for (const std::unique_ptr<Worker>& worker : workers_) worker->sinks.resize(std::max(worker->sinks.size(), size));
  run_parallel(parts, [&](std::size_t part) {
    Worker& worker = *workers_[part];
    if (part != 0) worker.found.resize(size);
    for (std::size_t i = 0; i < size; ++i) open_sink(worker, i, part == 0 ? own_ids(lead, i) : worker.found[i]);
    LeafScan<T> scan = leaf_scan(lead, worker);
    const std::size_t from = share_of_visits(lead.current, part, parts);
    scan.visits += from;
    scan.visit_count = share_of_visits(lead.current, part + 1, parts) - from;
    active_kernels().set<T>().scan_leaves(scan);
  });
  run_parallel(parts, [&](std::size_t part) {
    for (std::size_t i = part; i < size; i += parts) {
      for (std::size_t other = 1; other < parts; ++other) add_finds(lead.sinks[i], workers_[other]->sinks[i]);
      close_sink(lead, 0, i);
    }
  });
  const double response = now_s() - started_;
  for (std::size_t i = 0; i < size; ++i) finished_[lead.rows[i]].response_s = response;
}

// The visits of one event after those of the one before it.
template <class T>
void BatchSearch<T>::scan_apart(std::size_t part, std::size_t first, std::size_t last) {
  Worker& worker = *workers_[part];
  descend(worker, first, last);
  const std::size_t size = last - first;
  LeafScan<T> scan = leaf_scan(worker, worker);
  scan.apart = true;
  const Visit<T>* const end = scan.visits + scan.visit_count;
  for (std::size_t i = 0; i < size; ++i) {
    const Visit<T>* last = scan.visits;
    while (last != end && scan.events[last->first] == i) ++last;
    scan.visit_count = static_cast<std::size_t>(last - scan.visits);
    scan.visits_behind = static_cast<std::size_t>(end - last);
    open_sink(worker, i, worker.arena);
    active_kernels().set<T>().scan_leaves(scan);
    close_sink(worker, part, i);
    finished_[worker.rows[i]].response_s = now_s() - started_;
    scan.visits = last;
    scan.begins = false;
  }
}

// Where the ids of an event that shares its leaves with others are kept; none are kept where they are only counted.
template <class T>
IdBuffer& BatchSearch<T>::own_ids(Worker& lead, std::size_t i) {
  return together_ ? own_ids_[lead.rows[i]] : lead.arena;
}

template <class T>
void BatchSearch<T>::open_sink(Worker& worker, std::size_t i, IdBuffer& buffer) const {
  const std::size_t used = options_.count_only ? 0 : buffer.size;
  worker.sinks[i] = Sink{buffer.data(), used, buffer.capacity(), options_.count_only, &buffer};
}

template <class T>
void BatchSearch<T>::close_sink(Worker& worker, std::size_t part, std::size_t i) {
  const Sink& sink = worker.sinks[i];
  Finished& finished = finished_[worker.rows[i]];
  finished.worker = static_cast<std::uint32_t>(part);
  finished.first = 0;
  finished.count = sink.size;
  if (options_.count_only) return;
  IdBuffer& buffer = *sink.buffer;
  finished.first = buffer.size;
  finished.count -= buffer.size;
  buffer.size = sink.size;
  if (options_.sort) std::sort(buffer.data() + finished.first, buffer.data() + buffer.size);
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
  const std::size_t parts = result.ids.size < kWorthSharing ? 1 : workers_.size();
  run_parallel(parts, [&](std::size_t part) {
    for (std::size_t i = part; i < count; i += parts) {
      const Finished& event = finished_[events[i]];
      if (event.count == 0) continue;
      const IdBuffer& buffer = together_ ? own_ids_[events[i]] : workers_[event.worker]->arena;
      std::memcpy(result.ids.data() + result.offsets[i], buffer.data() + event.first,
                  event.count * sizeof(std::int64_t));
    }
  });
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

// An arena can be emptied once all in it has been collected; groups may have finished more events than were asked for.
template <class T>
void BatchSearch<T>::forget(std::size_t first, std::size_t last) {
  if (together_)
    for (std::size_t i = first; i < last; ++i) own_ids_[order_[i]] = IdBuffer();
  else if (last == done_)
    for (const std::unique_ptr<Worker>& worker : workers_) worker->arena.size = 0;
}

template class BatchSearch<float>;
template class BatchSearch<double>;

}  // namespace pubmatch

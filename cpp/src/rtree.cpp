#include "pubmatch/rtree.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "pubmatch/bulk_load.hpp"
#include "pubmatch/check.hpp"
#include "pubmatch/error.hpp"
#include "pubmatch/thread_pool.hpp"
#include "pubmatch/validate.hpp"
#include "pubmatch/writer.hpp"

namespace pubmatch {

namespace {

// Batches beyond this are estimated, and then searched, in pieces: the table and the prepared events stay small.
constexpr std::size_t kPiece = 8192;
constexpr std::size_t kWorthFetching = 16;  // events that read most of the tables of buckets
constexpr std::size_t kWorthModelling = 4;  // of fewer events an order saves less than the model costs
constexpr std::size_t kMaxBoxes = 0xfffffff0u;

template <class T>
std::unique_ptr<Version<T>> empty_version(std::size_t dims, const Params& params) {
  if (dims == 0 || dims > kMaxDims)
    throw ArgumentError("dims must be between 1 and " + std::to_string(kMaxDims) + ", not " + std::to_string(dims));
  validate(params);
  const BoxView<T> none{nullptr, nullptr, 0, dims};
  return bulk_load<T>(none, nullptr, params, {}, 1);
}

void expect_unique(const std::int64_t* ids, std::size_t count) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return ids[a] != ids[b] ? ids[a] < ids[b] : a < b; });
  for (std::size_t i = 1; i < count; ++i)
    if (ids[order[i]] == ids[order[i - 1]])
      throw ArgumentError("duplicate id " + std::to_string(ids[order[i]]) + " at rows " + std::to_string(order[i - 1]) +
                          " and " + std::to_string(order[i]));
}

template <class T>
const Cuts* cuts_of(const Version<T>& version) {
  return version.factory->layout().bitmap ? &version.factory->cuts() : nullptr;
}

}  // namespace

template <class T>
Tree<T>::Tree(std::size_t dims, const Params& params)
    : dims_(dims), params_(params), tuner_(std::make_shared<LevelTuner>()), versions_(empty_version<T>(dims, params)) {}

template <class T>
Tree<T>::Tree(std::size_t dims, const Params& params, std::unique_ptr<Version<T>> version, std::int64_t next_id,
              std::shared_ptr<LevelTuner> tuner, std::shared_ptr<const void> keep)
    : dims_(dims),
      params_(params),
      keep_(std::move(keep)),
      tuner_(std::move(tuner)),
      versions_(std::move(version)),
      next_id_(next_id),
      ids_below_next_(false) {}

template <class T>
Tree<T>::~Tree() = default;

template <class T>
std::shared_ptr<Tree<T>> Tree<T>::build(const BoxView<T>& boxes, const std::int64_t* ids, const Params& params,
                                        std::span<const double> sample) {
  auto tree = std::make_shared<Tree<T>>(boxes.dims, params);
  validate_boxes(boxes);
  if (boxes.size > kMaxBoxes) throw ArgumentError("too many boxes: " + std::to_string(boxes.size));
  std::vector<std::int64_t> own;
  if (ids == nullptr) {
    own.resize(boxes.size);
    std::iota(own.begin(), own.end(), std::int64_t{0});
    ids = own.data();
    tree->next_id_ = static_cast<std::int64_t>(boxes.size);
  } else {
    expect_unique(ids, boxes.size);
    tree->ids_below_next_ = false;
  }
  Garbage<T> garbage;
  gather(tree->versions_.pin()->root, garbage);
  tree->versions_.publish(bulk_load(boxes, ids, params, sample, 2), std::move(garbage));
  return tree;
}

template <class T>
std::vector<std::int64_t> Tree<T>::insert(const BoxView<T>& boxes, const std::int64_t* ids) {
  return replace({}, boxes, ids);
}

template <class T>
std::vector<std::int64_t> Tree<T>::replace(std::span<const std::int64_t> old_ids, const BoxView<T>& boxes,
                                           const std::int64_t* ids) {
  validate_boxes(boxes);
  const std::lock_guard lock(writing_);
  const auto current = versions_.pin();
  if (boxes.size > kMaxBoxes - current->size)
    throw ArgumentError("too many boxes: " + std::to_string(current->size + boxes.size));
  if (boxes.size == 0 && old_ids.empty()) return {};
  std::vector<std::int64_t> given(ids, ids == nullptr ? ids : ids + boxes.size);
  if (ids != nullptr) expect_unique(ids, boxes.size);
  std::int64_t next = next_id_;
  if (ids == nullptr || current->size != 0) {
    if (writer_ == nullptr && current->size != 0 && (ids != nullptr || !ids_below_next_))
      writer_ = std::make_unique<Writer<T>>(*current);
    for (std::size_t i = 0; ids != nullptr && i < boxes.size; ++i)
      if (writer_->contains(ids[i]))
        throw ArgumentError("id " + std::to_string(ids[i]) + " at row " + std::to_string(i) +
                            " is in the index already");
    for (std::size_t i = 0; ids == nullptr && i < boxes.size; ++i) {
      while (!ids_below_next_ && writer_ != nullptr && writer_->contains(next)) ++next;
      given.push_back(next++);
    }
  }

  Garbage<T> garbage;
  std::unique_ptr<Version<T>> version;
  const bool dynamic = current->factory->layout().dynamic;
  const std::size_t updates = current->updates + boxes.size;
  try {
    if (!dynamic && updates >= current->packed_size) {
      version = repacked(*current, old_ids, boxes, given.data());
      gather(current->root, garbage);
      writer_.reset();
    } else {
      if (writer_ == nullptr) writer_ = std::make_unique<Writer<T>>(*current);
      writer_->begin(*current);
      for (const std::int64_t id : old_ids) writer_->erase(id);
      for (std::size_t i = 0; i < boxes.size; ++i) writer_->insert(boxes.lower_row(i), boxes.upper_row(i), given[i]);
      version = writer_->finish(garbage);
      version->packed_size = current->packed_size;
      version->updates = updates;
    }
    // Numbers that an update asked for and did not use are only left out.
    if (ids == nullptr)
      next_id_ = next;
    else
      ids_below_next_ = false;
    publish(std::move(version), std::move(garbage), boxes.size + old_ids.size());
  } catch (...) {
    abandon();
    throw;
  }
  return given;
}

template <class T>
std::size_t Tree<T>::erase(const std::int64_t* ids, std::size_t count) {
  const std::lock_guard lock(writing_);
  const auto current = versions_.pin();
  if (count == 0 || current->size == 0) return 0;
  std::size_t erased = 0;
  Garbage<T> garbage;
  std::unique_ptr<Version<T>> version;
  try {
    if (writer_ == nullptr) writer_ = std::make_unique<Writer<T>>(*current);
    writer_->begin(*current);
    for (std::size_t i = 0; i < count; ++i) erased += writer_->erase(ids[i]) ? 1 : 0;
    if (erased == 0) return 0;
    version = writer_->finish(garbage);
    version->packed_size = current->packed_size;
    version->updates = current->updates;
    publish(std::move(version), std::move(garbage), erased);
  } catch (...) {
    abandon();
    throw;
  }
  return erased;
}

// All boxes but those with an old id, and the new ones, packed afresh: as the data grew since it was packed, so may its
// best layout have changed.
template <class T>
std::unique_ptr<Version<T>> Tree<T>::repacked(const Version<T>& current, std::span<const std::int64_t> old_ids,
                                              const BoxView<T>& boxes, const std::int64_t* ids) const {
  EntryList<T> all(dims_);
  all.lower.reserve((current.size + boxes.size) * dims_);
  all.upper.reserve((current.size + boxes.size) * dims_);
  all.ids.reserve(current.size + boxes.size);
  current.factory->collect(*current.root, all);
  all.remove(std::set<std::int64_t>(old_ids.begin(), old_ids.end()));
  all.lower.insert(all.lower.end(), boxes.lower, boxes.lower + boxes.size * dims_);
  all.upper.insert(all.upper.end(), boxes.upper, boxes.upper + boxes.size * dims_);
  all.ids.insert(all.ids.end(), ids, ids + boxes.size);
  return bulk_load(all.view(), all.ids.data(), params_, {}, current.serial + 1);
}

template <class T>
void Tree<T>::publish(std::unique_ptr<Version<T>> version, Garbage<T> garbage, std::size_t updates) {
  versions_.publish(std::move(version), std::move(garbage));
  writer_bytes_ = writer_ == nullptr ? 0 : writer_->bytes();
  tuner_->updated(static_cast<std::int64_t>(updates));
}

template <class T>
void Tree<T>::abandon() {
  if (writer_ != nullptr) writer_->roll_back();
  writer_.reset();
  writer_bytes_ = 0;
}

// Where the tuner starts: at the root, since nothing is as cheap; with the paper's tree at the leaves (0), as the paper's
// tuner does.
template <class T>
int Tree<T>::first_level(const Version<T>& version) {
  return version.factory->layout().dynamic ? 0 : 1;
}

// A level the caller gives sorts by its path counts alone; "auto" asks the tuner, and at level 1 the WorkloadModel where
// the tree has one.
template <class T>
SearchOptions Tree<T>::search_options(const Version<T>& version, const MatchOptions& options,
                                      std::size_t events) const {
  SearchOptions search{.order = options.order, .threads = options.threads, .sort = options.sort};
  const auto height = static_cast<int>(version.height());
  if (options.level != 0) {
    search.level = std::min(options.level, version.height());
  } else if (options.order == Order::kSjf && events != 0) {
    search.level =
        static_cast<std::size_t>(tuner_->next_level(static_cast<std::int64_t>(events), height, first_level(version)));
    search.model = search.level == 1 && events >= kWorthModelling;
  }
  return search;
}

template <class T>
template <class P>
Matches Tree<T>::match(const P* points, std::size_t count, const MatchOptions& options) {
  const double started = now_s();
  const auto version = versions_.pin();
  const SearchOptions search = search_options(*version, options, count);
  Matches result;
  rouse_threads(std::min(search.threads, count));
  if (count >= kWorthFetching) {
    if (const Cuts* cuts = cuts_of(*version); cuts != nullptr) cuts->prefetch();
    if (search.model && version->model() != nullptr) version->model()->prefetch();
  }
  if (count <= kPiece) {
    const EventBatch<T> batch(points, count, dims_, cuts_of(*version));
    BatchSearch<T> run(*version, batch, search, started);
    run.run();
    result = run.matches();
  } else {
    result = match_in_pieces(*version, points, count, search, started);
  }
  if (options.level == 0 && options.order == Order::kSjf && count != 0) {
    const double mean =
        std::accumulate(result.response_s.begin(), result.response_s.end(), 0.0) / static_cast<double>(count);
    tuner_->record(static_cast<std::int64_t>(count), result.level, mean);
  }
  return result;
}

// Workloads of all events first, piece by piece; then pieces of the sorted events, each in its order.
template <class T>
template <class P>
Matches Tree<T>::match_in_pieces(const Version<T>& version, const P* points, std::size_t count, SearchOptions search,
                                 double started) const {
  Matches result;
  result.level = static_cast<int>(search.level);
  result.order.resize(count);
  std::iota(result.order.begin(), result.order.end(), std::int64_t{0});
  if (search.order == Order::kSjf && (search.level > 1 || (search.model && version.model() != nullptr))) {
    const std::vector<double> workloads =
        search.level > 1 ? path_counts(version, points, count, search.level) : modelled(version, points, count);
    std::stable_sort(result.order.begin(), result.order.end(), [&](std::int64_t a, std::int64_t b) {
      return workloads[static_cast<std::size_t>(a)] < workloads[static_cast<std::size_t>(b)];
    });
  }
  search.order = Order::kFifo;
  result.offsets.assign(count + 1, 0);
  result.response_s.resize(count);
  std::vector<Matches> pieces;
  for (std::size_t first = 0; first < count; first += kPiece) {
    const std::size_t size = std::min(kPiece, count - first);
    std::vector<P> rows(size * dims_);
    for (std::size_t i = 0; i < size; ++i)
      std::copy_n(points + static_cast<std::size_t>(result.order[first + i]) * dims_, dims_, rows.data() + i * dims_);
    const EventBatch<T> batch(rows.data(), size, dims_, cuts_of(version));
    BatchSearch<T> run(version, batch, search, started);
    run.run();
    pieces.push_back(run.matches());
    for (std::size_t i = 0; i < size; ++i) {
      const auto event = static_cast<std::size_t>(result.order[first + i]);
      result.response_s[event] = pieces.back().response_s[i];
      result.offsets[event + 1] = pieces.back().offsets[i + 1] - pieces.back().offsets[i];
    }
  }
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  result.ids.size = static_cast<std::size_t>(result.offsets[count]);
  result.ids.reserve(result.ids.size);
  for (std::size_t i = 0; i < count; ++i) {
    const Matches& piece = pieces[i / kPiece];
    const std::int64_t from = piece.offsets[i % kPiece];
    std::copy(piece.ids.data() + from, piece.ids.data() + piece.offsets[i % kPiece + 1],
              result.ids.data() + result.offsets[static_cast<std::size_t>(result.order[i])]);
  }
  return result;
}

template <class T>
template <class P>
std::vector<double> Tree<T>::path_counts(const Version<T>& version, const P* points, std::size_t count,
                                         std::size_t level) const {
  std::vector<double> result;
  result.reserve(count);
  for (std::size_t first = 0; first < count; first += kPiece) {
    const EventBatch<T> batch(points + first * dims_, std::min(kPiece, count - first), dims_, cuts_of(version));
    const WorkloadTable<T> table(version, batch, level);
    for (std::size_t e = 0; e < table.size(); ++e) result.push_back(table.workload(e));
  }
  return result;
}

template <class T>
template <class P>
std::vector<double> Tree<T>::modelled(const Version<T>& version, const P* points, std::size_t count) const {
  std::vector<double> result;
  result.reserve(count);
  const WorkloadModel<T>& model = *version.model();
  for (std::size_t first = 0; first < count; first += kPiece) {
    const EventBatch<T> batch(points + first * dims_, std::min(kPiece, count - first), dims_, cuts_of(version));
    const std::vector<double> work = model.workloads(batch);
    result.insert(result.end(), work.begin(), work.end());
  }
  return result;
}

template <class T>
template <class P>
std::vector<std::int64_t> Tree<T>::count(const P* points, std::size_t count, std::size_t threads) {
  const auto version = versions_.pin();
  std::vector<std::int64_t> result;
  result.reserve(count);
  for (std::size_t first = 0; first < count; first += kPiece) {
    const EventBatch<T> batch(points + first * dims_, std::min(kPiece, count - first), dims_, cuts_of(*version));
    BatchSearch<T> run(*version, batch, SearchOptions{.order = Order::kFifo, .threads = threads, .count_only = true},
                       0);
    run.run();
    for (std::size_t e = 0; e < batch.size(); ++e) result.push_back(static_cast<std::int64_t>(run.finished(e).count));
  }
  return result;
}

template <class T>
template <class P>
std::vector<std::int64_t> Tree<T>::estimate(const P* points, std::size_t count, std::size_t level) {
  if (count == 0) return {};
  const auto version = versions_.pin();
  bool model = false;
  if (level == 0) {  // what "auto" would use, without taking a turn from the tuner
    level = static_cast<std::size_t>(tuner_->current_level(static_cast<std::int64_t>(count),
                                                           static_cast<int>(version->height()), first_level(*version)));
    model = level == 1 && version->model() != nullptr;
  }
  const std::vector<double> workloads = model
                                            ? modelled(*version, points, count)
                                            : path_counts(*version, points, count, std::min(level, version->height()));
  std::vector<std::int64_t> result(workloads.size());
  std::transform(workloads.begin(), workloads.end(), result.begin(), [](double work) { return std::llround(work); });
  return result;
}

template <class T>
template <class P>
Matches Tree<T>::query(BoxRelation relation, const BoxView<P>& boxes) {
  const auto version = versions_.pin();
  return box_query<T, P>(*version, relation, boxes);
}

template <class T>
template <class P>
std::unique_ptr<MatchStream<T>> Tree<T>::stream(const P* points, std::size_t count, const MatchOptions& options,
                                                std::size_t chunk) {
  auto version = versions_.pin();
  const SearchOptions search = search_options(*version, options, count);
  return std::make_unique<MatchStream<T>>(this->shared_from_this(), std::move(version), points, count, search, chunk);
}

template <class T>
std::size_t Tree<T>::bytes() const {
  return measure(*versions_.pin()).bytes + writer_bytes_;
}

template <class T>
TreeStats Tree<T>::stats() const {
  const auto version = versions_.pin();
  const Measure m = measure(*version);
  const Layout& layout = version->factory->layout();
  TreeStats stats{};
  stats.size = version->size;
  stats.dims = dims_;
  stats.height = version->height();
  stats.nodes = m.nodes;
  stats.leaves = m.leaves;
  stats.bytes = m.bytes + writer_bytes_;
  stats.groups = m.groups;
  stats.boxes_per_leaf = static_cast<double>(version->size) / static_cast<double>(m.leaves);
  stats.active_dims_per_leaf = static_cast<double>(m.active_dims) / static_cast<double>(m.leaves);
  stats.bitmap = layout.bitmap;
  stats.node_capacity = layout.node_capacity;
  stats.leaf_capacity = layout.leaf_capacity;
  stats.buckets = layout.bitmap ? layout.buckets : 0;
  stats.version = version->serial;
  return stats;
}

template <class T>
void Tree<T>::check() const {
  if (source_check_) source_check_();
  pubmatch::check(*versions_.pin());
}

template <class T>
template <class P>
MatchStream<T>::MatchStream(std::shared_ptr<Tree<T>> tree, typename VersionChain<T>::Pin pin, const P* points,
                            std::size_t count, const SearchOptions& options, std::size_t chunk)
    : tree_(std::move(tree)),
      pin_(std::move(pin)),
      batch_(points, count, tree_->dims(), cuts_of(*pin_)),
      chunk_(chunk),
      search_(std::make_unique<BatchSearch<T>>(*pin_, batch_, options, now_s())) {}

template <class T>
MatchStream<T>::~MatchStream() = default;

template <class T>
bool MatchStream<T>::next(std::vector<std::int64_t>& positions, Matches& matches) {
  const std::vector<std::uint32_t>& order = search_->order();
  if (handed_ == order.size()) return false;
  const std::size_t count = std::min(chunk_, order.size() - handed_);
  search_->run_until(handed_ + count);
  matches = search_->collect(order.data() + handed_, count);
  matches.order.resize(count);
  std::iota(matches.order.begin(), matches.order.end(), std::int64_t{0});
  positions.assign(order.begin() + static_cast<std::ptrdiff_t>(handed_),
                   order.begin() + static_cast<std::ptrdiff_t>(handed_ + count));
  search_->forget(handed_, handed_ + count);
  handed_ += count;
  return true;
}

template class Tree<float>;
template class Tree<double>;
template class MatchStream<float>;
template class MatchStream<double>;

#define PUBMATCH_INSTANTIATE(T, P)                                                             \
  template Matches Tree<T>::match<P>(const P*, std::size_t, const MatchOptions&);              \
  template std::vector<std::int64_t> Tree<T>::count<P>(const P*, std::size_t, std::size_t);    \
  template std::vector<std::int64_t> Tree<T>::estimate<P>(const P*, std::size_t, std::size_t); \
  template Matches Tree<T>::query<P>(BoxRelation, const BoxView<P>&);                          \
  template std::unique_ptr<MatchStream<T>> Tree<T>::stream<P>(const P*, std::size_t, const MatchOptions&, std::size_t);
PUBMATCH_INSTANTIATE(float, float)
PUBMATCH_INSTANTIATE(float, double)
PUBMATCH_INSTANTIATE(double, float)
PUBMATCH_INSTANTIATE(double, double)
#undef PUBMATCH_INSTANTIATE

}  // namespace pubmatch

// The index: an R-tree that many threads read while one writes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "pubmatch/batch_search.hpp"
#include "pubmatch/box.hpp"
#include "pubmatch/box_query.hpp"
#include "pubmatch/level_tuner.hpp"
#include "pubmatch/matches.hpp"
#include "pubmatch/params.hpp"
#include "pubmatch/version.hpp"

namespace pubmatch {

struct MatchOptions {
  Order order = Order::kSjf;
  std::size_t level = 0;  // 0: the index's own tuner decides
  std::size_t threads = 1;
  bool sort = false;
};

struct TreeStats {
  std::size_t size, dims, height, nodes, leaves, bytes, groups;
  double boxes_per_leaf, active_dims_per_leaf;
  bool bitmap;
  std::uint32_t node_capacity, leaf_capacity, buckets;
  std::uint64_t version;
};

template <class T>
class Writer;
template <class T>
class MatchStream;

template <class T>
class Tree : public std::enable_shared_from_this<Tree<T>> {
 public:
  // An empty index. Throws ArgumentError for impossible dimensions or parameters.
  Tree(std::size_t dims, const Params& params);
  // Takes a finished version over, e.g. from a file. `keep` is held as long as the tree (a mapped file).
  Tree(std::size_t dims, const Params& params, std::unique_ptr<Version<T>> version, std::int64_t next_id,
       std::shared_ptr<LevelTuner> tuner, std::shared_ptr<const void> keep);
  ~Tree();

  // ids may be null: 0 … n-1. sample: row-major events, may be empty.
  static std::shared_ptr<Tree> build(const BoxView<T>& boxes, const std::int64_t* ids, const Params& params,
                                     std::span<const double> sample);

  // ids may be null: the next unused from 0. Applied wholly or not at all.
  std::vector<std::int64_t> insert(const BoxView<T>& boxes, const std::int64_t* ids);
  // insert() that also deletes: no reader sees one without the other. Old ids that are not there are no error.
  std::vector<std::int64_t> replace(std::span<const std::int64_t> old_ids, const BoxView<T>& boxes,
                                    const std::int64_t* ids);
  std::size_t erase(const std::int64_t* ids, std::size_t count);

  template <class P>
  Matches match(const P* points, std::size_t count, const MatchOptions& options);
  template <class P>
  std::vector<std::int64_t> count(const P* points, std::size_t count, std::size_t threads);
  template <class P>
  std::vector<std::int64_t> estimate(const P* points, std::size_t count, std::size_t level);
  template <class P>
  std::unique_ptr<MatchStream<T>> stream(const P* points, std::size_t count, const MatchOptions& options,
                                         std::size_t chunk);
  template <class P>
  Matches query(BoxRelation relation, const BoxView<P>& boxes);

  std::size_t size() const { return versions_.pin()->size; }
  std::size_t dims() const { return dims_; }
  std::size_t height() const { return versions_.pin()->height(); }
  std::size_t bytes() const;
  const Params& params() const { return params_; }
  TreeStats stats() const;
  void check() const;  // throws CorruptIndexError
  // What check() verifies besides the tree itself: the bytes of a file that was loaded unverified.
  void also_check(std::function<void()> source) { source_check_ = std::move(source); }
  const std::shared_ptr<LevelTuner>& tuner() const { return tuner_; }

  typename VersionChain<T>::Pin pin() const { return versions_.pin(); }
  std::int64_t next_id() const { return next_id_; }

 private:
  static int first_level(const Version<T>& version);
  SearchOptions search_options(const Version<T>& version, const MatchOptions& options, std::size_t events) const;
  template <class P>
  Matches match_in_pieces(const Version<T>& version, const P* points, std::size_t count, SearchOptions search,
                          double started) const;
  template <class P>
  std::vector<double> path_counts(const Version<T>& version, const P* points, std::size_t count,
                                  std::size_t level) const;
  template <class P>
  std::vector<double> modelled(const Version<T>& version, const P* points, std::size_t count) const;
  std::unique_ptr<Version<T>> repacked(const Version<T>& current, std::span<const std::int64_t> old_ids,
                                       const BoxView<T>& boxes, const std::int64_t* ids) const;
  void publish(std::unique_ptr<Version<T>> version, Garbage<T> garbage, std::size_t updates);
  void abandon();

  const std::size_t dims_;
  const Params params_;
  std::shared_ptr<const void> keep_;  // before the versions, so that it goes after them
  std::function<void()> source_check_;
  std::shared_ptr<LevelTuner> tuner_;
  VersionChain<T> versions_;
  std::mutex writing_;
  std::unique_ptr<Writer<T>> writer_;  // what only updates need; made by the first, dropped when one fails half-way
  std::atomic<std::int64_t> next_id_{0};
  bool ids_below_next_ = true;  // every id in use was assigned by default: the next ones need no looking up
  std::atomic<std::size_t> writer_bytes_{0};
};

// The same search as match(), handed out in chunks as events complete. Not for several threads at once.
template <class T>
class MatchStream {
 public:
  template <class P>
  MatchStream(std::shared_ptr<Tree<T>> tree, typename VersionChain<T>::Pin pin, const P* points, std::size_t count,
              const SearchOptions& options, std::size_t chunk);
  ~MatchStream();

  // The next events finished, and their matches; false when all were handed out.
  bool next(std::vector<std::int64_t>& positions, Matches& matches);

 private:
  std::shared_ptr<Tree<T>> tree_;
  typename VersionChain<T>::Pin pin_;
  EventBatch<T> batch_;
  std::size_t chunk_;
  std::size_t handed_ = 0;
  std::unique_ptr<BatchSearch<T>> search_;
};

extern template class Tree<float>;
extern template class Tree<double>;
extern template class MatchStream<float>;
extern template class MatchStream<double>;

}  // namespace pubmatch

#include "pubmatch/workload_model.hpp"

#include <algorithm>
#include <bit>

#include "pubmatch/kernels.hpp"
#include "pubmatch/version.hpp"

namespace pubmatch {

namespace {

constexpr std::size_t kLines = 256;        // per dimension; a line's number is a byte
constexpr std::size_t kSampleLeaves = 64;  // leaves whose boxes are counted
// Work in visits of a leaf, by least squares on the times of single events.
struct Weights {
  double head;  // of a box that survives the lines a visit begins with: the leaf's other lines and its head are fetched
  double candidate;  // of a box that survives all lines: its row is fetched and verified
};
constexpr Weights kApart = {0.2, 4.0};          // W1, W4, W5: 7 to 15 ns a visit, the next leaves being on their way
constexpr Weights kTogether = {0.0, 1.0 / 12};  // W7, whose rows are in the cache; down to 1/32 makes no difference

// For every dimension and line: how many children or boxes of some nodes have their bit in it.
struct Counts {
  explicit Counts(std::size_t dims) : ones(dims * kLines, 0) {}

  template <class T>
  void add(const Node<T>& node, std::size_t dims, const std::uint8_t* line_counts) {
    all += node.live;
    std::vector<bool> active(dims, false);
    const std::uint64_t* line = node.line_words;
    for (std::size_t j = 0; j < node.active; ++j) {
      const std::size_t d = node.active_dims[j];
      active[d] = true;
      for (std::size_t i = 0; i < line_counts[d]; ++i, line += kLineWords)
        for (std::size_t w = 0; w < kLineWords; ++w)
          ones[d * kLines + i] += static_cast<double>(std::popcount(line[w] & node.live_bits[w]));
    }
    for (std::size_t d = 0; d < dims; ++d)  // without lines everything is let through
      for (std::size_t i = 0; !active[d] && i < kLines; ++i) ones[d * kLines + i] += node.live;
  }

  std::vector<float> shares() const {
    std::vector<float> result(ones.size());
    for (std::size_t i = 0; i < ones.size(); ++i) result[i] = static_cast<float>(all == 0 ? 0 : ones[i] / all);
    return result;
  }

  double all = 0;
  std::vector<double> ones;
};

template <class T>
void nodes_above_leaves(const Node<T>& node, std::vector<const Node<T>*>& found) {
  if (node.height == 1) {
    found.push_back(&node);
    return;
  }
  for (const Node<T>* child : node.children) nodes_above_leaves(*child, found);
}

}  // namespace

template <class T>
WorkloadModel<T>::WorkloadModel(const Version<T>& version)
    : dims_(version.factory->dims()), boxes_(static_cast<double>(version.size)), apart_(version.group == 1) {
  const Cuts& cuts = version.factory->cuts();
  std::vector<const Node<T>*> parents;
  nodes_above_leaves(*version.root, parents);
  Counts leaves(dims_);
  for (const Node<T>* parent : parents) leaves.add(*parent, dims_, cuts.inner_lines());
  leaves_ = leaves.all;
  const std::vector<float> leaf_shares = leaves.shares();

  Counts boxes(dims_);
  const auto step = std::max<std::size_t>(1, static_cast<std::size_t>(leaves_) / kSampleLeaves);
  std::size_t position = 0;
  for (const Node<T>* parent : parents)
    for (const Node<T>* leaf : parent->children)
      if (position++ % step == 0) boxes.add(*leaf, dims_, cuts.leaf_lines());
  const std::vector<float> box_shares = boxes.shares();

  shares_.resize(dims_ * kMaxBuckets);
  for (std::size_t d = 0; d < dims_; ++d) {
    const std::size_t absent = cuts.inner_lines(d) - 1u;
    for (std::size_t i = 0; i <= absent; ++i) {
      const std::size_t leaf_line = i == absent ? cuts.leaf_lines(d) - 1u : cuts.coarse_of(d)[i];
      shares_[d * kMaxBuckets + i] = {leaf_shares[d * kLines + i], box_shares[d * kLines + leaf_line]};
    }
  }
}

template <class T>
double WorkloadModel<T>::workload(const EventBatch<T>& batch, std::size_t event) const {
  const std::uint8_t* inner = batch.inner_lines(event);
  double visits = leaves_;
  double candidates = boxes_;
  double head = boxes_;
  for (std::size_t d = 0; d < dims_; ++d) {
    const Shares& shares = shares_[d * kMaxBuckets + inner[d]];
    visits *= shares.leaves;
    candidates *= shares.boxes;
    if (d < kHead) head = candidates;
  }
  const Weights& weights = apart_ ? kApart : kTogether;
  return visits + weights.head * head + weights.candidate * candidates;
}

template <class T>
std::vector<double> WorkloadModel<T>::workloads(const EventBatch<T>& batch) const {
  std::vector<double> work(batch.size());
  for (std::size_t e = 0; e < batch.size(); ++e) work[e] = workload(batch, e);
  return work;
}

std::vector<std::uint32_t> shortest_first(std::span<const double> work) {
  // A workload's bits, as an integer, grow with it; the event's number behind them keeps equal ones as given.
  std::vector<std::uint64_t> keys(work.size());
  for (std::size_t e = 0; e < work.size(); ++e)
    keys[e] = std::uint64_t{std::bit_cast<std::uint32_t>(static_cast<float>(work[e]))} << 32 | e;
  std::sort(keys.begin(), keys.end());
  std::vector<std::uint32_t> order(work.size());
  std::transform(keys.begin(), keys.end(), order.begin(),
                 [](std::uint64_t key) { return static_cast<std::uint32_t>(key); });
  return order;
}

template class WorkloadModel<float>;
template class WorkloadModel<double>;

}  // namespace pubmatch

#include "pubmatch/bulk_load.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>

#include "pubmatch/batch_search.hpp"
#include "pubmatch/packer.hpp"

namespace pubmatch {

namespace {

template <class T>
struct Built {
  Node<T>* node;
  Envelope<T> envelope;
};

template <class T>
class Loader {
 public:
  Loader(const BoxView<T>& boxes, const std::int64_t* ids, const NodeFactory<T>& factory, std::uint64_t serial)
      : boxes_(boxes), ids_(ids), factory_(factory), serial_(serial) {}

  // How many boxes a subtree of this height takes.
  double capacity(std::size_t height) const {
    return factory_.layout().leaf_target *
           std::pow(static_cast<double>(factory_.layout().node_target()), static_cast<double>(height));
  }

  // One packer serves the whole bitmap tree. A compare tree, finer than a dimension's buckets, cuts anew at every node.
  Built<T> build(Packer<T>& packer, std::size_t first, std::size_t last, std::size_t height) {
    if (height == 0) return make_leaf(packer.rows(first, last));
    if (factory_.layout().bitmap) return build_inner(packer, first, last, height);
    const std::vector<std::uint32_t> rows = packer.rows(first, last);
    const Cuts cuts(sample_bounds(boxes_, rows), kMaxBuckets);
    Packer<T> local(boxes_, rows, cuts, {});
    return build_inner(local, 0, rows.size(), height);
  }

 private:
  Built<T> build_inner(Packer<T>& packer, std::size_t first, std::size_t last, std::size_t height) {
    const auto parts = static_cast<std::size_t>(std::ceil(static_cast<double>(last - first) / capacity(height - 1)));
    std::vector<std::pair<std::size_t, std::size_t>> runs;
    packer.divide(first, last, parts, [&](std::size_t from, std::size_t to) { runs.emplace_back(from, to); });
    std::vector<Node<T>*> children;
    std::vector<Envelope<T>> envelopes;
    Envelope<T> whole(factory_.dims());
    for (const auto& [from, to] : runs) {
      Built<T> child = build(packer, from, to, height - 1);
      children.push_back(child.node);
      whole.extend(child.envelope.lower.data(), child.envelope.upper.data());
      envelopes.push_back(std::move(child.envelope));
    }
    return {factory_.make_inner(std::move(children), envelopes, serial_), std::move(whole)};
  }

  Built<T> make_leaf(const std::vector<std::uint32_t>& rows) {
    Built<T> built{factory_.make_leaf(boxes_, rows, ids_, 0, serial_), Envelope<T>(factory_.dims())};
    for (const std::uint32_t row : rows) built.envelope.extend(boxes_.lower_row(row), boxes_.upper_row(row));
    return built;
  }

  const BoxView<T>& boxes_;
  const std::int64_t* ids_;
  const NodeFactory<T>& factory_;
  std::uint64_t serial_;
};

// How many events to search together. Compare trees, the paper's among them: one. Bitmap trees: one, unless events visit so many leaves, or find so much in them, that several share what is read; then as
// many as read most lines of the leaves they visit. Measured on the boxes' own centres.
template <class T>
std::uint32_t choose_group(const Version<T>& version, const BoxView<T>& boxes) {
  constexpr std::size_t kProbes = 64;
  constexpr double kMostGroup = 128;
  constexpr double kManyLeaves = 0.2;  // share of the leaves an event visits
  constexpr double kManyMatches = 2;   // matches per leaf visited
  constexpr double kLineReaders = 40;  // events per leaf that read most of its lines
  if (!version.factory->layout().bitmap) return 1;
  if (boxes.size == 0) return 1;
  const std::vector<T> points = sample_centres(boxes, kProbes);
  const EventBatch<T> batch(points.data(), points.size() / boxes.dims, boxes.dims, &version.factory->cuts());
  const WorkloadTable<T> table(version, batch, version.height());
  BatchSearch<T> search(version, batch, SearchOptions{.order = Order::kFifo, .count_only = true}, 0);
  search.run();
  double visits = 0;
  double matches = 0;
  for (std::size_t e = 0; e < batch.size(); ++e) {
    visits += table.workload(e);
    matches += static_cast<double>(search.finished(e).count);
  }
  if (visits == 0) return 1;
  const double share = visits / static_cast<double>(batch.size() * measure(version).leaves);
  if (share < kManyLeaves && matches / visits < kManyMatches) return 1;
  return static_cast<std::uint32_t>(std::min(kMostGroup, std::ceil(kLineReaders / share / 16) * 16));
}

}  // namespace

template <class T>
std::unique_ptr<Version<T>> bulk_load(const BoxView<T>& boxes, const std::int64_t* ids, const Params& params,
                                      std::span<const double> events, std::uint64_t serial) {
  const Layout layout = choose_layout(params, boxes.dims, boxes.size);
  std::vector<std::uint32_t> rows(boxes.size);
  std::iota(rows.begin(), rows.end(), 0u);
  auto cuts = std::make_shared<const Cuts>(sample_bounds(boxes, std::span<const std::uint32_t>(rows)), layout.buckets);
  auto version = std::make_unique<Version<T>>();
  version->serial = serial;
  version->size = boxes.size;
  version->factory = std::make_shared<const NodeFactory<T>>(boxes.dims, layout, cuts);

  Loader<T> loader(boxes, ids, *version->factory, serial);
  std::size_t height = 0;
  while (loader.capacity(height) < static_cast<double>(boxes.size)) ++height;
  Packer<T> packer(boxes, std::move(rows), *cuts, events);
  version->root = loader.build(packer, 0, boxes.size, height).node;
  version->packed_size = boxes.size;
  version->group = choose_group(*version, boxes);
  if (layout.bitmap) version->lazy_model = std::make_shared<const LazyWorkloadModel<T>>();
  return version;
}

namespace {

template <class T>
void measure_below(const Node<T>& node, const NodeFactory<T>& factory, Measure& measure, std::set<std::string>& sets) {
  measure.bytes += factory.bytes(node);
  ++measure.nodes;
  if (node.leaf()) {
    ++measure.leaves;
    measure.active_dims += node.bitmap ? node.active : factory.dims();
    sets.emplace(node.active_dims.begin(), node.active_dims.end());
  }
  for (const Node<T>* child : node.children) measure_below(*child, factory, measure, sets);
}

}  // namespace

template <class T>
Measure measure(const Version<T>& version) {
  Measure result;
  std::set<std::string> sets;
  measure_below(*version.root, *version.factory, result, sets);
  result.groups = sets.size();
  return result;
}

template std::unique_ptr<Version<float>> bulk_load<float>(const BoxView<float>&, const std::int64_t*, const Params&,
                                                          std::span<const double>, std::uint64_t);
template std::unique_ptr<Version<double>> bulk_load<double>(const BoxView<double>&, const std::int64_t*, const Params&,
                                                            std::span<const double>, std::uint64_t);
template Measure measure<float>(const Version<float>&);
template Measure measure<double>(const Version<double>&);

}  // namespace pubmatch

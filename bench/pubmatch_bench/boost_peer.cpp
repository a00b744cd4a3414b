// Boost.Geometry's R-tree behind a C interface, compiled on first use and called through ctypes.
//
// It is given its best case: float coordinates as in the workloads, the packing constructor, and a result buffer that
// keeps its capacity between batches. Every id found is written out, so no part of a query can be optimised away.

#include <boost/geometry.hpp>
#include <boost/geometry/index/rtree.hpp>
#include <boost/iterator/function_output_iterator.hpp>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace {

namespace bg = boost::geometry;
namespace bgi = boost::geometry::index;

class Peer {
 public:
  virtual ~Peer() = default;
  virtual void match(const float* points, std::size_t count) = 0;

  const std::vector<std::int64_t>& offsets() const { return offsets_; }
  const std::vector<std::int64_t>& ids() const { return ids_; }

 protected:
  std::vector<std::int64_t> offsets_;
  std::vector<std::int64_t> ids_;
};

template <std::size_t Dims>
class TreePeer final : public Peer {
 public:
  TreePeer(const float* lower, const float* upper, std::size_t count) : tree_(values(lower, upper, count)) {}

  void match(const float* points, std::size_t count) override {
    offsets_.assign(1, 0);
    ids_.clear();
    const auto collect = [this](const Value& value) { ids_.push_back(value.second); };
    for (std::size_t i = 0; i < count; ++i) {
      const Point point = point_at(points + i * Dims, std::make_index_sequence<Dims>{});
      tree_.query(bgi::intersects(point), boost::make_function_output_iterator(collect));
      offsets_.push_back(static_cast<std::int64_t>(ids_.size()));
    }
  }

 private:
  using Point = bg::model::point<float, Dims, bg::cs::cartesian>;
  using Box = bg::model::box<Point>;
  using Value = std::pair<Box, std::uint32_t>;

  template <std::size_t... Dim>
  static Point point_at(const float* from, std::index_sequence<Dim...>) {
    Point point;
    (bg::set<Dim>(point, from[Dim]), ...);
    return point;
  }

  static std::vector<Value> values(const float* lower, const float* upper, std::size_t count) {
    constexpr auto kAll = std::make_index_sequence<Dims>{};
    std::vector<Value> result;
    result.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      result.emplace_back(Box(point_at(lower + i * Dims, kAll), point_at(upper + i * Dims, kAll)),
                          static_cast<std::uint32_t>(i));
    }
    return result;
  }

  bgi::rtree<Value, bgi::quadratic<16>> tree_;
};

std::unique_ptr<Peer> make_peer(const float* lower, const float* upper, std::size_t count, std::size_t dims) {
  switch (dims) {
    case 2:
      return std::make_unique<TreePeer<2>>(lower, upper, count);
    case 12:
      return std::make_unique<TreePeer<12>>(lower, upper, count);
    case 20:
      return std::make_unique<TreePeer<20>>(lower, upper, count);
    default:
      return nullptr;
  }
}

}  // namespace

// No exception may cross into ctypes: failures are null pointers and negative counts.
extern "C" {

Peer* boost_peer_build(const float* lower, const float* upper, std::size_t count, std::size_t dims) noexcept try {
  return make_peer(lower, upper, count, dims).release();
} catch (const std::exception&) {
  return nullptr;
}

std::int64_t boost_peer_match(Peer* peer, const float* points, std::size_t count) noexcept try {
  peer->match(points, count);
  return static_cast<std::int64_t>(peer->ids().size());
} catch (const std::exception&) {
  return -1;
}

const std::int64_t* boost_peer_offsets(const Peer* peer) noexcept { return peer->offsets().data(); }
const std::int64_t* boost_peer_ids(const Peer* peer) noexcept { return peer->ids().data(); }
void boost_peer_free(Peer* peer) noexcept { delete peer; }
}

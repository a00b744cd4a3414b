#include "pubmatch/box_query.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "pubmatch/batch_search.hpp"
#include "pubmatch/error.hpp"
#include "pubmatch/validate.hpp"

namespace pubmatch {

namespace {

template <class T, class P>
T rounded_down(P x) {
  const T near = static_cast<T>(x);
  return static_cast<P>(near) > x ? std::nextafter(near, -std::numeric_limits<T>::infinity()) : near;
}

template <class T, class P>
T rounded_up(P x) {
  const T near = static_cast<T>(x);
  return static_cast<P>(near) < x ? std::nextafter(near, std::numeric_limits<T>::infinity()) : near;
}

// One query box [a, b]. A node can hold an answer only if its lower <= down and its upper >= up.
template <class T>
class BoxSearch {
 public:
  template <class P>
  BoxSearch(const Version<T>& version, BoxRelation relation, const P* a, const P* b)
      : factory_(*version.factory), dims_(factory_.dims()), relation_(relation) {
    for (std::size_t d = 0; d < dims_; ++d) {
      const bool covering = relation == BoxRelation::kCovering;
      down_.push_back(rounded_down<T>(covering ? a[d] : b[d]));
      up_.push_back(rounded_up<T>(covering ? b[d] : a[d]));
      low_.push_back(rounded_up<T>(a[d]));
      high_.push_back(rounded_down<T>(b[d]));
      first_.push_back(factory_.cuts().fine_bucket(d, static_cast<double>(a[d])));
      last_.push_back(factory_.cuts().fine_bucket(d, static_cast<double>(b[d])));
    }
    lower_.resize(dims_);
    upper_.resize(dims_);
  }

  void run(const Node<T>& node, std::vector<std::int64_t>& ids) {
    std::uint64_t mask[kLineWords];
    candidates(node, mask);
    for (std::size_t w = 0; w < kLineWords; ++w)
      for (std::uint64_t bits = mask[w]; bits != 0; bits &= bits - 1) {
        const std::size_t at = w * 64 + static_cast<std::size_t>(std::countr_zero(bits));
        factory_.read_box(node, at, lower_.data(), upper_.data());
        if (!node.leaf()) {
          if (may_hold()) run(*node.children[at], ids);
        } else if (answers()) {
          ids.push_back(node.id(at));
        }
      }
  }

 private:
  void candidates(const Node<T>& node, std::uint64_t* mask) const {
    for (std::size_t w = 0; w < kLineWords; ++w) {
      const std::size_t from = w * 64;
      mask[w] = node.count >= from + 64 ? ~std::uint64_t{0}
                : node.count > from     ? (std::uint64_t{1} << (node.count - from)) - 1
                                        : 0;
      if (node.bitmap) mask[w] &= node.live_bits[w];
    }
    if (!node.bitmap) return;
    const std::uint64_t* base = node.line_words;
    for (std::size_t j = 0; j < node.active; ++j) {
      const std::size_t d = node.active_dims[j];
      const std::size_t lines = node.leaf() ? factory_.cuts().leaf_lines(d) : factory_.cuts().inner_lines(d);
      const std::size_t first = node.leaf() ? factory_.cuts().coarse_of(d)[first_[d]] : first_[d];
      const std::size_t last = node.leaf() ? factory_.cuts().coarse_of(d)[last_[d]] : last_[d];
      for (std::size_t w = 0; w < kLineWords; ++w) {
        std::uint64_t bits = base[first * kLineWords + w];
        if (relation_ == BoxRelation::kCovering)
          bits &= base[last * kLineWords + w];
        else
          for (std::size_t i = first + 1; i <= last; ++i) bits |= base[i * kLineWords + w];
        mask[w] &= bits;
      }
      base += lines * kLineWords;
    }
  }

  bool may_hold() const {
    for (std::size_t d = 0; d < dims_; ++d)
      if (!(lower_[d] <= down_[d] && upper_[d] >= up_[d])) return false;
    return true;
  }

  bool answers() const {
    if (relation_ != BoxRelation::kCovered) return may_hold();
    for (std::size_t d = 0; d < dims_; ++d)
      if (!(lower_[d] >= low_[d] && upper_[d] <= high_[d])) return false;
    return true;
  }

  const NodeFactory<T>& factory_;
  const std::size_t dims_;
  const BoxRelation relation_;
  std::vector<T> down_, up_, low_, high_;
  std::vector<std::uint8_t> first_, last_;
  std::vector<T> lower_, upper_;
};

}  // namespace

template <class T, class P>
Matches box_query(const Version<T>& version, BoxRelation relation, const BoxView<P>& boxes) {
  const double started = now_s();
  validate_boxes(boxes);
  Matches result;
  result.offsets.push_back(0);
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < boxes.size; ++i) {
    BoxSearch<T>(version, relation, boxes.lower_row(i), boxes.upper_row(i)).run(*version.root, ids);
    result.offsets.push_back(static_cast<std::int64_t>(ids.size()));
    result.order.push_back(static_cast<std::int64_t>(i));
    result.response_s.push_back(now_s() - started);
  }
  result.ids.reserve(ids.size());
  std::copy(ids.begin(), ids.end(), result.ids.data());
  result.ids.size = ids.size();
  return result;
}

template Matches box_query<float, float>(const Version<float>&, BoxRelation, const BoxView<float>&);
template Matches box_query<float, double>(const Version<float>&, BoxRelation, const BoxView<double>&);
template Matches box_query<double, float>(const Version<double>&, BoxRelation, const BoxView<float>&);
template Matches box_query<double, double>(const Version<double>&, BoxRelation, const BoxView<double>&);

}  // namespace pubmatch

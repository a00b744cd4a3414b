#include "pubmatch/clustering.hpp"

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace pubmatch {

std::size_t AttributeMaskHash::operator()(const AttributeMask& mask) const {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : mask) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

int ClusterBooks::find_combination(const AttributeMask& mask) const {
  if (slots_.empty()) return -1;
  for (std::size_t at = AttributeMaskHash{}(mask);; ++at) {
    const int number = slots_[at & (slots_.size() - 1)];
    if (number < 0 || combinations_[number].mask == mask) return number;
  }
}

void ClusterBooks::grow_slots() {
  slots_.assign(std::max<std::size_t>(1024, slots_.size() * 2), -1);
  for (std::size_t number = 0; number < combinations_.size(); ++number) {
    std::size_t at = AttributeMaskHash{}(combinations_[number].mask);
    while (slots_[at & (slots_.size() - 1)] >= 0) ++at;
    slots_[at & (slots_.size() - 1)] = static_cast<int>(number);
  }
}

int ClusterBooks::combination_number(const AttributeMask& mask) {
  if (const int found = find_combination(mask); found >= 0) return found;
  if ((combinations_.size() + 1) * 2 > slots_.size()) grow_slots();
  std::size_t at = AttributeMaskHash{}(mask);
  while (slots_[at & (slots_.size() - 1)] >= 0) ++at;
  const int number = static_cast<int>(combinations_.size());
  combinations_.emplace_back();
  combinations_.back().mask = mask;
  slots_[at & (slots_.size() - 1)] = number;
  return number;
}

int ClusterBooks::label_of(std::int64_t id) const {
  const auto found = labels_.find(id);
  if (found == labels_.end()) throw std::invalid_argument("no cluster has the id " + std::to_string(id));
  return found->second;
}

int ClusterBooks::new_label() {
  if (unused_labels_.empty()) {
    unused_labels_.push_back(static_cast<int>(clusters_.size()));
    clusters_.emplace_back();
  }
  const int label = unused_labels_.back();
  unused_labels_.pop_back();
  clusters_[label].id = next_id_++;
  labels_.emplace(clusters_[label].id, label);
  ++live_clusters_;
  return label;
}

void ClusterBooks::drop_cluster(int label) {
  labels_.erase(clusters_[label].id);
  clusters_[label] = ClusterState{};
  unused_labels_.push_back(label);
  --live_clusters_;
}

void ClusterBooks::own(int combination, int label) {
  auto& list = clusters_[label].combinations;
  combinations_[combination].owner = label;
  combinations_[combination].place = list.size();
  list.push_back(combination);
  ++owned_combinations_;
}

void ClusterBooks::disown(int combination) {
  auto& list = clusters_[combinations_[combination].owner].combinations;
  const std::size_t place = combinations_[combination].place;
  list[place] = list.back();
  combinations_[list[place]].place = place;
  list.pop_back();
  combinations_[combination].owner = -1;
  --owned_combinations_;
}

ClusterBooks::Connection* ClusterBooks::find(Advertisement& advertisement, int label) {
  for (Connection& connection : advertisement.connections) {
    if (connection.cluster == label) return &connection;
  }
  return nullptr;
}

const ClusterBooks::Connection* ClusterBooks::find(const Advertisement& advertisement, int label) const {
  for (const Connection& connection : advertisement.connections) {
    if (connection.cluster == label) return &connection;
  }
  return nullptr;
}

void ClusterBooks::touch(int advertisement) {
  if (is_touched_[advertisement]) return;
  is_touched_[advertisement] = 1;
  touched_.push_back(advertisement);
}

void ClusterBooks::attach(int number, int label, int combinations) {
  Advertisement& advertisement = advertisements_[number];
  if (Connection* connection = find(advertisement, label)) {
    connection->combinations += combinations;
    return;
  }
  ClusterState& cluster = clusters_[label];
  advertisement.connections.push_back({label, combinations, cluster.advertisements.size()});
  cluster.advertisements.push_back(number);
  cluster.publishers += advertisement.publishers;
  cluster.exhausted += advertisement.exhausted;
  touch(number);
}

void ClusterBooks::detach(int number, int label, int combinations) {
  Advertisement& advertisement = advertisements_[number];
  Connection& connection = *find(advertisement, label);
  connection.combinations -= combinations;
  if (connection.combinations > 0) return;
  ClusterState& cluster = clusters_[label];
  const int last = cluster.advertisements.back();
  find(advertisements_[last], label)->place = connection.place;
  cluster.advertisements[connection.place] = last;
  cluster.advertisements.pop_back();
  cluster.publishers -= advertisement.publishers;
  cluster.exhausted -= advertisement.exhausted;
  connection = advertisement.connections.back();
  advertisement.connections.pop_back();
  touch(number);
}

void ClusterBooks::set_exhausted(Advertisement& advertisement, bool exhausted) {
  if (advertisement.exhausted == exhausted) return;
  advertisement.exhausted = exhausted;
  const int change = exhausted ? 1 : -1;
  for (const int combination : advertisement.combinations) combinations_[combination].exhausted += change;
  for (const Connection& connection : advertisement.connections) clusters_[connection.cluster].exhausted += change;
}

void ClusterBooks::refresh(int number) {
  Advertisement& advertisement = advertisements_[number];
  const auto degree = static_cast<std::int64_t>(advertisement.connections.size());
  set_exhausted(advertisement, !advertisement.limits.empty() && degree >= advertisement.limits.begin()->first);
}

void ClusterBooks::refresh_touched() {
  for (const int number : touched_) {
    is_touched_[number] = 0;
    refresh(number);
  }
  touched_.clear();
}

void ClusterBooks::move(std::span<const int> combinations, int target) {
  for (const int combination : combinations) {
    const int source = combinations_[combination].owner;
    disown(combination);
    own(combination, target);
    for (const int holder : combinations_[combination].holders) {
      attach(holder, target, 1);
      detach(holder, source, 1);
    }
  }
  refresh_touched();
}

// The largest keeps its place and takes the others in, so that a combination changes its list seldom.
int ClusterBooks::merge(std::span<const int> labels) {
  const auto weight = [&](int label) {
    return clusters_[label].combinations.size() + clusters_[label].advertisements.size();
  };
  const int kept = *std::max_element(labels.begin(), labels.end(), [&](int a, int b) { return weight(a) < weight(b); });
  for (const int label : labels) {
    if (label == kept) continue;
    const std::vector<int> combinations = clusters_[label].combinations;
    const std::vector<int> advertisements = clusters_[label].advertisements;
    for (const int combination : combinations) {
      disown(combination);
      own(combination, kept);
    }
    for (const int number : advertisements) {
      const int count = find(advertisements_[number], label)->combinations;
      attach(number, kept, count);
      detach(number, label, count);
    }
    drop_cluster(label);
  }
  labels_.erase(clusters_[kept].id);
  clusters_[kept].id = next_id_++;
  labels_.emplace(clusters_[kept].id, kept);
  refresh_touched();
  return kept;
}

void ClusterBooks::begin(std::span<const int> attributes, std::int64_t limit) {
  if (attributes.empty() || attributes.size() > kMaxAdvertised) throw std::invalid_argument("1 to 20 attributes");
  if (limit < 1) throw std::invalid_argument("connections must be at least 1");
  const std::size_t subsets = std::size_t{1} << attributes.size();
  std::vector<AttributeMask> masks(subsets, AttributeMask{});
  joining_.clear();
  for (std::size_t subset = 1; subset < subsets; ++subset) {
    const int attribute = attributes[std::countr_zero(subset)];
    if (attribute < 0 || attribute >= kMaxClusteredAttributes) throw std::invalid_argument("attribute out of range");
    masks[subset] = masks[subset & (subset - 1)];
    masks[subset][attribute / 64] |= std::uint64_t{1} << (attribute % 64);
    joining_.push_back(combination_number(masks[subset]));
  }
  joining_by_.clear();
  for (const int combination : joining_) joining_by_.emplace_back(combinations_[combination].owner, combination);
  std::sort(joining_by_.begin(), joining_by_.end());
  joining_mask_ = masks.back();
  joining_limit_ = limit;
  joining_used_ = 0;
}

std::vector<Overlap> ClusterBooks::overlapping(bool by_size) const {
  std::vector<Overlap> found;
  for (std::size_t i = 0; i < joining_by_.size();) {
    const int owner = joining_by_[i].first;
    const std::size_t first = i;
    while (i < joining_by_.size() && joining_by_[i].first == owner) ++i;
    if (owner >= 0) found.push_back({clusters_[owner].id, clusters_[owner].combinations.size(), i - first});
  }
  std::sort(found.begin(), found.end(), [&](const Overlap& a, const Overlap& b) {
    return by_size && a.size != b.size ? a.size > b.size : a.id < b.id;
  });
  return found;
}

std::size_t ClusterBooks::unowned() const {
  return std::count_if(joining_.begin(), joining_.end(),
                       [&](int combination) { return combinations_[combination].owner < 0; });
}

std::int64_t ClusterBooks::free_connections() const { return joining_limit_ - joining_used_; }

bool ClusterBooks::is_exhausted(std::int64_t cluster) const { return clusters_[label_of(cluster)].exhausted > 0; }

// What the joining publisher shares with a cluster that was there when it began and was not split since.
std::vector<int> ClusterBooks::shared_with(int label) const {
  std::vector<int> shared;
  auto at = std::lower_bound(joining_by_.begin(), joining_by_.end(), std::pair(label, -1));
  for (; at != joining_by_.end() && at->first == label; ++at) {
    if (combinations_[at->second].owner == label) shared.push_back(at->second);
  }
  return shared;
}

std::size_t ClusterBooks::splittable(std::int64_t cluster) const {
  const std::vector<int> shared = shared_with(label_of(cluster));
  return std::count_if(shared.begin(), shared.end(),
                       [&](int combination) { return combinations_[combination].exhausted == 0; });
}

std::int64_t ClusterBooks::split(std::int64_t cluster, bool only_splittable) {
  const int source = label_of(cluster);
  std::vector<int> part = shared_with(source);
  if (only_splittable) std::erase_if(part, [&](int combination) { return combinations_[combination].exhausted > 0; });
  if (part.empty() || part.size() == clusters_[source].combinations.size()) {
    throw std::invalid_argument("a split takes some combinations of a cluster, never none or all");
  }
  const int label = new_label();
  move(part, label);
  ++joining_used_;
  return clusters_[label].id;
}

void ClusterBooks::connect(std::int64_t cluster) {
  label_of(cluster);
  ++joining_used_;
}

std::int64_t ClusterBooks::create(std::span<const std::int64_t> merged) {
  if (merged.empty() && unowned() == 0) return 0;
  std::vector<int> labels;
  for (const std::int64_t id : merged) labels.push_back(label_of(id));
  const int label = labels.empty() ? new_label() : merge(labels);
  for (const int combination : joining_) {
    if (combinations_[combination].owner < 0) own(combination, label);
  }
  ++joining_used_;
  return clusters_[label].id;
}

void ClusterBooks::create_each() {
  joining_used_ += static_cast<std::int64_t>(overlapping(false).size() + unowned());
  for (const int combination : joining_) {
    if (combinations_[combination].owner < 0) own(combination, new_label());
  }
}

int ClusterBooks::finish() {
  const auto [found, added] = advertisement_numbers_.try_emplace(joining_mask_, 0);
  if (added) {
    if (unused_advertisements_.empty()) {
      unused_advertisements_.push_back(static_cast<int>(advertisements_.size()));
      advertisements_.emplace_back();
      is_touched_.push_back(0);
    }
    found->second = unused_advertisements_.back();
    unused_advertisements_.pop_back();
  }
  const int number = found->second;
  Advertisement& advertisement = advertisements_[number];
  ++advertisement.publishers;
  if (joining_limit_ != kUnlimited) ++advertisement.limits[joining_limit_];
  if (added) {
    advertisement.mask = joining_mask_;
    advertisement.combinations = joining_;
    connect_new(number);
  } else {
    for (const Connection& connection : advertisement.connections) ++clusters_[connection.cluster].publishers;
    touch(number);
  }
  ++publishers_;
  useful_ += static_cast<std::int64_t>(advertisement.combinations.size());
  refresh_touched();
  joining_.clear();
  return number;
}

// As attach for each combination, but without a search for each.
void ClusterBooks::connect_new(int number) {
  std::vector<int> owners;
  for (const int combination : advertisements_[number].combinations) {
    combinations_[combination].holders.push_back(number);
    owners.push_back(combinations_[combination].owner);
  }
  std::sort(owners.begin(), owners.end());
  for (auto at = owners.begin(); at != owners.end();) {
    const auto next = std::upper_bound(at, owners.end(), *at);
    ClusterState& cluster = clusters_[*at];
    advertisements_[number].connections.push_back({*at, static_cast<int>(next - at), cluster.advertisements.size()});
    cluster.advertisements.push_back(number);
    cluster.publishers += advertisements_[number].publishers;
    at = next;
  }
  touch(number);
}

void ClusterBooks::leave(int number, std::int64_t limit) {
  Advertisement& advertisement = advertisements_.at(number);
  if (advertisement.publishers == 0) throw std::invalid_argument("nobody has this advertisement");
  if (const auto found = advertisement.limits.find(limit); found != advertisement.limits.end()) {
    if (--found->second == 0) advertisement.limits.erase(found);
  }
  for (const Connection& connection : advertisement.connections) --clusters_[connection.cluster].publishers;
  --publishers_;
  useful_ -= static_cast<std::int64_t>(advertisement.combinations.size());
  if (--advertisement.publishers == 0) {
    drop_advertisement(number);
  } else {
    refresh(number);
  }
}

void ClusterBooks::drop_advertisement(int number) {
  Advertisement& advertisement = advertisements_[number];
  set_exhausted(advertisement, false);
  for (const int combination : advertisement.combinations) {
    const int owner = combinations_[combination].owner;
    auto& holders = combinations_[combination].holders;
    holders.erase(std::find(holders.begin(), holders.end(), number));
    detach(number, owner, 1);
    if (!holders.empty()) continue;
    disown(combination);
    if (clusters_[owner].combinations.empty()) drop_cluster(owner);
  }
  refresh_touched();
  advertisement_numbers_.erase(advertisement.mask);
  advertisement = Advertisement{};
  unused_advertisements_.push_back(number);
}

}  // namespace pubmatch

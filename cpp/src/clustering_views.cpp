// What the books tell: owners, clusters, sums, and whether all of it agrees.
#include <algorithm>
#include <stdexcept>

#include "pubmatch/clustering.hpp"

namespace pubmatch {

std::int64_t ClusterBooks::owner(const AttributeMask& combination) const {
  const int number = find_combination(combination);
  if (number < 0 || combinations_[number].owner < 0) return 0;
  return clusters_[combinations_[number].owner].id;
}

std::vector<std::int64_t> ClusterBooks::cluster_ids() const {
  std::vector<std::int64_t> ids;
  for (const ClusterState& cluster : clusters_) {
    if (cluster.id != 0) ids.push_back(cluster.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::vector<std::int64_t> ClusterBooks::clusters_of(int advertisement) const {
  std::vector<std::int64_t> ids;
  for (const Connection& connection : advertisements_.at(advertisement).connections) {
    ids.push_back(clusters_[connection.cluster].id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::size_t ClusterBooks::degree(int advertisement) const {
  return advertisements_.at(advertisement).connections.size();
}

ClusterView ClusterBooks::view(std::int64_t id) const {
  const ClusterState& cluster = clusters_[label_of(id)];
  ClusterView view;
  view.advertisements = cluster.advertisements;
  view.publishers = cluster.publishers;
  for (const int combination : cluster.combinations) {
    view.combinations.push_back(combinations_[combination].mask);
    for (const int holder : combinations_[combination].holders) view.useful += advertisements_[holder].publishers;
  }
  return view;
}

std::int64_t ClusterBooks::connection_count() const {
  std::int64_t sum = 0;
  for (const ClusterState& cluster : clusters_) sum += cluster.publishers;
  return sum;
}

std::int64_t ClusterBooks::deliveries() const {
  std::int64_t sum = 0;
  for (const ClusterState& cluster : clusters_) {
    sum += static_cast<std::int64_t>(cluster.combinations.size()) * cluster.publishers;
  }
  return sum;
}

namespace {

std::string at(const char* what, std::int64_t number) { return std::string(what) + " " + std::to_string(number); }

}  // namespace

std::string ClusterBooks::check() const {
  std::vector<int> exhausted(combinations_.size(), 0);
  std::vector<std::size_t> holders(combinations_.size(), 0);
  std::vector<std::int64_t> publishers(clusters_.size(), 0);
  std::vector<int> exhausted_here(clusters_.size(), 0);
  for (std::size_t number = 0; number < advertisements_.size(); ++number) {
    const Advertisement& advertisement = advertisements_[number];
    if (advertisement.publishers == 0) continue;
    std::unordered_map<int, int> counted;
    for (const int combination : advertisement.combinations) {
      const int owner = combinations_[combination].owner;
      if (owner < 0) return at("no cluster owns a combination of advertisement", number);
      ++counted[owner];
      ++holders[combination];
      exhausted[combination] += advertisement.exhausted;
    }
    if (counted.size() != advertisement.connections.size()) return at("connections do not fit advertisement", number);
    for (const Connection& connection : advertisement.connections) {
      const ClusterState& cluster = clusters_[connection.cluster];
      if (counted[connection.cluster] != connection.combinations ||
          cluster.advertisements.at(connection.place) != static_cast<int>(number)) {
        return at("a connection is wrongly counted for advertisement", number);
      }
      publishers[connection.cluster] += advertisement.publishers;
      exhausted_here[connection.cluster] += advertisement.exhausted;
    }
    const auto used = static_cast<std::int64_t>(counted.size());
    const bool limited = !advertisement.limits.empty();
    if (limited && used > advertisement.limits.begin()->first) return at("above its limit: advertisement", number);
    if (advertisement.exhausted != (limited && used == advertisement.limits.begin()->first)) {
      return at("free connections are wrong for advertisement", number);
    }
  }
  std::size_t owned = 0;
  for (std::size_t label = 0; label < clusters_.size(); ++label) {
    const ClusterState& cluster = clusters_[label];
    if ((cluster.id != 0) == cluster.combinations.empty()) return at("empty cluster", cluster.id);
    if (cluster.publishers != publishers[label] || cluster.exhausted != exhausted_here[label]) {
      return at("publishers are wrongly counted in cluster", cluster.id);
    }
    for (const int combination : cluster.combinations) {
      if (combinations_[combination].owner != static_cast<int>(label)) return at("two owners, one is", cluster.id);
    }
    owned += cluster.combinations.size();
  }
  for (std::size_t number = 0; number < combinations_.size(); ++number) {
    const Combination& combination = combinations_[number];
    if (combination.holders.size() != holders[number] || combination.exhausted != exhausted[number]) {
      return at("publishers are wrongly counted for combination", number);
    }
    if ((combination.owner >= 0) != !combination.holders.empty())
      return at("owned but not offered: combination", number);
  }
  return owned == owned_combinations_ ? "" : "the number of owned combinations is wrong";
}

}  // namespace pubmatch

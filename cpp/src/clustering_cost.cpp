// Strategy 4: what merging clusters and moving combinations costs, counted in deliveries.
//
// One notification per publisher and one subscriber per combination make sum |C| * |publishers(C)| deliveries. The useful
// ones among them do not depend on the clusters, so a smaller sum means fewer false positives.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "pubmatch/clustering.hpp"

namespace pubmatch {

namespace {

constexpr std::size_t kMostCandidates = 192;  // tables are quadratic in them

std::uint64_t next_random(std::uint64_t& state) {  // splitmix64
  state += 0x9e3779b97f4a7c15u;
  std::uint64_t value = state;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

}  // namespace

// Publishers of pairs of clusters, by places in a list of labels: what the cost of every merge and move needs.
struct ClusterBooks::Table {
  explicit Table(std::size_t count)
      : count(count),
        shared(count),
        leaving(count),
        holding(count),
        blocked(count),
        both(count * count),
        holding_in(count * count),
        blocked_in(count * count) {}

  std::size_t count;
  std::vector<std::int64_t> shared;      // combinations the advertisement has in i
  std::vector<std::int64_t> leaving;     // publishers that would leave i with them
  std::vector<std::int64_t> holding;     // publishers that hold one of them
  std::vector<std::int64_t> blocked;     // advertisements that would stay in i and have no connection left
  std::vector<std::int64_t> both;        // publishers connected to i and j
  std::vector<std::int64_t> holding_in;  // publishers that hold one of them and are connected to j
  std::vector<std::int64_t> blocked_in;  // blocked ones that are connected to j, and so need no new connection
};

std::int64_t ClusterBooks::excess(int number) const {
  const Advertisement& advertisement = advertisements_.at(number);
  if (advertisement.limits.empty()) return 0;
  const auto degree = static_cast<std::int64_t>(advertisement.connections.size());
  return std::max<std::int64_t>(0, degree - advertisement.limits.begin()->first);
}

// All clusters of an advertisement or, of very many, those that cost least by themselves.
std::vector<int> ClusterBooks::relief_candidates(const Advertisement& advertisement) const {
  std::vector<int> labels;
  for (const Connection& connection : advertisement.connections) labels.push_back(connection.cluster);
  const auto key = [&](int label) {
    const ClusterState& cluster = clusters_[label];
    return std::pair(static_cast<std::int64_t>(cluster.combinations.size()) * cluster.publishers, cluster.id);
  };
  std::sort(labels.begin(), labels.end(), [&](int a, int b) { return key(a) < key(b); });
  if (labels.size() > kMostCandidates) labels.resize(kMostCandidates);
  return labels;
}

ClusterBooks::Table ClusterBooks::relief_table(const Advertisement& advertisement, std::span<const int> labels) const {
  const std::size_t count = labels.size();
  Table table(count);
  std::vector<int> place_of(clusters_.size(), -1);
  for (std::size_t i = 0; i < count; ++i) place_of[labels[i]] = static_cast<int>(i);
  std::vector<int> row_of(advertisements_.size(), -1);
  std::vector<int> involved;
  for (const int label : labels) {
    for (const int number : clusters_[label].advertisements) {
      if (row_of[number] >= 0) continue;
      row_of[number] = static_cast<int>(involved.size());
      involved.push_back(number);
    }
  }
  std::vector<int> held(involved.size() * count, 0);  // of the advertisement's combinations in i, by others
  for (const int combination : advertisement.combinations) {
    const int place = place_of[combinations_[combination].owner];
    if (place < 0) continue;
    ++table.shared[place];
    for (const int holder : combinations_[combination].holders) ++held[row_of[holder] * count + place];
  }
  for (std::size_t row = 0; row < involved.size(); ++row) {
    const Advertisement& other = advertisements_[involved[row]];
    for (const Connection& from : other.connections) {
      const int i = place_of[from.cluster];
      if (i < 0) continue;
      const int taken = held[row * count + i];
      const bool stays = from.combinations > taken;
      const bool blocks = taken > 0 && stays && other.exhausted;
      if (taken > 0) table.holding[i] += other.publishers;
      if (!stays) table.leaving[i] += other.publishers;
      table.blocked[i] += blocks;
      for (const Connection& to : other.connections) {
        const int j = place_of[to.cluster];
        if (j < 0 || j == i) continue;
        table.both[i * count + j] += other.publishers;
        if (taken > 0) table.holding_in[i * count + j] += other.publishers;
        table.blocked_in[i * count + j] += blocks;
      }
    }
  }
  return table;
}

Relief ClusterBooks::cheapest_relief(int number) const {
  const Advertisement& advertisement = advertisements_.at(number);
  const std::vector<int> labels = relief_candidates(advertisement);
  const std::size_t count = labels.size();
  if (count < 2) throw std::invalid_argument("an advertisement in one cluster cannot be relieved");
  const Table table = relief_table(advertisement, labels);
  Relief best{0, 0, true, std::numeric_limits<std::int64_t>::max()};
  for (std::size_t i = 0; i < count; ++i) {
    const ClusterState& from = clusters_[labels[i]];
    const auto from_size = static_cast<std::int64_t>(from.combinations.size());
    for (std::size_t j = 0; j < count; ++j) {
      if (i == j) continue;
      const std::size_t at = i * count + j;
      const ClusterState& to = clusters_[labels[j]];
      const auto to_size = static_cast<std::int64_t>(to.combinations.size());
      const std::int64_t now = from_size * from.publishers + to_size * to.publishers;
      if (i < j) {
        const std::int64_t cost = (from_size + to_size) * (from.publishers + to.publishers - table.both[at]) - now;
        if (cost < best.cost) best = {from.id, to.id, true, cost};
      }
      if (table.shared[i] == from_size || table.blocked[i] > table.blocked_in[at]) continue;
      const std::int64_t cost =
          (from_size - table.shared[i]) * (from.publishers - table.leaving[i]) +
          (to_size + table.shared[i]) * (to.publishers + table.holding[i] - table.holding_in[at]) - now;
      if (cost < best.cost) best = {from.id, to.id, false, cost};
    }
  }
  return best;
}

void ClusterBooks::relieve(int number, const Relief& relief) {
  const int source = label_of(relief.source);
  const int target = label_of(relief.target);
  if (relief.merge) {
    merge(std::array{source, target});
    return;
  }
  std::vector<int> part;
  for (const int combination : advertisements_.at(number).combinations) {
    if (combinations_[combination].owner == source) part.push_back(combination);
  }
  move(part, target);
}

// A target of -1 is a cluster of its own.
bool ClusterBooks::try_move(int combination, int target) {
  const int source = combinations_[combination].owner;
  const ClusterState& from = clusters_[source];
  const auto from_size = static_cast<std::int64_t>(from.combinations.size());
  if (source == target || from_size == 1) return false;
  const std::int64_t to_size = target < 0 ? 0 : static_cast<std::int64_t>(clusters_[target].combinations.size());
  const std::int64_t to_publishers = target < 0 ? 0 : clusters_[target].publishers;
  std::int64_t leaving = 0;
  std::int64_t entering = 0;
  for (const int holder : combinations_[combination].holders) {
    const Advertisement& other = advertisements_[holder];
    const bool stays = find(other, source)->combinations > 1;
    const bool enters = target < 0 || find(other, target) == nullptr;
    if (enters && stays && other.exhausted) return false;
    if (!stays) leaving += other.publishers;
    if (enters) entering += other.publishers;
  }
  const std::int64_t now = from_size * from.publishers + to_size * to_publishers;
  const std::int64_t then = (from_size - 1) * (from.publishers - leaving) + (to_size + 1) * (to_publishers + entering);
  if (then >= now) return false;
  move(std::array{combination}, target < 0 ? new_label() : target);
  return true;
}

std::size_t ClusterBooks::improve(int number, std::size_t tries, std::uint64_t seed) {
  const Advertisement& advertisement = advertisements_.at(number);
  std::size_t moved = 0;
  for (std::size_t i = 0; i < tries; ++i) {
    const int combination = advertisement.combinations[next_random(seed) % advertisement.combinations.size()];
    const std::size_t choice = next_random(seed) % (advertisement.connections.size() + 1);
    const bool alone = choice == advertisement.connections.size();
    moved += try_move(combination, alone ? -1 : advertisement.connections[choice].cluster);
  }
  return moved;
}

}  // namespace pubmatch

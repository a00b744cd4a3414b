// The books of publisher clustering: which cluster owns which attribute combination, who is connected where, and who
// has a connection left. Strategies decide; these operations carry out and account.
//
// Publishers that advertise the same attributes are always connected to the same clusters, so the books keep one
// *advertisement* for all of them, and of their limits only the least matters. Combinations are bit masks, numbered when
// first met; each knows its owner, the advertisements holding it, and how many of those have no connection left.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace pubmatch {

constexpr int kMaxClusteredAttributes = 256;  // different ones at a time, over all publishers
constexpr int kMaxAdvertised = 20;            // a publisher with m attributes has 2^m - 1 combinations
constexpr std::int64_t kUnlimited = INT64_MAX;

using AttributeMask = std::array<std::uint64_t, kMaxClusteredAttributes / 64>;

struct AttributeMaskHash {
  std::size_t operator()(const AttributeMask& mask) const;
};

// A cluster that owns some of the joining publisher's combinations.
struct Overlap {
  std::int64_t id = 0;
  std::size_t size = 0;    // combinations it owns
  std::size_t shared = 0;  // of these, the publisher's
};

// A way to spare an advertisement one connection: merge two clusters, or move what it has in `source` to `target`.
struct Relief {
  std::int64_t source = 0;
  std::int64_t target = 0;
  bool merge = true;
  std::int64_t cost = 0;  // by how much the deliveries of one round of notifications grow
};

struct ClusterView {
  std::vector<AttributeMask> combinations;
  std::vector<int> advertisements;
  std::int64_t publishers = 0;
  std::int64_t useful = 0;  // pairs of a publisher and one of its combinations here
};

class ClusterBooks {
 public:
  // A join: begin, any of the operations below, finish. Only one publisher joins at a time.
  void begin(std::span<const int> attributes, std::int64_t limit);
  std::vector<Overlap> overlapping(bool by_size) const;  // oldest first; by size: largest first, ties oldest first
  std::size_t unowned() const;                           // the joining publisher's combinations that have no owner
  std::int64_t free_connections() const;                 // what the joining publisher has left
  bool is_exhausted(std::int64_t cluster) const;         // a connected publisher has no connection left
  std::size_t splittable(std::int64_t cluster) const;    // shared combinations all of whose publishers have one left
  std::int64_t split(std::int64_t cluster, bool only_splittable);
  void connect(std::int64_t cluster);
  // Unowned combinations and the given clusters become one new cluster; 0 if there are neither.
  std::int64_t create(std::span<const std::int64_t> merged);
  void create_each();  // a cluster for every unowned combination, and connections to all overlapping ones
  int finish();        // the advertisement's number

  void leave(int advertisement, std::int64_t limit);

  // Strategy 4: clusters and moves by cost.
  std::int64_t excess(int advertisement) const;  // connections above the least limit
  Relief cheapest_relief(int advertisement) const;
  void relieve(int advertisement, const Relief& relief);
  std::size_t improve(int advertisement, std::size_t tries, std::uint64_t seed);  // moves made

  std::int64_t owner(const AttributeMask& combination) const;  // 0: nobody
  std::vector<std::int64_t> cluster_ids() const;               // oldest first
  std::vector<std::int64_t> clusters_of(int advertisement) const;
  std::size_t degree(int advertisement) const;
  ClusterView view(std::int64_t cluster) const;
  std::size_t cluster_count() const { return live_clusters_; }
  std::size_t combination_count() const { return owned_combinations_; }
  std::int64_t publisher_count() const { return publishers_; }
  std::int64_t connection_count() const;  // over all publishers
  std::int64_t useful() const { return useful_; }
  std::int64_t deliveries() const;  // sum over clusters of combinations times publishers
  std::string check() const;        // what contradicts itself, or nothing

 private:
  struct Combination {
    AttributeMask mask{};
    int owner = -1;
    std::size_t place = 0;  // in its owner's list
    std::vector<int> holders;
    int exhausted = 0;  // of the holders
  };
  struct Connection {
    int cluster = 0;
    int combinations = 0;   // of the advertisement, in that cluster
    std::size_t place = 0;  // in the cluster's list
  };
  struct Advertisement {
    AttributeMask mask{};
    std::vector<int> combinations;
    std::vector<Connection> connections;
    std::map<std::int64_t, int> limits;
    std::int64_t publishers = 0;
    bool exhausted = false;
  };
  struct ClusterState {
    std::int64_t id = 0;  // 0: this place is unused
    std::vector<int> combinations;
    std::vector<int> advertisements;
    std::int64_t publishers = 0;
    int exhausted = 0;  // of the advertisements
  };
  struct Table;

  int find_combination(const AttributeMask& mask) const;
  int combination_number(const AttributeMask& mask);
  void grow_slots();
  int label_of(std::int64_t id) const;
  int new_label();
  std::vector<int> shared_with(int label) const;
  void own(int combination, int label);
  void disown(int combination);
  Connection* find(Advertisement& advertisement, int label);
  const Connection* find(const Advertisement& advertisement, int label) const;
  void attach(int advertisement, int label, int combinations);
  void detach(int advertisement, int label, int combinations);
  void move(std::span<const int> combinations, int target);
  int merge(std::span<const int> labels);
  void refresh(int advertisement);
  void set_exhausted(Advertisement& advertisement, bool exhausted);
  void drop_cluster(int label);
  void connect_new(int advertisement);
  void drop_advertisement(int number);
  void touch(int advertisement);
  void refresh_touched();
  bool try_move(int combination, int target);
  Table relief_table(const Advertisement& advertisement, std::span<const int> labels) const;
  std::vector<int> relief_candidates(const Advertisement& advertisement) const;

  std::vector<Combination> combinations_;
  std::vector<int> slots_;  // a hash table of numbers of combinations, open addressing; -1 is free
  std::unordered_map<AttributeMask, int, AttributeMaskHash> advertisement_numbers_;
  std::vector<Advertisement> advertisements_;
  std::vector<int> unused_advertisements_;
  std::vector<ClusterState> clusters_;
  std::vector<int> unused_labels_;
  std::unordered_map<std::int64_t, int> labels_;
  std::vector<int> touched_;
  std::vector<char> is_touched_;
  std::vector<int> joining_;                     // combinations of the publisher that is joining
  std::vector<std::pair<int, int>> joining_by_;  // owner when it began, combination; sorted
  AttributeMask joining_mask_{};
  std::int64_t joining_limit_ = 0;
  std::int64_t joining_used_ = 0;
  std::int64_t next_id_ = 1;
  std::size_t live_clusters_ = 0;
  std::size_t owned_combinations_ = 0;
  std::int64_t publishers_ = 0;
  std::int64_t useful_ = 0;
};

}  // namespace pubmatch

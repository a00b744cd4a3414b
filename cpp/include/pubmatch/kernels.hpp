// The hot loops, compiled once per instruction set and chosen once at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "pubmatch/cuts.hpp"
#include "pubmatch/event_batch.hpp"
#include "pubmatch/node.hpp"

namespace pubmatch {

inline constexpr std::size_t kHead = 8;  // lines read before the first test: by then most nodes are done

// One node with the events that meet it: events[first, last) of the buffer the visit lies in.
template <class T>
struct Visit {
  const Node<T>* node = nullptr;
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  const std::uint64_t* lines = nullptr;  // of a dense leaf, where they are known
};

class IdBuffer;

// Where the ids of one event's matches go. With no memory behind it, it only counts.
struct Sink {
  std::int64_t* ids = nullptr;
  std::size_t size = 0;
  std::size_t capacity = 0;
  bool counting = false;
  IdBuffer* buffer = nullptr;  // what grow() grows
};

template <class T>
struct LeafScan {
  const Visit<T>* visits = nullptr;
  std::size_t visit_count = 0;
  std::size_t visits_behind = 0;          // visits that follow and are scanned next: their lines are fetched ahead too
  bool begins = true;                     // nothing has been fetched for these visits yet
  bool apart = false;                     // every visit is of one event, and those of an event follow one another
  const std::uint32_t* events = nullptr;  // per visit: positions in the group
  const std::uint32_t* rows = nullptr;    // position in the group -> row of the batch
  const EventBatch<T>* batch = nullptr;
  const std::uint8_t* leaf_line_counts = nullptr;
  Sink* sinks = nullptr;  // one per position in the group
  void (*grow)(Sink&) = nullptr;
};

template <class T>
struct KernelSet {
  // Sets bit c of the mask for every child (or compare entry) c of the node the event meets.
  void (*meet)(const Node<T>& node, const EventBatch<T>& batch, std::size_t row, const std::uint8_t* inner_line_counts,
               std::uint64_t* mask);
  // For every child: weight × how far its envelope would grow to take the box in, plus its margin; sides are clipped to
  // [clip_low, clip_high] and scaled.
  void (*score_children)(const Node<T>& node, std::size_t dims, const T* lower, const T* upper, const T* clip_low,
                         const T* clip_high, const T* scale, T weight, T* score);
  // Finds the matches of every visit's events in its leaf.
  void (*scan_leaves)(const LeafScan<T>& scan);
};

struct Kernels {
  const char* name;
  KernelSet<float> f32;
  KernelSet<double> f64;

  template <class T>
  const KernelSet<T>& set() const {
    if constexpr (sizeof(T) == 4)
      return f32;
    else
      return f64;
  }
};

// Best first; the last runs everywhere.
std::vector<const Kernels*> available_kernels();
// The one in use: the best, or the one that PUBMATCH_FORCE_KERNEL names. Throws ArgumentError for an unknown name.
const Kernels& active_kernels();

}  // namespace pubmatch

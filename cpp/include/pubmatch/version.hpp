// The published states of a tree. Readers pin the current one and keep it; a writer publishes the next.
//
// Nodes and parts that a new version no longer uses are handed to the version before it, the last that can reach them,
// and are freed once that version and all older ones are let go. Pinning takes a mutex for a few instructions and never
// waits for an update.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "pubmatch/node.hpp"
#include "pubmatch/node_factory.hpp"
#include "pubmatch/workload_model.hpp"

namespace pubmatch {

template <class T>
struct Garbage {
  std::vector<Node<T>*> nodes;  // without their parts
  std::vector<Part> parts;

  void free() {
    for (Node<T>* node : nodes) delete node;
    for (Part& part : parts) free_part(part);
    nodes.clear();
    parts.clear();
  }
};

template <class T>
struct Version {
  Node<T>* root = nullptr;
  std::size_t size = 0;
  std::uint64_t serial = 0;
  std::uint32_t group = 1;      // events searched together
  std::size_t packed_size = 0;  // size when it was bulk loaded
  std::size_t updates = 0;      // inserts since then
  std::shared_ptr<const NodeFactory<T>> factory;
  std::shared_ptr<const LazyWorkloadModel<T>> lazy_model;  // of bitmap trees

  std::size_t height() const { return std::size_t{root->height} + 1; }
  // What tells an event's work beforehand, or null.
  const WorkloadModel<T>* model() const {
    return lazy_model == nullptr || root->leaf() ? nullptr : &lazy_model->of(*this);
  }

  long pins = 0;
  Garbage<T> garbage;
};

template <class T>
class VersionChain {
 public:
  class Pin {
   public:
    Pin(const VersionChain* chain, const Version<T>* version) : chain_(chain), version_(version) {}
    Pin(Pin&& other) noexcept : chain_(other.chain_), version_(std::exchange(other.version_, nullptr)) {}
    Pin& operator=(Pin&&) = delete;
    ~Pin() {
      if (version_ != nullptr) chain_->release(version_);
    }
    const Version<T>& operator*() const { return *version_; }
    const Version<T>* operator->() const { return version_; }

   private:
    const VersionChain* chain_;
    const Version<T>* version_;
  };

  explicit VersionChain(std::unique_ptr<Version<T>> first) { versions_.push_back(std::move(first)); }
  ~VersionChain();

  Pin pin() const;
  // garbage: what the current version reaches and the next does not.
  void publish(std::unique_ptr<Version<T>> next, Garbage<T> garbage);

 private:
  void release(const Version<T>* version) const;
  std::vector<std::unique_ptr<Version<T>>> collect() const;  // with the mutex held

  mutable std::mutex mutex_;
  mutable std::deque<std::unique_ptr<Version<T>>> versions_;  // oldest first; the last is current
};

// Every node below and including `root`, as garbage with its parts.
template <class T>
void gather(Node<T>* root, Garbage<T>& garbage);

extern template class VersionChain<float>;
extern template class VersionChain<double>;
extern template void gather<float>(Node<float>*, Garbage<float>&);
extern template void gather<double>(Node<double>*, Garbage<double>&);

}  // namespace pubmatch

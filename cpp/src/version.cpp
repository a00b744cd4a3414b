#include "pubmatch/version.hpp"

namespace pubmatch {

template <class T>
VersionChain<T>::~VersionChain() {
  for (const std::unique_ptr<Version<T>>& version : versions_) version->garbage.free();
  Garbage<T> rest;
  gather(versions_.back()->root, rest);
  rest.free();
}

template <class T>
typename VersionChain<T>::Pin VersionChain<T>::pin() const {
  const std::lock_guard lock(mutex_);
  Version<T>* current = versions_.back().get();
  ++current->pins;
  return Pin(this, current);
}

template <class T>
void VersionChain<T>::publish(std::unique_ptr<Version<T>> next, Garbage<T> garbage) {
  std::vector<std::unique_ptr<Version<T>>> dead;
  {
    const std::lock_guard lock(mutex_);
    versions_.push_back(std::move(next));
    versions_[versions_.size() - 2]->garbage = std::move(garbage);
    dead = collect();
  }
  for (const std::unique_ptr<Version<T>>& version : dead) version->garbage.free();
}

template <class T>
void VersionChain<T>::release(const Version<T>* version) const {
  std::vector<std::unique_ptr<Version<T>>> dead;
  {
    const std::lock_guard lock(mutex_);
    --const_cast<Version<T>*>(version)->pins;
    dead = collect();
  }
  for (const std::unique_ptr<Version<T>>& gone : dead) gone->garbage.free();
}

template <class T>
std::vector<std::unique_ptr<Version<T>>> VersionChain<T>::collect() const {
  std::vector<std::unique_ptr<Version<T>>> dead;
  while (versions_.size() > 1 && versions_.front()->pins == 0) {
    dead.push_back(std::move(versions_.front()));
    versions_.pop_front();
  }
  return dead;
}

template <class T>
void gather(Node<T>* root, Garbage<T>& garbage) {
  for (Node<T>* child : root->children) gather(child, garbage);
  garbage.nodes.push_back(root);
  garbage.parts.push_back(root->lines);
  garbage.parts.push_back(root->entries);
}

template class VersionChain<float>;
template class VersionChain<double>;
template void gather<float>(Node<float>*, Garbage<float>&);
template void gather<double>(Node<double>*, Garbage<double>&);

}  // namespace pubmatch

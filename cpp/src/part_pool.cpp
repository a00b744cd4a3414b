#include "pubmatch/part_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace pubmatch {

namespace {

constexpr std::size_t kSlab = std::size_t{4} << 20;
constexpr std::size_t kHead = 64;                // the slab's own record
constexpr std::size_t kLargest = kSlab / 4;      // larger parts are mapped on their own
constexpr std::size_t kHugePage = std::size_t{2} << 20;

struct Slab {
  std::size_t live = 0;  // parts in use
  std::size_t used = kHead;
};

std::size_t size_class(std::size_t bytes) {
  const std::size_t step = bytes <= 4096 ? 64 : bytes <= 65536 ? 512 : 4096;
  return (bytes + step - 1) / step * step;
}

// Mapped memory aligned to `alignment`, in huge pages where the system has them. Fresh maps are zero.
std::byte* map_aligned(std::size_t bytes, std::size_t alignment) {
  const std::size_t span = bytes + alignment;
  void* raw = mmap(nullptr, span, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (raw == MAP_FAILED) throw std::bad_alloc();
  auto* const start = static_cast<std::byte*>(raw);
  const auto address = reinterpret_cast<std::uintptr_t>(raw);
  const std::size_t skip = (alignment - address % alignment) % alignment;
  if (skip != 0) munmap(start, skip);
  if (span - skip > bytes) munmap(start + skip + bytes, span - skip - bytes);
#ifdef MADV_HUGEPAGE
  madvise(start + skip, bytes, MADV_HUGEPAGE);
#endif
  return start + skip;
}

std::size_t own_map_bytes(std::size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

class Pool {
 public:
  std::byte* take(std::size_t bytes) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    if (const auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
      std::byte* data = found->second.back();
      found->second.pop_back();
      ++slab_of(data)->live;
      std::memset(data, 0, bytes);
      return data;
    }
    if (current_ == nullptr || current_->used + size > kSlab) {
      std::byte* memory = map_aligned(kSlab, kSlab);
      Slab* const full = current_;
      current_ = new (memory) Slab;
      if (full != nullptr && full->live == 0) give_back(full);
    }
    std::byte* data = reinterpret_cast<std::byte*>(current_) + current_->used;
    current_->used += size;
    ++current_->live;
    return data;
  }

  void put_back(std::byte* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Slab* slab = slab_of(data);
    free_[size_class(bytes)].push_back(data);
    if (--slab->live == 0 && slab != current_) give_back(slab);
  }

 private:
  static Slab* slab_of(std::byte* data) {
    return reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(data) / kSlab * kSlab);
  }

  void give_back(Slab* slab) {
    for (auto& [size, parts] : free_)
      parts.erase(std::remove_if(parts.begin(), parts.end(), [&](std::byte* p) { return slab_of(p) == slab; }),
                  parts.end());
    munmap(slab, kSlab);
  }

  std::mutex mutex_;
  Slab* current_ = nullptr;
  std::map<std::size_t, std::vector<std::byte*>> free_;
};

Pool& pool() {
  static Pool* const kept = new Pool;  // never destroyed: indexes may outlive static destruction
  return *kept;
}

}  // namespace

std::byte* take_part_memory(std::size_t bytes) {
  if (bytes > kLargest) return map_aligned(own_map_bytes(bytes), kHugePage);
  return pool().take(bytes);
}

void return_part_memory(std::byte* data, std::size_t bytes) {
  if (bytes > kLargest)
    munmap(data, own_map_bytes(bytes));
  else
    pool().put_back(data, bytes);
}

}  // namespace pubmatch

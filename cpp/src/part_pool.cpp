#include "pubmatch/part_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <vector>

namespace pubmatch {

namespace {

constexpr std::size_t kSlab = std::size_t{4} << 20;
constexpr std::size_t kHead = 64;            // the slab's own record
constexpr std::size_t kLargest = kSlab / 4;  // larger parts are mapped on their own
constexpr std::size_t kKeptSlabs = 4;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

class Pool;

struct Slab {
  Pool* pool;
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
  std::byte* take(std::size_t bytes, bool zeroed) {
    const std::size_t size = size_class(bytes);
    const std::lock_guard lock(mutex_);
    if (const auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
      std::byte* data = found->second.back();
      found->second.pop_back();
      if (slab_of(data)->live++ == 0) empty_.erase(slab_of(data));
      if (zeroed) std::memset(data, 0, bytes);  // fresh memory is zero anyway
      return data;
    }
    if (current_ == nullptr || current_->used + size > kSlab) {
      std::byte* memory = map_aligned(kSlab, kSlab);
      Slab* const full = current_;
      current_ = new (memory) Slab{this};
      ++slabs_;
      if (full != nullptr && full->live == 0) note_empty(full);
    }
    std::byte* data = reinterpret_cast<std::byte*>(current_) + current_->used;
    current_->used += size;
    ++current_->live;
    return data;
  }

  static void put_back(std::byte* data, std::size_t bytes) { slab_of(data)->pool->take_back(data, bytes); }

 private:
  void take_back(std::byte* data, std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Slab* slab = slab_of(data);
    free_[size_class(bytes)].push_back(data);
    if (--slab->live == 0 && slab != current_) note_empty(slab);
  }

  static Slab* slab_of(std::byte* data) {
    return reinterpret_cast<Slab*>(reinterpret_cast<std::uintptr_t>(data) / kSlab * kSlab);
  }

  // Updates free about as much as they take, so some empty slabs are kept for the next one: fresh pages are dear.
  void note_empty(Slab* slab) {
    empty_.insert(slab);
    const std::size_t used = slabs_ - empty_.size();
    while (empty_.size() > std::max(kKeptSlabs, used / 2)) give_back(*empty_.begin());
  }

  void give_back(Slab* slab) {
    empty_.erase(slab);
    --slabs_;
    for (auto& [size, parts] : free_)
      parts.erase(std::remove_if(parts.begin(), parts.end(), [&](std::byte* p) { return slab_of(p) == slab; }),
                  parts.end());
    munmap(slab, kSlab);
  }

  std::mutex mutex_;
  Slab* current_ = nullptr;
  std::size_t slabs_ = 0;
  std::set<Slab*> empty_;  // all but the current one
  std::map<std::size_t, std::vector<std::byte*>> free_;
};

// A search reads many lines and few entries. Apart from the entries, lines lie on a third of the pages, and the tables that
// translate their addresses stay in the cache (W1 -6 %, W4 -8 % time).
Pool& pool_for(PartUse use) {
  static Pool* const kept = new Pool[3];  // never destroyed: indexes may outlive static destruction
  return kept[static_cast<std::size_t>(use)];
}

}  // namespace

// Under AddressSanitizer every part is an allocation of its own, so that writing past one is seen.
#if defined(__SANITIZE_ADDRESS__)
#define PUBMATCH_OWN_ALLOCATIONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PUBMATCH_OWN_ALLOCATIONS 1
#endif
#endif

#ifdef PUBMATCH_OWN_ALLOCATIONS

std::byte* take_part_memory(PartUse, std::size_t bytes, bool) {
  auto* data = static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64}));
  std::memset(data, 0, bytes);
  return data;
}

void return_part_memory(std::byte* data, std::size_t) { ::operator delete(data, std::align_val_t{64}); }

#else

std::byte* take_part_memory(PartUse use, std::size_t bytes, bool zeroed) {
  if (bytes > kLargest) return map_aligned(own_map_bytes(bytes), kHugePage);
  return pool_for(use).take(bytes, zeroed);
}

void return_part_memory(std::byte* data, std::size_t bytes) {
  if (bytes > kLargest)
    munmap(data, own_map_bytes(bytes));
  else
    Pool::put_back(data, bytes);
}

#endif

}  // namespace pubmatch

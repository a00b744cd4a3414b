// IdBuffer: memory for ids that comes and goes with every batch is used again.
#include "pubmatch/matches.hpp"

#include <doctest/doctest.h>

using pubmatch::IdBuffer;

TEST_CASE("an event's ids are not put where the whole batch's were") {
  constexpr std::size_t kBatch = std::size_t{1} << 18;
  constexpr std::size_t kEvent = std::size_t{1} << 13;
  const std::int64_t* batch_ids = nullptr;
  const std::int64_t* event_ids = nullptr;
  {
    IdBuffer event;
    IdBuffer batch;
    event.reserve(kEvent);
    batch.reserve(kBatch);
    event_ids = event.data();
    batch_ids = batch.data();
  }  // the event's is freed last, and would be found first
  IdBuffer batch;
  IdBuffer event;
  batch.reserve(kBatch);
  event.reserve(IdBuffer::kFirst);
  CHECK(batch.data() == batch_ids);
  CHECK(event.data() == event_ids);
  CHECK(event.capacity() >= kEvent);
  IdBuffer other;
  other.reserve(IdBuffer::kFirst);
  CHECK(other.data() != batch_ids);
}

TEST_CASE("a large buffer waits for a large demand, though it was freed last") {
  constexpr std::size_t kBatch = std::size_t{1} << 18;
  const std::int64_t* batch_ids = nullptr;
  {
    IdBuffer batch;
    batch.reserve(kBatch);
    batch_ids = batch.data();
  }
  IdBuffer event;
  event.reserve(IdBuffer::kFirst);
  CHECK(event.data() != batch_ids);
  IdBuffer batch;
  batch.reserve(kBatch);
  CHECK(batch.data() == batch_ids);
}

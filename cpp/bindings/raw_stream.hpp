// _core.RawStream: a MatchStream of either type that Python threads may share.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>
#include <utility>
#include <variant>

#include "pubmatch/rtree.hpp"

namespace pubmatch {

using AnyStream = std::variant<std::unique_ptr<MatchStream<float>>, std::unique_ptr<MatchStream<double>>>;

class RawStream {
 public:
  explicit RawStream(AnyStream stream) : stream_(std::move(stream)) {}

  // (positions, RawMatches) of the events finished next, or None when all were handed out or the stream was closed.
  pybind11::object next();
  void close();

 private:
  std::mutex busy_;   // the stream itself is for one thread at a time; taken only without the GIL
  AnyStream stream_;  // null once closed
};

}  // namespace pubmatch

// _core.RawMatches and _core.RawStream: results as they lie in the core; an array is made when it is asked for.
#include "pubmatch/matches.hpp"

#include <pybind11/pybind11.h>

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "arrays.hpp"
#include "raw_stream.hpp"

namespace py = pybind11;

namespace pubmatch {

namespace {

// The arrays look into the Matches inside the Python object `self`, so each keeps that object alive.
template <auto Member>
py::array member_array(const py::object& self) {
  const auto& values = self.cast<const Matches&>().*Member;
  return view_array(values.data(), values.size(), self);
}

py::array ids_array(const py::object& self) {
  const IdBuffer& ids = self.cast<const Matches&>().ids;
  return view_array(ids.data(), ids.size, self);
}

}  // namespace

py::object RawStream::next() {
  std::vector<std::int64_t> positions;
  Matches matches;
  const bool more = without_gil([&] {
    const std::lock_guard lock(busy_);
    return std::visit([&](const auto& stream) { return stream != nullptr && stream->next(positions, matches); },
                      stream_);
  });
  if (!more) return py::none();
  return py::make_tuple(owned_array(std::move(positions)), py::cast(std::move(matches)));
}

void RawStream::close() {
  without_gil([&] {
    const std::lock_guard lock(busy_);
    std::visit([](auto& stream) { stream.reset(); }, stream_);
  });
}

void register_matches(py::module_& m) {
  py::class_<Matches>(m, "RawMatches", "What a search found.", py::is_final())
      .def_property_readonly("offsets", &member_array<&Matches::offsets>)
      .def_property_readonly("ids", &ids_array)
      .def_property_readonly("order", &member_array<&Matches::order>)
      .def_property_readonly("response_s", &member_array<&Matches::response_s>)
      .def_readonly("level", &Matches::level);

  py::class_<RawStream>(m, "RawStream", "A search whose results are handed out as they come.", py::is_final())
      .def("next", &RawStream::next)
      .def("close", &RawStream::close);
}

}  // namespace pubmatch

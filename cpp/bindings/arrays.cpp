#include "arrays.hpp"

#include <string>

#include "errors.hpp"
#include "pubmatch/error.hpp"

namespace py = pybind11;

namespace pubmatch {

namespace {

template <class T>
bool ready(const py::array& array) {
  return py::isinstance<py::array_t<T, py::array::c_style>>(array) &&
         (array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0;
}

[[noreturn]] void refuse_dtype(const py::array& array, const char* name, const char* expected) {
  throw ArgumentTypeError(std::string(name) + " has dtype " + py::str(array.dtype()).cast<std::string>() +
                          ", expected a C-contiguous, aligned array of " + expected);
}

[[noreturn]] void refuse_shape(const py::array& array, const char* name, const std::string& expected) {
  const std::string shape = py::str(array.attr("shape")).cast<std::string>();
  throw ArgumentError(std::string(name) + " has shape " + shape + ", expected " + expected);
}

// The dtype is known to be T.
template <class T>
Rows<T> shaped_rows(const py::array& array, std::size_t dims, const char* name) {
  if (array.ndim() != 2 || static_cast<std::size_t>(array.shape(1)) != dims)
    refuse_shape(array, name, "(n, " + std::to_string(dims) + ")");
  return {static_cast<const T*>(array.data()), static_cast<std::size_t>(array.shape(0))};
}

}  // namespace

std::size_t row_width(const py::array& array, const char* name) {
  if (array.ndim() != 2) refuse_shape(array, name, "(n, dims)");
  return static_cast<std::size_t>(array.shape(1));
}

template <class T>
Rows<T> typed_rows(const py::array& array, std::size_t dims, const char* name) {
  if (!ready<T>(array)) refuse_dtype(array, name, sizeof(T) == sizeof(float) ? "float32" : "float64");
  return shaped_rows<T>(array, dims, name);
}

AnyRows any_rows(const py::array& array, std::size_t dims, const char* name) {
  if (ready<double>(array)) return shaped_rows<double>(array, dims, name);
  if (ready<float>(array)) return shaped_rows<float>(array, dims, name);
  refuse_dtype(array, name, "float32 or float64");
}

std::span<const std::int64_t> id_span(const py::array& ids) {
  if (!ready<std::int64_t>(ids)) refuse_dtype(ids, "ids", "int64");
  if (ids.ndim() != 1) refuse_shape(ids, "ids", "(n,)");
  return {static_cast<const std::int64_t*>(ids.data()), static_cast<std::size_t>(ids.shape(0))};
}

const std::int64_t* optional_ids(const std::optional<py::array>& ids, std::size_t boxes) {
  if (!ids) return nullptr;
  const std::span<const std::int64_t> given = id_span(*ids);
  if (given.size() != boxes)
    throw ArgumentError("ids has " + std::to_string(given.size()) + " entries for " + std::to_string(boxes) + " boxes");
  return given.data();
}

template <class T>
BoxView<T> box_view(const Rows<T>& lower, const py::array& upper, std::size_t dims) {
  const Rows<T> high = typed_rows<T>(upper, dims, "upper");
  if (high.count != lower.count)
    refuse_shape(upper, "upper", "(" + std::to_string(lower.count) + ", " + std::to_string(dims) + ") as lower has");
  return {lower.data, high.data, lower.count, dims};
}

template Rows<float> typed_rows<float>(const py::array&, std::size_t, const char*);
template Rows<double> typed_rows<double>(const py::array&, std::size_t, const char*);
template BoxView<float> box_view<float>(const Rows<float>&, const py::array&, std::size_t);
template BoxView<double> box_view<double>(const Rows<double>&, const py::array&, std::size_t);

}  // namespace pubmatch

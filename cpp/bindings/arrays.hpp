// numpy arrays in, as typed views that are checked once; vectors of the core out, as read-only arrays without a copy.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "pubmatch/box.hpp"

namespace pubmatch {

// Row-major rows that an array owns; the array must outlive them.
template <class T>
struct Rows {
  const T* data = nullptr;
  std::size_t count = 0;
};

using AnyRows = std::variant<Rows<float>, Rows<double>>;

// Each throws ArgumentTypeError for another dtype or layout, ArgumentError for another shape; `name` is for the message.
std::size_t row_width(const pybind11::array& array, const char* name);
template <class T>
Rows<T> typed_rows(const pybind11::array& array, std::size_t dims, const char* name);
AnyRows any_rows(const pybind11::array& array, std::size_t dims, const char* name);
std::span<const std::int64_t> id_span(const pybind11::array& ids);
// None: a null pointer, the core then chooses. Otherwise there must be one id per box.
const std::int64_t* optional_ids(const std::optional<pybind11::array>& ids, std::size_t boxes);

template <class T>
BoxView<T> box_view(const Rows<T>& lower, const pybind11::array& upper, std::size_t dims);

// An array over memory that `owner` keeps as long as the array lives.
template <class T>
pybind11::array view_array(const T* data, std::size_t size, const pybind11::handle& owner) {
  pybind11::array_t<T> array(static_cast<pybind11::ssize_t>(size), data, owner);
  pybind11::detail::array_proxy(array.ptr())->flags &= ~pybind11::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return array;
}

// An array that takes the vector over.
template <class T>
pybind11::array owned_array(std::vector<T>&& values) {
  auto kept = std::make_unique<std::vector<T>>(std::move(values));
  const pybind11::capsule owner(kept.get(), [](void* vector) { delete static_cast<std::vector<T>*>(vector); });
  const std::vector<T>& vector = *kept.release();
  return view_array(vector.data(), vector.size(), owner);
}

// One call of the core, while other Python threads run.
template <class Work>
auto without_gil(const Work& work) {
  const pybind11::gil_scoped_release released;
  return work();
}

extern template Rows<float> typed_rows<float>(const pybind11::array&, std::size_t, const char*);
extern template Rows<double> typed_rows<double>(const pybind11::array&, std::size_t, const char*);
extern template BoxView<float> box_view<float>(const Rows<float>&, const pybind11::array&, std::size_t);
extern template BoxView<double> box_view<double>(const Rows<double>&, const pybind11::array&, std::size_t);

}  // namespace pubmatch

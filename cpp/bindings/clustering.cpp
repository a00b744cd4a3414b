// _core.ClusterBooks: the books of publisher clustering. Attributes are numbers, combinations lists of numbers.
#include "pubmatch/clustering.hpp"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace py = pybind11;

namespace pubmatch {

namespace {

std::int64_t limit_of(const std::optional<std::int64_t>& limit) { return limit.value_or(kUnlimited); }

AttributeMask mask_of(const std::vector<int>& attributes) {
  AttributeMask mask{};
  for (const int attribute : attributes) {
    if (attribute < 0 || attribute >= kMaxClusteredAttributes) throw std::invalid_argument("attribute out of range");
    mask[attribute / 64] |= std::uint64_t{1} << (attribute % 64);
  }
  return mask;
}

std::vector<int> attributes_of(const AttributeMask& mask) {
  std::vector<int> attributes;
  for (int attribute = 0; attribute < kMaxClusteredAttributes; ++attribute) {
    if (mask[attribute / 64] >> (attribute % 64) & 1) attributes.push_back(attribute);
  }
  return attributes;
}

// The one call whose answer is long for every join: built with the plain C interface, five times as quick.
py::list overlapping(const ClusterBooks& books, bool by_size) {
  const auto found = books.overlapping(by_size);
  py::list shown(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    PyObject* const row = PyTuple_New(3);
    if (row == nullptr) throw py::error_already_set();
    PyList_SET_ITEM(shown.ptr(), static_cast<py::ssize_t>(i), row);
    PyTuple_SET_ITEM(row, 0, PyLong_FromLongLong(found[i].id));
    PyTuple_SET_ITEM(row, 1, PyLong_FromSize_t(found[i].size));
    PyTuple_SET_ITEM(row, 2, PyLong_FromSize_t(found[i].shared));
  }
  return shown;
}

py::tuple view(const ClusterBooks& books, std::int64_t id) {
  const ClusterView found = books.view(id);
  std::vector<std::vector<int>> combinations;
  combinations.reserve(found.combinations.size());
  for (const AttributeMask& mask : found.combinations) combinations.push_back(attributes_of(mask));
  return py::make_tuple(combinations, found.advertisements, found.publishers, found.useful);
}

py::tuple cheapest_relief(const ClusterBooks& books, int advertisement) {
  const Relief relief = books.cheapest_relief(advertisement);
  return py::make_tuple(relief.source, relief.target, relief.merge, relief.cost);
}

void relieve(ClusterBooks& books, int advertisement, std::int64_t source, std::int64_t target, bool merge) {
  books.relieve(advertisement, {source, target, merge, 0});
}

}  // namespace

void register_clustering(py::module_& m) {
  m.attr("MAX_CLUSTERED_ATTRIBUTES") = kMaxClusteredAttributes;
  m.attr("MAX_ADVERTISED") = kMaxAdvertised;
  py::class_<ClusterBooks>(m, "ClusterBooks", "Owners, connections and limits of publisher clusters.")
      .def(py::init<>())
      .def(
          "begin",
          [](ClusterBooks& books, const std::vector<int>& attributes, const std::optional<std::int64_t>& limit) {
            books.begin(attributes, limit_of(limit));
          },
          py::arg("attributes"), py::arg("limit"))
      .def("overlapping", &overlapping, py::arg("by_size"))
      .def("unowned", &ClusterBooks::unowned)
      .def("free_connections", &ClusterBooks::free_connections)
      .def("is_exhausted", &ClusterBooks::is_exhausted, py::arg("cluster"))
      .def("splittable", &ClusterBooks::splittable, py::arg("cluster"))
      .def("split", &ClusterBooks::split, py::arg("cluster"), py::arg("only_splittable"))
      .def("connect", &ClusterBooks::connect, py::arg("cluster"))
      .def(
          "create", [](ClusterBooks& books, const std::vector<std::int64_t>& merged) { return books.create(merged); },
          py::arg("merged"))
      .def("create_each", &ClusterBooks::create_each)
      .def("finish", &ClusterBooks::finish)
      .def(
          "leave",
          [](ClusterBooks& books, int advertisement, const std::optional<std::int64_t>& limit) {
            books.leave(advertisement, limit_of(limit));
          },
          py::arg("advertisement"), py::arg("limit"))
      .def("excess", &ClusterBooks::excess, py::arg("advertisement"))
      .def("cheapest_relief", &cheapest_relief, py::arg("advertisement"))
      .def("relieve", &relieve, py::arg("advertisement"), py::arg("source"), py::arg("target"), py::arg("merge"))
      .def("improve", &ClusterBooks::improve, py::arg("advertisement"), py::arg("tries"), py::arg("seed"))
      .def(
          "owner",
          [](const ClusterBooks& books, const std::vector<int>& attributes) {
            return books.owner(mask_of(attributes));
          },
          py::arg("attributes"))
      .def("cluster_ids", &ClusterBooks::cluster_ids)
      .def("clusters_of", &ClusterBooks::clusters_of, py::arg("advertisement"))
      .def("degree", &ClusterBooks::degree, py::arg("advertisement"))
      .def("view", &view, py::arg("cluster"))
      .def("cluster_count", &ClusterBooks::cluster_count)
      .def("combination_count", &ClusterBooks::combination_count)
      .def("publisher_count", &ClusterBooks::publisher_count)
      .def("connection_count", &ClusterBooks::connection_count)
      .def("useful", &ClusterBooks::useful)
      .def("deliveries", &ClusterBooks::deliveries)
      .def("check", &ClusterBooks::check);
}

}  // namespace pubmatch

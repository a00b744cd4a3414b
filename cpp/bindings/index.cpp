// _core.Index: a tree of either type. Every method turns its arguments into typed pointers, makes one call of the core
// without the GIL, and turns the result into arrays.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "arrays.hpp"
#include "errors.hpp"
#include "pubmatch/error.hpp"
#include "pubmatch/file_format.hpp"
#include "pubmatch/rtree.hpp"
#include "pubmatch/thread_pool.hpp"
#include "raw_stream.hpp"

namespace py = pybind11;

namespace pubmatch {

namespace {

class Index {
 public:
  explicit Index(AnyTree tree) : tree_(std::move(tree)) {}
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;
  // Millions of nodes take a while to free.
  ~Index() {
    const py::gil_scoped_release released;
    std::visit([](auto& tree) { tree.reset(); }, tree_);
  }

  const AnyTree& tree() const { return tree_; }
  std::size_t dims() const {
    return std::visit([](const auto& tree) { return tree->dims(); }, tree_);
  }

 private:
  AnyTree tree_;
};

using IndexPtr = std::unique_ptr<Index>;

// The scalar type of the tree that a shared_ptr points to.
template <class TreePtr>
struct ScalarOf;
template <class T>
struct ScalarOf<std::shared_ptr<Tree<T>>> {
  using Type = T;
};
template <class TreePtr>
using Scalar = typename ScalarOf<std::remove_cvref_t<TreePtr>>::Type;

// --- names and parameters -----------------------------------------------------------------------------------------

template <class Enum>
struct Named {
  std::string_view name;
  Enum value;
};

constexpr std::array<Named<Order>, 2> kOrders{{{"fifo", Order::kFifo}, {"sjf", Order::kSjf}}};
constexpr std::array<Named<NodeKernel>, 3> kNodeKernels{
    {{"auto", NodeKernel::kAuto}, {"compare", NodeKernel::kCompare}, {"bitmap", NodeKernel::kBitmap}}};
constexpr std::array<Named<SplitRule>, 2> kSplitRules{
    {{"rstar", SplitRule::kRStar}, {"quadratic", SplitRule::kQuadratic}}};

template <class Enum, std::size_t N>
Enum value_of(const std::array<Named<Enum>, N>& all, std::string_view name, const char* what) {
  for (const Named<Enum>& one : all)
    if (one.name == name) return one.value;
  throw ArgumentError(std::string(what) + " has no value '" + std::string(name) + "'");
}

template <class Enum, std::size_t N>
std::string_view name_of(const std::array<Named<Enum>, N>& all, Enum value) {
  for (const Named<Enum>& one : all)
    if (one.value == value) return one.name;
  return {};
}

template <class T>
T knob(const py::dict& fields, const char* name) {
  try {
    return fields[name].cast<T>();
  } catch (const py::cast_error&) {
    throw ArgumentTypeError(std::string(name) + " has a value of the wrong type or size");
  }
}

Params params_from(const py::dict& fields) {
  Params params;
  params.node_capacity = knob<std::uint32_t>(fields, "node_capacity");
  params.leaf_capacity = knob<std::uint32_t>(fields, "leaf_capacity");
  params.buckets = knob<std::uint32_t>(fields, "buckets");
  params.fill = knob<double>(fields, "fill");
  params.node_kernel = value_of(kNodeKernels, knob<std::string>(fields, "node_kernel"), "node_kernel");
  params.split = value_of(kSplitRules, knob<std::string>(fields, "split"), "split");
  return params;
}

py::dict params_of(const Index& index) {
  const Params params = std::visit([](const auto& tree) { return tree->params(); }, index.tree());
  py::dict fields;
  fields["node_capacity"] = params.node_capacity;
  fields["leaf_capacity"] = params.leaf_capacity;
  fields["buckets"] = params.buckets;
  fields["fill"] = params.fill;
  fields["node_kernel"] = name_of(kNodeKernels, params.node_kernel);
  fields["split"] = name_of(kSplitRules, params.split);
  return fields;
}

std::size_t checked_threads(std::size_t threads) {
  if (threads == 0 || threads > kMaxThreads)
    throw ArgumentError("threads must be from 1 to " + std::to_string(kMaxThreads) + ", got " +
                        std::to_string(threads));
  return threads;
}

// Calls work(float{}) or work(double{}).
template <class Work>
auto with_scalar(std::string_view dtype, const Work& work) {
  if (dtype == "float32") return work(float{});
  if (dtype == "float64") return work(double{});
  throw ArgumentError("dtype must be 'float32' or 'float64', got '" + std::string(dtype) + "'");
}

// --- making an index ----------------------------------------------------------------------------------------------

IndexPtr make_empty(std::size_t dims, std::string_view dtype, const py::dict& fields) {
  const Params params = params_from(fields);
  return with_scalar(dtype, [&](auto scalar) {
    return std::make_unique<Index>(std::make_shared<Tree<decltype(scalar)>>(dims, params));
  });
}

IndexPtr build(const py::array& lower, const py::array& upper, const std::optional<py::array>& ids,
               std::string_view dtype, const py::dict& fields, const std::optional<py::array>& sample) {
  const Params params = params_from(fields);
  const std::size_t dims = row_width(lower, "lower");
  const AnyRows events = sample ? any_rows(*sample, dims, "sample") : Rows<double>{};
  return with_scalar(dtype, [&](auto scalar) {
    using T = decltype(scalar);
    const BoxView<T> boxes = box_view(typed_rows<T>(lower, dims, "lower"), upper, dims);
    const std::int64_t* numbers = optional_ids(ids, boxes.size);
    auto tree = without_gil([&] {
      return std::visit(
          [&](const auto& rows) {
            const std::span given(rows.data, rows.count * dims);
            if constexpr (std::is_same_v<decltype(rows.data), const double*>)
              return Tree<T>::build(boxes, numbers, params, given);
            else
              return Tree<T>::build(boxes, numbers, params, std::vector<double>(given.begin(), given.end()));
          },
          events);
    });
    return std::make_unique<Index>(std::move(tree));
  });
}

// --- files --------------------------------------------------------------------------------------------------------

// `path` in the bytes the operating system knows it by; those that are no text come back from surrogates.
std::string file_name(const py::str& path) {
  const auto encoded = py::reinterpret_steal<py::bytes>(PyUnicode_EncodeFSDefault(path.ptr()));
  if (!encoded) throw py::error_already_set();
  return encoded;
}

IndexPtr load_index(const py::str& path, bool mmap, bool verify) {
  const std::string name = file_name(path);
  try {
    return std::make_unique<Index>(without_gil([&] { return load(name, mmap, verify); }));
  } catch (const std::system_error& error) {
    raise_os_error(error, path);
  }
}

void save_index(const Index& index, const py::str& path) {
  const std::string name = file_name(path);
  try {
    without_gil([&] { std::visit([&](const auto& tree) { save(*tree, name); }, index.tree()); });
  } catch (const std::system_error& error) {
    raise_os_error(error, path);
  }
}

IndexPtr index_from_bytes(const py::bytes& data) {
  const std::span<const char> text{std::string_view(data)};
  return std::make_unique<Index>(without_gil([&] { return from_bytes(std::as_bytes(text)); }));
}

py::bytes bytes_of(const Index& index) {
  const std::vector<std::byte> bytes =
      without_gil([&] { return std::visit([](const auto& tree) { return to_bytes(*tree); }, index.tree()); });
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// --- updates ------------------------------------------------------------------------------------------------------

py::array insert(const Index& index, const py::array& lower, const py::array& upper,
                 const std::optional<py::array>& ids) {
  return std::visit(
      [&](const auto& tree) {
        using T = Scalar<decltype(tree)>;
        const BoxView<T> boxes = box_view(typed_rows<T>(lower, tree->dims(), "lower"), upper, tree->dims());
        const std::int64_t* numbers = optional_ids(ids, boxes.size);
        return owned_array(without_gil([&] { return tree->insert(boxes, numbers); }));
      },
      index.tree());
}

py::array replace(const Index& index, const py::array& old_ids, const py::array& lower, const py::array& upper,
                  const py::array& ids) {
  const std::span<const std::int64_t> old = id_span(old_ids);
  return std::visit(
      [&](const auto& tree) {
        using T = Scalar<decltype(tree)>;
        const BoxView<T> boxes = box_view(typed_rows<T>(lower, tree->dims(), "lower"), upper, tree->dims());
        const std::int64_t* numbers = optional_ids(ids, boxes.size);
        return owned_array(without_gil([&] { return tree->replace(old, boxes, numbers); }));
      },
      index.tree());
}

std::size_t erase(const Index& index, const py::array& ids) {
  const std::span<const std::int64_t> numbers = id_span(ids);
  return std::visit(
      [&](const auto& tree) { return without_gil([&] { return tree->erase(numbers.data(), numbers.size()); }); },
      index.tree());
}

// --- searches -----------------------------------------------------------------------------------------------------

MatchOptions match_options(std::string_view order, std::size_t level, std::size_t threads, bool sort) {
  return {
      .order = value_of(kOrders, order, "order"), .level = level, .threads = checked_threads(threads), .sort = sort};
}

// One call of the core, search(tree, events), without the GIL.
template <class Search>
auto searched(const Index& index, const py::array& points, const Search& search) {
  return std::visit(
      [&](const auto& tree, const auto& events) { return without_gil([&] { return search(*tree, events); }); },
      index.tree(), any_rows(points, index.dims(), "points"));
}

Matches match(const Index& index, const py::array& points, std::string_view order, std::size_t level,
              std::size_t threads, bool sort) {
  const MatchOptions options = match_options(order, level, threads, sort);
  return searched(index, points,
                  [&](auto& tree, const auto& events) { return tree.match(events.data, events.count, options); });
}

std::unique_ptr<RawStream> stream(const Index& index, const py::array& points, std::string_view order,
                                  std::size_t level, std::size_t chunk, std::size_t threads) {
  const MatchOptions options = match_options(order, level, threads, false);
  if (chunk == 0) throw ArgumentError("chunk must be at least 1, got 0");
  return std::make_unique<RawStream>(searched(index, points, [&](auto& tree, const auto& events) -> AnyStream {
    return tree.stream(events.data, events.count, options, chunk);
  }));
}

py::array count(const Index& index, const py::array& points, std::size_t threads) {
  checked_threads(threads);
  return owned_array(searched(
      index, points, [&](auto& tree, const auto& events) { return tree.count(events.data, events.count, threads); }));
}

py::array estimate(const Index& index, const py::array& points, std::size_t level) {
  return owned_array(searched(
      index, points, [&](auto& tree, const auto& events) { return tree.estimate(events.data, events.count, level); }));
}

template <BoxRelation Relation>
Matches query(const Index& index, const py::array& lower, const py::array& upper) {
  const std::size_t dims = index.dims();
  return std::visit(
      [&](const auto& tree, const auto& low) {
        const auto boxes = box_view(low, upper, dims);
        return without_gil([&] { return tree->query(Relation, boxes); });
      },
      index.tree(), any_rows(lower, dims, "lower"));
}

// --- what it is ---------------------------------------------------------------------------------------------------

py::dict stats(const Index& index) {
  const TreeStats found =
      without_gil([&] { return std::visit([](const auto& tree) { return tree->stats(); }, index.tree()); });
  py::dict fields;
  fields["size"] = found.size;
  fields["dims"] = found.dims;
  fields["height"] = found.height;
  fields["nodes"] = found.nodes;
  fields["leaves"] = found.leaves;
  fields["bytes"] = found.bytes;
  fields["groups"] = found.groups;
  fields["boxes_per_leaf"] = found.boxes_per_leaf;
  fields["active_dims_per_leaf"] = found.active_dims_per_leaf;
  fields["node_kernel"] = name_of(kNodeKernels, found.bitmap ? NodeKernel::kBitmap : NodeKernel::kCompare);
  fields["node_capacity"] = found.node_capacity;
  fields["leaf_capacity"] = found.leaf_capacity;
  fields["buckets"] = found.buckets;
  fields["version"] = found.version;
  return fields;
}

void check(const Index& index) {
  without_gil([&] { std::visit([](const auto& tree) { tree->check(); }, index.tree()); });
}

const char* dtype_of(const Index& index) {
  return std::holds_alternative<std::shared_ptr<Tree<float>>>(index.tree()) ? "float32" : "float64";
}

// Pinning a version takes a few instructions, less than handing the GIL over.
template <auto Method>
std::size_t measured(const Index& index) {
  return std::visit([](const auto& tree) { return Method(*tree); }, index.tree());
}

std::shared_ptr<LevelTuner> tuner_of(const Index& index) {
  return std::visit([](const auto& tree) { return tree->tuner(); }, index.tree());
}

}  // namespace

void register_index(py::module_& m) {
  py::class_<Index>(m, "Index", "An R-tree of either type.", py::is_final())
      .def(py::init(&make_empty), py::arg("dims"), py::arg("dtype"), py::arg("params"))
      .def_static("build", &build, py::arg("lower"), py::arg("upper"), py::arg("ids"), py::arg("dtype"),
                  py::arg("params"), py::arg("sample"))
      .def_static("load", &load_index, py::arg("path"), py::arg("mmap"), py::arg("verify"))
      .def_static("from_bytes", &index_from_bytes, py::arg("data"))
      .def("to_bytes", &bytes_of)
      .def("save", &save_index, py::arg("path"))
      .def("insert", &insert, py::arg("lower"), py::arg("upper"), py::arg("ids"))
      .def("replace", &replace, py::arg("old_ids"), py::arg("lower"), py::arg("upper"), py::arg("ids"))
      .def("delete", &erase, py::arg("ids"))
      .def("match", &match, py::arg("points"), py::arg("order"), py::arg("level"), py::arg("threads"), py::arg("sort"))
      .def("count", &count, py::arg("points"), py::arg("threads"))
      .def("estimate", &estimate, py::arg("points"), py::arg("level"))
      .def("intersecting", &query<BoxRelation::kIntersecting>, py::arg("lower"), py::arg("upper"))
      .def("covering", &query<BoxRelation::kCovering>, py::arg("lower"), py::arg("upper"))
      .def("covered", &query<BoxRelation::kCovered>, py::arg("lower"), py::arg("upper"))
      .def("stream", &stream, py::arg("points"), py::arg("order"), py::arg("level"), py::arg("chunk"),
           py::arg("threads"))
      .def("stats", &stats)
      .def("params", &params_of)
      .def("check", &check)
      .def_property_readonly("size", &measured<[](const auto& tree) { return tree.size(); }>)
      .def_property_readonly("dims", &Index::dims)
      .def_property_readonly("dtype", &dtype_of)
      .def_property_readonly("height", &measured<[](const auto& tree) { return tree.height(); }>)
      .def_property_readonly("nbytes", &measured<[](const auto& tree) { return tree.bytes(); }>)
      .def_property_readonly("tuner", &tuner_of);
}

}  // namespace pubmatch

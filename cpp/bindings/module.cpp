// pubmatch._core: what the Python layer calls. Checks, GIL and arrays; no logic.
#include <pybind11/pybind11.h>

#include "pubmatch/kernels.hpp"
#include "pubmatch/params.hpp"
#include "pubmatch/thread_pool.hpp"

namespace py = pybind11;

namespace pubmatch {

void register_errors(py::module_& m);
void register_matches(py::module_& m);
void register_tuner(py::module_& m);
void register_index(py::module_& m);
void register_clustering(py::module_& m);

namespace {

py::tuple kernel_names() {
  const auto found = available_kernels();
  py::tuple names(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) names[i] = found[i]->name;
  return names;
}

}  // namespace

}  // namespace pubmatch

PYBIND11_MODULE(_core, m) {
  // First of all: an unknown PUBMATCH_FORCE_KERNEL then fails the import, and leaves no half-registered classes behind.
  pubmatch::active_kernels();

#ifdef PUBMATCH_VERSION  // the build knows it; a compiler run by hand need not
  m.attr("__version__") = PUBMATCH_VERSION;
#endif
  m.attr("MAX_DIMS") = pubmatch::kMaxDims;
  m.attr("MAX_THREADS") = pubmatch::kMaxThreads;
  m.def("kernels", &pubmatch::kernel_names, "The kernels this machine can run, best first.");
  m.def("active_kernel", [] { return pubmatch::active_kernels().name; }, "The kernel in use.");
  pubmatch::register_errors(m);
  pubmatch::register_matches(m);
  pubmatch::register_tuner(m);
  pubmatch::register_index(m);
  pubmatch::register_clustering(m);
}

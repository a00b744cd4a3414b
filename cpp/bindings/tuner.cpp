// _core.LevelTuner and the state it reports. Every call takes about as long as a lock, so the GIL is kept throughout:
// the tuner's lock is never held while anything waits for the GIL.
#include <pybind11/pybind11.h>

#include <memory>
#include <span>
#include <string_view>

#include "pubmatch/level_tuner.hpp"

namespace py = pybind11;

namespace pubmatch {

namespace {

py::tuple sums_of(const TunerState& state) { return py::make_tuple(state.sums[0], state.sums[1], state.sums[2]); }

py::str show_state(const TunerState& state) {
  return py::str("TunerState(stable={}, level={}, updates={}, round={}, sums={})")
      .format(state.stable, state.level, state.updates, state.round, sums_of(state));
}

py::str show_tuner(const LevelTuner& tuner) {
  const py::str initial =
      tuner.initial_level() == 0 ? py::str("") : py::str(", initial_level={}").format(tuner.initial_level());
  return py::str("LevelTuner(threshold={}, loops={}{})").format(tuner.threshold(), tuner.loops(), initial);
}

py::bytes pickled(const LevelTuner& tuner) {
  const auto bytes = tuner.to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::shared_ptr<LevelTuner> unpickled(const py::bytes& state) {
  const std::string_view text = state;
  return LevelTuner::from_bytes(std::as_bytes(std::span(text)));
}

constexpr const char* kTunerDoc = R"(Chooses the Level of shortest-job-first matching from response times.

Per batch size the tuner is stable (one Level) or unstable: rounds of `loops` batches at each of the
upper, the current and the lower Level, round-robin, and after each round it settles, moves one Level
down the slope, or looks once more where the times are too noisy to tell. It always settles: one unstable
phase takes at most height + 32 rounds. Batch sizes above 16 share records, four between two powers of two.

Parameters
----------
threshold : int
    So many inserts and deletes make a stable batch size unstable again.
loops : int
    Batches per Level in one round.
initial_level : int
    Where the first batch size starts; 0 means at the leaves.

Examples
--------
>>> import pubmatch as pm
>>> tuner = pm.LevelTuner(loops=2)
>>> while not tuner.state(8).stable:
...     level = tuner.next_level(8, height=4)
...     tuner.record(8, level, mean_response_s=0.001 * abs(level - 3))
>>> tuner.state(8)
TunerState(stable=True, level=3, updates=0, round=2, sums=(0.0, 0.002, 0.002))
)";

}  // namespace

void register_tuner(py::module_& m) {
  py::class_<TunerState>(m, "TunerState", "What a LevelTuner knows about one batch size.", py::is_final())
      .def_readonly("stable", &TunerState::stable, "Whether the Level is settled.")
      .def_readonly("level", &TunerState::level, "The current Level; 0 before the first batch of this size.")
      .def_readonly("updates", &TunerState::updates, "Inserts and deletes since it became stable.")
      .def_readonly("round", &TunerState::round, "Rounds completed in this, or if stable the last, unstable phase.")
      .def_property_readonly("sums", &sums_of,
                             "Summed mean response times (seconds) since the Level was taken up: of the current, the "
                             "upper and the lower Level; 0.0 where there is no such Level.")
      .def("__repr__", &show_state);

  py::class_<LevelTuner, std::shared_ptr<LevelTuner>>(m, "LevelTuner", kTunerDoc)
      .def(py::init<std::int64_t, int, int>(), py::arg("threshold") = 100000, py::arg("loops") = 64,
           py::arg("initial_level") = 0)
      .def(
          "next_level",
          [](LevelTuner& tuner, std::int64_t batch_size, int height) { return tuner.next_level(batch_size, height); },
          py::arg("batch_size"), py::arg("height"), "The Level, from 1 to `height`, for the next batch of this size.")
      .def("record", &LevelTuner::record, py::arg("batch_size"), py::arg("level"), py::arg("mean_response_s"),
           "Tell what a batch took. Levels that are not on trial are ignored.")
      .def("updated", &LevelTuner::updated, py::arg("count"), "Tell of `count` inserts and deletes.")
      .def("state", &LevelTuner::state, py::arg("batch_size"), "What is known about this batch size, a TunerState.")
      .def_property_readonly("threshold", &LevelTuner::threshold, "Updates that make a stable batch size unstable.")
      .def_property_readonly("loops", &LevelTuner::loops, "Batches per Level in one round.")
      .def_property_readonly("initial_level", &LevelTuner::initial_level, "Where to start; 0 means at the leaves.")
      .def("__repr__", &show_tuner)
      .def(py::pickle(&pickled, &unpickled));
}

}  // namespace pubmatch

"""At rest every algorithm leaves the right tables and delivers exactly; faulty brokers are found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pubmatch.mobility import ALGORITHMS, Move, SimulationResult, Topology, Trace, balanced_tree, simulate
from pubmatch.mobility import routes as routes_module
from pubmatch.mobility.algorithms import Delayed
from pubmatch.mobility.routes import Routes
from pubmatch.mobility.tables import InTable

SMALL = balanced_tree(3, 3)
SCENARIOS: dict[str, dict[str, Any]] = {
    "as in the paper": {"topology": balanced_tree(), "publishers": 20, "subscribers": 100},
    "covering": {"filters": "ranges"},
    "covering, fast, to and fro": {"filters": "ranges", "walk": "random", "speed_kmh": 400},
    "wrong predictions": {"prediction": 0.5, "walk": "random", "speed_kmh": 200},
    "alike": {"locality": 0.7, "speed_kmh": 100},
    "within proxies": {"overshoot": 1, "speed_kmh": 100},
    "mobile subscribers": {"mobile_subscribers": 15, "speed_kmh": 100},
    "everybody moves, covering": {"mobile_subscribers": 40, "filters": "ranges", "walk": "random"},
    "congested": {"message_bytes": 4000, "speed_kmh": 100, "duration_s": 30},
}


def run(algorithm: str, **options: Any) -> SimulationResult:
    given_ = {"publishers": 12, "subscribers": 40, "duration_s": 60, "topology": SMALL, **options}
    return simulate(algorithm, **given_)


def assert_safe(result: SimulationResult) -> None:
    assert (result.leaked_rows, result.missing_rows) == (0, 0)
    assert (result.duplicates, result.misdelivered) == (0, 0)
    assert result.lost_after_quiescence == 0
    assert result.safe


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_is_safe(algorithm: str, scenario: str, seed: int) -> None:
    result = run(algorithm, seed=seed, **SCENARIOS[scenario])
    assert result.moves > 5
    assert_safe(result)
    if algorithm == "delayed+ack":
        assert result.lost == 0


@st.composite
def trees(draw: st.DrawFn) -> Topology:
    count = draw(st.integers(2, 12))
    links = [(draw(st.integers(0, child - 1)), child) for child in range(1, count)]
    cells = draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    return Topology(links, cells)


@settings(deadline=None, max_examples=25)
@given(st.sampled_from(ALGORITHMS), trees(), st.integers(0, 10**6), st.data())
def test_every_tree_is_safe(algorithm: str, topology: Topology, seed: int, data: st.DataObject) -> None:
    result = run(
        algorithm,
        topology=topology,
        seed=seed,
        publishers=data.draw(st.integers(1, 8)),
        subscribers=20,
        mobile_subscribers=data.draw(st.integers(0, 20)),
        walk=data.draw(st.sampled_from(["persistent", "random"])),
        filters=data.draw(st.sampled_from(["unique", "ranges"])),
        speed_kmh=data.draw(st.sampled_from([50, 300, 500])),
        prediction=data.draw(st.sampled_from([0.0, 0.8, 1.0])),
        duration_s=20,
    )
    assert_safe(result)


def test_publishers_that_leave_for_good_leave_nothing_behind() -> None:
    rows = [Move(0, "taxi", "4"), Move(0, "bus", "5"), Move(20, "taxi", "7"), Move(40, "bus", "12")]
    trace = Trace([*rows, Move(50, "tram", "6"), Move(70, "taxi", ""), Move(72, "bus", "")])
    for algorithm in ALGORITHMS:
        result = run(algorithm, walk="trace", trace=trace, duration_s=80)
        assert result.moves == 4
        assert_safe(result)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_mobile_subscribers_lose_nothing_while_publishers_stay(algorithm: str) -> None:
    trace = Trace([*(Move(0, f"p{each}", str(4 + each)) for each in range(6)), Move(9, "p0", "11")])
    result = run(algorithm, walk="trace", trace=trace, mobile_subscribers=40, duration_s=60, speed_kmh=100)
    assert result.moves > 40
    assert_safe(result)
    if algorithm not in ("standard", "proxy"):
        assert result.lost == 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_same_seed_same_trace(algorithm: str) -> None:
    one, other = (run(algorithm, mobile_subscribers=10, seed=7, prediction=0.7) for _ in range(2))
    assert np.array_equal(one.delays_s, other.delays_s)
    assert one.hops_per_move == other.hops_per_move
    assert (one.events, one.rows_per_broker) == (other.events, other.rows_per_broker)
    another = run(algorithm, mobile_subscribers=10, seed=8, prediction=0.7)
    assert not np.array_equal(one.delays_s, another.delays_s)


# --- brokers with a fault: the checks at rest must find each of them ---
#
# Sound brokers object to a neighbour that withdraws what it never sent. So these publishers come, and some
# leave, but none moves on: nobody objects, and it is the checks that find the fault.

STAYING = [Move(each, f"p{each}", str(4 + 5 * each % 9)) for each in range(12)]
LEAVING = [Move(20 + each, f"p{each}", "") for each in range(8)]


def run_trace(algorithm: str, moves: list[Move], **options: Any) -> SimulationResult:
    return run(algorithm, walk="trace", trace=Trace(moves), duration_s=40, **options)


def test_a_broker_without_un_covering_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = routes_module.settle

    def without(changes: Any, required: Any, hidden: dict[int, int], relations: Any) -> Any:
        sends, withdrawals = settle(changes, required, hidden, relations)
        changed = {content for content, _, _ in changes}
        for content, mask in sends:
            if content not in changed:
                hidden[content] = hidden.get(content, 0) | mask
        return [each for each in sends if each[0] in changed], withdrawals

    assert_safe(run_trace("standard", STAYING + LEAVING, filters="ranges"))
    monkeypatch.setattr(routes_module, "settle", without)
    for algorithm in ALGORITHMS:
        result = run_trace(algorithm, STAYING + LEAVING, filters="ranges")
        assert result.missing_rows > 0
        assert result.lost_after_quiescence > 0


def test_a_broker_that_covers_without_withdrawing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    settle = routes_module.settle

    def without(changes: Any, *others: Any) -> Any:
        sends, withdrawals = settle(changes, *others)
        changed = {content for content, _, _ in changes}
        return sends, [each for each in withdrawals if each[0] in changed]

    monkeypatch.setattr(routes_module, "settle", without)
    for algorithm in ALGORITHMS:
        assert run_trace(algorithm, STAYING, filters="ranges").leaked_rows > 0


def test_line_13_as_printed_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The paper's figure 2 looks at what was sent to the subscription's sender, not the advertisement's."""

    def answer_ads(self: Routes, contents: Sequence[int], bit: int, out: list[Any]) -> None:
        for content in contents:
            for sub in self._known(self.space.subs.meeting(content)):
                before = self.out_subs.get(sub, 0)
                senders = self.subs[sub] & ~bit
                if not senders or before & bit:
                    continue
                covering = [sub, *self.space.subs.covering(sub)]
                sent = [self.out_subs.get(each, 0) & ~self.hidden_subs.get(each, 0) for each in covering]
                self.out_subs[sub] = before | bit
                if any(mask & senders for mask in sent):
                    self.hidden_subs[sub] = self.hidden_subs.get(sub, 0) | bit
                else:
                    out.extend((each, self.space.subscribe[sub]) for each in self.named(bit))

    assert_safe(run_trace("standard", STAYING, locality=0.7))
    monkeypatch.setattr(Routes, "answer_ads", answer_ads)
    for algorithm in ALGORITHMS:
        result = run_trace(algorithm, STAYING, locality=0.7)
        assert result.missing_rows > 0
        assert result.lost_after_quiescence > 0


def test_a_timer_that_is_not_cancelled_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def cancel(self: Delayed, publisher: Any) -> None:
        publisher.away = None

    there_and_back = [Move(0, "taxi", "4"), Move(10, "taxi", "5"), Move(14, "taxi", "4")]
    for algorithm in ("delayed", "prefetching+delayed"):
        assert_safe(run_trace(algorithm, there_and_back))
        with monkeypatch.context() as patch:
            patch.setattr(Delayed, "cancel", cancel)
            result = run_trace(algorithm, there_and_back)
        assert result.missing_rows > 0
        assert result.lost_after_quiescence > 0


def test_a_row_that_is_there_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = InTable.__iter__
    monkeypatch.setattr(InTable, "__iter__", lambda self: iter([*rows(self), *rows(self)]))
    assert run("standard", duration_s=5).leaked_rows > 0


def test_nobody_to_listen() -> None:
    result = run("delayed", subscribers=0)
    assert_safe(result)
    assert (result.due, result.lost, len(result.delays_s)) == (0, 0, 0)

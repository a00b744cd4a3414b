"""What a correct implementation shows at the paper's size; bad arguments; advice; links."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pubmatch import ArgumentTypeError, PubmatchError
from pubmatch.mobility import Move, SimulationResult, Trace, advise, balanced_tree, simulate
from pubmatch.mobility.messages import Publish
from pubmatch.mobility.network import Links, Network
from pubmatch.mobility.topology import Topology
from pubmatch.mobility.walks import Range, proxies_of


@functools.cache
def run(algorithm: str, **options: Any) -> SimulationResult:
    result = simulate(algorithm, **options)
    assert result.safe
    return result


def cost(algorithm: str, **options: Any) -> float:
    """The mean over two seeds."""
    return float(np.mean([run(algorithm, seed=seed, **options).total_hops_per_move for seed in (1, 2)]))


def test_standard_rebuilds_whole_trees() -> None:
    assert cost("standard") == pytest.approx(211.7, rel=0.03)
    for seed in (1, 2):
        hops = run("standard", seed=seed).hops_per_move
        assert hops["advertise"] == 84
        assert hops["unadvertise"] == 84
        assert hops["subscribe"] == pytest.approx(21.84, rel=0.1)
        assert hops["control"] == hops["acknowledge"] == 0


def test_delayed_grafts() -> None:
    assert cost("delayed") == pytest.approx(8.31, rel=0.05)


def test_prefetching_costs_the_prefetch_message_and_more() -> None:
    ratio = run("prefetching").total_hops_per_move / run("standard", seed=1).total_hops_per_move
    assert 1.05 <= ratio <= 1.20
    combined, delayed = run("prefetching+delayed"), run("delayed", seed=1)
    assert combined.total_hops_per_move - delayed.total_hops_per_move == pytest.approx(2.57, abs=0.1)
    assert combined.lost == 0


def test_proxy_costs_more_than_delayed_and_keeps_the_most_rows() -> None:
    assert 11 <= cost("proxy") <= 15.5
    rows = {each: run(each, seed=1).rows_per_broker for each in ("standard", "delayed", "proxy")}
    assert max(rows, key=rows.__getitem__) == "proxy"


def test_proxy_costs_nothing_within_the_proxies_and_more_with_the_overshoot() -> None:
    costs = [run("proxy", overshoot=each, duration_s=120).total_hops_per_move for each in (0, 2, 5, 9)]
    assert costs[0] == 0
    assert costs == sorted(costs)
    assert costs[3] > 1.1 * costs[2]  # no plateau at 5


def test_a_random_walk_favours_proxies() -> None:
    proxy, delayed = (run(each, walk="random", duration_s=120) for each in ("proxy", "delayed"))
    assert proxy.total_hops_per_move < delayed.total_hops_per_move


def test_acknowledgements_lose_nothing() -> None:
    result = run("delayed+ack")
    assert result.lost == 0
    assert result.total_hops_per_move == pytest.approx(13, abs=1)
    assert result.hops_per_move["acknowledge"] > 0


def test_locality_brings_standard_near_the_others() -> None:
    short = {"duration_s": 60, "message_bytes": 112}
    alike = run("standard", locality=0.9, **short)
    assert 18 <= alike.total_hops_per_move <= 25
    assert run("standard", locality=1.0, **short).total_hops_per_move < 6


def test_first_probes() -> None:
    crowd = {"publishers": 250, "duration_s": 30}
    first = {
        each: run(each, **crowd).probe_delivery[0]
        for each in ("standard", "proxy", "delayed", "prefetching+delayed")
    }
    assert first["standard"] < 0.35 < first["proxy"] < 0.98 < first["delayed"]
    assert first["prefetching+delayed"] >= 0.999


def test_the_fields_of_a_result() -> None:
    result = run("delayed", seed=1)
    assert len(result.probe_delivery) == 20
    assert result.delays_s.dtype == np.float64
    assert result.delays_s.min() > 0.038  # no delivery is quicker than the client's own link
    assert result.due - result.lost == len(result.delays_s)
    assert result.moves == pytest.approx(50 * 240 / 36, rel=0.05)
    assert result.events > len(result.delays_s)
    assert 60 + 240 < result.simulated_s < 60 + 240 + 60


def test_probes_never_sent_are_nan() -> None:
    result = simulate("delayed", publishers=5, subscribers=20, duration_s=60, speed_kmh=400)
    # 4.5 s in a cell, 3 of them away: seven probes.
    assert [math.isnan(each) for each in result.probe_delivery] == [False] * 7 + [True] * 13
    stay = simulate("delayed", publishers=2, duration_s=5, walk="trace", trace=Trace([Move(0, "p", "21")]))
    assert stay.moves == 0
    assert all(math.isnan(each) for each in [*stay.hops_per_move.values(), *stay.probe_delivery])
    assert stay.safe


@pytest.mark.parametrize(
    "options",
    [
        {"algorithm": "fastest"},
        {"walk": "brownian"},
        {"filters": "sql"},
        {"publishers": 0},
        {"publishers": 2.5},
        {"subscribers": -1},
        {"mobile_subscribers": 501},
        {"speed_kmh": -3},
        {"speed_kmh": 700},
        {"duration_s": 0},
        {"duration_s": math.nan},
        {"duration_s": math.inf},
        {"roaming_s": -1},
        {"roaming_s": 1e15},
        {"message_bytes": 0},
        {"message_bytes": math.inf},
        {"locality": 1.1},
        {"prediction": -0.1},
        {"overshoot": -1},
        {"walk": "trace"},
        {"trace": Trace([Move(0, "p", "21")])},
        {"walk": "trace", "trace": Trace([Move(0, "p", "999")])},
        {"seed": "x"},
        {"seed": None},
        {"seed": -1},
        {"seed": 1.5},
        {"seed": 1.0},
        {"seed": True},
        {"speed_kmh": "x"},
        {"speed_kmh": 10**400},
        {"duration_s": None},
        {"duration_s": True},
        {"message_bytes": "448"},
        {"message_bytes": True},
        {"message_bytes": 1e308},
        {"locality": "x"},
        {"prediction": "x"},
        {"prediction": np.array([1.0])},
        {"roaming_s": None},
        {"synchronised": "no"},
        {"walk": "trace", "trace": 5},
        {"topology": 5},
        {"topology": "tree"},
        {"topology": [(0, 1), (1, 2), (2, 0)]},
        {"topology": [(0, 1), (2, 3)]},
    ],
)
def test_impossible_arguments(options: dict[str, Any]) -> None:
    with pytest.raises(PubmatchError) as caught:
        simulate(**{"algorithm": "delayed", **options})
    assert isinstance(caught.value, ValueError | TypeError)
    assert "must" in str(caught.value) or "together" in str(caught.value) or "unknown" in str(caught.value)


@pytest.mark.parametrize(
    "name", ["publishers", "subscribers", "mobile_subscribers", "seed", "overshoot", "speed_kmh", "locality"]
)
def test_what_is_no_number_is_an_error_of_type(name: str) -> None:
    with pytest.raises(ArgumentTypeError, match=f"{name} must be (an integer|a number), got 'x'"):
        simulate("delayed", **{name: "x"})


def test_the_kind_of_a_number_does_not_matter() -> None:
    small = {"publishers": 5, "subscribers": 20, "topology": balanced_tree(3, 3)}
    numbers = {
        "seed": 3,
        "speed_kmh": 50,
        "duration_s": 60,
        "roaming_s": 100,
        "message_bytes": 448,
        "prediction": 1,
        "overshoot": 2,
    }
    plain = simulate("delayed", **small, **numbers)
    for kind in (np.float32, np.float64):
        scalars = {
            name: np.uint8(value) if isinstance(value, int) and name in ("seed", "overshoot") else kind(value)
            for name, value in numbers.items()
        }
        result = simulate("delayed", **small, **scalars)
        assert type(result.simulated_s) is float
        np.testing.assert_equal(vars(result), vars(plain))


# --- advice ---


def there_and_back(far: bool) -> Trace:
    """Publishers that patrol near their first broker, or that travel far."""
    brokers = [21, *range(60, 66)] if far else [21, 22, 23, 22, 21, 22, 23]
    moves = [
        Move(20.0 * turn + (each if turn else 0), f"p{each}", str(broker))
        for turn, broker in enumerate(brokers)
        for each in range(4)
    ]
    return Trace(moves)


def test_advice_depends_on_the_movement(tmp_path: Path) -> None:
    near, far = (advise(there_and_back(each), subscribers=50) for each in (False, True))
    assert near.recommended == "proxy"
    assert far.recommended == "delayed"
    assert near.moves == far.moves == 6 * 4
    assert near.outcomes[0].algorithm == "standard"
    chosen = {each.algorithm: each for each in far.outcomes}[far.recommended]
    others = [each for each in far.outcomes if not each.needs_prediction and each.lost_share == 0]
    assert chosen.hops_per_move == min(each.hops_per_move for each in others)
    assert "* delayed" in str(far)
    file = tmp_path / "near.csv"
    there_and_back(False).write(file)
    assert advise(file, subscribers=50) == near


def test_advice_weighs_losses() -> None:
    trace = there_and_back(True)
    congested = {"subscribers": 60, "message_bytes": 6000.0}
    strict = advise(trace, **congested)
    lossy = {each.algorithm: each.lost_share for each in strict.outcomes}
    assert lossy["standard"] > 0
    assert lossy[strict.recommended] == 0
    tolerant = advise(trace, **congested, tolerated_loss=1.0)
    by_name = {each.algorithm: each for each in tolerant.outcomes}
    assert by_name[tolerant.recommended].hops_per_move <= by_name[strict.recommended].hops_per_move
    predicted = advise(trace, **congested, prediction=1.0)
    assert {each.algorithm for each in predicted.outcomes if each.needs_prediction} == {
        "prefetching",
        "prefetching+delayed",
    }


def test_advice_refuses_what_it_cannot_judge() -> None:
    with pytest.raises(ValueError, match="no move"):
        advise(Trace([Move(0, "p", "21")]), subscribers=5)
    with pytest.raises(ValueError, match="tolerated_loss"):
        advise(there_and_back(True), tolerated_loss=2)
    with pytest.raises(ArgumentTypeError, match="tolerated_loss must be a number, got None"):
        advise(there_and_back(True), tolerated_loss=None)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        advise("nowhere.csv")


# --- links ---


class Relay:
    """Sends everything from clients to the other broker, and everything from there to client 7."""

    def __init__(self, other: int) -> None:
        self.other = other

    def handle(self, sender: object, message: Any) -> list[tuple[Any, Any]]:
        return [(7, message)] if sender == self.other else [(self.other, message)]


def test_links_are_fifo_queues_with_bandwidth_and_latency() -> None:
    got: list[tuple[int, float]] = []
    network = Network(
        Topology([(0, 1)]),
        [Relay(1), Relay(0)],
        Links(message_bytes=320),  # 10 ms between brokers, 20 ms from a client
        lambda client, message, now: got.append((message.id, round(now, 6))),
    )
    for number in range(3):
        network.from_client(10 + number, 0, Publish({"publication": 1.0}, number), measured=number < 2)
    network.at(1.0, lambda: network.from_client(10, 0, Publish({"publication": 1.0}, 3)))
    network.run()
    # Up: 20 + 10 ms for each client's own link; then they queue for the link between the brokers.
    assert got == [(0, 0.05), (1, 0.06), (2, 0.07), (3, 1.05)]
    assert network.hops == {"publish": 2}
    assert network.events == 12
    assert network.now == pytest.approx(1.05)


def test_links_take_finite_times() -> None:
    assert type(Links(np.float32(448)).broker_s) is float
    with pytest.raises(ValueError, match=r"must take a finite time, got 1e\+308 at 256000\.0 bit/s"):
        Links(1e308)
    with pytest.raises(ValueError, match=r"must take a finite time, got 448\.0 at 5e-324 bit/s"):
        Links(client_bps=5e-324)
    with pytest.raises(ArgumentTypeError, match="broker_latency_s must be a number, got '0'"):
        Links(broker_latency_s="0")  # type: ignore[arg-type]


def test_ranges_and_proxies_agree() -> None:
    for home in range(64):
        near = proxies_of(64, home)
        assert Range.around(Range(0, 63), home, 0) == Range(near[0], near[-1])
    assert len(balanced_tree().cells) == 64

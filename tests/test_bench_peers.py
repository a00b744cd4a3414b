"""Every peer gives the answers of brute force, or says why it cannot run."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from pubmatch_bench.peers import PEERS, Csr, PeerUnavailable, boost_peer
from pubmatch_bench.peers.protocol import FiniteSpace
from pubmatch_bench.peers.pubmatch_peer import PubmatchPeer
from pubmatch_bench.workloads import SPECS, make

KINDS = [*PEERS.values(), PubmatchPeer]
CASES = [
    pytest.param(name, scale, kind, id=f"{name}-{kind.name}")
    for name, scale in {"W1": 0.002, "W2": 0.002, "W3": 0.005, "W7": 0.001}.items()
    for kind in KINDS
    if kind().refuses(SPECS[name].dims) is None
]
INF = np.inf


def built(kind, lower, upper):
    """The peer with its boxes; skips the test if it cannot run here."""
    peer = kind()
    try:
        peer.version()
    except PeerUnavailable as reason:
        pytest.skip(str(reason))
    peer.build(lower, upper)
    return peer


def answers(peer, points):
    csr = peer.csr(peer.match(peer.prepare(points)), len(points))
    assert csr.ids.dtype == csr.offsets.dtype == np.int64
    return [sorted(csr.ids[a:b].tolist()) for a, b in zip(csr.offsets[:-1], csr.offsets[1:], strict=True)]


def brute_force(lower, upper, points):
    return [np.flatnonzero(((lower <= p) & (p <= upper)).all(axis=1)).tolist() for p in points]


@pytest.mark.parametrize(("name", "scale", "kind"), CASES)
def test_answers_equal_brute_force(name, scale, kind):
    workload = make(name, scale)
    peer = built(kind, workload.lower, workload.upper)
    points = workload.events(24, seed=2)
    # Corners of boxes: a closed box contains them.
    points[:4] = np.where(np.isfinite(workload.lower), workload.lower, 0.5)[:4]
    points[4:8] = np.where(np.isfinite(workload.upper), workload.upper, 0.5)[4:8]
    expected = brute_force(workload.lower, workload.upper, points)
    assert all(row in ids for row, ids in enumerate(expected[:8]))
    assert answers(peer, points) == expected
    # Again, because some peers reuse their buffers.
    assert answers(peer, points[::-1]) == expected[::-1]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_unbounded_sides_and_far_points(kind):
    lower = np.array([[-INF, 0], [5, -INF], [-INF, -INF], [0, 0], [-9, 2]], dtype=np.float32)
    upper = np.array([[-5, 1], [INF, 3], [INF, INF], [0, 0], [1e6, 2]], dtype=np.float32)
    points = np.array(
        [[-1e30, 0.5], [1e30, -1e30], [0, 0], [-5, 1], [5, 2], [7e5, 2.5], [-6, 1.0000001]], dtype=np.float32
    )
    peer = built(kind, lower, upper)
    assert answers(peer, points) == brute_force(lower, upper, points)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_no_match_at_all(kind):
    peer = built(kind, np.zeros((3, 2), dtype=np.float32), np.ones((3, 2), dtype=np.float32))
    assert answers(peer, np.full((2, 2), 5, dtype=np.float32)) == [[], []]


def test_shapely_and_boost_refuse_other_dimensions():
    assert PEERS["shapely"]().refuses(3) == "2-D only"
    assert "dimensions" in PEERS["boost"]().refuses(5)
    assert PEERS["rtree"]().refuses(5) is None


def test_boost_without_compiler_says_so(monkeypatch):
    pytest.importorskip("boost_headers")
    monkeypatch.setenv("CXX", "no-such-compiler")
    boost_peer._library.cache_clear()
    try:
        with pytest.raises(PeerUnavailable, match="no C\\+\\+ compiler"):
            PEERS["boost"]().version()
    finally:
        boost_peer._library.cache_clear()


def test_boost_that_does_not_compile_says_so(monkeypatch, tmp_path):
    pytest.importorskip("boost_headers")
    broken = tmp_path / "broken.cpp"
    broken.write_text("this is not C++\n")
    monkeypatch.setattr(boost_peer, "_SOURCE", broken)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(PeerUnavailable, match=r"does not compile|no C\+\+ compiler"):
        boost_peer._compiled()
    assert not list(tmp_path.rglob("*.so"))


@pytest.mark.parametrize("name", ["rtree", "shapely", "duckdb"])
def test_missing_library_says_so(name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(PeerUnavailable, match=f"{name} is not installed"):
        PEERS[name]().version()


def test_rtree_inserts_and_deletes_single_boxes():
    lower, upper = np.zeros((2, 2), dtype=np.float32), np.ones((2, 2), dtype=np.float32)
    peer = built(PEERS["rtree"], lower, upper)
    inside = np.array([[0.5, 0.5]], dtype=np.float32)
    box = [peer.prepare(side)[0] for side in (lower, upper)]
    peer.insert(7, *box)
    assert answers(peer, inside) == [[0, 1, 7]]
    peer.delete(7, *box)
    assert answers(peer, inside) == [[0, 1]]


def test_csr_compares_sets_event_by_event():
    one = Csr.from_counts(np.array([2, 0, 1]), np.array([4, 1, 9]))
    assert one.same_sets(Csr.from_counts(np.array([2, 0, 1]), np.array([1, 4, 9])))
    assert not one.same_sets(Csr.from_counts(np.array([2, 0, 1]), np.array([1, 9, 4])))
    assert not one.same_sets(Csr.from_counts(np.array([1, 1, 1]), np.array([1, 4, 9])))
    assert not one.same_sets(Csr.from_counts(np.array([2, 0, 1]), np.array([1, 1, 9])))
    assert one.same_sets(Csr.from_pairs(np.array([2, 0, 0]), np.array([9, 1, 4]), 3))
    assert one.head(1).same_sets(Csr.from_counts(np.array([2]), np.array([1, 4])))
    assert len(Csr.from_pairs(np.empty(0, int), np.empty(0, int), 5)) == 5


def test_finite_space_keeps_finite_values_and_their_order():
    lower = np.array([[-INF, 1e30], [3, -INF]], dtype=np.float32)
    upper = np.array([[-2, INF], [INF, INF]], dtype=np.float32)
    space = FiniteSpace(lower, upper)
    for side in (lower, upper):
        clipped, finite = space.clip(side), np.isfinite(side)
        assert clipped.dtype == np.float32
        assert np.isfinite(clipped).all()
        assert np.array_equal(clipped[finite], side[finite])
    assert space.clip(lower)[0, 0] < -2 < 3 < space.clip(upper)[1, 0]
    assert space.clip(upper)[0, 1] > np.float32(1e30) > space.clip(lower)[1, 1]


def test_finite_space_without_any_finite_bound():
    space = FiniteSpace(np.full((1, 2), -INF, dtype=np.float32), np.full((1, 2), INF, dtype=np.float32))
    assert (space.clip(np.array([[INF, -5]], dtype=np.float32)) == [[1e9, -5]]).all()

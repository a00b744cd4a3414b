"""Each benchmark, at a tiny size, writes a complete record; wrong answers and absent peers are reported."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pubmatch.cli import main
from pubmatch_bench import match, updates
from pubmatch_bench.options import Options, choose
from pubmatch_bench.peers import PEERS, Csr, PeerUnavailable
from pubmatch_bench.peers.numpy_peer import NumpyPeer
from pubmatch_bench.record import commit, core_compiler
from pubmatch_bench.resident import resident_bytes
from pubmatch_bench.tables import TABLES, differences

SPREAD = {"median", "q1", "q3", "min", "max", "mean"}
RECORD = {
    "name",
    "date",
    "commit",
    "quick",
    "machine",
    "kernel",
    "compiler",
    "versions",
    "parameters",
    "seeds",
    "results",
}


@pytest.fixture
def bench(tmp_path, capsys):
    """Run `pubmatch bench`, expect an exit code, and return (record, stdout, stderr)."""

    def run(*arguments, expect=0):
        file = tmp_path / "record.json"
        code = main(["bench", *arguments, "--json", str(file)])
        printed = capsys.readouterr()
        assert code == expect, printed.err
        record = json.loads(file.read_text())
        assert record.keys() >= RECORD
        assert record["machine"].keys() == {"cpu", "cores", "memory_bytes", "os", "python"}
        assert record["versions"]["numpy"] == np.__version__
        assert record["name"] == arguments[0]
        return record, printed.out, printed.err

    return run


def quiet(what, done):
    assert 0 <= done <= 1


def assert_ordered(spread):
    assert spread.keys() == SPREAD
    assert 0 < spread["min"] <= spread["q1"] <= spread["median"] <= spread["q3"] <= spread["max"]


def test_match(bench):
    record, out, _ = bench(
        "match", "--workloads", "W1,W3", "--scale", "0.002", "--rounds", "3", "--batch", "8"
    )
    assert record["parameters"]["scale"] == 0.002
    assert record["parameters"]["batch"] == 8
    assert [result["workload"] for result in record["results"]] == ["W1", "W3"]
    assert [result["subscriptions"] for result in record["results"]] == [3000, 2000]
    for result in record["results"]:
        assert (
            result["index"]["nbytes_per_subscription"] == result["index"]["nbytes"] / result["subscriptions"]
        )
        assert [row["peer"] for row in result["contenders"]] == ["pubmatch", *PEERS]
        for row in result["contenders"]:
            assert row["peer"] in out
            if row["status"] != "ok":
                assert row["status"][:10] in out
                continue
            assert_ordered(row["ms_per_event"])
            assert row["equal"] is True
            assert row["checked_events"] == 3 * (2 if row["peer"] == "pubmatch" else row["events_per_round"])
            assert row["ratio"] > 0
    ours = record["results"][0]["contenders"][0]
    assert ours["events_per_round"] == 8
    assert ours["ratio"] == 1
    numpy = next(row for row in record["results"][0]["contenders"] if row["peer"] == "numpy")
    assert numpy["status"] == "ok"


def test_match_counts_the_matches(bench):
    record, _, _ = bench("match", "--workloads", "W7", "--scale", "0.001", "--rounds", "2", "--peers", "none")
    (result,) = record["results"]
    assert result["matches_per_event"] == pytest.approx(28.25, rel=0.4)
    assert [row["peer"] for row in result["contenders"]] == ["pubmatch"]


def test_quick_is_small():
    options = choose(None, None, None, None, True, default_workloads="W1,W2", default_rounds=15)
    assert options == Options(("W1", "W2"), tuple(PEERS), rounds=3, scale=0.05, quick=True)


def test_a_peer_that_answers_wrongly_fails_the_run(bench, monkeypatch):
    class Forgetful(NumpyPeer):
        name = "forgetful"

        def csr(self, answer, n_events):
            full = super().csr(answer, n_events)
            return Csr(np.minimum(full.offsets, len(full.ids) - 1), full.ids[:-1])

    monkeypatch.setitem(PEERS, "numpy", Forgetful)
    arguments = ("--workloads", "W3", "--scale", "0.002", "--rounds", "2", "--peers", "numpy,rtree")
    record, out, err = bench("match", *arguments, expect=1)
    assert err == "pubmatch: results differ: W3 forgetful\n"
    assert "NO" in out
    assert [row["equal"] for row in record["results"][0]["contenders"] if row["status"] == "ok"][:2] == [
        True,
        False,
    ]


def test_an_index_that_answers_wrongly_fails_the_run(bench, monkeypatch):
    from pubmatch_bench.peers.pubmatch_peer import PubmatchPeer

    def lossy(self, answer, n_events):
        return Csr(np.zeros(n_events + 1, dtype=np.int64), np.empty(0, dtype=np.int64))

    monkeypatch.setattr(PubmatchPeer, "csr", lossy)
    arguments = ("--workloads", "W7", "--scale", "0.001", "--rounds", "2", "--peers", "none")
    _, _, err = bench("match", *arguments, expect=1)
    assert err == "pubmatch: results differ: W7 pubmatch\n"


@pytest.mark.parametrize("error", [PeerUnavailable("not today"), MemoryError("not today")])
def test_a_peer_that_cannot_run_gets_a_row(bench, monkeypatch, error):
    class Absent(NumpyPeer):
        def version(self):
            raise error

    monkeypatch.setitem(PEERS, "numpy", Absent)
    arguments = ("--workloads", "W3", "--scale", "0.002", "--rounds", "1", "--peers", "numpy")
    record, out, _ = bench("match", *arguments)
    row = record["results"][0]["contenders"][1]
    assert row == {"peer": "numpy", "about": Absent.about, "version": None, "status": "cannot run: not today"}
    assert "not today" in out


def test_slow_peers_get_fewer_events(monkeypatch):
    monkeypatch.setattr(match, "PEER_BUDGET_S", 1e-9)
    options = Options(("W3",), ("numpy",), rounds=2, scale=0.001, batch=32)
    ours, numpy = match.run(options, quiet)["results"][0]["contenders"]
    assert (ours["events_per_round"], numpy["events_per_round"]) == (32, 4)
    assert numpy["checked_events"] == 8


def test_updates(bench):
    record, out, _ = bench("updates", "--workloads", "W3,W6", "--scale", "0.002", "--rounds", "2")
    assert record["parameters"]["peers"] == ["rtree"]
    for result in record["results"]:
        assert result["subscriptions"] == 2000
        assert result["array"] == 20
        assert_ordered(result["build_s"])
        for kind in ("replacing", "growing", "single"):
            assert_ordered(result[kind]["insert_us"])
            assert_ordered(result[kind]["delete_us"])
            assert result[kind]["equal"] is True
        assert result["after_replacing"]["equal"] is True
        assert result["after_replacing"]["slowdown"] > 0
        if result["rtree"]["status"] == "ok":
            assert_ordered(result["rtree"]["insert_us"])
    assert "one by one" in out


def test_updates_replace_what_they_say():
    import pubmatch as pm
    from pubmatch_bench.workloads import make

    workload = make("W3", 0.002)
    index = pm.Index.build(workload.lower, workload.upper)
    times, content = updates._replace(index, workload)
    assert len(times.insert_us) == len(times.delete_us) == 30
    assert len(index) == len(content.ids) == len(set(content.ids.tolist())) == 2000
    kept = content.ids[:1400]
    assert np.array_equal(content.lower[:1400], workload.lower[kept])
    assert np.array_equal(content.upper[:1400], workload.upper[kept])
    # Each box of the content is found under its id at its own corner.
    found = index.match(content.lower[1390:1410])
    assert all(number in found[row] for row, number in enumerate(content.ids[1390:1410]))


def test_updates_refuse_peers_they_cannot_measure(capsys):
    assert main(["bench", "updates", "--peers", "duckdb"]) == 2
    assert capsys.readouterr().err == "pubmatch: unknown peer 'duckdb'; known are rtree, or none\n"


def test_memory(bench):
    record, out, _ = bench("memory", "--workloads", "W3", "--scale", "0.05", "--peers", "numpy,boost")
    (result,) = record["results"]
    ours, numpy, boost = result["contenders"]
    assert ours["status"] == numpy["status"] == "ok"
    assert ours["subscriptions"] == 50_000
    assert ours["nbytes_per_subscription"] == ours["nbytes"] / 50_000
    assert numpy["nbytes"] is None
    if resident_bytes() is not None:
        # Two float32 bounds in two dimensions, copied.
        assert numpy["resident_bytes_per_subscription"] == pytest.approx(16, rel=0.5)
        assert ours["build_peak_bytes"] >= ours["resident_bytes"]
    assert boost["status"] in out or boost["status"] == "ok"


def test_memory_of_a_peer_that_dies(bench, monkeypatch):
    from pubmatch_bench import memory

    monkeypatch.setattr(memory, "PROBE", "pubmatch_bench.no_such_probe")
    record, _, _ = bench("memory", "--workloads", "W3", "--scale", "0.001", "--peers", "none")
    assert record["results"][0]["contenders"][0]["status"].startswith("cannot run: ")


def test_threads(bench):
    record, out, _ = bench(
        "threads", "--workloads", "W3", "--scale", "0.002", "--rounds", "2", "--batch", "16"
    )
    assert_ordered(record["empty_index_call_us"])
    assert record["parameters"]["threads"] == 2
    (result,) = record["results"]
    assert [row["batch"] for row in result["batches"]] == [16, 2048]
    for row in result["batches"]:
        assert row["equal"] is True
        assert_ordered(row["one_ms_per_event"])
        assert_ordered(row["many_ms_per_event"])
    assert "empty index" in out


def test_every_benchmark_has_a_table():
    assert TABLES.keys() == {"match", "updates", "memory", "threads", "sjf", "tuner", "spark", "matcher"}


def test_differences_name_the_place():
    results = [
        {"workload": "W1", "batches": [{"batch": 16, "equal": True}, {"batch": 128, "equal": False}]},
        {"workload": "W2", "after_replacing": {"equal": False}, "single": {"equal": True}},
        {"workload": "W3", "contenders": [{"peer": "boost", "equal": True}, {"peer": "rtree"}]},
    ]
    assert differences({"results": results}) == ["W1 128", "W2 after_replacing"]


def test_commit_of_a_directory_that_is_no_working_copy(monkeypatch, tmp_path):
    import pubmatch_bench.record

    monkeypatch.setattr(pubmatch_bench.record, "__file__", str(tmp_path / "record.py"))
    monkeypatch.chdir(tmp_path)
    assert commit() is None


def test_compiler_is_named():
    assert "GCC" in core_compiler() or "clang" in core_compiler()

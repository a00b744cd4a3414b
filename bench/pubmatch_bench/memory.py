"""`bench memory`: bytes per subscription, each contender built in a fresh process."""

from __future__ import annotations

import json
import subprocess
import sys

from pubmatch_bench import options as opt
from pubmatch_bench.peers.pubmatch_peer import PubmatchPeer
from pubmatch_bench.record import Record, new_record
from pubmatch_bench.workloads import spec_of

DEFAULT_WORKLOADS = "W1,W2,W3,W4,W5,W6,W7"
DEFAULT_ROUNDS = 1

PROBE = "pubmatch_bench.memory_probe"
_SIZES = ("nbytes", "resident_bytes", "build_peak_bytes")


def run(options: opt.Options, notify: opt.Notify) -> Record:
    """Measure all chosen workloads and peers and return the record."""
    record = new_record(
        "memory",
        quick=options.quick,
        parameters=options.parameters("workloads", "peers", "scale") | {"dtype": "float32"},
        seeds={"subscriptions": str(opt.SUBSCRIPTION_SEED)},
    )
    peers = (PubmatchPeer.name, *options.peers)
    for position, name in enumerate(options.workloads):
        rows = []
        for place, peer in enumerate(peers):
            notify(f"{name} {peer}", (position + place / len(peers)) / len(options.workloads))
            rows.append(_measure(peer, name, options.scale))
        record["results"].append({"workload": name, "about": spec_of(name).about, "contenders": rows})
    return record


def _measure(peer: str, workload: str, scale: float) -> Record:
    command = [sys.executable, "-m", PROBE, peer, workload, repr(scale)]
    done = subprocess.run([*command, str(opt.SUBSCRIPTION_SEED)], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or [f"ended with code {done.returncode}"]
        return {"peer": peer, "workload": workload, "status": f"cannot run: {reason[0]}"}
    row: Record = json.loads(done.stdout)
    for size in _SIZES:
        known = row.get(size) is not None
        row[f"{size}_per_subscription"] = row[size] / row["subscriptions"] if known else None
    return row

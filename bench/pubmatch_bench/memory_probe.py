"""Builds one contender in a process of its own and prints what it took, as one line of JSON.

Run as `python -m pubmatch_bench.memory_probe PEER WORKLOAD SCALE SEED`.
"""

from __future__ import annotations

import json
import sys

from pubmatch_bench.peers import PEERS, Peer, PeerUnavailable
from pubmatch_bench.peers.pubmatch_peer import PubmatchPeer
from pubmatch_bench.record import Record
from pubmatch_bench.resident import growth, peak_bytes, reset_peak, resident_bytes
from pubmatch_bench.workloads import make

_WARM_UP_BOXES = 1000


def probe(name: str, workload_name: str, scale: float, seed: int) -> Record:
    """Build one contender and return its memory, or why it cannot run."""
    kinds: dict[str, type[Peer]] = {PubmatchPeer.name: PubmatchPeer, **PEERS}
    kind = kinds[name]
    peer = kind()
    workload = make(workload_name, scale, seed)
    row: Record = {"peer": name, "workload": workload.name, "subscriptions": len(workload)}
    refusal = peer.refuses(workload.dims)
    if refusal is not None:
        return row | {"status": refusal}
    try:
        peer.version()
    except PeerUnavailable as reason:
        return row | {"status": str(reason)}
    # Libraries and their arenas are loaded by a small build, so that only the boxes count.
    kind().build(workload.lower[:_WARM_UP_BOXES], workload.upper[:_WARM_UP_BOXES])
    before = resident_bytes()
    fresh_peak = reset_peak()
    peer.build(workload.lower, workload.upper)
    peak = peak_bytes() if fresh_peak else None
    after = resident_bytes()
    return row | {
        "status": "ok",
        "nbytes": peer.index.nbytes if isinstance(peer, PubmatchPeer) else None,
        "resident_bytes": growth(before, after),
        "build_peak_bytes": growth(before, peak),
    }


if __name__ == "__main__":
    peer_name, workload_name, scale_text, seed_text = sys.argv[1:]
    row = probe(peer_name, workload_name, float(scale_text), int(seed_text))
    sys.stdout.write(json.dumps(row) + "\n")

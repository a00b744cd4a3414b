"""The competitors, by name: one file each, all behind `protocol.Peer`."""

from __future__ import annotations

from pubmatch_bench.peers.boost_peer import BoostPeer
from pubmatch_bench.peers.duckdb_peer import DuckdbPeer
from pubmatch_bench.peers.numpy_peer import NumpyPeer
from pubmatch_bench.peers.protocol import Csr, Peer, PeerUnavailable
from pubmatch_bench.peers.rtree_peer import RtreePeer
from pubmatch_bench.peers.shapely_peer import ShapelyPeer

PEERS: dict[str, type[Peer]] = {
    peer.name: peer for peer in (RtreePeer, BoostPeer, ShapelyPeer, NumpyPeer, DuckdbPeer)
}

__all__ = ["PEERS", "Csr", "Peer", "PeerUnavailable"]

"""Boost.Geometry's R-tree, compiled once from PyPI's `boost-headers` and kept in the user's cache."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pubmatch_bench.peers.protocol import Csr, FiniteSpace, Peer, PeerUnavailable
from pubmatch_bench.workloads import FloatArray

_SOURCE = Path(__file__).parent.parent / "boost_peer.cpp"
_FLAGS = ("-std=c++17", "-O3", "-DNDEBUG", "-shared", "-fPIC")
_COMPILED_DIMS = (2, 12, 20)


class BoostPeer(Peer):
    """`rtree::query(intersects(point))` on a tree made by the packing constructor, quadratic<16>."""

    name = "boost"
    about = "Boost.Geometry rtree, packed, quadratic<16>, C++ caller"
    _tree: int | None = None

    def refuses(self, dims: int) -> str | None:
        """Refuse dimensions the library was not compiled for."""
        return None if dims in _COMPILED_DIMS else f"compiled for {_COMPILED_DIMS} dimensions only"

    def version(self) -> str:
        """Return the version of the headers, once the library is compiled."""
        _library()
        import boost_headers

        return str(boost_headers.__version__)

    def build(self, lower: FloatArray, upper: FloatArray) -> None:
        """Pack a tree of the clipped boxes."""
        self._space = FiniteSpace(lower, upper)
        low, high = self._space.clip(lower), self._space.clip(upper)
        self._tree = _library().boost_peer_build(low.ctypes.data, high.ctypes.data, *low.shape)
        if not self._tree:
            raise MemoryError(f"Boost could not build a tree of {len(lower)} boxes")

    def prepare(self, points: FloatArray) -> FloatArray:
        """Clip the points."""
        return np.ascontiguousarray(self._space.clip(points))

    def match(self, prepared: FloatArray) -> int:
        """Fill the result buffer of the tree; return how many ids it holds."""
        found = _library().boost_peer_match(self._tree, prepared.ctypes.data, len(prepared))
        if found < 0:
            raise MemoryError("Boost ran out of memory in a query")
        return int(found)

    def csr(self, answer: Any, n_events: int) -> Csr:
        """Copy the tree's result buffer, which the next batch overwrites."""
        offsets = np.ctypeslib.as_array(_library().boost_peer_offsets(self._tree), (n_events + 1,)).copy()
        if answer == 0:  # the buffer may not exist yet
            return Csr(offsets, np.empty(0, dtype=np.int64))
        return Csr(offsets, np.ctypeslib.as_array(_library().boost_peer_ids(self._tree), (answer,)).copy())

    def __del__(self) -> None:
        if self._tree:
            _library().boost_peer_free(self._tree)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(_compiled()))
    pointer, size = ctypes.c_void_p, ctypes.c_size_t
    signatures = {
        "build": (pointer, [pointer, pointer, size, size]),
        "match": (ctypes.c_int64, [pointer, pointer, size]),
        "offsets": (ctypes.POINTER(ctypes.c_int64), [pointer]),
        "ids": (ctypes.POINTER(ctypes.c_int64), [pointer]),
        "free": (None, [pointer]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, f"boost_peer_{name}")
        function.restype, function.argtypes = result, arguments
    return library


def _compiled() -> Path:
    """Return the shared library, compiling it if source, flags, headers or compiler are new."""
    try:
        import boost_headers
    except ImportError as error:
        raise PeerUnavailable("boost-headers is not installed") from error
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if compiler is None:
        raise PeerUnavailable("no C++ compiler (g++, or CXX)")
    version = subprocess.run([compiler, "--version"], capture_output=True, text=True, check=False).stdout
    key = hashlib.sha256(
        "\0".join((_SOURCE.read_text(), *_FLAGS, str(boost_headers.__version__), version)).encode()
    )
    target = _cache_dir() / f"boost_peer-{key.hexdigest()[:16]}.so"
    if not target.exists():
        _compile(compiler, str(boost_headers.get_include()), target)
    return target


def _cache_dir() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "pubmatch"


def _compile(compiler: str, include: str, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    # Renamed into place: another run never loads half a library.
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        output = Path(folder) / target.name
        command = [compiler, *_FLAGS, "-isystem", include, str(_SOURCE), "-o", str(output)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if "error" in line]
            raise PeerUnavailable(f"does not compile: {errors[0] if errors else done.stderr[:200]}")
        output.replace(target)

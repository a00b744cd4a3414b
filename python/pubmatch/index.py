"""`Index`: the public face of the native R-tree.

Every method checks and converts its arguments, then makes one call into the core, which runs without the GIL.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, Self, SupportsIndex

import numpy as np

from pubmatch import _core
from pubmatch.arrays import (
    box_arrays,
    checked_count,
    checked_flag,
    checked_integer,
    checked_path,
    float_dtype,
    id_array,
    point_array,
    query_box_arrays,
)
from pubmatch.errors import ArgumentError, ArgumentTypeError, FormatError, file_access_error
from pubmatch.matches import Matches
from pubmatch.params import Params, params_from_core, params_to_core
from pubmatch.shown import shown
from pubmatch.tuning import LevelTuner

if TYPE_CHECKING:
    import os
    from collections.abc import Generator

    from numpy.typing import ArrayLike, DTypeLike, NDArray

    Order = Literal["fifo", "sjf"]
    Level = Literal["auto"] | SupportsIndex

__all__ = ["MAX_DIMS", "MAX_THREADS", "Index"]

MAX_DIMS = _core.MAX_DIMS
MAX_THREADS = _core.MAX_THREADS
_AUTO_LEVEL = 0
_ORDERS = ("sjf", "fifo")


class Index:
    """A dynamic R-tree of closed boxes (subscriptions) that finds all boxes containing a point (event).

    A side of a box that is not constrained is `-inf` or `inf`. A NaN coordinate of a point means that the
    event lacks the attribute: then only boxes unconstrained in that dimension match. Any number of threads
    may match while others insert and delete; each call sees one consistent state.

    Parameters
    ----------
    dims : int
        Number of dimensions, 1 to `pubmatch.MAX_DIMS` (255).
    dtype : {"float64", "float32"}
        How bounds are stored. Points of both dtypes are compared exactly with either.
    params : Params, optional
        Node layout and capacities; by default chosen from the data.

    Examples
    --------
    >>> import pubmatch as pm
    >>> index = pm.Index(dims=2)
    >>> index.insert(lower=[[0, 0], [1, -float("inf")]], upper=[[2, 2], [3, float("inf")]])
    array([0, 1])
    >>> index.match([[1.5, 1.0], [2.5, 9.0]], sort=True)[0]
    array([0, 1])
    >>> index.delete(0)
    1
    >>> len(index)
    1
    """

    __slots__ = ("__weakref__", "_core", "_dims")

    def __init__(
        self, dims: SupportsIndex, *, dtype: DTypeLike = "float64", params: Params | None = None
    ) -> None:
        self._dims = _checked_dims(dims)
        self._core = _core.Index(self._dims, float_dtype(dtype).name, params_to_core(params))

    @classmethod
    def build(
        cls,
        lower: ArrayLike,
        upper: ArrayLike,
        ids: ArrayLike | None = None,
        *,
        dtype: DTypeLike | None = None,
        params: Params | None = None,
        sample: ArrayLike | None = None,
    ) -> Self:
        """Bulk-load an index, faster and better packed than inserting.

        Parameters
        ----------
        lower, upper : (n, dims) array_like
            Bounds of the boxes.
        ids : (n,) array_like of int64, optional
            Unique ids; by default 0 to n - 1.
        dtype : {"float64", "float32"}, optional
            How bounds are stored; by default the arrays' own dtype.
        params : Params, optional
            Node layout and capacities; by default chosen from the data.
        sample : (m, dims) array_like, optional
            Typical events, for which the tree is then built.

        Examples
        --------
        >>> import numpy as np, pubmatch as pm
        >>> centres = np.random.default_rng(7).random((1000, 3))
        >>> index = pm.Index.build(centres - 0.1, centres + 0.1)
        >>> len(index), index.dims, index.dtype
        (1000, 3, dtype('float64'))
        """
        low, high = box_arrays(lower, upper, None, None if dtype is None else float_dtype(dtype))
        dims = _checked_dims(low.shape[1])
        events = None if sample is None else point_array(sample, dims, "sample")
        numbers = None if ids is None else id_array(ids, len(low))
        knobs = params_to_core(params)
        return cls._around(_core.Index.build(low, high, numbers, low.dtype.name, knobs, events))

    @classmethod
    def load(cls, path: str | os.PathLike[str], mmap: bool = True, verify: bool = True) -> Self:
        """Open a file written by `save`.

        Parameters
        ----------
        path : path-like
            The file.
        mmap : bool
            Map the file and share its pages between processes; otherwise read it into memory.
        verify : bool
            Verify the checksum of the whole file. Without it only the pages that are needed are touched, and
            flipped bits in the payload are left for `check` to find; no file can crash the process.

        Raises
        ------
        FormatError
            The file is foreign, newer, truncated or corrupted, or (as `FileAccessError`) cannot be read.
        """
        name = checked_path(path)
        mapped, verified = checked_flag("mmap", mmap), checked_flag("verify", verify)
        try:
            return cls._around(_core.Index.load(name, mapped, verified))
        except OSError as error:
            raise file_access_error(error, name) from None
        except FormatError as error:
            raise FormatError(f"{name}: {error}") from None

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The index that `to_bytes` wrote."""
        if not isinstance(data, bytes):
            raise ArgumentTypeError(f"data must be bytes, got {type(data).__name__}")
        return cls._around(_core.Index.from_bytes(data))

    @classmethod
    def _around(cls, core: _core.Index) -> Self:
        index = cls.__new__(cls)
        index._core = core
        index._dims = core.dims
        return index

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to one file: to a temporary name first, synced, then renamed.

        A device or pipe is written to directly, for a rename would replace it by a file.

        Examples
        --------
        >>> import os, tempfile, pubmatch as pm
        >>> index = pm.Index.build([[0.0]], [[1.0]])
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     index.save(os.path.join(directory, "one.pubmatch"))
        ...     copy = pm.Index.load(os.path.join(directory, "one.pubmatch"), mmap=False)
        >>> copy.match([0.5])[0]
        array([0])
        """
        name = checked_path(path)
        try:
            self._core.save(name)
        except OSError as error:
            raise file_access_error(error, name) from None

    def to_bytes(self) -> bytes:
        """The same bytes that `save` writes; also what a pickle holds."""
        return self._core.to_bytes()

    def insert(self, lower: ArrayLike, upper: ArrayLike, ids: ArrayLike | None = None) -> NDArray[np.int64]:
        """Insert one box or many, all of them or none.

        Parameters
        ----------
        lower, upper : (dims,) or (n, dims) array_like
            Bounds, each exact in the index's dtype.
        ids : int or (n,) array_like of int64, optional
            Ids not yet in the index; by default the next unused from 0.

        Returns
        -------
        (n,) array of int64
            The ids of the boxes.
        """
        low, high = box_arrays(lower, upper, self._dims, self.dtype)
        return self._core.insert(low, high, None if ids is None else id_array(ids, len(low)))

    def replace(
        self, old_ids: ArrayLike, lower: ArrayLike, upper: ArrayLike, ids: ArrayLike
    ) -> NDArray[np.int64]:
        """Delete the boxes `old_ids` and insert others in one step: no reader sees one without the other.

        The new `ids` must not be in the index yet; old ones that are not there are no error.

        Examples
        --------
        >>> import pubmatch as pm
        >>> index = pm.Index.build(lower=[[0.0], [5.0]], upper=[[1.0], [6.0]])
        >>> index.replace(0, lower=[[2.0]], upper=[[3.0]], ids=[7])
        array([7])
        >>> index.match([[0.5], [2.5]]).pairs()
        (array([1]), array([7]))
        """
        low, high = box_arrays(lower, upper, self._dims, self.dtype)
        return self._core.replace(id_array(old_ids), low, high, id_array(ids, len(low)))

    def delete(self, ids: ArrayLike) -> int:
        """Delete boxes by id and tell how many there were; unknown ids are not an error."""
        return self._core.delete(id_array(ids))

    def match(
        self,
        points: ArrayLike,
        order: Order = "sjf",
        level: Level = "auto",
        threads: int = 1,
        sort: bool = False,
    ) -> Matches:
        """Find the ids of all boxes that contain each point.

        Parameters
        ----------
        points : (n, dims) or (dims,) array_like
            The events; float64 and float32 C-contiguous arrays are used in place.
        order : {"sjf", "fifo"}
            Shortest job first, by estimated workload, or as given.
        level : "auto" or int
            Depth of the workload estimation for "sjf", from 1 (root: none) to `height`; "auto" tunes itself.
        threads : int
            Threads that share the batch.
        sort : bool
            Ids of each event ascending; otherwise in the index's own order.

        Examples
        --------
        >>> import pubmatch as pm
        >>> index = pm.Index.build(lower=[[0.0, 0.0], [1.0, 1.0]], upper=[[2.0, 2.0], [3.0, 3.0]])
        >>> m = index.match([[1.5, 1.5], [2.5, 2.5]], sort=True)
        >>> m.ids, m.offsets
        (array([0, 1, 1]), array([0, 2, 3]))
        """
        events = point_array(points, self._dims)
        depth = self._depth(level)
        if not isinstance(order, str) or order not in _ORDERS:
            raise ArgumentError(f"order must be 'sjf' or 'fifo', got {shown(order)}")
        if threads != 1 or type(threads) is not int:
            threads = _checked_threads(threads)
        if sort is not False:
            sort = checked_flag("sort", sort)
        return Matches(self._core.match(events, order, depth, threads, sort))

    def stream(
        self,
        points: ArrayLike,
        chunk: int = 256,
        order: Order = "sjf",
        level: Level = "auto",
        threads: int = 1,
    ) -> Generator[tuple[NDArray[np.int64], Matches], None, None]:
        """Match as `match` does, and hand the results out while later events are still being matched.

        Parameters
        ----------
        points : (n, dims) or (dims,) array_like
            The events; not to be changed until the stream is used up.
        chunk : int
            Most events handed out at a time.
        order, level, threads
            As for `match`.

        Yields
        ------
        positions : (k,) array of int64
            Which events were completed.
        matches : Matches
            Their matches, row by row in the order of `positions`.

        Examples
        --------
        >>> import pubmatch as pm
        >>> index = pm.Index.build([[0.0], [1.0]], [[2.0], [3.0]])
        >>> for positions, m in index.stream([[0.5], [2.5]], chunk=1, order="fifo"):
        ...     print(positions, m[0])
        [0] [0]
        [1] [1]
        """
        events = point_array(points, self._dims)
        depth = self._depth(level)
        if not isinstance(order, str) or order not in _ORDERS:
            raise ArgumentError(f"order must be 'sjf' or 'fifo', got {shown(order)}")
        size = min(checked_count("chunk", chunk), max(len(events), 1))
        return _chunks(self._core.stream(events, order, depth, size, _checked_threads(threads)))

    def count(self, points: ArrayLike, threads: int = 1) -> NDArray[np.int64]:
        """How many boxes contain each point, without making the ids.

        Examples
        --------
        >>> import pubmatch as pm
        >>> pm.Index.build([[0.0], [1.0]], [[2.0], [3.0]]).count([[0.5], [1.5], [9.0]])
        array([1, 2, 0])
        """
        return self._core.count(point_array(points, self._dims), _checked_threads(threads))

    def estimate(self, points: ArrayLike, level: SupportsIndex | None = None) -> NDArray[np.int64]:
        """The workload of each point: how many search paths stop at `level`.

        Parameters
        ----------
        points : (n, dims) or (dims,) array_like
            The events.
        level : int, optional
            From 1 (the root: 1 for every event) to `height` (the leaves to be searched); by default the
            estimate that `match` uses with `level="auto"`: where bitmap nodes make it possible the expected
            work, in visits of a leaf, from the event's buckets alone, else the paths at the tuner's level.
        """
        depth = _AUTO_LEVEL if level is None else self._checked_level(level)
        return self._core.estimate(point_array(points, self._dims), depth)

    def intersecting(self, lower: ArrayLike, upper: ArrayLike) -> Matches:
        """Find the ids of all boxes that meet each given box, be it in one point.

        Examples
        --------
        >>> import pubmatch as pm
        >>> index = pm.Index.build([[0.0], [2.0]], [[1.0], [3.0]])
        >>> index.intersecting([1.0], [1.5])[0]
        array([0])
        """
        return Matches(self._core.intersecting(*query_box_arrays(lower, upper, self._dims)))

    def covering(self, lower: ArrayLike, upper: ArrayLike) -> Matches:
        """Find the ids of all boxes that contain each given box."""
        return Matches(self._core.covering(*query_box_arrays(lower, upper, self._dims)))

    def covered(self, lower: ArrayLike, upper: ArrayLike) -> Matches:
        """Find the ids of all boxes that lie inside each given box."""
        return Matches(self._core.covered(*query_box_arrays(lower, upper, self._dims)))

    def check(self) -> None:
        """Recompute every envelope, depth, fan-out and bitmap; raise `CorruptIndexError` at the first lie."""
        self._core.check()

    def stats(self) -> dict[str, Any]:
        """What the index consists of: sizes, node counts and the layout chosen."""
        return self._core.stats()

    @property
    def dims(self) -> int:
        """Number of dimensions."""
        return self._dims

    @property
    def dtype(self) -> np.dtype[Any]:
        """How bounds are stored: float64 or float32."""
        return float_dtype(self._core.dtype)

    @property
    def height(self) -> int:
        """Levels of the tree, root included; 1 if the index is empty."""
        return self._core.height

    @property
    def nbytes(self) -> int:
        """Bytes of memory the index takes."""
        return self._core.nbytes

    @property
    def params(self) -> Params:
        """The parameters the index was made with."""
        return params_from_core(self._core.params())

    @property
    def tuner(self) -> LevelTuner:
        """The index's own `LevelTuner`, which `level="auto"` follows."""
        return LevelTuner._around(self._core.tuner)

    def __len__(self) -> int:
        return self._core.size

    def __repr__(self) -> str:
        return (
            f"Index(dims={self.dims}, dtype='{self._core.dtype}', size={len(self)}, height={self.height}, "
            f"nbytes={self.nbytes})"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def _depth(self, level: Any) -> int:
        """The core's word for a level; an array is compared with no text, for it would answer with one."""
        return _AUTO_LEVEL if isinstance(level, str) and level == "auto" else self._checked_level(level)

    def _checked_level(self, level: Any) -> int:
        if isinstance(level, str):
            raise ArgumentError(f"level must be 'auto' or an integer, got {level!r}")
        number = checked_integer("level", level)
        height = self._core.height
        if not 1 <= number <= height:
            raise ArgumentError(f"level must be from 1 to the index's height {height}, got {number}")
        return number


def _chunks(raw: _core.RawStream) -> Generator[tuple[NDArray[np.int64], Matches], None, None]:
    """What `raw` hands out; a consumer that breaks off ends the work."""
    try:
        while (part := raw.next()) is not None:
            positions, matches = part
            yield positions, Matches(matches)
    finally:
        raw.close()


def _checked_threads(threads: Any) -> int:
    return checked_count("threads", threads, MAX_THREADS)


def _checked_dims(dims: Any) -> int:
    number = checked_integer("dims", dims)
    if not 1 <= number <= MAX_DIMS:
        raise ArgumentError(f"dims must be from 1 to {MAX_DIMS}, got {number}")
    return number

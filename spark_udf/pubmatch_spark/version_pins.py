"""Which version of the subscriptions each batch of a stream is matched with, remembered before it is matched.

    checkpoint/pubmatch/stream.json      the stream's own name, which the output repeats
    checkpoint/pubmatch/versions/7.json  version and digest of batch 7, and the type of the stream's keys

A batch that is run again, after a crash, finds its version here and gives the same rows. The first version
that has keys decides what type they have in all results of the stream, and every pin from then on repeats it.
"""

from __future__ import annotations

import json
import os
import uuid
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pubmatch.errors import ArgumentError, FormatError, PubmatchError, file_access_error
from pubmatch.whole_files import replace_file
from pubmatch_spark.publish import latest, ref_of

if TYPE_CHECKING:
    from pubmatch_spark.publish import IndexRef

__all__ = ["VersionPins", "join_output", "write_json"]

_KEPT = 1000  # pins of older batches are dropped; Spark itself repeats only the last one
_STREAM = "stream.json"


class VersionPins:
    """The pins of one stream.

    Parameters
    ----------
    checkpoint : str
        The stream's checkpoint directory.
    versions_path : str
        Where versions are published.

    Examples
    --------
    >>> import tempfile
    >>> import pubmatch as pm
    >>> from pubmatch_spark.publish import publish
    >>> matcher = pm.Matcher(pm.Schema(price=pm.Number()))
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     first = publish(matcher, f"{directory}/versions", version=1)
    ...     pins = VersionPins(f"{directory}/checkpoint", f"{directory}/versions")
    ...     before = pins.ref(0).version
    ...     second = publish(matcher, f"{directory}/versions", version=2)
    ...     before, pins.ref(0).version, pins.ref(1).version
    (1, 1, 2)
    """

    def __init__(self, checkpoint: str, versions_path: str) -> None:
        self._directory = os.path.join(checkpoint, "pubmatch", "versions")
        self._versions_path = versions_path

    def ref(self, batch_id: int) -> IndexRef:
        """The version of a batch: as pinned, else the current one, which is then pinned.

        Raises
        ------
        ArgumentError
            The current version is older than one that an earlier batch had, or has strings for keys where
            those of the stream are integers.
        FormatError
            The pinned version is not what it was, or (as `MissingFileError`) gone.
        """
        pinned = self._read(batch_id)
        if pinned is not None:
            return pinned
        current, keys = self._next()
        try:
            os.makedirs(self._directory, exist_ok=True)
        except OSError as error:
            raise file_access_error(error, self._directory) from None
        pin = {"version": current.version, "digest": current.digest, "key_type": keys}
        write_json(self._path(batch_id), pin)
        with suppress(FileNotFoundError):
            os.unlink(self._path(batch_id - _KEPT))
        return current

    def current(self) -> IndexRef:
        """The version that the next batch will have."""
        return self._next()[0]

    def key_type(self, batch_id: int) -> str | None:
        """The type of the stream's keys as of a batch, "string" or "int64"; None if there were none yet."""
        path = self._path(batch_id)
        found: str | None = _load(path).get("key_type") if os.path.exists(path) else None
        return found

    def _next(self) -> tuple[IndexRef, str | None]:
        """The version that the next batch will have, and the type of the stream's keys as of then."""
        current = latest(self._versions_path)
        own = current.key_type if current.subscriptions else None
        batches = self._batches()
        if not batches:
            return current, own
        last = _load(self._path(batches[-1]))
        if current.version < last["version"]:
            raise ArgumentError(
                f"{self._versions_path} has version {current.version} as its highest, but batch "
                f"{batches[-1]} was matched with version {last['version']}"
            )
        known: str | None = last.get("key_type")
        if known == "int64" and own == "string":
            raise ArgumentError(
                f"all keys of a stream have one type: those of version {current.version} in "
                f"{self._versions_path} are strings, but this stream has written integers up to batch "
                f"{batches[-1]}; publish integers, or begin a stream with another checkpoint and out"
            )
        return current, known or own

    def _read(self, batch_id: int) -> IndexRef | None:
        path = self._path(batch_id)
        if not os.path.exists(path):
            return None
        pin = _load(path)
        ref = ref_of(self._versions_path, pin["version"])
        if ref.digest != pin["digest"]:
            raise FormatError(f"{ref.directory}: not the version that batch {batch_id} was matched with")
        return ref

    def _batches(self) -> list[int]:
        try:
            names = os.listdir(self._directory)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise file_access_error(error, self._directory) from None
        stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return sorted(int(stem) for stem in stems if stem.isdecimal())

    def _path(self, batch_id: int) -> str:
        return os.path.join(self._directory, f"{batch_id}.json")


def join_output(checkpoint: str, out: str) -> None:
    """Tie an output to a checkpoint: batches are numbered per checkpoint, so two must not share an output.

    Raises
    ------
    ArgumentError
        One of them belongs to another stream.
    """
    own, other = os.path.join(checkpoint, "pubmatch", _STREAM), os.path.join(out, "_pubmatch", _STREAM)
    try:
        os.makedirs(os.path.dirname(own), exist_ok=True)
        os.makedirs(os.path.dirname(other), exist_ok=True)
        if not os.path.exists(own):
            if os.path.exists(os.path.join(checkpoint, "offsets")):
                raise ArgumentError(f"checkpoint {checkpoint} belongs to a query of another kind")
            _check_unused(out, other)
            write_json(own, {"stream": uuid.uuid4().hex})
        name = _load(own)["stream"]
        if not os.path.exists(other):
            _check_unused(out, other)
            write_json(other, {"stream": name})
        if _load(other)["stream"] != name:
            raise ArgumentError(f"out {out} holds results of another stream than checkpoint {checkpoint}")
    except OSError as error:
        if isinstance(error, PubmatchError):
            raise
        raise file_access_error(error, error.filename or out) from None


def _check_unused(out: str, mark: str) -> None:
    if os.path.exists(mark) or any(name.startswith("batch_id=") for name in os.listdir(out)):
        raise ArgumentError(f"out {out} holds results of a stream with another checkpoint")


def write_json(path: str, document: dict[str, Any]) -> None:
    """Write a small file that lasts: under a temporary name, synced, then renamed, and the name synced."""
    replace_file(path, json.dumps(document).encode())


def _load(path: str) -> dict[str, Any]:
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise file_access_error(error, path) from None
    except ValueError as error:
        raise FormatError(f"{path}: {error}") from None
    if not isinstance(document, dict) or not {"version", "stream"} & set(document):
        raise FormatError(f"{path}: not a file of a stream")
    return document

"""A set of shards on disk: one published matcher per shard, the routing table, and a manifest written last.

    path/manifest.json            schema, kind of keys; for every shard its directory, digest, size and work
    path/routing.npz              the envelopes of all shards
    path/shard-00003-1f…/v000001  what `publish` writes

A set without a manifest is not complete; a set never changes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import zipfile
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from pubmatch.encoding.labels import Labels
from pubmatch.errors import FormatError, PubmatchError, file_access_error
from pubmatch.schema import Category, Schema
from pubmatch.whole_files import replace_file
from pubmatch_spark.publish import checked_root, ref_of
from pubmatch_spark.routing import Routing

if TYPE_CHECKING:
    from pubmatch_spark.publish import IndexRef

__all__ = ["Shard", "ShardManifest"]

_MANIFEST, _ROUTING = "manifest.json", "routing.npz"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard.

    Attributes
    ----------
    directory : str
        Its name under the set's path.
    digest : str
        That of the `IndexRef`.
    subscriptions, boxes : int
        How many it has.
    work : float
        Its estimated share of all work, from 0 to 1.
    matches_per_visit : float
        How many matches an event that comes here is expected to have.
    """

    directory: str
    digest: str
    subscriptions: int
    boxes: int
    work: float
    matches_per_visit: float


@dataclass(frozen=True, slots=True)
class ShardManifest:
    """A set of shards, as `build_shards` made it; small and picklable.

    Attributes
    ----------
    path : str
        Where it is.
    by : {"zorder", "clusters", "hash"}
        How subscriptions were divided.
    key_type : {"string", "int64"}
        The type of keys in results.
    schema : Schema
        The attributes of events.
    shards : tuple of Shard
        Those that have subscriptions.
    routing : Routing
        Where events can match.
    """

    path: str
    by: str
    key_type: str
    schema: Schema
    shards: tuple[Shard, ...]
    routing: Routing = field(repr=False, compare=False)

    @property
    def subscriptions(self) -> int:
        """How many subscriptions all shards have."""
        return sum(shard.subscriptions for shard in self.shards)

    def refs(self) -> list[IndexRef]:
        """The published matcher of every shard, after comparing its files with their checksums.

        Raises
        ------
        FormatError
            A file was changed, or (as `MissingFileError`) is gone.
        """
        found = []
        for shard in self.shards:
            ref = ref_of(os.path.join(self.path, shard.directory), 1)
            if ref.digest != shard.digest:
                raise FormatError(f"{ref.directory}: not the shard that {self.path} was built with")
            ref.check()
            found.append(ref)
        return found

    def save(self) -> None:
        """Write routing table and manifest; from then on the set is complete."""
        buffer = io.BytesIO()
        routing = self.routing
        np.savez(buffer, lower=routing.lower, upper=routing.upper, shard_of=routing.shard_of)
        data = buffer.getvalue()
        labels = {name: labels.to_lists() for name, labels in routing.labels.items()}
        document = {
            "format": _FORMAT,
            "by": self.by,
            "key_type": self.key_type,
            "schema": json.loads(self.schema.to_json()),
            "labels": labels,
            "routing": hashlib.sha256(data).hexdigest(),
            "shards": [asdict(shard) for shard in self.shards],
        }
        replace_file(os.path.join(self.path, _ROUTING), data)
        replace_file(os.path.join(self.path, _MANIFEST), json.dumps(document, indent=1).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ShardManifest:
        """Read the manifest of a set that was built before.

        Raises
        ------
        FormatError
            It is foreign or damaged, or (as `MissingFileError`) not there.
        """
        root = checked_root(path)
        name = os.path.join(root, _MANIFEST)
        try:
            with open(name, "rb") as file:
                document = json.loads(file.read())
            with open(os.path.join(root, _ROUTING), "rb") as file:
                data = file.read()
            return cls._from(root, document, data)
        except OSError as error:
            if isinstance(error, PubmatchError):
                raise
            raise file_access_error(error, error.filename or name) from None
        except (PubmatchError, ValueError, TypeError, KeyError, RecursionError, zipfile.BadZipFile) as error:
            raise FormatError(f"{name}: not the manifest of a set of shards: {error}") from None

    @classmethod
    def _from(cls, root: str, document: Any, data: bytes) -> ShardManifest:
        if document["format"] != _FORMAT:
            raise FormatError(f"format {document['format']!r}; this release reads format {_FORMAT}")
        if hashlib.sha256(data).hexdigest() != document["routing"]:
            raise FormatError(f"{_ROUTING} is damaged")
        schema = Schema.from_json(json.dumps(document["schema"]))
        shards = tuple(Shard(**row) for row in document["shards"])
        names = [name for name in schema.names if isinstance(schema[name], Category)]
        labels = {name: Labels.from_lists(*document["labels"][name]) for name in names}
        arrays = np.load(io.BytesIO(data), allow_pickle=False)
        routing = Routing(schema, labels, arrays["lower"], arrays["upper"], arrays["shard_of"], len(shards))
        return cls(root, document["by"], document["key_type"], schema, shards, routing)

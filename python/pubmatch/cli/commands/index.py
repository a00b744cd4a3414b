"""`pubmatch index build|info|check`: index files, and files of matchers."""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

import pubmatch as pm
from pubmatch.cli.output import CommandError, JsonOption, check_files, finish, progress, writable_file
from pubmatch.matcher_file import is_matcher_file

_INDEX_MAGIC = b"pubmatch"  # kFileMagic of cpp/src/file_layout.hpp

IndexFile = Annotated[Path, typer.Argument(metavar="FILE", help="The file of an index or a matcher.")]


def register(app: typer.Typer) -> None:
    """Add the group `index`."""
    group = typer.Typer(help="Make, describe and check index files.", no_args_is_help=True)
    group.command()(build)
    group.command()(info)
    group.command()(check)
    app.add_typer(group, name="index")


def build(
    boxes: Annotated[
        Path,
        typer.Argument(
            metavar="BOXES",
            help="An .npz file with arrays lower, upper and perhaps ids, or a table (.parquet, .csv, .jsonl, "
            ".arrow) with columns <attribute>_min, <attribute>_max and perhaps key.",
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The index file to write.", callback=writable_file)
    ],
    json_file: JsonOption = None,
) -> None:
    """Bulk-load an index from arrays or a table of bounds and save it.

    Examples
    --------
    pubmatch index build W3.npz --out geofences.pubmatch
    pubmatch index build bounds.csv --out alerts.pubmatch --json alerts.json
    """
    check_files([boxes], [out, json_file])
    lower, upper, ids = _read_table(boxes) if _is_table(boxes) else _read_boxes(boxes)
    with progress("build") as notify:
        notify("boxes", 0.0)
        try:
            index = pm.Index.build(lower, upper, ids)
        except pm.PubmatchError as error:
            raise CommandError(f"{boxes}: {error}") from error
        notify("save", 0.9)
        index.save(out)
    result = {"name": "index build", "file": str(out), **_description(index)}
    finish(result, json_file, _table(result))


def info(file: IndexFile, json_file: JsonOption = None) -> None:
    """Tell what a file of an index or a matcher holds.

    Examples
    --------
    pubmatch index info geofences.pubmatch
    """
    check_files([file], [json_file])
    if is_matcher_file(file):
        description = _matcher_description(pm.Matcher.load(file))
    else:
        description = _description(pm.Index.load(file))
    result = {"name": "index info", "file": str(file), **description}
    finish(result, json_file, _table(result))


def check(file: IndexFile, json_file: JsonOption = None) -> None:
    """Check a file: checksum, then every envelope, depth, fan-out and bitmap. Exit 1 if it is corrupt.

    Examples
    --------
    pubmatch index check geofences.pubmatch
    """
    check_files([file], [json_file])
    result: dict[str, Any] = {"name": "index check", "file": str(file), "ok": True, "problem": None}
    try:
        if is_matcher_file(file):
            pm.Matcher.load(file)  # verifies all checksums, and that boxes and subscriptions agree
        else:
            pm.Index.load(file).check()
    except (pm.FormatError, pm.CorruptIndexError) as error:
        if isinstance(error, pm.FileAccessError) or _is_foreign(file):
            raise
        problem = str(error).removeprefix(f"{file}: ")
        finish(result | {"ok": False, "problem": problem}, json_file)
        raise CommandError(f"{file}: {problem}", exit_code=1) from error
    finish(result, json_file, f"{file}: ok")


def _is_foreign(file: Path) -> bool:
    """Whether a file does not even begin as one of an index or a matcher."""
    with file.open("rb") as opened:
        begin = opened.read(len(_INDEX_MAGIC))
    return not (begin and _INDEX_MAGIC.startswith(begin)) and not is_matcher_file(file)


def _read_boxes(path: Path) -> tuple[Any, Any, Any]:
    try:
        arrays = np.load(path, allow_pickle=False)
        if not isinstance(arrays, np.lib.npyio.NpzFile):
            raise CommandError(f"{path}: holds one array, wanted an .npz file with lower and upper")
        with arrays:
            missing = [name for name in ("lower", "upper") if name not in arrays]
            if missing:
                raise CommandError(f"{path}: has no array {' and no array '.join(missing)}")
            return arrays["lower"], arrays["upper"], arrays.get("ids")
    # A RuntimeError is what zipfile says of an encrypted member, or of a compression it does not know.
    except (ValueError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise CommandError(f"{path}: is not an .npz file that can be read") from error


def _is_table(path: Path) -> bool:
    try:
        from pubmatch.tables import SUFFIXES
    except ModuleNotFoundError:  # without pyarrow arrays can still be read
        return False
    return path.suffix.lower() in SUFFIXES


def _read_table(path: Path) -> tuple[Any, Any, Any]:
    from pubmatch.cli.box_table import read_box_table

    return read_box_table(path)


def _description(index: pm.Index) -> dict[str, Any]:
    return {
        "dims": index.dims,
        "size": len(index),
        "dtype": index.dtype.name,
        "height": index.height,
        "nbytes": index.nbytes,
        "params": index.params.dict(),
        "stats": index.stats(),
    }


def _matcher_description(matcher: pm.Matcher) -> dict[str, Any]:
    schema = {name: repr(matcher.schema[name]) for name in matcher.schema}
    return {"size": len(matcher), "max_boxes": matcher.max_boxes, "schema": schema, "stats": matcher.stats()}


def _table(result: dict[str, Any]) -> Table:
    table = Table(show_header=False)
    for key, value in result.items():
        if isinstance(value, dict):
            for name, entry in value.items():
                table.add_row(f"{key}.{name}", str(entry))
        elif key != "name":
            table.add_row(key, str(value))
    return table

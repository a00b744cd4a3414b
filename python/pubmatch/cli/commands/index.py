"""`pubmatch index build|info|check`: index files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table

import pubmatch as pm
from pubmatch.cli.output import CommandError, JsonOption, finish, progress, writable_file

IndexFile = Annotated[Path, typer.Argument(metavar="FILE", help="The index file.")]


def register(app: typer.Typer) -> None:
    """Add the group `index`."""
    group = typer.Typer(help="Make, describe and check index files.", no_args_is_help=True)
    group.command()(build)
    group.command()(info)
    group.command()(check)
    app.add_typer(group, name="index")


def build(
    boxes: Annotated[
        Path, typer.Argument(metavar="BOXES", help="An .npz file with arrays lower, upper and perhaps ids.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="The index file to write.", callback=writable_file)
    ],
    json_file: JsonOption = None,
) -> None:
    """Bulk-load an index from arrays and save it."""
    lower, upper, ids = _read_boxes(boxes)
    with progress("build") as notify:
        notify(f"{len(lower)} boxes", 0.0)
        index = pm.Index.build(lower, upper, ids)
        notify("save", 0.9)
        index.save(out)
    result = {"name": "index build", "file": str(out), **_description(index)}
    finish(result, json_file, _table(result))


def info(file: IndexFile, json_file: JsonOption = None) -> None:
    """Tell what an index file holds."""
    result = {"name": "index info", "file": str(file), **_description(pm.Index.load(file))}
    finish(result, json_file, _table(result))


def check(file: IndexFile, json_file: JsonOption = None) -> None:
    """Check a file: checksum, then every envelope, depth, fan-out and bitmap. Exit 1 if it is corrupt."""
    result: dict[str, Any] = {"name": "index check", "file": str(file), "ok": True, "problem": None}
    try:
        pm.Index.load(file).check()
    except pm.FileAccessError:
        raise
    except (pm.FormatError, pm.CorruptIndexError) as problem:
        finish(result | {"ok": False, "problem": str(problem)}, json_file)
        raise CommandError(f"{file}: {problem}", exit_code=1) from problem
    finish(result, json_file, f"{file}: ok")


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
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise CommandError(f"{path}: is not an .npz file that can be read") from error


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


def _table(result: dict[str, Any]) -> Table:
    table = Table(show_header=False)
    for key, value in result.items():
        if isinstance(value, dict):
            for name, entry in value.items():
                table.add_row(f"{key}.{name}", str(entry))
        elif key != "name":
            table.add_row(key, str(value))
    return table

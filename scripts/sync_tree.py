"""Makes one directory like another; equal files stay as they are, so that a build sees what changed."""

import filecmp
import shutil
import sys
from pathlib import Path


def files_of(folder: Path) -> set[Path]:
    """All files below a directory, by their place in it."""
    return {path.relative_to(folder) for path in folder.rglob("*") if not path.is_dir()}


def main() -> None:
    """Copy new and changed files from the first directory to the second, delete what the first has not."""
    source, target = map(Path, sys.argv[1:])
    wanted = files_of(source)
    for place in files_of(target) - wanted:
        (target / place).unlink()
    for place in wanted:
        copy = target / place
        if not copy.exists() or not filecmp.cmp(source / place, copy, shallow=False):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / place, copy)  # the copy is new, whatever date the original bears


if __name__ == "__main__":
    main()

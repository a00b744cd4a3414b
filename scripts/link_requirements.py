"""Lends a clean environment what a requirement needs, as links to this one: no network is asked."""

import re
import sys
import sysconfig
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement


def needed(requirement: Requirement, found: dict[str, set[str]]) -> dict[str, set[str]]:
    """The distributions a requirement leads to, each with its extras; itself included."""
    name = re.sub(r"[-_.]+", "-", requirement.name).lower()
    extras = set(requirement.extras)
    if name in found and extras <= found[name]:
        return found
    found.setdefault(name, set()).update(extras)
    for text in distribution(name).requires or []:
        further = Requirement(text)
        marker = further.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
            needed(further, found)
    return found


def main() -> None:
    """Link the packages of all distributions that the requirement needs, save its own."""
    environment, requirement = Path(sys.argv[1]), Requirement(sys.argv[2])
    target = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))
    for name in needed(requirement, {}):
        if name == requirement.name:
            continue
        found = distribution(name)
        for top in {file.parts[0] for file in found.files or []} - {"..", "__pycache__"}:
            place = target / top
            if not place.exists():
                place.symlink_to(Path(str(found.locate_file(top))).resolve())


if __name__ == "__main__":
    main()

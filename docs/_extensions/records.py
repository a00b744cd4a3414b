"""Sphinx directives that put recorded results on a page when it is built.

`{bench} NAME` shows the tables of a benchmark, `{claims} NAME` those of a reproduced paper; both read
`bench/results`, so that a page never disagrees with the records. `{api} MODULE` is the reference
of a module.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from pubmatch_bench.markdown_tables import bench_tables, claims_table, record_file

if TYPE_CHECKING:
    from sphinx.application import Sphinx

RESULTS = Path(__file__).resolve().parents[2] / "bench" / "results"


class _RecordDirective(SphinxDirective):
    """Text made from a record, read as a part of the page."""

    required_arguments = 1
    kind: ClassVar[str]
    make: ClassVar[Any]

    def run(self) -> list[nodes.Node]:
        """Make the text and have the page's own parser read it."""
        name = self.arguments[0]
        self.env.note_dependency(str(record_file(RESULTS, self.kind, name)))
        lines = type(self).make(RESULTS, name).splitlines()
        place = nodes.container(classes=["records"])
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, place)
        return [place]


class Bench(_RecordDirective):
    """`{bench} NAME`."""

    kind = "bench"
    make = staticmethod(bench_tables)


class Claims(_RecordDirective):
    """`{claims} NAME`."""

    kind = "claims"
    make = staticmethod(claims_table)


class Api(SphinxDirective):
    """`{api} MODULE`: every name in the module's `__all__`, from the docstrings."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Leave the work to autodoc, name by name: it then documents aliases and constants as well."""
        name = self.arguments[0]
        module = importlib.import_module(name)
        lines = ["```{eval-rst}", f".. module:: {name}", "   :no-index:", ""]
        for public in sorted(module.__all__, key=str.lower):
            lines += [_autodoc(name, public, getattr(module, public)), ""]
        lines.append("```")
        place = nodes.container()
        self.state.nested_parse(StringList(lines, self.env.docname), self.content_offset, place)
        return [place]


def _autodoc(module: str, name: str, value: object) -> str:
    if isinstance(value, type):
        return f".. autoclass:: {module}.{name}\n   :members:"
    if callable(value):
        return f".. autofunction:: {module}.{name}"
    return f".. autodata:: {module}.{name}\n   :no-value:"


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell Sphinx about the directives."""
    app.add_directive("bench", Bench)
    app.add_directive("claims", Claims)
    app.add_directive("api", Api)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

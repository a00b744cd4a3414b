"""The public surface is documented, and its examples run."""

from __future__ import annotations

import doctest
import importlib
import inspect

import pytest

import pubmatch as pm

MODULES = [
    "pubmatch",
    *(f"pubmatch.{name}" for name in ("arrays", "errors", "index", "matches", "params", "tuning")),
]
WITH_EXAMPLES = [
    "pubmatch",
    *(f"pubmatch.{name}" for name in ("errors", "index", "matches", "params", "tuning")),
]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_run(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_modules_say_what_they_are_for(name: str) -> None:
    assert inspect.getdoc(importlib.import_module(name))


@pytest.mark.parametrize("name", [name for name in pm.__all__ if callable(getattr(pm, name))])
def test_every_public_name_is_documented(name: str) -> None:
    public = getattr(pm, name)
    assert inspect.getdoc(public)
    if inspect.isclass(public) and public.__module__.startswith("pubmatch."):
        own = [member for member in vars(public) if not member.startswith("_")]
        undocumented = [member for member in own if not inspect.getdoc(getattr(public, member))]
        fields = getattr(public, "__dataclass_fields__", {})
        assert [member for member in undocumented if member not in fields] == []


def test_all_is_what_there_is() -> None:
    assert sorted(pm.__all__) == sorted(set(pm.__all__))
    for name in pm.__all__:
        assert getattr(pm, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        pm.Nonsense  # noqa: B018

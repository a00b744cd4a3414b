"""What all commands have in common, checked on every one there is: a new command is met here by itself."""

from __future__ import annotations

import os
import pty
import re
import shlex
import subprocess
import sys
import typing
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_walk import commands_of, understood
from typer.models import OptionInfo

import pubmatch as pm
from pubmatch.cli import main
from pubmatch.cli.app import make_app
from pubmatch.cli.output import CommandError, writable_file

SGR_COLOUR = re.compile(r"\x1b\[(?:[\d;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[\d;]*)?m")
COMMANDS = commands_of(make_app())


def options(name: str) -> dict[str, tuple[Any, Any]]:
    """The options of a command: their names as typed, each with its type and what Typer was told."""
    hints = typing.get_type_hints(COMMANDS[name].callback, include_extras=True)
    found = {}
    for argument, hint in hints.items():
        declared = [told for told in getattr(hint, "__metadata__", ()) if isinstance(told, OptionInfo)]
        if declared:
            named = declared[0].default  # within Annotated the first word is a name, not a default
            name_typed = named if isinstance(named, str) else f"--{argument.replace('_', '-')}"
            found[name_typed] = (hint.__origin__, declared[0])
    return found


def help_of(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main([*name.split(), "--help"]) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def examples_of(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    _, _, examples = help_of(name, capsys).partition("\n  Examples:\n")
    return [line.strip() for line in examples.splitlines() if line.strip()]


def on_a_terminal(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run the command with a terminal for stdout and stderr; return its exit code and what was shown."""
    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    search_path = os.pathsep.join(filter(None, sys.path))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "pubmatch", *arguments],
        env={**inherited, "TERM": "xterm-256color", "PYTHONPATH": search_path, **environment},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while part := os.read(ours, 4096):
            shown += part
    except OSError:  # Linux's way to say that the other side has closed the terminal
        pass
    finally:
        os.close(ours)
    return process.wait(timeout=60), shown.decode()


def test_the_designed_commands_are_there() -> None:
    designed = "match generate report index:build,info,check reproduce:batch,clustering "
    designed += "bench:match,sjf,tuner,updates,threads,memory,spark"
    for word in designed.split():
        group, _, names = word.partition(":")
        for name in names.split(","):
            assert f"{group} {name}".strip() in COMMANDS


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_json_and_documented_options(name: str) -> None:
    found = options(name)
    assert found["--json"][1].metavar == "FILE"
    assert found["--json"][1].callback is writable_file, "refused before the work, not after it"
    for option, (kind, told) in found.items():
        assert re.fullmatch(r"--[a-z]+(-[a-z]+)*", option)
        assert told.help, option
        assert told.help.endswith("."), f"{option}: {told.help}"
        if Path in (kind, *typing.get_args(kind)):
            assert told.metavar in ("FILE", "DIR", "PATH"), option


def test_an_option_means_the_same_everywhere() -> None:
    kinds: dict[str, set[Any]] = defaultdict(set)
    for name in COMMANDS:
        for option, (kind, _) in options(name).items():
            kinds[option] |= set(typing.get_args(kind) or [kind]) - {type(None)}
    # What `match` reads from files `generate` makes: there the two are numbers.
    del kinds["--subscriptions"], kinds["--events"]
    assert {option: found for option, found in kinds.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_says_what_it_does_and_shows_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(name, capsys)
    assert text.startswith(f"Usage: pubmatch {name} [OPTIONS]")
    assert "\x1b" not in text
    assert "-----" not in text
    examples = examples_of(name, capsys)
    assert examples
    for example in examples:
        assert example.startswith(f"pubmatch {name} ") or example == f"pubmatch {name}"


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_are_understood(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    examples = examples_of(name, capsys)
    monkeypatch.chdir(tmp_path)
    for example in examples:
        assert understood(example) == name, capsys.readouterr().err


@pytest.mark.parametrize("name", COMMANDS)
def test_wrong_usage_is_exit_code_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*name.split(), "--nonsense"]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"Usage: pubmatch {name}")
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_json_file_that_cannot_be_written_is_bad_input(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    example = examples_of(name, capsys)[0]
    # The last of two --json counts; it is refused before any work and before other files are looked at.
    assert main([*shlex.split(example)[1:], "--json", str(tmp_path / "none" / "x.json")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"pubmatch: .*there is no directory .*\n", printed.err)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        "index build boxes.npz --out boxes.npz",
        "publish --subscriptions boxes.csv --out versions --refused boxes.csv",
        "publish --subscriptions boxes.csv --out versions --json link.csv",
        "publish --subscriptions s.csv --out versions --events boxes.csv --refused boxes.csv",
        "publish --subscriptions s.csv --out versions --schema boxes.csv --json boxes.csv",
        "publish --subscriptions s.csv --out versions --refused r.csv --json r.csv",
        "index build boxes.npz --out new.pubmatch --json boxes.npz",
        "index build boxes.npz --out new.pubmatch --json new.pubmatch",
        "index build boxes.csv --out link.csv",
        "index info boxes.pubmatch --json boxes.pubmatch",
        "index check boxes.pubmatch --json ./boxes.pubmatch",
        "index check matcher.pubmatch --json matcher.pubmatch",
        "generate W3 --out w.npz --json w.npz",
        "generate W3 --out . --json W3.npz",
        "generate flights --out f.csv --json f.csv",
        "generate flights --out f.csv --json f-subscriptions.csv",
        "report --out page.html --json page.html",
        "reproduce overlay --out . --map map.html --json map.html",
        "reproduce overlay --out . --map overlay.json",
        "reproduce overlay --out . --json overlay.json",
    ],
)
def test_no_file_is_written_over(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("boxes.npz", lower=np.zeros((1, 2)), upper=np.ones((1, 2)))
    Path("boxes.csv").write_text("x_min,x_max\n1,2\n")
    os.symlink("boxes.csv", "link.csv")
    pm.Index(dims=2).save("boxes.pubmatch")
    pm.Matcher(pm.Schema(x=pm.Number())).save("matcher.pubmatch")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert main(words.split()) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert re.fullmatch(r"pubmatch: .*: is named twice; the file would be written over\n", printed.err)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_publish_looks_at_a_suffix_before_it_publishes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("alerts.csv").write_text("key,filter\n1,x > 0\n")
    Path("events.csv").write_text("x\n1\n")
    words = "publish --subscriptions alerts.csv --events events.csv --out versions --refused refused.xlsx"
    assert main(words.split()) == 2
    printed = capsys.readouterr()
    assert re.fullmatch(r"pubmatch: refused\.xlsx: .*\n", printed.err)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alerts.csv", "events.csv"]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"pubmatch {pm.__version__}\n"


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("pubmatch repr", ["reproduce"]),
        ("pubmatch index ch", ["check"]),
        ("pubmatch bench match --qu", ["--quick"]),
    ],
)
def test_completion(typed: str, completed: list[str], run_python: Any) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    script = "import sys; from pubmatch.cli import main; sys.exit(main([]))"
    done = run_python(script, _PUBMATCH_COMPLETE="complete_bash", **words)
    assert done.stdout.split() == completed


def test_completion_can_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--show-completion", "bash"]) == 0
    assert "_PUBMATCH_COMPLETE=complete_bash" in capsys.readouterr().out


def test_a_progress_bar_on_a_terminal_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    work = ["generate", "W3", "--scale", "0.01", "--out", str(tmp_path / "W3.npz")]
    code, shown = on_a_terminal(*work)
    assert code == 0
    assert "━" in shown
    assert SGR_COLOUR.search(shown)
    assert main(work) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    assert "\x1b" not in printed.out


def test_no_color_is_honoured(tmp_path: Path) -> None:
    file = str(tmp_path / "W3.npz")
    for work in (
        ["generate", "W3", "--scale", "0.01", "--out", file],
        ["index", "info", "nothing"],
        ["--help"],
    ):
        code, shown = on_a_terminal(*work, NO_COLOR="1")
        assert code == (2 if "nothing" in work else 0)
        assert not SGR_COLOUR.search(shown)


def test_a_device_needs_no_writable_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path != Path("/dev"))
    assert writable_file(Path("/dev/null")) == Path("/dev/null")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(CommandError, match="/dev/null: is not writable"):
        writable_file(Path("/dev/null"))


def test_a_link_is_judged_by_where_it_leads(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "none" / "file")
    with pytest.raises(CommandError, match=r"link: there is no directory .*none"):
        writable_file(link)
    (tmp_path / "none").mkdir()
    assert writable_file(link) == link


def test_a_file_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: path != file)  # as for whoever is not root
    with pytest.raises(CommandError, match="file: is not writable"):
        writable_file(file)

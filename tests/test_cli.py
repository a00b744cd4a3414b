"""The command line: exit codes, one-line errors, JSON files, index files and generated workloads."""

from __future__ import annotations

import contextlib
import importlib.metadata
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import typer

import pubmatch as pm
from pubmatch.cli import app, main, output
from pubmatch.whole_files import whole_file


@pytest.fixture
def cli(capsys):
    """Run a command and return (exit code, stdout, stderr)."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run


@pytest.fixture
def index_file(tmp_path):
    path = tmp_path / "boxes.pubmatch"
    rng = np.random.default_rng(1)
    lower = rng.random((500, 3))
    pm.Index.build(lower, lower + 0.1).save(path)
    return path


def is_one_line(text, *words):
    return text.startswith("pubmatch: ") and text.count("\n") == 1 and all(word in text for word in words)


# The frame


def test_help_lists_the_commands(cli):
    code, out, err = cli("--help")
    assert (code, err) == (0, "")
    for command in ("bench", "generate", "index"):
        assert command in out


def test_no_command_shows_the_usage(cli):
    code, out, err = cli()
    assert code == 2
    assert "Usage: pubmatch" in out + err


@pytest.mark.parametrize("arguments", [["nonsense"], ["index", "info"], ["bench", "match", "--what"]])
def test_wrong_usage_shows_the_usage(cli, arguments):
    code, out, err = cli(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("Usage: pubmatch")
    assert "Traceback" not in err


def test_a_new_command_needs_one_file(monkeypatch, tmp_path, cli):
    (tmp_path / "greet.py").write_text(
        "def register(app):\n"
        "    @app.command()\n"
        "    def greet(name: str):\n"
        "        'Greet.'\n"
        "        print('hello', name)\n"
    )
    monkeypatch.setattr(app.commands, "__path__", [*app.commands.__path__, str(tmp_path)])
    assert cli("greet", "world") == (0, "hello world\n", "")
    monkeypatch.delitem(sys.modules, "pubmatch.cli.commands.greet")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (output.CommandError("no good"), 2, "pubmatch: no good\n"),
        (output.CommandError("check failed", exit_code=1), 1, "pubmatch: check failed\n"),
        (pm.FormatError("two\nlines"), 2, "pubmatch: two lines\n"),
        (pm.ArgumentError("bad value"), 2, "pubmatch: bad value\n"),
        (pm.CorruptIndexError("a lie"), 1, "pubmatch: a lie\n"),
        (
            PermissionError(13, "Permission denied", "some/file"),
            2,
            "pubmatch: some/file: Permission denied\n",
        ),
        (OSError("no number"), 2, "pubmatch: no number\n"),
        (MemoryError(), 2, "pubmatch: not enough memory\n"),
        (MemoryError("8 TiB"), 2, "pubmatch: not enough memory: 8 TiB\n"),
        (SystemExit(3), 3, ""),
        (SystemExit(), 0, ""),
    ],
)
def test_errors_become_one_line_and_a_code(monkeypatch, cli, error, code, line):
    made = typer.Typer()

    @made.command()
    def fail():
        raise error

    monkeypatch.setattr(app, "make_app", lambda: made)
    assert cli() == (code, "", line)


def test_a_defect_is_not_hidden(monkeypatch):
    made = typer.Typer(pretty_exceptions_enable=False)

    @made.command()
    def fail():
        raise ZeroDivisionError

    monkeypatch.setattr(app, "make_app", lambda: made)
    with pytest.raises(ZeroDivisionError):
        main([])


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_without_the_extra_it_names_the_extra(run_python, missing):
    script = f"import sys; sys.modules[{missing!r}] = None; from pubmatch.cli import main; sys.exit(main([]))"
    done = run_python(script)
    assert (done.returncode, done.stdout) == (2, "")
    assert is_one_line(done.stderr, missing, "pubmatch[cli]")


def test_the_light_entry_imports_neither_typer_nor_rich(run_python):
    script = "import sys, pubmatch.cli; sys.exit(bool({'typer', 'rich'} & set(sys.modules)))"
    assert run_python(script).returncode == 0


def test_module_and_script_are_the_same(index_file):
    search_path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-m", "pubmatch", "index", "check", str(index_file)],
        env={**os.environ, "PYTHONPATH": search_path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{index_file}: ok\n", "")
    scripts = importlib.metadata.entry_points(group="console_scripts", name="pubmatch")
    assert {script.value for script in scripts} == {"pubmatch.cli:main"}


# --json


def test_json_file_must_be_writable(cli, index_file, tmp_path):
    code, out, err = cli("index", "info", index_file, "--json", tmp_path / "none" / "x.json")
    assert (code, out) == (2, "")
    assert is_one_line(err, "there is no directory")
    code, out, err = cli("index", "info", index_file, "--json", tmp_path)
    assert (code, out) == (2, "")
    assert is_one_line(err, "is a directory")


def test_json_replaces_the_file_whole(cli, index_file, tmp_path):
    file = tmp_path / "info.json"
    file.write_text("old")
    assert cli("index", "info", index_file, "--json", file)[0] == 0
    assert json.loads(file.read_text())["size"] == 500
    assert sorted(path.name for path in tmp_path.iterdir()) == ["boxes.pubmatch", "info.json"]


def test_a_failed_write_leaves_nothing(tmp_path):
    target = tmp_path / "x.json"
    target.write_text("old")
    with contextlib.suppress(KeyboardInterrupt), whole_file(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_new_files_follow_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        with whole_file(tmp_path / "x") as file:
            file.write(b"1")
        assert (tmp_path / "x").stat().st_mode & 0o777 == 0o640
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_brackets_are_no_markup(capsys):
    from rich.table import Table

    table = Table("[bold]", title="a [/b]")
    table.add_row("x[red]y", "[/]")
    output.finish({}, None, "[/none] of [dim]", table)
    printed = capsys.readouterr().out
    for text in ("[/none] of [dim]", "[bold]", "a [/b]", "x[red]y", "[/]"):
        assert text in printed


def test_brackets_in_what_is_being_done(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with output.progress("match") as notify:
        notify("[/b] of [red]", 0.5)
    assert "match: [/b] of [red]" in capsys.readouterr().err


def test_output_to_a_pipe_has_no_colours(cli, index_file):
    _, out, _ = cli("index", "info", index_file)
    assert "\x1b" not in out


# index


def test_info(cli, index_file, tmp_path):
    file = tmp_path / "info.json"
    code, out, err = cli("index", "info", index_file, "--json", file)
    assert (code, err) == (0, "")
    index = pm.Index.load(index_file)
    info = json.loads(file.read_text())
    assert info["dims"] == 3
    assert info["size"] == 500
    assert info["dtype"] == "float64"
    assert info["height"] == index.height
    assert info["nbytes"] == index.nbytes
    assert info["params"] == index.params.dict()
    assert info["stats"] == index.stats()
    assert "500" in out
    assert "float64" in out


@pytest.mark.parametrize("command", ["info", "check"])
def test_a_file_that_is_not_there(cli, tmp_path, command):
    code, out, err = cli("index", command, tmp_path / "none.pubmatch")
    assert (code, out) == (2, "")
    assert is_one_line(err, "none.pubmatch", "No such file")


def test_check_of_a_sound_file(cli, index_file, tmp_path):
    file = tmp_path / "check.json"
    assert cli("index", "check", index_file, "--json", file) == (0, f"{index_file}: ok\n", "")
    assert json.loads(file.read_text()) == {
        "name": "index check",
        "file": str(index_file),
        "ok": True,
        "problem": None,
    }


@pytest.mark.parametrize("damage", ["flipped", "truncated", "cut in its first word"])
def test_check_of_a_damaged_file(cli, index_file, tmp_path, damage):
    data = bytearray(index_file.read_bytes())
    data[len(data) // 2] ^= 0x40
    contents = {"flipped": data, "truncated": data[: len(data) // 2], "cut in its first word": data[:5]}
    index_file.write_bytes(contents[damage])
    file = tmp_path / "check.json"
    code, out, err = cli("index", "check", index_file, "--json", file)
    assert (code, out) == (1, "")
    assert is_one_line(err)
    assert err.count(index_file.name) == 1
    result = json.loads(file.read_text())
    assert result["ok"] is False
    assert result["problem"]
    assert index_file.name not in result["problem"]
    assert cli("index", "info", index_file)[0] == 2


@pytest.mark.parametrize("content", [b"x_min,x_max\n1,2\n", b"", b"\x89PMMATCH"])
def test_check_of_a_file_of_something_else(cli, tmp_path, content):
    file = tmp_path / "boxes.csv"
    file.write_bytes(content)
    code, out, err = cli("index", "check", file, "--json", tmp_path / "check.json")
    assert (code, out) == (2, "")
    assert is_one_line(err, "not a pubmatch index file")
    assert err.count("boxes.csv") == 1
    assert list(tmp_path.iterdir()) == [file]


def test_build_from_arrays(cli, tmp_path):
    lower = np.array([[0.0, 0.0], [1.0, 1.0]], dtype=np.float32)
    np.savez(tmp_path / "boxes.npz", lower=lower, upper=lower + 2, ids=[7, 5])
    code, _, err = cli("index", "build", tmp_path / "boxes.npz", "--out", tmp_path / "new.pubmatch")
    assert (code, err) == (0, "")
    index = pm.Index.load(tmp_path / "new.pubmatch")
    assert index.dtype == np.float32
    assert index.match([1.5, 1.5], sort=True)[0].tolist() == [5, 7]


def save_text(path):
    path.write_text("lower,upper\n")


def save_one_array(path):
    with path.open("wb") as file:
        np.save(file, np.zeros(3))


def save_without_upper(path):
    np.savez(path, lower=np.zeros((1, 2)))


def save_objects(path):
    np.savez(path, lower=np.array([{}]), upper=np.array([{}]))


def save_crossed_bounds(path):
    np.savez(path, lower=np.ones((1, 2)), upper=np.zeros((1, 2)))


def save_ids_twice(path):
    np.savez(path, lower=np.zeros((2, 2)), upper=np.ones((2, 2)), ids=[7, 7])


def save_numbers(path):
    np.savez(path, lower=0.0, upper=1.0)


def save_damaged(path):
    rows = np.random.default_rng(0).random((500, 2))
    np.savez_compressed(path, lower=rows, upper=rows)
    data = bytearray(path.read_bytes())
    data[2000] ^= 0xFF
    path.write_bytes(data)


def save_marked(path, flag_bits=0, method=0):
    """Boxes in an .npz file whose members are marked as encrypted, or as compressed in some other way."""
    np.savez(path, lower=np.zeros((1, 2)), upper=np.ones((1, 2)))
    data = bytearray(path.read_bytes())
    for magic, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):  # the members' headers, the directory's
        place = data.find(magic)
        while place >= 0:
            data[place + flags] |= flag_bits
            data[place + flags + 2] |= method
            place = data.find(magic, place + 1)
    path.write_bytes(data)


def save_encrypted(path):
    save_marked(path, flag_bits=1)


def save_with_an_unknown_compression(path):
    save_marked(path, method=99)


@pytest.mark.parametrize(
    ("save", "words"),
    [
        (save_text, ".npz"),
        (save_one_array, "one array"),
        (save_without_upper, "no array upper"),
        (save_objects, ".npz"),
        (save_crossed_bounds, "row 0"),
        (save_ids_twice, "duplicate id 7"),
        (save_numbers, "shape ()"),
        (save_damaged, ".npz file"),
        (save_encrypted, ".npz file"),
        (save_with_an_unknown_compression, ".npz file"),
    ],
)
def test_build_from_bad_input(cli, tmp_path, save, words):
    source, target = tmp_path / "bad.npz", tmp_path / "new.pubmatch"
    save(source)
    code, out, err = cli("index", "build", source, "--out", target)
    assert (code, out) == (2, "")
    assert is_one_line(err, words)
    assert err.startswith(f"pubmatch: {source}: ")
    assert not target.exists()


# generate


def test_generate(cli, tmp_path):
    file, record = tmp_path / "w.npz", tmp_path / "w.json"
    arguments = ("--scale", "0.001", "--events", "10", "--seed", "3", "--event-seed", "4", "--json", record)
    code, out, err = cli("generate", "w2", "--out", file, *arguments)
    assert (code, err) == (0, "")
    assert "1000 subscriptions" in out
    from pubmatch_bench.workloads import make

    expected = make("W2", 0.001, seed=3)
    with np.load(file) as arrays:
        assert np.array_equal(arrays["lower"], expected.lower)
        assert np.array_equal(arrays["upper"], expected.upper)
        assert np.array_equal(arrays["events"], expected.events(10, seed=4))
    assert json.loads(record.read_text())["subscriptions"] == 1000


def test_generate_into_a_directory(cli, tmp_path):
    assert cli("generate", "W3", "--out", tmp_path, "--scale", "0.001")[0] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["W3.npz"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["W8", "--out", "x.npz"], "unknown workload 'W8'"),
        (["W3", "--out", "x.npz", "--scale", "0"], "scale must be positive"),
        (["W3", "--out", "x.npz", "--scale", "nan"], "scale must be positive"),
        (["W3", "--out", "x.npz", "--scale", "1e300"], "scale must be at most"),
        (["W3", "--out", "x.npz", "--scale", "0.001", "--events", str(10**30)], "events must be from 0 to"),
        (["W3", "--out", "x.csv"], ".npz"),
        (["W3", "--out", "none/x.npz"], "no directory"),
    ],
)
def test_generate_from_bad_input(cli, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    code, out, err = cli("generate", *arguments)
    assert (code, out) == (2, "")
    assert is_one_line(err, words)
    assert not list(tmp_path.iterdir())


# bench


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["match", "--workloads", "W1,W9"], "unknown workload 'W9'"),
        (["match", "--workloads", ","], "no workload named"),
        (["match", "--peers", "rtree,oracle"], "unknown peer 'oracle'"),
        (["match", "--rounds", "0"], "rounds must be at least 1"),
        (["match", "--batch", "0"], "batch must be at least 1"),
        (["updates", "--scale", "-1"], "scale must be positive"),
        (["memory", "--scale", "inf"], "scale must be positive"),
        (["match", "--scale", "1e300", "--peers", "none"], "scale must be at most"),
        (["match", "--batch", str(10**30), "--peers", "none"], "batch must be at most"),
        (["match", "--rounds", str(10**30), "--peers", "none"], "rounds must be at most"),
    ],
)
def test_bench_with_bad_options(cli, arguments, words):
    code, out, err = cli("bench", *arguments)
    assert (code, out) == (2, "")
    assert is_one_line(err, words)


def test_a_device_or_pipe_is_written_to_and_not_replaced(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        with whole_file(pipe) as file:
            file.write(b"told")
        assert os.read(reader, 10) == b"told"
    finally:
        os.close(reader)
    assert pipe.is_fifo()

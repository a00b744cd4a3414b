"""Files that appear whole or not at all: links, modes, devices, and what is left when a write fails."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pubmatch import whole_files
from pubmatch.errors import ArgumentTypeError, FileAccessError, MissingFileError
from pubmatch.mobility.trace import Move, Trace, TraceError
from pubmatch.whole_files import replace_file, whole_file

if TYPE_CHECKING:
    from collections.abc import Callable


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    link = tmp_path / "link"
    link.symlink_to(Path("below") / "file")
    for content in (b"new", b"again"):
        replace_file(link, content)
        assert link.is_symlink()
        assert (tmp_path / "below" / "file").read_bytes() == content
    assert len(list(tmp_path.rglob("*"))) == 3


def test_modes(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept", tmp_path / "new"
    kept.touch()
    kept.chmod(0o604)
    before = os.umask(0o027)
    try:
        replace_file(kept, b"1")
        replace_file(new, b"1")
    finally:
        assert os.umask(before) == 0o027
    assert (mode(kept), mode(new)) == (0o604, 0o640)


def test_the_mask_is_never_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[int] = []

    def umask(mask: int) -> int:
        set_to.append(mask)
        return 0o022

    monkeypatch.setattr(os, "umask", umask)
    replace_file(tmp_path / "told", b"1")
    assert set_to == []

    def unreadable(self: Path, **options: Any) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", unreadable)
    replace_file(tmp_path / "asked", b"1")
    assert set_to == [0o077, 0o022]
    assert mode(tmp_path / "asked") == 0o644


def test_a_file_that_may_not_be_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda path, wanted: False)  # as for whoever is not root
    with pytest.raises(FileAccessError, match="Permission denied"):
        replace_file(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["none/file", ".", "file/below"])
def test_places_where_no_file_can_be(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(FileAccessError) as refused:
        replace_file(tmp_path / name, b"new")
    assert refused.value.filename == str(tmp_path / name)
    assert isinstance(refused.value, MissingFileError) == name.startswith("none")
    assert (tmp_path / "file").read_bytes() == b"old"


@pytest.mark.parametrize("step", ["fchmod", "fsync", "replace"])
def test_a_write_that_fails_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def fail(*given: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, step, fail)
    with pytest.raises(FileAccessError, match="No space left") as failed:
        replace_file(file, b"new")
    assert failed.value.filename == str(file)
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_what_the_block_raises_passes(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="elsewhere") as failed, whole_file(tmp_path / "file"):
        raise FileNotFoundError(2, "No such file", "elsewhere")
    assert not isinstance(failed.value, FileAccessError)
    assert list(tmp_path.iterdir()) == []


def test_the_directory_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bool] = []
    sync: Callable[[int], None] = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(stat.S_ISDIR(os.fstat(descriptor).st_mode))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    replace_file(tmp_path / "file", b"1")
    assert synced == [False, True]


def test_the_output_of_the_shell_is_added_to(tmp_path: Path, run_python: Any) -> None:
    """Also where a link leads to it, and where it is a regular file: what was there before stays."""
    link = tmp_path / "link"
    link.symlink_to("/dev/stdout")
    script = (
        "import os, sys\n"
        "from pubmatch.whole_files import replace_file\n"
        "output = os.open(sys.argv[2], os.O_WRONLY)\n"
        "os.dup2(output, 1)\n"
        "os.write(1, b'one ')\n"
        "replace_file('/dev/stdout', b'two ')\n"
        "replace_file(sys.argv[1], b'three ')\n"
        "os.write(1, b'four')\n"
    )
    out = tmp_path / "out"
    out.write_bytes(b"....")
    number = out.stat().st_ino
    done = run_python(script, link, out)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() == b"one two three four"
    assert out.stat().st_ino == number
    assert link.is_symlink()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
def test_a_full_device() -> None:
    for size in (1, 1 << 20):
        with pytest.raises(FileAccessError, match="No space left") as failed:
            replace_file("/dev/full", bytes(size))
        assert failed.value.filename == "/dev/full"
        with pytest.raises(FileAccessError, match="No space left"), whole_file("/dev/full") as file:
            file.write(b"1")


def test_a_file_that_grows_too_large_leaves_nothing(tmp_path: Path, run_python: Any) -> None:
    script = (
        "import resource, signal, sys\n"
        "from pubmatch.errors import FileAccessError\n"
        "from pubmatch.whole_files import replace_file\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "for size in (101, 1 << 20):\n"
        "    try:\n"
        "        replace_file(sys.argv[1], bytes(size))\n"
        "    except FileAccessError as error:\n"
        "        print(error.filename == sys.argv[1])\n"
    )
    done = run_python(script, tmp_path / "file")
    assert (done.returncode, done.stdout) == (0, "True\nTrue\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_link_to_an_open_pipe(tmp_path: Path) -> None:
    read, sink = os.pipe()
    link = tmp_path / "link"
    link.symlink_to(f"/dev/fd/{sink}")
    replace_file(link, b"told")
    os.close(sink)  # it was open still
    with open(read, "rb") as told:
        assert told.read() == b"told"


def test_other_devices(tmp_path: Path) -> None:
    replace_file("/dev/null", b"1")
    assert not Path("/dev/null").is_file()
    with pytest.raises(MissingFileError):
        replace_file("/dev/no-such-device", b"1")
    assert whole_files._by_way_of_the_system("/dev/shm/file") is None
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(FileAccessError, match="symbolic links"):
        replace_file(tmp_path / "a", b"1")


def test_a_trace_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    Trace([Move(0.0, "taxi", "21")]).write(file)
    before = file.read_bytes()
    bad = Trace([Move(0.0, "taxi", "21"), Move(1.0, "bus\ud800", "21")])
    with pytest.raises(TraceError, match=r"trace\.csv, line 3: UTF-8 cannot hold '\\ud800'"):
        bad.write(file)
    assert file.read_bytes() == before
    with pytest.raises(ArgumentTypeError, match="path must be a path, got int"):
        bad.write(5)  # type: ignore[arg-type]

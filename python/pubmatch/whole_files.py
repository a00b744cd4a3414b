"""Files that appear whole or not at all: written under another name, synced, then renamed.

A symbolic link stays one, for the file it leads to is replaced. That file keeps its mode, and a new one gets
what the umask leaves. What is no regular file, and whatever is named by way of /dev or /proc, is written to
as it is: a rename would put a file in place of the device, or of the output that the shell has opened.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path
from typing import IO, TYPE_CHECKING

from pubmatch.arrays import checked_path
from pubmatch.errors import file_access_error

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["replace_file", "whole_file"]

_SYSTEM = ("/dev/", "/proc/")
_OPEN = "/proc/"
_MEMORY = "/dev/shm/"  # a directory of ordinary files
_MOST_LINKS = 40
_NOT_SYNCED = (errno.EINVAL, errno.ENOTSUP)  # what systems say that know no sync of directories


def replace_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Make `data` the content of a file, or leave everything as it was.

    Raises
    ------
    FileAccessError
        The operating system refuses to write the file.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "one.txt"
    ...     replace_file(file, b"one")
    ...     file.read_bytes()
    b'one'
    """
    name = checked_path(path)
    with whole_file(name) as file, _naming(name):
        file.write(data)
        file.flush()


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a temporary file that takes the name `path` if the block ends well, and vanishes if not.

    Raises
    ------
    FileAccessError
        The operating system refuses to write the file; what the block itself raises passes unchanged.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "one.txt"
    ...     with whole_file(file) as written:
    ...         _ = written.write(b"one")
    ...         file.exists()
    ...     file.read_bytes()
    False
    b'one'
    """
    name = checked_path(path)
    with _naming(name):
        device = _opened_device(name)
    if device is not None:
        with _closed(device, name):
            yield device
        return
    target = os.path.realpath(name)
    with _naming(name):
        mode = _mode(target)
        descriptor, partial = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".", suffix=".tmp")
    try:
        with _closed(open(descriptor, "wb"), name) as file:
            yield file
            with _naming(name):
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
        with _naming(name):
            os.replace(partial, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
    with _naming(name):
        _sync_directory(os.path.dirname(target))


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise file_access_error(error, name) from None


@contextlib.contextmanager
def _closed(file: IO[bytes], name: str) -> Iterator[IO[bytes]]:
    try:
        yield file
    except BaseException:
        with contextlib.suppress(OSError):  # closing tries once more to write what could not be written
            file.close()
        raise
    with _naming(name):
        file.close()


def _opened_device(name: str) -> IO[bytes] | None:
    """What has to be written to as it is, opened; None for a regular file, or one that is not there."""
    place = _by_way_of_the_system(name)
    if place is not None:
        folder, number = os.path.split(place)
        if folder == f"/proc/{os.getpid()}/fd" and number.isdecimal():
            # The same open file, so that what else is written there follows instead of overwriting.
            return open(os.dup(int(number)), "wb")
    elif not os.path.exists(name) or os.path.isfile(name):
        return None
    # A directory refuses this, and nothing is made or emptied.
    return open(os.open(place or name, os.O_WRONLY | os.O_CLOEXEC), "wb")


def _by_way_of_the_system(name: str) -> str | None:
    """The last place under /dev or /proc on the way along symbolic links; None if the way has none."""
    place, found = os.path.abspath(name), None
    for _ in range(_MOST_LINKS):
        place = os.path.join(os.path.realpath(os.path.dirname(place)), os.path.basename(place))
        if place.startswith(_SYSTEM) and not place.startswith(_MEMORY):
            found = place
        if place.startswith(_OPEN) or not os.path.islink(place):
            break  # the links of open files may lead to no path
        place = os.path.join(os.path.dirname(place), os.readlink(place))
    return found


def _mode(target: str) -> int:
    """The mode of the file that is there, if it may be written, or that of a new one."""
    try:
        mode = stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        return 0o666 & ~_umask()
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return mode


def _umask() -> int:
    """The process's mask for the modes of new files."""
    with contextlib.suppress(OSError, ValueError):
        for line in Path("/proc/self/status").read_text(encoding="latin-1").splitlines():
            if line.startswith("Umask:"):
                return int(line.removeprefix("Umask:"), 8)
    # Elsewhere it can only be read by setting it; what other threads make meanwhile is private, not public.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_directory(directory: str) -> None:
    """Make the new name last; a directory that cannot be opened or synced is left to the system."""
    with contextlib.suppress(PermissionError):
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in _NOT_SYNCED:
                raise
        finally:
            os.close(descriptor)

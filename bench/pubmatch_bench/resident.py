"""The process's resident memory, as the kernel counts it."""

from __future__ import annotations

import ctypes
import gc
import os
from pathlib import Path


def resident_bytes() -> int | None:
    """Return the resident set size after giving free memory back; None where the kernel does not tell.

    Without the giving back, memory freed by one step would hide the growth of the next.
    """
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def reset_peak() -> bool:
    """Forget the highest resident size so far; tell whether that was possible."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return False
    return True


def peak_bytes() -> int | None:
    """Return the highest resident size since `reset_peak`."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return None
    lines = (line.split() for line in status.splitlines())
    return next((int(fields[1]) * 1024 for fields in lines if fields and fields[0] == "VmHWM:"), None)


def growth(before: int | None, after: int | None) -> int | None:
    """Return the difference of two sizes if both are known."""
    return None if before is None or after is None else after - before

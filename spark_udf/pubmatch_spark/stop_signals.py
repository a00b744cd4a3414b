"""SIGINT and SIGTERM as a request to stop, instead of an end in the middle of something."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

__all__ = ["stop_signals"]

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that is set when the process is asked to end; outside the main thread it never is.

    Examples
    --------
    >>> import os
    >>> for number in (signal.SIGINT, signal.SIGTERM):
    ...     with stop_signals() as stop:
    ...         os.kill(os.getpid(), number)
    ...         print(stop.wait(5))
    True
    True
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return

    def note(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {one: signal.signal(one, note) for one in _SIGNALS}
    try:
        yield stop
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)

"""Ending the process on a signal: with one line, the usual exit code, and no temporary files left.

A signal raises `Ended`, so that all context managers clean up. There are places in which an exception must not be
raised: inside an import, because compiled modules print a traceback and go on, and while files get their names or
are removed. There the signal waits.
"""

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

NO_MEMORY = "use a table with fewer rows or columns, or a computer with more memory"

_TEXTS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
_UNINTERRUPTED = {"_frozen_importlib", "importlib._bootstrap", "levelhead._files"}
_RETRY = 0.02  # seconds until a deferred signal is handled again
_CLEANING = 10.0  # seconds in which further signals are ignored, so that cleaning up can finish


class Ended(SystemExit):
    """Raised when a signal ends the process."""

    def __init__(self, number: int = signal.SIGINT, outcome: str = "no unfinished file is left") -> None:
        super().__init__(128 + number)
        self.number, self.outcome = number, outcome

    def __str__(self) -> str:
        return f"{_TEXTS[signal.Signals(self.number).name]}; {self.outcome}"


@contextmanager
def outcome(text: str) -> Iterator[None]:
    """Set the message that is shown if a signal ends the work inside."""
    try:
        yield
    except KeyboardInterrupt:
        raise Ended(outcome=text) from None
    except Ended as end:
        end.outcome = text
        raise


@contextmanager
def by_signals() -> Iterator[None]:
    """Handle signals while the program runs inside; afterwards they are ignored."""
    handler = _Handler()
    numbers = [getattr(signal, name) for name in ("SIGALRM", *_TEXTS) if hasattr(signal, name)]
    handled = [
        number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN
    ]  # as nohup wants
    sys.unraisablehook, threading.excepthook = handler.retry_unraisable, handler.other_thread
    for number in handled:
        signal.signal(number, handler)
    try:
        try:
            yield
        except BaseException as error:
            if not isinstance(error, Ended):
                handler.raise_pending(getattr(error, "code", None))
            raise
        handler.raise_pending()
    except Ended as end:
        with suppress(OSError):  # the terminal may be gone
            sys.stderr.write(f"levelhead: {end}\n")
        raise
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_IGN)


class _Handler:
    """Raises `Ended` for the first signal, as soon as that is safe."""

    def __init__(self) -> None:
        self._received: int | None = None
        self._ignored_until = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if number != getattr(signal, "SIGALRM", None):
            self._received = self._received or number
        if self._received is None or time.monotonic() < self._ignored_until:
            return
        if hasattr(signal, "setitimer") and _uninterrupted(frame):
            signal.setitimer(signal.ITIMER_REAL, _RETRY)
            return
        self._ignored_until = time.monotonic() + _CLEANING
        raise Ended(self._received)

    def raise_pending(self, code: Any = None) -> None:
        """Raise `Ended` if a signal is still deferred, or if other code caught the exception and went on.

        The exit code shows whether the signal had an effect.
        """
        if self._received is not None and code != 128 + self._received:
            raise Ended(self._received)

    def retry_unraisable(self, unraisable: Any) -> None:
        """Try again where Python would print a traceback and go on, say in a destructor."""
        if not isinstance(unraisable.exc_value, Ended):
            sys.__unraisablehook__(unraisable)
        elif hasattr(signal, "setitimer"):
            self._ignored_until = 0.0
            signal.setitimer(signal.ITIMER_REAL, _RETRY)

    def other_thread(self, failed: Any) -> None:
        """Threads of other libraries may fail while the process ends; these errors are not shown."""
        if not self._ignored_until:
            threading.__excepthook__(failed)


def _uninterrupted(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") in _UNINTERRUPTED:
            return True
        frame = frame.f_back
    return False

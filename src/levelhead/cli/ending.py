"""How the process ends when a signal asks it to: with a line, the usual exit code, and no temporary file.

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

_WORDS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "hung up"}
_UNDISTURBED = {"_frozen_importlib", "importlib._bootstrap", "levelhead._files"}
_SOON = 0.02  # seconds until a signal that had to wait is looked at again
_CLEANING = 10.0  # seconds in which further signals are ignored; later ones count, in case the first was lost


class Ended(SystemExit):
    """A signal has asked the process to end."""

    def __init__(self, number: int = signal.SIGINT, outcome: str = "no unfinished file is left") -> None:
        super().__init__(128 + number)
        self.number, self.outcome = number, outcome

    def __str__(self) -> str:
        return f"{_WORDS[signal.Signals(self.number).name]}; {self.outcome}"


@contextmanager
def outcome(text: str) -> Iterator[None]:
    """What the message says about the work inside, if a signal ends it."""
    try:
        yield
    except KeyboardInterrupt:
        raise Ended(outcome=text) from None
    except Ended as end:
        end.outcome = text
        raise


@contextmanager
def by_signals() -> Iterator[None]:
    """The whole of the program runs inside; afterwards signals are ignored, because all is done."""
    handler = _Handler()
    numbers = [getattr(signal, name) for name in ("SIGALRM", *_WORDS) if hasattr(signal, name)]
    heeded = [
        number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN
    ]  # as nohup wants
    sys.unraisablehook, threading.excepthook = handler.raised_in_vain, handler.other_thread
    for number in heeded:
        signal.signal(number, handler)
    try:
        try:
            yield
        finally:
            handler.settle()
    except Ended as end:
        with suppress(OSError):  # the terminal may be gone
            sys.stderr.write(f"levelhead: {end}\n")
        raise
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_IGN)


class _Handler:
    """Raises `Ended` for the first signal, as soon as that may be done."""

    def __init__(self) -> None:
        self._asked: int | None = None
        self._deaf_until = 0.0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if number != getattr(signal, "SIGALRM", None):
            self._asked = self._asked or number
        if self._asked is None or time.monotonic() < self._deaf_until:
            return
        if hasattr(signal, "setitimer") and _undisturbed(frame):
            signal.setitimer(signal.ITIMER_REAL, _SOON)
            return
        self._deaf_until = time.monotonic() + _CLEANING
        raise Ended(self._asked)

    def settle(self) -> None:
        """Raise `Ended` if a signal still waits."""
        if self._asked is not None and not self._deaf_until:
            raise Ended(self._asked)

    def raised_in_vain(self, unraisable: Any) -> None:
        """Try again where Python would print a traceback and go on, say in a destructor."""
        if not isinstance(unraisable.exc_value, Ended):
            sys.__unraisablehook__(unraisable)
        elif hasattr(signal, "setitimer"):
            self._deaf_until = 0.0
            signal.setitimer(signal.ITIMER_REAL, _SOON)

    def other_thread(self, failed: Any) -> None:
        """Threads of other libraries may fail when they are ended; that is no news then."""
        if not self._deaf_until:
            threading.__excepthook__(failed)


def _undisturbed(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_globals.get("__name__") in _UNDISTURBED:
            return True
        frame = frame.f_back
    return False

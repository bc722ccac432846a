"""Extraction in a child process, with limits on time, memory and the size of the reply.

A parser of a foreign format may hang, crash or grow without bound, and the process that holds a
repository open must not. The child (`worker.py`) is started for the first source that needs it and
serves all that follow; if it was stopped, another one is started. What talks to it is imported
then, since most documents need none. Exceeding a limit is an error and never gives a different
text, so limits cannot change the result for a source.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from dataclasses import field
from threading import Timer
from typing import TYPE_CHECKING

from ibidem.ingest.formats import Format
from ibidem.objects.constants import DOCUMENT_BYTES_MAX
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.record import record
from ibidem.store.closing import Closing

if TYPE_CHECKING:
    import subprocess

    from ibidem.ingest.extraction import Extraction

_START = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from ibidem.ingest.worker import main; main()"
)
_REPLY_BYTES_MAX = 4 * DOCUMENT_BYTES_MAX


@record
class Limits:
    """Limits for one source."""

    seconds: int = 60
    """CPU time in seconds; in elapsed time, a busy machine may take `patience` times as long."""
    memory_bytes: int = 1 << 30
    patience: int = 5


@record(frozen=False)
class Sandbox(Closing):
    """A child process that extracts text; it must be closed."""

    limits: Limits = field(default_factory=Limits)
    _child: subprocess.Popen[bytes] | None = None
    _is_late: bool = False

    def close(self) -> None:
        """Ends the child, if there is one."""
        child, self._child = self._child, None
        if child is not None:
            child.kill()
            child.communicate()

    def extract(self, source_format: Format, data: bytes) -> Extraction:
        """Returns the text that the format's extractor gives for `data`, with its marks.

        Raises:
            InvalidInputError: the source is not of the format, or exceeds a limit (kind
                `limit-exceeded`).
        """
        from ibidem.ingest.worker import decoded

        assert source_format.entry is not None, "BUG: a format that is not extracted"
        language = source_format.language
        request = {
            "entry": source_format.entry,
            "arguments": [] if language is None else [language],
            "size_bytes": len(data),
            "seconds": self.limits.seconds,
            "memory_bytes": self.limits.memory_bytes,
        }
        reply = self._ask(json.dumps(request).encode(), data)
        if reply is None:
            raise InvalidInputError(
                f"{source_format.name}: {self._ending()}", kind=ErrorKind.LIMIT_EXCEEDED
            )
        values = json.loads(reply)
        if "error" in values:
            kind = ErrorKind(values["kind"])
            if kind is ErrorKind.LIMIT_EXCEEDED:
                self.close()
            raise InvalidInputError(f"{source_format.name}: {values['error']}", kind=kind)
        return decoded(values)

    def _ask(self, header: bytes, data: bytes) -> bytes | None:
        """Returns the reply, None if the child ended without one."""
        from ibidem.ingest.worker import HEADER_BYTES

        child = self._child = self._child or _started()
        assert child.stdin is not None, "BUG: a child without input"
        assert child.stdout is not None, "BUG: a child without output"
        self._is_late = False
        timer = Timer(self.limits.seconds * self.limits.patience, self._stop, (child,))
        timer.start()
        try:
            with suppress(BrokenPipeError):
                child.stdin.write(len(header).to_bytes(HEADER_BYTES) + header)
                child.stdin.write(data)
                child.stdin.flush()
            size = int.from_bytes(child.stdout.read(HEADER_BYTES))
            reply = child.stdout.read(size) if 0 < size <= _REPLY_BYTES_MAX else b""
        finally:
            timer.cancel()
        return reply if reply and len(reply) == size else None

    def _stop(self, child: subprocess.Popen[bytes]) -> None:
        self._is_late = True
        child.kill()

    def _ending(self) -> str:
        """Returns how the child ended, and releases it."""
        child = self._child
        assert child is not None, "BUG: no child"
        self.close()
        if self._is_late:
            return f"took more than {self.limits.seconds * self.limits.patience} seconds"
        if child.returncode == -_CPU_SIGNAL:
            return f"took more than {self.limits.seconds} seconds of processor time"
        return f"its reader stopped (exit status {child.returncode})"


_CPU_SIGNAL = 24
"""SIGXCPU, on every system that has it."""


def _started() -> subprocess.Popen[bytes]:
    import subprocess

    return subprocess.Popen(  # noqa: S603  this Python, and names from this package
        [sys.executable, "-I", "-c", _START, json.dumps(sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )

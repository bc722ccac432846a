"""Work in a process of its own, under limits, told of as it goes on.

The child says what it begins, and what it found, in lines of JSON through a pipe. It is killed by
the kernel when one thing takes more than SECONDS_MAX of processor time, and by the parent when it
says nothing for WALL_SECONDS_MAX: that is waiting for something that does not come. Either way
Python writes where it was. Wall time counts for nothing else, so that a busy machine is no fault.
Memory is the most that was resident while one thing was done, above what there was when it began.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import re
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

SECONDS_MAX = 5.0
"""Of processor time, for one command."""
WALL_SECONDS_MAX = 120.0
"""Without a word; long, as other processes may want the machine."""
MEGABYTES_MAX = 500
"""Above what is resident when a command begins."""
HARD_MEGABYTES_MAX = 1200
"""Of data, beyond what there is at the beginning: more ends in MemoryError."""
ROOT = Path(__file__).resolve().parents[2]
Event = dict[str, Any]


class Child:
    """What the code in the child process says."""

    def __init__(self, pipe: int) -> None:
        self._pipe = pipe
        self._base = 0

    def say(self, event: str, /, **fields: Any) -> None:
        """Sends an event."""
        line = json.dumps({"event": event, **fields}).encode() + b"\n"
        while line:
            line = line[os.write(self._pipe, line) :]

    @contextlib.contextmanager
    def limited(self, what: str) -> Iterator[None]:
        """Does one thing under the limits; memory that it took too much of is a fault."""
        self.say("begin", what=what)
        _forget_peak()
        self._base = _resident("VmRSS")
        signal.setitimer(signal.ITIMER_PROF, SECONDS_MAX)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        taken = _resident("VmHWM") - self._base
        if taken > MEGABYTES_MAX:
            self.fault("memory", what, f"{taken} MB", "")

    def fault(self, kind: str, what: str, error: str, trace: str) -> None:
        """Says that something is wrong."""
        self.say("fault", kind=kind, what=what, error=error[:500], trace=trace[-6000:])


def run(work: Callable[[Child], None], *, seconds_max: float | None = None) -> Iterator[Event]:
    """Runs `work` in a child and yields what it says; its end by a limit is a fault too.

    Args:
        seconds_max: of wall time for all of it; then it is ended without a fault.
    """
    reader, writer = os.pipe()
    with tempfile.TemporaryFile("w+") as said:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if not pid:
            os.close(reader)
            _work(work, writer, said.fileno())
        os.close(writer)
        last, is_ended = "the beginning", False
        deadline = None if seconds_max is None else time.monotonic() + seconds_max
        try:
            for event in _events(reader, pid, deadline):
                if event["event"] == "begin":
                    last = event["what"]
                is_ended = event["event"] == "ended"
                yield event
        finally:
            os.close(reader)
            status = _reaped(pid)
        said.seek(0)
        text = said.read()
        is_late = deadline is not None and time.monotonic() > deadline
        if status and not is_ended and not is_late:
            yield _died(status, last, text)


def _work(work: Callable[[Child], None], writer: int, said: int) -> NoReturn:
    child = Child(writer)
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor, target in ((null, 0), (null, 1), (said, 2)):
            os.dup2(descriptor, target)
        faulthandler.enable(file=2)
        faulthandler.register(signal.SIGPROF, file=2, chain=True)
        data = _resident("VmData") + HARD_MEGABYTES_MAX << 20
        resource.setrlimit(resource.RLIMIT_DATA, (data, data))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        work(child)
        child.say("ended")
        os._exit(0)
    except BaseException as error:
        child.fault("harness", "the harness", repr(error), traceback.format_exc())
        os._exit(1)


def _events(reader: int, pid: int, deadline: float | None) -> Iterator[Event]:
    data, heard = b"", time.monotonic()
    while True:
        now = time.monotonic()
        if now - heard > WALL_SECONDS_MAX:
            os.kill(pid, signal.SIGABRT)
            heard = now
        if deadline is not None and now > deadline:
            os.kill(pid, signal.SIGKILL)
            return
        if not select.select([reader], [], [], 0.5)[0]:
            continue
        part = os.read(reader, 1 << 20)
        if not part:
            return
        heard = now
        *lines, data = (data + part).split(b"\n")
        yield from map(json.loads, lines)


def _reaped(pid: int) -> int:
    """Ends what the child has left running in its group, and returns its status."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def _died(status: int, what: str, text: str) -> Event:
    number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    kind = {signal.SIGPROF: "time", signal.SIGABRT: "hang"}.get(
        signal.Signals(number) if number else 0, "died"
    )  # type: ignore[call-overload]
    error = f"signal {number}" if number else f"status {os.WEXITSTATUS(status)}"
    return {"event": "fault", "kind": kind, "what": what, "error": error, "trace": text[-6000:]}


def _resident(name: str) -> int:
    """Returns a size of this process in MB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) >> 10
    return 0


def _forget_peak() -> None:
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def where(trace: str) -> str:
    """Returns the innermost place of the product in a traceback, as file:line function."""
    frames = re.findall(r'File "([^"]+)", line (\d+),? in (\S+)', trace)
    own = [frame for frame in frames if _is_own(frame[0])]
    if not own:
        return "nowhere"
    # Python writes the innermost frame last in a traceback; faulthandler, first.
    file, line, function = own[-1] if "most recent call last" in trace else own[0]
    return f"{_short(file)}:{line} {function}"


def _is_own(file: str) -> bool:
    path = _short(file)
    return not path.startswith(("/", "tests/", ".venv")) and not path.startswith("<")


def _short(file: str) -> str:
    path = os.path.realpath(file)
    return os.path.relpath(path, ROOT) if path.startswith(f"{ROOT}{os.sep}") else file

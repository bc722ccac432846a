"""Kills and errors of the medium at exact system calls of many kinds of work.

    python -m tests.faults.injected --kills 500 --errors 500 --jobs 4

A worker (`kinds`) is forked, stopped, and traced by `strace`, which counts one kind of system call
and kills the worker at the Nth, or lets that call fail with ENOSPC, EIO, EDQUOT or EINTR. Which
call and which N are drawn from what the same work did when it was only counted. A part of the
errors is a disk that becomes full, for two changes: files may not grow beyond a size, so that a
write may be cut short before one fails. After an error the worker goes on with its next change in
the same process. In a part of the kills a second worker,
which is not killed, works on the same repository.

What a worker acknowledges it writes into memory that it shares with this process, without a system
call that could be disturbed. Another process then checks that everything acknowledged is there,
that the next command works, that `fsck` finds nothing but an unfinished erasure, and that what was
cut short is finished by doing it again. An error that is not typed is a fault.

Needs strace. Run N of seed S is the same work and the same injection in every run; what the threads
of the second worker do between is not.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import json
import mmap
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.tools.modules import modules

from .kinds import DISTURBED_MAX, KINDS, Kind, LostError, is_typed

CALLS = (
    *("pwrite64", "pwritev", "write", "writev", "fdatasync", "fsync", "msync", "ftruncate"),
    *("rename", "renameat", "renameat2", "unlink", "unlinkat", "link", "linkat", "openat"),
    *("copy_file_range", "sendfile", "fallocate"),
)
"""What changes files, or begins to. Not `mkdir`: of a folder that is there it fails with EEXIST."""
ERRORS = {
    "openat": ("EIO", "EMFILE"),
    "write": ("ENOSPC", "EIO", "EDQUOT", "EINTR"),
    "fsync": ("EIO", "ENOSPC"),
    "fdatasync": ("EIO", "ENOSPC"),
}
ERRORS_USUAL = ("ENOSPC", "EIO", "EDQUOT")
FULL_CHANCE = 0.2
FULL_BYTES_MAX = 40_000
"""How much more than the largest file has."""
_FULL = re.compile(r"full:size=([0-9]+):when=([0-9]+)")
SHARED_BYTES = 1 << 20
SECONDS_MAX = 120
"""For one worker; longer is a hang, even on a busy machine."""


class NoTracingError(Exception):
    """This system does not let strace attach."""


@dataclass
class Row:
    """What was seen of one kind."""

    tries: int = 0
    struck: int = 0
    """Runs in which the call came, and was disturbed."""
    acknowledged: int = 0
    lost: int = 0
    failed: int = 0
    """Changes that ended in a typed error."""
    faults: list[str] = field(default_factory=list)

    def add(self, other: Row) -> None:
        """Adds another row."""
        self.tries += other.tries
        self.struck += other.struck
        self.acknowledged += other.acknowledged
        self.lost += other.lost
        self.failed += other.failed
        self.faults += other.faults


class Shared:
    """Lines that a process writes into memory and another one reads, whatever becomes of it."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, SHARED_BYTES)

    def say(self, what: str, **fields: object) -> None:
        """Writes a line; it is there once the length is."""
        line = json.dumps({"what": what, **fields}).encode() + b"\n"
        start, stop = self._stop(), self._stop() + len(line)
        self._memory[start:stop] = line
        self._memory[:8] = stop.to_bytes(8, "little")

    def lines(self) -> list[dict[str, str]]:
        """Returns what was written."""
        return [json.loads(line) for line in self._memory[8 : self._stop()].splitlines()]

    def _stop(self) -> int:
        return int.from_bytes(self._memory[:8], "little") or 8


def worked(
    kind: Kind, folder: Path, seed: str, worker: str, said: Shared, injection: str = ""
) -> None:
    """Does the work of a kind in this process, which is stopped once before it begins."""
    steps = kind.steps(folder, Random(seed), worker)
    os.kill(os.getpid(), signal.SIGSTOP)
    full = _FULL.fullmatch(injection)
    for number, step in enumerate(steps):
        if full is not None:
            full = int(full[2]) <= number < int(full[2]) + DISTURBED_MAX
            _limit_files(int(full[1]) if full else resource.RLIM_INFINITY)
        try:
            said.say("acknowledged", of=step())
        except Exception as error:
            if is_typed(error):
                said.say("failed", of=f"{type(error).__name__}: {error}")
            else:
                said.say("untyped", of=f"step {number}: {_told(error)}")
    said.say("ended", of="")


def _limit_files(size_bytes: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, hard))


def _told(error: BaseException) -> str:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "tests" not in frame.filename
    ]
    places = [f"{'/'.join(Path(frame.filename).parts[-3:])}:{frame.lineno}" for frame in frames]
    return f"{type(error).__name__}: {error} at {', '.join(places[-3:])}"


def warm() -> None:
    """Imports every module, so that a worker opens files of its repository only."""
    for name in modules():
        if not name.endswith("engine_cbrrr"):
            importlib.import_module(name)


def run(
    kind: Kind, template: Path, folder: Path, seed: str, injection: str, *, beside: bool
) -> tuple[list[list[dict[str, str]]], int, bool]:
    """Runs a worker under an injection, and another beside it if asked.

    Returns:
        what each said, the signal that ended the first one, 0 for none, and whether the call came.
    """
    shutil.copytree(template, folder)
    said = [Shared() for _ in range(2 if beside else 1)]
    pids = [
        _forked(lambda one=one, name=name: worked(kind, folder, seed, name, one, injection))
        for one, name in zip(said, "ab", strict=False)
    ]
    for pid in pids:
        os.waitpid(pid, os.WUNTRACED)
    log = folder.with_suffix(".calls")
    tracer = None
    if not _FULL.fullmatch(injection):
        call = injection.partition(":")[0]
        tracer = _attached(
            pids[0], "-o", str(log), "-e", f"trace={call}", "-e", f"inject={injection}"
        )
    for pid in pids:
        os.kill(pid, signal.SIGCONT)
    statuses = [_ended(pid) for pid in pids]
    is_struck = tracer is None
    if tracer is not None:
        tracer.wait()
        is_struck = "(INJECTED)" in log.read_text() or statuses[0] == -signal.SIGKILL
        log.unlink()
    for status, one in zip(statuses[1:], said[1:], strict=True):
        if status:
            one.say("untyped", of=f"the worker beside ended with status {status}")
    first = statuses[0]
    if first == -signal.SIGALRM:
        said[0].say("untyped", of="the worker hangs")
    return [one.lines() for one in said], -first if first < 0 else 0, is_struck


def can_trace() -> bool:
    """Tells whether strace is here and may attach to a process."""
    if shutil.which("strace") is None:
        return False
    pid = _forked(lambda: os.kill(os.getpid(), signal.SIGSTOP))
    os.waitpid(pid, os.WUNTRACED)
    try:
        tracer = _attached(pid, "-o", os.devnull)
    except NoTracingError:
        return False
    os.kill(pid, signal.SIGCONT)
    _ended(pid)
    tracer.wait()
    return True


def _attached(pid: int, *options: str) -> subprocess.Popen[bytes]:
    """Starts strace on a stopped process and returns when it has it."""
    command = ["strace", "-f", "-qq", *options, "-p", str(pid)]
    tracer = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    for _ in range(2000):
        if f"TracerPid:\t{tracer.pid}\n" in Path(f"/proc/{pid}/status").read_text():
            return tracer
        if tracer.poll() is not None:
            break
        time.sleep(0.005)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise NoTracingError(f"strace does not attach: {' '.join(command)}")


def _ended(pid: int) -> int:
    """Waits for a process; its status, negative for a signal: -SIGALRM for one that hangs."""
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -signal.SIGALRM


def counted(kind: Kind, template: Path, folder: Path, seed: str) -> dict[str, int]:
    """Returns how often the work of a kind makes each call."""
    shutil.copytree(template, folder)
    said = Shared()
    pid = _forked(lambda: worked(kind, folder, seed, "a", said))
    os.waitpid(pid, os.WUNTRACED)
    log = folder.with_suffix(".calls")
    tracer = _attached(pid, "-o", str(log), "-e", f"trace={','.join(CALLS)}")
    os.kill(pid, signal.SIGCONT)
    assert _ended(pid) == 0, said.lines()[-3:]
    tracer.wait()
    lines = said.lines()
    assert all(line["what"] in ("acknowledged", "ended") for line in lines), lines
    check = checked(kind, folder, [line["of"] for line in lines if line["of"]], is_killed=False)
    assert check == ("", ""), f"{kind.name}, undisturbed: {check}"
    found = Counter(re.findall(r"^\d+ +(\w+)\(", log.read_text(), re.MULTILINE))
    shutil.rmtree(folder)
    return dict(found)


def checked(kind: Kind, folder: Path, said: list[str], *, is_killed: bool) -> tuple[str, str]:
    """Checks in another process; returns what is lost and what else is wrong."""
    told = Shared()

    def check() -> None:
        try:
            kind.check(folder, said, is_killed)
        except LostError as error:
            told.say("lost", of=str(error))
        except AssertionError as error:
            told.say("fault", of=str(error))
        except Exception as error:
            told.say("fault", of=_told(error))

    status = _ended(_forked(check))
    lines = told.lines()
    lost = next((line["of"] for line in lines if line["what"] == "lost"), "")
    fault = next((line["of"] for line in lines if line["what"] == "fault"), "")
    if status and not lines:
        fault = "the check hangs" if status == -signal.SIGALRM else f"the check ended with {status}"
    return lost, fault


def injection_of(chance: Random, calls: dict[str, int], *, is_kill: bool) -> str:
    """Returns a call and what becomes of it."""
    call = chance.choice(sorted(calls))
    number = chance.randint(1, calls[call])
    if is_kill:
        return f"{call}:signal=SIGKILL:when={number}"
    error = chance.choice(ERRORS.get(call, ERRORS_USUAL))
    assert hasattr(errno, error)
    return f"{call}:error={error}:when={number}"


def disturb(kind: Kind, count: int, *, seed: int, is_kill: bool, folder: Path) -> Row:
    """Disturbs the work of a kind so many times.

    Returns:
        the row of the table, with the run that shows each fault.
    """
    warm()
    template, row = folder / "template", Row()
    assert _ended(_forked(lambda: kind.make(template))) == 0, f"{kind.name} cannot be made"
    calls = counted(kind, template, folder / "counted", f"{seed}")
    for number in range(count):
        chance = random.Random(f"{seed} {kind.name} {is_kill} {number}")
        injection = injection_of(chance, calls, is_kill=is_kill)
        if not is_kill and chance.random() < FULL_CHANCE:
            largest = max(path.stat().st_size for path in template.rglob("*"))
            size_bytes = largest + chance.randrange(FULL_BYTES_MAX)
            injection = f"full:size={size_bytes}:when={chance.randrange(4)}"
        beside = is_kill and chance.random() < 0.34
        here = folder / f"run-{number}"
        said, ended, is_struck = run(kind, template, here, f"{seed}", injection, beside=beside)
        lines = [line for one in said for line in one]
        acknowledged = [line["of"] for line in lines if line["what"] == "acknowledged"]
        lost, fault = checked(kind, here, acknowledged, is_killed=is_kill)
        failed = sum(line["what"] == "failed" for line in lines)
        wrong = [line["of"] for line in lines if line["what"] == "untyped"]
        where = f"{injection}{' with a worker beside' if beside else ''} (run {number})"
        wrong += [one for one in (lost and f"LOST {lost}", fault) if one]
        if ended not in (0, signal.SIGKILL):
            wrong.append(f"the worker ended with signal {ended}")
        row.add(
            Row(
                1,
                is_struck,
                len(acknowledged),
                bool(lost),
                failed,
                [f"{where}: {one}" for one in wrong],
            )
        )
        shutil.rmtree(here)
    return row


def _forked(work: Callable[[], None]) -> int:
    """Starts `work` in a process of its own; its status is 0 when it returned."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        return pid
    status = 1
    try:
        work()
        # A merge beside the commits is waited for, as a process that ends in peace does.
        import threading

        for thread in threading.enumerate():
            if thread is not threading.current_thread() and not thread.daemon:
                thread.join()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def table(rows: dict[tuple[str, str], Row]) -> str:
    """Returns the table, and the faults below it."""
    lines = [
        f"{'kind':<13}{'what':<8}{'tries':>6}{'struck':>8}{'acknowledged':>14}{'failed':>8}{'lost':>6}{'faults':>8}"
    ]
    for (name, what), row in rows.items():
        lines.append(
            f"{name:<13}{what:<8}{row.tries:>6}{row.struck:>8}{row.acknowledged:>14}"
            f"{row.failed:>8}{row.lost:>6}{len(row.faults):>8}"
        )
    for (name, what), row in rows.items():
        alike = Counter(
            re.sub(r"[0-9]+|[0-9a-f]{16,}|b[a-z2-7]{20,}", "#", one.partition(": ")[2])[:160]
            for one in row.faults
        )
        for shape, count in alike.most_common():
            first = next(
                one
                for one in row.faults
                if re.sub(r"[0-9]+|[0-9a-f]{16,}|b[a-z2-7]{20,}", "#", one.partition(": ")[2])[:160]
                == shape
            )
            lines.append(f"{name} {what}, {count} times, first {first[:400]}")
    return "\n".join(lines)


def _job(arguments: tuple[str, int, int, bool]) -> tuple[tuple[str, str], Row]:
    name, count, seed, is_kill = arguments
    place = (name, "kills" if is_kill else "errors")
    command = [sys.executable, "-m", "tests.faults.injected", "--kind", name, "--seed", str(seed)]
    command += ["--kills" if is_kill else "--errors", str(count), "--json"]
    command += ["--errors" if is_kill else "--kills", "0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return place, Row(faults=[f"the harness: {done.stderr[-2000:]}"])
    return place, Row(**json.loads(done.stdout))


def main() -> int:
    """Disturbs every kind, and prints the table."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.injected")
    parser.add_argument("--kills", type=int, default=500, help="in all, over the kinds")
    parser.add_argument("--errors", type=int, default=500, help="in all, over the kinds")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kind", choices=sorted(KINDS), help="only this one, that many times")
    parser.add_argument("--json", action="store_true", help="one row, as JSON")
    given = parser.parse_args()
    if not can_trace():
        parser.error("needs strace, and a system that lets it attach")
    kinds = [given.kind] if given.kind else list(KINDS)
    work = [
        (name, -(-count // len(kinds)), given.seed, is_kill)
        for name in kinds
        for count, is_kill in ((given.kills, True), (given.errors, False))
        if count
    ]
    rows: dict[tuple[str, str], Row] = {}
    if given.kind:
        for name, count, seed, is_kill in work:
            with tempfile.TemporaryDirectory(dir=_quick()) as folder:
                row = disturb(KINDS[name], count, seed=seed, is_kill=is_kill, folder=Path(folder))
            rows[name, "kills" if is_kill else "errors"] = row
    else:
        with ThreadPoolExecutor(given.jobs) as pool:
            rows = dict(pool.map(_job, work))
    if given.json:
        print(json.dumps(vars(next(iter(rows.values())))))
    else:
        print(table(rows))
    return 1 if any(row.faults for row in rows.values()) else 0


def _quick() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


if __name__ == "__main__":
    sys.exit(main())

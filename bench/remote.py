"""A repository in a folder, in PostgreSQL and in buckets: round trips, milliseconds and rates.

    PYTHONPATH=src python bench/remote.py [--nodes 20000] [--delay 20] [--seconds 5]
        [--stores folder postgres ministack radosgw]

Every store holds the same nodes. A proxy adds the delay to each round trip with a server and counts
them; a round trip is a request over HTTP, or an exchange with PostgreSQL. The servers run on this
machine, in memory or without flushing, so the figures are about latency, not about a medium.

* cold process: a new process, from its start to the answer, with the index on this machine
* warm retrieve: another question in a process that has answered some
* commit: one node, nobody else writes
* retrieve after it: the first question about the new head
* contended: commits of one node each, by processes and by threads of one process; the share is that
  of the slowest writer, of the mean
* new machine: a process without any local files, which builds the index
* with a shared index: the same, where the machine that filled the store shared its index
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from _pytest.outcomes import Skipped
from tests.delaying_proxy import Proxy, delaying
from tests.postgres_server import postgres
from tests.radosgw_server import radosgw
from tests.s3_server import BUCKET, ministack

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
STORES = ("folder", "postgres", "ministack", "radosgw")
WORDS = tuple(f"word{number}" for number in range(5_000))
REPEATS = 5

FILLING = """
import random, sys, ibidem
chance = random.Random(7)
words = [f"word{number}" for number in range(5_000)]
with ibidem.init(sys.argv[1]) as repo:
    for start in range(0, int(sys.argv[2]), 5_000):
        with repo.transaction(message="notes") as tx:
            for number in range(start, min(start + 5_000, int(sys.argv[2]))):
                tx.add_node("Note", summary=" ".join(chance.choices(words, k=20)), key=number)
    repo.retrieve("word0")
    if "://" in sys.argv[1]:
        key = repo.keys.ring.generate("bench")
        repo.maintenance.share_index()
        open(sys.argv[3], "wb").write(key.public)
"""
TRUSTING = """
import sys, ibidem
from ibidem.repo.signing.keyring import TrustedKey
with ibidem.open(sys.argv[1]) as repo:
    repo.keys.ring.add(TrustedKey("bench", open(sys.argv[2], "rb").read()))
"""
ASKING = """
import sys, ibidem
with ibidem.open(sys.argv[1]) as repo:
    for line in sys.stdin:
        what, word = line.split()
        if what == "retrieve":
            assert repo.retrieve(word, limit=20).items
        else:
            with repo.transaction(author="bench", message=word) as tx:
                tx.add_node("Note", summary=f"one more {word}", key=["more", word])
        print("done", flush=True)
"""
COLD = """
import sys, ibidem
with ibidem.open(sys.argv[1]) as repo:
    assert repo.retrieve(sys.argv[2], limit=20).items
"""
WRITING = """
import sys, threading, time, ibidem
address, name, seconds, threads = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
counts = [0] * threads
with ibidem.open(address) as repo:
    def commit(*key):
        with repo.transaction(author=name, message="note") as tx:
            tx.add_node("Note", summary=f"note {key}", key=[name, *key])
    def write(writer):
        while time.monotonic() < stop:
            commit(writer, counts[writer])
            counts[writer] += 1
    commit("first")
    print("ready", flush=True)
    sys.stdin.readline()
    stop = time.monotonic() + seconds
    writers = [threading.Thread(target=write, args=[writer]) for writer in range(threads)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
print(*counts, flush=True)
"""


class Bench:
    """One store under measurement."""

    def __init__(self, address: str, variables: dict[str, str], proxy: Proxy | None) -> None:
        self.address = address
        self._variables = {**os.environ, **ONE_THREAD, **variables}
        self._variables["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
        self._proxy = proxy
        self.rows: dict[str, str] = {}
        """What was measured, as the text of a cell."""

    def measure(
        self, nodes: int, delay_seconds: float, seconds: float, writers: int, new: Path
    ) -> None:
        """Fills the store without a delay, then measures everything in turn.

        Args:
            new: an empty folder, for the files of new machines.
        """
        self._finished(FILLING, nodes, new / "key")
        if self._proxy is not None:
            self._new_machines(delay_seconds, new)
        if self._proxy is not None:
            self._proxy.delay_seconds = delay_seconds
        self._row("cold process", [self._timed(COLD, word) for word in WORDS[:REPEATS]])
        with self._child(ASKING) as process:

            def ask(what: str, words: tuple[str, ...]) -> list[tuple[float, int]]:
                lines = [f"{what} {word}" for word in words]
                return [self._timed_by(partial(_told, process, line)) for line in lines]

            ask("retrieve", WORDS[:REPEATS])
            self._row("warm retrieve", ask("retrieve", WORDS[REPEATS : 2 * REPEATS]))
            committed, after = [], []
            for word in WORDS[: 2 * REPEATS]:
                committed += ask("commit", (word,))
                after += ask("retrieve", (word,))
            self._row("commit", committed[REPEATS:])
            self._row("retrieve after it", after[REPEATS:])
        self._contend(f"{writers} processes", writers, 1, seconds)
        self._contend(f"{writers} threads", 1, writers, seconds)

    def _new_machines(self, delay_seconds: float, new: Path) -> None:
        assert self._proxy is not None, "BUG: a folder is on one machine"
        first = self._variables["XDG_DATA_HOME"]
        for name in ("new machine", "with a shared index"):
            self._variables["XDG_DATA_HOME"] = str(new / name)
            if "shared" in name:
                if not (new / "key").exists():
                    continue
                self._proxy.delay_seconds = 0.0
                self._finished(TRUSTING, new / "key")
            self._proxy.delay_seconds = delay_seconds
            self._row(name, [self._timed(COLD, WORDS[0])])
        self._variables["XDG_DATA_HOME"] = first

    def _timed(self, program: str, *arguments: object) -> tuple[float, int]:
        return self._timed_by(lambda: self._finished(program, *arguments))

    def _timed_by(self, work: Callable[[], object]) -> tuple[float, int]:
        """Returns how many seconds and round trips work took."""
        before = self._round_trips
        started = time.perf_counter()
        work()
        return time.perf_counter() - started, self._round_trips - before

    @property
    def _round_trips(self) -> int:
        return 0 if self._proxy is None else self._proxy.round_trips

    def _row(self, name: str, found: list[tuple[float, int]]) -> None:
        milliseconds = 1_000 * statistics.median(seconds for seconds, _ in found)
        count = statistics.median(count for _, count in found)
        self.rows[name] = f"{count:g} / {milliseconds:,.0f} ms"

    def _contend(self, name: str, processes: int, threads: int, seconds: float) -> None:
        with ExitStack() as stack:
            writing = [
                stack.enter_context(self._child(WRITING, f"{name} {number}", seconds, threads))
                for number in range(processes)
            ]
            for process in writing:
                assert _line(process) == "ready\n", "a writer failed"
            before = self._round_trips
            started = time.perf_counter()
            for process in writing:
                _tell(process, "")
            counts = [int(count) for process in writing for count in _line(process).split()]
            took = time.perf_counter() - started
        total = sum(counts)
        share = min(counts) * len(counts) / max(1, total)
        each = (self._round_trips - before) / max(1, total)
        self.rows[name] = f"{each:.1f} / {total / took:.0f}/s, share {share:.2f}"

    def _finished(self, program: str, *arguments: object) -> None:
        command = [sys.executable, "-c", program, self.address, *map(str, arguments)]
        subprocess.run(command, check=True, env=self._variables)

    @contextmanager
    def _child(self, program: str, *arguments: object) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-c", program, self.address, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=self._variables,
        )
        try:
            yield process
            process.communicate()
            assert process.returncode == 0, "a process failed"
        finally:
            process.kill()
            process.wait()


def _tell(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(line + "\n")
    process.stdin.flush()


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def _told(process: subprocess.Popen[str], line: str) -> None:
    _tell(process, line)
    assert _line(process) == "done\n", f"{line}: it failed"


@contextmanager
def benches(store: str, folder: Path) -> Iterator[Bench]:
    """Starts the server of a store and a proxy before it; skips as a test does if it is not
    installed."""
    local = {"XDG_DATA_HOME": str(folder / "data")}
    with ExitStack() as stack:
        if store == "folder":
            yield Bench(str(folder / "repository"), local, None)
        elif store == "postgres":
            address = stack.enter_context(postgres())
            place = str(parse_qs(urlsplit(address).query)["host"][0])
            proxy = stack.enter_context(delaying(f"{place}/.s.PGSQL.5432", 0.0))
            options = "user=test&sslmode=disable&gssencmode=disable"
            yield Bench(f"postgresql://127.0.0.1:{proxy.port}/postgres?{options}", local, proxy)
        else:
            server = radosgw() if store == "radosgw" else ministack(folder / "log")
            variables = stack.enter_context(server)
            port = urlsplit(variables["AWS_ENDPOINT_URL"]).port
            assert port is not None
            proxy = stack.enter_context(delaying(port, 0.0))
            variables["AWS_ENDPOINT_URL"] = f"http://127.0.0.1:{proxy.port}"
            yield Bench(f"s3://{BUCKET}/bench", local | variables, proxy)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--delay", type=float, default=20.0, help="milliseconds")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each race")
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--stores", nargs="*", default=STORES, choices=STORES)
    options = parser.parse_args()
    found: dict[str, Bench] = {}
    for store in options.stores:
        with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as new:
            try:
                with benches(store, Path(name)) as bench:
                    delay_seconds = options.delay / 1_000
                    bench.measure(
                        options.nodes, delay_seconds, options.seconds, options.writers, Path(new)
                    )
                    found[store] = bench
            except Skipped as reason:
                print(f"{store}: left out: {reason}")
    print(f"\n{options.nodes:,} nodes, {options.delay:g} ms added; round trips / time\n")
    print("| | " + " | ".join(found) + " |")
    print("|---" * (len(found) + 1) + "|")
    for row in dict.fromkeys(row for bench in found.values() for row in bench.rows):
        cells = (bench.rows.get(row, "-") for bench in found.values())
        print(f"| {row} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

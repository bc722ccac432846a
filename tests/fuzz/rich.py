"""Repositories with some of every feature, exported: what the mutator changes.

They are made through the command line and the methods of `Repository`, and are the same bytes each
time: the clock is stepped and the system's randomness replaced while they are made. The attacker
does not have their keys: signatures are made again with `graph.Copy.sign`.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import sys
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import ibidem
from ibidem.cli.main import cli
from ibidem.repo.repository import Repository

START = 1_700_000_000
ASKED = ("--include", "notes", "--include", "runs", "--include", "receipts")

GUIDE = """---
title: Guide
level: 1
valid_from: 2023-01-01
---
# Guide to the queue

How retries work, and when to give up.

## Retry

A retry waits twice as long as the one before. See [deadlines](deadlines.md).

### Backoff

```python
def backoff(n): return 2 ** n
```

- first, wait
- then, ask again

## Deadlines

A deadline that passed is an error. {more}
"""
PLAIN = "A plain text about workers.\n\nThey take jobs from the queue.\n\nThey retry.\n"


class Made:
    """A folder with a repository that is being made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._now = START
        self.run("init", str(folder))

    def run(self, *arguments: str, given: str = "") -> str:
        """Runs a command that must succeed; returns what it printed."""
        code, out, err = command(self._at(arguments), given, clock=self.tick())
        assert code in (0, 1), (arguments, code, out, err)
        return out

    def _at(self, arguments: Sequence[str]) -> list[str]:
        return list(arguments if arguments[0] == "init" else ("-R", str(self.folder), *arguments))

    def json(self, *arguments: str, given: str = "") -> Any:
        """Runs a command with `--json`; returns what it printed."""
        return json.loads(self.run(*arguments, "--json", given=given))

    def tick(self) -> int:
        """Returns the time, a minute after the last one."""
        self._now += 60
        return self._now

    @contextlib.contextmanager
    def opened(self) -> Iterator[Repository]:
        """Opens the repository with a clock that steps."""
        with ibidem.open(self.folder, clock=lambda: self.tick() * 1_000_000) as repo:
            yield repo

    def exported(self, *arguments: str) -> bytes:
        """Returns a copy as `repo export` writes it."""
        file = self.folder / f"copy-{self.tick()}.car"
        self.run("export", str(file), *arguments)
        return file.read_bytes()


def command(arguments: Sequence[str], given: str, *, clock: int) -> tuple[int, str, str]:
    """Runs the program in this process; returns its status and what it printed."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    before = sys.stdin, os.environ.get("SOURCE_DATE_EPOCH")
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode()), "utf-8")
    os.environ["SOURCE_DATE_EPOCH"] = str(clock)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli(list(arguments), prog_name="repo")
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        raise
    finally:
        sys.stdin = before[0]
    texts = []
    for stream in (out, err):
        stream.flush()
        texts.append(stream.buffer.getvalue().decode())  # type: ignore[attr-defined]
    return status, texts[0], texts[1]


def lines(*records: dict[str, Any]) -> str:
    """Returns JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)


def library(folder: Path) -> Made:
    """Documents, edges, vectors, conflicts, tombstones, tags, receipts, notes, signatures."""
    made = Made(folder)
    made.run("key", "generate", "ada")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "guide.md").write_text(GUIDE.format(more=""))
    (docs / "deadlines.md").write_text(
        "# Deadlines\n\nWhat passed is over.\n\n## Timers\n\nTick.\n"
    )
    (docs / "plain.txt").write_text(PLAIN)
    made.run("commit", str(docs), "-m", "documents", "--author", "ada")
    with made.opened() as repo:
        repo.keys.sign_with("ada")
        with repo.transaction(author="ada", message="nodes") as tx:
            ids = [
                tx.add_node(
                    "Doc",
                    summary=f"retry number {number} of the queue",
                    context_sentence="about queues" if number % 2 else None,
                    content=f"worker {number} " * (600 if number == 3 else 3),
                    props={
                        "n": number,
                        "weight": 0.5 * number,
                        "tags": ["a", "b"],
                        "valid_from": number,
                        "valid_to": (START + number) * 1_000_000,
                        "level": number % 4,
                        "scope": "team" if number % 2 else "",
                        "deep": {"list": [1, [2, {"x": None}]], "is": True},
                    },
                    key=[number, "doc"],
                    namespace="lib",
                )
                for number in range(8)
            ]
            for number in range(7):
                tx.add_edge(
                    ids[number],
                    "cites" if number % 2 else "supports",
                    ids[number + 1],
                    weight=0.5 + number,
                    props={"since": number},
                    key=number if number == 3 else None,
                )
            for number in range(6):
                row = [float(number), 1.0, -0.5, 0.25 * number]
                tx.set_vector(ids[number], model="letters", vector=np.asarray(row, np.float32))
                tx.set_sparse(ids[number], vocab="words", indices=[1, 5 + number], weights=[0.5, 2])
    made.run("tag", "v1")
    made.run("branch", "side")
    made.run("node", "add", "Doc", "--summary", "ours", "--key", '"both"', "--prop", "n=1")
    made.run("edge", "add", str(ids[0]), "cites", str(ids[5]))
    _update(made, ids[1], ids[2], "ours", "main")
    _update(made, ids[1], ids[2], "theirs", "side", remove=ids[4])
    with made.opened() as repo, repo.transaction(message="again") as tx:
        tx.update_node(ids[4], summary="edited where the other side removed it")
        tx.add_edge(ids[4], "cites", ids[6])
    (docs / "guide.md").write_text(GUIDE.format(more="And more of it."))
    made.run("commit", str(docs), "-m", "edited", "--author", "bob")
    made.run("merge", "side")
    made.run("node", "tombstone", str(ids[7]), "--reason", "wrong")
    made.run("commit", "-m", "forget")
    for options in (("--fuzzy",), ("--graph", "ppr"), ("--mmr", "0.5"), ("--budget", "50")):
        said = made.json("retrieve", "retry queue worker", *options)
        made.run("receipt", "keep", said["receipt"])
    with made.opened() as repo:
        result = repo.retrieve("retry", vector=("letters", [1.0, 0.0, 0.5, 0.25]))
        assert result.receipt is not None
        repo.receipts.keep(result.receipt)
    made.run("memory", "recall", "retry queue", "--session", "one")
    made.run("memory", "feedback", "vote", str(ids[1]), "--session", "one")
    made.run("memory", "feedback", "not-useful", str(ids[2]), "--session", "one")
    made.run("memory", "feedback", "outcome", str(ids[3]), "--failed")
    return made


def erased(folder: Path) -> Made:
    """A node that was destroyed, by a signed record, in a history that had it."""
    made = Made(folder)
    made.run("key", "generate", "ada")
    with made.opened() as repo:
        for turn in range(3):
            with repo.transaction(author="ada", message=f"turn {turn}") as tx:
                one = tx.add_node("Person", summary=f"Ada {turn}", key="ada", replace=True)
                two = tx.add_node("Doc", summary=f"about Ada {turn}", key=turn)
                tx.add_edge(two, "about", one)
    said = made.json("retrieve", "Ada")
    made.run("receipt", "keep", said["receipt"])
    made.run("memory", "feedback", "outcome", str(one))
    made.run("erase", str(one), "--yes", "--reason", "asked")
    return made


def _update(
    made: Made, one: Any, other: Any, text: str, branch: str, *, remove: Any = None
) -> None:
    with made.opened() as repo, repo.transaction(branch=branch, message=text) as tx:
        tx.update_node(one, summary=text, set_props={"n": text})
        tx.update_node(other, content=f"{text} content", ntype="Doc")
        for edge in tx.edges_of(other):
            tx.update_edge(edge.id, weight=float(len(text)))
        if remove is not None:
            tx.remove_node(remove)


def memory(folder: Path) -> Made:
    """Records, conversations, procedures, events, and a policy of who may see what."""
    made = Made(folder)
    ids = []
    for number, kind in enumerate(
        ("Semantic", "Episodic", "Entity", "Working", "Competence", "PlanGraph", "Semantic")
    ):
        source = ("--from", f"event={number}") if kind in ("Semantic", "Competence") else ()
        said = made.run(
            *("memory", "add", f"{kind} fact {number} about the queue", "--type", kind),
            *("--scope", "team", "--name", f"name {number % 2}", *source),
            *("--level", str(number % 3), "--json"),
        )
        ids += _ids(json.loads(said))[:1]
    for number in range(3):
        made.run("memory", "add", f"ada met bob at {number}", "--type", "Episodic", "--name", "ada")
    made.run("memory", "reinforce", ids[0])
    made.run("memory", "penalize", ids[2], "0.25")
    made.run("memory", "supersede", ids[3], "newer fact", "--type", "Working")
    made.run("memory", "fork", ids[2], "derived fact", "--type", "Working")
    made.run("memory", "contest", ids[4])
    made.run("memory", "retract", ids[5])
    made.run("memory", "consolidate")
    for number in range(6):
        role = "user" if number % 2 == 0 else "assistant"
        made.run("thread", "append", "support", f"message {number} on retries", "--role", role)
    said = lines(
        {"role": "assistant", "text": "call", "tool_calls": ["c1"], "id": "m1"},
        {"role": "tool", "text": "answer", "tool_call_id": "c1", "props": {"x": 1}},
        {"role": "user", "text": "later", "expires_at": (START + 99_999) * 1_000_000},
    )
    made.run("thread", "append", "other", "--stdin", given=said)
    made.run("thread", "compact", "support", "0", "2", "they greeted", "--made-by", "m")
    made.run("thread", "clear", "support", "--before", "1")
    with made.opened() as repo, repo.transaction(message="procedures") as tx:
        for number, status in enumerate(("active", "pending_review", "retired")):
            tx.add_node(
                "Procedure",
                summary=f"restart the queue {number}",
                props={"status": status, "steps": ["stop", "start"], "intent": "restart"},
                key=["restart", number],
                namespace="procedure",
            )
    made.run("memory", "recall", "restart the queue", "--session", "two")
    made.run("memory", "feedback", "outcome", ids[0])
    made.run("trust", "enable", "--default-level", "low")
    return made


def _ids(said: Any) -> list[str]:
    """Returns every text in an answer that is the id of a node."""
    if isinstance(said, str):
        digits = set("0123456789abcdef")
        return [said] if len(said) == 32 and set(said) <= digits else []
    if isinstance(said, dict):
        said = list(said.values())
    return [found for one in said for found in _ids(one)] if isinstance(said, list) else []


def runs(folder: Path) -> Made:
    """Recorded runs, one that failed and one that did the same as another, and their receipts."""
    made = Made(folder)
    with made.opened() as repo:
        with repo.transaction(message="seed") as tx:
            for number in range(6):
                tx.add_node("Note", summary=f"retry advice {number}", key=number)
        for number in range(2):
            with repo.runs.start("nightly", agent="scripted", task="answer") as run:
                ask = run.tool("model", lambda text: {"text": f"said {text}", "bytes": b"\x00"})
                found = run.retrieve("retry advice", limit=2)
                run.packs("retry", limit=2)
                run.event("note", {"seen": [1, 2.5, None, True]})
                answer = ask(found.items[0].rendered)
                with run.transaction(author="agent", message=f"turn {number}") as tx:
                    note = tx.add_node("Answer", summary=answer["text"], unique=True)
                    tx.add_edge(note, "answers", found.items[0].id)
                run.branch(f"try-{number}")
                run.at("HEAD").query(label="Note")
                run.now()
        with contextlib.suppress(ZeroDivisionError), repo.runs.start("failing") as run:
            run.event("long", "x" * 6000)
            raise ZeroDivisionError
    made.run("tag", "v1")
    made.run("node", "add", "Note", "--summary", "staged and not committed")
    said = made.json("retrieve", "retry")
    made.run("receipt", "keep", said["receipt"])
    return made


def many(folder: Path) -> Made:
    """Enough nodes and commits for trees of two levels and a history with merges."""
    made = Made(folder)
    with made.opened() as repo:
        for turn in range(4):
            with repo.transaction(message=f"turn {turn}", author="ada") as tx:
                for number in range(60):
                    tx.add_node("Row", summary=f"row {turn} {number}", key=[turn, number])
            repo.branch(f"b{turn}")
            with repo.transaction(message="beside", branch=f"b{turn}") as tx:
                tx.add_node("Row", summary=f"beside {turn}", key=f"beside {turn}")
        for turn in range(4):
            repo.merge(f"b{turn}")
    return made


SOURCES = {"library": library, "memory": memory, "runs": runs, "erased": erased, "many": many}


def copies(folder: Path) -> dict[str, bytes]:
    """Returns every source in every form, by name; made in a fixed order."""
    found = {}
    chance = random.Random("ibidem rich")
    system, os.urandom = os.urandom, chance.randbytes
    try:
        for name, make in SOURCES.items():
            made = make(folder / name)
            found[f"{name}-bundle"] = made.exported(*ASKED)
            found[f"{name}-full"] = made.exported("--full")
            if name == "library":
                found[f"{name}-part"] = made.exported("--label", "Doc")
            if name == "runs":
                file = folder / "run.car"
                made.run("run", "export", "nightly", str(file))
                found["runs-run"] = file.read_bytes()
    finally:
        os.urandom = system
    return found


def main() -> None:
    """Writes the copies into a folder: `python -m tests.fuzz.rich FOLDER`."""
    import tempfile

    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in copies(Path(folder)).items():
            (target / f"{name}.car").write_bytes(data)
            print(f"{name}: {len(data)} bytes")


if __name__ == "__main__":
    main()

"""One hostile copy: how it is made out of a seed, taken in, and then asked everything.

A case is a source, a form in which the copy travels, and a list of changes, each with its own
chance. Changes that are refused are left out while a case is made, so that what is asked in the end
has several that were let in. The same seed gives the same case.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from nacl.signing import SigningKey

import ibidem
from ibidem.cli import exits
from ibidem.cli.main import cli

from . import commands
from .commands import READS, SKIPPED, World, every_command
from .doors import (
    ALL,
    Conversations,
    EdgeId,
    Feedback,
    GraphMemory,
    NodeId,
    Repository,
    Server,
    asking,
    identity,
    procedures,
    wire,
)
from .graph import (
    Block,
    Copy,
    Ref,
    Unwritable,
    cid_of,
    decode,
    encode,
    read_car,
    write_car,
)
from .limits import Child
from .mutations import mutate

SIZE_BYTES_MAX = 2_000_000
CHANGES_MAX = 4
TRIES_MAX = 10
KEY = SigningKey(b"a key of thirty-two bytes, fixed")
"""The attacker's key; who takes an erasure in has to trust it."""
TOKEN = "a-token-of-forty-characters-0123456789ab"
CLOCK = 1_800_000_000
FORMS = ("import", "import", "import", "onto", "clone", "pull", "push", "plain")
"""How a copy travels; a full copy is cloned and imported only."""
LISTING = (
    *(
        ("status",),
        ("log",),
        ("query",),
        ("index", "stats"),
        ("retrieve", "retry"),
        ("packs", "retry"),
    ),
    *(
        ("memory", "recall", "retry"),
        ("run", "list"),
        ("receipt", "list"),
        ("thread", "list"),
        ("branch",),
    ),
    *(
        ("tag",),
        ("memory", "graph", "retry"),
        ("gc", "--dry-run"),
        ("key", "verify", "--allow-unsigned"),
    ),
    *(("show",), ("diff", "HEAD~1"), ("doctor",), ("memory", "consolidate", "--dry-run")),
)
"""What one bad value must not hide everything from."""
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""What steers a terminal, or turns the direction of what follows."""


@dataclass(frozen=True)
class Case:
    """What makes one case; saved with what it found."""

    seed: str
    source: str
    form: str
    changes: tuple[int, ...]
    """The numbers of the changes; each is made with the chance of `seed` and its number."""
    asked: tuple[str, ...] = ()
    """The only commands that are asked; all where there is none."""

    def to_json(self) -> dict[str, Any]:
        """Returns the fields."""
        return asdict(self)

    @classmethod
    def of(cls, fields: dict[str, Any]) -> Case:
        """Returns the case that was saved."""
        lists = {name: tuple(fields[name]) for name in ("changes", "asked")}
        return cls(fields["seed"], fields["source"], fields["form"], **lists)


def changed(case: Case, sources: dict[str, bytes]) -> tuple[Copy, list[tuple[str, str]]]:
    """Returns the copy with the changes of a case, and what they did."""
    copy, done = Copy.read(sources[case.source]), []
    copy.sign = _signature
    for number in case.changes:
        said = mutate(Random(f"{case.seed} {number}"), copy)
        if said is not None:
            done.append(said)
    if case.form == "plain":
        _only_commit(copy, Random(case.seed))
    elif case.form == "push":
        _as_push(copy)
    return copy, done


def _signature(message: bytes) -> bytes:
    return bytes(KEY.verify_key) + KEY.sign(message).signature


def written(copy: Copy) -> bytes:
    """Returns the bytes of a copy; raises `Unwritable` for one that is too large."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        data = copy.write()
    finally:
        sys.setrecursionlimit(limit)
    if len(data) > SIZE_BYTES_MAX:
        raise Unwritable(f"{len(data)} bytes")
    return data


def _only_commit(copy: Copy, chance: Random) -> None:
    """Makes a copy that has one commit as its root."""
    commits = [ref.block for ref in _targets(copy) if ref.block.kind == "commit"]
    if commits:
        copy.root = chance.choice(commits)


def _targets(copy: Copy) -> Iterator[Ref]:
    refs = copy.root.value.get("refs")
    for tip in refs.values() if isinstance(refs, dict) else ():
        if isinstance(tip, dict) and isinstance(tip.get("target"), Ref):
            yield tip["target"]


def _as_push(copy: Copy) -> None:
    """Makes the body of a push that sets every ref of the copy."""
    bundle = copy.root.value
    refs = bundle.get("refs")
    updates = {
        name: {"target": tip["target"]}
        for name, tip in (refs.items() if isinstance(refs, dict) else ())
        if isinstance(tip, dict) and "target" in tip
    }
    fields: dict[str, Any] = {"kind": "push", "v": 1, "updates": updates}
    if "erasures" in bundle:
        fields["erasures"] = bundle["erasures"]
    copy.root = Block(fields)


# Taking in


class Taken:
    """A folder with a repository, and how the copy came into it."""

    def __init__(self, child: Child, folder: Path, data: bytes) -> None:
        self.child = child
        self.folder = folder
        self.repo = folder / "repo"
        self.files = folder / "files"
        self.files.mkdir(parents=True)
        self.file = folder / "copy.car"
        self.file.write_bytes(data)

    def take(self, form: str) -> str:
        """Takes the copy in: "" if it was let in, else the kind of the error."""
        if form == "clone":
            code, out, _ = self.said(
                ["clone", str(self.file), str(self.repo), *_INCLUDED, "--json"]
            )
            if code and self.repo.exists() and any(self.repo.iterdir()):
                self.child.fault("changed", "clone", "a refused clone has left something", "")
            return _kind(out) if code else ""
        self.ran(["init", str(self.repo)])
        public = bytes(KEY.verify_key).hex()
        self.ran(["-R", str(self.repo), "key", "trust", "ada", public, "--may-erase"])
        if form == "onto":
            _begin(self.repo)
        left = [_state(self.repo)]
        if form == "pull":
            left += self._told()
            refused = self._fetched(self.repo, self.file)
        elif form == "push":
            refused = self._pushed()
        else:
            branch = ["--branch", "taken"] if form == "plain" else []
            refused = self.refused(["import", str(self.file), *branch])
        if refused and _state(self.repo) not in left:
            self.child.fault("changed", form, f"{refused}, and something has changed", "")
        if form == "plain" and not refused:
            self.ran(["-R", str(self.repo), "switch", "taken"])
        if form == "pull" and not refused:
            self.refused(["pull"])  # without a branch of that name there, nothing is merged
        return refused

    def _told(self) -> list[object]:
        """Returns what the erasures of the copy alone leave: a refused fetch may leave that too,
        and nothing else (spec sync 8-e)."""
        data = _only_erasures(self.file.read_bytes())
        if data is None:
            return []
        file, repo = self.folder / "erasures.car", self.folder / "told"
        file.write_bytes(data)
        shutil.copytree(self.repo, repo)
        return [] if self._fetched(repo, file) else [_state(repo)]

    def _fetched(self, repo: Path, file: Path) -> str:
        self.ran(["-R", str(repo), "remote", "add", "origin", str(file)])
        return self.refused(["remote", "fetch", *_INCLUDED], repo)

    def refused(self, arguments: list[str], repo: Path | None = None) -> str:
        """Runs a command on the repository; returns the kind of its error, "" where it has none."""
        code, out, err = self.said(["-R", str(repo or self.repo), *arguments, "--json"])
        return "" if code in (0, 1) else _kind(out + err)

    def ran(self, arguments: list[str]) -> None:
        """Runs a command that has nothing to do with the copy."""
        code, _, err = self.said(arguments)
        assert code == 0, (arguments, err)

    def said(
        self, arguments: list[str], given: str = "", *, name: str = ""
    ) -> tuple[int, str, str]:
        """Runs a command under the limits and checks what every command has to keep."""
        shown = json.dumps(arguments)
        with self.child.limited(shown):
            code, out, err, trace = invoke(arguments, given)
        if trace:
            error = trace.strip().splitlines()[-1]
            self.child.fault("memory" if error == "MemoryError" else "untyped", shown, error, trace)
        elif code not in exits.MEANINGS or code == exits.INTERRUPTED:
            self.child.fault("exit", shown, f"status {code}", "")
        elif name not in _RAW and not ("show" in arguments and _PRINTED.intersection(arguments)):
            self._check_said(shown, arguments, code, out, err)
        return code, out, err

    def _check_said(self, shown: str, arguments: list[str], code: int, out: str, err: str) -> None:
        found = UNSAFE.search(out) or UNSAFE.search(err)
        if found:
            around = found.string[max(0, found.start() - 60) : found.end() + 60]
            self.child.fault("terminal", shown, f"{around!r}", "")
        if "Traceback" in err and "most recent" in err:
            self.child.fault("untyped", shown, "a traceback in its output", err)
        if "--json" in arguments and code in (0, 1) and out:
            try:
                for line in filter(None, out.split("\n")):
                    json.loads(line)
            except ValueError as error:
                self.child.fault("json", shown, f"{error}: {out[:200]!r}", "")

    def _pushed(self) -> str:
        """Pushes the copy to a server in this process."""
        with self.child.limited('["push over http"]'), ibidem.open(self.repo) as repo:
            server = Server(repo, token=TOKEN, port=0, is_remote=True, idle_seconds=20).start()
            try:
                connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
                headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": wire.CAR}
                connection.request("POST", wire.PUSH, self.file.read_bytes(), headers)
                answer = connection.getresponse()
                body = answer.read()
                connection.close()
            finally:
                server.close()
        if answer.status >= 500:
            self.child.fault("untyped", "push over http", f"{answer.status} {body[:300]!r}", "")
        return "" if answer.status < 300 else f"http-{answer.status}"


_INCLUDED = ("--include", "notes", "--include", "runs", "--include", "receipts")
_RAW = frozenset(("completion",))
_PRINTED = frozenset(("--content", "--text", "--raw"))
"""Options of `show` that print what is kept as it is, where that is no terminal."""


def _only_erasures(data: bytes) -> bytes | None:
    """Returns a copy with its erasures and nothing else, None of one that has none."""
    root, blocks = read_car(data)
    message = decode(blocks[root])
    links = message.get("erasures") if isinstance(message, dict) else None
    if not isinstance(links, list) or not links:
        return None
    sent = {link.raw: blocks[link.raw] for link in links if getattr(link, "raw", b"") in blocks}
    alone = encode({**message, "refs": {}})
    return write_car(cid_of(alone), {**sent, cid_of(alone): alone})


def _kind(out: str) -> str:
    found = re.search(r'"kind":"([a-z-]+)"', out)
    return found[1] if found else "unknown"


def _begin(folder: Path) -> None:
    """Puts something of our own into a repository, with some of the copy's names."""
    with ibidem.open(folder, clock=lambda: 1) as repo:
        with repo.transaction(author="us", message="ours") as tx:
            one = tx.add_node("Doc", summary="ours retry", key=[1, "doc"], namespace="lib")
            two = tx.add_node("Doc", summary="ours queue", key="both")
            tx.add_edge(one, "cites", two)
        repo.tag("v1")
        repo.notes.space().reinforce(one, author="us")


def _state(folder: Path) -> object:
    with ibidem.open(folder) as repo:
        cids = sorted(str(cid) for cid in repo.core.store.cids())
        return cids, {name: repo.core.store.cell(name) for name in repo.core.store.cells()}


def invoke(arguments: list[str], given: str = "") -> tuple[int, str, str, str]:
    """Runs the program in this process; returns its status, its output, and a traceback if any."""
    out, err = _stream(), _stream()
    before, trace, code = sys.stdin, "", 0
    sys.stdin = io.TextIOWrapper(io.BytesIO(given.encode("utf-8", "replace")), "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            cli(arguments, prog_name="repo")
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else 1
    except BaseException:
        trace = traceback.format_exc()
    finally:
        sys.stdin = before
    return code, _text(out), _text(err), trace


def _stream() -> io.TextIOWrapper:
    # As a terminal or a pipe has it: what is no UTF-8 is an error.
    return io.TextIOWrapper(io.BytesIO(), "utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8", "replace")


# Making

_WEIGHTS = {
    "runs-bundle": 5,
    "runs-run": 3,
    "library-bundle": 4,
    "memory-bundle": 4,
    "many-full": 1,
}


def make(child: Child, seed: str, sources: dict[str, bytes], folder: Path) -> Case:
    """Returns a case of a seed whose changes are let in one by one; tells of each."""
    chance = Random(seed)
    source = chance.choices(list(sources), [_WEIGHTS.get(one, 2) for one in sources])[0]
    full = source.endswith("-full")
    form = chance.choice(("clone", "import", "pull") if full else FORMS)
    case = Case(seed, source, form, ())
    wanted = chance.choice(range(1, CHANGES_MAX + 1))
    for number in range(TRIES_MAX):
        tried = Case(seed, source, form, (*case.changes, number))
        (copy, done), name = changed(tried, sources), "nothing"
        if len(done) <= len(case.changes):
            child.say("tried", name="nothing", outcome="not applicable", form=form)
            continue
        name = done[-1][0]
        try:
            data = written(copy)
        except Unwritable:
            child.say("tried", name=name, outcome="unwritable", form=form)
            continue
        taken = Taken(child, folder / f"try-{number}", data)
        refused = taken.take(form)
        shutil.rmtree(taken.folder)
        child.say("tried", name=name, outcome=refused or "accepted", form=form)
        if not refused:
            case = tried
        if len(case.changes) == wanted:
            break
    return case


# Asking


def ask(child: Child, case: Case, sources: dict[str, bytes], folder: Path) -> None:
    """Takes the copy of a case in, and asks every command and every method."""
    copy, done = changed(case, sources)
    child.say("case", case=case.to_json(), done=done)
    try:
        data = written(copy)
    except Unwritable:
        return
    taken = Taken(child, folder / "asked", data)
    if taken.take(case.form):
        return
    child.say("accepted")
    _Asked(child, case, taken, copy).all()


class _Asked:
    """One copy that was let in, and the commands that it is asked."""

    def __init__(self, child: Child, case: Case, taken: Taken, copy: Copy) -> None:
        self.child = child
        self.case = case
        self.taken = taken
        self.chance = Random(f"asked {case.seed}")
        self.world = World(copy, self.chance, taken.files, taken.file)
        self._count = 0
        self._known: set[str] = set()
        """Kinds of faults that `fsck` has found."""

    def all(self) -> None:
        """Asks everything, reading first."""
        self.check(self.taken.repo, "it was let in")
        pristine = self._copied(self.taken.repo)
        every = [(name, one) for name, one in every_command() if name not in SKIPPED]
        self.chance.shuffle(every)
        for name, command in every:
            if name in READS:
                for _ in range(2):
                    self.command(self.taken.repo, name, command)
        self.check(self.taken.repo, "only reading")
        for given in LISTING:
            if self.is_wanted(given[0]):
                self.listing(given)
        if self.is_wanted("library"):
            self.library(self._copied(pristine))
        self.taken.said(["-R", str(self.taken.repo), "key", "generate", "eve"])
        for name, command in every:
            if name in READS:
                continue
            fresh = self.chance.random() < 0.5
            is_copied = fresh and self.is_wanted(name)
            repo = self._copied(pristine) if is_copied else self.taken.repo
            code = self.command(repo, name, command)
            if code in (0, 1):
                self.check(repo, name)
            if is_copied:
                shutil.rmtree(repo)
        for name in ("retrieve", "log", "query"):
            self.command(self.taken.repo, name, dict(every)[name])

    def is_wanted(self, name: str) -> bool:
        """Tells whether this case is about a command."""
        return not self.case.asked or name in self.case.asked

    def command(self, repo: Path, name: str, command: Any) -> int | None:
        """Runs a command with plausible arguments; None where the case is not about it."""
        given = commands.arguments(name, command, self.world)
        if not self.is_wanted(name):
            return None
        code, _, _ = self.taken.said(
            ["-R", str(repo), *given], commands.stdin(self.world), name=name
        )
        self.child.say("asked", name=name, code=code)
        return code

    def listing(self, given: tuple[str, ...]) -> None:
        """Runs a command that shows everything: it must not end for one thing that is wrong where
        `fsck` has found nothing wrong."""
        code, out, err = self.taken.said(["-R", str(self.taken.repo), *given])
        is_newer = re.search("semantics|analyser", out + err) is not None
        if code in (exits.CORRUPT, exits.NO_INDEX) or (code == exits.UNSUPPORTED and not is_newer):
            if self._known:
                return
            self.child.fault("hidden", json.dumps(given), (out + err)[-300:], "")

    def check(self, repo: Path, after: str) -> None:
        """Lets `fsck` look; what it finds is a fault, unless it was found before."""
        code, out, err = self.taken.said(["-R", str(repo), "fsck", "--json"])
        found = _faults(out) or ({"none": (out + err)[-300:]} if code else {})
        for kind in sorted(found.keys() - self._known):
            self.child.fault("fsck", after, f"{kind}: {found[kind]}", "")
        self._known |= found.keys()

    def library(self, folder: Path) -> None:
        """Calls every public method of the repository and what is built on it."""
        for name, subject in SUBJECTS.items():
            with ibidem.open(folder, clock=lambda: CLOCK * 1_000_000) as repo:
                try:
                    for method, call in subject(repo, Values(self.world, repo)):
                        self._call(f"{name}.{method}", call)
                except Exception as error:
                    if not is_typed(error):
                        raise
        self.check(folder, "the library")

    def _call(self, name: str, call: Callable[[], Any]) -> None:
        with self.child.limited(name):
            try:
                _consumed(call())
            except Exception as error:
                if not is_typed(error) and not isinstance(error, NothingToGive):
                    kind = "memory" if isinstance(error, MemoryError) else "untyped"
                    self.child.fault(
                        kind, name, f"{type(error).__name__}: {error}", traceback.format_exc()
                    )
        self.child.say("asked", name=f"library {name}", code=0)

    def _copied(self, repo: Path) -> Path:
        self._count += 1
        target = self.taken.folder / f"repo-{self._count}"
        shutil.copytree(repo, target)
        return target


def is_typed(error: BaseException) -> bool:
    """Tells whether an error is one of ours, wherever its class is defined."""
    return any(one.__name__ == "IbidemError" for one in type(error).__mro__)


def _faults(out: str) -> dict[str, str]:
    """Returns a fault of each kind that `fsck` tells of."""
    try:
        found = json.loads(out).get("faults") or []
    except ValueError:
        return {}
    return {fault["kind"]: json.dumps(fault)[:400] for fault in found}


def _consumed(value: Any) -> None:
    """Reads an iterator to its end, as far as somebody might."""
    if isinstance(value, Iterator):
        for _ in zip(value, range(20_000), strict=False):
            pass


class Letters:
    """An embedder that counts letters."""

    name, dim = "letters", 4
    digest = identity({"algorithm": "letters-test-1"})

    def embed(self, texts: Any) -> Any:
        """Returns a row for each text."""
        rows = [[text.count(letter) + 0.5 for letter in "etaq"] for text in texts]
        return np.asarray(rows, np.float32).reshape(len(texts), self.dim)


class Values:
    """Arguments for the methods of the library, by the names of their parameters."""

    def __init__(self, world: World, repo: Repository) -> None:
        self.world = world
        self.repo = repo

    def node(self) -> NodeId:
        """Returns the id of a node."""
        return NodeId.parse(self.world.one(self.world.nodes))

    def edge(self) -> EdgeId:
        """Returns the id of an edge."""
        return EdgeId.parse(self.world.one(self.world.edges, ["0" * 32]))

    def by_name(self) -> dict[str, Callable[[], Any]]:
        """Returns what makes each argument."""
        world, repo = self.world, self.repo
        return {
            **dict.fromkeys(
                ("node", "id", "record", "target", "source", "old", "expect"), self.node
            ),
            **dict.fromkeys(("rev", "before", "after", "onto", "start"), world.revision),
            **dict.fromkeys(("text", "question", "query", "goal"), world.text),
            "edge.id": self.edge,
            "name": lambda: world.one([ref.partition("/")[2] for ref in world.refs], ["x"]),
            "runs.open.name": world.run_name,
            "runs.drop.name": world.run_name,
            "beginning": lambda: world.one(world.nodes)[:6],
            "receipt": lambda: world.one(world.receipts),
            "file": world.new_path,
            "sync.load.file": lambda: str(world.data),
            "runs.load.file": lambda: str(world.data),
            "embedder": Letters,
            "ids": lambda: [self.node()],
            "resolve_conflict.id": lambda: NodeId.parse(world.one(world.conflicts, world.nodes)),
            "thread": lambda: world.one(world.threads),
            "model": lambda: "letters",
            "vocab": lambda: "words",
            "viewer": lambda: ALL,
            "questions": lambda: [{"text": world.text()}, {"label": "Doc"}],
            "starts": lambda: [self.node()],
            "path": lambda: [("cites", "outgoing"), ("supports", "incoming")],
            "ok": lambda: True,
            "amount": lambda: 0.5,
            "value": lambda: 1,
            "author": lambda: "eve",
            "head": lambda: repo.head,
            "messages": lambda: [("user", world.text())],
            "first": lambda: 0,
            "last": lambda: 1,
            "etype": lambda: "cites",
            "budget": lambda: 100,
            "before_place": lambda: 1,
            "purge.before": lambda: 1,
            "report": lambda: repo.maintenance.fsck(),
            "refs": lambda: ["heads/"],
            "erasures": lambda: repo.maintenance.erasures(),
            "sign": lambda: None,
            "missing_ok": lambda: True,
            "citation": lambda: _first(repo.prompt(world.text(), viewer=ALL).citations),
            "core.content_of.node": lambda: _first(list(repo.at("HEAD", viewer=ALL).nodes())),
        }


class NothingToGive(Exception):
    """The copy has nothing that a method could be called with."""


def _first(found: Any) -> Any:
    if not found:
        raise NothingToGive
    return found[0]


Calls = Iterator[tuple[str, Callable[[], Any]]]
CHANGING = (
    *("history.undo", "history.redo", "revert", "cherry_pick", "rebase", "merge"),
    *("history.squash", "history.prune", "maintenance.erase", "resolve_conflict"),
    *("maintenance.gc", "core.drop_derived", "delete_branch", "delete_tag", "runs.drop"),
    *("receipts.drop", "sync.load", "runs.load", "stage.clear", "stage.commit"),
)
"""Methods that are called last, in this order."""
NOT_CALLED = {
    "close": "the end of it",
    "follow": "takes numbers of blocks of its own reader",
    "incident": "takes a decoded root",
    "snapshot": "takes the CID of a root with its commit; every question takes this way",
    "with_snapshot": "takes a function on a snapshot",
    "runs.start": "records; nothing of the copy is read",
    "core": "a property; its methods are called",
    "accept_erasures": "takes erasures from elsewhere; an import takes this way",
    "stage.transaction": "a transaction that somebody has to end",
    "transaction": "a transaction that somebody has to end",
    "replay": "of graph memory: takes a receipt that it gave",
    "supersede": "needs a record; the command line calls it",
    "fork": "needs a record; the command line calls it",
    "add": "needs records; the command line calls it",
    "policy": "takes a transaction",
    "moment": "internal to a question",
}
"""Public methods that are not called here, and why."""
SPACES = [name for name, one in vars(Repository).items() if isinstance(one, cached_property)]
"""The namespaces of a repository."""


def _repository(repo: Repository, values: Values) -> Calls:
    skipped = frozenset((*NOT_CALLED, "fetch", "pull", "push")) - {"replay"}
    own = values.by_name()
    found = dict(commands.calls(repo, own, skipped | {*SPACES}))
    for space in ("core", *SPACES):
        found.update(commands.calls(getattr(repo, space), own, skipped, f"{space}."))
    assert found.keys() >= {*CHANGING}, "a method that is called last has another name now"
    first = [name for name in found if name not in CHANGING]
    yield from (
        (name, found[name]) for name in (*first, *(one for one in CHANGING if one in found))
    )


def _revision(repo: Repository, values: Values) -> Calls:
    revision = repo.at("HEAD", viewer=ALL)
    for _ in range(3):
        yield from commands.calls(revision, values.by_name(), frozenset(NOT_CALLED))
    for name in ("document", "content", "locate", "edges_of"):
        for node in values.world.nodes[:60]:
            method = getattr(revision, name)
            yield name, lambda method=method, node=node: method(NodeId.parse(node))


def _notes(repo: Repository, values: Values) -> Calls:
    for space in repo.notes.spaces() or ["memory"]:
        yield from commands.calls(repo.notes.space(space), values.by_name(), frozenset(NOT_CALLED))


def _runs(repo: Repository, values: Values) -> Calls:
    names = [ref.partition("/")[2] for ref in values.world.refs if ref.startswith("runs/")]
    for name in names:
        for method in ("steps", "lines", "summary", "replay", "export"):
            yield method, lambda name=name, method=method: _of_run(repo, name, method, values)
    yield "runs", repo.runs.list


def _of_run(repo: Repository, name: str, method: str, values: Values) -> Any:
    found = getattr(repo.runs.open(name), method)
    if method == "export":
        return found(values.world.new_path())
    return found() if callable(found) else found


def _graph_memory(repo: Repository, values: Values) -> Calls:
    memory = GraphMemory(repo, author="eve")
    own = {**values.by_name(), "rev": lambda: "HEAD"}
    yield from commands.calls(memory, own, frozenset(NOT_CALLED))
    yield "retrieve_graph", lambda: memory.retrieve_graph(values.world.text(), viewer=ALL)
    for node in values.world.nodes[:40]:
        yield "record", lambda node=node: memory.get(NodeId.parse(node), viewer=ALL)
        yield "salience", lambda node=node: memory.salience(NodeId.parse(node), viewer=ALL)


def _conversations(repo: Repository, values: Values) -> Calls:
    found = Conversations(repo, author="eve", viewer=ALL)
    for _ in range(2):
        yield from commands.calls(found, values.by_name(), frozenset(NOT_CALLED))


def _recalled(repo: Repository, values: Values) -> Calls:
    world = values.world
    for level in ("chunk", "section", "raw"):
        yield (
            f"recall {level}",
            lambda level=level: asking.recall(repo, world.text(), disclosure=level, viewer=ALL),
        )
    yield "offers", lambda: procedures.offers(repo.at("HEAD", viewer=ALL), "restart the queue")
    yield "set_status", lambda: procedures.set_status(repo, values.node(), "active")
    yield "add_procedure", lambda: procedures.add_procedure(repo, world.text(), ["a", "b"])

    def vote() -> Any:
        answer = repo.retrieve(world.text(), viewer=ALL)
        return [Feedback(repo).vote(answer, item.id, 1, author="eve") for item in answer.items[:2]]

    yield "vote", vote
    yield "embed", lambda: repo.embed(Letters(), author="eve")


SUBJECTS: dict[str, Callable[[Repository, Values], Calls]] = {
    "Revision": _revision,
    "Notes": _notes,
    "Recording": _runs,
    "GraphMemory": _graph_memory,
    "recall": _recalled,
    "Conversations": _conversations,
    "Repository": _repository,
}


def work(child: Child, sources: dict[str, bytes], seed: str | None, case: Case | None) -> None:
    """Makes and asks the case of a seed, or asks one that was made."""
    os.environ.update(
        IBIDEM_AUTHOR="eve",
        SOURCE_DATE_EPOCH=str(CLOCK),
        HOME="/nonexistent",
        XDG_DATA_HOME="/nonexistent",
    )
    if Random(f"trust {seed or (case and case.seed)}").random() < 0.8:
        os.environ["IBIDEM_VIEWER"] = "all"
    with tempfile.TemporaryDirectory(dir=_quick()) as name:
        os.chdir(name)
        folder = Path(name)
        if case is None:
            assert seed is not None
            case = make(child, seed, sources, folder)
            if not case.changes:
                return
        ask(child, case, sources, folder)
        os.chdir("/")


def _quick() -> str | None:
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

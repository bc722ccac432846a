"""Small repositories with some of every feature, and what a program sees in them.

`python -m tests.compat.make FOLDER` writes them into a new folder: `NAME.tar.xz` is a repository as
it lies on the disk without its index, `NAME.car.xz` its full copy, `NAME.json` what is seen. They
are the same bytes each time. CONTRIBUTING.md says when `tests/compat/repos/` gets a folder.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import random
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from blake3 import blake3
from tests.fuzz import rich

import ibidem
from ibidem.objects.config import TRUST_SETTING
from ibidem.objects.errors import ReplayError
from ibidem.repo.opening import FOLDER
from ibidem.repo.repository import Repository
from ibidem.retrieve.access.policy import ALL, Viewer

KEY = bytes(range(32))
"""Seals receipts."""
SEALED = "retry the sealed queue"
CALLER = Viewer(level=2, scopes=("team",))
RUN = "agent"
NAMES = ("library", "memory", "runs", "erased", "answers")
_DERIVED = ("index", "embeddings")
_PACKED_OUT = ("lock.mdb", "lock", "stat-table")


def agent(session: Any) -> str:
    """Reads, asks, asks a tool and writes down what it said."""
    ask = session.tool("model", lambda texts: f"{len(texts)} texts")
    found = session.retrieve("retry", limit=3)
    said: str = ask([item.rendered for item in found.items])
    with session.transaction(author="agent", message="said") as tx:
        note = tx.add_node("Answer", summary=said, key="said")
        for item in found.items:
            tx.add_edge(note, "from", item.id)
    return f"{found.cid} {tx.commit.cid}"


def add_receipts(repo: Repository) -> None:
    """Keeps receipts of every kind of answer, one sealed."""
    asked = "retry queue"
    caller = {"viewer": CALLER} if TRUST_SETTING in repo.at().config.extra else {}
    for answer in (
        repo.retrieve(asked, where={"n": {"gte": 1}}, phrases=True, **caller),
        repo.retrieve(asked, mmr={"lambda": 0.5}, recency=True, as_of=rich.START * 10**6, **caller),
        repo.retrieve(label="Doc", as_of=rich.START * 1_000_000, limit=3, **caller),
        repo.packs(asked, token_budget=200, **caller),
        repo.retrieve(asked, graph={"mode": "decay"}, community={"hops": 2}, **caller),
        repo.retrieve(asked, importance="n", worth=True, feedback=True, direct=True, **caller),
        repo.packs(asked, expand="section", recency=True, as_of=rich.START * 10**6, **caller),
        repo.at().records(asked, as_of=rich.START * 10**6, hops=2, **caller),
        repo.at().records(min_salience=0.01, types=["Semantic"], **caller),
    ):
        assert answer.receipt is not None
        repo.receipts.keep(answer.receipt)
    sealed = repo.retrieve(SEALED, **caller).receipt
    assert sealed is not None
    repo.receipts.keep(sealed, key=KEY)


def answers(folder: Path) -> rich.Made:
    """Questions of several wordings, packs by every rule, conversations with a window, proposals
    that wait, summaries of communities, valid times of edges, and who asked what for."""
    made = rich.Made(folder)
    with made.opened() as repo:
        _write_answers(repo)
        repo.act_as("clerk", "track parcels")
        for answer in (
            repo.retrieve("late parcel", queries=["delayed package", {"text": "post"}]),
            repo.retrieve("late parcel", coverage_min=50, adjacency=2, metadata=True),
            repo.retrieve("parcel", sparse=("words", [1, 7], [1.0, 0.5]), include_tombstoned=True),
            repo.retrieve("parcel", created_after=rich.START * 1_000_000, label="Fact"),
            repo.retrieve("parcel", feedback={"up": 7, "lowest": -50}, as_of=rich.START * 10**6),
            repo.packs("parcel", dedupe="near", dedupe_percent=60),
            repo.packs("parcel", dedupe="property", dedupe_property="story"),
            repo.packs("parcel", dedupe="none"),
            repo.at().records("parcel", layered=True),
            repo.conversations.select("parcel", thread="post"),
            repo.context("parcel", thread="post", token_budget=200),
        ):
            assert answer.receipt is not None
            repo.receipts.keep(answer.receipt)
    return made


def _write_answers(repo: Repository) -> None:
    repo.conversations.append(
        "post",
        [
            {"role": "user", "content": "My name is Ada. I prefer tea over coffee."},
            {"role": "assistant", "content": "The parcel is late. " * 150},
            {"role": "user", "content": "Where is the parcel?"},
        ],
    )
    repo.conversations.propose_by_rules("post", 0, 2)
    with repo.transaction(message="parcels") as tx:
        ends = [
            tx.add_node(
                "Fact",
                summary=f"the parcel {number} of {town} is late",
                key=number,
                props={"story": town, "valid_from": rich.START * 10**6},
            )
            for number, town in enumerate(("Bern", "Thun", "Bern"))
        ]
        times = {"valid_from": rich.START * 10**6, "valid_to": (rich.START + 9) * 10**6}
        tx.add_edge(ends[0], "before", ends[1], props=times)
        tx.set_sparse(ends[0], vocab="words", indices=[1, 7], weights=[0.5, 0.25])
        tx.tombstone(ends[2], reason="arrived")
        tx.configure(thread_window=2)
    with repo.transaction(message="what it is about") as tx:
        tx.add_summaries(repo.at().communities())
    repo.set_ref("deploy/prod")
    repo.feedback.vote(repo.retrieve("parcel"), ends[0], -1, reason="late again", author="ada")
    repo.records.add(ibidem.Record("Semantic", "parcels arrive on Monday", scope="team"))


def seen(repo: Repository) -> dict[str, Any]:
    """Returns what the library says of a repository, as JSON has it."""
    state = repo.core.operation_log.state()
    at = repo.at()
    if TRUST_SETTING in at.config.extra:
        at = at.seen_by(ALL)
    nodes = list(at.nodes())
    heads = {**repo.branches(), **repo.tags()}
    commits = {commit.cid: commit for head in heads.values() for commit in repo.history.log(head)}
    receipts = {}
    for kept in repo.receipts.list():
        is_sealed = not hasattr(kept.receipt, "query")
        opened = {"text": SEALED, "key": KEY} if is_sealed else {}
        try:
            receipts[str(kept.cid)] = str(repo.receipts.replay(kept.cid, **opened).cid)
        except ReplayError as error:
            receipts[str(kept.cid)] = f"{error.kind}"
    runs = {}
    for summary in repo.runs.list():
        recording = repo.runs.open(summary.name)
        runs[summary.name] = recording.lines()
        if summary.name.startswith(f"{RUN}/"):
            with recording.replay() as session:
                runs[summary.name].append(agent(session))
    return {
        "view": str(state.view.cid),
        "heads": {name: str(cid) for name, cid in sorted(heads.items())},
        "roots": {str(cid): str(commit.root) for cid, commit in sorted(commits.items())},
        "signatures": {
            name: [f"{one.commit} {one.standing}" for one in repo.keys.verify(head)]
            for name, head in sorted(heads.items())
        },
        "nodes": len(nodes),
        "contents": blake3(b"".join(at.content(node.id) for node in nodes)).hexdigest(),
        "edges": [str(edge.id) for edge in at.edges()],
        "conflicts": [str(one.id) for one in repo.conflicts()],
        "erased": [str(one.node) for one in repo.maintenance.erasures()],
        "receipts": receipts,
        "runs": runs,
    }


def made(folder: Path) -> dict[str, rich.Made]:
    """Makes every repository in a folder, the same each time."""
    chance = random.Random("ibidem compat")
    system, os.urandom = os.urandom, chance.randbytes
    found = {}
    try:
        for name in NAMES:
            found[name] = {**rich.SOURCES, "answers": answers}[name](folder / name)
            with found[name].opened() as repo:
                if name not in ("erased", "answers"):
                    add_receipts(repo)
                if name == "runs":
                    with repo.runs.start(RUN) as run:
                        agent(run)
    finally:
        os.urandom = system
    return found


def packed(folder: Path) -> bytes:
    """Returns the files of a repository, without those that are derived, tell of another folder, or
    say who has it open."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder)
            if name.parts[0] in _DERIVED or name.name in _PACKED_OUT or name.suffix == ".lock":
                continue
            entry = tarfile.TarInfo(str(name))
            entry.size = path.stat().st_size
            with path.open("rb") as file:
                archive.addfile(entry, file)
    return buffer.getvalue()


def write(target: Path) -> None:
    """Writes everything into a folder that is not there yet."""
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as place:
        for name, one in made(Path(place)).items():
            with one.opened() as repo:
                said = json.dumps(seen(repo), indent=1, sort_keys=True) + "\n"
            (target / f"{name}.json").write_text(said, "ascii")
            files = {"tar": packed(one.folder / FOLDER), "car": one.exported("--full")}
            for suffix, data in files.items():
                (target / f"{name}.{suffix}.xz").write_bytes(lzma.compress(data, preset=9))


def unpacked(file: Path, folder: Path) -> Repository:
    """Returns the repository of a packed one, opened in a folder."""
    with tarfile.open(fileobj=io.BytesIO(lzma.decompress(file.read_bytes()))) as archive:
        archive.extraction_filter = getattr(tarfile, "data_filter", None)  # not before 3.11.4
        archive.extractall(folder / FOLDER)
    return ibidem.open(folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))

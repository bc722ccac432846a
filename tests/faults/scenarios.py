"""What a process is doing when it is killed: endless work that says what was acknowledged.

A scenario works on a repository in a folder until it is killed. `say(name)` comes after the call
returned: from then on the node with the key `name` must never be missing from the current branch;
`revoked:NAME` is a key that must stay revoked, and `remote:NAME` a remote that must stay known.
"""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path

import ibidem
from ibidem.repo.repository import Repository
from ibidem.repo.sync.remotes import RemoteAddress

Say = Callable[[str], None]
Scenario = Callable[[Path, random.Random, Say], None]


def commit(folder: Path, chance: random.Random, say: Say) -> None:
    """Commits of one to thirty nodes, some with content of several pages."""
    with ibidem.open(folder) as repo:
        while True:
            names = [_name(chance) for _ in range(chance.choice((1, 1, 2, 30)))]
            _add(repo, names, chance)
            for name in names:
                say(name)


def retrieve(folder: Path, chance: random.Random, say: Say) -> None:
    """Commits, each followed by a question, so that the index is written and merged as well."""
    with ibidem.open(folder) as repo:
        while True:
            name = _name(chance)
            _add(repo, [name], chance)
            say(name)
            assert [item.node.key for item in repo.retrieve(name).items] == [("", name)]


def merge(folder: Path, chance: random.Random, say: Say) -> None:
    """Two branches that both go on, merged."""
    with ibidem.open(folder) as repo:
        while True:
            ours, theirs, side = _name(chance), _name(chance), f"side-{_name(chance)}"
            _add(repo, [_name(chance)], chance)
            repo.branch(side)
            _add(repo, [theirs], chance, branch=side)
            _add(repo, [ours], chance)
            repo.merge(side)
            say(ours)
            say(theirs)
            repo.delete_branch(side)


def gc(folder: Path, chance: random.Random, say: Say) -> None:
    """Commits, branches that are dropped, and what they leave collected."""
    with ibidem.open(folder) as repo:
        while True:
            kept, side = _name(chance), f"side-{_name(chance)}"
            _add(repo, [kept], chance)
            say(kept)
            repo.branch(side)
            _add(repo, [_name(chance)], chance, branch=side)
            repo.delete_branch(side)
            repo.maintenance.gc()


def take(folder: Path, chance: random.Random, say: Say) -> None:
    """Bundles of a repository elsewhere, imported, which makes merges."""
    with ibidem.open(folder) as repo, ibidem.init() as elsewhere:
        while True:
            ours, theirs = _name(chance), _name(chance)
            _add(elsewhere, [theirs], chance)
            _add(repo, [ours], chance)
            stream = io.BytesIO()
            elsewhere.sync.export(stream)
            stream.seek(0)
            repo.sync.load(stream)
            say(ours)
            say(theirs)


def push(folder: Path, chance: random.Random, say: Say) -> None:
    """Commits in a copy, pushed here."""
    copy = folder / "copies" / _name(chance)
    copy.parent.mkdir(exist_ok=True)
    with ibidem.clone(folder, copy) as repo:
        while True:
            name = _name(chance)
            _add(repo, [name], chance)
            repo.sync.push()
            say(name)


def erase(folder: Path, chance: random.Random, say: Say) -> None:
    """Commits of two nodes, one of which is erased."""
    with ibidem.open(folder) as repo:
        while True:
            kept, gone = _name(chance), _name(chance)
            _add(repo, [kept], chance)
            with repo.transaction() as tx:
                node = tx.add_node("Doc", summary=f"gone {gone}", key=f"gone {gone}")
            repo.maintenance.erase([node], reason="test")
            say(kept)


def key(folder: Path, chance: random.Random, say: Say) -> None:
    """Keys that are made and revoked, and remotes that are added, with others that come and go."""
    with ibidem.open(folder) as repo:
        while True:
            name = f"k{_name(chance)}"
            repo.keys.ring.generate(name)
            repo.keys.revoke(name, reason="test")
            say(f"revoked:{name}")
            repo.sync.remotes.add(name, RemoteAddress("/somewhere"))
            say(f"remote:{name}")
            repo.sync.remotes.add(f"{name}-gone", RemoteAddress("/somewhere"))
            repo.sync.remotes.remove(f"{name}-gone")


def _name(chance: random.Random) -> str:
    return f"{chance.getrandbits(64):x}"


def _add(
    repo: Repository, names: list[str], chance: random.Random, *, branch: str | None = None
) -> None:
    with repo.transaction(author="ada", branch=branch) as tx:
        for name in names:
            content = bytes(chance.choice((0, 100, 9000)))
            tx.add_node("Doc", summary=f"retry {name}", content=content, key=name)


SCENARIOS: dict[str, Scenario] = {
    function.__name__: function
    for function in (commit, retrieve, merge, gc, take, push, erase, key)
}

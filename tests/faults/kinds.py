"""Kinds of work that are killed and disturbed, each with what must hold afterwards.

A kind makes a repository, works on it and tells of each change once it is acknowledged, and checks
later that all of them are there. The check speaks for somebody who comes next: it finishes what was
cut short in the way that the errors and the docs say, and repeats what was not acknowledged.

Only `import ibidem` and the methods of a repository are used, so that modules may move.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import ibidem
from ibidem.repo.repository import Repository

Say = Callable[[str], None]
STEPS = 6
"""Changes that one worker makes."""
SECRET = "SECRETSECRET"
PEOPLE = "people.json"
"""Beside the repository: which node says which secret."""


def is_typed(error: BaseException) -> bool:
    """Tells whether an error is one of ours, wherever its class is defined."""
    return any(one.__name__ == "IbidemError" for one in type(error).__mro__)


@dataclass(frozen=True)
class Kind:
    """One kind of work."""

    name: str
    make: Callable[[Path], None]
    """Makes the repository that every run begins with a copy of."""
    steps: Callable[[Path, Random, str], list[Callable[[], str]]]
    """Returns the changes of a worker of a name; each returns what it acknowledges."""
    check: Callable[[Path, list[str], bool], None]
    """Raises unless what was acknowledged is there; tells whether the worker was killed."""


class LostError(AssertionError):
    """Something that was acknowledged is not there."""


def present(said: list[str], found: set[str]) -> None:
    """Raises `LostError` unless everything that was said is found."""
    lost = [one for one in said if one not in found]
    if lost:
        raise LostError(f"acknowledged and lost: {lost[:5]}")


# erase


def _make_people(folder: Path) -> None:
    with ibidem.init(folder) as repo:
        for turn in range(3):
            with repo.transaction(author="ada", message=f"turn {turn}") as tx:
                for number in range(STEPS * 2):
                    one = tx.add_node(
                        "Person",
                        summary=f"{SECRET}-{number:02} version {turn}",
                        content=f"{SECRET}-{number:02} lives at {turn} "
                        * (200 if number == 1 else 1),
                        key=f"person {number}",
                        replace=True,
                    )
                    other = tx.add_node("Doc", summary=f"about {number}", key=f"doc {number}")
                    tx.add_edge(other, "about", one)
                    row = np.asarray([number, turn, 1, 2], np.float32)
                    tx.set_vector(one, model="letters", vector=row)
        repo.branch("side")
        result = repo.retrieve("lives at", vector=("letters", [1.0, 0.0, 0.0, 0.0]))
        assert result.receipt is not None
        repo.receipts.keep(result.receipt)
        ids = _ids(repo)
        repo.notes.space().reinforce(ids["person 0"], author="ada")
    numbers = {str(ids[f"person {number}"]): number for number in range(STEPS * 2)}
    (folder / PEOPLE).write_text(json.dumps(numbers))


def _ids(repo: Repository) -> dict[str, Any]:
    return {str(node.key[1]): node.id for node in repo.at("HEAD").nodes() if node.key is not None}


def _erase_steps(folder: Path, chance: Random, worker: str) -> list[Callable[[], str]]:
    repo = ibidem.open(folder)
    ids = _ids(repo)
    first = 0 if worker == "a" else STEPS

    def step(number: int) -> str:
        repo.maintenance.erase([ids[f"person {number}"]], reason="asked", author=worker)
        return str(ids[f"person {number}"])

    return [lambda number=number: step(number) for number in range(first, first + STEPS)]


def _check_erase(folder: Path, said: list[str], is_killed: bool) -> None:
    numbers = json.loads((folder / PEOPLE).read_text())
    with ibidem.open(folder) as repo:
        erased = {str(one.node): one.node for one in repo.maintenance.erasures()}
        present(said, set(erased))
    if left := _secrets(folder, [numbers[one] for one in said]):
        raise LostError(f"erased, and its text is still in {left}")
    with ibidem.open(folder) as repo:
        _next_commit(repo)
        kinds = {str(fault.kind) for fault in repo.maintenance.fsck().faults}
        assert kinds <= {"unfinished"}, f"fsck: {repo.maintenance.fsck().faults[:3]}"
        # What was begun, and not acknowledged, is finished by erasing it again.
        refused = ""
        for node in (erased[one] for one in sorted(erased.keys() - set(said))):
            try:
                repo.maintenance.erase([node], reason="again")
            except Exception as error:
                if not is_typed(error):
                    raise
                refused = f", which said {error}"
    left = _secrets(folder, [numbers[one] for one in erased])
    assert not left, f"erasing again{refused}, leaves the text in {left}"
    with ibidem.open(folder) as repo:
        _whole(repo)


def _secrets(folder: Path, numbers: list[int]) -> list[str]:
    """Returns the files that say the secrets of some numbers."""
    found = set()
    for path in (folder / ".ibidem").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            found |= {path.name for one in numbers if f"{SECRET}-{one:02} ".encode() in data}
    return sorted(found)


# key


def _make_keys(folder: Path) -> None:
    with ibidem.init(folder) as repo:
        for number in range(STEPS * 2):
            repo.keys.ring.generate(f"old-{number}")
        _seed(repo)


def _seed(repo: Repository) -> None:
    with repo.transaction(author="ada", message="seed") as tx:
        for number in range(5):
            tx.add_node("Doc", summary=f"retry {number}", key=f"seed {number}")


def _key_steps(folder: Path, chance: Random, worker: str) -> list[Callable[[], str]]:
    repo = ibidem.open(folder)
    first = 0 if worker == "a" else STEPS

    def generate(number: int) -> str:
        key = repo.keys.ring.generate(f"{worker}-{number}")
        return f"generated {worker}-{number} {key.public.hex()}"

    def revoke(number: int) -> str:
        repo.keys.revoke(f"old-{number}", reason="stolen")
        return f"revoked old-{number}"

    made: list[Callable[[], str]] = []
    for number in range(first, first + STEPS):
        made += [lambda number=number: generate(number), lambda number=number: revoke(number)]
    return made


def _check_key(folder: Path, said: list[str], is_killed: bool) -> None:
    with ibidem.open(folder) as repo:
        trust = repo.keys.ring.trust()
        names = repo.keys.ring.names()
        for one in said:
            what, name, *public = one.split()
            key = trust.keys.get(name)
            if key is None or (what == "generated" and key.public.hex() != public[0]):
                raise LostError(f"acknowledged and lost: {one}")
            if what == "revoked" and not key.is_revoked:
                raise LostError(f"acknowledged and lost: {one}")
            if what == "generated" and name not in names:
                raise LostError(f"the private key is lost: {one}")
        if not is_killed:
            orphans = [name for name in names if name not in trust.keys]
            assert not orphans, f"a failed generate has left private keys: {orphans}"
        _next_commit(repo, sign=False)
        repo.keys.ring.generate("after")
        done = {one.split()[1] for one in said}
        for name in (f"{worker}-{number}" for worker in "ab" for number in range(STEPS * 2)):
            if name not in trust.keys and name not in done:
                try:
                    repo.keys.ring.generate(name)
                except Exception as error:
                    raise AssertionError(f"generating {name} again fails: {error}") from error
        _whole(repo)
    _no_drafts(folder)


# remote


def _make_remotes(folder: Path) -> None:
    with ibidem.init(folder) as repo:
        _seed(repo)
        for number in range(STEPS * 2):
            repo.sync.remotes.add(f"old-{number}", _address(f"/nowhere/{number}"))


def _address(location: str) -> Any:
    from ibidem.repo.sync.remotes import RemoteAddress

    return RemoteAddress(location)


def _remote_steps(folder: Path, chance: Random, worker: str) -> list[Callable[[], str]]:
    repo = ibidem.open(folder)
    first = 0 if worker == "a" else STEPS

    def add(number: int) -> str:
        repo.sync.remotes.add(f"{worker}-{number}", _address(f"/nowhere/{worker}/{number}"))
        return f"added {worker}-{number}"

    def remove(number: int) -> str:
        repo.sync.remotes.remove(f"old-{number}")
        return f"removed old-{number}"

    made: list[Callable[[], str]] = []
    for number in range(first, first + STEPS):
        made += [lambda number=number: add(number), lambda number=number: remove(number)]
    return made


def _check_remote(folder: Path, said: list[str], is_killed: bool) -> None:
    with ibidem.open(folder) as repo:
        known = set(repo.sync.remotes.all())
        for one in said:
            what, name = one.split()
            if (name in known) is not (what == "added"):
                raise LostError(f"acknowledged and lost: {one}")
        _next_commit(repo)
        repo.sync.remotes.add("after", _address("/nowhere"))
        repo.sync.remotes.remove("after")
        _whole(repo)
    _no_drafts(folder)


# embed


class Letters:
    """An embedder that counts letters."""

    name, dim = "letters", 4
    digest = bytes(range(32))

    def embed(self, texts: Any) -> Any:
        """Returns a row for each text."""
        rows = [[text.count(letter) + 0.5 for letter in "etaq"] for text in texts]
        return np.asarray(rows, np.float32).reshape(len(texts), self.dim)


def _make_texts(folder: Path) -> None:
    with ibidem.init(folder) as repo, repo.transaction(author="ada", message="texts") as tx:
        for number in range(60):
            tx.add_node("Doc", summary=f"retry the queue {number}", key=f"text {number}")


def _embed_steps(folder: Path, chance: Random, worker: str) -> list[Callable[[], str]]:
    repo = ibidem.open(folder)

    def fill(number: int) -> str:
        report = repo.embed(Letters(), batch_nodes=13, author=worker)
        with repo.transaction(author=worker, message="more") as tx:
            for at in range(10):
                tx.add_node("Doc", summary=f"more {number} {at}", key=f"{worker} {number} {at}")
        assert tx.commit is not None
        repo.retrieve("retry", vector=("letters", [1.0, 0.5, 0.5, 0.5]))
        return " ".join(str(cid) for cid in (report.commit, tx.commit.cid) if cid)

    return [lambda number=number: fill(number) for number in range(STEPS)]


def _check_embed(folder: Path, said: list[str], is_killed: bool) -> None:
    with ibidem.open(folder) as repo:
        log = {str(commit.cid) for commit in repo.history.log()}
        present([cid for one in said for cid in one.split()], log)
        _next_commit(repo)
        repo.embed(Letters(), author="after")
        revision = repo.at("HEAD")
        bare = [node.id for node in revision.nodes() if revision.vector(node.id, "letters") is None]
        bare = [one for one in bare if revision.node(one).summary]
        assert not bare, f"embedding again leaves {len(bare)} nodes without a vector"
        _same_answers(repo, vector=("letters", [1.0, 0.5, 0.5, 0.5]))
        _whole(repo)


# merges of the index beside the commits

ROWS = 1100
"""Nodes in a commit: so many that parts are merged beside the commits, not within one."""


def _make_parts(folder: Path) -> None:
    with ibidem.init(folder) as repo:
        for turn in range(7):
            _add_rows(repo, f"base {turn}")
            repo.retrieve("retry", limit=3)


def _add_rows(repo: Repository, name: str) -> str:
    with repo.transaction(author="ada", message=name) as tx:
        for number in range(ROWS):
            tx.add_node("Row", summary=f"retry {name} {number}", key=f"{name} {number}")
    assert tx.commit is not None
    return str(tx.commit.cid)


def _merge_steps(folder: Path, chance: Random, worker: str) -> list[Callable[[], str]]:
    repo = ibidem.open(folder)
    # A process that ends soon does not begin merges; these small commits make it one that stays.
    for number in range(6):
        with repo.transaction(author=worker, message="small") as tx:
            tx.add_node("Row", summary=f"retry small {number}", key=f"{worker} small {number}")
        repo.retrieve("retry small", limit=2)

    def add(number: int) -> str:
        cid = _add_rows(repo, f"{worker} {number}")
        repo.retrieve(f"retry {number}", limit=3)
        return cid

    return [lambda number=number: add(number) for number in range(STEPS - 2)]


def _check_merge(folder: Path, said: list[str], is_killed: bool) -> None:
    with ibidem.open(folder) as repo:
        present(said, {str(commit.cid) for commit in repo.history.log()})
        _next_commit(repo)
        _same_answers(repo)
        _whole(repo)


# undo, redo and revert with tombstones


def _make_history(folder: Path) -> None:
    with ibidem.init(folder) as repo:
        for turn in range(4):
            with repo.transaction(author="ada", message=f"turn {turn}") as tx:
                for number in range(STEPS * 2):
                    key = f"doc {number}"
                    tx.add_node("Doc", summary=f"retry {turn} {number}", key=key, replace=True)
        repo.retrieve("retry")


def _undo_steps(folder: Path, chance: Random, worker: str) -> list[Callable[[], str]]:
    repo = ibidem.open(folder)
    ids = _ids(repo)
    first = 0 if worker == "a" else STEPS

    def newest() -> str:
        return str(next(iter(repo.history.operations())).cid)

    def tombstone(number: int) -> str:
        with repo.transaction(author=worker, message="forget") as tx:
            tx.tombstone(ids[f"doc {number}"], reason="wrong")
        return newest()

    def doing(name: str) -> str:
        if name == "revert":
            repo.revert("HEAD", author=worker)
        else:
            getattr(repo.history, name)(author=worker)
        return newest()

    made: list[Callable[[], str]] = []
    for number in range(first, first + STEPS):
        made.append(lambda number=number: tombstone(number))
        made += [lambda name=name: doing(name) for name in chance.choice(_UNDOING)]
    return made


_UNDOING = (("revert",), ("undo",), ("undo", "redo"), ("revert", "undo"), ())


def _check_undo(folder: Path, said: list[str], is_killed: bool) -> None:
    with ibidem.open(folder) as repo:
        present(said, {str(operation.cid) for operation in repo.history.operations()})
        _next_commit(repo)
        repo.history.undo()
        repo.history.redo()
        _same_answers(repo)
        _whole(repo)


# the log of receipts, as it becomes full and takes the place of the older one


LOG_BYTES = 16 << 20
"""About the size at which the log of receipts is full."""
DISTURBED_MAX = 2
"""Changes that one run disturbs by an error at most."""
TEXT_BYTES = 60_000
"""Of a long question, which a receipt holds."""


def _make_receipts(folder: Path) -> None:
    with ibidem.init(folder) as repo:
        _seed(repo)
        text = "words " * (TEXT_BYTES // 6)
        for number in range(LOG_BYTES // TEXT_BYTES):
            _ask(repo, f"{number} {text}")
            files = (folder / ".ibidem" / "receipts").iterdir()
            if max(path.stat().st_size for path in files) > LOG_BYTES - 4 * TEXT_BYTES:
                break  # the worker's next receipts make it full


def _ask(repo: Repository, text: str) -> str:
    receipt = repo.retrieve(f"retry {text}").receipt
    assert receipt is not None
    return str(receipt.cid)


def _receipt_steps(folder: Path, chance: Random, worker: str) -> list[Callable[[], str]]:
    repo = ibidem.open(folder)
    long = "words " * (TEXT_BYTES // 6)
    texts = [f"{worker} {number} {long if number % 2 else ''}" for number in range(STEPS * 4)]
    return [lambda text=text: _ask(repo, text) for text in texts]


def _check_receipts(folder: Path, said: list[str], is_killed: bool) -> None:
    with ibidem.open(folder) as repo:
        lost = [one for one in said if not _is_found(repo, one)]
        # An answer does not fail with its receipt: those whose write failed may be gone.
        if len(lost) > (0 if is_killed else DISTURBED_MAX):
            raise LostError(f"receipts acknowledged and lost: {len(lost)} of {len(said)}")
        _next_commit(repo)
        after = [_ask(repo, f"after {number}") for number in range(3)]
        gone = [one for one in after if not _is_found(repo, one)]
        assert not gone, "the log takes no more receipts"
        _whole(repo)


def _is_found(repo: Repository, receipt: str) -> bool:
    try:
        repo.receipts.find(receipt)
    except Exception as error:
        if not is_typed(error):
            raise
        return False
    return True


# What holds for every kind


def _next_commit(repo: Repository, *, sign: bool | None = None) -> None:
    with repo.transaction(author="eve", message="next", sign=sign) as tx:
        tx.add_node("After", unique=True)
    assert tx.commit is not None


def _whole(repo: Repository) -> None:
    faults = repo.maintenance.fsck().faults
    assert not faults, f"fsck: {faults[:3]}"


def _same_answers(repo: Repository, **options: Any) -> None:
    asked = repo.retrieve("retry more", limit=20, **options).to_bytes()
    repo.maintenance.reindex()
    again = repo.retrieve("retry more", limit=20, **options).to_bytes()
    assert asked == again, "the index answers otherwise than one that is built again"


def _no_drafts(folder: Path) -> None:
    """Nothing half-written is left for good: the next writer has had its turn."""
    names = [path.name for path in (folder / ".ibidem").rglob("*") if path.is_file()]
    left = [name for name in names if name.endswith(".new") or ".new." in name]
    assert not left, f"half-written files stay: {left}"


KINDS = {
    kind.name: kind
    for kind in (
        Kind("erase", _make_people, _erase_steps, _check_erase),
        Kind("key", _make_keys, _key_steps, _check_key),
        Kind("remote", _make_remotes, _remote_steps, _check_remote),
        Kind("embed", _make_texts, _embed_steps, _check_embed),
        Kind("index-merge", _make_parts, _merge_steps, _check_merge),
        Kind("undo", _make_history, _undo_steps, _check_undo),
        Kind("receipts", _make_receipts, _receipt_steps, _check_receipts),
    )
}

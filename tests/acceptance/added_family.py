"""Takes a third family of vectors through everything that a repository does.

Run as a program by `test_extending.py`, on a copy of the program that has the family.
"""

from __future__ import annotations

import json
import os
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.objects.cid import Cid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.vector import VECTORS

NAMES = ("one", "two", "three", "four")


def bits(name: str) -> bytes:
    """Returns 16 bytes that stand nowhere else."""
    return (f"<{name}>" * 16).encode()[:16]


def repo(*arguments: str, stdin: str | None = None, code: int = 0) -> dict[str, Any]:
    """Calls the program, which must end with `code`; returns what it prints."""
    result = CliRunner().invoke(cli, [*arguments, "--json"], input=stdin)
    assert result.exit_code == code, (arguments, result.output, result.exception)
    shown: dict[str, Any] = json.loads(result.stdout)
    return shown


def commit(*names: str, changed: str = "") -> None:
    """Commits a node with a vector for each name."""
    lines: list[dict[str, Any]] = []
    for name in names:
        encoded = b64encode(bits(changed or name)).decode()
        lines.append({"node": {"name": name, "ntype": "Doc", "summary": name, "key": name}})
        lines.append({"binary": {"node": name, "vocab": "v", "bits": encoded}})
    repo("add", "-", stdin="\n".join(map(json.dumps, lines)))
    repo("commit", "-m", "more")


def vector(name: str) -> Any:
    """Returns the vector of a node at the head."""
    cls: Any = VECTORS["binary"]
    with ibidem.open(Path.cwd()) as opened:
        return opened.at().graph.vector(cls, node_id("", name), "v")


def has(cid: Cid) -> bool:
    """Tells whether the store has a block."""
    with ibidem.open(Path.cwd()) as opened:
        return cid in set(opened.core.store.cids())


def is_stored(what: bytes) -> bool:
    """Tells whether a file of the repository holds some bytes."""
    files = (path for path in Path.cwd().rglob("*") if path.is_file())
    return any(what in path.read_bytes() for path in files)


def main(folder: Path) -> None:
    """Raises where the family is not treated as the others are."""
    work, copy = folder / "work", folder / "copy"
    work.mkdir()
    os.chdir(work)
    repo("init")
    commit("one", "two")
    assert vector("one").bits == bits("one")
    assert repo("index", "stats")["binary"] == {"v": 2}

    with ibidem.open(work) as opened:
        (segment,) = opened.at().snapshot().segments("binary", "v")
        assert sorted(segment.values()) == sorted(map(bits, ("one", "two")))
        assert not opened.core.search_index.current.verify(opened.at().root_cid)

    # Two branches, and one is merged into the other.
    repo("branch", "other")
    commit("three")
    repo("switch", "other")
    commit("four")
    repo("switch", "main")
    repo("merge", "other")
    assert [vector(name).bits for name in NAMES] == [bits(name) for name in NAMES]
    counts = repo("diff", "main~1", "main")["counts"]["binary"]
    assert counts == {"added": 1, "changed": 0, "removed": 0}

    # What only an old version has goes, and nothing else.
    old = vector("two").cid
    commit("two", changed="other")
    repo("branch", "other", "--delete")
    repo("history", "prune", "main")
    assert has(old)
    repo("gc", "--keep-operations", "1")
    assert not has(old)
    assert [vector(name).bits for name in ("one", "two")] == [bits("one"), bits("other")]
    repo("fsck")

    repo("clone", str(work), str(copy))
    os.chdir(copy)
    assert repo("index", "stats")["binary"] == {"v": 4}
    assert vector("three").bits == bits("three")
    repo("fsck")

    lost = vector("four").cid
    with ibidem.open(copy) as opened:
        opened.core.store.delete([lost])
    faults = repo("fsck", code=12)["faults"]
    assert ("missing", str(lost)) in {(fault["kind"], fault["cid"]) for fault in faults}, faults

    # A part of the graph has the vectors of its nodes.
    os.chdir(work)
    repo("export", str(folder / "part.car"), "--label", "Doc")
    repo("clone", str(folder / "part.car"), str(folder / "part"))
    os.chdir(folder / "part")
    assert repo("index", "stats")["binary"] == {"v": 4}

    os.chdir(work)
    assert is_stored(bits("one"))
    repo("erase", str(node_id("", "one")), "--yes")
    assert not is_stored(bits("one"))
    assert repo("index", "stats")["binary"] == {"v": 3}
    repo("fsck")

    # No vector without its node.
    with ibidem.open(work) as opened:
        with pytest.raises(InvalidInputError, match="binary vector of"), opened.transaction() as tx:
            cast("Any", tx).set_binary(node_id("", "absent"), vocab="v", bits=b"bits")
        with opened.transaction() as tx:
            tx.remove_node(node_id("", "two"))
    assert repo("index", "stats")["binary"] == {"v": 2}


if __name__ == "__main__":
    main(Path(sys.argv[1]))

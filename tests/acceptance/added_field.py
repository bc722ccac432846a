"""Takes two fields that nodes have got through everything that a repository does.

Run as a program by `test_extending.py`, on a copy of the program that has the fields.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.objects import codec
from ibidem.objects.cid import BlobCid
from ibidem.objects.derive import node_id
from ibidem.objects.errors import CorruptError, InvalidInputError
from ibidem.objects.links import links
from ibidem.objects.node import Node

SECRET = "a subtitle that nobody may read"
COVER = b"the bytes of a cover that nobody may see"
ID = node_id("", "k")


def repo(*arguments: str) -> dict[str, Any]:
    """Calls the program, which must succeed; returns what it prints."""
    result = CliRunner().invoke(cli, [*arguments, "--json"])
    assert result.exit_code == 0, (arguments, result.output, result.exception)
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def is_stored(what: bytes) -> bool:
    """Tells whether a file of the repository holds some bytes."""
    files = (path for path in Path.cwd().rglob("*") if path.is_file())
    return any(what in path.read_bytes() for path in files)


def main(folder: Path) -> None:
    """Raises where the fields are not treated as the others are."""
    make: Any = Node
    cover = BlobCid.of(COVER)
    node = make(ID, "Doc", key=("", "k"), subtitle=SECRET, cover=cover)
    fields = codec.decode(node.encode())
    assert (fields["subtitle"], fields["cover"]) == (SECRET, cover)
    assert Node.decode(node.encode()) == node
    assert list(links(node.encode())) == [cover]
    assert "subtitle" not in codec.decode(make(ID, "Doc", subtitle="").encode())
    wrong: Any
    for name, wrong in (("subtitle", 5), ("cover", ID)):
        with pytest.raises(InvalidInputError, match=f"node.{name}"):
            make(ID, "Doc", **{name: wrong})
    for name, wrong in (("subtitle", ""), ("subtitle", 5), ("cover", "text")):
        with pytest.raises(CorruptError, match=f"node.{name}"):
            Node.decode(codec.encode({**fields, name: wrong}))

    work, copy = folder / "work", folder / "copy"
    work.mkdir()
    os.chdir(work)
    repo("init")
    for said in ("", SECRET):
        with ibidem.open(work) as opened, opened.transaction() as tx:
            version = replace(node, subtitle=said)
            tx._add(version, {cover: COVER}, may_replace=True)
    shown = repo("show", str(ID))["value"]
    assert (shown["subtitle"], shown["cover"]) == (SECRET, str(cover))
    (change,) = repo("diff", "main~1", "main")["changes"]
    assert change["fields"] == ["subtitle"]
    (item,) = repo("retrieve", "subtitle nobody")["items"]
    assert item["id"] == str(ID)

    repo("gc", "--keep-operations", "1")
    repo("fsck")
    repo("clone", str(work), str(copy))
    os.chdir(copy)
    repo("fsck")
    assert is_stored(COVER)

    os.chdir(work)
    assert is_stored(COVER)
    assert is_stored(SECRET.encode())
    repo("erase", str(ID), "--yes")
    assert not is_stored(COVER)
    assert not is_stored(SECRET.encode())
    repo("fsck")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

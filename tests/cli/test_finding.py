"""What there is: the schema, raw blocks, what was fetched of a remote, the vectors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.objects.cid import Cid


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "first"
    path.mkdir()
    with ibidem.init(path, author="a") as repo, repo.transaction(author="a") as tx:
        ada = tx.add_node("Person", summary="Ada", props={"born": 1815, "tags": ["x"]}, key=1)
        tx.add_edge(ada, "knows", tx.add_node("Person", summary="Bob", key=2), key=1)
        tx.set_vector(ada, model="m", vector=[1.0, 0.0])
    return path


def run(folder: Path, *arguments: str, code: int = 0) -> bytes:
    result = CliRunner().invoke(
        cli, ["-R", str(folder), *arguments], env={"IBIDEM_AUTHOR": "a", "IBIDEM_VIEWER": ""}
    )
    assert result.exit_code == code, result.output
    return result.stdout_bytes


def asked(folder: Path, *arguments: str) -> Any:
    return json.loads(run(folder, *arguments, "--json"))


def test_the_schema_lists_types_and_properties(folder: Path) -> None:
    found = asked(folder, "query", "--schema")
    assert (found["labels"], found["edge_types"]) == ({"Person": 2}, {"knows": 1})
    assert [(one["name"], one["types"]) for one in found["properties"]] == [
        ("born", {"number": 1}),
        ("tags", {"text": 1}),
    ]
    assert b"born" in run(folder, "query", "--schema")
    run(folder, "query", "--schema", "--label", "Person", code=2)


def test_a_raw_block_is_the_bytes_of_its_cid(folder: Path) -> None:
    with ibidem.open(folder) as repo:
        [ada] = [node for node in repo.at().nodes() if node.summary == "Ada"]
        [edge] = repo.at().edges()
        commit = repo.commit_at()
    for name, cid in (
        *(("HEAD", commit.cid), (str(commit.root), commit.root)),
        *((str(ada.id), ada.cid), (str(ada.id)[:8], ada.cid), (str(edge.id), edge.cid)),
    ):
        block = run(folder, "show", name, "--raw")
        assert Cid.of(block).raw == cid.raw
    run(folder, "show", "HEAD", "--raw", "--json", code=2)
    run(folder, "show", "HEAD", "--raw", "--text", code=2)
    assert run(folder, "show", "ffff0000" * 4, "--raw", code=3) == b""


def test_remote_show_compares_without_contact(folder: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    run(folder, "clone", str(folder), str(second))
    [main] = asked(second, "remote", "show")["refs"]
    assert (main["name"], main["ahead_count"], main["behind_count"]) == ("heads/main", 0, 0)
    run(second, "config", "set", "limit", "3")
    run(folder, "config", "set", "limit", "4")
    run(second, "remote", "fetch")
    (folder / ".ibidem").rename(folder / "elsewhere")
    [main] = asked(second, "remote", "show", "origin")["refs"]
    assert (main["ahead_count"], main["behind_count"]) == (1, 1)
    assert b"1 ahead, 1 behind" in run(second, "remote", "show")
    run(second, "remote", "show", "nowhere", code=3)


def test_vectors_are_listed_by_model_and_by_node(folder: Path) -> None:
    [model] = asked(folder, "embed", "list")["models"]
    assert (model["name"], model["dim"], model["current_count"]) == ("m", 2, 1)
    assert model["missing_count"] == 1
    lines = run(folder, "embed", "list", "--model", "m").decode().splitlines()
    assert [line.split()[1] for line in lines] == ["missing", "current"]
    assert b"1 missing" in run(folder, "embed", "list")
    assert len(asked(folder, "embed", "list", "--model", "m")["models"][0]["nodes"]["current"]) == 1

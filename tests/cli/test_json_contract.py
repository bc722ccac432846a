"""Every command's --json is one canonical object, and docs/json.md has exactly its fields."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.cli.reference import commands
from ibidem.objects.derive import node_id
from ibidem.objects.ids import NodeId

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"
SHAPES = (
    "node",
    "edge",
    "commit",
    "location",
    "ingest",
    "cause",
    "copy",
    "conflict",
    "replanted",
    "citation",
    "message",
)
COUNTS = [
    f"{family}.{action}"
    for family in ("nodes", "edges", "vectors", "sparse", "tombstones")
    for action in ("added", "changed", "removed")
]
EMBEDDED = {
    "ingest": {"": "ingest"},
    "ibidem/add/1": {"": "ingest"},
    "ibidem/commit/1": {"commit": "commit", "ingested": "ingest"},
    "ibidem/status/1": {"staged": "counts", "conflicts[]": "conflict"},
    "ibidem/merge/1": {"counts": "counts", "commit": "commit", "conflicts[]": "conflict"},
    **{
        f"ibidem/{name}/1": {
            "": "replanted",
            "counts": "counts",
            "commits[]": "commit",
            "dropped[]": "commit",
            "conflicts[]": "conflict",
        }
        for name in ("rebase", "cherry-pick", "revert")
    },
    "ibidem/resolve/1": {"commit": "commit"},
    "ibidem/unstage/1": {"dropped": "counts"},
    "ibidem/log/1": {"commits[]": "commit"},
    "ibidem/show/1": {"value": "any"},
    "ibidem/get/1": {"node": "node", "location": "location", "edges[]": "edge"},
    "ibidem/query/1": {"nodes[]": "node"},
    "ibidem/diff/1": {"counts": "counts"},
    "ibidem/blame/1": {"lines[].commit": "commit"},
    "ibidem/bisect-run/1": {"suspects[]": "commit"},
    "ibidem/squash/1": {"commit": "commit"},
    "cause": {"commit": "commit", "changes[]": "change"},
    "ibidem/export/1": {"": "copy"},
    "ibidem/import/1": {"": "copy"},
    "ibidem/clone/1": {"": "copy"},
    "ibidem/fetch/1": {"": "copy"},
    "ibidem/pull/1": {"": "copy"},
    "ibidem/push/1": {"": "copy"},
    "ibidem/diff-query/1": {"causes[]": "cause"},
    "ibidem/bisect/1": {"first_bad": "commit", "cause": "cause"},
    "ibidem/prompt/1": {"citations[]": "citation"},
    "ibidem/thread-show/1": {"messages[]": "message"},
    "ibidem/thread-select/1": {"messages[]": "message"},
    "ibidem/retrieve/1": {"items[].location": "location"},
    "ibidem/recall/1": {"": "ibidem/retrieve/1", "items[].location": "location"},
}
"""Where a shape stands inside a command's object."""


def documented() -> dict[str, set[str]]:
    """Returns the paths of each table of the page, by shape or schema."""
    text = PAGE.read_text(encoding="utf-8")
    tables: dict[str, set[str]] = {"counts": set(COUNTS)}
    for match in re.finditer(
        r"^\| (\w+) \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.MULTILINE
    ):
        heading = re.findall(r"^### `([^`]+)`$", text[: match.start()], re.MULTILINE)
        name = match[1] if match[1] in SHAPES else heading[-1]
        tables[name] = set(re.findall(r"^\| `([^`]+)` \|", match[2], re.MULTILINE))
    changes = [path.partition("[].") for path in tables["ibidem/diff/1"]]
    return {**tables, "change": {field for whole, _, field in changes if whole == "changes"}}


def schemas() -> set[str]:
    return set(re.findall(r"^### `([^`]+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def allowed(schema: str) -> set[str]:
    tables = documented()
    paths = set(tables.get(schema, set()))
    for at, shape in EMBEDDED.get(schema, {}).items():
        deeper = set() if shape in ("any", schema) else allowed(shape)
        inner = {"{}"} if shape == "any" else tables[shape] | deeper
        paths |= {(f"{at}.{path}" if at else path).replace(".{}", "{}") for path in inner}
    return paths


def flattened(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flattened(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from flattened(inner, f"{path}[]")
    else:
        yield path


def is_documented(path: str, paths: set[str]) -> bool:
    if path in paths or any(
        known.startswith((f"{path}.", f"{path}[", f"{path}{{")) for known in paths
    ):
        return True
    return any(
        known.endswith("{}") and path.startswith((known[:-2] + ".", known[:-2] + "["))
        for known in paths
    )


RECORDS = b"""{"node": {"name": "a", "ntype": "Person", "key": "ada", "props": {"born": 1815}}}
{"node": {"name": "b", "ntype": "Engine", "summary": "Analytical engine", "key": 7}}
{"edge": {"source": "a", "etype": "described", "target": "b"}}
{"vector": {"node": "a", "model": "m", "values": [1, 0, 0]}}
not a record
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """What every command prints in one rich session, by schema."""
    folder = tmp_path_factory.mktemp("contract")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("IBIDEM_AUTHOR", "ada")
        patch.setenv("SOURCE_DATE_EPOCH", "1767225600")
        return _session(folder)


def _session(folder: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}

    def run(*arguments: str, code: int = 0, stdin: bytes = b"") -> dict[str, Any]:
        result = CliRunner().invoke(cli, [*arguments, "--json"], input=stdin, prog_name="repo")
        assert result.exit_code == code, f"{arguments}: {result.output}"
        line = result.stdout_bytes if code < 2 else result.stderr_bytes
        value = json.loads(line)
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert line == text.encode() + b"\n", f"{arguments}: not canonical"
        found.setdefault(value["schema"], []).append(value)
        assert isinstance(value, dict)
        return value

    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text(
        "\ufeff# Engines\n\nThe engine weaves patterns.\n\nIt has a mill.\n"
    )
    (folder / "notes" / ".env").write_text("TOKEN=1\n")
    lines = '{"node": {"ntype": "Note", "summary": "x"}}\nnot a record\n'
    (folder / "notes" / "bad.ndjson").write_text(lines)
    run("init")
    run("add", "-", code=1, stdin=RECORDS)
    run("status")
    run("add", "notes", code=1)
    run("commit", "notes", "-m", "first", code=1)
    run("commit", "-m", "nothing")
    one = run("node", "add", "Note", "--summary", "a mill and a store", "--prop", "tags=[1,2]")[
        "id"
    ]
    two = run("node", "add", "Note", "--summary", "cards", "--key", "cards")["id"]
    edge = run("edge", "add", one, "uses", two, "--prop", "how=often", "--key", "1")["id"]
    run("diff")
    commit = run("commit", "-m", "second")["commit"]["cid"]
    for name in ("HEAD", one, edge, commit):
        run("show", name)
    run("get", one)
    passage = run("query", "--label", "Passage")["nodes"][0]["id"]
    run("get", passage)
    run("get", run("query", "--label", "Document")["nodes"][0]["id"])
    run("query", "--where", "born>=1800")
    run("query", "--order-by", "-born", "--limit", "1", "--offset", "1")
    run("query", "--label", "Note", "--count")
    run("traverse", one, "--path", "out:uses")
    run("node", "add", "Note", "--key", "cards", "--prop", "count=2", "--replace")
    run("diff")
    run("unstage")
    run("edge", "remove", edge)
    run("node", "remove", one)
    run("node", "tombstone", two, "--reason", "no cards")
    run("node", "untombstone", two)
    run("unstage")
    run("diff", "main~1", "main")
    run("log")
    run("branch")
    run("branch", "experiment")
    run("switch", "experiment")
    run("branch", "-d", "main")
    run("undo")
    run("redo")
    run("undo")
    run("tag", "first", "--at", "main~1")
    run("tag")
    run("tag", "-d", "first")
    np.save(folder / "v.npy", np.array([1, 0, 0], np.float32))
    asked = run(
        *("retrieve", "the mill of the engine", "--vector", "m=v.npy", "--budget", "40"),
        *("--label", "Passage", "--label", "Note", "--label", "Person", "--label", "Nobody"),
    )
    run("replay", asked["receipt"])
    run("retrieve", "the mill of the engine", "--direct")
    _reads(run)
    recalled = run("recall", "the mill of the engine", "--direct", "--session", "s")
    run(
        "recall",
        "mill of nowhere here",
        "--expansion",
        "--label",
        "Passage",
        "--label",
        "Nobody",
        "--budget",
        "20",
    )
    best = recalled["items"][0]["id"]
    told = ("--receipt", recalled["receipt"])
    run("feedback", "vote", best, "--down", *told)
    run("feedback", "not-useful", one, "--session", "s")
    run("feedback", "outcome", best, "--failed")
    run("receipt", "keep", asked["receipt"])
    run("receipt", "list")
    run("receipt", "show", asked["receipt"])
    run("receipt", "drop", asked["receipt"])
    with ibidem.open(folder) as repository:
        for answer in ("yes", "no"):
            with repository.run("desk", agent="a") as recorded:
                recorded.retrieve("mill")
                recorded.event("model", "go on?", lambda answer=answer: answer)
    run("run", "list")
    run("run", "show", "desk")
    run("run", "replay", "desk")
    run("run", "diff", "desk/1", "desk/2")
    run("run", "export", "desk", "desk.car")
    run("run", "drop", "desk/1")
    run("diff", "--query", "a mill of the engine", "main~1", "main")
    run("bisect", "--query", "mill", "--expect", one, code=1)
    run("snapshot", "record", "mill.golden", "the mill of the engine")
    run("snapshot", "check", "mill.golden")
    better = ("--summary", "mill", "--key", "cards", "--prop", "count=2", "--replace")
    run("node", "add", "Note", *better)
    run("commit", "-m", "a better mill")
    expected = ("--expect", one, "--rank-max", "1", "--good", "HEAD~1", "--label", "Note")
    run("bisect", "--query", "mill", *expected)
    run("diff", "--query", "mill", "HEAD~1", "HEAD", "--limit", "1")
    run("snapshot", "check", "mill.golden", code=1)
    run("export", "all.car")
    run("import", "all.car")
    run("clone", "all.car", "copy")
    run("remote", "add", "copy", "copy")
    run("remote", "add", "old", "all.car")
    run("fetch", "copy")
    run("pull", "copy")
    run("push", "copy")
    run("remote", "remove", "old")
    run("remote", "list")
    _merges(run)
    run("blame", one)
    run("bisect", "run", "--good", "HEAD~1", "--", sys.executable, "-c", "raise SystemExit(1)")
    run("prune", "HEAD~2")
    run("squash", "HEAD~1", "-m", "folded")
    run("reindex")
    _keeps(run, folder)
    run("embed", "--dry-run")
    run("stats")
    run("doctor")
    run("demo")
    run("show", "nothing", code=3)
    run("nonsense", code=2)
    _records(run)
    return found


def _reads(run: Callable[..., dict[str, Any]]) -> None:
    """Packs, prompts and conversations."""
    budget = ("--budget", "5", "--around", "0", "--label", "Nobody", "--label", "Passage")
    run("packs", "the mill of the engine", "--vector", "m=v.npy", *budget)
    shown = run("packs", "the mill of the engine", "--expand", "section", "--spans")
    run("replay", shown["receipt"])
    run("prompt", "the mill of the engine", "--citations", "cited.json")
    line = {"role": "assistant", "text": "42", "id": "m", "tool_calls": ["c"], "expires_at": 2**60}
    answer = {"role": "tool", "text": "x", "tool_call_id": "c", "props": {"n": 1}}
    stdin = b"\n".join(json.dumps(one).encode() for one in (line, answer))
    run("thread", "append", "talk", "what is the answer")
    run("thread", "append", "talk", "--stdin", stdin=stdin)
    run("thread", "compact", "talk", "0", "0", "a question")
    run("thread", "show", "talk")
    run("thread", "show", "talk", "--raw")
    run("thread", "select", "talk", "42")
    run("thread", "list")
    run("thread", "clear", "talk", "--before", "1")


def _keeps(run: Callable[..., dict[str, Any]], folder: Path) -> None:
    """Signs, checks, collects and erases, with something in every field."""
    public = run("key", "generate", "ada")["public"]
    run("key", "trust", "bob", public[::-1], "--may-erase")
    run("key", "require", "heads/")
    run("key", "require")
    run("key", "require", "heads/")
    secret = run("node", "add", "Note", "--summary", "a secret of more than a few words")["id"]
    run("node", "add", "Note", "--summary", "I know a secret of more than a few words")
    run("commit", "-m", "secrets", "--sign", "ada")
    run("verify", code=1)
    run("key", "revoke", "ada", "--good", "HEAD", "--reason", "lost")
    run("key", "list")
    run("erase", secret, "--yes", "--reason", "asked", "--sign", "ada")
    run("key", "require")
    run("gc", "--keep-operations", "1")
    run("fsck")
    run("retrieve", "secret")
    segment = max((folder / ".ibidem" / "index").rglob("segments/*"))
    segment.write_bytes(segment.read_bytes()[:-1])
    run("fsck", code=1)
    run("fsck", "--repair")
    run("erase", "--finish")


def _merges(run: Callable[..., dict[str, Any]]) -> None:
    """Merges, makes commits again and settles conflicts, with something in every field."""

    def says(key: str, summary: str) -> str:
        made = run("node", "add", "Note", "--summary", summary, "--key", key, "--replace")
        assert isinstance(made["id"], str)
        return made["id"]

    run("branch", "trunk")
    run("switch", "trunk")
    hub, left, right = (says(key, f"was {key}") for key in ("hub", "left", "right"))
    says("gone", "was gone")
    run("commit", "-m", "base of the sides")
    run("branch", "side")
    says("left", "ours")
    run("commit", "-m", "ours")
    gone = node_id("", "gone")
    with ibidem.open(".") as repository, repository.transaction() as tx:
        tx.remove_node(NodeId.parse(right))
        tx.remove_node(gone)
    run("switch", "side")
    says("left", "theirs")
    says("right", "edited")
    run("edge", "add", hub, "uses", str(gone))
    run("commit", "-m", "theirs")
    says("other", "other")
    run("commit", "-m", "another thing")
    run("switch", "trunk")
    run("merge", "side", "--dry-run", code=1)
    run("cherry-pick", "side~1", code=1)
    run("undo")
    run("cherry-pick", "side")
    run("cherry-pick", "side")
    run("revert", "side")
    run("revert", "side")
    run("undo")
    run("merge", "side", code=1)
    run("status")
    run("resolve", left, "--theirs")
    run("resolve", right, "--value", "summary=settled")
    says("left", "since")
    run("commit", "-m", "since")
    run("revert", "HEAD~2", code=1)
    run("undo")
    run("switch", "side")
    says("left", "once more")
    run("commit", "-m", "once more")
    says("gift", "gift")
    run("commit", "-m", "gift")
    run("switch", "trunk")
    run("cherry-pick", "side")
    run("switch", "side")
    run("rebase", "trunk", code=1)


def _records(run: Any) -> None:
    """Records, what is said of them, and a trust policy at the end: it would stop the others."""
    name = ("--type", "Entity", "--name", "Ada")
    ada = run("memory", "add", "Ada", *name)["records"][0]
    skill = ("--type", "Competence", "--confidence", "0.9", "--from", "event=x")
    one = run("memory", "add", "pour tea for Ada", *skill, "--relate", f"for={ada}")["records"][0]
    run("memory", "salience", one)
    run("memory", "reinforce", one)
    run("memory", "penalize", one, "0.2")
    run("memory", "salience", one)
    run("memory", "graph", "tea for Ada")
    two = run("memory", "fork", one, "pour cocoa for Ada")["records"][0]
    run("memory", "contest", one, "--by", two)
    three = run("memory", "merge", "pour drinks", one, two)["records"][0]
    run(
        "memory",
        "retract",
        run("memory", "supersede", three, "pour", "--from", "event=y")["records"][0],
    )
    run("memory", "consolidate", "--dry-run")
    run("memory", "prune", "--dry-run")
    run("trust", "enable")
    run("trust", "show", "--trust", "low")
    run("retrieve", "engine", "--trust", "all")
    run("trust", "disable")


def test_every_command_that_prints_data_has_json():
    without = {
        path
        for path, command, _ in commands()
        if not hasattr(command, "commands") and not any("--json" in p.opts for p in command.params)
    }
    assert without == {"repo completion", "repo embed install", "repo serve"}


def test_the_session_covers_every_schema_of_the_page(seen: dict[str, list[dict[str, Any]]]):
    assert set(seen) == schemas()


def test_every_printed_field_is_documented(seen: dict[str, list[dict[str, Any]]]):
    for schema, values in seen.items():
        paths = allowed(schema)
        for value in values:
            body = {key: inner for key, inner in value.items() if key != "schema"}
            unknown = {path for path in flattened(body) if not is_documented(path, paths)}
            assert not unknown, f"{schema} prints what docs/json.md does not have"


def test_every_documented_field_is_printed(seen: dict[str, list[dict[str, Any]]]):
    printed = {
        schema: {path for value in values for path in flattened(value)}
        for schema, values in seen.items()
    }
    anywhere = {f"{path}." for paths in printed.values() for path in paths}
    tables = documented()
    for schema, paths in printed.items():
        for path in allowed(schema):
            stem = path.removesuffix("{}")
            if path in tables.get(schema, set()):
                found = any(p == stem or p.startswith((f"{stem}.", f"{stem}[")) for p in paths)
            else:  # of a shape that several commands print: one of them has to
                tail = stem.rpartition(".")[2]
                found = any(f"{tail}." in p or f"{tail}[" in p for p in anywhere)
            assert found, f"{schema}: docs/json.md has {path}, which nothing printed"

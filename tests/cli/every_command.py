"""Every command that prints JSON, called so that every field is filled in somewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.objects.derive import node_id
from ibidem.objects.ids import NodeId
from ibidem.retrieve.access.policy import ALL
from ibidem.serve.question import RETRIEVE
from ibidem.serve.read_log import ReadLog, Subject
from ibidem.serve.tokens import Tokens

RECORDS = b"""{"node": {"name": "a", "ntype": "Person", "key": "ada", "props": {"born": 1815}}}
{"node": {"name": "b", "ntype": "Engine", "summary": "Analytical engine", "key": 7}}
{"edge": {"source": "a", "etype": "described", "target": "b"}}
{"vector": {"node": "a", "model": "m", "values": [1, 0, 0]}}
not a record
"""

RFC_8032_KEY = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
"""The public key of the first example there; a key has to be a point that can sign."""


ENCODER = {"IBIDEM_SPARSE_URL": "http://127.0.0.1:9/embed_sparse"}
"""Nobody answers there, and a dry run does not ask."""


def session(folder: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}

    def run(
        *arguments: str, code: int = 0, stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> dict[str, Any]:
        line = [*arguments, "--json"]
        result = CliRunner(env={"XDG_CONFIG_HOME": str(folder / "config")}).invoke(
            cli, line, input=stdin, prog_name="repo", env=env
        )
        assert result.exit_code == code, f"{arguments}: {result.output}"
        printed = result.stdout_bytes if code < 2 else result.stderr_bytes
        value = json.loads(printed)
        text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert printed == text.encode() + b"\n", f"{arguments}: not canonical"
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
    run("init", "--name", "engines")
    run("config", "repos")
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
    for place in "123":
        run("node", "add", "Note", "--summary", f"the Long Mill {place}")
    run("diff")
    commit = run("commit", "-m", "second")["commit"]["cid"]
    run("retrieve", "store", "--graph", "ppr", "--graph-seeds", "1")
    run("node", "add", "Person", "--summary", "Ada", "--prop", "born=1815")
    run("commit", "-m", "a person")
    run("retrieve", "When was Ada born?")
    run("init", "other")
    run("node", "add", "Note", "--summary", "another mill", "--repo", "other")
    run("commit", "-m", "one", "--repo", "other")
    several = run("retrieve", "mill", "--with", "other", "--limit", "2")
    run("receipt", "show", several["receipt"])
    run("packs", "mill", "--with", "other", "--limit", "2")
    run("prompt", "mill", "--with", "other", "--limit", "2")
    run("memory", "add", "the mill turns", "--repo", "other")
    run("memory", "graph", "--with", "other")
    run("retrieve", "store nowhere", "--also", "mill", "--summary", "1", "--assess")
    run("packs", "the Long Mill", "--limit", "1", "--summary", "1", "--assess")
    run("packs", "mill nowhere", "--limit", "1", "--assess")
    for name in ("HEAD", one, edge, commit):
        run("show", name)
    run("show", one)
    passage = run("query", "--label", "Passage")["nodes"][0]["id"]
    run("show", passage)
    run("show", passage, "--around")
    run("show", run("show", passage, "--around")["above"][0], "--around")
    run("show", run("query", "--label", "Document")["nodes"][0]["id"])
    run("query", "--where", "born>=1800")
    run("query", "--label", "Nothing")
    run("query", "--label", "Nothing", "--count")
    run("query", "--order-by", "-born", "--limit", "1", "--offset", "1")
    run("query", "--label", "Note", "--count")
    run("query", "--schema")
    run("query", "--overview", "--budget", "300")
    run("query", "--newest", "created", "--updated-after", "2001-01-01")
    run("edge", "traverse", one, "--path", "out:uses")
    run("node", "add", "Note", "--key", "cards", "--prop", "count=2", "--replace")
    run("diff")
    run("undo", "--staged")
    run("edge", "remove", edge)
    run("node", "remove", one)
    run("node", "tombstone", two, "--reason", "no cards")
    run("node", "untombstone", two)
    run("undo", "--staged")
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
    run("tag", "--ref", "deploy/prod")
    run("tag", "--ref")
    run("tag", "--ref", "-d", "deploy/prod")
    np.save(folder / "v.npy", np.array([1, 0, 0], np.float32))
    asked = run(
        *("retrieve", "the mill of the engine", "--vector", "m=v.npy", "--budget", "40"),
        *("--label", "Passage", "--label", "Note", "--label", "Person", "--label", "Nobody"),
    )
    run("replay", asked["receipt"])
    run("retrieve", "the mill of the engine", "--direct")
    run("retrieve", "Long Mill")
    run("packs", "Long Mill")
    _reads(run)
    run("config", "set", "slow_milliseconds", "0")
    run("config", "set", "log_questions", "always")
    recalled = run("memory", "recall", "the mill of the engine", "--direct", "--session", "s")
    run("memory", "slow")
    run("memory", "list", "--repo", "other")
    run("config", "unset", "slow_milliseconds")
    run("config", "unset", "log_questions")
    run(
        "memory",
        "recall",
        "mill of nowhere here",
        "--label",
        "Passage",
        "--label",
        "Nobody",
        "--budget",
        "20",
    )
    best = recalled["items"][0]["id"]
    told = ("--receipt", recalled["receipt"])
    run("memory", "feedback", "vote", best, "--down", *told)
    run("memory", "feedback", "not-useful", one, "--session", "s")
    run("memory", "feedback", "outcome", best, "--failed")
    run("receipt", "keep", asked["receipt"])
    run("receipt", "list")
    run("receipt", "show", asked["receipt"])
    run("receipt", "drop", asked["receipt"])
    with ibidem.open(folder) as repository:
        for answer in ("yes", "no"):
            with repository.runs.start("desk", agent="a") as recorded:
                recorded.retrieve("mill")
                recorded.event("model", "go on?", lambda answer=answer: answer)
    run("run", "list")
    run("run", "show", "desk")
    run("run", "replay", "desk")
    run("run", "replay", "desk", "--at", "main")
    desk = "import time\ndef main(run):\n    run.tool('clock', time.time_ns)()\n"
    (folder / "desk.py").write_text(desk, encoding="utf-8")
    run("run", "record", "made", "desk.py:main")
    run("run", "fork", "made", "1", "desk.py:main")
    run("run", "replay", "made", "desk.py:main", "--mode", "live")
    run("run", "test", "made", "desk.py:main")
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
    for ntype, summary in (("Note", "a spindle"), ("Memo", "the spindle turns")):
        run("node", "add", ntype, "--summary", summary, "--key", "spindle", "--replace")
        run("commit", "-m", summary)
    run("diff", "--query", "spindle", "HEAD~1", "HEAD")
    run("snapshot", "check", "mill.golden", code=1)
    run("export", "all.car")
    run("import", "all.car")
    run("export", "graph.ndjson")
    stated = [
        {"node": {"ntype": "Note", "summary": "imported"}},
        {"edge": {"source": "0" * 32, "etype": "cites", "target": "1" * 32}},
    ]
    Path("stated.ndjson").write_text("\n".join(map(json.dumps, stated)), "utf-8")
    run("import", "stated.ndjson")
    run("clone", "all.car", "copy")
    run("remote", "add", "copy", "copy")
    run("remote", "add", "old", "all.car")
    run("remote", "fetch", "copy")
    run("pull", "copy")
    run("push", "copy")
    run("remote", "remove", "old")
    run("remote", "list")
    run("remote", "show", "copy")
    _merges(run)
    run("blame", one)
    run("bisect", "run", "--good", "HEAD~1", "--", sys.executable, "-c", "raise SystemExit(1)")
    run("history", "prune", "HEAD~2")
    run("history", "squash", "HEAD~1", "-m", "folded")
    run("index", "build")
    run("index", "list")
    run("index", "build", "--all")
    run("index", "drop", "main")
    run("index", "build", "main")
    run("index", "verify")
    run("index", "share", code=3)  # there is no key yet
    _keeps(run, folder)
    run("embed", "--dry-run")
    run("embed", "--sparse", "tei:splade", "--dry-run", env=ENCODER)
    run("embed", "list")
    run("embed", "list", "--model", run("embed", "list")["models"][0]["name"])
    run("index", "stats")
    for key, text in (("long", "word " * 1000), ("one", "mill"), ("two", "mill")):
        run("node", "add", "Note", "--summary", text, "--key", key)
    run("commit", "-m", "texts")
    run("index", "stats", "--texts")
    run("doctor")
    for _ in range(2):
        run("mcp", "integrate", "cursor", "--yes")
        run("mcp", "integrate", "cursor", "--remove", "--yes")
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
    rows = "\n".join(f"| {number} | a row |" for number in range(99))
    run(
        "node",
        "add",
        "Table",
        "--summary",
        f"| n | row |\n|---|---|\n{rows}\n| the last | quarry |",
    )
    run("commit", "-m", "a table")
    run("packs", "quarry", "--budget", "40")
    labels = ("--label", "Nobody", "--label", "Passage")
    run("prompt", "the mill of the engine", "--citations", "cited.json", *labels)
    line = {"role": "assistant", "text": "42", "id": "m", "tool_calls": ["c"], "expires_at": 2**60}
    answer = {"role": "tool", "text": "x", "tool_call_id": "c", "props": {"n": 1}}
    stdin = b"\n".join(json.dumps(one).encode() for one in (line, answer))
    run("thread", "append", "talk", "what is the answer")
    run("thread", "append", "talk", "--stdin", stdin=stdin)
    run("thread", "compact", "talk", "0", "0", "a question")
    run("thread", "extract", "talk", "0", "0", "--rules", "--user", "ada")
    run("thread", "extract", "talk", "0", "0", "Ada asks", "--made-by", "ada")
    run("undo", "--staged")
    run("thread", "show", "talk")
    run("thread", "show", "talk", "--raw")
    run("config", "set", "thread_window", "1")
    run("thread", "select", "talk", "42")
    run("thread", "append", "talk", "a word " * 400 + "and 42")
    run("thread", "select", "talk", "42")
    run("config", "unset", "thread_window")
    run("config", "set", "compact_recent", "1")
    run("thread", "compact", "--over", "9", "--dry-run")
    run("thread", "compact", "--over", "9")
    run("config", "set", "compact_over", "9")
    run("thread", "append", "talk", "one more")
    run("config", "unset", "compact_over")
    run("thread", "list")
    run("thread", "clear", "talk", "--before", "1")


def _asked(folder: Path) -> None:
    """A line as a server leaves it."""
    with ibidem.open(folder) as repo:
        subject, token = Subject(), Tokens(repo.core.folder).all()["reader"]
        result = repo.retrieve("mill", viewer=ALL)
        subject.root, subject.query = result.root, result.query
        ReadLog(repo.core.folder).append(token, RETRIEVE, time=1, result="ok", subject=subject)


def _keeps(run: Callable[..., dict[str, Any]], folder: Path) -> None:
    """Signs, checks, collects and erases, with something in every field."""
    run("trust", "token", "create", "reader", "--viewer", "low:east", "--expires", "30d")
    run("trust", "token", "create", "mirror", "--viewer", "all", "--scope", "write")
    run("trust", "token", "rotate", "reader", "--expires", "12h")
    run("trust", "token", "list")
    _asked(folder)
    run("trust", "token", "log", "--name", "reader")
    run("trust", "token", "revoke", "reader")
    run("key", "generate", "ada")
    run("key", "trust", "bob", RFC_8032_KEY, "--may-erase")
    run("key", "require", "heads/")
    run("key", "require")
    run("key", "require", "heads/")
    secret = run("node", "add", "Note", "--summary", "a secret of more than a few words")["id"]
    run("node", "add", "Note", "--summary", "I know a secret of more than a few words")
    run("commit", "-m", "secrets", "--sign", "ada")
    run("key", "verify", code=1)
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


def _files(run: Callable[..., dict[str, Any]]) -> None:
    """Changes, renames and deletes files, and leaves some behind the head."""
    folder = Path("pages")
    folder.mkdir()
    pages = [folder / f"{name}.md" for name in ("behind", "gone", "mine", "moved")]
    for page in pages:
        page.write_text(f"# {page.stem}\n\nfirst text of {page.stem}\n")
    behind, gone, mine, moved = pages
    run("commit", "pages", "-m", "pages")
    start = run("status")["branch"]
    run("branch", "files")
    run("switch", "files")
    for page in (behind, mine):
        page.write_text("# changed\n")
    run("commit", "pages", "-m", "changed there")
    for page in (behind, mine):
        page.write_text(f"# {page.stem}\n\nfirst text of {page.stem}\n")
    run("switch", start)
    run("status")
    run("merge", "files")
    mine.write_text("# mine\n")
    gone.unlink()
    moved.rename(folder / "elsewhere.md")
    (folder / "new.md").write_text("# new\n")
    (folder / "picture.png").write_bytes(b"\x00")
    (folder / "extra.md").write_text("# extra\n")
    run("add", str(folder / "extra.md"))
    (folder / "page.html").write_text("<p>page</p>")
    run("diff")
    (folder / "page.html").unlink()
    (folder / "extra.md").write_text("# extra changed\n")
    run("status")
    run("commit", "pages", "--ignore-removal", code=1)
    run("status")
    run("commit", "pages", code=1)
    run("checkout", "pages", code=1)
    run("checkout", "pages", "--force")
    run("mv", str(folder / "new.md"), str(folder / "newer.md"))
    run("rm", str(folder / "newer.md"))
    run("commit", "-m", "tidy")
    (folder / "page.html").write_text("<p>page</p>")
    run("commit", "pages", "-m", "a page")
    (folder / "page.html").unlink()
    run("checkout", "pages")
    run("rm", str(folder / "page.html"))
    run("switch", "-c", "texts")
    mine.write_text("# theirs\n")
    run("commit", "pages", "-m", "theirs")
    run("switch", start)
    mine.write_text("# ours\n")
    run("commit", "pages", "-m", "ours", "--overwrite")
    run("merge", "texts", code=1)
    run("status")
    run("resolve", str(mine), "--theirs")


def _merges(run: Callable[..., dict[str, Any]]) -> None:
    """Merges, makes commits again and settles conflicts, with something in every field."""

    def says(key: str, summary: str) -> str:
        made = run("node", "add", "Note", "--summary", summary, "--key", key, "--replace")
        assert isinstance(made["id"], str)
        return made["id"]

    _files(run)
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
    run("node", "tombstone", right)
    run("commit", "-m", "forgotten")
    run("revert", "HEAD")
    run("undo")
    run("switch", "side")
    says("left", "once more")
    run("commit", "-m", "once more")
    says("gift", "gift")
    run("commit", "-m", "gift")
    run("switch", "trunk")
    run("cherry-pick", "side")
    run("switch", "side")
    run("history", "rebase", "trunk", code=1)


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
    run("config", "set", "model", "m")
    run("memory", "graph", "tea for Ada", "--degrade")
    run("config", "unset", "model")
    two = run("memory", "fork", one, "pour cocoa for Ada")["records"][0]
    run("memory", "contest", one, "--by", two)
    three = run("memory", "merge", "pour drinks", one, two)["records"][0]
    run(
        "memory",
        "retract",
        run("memory", "supersede", three, "pour", "--from", "event=y")["records"][0],
    )
    fact = run("memory", "propose", "Ada", "prefers", "tea", "--from", "event=z")["records"][0]
    run("memory", "accept", fact)
    run("memory", "propose", "Ada", "prefers", "cocoa", "--from", "event=z")
    run("memory", "proposals")
    run("memory", "accept", "--sources-min", "1", "--dry-run")
    run("memory", "propose", "Ada", "knows", "Bob", "--from", "event=z")
    run("memory", "maintain", "--sources-min", "1", "--dry-run")
    run("memory", "consolidate", "--dry-run")
    run("memory", "prune", "--dry-run")
    run("trust", "enable", "--stubs", "deny")
    run("trust", "enable")
    run("trust", "show", "--viewer", "low")
    run("retrieve", "engine", "--viewer", "all")
    run("trust", "disable")
    run("config", "set", "depth", "50")
    run("config", "get", "depth")
    run("config", "list")
    run("config", "set", "limit", "9", "--local")
    run("config", "unset", "limit", "--local")
    run("config", "unset", "depth")

"""Text of strangers, wherever a repository can hold it, through every command that prints some.

Neither stream carries a control or an invisible character that is not the program's own, and no
text begins a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

import ibidem
from ibidem.cli.main import cli
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.graph import GraphMemory, Record
from ibidem.objects.child import Child
from ibidem.objects.printable import printable, printable_json
from ibidem.repo.repository import Repository

EVIL = "evil\x1b[5m\x1b]0;title\x07\rover\nforged: all is well\x9b2J\u202e\u2066\u200b\x7f"
EVIL += "\xad\u3164\U000e0041"
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\xad\u034f\u180b-\u180f\u3164\uffa0\U000e0000-\U000e0fff]"
)
OURS = re.compile(r"\x1b\[(?:0|1|2|3[1-3]|31;1|31m\x1b\[1)m")

NOTHING_OF_THE_REPOSITORY = {
    "cat",  # prints bytes on purpose; on a terminal as `get --text` does
    *(
        "completion",
        "demo",
        "mcp integrate",
        "mcp",
        "config repos",
        "config repos list",
        "config repos add",
        "config repos remove",
        "serve",
        "view",
        "key generate",
        "key trust",
        "key require",
        "key revoke",
    ),
    *(
        "thread clear",
        "gc",
        "index build",
        "index compact",
        "index drop",
        "index share",
        "index verify",
        "help",
        "doctor",
        "redo",
        "erase",
        "init",
        "embed install",
    ),
    *("run export", "export", "trust enable", "trust disable", "remote remove"),
    *(f"trust token {name}" for name in ("create", "list", "rotate", "revoke", "log")),
}
"""Commands that print names, counts and identifiers of this machine or program alone."""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A repository with the same text everywhere, in the working folder."""
    monkeypatch.chdir(tmp_path)
    with ibidem.init(tmp_path) as repo:
        found = _filled(repo)
    return {**found, "folder": tmp_path}


def _filled(repo: Repository) -> dict[str, Any]:
    said: dict[str, Any] = {"author": EVIL, "message": EVIL, "agent": EVIL, "task": EVIL}
    with repo.transaction(**said) as tx:
        part = tx.add_node("Section", summary=EVIL, key=[EVIL], namespace=EVIL, tail=EVIL)
        document = tx.add_node(
            "Document",
            summary=EVIL,
            props={"source": EVIL},
            children=[Child(part, EVIL, len(EVIL.encode()), 0)],
            tail=EVIL,
        )
        node = tx.add_node(
            f"Note{EVIL}",
            summary=f"evil words {EVIL}",
            context_sentence=EVIL,
            content=EVIL * 3,
            props={EVIL: EVIL, "list": [EVIL, {EVIL: EVIL}], "bytes": EVIL.encode()},
            key=[EVIL, {EVIL: 1}],
            namespace=EVIL,
        )
        plain = tx.add_node("Note", summary=f"plain evil {EVIL}", key="plain")
        edge = tx.add_edge(node, f"uses{EVIL}", plain, props={EVIL: EVIL}, key=EVIL)
        tx.set_vector(node, model=f"m{EVIL}", vector=[1.0, 0.0])
    with repo.transaction(**said) as tx:
        tx.update_node(plain, summary=f"changed evil {EVIL}")
    repo.branch("side", at="HEAD~1")
    with repo.transaction(**said, branch="side") as tx:
        tx.update_node(plain, summary=f"another evil {EVIL}", set_props={EVIL: EVIL})
    repo.branch("third", at="HEAD~1")
    with repo.transaction(**said, branch="third") as tx:
        hidden = tx.add_node("Hidden", summary=EVIL, key="hidden")
        tx.add_node("Third", summary=EVIL, key="third")
    with repo.transaction(**said) as tx:
        tx.add_node("Hidden", summary=EVIL, key="hidden")
        tx.tombstone(hidden, reason=EVIL)
    with repo.runs.start("nightly", agent=EVIL, task=EVIL, author=EVIL) as run:
        run.retrieve("evil words")
        run.event(EVIL, EVIL, lambda: EVIL)
        run.tool(EVIL, lambda *_: EVIL)(EVIL, {EVIL: EVIL})
        with run.transaction(**said) as tx:
            tx.add_node("Note", summary=EVIL, key="by the run")
    with pytest.raises(RuntimeError), repo.runs.start("nightly") as run:
        raise RuntimeError(EVIL)
    receipt = repo.retrieve(f"evil words {EVIL}").receipt
    assert receipt is not None
    kept = repo.receipts.keep(receipt)
    said_by = {"role": "user", "text": EVIL, "props": {EVIL: EVIL}}
    Conversations(repo, author=EVIL).append("talk", [said_by])
    facts = [Record("Semantic", f"evil fact {number} {EVIL}", "") for number in range(2)]
    record, other = GraphMemory(repo, author=EVIL).add(facts)
    _bad_run(repo)
    return {
        "node": str(node),
        "plain": str(plain),
        "part": str(part),
        "document": str(document),
        "edge": str(edge),
        "hidden": str(hidden),
        "receipt": str(kept),
        "record": str(record),
        "other": str(other),
    }


def _bad_run(repo: Repository) -> None:
    """A run with an action and a name that no recorder writes, and one that cannot be read."""
    from tests.repo.runs.test_shapes import chain, written

    tip, blocks = chain({"action": EVIL, "name": EVIL}, {"action": "end", "answer": {"value": 1}})
    written(repo, "runs/odd/1", tip, blocks)
    tip, blocks = chain({"action": "begin", "request": {EVIL: EVIL}})
    written(repo, "runs/bad/1", tip, blocks)


CALLS: dict[str, list[str]] = {
    "retrieve": [
        "retrieve evil --explain",
        "retrieve evil --vector nothing=v.npy",
        "retrieve forged",
    ],
    "packs": ["packs evil --explain", "packs evil --expand section --spans"],
    "prompt": ["prompt evil"],
    "memory recall": [
        "memory recall evil --disclosure raw",
        "memory recall evil --direct --session s",
    ],
    "memory feedback vote": ["memory feedback vote {plain} --down --receipt {receipt}"],
    "memory feedback not-useful": ["memory feedback not-useful {plain} --receipt {receipt}"],
    "memory feedback outcome": ["memory feedback outcome {plain} --failed"],
    "embed list": ["embed list", "embed list --model minilm"],
    "embed": ["embed --dry-run --model minilm", "embed --dry-run --model x"],
    "query": ["query", "query --label Note --order-by list", "query --count"],
    "show": [
        *("show", "show {node}", "show {document}", "show {part}", "show {hidden}"),
        *("show {edge}", "show side", "show {receipt}"),
    ],
    "edge traverse": [
        "edge traverse {node} --path out:*",
        "edge traverse {node} --path out:nothing",
    ],
    "index list": ["index list"],
    "index stats": ["index stats"],
    "thread list": ["thread list"],
    "thread show": ["thread show talk", "thread show talk --raw"],
    "thread append": ["thread append talk more"],
    "thread select": ["thread select talk evil"],
    "thread compact": ["thread compact talk 0 0 short"],
    "thread extract": ["thread extract talk 0 0 fact --made-by evil"],
    "memory add": ["memory add more"],
    "memory salience": ["memory salience {record}"],
    "memory reinforce": ["memory reinforce {record}"],
    "memory penalize": ["memory penalize {record} 0.1"],
    "memory graph": ["memory graph evil", "memory graph"],
    "memory fork": ["memory fork {record} other"],
    "memory merge": ["memory merge both {record} {other}"],
    "memory contest": ["memory contest {other}"],
    "memory supersede": ["memory supersede {record} better --from event=x"],
    "memory retract": ["memory retract {other}"],
    "memory maintain": ["memory maintain --dry-run"],
    "memory slow": ["memory slow"],
    "memory propose": ["memory propose a b c"],
    "memory proposals": ["memory proposals"],
    "memory list": ["memory list", "memory list --type Entity"],
    "memory accept": ["memory accept --sources-min 0"],
    "memory consolidate": ["memory consolidate --dry-run"],
    "memory prune": ["memory prune --dry-run"],
    "trust show": ["trust show"],
    "config": ["config"],
    "config list": ["config list"],
    "config get": ["config get limit"],
    "config set": ["config set author evil"],
    "config unset": ["config unset author"],
    "replay": ["replay {receipt} --show"],
    "receipt keep": ["receipt keep {receipt}"],
    "receipt list": ["receipt list"],
    "receipt show": ["receipt show {receipt}"],
    "receipt drop": ["receipt drop {receipt}"],
    "run list": ["run list"],
    "run show": ["run show nightly/1", "run show nightly/2", "run show odd", "run show bad"],
    "run replay": ["run replay nightly/1", "run replay odd", "run replay bad"],
    "run diff": ["run diff nightly/1 nightly/2", "run diff nightly/1 odd", "run diff odd bad"],
    "run drop": ["run drop odd"],
    "run record": ["run record evil evil.py:main"],
    "run fork": ["run fork nightly/1 1 evil.py:main"],
    "run test": ["run test nightly", "run test odd", "run test bad"],
    "snapshot record": ["snapshot record evil.golden evil"],
    "snapshot check": ["snapshot check evil.golden"],
    "log": ["log", "log --oneline", "log --graph"],
    "diff": ["diff HEAD~1 HEAD", "diff main side", "diff --query evil HEAD~3 HEAD"],
    "blame": ["blame {node}", "blame {plain}"],
    "bisect": ["bisect --query evil --expect {plain} --good HEAD~1"],
    "bisect run": ["bisect run --good HEAD~1 -- false"],
    "branch": ["branch", "branch new"],
    "tag": ["tag", "tag new"],
    "merge": ["merge side --dry-run", "merge side", "status"],
    "resolve": ["resolve {plain} --value summary=done", "undo", "resolve {plain} --theirs"],
    "cherry-pick": ["cherry-pick third"],
    "revert": ["revert HEAD", "log"],
    "undo": ["undo", "undo --staged"],
    "switch": ["switch third"],
    "history rebase": ["history rebase main", "switch main"],
    "history squash": ["history squash HEAD~1"],
    "history prune": ["history prune HEAD~1"],
    "clone": ["clone . copy"],
    "remote add": ["remote add copy copy"],
    "remote list": ["remote list"],
    "remote show": ["remote show copy"],
    "remote fetch": ["remote fetch copy"],
    "pull": ["pull copy"],
    "push": ["push copy"],
    "import": ["import nothing.car", "import bad.ndjson"],
    "fsck": ["fsck"],
    "key verify": ["key verify HEAD"],
    "key list": ["key list"],
    "add": ["add bad.ndjson", "undo --staged"],
    "commit": ["commit bad.ndjson -m more"],
    "node add": ["node add Note --summary more --key more", "status", "undo --staged"],
    "node remove": ["node remove {part}", "status", "diff", "undo --staged"],
    "node tombstone": ["node tombstone {part} --reason why", "undo --staged"],
    "node untombstone": ["node untombstone {hidden}", "status", "undo --staged"],
    "edge add": ["edge add {node} uses {part}", "diff"],
    "edge remove": ["edge remove {edge}", "status", "diff"],
    "checkout": ["checkout .", "checkout {folder}"],
    "mv": ["mv a.md b.md"],
    "rm": ["rm a.md"],
    "status": ["status"],
}
"""By command, what to call it with, in the order in which the state allows it."""


def _leaves(group: click.Group, above: str = "") -> Iterator[str]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        path = f"{above}{name}"
        if isinstance(command, click.Group):
            if command.invoke_without_command:
                yield path
            yield from _leaves(command, f"{path} ")
        else:
            yield path


def test_every_command_is_called_or_prints_nothing_of_the_repository():
    assert isinstance(cli, click.Group)
    missing = set(_leaves(cli)) - CALLS.keys() - NOTHING_OF_THE_REPOSITORY
    assert not missing, f"call {sorted(missing)} in CALLS, or say that they print nothing of a user"


@pytest.mark.parametrize("is_json", [False, True], ids=["text", "json"])
def test_no_command_sends_what_a_repository_says_to_the_terminal_as_it_is(
    world: dict[str, Any], is_json: bool
):
    bad = '{"node": {"ntype": "N", "summary": 5, "\\u001b[5m\\nforged: x": 1}}\n'
    (world["folder"] / "bad.ndjson").write_text(bad)
    shown = 0
    for command, calls in CALLS.items():
        for call in calls:
            arguments = call.format(**world).split()
            more = ["--json"] if is_json else ["--color", "always"]
            result = CliRunner().invoke(
                cli, [*arguments, *more], prog_name="repo", color=True, input=""
            )
            assert result.exception is None or isinstance(result.exception, SystemExit), call
            assert result.exit_code in (0, 1, 2, 3, 11, 12, 13), f"{call}: {result.output}"
            for stream in (result.stdout, result.stderr):
                plain = stream if is_json else OURS.sub("", stream)
                assert not RAW.search(plain), f"{call}: {RAW.search(plain)}: {plain!r:.2000}"
                shown += "evil" in plain
                if command != "prompt":
                    lines = plain.split("\n")
                    assert not any(line.startswith("forged") for line in lines), f"{call}: {plain}"
    assert shown > 40


def test_an_error_with_several_lines_begins_none_that_could_be_ours(
    capsys: pytest.CaptureFixture[str],
):
    from ibidem.cli.render import output

    output.print_error(f"node x: {EVIL}", EVIL, color=False)
    first, second, hint, end = capsys.readouterr().err.split("\n")
    assert first.startswith("error: node x: evil\\x1b")
    assert second.startswith("  forged")
    assert hint.startswith("hint: evil")
    assert end == ""


def test_json_spells_what_a_terminal_would_act_on_as_escapes():
    text = json.dumps({EVIL: EVIL}, ensure_ascii=False)
    safe = printable_json(text)
    assert not RAW.search(safe)
    assert json.loads(safe) == {EVIL: EVIL}
    assert "\\u009b" in safe
    assert "\\u202e" in safe
    assert "\\udb40\\udc41" in safe
    assert printable("\x9b\u202e\U000e0041") == "\\x9b\\u202e\\U000e0041"


def test_every_character_that_unicode_ignores_is_escaped_but_for_the_forms_of_pictographs():
    ignored = (
        *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        *range(0xFE00, 0xFE0E),
        *range(0xFFF0, 0xFFF9),
        *range(0x1BCA0, 0x1BCA4),
        *range(0x1D173, 0x1D17B),
        *range(0xE0000, 0xE1000),
    )
    assert [point for point in ignored if chr(point) in printable(chr(point))] == []
    for shown in ("\u2764\ufe0f", "\u2764\ufe0e", "水車小屋", "e\u0301", "\u00a0"):
        assert printable(shown) == shown


def test_what_is_said_is_escaped_without_anybody_remembering(capsys: pytest.CaptureFixture[str]):
    from ibidem.cli.render import output

    output.say(f"{output.good('same')}: {EVIL}")
    output.note(EVIL)
    output.say(*output.table([(EVIL, output.strong("x")), ("b", "y")]))
    found = capsys.readouterr()
    assert not RAW.search(found.out)
    assert not RAW.search(found.err)
    assert len(found.err.splitlines()) == 1
    assert len(found.out.splitlines()) == 3

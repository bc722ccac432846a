"""Questions with symbols: the engine is compared with the oracle, and says what it should."""

from __future__ import annotations

import random

import dag_cbor
import pytest
from tests.cases import by_suite

import ibidem
from ibidem.index.index import Index
from ibidem.objects.config import Config
from ibidem.objects.node import Node
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import Query, resolve

from .all_layouts import equal_in_all_layouts
from .oracle import World, answer
from .symbol_world import CODE, SIGNED


@pytest.mark.parametrize("block", by_suite(range(16), fast=2, slow=6))
@pytest.mark.parametrize("world", [SIGNED, CODE], ids=["signs", "code"])
def test_questions_with_symbols_equal_the_oracle(world, block):
    """[4.1.7-a] [4.1.7-b] [4.1.7-c]"""
    asked = [
        query.match.code if world is CODE else query.match.symbols
        for seed in range(block * 5, block * 5 + 5)
        for query in equal_in_all_layouts(seed, world.facts, world.reworded, world.options)
    ]
    assert sum(asked) > 5


def notes(*texts):
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        for number, text in enumerate(texts):
            tx.add_node("Note", summary=text, key=str(number))
    return repo


def keys(answer):
    return [item.node.key[1] for item in answer.items]


def test_an_operator_is_found_by_its_signs_and_by_its_name():
    repo = notes("the value of a := b is b", "a // b rounds down", "the prefix has no final `/`")
    assert keys(repo.retrieve(":=")) == ["0"]
    assert keys(repo.retrieve("what does // do?")) == ["1"]
    assert set(keys(repo.retrieve("two slashes"))) == {"1", "2"}
    assert keys(repo.retrieve("walrus")) == ["0"]


def test_languages_that_differ_by_a_sign_are_told_apart():
    repo = notes("C is small", "C++ has templates", "C# has delegates")
    assert keys(repo.retrieve("what is C++"))[0] == "1"
    assert keys(repo.retrieve("what is C#"))[0] == "2"
    assert keys(repo.retrieve("csharp"))[0] == "2"


def test_an_option_is_found_by_its_name():
    repo = notes(
        "All about branches.",
        "--all\nList the branches there are everywhere.",
        "-d Delete a branch.",
        "-D Delete a branch, even if it was not merged.",
        "Delete all: a branch goes, no verifying.",
        "--[no-]verify Run the hooks.",
    )
    assert keys(repo.retrieve("what does --all mean"))[0] == "1"
    assert keys(repo.retrieve("branch -d"))[0] == "2"
    assert keys(repo.retrieve("branch -D"))[0] == "3"
    assert keys(repo.retrieve("what is --no-verify for"))[0] == "5"


def test_an_option_is_found_by_a_heading_that_is_its_name():
    repo = notes("no-save", "Use --no-save, or --no-save later.", "saves no one", "`dry-run`")
    assert set(keys(repo.retrieve("--no-save"))[:2]) == {"0", "1"}
    assert keys(repo.retrieve("what does --dry-run do")) == ["3"]
    assert keys(repo.retrieve("no-save"))[0] == "0"


def test_a_keyword_is_found_though_it_is_a_stop_word():
    repo = notes(
        "A loop with a statement in it, and with an operator.",
        "The `with` statement closes a file.",
        "ON DELETE CASCADE, or on its own ON, says what is deleted.",
        "delete, for what it is worth, deletes.",
    )
    assert keys(repo.retrieve("How does the with statement work?"))[0] == "1"
    assert keys(repo.retrieve("what does `with` do")) == ["1"]
    assert keys(repo.retrieve("ON DELETE"))[0] == "2"
    assert keys(repo.retrieve("on delete"))[0] == "3"


def test_a_name_in_parts_is_found_before_its_words():
    repo = notes(
        "The default of push, when nothing is pushed by default.",
        "push.default says what is pushed.",
        "To push by default is the default.",
    )
    assert keys(repo.retrieve("What is Push.Default?"))[0] == "1"
    assert keys(repo.retrieve("push default"))[0] != "1"


def test_a_question_without_symbols_is_written_as_before_them():
    """[4.1.7-a] [4.1.7-c]"""
    assert "code" not in resolve(Config(), text="- why, e.g.?").form()["match"]
    assert resolve(Config(), text="why --all?").form()["match"]["code"] is True
    assert resolve(Config(), text="why", queries=["push.default"]).match.code
    assert not resolve(Config(), text="why --all?").match.symbols
    assert "symbols" not in resolve(Config(), text="why - or how?").form()["match"]
    assert resolve(Config(), text="why `-`?").form()["match"]["symbols"] is True
    assert resolve(Config(), text="why", queries=["a // b"]).match.symbols


@pytest.mark.parametrize(
    ("world", "text", "part"),
    [(SIGNED, "queue asterisk", "symbols"), (CODE, "queue --all", "code")],
)
def test_a_question_of_before_symbols_is_answered_as_it_was(world, text, part):
    """[4.1.7-a] [4.1.7-c]"""
    facts = world.facts(random.Random(5))
    form = resolve(facts.config, text=text).form()
    new = answer(World(facts.buffer, facts.root), form)
    del form["match"][part]
    old = answer(World(facts.buffer, facts.root), form)
    nodes = NodeSource(lambda cid: Node.decode(facts.buffer.get(cid)), facts.content)
    snapshot = Index(None, facts.buffer).build(facts.root)
    assert execute(snapshot, Query.from_form(form), nodes).to_bytes() == old
    assert dag_cbor.decode(old)["items"] != dag_cbor.decode(new)["items"]


def test_a_pack_marks_symbols_and_shows_the_part_that_has_them():
    lines = [f"Line {number} is about nothing in particular." for number in range(60)]
    lines[40] = "Here a // b rounds down."
    repo = notes("\n".join(lines))
    pack = repo.packs("two slashes", spans=True).items[0]
    ((start, stop),) = pack.hits[0].spans
    assert "\n".join(lines)[start:stop] == "//"
    cut = repo.packs("two slashes", overflow="excerpt", token_budget=100).items[0]
    assert "rounds down" in cut.text


def test_a_pack_marks_words_of_code():
    repo = notes("Give --[no-]verify, or set push.default to nothing.")
    ((hit,),) = [pack.hits for pack in repo.packs("--no-verify", spans=True).items]
    text = repo.packs("--no-verify").items[0].text
    assert "--[no-]verify" in {text[start:stop] for start, stop in hit.spans}


def test_symbols_are_never_required():
    """[4.1.7-b]"""
    repo = notes("verify the branch", "--no-verify: a branch")
    assert keys(repo.retrieve("--no-verify branch", operator="and")) == ["1", "0"]
    repo = notes("division rounds down", "division: a // b", "a // b")
    assert set(keys(repo.retrieve("slash division", operator="and"))) == set()
    assert keys(repo.retrieve("// division", operator="and")) == ["1", "0"]

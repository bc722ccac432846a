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
from .symbol_world import random_symbol_options, signed, signed_facts


@pytest.mark.parametrize("block", by_suite(range(16), fast=2, slow=16))
def test_questions_with_symbols_equal_the_oracle(block):
    """[4.1.7-a] [4.1.7-b]"""
    asked = [
        query.match.symbols
        for seed in range(block * 5, block * 5 + 5)
        for query in equal_in_all_layouts(seed, signed_facts, signed, random_symbol_options)
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


def test_a_question_without_symbols_is_written_as_before_them():
    """[4.1.7-a]"""
    assert "symbols" not in resolve(Config(), text="why - or how?").form()["match"]
    assert resolve(Config(), text="why `-`?").form()["match"]["symbols"] is True
    assert resolve(Config(), text="why", queries=["a // b"]).match.symbols


def test_a_question_of_before_symbols_is_answered_as_it_was():
    """[4.1.7-a]"""
    rng = random.Random(5)
    facts = signed_facts(rng)
    form = resolve(facts.config, text="queue asterisk").form()
    new = answer(World(facts.buffer, facts.root), form)
    del form["match"]["symbols"]
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


def test_symbols_are_never_required():
    """[4.1.7-b]"""
    repo = notes("division rounds down", "division: a // b", "a // b")
    assert set(keys(repo.retrieve("slash division", operator="and"))) == set()
    assert keys(repo.retrieve("// division", operator="and")) == ["1", "0"]

"""Nodes with a home analyser of their own: the engine is compared with the oracle."""

from __future__ import annotations

import random
from dataclasses import replace

import dag_cbor
import pytest
from tests.cases import by_suite

import ibidem
from ibidem.index.analysis import HOME
from ibidem.objects.node import Node
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.pipeline import execute
from ibidem.retrieve.query.query import resolve

from .all_layouts import equal_in_all_layouts
from .home_world import (
    WORDS,
    few_facts,
    home_facts,
    random_home_options,
    rehomed,
    rehomed_few,
)
from .oracle import World, answer
from .worker_world import random_workers
from .world import finish


@pytest.mark.parametrize("block", by_suite(range(16), fast=2, slow=6))
def test_questions_to_nodes_with_homes_equal_the_oracle(block):
    """[7-a]"""
    for seed in range(block * 5, block * 5 + 5):
        equal_in_all_layouts(seed, home_facts, rehomed, random_home_options)


def long_options(rng):
    """Returns options with a long text of words with a letter too many or too few, and of others
    that are not looked at."""
    words = []
    for word in (*WORDS * 2, "logError", "sehrlangesWort" * 2):
        at, more = rng.randrange(len(word)), rng.choice(("", "x", "q"))
        words.append(word[:at] + more + word[at + (not more) :])
    rng.shuffle(words)
    options = {"text": " ".join(words), "fuzzy": rng.choice((None, {"rare": 3}))}
    return random_home_options(rng) | options


@pytest.mark.parametrize("block", by_suite(range(8), fast=2, slow=4))
def test_long_questions_equal_the_oracle(block):
    """[4.1.4-e]"""
    equal_in_all_layouts(block, home_facts, rehomed, long_options)


@pytest.mark.parametrize("block", by_suite(range(12), fast=2, slow=6))
def test_words_of_few_documents_equal_the_oracle(block):
    """[4.1.6-e]"""
    for seed in range(block * 3, block * 3 + 3):
        equal_in_all_layouts(seed, few_facts, rehomed_few, random_home_options)


def test_workers_count_every_spelling_of_a_word():
    """[4.1.6-d] Spellings that are no term of the word as it was typed were counted nowhere, so
    the answer was another one than in one process."""
    repo = ibidem.init("memory:", clock=lambda: 1)
    texts = (
        "A coordenação da situação é muito boa para os nossos amigos",
        "Uma coordenacao que não é boa para as pessoas",
        "A coordenação das pessoas e uma casa que é muito boa",
        "Os livros são muito bons para as pessoas da casa",
    )
    with repo.transaction(author="a") as tx:
        for text in texts:
            tx.add_node("Note", summary=text)
    query = resolve(repo.at().config, text="coordenacao", limit=None)

    def load(cid):
        return Node.decode(repo.core.store.get(cid))

    def compare(snapshot):
        nodes = NodeSource(load, lambda node: None)
        lanes = random_workers(random.Random(1), snapshot, load).lanes(snapshot)
        shared = execute(snapshot, query, nodes, lanes=lanes)
        assert shared.to_bytes() == execute(snapshot, query, nodes).to_bytes()
        assert len(shared.items) == 3

    repo.at().with_snapshot(compare)


def test_homes_change_answers():
    """Else the comparison above would show nothing."""
    changed = 0
    for seed in range(40):
        facts = home_facts(random.Random(seed))
        without = finish(
            facts.config,
            [_without_home(node) for node in facts.nodes],
            *(facts.vectors, facts.sparse, facts.tombstones, facts.buffer),
        )
        form = resolve(facts.config, text="Gießkanne cheval").form()
        found = [
            dag_cbor.decode(answer(World(one.buffer, one.root), form))["items"]
            for one in (facts, without)
        ]
        changed += [one["id"] for one in found[0]] != [one["id"] for one in found[1]]
    assert changed > 3


def _without_home(node):
    return replace(node, props={key: one for key, one in node.props.items() if key != HOME})

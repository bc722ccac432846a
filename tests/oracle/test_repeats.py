"""Items that repeat earlier ones are left out: the engine is compared with the oracle."""

from __future__ import annotations

import random

import dag_cbor
import pytest
from tests.cases import by_suite

from ibidem.retrieve.query.query import resolve

from .all_layouts import equal_in_all_layouts
from .oracle import World, answer
from .repeat_world import random_repeat_options, repeated, repeating_facts


@pytest.mark.parametrize("block", by_suite(range(16), fast=2, slow=6))
def test_items_that_repeat_earlier_ones_are_left_out(block):
    """[8.4-a]"""
    for seed in range(block * 5, block * 5 + 5):
        equal_in_all_layouts(seed, repeating_facts, repeated, random_repeat_options)


@pytest.mark.parametrize("by", ["near", "text", "source", "section", "property", "none"])
def test_every_rule_changes_answers(by):
    """Else the comparison above would show nothing."""
    counts = []
    for seed in range(40):
        facts = repeating_facts(random.Random(seed))
        named = {"dedupe_property": "story"} if by == "property" else {}
        named |= {"headings": "drop"} if by == "none" else {}
        form = resolve(facts.config, text="queue", limit=None, dedupe=by, **named).form()
        found = dag_cbor.decode(answer(World(facts.buffer, facts.root), form))
        counts.append(found["dropped_counts"]["headings" if by == "none" else "dedupe"])
    assert sum(map(bool, counts)) >= 2

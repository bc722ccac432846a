"""Questions whose words have related ones: the engine is compared with the oracle."""

from __future__ import annotations

import random

import dag_cbor
import pytest
from tests.cases import by_suite

import ibidem
from ibidem.index.analysis.related import has_related_terms
from ibidem.objects.config import Config
from ibidem.objects.errors import IbidemError
from ibidem.retrieve.query.query import Query, resolve

from .all_layouts import equal_in_all_layouts
from .oracle import World, answer
from .related_world import random_related_options, related_facts, reworded


@pytest.mark.parametrize("block", by_suite(range(16), fast=2, slow=6))
def test_questions_with_related_words_equal_the_oracle(block):
    """[4.1.8-a] [4.1.8-b]"""
    asked = [
        query.match.related
        for seed in range(block * 5, block * 5 + 5)
        for query in equal_in_all_layouts(seed, related_facts, reworded, random_related_options)
    ]
    assert sum(asked) > 5


def test_related_words_change_answers():
    """[4.1.8-b] Else the comparison above would show nothing."""
    changed = 0
    for seed in range(40):
        rng = random.Random(seed)
        facts = related_facts(rng)
        world = World(facts.buffer, facts.root)
        without, with_them = (
            resolve(facts.config, text="several mandatory queue limit", related=related).form()
            for related in (False, True)
        )
        said = [dag_cbor.decode(answer(world, form))["items"] for form in (without, with_them)]
        changed += said[0] != said[1]
    assert changed > 3


MANUAL = """# Hooks

Hooks run before a commit.

To disable a hook, remove its file.

# Accounts

An account that was deactivated can be restored.
"""


@pytest.fixture
def manual(tmp_path):
    (tmp_path / "manual.md").write_text(MANUAL, encoding="utf-8")
    with ibidem.init("memory:") as repo:
        repo.ingest(tmp_path / "manual.md")
        yield repo


def test_of_two_passages_the_one_that_says_it_in_other_words_comes_first(manual):
    """[4.1.8-b] So it is for a word that no passage has."""
    asked = {"deactivated": ["An"], "suppressed": []}
    for word, elsewhere in asked.items():
        for related, expected in ((False, ["Hooks", "To"]), (True, ["To", "Hooks"])):
            found = manual.retrieve(f"how is a hook {word}?", label="Passage", related=related)
            first_words = [item.node.summary.split()[0] for item in found.items]
            assert first_words == [*elsewhere, *expected]


def test_nothing_is_found_by_a_related_word_alone(manual):
    """[4.1.8-b]"""
    assert not manual.retrieve("suppress").items


def test_related_words_are_in_a_question_only_where_they_count():
    """[4.1.8-a]"""
    config = Config(extra={"related": True})

    def match(**options):
        return resolve(config, **{"text": "turn it off", **options}).form()["match"]

    assert match()["related"] is match(text="x", queries=["turn it off"])["related"] is True
    for options in (
        {"operator": "and"},
        {"phrases": True},
        {"text": "Zylinderkopfdichtung"},
        {"related": False},
    ):
        assert "related" not in match(**options)
    assert "related" not in resolve(Config(), text="turn it off").form()["match"]
    assert resolve(Config(), text="turn it off", related=True).match.related


def test_a_new_repository_has_related_words_unless_its_configuration_is_chosen():
    """[4.1.8-a]"""
    with ibidem.init("memory:") as repo:
        assert repo.at().config.extra["related"] is True
    with ibidem.init("memory:", config=Config()) as repo:
        assert "related" not in repo.at().config.extra


def test_related_words_without_a_text_are_refused():
    with pytest.raises(IbidemError, match="related: got it without a text"):
        resolve(Config(), label="Doc", related=True)


def test_a_question_that_says_otherwise_is_refused():
    """[4.1.8-a]"""
    form = resolve(Config(), text="turn it off", related=True).form()
    form["match"]["related"] = False
    with pytest.raises(IbidemError, match=r"match\.related: got .*, expected true or nothing"):
        Query.from_form(form)


def test_words_of_another_language_have_none(tmp_path):
    """[4.1.8-a] A stem of another language can be spelt as an English one: `limit`."""
    rest = "der Anfragen ist uns nicht bekannt, und wir haben auch keine Zeit f\u00fcr die Suche"
    text = f"Das Limit {rest}.\n\nDas Maximum {rest} danach.\n"
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    question = "Was ist das Limit der Anfragen, und ist es schon bekannt?"
    with ibidem.init("memory:") as repo:
        repo.ingest(tmp_path / "a.md")
        both = [
            [(item.id, item.score) for item in repo.retrieve(question, related=related).items]
            for related in (False, True)
        ]
    assert has_related_terms(question)
    assert both[0] == both[1] != []

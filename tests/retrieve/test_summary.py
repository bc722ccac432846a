"""Summaries of answers: sentences as they stand, chosen by integers."""

from __future__ import annotations

import random

import pytest

import ibidem
from ibidem.index.analysis import ENGLISH, analyse
from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.answer.summary import SENTENCES_MAX, summary_of

TEXTS = (
    "Retries back off between attempts. They say so. The queue keeps its order while it waits.",
    "Retries back off between attempts.\n\nA lock is given back when its process ends.",
)


def shown(texts, question, count):
    return [(one.item, one.text) for one in summary_of(texts, question, count).sentences]


def test_the_sentence_about_the_question_comes_first():
    """[9.5-b]"""
    assert shown(TEXTS, "when is a lock given back", 1) == [
        (1, "A lock is given back when its process ends.")
    ]
    assert shown(TEXTS, "how do retries back off", 1) == [(0, "Retries back off between attempts.")]


def test_sentences_are_in_the_order_of_the_items_and_none_is_said_twice():
    """[9.5-a]"""
    assert shown(TEXTS, "lock", 100) == [
        (0, "Retries back off between attempts."),
        (0, "The queue keeps its order while it waits."),
        (1, "A lock is given back when its process ends."),
    ]


@pytest.mark.parametrize("texts", [(), ("",), ("Too short.", "Also.")])
def test_what_says_nothing_has_an_empty_summary(texts):
    assert summary_of(texts, "anything", 3).text == ""


def test_a_script_without_spaces_is_split_at_its_own_full_stops():
    text = "東京は日本の首都である。大阪は西日本の中心都市である。"
    assert [part for _, part in shown((text,), "大阪", 1)] == ["大阪は西日本の中心都市である。"]


@pytest.mark.parametrize("count", [0, -1, SENTENCES_MAX + 1, True, "3", None])
def test_the_number_of_sentences_is_checked(count):
    with pytest.raises(InvalidInputError, match="sentences"):
        summary_of(TEXTS, "", count)


def simply(texts, question, count):
    """The same rules, each value computed anew for each sentence taken."""
    sentences = {}
    for item, text in enumerate(texts):
        for part in text.split(". "):
            terms = frozenset(analyse(part.strip("."), ENGLISH))
            if len(terms) >= 3 and part.strip(".") not in sentences:
                sentences[part.strip(".")] = item, terms
    wanted, covered, taken = set(analyse(question, ENGLISH)), frozenset(), []

    def worth(term):
        items = {item for item, terms in sentences.values() if term in terms}
        return len(items) * (4 if term in wanted else 1)

    def value(text):
        item, terms = sentences[text]
        gain = sum(map(worth, terms - covered))
        return gain * (2 * len(texts) - item) * 2**20 // (8 + len(terms))

    while len(taken) < count:
        left = [text for text in sentences if text not in taken]
        best = max(left, key=value, default=None)
        if best is None or not value(best):
            break
        taken.append(best)
        covered |= sentences[best][1]
    return [(sentences[text][0], text) for text in sentences if text in taken]


@pytest.mark.parametrize("seed", range(40))
def test_the_rules_give_the_same_one_sentence_at_a_time(seed):
    rng = random.Random(seed)
    names = [f"word{letter}" for letter in "abcdefghijkl"]
    texts = [
        ". ".join(" ".join(rng.choices(names, k=rng.randint(2, 6))) for _ in range(3))
        for _ in range(rng.randint(1, 8))
    ]
    question, count = " ".join(rng.choices(names, k=2)), rng.randint(1, 9)
    found = [(item, text.strip(".")) for item, text in shown(texts, question, count)]
    assert found == simply(texts, question, count)


def test_every_answer_has_one():
    repo = ibidem.init("memory:")
    with repo.transaction(author="ada", message="notes") as tx:
        for text in TEXTS:
            tx.add_node("Note", summary=text)
    for answer in (repo.retrieve("retries", limit=2), repo.packs("retries")):
        found = answer.summary(2)
        assert len(found.sentences) == 2
        assert found.to_dict()["text"] == found.text == str(found)
        for one in found.sentences:
            assert one.text in " ".join(answer[one.item].rendered.split())

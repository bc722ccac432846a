"""Summaries of answers: sentences as they stand, chosen by integers."""

from __future__ import annotations

import random

import pytest

import ibidem
from ibidem.index.analysis import ENGLISH, analyse
from ibidem.objects.errors import InvalidInputError
from ibidem.retrieve.answer.summary import METHODS, summary_of

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


def test_a_sentence_has_3_to_60_terms():
    """[9.5-a]"""
    words = [f"{one}{other}" for one in "bcdfghjk" for other in "bcdfghjk"]
    for count, expected in ((2, 0), (3, 1), (60, 1), (61, 0)):
        assert len(analyse(" ".join(words[:count]), ENGLISH)) == count
        assert len(shown((" ".join(words[:count]),), "", 1)) == expected


CODE = """.. method:: Queue.retry(queue, lock)

    for attempt in queue.attempts:
        queue.retry(lock)

====== =======
Queue  Retries
====== =======

* `Queue.retry`
* `Queue.lock`
"""


def test_prose_is_quoted_before_code_directives_tables_and_labels():
    """[9.5-d]"""
    told = "Retrying a queue\n\n* A waiting queue tries again, e.g. `later`, once its lock is free."
    assert shown((CODE, told), "retry queue lock", 1) == [
        (1, "A waiting queue tries again, e.g. `later`, once its lock is free.")
    ]
    assert [item for item, _ in shown((CODE, told), "retry queue lock", 2)] == [0, 1]


def test_an_answer_without_prose_has_a_summary_too():
    """[9.5-d]"""
    notes = ("the gate of the mill is open", "Deploy on Friday after lunch")
    assert shown(notes, "gate", 3) == list(enumerate(notes))
    assert shown((CODE,), "attempts", 1) == [
        (0, "for attempt in queue.attempts: queue.retry(lock)")
    ]


def test_no_sentence_begins_in_the_middle():
    text = (
        "where the gate of the mill is open.\n\nIt has a gate (i.e. `Gate`) that is always open. "
        "The mill of J. Miller has another gate."
    )
    assert [part for _, part in shown((text,), "gate mill", 2)] == [
        "It has a gate (i.e. `Gate`) that is always open.",
        "The mill of J. Miller has another gate.",
    ]


def test_a_sentence_is_quoted_once_with_and_without_a_mark():
    told = "The gate of the mill is open."
    for method in METHODS:
        texts = (f"* {told}", f"{told} The wheel of the mill turns.", f".. {told}", f"> {told}")
        found = summary_of(texts, "gate", 9, method=method).sentences
        assert [one.text for one in found if one.text == told] == [told]


@pytest.mark.parametrize("texts", [(), ("",), ("Too short.", "Also.")])
def test_what_says_nothing_has_an_empty_summary(texts):
    assert summary_of(texts, "anything", 3).text == ""


def test_a_script_without_spaces_is_split_at_its_own_full_stops():
    text = "東京は日本の首都である。大阪は西日本の中心都市である。"
    assert [part for _, part in shown((text,), "大阪", 1)] == ["大阪は西日本の中心都市である。"]


@pytest.mark.parametrize("count", [0, -1, 101, True, "3", None])
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


WORDS = ("gate", "lock", "river", "mill", "wheel", "stone", "bread", "flour", "grain")


@pytest.mark.parametrize("seed", range(30))
def test_the_other_methods_are_those_of_the_spec(seed: int) -> None:
    """[9.5-c]"""
    rng = random.Random(seed)
    texts = [
        " ".join(
            " ".join(rng.choices(WORDS, k=rng.randint(2, 7))) + "."
            for _ in range(rng.randint(0, 4))
        )
        for _ in range(rng.randint(1, 6))
    ]
    rows: list[tuple[int, str, set[str]]] = []
    for item, text in enumerate(texts):
        for part in text.split(". "):
            sentence = part if part.endswith(".") or not part else f"{part}."
            terms = set(analyse(sentence, "english-1"))
            if len(terms) >= 3 and sentence not in [one for _, one, _ in rows]:
                rows.append((item, sentence, terms))
    for method in METHODS[1:]:
        values = []
        for _, _, terms in rows:
            if method == "query":
                worth = dict.fromkeys(analyse("gate of the mill", "english-1"), 1)
            elif method == "centrality":
                worth = {t: sum(t in other for _, _, other in rows) - 1 for t in terms}
            else:
                worth = {t: len({i for i, _, other in rows if t in other}) - 1 for t in terms}
            values.append(sum(worth.get(t, 0) for t in terms) * 2**20 // (8 + len(terms)))
        rest, chosen = [at for at, value in enumerate(values) if value > 0], []
        while rest and len(chosen) < 3:
            left = {}
            for at in rest:
                same = [
                    len(rows[at][2] & rows[one][2]) * values[at] // len(rows[at][2])
                    for one in chosen
                ]
                left[at] = values[at] - (max(same, default=0) if method == "mmr" else 0)
            best = max(rest, key=lambda at: (left[at], -at))
            if left[best] <= 0:
                break
            chosen.append(best)
            rest.remove(best)
        found = summary_of(texts, "gate of the mill", 3, method=method)
        assert [one.text for one in found.sentences] == [rows[at][1] for at in sorted(chosen)]


def test_the_marks_of_a_quotation_are_left_out():
    text = "> The mill was built by the miller of the valley in the\n> year of the great flood."
    found = summary_of([text], "mill", 1)
    assert (
        found.text
        == "The mill was built by the miller of the valley in the year of the great flood."
    )

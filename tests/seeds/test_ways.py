"""Every option of every way to ask has an effect, or is refused with an error that names it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import ibidem
from ibidem.memory.recall.feedback import Feedback
from ibidem.objects import codec
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.questions import Questions
from ibidem.repo.revision import Revision
from ibidem.repo.union import Union
from ibidem.retrieve.query.options import OF_ITEMS, TIMES_OF_RECORDS

from .test_cross import EFFECTS, Failing, rich
from .texts import COMMITTED

ASKED = frozenset(("text", "packs", "style", "self"))
WRITERS = frozenset(("imagine", "reword", "model", "embedder", "degrade"))
"""Options that need a model; `tests/repo` has them."""
OTHERS = frozenset(
    ("rerank_text", "rerank_depth", "rerank_timeout", "estimator", "viewer", "strict")
)
"""Options with tests of their own: they need a reranker, a policy, or a warning."""
OF_ONE = ("feedback", "worth", *TIMES_OF_RECORDS)
"""Options about the history or the notes of one repository."""
MORE: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dedupe": ({"per_hit_neighbors": 0}, {"dedupe": "source"}),
    "dedupe_percent": (
        {"text": "twin", "dedupe": "near", "per_hit_neighbors": 0},
        {"dedupe_percent": 10},
    ),
    "dedupe_property": (
        {"dedupe": "property", "dedupe_property": "time", "per_hit_neighbors": 0},
        {"dedupe_property": "even"},
    ),
    "headings": ({"text": "bare"}, {"headings": "drop"}),
    "sources": ({}, {"sources": {"facts": 0}}),
    "recency": ({}, {"recency": {"property": "time", "half_life": 10}}),
    "importance": ({}, {"importance": "time"}),
    "feedback": ({}, {"feedback": True}),
    "worth": ({}, {"worth": True}),
    "notes": ({"feedback": True}, {"notes": "empty"}),
    "direct": ({}, {"direct": True}),
    "created_after": ({}, {"created_after": COMMITTED + 9}),
    "created_before": ({}, {"created_before": COMMITTED}),
    "updated_after": ({}, {"updated_after": COMMITTED + 9}),
    "updated_before": ({}, {"updated_before": COMMITTED}),
    "thread": ({"text": "talk"}, {"thread": "t"}),
    "recent": ({"text": "talk", "thread": "t"}, {"recent": 0}),
    "user": ({}, {"user": "ada"}),
    "agent": ({}, {"agent": "bot"}),
    "session": ({}, {"session": "s"}),
    "documents": ({}, {"documents": 0}),
    "facts": ({}, {"facts": 0}),
    "conversation": ({"text": "talk", "thread": "t"}, {"conversation": 0}),
}
OF_PROMPTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "token_budget": ({"text": "long"}, {"token_budget": 100}),
    "overflow": ({"text": "long", "token_budget": 150}, {"overflow": "stop"}),
}
OF_RECORDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mmr": ({"text": "needle pins"}, {"mmr": {"lambda": 0.0}}),
    "types": ({}, {"types": ["Episodic"]}),
    "include_status": ({}, {"include_status": ["superseded"]}),
    "min_salience": ({}, {"min_salience": 1.0}),
    "root_limit": ({}, {"root_limit": 1}),
    "edge_limit": ({}, {"edge_limit": 0}),
    "hops": ({"root_limit": 1}, {"hops": 0}),
    "direction": ({"root_limit": 1}, {"direction": "incoming"}),
    "layered": ({"root_limit": 1}, {"layered": True}),
    "top_min": ({}, {"top_min": 0.0}),
    "gap_min": ({"top_min": 0.0}, {"gap_min": 1.0}),
    "notes": ({}, {"notes": None}),
}


def remembered() -> Any:
    repo = rich()
    with repo.transaction(time=COMMITTED + 1) as tx:
        said = ("needle", "red needle", "needle needles and pins", "needle of old")
        made = [
            tx.add_node(
                ("Semantic", "Episodic", "Competence", "Semantic")[place],
                summary=text,
                props={
                    "time": (3 - place) * 10**11,
                    "even": place == 0,
                    **({"status": "superseded"} if place == 3 else {}),
                    **({"user": "tom", "agent": "other", "session": "x"} if place == 1 else {}),
                },
                key=f"r{place}",
            )
            for place, text in enumerate(said)
        ]
        for place, one in enumerate(made):
            tx.set_vector(one, model="m", vector=[0.1, place / 3.0, 0.5])
            tx.add_edge(made[0], "supports", one)
            tx.add_edge(made[1], "cites", one)
        twins = ("twin one two three four", "twin one two three five")
        ibidem.ingest_text(tx, "\n\n".join(twins), path="twins.txt")
        for place, text in enumerate(twins):
            tx.add_node("Fact", summary=text, key=f"t{place}")
            tx.add_node("Fact", summary="long and " * (20 + 90 * place), key=f"l{place}")
        ibidem.ingest_text(tx, "# Bare\n", path="bare.md")
    repo.conversations.append("t", [("user", "talk of tea"), ("user", "rain")], time=COMMITTED + 2)
    found = repo.retrieve("needle")
    Feedback(repo).vote(found, found.items[1].id, 1, author="ada", time=COMMITTED + 3)
    notes = ibidem.GraphMemory(repo).notes
    notes.reinforce(made[0], author="ada", time=COMMITTED + 4)
    notes.outcome(made[0], ok=True, author="ada", time=COMMITTED + 4)
    return repo


def ways() -> dict[str, tuple[Any, Callable[..., Any]]]:
    repo, other = remembered(), ibidem.init("memory:")
    other.add("a needle elsewhere", time=COMMITTED)
    union = ibidem.union([repo, other])
    return {
        "retrieve": (Questions.retrieve, repo.retrieve),
        "packs": (Questions.packs, repo.packs),
        "prompt": (Questions.prompt, repo.prompt),
        "context": (Questions.context, repo.context),
        "records": (Revision.records, repo.at().records),
        "union.retrieve": (Union.retrieve, union.retrieve),
        "union.packs": (Union.packs, union.packs),
        "union.prompt": (Union.prompt, union.prompt),
        "union.records": (Union.records, union.records),
    }


def told(ask: Callable[..., Any], options: dict[str, Any]) -> Any:
    found = ask(**{"text": "needle", **options})
    answer = found.packs if isinstance(found, ibidem.Prompt) else found
    read = codec.decode(answer.to_bytes())
    return {name: value for name, value in read.items() if name != "query"}


def test_every_option_of_every_way_to_ask_has_an_effect_or_is_refused():
    silent, refused, messages = [], set(), []
    for way, (signature, ask) in ways().items():
        known = inspect.signature(signature).parameters
        of_bases: dict[str, Any] = {}
        table = {**EFFECTS, **MORE, **(OF_RECORDS if "records" in way else OF_PROMPTS)}
        for name in known.keys() - ASKED - WRITERS - OTHERS:
            base, change = table[name]
            base = {one: value for one, value in base.items() if one in known or one == "text"}
            try:
                if repr(base) not in of_bases:
                    of_bases[repr(base)] = told(ask, base)
                if of_bases[repr(base)] == told(ask, {**base, **change}):
                    silent.append((way, name))
            except InvalidInputError as error:
                refused.add((way, name))
                messages.append((name, str(error)))
    assert silent == []
    assert all(name in said or "several" in said for name, said in messages)
    of_packs = [f"{one}{way}" for one in ("", "union.") for way in ("packs", "prompt")]
    asked_of_many = ("retrieve", "packs", "prompt", "records")
    assert refused == {
        *((way, name) for way in (*of_packs, "context") for name in OF_ITEMS),
        *((f"union.{way}", name) for way in asked_of_many for name in OF_ONE),
        *((f"union.{way}", "notes") for way in asked_of_many[:3]),
        ("union.retrieve", "direct"),
        *((way, "related") for way in ("records", "union.records")),
    }


def test_an_option_that_changes_nothing_is_refused():
    repo = remembered()
    for name in ("adjacency", "metadata", "direct"):
        with pytest.raises(InvalidInputError, match=f"^{name}: "):
            repo.at().stream_packs("needle", **{name: True})
    read = repo.packs("needle", rerank=Failing(), metadata=True)
    assert read.query.metadata  # what the reranker reads
    for name in ("rerank_text", "rerank_depth", "rerank_timeout", "notes"):
        with pytest.raises(InvalidInputError):
            repo.retrieve("needle", **{name: "x" if name in ("rerank_text", "notes") else 2})
    with pytest.raises(InvalidInputError, match=r"thread_window: .*setting") as caught:
        repo.at().retrieve_many([{"text": "needle", "thread_window": 3}])
    assert "repo config set thread_window" in str(caught.value.hint)

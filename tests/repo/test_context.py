"""A context: documents, facts and a conversation in one prompt, under one budget."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import ibidem
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.retrieve.context.option import PackOptions, resolve_packs

HANDBOOK = """# Retries

A failed request is tried again after one second.

# Tea

Tea is served at five.
"""
QUESTION = "When is a failed request tried again?"


@pytest.fixture
def repo() -> ibidem.Repository:
    repo = ibidem.init("memory:")
    repo.ingest(text=HANDBOOK, path="handbook.md")
    with repo.transaction() as tx:
        for user in ("ada", "bob"):
            text = f"{user} was told that a request failed"
            tx.records.add(ibidem.Record("Semantic", text, scope="", user=user))
    repo.add("Every request has a number")
    said = [
        "Hello",
        "Is a request that failed lost?",
        "No.",
        "What about tea?",
        "At five.",
        "Fine.",
    ]
    messages = [("assistant" if at % 2 else "user", text) for at, text in enumerate(said)]
    repo.conversations.append("support", messages)
    repo.conversations.append("private", [("user", "a failed request that is nobody's business")])
    return repo


def titles(context: ibidem.Prompt) -> list[str]:
    return [pack.title for pack in context.packs]


def test_documents_facts_and_the_conversation_are_apart(repo):
    context = repo.context(QUESTION, thread="support", recent=0)
    assert {title.partition(" > ")[0] for title in titles(context)} == {
        "handbook.md",
        "Semantic",
        "support",
    }
    assert "business" not in context.text
    assert titles(repo.context(QUESTION, facts=0)) == ["handbook.md > Retries"]
    facts = set(titles(repo.context(QUESTION, documents=0)))
    assert facts == {"Semantic > of ada", "Semantic > of bob", "Semantic"}
    only = repo.context(QUESTION, thread="support", documents=0, facts=0, recent=1)
    found = titles(only)
    assert found[:2] == ["support > message 5, assistant", "support > message 1, assistant"]
    assert set(found[2:]) == {"support > message 0, user", "support > message 2, user"}


def test_a_message_counts_for_those_beside_it():
    """packs 10-g, against what the messages score by themselves."""
    rng = random.Random(3)
    words = ["tea", "gate", "mill", "pine", "rust", "salt"]
    said = [("user", " ".join(rng.choices(words, k=6))) for _ in range(30)]
    repo = ibidem.init("memory:")
    repo.conversations.append("a", said)
    ids = [one.id for one in repo.conversations.messages("a")]
    for question in ("tea gate", "rust", "mill salt pine"):
        ranked = repo.retrieve(question, label="Message", where={"thread": "a"}, limit=None).items
        own = {item.id: item.score for item in ranked}
        total = {
            one: own.get(one, 0.0)
            + max(own.get(other, 0.0) for other in (ids[at - 1 : at] + ids[at + 1 : at + 2])) / 2
            for at, one in enumerate(ids)
        }
        expected = sorted(((-score, one) for one, score in total.items() if score), key=repr)
        context = repo.context(question, thread="a", recent=0, limit=None, token_budget=None)
        found = [(-pack.score, pack.hits[0].id) for pack in context.packs]
        assert sorted(found, key=repr) == expected
        assert found == sorted(found, key=lambda pair: (pair[0], pair[1].raw))


def test_a_question_of_before_does_not_count_what_is_beside(repo, monkeypatch):
    """packs 1-b."""
    options = {"thread": "support", "documents": 0, "facts": 0, "recent": 1}

    def of_before(given):
        return replace(resolve_packs(given), beside=False)

    with monkeypatch.context() as patch:
        patch.setattr("ibidem.retrieve.context.option.resolve_packs", of_before)
        before = repo.context(QUESTION, **options).packs
    assert "beside" not in before.query.form()["packs"]
    assert [one.text for one in before] == ["Fine.", "Is a request that failed lost?"]
    assert repo.receipts.replay(before.receipt).to_bytes() == before.to_bytes()
    now = repo.context(QUESTION, **options).packs.query
    assert now.counting_like(before.query).encode() == before.query.encode()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"beside": False}, "true or nothing"),
        ({"beside": 0.5}, "true or nothing"),
        ({"sources": {"thread": None}}, "no conversation"),
    ],
)
def test_only_a_question_about_a_conversation_counts_what_is_beside(repo, change, expected):
    """packs 1-b."""
    packs = repo.context(QUESTION, thread="support").packs.query.form()["packs"]
    assert "beside" not in repo.context(QUESTION).packs.query.form()["packs"]
    changed = {
        name: {**packs[name], **value} if isinstance(value, dict) else value
        for name, value in change.items()
    }
    with pytest.raises(InvalidInputError, match=rf"packs\.beside.*{expected}"):
        PackOptions.from_form({**packs, **changed})


def test_with_documents_alone_the_bytes_are_those_of_a_prompt():
    repo = ibidem.init("memory:")
    repo.ingest(text=HANDBOOK, path="handbook.md")
    for options in ({}, {"token_budget": 120}, {"expand": "section"}, {"label": "Passage"}):
        context, prompt = (ask(QUESTION, **options) for ask in (repo.context, repo.prompt))
        assert (context.system, context.user) == (prompt.system, prompt.user)
        assert context.citations == prompt.citations


def test_a_fact_that_does_not_hold_is_left_out(repo):
    [fact] = repo.records.list(user="ada")
    source = {"kind": "observation", "ref": "the log"}
    text = "ada knows that no request failed"
    new = ibidem.Record("Semantic", text, scope="", user="ada", provenance=[source])
    repo.records.supersede(fact.id, new)
    texts = [pack.text for pack in repo.context(QUESTION, documents=0).packs]
    assert text in texts
    assert fact.text not in texts


def test_facts_of_others_are_left_out(repo):
    texts = [pack.text for pack in repo.context(QUESTION, documents=0, user="ada").packs]
    assert sorted(texts) == ["Every request has a number", "ada was told that a request failed"]


def test_the_last_messages_are_there_whatever_the_question(repo):
    context = repo.context("absent", thread="support", recent=2)
    assert [pack.text for pack in context.packs] == ["Fine.", "At five."]
    shown = [citation.heading_path for citation in context.citations]
    assert shown == [("message 4, user",), ("message 5, assistant",)]
    assert context.packs[0].entry.lanes == {}


def test_a_summary_is_a_source(repo):
    repo.conversations.compact("support", 0, 2, "a failed request is not lost")
    found = titles(repo.context(QUESTION, thread="support", recent=0))
    assert "support > summary of messages 0 to 2" in found


def test_every_source_has_a_citation_that_is_true(repo):
    context = repo.context(QUESTION, thread="support", user="ada", token_budget=400)
    assert isinstance(context, ibidem.AnswerProtocol)
    assert [one.marker for one in context.citations] == [
        f"[{number}]" for number in range(1, len(context.citations) + 1)
    ]
    sources = [one.source for one in context.citations]
    assert sources == sorted(sources, key=["handbook.md", "Semantic", "support"].index)
    assert len(sources) > len(set(sources)) == 3
    for citation in context.citations:
        assert repo.verify_citation(ibidem.Citation.from_dict(citation.to_dict()))
    again = repo.receipts.replay(context.receipt)
    assert again.to_bytes() == context.packs.to_bytes()
    assert repo.prompt(QUESTION, again).text == context.text
    assert type(context.receipt).decode(context.receipt.encode()) == context.receipt


class Longest:
    """A reranker for documents."""

    name, digest = "longest", bytes(32)

    def score(self, query: str, texts: list[str]) -> list[float]:
        assert all("message" not in text and "Semantic" not in text for text in texts)
        return [float(len(text)) for text in texts]


@pytest.mark.parametrize(
    "options",
    [
        {"recency": True},
        {"worth": True},
        {"mmr": {}},
        {"rerank": Longest()},
        {"expand": "edges"},
        {"expand": "section", "overflow": "stop"},
        {"rank": "none"},
        {"graph": {"mode": "ppr"}},
        {"merge": "coalesce", "spans": True},
        {"overflow": "skip"},
        {"limit": 2},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_of_packs_count(repo, options):
    context = repo.context(QUESTION, thread="support", **{"token_budget": 300, **options})
    again = repo.receipts.replay(context.receipt)
    assert again.to_bytes() == context.packs.to_bytes()
    assert all(map(repo.verify_citation, context.citations))
    members = [member.id for pack in context.packs for member in pack.members]
    assert len(members) == len(set(members)) > 0
    assert context.explain()


def test_more_budget_never_gives_less_evidence(repo):
    rng = random.Random(7)
    words = ["request", "failed.", "mill", "é,", "of"]

    def text() -> str:
        return " ".join(rng.choices(words, k=rng.randint(1, 50)))

    repo.ingest(text="\n\n".join(f"# H{at}\n\n{text()}" for at in range(9)), path="b.md")
    for _ in range(9):
        repo.add(text())
    repo.conversations.append("support", [("user", text()) for _ in range(12)])
    before: dict[ibidem.NodeId, str] = {}
    for budget in range(75, 1500, 25):
        context = repo.context("request failed", thread="support", token_budget=budget)
        assert context.tokens_used <= budget
        now = {span.id: span.stop for citation in context.citations for span in citation.spans}
        assert all(now.get(one, -1) >= stop for one, stop in before.items())
        assert all(map(repo.verify_citation, context.citations))
        before = now
    assert {one.source for one in context.citations} >= {"b.md", "Semantic", "support"}


def test_what_a_source_leaves_the_others_have(repo):
    repo.conversations.append("long", [("user", f"request {number}") for number in range(60)])
    context = repo.context("request", thread="long", token_budget=600)
    assert 500 < context.tokens_used <= 600
    alone = repo.context("nothing of that", thread="long", recent=60, token_budget=600)
    assert 500 < alone.tokens_used <= 600


def test_shares_divide_the_budget(repo):
    for number in range(60):
        repo.add(f"request {number:02}")
    repo.conversations.append("long", [("user", f"request {number:02}") for number in range(60)])
    context = repo.context(
        "request", thread="long", documents=0, facts=1, conversation=3, token_budget=600, recent=0
    )
    spent = {"node": 0, "message": 0}
    for pack in context.packs[:40]:
        spent[pack.scope] += pack.tokens
    assert abs(3 * spent["node"] - spent["message"]) <= 40


def test_what_is_wrong_is_named(repo):
    for options, name in (
        ({"thread": ""}, "sources.thread"),
        ({"recent": -1}, "sources.recent"),
        ({"facts": 1.5}, "sources.facts"),
        ({"documents": 0, "facts": 0}, "sources"),
        ({"user": 3}, "sources.user"),
        ({"token_budget": 3}, "token_budget"),
    ):
        with pytest.raises(InvalidInputError, match=rf"^{name}:") as refused:
            repo.context(QUESTION, **options)
        assert name != "token_budget" or refused.value.kind is ErrorKind.LIMIT_EXCEEDED


def test_a_run_replays_its_contexts(repo):
    def step(run) -> str:
        with run.transaction() as tx:
            tx.conversations.append("support", [("user", "one more request")])
        return run.context(QUESTION, thread="support", token_budget=300).text

    with repo.runs.start("agent") as run:
        said = step(run)
    repo.conversations.append("support", [("user", "a later request")])
    with repo.runs.open("agent").replay() as replay:
        assert step(replay) == said


def test_a_viewer_gets_a_context_of_what_he_sees():
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.set_trust_policy(ibidem.TrustPolicy())
        for level in (1, 3):
            text = f"a request of level {level}"
            tx.records.add(ibidem.Record("Semantic", text, scope="", level=level))
    viewer = ibidem.Viewer(level=1, scopes=())
    seen = repo.as_viewer(viewer)
    for face in (seen, seen.at()):
        context = face.context("request")
        assert [pack.text for pack in context.packs] == ["a request of level 1"]
        assert all(map(face.verify_citation, context.citations))
    assert len(repo.context("request", viewer=ibidem.ALL).packs) == 2


def test_an_older_revision_is_asked_for_what_was_known_then(repo):
    before = repo.head
    repo.conversations.append("support", [("user", "and a request again")])
    assert "again again" not in repo.context(QUESTION, thread="support").text
    assert "and a request again" in repo.context(QUESTION, thread="support").text
    assert "and a request again" not in repo.at(before).context(QUESTION, thread="support").text


@pytest.mark.parametrize("policy", [1, True, None, "text", ["pair"]])
def test_a_citation_whose_policy_is_no_map_is_refused(repo: ibidem.Repository, policy: object):
    [citation, *_] = repo.prompt(QUESTION).citations
    with pytest.raises(InvalidInputError, match="policy"):
        ibidem.Citation.from_dict({**citation.to_dict(), "policy": policy})

"""Runs over a root with a trust policy: what was recorded is replayed and forked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository

VIEWER = ibidem.Viewer(level="low", scopes=())


@pytest.fixture
def guarded(repo: Repository) -> Repository:
    with repo.transaction(author="ada") as tx:
        tx.set_trust_policy(ibidem.TrustPolicy())
        tx.add_node("Fact", summary="money is back within 30 days", props={"level": 1})
        tx.add_node("Fact", summary="money over 500 needs Karla", props={"level": 3})
    return repo


def says(session: Any) -> object:
    session.conversations.append("chat", [("user", "when is the money back")])
    return session.conversations.append("chat", [("assistant", "within 30 days")]).ords


def asks_for_a_context(session: Any) -> object:
    session.conversations.append("chat", [("user", "when is the money back")])
    context = session.context("money", thread="chat", token_budget=200, viewer=VIEWER)
    assert "Karla" not in context.text
    return context.user


def asks_at_a_revision(session: Any) -> object:
    [item] = session.at("main").retrieve("money", viewer=VIEWER)
    return item.node.summary


def ingests(session: Any) -> object:
    with session.transaction(author="bot") as tx:
        tx.ingest(text="# Refunds\n\nMoney is back.\n", path="refunds.md")
        tx.conversations.append("chat", [("user", "what changed")])
    return session.packs("refunds", viewer=VIEWER).text


def remembers(session: Any) -> object:
    session.records.add(ibidem.Record(ibidem.RecordType.SEMANTIC, "Eve likes tea", scope=""))
    return session.records.retrieve_graph("tea", viewer=VIEWER).text


def reads_as_a_viewer(session: Any) -> object:
    seen = session.at(viewer=VIEWER)
    [fact] = seen.query(label="Fact")
    assert seen.is_restricted
    assert seen.viewer == VIEWER
    [several] = seen.retrieve_many([{"text": "money"}])
    assert several.query.viewer == VIEWER
    assert [pack.text for pack in seen.stream_packs("money")] == [fact.summary]
    with pytest.raises(InvalidInputError, match="another caller"):
        seen.retrieve("money", viewer=ibidem.ALL)
    every = session.at(viewer=ibidem.ALL)
    assert every.count() == 2
    return [seen.retrieve("money").text, every.retrieve("money").text]


def reads_a_thread(session: Any) -> object:
    memory = ibidem.Conversations(session, author="bot", viewer=VIEWER)
    memory.append("chat", [("user", "when is the money back"), ("assistant", "soon")])
    context = memory.context("money", thread="chat", token_budget=100)
    return context.text, memory.select("money", thread="chat").text, memory.to_messages("chat")


def recalls(session: Any) -> object:
    recollection = session.recall("money", viewer=VIEWER)
    assert "Karla" not in recollection.text
    return recollection.text


AGENTS = [
    *(says, asks_for_a_context, asks_at_a_revision, ingests, remembers),
    *(reads_as_a_viewer, reads_a_thread, recalls),
]


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_is_replayed_and_forked(guarded: Repository, agent: Callable[[Any], object]):
    with guarded.runs.start("bot") as run:
        first = agent(run)
    with guarded.runs.open("bot").replay() as session:
        assert agent(session) == first
    with guarded.runs.fork("bot") as fork:
        assert agent(fork) == first

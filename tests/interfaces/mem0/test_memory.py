"""Memories by mem0's calls: owners, filters, history, wrong input."""

import asyncio

import pytest

import ibidem
from ibidem.adapters.mem0 import AsyncMemory, Memory


@pytest.fixture
def memory():
    times = iter(range(1_767_225_600_000_000, 1_767_225_700_000_000, 1_000_000))
    with ibidem.init("memory:", clock=lambda: next(times)) as repo:
        yield Memory(repo, author="bot")


def texts(found):
    return [one["memory"] for one in found["results"]]


def test_memories_have_owners(memory):
    memory.add("likes tea", user_id="ada", metadata={"kind": "taste"})
    memory.add("likes coffee", user_id="bob", run_id="r1")
    memory.add("the gate is green", agent_id="guard")
    assert texts(memory.get_all(user_id="ada")) == ["likes tea"]
    assert texts(memory.get_all(run_id="r1", filters={"user_id": "bob"})) == ["likes coffee"]
    assert texts(memory.search("likes", user_id="bob")) == ["likes coffee"]
    assert texts(memory.search("likes", filters={"user_id": "ada", "kind": "taste"})) == [
        "likes tea"
    ]
    assert texts(memory.search("likes", filters={"user_id": "ada", "kind": "x"})) == []
    assert texts(memory.search("gate", agent_id="guard", threshold=1e9)) == []
    (found,) = memory.get_all(user_id="ada")["results"]
    assert found["metadata"] == {"kind": "taste"}
    assert found["created_at"].startswith("2026-01-01T00:00:")
    assert memory.get(found["id"]) == found


def test_messages_are_memories_and_the_same_again_is_the_same(memory):
    said = [
        {"role": "system", "content": "be kind"},
        {"role": "user", "content": "I like tea"},
        {"role": "assistant", "content": "noted"},
    ]
    first = memory.add(said, user_id="ada")["results"]
    assert [(one["memory"], one["event"]) for one in first] == [
        ("I like tea", "ADD"),
        ("noted", "ADD"),
    ]
    again = memory.add(said[1], user_id="ada")["results"]
    assert again == [{**first[0], "event": "NONE"}]
    assert memory.add("I like tea", user_id="bob")["results"][0]["id"] != first[0]["id"]


def test_history_has_every_version(memory):
    (one,) = memory.add("likes tea", user_id="ada")["results"]
    before = memory.repository.head
    memory.update(one["id"], "likes green tea")
    memory.delete(one["id"])
    assert memory.get(one["id"]) is None
    assert memory.get(one["id"], at=before)["memory"] == "likes tea"
    assert texts(memory.search("tea", user_id="ada")) == []
    assert texts(memory.search("tea", user_id="ada", at=before)) == ["likes tea"]
    events = [(e["event"], e["old_memory"], e["new_memory"]) for e in memory.history(one["id"])]
    assert events == [
        ("ADD", None, "likes tea"),
        ("UPDATE", "likes tea", "likes green tea"),
        ("DELETE", "likes green tea", None),
    ]
    assert {one["actor_id"] for one in memory.history(one["id"])} == {"bot"}


def test_all_of_an_owner_are_deleted_in_one_commit(memory):
    for n in range(3):
        memory.add(f"fact {n}", user_id="ada")
    memory.add("another", user_id="bob")
    before = memory.repository.head
    memory.delete_all(user_id="ada")
    assert texts(memory.get_all(user_id="ada")) == []
    assert texts(memory.get_all(user_id="bob")) == ["another"]
    assert len(list(memory.repository.history.log())) == 5
    assert len(texts(memory.get_all(user_id="ada", at=before))) == 3
    assert len(texts(memory.get_all(user_id="ada", limit=2, at=before))) == 2


def test_asynchronous_calls_do_the_same():
    with ibidem.init("memory:") as repo:
        memory = AsyncMemory(repo)

        async def main():
            await asyncio.gather(*(memory.add(f"fact {n}", user_id="ada") for n in range(8)))
            found = await memory.search("fact", user_id="ada", limit=3)
            first = found["results"][0]["id"]
            await memory.update(first, "tea")
            await memory.delete(first)
            return await memory.get_all(user_id="ada"), await memory.history(first)

        left, history = asyncio.run(main())
        assert len(texts(left)) == 7
        assert [one["event"] for one in history] == ["ADD", "UPDATE", "DELETE"]


@pytest.mark.parametrize(
    ("error", "call"),
    [
        (ibidem.InvalidInputError, lambda memory: memory.add("x")),
        (ibidem.InvalidInputError, lambda memory: memory.add("x", user_id="")),
        (ibidem.InvalidInputError, lambda memory: memory.add("x", user_id="a", infer=True)),
        (ibidem.InvalidInputError, lambda memory: memory.add([{"role": "user"}], user_id="a")),
        (ibidem.InvalidInputError, lambda memory: memory.add(7, user_id="a")),
        (
            ibidem.InvalidInputError,
            lambda memory: memory.add("x", user_id="a", metadata={"n": float("nan")}),
        ),
        (ibidem.InvalidInputError, lambda memory: memory.search("x")),
        (ibidem.InvalidInputError, lambda memory: memory.search("x", user_id="a", limit=-1)),
        (ibidem.InvalidInputError, lambda memory: memory.delete_all()),
        (ibidem.NotFoundError, lambda memory: memory.update("0" * 32, "x")),
        (ibidem.NotFoundError, lambda memory: memory.delete("0" * 32)),
        (ibidem.NotFoundError, lambda memory: memory.history("0" * 32)),
    ],
)
def test_wrong_input_is_an_error_that_changes_nothing(memory, error, call):
    memory.add("there", user_id="ada")
    head = memory.repository.head
    with pytest.raises(error) as caught:
        call(memory)
    assert caught.value.kind
    assert memory.repository.head == head

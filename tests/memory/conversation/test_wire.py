"""Messages in the form in which models take them are stored, ranked and given back whole."""

from __future__ import annotations

from typing import Any, cast

import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError
from ibidem.repo.repository import Repository

OPEN_AI: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a gatekeeper."},
    {"role": "user", "content": "What colour is the gate?", "name": "ada"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "look", "arguments": '{"at": "gate"}'},
            }
        ],
        "refusal": None,
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "green"},
    {"role": "assistant", "content": "It is green.", "reasoning_content": "The tool said so."},
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "And this one?"},
            {"type": "image_url", "image_url": {"url": "https://x.org/a.png", "detail": "low"}},
        ],
    },
]
BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Compare both gates."}]},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hidden thought", "signature": "c2ln"},
            {"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {"n": 1, "x": 0.5}},
            {"type": "tool_use", "id": "t2", "name": "look", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "content": "green", "is_error": False},
            {
                "type": "tool_result",
                "tool_use_id": "t2",
                "content": [
                    {"type": "text", "text": "mauve"},
                    {"type": "image", "source": {"type": "url", "url": "https://x.org/b.png"}},
                ],
            },
        ],
    },
    {"role": "assistant", "content": ""},
    {"role": "assistant", "content": "x" * 20_000},
    {"role": "assistant", "content": [{"type": "a_future_part", "anything": [1, None, {}]}]},
]


@pytest.fixture
def repo() -> Repository:
    return ibidem.init("memory:", clock=lambda: 1)


@pytest.mark.parametrize("messages", [OPEN_AI, BLOCKS], ids=["calls", "blocks"])
def test_messages_are_given_back_as_they_were_given(repo: Repository, messages: Any):
    talk = repo.conversations
    assert len(talk.append("a", messages).ords) == 6
    assert talk.to_messages("a") == messages
    assert talk.to_messages("a", first=2, limit=2) == messages[2:4]
    # A whole conversation that is saved again changes nothing; another one is refused.
    assert talk.save("a", messages).commit is None
    assert talk.save("a", [*messages, {"role": "user", "content": "more"}]).ords == (6,)
    changed = [{**messages[0], "name": "eve"}, *messages[1:]]
    with pytest.raises(InvalidInputError, match=r"messages\[0\]"):
        talk.save("a", changed)
    # What is given back belongs to the caller.
    talk.to_messages("a")[5]["content"] = None
    found = talk.to_messages("a")
    if isinstance(found[1]["content"], list):
        found[1]["content"].clear()
    assert talk.to_messages("a")[:6] == messages


def test_texts_results_and_calls_are_ranked_and_reasoning_is_not(repo: Repository):
    talk = repo.conversations
    talk.append("a", BLOCKS)
    talk.append("b", OPEN_AI)
    assert [one.ord for one in talk.select("mauve", thread="a", limit=1).messages] == [1, 2]
    assert not talk.select("hidden thought", thread="a").messages
    assert not talk.select("sign c2ln", thread="a").messages
    assert [one.text for one in talk.messages("b")][2:4] == ['look({"at": "gate"})', "green"]


def test_a_call_and_its_results_are_one_unit(repo: Repository):
    talk = repo.conversations
    talk.append("a", BLOCKS)
    talk.append("b", OPEN_AI)
    assert talk.select("mauve", thread="a", limit=1).to_messages() == BLOCKS[1:3]
    assert talk.select("green", thread="b", limit=1).to_messages() == OPEN_AI[2:4]
    # A result is no question, although a user brings it.
    chosen = talk.select("mauve", thread="a", limit=1, unit="exchange")
    assert chosen.to_messages() == BLOCKS
    context = talk.context(None, thread="b", recent=10, token_budget=None)
    assert context.to_messages() == OPEN_AI


def test_ids_of_messages_are_known(repo: Repository):
    talk = repo.conversations
    one = {"id": "msg_1", "role": "user", "content": "hi"}
    assert talk.append("a", [one]).ords == (0,)
    assert talk.append("a", [one]).ords == (0,)
    assert talk.to_messages("a") == [one]


def test_own_forms_are_given_as_messages(repo: Repository):
    talk = repo.conversations
    talk.append("a", [("user", "hi"), {"role": "assistant", "text": "ho"}])
    assert talk.to_messages("a") == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "ho"},
    ]


CALL = {"id": "c", "function": {"name": "look", "arguments": ""}}


@pytest.mark.parametrize(
    ("given", "path"),
    [
        (["hi"], "messages[0]: got 'hi'"),
        ([OPEN_AI[0], {"content": "hi"}], "messages[1].role: got None"),
        ([{"role": "user"}], "messages[0].content: got nothing"),
        ([{"role": "user", "content": 5}], "messages[0].content: got 5"),
        ([{"role": "user", "content": ["hi"]}], "messages[0].content[0]: got 'hi'"),
        ([{"role": "user", "content": [{}]}], "messages[0].content[0].type: got None"),
        (
            [{"role": "user", "content": [{"type": "text", "text": 5}]}],
            "messages[0].content[0].text: got 5",
        ),
        (
            [{"role": "user", "content": [{"type": "tool_result", "tool_use_id": ""}]}],
            "messages[0].content[0].tool_use_id: got ''",
        ),
        (
            [
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": [{}]}],
                }
            ],
            "messages[0].content[0].content[0].type: got None",
        ),
        (
            [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "x"}]}],
            "messages[0].content[0].input: got None",
        ),
        ([{"role": "assistant", "tool_calls": [{}]}], "messages[0].tool_calls[0].id: got None"),
        ([{"role": "assistant", "tool_calls": CALL}], "messages[0].tool_calls: got"),
        (
            [{"role": "assistant", "tool_calls": [{"id": "c"}]}],
            "messages[0].tool_calls[0].function: got None",
        ),
        ([{"role": "tool", "content": "x"}], "messages[0].tool_call_id: got None"),
        ([{"role": "user", "content": "x", "score": float("nan")}], "messages[0]"),
        ([{"role": "user", "content": "x", "of": object()}], "messages[0]"),
        ([{"role": "user", "text": "x", "content": "y"}], "messages[0].content: got a field"),
        ([{"text": "x"}], "messages[0].role: got nothing"),
    ],
)
def test_a_bad_message_is_named_by_index_and_field(repo: Repository, given: Any, path: str):
    with pytest.raises(InvalidInputError) as failure:
        repo.conversations.append("a", given)
    assert str(failure.value).startswith(path)
    assert repo.head is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("raw", 5),
        ("raw", "x"),
        ("tool_calls", True),
        ("tool_calls", "abc"),
        ("tool_results", [1]),
        ("tool_call_id", 5),
        ("props", ""),
        ("id", []),
    ],
)
def test_a_field_of_another_form_is_named(repo: Repository, name: str, value: Any):
    fields = {"role": "user", "text": "x", name: value}
    with pytest.raises(InvalidInputError, match=rf"^{name}: got"):
        ibidem.Message(**fields)
    with pytest.raises(InvalidInputError, match=rf"^messages\[0\]\.{name}: got"):
        repo.conversations.append("a", [fields])


def test_what_is_no_list_is_named(repo: Repository):
    memory, nothing = repo.conversations, cast("Any", None)
    for write in (memory.append, memory.save):
        with pytest.raises(InvalidInputError, match=r"^messages: got None, expected a list"):
            write("a", nothing)
    memory.append("a", [("user", "x")])
    with pytest.raises(InvalidInputError, match=r"^facts: got None, expected a list"):
        memory.add_facts("a", 0, 0, nothing, model="m")

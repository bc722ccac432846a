"""Whatever a client sends, a tool replies or raises an error of ours; only `remember` writes."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import ibidem
from ibidem.adapters.mcp import prompts, resources, tools
from ibidem.adapters.mcp.access import Access
from ibidem.adapters.mcp.page import tokens_of

jsonschema = pytest.importorskip("jsonschema")


def repository() -> ibidem.Repository:
    found = ibidem.init("memory:", clock=lambda: 10**15)
    with found.transaction(author="ada", message="notes") as tx:
        ibidem.ingest_text(tx, "# Mail\n\nThe parcel arrives.\n\nTea.\n", path="mail.md")
        tx.add("Ada prefers tea")
    return found


REPOSITORY = repository()
ACCESS = Access(REPOSITORY, author="ada", agent="a")
FOUND = tools.called(ACCESS, "retrieve", {"query": "tea parcel"}).structured
CITATION = FOUND["sources"][0]["citation"]
IDS = [source["id"] for source in FOUND["sources"]]
TEXTS = st.sampled_from(
    [
        *(
            "",
            "tea",
            "HEAD",
            "HEAD~1",
            "main",
            "\x00",
            "\ud800",
            "a" * 300,
            "2026-01-01",
            "~",
            "a..b",
        ),
        *(FOUND["root"], FOUND["commit"], FOUND["receipt"], "bafy", IDS[0], IDS[0][:6], "0" * 32),
    ]
) | st.text(max_size=10)
NUMBERS = st.sampled_from([0, 1, 100, 150, 2000, 2**53, -1, 2**70, 1.5, float("nan")])
ANYTHING = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


def arguments(schema: Any) -> st.SearchStrategy[Any]:
    """Returns values that a schema describes, and sometimes others."""
    kind = schema.get("type")
    of_kind: st.SearchStrategy[Any] = ANYTHING
    if kind == "string":
        of_kind = TEXTS
    elif kind == "integer":
        of_kind = NUMBERS
    elif kind == "array":
        of_kind = st.lists(arguments(schema["items"]), max_size=2)
    elif kind == "object" and "properties" in schema:
        fields = {name: arguments(one) for name, one in schema["properties"].items()}
        required = {name: one for name, one in fields.items() if name in schema.get("required", ())}
        optional = {name: one for name, one in fields.items() if name not in required}
        return st.fixed_dictionaries(required, optional=optional)
    elif kind == "object":
        of_kind = st.dictionaries(TEXTS | st.sampled_from(["source", "format"]), ANYTHING)
    return st.one_of(of_kind, of_kind, of_kind, ANYTHING)


@pytest.mark.parametrize("name", tools.TOOLS)
def test_a_tool_replies_or_raises_an_error_of_ours(name: str):
    @settings(max_examples=examples(150))
    @given(arguments(tools.TOOLS[name].input_schema))
    def check(sent: dict[str, Any]) -> None:
        head = REPOSITORY.head
        try:
            reply = tools.called(ACCESS, name, sent)
        except ibidem.IbidemError:
            reply = None
        if reply is None or name != "remember":
            assert REPOSITORY.head == head
        if reply is not None:
            written = json.loads(json.dumps(reply.structured, allow_nan=False))
            jsonschema.validate(written, tools.TOOLS[name].output_schema)
            if "token_budget" in tools.TOOLS[name].input_schema["properties"]:
                assert tokens_of(reply.text) <= sent.get("token_budget", 1500)

    check()


@given(st.sampled_from(sorted(CITATION)), ANYTHING)
def test_a_forged_citation_is_false_or_refused(field: str, value: Any):
    sent = {"citation": {**CITATION, field: value}}
    try:
        reply = tools.called(ACCESS, "verify", sent)
    except ibidem.IbidemError:
        return
    if field in ("pack", "root", "document", "policy", "spans") and value != CITATION[field]:
        assert not reply.structured["is_verified"]


@given(TEXTS, TEXTS, st.sampled_from(["{}/node/{}", "receipt/{}{}", "{}{}"]))
def test_a_resource_is_read_or_not_found(one: str, other: str, form: str):
    with suppress(ibidem.IbidemError):
        resources.read_resource(ACCESS, "ibidem://" + form.format(one, other))


@given(st.sampled_from(sorted(prompts.PROMPTS)), TEXTS, TEXTS)
def test_a_prompt_is_written_or_refused(name: str, one: str, other: str):
    with suppress(ibidem.IbidemError):
        prompts.written(ACCESS, name, {"question": one, "since": other})
    with suppress(ibidem.IbidemError):
        prompts.written(ACCESS, "answer-with-citations", {"question": one})


def test_an_argument_that_no_tool_has_is_refused_with_those_that_it_has():
    with pytest.raises(
        ibidem.InvalidInputError, match=r"'question' was unexpected.*expected query, "
    ):
        tools.check("retrieve", {"question": "when"})

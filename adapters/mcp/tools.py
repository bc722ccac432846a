"""The tools: six, because clients send every description with every request of a model.

A tool is a function of `questions.py`, `facts.py` or `review.py` with its schemas; its exposure to
a restricted viewer is a row `mcp.NAME` of `repo/viewer/exposure.py`. Arguments are checked against
the schema before anything is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import ibidem
from ibidem.adapters.mcp import facts, questions, review
from ibidem.adapters.mcp.access import HEAD, Access, Reply
from ibidem.adapters.mcp.page import BUDGET_DEFAULT, BUDGET_MAX, BUDGET_MIN

Schema = Mapping[str, Any]
_LIMIT_MAX = 100


@dataclass(frozen=True)
class Tool:
    """A tool as clients list it, and the function behind it."""

    name: str
    title: str
    description: str
    call: Callable[..., Reply]
    input_schema: Schema
    output_schema: Schema
    is_writing: bool = False


def _object(required: str, properties: Schema) -> dict[str, Any]:
    found: dict[str, Any] = {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
    }
    return {**found, "required": required.split()} if required else found


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "description": description, "minLength": 1, **more}


def _whole(description: str, default: int, low: int, high: int) -> dict[str, Any]:
    bounds = {"minimum": low, "maximum": high, "default": default}
    return {"type": "integer", "description": description, **bounds}


_TEXT: Schema = {"type": "string"}
_OR_NULL: Schema = {"type": ["string", "null"]}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_BOOLEAN: Schema = {"type": "boolean"}
_LEVEL: Schema = {"type": ["integer", "null"]}
_ANY: Schema = {"type": "object"}
_AT = _text("Revision: a branch, a tag, HEAD~2, a commit, a time", default=HEAD)
_BUDGET = _whole("Most tokens of the answer", BUDGET_DEFAULT, BUDGET_MIN, BUDGET_MAX)
_LABEL: Schema = {
    "type": "array",
    "items": _text("Type of nodes, such as Passage or Semantic"),
    "description": "Only nodes of these types",
}
_WHERE: Schema = {"type": "object", "description": "Only nodes with these properties"}


_ALSO: Schema = {
    "type": "array",
    "items": _text("Another wording, a part of the question, or an imagined answer"),
    "maxItems": 16,
    "description": "Also rank by these",
}


def _list(**properties: Any) -> dict[str, Any]:
    return {"type": "array", "items": _object(" ".join(properties), properties)}


def _result(**properties: Any) -> dict[str, Any]:
    return _object(" ".join(properties), properties)


TOOLS = {
    tool.name: tool
    for tool in (
        Tool(
            "retrieve",
            "Search the repository",
            "Finds what the repository knows about a question: numbered sources with text, ids and "
            "trust, and a receipt. Cite sources by their marker, such as [1]. Answers are exact "
            "and can be repeated; `at` asks an earlier state.",
            questions.retrieve,
            _object(
                "query",
                {
                    "query": _text("The question, or words of it"),
                    "token_budget": _BUDGET,
                    "at": _AT,
                    "label": _LABEL,
                    "where": _WHERE,
                    "also": _ALSO,
                    "created_after": _text("Only what came after this time"),
                    "created_before": _text("Only what was there before this time"),
                    "updated_after": _text("Only what was added or changed after this time"),
                    "updated_before": _text("Only what has not changed since this time"),
                },
            ),
            _result(
                root=_TEXT,
                commit=_OR_NULL,
                result=_TEXT,
                receipt=_OR_NULL,
                tokens=_COUNT,
                token_budget=_COUNT,
                omitted_count=_COUNT,
                warnings={"type": "array", "items": _TEXT},
                sources=_list(
                    marker=_TEXT,
                    id=_TEXT,
                    cid=_TEXT,
                    score={"type": "number"},
                    document=_OR_NULL,
                    source=_OR_NULL,
                    level=_LEVEL,
                    citation=_ANY,
                ),
            ),
        ),
        Tool(
            "read",
            "Read a node",
            "Reads a node, section or document by its id: text, properties and edges. Long texts "
            "come in parts; `start` continues.",
            questions.read,
            _object(
                "id",
                {
                    "id": _text("Id of a node, or a unique prefix"),
                    "at": _AT,
                    "start": _whole("First character", 0, 0, 2**53),
                    "token_budget": _BUDGET,
                },
            ),
            _result(
                root=_TEXT,
                commit=_OR_NULL,
                id=_TEXT,
                label=_TEXT,
                level=_LEVEL,
                start=_COUNT,
                next={"type": ["integer", "null"]},
                tokens=_COUNT,
                edges=_list(id=_TEXT, type=_TEXT, source=_TEXT, target=_TEXT),
                has_more_edges=_BOOLEAN,
            ),
        ),
        Tool(
            "remember",
            "Remember facts",
            "Adds facts that hold beyond this conversation, in one commit that can be undone. Say "
            "each in a sentence that is clear without the conversation. Never secrets.",
            facts.remember,
            _object(
                "why",
                {
                    "text": _text("One fact"),
                    "facts": {
                        "type": "array",
                        "minItems": 1,
                        "maxItems": _LIMIT_MAX,
                        "items": _object(
                            "text",
                            {
                                "text": _text("The fact"),
                                "label": _text("Its type", default=facts.FACT_LABEL),
                                "props": {"type": "object"},
                                "replaces": _text("Id of the fact that it corrects"),
                            },
                        ),
                    },
                    "why": _text("Why, for the commit message"),
                    "task": _text("The task that it belongs to"),
                },
            ),
            _result(
                ids={"type": "array", "items": _TEXT},
                commit=_OR_NULL,
                root=_OR_NULL,
                branch=_TEXT,
                undo=_OR_NULL,
            ),
            is_writing=True,
        ),
        Tool(
            "history",
            "Show who changed what",
            "Lists commits, newest first: of the node `id`, of the best match of `query`, or of "
            "the repository. Shows author, agent, reason and the text at that time.",
            review.history,
            _object(
                "",
                {
                    "id": _text("Id of a node, or a unique prefix"),
                    "query": _text("Words that find the node"),
                    "at": _AT,
                    "since": _text("Only commits that this revision does not have"),
                    "limit": _whole("Most commits", review.HISTORY_LIMIT, 1, _LIMIT_MAX),
                    "token_budget": _BUDGET,
                },
            ),
            _result(
                id=_OR_NULL,
                tokens=_COUNT,
                has_more=_BOOLEAN,
                commits=_list(
                    cid=_TEXT,
                    root=_TEXT,
                    author=_TEXT,
                    agent=_OR_NULL,
                    task=_OR_NULL,
                    time={"type": "integer"},
                ),
            ),
        ),
        Tool(
            "compare",
            "Compare two answers",
            "Asks one question at two revisions: which items entered, left or moved, and which "
            "commits did it.",
            review.compare,
            _object(
                "query before",
                {
                    "query": _text("The question"),
                    "before": _text("The earlier revision"),
                    "after": _text("The later revision", default=HEAD),
                    "limit": _whole("Items compared", review.COMPARE_LIMIT, 1, _LIMIT_MAX),
                    "label": _LABEL,
                    "where": _WHERE,
                    "token_budget": _BUDGET,
                },
            ),
            _result(
                tokens=_COUNT,
                before=_result(root=_TEXT, result=_TEXT),
                after=_result(root=_TEXT, result=_TEXT),
                moves=_list(
                    id=_TEXT,
                    kind=_TEXT,
                    before={"type": ["integer", "null"]},
                    after={"type": ["integer", "null"]},
                ),
                causes=_list(commit=_TEXT, commit_count=_COUNT),
            ),
        ),
        Tool(
            "verify",
            "Verify an answer or a quote",
            "Computes the answer of a receipt again and says whether it is the same to the byte; "
            "with `quote`, which of its sources have these words. Or checks one `citation`.",
            review.verify,
            _object(
                "",
                {
                    "receipt": _text("Receipt of an answer"),
                    "quote": _text("Words that a source should have"),
                    "citation": {"type": "object", "description": "A citation of a source"},
                },
            ),
            _result(
                is_verified=_BOOLEAN,
                kind=_OR_NULL,
                result=_OR_NULL,
                markers={"type": "array", "items": _TEXT},
            ),
        ),
    )
}
"""The tools by name, in the order in which they are listed."""


def offered(access: Access) -> list[Tool]:
    """Returns the tools of a caller."""
    return [
        tool
        for tool in TOOLS.values()
        if access.offers(tool.name) and not (tool.is_writing and access.is_read_only)
    ]


def called(access: Access, name: str, arguments: Mapping[str, Any]) -> Reply:
    """Returns the reply of a tool.

    Raises:
        NotFoundError: there is no such tool for this caller.
        InvalidInputError: the arguments do not have the form of the schema.
        IbidemError: what the tool raises; nothing was changed.
    """
    tool = next((one for one in offered(access) if one.name == name), None)
    if tool is None:
        names = ", ".join(one.name for one in offered(access))
        raise ibidem.NotFoundError(f"tool: got {name!r:.80}, expected one of {names}")

    def call() -> Reply:
        check(name, arguments)
        return tool.call(access, **arguments)

    return access.audited(f"mcp.{name}", call, lambda reply: reply.structured.get("root"))


def check(name: str, arguments: Mapping[str, Any]) -> None:
    """Raises `InvalidInputError` unless arguments have the form of a tool's schema."""
    from jsonschema.exceptions import best_match

    error = best_match(_validator(name).iter_errors(dict(arguments)))
    if error is not None:
        field = ".".join(map(str, error.absolute_path)) or "arguments"
        is_name = error.validator == "additionalProperties"
        names = f"; expected {', '.join(error.schema['properties'])}" if is_name else ""
        raise ibidem.InvalidInputError(f"{field}: {error.message:.200}{names}")


@cache
def _validator(name: str) -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(TOOLS[name].input_schema)

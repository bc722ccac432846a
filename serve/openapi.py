"""The description of the server: OpenAPI 3.1, from the tables of the routes and of the query
options.

`docs/openapi.json` is written by `python -m ibidem.serve.routes`; a test compares
them. Answers are described as far as a client may rely on them.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ibidem.repo.questions import Questions
from ibidem.repo.refs import HEADS, OWN, TAGS
from ibidem.repo.sync import wire
from ibidem.repo.sync.names import NOTES, RECEIPTS, RUNS
from ibidem.repo.viewer.exposure import Exposure, exposure_of
from ibidem.retrieve.query.options import OPTIONS, Option
from ibidem.serve.changes import MESSAGES, TRANSACTIONS
from ibidem.serve.exchange import JSON
from ibidem.serve.question import LINES, served
from ibidem.serve.tokens import Scope

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_CID: Schema = {"type": "string", "pattern": "^b[a-z2-7]{58}$"}
_ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_AT: Schema = {"type": "string", "minLength": 1, "description": "A revision; the head by default."}
_OBJECT: Schema = {"type": "object"}
_NULL: Schema = {"type": "null"}
_COUNT: Schema = {"type": "integer", "minimum": 0}
_ALTERNATIVES = re.compile(r" \| (?![^\[]*\])")
"""Between the types of an annotation, not inside one."""
_TYPES: dict[str, Schema] = {
    "str": _TEXT,
    "bool": {"type": "boolean"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "datetime": {"type": "string", "description": "A time such as 2026-01-31T12:00:00Z."},
    "Iterable[str]": {"type": "array", "items": _TEXT},
    "Mapping[str, object]": _OBJECT,
    "Mapping[str, Any]": _OBJECT,
    "Mapping[str, float]": {"type": "object", "additionalProperties": {"type": "number"}},
    "Sequence[str | Mapping[str, Any]]": {
        "type": "array",
        "items": {"anyOf": [_TEXT, _OBJECT]},
        "minItems": 1,
        "maxItems": 16,
    },
    "Predicate": _OBJECT,
    "CommitCid": _CID,
    "tuple[str, Any]": {
        "type": "array",
        "prefixItems": [_TEXT, {"type": "array", "items": {"type": "number"}}],
        "minItems": 2,
        "maxItems": 2,
    },
    "tuple[str, Any, Any]": {
        "type": "array",
        "prefixItems": [
            _TEXT,
            {"type": "array", "items": {"type": "integer"}},
            {"type": "array", "items": {"type": "number"}},
        ],
        "minItems": 3,
        "maxItems": 3,
    },
}
_NUMBERS = ("int", "float")
_CONTEXT: dict[str, Schema] = {
    "thread": {"type": ["string", "null"], "description": "The conversation to show."},
    "recent": {"type": "integer", "description": "Its last messages, whatever the question."},
    "user": {"type": ["string", "null"], "description": "Only facts of this user."},
    "agent": {"type": ["string", "null"], "description": "Only facts of this agent."},
    "session": {"type": ["string", "null"], "description": "Only facts of this session."},
    "documents": {"type": "integer", "description": "The share of documents in the budget."},
    "facts": {"type": "integer", "description": "The share of facts."},
    "conversation": {"type": "integer", "description": "The share of the conversation."},
    "style": {"type": "string", "enum": ["qa", "summarize"]},
}
_QUERY: dict[str, Schema] = {
    "order_by": {
        "anyOf": [
            {**_TEXT, "minLength": 1},
            {
                "type": "array",
                "prefixItems": [_TEXT, {**_TEXT, "enum": ["ascending", "descending"]}],
                "minItems": 2,
                "maxItems": 2,
            },
            _NULL,
        ],
        "description": "A property, with a - before it, or with a direction.",
    },
    "limit": {"type": "integer", "minimum": 0, "maximum": 1000},
    "offset": {**_COUNT, "description": "Nodes to skip."},
    "after": {"type": ["string", "null"], "description": "`next` of the page before."},
}
_ANSWER: Schema = {
    "type": "object",
    "required": ["root", "result", "items", "tokens_used", "warnings"],
    "properties": {
        "root": {**_CID, "description": "What was asked."},
        "result": {**_CID, "description": "The identity of the answer, and its ETag."},
        "receipt": {"type": ["string", "null"], "description": "Replays the answer."},
        "items": {"type": "array", "items": _OBJECT},
        "tokens_used": _COUNT,
        "warnings": {"type": "array", "items": _OBJECT},
    },
}
_LINE: Schema = {
    "description": "One line: a pack as soon as it is known, or, as the last one, the answer with "
    "empty items, or an error.",
    "oneOf": [
        {"type": "object", "required": [name], "properties": {name: schema}}
        for name, schema in (
            ("item", _OBJECT),
            ("answer", _ANSWER),
            ("error", {"$ref": "#/components/schemas/Problem"}),
        )
    ],
}
_LIST: Schema = {"type": "array", "items": _OBJECT}
_TAG: Schema = {"type": "string", "pattern": '^"b[a-z2-7]{58}"$'}
_HEADERS: dict[str, Schema] = {
    "If-Match": {**_TAG, "description": "The commit that the branch must be at."},
    "If-None-Match": {"const": "*", "description": "The branch must have no commits."},
    "Idempotency-Key": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    "Last-Event-ID": _CID,
}
_FORMS = ("node", "edge", "vector", "sparse", "update", "remove", "tombstone")
_RECORD: Schema = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "additionalProperties": False,
    "properties": dict.fromkeys(_FORMS, _OBJECT),
    "description": "A line of JSON lines, as `repo add` reads them.",
}
_MESSAGE: Schema = {
    "type": "object",
    "required": ["role"],
    "properties": {"role": _TEXT, "id": {**_TEXT, "description": "Of which a thread has one."}},
    "description": "A message as language models take it, with `role` and `content`.",
}
_CHANGES: dict[str, Schema] = {
    TRANSACTIONS: {"records": {"type": "array", "items": _RECORD}},
    MESSAGES: {"thread": _TEXT, "messages": {"type": "array", "items": _MESSAGE}},
}
"""What the body of a change requires, by path."""


def description(routes: Mapping[str, Any]) -> bytes:
    """Returns the description of some routes by path, as JSON."""
    text = json.dumps(_description(routes), indent=1, ensure_ascii=False) + "\n"
    return text.encode()


def _description(routes: Mapping[str, Any]) -> Schema:
    from ibidem import __version__

    paths: Schema = {}
    for path, route in routes.items():
        paths[path] = {route.method.lower(): _operation(route)}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Ibidem",
            "version": __version__,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            "description": "A repository behind `repo serve`; a token decides who is asking.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": {"Problem": _problem_schema()},
            "responses": {
                "Problem": {
                    "description": "An error (RFC 9457).",
                    "content": {wire.PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
                }
            },
        },
    }


def _operation(route: Any) -> Schema:
    path = route.path
    name = re.sub(r"\W+", "_", path.removeprefix("/v1/").replace(".json", "")).strip("_")
    summary = inspect.getdoc(route.answer) or ""
    found: Schema = {
        "operationId": f"{route.method.lower()}_{name}",
        "summary": " ".join(summary.split("\n\n")[0].split()).removesuffix("."),
        "x-scope": str(Scope(route.scope)),
        "x-restricted-viewers": str(Exposure(exposure_of(path))),
    }
    parameters = _parameters(path)
    if parameters:
        found["parameters"] = parameters
    if path == "/v1/health":
        found["security"] = []
    if route.body is not None:
        schema = _body(path)
        found["requestBody"] = {
            "required": True,
            "content": {route.body: {} if schema is None else {"schema": schema}},
        }
    kind, schema = _result(path)
    success: Schema = {"description": "The answer."}
    success["content"] = {kind: {} if schema is None else {"schema": schema}}
    if path == "/v1/packs":
        success["content"][LINES] = {"schema": _LINE}
    if kind == JSON and "{" in path:
        success["headers"] = {"ETag": {"schema": _TEXT}}
    found["responses"] = {"200": success, "default": {"$ref": "#/components/responses/Problem"}}
    return found


def _parameters(path: str) -> list[Schema]:
    found = [
        {"name": name, "in": "path", "required": True, "schema": _CID if name == "receipt" else _ID}
        for name in re.findall(r"{(\w+)}", path)
    ]
    limits = {"/v1/nodes": 1000, "/v1/nodes/{id}": 1000, "/v1/log": 1000, "/v1/diff": 10_000}
    names = {
        "/v1/nodes": ("at", "label", "where", "order_by", "limit", "after"),
        "/v1/nodes/{id}": ("at", "limit", "after"),
        "/v1/log": ("at", "limit"),
        "/v1/diff": ("before", "after", "limit"),
        wire.REFS: ("prefix",),
    }.get(path, ())
    for name in names:
        schema = {"at": _AT, "before": _AT, "after": _AT}.get(name, {**_TEXT, "minLength": 1})
        if name == "after" and path == "/v1/nodes/{id}":
            schema = _ID
        if name == "limit":
            schema = {"type": "integer", "minimum": 1, "maximum": limits[path]}
        if name == "prefix":
            prefix = {**_TEXT, "enum": [HEADS, TAGS, OWN, NOTES, RUNS, RECEIPTS]}
            schema = {"type": "array", "items": prefix, "maxItems": 16}
        if name == "where":
            schema = {**_TEXT, "description": "Conditions on properties, an object in JSON."}
        found.append({"name": name, "in": "query", "required": name == "before", "schema": schema})
    headers = {
        **dict.fromkeys(_CHANGES, ("If-Match", "If-None-Match", "Idempotency-Key")),
        "/v1/events": ("Last-Event-ID",),
    }.get(path, ())
    found += [{"name": name, "in": "header", "schema": _HEADERS[name]} for name in headers]
    return found


def _body(path: str) -> Schema | None:
    if path in (wire.KNOWN, wire.FETCH, wire.PUSH, wire.WORK):
        return None
    if path in _CHANGES:
        properties: Schema = dict.fromkeys(("author", "message", "agent", "task", "branch"), _TEXT)
        return _closed({**properties, **_CHANGES[path]}, tuple(_CHANGES[path]))
    if path == "/v1/compare":
        revisions = {"before": _AT, "after": _AT}
        return _closed({**revisions, **_options("retrieve")}, ("before",))
    method = path.removeprefix("/v1/")
    required = ("text",) if method in ("prompt", "context") else ()
    return _closed({"at": _AT, **_options(method)}, required)


def _closed(properties: Schema, required: tuple[str, ...]) -> Schema:
    found: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**found, "required": list(required)} if required else found


def _options(method: str) -> Schema:
    parameters = inspect.signature(getattr(Questions, method)).parameters
    found: Schema = {}
    for name in served(method):
        option = OPTIONS.get(name) or OPTIONS.get(f"packs.{name}")
        if method == "query" and name in _QUERY:
            found[name] = _QUERY[name]
        elif name in _CONTEXT:
            found[name] = _CONTEXT[name]
        elif option is not None:
            found[name] = _schema(option, is_nullable=_may_be_null(parameters[name]))
    return found


def _may_be_null(parameter: inspect.Parameter) -> bool:
    return "None" in str(parameter.annotation)


def _schema(option: Option, *, is_nullable: bool) -> Schema:
    """Returns the schema of the values of an option; inside a mapping, of each of its keys."""
    inner = {}
    for one in OPTIONS.values():
        if one.name.rpartition(".")[0] == option.name:
            # A time is given in several forms, of which the table has the resolved one.
            form = replace(OPTIONS["as_of"], help=one.help) if one.key == "as_of" else one
            inner[one.key] = _schema(form, is_nullable=bool(form.none))
    kinds = [_schema_of_type(kind, option, inner) for kind in _ALTERNATIVES.split(option.type)]
    unique = list({json.dumps(one, sort_keys=True): one for one in kinds if one}.values())
    if is_nullable:
        unique.append(_NULL)
    schema = unique[0] if len(unique) == 1 else {"anyOf": unique}
    return {**schema, "description": f"{option.help}."} if option.help else schema


def _schema_of_type(kind: str, option: Option, inner: Mapping[str, Schema]) -> Schema:
    schema = dict(_TYPES.get(kind, {}))
    if option.choices and kind == "str":
        schema["enum"] = list(option.choices)
    elif kind in _NUMBERS:
        schema |= {"minimum": option.low, "maximum": option.high}
    elif kind.startswith("Mapping") and inner:
        schema["properties"] = dict(inner)
        schema["additionalProperties"] = False
    return schema


def _result(path: str) -> tuple[str, Schema | None]:
    from ibidem.serve.events import EVENT_STREAM

    special = {
        "/v1/metrics": "text/plain",
        "/v1/events": EVENT_STREAM,
        wire.REFS: wire.CBOR,
        wire.KNOWN: wire.CBOR,
        wire.FETCH: wire.CAR,
        wire.PUSH: wire.CBOR,
        wire.WORK: wire.PART,
    }
    if path in special:
        return special[path], None
    return JSON, {
        "/v1/retrieve": _ANSWER,
        "/v1/packs": _ANSWER,
        "/v1/replay/{receipt}": _ANSWER,
        **dict.fromkeys(("/v1/prompt", "/v1/context"), _required(user=_TEXT, citations=_LIST)),
        "/v1/compare": _required(before=_OBJECT, after=_OBJECT, items=_LIST, causes=_LIST),
        **dict.fromkeys(
            ("/v1/query", "/v1/nodes"),
            _required(root=_CID, nodes=_LIST, count=_COUNT, warnings=_LIST),
        ),
        "/v1/nodes/{id}": _required(root=_CID, node=_OBJECT, edges=_LIST),
        "/v1/log": _required(commits=_LIST),
        "/v1/diff": _required(changes=_LIST, is_complete={"type": "boolean"}),
        "/v1/branches": _branches_schema(),
        **dict.fromkeys(_CHANGES, _required(branch=_TEXT)),
    }.get(path, _OBJECT)


def _required(**properties: Schema) -> Schema:
    return {"type": "object", "required": list(properties), "properties": properties}


def _branches_schema() -> Schema:
    found = _required(current=_TEXT, branches=_OBJECT, tags=_OBJECT)
    damaged = {**_LIST, "description": "A problem for each ref that cannot be read, if any."}
    return {**found, "properties": {**found["properties"], "damaged": damaged}}


def _problem_schema() -> Schema:
    from ibidem.objects.errors import ErrorKind

    hint = {"type": ["string", "null"], "description": "What to do next."}
    return {
        "type": "object",
        "required": ["type", "title", "status", "detail", "kind", "hint"],
        "properties": {
            "type": _TEXT,
            "title": _TEXT,
            "status": {"type": "integer"},
            "detail": _TEXT,
            "kind": {"type": "string", "enum": sorted(ErrorKind)},
            "hint": hint,
            "field": {**_TEXT, "description": "What was wrong."},
            "value": {**_TEXT, "description": "What was found there."},
            "expected": {**_TEXT, "description": "What should have been there."},
        },
    }

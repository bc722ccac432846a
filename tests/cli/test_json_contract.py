"""Every command's --json is one canonical object, and docs/json.md has exactly its fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from ibidem.cli.reference import commands

from .conftest import EveryCommand

PAGE = Path(__file__).resolve().parents[2] / "docs" / "json.md"
SHAPES = (
    "node",
    "token",
    "edge",
    "commit",
    "location",
    "ingest",
    "cause",
    "copy",
    "conflict",
    "applied",
    "citation",
    "message",
)
COUNTS = [
    f"{family}.{action}"
    for family in ("nodes", "edges", "vectors", "sparse", "tombstones")
    for action in ("added", "changed", "removed")
]
EMBEDDED = {
    "ingest": {"": "ingest"},
    "ibidem/add/1": {"": "ingest"},
    "ibidem/commit/1": {"commit": "commit", "ingested": "ingest"},
    "ibidem/status/1": {"staged": "counts", "conflicts[]": "conflict"},
    "ibidem/merge/1": {"counts": "counts", "commit": "commit", "conflicts[]": "conflict"},
    **{
        f"ibidem/{name}/1": {
            "": "applied",
            "counts": "counts",
            "commits[]": "commit",
            "dropped[]": "commit",
            "conflicts[]": "conflict",
        }
        for name in ("history-rebase", "cherry-pick", "revert")
    },
    **{f"ibidem/trust-token-{name}/1": {"": "token"} for name in ("create", "rotate", "revoke")},
    "ibidem/trust-token-list/1": {"access_tokens[]": "token"},
    "ibidem/resolve/1": {"commit": "commit"},
    "ibidem/undo-staged/1": {"dropped": "counts"},
    "ibidem/log/1": {"commits[]": "commit"},
    "ibidem/show/1": {"value": "any", "location": "location", "edges[]": "edge"},
    "ibidem/query/1": {"nodes[]": "node"},
    "ibidem/diff/1": {"counts": "counts"},
    "ibidem/blame/1": {"lines[].commit": "commit"},
    "ibidem/bisect-run/1": {"suspects[]": "commit"},
    "ibidem/history-squash/1": {"commit": "commit"},
    "cause": {"commit": "commit", "changes[]": "change"},
    "ibidem/export/1": {"": "copy"},
    "ibidem/import/1": {"": "copy"},
    "ibidem/clone/1": {"": "copy"},
    "ibidem/remote-fetch/1": {"": "copy"},
    "ibidem/pull/1": {"": "copy"},
    "ibidem/push/1": {"": "copy"},
    "ibidem/diff-query/1": {"causes[]": "cause"},
    "ibidem/bisect/1": {"first_bad": "commit", "cause": "cause"},
    "ibidem/prompt/1": {"citations[]": "citation"},
    "ibidem/thread-show/1": {"messages[]": "message"},
    "ibidem/thread-select/1": {"messages[]": "message"},
    "ibidem/retrieve/1": {"items[].location": "location"},
    "ibidem/memory-recall/1": {"": "ibidem/retrieve/1", "items[].location": "location"},
}
"""Where a shape stands inside a command's object."""


@cache
def documented() -> dict[str, set[str]]:
    """Returns the paths of each table of the page, by shape or schema."""
    text = PAGE.read_text(encoding="utf-8")
    tables: dict[str, set[str]] = {"counts": set(COUNTS)}
    for match in re.finditer(
        r"^\| (\w+) \| meaning \|\n\|---\|---\|\n((?:\|.*\n)+)", text, re.MULTILINE
    ):
        heading = re.findall(r"^### `([^`]+)`$", text[: match.start()], re.MULTILINE)
        name = match[1] if match[1] in SHAPES else heading[-1]
        tables[name] = set(re.findall(r"^\| `([^`]+)` \|", match[2], re.MULTILINE))
    changes = [path.partition("[].") for path in tables["ibidem/diff/1"]]
    return {**tables, "change": {field for whole, _, field in changes if whole == "changes"}}


def schemas() -> set[str]:
    return set(re.findall(r"^### `([^`]+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


@cache
def allowed(schema: str) -> set[str]:
    tables = documented()
    paths = set(tables.get(schema, set()))
    for at, shape in EMBEDDED.get(schema, {}).items():
        deeper = set() if shape in ("any", schema) else allowed(shape)
        inner = {"{}"} if shape == "any" else tables[shape] | deeper
        paths |= {(f"{at}.{path}" if at else path).replace(".{}", "{}") for path in inner}
    return paths


def flattened(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flattened(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list) and value:
        for inner in value:
            yield from flattened(inner, f"{path}[]")
    else:
        yield path


def is_documented(path: str, paths: set[str]) -> bool:
    if path in paths or any(
        known.startswith((f"{path}.", f"{path}[", f"{path}{{")) for known in paths
    ):
        return True
    return any(
        known.endswith("{}") and path.startswith((known[:-2] + ".", known[:-2] + "["))
        for known in paths
    )


Printed = dict[str, list[dict[str, Any]]]
"""What every command prints in one rich session, by schema."""


def test_a_session_prints_what_the_page_says(every_command: EveryCommand):
    seen = every_command.printed
    assert set(seen) == schemas()
    every_printed_field_is_documented(seen)
    every_documented_field_is_printed(seen)
    names_are_made_in_one_way(seen)


def test_every_command_that_prints_data_has_json():
    without = {
        path
        for path, command, _ in commands()
        if not hasattr(command, "commands") and not any("--json" in p.opts for p in command.params)
    }
    assert without == {
        *(
            "repo cat",
            "repo completion",
            "repo embed install",
            "repo help",
            "repo serve",
            "repo view",
        )
    }


def every_printed_field_is_documented(seen: Printed) -> None:
    for schema, values in seen.items():
        paths = allowed(schema)
        for value in values:
            body = {key: inner for key, inner in value.items() if key != "schema"}
            unknown = {path for path in flattened(body) if not is_documented(path, paths)}
            assert not unknown, f"{schema} prints what docs/json.md does not have"


def every_documented_field_is_printed(seen: Printed) -> None:
    printed = {
        schema: {path for value in values for path in flattened(value)}
        for schema, values in seen.items()
    }
    anywhere = {f"{path}." for paths in printed.values() for path in paths}
    tables = documented()
    for schema, paths in printed.items():
        for path in allowed(schema):
            stem = path.removesuffix("{}")
            if path in tables.get(schema, set()):
                found = any(p == stem or p.startswith((f"{stem}.", f"{stem}[")) for p in paths)
            else:  # of a shape that several commands print: one of them has to
                tail = stem.rpartition(".")[2]
                found = any(f"{tail}." in p or f"{tail}[" in p for p in anywhere)
            assert found, f"{schema}: docs/json.md has {path}, which nothing printed"


VERBS = ("is_", "has_", "may_", "needs_", "holds", "answers_")
MAPS = (
    r"props|status|value|ranks|lanes|counts?|actions|labels|vectors|sparse|paths|settings"
    r"|key\.key|policy"
)
"""What holds names that are not ours, or counts by what is counted."""


def names_are_made_in_one_way(seen: Printed) -> None:
    kinds: dict[str, set[str]] = {}
    for schema, objects in seen.items():
        assert re.fullmatch(r"ibidem/[a-z]+(-[a-z]+)*/1", schema)
        for path, value in (pair for one in objects for pair in named_values(one)):
            name = path.rpartition(".")[2]
            if re.search(rf"\b({MAPS})\b", path.rpartition(".")[0]):
                continue
            assert re.fullmatch(r"[a-z]+[0-9]*(_[a-z]+)*", name), f"{schema}: {path}"
            if isinstance(value, bool):
                assert name.startswith(VERBS), f"{schema}: {path} is true or false"
            kind = "list" if isinstance(value, list) else "number" if is_number(value) else ""
            kinds.setdefault(name, set()).add(kind)
    del kinds["key"]  # holds any value
    assert [name for name, found in kinds.items() if {"list", "number"} <= found] == []


def named_values(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        for inner in value:
            yield from named_values(inner, path)
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield f"{path}.{key}", inner
            yield from named_values(inner, f"{path}.{key}")


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)

"""Writes the keyword parameters of every method that takes the options of a question, from the
table of options: `python tests/tools/make_signatures.py` at the root.

The parameters stand between `# options: SET` and `# end of options`; a test compares them with the
table. They are in the source, not in a `**options`, so that an editor completes them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from ibidem.repo.event_log import SPACE_DEFAULT
from ibidem.repo.retrieval import records
from ibidem.retrieve.query.options import (
    OF_BOTH,
    OF_PACKS,
    OPTIONS,
    PACKS_ALONE,
    Option,
    members,
)

HOUSE = Path(__file__).resolve().parents[2]
FILES = (
    "memory/conversation/conversations.py",
    "memory/graph/memory.py",
    "memory/recall/recall.py",
    "repo/api/history.py",
    "repo/layers.pyi",
    "repo/questions.py",
    "repo/retrieval/retriever.py",
    "repo/revision.py",
    "repo/union.py",
)
NOT_OF_RECORDS = frozenset(
    ("adjacency", "direct", "estimator", "label", "metadata", "strict", *OF_BOTH)
)
"""Options of `retrieve` that would have no effect on records, or have another name there."""
BLOCK = re.compile(r"( +)# options: (\w+)\n(.*?) +# end of options\n", re.DOTALL)


def parameters(options: Mapping[str, Option], **changed: str) -> dict[str, str]:
    """Returns a parameter for each option: `name: type = default`."""
    made = {}
    for name, one in options.items():
        is_optional = bool(one.none) or one.default is None
        default = list(one.default) if isinstance(one.default, frozenset) else one.default
        none = " | None" if is_optional else ""
        if one.is_setting:
            made[name] = f"{name}: {one.type} | Configured{none} = CONFIGURED"
        else:
            made[name] = f"{name}: {one.type}{none} = {default!r}"
    return made | {name: f"{name}: {text}" for name, text in changed.items()}


RETRIEVE = parameters(
    {
        name: one
        for name, one in OPTIONS.items()
        if "." not in name
        and name not in PACKS_ALONE
        and name not in ("text", "packs", "records", "history", "moment")
    }
)
PACKS = RETRIEVE | parameters(OF_PACKS)
PROMPT = {name: text for name, text in PACKS.items() if name != "frame"}
"""A prompt counts what it writes itself."""
OF_RECORDS = {
    one.key: one for one in members("records") if one.key not in ("as_of", "undated", "notes")
}
RECORDS = (
    {
        "types": "types: Iterable[RecordType | str] | None = None",
        "include_status": "include_status: Iterable[Status | str] = ()",
    }
    | {name: text for name, text in RETRIEVE.items() if name not in NOT_OF_RECORDS}
    | parameters(OF_RECORDS)
    | {
        "depth": f"depth: int = {records.DEPTH_DEFAULT}",
        "notes": f"notes: CommitCid | str | None = {SPACE_DEFAULT!r}",
    }
)
SETS: dict[str, dict[str, str]] = {
    "retrieve": RETRIEVE,
    "packs": PACKS,
    "prompt": PROMPT,
    "context": {name: text for name, text in PROMPT.items() if name != "sources"},
    "records": RECORDS,
    "memory": {name: text for name, text in RECORDS.items() if name not in ("viewer", "notes")},
    "union": {name: text for name, text in RECORDS.items() if name != "notes"},
    "graph": parameters({one.key: one for one in members("graph") if one.key != "mode"}),
    "community": parameters({one.key: one for one in members("community")}),
    "select": {
        name: text
        for name, text in RETRIEVE.items()
        if name not in ("label", "where", "limit", "as_of", "depth", "estimator")
        and name not in ("viewer", "token_budget", "overflow")
    },
}


def written(source: str) -> str:
    """Returns a source with the parameters that the table says."""

    def block(found: re.Match[str]) -> str:
        indent, name = found[1], found[2]
        lines = "".join(f"{indent}{text},\n" for text in SETS[name].values())
        text = lines.replace(chr(39), chr(34))
        return f"{indent}# options: {name}\n{text}{indent}# end of options\n"

    return BLOCK.sub(block, source)


def stale() -> list[str]:
    """Returns the files whose parameters are not those of the table."""
    texts = {name: (HOUSE / name).read_text("utf-8") for name in FILES}
    return [name for name, text in texts.items() if written(text) != text]


if __name__ == "__main__":
    for name in stale():
        path = HOUSE / name
        path.write_text(written(path.read_text("utf-8")), "utf-8")
        sys.stdout.write(f"{name}\n")

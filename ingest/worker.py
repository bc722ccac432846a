"""The child process in which sources are extracted; `sandbox.py` is its parent.

It reads a request from standard input, writes one reply, and waits for the next. It may not write
files, and its memory and CPU time are limited if the system supports that. Any error of a parser
becomes a reply; after running out of memory, the process ends.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, BinaryIO

from ibidem.ingest.extraction import Extraction
from ibidem.ingest.mark import Block, Heading, Layout, Mark, SectionEnd
from ibidem.objects.errors import ErrorKind, InvalidInputError

HEADER_BYTES = 8
"""Size of the big-endian length that precedes the JSON of a request or reply; in a request, the
source follows."""

_RECURSION_MAX = 3000


def main() -> None:
    """Serves requests until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # output of a parser must not become a reply
    sys.setrecursionlimit(_RECURSION_MAX)
    requests = sys.stdin.buffer
    while header := requests.read(HEADER_BYTES):
        request = json.loads(requests.read(int.from_bytes(header)))
        _limit(request["seconds"], request["memory_bytes"])
        reply, goes_on = _answer(request, requests)
        data = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
        replies.write(len(data).to_bytes(HEADER_BYTES) + data)
        replies.flush()
        if not goes_on:
            return


def _answer(request: dict[str, Any], requests: BinaryIO) -> tuple[dict[str, Any], bool]:
    try:
        data = requests.read(request["size_bytes"])
        module, _, function = request["entry"].partition(":")
        extract: Callable[..., Extraction] = getattr(importlib.import_module(module), function)
        return _encoded(extract(data, *request["arguments"])), True
    except MemoryError:
        return {"error": "needs more memory than the limit", "kind": "limit-exceeded"}, False
    except InvalidInputError as error:
        return {"error": str(error), "kind": str(error.kind)}, True
    except Exception as error:
        text = f"cannot be read: {type(error).__name__}: {error}"[:500]
        return {"error": text, "kind": str(ErrorKind.INVALID_INPUT)}, True


def _encoded(extraction: Extraction) -> dict[str, Any]:
    return {
        "text": extraction.text,
        "marks": [_encoded_mark(mark) for mark in extraction.marks],
        "title": extraction.title,
        "props": dict(extraction.props),
        "warnings": extraction.warnings,
    }


def _encoded_mark(mark: Mark) -> list[Any]:
    match mark:
        case Heading(start, stop, level, text):
            return ["heading", start, stop, level, text]
        case Block(start, stop, name, language, targets, continues):
            return ["block", start, stop, name, language, continues, *targets]
        case SectionEnd(start, stop, level):
            return ["end", start, stop, level]
        case Layout(start, stop):
            return ["layout", start, stop]


def decoded(reply: dict[str, Any]) -> Extraction:
    """Returns the extraction in a reply; the parent's counterpart of `_encoded`."""
    kinds: dict[str, Callable[..., Mark]] = {
        "heading": Heading,
        "block": _block,
        "end": SectionEnd,
        "layout": Layout,
    }
    return Extraction(
        reply["text"],
        tuple(kinds[kind](*values) for kind, *values in reply["marks"]),
        reply["title"],
        {
            name: value if isinstance(value, str) else tuple(value)
            for name, value in reply["props"].items()
        },
        tuple(reply["warnings"]),
    )


def _block(
    start: int, stop: int, name: str, language: str | None, continues: bool, *targets: str
) -> Block:
    return Block(start, stop, name, language, targets, continues)


def _limit(seconds: int, memory_bytes: int) -> None:
    """Limits this process from now on; limits that the system does not support are left to the
    parent."""
    try:
        import resource
    except ImportError:  # Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    until = int(used.ru_utime + used.ru_stime) + 1 + seconds
    for name, value in (
        ("RLIMIT_CPU", until),
        ("RLIMIT_AS", memory_bytes),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_CORE", 0),
    ):
        limit = getattr(resource, name, None)
        if limit is not None:
            with suppress(ValueError, OSError):
                resource.setrlimit(limit, (value, resource.getrlimit(limit)[1]))

"""Notebooks to text: Markdown cells with their headings, code cells, and their text output."""

from __future__ import annotations

import json
import re
from typing import Any

from ibidem.ingest.extraction import Extraction, Writer
from ibidem.ingest.html import write_html
from ibidem.objects.errors import InvalidInputError

OUTPUT_CHARS_MAX = 2000
"""The most characters kept of one output; the log of a training run would bury the text."""

_OBJECT = re.compile(
    r"[\s\[\](),]*(?:<(?:Figure size [^<>]*|Axes[^<>]*|[^<>]* object(?: of [0-9]+ \w+)?"
    r"|[^<>]* at 0x[0-9a-fA-F]+)>[\s\[\](),]*)+"
)
"""What a picture or another object is as text, which says nothing."""
_TERMINAL_CODE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
"""A code for the colours of a terminal and the like."""
_DATA = re.compile(r"""(?<=[("'])data:[a-z]+/[^()\s"'<>]*""")
"""A picture within the text, as a target."""


def extract(data: bytes) -> Extraction:
    """Returns the text of a notebook; pictures are left out."""
    try:
        notebook = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"{error}, expected JSON") from error
    cells = _cells(notebook)
    language = _language(notebook)
    writer = Writer()
    for cell in cells:
        source = _text(cell.get("source", cell.get("input")))
        if cell.get("cell_type") == "markdown":
            writer.markdown(_DATA.sub("", source))
        elif cell.get("cell_type") == "heading":
            level = cell.get("level")
            writer.heading(level if isinstance(level, int) and 1 <= level <= 6 else 1, source)
        elif cell.get("cell_type") == "code":
            with writer.together():
                writer.code(source, language)
                for output in _dicts(cell.get("outputs")):
                    _write_output(writer, output)
        else:
            writer.block("paragraph", source)
    return writer.finish(writer.first_heading())


def _cells(notebook: Any) -> list[dict[str, Any]]:
    if isinstance(notebook, dict):
        sheets = _dicts(notebook.get("worksheets"))  # in format 3
        if isinstance(notebook.get("cells"), list) or sheets:
            return _dicts(notebook.get("cells")) + [
                cell for sheet in sheets for cell in _dicts(sheet.get("cells"))
            ]
    raise InvalidInputError("no cells, expected an object with a list of 'cells'")


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    for key in ("language_info", "kernelspec"):
        found = metadata.get(key) if isinstance(metadata, dict) else None
        name = (
            found.get("name" if key == "language_info" else "language")
            if isinstance(found, dict)
            else None
        )
        if isinstance(name, str) and name.isalnum():
            return name.lower()
    return "python"


def _write_output(writer: Writer, output: dict[str, Any]) -> None:
    data = output.get("data")
    if output.get("output_type") in ("error", "pyerr"):
        writer.code(_cut(f"{output.get('ename', '')}: {output.get('evalue', '')}"))
    elif not isinstance(data, dict):
        writer.code(_cut(_text(output.get("text"))))
    elif _OBJECT.fullmatch(text := _text(data.get("text/plain"))) or not text:
        writer.block("paragraph", _cut(_rich_text(data)))
    else:
        writer.code(_cut(text))


def _rich_text(data: dict[str, Any]) -> str:
    """Returns an output that has no plain text: what it says in Markdown, else in HTML."""
    if text := _text(data.get("text/markdown")):
        return _DATA.sub("", text)
    page = Writer()
    write_html(page, _text(data.get("text/html")))
    return page.finish().text


def _cut(text: str) -> str:
    """Returns the beginning of an output as a terminal shows it: of a line that was written several
    times its last state."""
    lines = _TERMINAL_CODE.sub("", text).split("\n")
    text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in lines)
    return text if len(text) <= OUTPUT_CHARS_MAX else text[:OUTPUT_CHARS_MAX] + "\n..."


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

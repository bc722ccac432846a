"""Notebooks to text: Markdown cells with their headings, code cells, and their text output."""

from __future__ import annotations

import json
from typing import Any

from ibidem.ingest.extraction import Extraction, Writer
from ibidem.objects.errors import InvalidInputError

OUTPUT_CHARS_MAX = 2000
"""The most characters kept of one output; the log of a training run would bury the text."""


def extract(data: bytes) -> Extraction:
    """Returns the text of a notebook; pictures and other rich output are left out."""
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
            writer.markdown(source)
        elif cell.get("cell_type") == "heading":
            level = cell.get("level")
            writer.heading(level if isinstance(level, int) and 1 <= level <= 6 else 1, source)
        elif cell.get("cell_type") == "code":
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
        text = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    elif isinstance(data, dict):
        text = _text(data.get("text/plain"))
    else:
        text = _text(output.get("text"))
    if len(text) > OUTPUT_CHARS_MAX:
        text = text[:OUTPUT_CHARS_MAX] + "\n..."
    writer.code(text)


def _text(value: Any) -> str:
    if isinstance(value, list):
        return "".join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

"""The documents of the demo: the language reference that ships with Python, as Markdown.

`pydoc_data.topics` holds it as text with underlined headings. Only the headings are rewritten. A
topic whose whole text is part of another one is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

_LEVELS = {"*": 1, "=": 2, "-": 3, "~": 4, "^": 5, '"': 6}
_HEADING_LENGTH_MIN = 3

QUESTIONS = (
    "when is the else clause of a loop executed",
    "how are default parameter values evaluated",
    "what is the difference between __getattr__ and __getattribute__",
)

EDIT_QUESTION = QUESTIONS[1]
EDIT_MARK = "Default parameter values are evaluated from left to right"
HOUSE_RULE = (
    "House rule: never make a list or a dictionary a default parameter value, because default "
    "parameter values are evaluated once, when the function is defined, and not each time the "
    "function is called."
)


def write_corpus(folder: Path) -> int:
    """Writes one Markdown file per topic into `folder` and returns their number."""
    from pydoc_data.topics import topics

    folder.mkdir(parents=True, exist_ok=True)
    kept = {name: text for name, text in topics.items() if not _stands_in_another(name, topics)}
    for name, text in kept.items():
        (folder / f"{name}.md").write_text(as_markdown(text), encoding="utf-8", newline="\n")
    return len(kept)


def edit_corpus(folder: Path) -> str:
    """Inserts one paragraph into one document, as a writer would, and returns the file's name. It
    is inserted before the paragraph on default parameter values, or appended to the longest
    document if there is none.
    """
    texts = {path: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}
    path = max(texts, key=lambda path: (EDIT_MARK in texts[path], len(texts[path])))
    paragraphs = texts[path].split("\n\n")
    position = next((i for i, text in enumerate(paragraphs) if EDIT_MARK in text), len(paragraphs))
    paragraphs.insert(position, HOUSE_RULE)
    path.write_text("\n\n".join(paragraphs), encoding="utf-8", newline="\n")
    return path.name


def as_markdown(text: str) -> str:
    """Returns `text` with its underlined headings written as Markdown headings."""
    lines: list[str] = []
    for line in text.splitlines():
        level = _underline_level(line, above=lines[-1] if lines else "")
        if level:
            lines[-1] = f"{'#' * level} {lines[-1]}"
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def _underline_level(line: str, *, above: str) -> int:
    is_underline = len(line) >= _HEADING_LENGTH_MIN and len(set(line)) == 1 and line[0] in _LEVELS
    return _LEVELS[line[0]] if is_underline and len(line) == len(above) and above.strip() else 0


def _stands_in_another(name: str, topics: Mapping[str, str]) -> bool:
    body = topics[name].strip().partition("\n\n")[2]
    return any(
        body in text and len(text) > len(topics[name])
        for other, text in topics.items()
        if other != name
    )

"""Judged questions: the relevant documents of each question, with grades. There are two formats.
JSON lines have the question with its judgements: `{"query": "how do retries back off", "relevant":
["retries.md"]}` or, with grades, `{"id": "q1", "query": "...", "relevant": {"retries.md": 2,
"timeouts.md": 1}}`. TREC qrels (`question 0 document grade`) and those of BEIR (`query-id corpus-id
score`) go with a file of questions: `id<TAB>text` lines, or JSON lines with `_id` and `text`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ibidem.objects.errors import InvalidInputError, NotFoundError


@dataclass(frozen=True, slots=True)
class Judged:
    """One question."""

    id: str
    text: str
    grades: Mapping[str, int]
    """Grades by document, 0 for not relevant; at least one is above 0."""


def read_judgements(path: Path, queries: Path | None = None) -> list[Judged]:
    """Returns the judged questions of a file, in the order of the file.

    Args:
        path: JSON lines, or qrels when `queries` is given.
        queries: the questions of qrels.

    Raises:
        InvalidInputError: a line is not of the form, or a question has nothing relevant.
    """
    found = list(_judged(path)) if queries is None else _qrels(path, _questions(queries))
    if not found:
        raise InvalidInputError(f"{path}: got no judged question, expected one or more")
    seen: set[str] = set()
    for one in found:
        if not any(grade > 0 for grade in one.grades.values()):
            raise InvalidInputError(f"{path}: question {one.id!r} has nothing relevant")
        if one.id in seen:
            raise InvalidInputError(f"{path}: question {one.id!r} comes twice, expected once")
        seen.add(one.id)
    return found


def _judged(path: Path) -> Iterator[Judged]:
    for number, record in _records(path):
        text, relevant = record.get("query"), record.get("relevant")
        if isinstance(relevant, list) and all(isinstance(one, str) for one in relevant):
            relevant = dict.fromkeys(relevant, 1)
        if not isinstance(text, str) or not isinstance(relevant, dict):
            raise _form(path, number, '"query" with a text and "relevant" with a list or grades')
        for grade in relevant.values():
            if type(grade) is not int or grade < 0:
                raise _form(path, number, "whole numbers from 0 on as grades")
        yield Judged(str(record.get("id", number)), text, relevant)


def _qrels(path: Path, questions: Mapping[str, str]) -> list[Judged]:
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        columns = line.split()
        if number == 1 and columns[:1] == ["query-id"]:
            continue
        if len(columns) not in (3, 4) or not columns[-1].lstrip("-").isdecimal():
            raise _form(path, number, "question 0 document grade")
        question, document, grade = columns[0], columns[-2], int(columns[-1])
        if question not in questions:
            raise InvalidInputError(f"{path}:{number}: question {question!r} has no text")
        grades.setdefault(question, {})[document] = max(grade, 0)
    return [Judged(id_, questions[id_], judged) for id_, judged in grades.items()]


def _questions(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    if path.suffix in (".jsonl", ".ndjson"):
        for number, record in _records(path):
            id_, text = record.get("_id", record.get("id")), record.get("text")
            if not isinstance(id_, str | int) or not isinstance(text, str):
                raise _form(path, number, '"_id" and "text"')
            found[str(id_)] = text
        return found
    for number, line in _lines(path):
        id_text, tab, text = line.partition("\t")
        if not tab:
            raise _form(path, number, "an id, a tab and the question")
        found[id_text] = text.strip()
    return found


def _records(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        try:
            record = json.loads(line)
        except ValueError as error:
            raise _form(path, number, "one JSON object") from error
        if not isinstance(record, dict):
            raise _form(path, number, "one JSON object")
        yield number, record


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFoundError(f"judgements: there is no file {path}") from error
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: got other bytes, expected UTF-8") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield number, line


def _form(path: Path, number: int, expected: str) -> InvalidInputError:
    return InvalidInputError(f"{path}:{number}: got another form, expected {expected}")

"""Direct answers: how many questions are answered, and how many of the answers are right.

    python bench/direct.py [DATA] [--shown]

DATA holds the folders `corpus_peps` and `corpus_fastapi`; without it the sets over them are left
out. The pages of the set `manual` are those of `tests/quality/manual`, and the set `facts` brings
nodes of its own. `bench/data/direct.jsonl` has these facts and the questions, each with the value
that answers it, or null where only silence is right; all but those of `manual` were written before
the rules. An answer is right if the words of that value stand in it, in order and together.
`silence` counts the questions where that is right, `kept` where it was.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from answers import SUFFIXES, documents, words

import ibidem

QUESTIONS = Path(__file__).parent / "data" / "direct.jsonl"
MANUAL = Path(__file__).parents[1] / "tests" / "quality" / "manual"


class Asked(NamedTuple):
    """A question, the value that answers it, and the one that was stated; None for silence."""

    question: str
    answer: str | None
    stated: str | None

    @property
    def is_right(self) -> bool:
        """Whether the stated value has the words of the answer, or there is neither."""
        if self.answer is None or self.stated is None:
            return self.answer is self.stated
        return words(self.answer) in words(self.stated)


def asked(name: str, data: Path | None = None) -> list[Asked]:
    """Returns the questions of a set, asked.

    Args:
        name: one of `SETS`.
        data: the folder that has the documents of `peps` and `fastapi`.
    """
    rows = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        for row in rows if name == "facts" else ():
            if "fact" in row:
                tx.add_node(**row["fact"])
        for path, text in pages(name, data):
            ibidem.ingest_text(tx, text, path=path)
    found = []
    for row in rows:
        if row.get("set") == name:
            stated = repo.retrieve(row["question"]).stated
            found.append(Asked(row["question"], row["answer"], stated and stated.value))
    return found


def pages(name: str, data: Path | None) -> Iterator[tuple[str, str]]:
    """Yields the path and the text of each document of a set."""
    if name == "manual":
        yield from ((page.name, page.read_text("utf-8")) for page in sorted(MANUAL.glob("*.md")))
    elif name in SUFFIXES:
        assert data is not None, f"{name}: expected the folder of its documents"
        for path, text in documents(data, name).items():
            if "\0" not in text:
                yield path + SUFFIXES[name], text


def counts(found: list[Asked]) -> Mapping[str, int]:
    """Returns how many were asked, answered, and rightly so, and how many have no answer, and got
    none."""
    silence = [one for one in found if one.answer is None]
    answered = [one for one in found if one.stated is not None]
    return {
        "questions": len(found),
        "answered": len(answered),
        "right": sum(one.is_right for one in answered),
        "silence": len(silence),
        "kept": sum(one.is_right for one in silence),
    }


SETS = (*SUFFIXES, "facts", "manual")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path, nargs="?")
    parser.add_argument("--shown", action="store_true", help="print every question")
    given = parser.parse_args()
    for number, name in enumerate(SETS if given.data else ("facts", "manual")):
        found = asked(name, given.data)
        row = counts(found)
        if not number:
            print(f"{'set':10}", *(f"{column:>10}" for column in row), sep="")
        for one in found if given.shown else ():
            print(one.is_right, one.question, "|", one.answer, "|", one.stated)
        print(f"{name:10}", *(f"{value:10}" for value in row.values()), sep="")


if __name__ == "__main__":
    main()

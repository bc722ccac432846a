"""How true the confidence of answers is: fitted on some judged sets, reported on others.

    python bench/confidence.py DATA [--fit]

DATA holds one folder a set, as `bench/quality.py` takes them. The table of
`retrieve/answer/assessment.py` is fitted on FITTED: the points of the answers are split into 12
parts of equal size, those whose shares of right answers do not rise are joined (pool adjacent
violators), and (right + 1) / (all + 2) is the confidence. `--fit` prints it. An answer is right if
one of its first ten items is judged relevant.

Reported are only questions of REPORTED, none of which was looked at: for each confidence of the
table, how many answers have it and the share that is right; then those that are said to be 90 %
sure, which is a confidence from 850 to 950.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from quality import Collection

import ibidem
from ibidem.retrieve.answer.assessment import TABLE, assess, points_of

PARTS = 12
FIRST = ("conv-26", "conv-30", "conv-41", "conv-42")
FITTED = ("cacm", "musique100", *FIRST)
REPORTED = (
    "cranfield",
    "hotpotqa100",
    *("conv-43", "conv-44", "conv-47", "conv-48", "conv-49", "conv-50"),
)

Asked = tuple[str, int | None, int | None, bool]
"""The set, the points and the confidence of an answer, and whether it is right."""


def collections(data: Path) -> Iterator[tuple[str, Collection]]:
    """Yields each set by name; each conversation of locomo is one."""
    for name in ("cacm", "musique100", "cranfield", "hotpotqa100"):
        yield name, Collection.read(data / name)
    locomo = Collection.read(data / "locomo")
    turns, queries = defaultdict(list), defaultdict(list)
    for turn in locomo.corpus:
        if not turn["meta"]["empty"]:
            turns[turn["meta"]["conv"]].append(turn)
    for query in locomo.queries:
        queries[query["meta"]["conv"]].append(query)
    for name, found in turns.items():
        yield name, Collection(found, queries[name], locomo.qrels, {})


def answers(name: str, data: Collection) -> Iterator[Asked]:
    """Asks every judged question of a set."""
    repo = ibidem.init("memory:")
    ids = {}
    with repo.transaction(author="bench", message=name) as tx:
        for document in data.corpus:
            if document["text"].strip():
                node = tx.add_node("Text", key=document["id"], summary=document["text"])
                ids[node] = document["id"]
    for query in data.queries:
        grades = data.qrels.get(query["id"])
        if grades:
            answer = repo.retrieve(query["text"], limit=10)
            is_right = any(grades.get(ids[item.node.id], 0) > 0 for item in answer)
            yield name, points_of(answer), assess(answer).confidence, is_right


def fitted(found: list[Asked]) -> list[tuple[int, int]]:
    """Returns the table: least points and confidence, ascending."""
    rows = sorted((points, is_right) for _, points, _, is_right in found if points is not None)
    parts: list[list[int]] = []
    for part in range(PARTS):
        some = rows[part * len(rows) // PARTS : (part + 1) * len(rows) // PARTS]
        parts.append([some[0][0], sum(is_right for _, is_right in some), len(some)])
        while len(parts) > 1 and parts[-2][1] * parts[-1][2] >= parts[-1][1] * parts[-2][2]:
            last = parts.pop()
            parts[-1][1] += last[1]
            parts[-1][2] += last[2]
    return [(least, 1000 * (right + 1) // (count + 2)) for least, right, count in parts]


def line(name: str, rows: list[Asked]) -> None:
    """Prints how many answers there are, and the share that is right."""
    right = sum(is_right for _, _, _, is_right in rows)
    print(f"{name:30}{len(rows):8}{1000 * right // len(rows) if rows else 0:8}")


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--fit", action="store_true", help="print the table that the sets give")
    given = parser.parse_args()
    found = [row for name, data in collections(given.data) for row in answers(name, data)]
    if given.fit:
        print(fitted([row for row in found if row[0] in FITTED]))
        return
    found = [row for row in found if row[0] in REPORTED]
    print(f"{'confidence':30}{'answers':>8}{'right':>8}")
    line("none", [row for row in found if row[2] is None])
    for _, confidence in TABLE:
        line(str(confidence), [row for row in found if row[2] == confidence])
    sure = [row for row in found if row[2] is not None and 850 <= row[2] <= 950]
    line("850 to 950", sure)
    for name in REPORTED:
        line(f"  of {name}", [row for row in sure if row[0] == name])


if __name__ == "__main__":
    main()

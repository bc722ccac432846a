"""Direct answers: how many questions are answered, and how many of the answers are right.

    python bench/direct.py DATA [--shown]

DATA holds the folders `corpus_peps` and `corpus_fastapi`. `bench/data/direct.jsonl` has facts,
which become nodes, and the questions, each with the value that answers it, or null where only
silence is right; they were written before the rules. An answer is right if the words of that value
stand in it, in order and together. `silence` counts the questions where that is right, `kept` where
it was.
"""

import argparse
import json
from pathlib import Path

from answers import SUFFIXES, documents, words

import ibidem

QUESTIONS = Path(__file__).parent / "data" / "direct.jsonl"


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--shown", action="store_true", help="print every question")
    given = parser.parse_args()
    rows = [json.loads(line) for line in QUESTIONS.read_text().splitlines()]
    print(f"{'set':10}{'questions':>10}{'answered':>10}{'right':>10}{'silence':>10}{'kept':>10}")
    for name in ("peps", "fastapi", "facts"):
        repo = ibidem.init("memory:")
        with repo.transaction() as tx:
            if name == "facts":
                for row in rows:
                    if "fact" in row:
                        tx.add_node(**row["fact"])
            else:
                for path, text in documents(given.data, name).items():
                    if "\0" not in text:
                        ibidem.ingest_text(tx, text, path=path + SUFFIXES[name])
        chosen = [row for row in rows if row.get("set") == name]
        answered = right = kept = 0
        for row in chosen:
            answer = repo.retrieve(row["question"])
            found = answer.stated
            is_right = found is not None and row["answer"] is not None
            is_right = is_right and words(row["answer"]) in words(found.value)
            answered += found is not None
            right += is_right
            kept += found is None and row["answer"] is None
            if given.shown:
                print(is_right, row["question"], "|", row["answer"], "|", found and found.value)
        silent = sum(row["answer"] is None for row in chosen)
        print(f"{name:10}{len(chosen):10}{answered:10}{right:10}{silent:10}{kept:10}")


if __name__ == "__main__":
    main()

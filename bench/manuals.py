"""How often a prompt holds the answer: 280 questions over eleven real manuals.

    python bench/manuals.py DATA [--folder SET=FOLDER ...] [--missed]

DATA holds `corpus_peps` and `corpus_fastapi`, as for `answers.py`. The other sets are read from
folders: `book`, `cargo` and `reference` of the documentation that comes with Rust 1.95 (HTML),
`cmake` (the Help of CMake 3.25, reStructuredText), `npm` (the docs of npm 11, Markdown), `git`
(git-doc 2.39 without release notes, in one folder), `sqlite` (sqlite3-doc 3.40 without lists of
changes and keywords), `postgres` (postgresql-doc-15 without release notes) and `django` (ref,
topics, howto, faq and intro of the docs of Django 5.2, renamed to .rst). Without their folders they
are left out.

`bench/data/manuals.jsonl` has the questions. The paragraphs that answer 266 of them were drawn at
random, and each question was written from its paragraph before any answer was seen, those of the
last four manuals without sight of this project; 14 more are about signs, such as
"What does the at sign do in a pattern?". A question counts if the words of its answer stand
together in the prompt; the file has their number and digest, no foreign text.
"""

import argparse
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from answers import SUFFIXES, documents, ibidem

QUESTIONS = Path(__file__).parent / "data" / "manuals.jsonl"
BUDGETS = (400, 1000, 2200)
LEFT_OUT = {"print.html", "toc.html", "changelog.html", "CHANGELOG.md"}


def texts_of(folder: Path) -> dict[str, str]:
    """Returns the pages of a manual by path."""
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*"))
        if path.suffix in {".html", ".md", ".rst"}
        and path.name not in LEFT_OUT
        and "release" not in path.relative_to(folder).parts
    }


def has_answer(prompt: str, question: dict[str, Any]) -> bool:
    """Returns whether the words of an answer stand together in a prompt."""
    words, count = re.findall(r"\w+", prompt.lower()), question["answer_words"]
    runs = (" ".join(words[at : at + count]) for at in range(len(words) - count + 1))
    return any(
        hashlib.sha256(run.encode()).hexdigest() == question["answer_sha256"] for run in runs
    )


def sets(data: Path, folders: dict[str, Path]) -> Iterator[tuple[str, dict[str, str], str]]:
    """Yields the name of each set, its texts by path, and the suffix of its files."""
    for name, suffix in SUFFIXES.items():
        yield name, documents(data, name), suffix
    for name, folder in sorted(folders.items()):
        yield name, texts_of(folder), ""


def main() -> None:
    """Prints, for each set and budget, how many answers are handed over."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--folder", action="append", default=[], metavar="SET=FOLDER")
    parser.add_argument("--missed", action="store_true", help="print what 1,000 tokens miss")
    arguments = parser.parse_args()
    folders = {
        name: Path(path) for name, _, path in (one.partition("=") for one in arguments.folder)
    }
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    print(f"{'set':12}{'questions':>10}" + "".join(f"{budget:>8}" for budget in BUDGETS))
    for name, texts, suffix in sets(arguments.data, folders):
        with tempfile.TemporaryDirectory() as folder:
            ask = ibidem(texts, Path(folder), suffix)
            for is_of_signs in (False, True):
                asked = [
                    one for one in questions if one["set"] == name and one["signs"] == is_of_signs
                ]
                if not asked:
                    continue
                hits = {
                    budget: [has_answer(ask(one["question"], budget), one) for one in asked]
                    for budget in BUDGETS
                }
                title = f"{name} signs" if is_of_signs else name
                row = "".join(f"{sum(hits[budget]):>8}" for budget in BUDGETS)
                print(f"{title:16}{len(asked):>6}{row}", flush=True)
                for one, hit in zip(asked, hits[1000], strict=True):
                    if arguments.missed and not hit:
                        print(f"    {one['id']} {one['path']}: {one['question']}")


if __name__ == "__main__":
    main()

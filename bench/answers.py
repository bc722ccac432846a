"""How often a prompt of 1,000 tokens holds the answer: fifty questions over two real manuals.

    python bench/answers.py DATA [--budget N] [--missed] [--check]

DATA holds the folders `corpus_peps` (736 reStructuredText files) and `corpus_fastapi` (155 Markdown
and 1,103 Python files). `bench/data/answers.jsonl` has the questions, each with the file and lines
that answer it; they were written before any work on answers, from the files alone. `--check`
compares the digest of each span with the file and does nothing else.

A question counts if the words of its span stand, in order and together, in what is handed to the
model. Columns: `ibidem` is `repo commit .` and `repo prompt --budget N` as a user types them, with
no option; `naive` is what anybody would write first: chunks of 800 characters with their heading
path in front, ranked by BM25 over stemmed words (`snowballstemmer`), joined until N tokens are
full. Tokens are counted by one rule for both: a token for four bytes.
"""

import argparse
import gzip
import hashlib
import json
import math
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

QUESTIONS = Path(__file__).parent / "data" / "answers.jsonl"
SUFFIXES = {"peps": ".rst", "fastapi": ""}
CHUNK = 800
HEADING = re.compile(r"^(#+) (.+)$")
UNDERLINE = re.compile(r"^([=\-~'\"^*+#`.:_])\1{2,}\s*$")

Ask = Callable[[str], str]


def words(text: str) -> str:
    """Returns the words of a text with one space around each, so that markup does not count."""
    return " " + " ".join(re.findall(r"\w+", text.lower())) + " "


def documents(data: Path, name: str) -> dict[str, str]:
    """Returns the texts of a set by path."""
    with gzip.open(data / f"corpus_{name}" / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        return {row["id"]: row["text"] for row in map(json.loads, lines)}


def span(text: str, lines: list[int]) -> str:
    """Returns the lines from the first to the last, white space folded."""
    return " ".join(" ".join(text.split("\n")[lines[0] - 1 : lines[1]]).split())


def ibidem(texts: dict[str, str], folder: Path, suffix: str) -> Callable[[str, int], str]:
    """Returns what asks a repository of these files through the command line, given a question and
    a budget."""
    for path, text in texts.items():
        file = folder / (path + suffix)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", newline="\n")

    def run(*arguments: str) -> str:
        command = [sys.executable, "-m", "ibidem", *arguments]
        return subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True
        ).stdout

    run("init")
    run("commit", ".", "-m", "The files")
    return lambda question, budget: run("prompt", question, "--budget", str(budget))


def chunks(text: str) -> list[tuple[str, str]]:
    """Returns parts of about 800 characters, each with the path of its headings."""
    path: list[tuple[int, str]] = []
    marks: list[str] = []
    lines = text.split("\n")
    sections: list[tuple[str, list[str]]] = [("", [])]
    for line, after in pairwise([*lines, ""]):
        level, title = 0, ""
        if match := HEADING.match(line):
            level, title = len(match[1]), match[2]
        elif line.strip() and not UNDERLINE.match(line) and (match := UNDERLINE.match(after)):
            if match[1] not in marks:
                marks.append(match[1])
            level, title = marks.index(match[1]) + 1, line.strip()
        if level:
            path = [*(part for part in path if part[0] < level), (level, title)]
            sections.append((" > ".join(part[1] for part in path), []))
        sections[-1][1].append(line)
    found = []
    for headings, body in sections:
        part = ""
        for line in body:
            if part and len(part) + len(line) > CHUNK:
                found.append((headings, part))
                part = ""
            part += line + "\n"
        found.append((headings, part))
    return [(headings, part) for headings, part in found if part.strip()]


def naive(texts: dict[str, str], budget: int) -> Ask:
    """Returns what ranks chunks by BM25 over stems and joins the best up to the budget."""
    import snowballstemmer  # type: ignore[import-not-found]

    stem = snowballstemmer.stemmer("english").stemWords
    parts = [
        f"{path} > {headings}\n{part}"
        for path, text in texts.items()
        for headings, part in chunks(text)
    ]
    bags = [Counter(stem(words(part).split())) for part in parts]
    mean = sum(bag.total() for bag in bags) / len(bags)
    held: dict[str, list[int]] = {}
    for row, bag in enumerate(bags):
        for word in bag:
            held.setdefault(word, []).append(row)

    def ask(question: str) -> str:
        scores: Counter[int] = Counter()
        for word in set(stem(words(question).split())):
            rows = held.get(word, [])
            idf = math.log(1 + (len(bags) - len(rows) + 0.5) / (len(rows) + 0.5))
            for row in rows:
                tf, length = bags[row][word], bags[row].total()
                scores[row] += idf * tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / mean))
        text = ""
        for row, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
            room = budget * 4 - len(text.encode())
            if room <= 0:
                break
            text += parts[row].encode()[:room].decode(errors="ignore") + "\n"
        return text

    return ask


def check(data: Path, questions: list[dict[str, Any]]) -> None:
    """Raises if a span is not what it was when its question was written."""
    texts = {name: documents(data, name) for name in SUFFIXES}
    for question in questions:
        text = span(texts[question["set"]][question["path"]], question["lines"])
        if hashlib.sha256(text.encode()).hexdigest() != question["answer_sha256"]:
            raise SystemExit(f"{question['id']}: {question['path']} has other lines")
    print(f"{len(questions)} spans are as they were")


def main() -> None:
    """Prints, for each set, how many answers each way hands over, and with how many tokens."""
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--missed", action="store_true", help="print the questions that miss")
    parser.add_argument("--check", action="store_true", help="compare the spans with the files")
    arguments = parser.parse_args()
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    if arguments.check:
        check(arguments.data, questions)
        return
    print(f"{'set':10}{'way':10}{'answers':>10}{'tokens, mean':>14}{'most':>8}")
    for name, suffix in SUFFIXES.items():
        texts = documents(arguments.data, name)
        asked = [question for question in questions if question["set"] == name]
        with tempfile.TemporaryDirectory() as folder:
            ways = {
                "ibidem": partial(ibidem(texts, Path(folder), suffix), budget=arguments.budget),
                "naive": naive(texts, arguments.budget),
            }
            for way, ask in ways.items():
                answers = [ask(question["question"]) for question in asked]
                tokens = [-(-len(answer.encode()) // 4) for answer in answers]
                spans = (words(span(texts[each["path"]], each["lines"])) for each in asked)
                hits = [each in words(answer) for each, answer in zip(spans, answers, strict=True)]
                mean = sum(tokens) / len(tokens)
                score = f"{sum(hits)} of {len(hits)}"
                print(f"{name:10}{way:10}{score:>10}{mean:14.0f}{max(tokens):8}")
                for question, hit in zip(asked, hits, strict=True):
                    if arguments.missed and not hit:
                        print(f"    {question['id']} {question['path']}: {question['question']}")


if __name__ == "__main__":
    main()

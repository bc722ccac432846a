"""What a collection is about: how many of its topics an overview shows, beside other ways.

    python bench/communities.py DATA [--budget 1000] [--work FOLDER]

DATA holds the folder `corpus_peps`. `bench/data/topics.json` has topics that somebody named who had
read titles and abstracts of these documents and no overview, each with words one of which a text
has to hold, as whole words, to show it.
Words that at most RARE documents have do not count. Beside the overview stand sentences drawn at
random and the beginnings of documents drawn at random (means of 20 draws), and what a question for
the subject finds, each within the same number of tokens.
"""

import argparse
import json
import random
import re
import statistics
import tempfile
import time
from pathlib import Path

from answers import documents

import ibidem
from ibidem.retrieve.answer.summary import METHODS
from ibidem.retrieve.tokens import HEURISTIC

FILE = Path(__file__).parent / "data" / "topics.json"
TOPICS: list[list[re.Pattern[str]]] = []
QUESTION = "what is this collection about?"
DRAWS = 20
RARE = 5


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--work", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = options.work or Path(folder)
        report(documents(options.data, "peps"), work, options.budget)


def report(texts: dict[str, str], work: Path, budget: int) -> None:
    known(texts)
    folder = work / "communities"
    if not folder.exists():
        with ibidem.init(folder) as repo:
            for path, text in texts.items():
                repo.ingest(text=text, path=f"{path}.rst")
    print(f"| way, {budget:,} tokens | topics | of |")
    print("|---|---|---|")
    with ibidem.open(folder) as repo:
        at = repo.at()
        started = time.process_time()
        found = at.communities()
        seconds = time.process_time() - started
        for method in METHODS:
            question = "Python" if method == "query" else ""
            text = found.overview(token_budget=budget, method=method, question=question)
            row(f"overview, {method}", shown(text))
        row("first hits of a question", shown(str(at.prompt(QUESTION, token_budget=budget))))
        asked = at.retrieve(QUESTION, limit=100)
        row("summary of the first 100 hits", shown(within(sentences(asked), budget)))
    openings = [" ".join(text.split())[:300] for text in texts.values()]
    everything = [line for text in texts.values() for line in text.split(". ")]
    for name, lines in (("sentences", everything), ("beginnings of documents", openings)):
        draws = [
            shown(within(random.Random(seed).sample(lines, 400), budget)) for seed in range(DRAWS)
        ]
        row(f"{name} at random", statistics.mean(draws))
    print(f"{len(found):,} communities of {found.node_count:,} nodes in {seconds:.1f} s")


def row(name: str, count: float) -> None:
    print(f"| {name} | {count:g} | {len(TOPICS)} |")


def known(texts: dict[str, str]) -> None:
    """Takes the words of topics that enough documents have."""
    folded = [fold(text) for text in texts.values()]
    for topic in json.loads(FILE.read_text()):
        words = [re.compile(rf"(?<!\w){re.escape(fold(word))}s?(?!\w)") for word in topic["words"]]
        TOPICS.append([word for word in words if sum(map(bool, map(word.search, folded))) > RARE])


def sentences(answer: ibidem.Answer) -> list[str]:
    return [one.text for one in answer.summary(100, method="centroid").sentences]


def within(lines: list[str], budget: int) -> str:
    taken, rest = [], budget
    for line in lines:
        cost = HEURISTIC.estimate(f"{line}\n")
        if cost <= rest:
            rest -= cost
            taken.append(line)
    return "\n".join(taken)


def shown(text: str) -> int:
    folded = fold(text)
    return sum(any(word.search(folded) for word in words) for words in TOPICS)


def fold(text: str) -> str:
    return " ".join(text.lower().split())


if __name__ == "__main__":
    main()

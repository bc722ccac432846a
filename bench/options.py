"""How often a prompt holds the definition of the option or setting that a question names.

    python bench/options.py FOLDER [--limit N]

FOLDER is a repository whose HTML pages are committed (`repo init`, `repo commit .`), such as
git-doc 2.39 or the documentation of Cargo. Each entry of their lists of definitions that has
options (`--all`), or is a name in parts (`push.default`), becomes questions in several forms;
entries whose texts begin alike count once. A question counts if the first eight words of the
definition stand together in the prompt. The questions are made by rule from the pages, so no text
of a manual is kept here.
"""

import argparse
import html
import random
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from answers import words

import ibidem

BUDGETS = (400, 1000)
WORDS = 8
TERM = r"<dt[^>]*>((?:(?!</dt>).)*)</dt>\s*"
ENTRY = re.compile(rf"((?:{TERM})+)<dd[^>]*>(.*?)</(?:p|dd)>", re.DOTALL)
OPTION = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*")
SETTING = re.compile(r"[A-Za-z][\w-]*(?:\.[A-Za-z][\w-]*)+")
FORMS = {
    "long option and command": "What does {long} do in {command}?",
    "short option and command": "{command} {short}",
    "long option alone": "what is {long} for",
    "setting": "What does {setting} do?",
}


@dataclass(frozen=True)
class Entry:
    """A definition: what a question may name it by, and how it begins."""

    names: dict[str, str]
    beginning: str


def plain(markup: str) -> str:
    """Returns the text of a part of a page, white space folded."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", markup)).split())


def entries(page: str, command: str) -> Iterator[Entry]:
    """Yields the definitions of a page whose text has enough words.

    Args:
        page: in HTML.
        command: that the page is about.
    """
    for match in ENTRY.finditer(page):
        text = words(plain(match[3])).split()[:WORDS]
        terms = [plain(term) for term in re.findall(TERM, match[1], re.DOTALL)]
        options = [option for term in terms for option in OPTION.findall(term)]
        long = [option for option in options if option.startswith("--")]
        short = [option for option in options if not option.startswith("--")]
        found = {"long": long[:1], "short": short[:1], "command": [command]}
        found["setting"] = [] if options else list(filter(SETTING.fullmatch, terms))[:1]
        names = {kind: name for kind, held in found.items() for name in held}
        if len(text) == WORDS and len(names) > 1:
            yield Entry(names, f" {' '.join(text)} ")


def main() -> None:
    """Prints, for each form of a question, how many prompts of each budget hold the definition."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--limit", type=int, default=300, help="the most definitions")
    arguments = parser.parse_args()
    pages = sorted(arguments.folder.rglob("*.html"))
    every = [
        entry
        for page in pages
        for entry in entries(page.read_text("utf-8", "replace"), page.stem.replace("-", " ", 1))
    ]
    chosen = list({entry.beginning: entry for entry in reversed(every)}.values())
    random.Random(11).shuffle(chosen)
    asked, held = Counter[str](), Counter[tuple[str, int]]()
    with ibidem.open(arguments.folder) as repo:
        for entry in chosen[: arguments.limit]:
            for name, form in FORMS.items():
                if set(re.findall(r"{(\w+)}", form)) <= set(entry.names):
                    asked[name] += 1
                    for budget in BUDGETS:
                        prompt = repo.prompt(form.format(**entry.names), token_budget=budget)
                        held[name, budget] += entry.beginning in words(prompt.text)
    print(f"{'':28}{'questions':>10}" + "".join(f"{budget:>8}" for budget in BUDGETS))
    for name in asked:
        row = "".join(f"{held[name, budget]:>8}" for budget in BUDGETS)
        print(f"{name:28}{asked[name]:>10}{row}")


if __name__ == "__main__":
    main()

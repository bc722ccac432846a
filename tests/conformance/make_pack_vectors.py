"""Writes the vectors of packs from a second, slower reading of spec/packs.md.

    python tests/conformance/make_pack_vectors.py

Nothing of the library is used: groups are sets of places, merged as the page says it.
"""

from __future__ import annotations

import json
import random
import re
import textwrap
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "spec" / "vectors" / "packs"


def absorb(asked: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    groups: list[dict[str, Any]] = []
    for rank, (place, first, last) in enumerate(asked):
        home = next((g for g in groups if place in g["places"]), None)
        if home is not None:
            home["hits"].append(rank)
            continue
        taken = set().union(*(g["places"] for g in groups)) if groups else set()
        down = place
        while down > first and down - 1 not in taken:
            down -= 1
        up = place
        while up < last and up + 1 not in taken:
            up += 1
        groups.append({"places": set(range(down, up + 1)), "hits": [rank]})
    return [form(group) for group in groups]


def coalesce(asked: list[tuple[int, int, int]]) -> list[dict[str, Any]]:
    groups = [{"places": set(range(a, b + 1)), "hits": [r]} for r, (_, a, b) in enumerate(asked)]
    changed = True
    while changed:
        changed = False
        for one in groups:
            other = next((g for g in groups if g is not one and g["places"] & one["places"]), None)
            if other is not None:
                one["places"] |= other["places"]
                one["hits"] = sorted(one["hits"] + other["hits"])
                groups.remove(other)
                changed = True
                break
    return sorted((form(group) for group in groups), key=lambda group: group["hits"][0])


def form(group: dict[str, Any]) -> dict[str, Any]:
    places = sorted(group["places"])
    assert places == list(range(places[0], places[-1] + 1))
    return {"first": places[0], "last": places[-1], "hits": group["hits"]}


def windows() -> list[dict[str, Any]]:
    rng = random.Random(20260101)
    cases = [("of the seed", 8, 1, [2, 6, 3, 5])]
    for number in range(40):
        last = rng.randrange(1, 25)
        hits = rng.sample(range(last + 1), rng.randrange(1, last + 2))
        cases.append((f"random {number}", last, rng.randrange(0, 5), hits))
    made = []
    for name, last, around, hits in cases:
        asked = [(p, max(0, p - around), min(last, p + around)) for p in hits]
        made += [
            {
                "name": f"{name}, {merge.__name__}",
                "spec": anchor,
                "input": {"merge": merge.__name__, "last": last, "around": around, "hits": hits},
                "output": merge(asked),
            }
            for merge, anchor in ((absorb, "4-b"), (coalesce, "4-c"))
        ]
    return made


def fits() -> list[dict[str, Any]]:
    cases = [([5, 50, 4], 10, None), ([5, 50, 4], None, 1), ([11], 10, 5), ([], 3, 3)]
    cases += [([9, 9, 9], 15, None), ([1, 9, 3, 2, 2], 10, None), ([2, 2, 2], 5, 2), ([7], 0, None)]
    cases += [([1, 20, 1, 1], 12, None), ([20, 4, 9], 16, 2), ([3, 30, 1, 2, 30], 20, None)]
    given: list[tuple[Any, bool, list[int] | None]]
    given = [(one, fill, None) for one in cases for fill in (False, True)]
    given += [
        (([9, 9], 10, None), True, [6, 1]),
        (([30, 30, 3], 20, None), True, [12, 9, 1]),
        (([30, 3], 20, None), True, [21, 1]),
        (([9, 30, 2], 14, 2), True, [9, 5, 1]),
        (([2, 30, 30], 30, None), True, [1, 20, 8]),
    ]
    made = []
    for (costs, budget, limit), fill, needs in given:
        for policy in ("cut", "excerpt") if fill else ("cut", "excerpt", "skip", "stop"):
            options = {"costs": costs, "budget": budget, "limit": limit, "policy": policy}
            taken, left, rooms, _ = fitted(costs, budget, limit, policy, fill, needs)
            made.append(
                {
                    "name": f"{costs} of {budget}, {limit}, {policy}{', filled' * fill}",
                    "spec": "7-n" if fill else {"cut": "7-c", "excerpt": "7-g"}.get(policy, "7-a"),
                    "input": {**options, "fill": True} if fill else options,
                }
                | (
                    {}
                    if needs is None
                    else {
                        "name": f"{costs} of {budget}, {limit}, {policy}, needs {needs}",
                        "spec": "7-p",
                        "input": {**options, "fill": True, "needs": needs},
                    }
                )
                | {
                    "output": {"taken": taken, "left": left, "rooms": rooms},
                }
            )
    return made + with_slack()


def fitted(
    costs: list[int],
    budget: int | None,
    limit: int | None,
    policy: str,
    fill: bool,
    needs: list[int] | None,
    around: int = 0,
) -> tuple[list[int], list[list[Any]], list[int], dict[int, int]]:
    """Returns what is taken, what is not, the rooms of what is cut, and the rooms of all taken."""
    rooms: list[int] = []
    taken: list[int] = []
    left: list[list[Any]] = []
    rooms_of: dict[int, int] = {}
    used, stopped = around, False
    for place, cost in enumerate(costs):
        rest = None if budget is None else max(0, budget - used)
        if limit is not None and len(taken) == limit:
            left.append([place, "limit", None])
        elif stopped:
            left.append([place, "budget", None])
        elif rest is None or budget is None:
            taken.append(place)
        elif policy in ("cut", "excerpt"):
            others = [] if limit is None else [limit - len(taken) - 1]
            spare = rest - sum(costs[place + 1 :][: min(others, default=None)])
            share = max((budget + 1) // 2, spare if fill else 0)
            shown = min(cost, rest, share)
            need = 1 if needs is None else needs[place]
            fits = min(cost, need) <= (shown if needs is None else min(cost, rest))
            if needs is not None and shown < min(cost, need):
                rooms += [need if fits and need < cost else shown]
                shown = min(cost, need if fits else rest)
            else:
                rooms += [shown] if cost > shown else []
            stopped = cost > rest if policy == "cut" else shown == rest
            used += shown
            if fits:
                taken.append(place)
                rooms_of[place] = shown
            else:
                left.append([place, "budget", cost])
        elif cost > rest:
            left.append([place, "budget", cost])
            stopped = policy == "stop"
        else:
            taken.append(place)
            used += cost
    return taken, left, rooms, rooms_of


def parts_fitted(
    parts: list[list[int]], budget: int, limit: int | None, policy: str, around: int
) -> tuple[dict[int, int], list[list[Any]]]:
    """Returns the cost of the part of each candidate that is taken, and those that are not."""
    costs, needs = [one[-1] for one in parts], [one[0] for one in parts]
    taken, left, _, rooms = fitted(costs, budget, limit, policy, True, needs, around)
    return {at: max(one for one in parts[at] if one <= rooms[at]) for at in taken}, left


def with_slack() -> list[dict[str, Any]]:
    """Returns cases of candidates with parts of some costs, the last of which is all of it; they
    are charged as with the largest of all budgets that is possible."""
    rng = random.Random(20261129)
    made = []
    for _ in range(30):
        parts = [
            sorted({rng.randint(1, 90) for _ in range(rng.randint(1, 6))})
            for _ in range(rng.randint(1, 6))
        ]
        budget, around = rng.randint(10, 160), rng.choice((0, 0, 5, 30))
        limit, policy = rng.choice((None, None, 1, 3)), rng.choice(("cut", "excerpt"))
        rules = limit, policy, around
        charged = max(
            one
            for one in range(budget, 2 * budget + 1)
            if sum(parts_fitted(parts, one, *rules)[0].values()) <= max(0, budget - around)
        )
        fit, left = parts_fitted(parts, charged, *rules)
        made.append(
            {
                "name": f"{parts} of {budget} around {around}, {limit}, {policy}",
                "spec": "7-q",
                "input": {
                    "parts": parts,
                    "budget": budget,
                    "around": around,
                    "limit": limit,
                    "policy": policy,
                },
                "output": {
                    "charged": charged,
                    "taken": [list(one) for one in fit.items()],
                    "left": left,
                },
            }
        )
    return made


def pieces(text: str, of_sentences: bool) -> list[tuple[int, int]]:
    """Returns the ranges of the pieces; the first also has the blank lines before it."""
    starts: list[int] = []
    indents: list[int] = []
    opened = False
    for first, last in joined_lines(text) if of_sentences else lines(text):
        line = text[first:last]
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip(" \t"))
        is_below = starts and (indent > indents[-1] or opened)
        if not (is_below and last + 1 - starts[-1] <= 300):
            starts.append(first)
            indents.append(indent)
        opened = of_sentences and is_opener(line)
        if of_sentences or len(line) > 300:
            ends = sentence_ends(line) if of_sentences else clause_ends(line)
            for start in parts(line, ends, 150 if of_sentences else 0):
                starts.append(first + start)
                indents.append(indent)
    return list(zip(starts, [*starts[1:], len(text)][: len(starts)], strict=True))


def lines(text: str) -> list[tuple[int, int]]:
    stops = [at for at, one in enumerate(text) if one == "\n"] + [len(text)]
    return list(zip([0, *(stop + 1 for stop in stops[:-1])], stops, strict=True))


SPACE = " \t\r\f\v"
SMALL = {chr(at) for at in range(ord("a"), ord("z") + 1)}
SMALL |= {chr(at) for at in (*range(0xDF, 0xF7), *range(0xF8, 0x100))}
SMALL |= {chr(at) for at in (*range(0x3AC, 0x3CF), *range(0x430, 0x460))}
CLOSING = "\"')]*_`\u00bb\u2019\u201d\u300b\u300d\u300f\uff09"


def joined_lines(text: str) -> list[tuple[int, int]]:
    """Returns the ranges of the lines, those that continue each other joined."""
    every = lines(text)
    shown = [text[first:last] for first, last in every]
    for number in range(len(every) - 1, 0, -1):
        if is_continued(shown[number - 1], shown[number]):
            every[number - 1 : number + 1] = [(every[number - 1][0], every[number][1])]
    return every


def is_continued(above: str, line: str) -> bool:
    """Returns whether the first line goes on in the second one."""
    one, two = above.strip(SPACE), line.strip(SPACE)
    deep = len(above) - len(above.lstrip(" \t"))
    if len(above.rstrip(SPACE)) < 40 or one[-1] in "([{=\\;:":
        return False
    if one[0] == ">":
        size = 0
        while one[size : size + 1] == ">":
            size += 2 if one[size + 1 : size + 2] in (" ", "\t") else 1
        if two[:size] != one[:size]:
            return False
        one, two = one[size:].strip(SPACE), two[size:].strip(SPACE)
    else:
        deep += mark(one)
    return (
        not any(sign in both for sign in ("\t", "   ", "|") for both in (one, two))
        and len(line) - len(line.lstrip(" \t")) == deep
        and is_small_word(re.split("[ \t]", two)[0])
    )


def is_small_word(text: str) -> bool:
    """Returns whether a text is a word of small letters, perhaps with marks after it."""
    letters = text.rstrip('.,;:!?)"\u2019\u201d')
    parts = re.split("[-'\u2019]", letters)
    return all(part != "" and set(part) <= SMALL for part in parts)


def mark(line: str) -> int:
    """Returns the length of the mark that a line begins with."""
    word = re.split(r"[ \t]", line)[0]
    end = len(word)
    is_mark = (
        word in ("-", "*", "+", ">", "\u2022", "..")
        or (word != "" and set(word) == {"#"})
        or (word[-1:] in (".", ")") and re.fullmatch("[0-9]+|[A-Za-z]", word[:-1]) is not None)
    )
    if not is_mark and line.startswith(":") and (end := line.find(":", 1) + 1) > 2:
        is_mark = "`" not in line[:end] and line[end : end + 1] in ("", " ", "\t")
    rest = line[end:]
    return end + len(rest) - len(rest.lstrip(" \t")) if is_mark else 0


def is_opener(line: str) -> bool:
    """Returns whether something follows a line."""
    space = " \t\r\f\v"
    last = line.split("\n")[-1].strip(space)
    if last.endswith(":"):
        return True
    rest = last.lstrip(last[:1])
    info = rest.lstrip(" \t")
    is_fence = last[:3] in ("```", "~~~") and info != "" and info[0] not in "`~" + space
    return is_fence and "`" not in info


def sentence_ends(line: str) -> list[int]:
    """Returns where the sentences of a line end that are long enough, those before its end."""
    kept = [0]
    for _, end in stops(line):
        if end - kept[-1] >= 40:
            kept.append(end)
    return kept[1:]


def stops(line: str) -> list[tuple[int, int]]:
    """Returns where sentences of a line stop and where the next ones begin."""
    found = []
    for at, sign in enumerate(line):
        end = at + 1
        if sign not in ".!?\u061f\u06d4\u2026\u0964\u0965\u3002\uff01\uff1f":
            continue
        while line[end : end + 1] and line[end] in CLOSING:
            end += 1
        if sign in ".!?\u061f\u06d4\u2026":
            if at > 1 and line[at - 2] in " \t\n.(" and line[at - 1] not in " \t\n":
                continue
            before = end
            while line[end : end + 1] and line[end] in SPACE + "\n":
                end += 1
            if end == before or line[end : end + 1] in SMALL:
                continue
        if end < len(line):
            found.append((at, end))
    return found


def prose(text: str) -> list[list[int]]:
    """Returns the ranges of the sentences of prose."""
    found = []
    for first, last in joined_lines(text):
        line = text[first:last]
        begin = len(line) - len(line.lstrip(" \t"))
        if line[begin : begin + 1] == ">":
            while line[begin : begin + 1] == ">":
                begin += 2 if line[begin + 1 : begin + 2] in (" ", "\t") else 1
        elif line[begin : begin + 1] not in ("#", ":", ".", ""):
            size = mark(line[begin:])
            begin += size if line[begin + size - 1] in " \t" else 0
        row = line[begin:].split("\n")[0].strip(SPACE)
        if not row or mark(row) or any(sign in row for sign in ("\t", "   ", "|")):
            continue
        ends = [end for _, end in stops(line) if end > begin]
        for end in [*ends, len(line)]:
            sentence = line[begin:end].rstrip()
            if sentence and is_prose(sentence):
                found.append([first + begin, first + begin + len(sentence)])
            begin = end
    return found


def is_prose(sentence: str) -> bool:
    head, inner = sentence[0], sentence.rstrip(CLOSING)
    if head in SMALL or not (head.isalnum() or head in "\"'([*_`:\u00ab\u2018\u201c\u00bf\u00a1"):
        return False
    if inner[-1:] not in tuple(".!?\u061f\u06d4\u2026\u0964\u0965\u3002\uff01\uff1f"):
        return False
    words = sentence.split()
    return sentence.count("(") == sentence.count(")") and 3 * sum(map(is_word, words)) >= 2 * len(
        words
    )


def is_word(word: str) -> bool:
    inner = word.lstrip("\"'([*_").rstrip("\"')]*_.,;:!?")
    return inner != "" and all(one.isalnum() or one in "'-" or ord(one) > 127 for one in inner)


def clause_ends(line: str) -> list[int]:
    return [
        at
        for at in range(1, len(line))
        if (
            line[at - 1] in " \t"
            and line[at] not in " \t"
            and line[:at].rstrip(" \t")[-1:] in [*".!?:;"]
        )
        or line[at - 1] in "\u3002\uff01\uff1f"
    ]


def parts(line: str, ends: list[int], least: int) -> list[int]:
    """Returns where the parts of a line begin that end at its ends or are too long, without 0."""
    found = []
    begin = 0
    for end in [*ends, len(line)]:
        while end - begin > 300:
            window = range(begin + least, begin + 300)
            borders = [at for at in window if line[at] == "\n"]
            borders = borders or [at for at in window if line[at] == " "]
            begin = borders[-1] + 1 if borders else begin + 300
            found.append(begin)
        if begin < end < len(line):
            found.append(end)
        begin = end
    return found


def header(text: str, at: int) -> tuple[int, int] | None:
    every = lines(text)
    row = max(number for number, (first, _) in enumerate(every) if first <= at)
    texts = [text[first:last] for first, last in every]
    indents = [len(one) - len(one.lstrip(" \t")) for one in texts]
    found = None
    above = [n for n in range(row + 1) if re.match(r"\.\. +(list|csv)-table::", texts[n].strip())]
    for top in above[-1:]:
        if all(indents[n] > indents[top] or not texts[n].strip() for n in range(top + 1, row + 1)):
            end = top
            while (
                end + 1 < len(texts)
                and texts[end + 1][:1] == " "
                and texts[end + 1].strip()[0] == ":"
            ):
                end += 1
            if ":header-rows:" in "".join(texts[top : end + 1]):
                end += 1
                while not texts[end].strip():
                    end += 1
                deep = indents[end]
                while end + 1 < len(texts) and texts[end + 1].strip() and indents[end + 1] > deep:
                    end += 1
            found = (top, end)
    if found is None and texts[row].strip():
        top = row
        while top and texts[top - 1].strip():
            top -= 1
        for end in range(top + 1, len(texts)):
            rule = texts[end].strip()
            if not rule:
                break
            pipes = "|" in rule and "-" in rule and not rule.strip("|:- \t")
            grid = re.fullmatch(r"\+=[+=]*\+", rule) and "++" not in rule
            if pipes or grid or re.fullmatch(r"=+( +=+)+", rule):
                found = (top, end)
                break
    if found is None:
        return None
    start, stop = every[found[0]][0], every[found[1]][1]
    return (0, stop) if stop <= 500 else (start, stop) if stop - start <= 500 else None


def best(text: str, question: set[str], start: int, of_sentences: bool) -> int:
    """Returns the start of the best piece of the text from `start` on."""
    every = [(start + first, start + last) for first, last in pieces(text[start:], of_sentences)]
    held = [question & set(re.findall("[a-z]+", text[a:b].lower())) for a, b in every]

    def weight(term: str) -> int:
        return 1 + len(f"{len(every) // sum(term in one for one in held):b}")

    scores = []
    for at, own in enumerate(held):
        near = (held[at - 1] if at else set()) | (held[at + 1] if at + 1 < len(held) else set())
        scores.append(4 * sum(map(weight, own)) + sum(map(weight, near - own)))
    return every[scores.index(max(scores))][0]


def excerpt(text: str, question: set[str], room: int, of_sentences: bool) -> list[list[int]]:
    """Returns the ranges of an excerpt of at most `room` code points, line feeds between them
    included, which at least its first piece fits."""
    focus = best(text, question, 0, of_sentences)
    if (found := header(text, focus)) is not None and text[found[1] :].strip():
        focus = best(text, question, found[1], of_sentences)
    above = header(text, focus)
    if above is not None and above[1] > focus:
        above = None
    start = above[1] if above else 0
    parted = pieces(text[start:], of_sentences)
    every = [(start + first, start + last) for first, last in parted]
    first = last = max(at for at, (begin, _) in enumerate(every) if begin <= focus)

    def shown(low: int, high: int) -> list[int]:
        begin, end = every[low][0], every[high][1]
        while text[end - 1] in " \t\n":
            end -= 1
        return [begin, end]

    def size(ranges: list[Any]) -> int:
        return sum(stop - start for start, stop in ranges) + len(ranges) - 1

    heads = [list(above)] if above else []
    found_ranges: list[list[int]] = []
    is_next_after = True
    while True:
        ranges = [*heads, shown(first, last)]
        if size(ranges) > room:
            break
        found_ranges = ranges
        can_grow = (last + 1 < len(every), first > 0)
        if not any(can_grow):
            break
        if (is_next_after and can_grow[0]) or not can_grow[1]:
            last += 1
        else:
            first -= 1
        is_next_after = not is_next_after
    return found_ranges or [shown(first, last)]


def excerpts() -> list[dict[str, Any]]:
    rng = random.Random(20260103)
    words = ["port", "gate", "mill", "tower", "north", "south", "amber", "cedar", "delta", "fjord"]

    def some(low: int, high: int) -> str:
        return " ".join(rng.choices(words, k=rng.randint(low, high)))

    def rows(count: int) -> list[str]:
        return [f"| {some(1, 2)} | {some(1, 6)} |" for _ in range(count)]

    def pipes() -> str:
        return "\n".join(["| name | port |", "|:---|---:|", *rows(rng.randint(3, 30))])

    def grid() -> str:
        body = [one for row in rows(rng.randint(3, 9)) for one in (row, "+---+---+")]
        return "\n".join(["+---+---+", "| name | port |", "+===+===+", *body])

    def columns() -> str:
        body = [f"{some(1, 2)}   {some(1, 2)}" for _ in range(rng.randint(3, 12))]
        return "\n".join(["====  ===", "name  port", "====  ===", *body, "====  ==="])

    def directive() -> str:
        top = [f".. list-table:: {some(1, 3)}", "   :widths: a", "   :header-rows: x"]
        kept = rng.choice((top, top[:2], top[:1]))
        items = [f"   * - {some(1, 2)}\n     - {some(1, 4)}" for _ in range(rng.randint(3, 20))]
        return "\n".join([*kept, "", *items])

    def code() -> str:
        return "\n".join(f"{' ' * rng.choice((0, 0, 2, 4))}{some(1, 5)}" for _ in range(30))

    def prose() -> str:
        marks = [". ", "? ", ", ", ":\t", "\u3002", " ", "\n", "; "]
        return "".join(some(1, 40) + rng.choice(marks) for _ in range(12))

    def long() -> str:
        return f"{'a' * rng.randint(280, 700)} {some(60, 90)}"

    kinds = [pipes, grid, columns, directive, code, prose, long]
    made = []
    for number in range(70):
        text = "\n\n".join(rng.choice(kinds)() for _ in range(rng.randint(1, 3)))
        text = rng.choice(("", f"{some(1, 9)}:\n\n", "\n\n", some(90, 120) + "\n\n")) + text
        question = rng.sample([*words, "name", "absent"], rng.randint(0, 4))
        room = rng.choice((301, 400, 700, 1500))
        made.append(excerpt_case(f"random {number}", text, question, room, False))
    for number in range(70):
        text = "\n\n".join(rng.choice([*kinds, prose])() for _ in range(rng.randint(1, 3)))
        question = rng.sample([*words, "name", "absent"], rng.randint(0, 4))
        room = rng.choice((301, 400, 700, 1500))
        made.append(excerpt_case(f"sentences {number}", wrapped(rng, text), question, room, True))
    return made


def excerpt_case(
    name: str, text: str, question: list[str], room: int, of_sentences: bool
) -> dict[str, Any]:
    return {
        "name": name,
        "spec": "7-h",
        "input": {
            "text": text,
            "question": " ".join(question),
            "room": room,
            "sentences": of_sentences,
        },
        "output": excerpt(text, set(question), room, of_sentences),
    }


def wrapped(rng: random.Random, text: str) -> str:
    """Returns a text with long lines wrapped, some of them below a mark."""
    made = []
    for line in text.split("\n"):
        width = rng.choice((45, 60, 79))
        if len(line) <= width or "|" in line or line[:1] == " ":
            made.append(line)
            continue
        first = rng.choice(("", "", "- ", "12. ", "   ", ":a b: ", "> ", "> > ", "# ", "a) "))
        after = " " * len(first) if rng.random() < 0.8 else rng.choice(("", "  ", "- ", first))
        made += textwrap.wrap(
            line, width, initial_indent=first, subsequent_indent=after, break_long_words=False
        )
    return "\n".join(made)


def parted() -> list[dict[str, Any]]:
    """Returns texts of sentences and lines with the starts of their pieces."""
    rng = random.Random(20260104)
    words = ["a", "I", "e.g.", "the", "Mill", "of", "J.", "3", "port.", "gate!", "why?", "x:", "y;"]
    words += ["end.)", 'said."', "**so.**", "`it.`", "\u6771\u4eac\u3002", "\u0915\u0964", "b" * 90]
    words += ["c" * 310, "tower's", "...", "1.", "(f=", "{", "d,", "\u2022", "#", ":key:"]
    made = [
        "An item that is wrapped by hand goes on in the\nline below it. It ends here.\n",
        "- An item that is wrapped by hand goes on in the\n  line below it, and is one line.",
        "- An item of a list that has some more text\n- Another item of the same list of items",
        "| a row of a table that is long enough to be | b |\n| another row of the same table | c |",
        "    return value_of_a_function_with_a_long_name(\n    another_value_of_it, and_more)",
        "Key of one line:   a value that is far from it\nKey of another:   a value that is far too",
        "A line without white space at its end, which  \nthe next line goes on with  \nto its end",
        "A short line\nand another one\n" + "word " * 90 + "\n" + "x" * 700,
        "",
        " \n\t\n",
        "> > The mill was built by the miller of the\n> > valley. It burned.\n> One more line",
        "\u4ed6\u8bf4\uff1a\u201c\u8d70\u5427\u3002\u201d\u7136\u540e\u4ed6\u4eec" * 9,
        "a " + "\u77f3" * 160 + " " + "\u77f3" * 200,
        "2024-03-19 12:00:08 server spruce restarted\n2024-03-20 12:00:08 server oak restarted",
        "register_price_of_the_tree('teak', 12, 'far')\nregister_price_of_the_tree('oak', 13, 2)",
        "\u041a\u043d\u0438\u0433\u0430 \u043b\u0435\u0436\u0438\u0442 " * 4
        + "\n\u043d\u0430 \u0441\u0442\u043e\u043b\u0435.",
        ">    Text that begins after four spaces and is long\n> and goes on here.",
        "Some words that come before a full stop here and on  . Next sentence of it",
        "These two are the same:\n\n```rust\nlet a = 1;\nlet b = 2;\n```\nAfter it.",
        "Note:\nof it\nmore\n~~~~ sh \nls\n~~~~\n````\nx\n`````a`b\ny\n~~~`\nz\n```` a~b\nc",
        "a: \n\n- b:\n- c:\n" + "- d " * 80,
    ]
    for _ in range(90):
        lines = []
        for _ in range(rng.randint(1, 6)):
            line = " ".join(rng.choices(words, k=rng.randint(1, 25)))
            lines += ["", line] if rng.random() < 0.2 else [line]
        text = wrapped(rng, "\n".join(lines))
        made.append(text.replace(" ", rng.choice((" ", "  ", "\t", "   ")), rng.choice((0, 0, 3))))
    return [
        {"name": str(number), "spec": "7-l", "input": text, "output": starts_of(text)}
        for number, text in enumerate(made)
    ]


def starts_of(text: str) -> list[int]:
    return [first for first, _ in pieces(text, True)]


def proses() -> list[dict[str, Any]]:
    """Returns texts of prose, code, tables and directives with the ranges of their sentences."""
    made = [
        ".. class:: View(name)\n\n   It shows a page of its own, as long as\n   it is. So it is.",
        "* An item. Another one (e.g. `x`) of it\n\n> Who said so? Nobody did.\n\n3) It is so!",
        "# What is a view?\n\n    view = View(name)  # bad.\n\n:param name: The name of it.",
        "| A cell. | Another one. |\n\nA key.   A value.\n\nA key.\tA value.\n\nIt is so.",
        "See [a](https://b.example/c.d), [e](f.g) and [h](i.j).\n\nIt (as said. So it is.",
        "in the middle of it. The gate is open, i.e. Ada has gone. **So it is.**\n\nLabel\n\nWhy:",
        "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3002\u5927\u962a\u3082\u3002",
        "``a(b)`` is called by ``c.d``. The ``a(b)`` is called by all of ``c.d``.",
        "...goes on. -x is so. <b>It</b> is so. 'Tis so. \u201cSo it is.\u201d \u00e9t\u00e9. '.",
        "",
    ]
    made += [case["input"] for case in parted()[:60]]
    return [
        {"name": str(number), "spec": "7-m", "input": text, "output": prose(text)}
        for number, text in enumerate(made)
    ]


def cuts() -> list[dict[str, Any]]:
    """Returns beginnings of texts that fit a number of code points."""
    made = []
    for case in parted():
        text = case["input"]
        text += "  \n" if len(made) % 5 == 0 else ""
        for room in {len(text) // 7, len(text) // 3, len(text) * 4 // 5, len(text) - 1}:
            if room < 1:
                continue
            for whole in (False, True):
                given = {"text": text, "room": room, "whole": whole}
                shown = cut_text(text, room, whole)
                made.append({"spec": "7-k", "input": given, "output": shown})
    return [{"name": str(number), **case} for number, case in enumerate(made)]


def cut_text(text: str, room: int, whole: bool) -> str:
    """Returns the beginning of a text that is longer than there is room for.

    Args:
        whole: whether it is of a pack that is not the first one.
    """
    ends = [len(text[:first].rstrip()) for first in [*starts_of(text), len(text)]]
    shown = max((end for end in ends if end <= room), default=0)
    if whole or shown * 2 >= room:
        return text[:shown]
    for signs in ("\n", " \t\r\n\f\v"):
        last = max((at for at in range(room + 1) if text[at] in signs), default=-1)
        if last * 4 >= room * 3:
            return text[:last].rstrip()
    return text[:room].rstrip()


def sources() -> list[dict[str, Any]]:
    rng = random.Random(20260102)
    cases = [([4, 2, 2], [[10, 10, 10], [10], [5, 5]]), ([1], [[3, 9]]), ([1, 1], [[], [2, 2]])]
    for _ in range(20):
        count = rng.randrange(1, 4)
        costs = [[rng.randrange(1, 40) for _ in range(rng.randrange(5))] for _ in range(count)]
        cases.append(([rng.randrange(1, 6) for _ in range(count)], costs))
    made = []
    for shares, costs in cases:
        order: list[list[int]] = []
        counts = [0] * len(shares)
        while sum(counts) < sum(map(len, costs)):
            best = None
            for source, share in enumerate(shares):
                if counts[source] == len(costs[source]):
                    continue
                had = sum(costs[source][: counts[source]])
                # a/b < c/d without fractions
                if best is None or had * best[1] < best[0] * share:
                    best = (had, share, source)
            assert best is not None
            order.append([best[2], counts[best[2]]])
            counts[best[2]] += 1
        given = {"shares": shares, "costs": costs}
        made.append({"name": f"{shares} {costs}", "spec": "10-d", "input": given, "output": order})
    return made


def markers() -> list[dict[str, Any]]:
    return [
        {"name": str(number), "spec": "8-a", "input": number, "output": f"[{number}]"}
        for number in (1, 2, 10, 123, 4567890)
    ]


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, cases in (
        ("windows", windows()),
        ("fits", fits()),
        ("excerpts", excerpts()),
        ("pieces", parted()),
        ("prose", proses()),
        ("cuts", cuts()),
        ("markers", markers()),
        ("sources", sources()),
    ):
        text = json.dumps(cases, ensure_ascii=False, indent=1) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

"""Excerpts: of a passage that does not fit, what is around the best match is shown."""

from __future__ import annotations

import random
from dataclasses import replace

import dag_cbor
import pytest

import ibidem
from ibidem.objects.errors import InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.retrieve.context.clip import cut_to_fit
from ibidem.retrieve.context.excerpt import clipped_text, excerpt, focus_of, header_of
from ibidem.retrieve.context.option import PackOptions
from ibidem.retrieve.context.pieces import pieces_of
from ibidem.retrieve.query.frame import Counter
from ibidem.retrieve.tokens import HEURISTIC

from .texts import clock, repository

QUESTION = "what is the port of the quarry"
ROWS = [("station", "port"), *((f"mill {n}", f"{n * 7} and more") for n in range(80))]
ROWS[70] = ("quarry", "7731")


def pipes(rows):
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---|---|", *lines[1:]])


def grid(rows):
    lines = [f"| {' | '.join(row)} |" for row in rows]
    body = [one for line in lines[1:] for one in (line, "+---+---+")]
    return "\n".join(["+---+---+", lines[0], "+===+===+", *body])


def columns(rows):
    lines = ["   ".join(row) for row in rows]
    return "\n".join(["=======  ====", lines[0], "=======  ====", *lines[1:], "=======  ===="])


def directive(rows):
    items = [f"   * - {name}\n     - {port}" for name, port in rows]
    return "\n".join([".. list-table:: All ports", "   :header-rows: 1", "", *items])


def noted(*texts):
    """A repository with a node of each text."""
    repo = ibidem.init("memory:", clock=clock)
    with repo.transaction() as tx:
        for number, text in enumerate(texts):
            tx.add_node("Note", summary=text, key=number)
    return repo


def excerpts(repo, question=QUESTION, **options):
    return repo.packs(question, overflow="excerpt", **{"token_budget": 200, **options})


@pytest.mark.parametrize("table", [pipes, grid, columns, directive])
def test_a_named_row_is_shown_below_its_header(table):
    """packs 7-i: the row of a member that shows another part than the beginning has its start."""
    text = table(ROWS)
    assert "7731" not in noted(text).packs(QUESTION, token_budget=200)[0].text
    repo = noted(text)
    found = excerpts(repo)
    [pack] = found
    header, rows = pack.members
    assert "station" in header.text
    assert text.startswith(header.text)
    assert "quarry" in rows.text
    assert "7731" in rows.text
    assert pack.text == f"{header.text}\n{rows.text}"
    assert pack.span_count == 1
    assert text[rows.offset :].startswith(rows.text)
    assert pack.text[rows.start :] == rows.text
    assert pack.tokens <= 200
    [read] = dag_cbor.decode(pack.encode())["members"][1:]
    assert read[3:] == [rows.start, rows.offset]
    assert len(dag_cbor.decode(pack.encode())["members"][0]) == 4
    assert [one.get("offset") for one in pack.to_dict()["members"]] == [None, rows.offset]
    assert repo.receipts.replay(found.receipt).to_bytes() == found.to_bytes()


def test_a_citation_names_the_ranges_that_are_quoted():
    """packs 9-b."""
    text = pipes(ROWS)
    repo = noted(text)
    prompt = repo.prompt(QUESTION, overflow="excerpt", token_budget=250)
    [citation] = prompt.citations
    shown = [text[span.start : span.stop] for span in citation.spans]
    assert "\n".join(shown) in prompt.user
    assert shown[0].startswith("| station")
    assert "| quarry | 7731 |" in shown[1]
    assert repo.verify_citation(citation)
    assert repo.verify_citation(ibidem.Citation.from_dict(citation.to_dict()))


def test_a_file_with_a_long_table_answers_for_each_of_its_rows():
    names = [f"{a}{b}" for a in ("amber", "cedar", "delta", "fjord") for b in range(40)]
    rows = [("station", "port"), *((name, str(7000 + at)) for at, name in enumerate(names))]
    for name in ("t.md", "t.rst"):
        repo = repository({name: f"Stations\n========\n\n{(pipes, grid)[name == 't.rst'](rows)}\n"})
        for name, port in rows[1::13]:
            asked = f"which port has {name}"
            prompt = repo.prompt(asked, overflow="excerpt", token_budget=300)
            assert f"| {name} | {port} |" in prompt.user


PROSE = " ".join(f"Mill {n} is near." for n in range(9, 21))
PROSE = f"{PROSE} The port of the quarry is 7731. {PROSE}"


@pytest.mark.parametrize(("text", "row"), [(pipes(ROWS), "| quarry | 7731 |"), (PROSE, "is 7731.")])
def test_the_row_stays_in_a_prompt_that_has_less_room_than_its_packs(text, row):
    repo = noted(text, "the quarry is old")
    found = {
        budget: repo.prompt(QUESTION, overflow="excerpt", token_budget=budget)
        for budget in range(100, 500, 3)
    }
    shown = [budget for budget, one in found.items() if row in one.user]
    assert shown == [budget for budget in found if budget >= shown[0]]
    assert shown[0] < 170
    for one in found.values():
        assert all(map(repo.verify_citation, one.citations))


@pytest.mark.parametrize("text", [pipes(ROWS), PROSE])
def test_an_excerpt_of_an_excerpt_is_around_the_same_match(text):
    repo = noted(text)
    [pack] = excerpts(repo, token_budget=75)
    assert len(pack.text) < len(text)
    for room in range(15, pack.tokens):
        less = cut_to_fit(
            pack,
            PackOptions(overflow="excerpt", sentences=True),
            Counter(HEURISTIC),
            lambda some: some.tokens <= room,  # noqa: B023
            is_first=True,
        )
        assert less is not None
        assert "quarry" in less.text
        assert all(text[slice(*one.range)] == one.text for one in less.members)


@pytest.mark.parametrize("sentences", [True, False])
def test_more_room_only_adds_text(sentences):
    rng = random.Random(11)
    words = [
        "needle",
        "pin",
        "hay.",
        "stack,",
        "straw",
        "a\n",
        "b\n\n",
        "c\n  d",
        "| e |",
        "f" * 350,
    ]
    for _ in range(50):
        text = "".join(f"{one} " for one in rng.choices(words, k=rng.randint(1, 120)))
        if rng.random() < 0.5:
            text = pipes([(f"x{n}", rng.choice(words[:5])) for n in range(rng.randint(2, 60))])
        focus = focus_of(text, "needle pin", "english-1", sentences=sentences)
        before: set[int] = set()
        for room in range(0, len(text) + 40, 29):
            ranges = excerpt(
                text,
                focus,
                lambda *given: size_of(given) <= room,  # noqa: B023
                sentences=sentences,
            )
            now = {at for start, stop in ranges for at in range(start, stop)}
            assert before <= now
            assert ranges == sorted(ranges)
            assert size_of(ranges) <= room or not ranges
            before = now


def size_of(ranges):
    return sum(stop - start for start, stop in ranges) + len(ranges) - 1


def test_more_budget_never_gives_less_of_a_passage():
    rng = random.Random(5)
    documents = {
        f"{i}.md": "\n\n".join(
            f"# H{j}\n\n"
            + " ".join(rng.choices(["needle", "a.", "bc", "d,", "e\n"], k=rng.randint(1, 300)))
            for j in range(4)
        )
        for i in range(4)
    }
    repo = repository(documents)
    before: dict[NodeId, list[int]] = {}
    for budget in range(0, 700, 7):
        found = repo.packs("needle", token_budget=budget, overflow="excerpt")
        assert found.tokens_used <= budget
        now = {one.id: list(range(*one.range)) for pack in found for one in pack.members}
        assert all(set(shown) <= set(now.get(one, ())) for one, shown in before.items())
        before = now


def test_a_passage_that_exceeds_the_budget_leaves_the_other_half_to_the_next():
    long = "needle " * 900
    assert len(noted(long, "needle and pin " * 9).packs("needle", token_budget=200)) == 1
    assert len(excerpts(noted(long, "needle and pin " * 9), "needle")) == 2


def test_rare_words_of_the_question_decide():
    lines = [f"the pump of mill {n} is set to {n}" for n in range(50)]
    lines[30] = "the winch is not set"
    text = "\n".join(lines)
    for sentences in (True, False):

        def focus(question, text):
            return focus_of(text, question, "english-1", sentences=sentences)  # noqa: B023

        assert text[focus("what is the winch of the mill set to", text) :].startswith("the winch")
        assert focus("nothing of this", text) == 0
        assert focus("winch", "") == 0
        assert focus("winch", "  \n\n") == 0


@pytest.mark.parametrize("sentences", [True, False])
def test_pieces_are_items_and_lines(sentences):
    text = "one\n  more\n\ntwo\n- three\n  four\n"
    assert parts(text, sentences) == ["one\n  more\n\n", "two\n", "- three\n  four\n"]
    assert list(pieces_of("x" * 700, sentences)) == [0, 300, 600]
    early = [0, 300] if sentences else [0, 2, 302]
    assert list(pieces_of("y " + "x" * 299 + " z", sentences)) == early


def parts(text, sentences):
    starts = list(pieces_of(text, sentences))
    return [text[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)]


def test_before_sentences_counted_only_long_lines_had_them():
    long = "A sentence of it. " * 20
    assert list(pieces_of(long, False))[:3] == [0, 18, 36]
    assert list(pieces_of(long[:200], False)) == [0]
    assert list(pieces_of(long, True))[:3] == [0, 54, 108]


@pytest.mark.parametrize(
    "expected",
    [
        [
            "The first sentence goes on to the end of its\nline and below it. ",
            "The second one, e.g. this\none by J. Smith, is as long.\n",
            "A line that ends as its sentence does begins here.",
        ],
        [
            "- An item goes on in the line below it, which is\n  indented as its text is. ",
            "Then it has one sentence more.\n",
            "- Another item, which is a piece of its own",
        ],
        ["| a row of a table that is long enough to be | b |\n", "| the next row of it | c |"],
        [
            "a key with columns in its line      its value\n",
            "another key with columns     its value",
        ],
        ["Set these options in the configuration file, for example:\nindent = 4\n", "w = 8"],
        ["These are equal:\n\n```rust\nlet a = 1;\n", "let b = 2;\n", "```\n", "The rest"],
        [
            "2024-03-19 12:00:08 server spruce restarted after it\n",
            "2024-03-20 12:00:08 server oak restarted after it",
        ],
        ["price_of_the_tree('teak', 12, 'far away')\n", "price_of_the_tree('oak', 9, 'far away')"],
        [
            "> A quotation goes on in the line below it, which\n> begins as it does. ",
            "Then it has one sentence more.\n",
            "> A line below it, which begins with a capital.",
        ],
        [
            "那座磨坊是河谷里的磨坊主在洪水那一年建造的,后来又被他的孙子们修缮过很多次,他说:“走吧。”",
            "然后他们就走了。",
        ],
        ["Only one sentence, which begins in a line that is\nas wide as others"],
    ],
)
def test_prose_that_is_wrapped_by_hand_has_sentences(expected):
    assert parts("".join(expected), True) == expected


WRAPPED = """\
The quarry was opened in the spring of the year
before the mill. Its port has been the number 7731
since the winch was replaced. Nobody remembers why
the old number was given up. The mill has another
one, which is written on its door. Both are open
from the first of March to the end of October.
"""


@pytest.mark.parametrize("size", range(60, 200, 7))
def test_the_record_that_is_asked_for_is_shown_if_one_fits(size):
    names = [f"{tree}{n}" for tree in ("spruce", "oak", "pine") for n in range(7)]
    log = [f"2024-03-19 12:00:{n:02} server {name} restarted" for n, name in enumerate(names)]
    calls = [f"register_price_of_the_tree('{name}', {n})" for n, name in enumerate(names)]
    for lines in (log, calls):
        text = "\n".join(lines)
        focus = focus_of(text, "when did pine3 restart", "english-1", sentences=True)
        ranges = excerpt(text, focus, lambda *given: size_of(given) <= size, sentences=True)
        shown = "".join(text[slice(*one)] for one in ranges)
        assert lines[17] in shown
        assert set(shown.split("\n")) <= set(lines)


@pytest.mark.parametrize("overflow", ["cut", "excerpt"])
def test_a_wrapped_text_is_cut_where_a_sentence_ends(overflow):
    repo = noted(WRAPPED)
    for budget in range(25, 75):
        [pack] = repo.packs(QUESTION, overflow=overflow, token_budget=budget)
        shown = pack.members[0].text
        if budget >= 41:  # else there is no room for one sentence
            assert shown.rstrip().endswith(".")
            assert shown[0].isupper()
        if overflow == "excerpt" and budget >= 41:
            assert "7731\nsince the winch was replaced." in shown


def test_a_question_of_before_is_cut_where_a_line_ends():
    """packs 1-b."""
    found = noted(WRAPPED).packs(QUESTION, overflow="excerpt", token_budget=200)
    now = found.query.packs
    assert now is not None
    assert now.form()["sentences"] is True
    before = replace(now, sentences=False)
    assert "sentences" not in before.form()
    assert now.ruled_like(before) == before
    ends = []
    for options in (now, before):
        part = cut_to_fit(
            found[0], options, Counter(HEURISTIC), lambda some: some.tokens <= 50, is_first=True
        )
        assert part is not None
        ends.append(part.text[-8:])
    assert ends == ["iven up.", "bers why"]


@pytest.mark.parametrize("overflow", ["cut", "excerpt"])
def test_of_a_later_source_only_whole_sentences_are_shown(overflow):
    """packs 7-j."""
    repo = noted(WRAPPED, WRAPPED.replace("The", "This"))
    for budget in range(50, 260):
        first, *later = repo.packs("quarry mill", overflow=overflow, token_budget=budget)
        assert first.text
        for pack in later:
            assert pack.members[0].text.rstrip().endswith(".")


@pytest.mark.parametrize("wrong", [{"sentences": False}, {"overflow": "skip", "sentences": True}])
def test_only_true_is_read_where_texts_are_cut(wrong):
    form = PackOptions(overflow="cut", sentences=True).form()
    assert PackOptions.from_form(form).sentences
    with pytest.raises(InvalidInputError, match=r"packs\.sentences"):
        PackOptions.from_form({**form, **wrong})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("| a | b |\n|---|---|\n| c | d |", (0, 19)),
        ("Ports:\n\na | b\n--|--\nc | d", (0, 19)),
        ("w" * 600 + "\n\n| a | b |\n|---|---|\n| c | d |", (602, 621)),
        (f"| {'a' * 600} | b |\n|---|---|\n| c | d |", None),
        ("| a | b |\n|---|---|\n| c | d |\n\nafter it", None),
        ("Title\n-----\nno table", None),
        ("---\nno table", None),
        ("+---+\n| a |\n+---+\n| b |\n+---+", None),
        (".. list-table:: T\n\n   * - a\n     - b\n   * - c\n     - d", (0, 17)),
        (".. csv-table:: T\n   :header: a, b\n\n   c, d\n   e, f", (0, 33)),
        (".. list-table:: T\n   :header-rows: 1\n\n   * - a\n   * - b", (0, 46)),
        (".. list-table:: T\n   :header-rows: 1\n\n   * - a\n\nafter it", None),
        ("plain", None),
    ],
)
def test_the_header_of_a_table_is_above_its_last_row(text, expected):
    assert header_of(text, len(text) - 1) == expected


def test_matches_are_those_of_what_is_shown():
    repo = noted(pipes(ROWS))
    [pack] = excerpts(repo, spans=True)
    text = pipes(ROWS)
    assert {text[start:stop] for start, stop in pack.entry.spans} == {"port", "quarry"}
    shown = [one.range for one in pack.members]
    for start, stop in pack.entry.spans:
        assert any(first <= start and stop <= last for first, last in shown)


def test_a_text_of_which_only_white_space_does_not_fit_is_whole():
    def fits(some):
        return len(some) <= 8

    assert clipped_text("Abc def. \n ", fits, sentences=True, whole=True) == "Abc def."
    assert clipped_text("Abc defg. \n ", fits, sentences=True, whole=True) == ""


@pytest.mark.parametrize("sentences", [True, False])
def test_a_cut_after_a_full_stop_without_a_space_fits(sentences):
    for room in range(12):
        shown = clipped_text(
            "東京。北。南です。",
            lambda some: len(some) <= room,  # noqa: B023
            sentences=sentences,
        )
        assert len(shown) <= room
    repo = noted("東京。北。" * 60, "東京。北です。" * 60)
    for budget in range(1, 120):
        assert repo.packs("東京", token_budget=budget, overflow="excerpt").tokens_used <= budget


@pytest.mark.parametrize("overflow", ["cut", "excerpt"])
def test_a_hit_that_is_not_shown_has_no_matches(overflow):
    """packs 6-c."""
    repo = repository({"a.md": "needle " * 20 + "\n\n" + "needle and pin " * 20})
    options = {"overflow": overflow, "spans": True, "window_chars": None}
    for budget in range(15, 170, 5):
        for pack in repo.packs("needle pin", token_budget=budget, **options):
            shown = {one.id for one in pack.members}
            assert all(hit.id in shown or not hit.spans for hit in pack.hits)


def test_a_question_without_words_gets_the_beginning():
    repo = noted("one line of it\n" * 200)
    with repo.transaction() as tx:
        for node in repo.at().nodes():
            tx.set_vector(node.id, model="m", vector=[1.0, 0.0])
    [pack] = excerpts(repo, None, vector=("m", [1.0, 0.0]))
    assert pack.members[0].range[0] == 0
    assert HEURISTIC.estimate(pack.rendered) <= 200


def test_messages_of_a_context_are_excerpts_too():
    repo = ibidem.init("memory:", clock=clock)
    repo.conversations.append("t", [("user", "well\n" * 400 + "the quarry has port 7731\n")])
    context = repo.context(QUESTION, thread="t", token_budget=250, overflow="excerpt")
    assert "port 7731" in context.user
    assert all(map(repo.verify_citation, context.citations))


def test_a_conversation_of_its_own_refuses_it():
    repo = ibidem.init("memory:", clock=clock)
    repo.conversations.append("t", [("user", "tea")])
    with pytest.raises(InvalidInputError, match="overflow: got 'excerpt', expected one of cut"):
        repo.conversations.context("tea", thread="t", token_budget=99, overflow="excerpt")

"""A passage that continues a table has the header of the table as its context sentence."""

import hashlib
import re

import pytest

import ibidem
from ibidem.ingest.document import read_document
from ibidem.ingest.draft import HEADER_DIGEST
from ibidem.ingest.extraction import Writer
from ibidem.ingest.move import move_attachments
from ibidem.ingest.split import ITEMS_CHARS_MAX
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.text import TEXT_FIELDS, node_text

ROWS = [("station", "harbor"), *((f"mill {n}", f"pier {n * 7} of the east") for n in range(90))]


def pipes(rows):
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---|---|", *lines[1:]])


def grid(rows):
    """A grid whose rows have two lines."""
    edge = f"+{'-' * 12}+{'-' * 24}+"
    body = [
        one
        for name, value in rows
        for one in (
            f"|{name:<12}|{value:<24}|",
            f"|{'':<12}|{'also':<24}|",
            edge,
        )
    ]
    return "\n".join([edge, *body[:2], edge.replace("-", "="), *body[3:]])


def columns(rows):
    """A simple table whose rows have two lines."""
    edge = f"{'=' * 12}  {'=' * 24}"
    body = [f"{name:<12}  {value}\n{'':<12}  also" for name, value in rows]
    return "\n".join([edge, body[0], edge, *body[1:], edge])


def spaced(rows):
    """A simple table with blank lines between its rows."""
    edge, *lines, last = columns(rows).split("\n")
    return "\n".join([edge, *lines[:3], "\n\n".join(lines[3:]).replace("\n\n   ", "\n   "), last])


def directive(rows):
    items = [f"   * - {name}\n     - {value}\n\n       also" for name, value in rows]
    return "\n".join([".. list-table:: Harbors", "   :header-rows: 1", "", *items])


def separated(rows):
    lines = [f"   {name}, {value}" for name, value in rows]
    return "\n".join([".. csv-table:: Harbors", "   :header-rows: 1", "", *lines])


def captioned(rows):
    inner = columns(rows).replace("\n", "\n   ")
    return f".. table:: Harbors\n\n   {inner}"


def page(rows):
    cells = "".join(f"<tr><td>{name}</td><td>{value}</td></tr>" for name, value in rows)
    return f"<p>All:</p><table><caption>Harbors &amp; towns</caption>{cells}</table>"


def csv(rows):
    return "".join(f"{name},{value}\n" for name, value in rows)


FORMATS = [
    pytest.param("a.md", pipes, id="markdown"),
    pytest.param("a.rst", grid, id="grid"),
    pytest.param("a.rst", columns, id="columns"),
    pytest.param("a.rst", spaced, id="columns with blank lines"),
    pytest.param("a.rst", directive, id="list-table"),
    pytest.param("a.rst", separated, id="csv-table"),
    pytest.param("a.rst", captioned, id="table directive"),
    pytest.param("a.html", page, id="html"),
    pytest.param("a.csv", csv, id="csv"),
]


def passages(path, source):
    return [one for one in read_document(path, source).drafts if one.ntype == "Passage"]


def repository(*documents):
    repo = ibidem.init("memory:")
    ingested(repo, *documents)
    return repo


def ingested(repo, *documents):
    with repo.transaction() as tx:
        reports = [ibidem.ingest_text(tx, text, path=path) for path, text in documents]
    return reports[-1]


def nodes(repo, at="main"):
    return {one.id: one for one in repo.at(at).query(label="Passage")}


def text_of(node):
    return node_text(node, TEXT_FIELDS, None)


@pytest.mark.parametrize(("path", "table"), FORMATS)
def test_each_passage_of_a_table_is_whole_rows_below_its_header(path, table):
    """format 5.1-g"""
    first, *others = passages(path, table(ROWS))
    assert len(others) > 3
    assert first.header == ""
    assert HEADER_DIGEST not in first.props
    assert first.summary.startswith(first.header)
    numbers = []
    for one in (first, *others):
        text = f"{one.header}\n{one.summary}"
        assert "station" in text.partition("mill")[0]
        assert one.props["format"] == "table"
        names = re.findall(r"mill (\d+)", one.summary)
        assert names == [str(int(n) // 7) for n in re.findall(r"pier (\d+)", one.summary)]
        if "also" in table(ROWS):
            assert one.summary.count("also") == len(names) + ("station" in one.summary)
        numbers += names
        assert len(one.summary) <= ITEMS_CHARS_MAX
    assert numbers == [str(n) for n in range(90)]
    assert {one.header for one in others} == {others[0].header}
    assert first.summary.startswith(others[0].header)
    assert "mill" not in others[0].header
    assert ("Harbors" in others[0].header) is ("Harbors" in table(ROWS))
    digest = hashlib.sha256(others[0].header.encode()).hexdigest()
    assert {one.props[HEADER_DIGEST] for one in others} == {digest}


@pytest.mark.parametrize(("path", "table"), FORMATS)
def test_a_short_table_is_one_passage_without_a_copy_of_its_header(path, table):
    (one,) = passages(path, table(ROWS[:4]))
    assert "station" in one.summary
    assert one.header == ""
    assert set(one.props) == {"format"}


def test_a_caption_and_an_introduction_belong_to_the_header():
    first, second, *_ = passages("a.html", page(ROWS))
    assert second.header == "All:\n\nHarbors & towns\n\n| station | harbor |\n|---|---|"
    assert first.summary.startswith(f"{second.header}\n| mill 0 |")
    wide = page(ROWS).replace("<caption>", f"<caption>{'Wide ' * 120}")
    assert passages("a.html", wide)[1].header == "| station | harbor |\n|---|---|"
    introduced = passages("a.md", f"The harbors:\n\n{pipes(ROWS)}")
    assert introduced[1].header == "The harbors:\n\n| station | harbor |\n|---|---|"
    long = passages("a.md", f"{'Long. ' * 90}\nThe harbors:\n\n{pipes(ROWS)}")
    assert long[1].header == "| station | harbor |\n|---|---|"


def test_a_table_without_a_header_or_with_a_long_one_repeats_none():
    rows = [("station " * 80, "harbor " * 80), *ROWS[1:]]
    assert {one.header for one in passages("a.md", pipes(rows))} == {""}
    assert {one.header for one in passages("a.csv", csv(rows))} == {""}
    wide = [("station " * 50, "harbor " * 50), *ROWS[1:]]
    assert "station" in passages("a.csv", csv(wide))[1].header
    edge = "=====  ====="
    body = "\n".join(f"mill {n}  pier" for n in range(10, 99))
    assert {one.header for one in passages("a.rst", f"{edge}\n{body}\n{edge}\n")} == {""}


def test_rows_with_many_spaces_at_their_end_have_the_header():
    """[5.1-g]"""
    table = pipes(ROWS).replace("\n", " " * 300 + "\n")
    rows = [one for one in passages("a.md", table) if one.props["format"] == "table"]
    assert len(rows) > 2
    assert all(one.header.startswith("| station |") for one in rows[1:])


def test_two_tables_have_headers_of_their_own():
    other = [("town", "tower"), *ROWS[1:]]
    found = passages("a.md", f"{pipes(ROWS)}\n\nand\n\n{pipes(other)}\n")
    headers = [one.header for one in found]
    assert headers[1] == "| station | harbor |\n|---|---|"
    assert headers[-1] == "| town | tower |\n|---|---|"
    assert headers.count("") == 3


def test_a_table_of_too_many_bytes_is_refused_while_it_is_read():
    read = []

    def rows():
        for number in range(1000):
            read.append(number)
            yield ["x" * 90]

    with pytest.raises(InvalidInputError) as error:
        Writer(bytes_max=1000).table(rows())
    assert error.value.kind is ErrorKind.LIMIT_EXCEEDED
    assert len(read) < 20


@pytest.mark.parametrize(("path", "table"), FORMATS)
def test_an_edit_of_the_header_changes_the_passages_below_it_and_no_id(path, table):
    text = table(ROWS)
    repo = repository((path, text))
    before = nodes(repo)
    assert ingested(repo, (path, text)).documents_unchanged == 1
    assert nodes(repo) == before
    ingested(repo, (path, text.replace("harbor", "haven").replace("Harbor", "Haven")))
    after = nodes(repo)
    (gone,) = before.keys() - after.keys()
    assert "harbor" in before[gone].summary
    assert len(after) == len(before)
    shared = [id_ for id_ in before if id_ != gone]
    assert all(before[id_].summary == after[id_].summary for id_ in shared)
    tables = [id_ for id_ in shared if before[id_].props["format"] == "table"]
    assert {id_ for id_ in shared if before[id_] != after[id_]} == set(tables)
    assert all("haven" in text_of(after[id_]) for id_ in tables)
    assert not any("harbor" in text_of(one) for one in after.values())


def test_a_second_ingest_in_the_same_transaction_changes_nothing():
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        ibidem.ingest_text(tx, pipes(ROWS), path="a.md")
        report = ibidem.ingest_text(tx, pipes(ROWS), path="a.md")
    assert report.documents_unchanged == 1
    assert report.nodes_changed == 0


def test_an_edit_of_a_row_leaves_most_passages_alone():
    rows = [*ROWS[:40], ("new mill", "pier 1"), *ROWS[40:]]
    repo = repository(("a.md", pipes(ROWS)))
    before = nodes(repo)
    ingested(repo, ("a.md", pipes(rows)))
    after = nodes(repo)
    assert len(set(after) ^ set(before)) <= 6
    assert all(after[id_] == before[id_] for id_ in set(after) & set(before))


def test_rows_that_become_the_first_ones_lose_the_header():
    """The same text that no longer continues a table has no context sentence."""
    text = pipes(ROWS)
    repo = repository(("a.md", text))
    second = list(passages("a.md", text))[1]
    assert nodes(repo)[second.id].context_sentence == second.header
    ingested(repo, ("a.md", second.summary))
    (one,) = nodes(repo).values()
    assert one.id == second.id
    assert one.context_sentence is None
    assert HEADER_DIGEST not in one.props


def test_a_context_sentence_of_another_writer_is_kept():
    text = pipes(ROWS)
    repo = repository(("a.md", text))
    first, second, third, fourth, *_ = passages("a.md", text)
    with repo.transaction() as tx:
        tx.update_node(first.id, context_sentence="Of the first.")
        tx.update_node(second.id, context_sentence="Of the second.")
        tx.update_node(third.id, context_sentence=None)
    assert ingested(repo, ("a.md", text)).documents_unchanged == 1
    ingested(repo, ("a.md", text.replace("harbor", "haven") + "\n\nMore.\n"))
    after = nodes(repo)
    assert after[second.id].context_sentence == "Of the second."
    assert after[third.id].context_sentence is None
    assert "haven" in after[fourth.id].context_sentence
    with repo.transaction() as tx:
        for id_ in (second.id, third.id):
            tx.update_node(id_, context_sentence=after[fourth.id].context_sentence)
    ingested(repo, ("a.md", text))
    assert {nodes(repo)[one.id].context_sentence for one in (second, third)} == {second.header}


def test_a_context_sentence_of_another_writer_moves_with_a_renamed_document():
    text = pipes(ROWS)
    repo = repository(("a.md", text))
    old = [one.id for one in passages("a.md", text)]
    new = [one.id for one in passages("b.md", text)]
    with repo.transaction() as tx:
        tx.update_node(old[1], context_sentence="Of the second.")
        ibidem.ingest_text(tx, text, path="b.md")
        (document,) = (one for one in tx.nodes(label="Document") if one.key[1] == "a.md")
        move_attachments(tx, document, "b.md")
    found = nodes(repo)
    assert found[new[1]].context_sentence == "Of the second."
    assert found[new[2]].context_sentence == found[old[2]].context_sentence
    ingested(repo, ("b.md", text))
    assert nodes(repo)[new[1]].context_sentence == "Of the second."


def test_a_row_that_is_merged_below_another_header_gets_it_with_the_next_ingest():
    text = pipes(ROWS)
    repo = repository(("a.md", text))
    repo.branch("rows")
    ingested(repo, ("a.md", text.replace("harbor", "haven")))
    with repo.transaction(branch="rows") as tx:
        ibidem.ingest_text(tx, text + "\n" + "| new mill | pier |\n" * 40, path="a.md")
    repo.merge("rows")
    (document,) = repo.at().query(label="Document")
    merged = repo.at().document(document.id)
    assert "new mill" in merged
    assert "haven" in merged
    ingested(repo, ("a.md", merged))
    headers = {one.context_sentence for one in nodes(repo).values()}
    assert headers == {None, "| station | haven |\n|---|---|"}


def test_the_header_is_ranked_and_shown_and_citations_verify():
    text = pipes(ROWS)
    other = pipes([("station", "tower"), *((name, "green") for name, _ in ROWS[1:])])
    repo = repository(("a.md", text), ("b.md", other))
    found = repo.packs("harbor of mill 77", token_budget=1000, overflow="excerpt")
    best = found[0]
    assert best.title == "a.md"
    assert "| station | harbor |\n|---|---|\n" in best.text
    assert "| mill 77 | pier 539 of the east |" in best.text
    prompt = repo.prompt("harbor of mill 77", found)
    assert prompt.citations
    assert all(repo.verify_citation(one) for one in prompt.citations)
    assert repo.receipts.replay(found.receipt).to_bytes() == found.to_bytes()


def test_a_run_of_link_definitions_is_one_passage():
    lines = [f"[page {n}]: page{n}.md" for n in range(30)]
    source = "See [page 7].\n\n" + "\n".join(lines[:20]) + "\n\n" + "\n".join(lines[20:]) + "\n"
    first, second = passages("a.md", source)
    assert first.summary == "See [page 7]."
    assert second.props == {"format": "reference"}
    assert second.summary == source.partition("\n\n")[2].strip()
    repo = repository(("page7.md", "Seven."), ("a.md", source))
    assert [edge.src for edge in repo.at().edges()] == [first.id]


def test_a_table_without_header_is_cut_and_its_last_border_is_none():
    edge = "=====  " + "=" * 30
    source = "\n".join([edge, "\n\n".join(f"k{n:<5} {'v' * 30}" for n in range(60)), edge])
    passages = [one for one in read_document("a.rst", source).drafts if one.ntype == "Passage"]
    assert len(passages) > 2
    assert max(len(one.summary) for one in passages) <= ITEMS_CHARS_MAX
    assert not any(one.header for one in passages)

"""Ids and locality: an edit changes the edited passage and its ancestors, and nothing else."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from ibidem.ingest.draft import document_id
from ibidem.ingest.group import CHILDREN_MAX
from ibidem.objects.location import source_text

from .strategies import MARKDOWN
from .trees import changed, parents_of, read

PARAGRAPHS = [f"Paragraph {number} says something." for number in range(100)]


def document(paragraphs):
    """A hundred paragraphs in ten sections."""
    lines = ["# Title", ""]
    for number, paragraph in enumerate(paragraphs):
        if number % 10 == 0:
            lines += [f"## Section {number // 10}", ""]
        lines += [paragraph, ""]
    return "\n".join(lines)


def test_the_same_source_gives_the_same_nodes():
    first, second = read(document(PARAGRAPHS)), read(document(PARAGRAPHS))
    assert changed(first, second) == []


def test_one_edited_paragraph_changes_only_itself_and_its_ancestors():
    edited = [*PARAGRAPHS]
    edited[42] = "Paragraph 42 was edited."
    assert changed(read(document(PARAGRAPHS)), read(document(edited))) == [
        "+Passage: Paragraph 42 was edited.",
        "-Passage: Paragraph 42 says something.",
        "~Document: Title",
        "~Section: Section 4",
        "~Section: Title",
    ]


def test_a_paragraph_inserted_at_the_top_changes_no_other_passage():
    before = document(PARAGRAPHS)
    after = before.replace("# Title\n\n", "# Title\n\nNew at the top.\n\n")
    assert changed(read(before), read(after)) == [
        "+Passage: New at the top.",
        "~Document: Title",
        "~Section: Title",
    ]


def test_an_edit_of_equal_size_still_changes_the_ancestors_that_name_it():
    changes = changed(read("# A\n\n## B\n\nabc\n"), read("# A\n\n## B\n\nabd\n"))
    assert changes == ["+Passage: abd", "-Passage: abc", "~Section: B"]


def test_a_renamed_heading_keeps_the_passages_under_it():
    changes = changed(read("# A\n\n## B\n\nabc\n"), read("# A\n\n## Bee\n\nabc\n"))
    assert not any("Passage" in change for change in changes)


def test_appending_a_section_touches_no_finished_one():
    before = document(PARAGRAPHS)
    assert changed(read(before), read(before + "# Appendix\n\nMore.\n")) == [
        "+Passage: More.",
        "+Section: Appendix",
        "~Document: Title",
    ]


def test_equal_texts_are_occurrences_and_removing_one_removes_the_last():
    three, two = read("same\n\nsame\n\nsame\n"), read("same\n\nsame\n")
    passages = [node for node in three.values() if node.ntype == "Passage"]
    assert sorted(node.key[1][2] for node in passages) == [0, 1, 2]
    assert changed(three, two) == ["-Passage: same", "~Document: a.md"]


def test_equal_headings_are_occurrences():
    nodes = read("# A\n\n## Use\n\nx\n\n## Use\n\ny\n")
    assert sorted(node.key[1][1:] for node in nodes.values() if node.summary == "Use") == [
        [["A", "Use"], 0],
        [["A", "Use"], 1],
    ]


def test_ids_differ_between_documents_and_follow_the_path():
    first, second = read("text", "a.md"), read("text", "b/a.md")
    assert first.keys().isdisjoint(second)
    assert document_id("a.md") in first
    assert document_id("b/a.md") in second


@given(
    pieces=st.lists(MARKDOWN, min_size=1, max_size=4),
    inserted=st.text("ab ", min_size=1, max_size=9),
)
@settings(max_examples=examples(60), deadline=None)
def test_a_paragraph_put_before_a_document_keeps_every_passage_of_it(pieces, inserted):
    body = "# Begin\n\n" + "".join(pieces)
    before = {node_id for node_id, node in read(body).items() if node.ntype == "Passage"}
    after = read(f"{inserted}\n\n{body}")
    texts = [node.summary for node in after.values() if node.ntype == "Passage"]
    assert before <= after.keys() or texts.count(inserted.strip()) > 1


@pytest.fixture(scope="module")
def long_texts():
    return [f"Entry number {number} of a long flat file." for number in range(5000)]


def test_no_parent_has_more_children_than_allowed(long_texts):
    source = "\n\n".join(long_texts)
    nodes = read(source, "a.txt")
    assert max(len(node.children) for node in nodes.values()) <= CHILDREN_MAX
    assert sum(node.ntype == "Passage" for node in nodes.values()) == 5000
    groups = [node for node in nodes.values() if node.ntype == "Section"]
    assert len(groups) > 20
    assert not any(node.summary for node in groups)
    assert source_text(document_id("a.txt"), nodes.__getitem__) == source


@pytest.mark.slow
def test_an_edit_in_a_long_flat_file_changes_one_group(long_texts):
    before = read("\n\n".join(long_texts), "a.txt")
    for place in (0, 1234, 4999):
        edited = [*long_texts]
        edited[place] = "Edited."
        changes = changed(before, read("\n\n".join(edited), "a.txt"))
        assert len(changes) <= 6, changes
        inserted = read("\n\n".join([*long_texts[:place], "New.", *long_texts[place:]]), "a.txt")
        assert len(changed(before, inserted)) <= 6


def test_a_thousand_identical_lines_are_told_apart():
    nodes = read("\n\n".join(["same"] * 3000), "a.txt")
    assert sum(node.ntype == "Passage" for node in nodes.values()) == 3000
    assert max(len(node.children) for node in nodes.values()) <= CHILDREN_MAX


def test_an_edit_in_a_very_long_paragraph_stays_local():
    words = [f"Sentence {number} goes here." for number in range(4000)]
    before = read(" ".join(words), "a.txt")
    words[100] = "This one was edited."
    after = read(" ".join(words), "a.txt")
    assert sum(node.ntype == "Passage" for node in before.values()) > 20
    assert len(changed(before, after)) <= 9


def test_every_part_but_the_document_has_one_parent():
    nodes = read(document(PARAGRAPHS))
    parents = parents_of(nodes)
    assert nodes.keys() - parents.keys() == {document_id("a.md")}

"""Documents that both sides changed in different places merge child by child, as texts do."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.objects import codec
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.errors import NotFoundError
from ibidem.repo.merge.layout import merge_layouts
from ibidem.repo.merge.text import merge_texts
from ibidem.repo.merge.three_way import merge_roots
from ibidem.repo.repository import Repository

from .test_documents import DOCUMENT, PATH, forked, missized, named, settle, unlisted, write

BASE = "# T\n\none\n\ntwo\n\nthree\n\n## U\n\nfour\n\nfive\n\n# V\n\nsix\n"
CLEAN = {
    "two paragraphs": ({"one": "1"}, {"three": "3 and more"}),
    "two paragraphs side by side": ({"one": "1 and more"}, {"two": "2"}),
    "as much longer": ({"one": "one!"}, {"three": "three!"}),
    "longer and shorter by as much": ({"one": "one!"}, {"three": "thre"}),
    "no longer": ({"one": "eno", "two": "tw"}, {"three": "three!"}),
    "two of a section below": ({"four": "4"}, {"five": "five\n\nand more"}),
    "added in different places": ({"one": "one\n\nafter"}, {"three": "three\n\nat last"}),
    "added beside a change": ({"one": "1"}, {"one": "one\n\nafter"}),
    "removed and added": ({"two\n\n": ""}, {"four": "four\n\nmore"}),
    "removed in two places": ({"two\n\n": ""}, {"## U\n\nfour\n\nfive\n\n": ""}),
    "the same and more": ({"one": "1"}, {"one": "1", "two": "2"}),
    "the same beside others": ({"one": "1", "two": "2"}, {"two": "2", "three": "3"}),
    "a paragraph and a section": ({"# V\n\nsix\n": ""}, {"one": "1"}),
    "a section before another": ({"# V": "# W\n\nnew\n\n# V"}, {"six": "6\n\n7"}),
    "the end": ({"six\n": "six"}, {"one": "1"}),
    "the front and a paragraph": ({"# T\n\none": "front\n\n# T\n\none"}, {"six": "6"}),
}
CONFLICTS = {
    "one paragraph": ({"one": "1"}, {"one": "one!"}),
    "changed and removed": ({"one": "1"}, {"one\n\n": ""}),
    "removed, and the next changed": ({"one\n\n": ""}, {"two": "2"}),
    "added at one place": ({"one": "one\n\nhere"}, {"one": "one\n\nthere"}),
    "added at the end": ({"six": "six\n\nhere"}, {"six": "six\n\nthere"}),
    "another order": ({"one\n\ntwo": "two\n\none"}, {"three": "3"}),
    "split and joined": ({"one": "1\n\n1"}, {"one\n\ntwo": "one and two"}),
    "a section removed and a paragraph of it changed": ({"# V\n\nsix\n": ""}, {"six": "6 6"}),
    "one text in two places": ({"one": "new"}, {"three": "new"}),
}
Edit = dict[str, str]


def edited(text: str, edit: Edit) -> str:
    for was, now in edit.items():
        assert was in text
        text = text.replace(was, now, 1)
    return text


def check(repo: Repository) -> None:
    """Everything is whole, and the merge is the same in the other direction and made again."""
    assert missized(repo) == []
    assert unlisted(repo) == set()
    assert repo.maintenance.fsck().faults == ()
    roots = [repo.at(rev).root_cid for rev in ("main~1", "side")]
    base = repo.at(repo.history.merge_bases("main~1", "side")[0]).root_cid
    found = repo.at().root_cid
    store = repo.core.store
    for one, other in (roots, roots[::-1], (found, roots[0]), (roots[1], found)):
        assert merge_roots(store, base, one, other, WriteBatch(store)) == found


@pytest.mark.parametrize("case", CLEAN)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_changes_in_different_places_of_one_document_merge(case: str, is_swapped: bool) -> None:
    ours, theirs = (edited(BASE, edit) for edit in CLEAN[case][:: -1 if is_swapped else 1])
    repo = forked(BASE, ours, theirs)
    assert repo.merge("side").conflicts == ()
    text = repo.at().document(DOCUMENT)
    merged = merge_texts(BASE, ours, theirs)
    if not merged.conflict_count:
        assert text == merged.text
    assert repo.at().root.nodes == forked("", text, text).at().root.nodes
    check(repo)


@pytest.mark.parametrize("case", CONFLICTS)
@pytest.mark.parametrize("is_swapped", [False, True])
def test_changes_whose_order_is_not_certain_are_a_conflict(case: str, is_swapped: bool) -> None:
    ours, theirs = (edited(BASE, edit) for edit in CONFLICTS[case][:: -1 if is_swapped else 1])
    repo = forked(BASE, ours, theirs)
    assert repo.merge("side").conflicts
    store = repo.core.store
    base, one, other = (repo.at(rev).root_cid for rev in ("main~2", "main~1", "side"))
    found = repo.at().root_cid
    for sides in ((one, other), (other, one), (found, one), (other, found)):
        assert merge_roots(store, base, *sides, WriteBatch(store)) == found


def test_a_conflict_in_one_section_leaves_the_changes_of_another() -> None:
    repo = forked(
        BASE, edited(BASE, {"one": "1", "six": "6"}), edited(BASE, {"one": "11", "five": "5 5"})
    )
    (found,) = repo.merge("side").conflicts
    assert repo.at().node(found.id).ntype == "Section"
    assert missized(repo) == []
    text = repo.at().document(DOCUMENT)
    assert "5 5" in text
    assert "6\n" in text
    settle(repo, "theirs")
    assert repo.at().document(DOCUMENT) == edited(BASE, {"one": "11", "five": "5 5", "six": "6"})
    assert missized(repo) == []
    assert unlisted(repo) == set()


def ways() -> dict[str, Callable[[Repository], object]]:
    return {
        "rebase": lambda repo: repo.rebase("side"),
        "cherry-pick": lambda repo: repo.cherry_pick("side"),
    }


@pytest.mark.parametrize("way", ways())
def test_other_ways_to_move_changes_merge_them_too(way: str) -> None:
    ours, theirs = edited(BASE, {"one": "1 and more"}), edited(BASE, {"two": "2"})
    repo = forked(BASE, ours, theirs)
    ways()[way](repo)
    assert repo.conflicts() == []
    assert repo.at().document(DOCUMENT) == edited(ours, {"two": "2"})
    assert missized(repo) == []


def test_a_revert_takes_back_one_paragraph_and_leaves_later_changes() -> None:
    repo = forked(BASE, edited(BASE, {"one": "1 and more"}), BASE)
    write(repo, edited(BASE, {"one": "1 and more", "two": "2"}))
    repo.revert("main~1")
    assert repo.conflicts() == []
    assert repo.at().document(DOCUMENT) == edited(BASE, {"two": "2"})
    assert missized(repo) == []


def test_writers_at_the_same_time_change_different_paragraphs() -> None:
    repo = forked(BASE, BASE, BASE)
    with repo.transaction() as slow:
        ingest_text(slow, edited(BASE, {"two": "2 and more"}), path=PATH)
        write(repo, edited(BASE, {"one": "1", "six": "6 6"}))
    assert slow.conflicts == ()
    text = edited(BASE, {"one": "1", "two": "2 and more", "six": "6 6"})
    assert repo.at().document(DOCUMENT) == text
    assert missized(repo) == []


def test_a_forgotten_paragraph_stays_forgotten_beside_changed_ones() -> None:
    repo = forked(BASE, BASE, edited(BASE, {"three": "3 and more"}))
    two = named(repo, "two")
    with repo.transaction() as tx:
        tx.tombstone(two)
    write(repo, edited(BASE, {"one": "1"}))
    assert repo.merge("side").conflicts == ()
    with pytest.raises(NotFoundError):
        repo.at().node(two)
    with repo.transaction() as tx:
        tx.untombstone(two)
    assert repo.at().document(DOCUMENT) == edited(BASE, {"one": "1", "three": "3 and more"})


WORDS = st.text("ab", min_size=1, max_size=6)
PARAGRAPHS = st.lists(
    st.tuples(st.sampled_from(["same", "ours", "theirs", "both"]), WORDS, st.booleans()),
    min_size=1,
    max_size=14,
)


def document(paragraphs: Sequence[tuple[str, str, bool]], *sides: str) -> str:
    """Distinct paragraphs, some below a heading, of which those of the given sides are changed."""
    found = []
    for index, (side, word, has_heading) in enumerate(paragraphs):
        if has_heading:
            found.append(f"{'#' * (index % 3 + 1)} H{index}")
        found.append(
            f"p{index}" + (f" {word}" if {side, side == "both" and sides} & {*sides} else "")
        )
    return "\n\n".join(found) + "\n"


@settings(max_examples=examples(60))
@given(PARAGRAPHS)
def test_changes_of_different_paragraphs_never_meet(
    paragraphs: list[tuple[str, str, bool]],
) -> None:
    texts = [document(paragraphs, *sides) for sides in ((), ("ours", "both"), ("theirs", "both"))]
    base, ours, theirs = texts
    repo = forked(base, ours, theirs)
    assert repo.merge("side").conflicts == ()
    text = document(paragraphs, "ours", "theirs", "both")
    assert repo.at().document(DOCUMENT) == text == merge_texts(*texts).text
    assert repo.at().root.nodes == forked("", text, text).at().root.nodes
    assert missized(repo) == []
    assert unlisted(repo) == set()
    assert repo.maintenance.fsck().faults == ()


TEXTS = st.lists(st.sampled_from(["# A", "## B", "c", "d", "e", "f"]), max_size=8).map(
    lambda parts: "\n\n".join(parts) + "\n"
)


@settings(max_examples=examples(150))
@given(TEXTS, TEXTS, TEXTS)
def test_any_three_versions_merge_alike_in_both_directions_and_again(
    base: str, ours: str, theirs: str
) -> None:
    repo = forked(base, ours, theirs)
    store = repo.core.store
    heads = [repo.at(rev).root_cid for rev in ("main", "side")]
    before = repo.at(repo.history.merge_bases("main", "side")[0]).root_cid
    buffer = WriteBatch(store)
    found = merge_roots(store, before, *heads, buffer)
    for sides in (heads[::-1], (found, heads[0]), (heads[1], found)):
        assert merge_roots(buffer, before, *sides, WriteBatch(buffer)) == found
    repo.merge("side")
    assert missized(repo) == []
    if not repo.conflicts():
        text = repo.at().document(DOCUMENT)
        merged = merge_texts(base, ours, theirs)
        assert merged.conflict_count or text == merged.text


CHILDREN = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.sampled_from(["", "\n"]), st.integers(1, 3)),
    max_size=6,
    unique_by=lambda child: child[0],
)
LAYOUTS = st.tuples(CHILDREN, st.sampled_from(["", "\n"])).map(
    lambda found: codec.encode(
        [[[id_.encode(), lead, size, 0] for id_, lead, size in found[0]] or None, found[1] or None]
    )
)


@settings(max_examples=examples(600))
@given(LAYOUTS, LAYOUTS, LAYOUTS)
def test_layouts_merge_alike_in_both_directions_and_again(
    base: bytes, ours: bytes, theirs: bytes
) -> None:
    merged = merge_layouts(base, ours, theirs)
    assert merge_layouts(base, theirs, ours) == merged
    if merged is not None:
        for side in (ours, theirs):
            assert merge_layouts(base, merged, side) == merged
            assert merge_layouts(base, side, merged) == merged


@pytest.mark.parametrize("is_swapped", [False, True])
def test_a_document_that_changes_its_language_meets_no_edit_of_its_parts(is_swapped: bool) -> None:
    """merge 3-l: one sentence gives every part of a short document another home."""
    table = "| Kanne | Preis |\n|---|---|\n| Grün | 12 |"
    page = f"# Cans\n\n## Prices\n\n{table}\n\n```\nfor a in b\n```\n"
    sides = [f"{page}\nDie Kanne ist für den Garten und die Blumen.\n", page.replace("12", "13")]
    repo = ibidem.init("memory:")
    repo.ingest(text=page, path="a.md")
    opened = [repo.transaction(), repo.transaction()]
    for tx, text in zip(opened, sides[::-1] if is_swapped else sides, strict=True):
        ingest_text(tx, text, path="a.md")
        tx.publish()
    assert not repo.conflicts()
    rows = [node.summary for node in repo.at().nodes() if "Preis" in (node.summary or "")]
    assert rows == [table.replace("12", "13")]
    for node in repo.at().nodes():
        is_code = node.props.get("format") == "code"
        assert node.props.get("analyser") == (None if is_code else "german-1")

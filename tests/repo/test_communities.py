"""Communities of a repository: what joins nodes, who sees what, overviews and kept summaries."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from blake3 import blake3

import ibidem
from ibidem.index.derived import VALUES_MAX
from ibidem.objects.errors import ErasedError, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node
from ibidem.retrieve.access.restricted_snapshot import loader
from ibidem.retrieve.filter import view_of
from ibidem.retrieve.graph.partition import SUMMARY, Communities, Community, _Linked
from ibidem.retrieve.node_source import NodeSource
from ibidem.retrieve.tokens import HEURISTIC

FACTS = (
    "Ada wrote to Byron about engines.",
    "Byron answered Ada in verse.",
    "Engines of Ada were never built.",
    "Bern lies on the Aare below the Alps.",
    "The Aare leaves the Alps near Bern.",
)


@pytest.fixture
def repo() -> Any:
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            for number, text in enumerate(FACTS):
                tx.add_node("Fact", summary=text, key=number)
            tx.add_node("Fact", summary="nothing joins this one", key=9)
        yield repo


def names(found: ibidem.Communities) -> list[tuple[str, ...]]:
    return [one.names for one in found]


def test_names_join_what_has_them(repo: Any) -> None:
    """[14.1-b] [14.3-b] [14.3-c]"""
    found = repo.at().communities()
    assert [(one.names[:2], len(one)) for one in found] == [
        (("Ada", "Byron"), 3),
        (("Aare", "Alps"), 2),
    ]
    assert (found.node_count, found.alone) == (6, 1)
    assert found == repo.at().communities()


def test_an_edge_weighs_64_and_a_name_shares_as_much() -> None:
    """[14.1-b] [14.1-c]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            ends = [tx.add_node("Fact", summary=f"{one} met Ada", key=one) for one in range(3)]
            tx.add_edge(ends[0], "about", ends[1])
        graph = repo.at().graph
        view = view_of(graph.snapshot(), include_tombstoned=False)
        core = graph.core
        load = loader(view.snapshot, lambda cid: Node.decode(core.store.get(cid)))
        source = NodeSource(load, core.content_of)
        found = _Linked.of(view, source)
        assert sorted(weight for node in range(3) for _, weight in found.graph.arcs(node)) == [
            *(21, 21, 21),
            *(64, 64),
        ]


def test_five_names_are_shown() -> None:
    """[14.3-c]"""
    six = "Ada met Byron, Cleo, Dora, Emil, Fred"
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            ids = [tx.add_node("Fact", summary=six, key=number) for number in range(2)]
        (found,) = repo.at().communities(groups={"both": ids})
        assert found.names == ("Ada", "Byron", "Cleo", "Dora", "Emil")
        assert found.heading == "both: Ada, Byron, Cleo (2 nodes)"  # [14.3-e]


def test_a_title_has_80_characters() -> None:
    """[14.3-c]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            ends = [tx.add_node("Fact", summary="x" * 81, key=number) for number in range(2)]
            tx.add_edge(ends[0], "about", ends[1])
        (found,) = repo.at().communities()
        assert found.title == "x" * 80
        assert found.heading == f"{'x' * 80} (2 nodes)"


def test_a_resolution_has_parts_of_1_to_1000() -> None:
    """[14]"""
    with ibidem.init("memory:") as repo:
        for allowed in (1000, Fraction(1, 1000)):
            repo.at().communities(resolution=allowed)
        for refused in (1001, Fraction(1, 1001)):
            with pytest.raises(InvalidInputError, match="resolution"):
                repo.at().communities(resolution=refused)


def test_edges_and_parts_join_too(repo: Any) -> None:
    """[14.1-c]"""
    with repo.transaction() as tx:
        ends = [tx.add_node("Fact", summary=text) for text in ("one thing", "another thing")]
        tx.add_edge(*ends[:1], "about", ends[1], weight=0.1)
    repo.ingest(text="# title\n\nfirst words\n\nother words\n", path="a.md")
    found = repo.at().communities()
    groups = {frozenset(str(one) for one in community.members) for community in found}
    assert frozenset(map(str, ends)) in groups
    document = repo.at().query(label="Document")[0]
    (own,) = [one for one in found if document.id in one.members]
    assert len(own) == 4


def test_a_name_of_many_joins_nobody(repo: Any) -> None:
    def is_name(count: int) -> bool:
        with repo.transaction() as tx:
            for number in range(count):
                tx.add_node("Fact", summary=f"they saw Ada in {number:03}", key=["many", number])
        return "Ada" in [name for one in repo.at().communities() for name in one.names]

    assert is_name(61)  # with three of the facts 64
    assert not is_name(62)


def test_levels_divide_and_resolution_makes_smaller(repo: Any) -> None:
    """[14.3-a]"""
    with repo.transaction() as tx:
        for town in ("Bern", "Thun", "Ada"):
            for number in range(4):
                tx.add_node("Fact", summary=f"people of {town} know {town}hall", key=[town, number])
    at = repo.at()
    large = at.communities(resolution="1/4", levels=3)
    assert len(large.levels) <= 3
    for level, above in zip(large.levels[1:], large.levels, strict=False):
        for one in level:
            assert one.parent is not None
            assert set(one.members) <= set(above[one.parent].members)
    sizes = [len(at.communities(resolution=value)) for value in ("1/100", 1, 100, Fraction(3, 2))]
    assert sizes[0] < sizes[1] <= sizes[3]
    assert at.communities(resolution=0.1)
    assert at.communities(resolution=0.5) == at.communities(resolution="1/2")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"resolution": 0}, "resolution"),
        ({"resolution": "much"}, "resolution"),
        ({"resolution": float("nan")}, "resolution"),
        ({"resolution": 1001}, "resolution"),
        ({"resolution": None}, "resolution"),
        ({"levels": 0}, "levels"),
        ({"levels": 6}, "levels"),
        ({"levels": 2, "groups": {"a": []}}, "levels"),
        ({"groups": {"a": ["no id"]}}, "groups"),
        ({"groups": {1: []}}, "groups"),
        ({"groups": [1]}, "groups"),
        ({"resolution": True}, "resolution"),
    ],
)
def test_bad_arguments_are_named(repo: Any, options: Any, named: str) -> None:
    with pytest.raises(InvalidInputError, match=named):
        repo.at().communities(**options)


def test_groups_of_the_caller(repo: Any) -> None:
    """[14.3-d]"""
    nodes = repo.at().query(label="Fact")
    ids = {node.summary: node.id for node in nodes}
    found = repo.at().communities(
        groups={"letters": [ids[FACTS[0]], str(ids[FACTS[1]])], "rivers": [ids[FACTS[3]]]}
    )
    assert [one.title for one in found] == ["letters", "rivers"]
    assert found.levels[0][0].names == ("Byron", "Ada")


def test_an_overview_keeps_its_budget(repo: Any) -> None:
    """[14.3-e]"""
    found = repo.at().communities()
    for budget in (1, 10, 20, 40, 80, 1000):
        text = found.overview(token_budget=budget)
        assert HEURISTIC.estimate(text) <= budget
    text = found.overview()
    assert text.startswith("Ada, Byron")
    assert "- Byron answered Ada in verse." in text
    assert found.overview(method="query", question="the Alps").count("\n- ") <= text.count("\n- ")
    for method in ("cover", "centroid", "mmr", "centrality"):
        assert found.overview(method=method)
    for options in ({"method": "best"}, {"method": "query"}, {"level": 1}, {"token_budget": 0}):
        with pytest.raises(InvalidInputError):
            found.overview(**options)


def test_prose_of_a_community_is_quoted_before_code_and_titles() -> None:
    """[9.5-d]"""
    prose = "The wheel of the mill turns all day.", "A mill has one wheel and three stones."
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            code = "wheel = Wheel()\nwheel.turn(mill=Mill(wheel))"
            texts = ("Wheels of the mill: an overview", f"{code}\n\n{prose[0]}", prose[1])
            ids = [tx.add_node("Fact", summary=text) for text in texts]
        found = repo.at().communities(groups={"wheel": ids})
        (one,) = found
        for method in ("cover", "centroid", "mmr", "centrality"):
            quotes = found.summary(one, sentences=2, method=method).sentences
            assert {quote.text for quote in quotes} == {*prose}
        assert len(found.summary(one, sentences=9, method="cover").sentences) == 4


def test_an_overview_quotes_a_sentence_once() -> None:
    """[14.3-e]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            both = "The licence of this letter is free for everybody."
            ids = [
                tx.add_node("Fact", summary=f"{both}\n\n{text}", key=number)
                for number, text in enumerate(FACTS)
            ]
        found = repo.at().communities(groups={"letters": ids[:3], "rivers": ids[3:]})
        for one in found:
            assert both in found.summary(one, method="query", question="licence").text
        assert found.overview(method="query", question="licence").count(both) == 1


def test_kept_summaries_are_found_and_are_no_members(repo: Any) -> None:
    """[14.1-a] [14.3-f]"""
    found = repo.at().communities()
    with repo.transaction() as tx:
        made = tx.add_summaries(found)
    assert len(made) == 2
    node = repo.at().node(made[0])
    assert node.ntype == SUMMARY
    assert node.props["member_count"] == 3
    assert set(node.props["sources"]) <= {one.cid for one in repo.at().query(label="Fact")}
    assert made[0] in [item.node.id for item in repo.retrieve("verse of Byron").items]
    assert repo.at().communities().to_dict() == found.to_dict()
    with repo.transaction() as tx:
        assert tx.add_summaries(repo.at().communities()) == made
    assert tx.commit is None


def test_a_kept_summary_has_the_highest_level_of_its_members() -> None:
    """[14.3-f]"""
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            tx.set_trust_policy(ibidem.TrustPolicy())
            for level, text in zip((0, 1, 2, 0, 0), FACTS, strict=True):
                tx.add_node("Fact", summary=text, props={"level": level})
        policy = repo.at().trust_policy
        with repo.transaction() as tx:
            found = repo.at(viewer=ibidem.ALL).communities()
            made = tx.add_summaries(found)
        at = repo.at(viewer=ibidem.ALL)
        assert {at.node(one).props[policy.level] for one in made} == {2}
        with repo.transaction() as tx:
            caller = repo.at(viewer=ibidem.Viewer(level=1, scopes=(), authenticated=True))
            one, *_ = tx.add_summaries(caller.communities(), name="low")
        assert repo.at(viewer=ibidem.ALL).node(one).props[policy.level] == 1
        with repo.transaction() as tx:
            tx.add_node("Fact", summary="in x", props={"scope": "x"})
            tx.add_node("Fact", summary="in y", props={"scope": "y"})
        with pytest.raises(InvalidInputError, match="scope"), repo.transaction() as tx:
            tx.add_summaries(repo.at(viewer=ibidem.ALL).communities())


def test_summaries_of_a_name_replace_those_before(repo: Any) -> None:
    with repo.transaction() as tx:
        tx.add_summaries(repo.at().communities(), name="one")
        tx.add_summaries(repo.at().communities(), name="other")
    with repo.transaction() as tx:
        tx.add_node("Fact", summary="Ada and Byron and Bern on the Aare")
    with repo.transaction() as tx:
        made = tx.add_summaries(repo.at().communities(), name="one")
    stored = repo.at().query(label=SUMMARY)
    assert {node.id for node in stored if node.props["name"] == "one"} == set(made)
    assert len([node for node in stored if node.props["name"] == "other"]) == 2


def test_what_cannot_be_divided_stays_whole(repo: Any) -> None:
    """[14.3-a]"""
    with repo.transaction() as tx:
        for clique in range(3):
            ids = [tx.add_node("Fact", summary=f"x {clique} {at}") for at in range(5)]
            for at, one in enumerate(ids):
                for other in ids[:at]:
                    tx.add_edge(one, "about", other)
    for resolution in (1, 2, 8):
        found = repo.at().communities(resolution=resolution, levels=5)
        for level in found.levels:
            assert {len(one) for one in level} >= {5} or resolution == 8
            assert level


def test_a_viewer_gets_the_communities_of_what_he_sees() -> None:
    def filled(*, everything: bool) -> Any:
        repo = ibidem.init("memory:")
        with repo.transaction() as tx:
            tx.set_trust_policy(ibidem.TrustPolicy())
            for number, text in enumerate(FACTS):
                if everything or number != 1:
                    level = 4 if number == 1 else 0
                    tx.add_node("Fact", summary=text, key=number, props={"level": level})
        return repo

    caller = ibidem.Viewer(level=1, scopes=())
    told = []
    for everything in (True, False):
        with filled(everything=everything) as repo:
            found = repo.at(viewer=caller).communities()
            told.append((found.to_dict(), found.overview()))
    assert told[0] == told[1]


def test_only_the_most_central_members_are_read() -> None:
    with ibidem.init("memory:") as repo:
        with repo.transaction() as tx:
            hub = tx.add_node("Fact", summary="this hub is a spoke of the wheel", key="hub")
            for number in range(100):
                spoke = tx.add_node("Fact", summary=f"spoke {number} of the wheel", key=number)
                tx.add_edge(hub, "has", spoke)
        found = repo.at().communities()
        (one,) = found
        assert one.members[0] == hub
        assert len(one) == 101
        assert len(found.summary(one, sentences=100).sentences) == 50  # [14.3-e]


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("derived/*"))


def hashed(file: Path, data: bytes) -> bytes:
    return data + blake3(file.name.encode() + data).digest()


def test_communities_are_kept_beside_the_index(tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "kept") as repo:
        with repo.transaction() as tx:
            for number, text in enumerate(FACTS):
                tx.add_node("Fact", summary=text, key=number)
        found = repo.at().communities()
        overview = found.overview()
    (file,) = files(tmp_path)
    with ibidem.open(tmp_path / "kept") as repo:
        assert repo.at().communities() == found
        assert repo.at().communities().overview() == overview
        assert repo.at().communities().labels == found.labels
        assert len(repo.at().communities(levels=2).levels) == 1
        assert len(files(tmp_path)) == 2, "other options are other communities"
    # What is read is the file: with another title in it, another title comes.
    other = file.read_bytes()[:-32].replace(b"Ada", b"Eve")
    file.write_bytes(hashed(file, other))
    with ibidem.open(tmp_path / "kept") as repo:
        assert [one.names[0] for one in repo.at().communities()] == ["Eve", "Aare"]
    file.write_bytes(other)
    with ibidem.open(tmp_path / "kept") as repo:
        assert repo.at().communities() == found, "a damaged file counts as absent"


def test_communities_of_many_nodes_are_kept(tmp_path: Path) -> None:
    """The members of one exceed what a block may have."""
    members = tuple(NodeId(number.to_bytes(16)) for number in range(70_000))
    community = Community(0, 0, None, members, "Everything", ("Ada",))
    made = Communities(((community,),), len(members), lambda _: [], ({"level": 1},))
    found = Communities.decode(made.encode(), lambda _: [])
    assert found == made
    assert found.labels == made.labels


def test_kept_communities_of_another_root_count_as_absent(tmp_path: Path) -> None:
    with ibidem.init(tmp_path) as repo:
        repo.add(FACTS[0])
        repo.add(FACTS[1])
        before = repo.at().communities()
        (file,) = files(tmp_path)
        repo.add(FACTS[2])
        after = repo.at().communities()
        (other,) = set(files(tmp_path)) - {file}
    other.write_bytes(file.read_bytes())
    with ibidem.open(tmp_path) as repo:
        assert repo.at().communities() == after != before


def test_kept_communities_go_with_the_index_of_their_root(tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "kept") as repo:
        with repo.transaction() as tx:
            first, *_ = [tx.add_node("Fact", summary=text) for text in FACTS]
        assert repo.at().communities()
        (before,) = files(tmp_path)
        repo.maintenance.drop_index()
        assert not files(tmp_path)
        assert repo.at().communities()
        assert files(tmp_path) == [before]
        repo.maintenance.erase(first)
        assert not files(tmp_path)
        assert "Byron about engines" not in repo.at().communities().overview()
        assert len(files(tmp_path)) == 1


def test_callers_do_not_share_what_is_kept(tmp_path: Path) -> None:
    with ibidem.init(tmp_path / "kept") as repo:
        with repo.transaction() as tx:
            tx.set_trust_policy(ibidem.TrustPolicy())
            for number, text in enumerate(FACTS):
                tx.add_node("Fact", summary=text, key=number, props={"level": number % 2 * 4})
        callers = ibidem.ALL, *(ibidem.Viewer(level=level, scopes=()) for level in range(5))
        found = [repo.at(viewer=one).communities() for one in callers]
        assert len({one.node_count for one in found}) == 2
    with ibidem.open(tmp_path / "kept") as repo:
        assert [repo.at(viewer=one).communities() for one in callers] == found
        for level in range(5):
            for scope in "abcd":
                repo.at(viewer=ibidem.Viewer(level=level, scopes=(scope,))).communities()
        assert len(files(tmp_path)) == VALUES_MAX


@pytest.mark.parametrize("kind", ["memory", "disk"])
def test_a_revision_from_before_an_erasure_does_not_remember_its_communities(
    kind: str, tmp_path: Path
) -> None:
    with ibidem.init("memory:" if kind == "memory" else tmp_path) as repo:
        ids = [repo.add(text) for text in FACTS]
        before = repo.at()
        assert names(before.communities())[0][:2] == ("Ada", "Byron")
        repo.maintenance.erase(ids[0], reason="asked to")
        with pytest.raises(ErasedError):
            before.communities()
        assert names(repo.at().communities())[0][:1] == ("Ada",)

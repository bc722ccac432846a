"""The past: which commits touched what, who gave a value, a drawn log, bounds to the history."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from functools import partial

import pytest

import ibidem
from ibidem.ingest.ingest import ingest_text
from ibidem.ingest.prune import remove_document
from ibidem.ingest.report import IngestReport
from ibidem.objects.blocks import WriteBatch
from ibidem.objects.cid import Cid, CommitCid, RootCid
from ibidem.objects.commit import Commit
from ibidem.objects.config import Config
from ibidem.objects.derive import node_id
from ibidem.objects.errors import InvalidInputError, NotFoundError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import document_of
from ibidem.repo.bootstrap import bootstrapped
from ibidem.repo.core import Core
from ibidem.repo.history.ancestry import children_first, newest_first, read_commit
from ibidem.repo.history.bisect import bisect
from ibidem.repo.history.log_graph import LogGraph
from ibidem.repo.repository import Repository
from ibidem.store.memory import MemoryStore
from ibidem.store.testing import RecordingStore


def add(repo: Repository, key: object, message: str, branch: str | None = None, **values) -> NodeId:
    with repo.transaction(message=message, branch=branch) as tx:
        label = values.pop("label", "Note")
        return tx.add_node(label, key=key, replace=True, **values)


def messages(commits) -> list[str]:
    return [commit.message for commit in commits]


@pytest.fixture
def told(repo: Repository) -> tuple[Repository, NodeId]:
    """A node edited by several, beside other work."""
    node = add(repo, "it", "begin", summary="one", props={"a": 1, "b": 1})
    add(repo, "other", "beside", summary="x")
    with repo.transaction(message="title", author="ada") as tx:
        tx.update_node(node, summary="two")
    with repo.transaction(message="property", author="bob") as tx:
        tx.update_node(node, set_props={"a": 2, "c": [1]})
    add(repo, "person", "person", label="Person", summary="y")
    return repo, node


def test_filters_find_the_commits_that_touched_a_thing(told):
    repo, node = told
    assert messages(repo.history.touching(node=node)) == ["property", "title", "begin"]
    assert messages(repo.history.touching(label="Person")) == ["person"]
    assert messages(repo.history.touching(label="Note")) == ["property", "title", "beside", "begin"]
    assert messages(repo.history.touching(label="Person", node=node)) == []
    assert messages(repo.history.touching()) == messages(repo.history.log())
    assert messages(repo.history.touching("main~2", node=node)) == ["title", "begin"]
    for bad in ({"label": ""}, {"path": 1}, {"node": "x"}):
        with pytest.raises(InvalidInputError):
            list(repo.history.touching(**bad))


def test_a_path_finds_what_touched_any_part_of_a_document(repo: Repository):
    def ingest(path: str, text: str, message: str) -> None:
        with repo.transaction(message=message) as tx:
            ingest_text(tx, text, path=path)

    ingest("a.md", "# A\n\none two.\n\n## B\n\nthree.\n", "a")
    ingest("b.md", "# A\n\nelsewhere.\n", "b")
    # Of the same length, so that no size above the passage changes.
    ingest("a.md", "# A\n\none two.\n\n## B\n\nseven.\n", "edit")
    with repo.transaction(message="drop") as tx:
        for part in repo.query(label="Document", where={"source": "b.md"}):
            tx.remove_node(part.id)
    assert messages(repo.history.touching(path="a.md")) == ["edit", "a"]
    assert messages(repo.history.touching(path="b.md")) == ["drop", "b"]
    assert messages(repo.history.touching(path="a.md", label="Passage")) == ["edit", "a"]
    assert messages(repo.history.touching(path="c.md")) == []


def test_a_path_is_searched_without_reading_the_nodes_of_other_documents():
    store = RecordingStore(bootstrapped(MemoryStore(), Config.default(), "", lambda: 0))
    with Repository(Core(store, None, lambda: 0)) as repo:
        for text in ("one", "two"):
            with repo.transaction(message=text) as tx:
                for number in range(200):
                    ingest_text(tx, f"# Title\n\n{number} {text}.\n", path=f"{number}.md")
                ingest_text(tx, "# Other\n\nThe same.\n", path="other.md")
        with repo.transaction(message="hide") as tx:
            for number in range(200):
                tx.tombstone(node_id("document", f"{number}.md"), reason="old")
        store.get_count = 0
        assert messages(repo.history.touching(path="other.md")) == ["one"]
        assert store.get_count < 200, "the second commit changed 400 nodes, the third hides 200"


@pytest.mark.parametrize("seed", range(4))
def test_a_path_finds_what_a_reader_of_every_node_finds(repo: Repository, seed: int):
    rng = random.Random(seed)
    paths = ("a.md", "b.md", "c.md")
    owners = {node_id("document", path): path for path in paths}
    for number in range(14):
        with repo.transaction(message=str(number)) as tx:
            for path in rng.sample(paths, rng.randint(0, 2)):
                parts = [f"## {rng.choice('xy')}\n\n{rng.choice('pqr')}.\n" for _ in range(3)]
                ingest_text(tx, "\n".join(parts[: rng.randint(1, 3)]), path=path)
            documents = [one for one in owners if tx.find_node(one) is not None]
            passages = [one for one in tx.nodes() if one.ntype == "Passage"]
            if passages and rng.random() < 0.5:
                tx.update_node(rng.choice(passages).id, set_props={"seen": number})
            if documents and rng.random() < 0.2:
                tx.tombstone(rng.choice(documents), reason="old")
            if documents and rng.random() < 0.2:
                remove_document(tx, owners[rng.choice(documents)], IngestReport())
        if number == 5:
            repo.branch("side")
            repo.switch("side")
        if number == 9:
            repo.switch("main")
    repo.merge("side", message="merged")

    def state(commit, path):
        """The versions of the document and its parts, and the tombstones of those that exist."""
        at, found = repo.at(commit, viewer=ibidem.ALL), {}
        for node in at.graph.nodes(include_tombstoned=True):
            if document_of(node) == node_id("document", path):
                found["version", node.id] = node.cid
                found["tombstone", node.id] = at.tombstone(node.id)
        return found

    for path in paths:
        wanted = []
        for commit in repo.history.log():
            now = state(commit.cid, path)
            befores = [state(parent, path) for parent in commit.parents] or [{}]
            keys = set(now).union(*befores)
            if any(all(now.get(key) != was.get(key) for was in befores) for key in keys):
                wanted.append(commit.message)
        assert messages(repo.history.touching(path=path)) == wanted


def test_blame_names_the_commit_of_each_field_and_property(told):
    repo, node = told
    found = [(one.field, one.value, one.commit.message) for one in repo.history.blame(node)]
    assert found == [
        ("ntype", "Note", "begin"),
        ("summary", "two", "title"),
        ("props.a", 2, "property"),
        ("props.b", 1, "begin"),
        ("props.c", [1], "property"),
    ]
    assert {one.field: one.commit.message for one in repo.history.blame(node, "main~2")} == {
        "ntype": "begin",
        "summary": "title",
        "props.a": "begin",
        "props.b": "begin",
    }
    with pytest.raises(NotFoundError):
        repo.history.blame(NodeId(bytes(16)))


def test_blame_and_log_follow_a_merge_to_the_side_that_changed_it(told):
    repo, node = told
    repo.branch("side")
    with repo.transaction(message="of the side", branch="side") as tx:
        tx.update_node(node, set_props={"b": 9})
    add(repo, "more", "of main", summary="z")
    repo.merge("side")
    found = {one.field: one.commit.message for one in repo.history.blame(node)}
    assert found["props.b"] == "of the side"
    assert found["summary"] == "title"
    assert messages(repo.history.touching(node=node)) == [
        "of the side",
        "property",
        "title",
        "begin",
    ]


def test_blame_equals_a_walk_over_every_commit(repo: Repository):
    """The oracle: on a line, the commit after the newest one with another value."""
    choose = random.Random(5)
    node = add(repo, "it", "0", summary="0", props={"a": 0})
    for number in range(1, 60):
        with repo.transaction(message=str(number)) as tx:
            if choose.random() < 0.5:
                tx.update_node(node, set_props={choose.choice("ab"): choose.randrange(3)})
            elif choose.random() < 0.3:
                tx.update_node(node, summary=str(choose.randrange(3)))
            else:
                tx.add_node("Other", key=number)
    line = list(repo.history.log())[::-1]
    for one in repo.history.blame(node):
        name = one.field.removeprefix("props.")
        values = []
        for commit in line:
            found = repo.at(commit.cid).node(node)
            held = found.props.get(name) if "props." in one.field else getattr(found, name)
            values.append(repr(held))
        last = max((i for i, value in enumerate(values) if value != values[-1]), default=-1)
        assert one.commit.message == line[last + 1].message, one.field


def test_a_history_is_drawn_with_its_merges(repo: Repository):
    def commit(*parents: CommitCid) -> CommitCid:
        made = Commit(repo.at().root_cid, parents, time=next(clock))
        repo.core.store.put({made.cid: made.encode()})
        return made.cid

    clock = itertools.count(1)
    first = commit()
    left, right = commit(first), commit(first)
    deeper = commit(right)
    merged = commit(left, deeper)
    tip = commit(merged, commit(first))
    assert drawn(repo, tip) == [
        "*",
        "|\\",
        "| *",
        "* |",
        "|\\ \\",
        "| * |",
        "| * |",
        "| |/",
        "* |",
        "|/",
        "*",
    ]


def drawn(repo: Repository, tip: CommitCid) -> list[str]:
    graph, lines = LogGraph(), []
    for cid, commit in children_first(repo.core.store, tip):
        row, _, joints = graph.draw(cid, commit)
        lines += [row, *joints]
    return lines


def test_every_commit_is_drawn_once_and_after_its_children(repo: Repository):
    choose = random.Random(3)
    made: list[CommitCid] = []
    for number in range(300):
        parents = choose.sample(made[-12:], min(len(made[-12:]), choose.choice((1, 1, 1, 2, 3))))
        # Times that say nothing about the order.
        commit = Commit(repo.at().root_cid, tuple(parents), time=choose.randrange(100))
        commit = replace(commit, message=str(number))
        repo.core.store.put({commit.cid: commit.encode()})
        made.append(commit.cid)
    order = [cid for cid, _ in children_first(repo.core.store, made[-1])]
    places = {cid: place for place, cid in enumerate(order)}
    assert len(places) == len(order)
    for cid, commit in children_first(repo.core.store, made[-1]):
        assert all(places[parent] > places[cid] for parent in commit.parents)
    assert sum("*" in line for line in drawn(repo, made[-1])) == len(order)


class Counting:
    """Blocks, with the CIDs of those that were read."""

    def __init__(self) -> None:
        self.blocks = WriteBatch()
        self.read: set[Cid] = set()

    def get(self, cid: Cid) -> bytes:
        self.read.add(cid)
        return self.blocks.get(cid)

    def commit(self, *parents: CommitCid, time: int) -> CommitCid:
        made = Commit(RootCid.of(b""), parents, time=time, message=str(len(self.blocks.new)))
        self.blocks.put(made.cid, made.encode())
        return made.cid


def latest_child_first(source: Counting, start: CommitCid) -> list[CommitCid]:
    """The definition: of all commits whose children were listed, the latest."""
    commits = dict(newest_first(partial(read_commit, source.blocks), [start]))
    found: list[CommitCid] = []
    while len(found) < len(commits):
        waiting = {p for cid in commits if cid not in found for p in commits[cid].parents}
        ready = commits.keys() - waiting - set(found)
        found.append(min(ready, key=lambda cid: (-commits[cid].time, cid.raw)))
    return found


@pytest.mark.parametrize("seed", range(40))
def test_the_drawn_order_is_that_of_the_definition_on_random_histories(seed: int):
    choose = random.Random(seed)
    source, made = Counting(), []
    for number in range(choose.randrange(1, 30)):
        width = choose.choice((1, 1, 1, 2, 3)) if choose.random() < 0.9 else 0
        recent = made[-choose.choice((2, 6)) :]
        parents = choose.sample(recent, min(width, len(recent)))
        time = number if seed % 2 else choose.randrange(9)
        made.append(source.commit(*parents, time=time))
    order = [cid for cid, _ in children_first(source, made[-1])]
    assert order == latest_child_first(source, made[-1])


@pytest.mark.parametrize("length", [50, 5_000])
def test_the_newest_commits_are_listed_and_drawn_without_reading_the_rest(length: int):
    source = Counting()
    tip = source.commit(time=0)
    for number in range(length):
        tip = source.commit(tip, time=number)
    for order in (newest_first(partial(read_commit, source), [tip]), children_first(source, tip)):
        source.read.clear()
        assert len(list(itertools.islice(order, 10))) == 10
        assert len(source.read) == 10
    left, right = source.commit(tip, time=length), source.commit(tip, time=length)
    merged = source.commit(left, right, time=length)
    source.read.clear()
    assert len(list(itertools.islice(children_first(source, merged), 10))) == 10
    assert len(source.read) == 10


def test_squash_folds_commits_and_keeps_the_state(told):
    repo, _ = told
    root, base = repo.at().root_cid, repo.resolve("main~3")
    made = repo.history.squash("main~3", message="folded", author="eve")
    assert (made.root, made.parents, made.message) == (root, (base,), "folded")
    assert messages(repo.history.log()) == ["folded", "beside", "begin"]
    repo.history.undo()
    assert len(list(repo.history.log())) == 5
    repo.history.squash(message="all of it")
    assert messages(repo.history.log()) == ["all of it"]
    assert repo.at().root_cid == root
    for bad in (made.cid, "HEAD"):
        with pytest.raises(InvalidInputError, match="base: got"):
            repo.history.squash(bad)
    with ibidem.init("memory:") as empty, pytest.raises(InvalidInputError, match="no commits"):
        empty.history.squash()


def test_prune_begins_the_history_at_a_revision_for_every_ref(told):
    repo, node = told
    repo.tag("old", at="main~4")
    repo.branch("side", at="main~1")
    add(repo, "side", "of the side", branch="side", summary="s")
    states = {commit.message: commit.root for commit in repo.history.log()}
    result = repo.retrieve("two")
    kept = repo.receipts.keep(result.receipt)
    done = repo.history.prune("main~2", author="eve")
    assert messages(repo.history.log()) == ["person", "property", "title"]
    assert messages(repo.history.log("side")) == ["of the side", "property", "title"]
    assert {c.message: c.root for c in repo.history.log()}.items() <= states.items()
    assert (done.untouched, done.rewritten_count, done.dropped_count) == (("tags/old",), 4, 2)
    assert messages(repo.history.log("old")) == ["begin"]
    assert repo.receipts.replay(kept).cid == result.cid
    repo.delete_tag("old")
    before = repo.core.store.stats().block_count
    repo.maintenance.gc(keep_operations=1)
    assert repo.core.store.stats().block_count < before
    assert repo.receipts.replay(kept).cid == result.cid
    assert repo.at().node(node).summary == "two"
    assert repo.maintenance.fsck().is_clean
    assert repo.history.prune("main~2").moved["heads/main"] == repo.head


def test_prune_leaves_out_what_was_merged_from_beside(told):
    repo, _ = told
    repo.branch("side", at="main~3")
    add(repo, "side", "of the side", branch="side", summary="s")
    repo.merge("side", message="merged")
    root = repo.at().root_cid
    repo.history.prune("main~1")
    assert messages(repo.history.log()) == ["merged", "person"]
    assert repo.at().root_cid == root


def test_prune_refuses_signed_commits_unless_told(told):
    repo, _ = told
    signed = replace(repo.commit_at(), signature=b"signature")
    repo.core.store.put({signed.cid: signed.encode()})
    repo.branch("signed", at=signed.cid)
    with pytest.raises(InvalidInputError, match="is signed"):
        repo.history.prune("main~2")
    repo.history.prune("main~2", drop_signatures=True)
    assert [commit.signature for commit in repo.history.log("signed")] == [None] * 3
    with pytest.raises(InvalidInputError, match="ancestor of a branch or tag"):
        repo.history.prune(signed.cid)


@pytest.mark.parametrize("seed", range(30))
def test_bisection_finds_the_first_bad_commit_or_those_that_it_can_be(repo: Repository, seed: int):
    choose = random.Random(seed)
    for number in range(count := choose.randrange(1, 20)):
        add(repo, number, str(number))
    first_bad = choose.randrange(count + 1)
    blind = {number for number in range(count) if choose.random() < 0.3}

    def holds(commit: Commit) -> bool | None:
        number = int(commit.message)
        return None if number in blind else number < first_bad

    found = bisect(repo.core, holds)
    bad = [number for number in range(count) if number >= first_bad and number not in blind]
    if not bad:
        assert found.suspects == ()
        return
    good = [number for number in range(first_bad) if number not in blind]
    expected = range(max(good, default=-1) + 1, bad[0] + 1)
    assert [int(commit.message) for commit in found.suspects] == list(expected)
    assert len({step.commit.cid for step in found.steps}) == len(found.steps)
    if not blind:
        assert len(found.steps) <= count.bit_length()
        assert found.first_bad is not None


def test_a_difference_goes_on_beyond_any_of_its_changes():
    with ibidem.init("memory:") as repo:
        with repo.transaction(message="many") as tx:
            ids = [tx.add_node("N", summary=str(number), key=number) for number in range(20)]
            for one, other in itertools.pairwise(ids):
                tx.add_edge(one, "next", other)
        before = repo.head
        with repo.transaction(message="change all") as tx:
            for one in ids:
                tx.update_node(one, summary="changed")
            for one, other in itertools.pairwise(ids):
                tx.add_edge(other, "previous", one)
        changes = list(repo.history.diff(before))
        assert {change.family for change in changes} == {"nodes", "edges"}
        for index, change in enumerate(changes):
            assert list(repo.history.diff(before, beyond=change.position)) == changes[index + 1 :]
        last = ibidem.EdgeId(b"\xff" * 16)
        rest = list(repo.history.diff(before, beyond=("edges", "", last)))
        assert rest == [change for change in changes if change.family != "edges"]
        for wrong in (("nodes", "x", last), ("nodes",), "nodes", ("nodes", "", "x")):
            with pytest.raises(InvalidInputError, match="beyond"):
                list(repo.history.diff(before, beyond=wrong))  # type: ignore[arg-type]


def test_a_long_document_is_named_without_its_texts():
    with ibidem.init("memory:") as repo:
        for version in "one", "two":
            text = "".join(f"Paragraph {number}, {version}.\n\n" for number in range(9))
            with repo.transaction(message=version) as tx:
                ibidem.ingest_text(tx, f"# Long\n\n{text}", path="long.md")
        (whole,) = repo.history.diff_documents("HEAD~1")
        (cut,) = repo.history.diff_documents("HEAD~1", parts_max=3)
        assert whole.before is not None
        assert not whole.is_long
        assert (cut.before, cut.after, cut.is_long) == (None, None, True)
        assert list(repo.history.diff_documents("HEAD~1", parts_max=100)) == [whole]
        with pytest.raises(InvalidInputError, match="parts_max"):
            repo.history.diff_documents("HEAD~1", parts_max=-1)


def test_the_newest_steps_of_a_run_are_read_from_its_end():
    with ibidem.init("memory:") as repo:
        with repo.runs.start("bot", agent="helper") as run:
            for number in range(5):
                run.event("tool", number, lambda: 1)
        found = repo.runs.open("bot")
        steps = found.newest(3)
        assert [step for _, step in steps] == list(found.steps[-3:])
        earlier = found.newest(3, last=str(steps[0][0]))
        assert [step for _, step in earlier] == list(found.steps[-5:-2])
        assert [step for _, step in found.newest(100)] == list(found.steps)
        (short,) = repo.runs.list(whole=False)
        (whole,) = repo.runs.list()
        assert (short.agent, whole.agent) == ("", "helper")
        assert (short.step_count, short.ended) == (whole.step_count, whole.ended)
        assert repo.runs.list(start=1) == []
        for wrong in ({"start": -1}, {"limit": -1}):
            with pytest.raises(InvalidInputError):
                repo.runs.list(**wrong)

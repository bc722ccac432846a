"""How a person names a commit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import ibidem
from ibidem.objects.cid import CommitCid, RootCid
from ibidem.objects.errors import ErrorKind, IbidemError, InvalidInputError, NotFoundError
from ibidem.repo.repository import Repository

EPOCH = 1_767_225_600_000_000


@pytest.fixture
def history(repo: Repository) -> list[CommitCid]:
    """Four commits on `main`, oldest first, a minute apart; a branch and a tag at the second."""
    made = []
    for number in range(4):
        with repo.transaction(time=EPOCH + (number + 1) * 60_000_000) as tx:
            tx.add_node("Doc", key=number)
        assert tx.commit is not None
        made.append(tx.commit.cid)
    later = EPOCH + 600_000_000
    repo.branch("side/work", at="main~2", time=later)
    repo.tag("v1.0", at="HEAD~2", time=later + 1)
    return made


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("main", 3),
        ("heads/main", 3),
        ("HEAD", 3),
        ("HEAD~", 2),
        ("HEAD~0", 3),
        ("main~3", 0),
        ("main^", 2),
        ("main^1~1^", 0),
        ("main^0", 3),
        ("side/work", 1),
        ("side/work~1", 0),
        ("v1.0", 1),
        ("tags/v1.0^", 0),
        ("main@{2026-01-01T00:02:30Z}", 1),
        ("main@{2026-01-01T00:02:00Z}", 1),
        ("main@{2026-01-01T01:02:30+01:00}~1", 0),
        ("HEAD@{2026-01-01T00:03:00.000001Z}", 2),
        ("@{2026-01-01T00:03:00Z}", 2),
        ("2026-01-01T00:01:59Z", 0),
        ("2026-01-01T00:02:00-00:00", 1),
        ("2026-01-01T00:04:00Z~1", 2),
        ("2099-01-01T00:00:00Z", 3),
    ],
)
def test_grammar(repo: Repository, history: list[CommitCid], text: str, index: int) -> None:
    assert repo.resolve(text) == history[index]


def test_cids_whole_and_by_their_beginning(repo: Repository, history: list[CommitCid]) -> None:
    for cid in history:
        text = str(cid)
        assert repo.resolve(cid) == repo.resolve(text) == repo.resolve(text[:20]) == cid
        assert repo.resolve(f"{text[:20]}~0") == cid
        assert repo.at(text[:16]).commit == repo.commit_at(cid)


def test_an_ambiguous_beginning_is_refused(repo: Repository, history: list[CommitCid]) -> None:
    texts: set[str] = set()
    number = 100
    while True:
        with repo.transaction(time=number) as tx:
            tx.add_node("Doc", key=number)
        assert tx.commit is not None
        prefix = str(tx.commit.cid)[:8]
        if prefix in texts:
            break
        texts.add(prefix)
        number += 1
    with pytest.raises(NotFoundError) as caught:
        repo.resolve(prefix)
    assert caught.value.kind is ErrorKind.AMBIGUOUS


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "main~4",
        "main^2",
        "heads/side",
        "tags/main",
        "nothing@{2026-01-01T00:02:30Z}",
        "side/work@{2026-01-01T00:02:30Z}",
        "1999-01-01T00:00:00Z",
        "bafyr4iaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        "bafyr4i",
        "bafkr4ia",
        "../main",
        "MAIN",
        "a" * 5000,
        "heads/",
        "main@",
        "é",
        "\ud800",
        " main",
        "\x00",
    ],
)
def test_what_is_not_there_is_not_found(
    repo: Repository, history: list[CommitCid], text: str
) -> None:
    with pytest.raises(NotFoundError) as caught:
        repo.resolve(text)
    assert caught.value.kind is ErrorKind.REVISION_NOT_FOUND


@pytest.mark.parametrize("text", ["2026-01", "2026-01-01 12:00Z"])
def test_a_day_without_an_hour_is_told_the_form_of_a_time(
    repo: Repository, history: list[CommitCid], text: str
) -> None:
    with pytest.raises(NotFoundError) as caught:
        repo.resolve(text)
    assert "2026-01-31T12:00:00Z" in (caught.value.hint or "")


def test_where_a_history_ends_is_told_in_words(repo: Repository, history: list[CommitCid]) -> None:
    first = len(history) - 1
    with pytest.raises(NotFoundError, match=f"ends {first} commits back"):
        repo.resolve(f"main~{first + 5}")
    with pytest.raises(NotFoundError, match="ends there, at its first commit"):
        repo.resolve(f"{history[0]}~1")
    with pytest.raises(NotFoundError, match=r"1999-01-01T00:00:00Z'.*younger.* began at 20"):
        repo.resolve("1999-01-01T00:00:00Z")


@pytest.mark.parametrize(
    "rev",
    ["", None, 7, b"main", "main~x", "main^^x", "main@{yesterday}", "main@{2026-01-01T00:00:00}"],
)
def test_other_forms_are_invalid(repo: Repository, history: list[CommitCid], rev: object) -> None:
    with pytest.raises(InvalidInputError):
        repo.resolve(rev)


def test_naive_times_are_refused_and_aware_ones_taken(
    repo: Repository, history: list[CommitCid]
) -> None:
    moment = datetime(2026, 1, 1, 0, 2, 30, tzinfo=UTC)
    assert repo.resolve(moment) == history[1]
    with pytest.raises(InvalidInputError, match="offset"):
        repo.resolve(moment.replace(tzinfo=None))
    with pytest.raises(InvalidInputError, match="offset"):
        repo.transaction(time=moment.replace(tzinfo=None))
    with repo.transaction(time=moment + timedelta(days=1)) as tx:
        tx.add_node("Doc", key="late")
    assert tx.commit is not None
    assert tx.commit.time == EPOCH + 86_550_000_000


def test_other_kinds_of_blocks_are_no_revisions(repo: Repository, history: list[CommitCid]) -> None:
    root = repo.at().root_cid
    for rev in (str(root), CommitCid(root.raw)):
        with pytest.raises(NotFoundError):
            repo.resolve(rev)
    assert isinstance(root, RootCid)
    assert repo.at(root).commit is None
    assert len(list(repo.at(root).nodes())) == 4


def test_a_name_of_a_branch_and_a_tag_is_ambiguous(
    repo: Repository, history: list[CommitCid]
) -> None:
    repo.tag("both", at="main~1")
    repo.branch("both", at="main")
    with pytest.raises(IbidemError) as caught:
        repo.resolve("both")
    assert caught.value.kind is ErrorKind.AMBIGUOUS
    assert repo.resolve("heads/both") == history[3]
    assert repo.resolve("tags/both") == history[2]


def test_a_branch_without_commits(repo: Repository) -> None:
    assert repo.head is None
    assert list(repo.history.log()) == []
    assert list(repo.at().nodes()) == []
    assert repo.at("main").commit is None
    for rev in ("HEAD", "main", "HEAD~1", "main^"):
        with pytest.raises(NotFoundError):
            repo.resolve(rev)
    with pytest.raises(NotFoundError):
        repo.branch("side")


def test_a_default_that_is_given_wins_over_the_configuration():
    defaults = {"k1": 1.2, "b": 0.7, "operator": "or", "phrases": False, "adjacency": 0}
    defaults |= {"metadata": False, "depth": 100, "limit": 10}
    repo = ibidem.init("memory:")
    with repo.transaction() as tx:
        tx.add_node("Fact", summary="tea")
    expected = repo.retrieve("tea").query
    with repo.transaction() as tx:
        tx.configure(
            k1=2.0,
            b=0.1,
            operator="and",
            phrases=True,
            adjacency=1,
            metadata=True,
            depth=7,
            limit=3,
        )
    assert repo.retrieve("tea").query.k1 == 2.0
    assert repo.retrieve("tea", **defaults).query == expected

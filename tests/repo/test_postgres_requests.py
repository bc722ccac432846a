"""How many round trips a repository in PostgreSQL makes, and what survives a lost connection."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.delaying_proxy import Proxy, delaying

import ibidem
from ibidem.repo.repository import Repository
from ibidem.store.postgres import database
from ibidem.store.testing import run_together


def add(repository: Repository, key: str) -> None:
    with repository.transaction(author="a", message=key) as tx:
        tx.add_node("Note", summary=f"a note about {key}", key=key)


def keys(repository: Repository) -> list[str]:
    return sorted(node.summary for node in repository.at().nodes())


@pytest.fixture
def filled(postgres_schema: str) -> str:
    """The address of a repository that this machine knows."""
    with ibidem.init(postgres_schema) as repository:
        for key in ("mills", "pumps", "wheels"):
            add(repository, key)
        repository.retrieve("mills")
    return postgres_schema


@contextmanager
def through_proxy(address: str) -> Iterator[tuple[str, Proxy]]:
    """Yields an address that goes through a proxy; its files of this machine are its own."""
    options = parse_qs(urlsplit(address).query)
    with delaying(f"{options['host'][0]}/.s.PGSQL.5432", 0.0) as proxy:
        more = f"user=test&sslmode=disable&gssencmode=disable&schema={options['schema'][0]}"
        yield f"postgresql://127.0.0.1:{proxy.port}/postgres?{more}", proxy


def test_an_answer_is_one_round_trip_and_a_commit_three(filled: str) -> None:
    with through_proxy(filled) as (address, proxy):

        def taken(work: Callable[[], object]) -> int:
            before = proxy.round_trips
            work()
            return proxy.round_trips - before

        with ibidem.open(address) as repository:
            repository.retrieve("mills")
        proxy.taken()
        with ibidem.open(address) as repository:
            assert proxy.round_trips == 2  # to connect, and to read the cells
            assert taken(lambda: repository.retrieve("mills")) == 1
            for key in ("brakes", "gears"):
                assert taken(lambda key=key: add(repository, key)) == 3  # type: ignore[misc]
                assert taken(lambda key=key: repository.retrieve(key)) == 1  # type: ignore[misc]


def test_what_others_wrote_comes_with_the_cells(
    filled: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with through_proxy(filled) as (address, proxy), ibidem.open(address) as repository:
        repository.retrieve("mills")
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
        with ibidem.open(filled) as other:
            add(other, "brakes")
            expected = keys(other)
        proxy.taken()
        assert keys(repository) == expected
        assert proxy.taken() == 1


def test_commits_of_threads_share_transactions(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = []
    publish = database.Database.publish

    def counted(*given: object) -> object:
        published.append(given)
        return publish(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(database.Database, "publish", counted)
    with ibidem.open(filled) as repository:

        def write(writer: int) -> None:
            for number in range(4):
                add(repository, f"{writer} {number}")

        run_together(*(lambda writer=writer: write(writer) for writer in range(8)))  # type: ignore[misc]
        assert len(keys(repository)) == 3 + 32
        assert len(list(repository.history.log())) == 3 + 32
    assert len(published) < 32


@pytest.mark.parametrize("is_sent", [False, True])
@pytest.mark.parametrize("statement", ["publish(", "settle("])
def test_a_commit_whose_answer_is_lost_is_made_once(
    filled: str, monkeypatch: pytest.MonkeyPatch, statement: str, is_sent: bool
) -> None:
    """The answer to the question whether it was made is lost, too."""
    from psycopg import OperationalError

    executed = database._executed
    lost: set[str] = set()

    def losing(connection, text, arguments):  # type: ignore[no-untyped-def]
        name = next((name for name in ("publish(", statement) if name in text), None)
        if name is None or name in lost:
            return executed(connection, text, arguments)
        lost.add(name)
        if is_sent:
            executed(connection, text, arguments)
        connection.close()
        raise OperationalError("the connection was lost")

    with ibidem.open(filled) as repository:
        monkeypatch.setattr(database, "_executed", losing)
        add(repository, "brakes")
        add(repository, "gears")
        assert lost == {"publish(", statement}
        assert len(keys(repository)) == 5
        assert len(list(repository.history.log())) == 5


def test_bulk_data_whose_commit_is_lost_is_there_once(
    filled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from psycopg import Connection, OperationalError

    monkeypatch.setattr(database, "BULK_COUNT", 1)
    transaction = Connection.transaction
    lost = []

    @contextmanager
    def losing(connection: Connection[object]) -> Iterator[None]:
        with transaction(connection):
            yield
        if not lost:
            lost.append(connection)
            connection.close()
            raise OperationalError("the connection was lost")

    monkeypatch.setattr(Connection, "transaction", losing)
    with ibidem.open(filled) as repository:
        add(repository, "brakes")
        add(repository, "gears")
        assert lost
        assert len(list(repository.history.log())) == 5


def test_a_change_that_was_given_up_is_never_made(filled: str) -> None:
    """It is still on its way to the server when the writer gives it up."""
    with ibidem.open(filled) as repository:
        known = repository.core.store.database  # type: ignore[attr-defined]
        writer = known._writer_id, known._count + 1
        assert known.read("select settle(%s, %s)", *writer) == [(False,)]
        with pytest.raises(ibidem.errors.StorageError, match="given this change up"):
            known.change("publish", "select record(%s, %s)", *writer)

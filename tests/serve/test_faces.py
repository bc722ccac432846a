"""The face of a repository behind a server, member by member beside that of a local one."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from types import MethodType
from typing import Any, NamedTuple

import pytest

import ibidem
from ibidem import aio
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.conversation.served import ServedConversations
from ibidem.objects.cid import RootCid
from ibidem.objects.errors import ErrorKind, InvalidInputError, NotFoundError
from ibidem.objects.plain import fields_of
from ibidem.repo.api.history import History
from ibidem.repo.api.receipts import Receipts
from ibidem.repo.history.compare import Cause, Comparison, Move
from ibidem.repo.history.diff_json import move_json
from ibidem.repo.repository import Repository
from ibidem.repo.revision import Revision
from ibidem.repo.served.answer import ServedAnswer, ServedItem, ServedPack, ServedPrompt
from ibidem.repo.served.comparison import ServedCause, ServedComparison, ServedMove
from ibidem.repo.served.members import is_refused, members_of
from ibidem.repo.served.repository import (
    ServedHistory,
    ServedReceipts,
    ServedRepository,
    ServedRevision,
)
from ibidem.repo.served.transaction import ServedTransaction
from ibidem.repo.transaction.transaction import Transaction
from ibidem.retrieve.access.policy import TrustPolicy, Viewer
from ibidem.retrieve.answer.answer import Answer
from ibidem.retrieve.answer.item import Item
from ibidem.retrieve.context.pack import Pack
from ibidem.retrieve.context.prompt import Prompt
from ibidem.serve.server import Server

TOKEN = "a-token-of-forty-characters-0123456789ab"
NOW = 1_800_000_000_000_000
Call = Callable[[Any], object]


class Sides(NamedTuple):
    """A repository, and a client of its server."""

    here: Repository
    there: Repository


def filled() -> Repository:
    repo = ibidem.init(clock=lambda: NOW)
    with repo.transaction(author="ada", message="first") as tx:
        text = "# Mail\n\nThe parcel arrives on Monday.\n\n## Late\n\nAnother parcel is late.\n"
        ibidem.ingest_text(tx, text, path="mail.md")
        one = tx.add_node("Fact", summary="parcel one", props={"n": 1, "b": b"\x00"}, key=1)
        tx.add_edge(one, "to", tx.add_node("Fact", summary="parcel two", props={"n": 2}, key=2))
    with repo.transaction(author="bob", message="second") as tx:
        tx.update_node(one, summary="Parcel one of many", ntype="Claim")
        tx.add_node("Fact", summary="parcel three", props={"n": 3}, key=3)
    repo.tag("v2")
    return repo


@pytest.fixture(scope="module")
def sides() -> Iterator[Sides]:
    with (
        filled() as here,
        Server(here, token=TOKEN, port=0) as server,
        ibidem.open(server.start().url, token=TOKEN) as there,
    ):
        yield Sides(here, there)


OBJECTS: Mapping[type[Any], tuple[type[Any], Callable[[Repository], Any]]] = {
    Repository: (ServedRepository, lambda repo: repo),
    Revision: (ServedRevision, lambda repo: repo.at()),
    History: (ServedHistory, lambda repo: repo.history),
    Receipts: (ServedReceipts, lambda repo: repo.receipts),
    Conversations: (ServedConversations, lambda repo: repo.conversations),
    Transaction: (ServedTransaction, lambda repo: repo.transaction()),
}
"""By class of the library, the one behind a server and how a repository gives it."""
FIRST = "v2~1"
OPTIONS: list[dict[str, Any]] = [
    {},
    {"label": ["Fact", "Claim"], "where": {"n": {"gte": 1}}, "limit": 2},
    {"operator": "and", "token_budget": 80, "as_of": NOW, "recency": True},
]
"""Options of questions."""
LISTED: list[dict[str, Any]] = [
    {},
    {"label": "Fact", "order_by": "-n"},
    {"where": {"n": {"gte": 2}}, "limit": 1, "order_by": ("n", "descending"), "offset": 1},
    {"created_after": NOW - 1, "include_tombstoned": True},
]
"""Options of structured queries."""


def each(ask: Callable[..., object], all_options: list[dict[str, Any]]) -> object:
    return [ask(**options) for options in all_options]


def of_listing(at: Any) -> dict[str, Any]:
    limited = {"limit", "order_by", "offset"}
    return each(at.count, [{name: one[name] for name in one.keys() - limited} for one in LISTED])  # type: ignore[return-value]


def receipt(repo: Repository, method: str) -> object:
    return repo.receipts.replay(str(getattr(repo, method)("parcel").receipt))


READS: Mapping[type[Any], Mapping[str, Call]] = {
    Repository: {
        "at": lambda repo: [repo.at(FIRST).root_cid, repo.at(repo.at().root_cid).query()],
        "branches": lambda repo: repo.branches(),
        "commit_at": lambda repo: repo.commit_at(FIRST),
        "context": lambda repo: each(
            lambda **given: repo.context("parcel", **given), [{}, {"documents": 1, "recent": 0}]
        ),
        "current_branch": lambda repo: repo.current_branch,
        "head": lambda repo: repo.head,
        "packs": lambda repo: each(lambda **given: repo.packs("parcel", **given), OPTIONS),
        "prompt": lambda repo: each(
            lambda **given: repo.prompt("parcel", **given), [*OPTIONS[1:], {"style": "summarize"}]
        ),
        "query": lambda repo: each(repo.query, LISTED),
        "resolve": lambda repo: repo.resolve(FIRST),
        "retrieve": lambda repo: each(lambda **given: repo.retrieve("parcel", **given), OPTIONS),
        "retriever": lambda repo: repo.retriever(FIRST).text("parcel").execute(),
        "tags": lambda repo: repo.tags(),
    },
    Revision: {
        "commit": lambda at: at.commit,
        "commit_cid": lambda at: at.commit_cid,
        "context": lambda at: at.context("parcel"),
        "count": of_listing,
        "locate": lambda at: [at.locate(item.id) for item in at.retrieve("parcel")],
        "node": lambda at: at.node(at.query(label="Fact")[0].id),
        "nodes": lambda at: list(at.nodes()),
        "packs": lambda at: at.packs("parcel", expand="section"),
        "page": lambda at: each(at.page, [*LISTED, {"limit": 2}]),
        "prompt": lambda at: at.prompt("parcel"),
        "query": lambda at: at.query(label="Claim"),
        "retrieve": lambda at: at.retrieve("parcel"),
        "retrieve_many": lambda at: at.retrieve_many([{"text": "parcel"}, {"text": "late"}]),
        "root_cid": lambda at: at.root_cid,
    },
    History: {
        "compare": lambda history: history.compare("parcel", before=FIRST),
        "diff": lambda history: [str(one.id) for one in history.diff(FIRST)],
        "log": lambda history: list(history.log()),
    },
    Receipts: {"replay": lambda receipts: None},
    Conversations: {},
    Transaction: {},
}
"""What is served and changes nothing, by member."""
WRITES: Mapping[type[Any], set[str]] = {
    Repository: {"add", "close", "conversations", "history", "receipts", "transaction"},
    Conversations: {"append"},
    Transaction: {
        *("add_edge", "add_node", "commit", "publish", "remove_edge", "remove_node"),
        *("rollback", "set_vector", "tombstone", "update_node"),
    },
}
"""What else is served; `test_served.py` and the tests below have it."""
MEMBERS = [(cls, name) for cls in OBJECTS for name in sorted(members_of(cls))]


def shown(value: Any) -> Any:
    """Returns the face of a value: as it is printed, its data and its text."""
    if isinstance(value, list):
        return [shown(one) for one in value]
    if hasattr(type(value), "to_json"):
        cited = getattr(value, "citations", None)
        return [str(value), value.to_json(), value.to_dict(), value.text, cited, len(value.items)]
    if isinstance(value, Comparison | ServedComparison):
        return [[move_json(one) for one in value.moves], shown(value.before), shown(value.after)]
    return value


@pytest.mark.parametrize(("cls", "name"), MEMBERS, ids=lambda one: getattr(one, "__name__", one))
def test_a_member_is_the_same_here_and_there_or_one_error_that_names_it(
    sides: Sides, cls: type[Any], name: str
):
    served, found = OBJECTS[cls]
    member = inspect.getattr_static(cls, name)
    if is_refused(served, name):
        assert name not in READS[cls].keys() | WRITES.get(cls, set())
        target = found(sides.there)
        with pytest.raises(InvalidInputError) as error:
            getattr(target, name)()
        assert str(error.value) == f"{cls.__name__}.{name}: a server does not offer it"
        assert error.value.kind is ErrorKind.NOT_PERMITTED
        assert error.value.hint == "clone the repository, and open the copy"
        return
    if inspect.isfunction(member):
        here, there = (inspect.signature(getattr(one, name)) for one in (cls, served))
        assert _parameters(here) == _parameters(there)
    if name not in WRITES.get(cls, set()):
        call = READS[cls][name]
        assert shown(call(found(sides.there))) == shown(call(found(sides.here)))


def _parameters(signature: inspect.Signature) -> list[tuple[str, Any, Any]]:
    return [(one.name, one.kind, one.default) for one in signature.parameters.values()]


ANSWERS: Mapping[type[Any], tuple[type[Any], Call]] = {
    Answer: (ServedAnswer, lambda repo: repo.retrieve("parcel", limit=2)),
    Item: (ServedItem, lambda repo: repo.retrieve("parcel")[0]),
    Pack: (ServedPack, lambda repo: repo.packs("parcel")[0]),
    Prompt: (ServedPrompt, lambda repo: repo.prompt("parcel")),
    Comparison: (ServedComparison, lambda repo: repo.history.compare("parcel", before=FIRST)),
    Cause: (
        ServedCause,
        lambda repo: repo.history.compare("parcel", before=FIRST).causes[0],
    ),
    Move: (
        ServedMove,
        lambda repo: repo.history.compare("parcel", before=FIRST).causes[0].moves[0],
    ),
}
PARTS = [(cls, name) for cls in ANSWERS for name in sorted(members_of(cls))]
OTHER = {"items", "explain", "moves", "causes", "warnings", "before", "after", "hits", "receipt"}
"""What is equal in parts, which are compared one by one here, and above."""


@pytest.mark.parametrize(("cls", "name"), PARTS, ids=lambda one: getattr(one, "__name__", one))
def test_a_part_of_an_answer_is_the_same_or_one_error_that_names_it(
    sides: Sides, cls: type[Any], name: str
):
    served, ask = ANSWERS[cls]
    there, here = ask(sides.there), ask(sides.here)
    assert type(there) is served
    if is_refused(served, name):
        with pytest.raises(InvalidInputError, match=rf"^{cls.__name__}\.{name}: a server does"):
            _value(there, name)
        return
    one, other = _value(there, name), _value(here, name)
    if name == "lanes":
        assert one.to_dict() == other.to_dict()
    elif name == "receipt":
        assert str(one) == str(other)
    elif name not in OTHER:
        assert one == other


def _value(target: Any, name: str) -> Any:
    found = getattr(target, name)
    takes_none = isinstance(found, MethodType) and not inspect.signature(found).parameters
    return found() if takes_none or getattr(found, "is_refused", False) else found


def test_hits_of_packs_have_the_names_that_led_to_them():
    repo = ibidem.init()
    repo.add("The analytical engine was described by Ada Lovelace.")
    repo.add("Ada Lovelace\nborn in London")
    here = repo.packs("who described the analytical engine of Babbage")
    there = ServedAnswer.read(json.loads(here.to_json()), lambda *_: pytest.fail("a node was read"))
    assert any(hit.mentions for pack in here for hit in pack.hits)
    assert [hit for pack in there for hit in pack.hits] == [
        hit for pack in here for hit in pack.hits
    ]


def test_the_causes_of_a_changed_answer_are_those_of_the_library(sides: Sides):
    here, there = (
        one.history.compare("parcel", before=FIRST).causes for one in (sides.here, sides.there)
    )
    assert len(here) == 1
    names = ("commits_count", "changes_count")
    for one, other in zip(here, there, strict=True):
        assert fields_of(one, *names) == fields_of(other, *names)
        assert one.commit == other.commit
        assert [str(change.after) for change in one.changes]
        assert [str(change) for change in one.changes] == [
            str(change).replace("Cid('", "NodeCid('") for change in other.changes
        ]
        assert [(move.id, move.kind) for move in one.moves] == [
            (move.id, move.kind) for move in other.moves
        ]


def test_a_warning_has_its_code_and_its_text(sides: Sides):
    here, there = (one.retrieve("parcel", label="Nothing") for one in (sides.here, sides.there))
    assert here.warnings
    assert [one.to_dict() for one in there.warnings] == [one.to_dict() for one in here.warnings]
    assert str(there) == str(here)
    prompts = [one.prompt("parcel", label="Nothing") for one in (sides.here, sides.there)]
    assert [len(one.warnings) for one in prompts] == [1, 1]


@pytest.mark.parametrize("method", ["retrieve", "packs"])
def test_an_answer_that_nothing_fits_names_a_budget(sides: Sides, method: str):
    here, there = (getattr(one, method)("parcel", token_budget=1) for one in sides)
    assert "nothing fits: a budget of " in str(here)
    assert str(there) == str(here)
    assert there.token_budget_min == here.token_budget_min


def test_answers_of_every_kind_are_replayed_by_the_server(sides: Sides):
    for method in ("retrieve", "packs", "prompt", "context"):
        assert shown(receipt(sides.there, method)) == shown(receipt(sides.here, method))


def test_a_replay_of_records_is_refused(sides: Sides):
    found = sides.here.at().records("parcel")
    assert found.receipt is not None
    with pytest.raises(InvalidInputError, match=r"^Receipts\.replay of records: a server does not"):
        sides.there.receipts.replay(str(found.receipt))


def test_an_answer_of_a_restricted_viewer_has_the_nodes_that_he_sees(tmp_path: Any):
    with ibidem.init(tmp_path, clock=lambda: NOW) as repo:
        with repo.transaction(author="ada") as tx:
            tx.set_trust_policy(TrustPolicy())
            tx.add_node("Fact", summary="the vault opens at nine", props={"level": 1})
            tx.add_node("Fact", summary="the vault code is 4711", props={"level": 3})
        low = Viewer(level="low", scopes=("east",))
        with Server(repo, token=TOKEN, port=0) as server:
            token = server.start().tokens.create("low", viewer=low, time=NOW).text
            with ibidem.open(server.url, token=token) as there:
                mine: Any = repo.as_viewer(low, author="low")
                found = there.retrieve("vault")
                assert [one.node for one in found] == [one.node for one in mine.retrieve("vault")]
                assert there.at(found.root).query() == there.query() == mine.query()
                assert there.at().root_cid == mine.at().root_cid
                assert there.prompt("vault").to_json() == mine.prompt("vault").to_json()
                assert there.at().count() == 1
                errors = []
                hidden = repo.at(viewer=ibidem.ALL).query(where={"level": 3})[0].cid
                for cid in (hidden, RootCid.of(b"not there")):
                    for repository, rev in ((there, str(cid)), (mine, RootCid(cid.raw))):
                        with pytest.raises(NotFoundError) as missing:
                            repository.at(rev).query()
                        errors.append(
                            (str(missing.value).replace(str(cid), ""), missing.value.kind)
                        )
                assert errors[:2] == errors[2:]
                for refused in (
                    lambda: there.history.compare("vault", before="HEAD"),
                    lambda: there.conversations.append("home", [("user", "x")]),
                    lambda: there.at().commit,
                ):
                    with pytest.raises(InvalidInputError) as error:
                        refused()
                    assert error.value.kind is ErrorKind.NOT_PERMITTED


def test_messages_are_appended_as_by_the_library():
    given: list[Any] = [
        ("user", "is it late?"),
        {
            "role": "assistant",
            "content": [{"type": "text", "text": "a moment"}],
            "id": "m1",
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        ibidem.Message(
            "tool", "no", tool_results=("c",), created_at=5, id="m2", props={"p": [1, {"q": None}]}
        ),
        {"role": "user", "text": "thanks", "expires_at": NOW + 5},
    ]
    with (
        ibidem.init(clock=lambda: NOW) as here,
        ibidem.init(clock=lambda: NOW) as other,
        Server(other, token=TOKEN, port=0) as server,
        ibidem.open(server.start().url, token=TOKEN) as there,
    ):
        for messages in (given, given[1:], [("user", "bye")], given[1:3], [], given[:2]):
            one = here.conversations.append("home", iter(messages))
            two = there.conversations.append("home", iter(messages))
            assert one.ords == two.ords
            assert (one.commit is None) == (two.commit is None)
            if one.commit is not None and two.commit is not None:
                assert one.commit.root == two.commit.root
        assert there.context("late", thread="home").to_json() == (
            other.context("late", thread="home").to_json()
        )
        for wrong in ("text", [5], [{"role": 5, "content": "x"}], [{"role": "user"}]):
            errors = []
            for repo in (here, there):
                with pytest.raises(InvalidInputError) as error:
                    repo.conversations.append("home", wrong)
                errors.append(str(error.value))
            assert errors[0] == errors[1]
        with pytest.raises(
            InvalidInputError, match=r"append\(time=…\): a server does not"
        ) as error:
            there.conversations.append("home", [], time=5)
        assert error.value.hint == "give each message its created_at"
        message = ibidem.Message("user", "x", props={"b": b"\x00"})
        with pytest.raises(InvalidInputError, match=r"options: .*bytes"):
            there.conversations.append("home", [message])


def test_pages_are_of_one_root_and_end_where_the_limit_is(sides: Sides):
    with ibidem.init(clock=lambda: NOW) as repo:
        with repo.transaction(author="ada") as tx:
            for number in range(2005):
                tx.add_node("Doc", summary=f"number {number}", props={"n": number}, key=number)
        with (
            Server(repo, token=TOKEN, port=0) as server,
            ibidem.open(server.start().url, token=TOKEN) as there,
        ):
            dated = {"created_after": NOW - 1, "offset": 1}
            for options in (
                {},
                {"limit": 1001, "order_by": "-n", "offset": 3},
                {"limit": 0},
                dated,
            ):
                assert there.query(**options) == repo.query(**options)
                assert there.at().page(**options) == repo.at().page(**options)
            (warning,) = there.at().page(where={"n": "7"}).warnings
            (wanted,) = repo.at().page(where={"n": "7"}).warnings
            assert warning.to_dict() == wanted.to_dict()
            nodes = there.at().nodes()
            first = next(nodes)
            repo.add("another, meanwhile")
            assert 1 + len(list(nodes)) == 2005
            assert first == repo.at("HEAD~1").query(limit=1)[0]
            for wrong in (-1, "x", 1.5):
                with pytest.raises(InvalidInputError, match="limit"):
                    there.query(limit=wrong)  # type: ignore[arg-type]


def test_a_root_that_is_not_there_is_not_found(sides: Sides):
    root = ibidem.init().at().root_cid
    other = type(root).of(b"no root")
    for one in (sides.here, sides.there):
        with pytest.raises(NotFoundError):
            one.at(other).query()


def test_asyncio_has_the_same(sides: Sides):
    async def asking(url: str) -> list[Any]:
        async with aio.open(url, token=TOKEN) as there:
            packs = await there.packs("parcel")
            prompt = await there.prompt("parcel")
            nodes = await there.query(label="Fact")
            compared = await there.history.compare("parcel", before=FIRST)
            with pytest.raises(InvalidInputError, match=r"Repository\.merge: a server"):
                await there.merge("v2")
            return [packs, prompt, nodes, compared]

    there: Any = sides.there
    found = asyncio.run(asking(there.client.address))
    here = sides.here
    expected = [
        *(here.packs("parcel"), here.prompt("parcel"), here.query(label="Fact")),
        here.history.compare("parcel", before=FIRST),
    ]
    assert shown(found) == shown(expected)

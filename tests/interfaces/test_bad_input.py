"""Whatever any interface is given: an answer, or a typed error with a kind of ours that changes
nothing.

Every public method of an adapter, every tool of the MCP server and every route of the HTTP API is
called with each of its arguments in turn replaced by each of `BAD`.
"""

from __future__ import annotations

import asyncio
import http.client
import inspect
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest

import ibidem
from ibidem import Viewer

pytestmark = pytest.mark.slow
LOW = Viewer(level="low", scopes=())
SECRET = "the hidden gate code"
HIDDEN = "0" * 31 + "1"
LONG = "a" * 200_000
BAD: Mapping[str, Any] = {
    "none": None,
    "true": True,
    "number": 7,
    "negative": -1,
    "huge": 1 << 70,
    "fraction": 1.5,
    "nan": math.nan,
    "infinity": math.inf,
    "empty": "",
    "blank": " ",
    "control": "a\x00\x1b[31m",
    "surrogate": "\ud800",
    "long": LONG,
    "bytes": b"\x00",
    "list": [],
    "list of none": [None],
    "list of numbers": [7],
    "mapping": {},
    "mapping of nan": {"a": math.nan},
    "mapping of a number": {7: 7},
    "object": object(),
    "unknown id": "f" * 32,
    "hidden id": HIDDEN,
    "range": "a..b",
}
GOOD_BODIES: Mapping[str, dict[str, Any]] = {
    "/v1/compare": {"text": "parcel", "before": "HEAD", "after": "HEAD"},
    "/v1/messages": {"thread": "support", "messages": []},
    "/v1/transactions": {"records": []},
}
"""Of other routes a text is enough."""
VECTOR = [1.0, 0.0]
Call = tuple[Callable[..., Any], dict[str, Any]]


def repository() -> ibidem.Repository:
    found = ibidem.init("memory:", clock=lambda: 10**15)
    found.add("the parcel arrives on Monday", author="ada")
    return found


def methods_of(cls: type[Any]) -> set[str]:
    return {
        name
        for name, value in vars(cls).items()
        if (not name.startswith("_") and inspect.isroutine(value)) or isinstance(value, classmethod)
    }


def walk(
    repo: ibidem.Repository,
    one: Any,
    calls: Mapping[str, Mapping[str, Any]],
    *errors: type[Exception],
) -> list[str]:
    """Returns what went wrong: other errors, and changes by calls that raised one."""
    wrong = []
    for method, good in calls.items():
        for argument in good:
            for name, bad in BAD.items():
                branches = repo.branches()
                given = {**good, argument: bad}
                try:
                    found = getattr(one, method)(**given)
                    if inspect.iscoroutine(found):
                        found = asyncio.run(found)
                    if isinstance(found, Iterator):
                        list(found)
                    continue
                except (ibidem.IbidemError, *errors):
                    pass
                except Exception as error:  # that is what this is about
                    wrong.append(
                        f"{method}({argument}={name}): {type(error).__name__}: {error!s:.90}"
                    )
                if repo.branches() != branches:
                    wrong.append(f"{method}({argument}={name}): has changed something")
    return wrong


def test_mem0():
    from ibidem.adapters.mem0 import AsyncMemory, Memory

    repo = repository()
    added = Memory(repo).add("likes tea", user_id="u")["results"][0]["id"]
    owners = {"user_id": "u", "agent_id": "a", "run_id": "r"}
    calls = {
        "add": {"messages": "likes rain", **owners, "metadata": {"a": 1}, "infer": False},
        "update": {"memory_id": added, "data": "likes milk"},
        "get": {"memory_id": added, "at": "HEAD"},
        "get_all": {**owners, "filters": {"user_id": "u"}, "limit": 3, "at": "HEAD"},
        "search": {
            "query": "tea",
            **owners,
            "filters": {"a": 1},
            "limit": 3,
            "threshold": 0.1,
            "at": "HEAD",
        },
        "history": {"memory_id": added},
        "delete": {"memory_id": added},
        "delete_all": owners,
    }
    assert set(calls) == methods_of(Memory) == methods_of(AsyncMemory)
    for cls in (Memory, AsyncMemory):
        assert walk(repo, cls(repo), calls) == []


def test_openai_agents():
    from ibidem.adapters.openai_agents import IbidemSession

    repo = repository()
    calls = {
        "get_items": {"limit": 3},
        "add_items": {"items": [{"role": "user", "content": "hi"}]},
        "pop_item": {},
        "clear_session": {},
    }
    assert set(calls) == methods_of(IbidemSession)
    assert walk(repo, IbidemSession("s", repo), calls) == []
    wrong = []
    for name, bad in BAD.items():
        for field in ("role", "content", "type", "other"):
            session, head = IbidemSession("s", repo), repo.head
            try:
                asyncio.run(session.add_items([{"role": "user", "content": "hi", field: bad}]))
                asyncio.run(session.get_items())
            except ibidem.IbidemError:
                assert repo.head == head
            except Exception as error:
                wrong.append(f"{field}={name}: {error!r:.90}")
    assert wrong == []


def test_langchain():
    pytest.importorskip("langchain_core")
    from langchain_core.embeddings import DeterministicFakeEmbedding

    from ibidem.adapters.langchain import IbidemVectorStore

    repo = repository()
    store = IbidemVectorStore(repo, DeterministicFakeEmbedding(size=2))
    store.add_texts(["a parcel"], ids=["one"])
    search = {"query": "parcel", "k": 2, "at": "HEAD", "filter": {"a": 1}}
    by_vector = {"embedding": VECTOR, "k": 2}
    calls = {
        "add_texts": {"texts": ["b"], "metadatas": [{"a": 1}], "ids": ["two"]},
        "aadd_texts": {"texts": ["b"], "metadatas": [{"a": 1}], "ids": ["two"]},
        "get_by_ids": {},
        "similarity_search": search,
        "asimilarity_search": search,
        "similarity_search_with_score": search,
        "asimilarity_search_with_score": search,
        "similarity_search_by_vector": by_vector,
        "max_marginal_relevance_search": {
            "query": "parcel",
            "k": 2,
            "fetch_k": 3,
            "lambda_mult": 0.5,
        },
        "amax_marginal_relevance_search": {
            "query": "parcel",
            "k": 2,
            "fetch_k": 3,
            "lambda_mult": 0.5,
        },
        "max_marginal_relevance_search_by_vector": {**by_vector, "fetch_k": 3, "lambda_mult": 0.5},
        "delete": {"ids": ["two"]},
    }
    assert set(calls) | {"from_texts", "afrom_texts"} == methods_of(IbidemVectorStore)
    wrong = walk(repo, store, calls)
    for name, bad in BAD.items():
        try:
            store.get_by_ids(bad)
        except ibidem.IbidemError:
            pass
        except Exception as error:
            wrong.append(f"get_by_ids({name}): {error!r:.90}")
    assert wrong == []


def test_langgraph():
    pytest.importorskip("langgraph")
    from langgraph.store.base import GetOp, ListNamespacesOp, PutOp, SearchOp

    from ibidem.adapters.langgraph.store import IbidemStore

    repo = repository()
    store = IbidemStore(repo)
    store.put(("a",), "k", {"text": "parcel"})
    wrong = walk(repo, store, {"batch": {"ops": []}, "abatch": {"ops": []}})

    def ops(bad: Any) -> list[Any]:
        return [
            PutOp(bad, "k", {"a": 1}),
            PutOp(("a",), bad, {"a": 1}),
            PutOp(("a",), "k", bad),
            PutOp(("a",), "k", {"a": bad}),
            GetOp(bad, "k"),
            GetOp(("a",), bad),
            SearchOp(bad),
            SearchOp(("a",), filter=bad),
            SearchOp(("a",), filter={"text": bad}),
            SearchOp(("a",), limit=bad),
            SearchOp(("a",), offset=bad),
            ListNamespacesOp(match_conditions=bad),
            ListNamespacesOp(max_depth=bad),
            ListNamespacesOp(limit=bad),
        ]

    for name, bad in BAD.items():
        for op in ops(bad):
            head = repo.head
            try:
                store.batch([op])
            except ibidem.IbidemError:
                assert repo.head == head
            except Exception as error:
                wrong.append(f"{op!s:.70} {name}: {error!r:.90}")
    assert wrong == []


def test_haystack():
    pytest.importorskip("haystack")
    from haystack import Document
    from haystack.document_stores.errors import DocumentStoreError
    from haystack.errors import FilterError

    from ibidem.adapters.haystack import IbidemDocumentStore

    repo = repository()
    store = IbidemDocumentStore(repo)
    store.write_documents([Document(content="a parcel", embedding=VECTOR)])
    filters = {"field": "meta.a", "operator": "==", "value": 1}
    calls = {
        "count_documents": {},
        "filter_documents": {"filters": filters},
        "write_documents": {"documents": [], "policy": "none"},
        "delete_documents": {"document_ids": ["a"]},
        "delete_all_documents": {},
        "delete_by_filter": {"filters": filters},
        "update_by_filter": {"filters": filters, "meta": {"b": 1}},
        "count_documents_by_filter": {"filters": filters},
        "bm25_retrieval": {"query": "parcel", "filters": filters, "top_k": 2},
        "embedding_retrieval": {"query_embedding": VECTOR, "filters": filters, "top_k": 2},
    }
    beside = {f"{one}_async": args for one, args in calls.items()}
    calls |= {one: args for one, args in beside.items() if hasattr(store, one)}
    assert set(calls) | {"to_dict", "from_dict"} == methods_of(IbidemDocumentStore)
    assert walk(repo, store, calls, DocumentStoreError, FilterError) == []


def test_llamaindex():
    pytest.importorskip("llama_index.core")
    from ibidem.adapters.llamaindex import IbidemPropertyGraphStore, IbidemVectorStore

    repo = repository()
    vectors = {
        "add": {"nodes": []},
        "delete": {"ref_doc_id": "a"},
        "delete_nodes": {"node_ids": ["a"], "filters": None},
        "clear": {},
        "get_nodes": {"node_ids": ["a"], "filters": None},
        "query": {"query": None},
    }
    beside = {"async_add" if one == "add" else f"a{one}": given for one, given in vectors.items()}
    assert {*vectors, *beside} == methods_of(IbidemVectorStore) - {"model_post_init"}
    wrong = walk(repo, IbidemVectorStore(repo), vectors | beside)
    graph = {
        "get": {"properties": {"a": 1}, "ids": ["a"]},
        "get_triplets": {
            "entity_names": ["a"],
            "relation_names": ["b"],
            "properties": {"a": 1},
            "ids": ["a"],
        },
        "get_rel_map": {"graph_nodes": [], "depth": 1, "limit": 2, "ignore_rels": ["x"]},
        "upsert_nodes": {"nodes": []},
        "upsert_relations": {"relations": []},
        "delete": {
            "entity_names": ["a"],
            "relation_names": ["b"],
            "properties": {"a": 1},
            "ids": ["a"],
        },
        "vector_query": {"query": None},
    }
    beside = {f"a{one}": given for one, given in graph.items()}
    assert {*graph, *beside, "structured_query"} == methods_of(IbidemPropertyGraphStore)
    wrong += walk(repo, IbidemPropertyGraphStore(repo), graph | beside)
    assert wrong == []


def secret_repository() -> tuple[ibidem.Repository, str]:
    found = ibidem.init("memory:", clock=lambda: 10**15)
    with found.transaction(author="ada") as tx:
        tx.set_trust_policy(ibidem.TrustPolicy())
        tx.add_node("Fact", summary="the parcel arrives", props={"level": 0})
        hidden = tx.add_node("Fact", summary=SECRET, props={"level": 4})
    return found, str(hidden)


def test_every_tool_of_the_mcp_server():
    pytest.importorskip("jsonschema")
    from ibidem.adapters.mcp import tools
    from ibidem.adapters.mcp.access import Access

    repo, hidden = secret_repository()
    access = Access(repo.as_viewer(LOW, author="bob"), author="bob")
    offered = {one.name: one for one in tools.offered(access)}
    wrong = []
    for tool in offered.values():
        fields = tool.input_schema["properties"]
        text = {
            name: "HEAD" if name in ("at", "before", "after") else "parcel"
            for name in fields
            if name in tool.input_schema.get("required", ())
        }
        for argument in fields:
            for name, bad in {**BAD, "hidden id": hidden}.items():
                root = repo.at(viewer=ibidem.ALL).root_cid
                try:
                    reply = tools.called(access, tool.name, {**text, argument: bad})
                    said = reply.text + json.dumps(reply.structured)
                except ibidem.IbidemError as error:
                    said = f"{error} {error.hint}"
                    if repo.at(viewer=ibidem.ALL).root_cid != root:
                        wrong.append(f"{tool.name}({argument}={name}): has changed something")
                except Exception as error:
                    wrong.append(f"{tool.name}({argument}={name}): {error!r:.90}")
                    continue
                if SECRET in said:
                    wrong.append(f"{tool.name}({argument}={name}): tells what is hidden")
    assert wrong == []


def test_every_route_of_the_http_api():
    pytest.importorskip("uvicorn")
    from ibidem.serve.question import served
    from ibidem.serve.routes import ROUTES
    from ibidem.serve.server import Server

    token = "a-token-of-forty-characters-0123456789ab"
    repo, _ = secret_repository()
    wrong = []
    with (
        Server(repo, token=token, port=0) as server,
        closing(http.client.HTTPConnection("127.0.0.1", server.start().port, timeout=60)) as client,
    ):

        def send(method: str, target: str, body: bytes | None, what: str) -> None:
            head = repo.head
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            client.request(method, target, body, headers)
            answer = client.getresponse()
            found = answer.read()
            if answer.status >= 400:
                problem = json.loads(found)
                if answer.status >= 500 or not problem.get("kind"):
                    wrong.append(f"{what}: {answer.status} {found[:90]!r}")
                if repo.head != head:
                    wrong.append(f"{what}: has changed something")

        fields = {
            "/v1/retrieve": ("at", *served("retrieve")),
            "/v1/packs": ("at", *served("packs")),
            "/v1/prompt": ("at", "text", "style"),
            "/v1/context": ("at", *served("context")),
            "/v1/query": ("at", *served("query")),
            "/v1/compare": ("text", "before", "after", "limit"),
            "/v1/messages": ("thread", "messages", "branch", "message", "author"),
            "/v1/transactions": ("records", "branch", "message", "author"),
        }
        bodies = {one.path for one in ROUTES.values() if one.body == "application/json"}
        assert bodies == set(fields)
        for path, names in fields.items():
            good = GOOD_BODIES.get(path, {"text": "parcel"})
            for field in names:
                for name, bad in BAD.items():
                    try:
                        data = json.dumps({**good, field: bad}).encode()
                    except TypeError:
                        continue  # nothing that JSON has
                    send("POST", path, data, f"{path} {field}={name}")
        for route in ROUTES.values():
            if route.method == "GET" and not route.is_copying and route.path != "/v1/events":
                for name, bad in BAD.items():
                    text = quote(str(bad).encode("utf-8", "replace")[:2000])
                    target = route.path.replace("{id}", text).replace("{receipt}", text)
                    query = "" if "{" in route.path else f"?at={text}&limit={text}&x={text}"
                    send("GET", target + query, None, f"{route.path} {name}")
    assert wrong == []

"""All requests that a server answers, by path. Each path has a row in `repo/viewer/exposure.py`,
and `openapi.py` describes it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ibidem.objects.record import record
from ibidem.repo.sync import wire
from ibidem.serve import changes, events, graph, openapi, question, remote
from ibidem.serve.exchange import JSON, Answer, Call
from ibidem.serve.tokens import Scope

HEALTH = "/v1/health"
OPENAPI = "/v1/openapi.json"


@record
class Route:
    """One request that the server answers."""

    method: str
    path: str
    answer: Callable[[Call], Answer]
    """Answers it, in a worker thread."""
    body: str | None = None
    """The content type of the body; None if there is none."""
    scope: Scope = Scope.READ
    is_copying: bool = False
    """Whether it belongs to the protocol of copies; others speak JSON."""
    is_streamed: bool = False
    """Whether the route reads the body in parts."""


def _health(call: Call) -> Answer:
    """Returns that the server answers; the only request without a token."""
    return Answer(b'{"status": "ok"}')


def _metrics(call: Call) -> Answer:
    """Returns counters of requests."""
    from ibidem.serve.metrics import TEXT

    return Answer(call.served.metrics.text().encode(), TEXT)


def _openapi(call: Call) -> Answer:
    """Returns the description of this interface."""
    return Answer(openapi.description(ROUTES))


ROUTES = {
    route.path: route
    for route in (
        Route("GET", HEALTH, _health),
        Route("GET", "/v1/metrics", _metrics),
        Route("GET", OPENAPI, _openapi),
        Route("POST", question.RETRIEVE, question.retrieve, JSON),
        Route("POST", "/v1/packs", question.packs, JSON),
        Route("POST", "/v1/prompt", question.prompt, JSON),
        Route("POST", "/v1/context", question.context, JSON),
        Route("POST", "/v1/compare", question.compare, JSON),
        Route("GET", "/v1/replay/{receipt}", question.replay),
        Route("GET", "/v1/branches", graph.branches),
        Route("POST", "/v1/query", graph.query, JSON),
        Route("GET", "/v1/nodes", graph.nodes),
        Route("GET", "/v1/nodes/{id}", graph.node),
        Route("GET", "/v1/log", graph.log),
        Route("GET", "/v1/diff", graph.diff),
        Route("POST", changes.TRANSACTIONS, changes.transaction, JSON, Scope.WRITE),
        Route("POST", changes.MESSAGES, changes.messages, JSON, Scope.WRITE),
        Route("GET", "/v1/events", events.events),
        Route("POST", wire.WORK, question.work, wire.PART),
        Route("GET", wire.REFS, remote.refs, is_copying=True),
        Route("POST", wire.KNOWN, remote.known, wire.CBOR, is_copying=True),
        Route("POST", wire.FETCH, remote.fetch, wire.CBOR, is_copying=True),
        Route(
            *("POST", wire.PUSH, remote.push, wire.CAR, Scope.WRITE),
            is_copying=True,
            is_streamed=True,
        ),
    )
}
"""Routes by path."""

if __name__ == "__main__":
    page = Path(__file__).resolve().parent.parent / "docs" / "openapi.json"
    page.write_bytes(openapi.description(ROUTES))

"""A row of a table, or a point of a collection, as a node with its vectors.

The id of the other program, within its collection, is the key of the node; the collection is its
type, unless the row has one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import ibidem
from ibidem.adapters.importing.source import Source

TEXT_NAMES = ("text", "document", "content", "page_content", "memory", "summary", "chunk")
"""Names under which programs keep the text of a row, the most usual first."""
SUMMARY_CHARS_MAX = 2000
"""A longer text is the content of its node."""


def text_fields(text: str | None) -> dict[str, Any]:
    """Returns the fields of a node for a text."""
    if text is None or len(text) <= SUMMARY_CHARS_MAX:
        return {"summary": text or None}
    return {"summary": None, "content": text.encode("utf-8", "replace")}


def node_of(namespace: str, collection: str, id_: Any) -> ibidem.NodeId:
    """Returns the id of the node for a row."""
    return ibidem.node_id(namespace, [collection, id_])


def records(
    source: Source,
    namespace: str,
    collection: str,
    id_: Any,
    text: str | None,
    props: Mapping[str, Any],
    vectors: Mapping[str | None, Any],
    *,
    label: str | None = None,
) -> Iterator[Any]:
    """Yields the node of a row and its vectors.

    Args:
        id_: None for a row without one, whose node then has an id that follows from its content.
        vectors: by model; None for the model that the caller named.
    """
    key = None if id_ is None else [collection, id_]
    fields = {"context_sentence": None, **text_fields(text)}
    own = {} if id_ is None else {"external_id": id_}
    node = ibidem.NodeRecord(
        name=None,
        ntype=label or collection,
        props=source.props({**props, **own}),
        namespace="" if key is None else namespace,
        key=key,
        **fields,
    )
    if key is not None:
        yield node
        reference: Any = ibidem.node_id(namespace, key)
    else:
        yield node
        reference = None
    for model, values in vectors.items():
        if values is None:
            continue
        if reference is None:
            source.omit("vector of a row without an id")
        else:
            yield source.vectors_of(reference, values, model)


def metric(source: Source, name: str) -> str:
    """Returns the metric of a model by the name that programs give it."""
    found = {
        "cosine": "cosine",
        "ip": "dot",
        "dot": "dot",
        "l2": "euclidean",
        "euclid": "euclidean",
    }
    if name.lower() not in found:
        source.omit(f"metric {name}, taken as cosine")
    return found.get(name.lower(), "cosine")

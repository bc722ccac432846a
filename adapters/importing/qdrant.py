"""Reads the folder of a Qdrant client in local mode: every collection, with all its vectors.

The client keeps each point as a pickle, which can run any program when it is loaded. Nothing of
that kind is loaded here: the reader knows the few classes of points and vectors by name, takes
their fields as plain values, and refuses every other name. So the library is not needed, and the
database is opened read-only.
"""

from __future__ import annotations

import io
import pickle
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ibidem
from ibidem import ErrorKind, InvalidInputError
from ibidem.adapters.importing.row import TEXT_NAMES, metric, records
from ibidem.adapters.importing.source import Items, Source, foreign, json_value, reading

FILE = "meta.json"
"""The file by which such a folder is recognised, beside the folder `collection`."""
_STORAGE = "storage.sqlite"
_NAMESPACE = "qdrant"
_CLASSES = frozenset(("PointStruct", "SparseVector"))
_MODULE = "qdrant_client.http.models.models"


def read(source: Source) -> Items:
    """Yields a node with its vectors for each point of each collection."""
    with foreign("qdrant", OSError):
        found = json_value((source.path / FILE).read_bytes(), FILE)
    collections = found.get("collections") if isinstance(found, dict) else None
    if not isinstance(collections, dict):
        raise InvalidInputError(f"{FILE}: got no collections, expected those of a Qdrant client")
    for name in sorted(collections):
        if Path(name).name != name:
            raise InvalidInputError(f"{FILE}: got the collection {name!r:.80}, expected a name")
        with foreign(f"collection {name}", sqlite3.Error, OSError):
            yield from _collection(source, name, collections[name])


def _collection(source: Source, name: str, config: Any) -> Items:
    file = source.path / "collection" / name / _STORAGE
    yield from _models(source, name, config)
    connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
    try:
        size_max = source.limits.element_bytes_max
        query = "SELECT id, point, length(point) FROM points ORDER BY rowid"
        for index, (_, data, size) in enumerate(connection.execute(query)):
            position = f"collection {name}: point {index}"
            if not isinstance(data, bytes) or size > size_max:
                raise InvalidInputError(f"{position}: expected at most {size_max:,} bytes")
            for record in _point(source, name, _loaded(position, data), position):
                yield position, record
    finally:
        connection.close()


def _models(source: Source, name: str, config: Any) -> Items:
    vectors = config.get("vectors") if isinstance(config, dict) else None
    if not isinstance(vectors, dict):
        return
    named = {None: vectors} if "size" in vectors else vectors
    for model, one in named.items():
        if not isinstance(one, dict) or one.get("multivector_config"):
            continue
        label = model or source.model
        if label and isinstance(one.get("size"), int):
            found = ibidem.Model(one["size"], metric(source, str(one.get("distance"))))
            yield f"collection {name}", ibidem.ModelRecord(label, found)


def _point(source: Source, name: str, point: Any, position: str) -> Iterator[Any]:
    fields = _fields(point)
    id_ = fields.get("id")
    if not isinstance(id_, str | int):
        raise InvalidInputError(f"{position}: id: got {id_!r:.60}, expected a text or a number")
    payload = fields.get("payload") or {}
    if not isinstance(payload, dict):
        raise InvalidInputError(f"{position}: payload: got {payload!r:.60}, expected a map")
    text_name = next((one for one in TEXT_NAMES if isinstance(payload.get(one), str)), None)
    props = {one: value for one, value in payload.items() if one != text_name}
    vectors = fields.get("vector")
    named: Mapping[Any, Any] = vectors if isinstance(vectors, dict) else {None: vectors}
    dense = {}
    sparse = {}
    for model, values in named.items():
        if isinstance(values, _Object):
            sparse[model] = _fields(values)
        elif isinstance(values, list) and values and isinstance(values[0], list):
            source.omit("vector of several vectors")
        elif values is not None and values != []:
            dense[model or None] = values
    text = payload[text_name] if text_name else None
    yield from records(source, _NAMESPACE, name, id_, text, props, dense)
    node = ibidem.node_id(_NAMESPACE, [name, id_])
    for vocab, one in sparse.items():
        yield ibidem.SparseRecord(node, vocab, one.get("indices", []), one.get("values", []))


class _Object:
    """An object of a known class, of which only the fields are taken."""

    def __setstate__(self, state: Any) -> None:
        self.state = state


def _fields(value: Any) -> dict[str, Any]:
    """Returns the fields of an object, as pydantic keeps them."""
    state = getattr(value, "state", None)
    found = state.get("__dict__") if isinstance(state, dict) else None
    if not isinstance(found, dict):
        raise InvalidInputError(f"point: got {type(value).__name__}, expected a point")
    return found


class _Loader(pickle.Unpickler):
    """Loads plain values and objects of the known classes."""

    def find_class(self, module: str, name: str) -> Any:
        if module == _MODULE and name in _CLASSES:
            return _Object
        raise InvalidInputError(
            f"got an object of {module}.{name}, expected a point",
            kind=ErrorKind.CORRUPT,
            hint="a pickle can run a program; this one was not loaded",
        )


def _loaded(position: str, data: bytes) -> Any:
    try:
        with reading(position):
            return _Loader(io.BytesIO(data)).load()
    except InvalidInputError:
        raise
    except Exception as error:  # a damaged pickle raises almost anything
        raise InvalidInputError(f"{position}: not a pickle: {error!r:.80}") from error

"""Reads the folder of a Chroma database: every collection of its default tenant.

The library opens a copy of the folder in a temporary one, because opening a database of an older
version changes its files. So a folder with symbolic links is refused: a copy of a link leads to the
same file.
"""

from __future__ import annotations

import shutil
import tempfile
from typing import Any

import ibidem
from ibidem import InvalidInputError
from ibidem.adapters.importing.row import metric, records
from ibidem.adapters.importing.source import Items, Source, foreign
from ibidem.adapters.library import library

FILE = "chroma.sqlite3"
"""The file by which such a folder is recognised."""
ROWS_AT_ONCE = 500
_NAMESPACE = "chroma"


def read(source: Source) -> Items:
    """Yields a node with its vector for each record of each collection."""
    if not (source.path / FILE).is_file():
        raise InvalidInputError(f"folder: has no {FILE}, expected the folder of a Chroma database")
    if any(one.is_symlink() for one in source.path.rglob("*")):
        raise InvalidInputError("folder: has a symbolic link, expected the files themselves")
    chromadb = library("chromadb", "chroma")
    settings = library("chromadb.config", "chroma").Settings(anonymized_telemetry=False)
    with tempfile.TemporaryDirectory() as folder, foreign("chroma", Exception):
        copy = shutil.copytree(source.path, f"{folder}/chroma")
        client = chromadb.PersistentClient(path=str(copy), settings=settings)
        try:
            for collection in sorted(client.list_collections(), key=lambda one: str(one.name)):
                yield from _collection(source, collection)
        finally:
            client.close()


def _collection(source: Source, collection: Any) -> Items:
    name, start, is_first = collection.name, 0, True
    include = ["documents", "metadatas", "embeddings", "uris"]
    while True:
        page = collection.get(limit=ROWS_AT_ONCE, offset=start, include=include)
        if not page["ids"]:
            return
        for index, id_ in enumerate(page["ids"]):
            position = f"collection {name}: {id_}"
            vector = None if page["embeddings"] is None else page["embeddings"][index]
            if vector is not None and is_first and source.model:
                form = ibidem.Model(len(vector), _metric(source, collection))
                yield position, ibidem.ModelRecord(source.model, form)
                is_first = False
            props = dict((page["metadatas"] or {})[index] or {})
            uri = page["uris"][index] if page["uris"] else None
            if uri is not None:
                props["uri"] = uri
            text = page["documents"][index] if page["documents"] else None
            for record in records(source, _NAMESPACE, name, id_, text, props, {None: vector}):
                yield position, record
        start += len(page["ids"])


def _metric(source: Source, collection: Any) -> str:
    space = (collection.metadata or {}).get("hnsw:space")
    hnsw = (collection.configuration_json or {}).get("hnsw") or {}
    return metric(source, space or hnsw.get("space") or "l2")

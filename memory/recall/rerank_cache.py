"""A cache of reranker scores, so that a reranker scores the same texts for a question only once.

The key is a digest of the model, the question and every text that was shown, so a changed text,
model or prompt is scored again. A failure is never cached. The cache contains scores and digests,
no text.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from blake3 import blake3

from ibidem.objects import codec
from ibidem.retrieve.rerank import Reranker
from ibidem.store.files import write_file

if TYPE_CHECKING:
    from ibidem.repo.core import Core

FOLDER = "reranks"


class CachedReranker:
    """A reranker that is called only for requests that are not in its cache."""

    def __init__(self, reranker: Reranker, folder: Path | None) -> None:
        """Wraps a reranker.

        Args:
            reranker: the reranker that is called if the cache has no scores.
            folder: the folder of the cache; None for a cache in memory.
        """
        self._reranker = reranker
        self._folder = folder
        self._kept: dict[str, Sequence[float | None]] = {}
        self.name = reranker.name
        self.digest = reranker.digest

    def rerank(self, text: str, rendered: Sequence[str]) -> Sequence[float | None]:
        """Returns the scores of the texts, cached ones if the same request was made before."""
        key = self._key(text, rendered)
        found = self._read(key)
        if found is not None and len(found) == len(rendered):
            return found
        scores = list(self._reranker.rerank(text, rendered))
        if len(scores) == len(rendered) and all(map(_is_score, scores)):
            self._write(key, scores)
        return scores

    def _key(self, text: str, rendered: Sequence[str]) -> str:
        shown = [blake3(one.encode()).digest() for one in rendered]
        return blake3(codec.encode([self.name, self.digest, text, shown])).hexdigest()

    def _read(self, key: str) -> Sequence[float | None] | None:
        if self._folder is None:
            return self._kept.get(key)
        try:
            found = json.loads((self._folder / key).read_bytes())
        except (OSError, ValueError):
            return None
        return found if isinstance(found, list) and all(map(_is_score, found)) else None

    def _write(self, key: str, scores: Sequence[float | None]) -> None:
        if self._folder is None:
            self._kept[key] = scores
            return
        # A full or read-only disk must not fail the answer because its scores cannot be cached.
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write_file(self._folder / key, json.dumps(scores).encode(), is_durable=False)


def remembered(repository: Core, reranker: Reranker) -> CachedReranker:
    """Returns a reranker with a cache in the repository's folder, in `.ibidem/reranks/`."""
    folder = repository.folder
    return CachedReranker(reranker, None if folder is None else folder / FOLDER)


def _is_score(value: object) -> bool:
    if value is None:
        return True
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and abs(value) < float("inf")  # type: ignore[arg-type]

"""Turns the values of `--model`, `--sparse` and `--rerank` into models, with weights, address and
API key. The environment is read here and nowhere below: the data folder, the addresses, and the API
keys under the providers' own variable names.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ibidem.objects.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from ibidem.embed.http import Service
    from ibidem.embed.language_model import LanguageModel
    from ibidem.embed.protocol import Embedder, SparseEncoder
    from ibidem.retrieve.rerank import Reranker

FORMS = (
    "minilm, the NAME of an installed model, openai:NAME, ollama:NAME, "
    "sentence-transformers:FOLDER or onnx:FOLDER"
)
"""The values of `--model`; also `minilm:FOLDER` and `bert:FOLDER` for models installed with
`--to`."""
RERANK_FORMS = (
    "the NAME of an installed cross-encoder, bert:FOLDER, cohere:NAME, jina:NAME or http:NAME"
)
"""The values of `--rerank`."""
_RERANK_TRIES = 2
"""A reranker that has not answered after some seconds is given up."""
_RERANK_URLS = {
    "cohere": "https://api.cohere.com/v2/rerank",
    "jina": "https://api.jina.ai/v1/rerank",
}
_RERANK_URL = "IBIDEM_RERANK_URL"
_RERANK_KEYS = {"cohere": "COHERE_API_KEY", "jina": "JINA_API_KEY", "http": "IBIDEM_RERANK_KEY"}
_SPARSE_URL, _SPARSE_KEY = "IBIDEM_SPARSE_URL", "IBIDEM_SPARSE_KEY"
_OPENAI_URL = "https://api.openai.com/v1"
_OLLAMA_URL = "http://127.0.0.1:11434"


def models_folder(environment: Mapping[str, str]) -> Path:
    """Returns the folder of installed models: below `XDG_DATA_HOME`, else in the user's data
    folder. That is `~/.local/share` on Linux, and the system's own folder elsewhere.
    """
    base = environment.get("XDG_DATA_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "ibidem" / "models"
    from platformdirs import user_data_path

    return user_data_path("ibidem", appauthor=False) / "models"


def embedder(environment: Mapping[str, str], model: str) -> Embedder:
    """Returns the embedder that `--model` names; it is loaded or contacted on first use.

    Args:
        environment: of this run.
        model: one of the forms in FORMS.

    Raises:
        InvalidInputError: kind `unknown-model`: it has none of these forms.
        NotFoundError: kind `unknown-model`: no model of that name is installed.
    """
    provider, colon, name = model.partition(":")
    if provider == "minilm" and bool(colon) == bool(name):
        from ibidem.embed.minilm import ExactMiniLM

        folder = Path(name) if name else models_folder(environment) / "minilm"
        return ExactMiniLM(folder, threads=_threads())
    if found := _installed(environment, model):
        from ibidem.embed.bert import ExactEncoder

        folder, name = found
        return ExactEncoder(folder, name=name, threads=_threads())
    if colon and name:
        if provider == "sentence-transformers":
            from ibidem.embed.local import SentenceTransformersEmbedder

            return SentenceTransformersEmbedder(Path(name))
        if provider == "onnx":
            from ibidem.embed.local import OnnxEmbedder

            return OnnxEmbedder(Path(name))
        if provider in ("openai", "ollama"):
            return _remote(environment, provider, name)
    raise InvalidInputError(
        f"--model: got {model!r}, expected {FORMS}", kind=ErrorKind.UNKNOWN_MODEL
    )


def reranker(environment: Mapping[str, str], model: str) -> Reranker:
    """Returns the reranker that `--rerank` names: an installed cross-encoder, or a service.

    Raises:
        InvalidInputError: it has no form of RERANK_FORMS, or is a model of another kind, or the
            address of `http:` is not set.
        NotFoundError: kind `unknown-model`: it is not installed.
    """
    provider, _, name = model.partition(":")
    if provider in _RERANK_KEYS and name:
        return _remote_reranker(environment, provider, name)
    found = _installed(environment, model)
    if found is None:
        raise InvalidInputError(
            f"--rerank: got {model!r}, expected {RERANK_FORMS}", kind=ErrorKind.UNKNOWN_MODEL
        )
    from ibidem.embed.bert import ExactReranker

    folder, name = found
    return ExactReranker(folder, name=name, threads=_threads())


def sparse_encoder(environment: Mapping[str, str], model: str) -> SparseEncoder:
    """Returns the sparse encoder of a name; it is contacted when it is called.

    Raises:
        InvalidInputError: it is not `tei:NAME`, or the address is not set.
    """
    provider, _, name = model.partition(":")
    if provider != "tei" or not name:
        raise InvalidInputError(
            f"--sparse: got {model!r}, expected tei:NAME", kind=ErrorKind.UNKNOWN_MODEL
        )
    url = environment.get(_SPARSE_URL)
    if not url:
        raise InvalidInputError(
            f"--sparse: got {model} without an address",
            hint=f"set {_SPARSE_URL} to the whole URL, such as http://127.0.0.1:8080/embed_sparse",
        )
    # Imported here because it loads ssl and http, which no other command needs.
    from ibidem.embed.http import Service
    from ibidem.embed.remote_sparse import RemoteSparseEncoder

    return RemoteSparseEncoder(Service(url, provider, environment.get(_SPARSE_KEY) or None), name)


def language_model(
    environment: Mapping[str, str], model: str, option: str = "--model"
) -> LanguageModel:
    """Returns the language model of a name; it is contacted when it is called.

    Args:
        environment: of this run.
        model: its name.
        option: the option that names it, for errors.

    Raises:
        InvalidInputError: kind `unknown-model`: it has none of these forms.
    """
    provider, _, name = model.partition(":")
    if provider not in ("openai", "ollama") or not name:
        raise InvalidInputError(
            f"{option}: got {model!r}, expected openai:NAME or ollama:NAME",
            kind=ErrorKind.UNKNOWN_MODEL,
        )
    from ibidem.embed.language_model import RemoteLanguageModel

    path = "/v1/chat/completions" if provider == "ollama" else "/chat/completions"
    return RemoteLanguageModel(_service(environment, provider, path), name)


def _remote_reranker(environment: Mapping[str, str], provider: str, name: str) -> Reranker:
    # Imported here because it loads ssl and http, which no other command needs.
    from ibidem.embed.http import Service
    from ibidem.embed.remote_reranker import RemoteReranker

    url = environment.get(_RERANK_URL) if provider == "http" else _RERANK_URLS[provider]
    if not url:
        raise InvalidInputError(
            f"--rerank: got {provider}:{name} without an address",
            hint=f"set {_RERANK_URL} to the whole URL, such as http://127.0.0.1:8000/v1/rerank",
        )
    key = environment.get(_RERANK_KEYS[provider]) or None
    service = Service(url, provider, key, tries=_RERANK_TRIES)
    return RemoteReranker(service, name)


def _installed(environment: Mapping[str, str], model: str) -> tuple[Path, str] | None:
    """Returns the folder and the name of an exact model, None for other forms."""
    provider, colon, name = model.partition(":")
    if not colon and provider and not {"/", "\\"} & set(provider) and provider[0] != ".":
        return models_folder(environment) / provider, provider
    if provider == "bert" and name:
        return Path(name), Path(name).name
    return None


def _threads() -> int:
    """Returns the number of processors that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


def _remote(environment: Mapping[str, str], provider: str, name: str) -> Embedder:
    # Imported here because it loads ssl and http, which no other command needs.
    from ibidem.embed.remote import OllamaEmbedder, OpenAiEmbedder

    if provider == "ollama":
        return OllamaEmbedder(_service(environment, provider, "/api/embed"), name)
    return OpenAiEmbedder(_service(environment, provider, "/embeddings"), name)


def _service(environment: Mapping[str, str], provider: str, path: str) -> Service:
    """Returns the address of OpenAI or Ollama for requests of one path."""
    from urllib.parse import urlsplit

    from ibidem.embed.http import Service

    key = None
    if provider == "ollama":
        base = environment.get("OLLAMA_HOST") or _OLLAMA_URL
        base = base if "://" in base else f"http://{base}"
        # Ollama's own programs also accept an address without a port and then use this one.
        if urlsplit(base).port is None:
            base = f"{base.rstrip('/')}:11434"
    else:
        base = environment.get("OPENAI_BASE_URL") or _OPENAI_URL
        key = environment.get("OPENAI_API_KEY") or None
    url = f"{base.rstrip('/')}{path}"
    return Service(url, provider, key)

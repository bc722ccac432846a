"""A small random BERT, as weights and as a folder, and the installed model where there is one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ibidem.embed import safetensors
from ibidem.embed.minilm import ExactMiniLM
from ibidem.objects.errors import NotFoundError

HIDDEN, HEADS, WIDE, LAYERS, WORDS = 48, 4, 96, 2, 60
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ibidem", "in", "the", "same", "place"]
PIECES += [f"word{at}" for at in range(WORDS - len(PIECES))]


def tiny_weights(seed: int = 7, *, scale: float = 0.08) -> dict[str, np.ndarray[Any, Any]]:
    """Returns a checkpoint of random numbers, the same ones everywhere."""
    bits = np.random.Generator(np.random.PCG64(seed))

    def numbers(*shape: int) -> np.ndarray[Any, Any]:
        # Integers and one division, so that no library's normal distribution is in it.
        values = bits.integers(-(1 << 20), 1 << 20, shape).astype(np.float64) / (1 << 20)
        return (values * scale).astype(np.float32)

    out = {
        "embeddings.word_embeddings.weight": numbers(WORDS, HIDDEN),
        "embeddings.position_embeddings.weight": numbers(300, HIDDEN),
        "embeddings.token_type_embeddings.weight": numbers(2, HIDDEN),
        "embeddings.LayerNorm.weight": 1 + numbers(HIDDEN),
        "embeddings.LayerNorm.bias": numbers(HIDDEN),
    }
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        dense = {
            f"{at}.attention.self.query": (HIDDEN, HIDDEN),
            f"{at}.attention.self.key": (HIDDEN, HIDDEN),
            f"{at}.attention.self.value": (HIDDEN, HIDDEN),
            f"{at}.attention.output.dense": (HIDDEN, HIDDEN),
            f"{at}.intermediate.dense": (WIDE, HIDDEN),
            f"{at}.output.dense": (HIDDEN, WIDE),
        }
        for name, shape in dense.items():
            out[f"{name}.weight"] = numbers(*shape) * np.float32(2)
            out[f"{name}.bias"] = numbers(shape[0])
        for name in (f"{at}.attention.output.LayerNorm", f"{at}.output.LayerNorm"):
            out[f"{name}.weight"] = 1 + numbers(HIDDEN)
            out[f"{name}.bias"] = numbers(HIDDEN)
    return out


def tiny_pair_weights(seed: int = 7, *, scale: float = 0.08) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the checkpoint of a cross-encoder."""
    head = tiny_weights(seed + 1, scale=scale)
    return {
        **tiny_weights(seed, scale=scale),
        "pooler.dense.weight": head["encoder.layer.0.attention.self.query.weight"],
        "pooler.dense.bias": head["encoder.layer.0.attention.self.query.bias"],
        "classifier.weight": head["encoder.layer.0.attention.self.key.weight"][:1],
        "classifier.bias": head["encoder.layer.0.attention.self.key.bias"][:1],
    }


def tiny_folder(
    folder: Path,
    *,
    is_cross: bool = False,
    weights: dict[str, np.ndarray[Any, Any]] | None = None,
) -> Path:
    """Writes a model into a new folder, in the layout of Hugging Face."""
    folder.mkdir(parents=True)
    kind, prefix = ("BertForSequenceClassification", "bert.") if is_cross else ("BertModel", "")
    made = weights or (tiny_pair_weights() if is_cross else tiny_weights())
    named = {
        name if name.startswith("classifier") else prefix + name: array
        for name, array in made.items()
    }
    safetensors.write(folder / "model.safetensors", named, {})
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in PIECES))
    config = {
        "architectures": [kind],
        "model_type": "bert",
        "hidden_act": "gelu",
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "num_hidden_layers": LAYERS,
        "max_position_embeddings": 300,
    }
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def tiny_texts() -> list[list[int]]:
    """Returns token ids of texts of 1 to 256 tokens."""
    lengths = (1, 2, 3, 40, 5, 200, 256, 17, 129, 128, 127, 9)
    return [[(7 * at + 3 * length) % WORDS for at in range(length)] for length in lengths]


@pytest.fixture(scope="session")
def minilm() -> ExactMiniLM:
    """The installed model: in IBIDEM_TEST_MINILM, else where `repo embed install` puts it."""
    data = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    default = Path(data) / "ibidem" / "models" / "minilm"
    model = ExactMiniLM(Path(os.environ.get("IBIDEM_TEST_MINILM") or default))
    try:
        model.load()
    except NotFoundError as error:
        pytest.skip(f"NOT TESTED, the weights are missing: {error} (repo embed install minilm)")
    return model

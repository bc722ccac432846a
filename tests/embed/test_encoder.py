"""The exact encoder: the same bits whatever computes them, near the plain formulas, in bounds."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ibidem.embed import encoder as exact
from ibidem.embed.encoder import Encoder, integer_weights, prepare
from ibidem.embed.tables import STEPS, exp_table, gelu_table
from ibidem.objects.errors import CorruptError, InvalidInputError

from .conftest import HEADS, HIDDEN, LAYERS, tiny_texts, tiny_weights
from .plain import PlainEncoder

SOURCE = Path(__file__).resolve().parents[2] / "src"
DIGEST = "036cdee2a09afb9fc837a7be861d6fd7e261506154d62f2f35e5625754e17edd"
"""Of the tiny model, frozen: another arithmetic is another algorithm name."""

SETTINGS: list[dict[str, str]] = [
    {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Prescott"},
    {"NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL"},
]
MORE_SETTINGS: list[dict[str, str]] = [
    {"OPENBLAS_NUM_THREADS": "2"},
    {"OPENBLAS_NUM_THREADS": "1"},
    {"OPENBLAS_NUM_THREADS": "1", "OPENBLAS_CORETYPE": "Haswell"},
    {"OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "SkylakeX"},
]


def digest(batch: int, environment: dict[str, str]) -> str:
    """Returns what a process prints that computes with other settings."""
    probe = Path(__file__).with_name("probe.py")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(probe), str(batch)],
        env={**os.environ, **environment, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.mark.parametrize(
    "environment",
    [*SETTINGS, *(pytest.param(one, marks=pytest.mark.slow) for one in MORE_SETTINGS)],
    ids=lambda each: " ".join(each.values()),
)
def test_the_bits_are_those_of_every_other_machine(environment: dict[str, str]):
    assert digest(8, environment) == DIGEST


@pytest.mark.parametrize("batch", [1, pytest.param(32, marks=pytest.mark.slow)])
def test_the_bits_do_not_depend_on_the_batch(batch: int):
    assert digest(batch, {}) == DIGEST


def float_encode(weights: dict[str, Any], ids: list[int]) -> np.ndarray[Any, Any]:
    """Returns a text's vector by the plain formulas in floating point."""
    w = {name: value.astype(np.float64) for name, value in weights.items()}

    def norm(x: Any, name: str) -> Any:
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-12)
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def dense(x: Any, name: str) -> Any:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
    erf = np.vectorize(math.erf)
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}"
        parts = [dense(x, f"{at}.attention.self.{each}") for each in ("query", "key", "value")]
        q, k, v = (
            part.reshape(len(ids), HEADS, HIDDEN // HEADS).transpose(1, 0, 2) for part in parts
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS)
        share = np.exp(scores - scores.max(axis=2, keepdims=True))
        mixed = share / share.sum(axis=2, keepdims=True) @ v
        mixed = mixed.transpose(1, 0, 2).reshape(len(ids), HIDDEN)
        x = norm(
            x + dense(mixed, f"{at}.attention.output.dense"), f"{at}.attention.output.LayerNorm"
        )
        up = dense(x, f"{at}.intermediate.dense")
        up = 0.5 * up * (1 + erf(up / math.sqrt(2)))
        x = norm(x + dense(up, f"{at}.output.dense"), f"{at}.output.LayerNorm")
    mean = x.mean(axis=0)
    return mean / math.sqrt((mean * mean).sum())


def test_vectors_are_those_of_the_formulas_to_a_few_millionths():
    weights = tiny_weights()
    found = Encoder(prepare(weights), heads=HEADS).encode(tiny_texts())
    for row, ids in zip(found, tiny_texts(), strict=True):
        assert np.abs(row - float_encode(weights, ids)).max() < 5e-6


@pytest.mark.parametrize("scale", [0.01, 0.08, 2.0])
def test_bytes_are_those_of_the_spec_written_out_in_plain_python(scale: float):
    weights = tiny_weights(11, scale=scale)
    plain = PlainEncoder(weights, heads=HEADS, layers=LAYERS)
    texts = [[5], [3, 1, 4, 1, 5, 9, 2, 6], list(range(20))]
    found = Encoder(prepare(weights), heads=HEADS).encode(texts)
    for row, ids in zip(found, texts, strict=True):
        assert row.astype("<f4").tobytes() == plain.encode(ids)


@settings(max_examples=15)
@given(st.lists(st.lists(st.integers(0, 59), min_size=1, max_size=90), min_size=1, max_size=5))
def test_a_text_has_the_same_vector_alone_and_among_others(texts: list[list[int]]):
    encoder = Encoder(TINY, heads=HEADS)
    together = encoder.encode(texts)
    for row, ids in zip(together, texts, strict=True):
        assert np.array_equal(encoder.encode([ids])[0], row)


TINY = prepare(tiny_weights())


class Watched(Encoder):
    """Checks the bounds of the proof on every product."""

    def _dense(self, x: Any, name: str, out: Any) -> None:
        weights = self._weights[name]
        assert np.array_equal(x, np.rint(x))
        assert np.abs(x).max() <= exact.ACTIVATION_MAX
        assert np.abs(weights).sum(axis=0).max() <= exact.WEIGHT_SUM_MAX
        whole = x.astype(np.int64) @ weights.astype(np.int64)
        assert np.array_equal(whole, x @ weights)
        super()._dense(x, name, out)

    def _mix(self, query: Any, key: Any, value: Any) -> Any:
        for part in (query, key, value):
            assert np.abs(part).max() <= exact.HEAD_MAX
        found = super()._mix(query, key, value)
        assert np.abs(found).max() <= exact.ACTIVATION_MAX
        return found


@pytest.mark.parametrize(
    "scale", [0.08, 1e30, *(pytest.param(one, marks=pytest.mark.slow) for one in (1e-9, 3.0, 1e4))]
)
def test_products_are_exact_for_weights_of_any_size(scale: float):
    prepared = prepare(tiny_weights(scale=scale))
    found = Watched(prepared, heads=HEADS).encode(tiny_texts())
    assert np.isfinite(found).all()
    if scale > 1e-6:  # below, everything rounds to the zero vector
        assert np.abs((found.astype(np.float64) ** 2).sum(axis=1) - 1).max() < 1e-5


def test_a_row_of_weights_has_the_largest_shift_that_keeps_its_sum_within_the_bound():
    bits = np.random.Generator(np.random.PCG64(3))
    matrix = np.ldexp(bits.random((200, 40)), bits.integers(-30, 30, (200, 1))).astype(np.float32)
    matrix[0] = 0
    integers, shifts = integer_weights(matrix)
    assert np.array_equal(integers, np.rint(np.ldexp(matrix.astype(np.float64), shifts[:, None])))
    assert np.abs(integers).sum(axis=1).max() <= exact.WEIGHT_SUM_MAX
    doubled = np.rint(np.ldexp(matrix.astype(np.float64), shifts[:, None] + 1))
    can_grow = np.abs(doubled).sum(axis=1) <= exact.WEIGHT_SUM_MAX
    assert not (can_grow & (shifts < 60))[1:].any()


def test_tables_hold_the_curves():
    values, steps = exp_table()
    expected = [2**20 * math.exp(-at / STEPS) for at in range(len(values) - 1)]
    assert np.allclose(values[:-1], expected, rtol=1e-14)
    assert values[0] == 2**20
    assert values[-1] == steps[-1] == 0
    values, _ = gelu_table()
    expected = [
        2**18 * a * 0.5 * math.erfc(a / math.sqrt(2)) for a in np.arange(len(values) - 1) / STEPS
    ]
    assert np.allclose(values[:-1], expected, atol=1e-8)
    assert values[-1] == 0


def test_a_checkpoint_that_lacks_something_is_refused():
    weights = tiny_weights()
    del weights["encoder.layer.0.output.dense.bias"]
    with pytest.raises(CorruptError, match=r"encoder.layer.0.output.dense.bias"):
        prepare(weights)
    weights = tiny_weights()
    weights["embeddings.LayerNorm.weight"][3] = np.inf
    with pytest.raises(CorruptError, match="finite"):
        prepare(weights)


def test_a_shape_that_the_proof_does_not_cover_is_refused():
    with pytest.raises(InvalidInputError, match="heads"):
        Encoder(TINY, heads=5)


def test_nothing_gives_no_rows():
    assert Encoder(TINY, heads=HEADS).encode([]).shape == (0, HIDDEN)


@pytest.mark.parametrize("count", [0, 1, 3, 256, 700])
@pytest.mark.parametrize("threads", [1, 2, 4, 7])
def test_every_thread_has_as_many_parts_of_about_one_size(count: int, threads: int):
    texts = [(range(1 + 17 * at % 80), 0) for at in range(count)]
    parts = exact._parts(texts, threads)
    assert [text for part in parts for text in part] == texts
    sizes = [sum(len(ids) for ids, _ in part) for part in parts]
    assert all(size < exact.PART_TOKENS + 80 for size in sizes)
    if count > 100:
        assert len(parts) % threads == 0
        assert min(sizes) > 0.6 * max(sizes)

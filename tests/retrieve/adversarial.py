"""Vectors of every kind that has broken a bound somewhere, and segments to put them in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

METRICS = ("cosine", "dot", "euclidean")


def adversarial(rng, dim):
    """Returns rows that are duplicates, near-ties, zero, constant, huge, tiny, subnormal or mixed:
    (n, d) float32."""
    plain = rng.standard_normal((40, dim))
    near = np.repeat(plain[:1].astype(np.float32), 12, axis=0)
    for row in range(1, len(near)):
        at = rng.integers(dim)
        near[row, at] = np.nextafter(near[row, at], np.float32(rng.choice([-9.0, 9.0])))
    rows = [
        plain,
        plain * 1e-30,
        plain * 1e30,
        np.sign(plain) * 3.4e38,
        np.zeros((2, dim)),
        np.full((2, dim), 1e-45),
        plain * 1e-41,
        np.ones((3, dim)),
        plain[:1] + rng.standard_normal((20, dim)) * 1e-7,
        plain * 2.0 ** rng.integers(-120, 120, (40, dim)),
        near,
        np.eye(1, dim) * 5.0,
    ]
    with np.errstate(over="ignore"):
        array = np.concatenate(rows).astype(np.float32)
    return array[np.isfinite(array).all(axis=1)]


def leaning(rng, dim):
    """Returns rows most of which point one way, by much or by a rounding, at any norm, among rows
    that do not: (n, d) float32."""
    direction = rng.standard_normal(dim)
    direction /= np.sqrt((direction**2).sum())
    noise = rng.standard_normal((600, dim)) / dim**0.5
    sizes = np.array([1.0, 0.3, 1e-2, 1e-3, 1e-7, 0.0])
    rows = direction + noise * rng.choice(sizes, 600)[:, None]
    rows[300:] *= 2.0 ** rng.integers(-120, 120, 300)[:, None]
    array = np.concatenate([rows.astype(np.float32), adversarial(rng, dim)[::3]])
    return array[rng.permutation(len(array))]


@dataclass
class FloatSegment:
    """A segment as it was written before there were codes."""

    rows: Any
    ordinals: Any
    live: Any = None
    codes: Any = None
    cache: dict = field(default_factory=dict)

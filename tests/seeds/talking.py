"""Threads to talk in: an embedder that counts, a clock that steps, messages by number."""

from __future__ import annotations

import numpy as np

from ibidem.embed.protocol import identity

START = 1_767_225_600_000_000


SECOND = 1_000_000


class Letters:
    """An embedder that counts letters, and its own calls."""

    name, dim = "letters", 26
    digest = identity({"algorithm": "letters-test-1"})

    def __init__(self):
        self.texts = []

    def embed(self, texts):
        self.texts += texts
        rows = np.zeros((len(texts), self.dim), np.float32)
        for row, text in enumerate(texts):
            for letter in text.lower():
                if "a" <= letter <= "z":
                    rows[row, ord(letter) - 97] += 1.0
        return rows


class Clock:
    def __init__(self):
        self.now = START

    def __call__(self):
        self.now += SECOND
        return self.now


def texts(messages):
    return [one.text for one in messages]


def said(count, role="user", what="message"):
    return [(role, f"{what} {place}") for place in range(count)]

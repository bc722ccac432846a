"""The seeds of every target, by its name."""

from __future__ import annotations

from . import copies
from .seeds import SEEDS as OWN_SEEDS

SEEDS = {
    **OWN_SEEDS,
    "car": copies.cars,
    "blocks_of_car": copies.blocks,
    "http": copies.requests,
}

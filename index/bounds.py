"""Computes the columns of a segment that follow from others again, and compares them.

Retrieval is exact only if these hold: bounds of scores, and the orders in which rows are searched.
Those with fixed arithmetic must be equal; the bounds of dense rows, which may be summed in any
order, must still be bounds.
"""

from __future__ import annotations

import numpy as np

from ibidem.index.arrays import Columns, bitmap_bytes, to_bitmap
from ibidem.index.families import edge_rows, node_rows
from ibidem.index.segments.codes import CODE_COLUMNS, codes_problem
from ibidem.index.segments.identity import id_columns
from ibidem.index.segments.segment import Segment


def bound_problem(segment: Segment) -> str | None:
    """Returns which column of a segment is wrong, None if none is."""
    columns = segment.columns()
    for name, column in columns.items():
        if name.endswith(".starts") and (column[1:] < column[:-1]).any():
            return f"column {name} does not ascend"
    try:
        for name, expected in _derived_columns(columns).items():
            found = columns.get(name)
            if found is None or not np.array_equal(found, expected):
                return f"column {name} is not what follows from others"
        if columns.keys() >= {"rows", *CODE_COLUMNS}:
            return codes_problem(columns)
    except (IndexError, ValueError) as error:
        return f"its columns contradict each other: {error}"
    return None


def _derived_columns(columns: Columns) -> Columns:
    if "term.starts" in columns:
        return node_rows.derived_columns(columns)
    if "source" in columns:
        return edge_rows.derived_columns(columns)
    if "ids" in columns:
        return id_columns(columns["ids"])
    return {"set": bitmap_bytes(to_bitmap(columns["ordinals"]))}

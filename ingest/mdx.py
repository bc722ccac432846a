"""MDX to marks: Markdown with components, such as tabs, which a page imports.

An import is layout. A tag that opens a component is in the passage after it, since its attributes
are often the label of a tab; one that closes it is layout, as in Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ibidem.ingest.mark import LAYOUT_CHARS_MAX, Block, Layout, Mark, merged_into_next
from ibidem.ingest.markdown import markdown_marks
from ibidem.ingest.split import ITEMS_CHARS_MAX

_OPENING = re.compile(r"(?:[ \t\r\n]*</?[A-Z][\w.]*(?:[ \t\r\n][^<>]*)?(?<!/)>)+[ \t\r\n]*")
_IMPORTS = re.compile(r"(?:import\b[^\r\n]*[\"'];?[ \t]*(?:[\r\n]+|\Z))+")


def mdx_marks(source: str, start: int) -> Iterator[Mark]:
    """Yields the headings and blocks of `source` from `start`, where a line begins."""

    def is_opening(block: Block) -> bool:
        return _OPENING.fullmatch(source, block.start, block.stop) is not None

    marks = (_shown(source, mark) for mark in markdown_marks(source, start))
    return merged_into_next(marks, ITEMS_CHARS_MAX, is_opening)


def _shown(source: str, mark: Mark) -> Mark:
    """Returns a mark, as layout if it consists of imports that are not many."""
    if (
        isinstance(mark, Block)
        and mark.format == "paragraph"
        and mark.stop - mark.start <= LAYOUT_CHARS_MAX
        and _IMPORTS.fullmatch(source, mark.start, mark.stop)
    ):
        return Layout(mark.start, mark.stop)
    return mark

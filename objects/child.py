"""Children: the ordered parts of a document.

Spec: format 5.1.
"""

from __future__ import annotations

from ibidem.objects.block import require
from ibidem.objects.constants import INTEGER_MAX
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record


@record
class Child:
    """One ordered part of a document."""

    id: NodeId
    lead: str
    """Source text between the previous child, or the start, and this one."""
    size_bytes: int
    """UTF-8 size of the child's whole source, including its own parts and excluding `lead`."""
    size_lines: int
    """Line feeds in the same source."""

    def __post_init__(self) -> None:
        if type(self.id) is not NodeId:
            require(False, "node.children", "id", self.id, "a NodeId")
        if type(self.lead) is not str:
            require(False, "node.children", "lead", self.lead, "text")
        for name, size in (("size_bytes", self.size_bytes), ("size_lines", self.size_lines)):
            if type(size) is not int or not 0 <= size <= INTEGER_MAX:
                require(False, "node.children", name, size, "an integer from 0 to 2^64-1")

"""Graph memory: typed records whose salience follows from recorded events."""

from ibidem.memory.graph.memory import GraphMemory
from ibidem.retrieve.records.record import Record, RecordType, Status

__all__ = ["GraphMemory", "Record", "RecordType", "Status"]

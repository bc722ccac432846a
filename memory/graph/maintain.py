"""The report of the maintenance of a memory: proposals accepted, records derived and pruned.

Maintenance is made to be run by a schedule: running it again on the same memory at the same time
changes nothing. A dry run is a run whose transaction is rolled back, so its report is that of the
run.

Spec: memory 9.
"""

from __future__ import annotations

from collections.abc import Mapping

from ibidem.objects.cid import CommitCid
from ibidem.objects.ids import NodeId
from ibidem.objects.record import record


@record
class Maintained:
    """The report of a run, or of a dry run."""

    accepted: tuple[NodeId, ...]
    """The proposals that became facts, by id."""
    added: tuple[NodeId, ...]
    """The records derived from episodes, by id."""
    updated: tuple[NodeId, ...]
    """Derived records that have more sources than before, by id."""
    pruned: tuple[NodeId, ...]
    """The records of low salience that were hidden, by id."""
    unreadable: Mapping[NodeId, str]
    """Nodes with the type of a record that are invalid, by id, with the reason."""
    commit: CommitCid | None
    """The commit; None if nothing changed, and for a dry run."""

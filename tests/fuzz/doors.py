"""Every inner module of the product that the mutator needs, in one place.

The rest goes through `import ibidem` and the command line, so that a module that moves is renamed
here and nowhere else.
"""

from __future__ import annotations

from ibidem.embed.protocol import identity
from ibidem.memory.conversation.conversations import Conversations
from ibidem.memory.graph import GraphMemory
from ibidem.memory.recall import anomalies, procedures
from ibidem.memory.recall import recall as asking
from ibidem.memory.recall.feedback import Feedback
from ibidem.objects.cid import BlobCid, Cid, CommitCid
from ibidem.objects.errors import IbidemError
from ibidem.objects.ids import EdgeId, NodeId
from ibidem.repo.notes import Notes
from ibidem.repo.repository import Repository
from ibidem.repo.revision import Revision
from ibidem.repo.runs.recording import Recording
from ibidem.repo.sync import fetch_push, wire
from ibidem.retrieve.access.policy import ALL
from ibidem.serve.server import Server

__all__ = [
    "ALL",
    "BlobCid",
    "Cid",
    "CommitCid",
    "Conversations",
    "EdgeId",
    "Feedback",
    "GraphMemory",
    "IbidemError",
    "NodeId",
    "Notes",
    "Recording",
    "Repository",
    "Revision",
    "Server",
    "anomalies",
    "asking",
    "fetch_push",
    "identity",
    "procedures",
    "wire",
]

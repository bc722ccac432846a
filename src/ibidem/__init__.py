"""Ibidem: git for knowledge. What this module has is what the library offers; everything below it
may change.

A name is imported when it is first used, because this module runs before every sub-package.

>>> import ibidem
>>> repo = ibidem.init("memory:")
>>> with repo.transaction(message="a fact") as tx:
...     _ = tx.add_node("Fact", summary="the parcel arrives on Monday")
>>> [item.node.summary for item in repo.retrieve("parcel")]
['the parcel arrives on Monday']
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ibidem.objects import notebook
from ibidem.repo import layers

if TYPE_CHECKING:
    from ibidem.embed.http import Service as Service
    from ibidem.embed.language_model import LanguageModel as LanguageModel
    from ibidem.embed.language_model import RemoteLanguageModel as RemoteLanguageModel
    from ibidem.embed.local import OnnxEmbedder as OnnxEmbedder
    from ibidem.embed.local import SentenceTransformersEmbedder as SentenceTransformersEmbedder
    from ibidem.embed.minilm import ExactMiniLM as ExactMiniLM
    from ibidem.embed.protocol import Embedder as Embedder
    from ibidem.embed.protocol import SparseEncoder as SparseEncoder
    from ibidem.embed.remote import OllamaEmbedder as OllamaEmbedder
    from ibidem.embed.remote import OpenAiEmbedder as OpenAiEmbedder
    from ibidem.embed.remote_reranker import RemoteReranker as RemoteReranker
    from ibidem.embed.remote_sparse import RemoteSparseEncoder as RemoteSparseEncoder
    from ibidem.ingest.ingest import ingest_text as ingest_text
    from ibidem.ingest.ndjson import read_lines as read_lines
    from ibidem.ingest.record import ConfigRecord as ConfigRecord
    from ibidem.ingest.record import EdgeRecord as EdgeRecord
    from ibidem.ingest.record import ModelRecord as ModelRecord
    from ibidem.ingest.record import NodeRecord as NodeRecord
    from ibidem.ingest.record import SparseRecord as SparseRecord
    from ibidem.ingest.record import TombstoneRecord as TombstoneRecord
    from ibidem.ingest.record import VectorRecord as VectorRecord
    from ibidem.ingest.record import format_record as format_record
    from ibidem.ingest.record import parse_record as parse_record
    from ibidem.ingest.record_writer import RecordWriter as RecordWriter
    from ibidem.ingest.report import IngestReport as IngestReport
    from ibidem.ingest.report import Progress as Progress
    from ibidem.ingest.secret import secret_in as secret_in
    from ibidem.ingest.secret import without_secrets as without_secrets
    from ibidem.memory.conversation.changes import Written as Written
    from ibidem.memory.conversation.compaction import Compaction as Compaction
    from ibidem.memory.conversation.context import Context as Context
    from ibidem.memory.conversation.conversations import Conversations as Conversations
    from ibidem.memory.conversation.extracted_facts import (
        facts_from_messages as facts_from_messages,
    )
    from ibidem.memory.conversation.message import Message as Message
    from ibidem.memory.conversation.message import Stored as Stored
    from ibidem.memory.conversation.message import ThreadInfo as ThreadInfo
    from ibidem.memory.conversation.message import thread_id as thread_id
    from ibidem.memory.conversation.selection import Selection as Selection
    from ibidem.memory.conversation.summary import summary_of as summary_of
    from ibidem.memory.conversation.units import Unit as Unit
    from ibidem.memory.graph.consolidate import Consolidated as Consolidated
    from ibidem.memory.graph.maintain import Maintained as Maintained
    from ibidem.memory.graph.memory import GraphMemory as GraphMemory
    from ibidem.memory.graph.metrics import Metrics as Metrics
    from ibidem.memory.graph.propose import Proposal as Proposal
    from ibidem.memory.graph.propose import Triple as Triple
    from ibidem.memory.recall.anomalies import Anomaly as Anomaly
    from ibidem.memory.recall.anomalies import Oddity as Oddity
    from ibidem.memory.recall.anomalies import anomalies as anomalies
    from ibidem.memory.recall.feedback import Feedback as Feedback
    from ibidem.memory.recall.procedures import Attempt as Attempt
    from ibidem.memory.recall.procedures import Offer as Offer
    from ibidem.memory.recall.procedures import add_procedure as add_procedure
    from ibidem.memory.recall.procedures import mine as mine
    from ibidem.memory.recall.procedures import offers as offers
    from ibidem.memory.recall.procedures import set_status as set_status
    from ibidem.memory.recall.recall import Disclosure as Disclosure
    from ibidem.memory.recall.recall import Recollection as Recollection
    from ibidem.memory.recall.recall import recall as recall
    from ibidem.objects.cid import Cid as Cid
    from ibidem.objects.cid import CommitCid as CommitCid
    from ibidem.objects.cid import NodeCid as NodeCid
    from ibidem.objects.cid import ReceiptCid as ReceiptCid
    from ibidem.objects.cid import ResultCid as ResultCid
    from ibidem.objects.cid import RootCid as RootCid
    from ibidem.objects.commit import Commit as Commit
    from ibidem.objects.config import Config as Config
    from ibidem.objects.config import Model as Model
    from ibidem.objects.derive import node_id as node_id
    from ibidem.objects.edge import Edge as Edge
    from ibidem.objects.erasure import Erasure as Erasure
    from ibidem.objects.errors import ConflictError as ConflictError
    from ibidem.objects.errors import CorruptError as CorruptError
    from ibidem.objects.errors import ErasedError as ErasedError
    from ibidem.objects.errors import ErrorKind as ErrorKind
    from ibidem.objects.errors import FormatError as FormatError
    from ibidem.objects.errors import IbidemError as IbidemError
    from ibidem.objects.errors import IndexUnavailableError as IndexUnavailableError
    from ibidem.objects.errors import InvalidInputError as InvalidInputError
    from ibidem.objects.errors import NotFoundError as NotFoundError
    from ibidem.objects.errors import RecordedError as RecordedError
    from ibidem.objects.errors import RemoteError as RemoteError
    from ibidem.objects.errors import ReplayError as ReplayError
    from ibidem.objects.errors import RunMismatchError as RunMismatchError
    from ibidem.objects.errors import StorageError as StorageError
    from ibidem.objects.errors import UnrecordedError as UnrecordedError
    from ibidem.objects.ids import EdgeId as EdgeId
    from ibidem.objects.ids import NodeId as NodeId
    from ibidem.objects.location import Location as Location
    from ibidem.objects.node import Node as Node
    from ibidem.objects.parallel import set_threads as set_threads
    from ibidem.objects.root import Root as Root
    from ibidem.objects.tombstone import Tombstone as Tombstone
    from ibidem.objects.vector import Sparse as Sparse
    from ibidem.objects.vector import Vector as Vector
    from ibidem.repo.api.history import History as History
    from ibidem.repo.api.keys import Keys as Keys
    from ibidem.repo.api.maintenance import Maintenance as Maintenance
    from ibidem.repo.api.notes import NoteSpaces as NoteSpaces
    from ibidem.repo.api.receipts import Receipts as Receipts
    from ibidem.repo.api.runs import Runs as Runs
    from ibidem.repo.api.stage import Stage as Stage
    from ibidem.repo.api.sync import Sync as Sync
    from ibidem.repo.embed_nodes import EmbedReport as EmbedReport
    from ibidem.repo.encode_nodes import SparseReport as SparseReport
    from ibidem.repo.erasure.erase import EraseReport as EraseReport
    from ibidem.repo.events import Event as Event
    from ibidem.repo.history.bisect import Bisection as Bisection
    from ibidem.repo.history.blame import Blame as Blame
    from ibidem.repo.history.compare import Comparison as Comparison
    from ibidem.repo.history.documents import DocumentChange as DocumentChange
    from ibidem.repo.history.log import Change as Change
    from ibidem.repo.history.newest_nodes import WrittenNode as WrittenNode
    from ibidem.repo.maintenance.gc import GcReport as GcReport
    from ibidem.repo.maintenance.head_index import HeadIndex as HeadIndex
    from ibidem.repo.maintenance.head_index import IndexState as IndexState
    from ibidem.repo.maintenance.report import Fault as Fault
    from ibidem.repo.maintenance.report import FaultKind as FaultKind
    from ibidem.repo.maintenance.report import FsckReport as FsckReport
    from ibidem.repo.merge.branch import Merged as Merged
    from ibidem.repo.merge.branch import Outcome as Outcome
    from ibidem.repo.merge.conflicts import OpenConflict as OpenConflict
    from ibidem.repo.merge.rebase import AppliedCommits as AppliedCommits
    from ibidem.repo.notes import Notes as Notes
    from ibidem.repo.open import init as init
    from ibidem.repo.open import open as open  # noqa: A004
    from ibidem.repo.receipts.kept import KeptReceipt as KeptReceipt
    from ibidem.repo.repository import Repository as Repository
    from ibidem.repo.retrieval.listing import Page as Page
    from ibidem.repo.retrieval.pack_stream import PackStream as PackStream
    from ibidem.repo.retrieval.retriever import Retriever as Retriever
    from ibidem.repo.retrieval.token_estimators import TiktokenEstimator as TiktokenEstimator
    from ibidem.repo.retrieval.token_estimators import TokenizersEstimator as TokenizersEstimator
    from ibidem.repo.revision import Revision as Revision
    from ibidem.repo.runs.fork import Fork as Fork
    from ibidem.repo.runs.recorder import Run as Run
    from ibidem.repo.runs.recording import RunSummary as RunSummary
    from ibidem.repo.runs.replay import Replay as Replay
    from ibidem.repo.runs.session import OpenEvent as OpenEvent
    from ibidem.repo.statistics import RepositoryStats as RepositoryStats
    from ibidem.repo.sync.clone import clone as clone
    from ibidem.repo.sync.fetched import FetchedRef as FetchedRef
    from ibidem.repo.sync.report import CopyReport as CopyReport
    from ibidem.repo.transaction.transaction import Transaction as Transaction
    from ibidem.repo.union import Union as Union
    from ibidem.repo.union import union as union
    from ibidem.repo.vector_audit import VectorAudit as VectorAudit
    from ibidem.repo.viewer.exposure import Exposure as Exposure
    from ibidem.repo.viewer.exposure import exposure_of as exposure_of
    from ibidem.repo.viewer.notes import ViewerNotes as ViewerNotes
    from ibidem.repo.viewer.notes import ViewerSpace as ViewerSpace
    from ibidem.repo.viewer.repository import ViewerReceipts as ViewerReceipts
    from ibidem.repo.viewer.repository import ViewerRepository as ViewerRepository
    from ibidem.repo.viewer.revision import ViewerRevision as ViewerRevision
    from ibidem.repo.viewer.transaction import ViewerTransaction as ViewerTransaction
    from ibidem.retrieve.access.policy import ALL as ALL
    from ibidem.retrieve.access.policy import ALL_SCOPES as ALL_SCOPES
    from ibidem.retrieve.access.policy import Level as Level
    from ibidem.retrieve.access.policy import Reveal as Reveal
    from ibidem.retrieve.access.policy import TrustPolicy as TrustPolicy
    from ibidem.retrieve.access.policy import Viewer as Viewer
    from ibidem.retrieve.answer.answer import Answer as Answer
    from ibidem.retrieve.answer.answer import AnswerKind as AnswerKind
    from ibidem.retrieve.answer.drops import Drop as Drop
    from ibidem.retrieve.answer.drops import DropReason as DropReason
    from ibidem.retrieve.answer.item import Item as Item
    from ibidem.retrieve.answer.lane_score import LaneScore as LaneScore
    from ibidem.retrieve.answer.protocol import AnswerProtocol as AnswerProtocol
    from ibidem.retrieve.answer.receipt import Receipt as Receipt
    from ibidem.retrieve.answer.sealed import SealedReceipt as SealedReceipt
    from ibidem.retrieve.answer.warning import AnswerWarning as AnswerWarning
    from ibidem.retrieve.answer.warning import WarningCode as WarningCode
    from ibidem.retrieve.context.navigation import Navigation as Navigation
    from ibidem.retrieve.context.pack import Hit as Hit
    from ibidem.retrieve.context.pack import Member as Member
    from ibidem.retrieve.context.pack import Pack as Pack
    from ibidem.retrieve.context.prompt import Citation as Citation
    from ibidem.retrieve.context.prompt import Prompt as Prompt
    from ibidem.retrieve.context.prompt import citations_of as citations_of
    from ibidem.retrieve.context.prompt import fence_of as fence_of
    from ibidem.retrieve.graph.partition import Communities as Communities
    from ibidem.retrieve.graph.partition import Community as Community
    from ibidem.retrieve.graph.paths import GraphPath as GraphPath
    from ibidem.retrieve.query.query import Query as Query
    from ibidem.retrieve.recall.direct_answer import DirectAnswer as DirectAnswer
    from ibidem.retrieve.records.item import RecordGraph as RecordGraph
    from ibidem.retrieve.records.item import RecordItem as RecordItem
    from ibidem.retrieve.records.item import Relation as Relation
    from ibidem.retrieve.records.record import Record as Record
    from ibidem.retrieve.records.record import RecordType as RecordType
    from ibidem.retrieve.records.record import Status as Status
    from ibidem.retrieve.rerank import Reranker as Reranker
    from ibidem.retrieve.schema import PropertySchema as PropertySchema
    from ibidem.retrieve.schema import Schema as Schema
    from ibidem.retrieve.tokens import HEURISTIC as HEURISTIC
    from ibidem.retrieve.tokens import TokenEstimator as TokenEstimator
    from ibidem.store.lmdb.store import LmdbStore as LmdbStore
    from ibidem.store.memory import MemoryStore as MemoryStore
    from ibidem.store.protocol import Store as Store
    from ibidem.store.proxies import set_proxies as set_proxies

__version__ = "0.1.0"
_HOMES = {
    "embed.http": "Service",
    "embed.language_model": "LanguageModel RemoteLanguageModel",
    "embed.local": "OnnxEmbedder SentenceTransformersEmbedder",
    "embed.minilm": "ExactMiniLM",
    "embed.protocol": "Embedder SparseEncoder",
    "embed.remote": "OllamaEmbedder OpenAiEmbedder",
    "embed.remote_reranker": "RemoteReranker",
    "embed.remote_sparse": "RemoteSparseEncoder",
    "ingest.ingest": "ingest_text",
    "ingest.ndjson": "read_lines",
    "ingest.record": (
        "ConfigRecord EdgeRecord ModelRecord NodeRecord SparseRecord TombstoneRecord VectorRecord "
        "format_record parse_record"
    ),
    "ingest.record_writer": "RecordWriter",
    "ingest.report": "IngestReport Progress",
    "ingest.secret": "secret_in without_secrets",
    "memory.conversation.changes": "Written",
    "memory.conversation.compaction": "Compaction",
    "memory.conversation.context": "Context",
    "memory.conversation.conversations": "Conversations",
    "memory.conversation.message": "Message Stored ThreadInfo thread_id",
    "memory.conversation.selection": "Selection",
    "memory.conversation.extracted_facts": "facts_from_messages",
    "memory.conversation.summary": "summary_of",
    "memory.conversation.units": "Unit",
    "memory.graph.consolidate": "Consolidated",
    "memory.graph.memory": "GraphMemory",
    "memory.graph.maintain": "Maintained",
    "memory.graph.metrics": "Metrics",
    "memory.graph.propose": "Proposal Triple",
    "memory.recall.anomalies": "Anomaly Oddity anomalies",
    "memory.recall.feedback": "Feedback",
    "memory.recall.procedures": "Attempt Offer add_procedure mine offers set_status",
    "memory.recall.recall": "Disclosure Recollection recall",
    "objects.cid": "Cid CommitCid NodeCid ReceiptCid ResultCid RootCid",
    "objects.commit": "Commit",
    "objects.config": "Config Model",
    "objects.derive": "node_id",
    "objects.edge": "Edge",
    "objects.erasure": "Erasure",
    "objects.errors": (
        "ConflictError CorruptError ErasedError ErrorKind FormatError IbidemError "
        "IndexUnavailableError InvalidInputError NotFoundError RecordedError RemoteError "
        "ReplayError RunMismatchError StorageError UnrecordedError"
    ),
    "objects.ids": "EdgeId NodeId",
    "objects.location": "Location",
    "objects.node": "Node",
    "objects.parallel": "set_threads",
    "store.proxies": "set_proxies",
    "objects.root": "Root",
    "objects.tombstone": "Tombstone",
    "objects.vector": "Sparse Vector",
    "repo.api.history": "History",
    "repo.api.keys": "Keys",
    "repo.api.maintenance": "Maintenance",
    "repo.api.notes": "NoteSpaces",
    "repo.api.receipts": "Receipts",
    "repo.api.runs": "Runs",
    "repo.api.stage": "Stage",
    "repo.api.sync": "Sync",
    "repo.embed_nodes": "EmbedReport",
    "repo.encode_nodes": "SparseReport",
    "repo.erasure.erase": "EraseReport",
    "repo.events": "Event",
    "repo.history.bisect": "Bisection",
    "repo.history.blame": "Blame",
    "repo.history.compare": "Comparison",
    "repo.history.documents": "DocumentChange",
    "repo.history.log": "Change",
    "repo.history.newest_nodes": "WrittenNode",
    "repo.maintenance.gc": "GcReport",
    "repo.maintenance.head_index": "HeadIndex IndexState",
    "repo.maintenance.report": "Fault FaultKind FsckReport",
    "repo.merge.branch": "Merged Outcome",
    "repo.merge.conflicts": "OpenConflict",
    "repo.merge.rebase": "AppliedCommits",
    "repo.notes": "Notes",
    "repo.receipts.kept": "KeptReceipt",
    "repo.open": "init open",
    "repo.repository": "Repository",
    "repo.retrieval.listing": "Page",
    "repo.retrieval.pack_stream": "PackStream",
    "repo.retrieval.retriever": "Retriever",
    "repo.retrieval.token_estimators": "TiktokenEstimator TokenizersEstimator",
    "repo.revision": "Revision",
    "repo.runs.fork": "Fork",
    "repo.runs.recorder": "Run",
    "repo.runs.recording": "RunSummary",
    "repo.runs.replay": "Replay",
    "repo.runs.session": "OpenEvent",
    "repo.statistics": "RepositoryStats",
    "repo.sync.clone": "clone",
    "repo.sync.fetched": "FetchedRef",
    "repo.sync.report": "CopyReport",
    "repo.transaction.transaction": "Transaction",
    "repo.union": "Union union",
    "repo.viewer.exposure": "Exposure exposure_of",
    "repo.viewer.notes": "ViewerNotes ViewerSpace",
    "repo.viewer.repository": "ViewerReceipts ViewerRepository",
    "repo.viewer.revision": "ViewerRevision",
    "repo.viewer.transaction": "ViewerTransaction",
    "repo.vector_audit": "VectorAudit",
    "retrieve.access.policy": "ALL ALL_SCOPES Level Reveal TrustPolicy Viewer",
    "retrieve.answer.answer": "Answer AnswerKind",
    "retrieve.answer.drops": "Drop DropReason",
    "retrieve.answer.item": "Item",
    "retrieve.answer.lane_score": "LaneScore",
    "retrieve.answer.protocol": "AnswerProtocol",
    "retrieve.answer.receipt": "Receipt",
    "retrieve.answer.sealed": "SealedReceipt",
    "retrieve.answer.warning": "AnswerWarning WarningCode",
    "retrieve.context.navigation": "Navigation",
    "retrieve.context.pack": "Hit Member Pack",
    "retrieve.context.prompt": "Citation Prompt citations_of fence_of",
    "retrieve.graph.paths": "GraphPath",
    "retrieve.query.query": "Query",
    "retrieve.recall.direct_answer": "DirectAnswer",
    "retrieve.records.item": "RecordGraph RecordItem Relation",
    "retrieve.records.record": "Record RecordType Status",
    "retrieve.rerank": "Reranker",
    "retrieve.graph.partition": "Communities Community",
    "retrieve.schema": "PropertySchema Schema",
    "retrieve.tokens": "HEURISTIC TokenEstimator",
    "store.lmdb.store": "LmdbStore",
    "store.memory": "MemoryStore",
    "store.protocol": "Store",
}
"""The public names by the module that has them, as the imports above."""
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_MODULES = ("aio", "errors")
__all__ = [*_HOME_OF, *_MODULES, "__version__"]

_LAYERS = {
    "conversations": ("ibidem.memory.conversation.conversations", "Conversations"),
    "_sent_conversations": ("ibidem.memory.conversation.served", "ServedConversations"),
    "records": ("ibidem.memory.graph.memory", "GraphMemory"),
    "feedback": ("ibidem.memory.recall.feedback", "Feedback"),
    "recall": ("ibidem.memory.recall.recall", "recall"),
    "add": ("ibidem.memory.graph.facts", "add"),
    "ingest": ("ibidem.ingest.add_paths", "ingest_paths"),
    "embed": ("ibidem.repo.embed_nodes", "embed_staged"),
}
"""What `repo.layers` adds to repositories and transactions, and where it is."""


def _finder(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(import_module(module), name)


for _attribute, _where in _LAYERS.items():
    layers.register(_attribute, _finder(*_where))
notebook.register(_finder("ibidem.pages.notebook", "notebook"))


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"ibidem.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'ibidem' has no attribute {name!r}")
    value = getattr(import_module(f"ibidem.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)

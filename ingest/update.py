"""Writes one document into a transaction: only parts that are new, changed or removed.

The plan is made before anything is written, from the document's tree in the transaction. Ingest
owns the fields that it derives (type, summary, the properties it set, children, tail, and the
header of a table as context sentence); a property, context sentence or content from another writer
is kept. Parts that the source no longer has are removed with their edges.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from ibidem.index.analysis import HOME
from ibidem.ingest.document import EXTRACTION_PROPS, stored_name
from ibidem.ingest.draft import HEADER_DIGEST, Draft, header_digest
from ibidem.ingest.formats import MARKDOWN, SOURCE_PROPS
from ibidem.ingest.front_matter import read_front_matter
from ibidem.ingest.mark import BOM
from ibidem.objects.codec import Value, encode
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.ids import NodeId
from ibidem.objects.location import DOCUMENT, parts_of
from ibidem.objects.node import Node
from ibidem.objects.record import record

if TYPE_CHECKING:
    from ibidem.repo.transaction.transaction import Transaction

_OWNED: Mapping[str, frozenset[str]] = {
    "Section": frozenset({"heading_level", HOME}),
    "Passage": frozenset({"format", "language", "targets", HEADER_DIGEST, HOME}),
}


@record(frozen=False)
class Change:
    """The changes that ingesting one document makes."""

    added: list[Draft] = field(default_factory=list)
    changed: list[tuple[Draft, Node]] = field(default_factory=list)
    """Each changed draft, with the existing node."""
    removed: list[NodeId] = field(default_factory=list)
    forgotten: list[NodeId] = field(default_factory=list)
    """Parts with a tombstone that the source no longer has; they stay."""
    before: Mapping[str, Value] = field(default_factory=dict)
    """The properties of the document before."""
    is_new: bool = False

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)


def plan(tx: Transaction, drafts: list[Draft]) -> Change:
    """Returns the changes after which the transaction has this document (the last draft).

    A forgotten part that the source no longer has is left unchanged: its tombstone must not be
    lost. A source that has it again lists it, and it stays hidden.

    Raises:
        InvalidInputError: kind `forgotten`: a node that would change has a tombstone; or no caller
            could be allowed to see the document under the trust policy.
    """
    before = tx.find_node(drafts[-1].id)
    others = {} if before is None else other_properties(before)
    if tx.trust_policy is not None:
        tx.trust_policy.check_labels({**others, **drafts[-1].props})
    wanted = {draft.id for draft in drafts}
    old: dict[NodeId, Node] = {}
    if before is None:
        change = Change(is_new=True)
        found = {each.id: tx.find_node(each.id) for each in drafts if tx.is_tombstoned(each.id)}
    else:
        _check_key(before, drafts[-1])
        change = Change(before=before.props)
        old = _replaced(tx, (before,), wanted)
        found = {each.id: old.get(each.id) or tx.find_node(each.id) for each in drafts}
        if unlisted := [node for id_, node in found.items() if node is not None and id_ not in old]:
            old = _replaced(tx, (before, *unlisted), wanted)
    for draft in drafts:
        node = found.get(draft.id)
        if node is None:
            change.added.append(draft)
            continue
        _check_key(node, draft)
        if not _is_same(node, draft):
            change.changed.append((draft, node))
            if tx.is_tombstoned(draft.id):
                raise InvalidInputError(
                    f"node {draft.id} ({draft.ntype}) would change, but has a tombstone",
                    kind=ErrorKind.FORGOTTEN,
                    hint="untombstone it, or take the file out of what is ingested",
                )
    for node_id in old:
        if node_id not in wanted:
            (change.forgotten if tx.is_tombstoned(node_id) else change.removed).append(node_id)
    return change


def apply(tx: Transaction, change: Change) -> None:
    """Writes a plan: parts before the parents that list them, removals last."""
    for draft in change.added:
        tx.add_node(
            draft.ntype,
            summary=draft.summary,
            context_sentence=draft.header,
            props=draft.props,
            key=draft.key,
            namespace=draft.namespace,
            children=draft.children,
            tail=draft.tail,
            replace=True,
        )
    for draft, node in change.changed:
        tx.update_node(
            draft.id,
            summary=draft.summary,
            context_sentence=node.context_sentence
            if has_own_context(node)
            else draft.header or None,
            props={**other_properties(node), **draft.props},
            children=draft.children,
            tail=draft.tail,
        )
    for node_id in change.removed:
        tx.remove_node(node_id)


def has_own_context(node: Node) -> bool:
    """Returns whether another writer gave a node its context sentence, or removed the header that
    ingest gave it."""
    digest = node.props.get(HEADER_DIGEST)
    context = node.context_sentence or ""
    return bool(context) if digest is None else digest != header_digest(context)


def other_properties(node: Node) -> dict[str, Value]:
    """Returns the properties of a node that another writer gave it."""
    owned = _owned(node)
    return {name: value for name, value in node.props.items() if name not in owned}


def _replaced(
    tx: Transaction, values: Sequence[Node], wanted: Container[NodeId]
) -> dict[NodeId, Node]:
    """Returns a document and the parts that are removed if its new source lacks them.

    Args:
        values: the document, and those parts that only a conflict lists and the new source has;
            what these list is replaced too.
        wanted: what the new source has. Another part is removed with the conflict about it, and so
            is what only a side of that conflict lists.
    """

    def followed(part: Node) -> Iterable[Node]:
        if part is values[0]:
            return values
        return (part,) if part.id in wanted else tx.values_of(part)

    return {part.id: part for part in parts_of(values[0], tx.find_node, values=followed)}


def _check_key(node: Node, draft: Draft) -> None:
    if node.key != (draft.namespace, draft.key):
        raise InvalidInputError(
            f"node {node.id} has the key {node.key!r:.80}, "
            f"expected {(draft.namespace, draft.key)!r:.80}",
            kind=ErrorKind.ID_COLLISION,
            hint="another node stands under the id of this document: remove it, or rename the file",
        )


def _is_same(node: Node, draft: Draft) -> bool:
    if (
        (node.summary or "") != draft.summary
        or node.ntype != draft.ntype
        or node.tail != draft.tail
        or node.children != draft.children
        or (node.context_sentence != (draft.header or None) and not has_own_context(node))
    ):
        return False
    owned = _owned(node)
    held = {
        name: value for name, value in node.props.items() if name in owned or name in draft.props
    }
    return held == draft.props and (
        all(type(value) is str for value in held.values())
        or encode(held) == encode(dict(draft.props))
    )


def _owned(node: Node) -> frozenset[str]:
    """Returns the properties that ingest gave a node; those of a document depend on its front
    matter and on whether it was extracted."""
    if node.key is None or node.key[0] != DOCUMENT:
        return _OWNED.get(node.ntype, frozenset())
    owned = frozenset({"source", "media_type", "language", "links", HOME, *EXTRACTION_PROPS})
    if node.props.get("media_type") != MARKDOWN:
        return owned | SOURCE_PROPS if "source_sha256" in node.props else owned
    lead = node.children[0].lead if node.children else node.tail
    front = read_front_matter(lead, len(BOM) if lead.startswith(BOM) else 0)
    return owned | frozenset(map(stored_name, front.values))

"""Hypothesis strategies for values of the codec and for blocks."""

from __future__ import annotations

from hypothesis import strategies as st

from ibidem.objects.child import Child
from ibidem.objects.cid import BlobCid, Cid
from ibidem.objects.derive import edge_id, node_id
from ibidem.objects.edge import Edge
from ibidem.objects.ids import NodeId
from ibidem.objects.node import Node

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: str(x) != "-0.0")
INTEGERS = st.integers(-(1 << 64), (1 << 64) - 1)
CIDS = st.builds(Cid.of, st.binary(max_size=4)) | st.builds(BlobCid.of, st.binary(max_size=4))
SCALARS = st.none() | st.booleans() | INTEGERS | FLOATS | TEXTS | st.binary(max_size=30) | CIDS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)
MAPS = st.dictionaries(NAMES, VALUES, max_size=4)
NODE_IDS = st.builds(NodeId, st.binary(min_size=16, max_size=16))
COUNTS = st.integers(0, (1 << 64) - 1)
CHILDREN = st.builds(Child, NODE_IDS, TEXTS, st.integers(0, 1 << 20), COUNTS)
EXTRA = st.dictionaries(NAMES.map(lambda name: "x-" + name), VALUES, max_size=2)


@st.composite
def nodes(draw):
    """Any node: keyed or not, with content inline or in parts."""
    key = draw(st.none() | st.tuples(TEXTS, VALUES))
    blobs = st.lists(st.builds(BlobCid.of, st.binary(max_size=4)), max_size=3).map(tuple)
    return Node(
        node_id(*key) if key else draw(NODE_IDS),
        draw(NAMES),
        summary=draw(st.none() | TEXTS),
        context_sentence=draw(st.none() | TEXTS),
        props=draw(MAPS),
        content=draw(st.none() | st.binary(max_size=50) | blobs),
        key=key,
        children=tuple(draw(st.lists(CHILDREN, max_size=3, unique_by=lambda child: child.id))),
        tail=draw(TEXTS),
        extra=draw(EXTRA),
    )


@st.composite
def edges(draw):
    """Any edge."""
    src, dst, etype = draw(NODE_IDS), draw(NODE_IDS), draw(NAMES)
    key = draw(VALUES)
    weight = draw(FLOATS)
    return Edge(
        edge_id(src, etype, dst, key), etype, src, dst, weight, draw(MAPS), key, draw(EXTRA)
    )

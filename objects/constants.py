"""Every number that defines the format, each with its section in `spec/format.md`.

Changing one of these changes which bytes are valid or which identifier they get, so a change is a
new version of the format. Tuning constants live beside their use, not here.
"""

from __future__ import annotations

FORMAT_VERSION = 1
"""The `v` of every block that this program makes anew. Spec: format 8."""

SEMANTICS_VERSION = 1
"""Version of the canonical scores that a new root names in its config. Spec: format 5.6."""

DEPTH_MAX = 64
"""How many maps and lists may stand inside each other; a scalar has depth 0. Spec: format 7."""

BLOCK_BYTES_MAX = 1 << 20
"""Size of a DAG-CBOR block. Spec: format 7."""

RAW_BYTES_MAX = 1 << 20
"""Size of a raw block. Spec: format 7."""

CAR_HEADER_BYTES_MAX = 64 << 10
"""Size of the header of a CAR file. Spec: format 7."""

CONTENT_INLINE_BYTES_MAX = 4 << 10
"""Content up to this size stands in the node, more in raw blocks. Spec: format 5.1."""

CONTENT_PART_BYTES = RAW_BYTES_MAX
"""Long content is cut into raw blocks of this size, the last one shorter. Spec: format 5.1."""

CONTENT_PARTS_MAX = 16
"""Raw blocks that the content of a node names, so that it has 16 MiB at most. Spec: format 7."""

CONTENT_BYTES_MAX = CONTENT_PARTS_MAX * CONTENT_PART_BYTES
"""Size of the content of a node. Spec: format 7."""

STEP_PARTS_MAX = 1
"""Raw blocks that a request or an answer in a step names: it is one value, so as large as a block.
Spec: format 7."""

DOCUMENT_BYTES_MAX = 64 << 20
"""Size of the source of a document or of a part of one. Spec: format 7."""

DOCUMENT_PARTS_MAX = 1 << 20
"""Parts of a document, each counted as often as it is listed. Spec: format 7."""

DOCUMENT_DEPTH_MAX = 64
"""Parts of a document inside each other. Spec: format 7."""

INTEGER_MIN = -(1 << 64)
"""The smallest integer that a CBOR head can carry. Spec: format 4."""

INTEGER_MAX = (1 << 64) - 1
"""The largest integer that a CBOR head can carry. Spec: format 4."""

TIME_MIN = -(1 << 63)
"""Earliest time, in microseconds since 1970 UTC. Spec: format 1."""

TIME_MAX = (1 << 63) - 1
"""Latest time, in microseconds since 1970 UTC. Spec: format 1."""

DIGEST_BYTES = 32
"""Size of a blake3 digest. Spec: format 1."""

CONFLICT_LINKS_MAX = 64
"""Sides, and nodes, that a conflict names; of more, the smallest. Spec: format 5.13."""

VECTOR_DIM_MAX = 65_536
"""Components of a dense vector. Spec: format 5.3."""

NODE_ID_DOMAIN = b"ibidem:node:1\x00"
"""Prefix of the bytes hashed into the id of a node that has a key. Spec: format 3."""

NODE_CONTENT_ID_DOMAIN = b"ibidem:node-content:1\x00"
"""Prefix of the bytes hashed into the id of a node without a key. Spec: format 3."""

NODE_ACT_ID_DOMAIN = b"ibidem:node-act:1\x00"
"""Prefix of the bytes hashed into the end of the id of a node added as new. Spec: format 3."""

EVENT_ID_DOMAIN = b"ibidem:event:1\x00"
"""Prefix of the bytes hashed into the end of an event's id. Spec: memory 1."""

EVENT_PLACE_BYTES = 6
"""Of an event's id: its place among the events, big-endian. Spec: memory 1."""

EDGE_ID_DOMAIN = b"ibidem:edge:1\x00"
"""Prefix of the bytes hashed into an edge's id. Spec: format 3."""

REF_KEY_DOMAIN = b"ibidem:ref:1\x00"
"""Prefix of the bytes hashed into a ref's tree key. Spec: format 3."""

TREE_ENTRIES_MAX = 256
"""Entries of a tree block. Spec: format 6.3."""

TREE_BOUNDARY_BELOW = 1 << 58
"""A key whose hash is below this ends its tree block: one key in 64. Spec: format 6.3."""

TREE_LEVEL_MAX = 64
"""Level of a tree block. Spec: format 6.1."""

TREE_KEY_BYTES_MAX = 64
"""Width of a tree's keys. Spec: format 6.1."""

BM25_K1, BM25_B = 1.2, 0.7
"""The parameters that questions have by default, and that the impacts of an index are made for.
Spec: retrieval 3.3."""

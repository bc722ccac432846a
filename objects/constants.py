"""Every number that defines the format, each with its section in `spec/format.md`.

Changing one of these changes which bytes are valid or which identifier they get, so a change is a
new version of the format. Tuning constants are defined next to their use, not here.
"""

from __future__ import annotations

FORMAT_VERSION = 1
"""The `v` of every block that this program creates. Spec: format 8."""

SEMANTICS_VERSION = 1
"""Version of the canonical scores that a new root names in its config. Spec: format 5.6."""

DEPTH_MAX = 64
"""Maximum nesting depth of maps and lists; a scalar has depth 0. Spec: format 7."""

BLOCK_BYTES_MAX = 1 << 20
"""Maximum size of a DAG-CBOR block. Spec: format 7."""

RAW_BYTES_MAX = 1 << 20
"""Maximum size of a raw block. Spec: format 7."""

CAR_HEADER_BYTES_MAX = 64 << 10
"""Maximum size of the header of a CAR file. Spec: format 7."""

CONTENT_INLINE_BYTES_MAX = 4 << 10
"""Content up to this size is stored in the node, larger content in raw blocks. Spec: format 5.1."""

CONTENT_PART_BYTES = RAW_BYTES_MAX
"""Long content is cut into raw blocks of this size, the last one shorter. Spec: format 5.1."""

CONTENT_PARTS_MAX = 16
"""Maximum number of raw blocks in a node's content, which limits it to 16 MiB. Spec: format 7."""

CONTENT_BYTES_MAX = CONTENT_PARTS_MAX * CONTENT_PART_BYTES
"""Maximum size of a node's content. Spec: format 7."""

STEP_PARTS_MAX = 1
"""Maximum number of raw blocks of a request or an answer in a step: each is one value, so at most
as large as a block. Spec: format 7."""

DOCUMENT_BYTES_MAX = 64 << 20
"""Maximum size of the source of a document or of one of its parts. Spec: format 7."""

DOCUMENT_PARTS_MAX = 1 << 20
"""Maximum number of parts of a document, each counted as often as it is listed. Spec: format 7."""

DOCUMENT_DEPTH_MAX = 64
"""Maximum nesting depth of the parts of a document. Spec: format 7."""

INTEGER_MIN = -(1 << 64)
"""The smallest integer that a CBOR head can carry. Spec: format 4."""

INTEGER_MAX = (1 << 64) - 1
"""The largest integer that a CBOR head can carry. Spec: format 4."""

TIME_MIN = -(1 << 63)
"""Earliest time, in microseconds since 1970 UTC. Spec: format 1."""

TIME_MAX = (1 << 63) - 1
"""Latest time, in microseconds since 1970 UTC. Spec: format 1."""

VALID_FROM, VALID_TO = "valid_from", "valid_to"
"""The properties between which a node or an edge holds. Spec: retrieval 3.2.1."""

DIGEST_BYTES = 32
"""Size of a blake3 digest. Spec: format 1."""

CONFLICT_LINKS_MAX = 64
"""Maximum number of sides, and of nodes, that a conflict names; if there are more, the smallest are
kept. Spec: format 5.13."""

VECTOR_DIM_MAX = 65_536
"""Maximum number of components of a dense vector. Spec: format 5.3."""

NODE_ID_DOMAIN = b"ibidem:node:1\x00"
"""Prefix of the bytes hashed into the id of a node that has a key. Spec: format 3."""

NODE_CONTENT_ID_DOMAIN = b"ibidem:node-content:1\x00"
"""Prefix of the bytes hashed into the id of a node without a key. Spec: format 3."""

NODE_ACT_ID_DOMAIN = b"ibidem:node-act:1\x00"
"""Prefix of the bytes hashed into the end of the id of a node added as new. Spec: format 3."""

EVENT_ID_DOMAIN = b"ibidem:event:1\x00"
"""Prefix of the bytes hashed into the end of an event's id. Spec: memory 1."""

EVENT_PLACE_BYTES = 6
"""Bytes of an event's id that hold its position in the history of the notes, big-endian. Spec:
memory 1."""

EDGE_ID_DOMAIN = b"ibidem:edge:1\x00"
"""Prefix of the bytes hashed into an edge's id. Spec: format 3."""

REF_KEY_DOMAIN = b"ibidem:ref:1\x00"
"""Prefix of the bytes hashed into a ref's tree key. Spec: format 3."""

TREE_ENTRIES_MAX = 256
"""Maximum number of entries of a tree block. Spec: format 6.3."""

TREE_BOUNDARY_BELOW = 1 << 58
"""A key whose hash is below this ends its tree block: one key in 64. Spec: format 6.3."""

TREE_LEVEL_MAX = 64
"""Maximum level of a tree block. Spec: format 6.1."""

TREE_KEY_BYTES_MAX = 64
"""Maximum width of a tree's keys. Spec: format 6.1."""

BM25_K1, BM25_B = 1.2, 0.7
"""Default BM25 parameters of a question; the impacts of an index are computed for them. Spec:
retrieval 3.3."""

COUNT_MAX = 2**53
"""The greatest count that an option takes: integers to here are exact as floats too."""

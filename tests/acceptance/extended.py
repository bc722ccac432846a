"""Copies of the program with something added to the tables of the format."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import ibidem

Insertions = Mapping[str, Sequence[tuple[str, str]]]
"""By file: what is put in, each before a line that stands there once."""

NODE_FIELDS: Insertions = {
    "objects/fields.py": [
        (
            '    Field("tail", TEXT, optional=True, json_name=None),\n',
            """    Field("subtitle", TEXT, optional=True, indexed=True),
    Field("cover", link_to(BlobCid), optional=True, link=True),
""",
        ),
    ],
    "objects/node.py": [
        (
            "    extra: Mapping[str, Any] = field(default_factory=empty)\n",
            "    subtitle: str | None = None\n    cover: BlobCid | None = None\n",
        ),
    ],
}
"""Two fields of a node: a text, and a link to a raw block."""

FAMILY: Insertions = {
    "objects/cid.py": [
        (
            "class TombstoneCid(Cid):\n",
            '''class BinaryCid(Cid):
    """Links to a binary vector block."""

    __slots__ = ()


''',
        ),
    ],
    "objects/fields.py": [
        (
            "TOMBSTONE = Table(",
            """BINARY = Table(
    "binary",
    Field("bits", BYTES, text=False),
    Field("of", DIGEST, text=False),
)
""",
        ),
        (
            '    Field("tombstones", TREE, link=True),\n',
            '    Field("binary", TREES, optional=True, link=True),\n',
        ),
        ("        TOMBSTONE,\n", "        BINARY,\n"),
    ],
    "objects/root.py": [
        (
            ')\n"""Every tree that a root has',
            '    Family("binary", "binary", "binary vector", is_named=True, is_attached=True),\n',
        ),
        (
            "    config: Mapping[str, Any] = field",
            "    binary: Mapping[str, TreeCid] = field(default_factory=empty)\n",
        ),
    ],
    "objects/vector.py": [
        (
            "VECTORS: Mapping[",
            '''@block_of(BINARY)
class Binary(NodeVector):
    """One vector of bits."""

    CID: ClassVar[type[BinaryCid]] = BinaryCid

    bits: bytes
    of: bytes
    extra: Mapping[str, Any] = field(default_factory=empty)

    def made_from(self, of: bytes) -> Self:
        return type(self)(self.bits, of, self.extra)

    def check_components(self) -> None:
        require(self.bits, "binary", "bits", self.bits, "one byte or more")


''',
        ),
        ("Sparse)}\n", "Binary, "),
        ("SparseCid, VectorCid\n", "BinaryCid, "),
        ("SPARSE, VECTOR\n", "BINARY, "),
    ],
    "index/families/vector_rows.py": [
        (
            "ROWS: Mapping[",
            '''class BinarySegment(FamilySegment):
    """Bits of one vocabulary."""

    def values(self) -> Iterator[bytes]:
        return (row.tobytes() for row in self.part.segment["bits"])


class BinaryRows(FamilyRows):
    """Collects vectors of bits."""

    segment = BinarySegment

    def __init__(self, vocab: str) -> None:
        super().__init__(vocab)
        self._bits: list[bytes] = []

    def add_blocks(self, keys, digests, blocks):
        for key, digest, value in zip(keys, digests, map(Binary.decode, blocks), strict=True):
            self.ids.append(key)
            self._digests.append(digest)
            self._of.append(value.of)
            self._bits.append(value.bits)

    def columns(self, ordinals_of):
        ordinals, order = _ordered(self.ids, ordinals_of)
        bits = np.frombuffer(b"".join(self._bits), np.uint8).reshape(len(order), -1)[order]
        return _finish(ordinals, order, self._digests, self._of) | {"bits": bits}

    @staticmethod
    def merge(parts):
        return _merge(parts)


''',
        ),
        ('"sparse": SparseRows}\n', '"binary": BinaryRows, '),
        ("Sparse, Vector\nfrom", "Binary, "),
    ],
    "repo/transaction/transaction.py": [
        (
            "    def remove_vector(self",
            """    def set_binary(self, id, *, vocab, bits, of=None):
        self._check_open()
        value = Binary(bits, check_digest(of))
        self._draft.attach(("binary", check_text("vocab", vocab)), id.raw, value, of)

""",
        ),
        ("Sparse, Vector\n", "Binary, "),
    ],
    "ingest/record.py": [
        (
            "@record\nclass RemoveRecord:\n",
            '''@record
class BinaryRecord(NodeVectorRecord):
    """`{"binary": {...}}`."""

    FORM = "binary"
    node: Reference
    vocab: str
    bits: bytes

    def stage(self, tx: Transaction, node: NodeId) -> None:
        tx.set_binary(node, vocab=self.vocab, bits=self.bits)


def _binary(fields: Fields) -> BinaryRecord:
    record = BinaryRecord(fields.reference("node"), fields.text("vocab"), fields.base64("bits"))
    fields.end()
    return record


''',
        ),
        ('    "remove": _remove,\n', '    "binary": _binary,\n'),
    ],
}
"""A third family of vectors: stored, indexed, staged by transactions and by JSON lines."""


def extended(folder: Path, insertions: Insertions) -> Path:
    """Copies the program with the insertions in it; returns what has to be on its path."""
    source = Path(ibidem.__file__).parent
    shutil.copytree(source, folder / "ibidem", ignore=shutil.ignore_patterns("__pycache__"))
    for name, inserted in insertions.items():
        path = folder / "ibidem" / name
        text = path.read_text("utf-8")
        for before, new in inserted:
            assert text.count(before) == 1, f"{name}: {before!r} stands there {text.count(before)}x"
            text = text.replace(before, new + before)
        path.write_text(text, "utf-8")
    return folder

"""Reads the parts of a zip archive, in memory and within limits; nothing is written to disk.

The sizes that an archive states are not trusted: unpacked bytes are counted. A name is only a key,
never a path, so one that leads out of a folder (`../`) does no harm.
"""

from __future__ import annotations

import io
import lzma
import posixpath
import re
import zipfile
import zlib
from dataclasses import field
from urllib.parse import unquote

from ibidem.ingest.decoded import decoded
from ibidem.ingest.html_tree import Element, parse
from ibidem.objects.errors import ErrorKind, InvalidInputError
from ibidem.objects.record import record

PARTS_MAX = 20_000
UNPACKED_BYTES_MAX = 128 << 20
"""Limit on the unpacked bytes read from one archive; the text of a thick book has some 5 MB."""

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""How files of Office before 2007 begin, and newer ones that need a password."""
_OFFICE = "http://schemas.openxmlformats.org"
_USUAL = {
    f"{_OFFICE}/wordprocessingml/2006/main": "w",
    f"{_OFFICE}/presentationml/2006/main": "p",
    f"{_OFFICE}/drawingml/2006/main": "a",
    f"{_OFFICE}/drawingml/2006/chart": "c",
    f"{_OFFICE}/drawingml/2006/diagram": "dgm",
    f"{_OFFICE}/officeDocument/2006/relationships": "r",
    f"{_OFFICE}/markup-compatibility/2006": "mc",
    "http://schemas.microsoft.com/office/drawing/2014/chartex": "cx",
}
"""The prefixes that Office gives to the names of its elements, by name space; other programs may
choose their own."""
_DECLARED = re.compile(r"""xmlns:([\w.-]+)\s*=\s*["']([^"']*)""")
_MARKUP = re.compile(r"<[^<>]*>")
_PREFIX = re.compile(r"(?<=[</\s])[\w.-]+(?=:)")
_DEFAULT = re.compile(r"""\sxmlns\s*=\s*["']([^"']*)""")
_NAME = re.compile(r"(</?)([\w.-]+)(?=[\s/>])")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    RuntimeError,
    NotImplementedError,
    OSError,
    EOFError,
    ValueError,
)
"""The errors of `zipfile` for a part that is damaged, encrypted or compressed by an unknown
method."""


@record(frozen=False)
class Archive:
    """An archive that is open for reading."""

    _zip: zipfile.ZipFile
    unpacked_bytes_max: int = UNPACKED_BYTES_MAX
    _names: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self._names = frozenset(self._zip.namelist())

    @classmethod
    def open(cls, data: bytes, *, unpacked_bytes_max: int = UNPACKED_BYTES_MAX) -> Archive:
        """Opens an archive.

        Raises:
            InvalidInputError: the bytes are not an archive, or it has more than `PARTS_MAX` parts.
        """
        if data.startswith(OLE):
            is_encrypted = "EncryptedPackage".encode("utf-16-le") in data
            raise InvalidInputError(
                "needs a password; save the file without one"
                if is_encrypted
                else "is a file of an older program (OLE), expected a zip file"
            )
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
            raise InvalidInputError(f"archive: {error}, expected a zip file") from error
        if len(archive.infolist()) > PARTS_MAX:
            raise InvalidInputError(
                f"archive: {len(archive.infolist())} parts, expected at most {PARTS_MAX}",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        return cls(archive, unpacked_bytes_max)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def names(self) -> list[str]:
        """Returns the names of all parts, sorted."""
        return sorted(self._names)

    def read(self, name: str) -> bytes:
        """Returns the bytes of a part.

        Raises:
            InvalidInputError: there is no part of this name, it cannot be unpacked, or the parts
                that were read exceed `unpacked_bytes_max`.
        """
        if name not in self._names:
            raise InvalidInputError(f"archive: has no part {name!r:.200}")
        try:
            with self._zip.open(name) as stream:
                data = stream.read(self.unpacked_bytes_max + 1)
        except _BROKEN as error:
            raise InvalidInputError(f"archive: part {name!r:.200}: {error}") from error
        self.unpacked_bytes_max -= len(data)
        if self.unpacked_bytes_max < 0:
            raise InvalidInputError(
                "archive: its parts unpack to more than the limit, expected at most "
                f"{UNPACKED_BYTES_MAX} bytes",
                kind=ErrorKind.LIMIT_EXCEEDED,
            )
        return data

    def xml(self, name: str) -> Element:
        """Returns an XML part as a tree.

        Raises:
            InvalidInputError: as for `text`.
        """
        return parse(self.text(name), xml=True)

    def text(self, name: str) -> str:
        """Returns the source of an XML part.

        Raises:
            InvalidInputError: as for `read`; or the part declares entities, which no valid part
                needs.
        """
        return xml_text(self.read(name), f"archive: part {name!r:.200}")


def xml_text(data: bytes, name: str) -> str:
    """Returns the source of XML, with the prefixes that Office uses.

    Args:
        name: what it is, for an error.

    Raises:
        InvalidInputError: it declares entities.
    """
    text = decoded(data, "replace")
    if "<!ENTITY" in text[: 1 << 16]:
        raise InvalidInputError(
            f"{name} declares entities, expected none",
            hint="they can grow without bound, and no such document needs them",
        )
    return _with_usual_prefixes(text.removeprefix("\ufeff"))


def _with_usual_prefixes(text: str) -> str:
    """Returns XML with the prefixes of `_USUAL`."""
    if any(space in _USUAL for space in _DEFAULT.findall(text)):
        text = _with_default_prefixes(text)
    names = {name: _USUAL.get(space, name) for name, space in _DECLARED.findall(text)}
    if all(name == usual for name, usual in names.items()):
        return text

    def usual(tag: re.Match[str]) -> str:
        return _PREFIX.sub(lambda found: names.get(found[0], found[0]), tag[0])

    return _MARKUP.sub(usual, text)


def _with_default_prefixes(text: str) -> str:
    """Returns XML with prefixes for the elements that have none, by the name space around them."""
    open_spaces = [""]

    def prefixed(match: re.Match[str]) -> str:
        tag = match[0]
        if tag.startswith(("<!", "<?")):
            return tag
        if tag.startswith("</"):
            space = open_spaces.pop() if len(open_spaces) > 1 else ""
        else:
            declared = _DEFAULT.search(tag)
            space = open_spaces[-1] if declared is None else declared[1]
            if not tag.endswith("/>"):
                open_spaces.append(space)
        return _NAME.sub(rf"\1{_USUAL[space]}:\2", tag, count=1) if space in _USUAL else tag

    return _MARKUP.sub(prefixed, text)


def resolved(base: str, target: str) -> str:
    """Returns the name of the part to which a reference in the part `base` points.

    >>> resolved("OEBPS/text/a.xhtml", "../b.xhtml#c"), resolved("a.opf", "../../etc/passwd")
    ('OEBPS/b.xhtml', '../../etc/passwd')
    """
    path = unquote(target.partition("#")[0])
    if path.startswith("/"):
        return posixpath.normpath(path.lstrip("/"))
    return posixpath.normpath(posixpath.join(posixpath.dirname(base), path))

"""E-mail to text: the visible parts of a message; the header becomes properties of the document.

A message is a section under its subject, with sender and date as its first lines; so is each one of
a mailbox, and one that is forwarded as a part of another, or attached as a file. What a message
quotes is in passages of its own. So is a text that is attached (plain, HTML, CSV or TSV): it is a
section under its name, unless it looks like a secret. Other attachments are named but not read.
"""

from __future__ import annotations

import re
from email import policy
from email.errors import MessageError
from email.header import decode_header
from email.message import EmailMessage
from email.parser import BytesParser
from itertools import groupby

from ibidem.ingest.extraction import Extraction, Writer, clean, one_line
from ibidem.ingest.html import decode, write_html
from ibidem.ingest.secret import has_private_key, is_secret_name
from ibidem.ingest.table import write_table
from ibidem.objects.errors import ErrorKind, InvalidInputError

HEADER_CHARS_MAX = 2000
DEPTH_MAX = 16
"""Parts that are nested deeper are left out."""
_SAYS_LITTLE = 4
"""Plain text is shown unless that of the HTML beside it is this many times as long: then it only
says that the message is in HTML."""
_BLANK_LINES = re.compile(r"(?:^|(?<=\n))[>\s]*(?:\n|\Z)")
"""Lines of nothing but marks of quotation."""
_MESSAGES = frozenset({"message/rfc822", "message/global"})
_ATTACHED = {
    ".csv": "text/csv",
    ".diff": "text/plain",
    ".htm": "text/html",
    ".html": "text/html",
    ".log": "text/plain",
    ".md": "text/plain",
    ".patch": "text/plain",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
}
"""The types of attached texts that are read; the suffix of the name says which, if the type of the
attachment is one of `_UNTYPED`."""
_TABLES = {"text/csv": "", "text/tab-separated-values": "\t"}
"""The separator of tables; "" where the first line tells it."""
_UNTYPED = frozenset(
    {"application/octet-stream", "application/csv", "application/vnd.ms-excel", "text/markdown"}
)
_NO_TEXT = frozenset(
    {"calendar", "css", "directory", "javascript", "rtf", "vcard", "x-amp-html", "x-vcard"}
)
_ENCODINGS = frozenset({"base64", "quoted-printable"})
_WIDER = {
    "euc-kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso-8859-1": "windows-1252",
    "iso-8859-8-i": "iso-8859-8",
    "ks_c_5601-1987": "cp949",
    "shift_jis": "cp932",
}
"""The character sets that are meant by the names of smaller ones, as in browsers."""
_UNSURE = frozenset({"", "ascii", "us-ascii", "utf-8", "utf8"})
"""Names that say nothing about a text which is not in that character set."""
_UNCHANGED = policy.default.clone(refold_source="none")
_SHOWN = ("from", "to", "date")
_HEADERS = {
    "from": "from",
    "to": "to",
    "cc": "cc",
    "date": "date",
    "subject": "subject",
    "message-id": "message_id",
    "in-reply-to": "in_reply_to",
}
_MESSAGE_START = re.compile(
    rb"\AFrom [^\r\n]*\r?\n|(?:(?<=\n\n)|(?<=\n\r\n))From [^\r\n]*\r?\n(?=[!-9;-~]+:|>From )"
)
"""The line before a message, whose header follows: a paragraph may begin with this word too."""
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def extract_message(data: bytes) -> Extraction:
    """Returns the text of one message."""
    message = _parsed(data)
    props: dict[str, str | tuple[str, ...]] = dict(_headers(message))
    if not props:
        raise InvalidInputError("no header, expected lines such as 'Subject: ...'")
    attachments = tuple(_attachments(message))
    if attachments:
        props["attachments"] = attachments
    writer = Writer()
    _write_section(writer, message, 1)
    return writer.finish(str(props.get("subject", "")), props)


def extract_mailbox(data: bytes) -> Extraction:
    """Returns the text of all messages of a mailbox in the mbox form."""
    starts = [match.span() for match in _MESSAGE_START.finditer(data)]
    if not starts or starts[0][0] != 0:
        raise InvalidInputError("got another first line, expected 'From ...'")
    writer = Writer()
    stops = [*(start for start, _ in starts[1:]), len(data)]
    for (_, start), stop in zip(starts, stops, strict=True):
        _write_section(writer, _parsed(_QUOTED_FROM.sub(rb"\1", data[start:stop])), 1)
    return writer.finish()


def _write_section(writer: Writer, message: EmailMessage, level: int, depth: int = 0) -> None:
    """Writes a message under its subject: its texts, and below them what is attached."""
    headers = _headers(message)
    writer.heading(level, headers.get("subject", "") or "(no subject)")
    writer.block(
        "paragraph",
        "\n".join(f"{name.title()}: {headers[name]}" for name in _SHOWN if name in headers),
    )
    attached: list[EmailMessage] = []
    _write_body(writer, message, level, depth, attached)
    for part in attached:
        _write_attachment(writer, part, level)


def _parsed(data: bytes) -> EmailMessage:
    try:
        return BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
    except (MessageError, ValueError, IndexError, RecursionError) as error:
        raise InvalidInputError(str(error)) from error


def _headers(message: EmailMessage) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, prop in _HEADERS.items():
        try:
            text = str(message.get(name, ""))
            text = one_line(_reread(message, name) if "\ufffd" in text else text)
        except (MessageError, ValueError, IndexError, AttributeError, TypeError):
            continue  # a header that the library cannot read is ignored
        if text:
            found[prop] = text[:HEADER_CHARS_MAX]
    return found


def _reread(message: EmailMessage, name: str) -> str:
    """Returns a header with bytes that the library replaces: those of no encoding, and of a
    character whose bytes are in two words."""
    value = next(str(value) for key, value in message.raw_items() if key.lower() == name)
    text = _decoded(value.encode("utf-8", "surrogateescape"), "")
    return "".join(
        _decoded(part, charset or "") if isinstance(part, bytes) else part
        for part, charset in decode_header(text)
    )


def _attachments(message: EmailMessage) -> list[str]:
    names = (part.get_filename() for part in message.walk())
    return [one_line(name)[:HEADER_CHARS_MAX] for name in names if name]


def _write_body(
    writer: Writer, part: EmailMessage, level: int, depth: int, attached: list[EmailMessage]
) -> None:
    """Writes what a reader sees of a message, or of a part of one, in order; adds the rest to
    `attached`."""
    kind = part.get_content_type()
    parts = [one for one in part.iter_parts() if isinstance(one, EmailMessage)]
    if depth > DEPTH_MAX:
        warning = f"left out: parts more than {DEPTH_MAX} levels deep"
        if warning not in writer.warnings:
            writer.warnings.append(warning)
        return
    if messages := _forwarded(part, parts):
        for one in messages:
            _write_section(writer, one, level + 1, depth + 1)
    elif parts:
        if kind == "multipart/alternative":
            best = _best(parts)
            for one in parts:
                if one is not best:
                    attached += (each for each in one.walk() if each.is_attachment())
            parts = [best]
        elif kind == "multipart/related":
            root = part.get_param("start")
            named = [one for one in parts if root and one["content-id"] == root]
            parts = (named or parts)[:1]
        for one in parts:
            _write_body(writer, one, level, depth + 1, attached)
    elif part.is_attachment():
        attached.append(part)
    elif kind == "text/html":
        write_html(writer, _content(part), level)
    elif _is_text(part):
        _write_plain(writer, _content(part))


def _is_text(part: EmailMessage) -> bool:
    """Returns whether a part is a text for people; patches and source are, and so is one that says
    it has several parts and has not."""
    if part.get_content_maintype() == "multipart":
        return not part.is_multipart()
    return part.get_content_maintype() == "text" and part.get_content_subtype() not in _NO_TEXT


def _write_attachment(writer: Writer, part: EmailMessage, level: int) -> None:
    """Writes a text that is attached, if it is of a known form by its type or its name."""
    name = one_line(part.get_filename() or "")[:HEADER_CHARS_MAX]
    kind = part.get_content_type()
    if kind in _UNTYPED:
        kind = _ATTACHED.get(name.lower()[name.rfind(".") :], "")
    elif not _is_text(part):
        return
    data = part.get_payload(decode=True)
    if not kind or not isinstance(data, bytes) or b"\0" in data:
        return
    if is_secret_name(name.replace("\\", "/").rpartition("/")[2]) or has_private_key(data):
        return
    text = _content(part) if part.get_content_maintype() == "text" else clean(decode(data))
    writer.heading(level + 1, name or "(no name)")
    if kind == "text/html":
        write_html(writer, text, level + 1)
    elif kind in _TABLES:
        try:
            write_table(writer, text, _TABLES[kind])
        except InvalidInputError as error:
            if error.kind is ErrorKind.LIMIT_EXCEEDED:
                raise
            _write_plain(writer, text)
    else:
        _write_plain(writer, text)


def _forwarded(part: EmailMessage, parts: list[EmailMessage]) -> list[EmailMessage]:
    """Returns the messages that a part forwards; none if it is not a message.

    The library reads one that is encoded, which is not allowed but common, as if it were not.
    """
    coded = EmailMessage()
    if part.get_content_type() in _MESSAGES:
        encoding = str(part.get("content-transfer-encoding", "")).strip().lower()
        is_plain = encoding == "base64" and any(map(_headers, parts))
        if encoding not in _ENCODINGS or is_plain or not parts:
            return parts
        coded["Content-Transfer-Encoding"] = encoding
        try:
            source = parts[0].as_bytes(policy=_UNCHANGED)
        except (MessageError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
            return parts
        coded.set_payload(source.decode("ascii", "surrogateescape"))
    elif (part.get_filename() or "").lower().endswith(".eml") and not parts:
        coded = part
    else:
        return []
    data = coded.get_payload(decode=True)
    try:
        found = _parsed(data) if isinstance(data, bytes) else None
    except InvalidInputError:
        return parts
    return parts if found is None or not _headers(found) else [found]


def _best(parts: list[EmailMessage]) -> EmailMessage:
    """Returns the plain text among alternatives if there is one that says what the others say."""
    plain = next((one for one in parts if one.get_content_type() == "text/plain"), None)
    rich = [one for one in parts if one.is_multipart() or one.get_content_type() == "text/html"]
    if plain is None or not rich:
        return plain or [*parts[:1], *rich][-1]
    page = rich[-1].get_body(preferencelist=("html",))
    if not isinstance(page, EmailMessage):
        return plain
    scratch = Writer()
    write_html(scratch, _content(page))
    says_little = len(_content(plain).strip()) * _SAYS_LITTLE < len(scratch.finish().text)
    return rich[-1] if says_little else plain


def _content(part: EmailMessage) -> str:
    data = part.get_payload(decode=True)
    return _decoded(data, part.get_content_charset() or "") if isinstance(data, bytes) else ""


def _decoded(data: bytes, charset: str) -> str:
    """Returns a text by its character set, or by another one if it cannot be in that."""
    name = _WIDER.get(charset.lower(), charset.lower())
    tries = [(name, "strict")]
    if not data.isascii():  # of ASCII, the bytes of a character set with escapes are no UTF-8
        tries.append(("utf-8", "strict"))
    if name not in _UNSURE:
        tries.append((name, "replace"))
    for each, errors in tries:
        try:
            return clean(data.decode(each, errors).removeprefix("\ufeff"))
        except (LookupError, ValueError):  # not of this set, or Python does not have it
            continue
    return clean(decode(data))


def _write_plain(writer: Writer, text: str) -> None:
    """Writes the paragraphs of a text, those that it quotes apart from its own."""
    for is_quoted, lines in groupby(text.split("\n"), lambda line: line.startswith(">")):
        for paragraph in _BLANK_LINES.split("\n".join(lines)):
            writer.block("quote" if is_quoted else "paragraph", paragraph.strip("\n"))

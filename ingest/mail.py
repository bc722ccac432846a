"""E-mail to text: the visible part of the message; the header becomes properties of the document.

In a mailbox each message is a section under its subject, with sender and date as its first lines.
Attachments are named but not read.
"""

from __future__ import annotations

import re
from email import policy
from email.errors import MessageError
from email.message import EmailMessage
from email.parser import BytesParser

from ibidem.ingest.extraction import Extraction, Writer, one_line
from ibidem.ingest.html import write_html
from ibidem.objects.errors import InvalidInputError

HEADER_CHARS_MAX = 2000
_HEADERS = {
    "from": "from",
    "to": "to",
    "cc": "cc",
    "date": "date",
    "subject": "subject",
    "message-id": "message_id",
    "in-reply-to": "in_reply_to",
}
_MESSAGE_START = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\r\n]*\r?\n")
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def extract_message(data: bytes) -> Extraction:
    """Returns the text of one message."""
    message = _parsed(data)
    props: dict[str, str | tuple[str, ...]] = dict(_headers(message))
    if not props:
        raise InvalidInputError("e-mail: no header, expected lines such as 'Subject: ...'")
    attachments = tuple(_attachments(message))
    if attachments:
        props["attachments"] = attachments
    writer = Writer()
    _write_body(writer, message, 0)
    return writer.finish(str(props.get("subject", "")), props)


def extract_mailbox(data: bytes) -> Extraction:
    """Returns the text of all messages of a mailbox in the mbox form."""
    starts = [match.span() for match in _MESSAGE_START.finditer(data)]
    if not starts or starts[0][0] != 0:
        raise InvalidInputError("mailbox: got another first line, expected 'From ...'")
    writer = Writer()
    stops = [*(start for start, _ in starts[1:]), len(data)]
    for (_, start), stop in zip(starts, stops, strict=True):
        message = _parsed(_QUOTED_FROM.sub(rb"\1", data[start:stop]))
        headers = _headers(message)
        writer.heading(1, headers.get("subject", "") or "(no subject)")
        shown = ("from", "to", "date")
        writer.block(
            "paragraph",
            "\n".join(f"{name.title()}: {headers[name]}" for name in shown if name in headers),
        )
        _write_body(writer, message, 1)
    return writer.finish()


def _parsed(data: bytes) -> EmailMessage:
    try:
        return BytesParser(EmailMessage, policy=policy.default).parsebytes(data)
    except (MessageError, ValueError, IndexError, RecursionError) as error:
        raise InvalidInputError(f"e-mail: {error}") from error


def _headers(message: EmailMessage) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, prop in _HEADERS.items():
        try:
            text = one_line(str(message.get(name, "")))[:HEADER_CHARS_MAX]
        except (MessageError, ValueError, IndexError, AttributeError, TypeError):
            continue  # a header that the library cannot read is ignored
        if text:
            found[prop] = text
    return found


def _attachments(message: EmailMessage) -> list[str]:
    names = (part.get_filename() for part in message.walk())
    return [one_line(name)[:HEADER_CHARS_MAX] for name in names if name]


def _write_body(writer: Writer, message: EmailMessage, level: int) -> None:
    body = message.get_body(preferencelist=("plain", "html"))
    if body is None:
        return
    try:
        content = body.get_content()
    except (LookupError, ValueError):  # a charset that Python does not have
        payload = body.get_payload(decode=True)
        content = payload.decode("latin-1") if isinstance(payload, bytes) else ""
    if not isinstance(content, str):
        return
    if body.get_content_subtype() == "html":
        write_html(writer, content, level)
        return
    for paragraph in re.split(r"\n[ \t\r]*\n", content):
        writer.block("paragraph", paragraph)

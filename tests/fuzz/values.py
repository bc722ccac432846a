"""Values that a reader may not expect: the ends of every type, what is no text, and the wrong type.

Names and labels are those that the program reads, so that a value lands where it is believed.
"""

from __future__ import annotations

from random import Random
from typing import Any

from .graph import Link

INTEGERS = (
    *(0, 1, -1, 2, 23, 24, 255, 256, 1000, 10**6, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**53),
    *(2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, -(2**31), -(2**53), -(2**63), -(2**63) - 1),
    *(-(2**64), 10**15, 1_700_000_000_000_000, 62_135_596_800_000_000, 253_402_300_800_000_000),
)
FLOATS = (
    *(0.0, 1.0, -1.0, 0.5, 1e-9, 5e-324, -5e-324, 1e308, -1e308, 3.5e38, 1.7976931348623157e308),
    *(2.0**53, 2.0**63, 1e16),
)
ESCAPES = (
    "\x1b[31mred\x1b]0;title\x07\r\nforged line",
    "\x00",
    "a\x00b",
    "\x07\x08\x0c\x7f",
    "\x9b31m\x85",
    "\u202eevil\u202c\u2066",
    "\u2028\u2029",
    "line\nline\n\tline",
    "\ufeff\u200b\u00ad",
    "\ufff9\U000e0041",
    "\x1b",
    "\r",
)
TEXTS = (
    *ESCAPES,
    *("", " ", "a", "x" * 300, "retry " * 400, "queue\n" * 300, "İstanbul ﬁ ß", "机器" * 40),
    *("e\u0301" * 50, "\U0001f469\u200d\U0001f4bb" * 20, "\U0010ffff", "-", "--help", "../../x"),
    *("/etc/passwd", "main", "HEAD", "heads/main", "$(id)", "a:b:c", "[x](y)", "```", "# H\n" * 9),
    *("<script>", "%s%d%n", "{}{0}", "\\", '"', "'", "0" * 64, "2024-01-01", "active", "retracted"),
    *(
        "Semantic",
        "Message",
        "Document",
        "high",
        "1e999",
        "null",
        "true",
        "1",
        "nan",
        "\u0660\u0661",
    ),
)
BYTES = (
    *(b"", b"\x00", b"\x00" * 16, b"\xff" * 16, b"\x80" * 32, b"\xff" * 36, b"\xa0", b"\x80"),
    *(b"\x01\x71\x1e\x20" + bytes(32), b"x" * 4096, bytes(range(256)), b"\xf6", b"\x18\x00"),
    *(
        b"\x81" * 400 + b"\x00",
        b"\xfb\x7f\xf8" + bytes(6),
        b"\x9f\x01\xff",
        b"\xc2\x49\x01" + bytes(8),
    ),
    *(
        b"\xa2\x61b\x00\x61a\x01",
        b"\xa2\x61a\x00\x61a\x01",
        b"\xc1\x00",
        b"\xd8\x1c\x81\xd8\x1d\x00",
    ),
    *(b"\x82\x01", b"\x9b" + b"\xff" * 8, b"\x5b\x7f" + b"\xff" * 7, b"\x63\xed\xa0\x80", b"\xf7"),
    *(
        b"\xd8\x23\x64(a+)",
        b"\xc4\x82\x1b\x7f" + b"\xff" * 7 + b"\x01",
        b"\xc5\x82\x1a\x3f\xff\xff\xff\x03",
    ),
)
"""Among them what is no canonical DAG-CBOR: it stands where bytes are read as a value."""
PROPS = (
    *("level", "scope", "status", "salience", "half_life_seconds", "time", "payload", "names"),
    *("aliases", "mentions", "provenance", "tags", "confidence", "deletion", "floor", "gain"),
    *("pinned", "max_age_seconds", "valid_from", "valid_to", "thread", "ord", "role", "created_at"),
    *("message_id", "tool_calls", "tool_call_id", "first", "last", "sources", "summaries", "next"),
    *(
        "cleared",
        "name",
        "kind",
        "targets",
        "value",
        "author",
        "about",
        "detail",
        "steps",
        "intent",
    ),
    *("title", "path", "n", "weight", "importance", "importance_score", "updated_at", "media_type"),
)
LABELS = (
    *("Doc", "Document", "Section", "Passage", "Thread", "ThreadPart", "Message", "Summary"),
    *("Semantic", "Episodic", "Entity", "Working", "Competence", "PlanGraph", "Event"),
    *("Procedure", "Step", "Note", "Answer", "Answer\x1b[2J"),
)


def scalar(chance: Random) -> Any:
    """Returns a value of any type without parts."""
    return chance.choice(
        (
            lambda: chance.choice(INTEGERS),
            lambda: chance.choice(FLOATS),
            lambda: chance.choice(TEXTS),
            lambda: chance.choice(BYTES),
            lambda: chance.choice((None, True, False)),
        )
    )()


def junk(chance: Random) -> Any:
    """Returns a value of any type, now and then nested or long."""
    match chance.randrange(12):
        case 0:
            return [scalar(chance) for _ in range(chance.randint(0, 5))]
        case 1:
            return {chance.choice(PROPS): scalar(chance) for _ in range(chance.randint(0, 4))}
        case 2:
            return nested(scalar(chance), chance.randint(2, 58), chance)
        case 3:
            return [scalar(chance)] * chance.choice((100, 3000))
        case 4:
            return Link(b"\x01\x71\x1e\x20" + chance.randbytes(32))
        case _:
            return scalar(chance)


def like(chance: Random, value: Any) -> Any:
    """Returns another value of the type of one."""
    match value:
        case bool():
            return not value
        case int():
            return chance.choice((*INTEGERS, value + 1, -value))
        case float():
            return chance.choice((*FLOATS, -value or 0.0, value * 2))
        case str():
            return chance.choice((*TEXTS, value * 2, value.upper(), value + chance.choice(ESCAPES)))
        case bytes():
            if value and chance.random() < 0.5:
                at = chance.randrange(len(value))
                return value[:at] + bytes((value[at] ^ 1 << chance.randrange(8),)) + value[at + 1 :]
            return chance.choice((*BYTES, chance.randbytes(len(value)), value * 2, value[:-1]))
        case list() if value:
            again = list(value)
            match chance.randrange(4):
                case 0:
                    chance.shuffle(again)
                    return again
                case 1:
                    return again * chance.choice((2, 3, 50))
                case 2:
                    return again[: chance.randrange(len(again))]
                case _:
                    return [*again, junk(chance)]
        case _:
            return junk(chance)


def nested(value: Any, depth: int, chance: Random) -> Any:
    """Returns a value inside so many lists or maps."""
    is_list = chance.random() < 0.5
    for _ in range(depth):
        value = [value] if is_list else {"x": value}
    return value

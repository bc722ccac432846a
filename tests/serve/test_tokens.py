"""The registry of tokens: what is kept of one, who it is bound to, and when it stops working.

Spec: trust [7-a], [7-b].
"""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from ibidem.objects.errors import CorruptError, InvalidInputError, NotFoundError
from ibidem.retrieve.access.policy import ALL, ALL_SCOPES, Viewer
from ibidem.serve.tokens import (
    FILE,
    OWNER,
    Scope,
    Tokens,
    digest_of,
    matching,
    owner_token,
)

LOW = Viewer(level="low", scopes=("east",))


@pytest.fixture(params=["memory", "file"])
def tokens(request: pytest.FixtureRequest, tmp_path: Path) -> Tokens:
    return Tokens(None if request.param == "memory" else tmp_path)


def accepted(tokens: Tokens, text: str, time: int = 10) -> str | None:
    found = matching(text, tokens.all().values(), time=time)
    return None if found is None else found.name


def test_a_token_is_bound_to_its_viewer(tokens: Tokens):
    text, made = tokens.create("reader", viewer=LOW, time=1)
    assert (made.viewer, made.scope) == (LOW, Scope.READ)
    assert tokens.all() == {"reader": made}
    assert accepted(tokens, text) == "reader"
    for other in ("", text + "x", text[:-1], text.upper(), made.digest):
        assert accepted(tokens, other) is None


def test_the_text_is_kept_nowhere(tmp_path: Path):
    tokens = Tokens(tmp_path)
    text, made = tokens.create("reader", viewer=LOW, time=1)
    second = tokens.rotate("reader", time=2).text
    data = (tmp_path / FILE).read_bytes()
    assert text.encode() not in data
    assert second.encode() not in data
    assert made.digest == digest_of(text)
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    assert len(text) == len("ibidem_") + 43


def test_rotating_keeps_the_viewer_and_ends_the_old_token(tokens: Tokens):
    old, before = tokens.create("mirror", viewer=ALL, scope="write", time=1, expires=100)
    new, after = tokens.rotate("mirror", time=2)
    assert (after.viewer, after.scope, after.expires) == (ALL, Scope.WRITE, 100)
    assert (before.created, after.created) == (1, 2)
    assert accepted(tokens, old) is None
    assert accepted(tokens, new) == "mirror"
    assert tokens.rotate("mirror", time=3, expires=500).token.expires == 500


def test_revoking_ends_a_token_and_frees_its_name(tokens: Tokens):
    text, made = tokens.create("reader", viewer=LOW, time=1)
    assert tokens.revoke("reader") == made
    assert accepted(tokens, text) is None
    assert tokens.all() == {}
    for change in (tokens.revoke, lambda name: tokens.rotate(name, time=1)):
        with pytest.raises(NotFoundError):
            change("reader")
    tokens.create("reader", viewer=LOW, time=2)


def test_a_token_expires(tokens: Tokens):
    text, _ = tokens.create("reader", viewer=LOW, time=1, expires=10)
    assert accepted(tokens, text, time=9) == "reader"
    assert accepted(tokens, text, time=10) is None
    with pytest.raises(InvalidInputError, match="expires"):
        tokens.rotate("reader", time=11)
    assert accepted(tokens, tokens.rotate("reader", time=11, expires=20).text, time=12) == "reader"


@pytest.mark.parametrize("name", ["", "-a", "A", "a b", "a" * 65, "ä", "a/b", 7, OWNER, "a\n"])
def test_a_malformed_name_is_refused(tokens: Tokens, name: object):
    with pytest.raises(InvalidInputError, match="token"):
        tokens.create(name, viewer=LOW, time=1)  # type: ignore[arg-type]
    assert tokens.all() == {}


def test_bad_arguments_are_refused_and_change_nothing(tokens: Tokens):
    tokens.create("reader", viewer=LOW, time=1)
    kept = tokens.all()
    for field, given in (
        ("scope", {"viewer": ALL, "scope": "all"}),
        ("viewer", {"viewer": None}),
        ("viewer", {"viewer": "low"}),
        ("expires", {"viewer": LOW, "expires": 1}),
        ("expires", {"viewer": LOW, "expires": "soon"}),
    ):
        with pytest.raises(InvalidInputError, match=field):
            tokens.create("other", time=1, **given)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="exists"):
        tokens.create("reader", viewer=LOW, time=1)
    assert tokens.all() == kept


def test_what_is_written_reads_back(tmp_path: Path):
    for number, viewer in enumerate(
        (LOW, ALL, Viewer(level=3, scopes=ALL_SCOPES, authenticated=False, reveal="stub"))
    ):
        Tokens(tmp_path).create(f"t{number}", viewer=viewer, time=number, expires=99)
        assert Tokens(tmp_path).all()[f"t{number}"].viewer == viewer


@pytest.mark.parametrize(
    "change",
    [
        lambda found: found | {"version": 2},
        lambda found: found | {"tokens": []},
        lambda found: {},
        lambda found: found["tokens"]["reader"].pop("viewer") and found,
        lambda found: found["tokens"]["reader"].update(digest="x") or found,
        lambda found: found["tokens"]["reader"].update(scope="all") or found,
        lambda found: found["tokens"]["reader"].update(more=1) or found,
        lambda found: found["tokens"]["reader"]["viewer"].update(level=9) or found,
    ],
)
def test_a_damaged_registry_accepts_nothing(tmp_path: Path, change):
    Tokens(tmp_path).create("reader", viewer=LOW, time=1)
    path = tmp_path / FILE
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(CorruptError):
        Tokens(tmp_path).all()
    with pytest.raises(CorruptError):
        Tokens(tmp_path).create("other", viewer=LOW, time=1)


def test_writers_do_not_undo_each_other(tokens: Tokens):
    def create(number: int) -> None:
        for part in range(5):
            tokens.create(f"t{number}-{part}", viewer=LOW, time=1)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tokens.all()) == 20


def test_the_token_of_the_owner_is_long_enough():
    assert owner_token("b" * 16).viewer == ALL
    for text in ("", "b" * 15, "b" * 20 + "\n", "é" * 20):
        with pytest.raises(InvalidInputError, match="token"):
            owner_token(text)

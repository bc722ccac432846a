"""Whatever is done to an input, it is imported or refused with an error of ours."""

from __future__ import annotations

import io
import json
import random
import zipfile

import pytest

import ibidem
from ibidem.adapters import exporting, importing
from ibidem.errors import IbidemError, InvalidInputError

ROUNDS = 150
PIECES = (b"null", b"[]", b"{}", b"1", b'""', b"-1e999", b"NaN", b"<", b"\xff", b"\0")
CONVERSATIONS = [
    {
        "uuid": "c",
        "name": "n",
        "chat_messages": [{"uuid": "m", "sender": "human", "text": "x", "content": []}],
    }
]


def exported(name):
    repo = ibidem.init("memory:")
    with repo.transaction(time=1) as tx:
        one = tx.add_node("T", summary="one", props={"a": 1.0, "b": b"x", "l": [1]}, key=["k"])
        two = tx.add_node("T", summary="two", content=b"\x80")
        tx.add_edge(one, "e", two, weight=0.5, props={"z": 1})
        tx.set_vector(one, model="m", vector=[1, 2])
        tx.set_sparse(one, vocab="v", indices=[1], weights=[1.0])
        tx.ingest(text="# A\n\nx\n", path="a.md")
    stream = io.BytesIO()
    exporting.export(repo, stream, format=name)
    return stream.getvalue()


def archived():
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("conversations.json", json.dumps(CONVERSATIONS))
    return data.getvalue()


def chatgpt():
    message = {"author": {"role": "user"}, "create_time": 1.5, "content": {"parts": ["x"]}}
    node = {"id": "a", "parent": None, "message": message}
    return json.dumps([{"id": "c", "mapping": {"a": node}, "current_node": "a"}]).encode()


INPUTS = {
    ("ndjson", "a.ndjson"): lambda: exported("ndjson"),
    ("graphml", "a.graphml"): lambda: exported("graphml"),
    ("rdf", "a.jsonld"): lambda: exported("jsonld"),
    ("claude", "a.zip"): archived,
    ("claude", "a.json"): lambda: json.dumps(CONVERSATIONS).encode(),
    ("chatgpt", "b.json"): chatgpt,
    ("mem0", "c.json"): lambda: b'{"results": [{"id": "1", "memory": "x", "created_at": 1}]}',
}


@pytest.mark.parametrize("kind", INPUTS, ids=" ".join)
def test_damage_is_an_error_of_ours(kind, tmp_path):
    name, file_name = kind
    whole = INPUTS[kind]()
    file = tmp_path / file_name
    chance = random.Random(file_name)
    for _ in range(ROUNDS):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 5])):
            start = chance.randrange(len(data))
            match chance.randrange(3):
                case 0:
                    data[start] = chance.randrange(256)
                case 1:
                    del data[start : start + chance.randrange(20)]
                case 2:
                    data[start : start + 1] = chance.choice(PIECES)
        file.write_bytes(data)
        repo = ibidem.init("memory:")
        refused = None
        try:
            importing.load(repo, file, format=name)
        except IbidemError as error:
            refused = error
        if refused is not None:
            assert str(file) in str(refused)
            assert repo.head is None


def test_links_in_a_folder_of_chroma_are_refused(tmp_path):
    (tmp_path / "other.sqlite3").write_bytes(b"a database that is not of the input")
    folder = tmp_path / "input"
    folder.mkdir()
    (folder / "chroma.sqlite3").symlink_to(tmp_path / "other.sqlite3")
    with pytest.raises(InvalidInputError, match="symbolic link"):
        importing.load(ibidem.init("memory:"), folder)

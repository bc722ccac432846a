"""Exports of ChatGPT, Claude and mem0: what is carried over, and what is refused."""

from __future__ import annotations

import copy
import io
import json
import zipfile

import pytest

import ibidem
from ibidem.adapters import importing
from ibidem.errors import ErrorKind, IbidemError, InvalidInputError


def chatgpt(id_="c1", **extra):
    def node(key, parent, role=None, text=None, **content):
        message = role and {
            "author": {"role": role},
            "create_time": 1_700_000_000.25,
            "content": {"content_type": "text", "parts": [text], **content},
            "metadata": {"model_slug": "gpt-x"},
        }
        return {"id": key, "message": message, "parent": parent, "children": []}

    image = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://x"}
    nodes = [
        node("root", None),
        node("system", "root", "system", ""),
        node("ask", "system", "user", "who is Ada?"),
        node("old", "ask", "assistant", "no idea"),
        node("new", "ask", "assistant", "a mathematician"),
        node("thanks", "new", "user", "thanks", parts=["thanks", image]),
    ]
    return {
        "title": "Ada",
        "conversation_id": id_,
        "create_time": 1_700_000_000,
        "mapping": {one["id"]: one for one in nodes},
        "current_node": "thanks",
        **extra,
    }


CLAUDE = {
    "uuid": "c2",
    "name": "Tea",
    "created_at": "2025-01-01T00:00:00Z",
    "chat_messages": [
        {
            "uuid": "m1",
            "sender": "human",
            "text": "which tea?",
            "created_at": "2025-01-01T00:00:01.5Z",
            "content": [{"type": "text", "text": "which tea?"}],
            "attachments": [{"file_name": "a.txt", "extracted_content": "x"}],
        },
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "",
            "created_at": "2025-01-01T00:00:02Z",
            "content": [
                {"type": "tool_use", "name": "look", "input": {}},
                {"type": "text", "text": "green"},
            ],
        },
        {"uuid": "m3", "sender": "human", "text": "", "content": []},
    ],
}
MEM0 = {
    "results": [
        {
            "id": "m-1",
            "memory": "likes tea",
            "hash": "abc",
            "metadata": {"mood": "calm"},
            "created_at": "2025-01-01T00:00:00+00:00",
            "updated_at": None,
            "user_id": "ada",
        }
    ],
    "relations": [{"source": "ada", "relationship": "likes", "target": "tea"}],
}


def archive(value, name="conversations.json"):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("user.json", "{}")
        parts.writestr(name, value if isinstance(value, str) else json.dumps(value))
    return data.getvalue()


@pytest.fixture
def import_(tmp_path):
    def call(data, *, repo=None, name="export.json", **options):
        file = tmp_path / name
        file.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
        repo = repo or ibidem.init("memory:")
        return repo, importing.load(repo, file, **options)

    return call


@pytest.mark.parametrize("is_zip", [False, True])
def test_chatgpt(import_, is_zip):
    given = [chatgpt(), chatgpt("c1b", title=None)]
    repo, report = import_(archive(given) if is_zip else given)
    assert (report.format, report.messages_added) == ("chatgpt", 6)
    assert report.omitted == {
        "image asset pointer of a message": 2,
        "message on a branch of a conversation that was not shown last": 2,
        **({"file of the archive without conversations": 1} if is_zip else {}),
    }
    found = repo.conversations.messages("chatgpt/c1")
    assert [(one.role, one.text, one.message_id) for one in found] == [
        ("user", "who is Ada?", "ask"),
        ("assistant", "a mathematician", "new"),
        ("user", "thanks", "thanks"),
    ]
    assert found[0].created_at == 1_700_000_000_250_000
    assert found[1].props == {"external_id": "new", "model_slug": "gpt-x"}
    assert repo.at().node(ibidem.thread_id("chatgpt/c1")).props["title"] == "Ada"
    repo.conversations.append("chatgpt/c1", [("user", "when was she born?")])
    assert [one.title for one in repo.conversations.threads()] == ["Ada", ""]


def test_all_that_is_left_out_is_counted_before_and_after(import_):
    gpt = chatgpt(is_archived=True, gizmo_id="g")
    gpt["mapping"]["old"]["message"]["content"] = {"parts": [{"content_type": "audio"}]}
    gpt["mapping"]["new"]["message"]["metadata"] = {"citations": [{}, {}], "canvas": {"a": 1}}
    gpt["mapping"]["ask"]["message"]["content"]["thoughts"] = [{"content": "hm"}]
    del gpt["mapping"]["thanks"]["message"]["author"]["role"]
    claude = copy.deepcopy(CLAUDE)
    claude["summary"] = "of tea"
    claude["chat_messages"][0]["content"] += [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "see", "citations": [{}]},
        "odd",
    ]
    expected = {
        "gizmo id of a conversation": 1,
        "is archived of a conversation": 1,
        "message on a branch of a conversation that was not shown last": 1,
        "thoughts of a message": 1,
        "citations of a message": 2,
        "canvas of a message": 1,
        "image asset pointer of a message": 1,
        "message without a role": 1,
    }
    for given, omitted in (
        (gpt, expected),
        (
            claude,
            {
                "summary of a conversation": 1,
                "thinking of a message": 1,
                "citation of a message": 1,
                "part of a message": 1,
                "file of a message": 1,
                "tool use of a message": 1,
                "message without text": 1,
            },
        ),
    ):
        assert import_([given], dry_run=True)[1].omitted == omitted
        assert import_([given])[1].omitted == omitted


def test_the_same_export_again_and_one_that_goes_on(import_):
    repo, _ = import_([chatgpt()])
    head = repo.head
    _, report = import_([chatgpt()], repo=repo)
    assert (repo.head, report.messages_unchanged, report.messages_added) == (head, 3, 0)
    longer = chatgpt()
    longer["mapping"]["more"] = {
        "id": "more",
        "parent": "thanks",
        "message": {"author": {"role": "assistant"}, "content": {"parts": ["welcome"]}},
    }
    longer["current_node"] = "more"
    _, report = import_([longer], repo=repo)
    assert (report.messages_unchanged, report.messages_added) == (3, 1)
    assert [one.text for one in repo.conversations.messages("chatgpt/c1")][-1] == "welcome"


def test_a_long_conversation_is_staged_in_parts(import_):
    nodes = {
        f"m{index}": {
            "id": f"m{index}",
            "parent": f"m{index - 1}" if index else None,
            "message": {"author": {"role": "user"}, "content": {"parts": [f"text {index}"]}},
        }
        for index in range(600)
    }
    value = {"title": "long", "id": "c", "mapping": nodes, "current_node": "m599"}
    repo, report = import_([value], batch=250)
    assert (report.messages_added, len(report.commits)) == (600, 3)
    other, _ = import_([value])
    texts = [one.text for one in repo.conversations.messages("chatgpt/c")]
    assert texts == [f"text {index}" for index in range(600)]
    assert other.at().root_cid == repo.at().root_cid


@pytest.mark.parametrize("is_zip", [False, True])
def test_claude(import_, is_zip):
    repo, report = import_(archive([CLAUDE]) if is_zip else [CLAUDE])
    assert (report.format, report.messages_added) == ("claude", 2)
    assert report.omitted == {
        "file of a message": 1,
        "message without text": 1,
        "tool use of a message": 1,
        **({"file of the archive without conversations": 1} if is_zip else {}),
    }
    found = repo.conversations.messages("claude/c2")
    assert [(one.role, one.text) for one in found] == [
        ("user", "which tea?"),
        ("assistant", "green"),
    ]
    assert found[0].created_at == 1_735_689_601_500_000


@pytest.mark.parametrize("given", [MEM0, MEM0["results"]])
def test_mem0(import_, given):
    repo, report = import_(given)
    assert report.format == "mem0"
    (found,) = repo.query(label="Semantic")
    assert found.summary == "likes tea"
    assert found.props == {
        "external_id": "m-1",
        "hash": "abc",
        "metadata": {"mood": "calm"},
        "time": 1_735_689_600_000_000,
        "user": "ada",
    }
    assert [one.id for one in repo.records.list(user="ada")] == [found.id]
    assert report.edge_count == (1 if given is MEM0 else 0)
    head = repo.head
    import_(given, repo=repo)
    assert repo.head == head


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"[", "element 0: not JSON"),
        (b'["\xff"]', "json: not UTF-8"),
        (b"[" * 100_000, "element 0: nested too deep"),
        (b"[" + b'{"mapping":' * 100_000, "element 0: nested too deep"),
        (b'{"results": []} x', "got 'x' after the value"),
        (b'[{"mapping": {}}] x', "conversation 0: conversation_id: got None"),
        ([chatgpt(id=None, conversation_id=None)], "conversation 0: conversation_id: got None"),
        ([chatgpt(), chatgpt(current_node="nowhere")], "conversation 1: mapping: got no message"),
        (
            [{**CLAUDE, "chat_messages": [1]}],
            "conversation 0: message 0: got 1, expected an object",
        ),
        ([{**CLAUDE, "chat_messages": [{}]}], "conversation 0: uuid: got None, expected a text"),
        ([{**CLAUDE, "uuid": 1}], "conversation 0: uuid: got 1, expected a text"),
        ([{"memory": "x"}], "memory 0: id: got None, expected a text"),
        ({"results": [{"id": "1"}]}, "memory 0: memory: got None"),
        ({"results": {}}, "unknown format"),
        ({"results": [], "relations": [{}]}, "relation 0: source: got None"),
        (archive([CLAUDE])[:-30], "archive: "),
        (archive({}, "other.json"), "archive: has no conversations.json"),
        (b"{}", "unknown format"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(import_, data, expected):
    repo = ibidem.init("memory:")
    with pytest.raises(IbidemError) as caught:
        import_(data, repo=repo)
    assert expected in str(caught.value)
    assert "export.json: " in str(caught.value)
    assert repo.head is None


def test_a_circle_of_messages_ends(import_):
    value = chatgpt()
    value["mapping"]["ask"]["parent"] = "thanks"
    with pytest.raises(InvalidInputError, match="is its own parent"):
        import_([value])


def test_a_bomb_is_stopped(import_):
    data = archive("[" + " " * 5_000_000 + "1]")
    limits = importing.ImportLimits(unpacked_bytes_max=1_000_000)
    for given in (data, archive('["' + "x" * 5_000_000 + '"]')):
        with pytest.raises(InvalidInputError) as caught:
            import_(given, limits=limits, format="claude", name="bomb.zip")
        assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED
    with pytest.raises(InvalidInputError) as caught:
        import_(
            archive('["' + "x" * 5_000_000 + '"]'),
            limits=importing.ImportLimits(element_bytes_max=100_000),
            format="claude",
            name="bomb.zip",
        )
    assert caught.value.kind is ErrorKind.LIMIT_EXCEEDED

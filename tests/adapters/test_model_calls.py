"""Real clients against a server that never answers twice alike: a replay gives the same bytes and
asks nobody.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import ibidem
from ibidem import aio
from ibidem.adapters.recording import http_call, model_calls
from ibidem.errors import InvalidInputError, RunMismatchError, UnrecordedError

from .model_server import ModelServer, model_server

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")

KEY = "sk-" + "a1B2c3D4" * 6
Agent = Callable[[ModelServer], Any]
CLIENTS: list[Any] = []


@pytest.fixture(autouse=True)
def closed_clients() -> Iterator[None]:
    """Closes the clients of a test: a connection that is left open is a warning."""
    yield
    while CLIENTS:
        CLIENTS.pop().close()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        yield found


@pytest.fixture
def repo() -> Iterator[ibidem.Repository]:
    with ibidem.init("memory:") as found:
        with found.transaction(message="seed") as tx:
            tx.add_node("Fact", summary="the parcel arrives on Monday")
        yield found


def openai_client(server: ModelServer, **options: Any) -> Any:
    options = {"api_key": KEY, "max_retries": 0, **options}
    CLIENTS.append(openai.OpenAI(base_url=f"{server.url}/v1", **options))
    return CLIENTS[-1]


def anthropic_client(server: ModelServer, **options: Any) -> Any:
    options = {"api_key": KEY, "max_retries": 0, **options}
    CLIENTS.append(anthropic.Anthropic(base_url=server.url, **options))
    return CLIENTS[-1]


def user(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def dumped(chunks: Any) -> list[str]:
    return [chunk.model_dump_json() for chunk in chunks]


def chat(server: ModelServer) -> str:
    client = openai_client(server)
    made = client.chat.completions.create(model="m", messages=user("hello"), temperature=0.5)
    return f"{made._request_id} {made.model_dump_json()}"


def chat_stream(server: ModelServer) -> list[str]:
    client = openai_client(server)
    return dumped(client.chat.completions.create(model="m", messages=user("a b"), stream=True))


def responses(server: ModelServer) -> str:
    return openai_client(server).responses.create(model="m", input="hello").model_dump_json()


def responses_stream(server: ModelServer) -> list[str]:
    return dumped(openai_client(server).responses.create(model="m", input="a b", stream=True))


def embeddings(server: ModelServer) -> list[float]:
    client = openai_client(server)
    made = client.embeddings.create(model="m", input="hello", encoding_format="float")
    return made.data[0].embedding


def raw(server: ModelServer) -> bytes:
    client = openai_client(server)
    made = client.chat.completions.with_raw_response.create(model="m", messages=user("raw"))
    return made.content


def messages(server: ModelServer) -> str:
    client = anthropic_client(server)
    made = client.messages.create(model="m", max_tokens=9, messages=user("hello"))
    return f"{made._request_id} {made.model_dump_json()}"


def messages_stream(server: ModelServer) -> list[str]:
    client = anthropic_client(server)
    with client.messages.stream(model="m", max_tokens=9, messages=user("a b")) as stream:
        return [*stream.text_stream, stream.get_final_message().model_dump_json()]


def stopped_stream(server: ModelServer) -> list[str]:
    client = openai_client(server)
    stream = client.chat.completions.create(model="m", messages=user("a b c d"), stream=True)
    with stream:
        return dumped([next(stream), next(stream)])


def refused(server: ModelServer) -> str:
    client = openai_client(server, max_retries=1)
    with pytest.raises(openai.RateLimitError) as error:
        client.chat.completions.create(model="m", messages=user("overloaded"))
    return str(error.value)


def hung_up(server: ModelServer) -> str:
    with pytest.raises(openai.APIConnectionError) as error:
        openai_client(server).chat.completions.create(model="m", messages=user("hang up"))
    return f"{type(error.value.__cause__).__name__} {error.value.__cause__}"


def broken_off(server: ModelServer) -> list[str]:
    client = openai_client(server)
    stream = client.chat.completions.create(model="m", messages=user("break off"), stream=True)
    said: list[str] = []
    with pytest.raises(openai.APIConnectionError) as error:
        said.extend(chunk.model_dump_json() for chunk in stream)
    return [*said, type(error.value).__name__]


def conversation(server: ModelServer) -> list[str]:
    client, said = openai_client(server), user("one")
    for _ in range(3):
        made = client.chat.completions.create(model="m", messages=said)
        said = [*said, {"role": "assistant", "content": made.choices[0].message.content}]
        said += user("more")
    return [str(one["content"]) for one in said]


def gathered(server: ModelServer) -> list[str]:
    """Three tasks of two calls each; the first to begin is the last to end."""

    async def task(client: Any, wait: int) -> str:
        create = client.chat.completions.create
        first = await create(model="m", messages=user(f"wait {wait}"))
        text = first.choices[0].message.content
        second = await create(model="m", messages=user(f"then {text}"))
        return str(second.choices[0].message.content)

    async def main() -> list[str]:
        options = {"api_key": KEY, "max_retries": 0}
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", **options) as client:
            return await asyncio.gather(*(task(client, wait) for wait in (60, 30, 1)))

    return asyncio.run(main())


def async_stream(server: ModelServer) -> list[str]:
    async def main() -> list[str]:
        options = {"api_key": KEY, "max_retries": 0}
        async with anthropic.AsyncAnthropic(base_url=server.url, **options) as client:
            stream = await client.messages.create(
                model="m", max_tokens=9, messages=user("a b"), stream=True
            )
            return [event.model_dump_json() async for event in stream]

    return asyncio.run(main())


AGENTS = (
    *(chat, chat_stream, responses, responses_stream, embeddings, raw, messages, messages_stream),
    *(stopped_stream, refused, hung_up, broken_off, conversation, gathered, async_stream),
)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_a_replay_gives_the_same_without_a_call(agent: Agent, repo: Any, server: ModelServer):
    with repo.runs.start("agent") as run, model_calls(run):
        said = agent(server)
    asked = server.count
    assert asked
    with run.replay() as replay, model_calls(replay):
        assert agent(server) == said
    assert server.count == asked
    assert agent(server) != said or agent in (refused, hung_up, broken_off)


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_recording_changes_nothing_for_the_agent(agent: Agent, repo: Any, server: ModelServer):
    with model_server() as other:
        plain = agent(other)
    with repo.runs.start("agent") as run, model_calls(run):
        assert agent(server) == plain or agent is gathered


@pytest.mark.parametrize("agent", AGENTS[:-3], ids=lambda agent: agent.__name__)
def test_the_same_calls_are_recorded_as_the_same_bytes(agent: Agent):
    tips = []
    for _ in range(2):
        with model_server() as server, ibidem.init("memory:", clock=lambda: 1) as repo:
            with repo.runs.start("agent") as run, model_calls(run):
                agent(server)
            tips.append(repo.runs.open("agent").tip)
    assert tips[0] == tips[1]


def test_the_server_need_not_be_there(repo: Any):
    with model_server() as server, repo.runs.start("agent") as run, model_calls(run):
        said = chat_stream(server)
    with run.replay() as replay, model_calls(replay):
        assert chat_stream(server) == said


def test_a_run_of_reads_and_calls_replays_from_a_copy(repo: Any, server: ModelServer, tmp_path):
    def agent(session: Any) -> str:
        found = session.retrieve("parcel").items[0].node.summary
        client = openai_client(server)
        made = client.chat.completions.create(model="m", messages=user(found))
        with session.transaction(message="said") as tx:
            tx.add_node("Answer", summary=made.choices[0].message.content)
        return str(made.choices[0].message.content)

    with repo.runs.start("agent") as run, model_calls(run):
        said = agent(run)
    repo.runs.open("agent").export(tmp_path / "run.car")
    with ibidem.init("memory:") as other:
        copy = other.runs.load(tmp_path / "run.car")
        with copy.replay() as replay, model_calls(replay):
            assert agent(replay) == said
    assert server.count == 1


def test_another_prompt_stops_where_it_changes(repo: Any, server: ModelServer):
    with repo.runs.start("agent") as run, model_calls(run):
        conversation(server)

    def changed() -> None:
        create = openai_client(server, max_retries=2).chat.completions.create
        create(model="m", messages=user("one"))
        create(model="m", messages=user("two"))

    with pytest.raises(RunMismatchError) as error, run.replay() as replay, model_calls(replay):
        changed()
    assert error.value.step_index == 2
    assert "differs in body.messages" in str(error.value)
    assert server.count == 3


# -- forks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("agent", AGENTS, ids=lambda agent: agent.__name__)
def test_a_fork_of_the_same_agent_asks_nobody(agent: Agent, repo: Any, server: ModelServer):
    with repo.runs.start("agent") as run, model_calls(run):
        said = agent(server)
    asked = server.count
    with repo.runs.fork("agent") as fork, model_calls(fork):
        assert agent(server) == said
    assert (server.count, fork.difference) == (asked, None)


def test_a_fork_asks_a_model_again_from_its_step_on(repo: Any, server: ModelServer):
    with repo.runs.start("agent") as run, model_calls(run):
        said = conversation(server)
    server.suffix = ", in another mood"
    with repo.runs.fork("agent", 2) as fork, model_calls(fork):
        again = conversation(server)
    assert (again[1], server.count) == (said[1], 5)
    assert "in another mood" in again[3]
    assert fork.difference.step_index == 2
    with repo.runs.open(fork.name).replay() as replay, model_calls(replay):
        assert conversation(server) == again
    assert server.count == 5


def test_another_prompt_asks_only_what_was_not_asked(repo: Any, server: ModelServer):
    def agent(last: str) -> list[str]:
        create = openai_client(server).chat.completions.create
        made = [create(model="m", messages=user(text)) for text in ("one", last, "three")]
        return [one.choices[0].message.content for one in made]

    with repo.runs.start("agent") as run, model_calls(run):
        said = agent("two")
    with repo.runs.fork("agent", go_on=True) as fork, model_calls(fork):
        again = agent("another")
    assert (again[0], again[2], server.count) == (said[0], said[2], 4)
    with pytest.raises(RunMismatchError), repo.runs.fork("agent") as fork, model_calls(fork):
        agent("another")
    assert server.count == 4


# -- secrets -----------------------------------------------------------------------------------


def stored(repo: Any) -> bytes:
    store = repo.core.store
    return b"".join(store.get(cid) for cid in store.cids())


PRIVATE = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEowIBAAKCAQEA7" * 12 + "\n"
SECRETS = (
    *(KEY, "AKIAIOSFODNN7EXAMPLE", "ghp_" + "x9" * 18, "https://ada:hunter2xyz@db.test/"),
    *(PRIVATE + "-----END RSA PRIVATE KEY-----", PRIVATE, "\nAKIAIOSFODNN7EXAMPLE"),
)


@pytest.mark.parametrize("secret", SECRETS, ids=range(len(SECRETS)))
def test_a_secret_is_in_no_block_and_the_replay_holds(secret: str, repo: Any, server: ModelServer):
    def agent(key: str) -> list[str]:
        said = []
        for client in (openai_client(server, api_key=key), openai_client(server, api_key=key)):
            given = user(f"use {secret} and {key}")
            made = client.chat.completions.create(model="m", messages=given)
            said.append(made.choices[0].message.content)
        return said

    key = "proj-key-of-no-known-form"
    with repo.runs.start("agent") as run, model_calls(run):
        assert secret in agent(key)[0]
    blocks = stored(repo)
    assert secret.encode() not in blocks
    assert json.dumps(secret)[1:-1].encode() not in blocks
    assert key.encode() not in blocks
    assert b"[removed: " in blocks
    with run.replay() as replay, model_calls(replay):
        assert secret not in agent("another-key-without-a-form")[0]
    assert server.headers[0]["authorization"] == f"Bearer {key}"


def test_a_key_in_the_address_is_not_recorded(repo: Any, server: ModelServer):
    client = openai_client(server, default_query={"key": "of-the-address", "api-version": "7"})
    with repo.runs.start("agent") as run, model_calls(run):
        client.chat.completions.create(model="m", messages=user("hello"))
    assert b"of-the-address" not in stored(repo)
    assert b"secret-of-the-server" not in stored(repo)  # a cookie
    found = next(step for step in repo.runs.open("agent").read() if step.step.action == "event")
    assert found.request["path"] == "/v1/chat/completions?api-version=7"


def test_what_is_no_secret_keeps_its_bytes():
    body = b'{"url":"http://a","user":"b@c","n":"\\nx", "k":"AKIAIOSFODNN7EXAMPLE"}'
    value = http_call.answer_value(200, {"content-type": "application/json"}, body, ())
    said = '{"url":"http://a","user":"b@c","n":"\\nx", "k":"[removed: an AWS access key]"}'
    assert b"".join(http_call.parts(value)).decode() == said


def test_a_long_text_is_recorded_by_its_hash(repo: Any, server: ModelServer):
    def agent(letter: str) -> str:
        client = openai_client(server)
        said = [*user(letter * 3_000_000), *user("hello")]
        made = client.chat.completions.create(model="m", messages=said)
        return str(made.choices[0].message.content)

    with repo.runs.start("agent") as run, model_calls(run):
        said = agent("x")
    assert len(server.calls[0]["messages"][0]["content"]) == 3_000_000
    with run.replay() as replay, model_calls(replay):
        assert agent("x") == said
    with pytest.raises(RunMismatchError), run.replay() as replay, model_calls(replay):
        agent("y")


WHOLE = {"status": 200, "headers": {}, "body": ""}


@pytest.mark.parametrize(
    "answer",
    [
        *(5, None, {}, [WHOLE], {**WHOLE, "status": "200"}, {**WHOLE, "status": 7}),
        *({**WHOLE, "headers": {"a": 1}}, {**WHOLE, "body": []}, {**WHOLE, "headers": []}),
        *({"failure": "x"}, {"failure": ["x"]}, {"failure": [1, 2]}, {**WHOLE, "failure": 3}),
    ],
    ids=repr,
)
def test_an_answer_of_another_form_is_refused(answer: Any, repo: Any, server: ModelServer):
    request = {"path": "/v1/chat/completions", "body": {"model": "m", "messages": user("x")}}
    with repo.runs.start("forged") as run:
        run.event(http_call.EVENT, request, lambda: answer)
    create = openai_client(server).chat.completions.create
    with (
        pytest.raises(ibidem.CorruptError, match="expected status, headers and body"),
        run.replay() as replay,
        model_calls(replay),
    ):
        create(model="m", messages=user("x"))


@pytest.mark.parametrize("name", ["Client", "nothing", "ReadTimeout"])
def test_a_recorded_failure_is_one_of_the_connection(name: str, repo: Any, server: ModelServer):
    request = {"path": "/v1/chat/completions", "body": {"model": "m", "messages": user("x")}}
    with repo.runs.start("forged") as run:
        run.event(http_call.EVENT, request, lambda: {"failure": [name, "gone"]})
    create = openai_client(server).chat.completions.create
    with run.replay() as replay, model_calls(replay), pytest.raises(openai.APIConnectionError):
        create(model="m", messages=user("x"))


# -- whose call it is --------------------------------------------------------------------------


def test_threads_and_tools_belong_to_the_run(repo: Any, server: ModelServer):
    def agent(session: Any) -> list[Any]:
        with ThreadPoolExecutor(1) as pool:
            said = pool.submit(chat, server).result()
        return [said, session.tool("sub-agent", lambda: chat(server))(), chat(server)]

    with repo.runs.start("agent") as run, model_calls(run):
        said = agent(run)
    actions = [step.name for step in repo.runs.open("agent").steps]
    assert actions == ["agent", "model-call", "sub-agent", "model-call", ""]
    with run.replay() as replay, model_calls(replay):
        assert agent(replay) == said
    assert server.count == 3


def test_runs_side_by_side_keep_their_calls_apart(repo: Any, server: ModelServer):
    async def one(name: str) -> tuple[Any, str]:
        with repo.runs.start(name) as run, model_calls(run):
            options = {"api_key": KEY, "max_retries": 0}
            async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", **options) as client:
                create = client.chat.completions.create
                made = await create(model="m", messages=user(f"wait of {name} 30"))
        return run, str(made.choices[0].message.content)

    async def both() -> list[tuple[Any, str]]:
        return await asyncio.gather(one("a"), one("b"))

    for run, said in asyncio.run(both()):
        texts = [str(found.answer) for found in repo.runs.open(run.name).read()]
        assert len(texts) == 3
        assert said in texts[1]


def test_a_thread_outside_is_refused_if_two_runs_are_open(repo: Any, server: ModelServer):
    with (
        repo.runs.start("a") as one,
        repo.runs.start("b") as other,
        model_calls(one),
        model_calls(other),
        ThreadPoolExecutor(1) as pool,
        pytest.raises(UnrecordedError, match="outside the context of the 2 runs"),
    ):
        pool.submit(chat, server).result()
    assert server.count == 0


def test_a_run_of_aio_records_asynchronous_clients(server: ModelServer):
    async def agent() -> str:
        options = {"api_key": KEY, "max_retries": 0}
        async with openai.AsyncOpenAI(base_url=f"{server.url}/v1", **options) as client:
            made = await client.chat.completions.create(model="m", messages=user("hello"))
        return str(made.choices[0].message.content)

    async def main() -> None:
        async with aio.init("memory:") as repo:
            async with repo.runs.start("agent") as run:
                with model_calls(run):
                    said = await agent()
                    with pytest.raises(InvalidInputError, match="a client that blocks"):
                        chat(server)
            async with await run.replay() as replay:
                with model_calls(replay):
                    assert await agent() == said

    asyncio.run(main())
    assert server.count == 1


class OldClient:
    """A client that tells every error as one of its own, as clients did."""

    def __init__(self, server: ModelServer) -> None:
        self._inner = openai_client(server)

    def create(self, text: str) -> None:
        try:
            self._inner.chat.completions.create(model="m", messages=user(text))
        except Exception as error:
            raise RuntimeError("connection error") from error


def test_a_client_that_hides_the_difference_does_not_hide_it(repo: Any, server: ModelServer):
    with repo.runs.start("agent") as run, model_calls(run):
        OldClient(server).create("one")
    with pytest.raises(RunMismatchError), run.replay() as replay, model_calls(replay):
        OldClient(server).create("two")


@pytest.mark.parametrize("name", ["httpx", "httpx2"])
def test_a_client_of_either_module_is_recorded(name: str, repo: Any, server: ModelServer):
    module = pytest.importorskip(name)
    asked = {"model": "m", "messages": user("a b"), "stream": True}

    def agent() -> tuple[list[str], int]:
        with module.Client() as client:
            plain = client.post(f"{server.url}/v1/files", json=asked)
            with client.stream("POST", f"{server.url}/v1/chat/completions", json=asked) as made:
                return list(made.iter_lines()), plain.status_code

    with repo.runs.start("agent") as run, model_calls(run):
        said = agent()
    assert server.count == 2
    with run.replay() as replay, model_calls(replay):
        assert agent() == said
    assert server.count == 3  # what asks no model passes


def test_nothing_is_left_behind(repo: Any, server: ModelServer):
    httpx2 = pytest.importorskip("httpx2")
    before = httpx2.HTTPTransport.handle_request
    with repo.runs.start("agent") as run, model_calls(run), model_calls(run):
        assert httpx2.HTTPTransport.handle_request is not before
    assert httpx2.HTTPTransport.handle_request is before
    chat(server)
    assert len(repo.runs.open("agent").steps) == 2

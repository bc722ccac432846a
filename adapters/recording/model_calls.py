"""Calls of models that go through `httpx`, recorded and answered below the client.

The clients of OpenAI and Anthropic, what LangChain and others build on them, and most others send
through `httpx` or `httpx2`. While `model_calls` is open, the transports of both record the requests
that ask a model (`http_call.is_model_call`), or answer them from a replay; all other requests pass.
The client is the real one, so retries, parsing, streaming and errors are those of production.

Which run a call belongs to follows from its context (`contextvars`), which tasks and the threads of
frameworks inherit. A call from a thread without it belongs to the run if only one is open in the
process, and is refused if there are several.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock
from types import ModuleType
from typing import Any

from ibidem import IbidemError, InvalidInputError, UnrecordedError
from ibidem.adapters.recording import http_call

_MODULES = ("httpx", "httpx2")
_SESSION: ContextVar[Any] = ContextVar("session", default=None)
_lock = Lock()
_open: list[Any] = []
"""The sessions of all calls of `model_calls` that have not ended."""
_patched: list[tuple[type[Any], str, Callable[..., Any]]] = []


def _in_child() -> None:
    global _lock
    _lock = Lock()  # the thread that held it may not exist here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@contextmanager
def model_calls(session: Any) -> Iterator[None]:
    """Records the calls of models made in `with` into a run, or answers them from a replay.

    Args:
        session: what `repo.runs.start`, `replay` or `fork` returned; of `ibidem` or `ibidem.aio`.

    Raises:
        RunMismatchError: in a replay, at the first call that differs from the recorded one.
    """
    with _lock:
        if not _open:
            _patch()
        _open.append(session)
    token = _SESSION.set(session)
    try:
        yield
    except Exception as error:
        # Clients wrap what they do not know into an error of the connection.
        raise _cause(error) from error.__cause__
    finally:
        _SESSION.reset(token)
        with _lock:
            _open.remove(session)
            if not _open:
                _restore()


def _cause(error: Exception) -> Exception:
    """Returns the error of this library that caused another one, or else that one."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, IbidemError):
            return found
        found = found.__cause__
    return error


def _patch() -> None:
    modules = [
        importlib.import_module(name)
        for name in _MODULES
        if importlib.util.find_spec(name) is not None
    ]
    for module in {id(module): module for module in modules}.values():
        for cls, name, wrap in (
            (module.HTTPTransport, "handle_request", _sync),
            (module.AsyncHTTPTransport, "handle_async_request", _async),
        ):
            original = getattr(cls, name)
            _patched.append((cls, name, original))
            setattr(cls, name, wrap(module, original))


def _restore() -> None:
    while _patched:
        cls, name, original = _patched.pop()
        setattr(cls, name, original)


def _session_of(request: Any) -> Any:
    """Returns the session that a request belongs to; None if it is none of a model's."""
    if not http_call.is_model_call(request.method, request.url.path):
        return None
    session = _SESSION.get()
    if session is not None and session in _open:
        return session
    if len(_open) > 1:
        raise UnrecordedError(
            f"{request.url.path}: a model was called outside the context of the "
            f"{len(_open)} runs that are open",
            hint="start the thread with contextvars.copy_context().run",
        )
    return _open[0] if _open else None


def _sync(module: ModuleType, original: Callable[..., Any]) -> Callable[..., Any]:
    def handle_request(transport: Any, request: Any) -> Any:
        session = _session_of(request)
        if session is None:
            return original(transport, request)
        call = _Call(module, request, request.read())
        event = session.open_event(http_call.EVENT, call.request_value())
        if inspect.isawaitable(event):
            event.__await__().close()
            raise InvalidInputError(
                "model_calls: got a client that blocks in a run of ibidem.aio",
                hint="use the asynchronous client, or a run of ibidem",
            )
        if event.is_answered:
            return call.recorded(event.answer())
        try:
            response = original(transport, request)
        except module.TransportError as error:
            event.finish(call.failed(error))
            raise
        return call.passed_on(response, _Recorder(call, event, response))

    return handle_request


def _async(module: ModuleType, original: Callable[..., Any]) -> Callable[..., Any]:
    async def handle_async_request(transport: Any, request: Any) -> Any:
        session = _session_of(request)
        if session is None:
            return await original(transport, request)
        call = _Call(module, request, await request.aread())
        event = session.open_event(http_call.EVENT, call.request_value())
        if inspect.isawaitable(event):
            event = await event
        if event.is_answered:
            # Calls that start together do so in a replay too: none is answered before all started.
            await importlib.import_module("anyio").sleep(0)
            return call.recorded(event.answer())
        try:
            response = await original(transport, request)
        except module.TransportError as error:
            event.finish(call.failed(error))
            raise
        return call.passed_on(response, _Recorder(call, event, response))

    return handle_async_request


class _Call:
    """One request, in the classes of the module that sends it."""

    def __init__(self, module: ModuleType, request: Any, body: bytes) -> None:
        self._module = module
        self._request = request
        self._body = body
        self._secrets = http_call.secrets_of(request.headers)

    def request_value(self) -> dict[str, Any]:
        url = self._request.url
        return http_call.request_value(
            url.path, url.query.decode("ascii"), self._request.headers, self._body, self._secrets
        )

    def answer_value(self, response: Any, body: bytes, **outcome: Any) -> dict[str, Any]:
        return http_call.answer_value(
            response.status_code, response.headers, body, self._secrets, **outcome
        )

    def failed(self, error: Exception) -> dict[str, Any]:
        return http_call.failed_value(type(error).__name__, str(error), self._secrets)

    def recorded(self, value: dict[str, Any]) -> Any:
        """Returns the response of a recorded answer, or raises the error that was recorded."""
        http_call.checked(value)
        if "status" not in value:
            raise self._error(value["failure"])
        return self._module.Response(
            value["status"],
            headers=value["headers"],
            stream=_stream(self._module, lambda: self._parts(value)),
            request=self._request,
        )

    def passed_on(self, response: Any, recorder: _Recorder) -> Any:
        """Returns a response as it came, decoded, whose stream is recorded when it ends."""
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name not in ("content-encoding", "content-length", "transfer-encoding")
        ]
        return self._module.Response(
            response.status_code,
            headers=headers,
            stream=_stream(
                self._module, recorder.parts, recorder.aparts, recorder.close, recorder.aclose
            ),
            request=self._request,
            extensions=response.extensions,
        )

    def is_transport_error(self, error: BaseException) -> bool:
        return isinstance(error, self._module.TransportError)

    def _parts(self, value: dict[str, Any]) -> Iterator[bytes]:
        yield from http_call.parts(value)
        if "failure" in value:
            raise self._error(value["failure"])

    def _error(self, failure: list[str]) -> Exception:
        name, message = failure
        plain: Any = self._module.TransportError
        cls: Any = getattr(self._module, name, None)
        is_known = isinstance(cls, type) and issubclass(cls, plain)
        error: Exception = (cls if is_known else plain)(message, request=self._request)
        return error


class _Recorder:
    """Reads a response for its client, and records it when it ends."""

    def __init__(self, call: _Call, event: Any, response: Any) -> None:
        self._call = call
        self._event = event
        self._response = response
        self._read: list[bytes] = []
        self._is_open = True

    def parts(self) -> Iterator[bytes]:
        try:
            for part in self._response.iter_bytes():
                self._read.append(part)
                yield part
        except Exception as error:
            self._broken(error)
            raise
        self._end()

    async def aparts(self) -> AsyncIterator[bytes]:
        try:
            async for part in self._response.aiter_bytes():
                self._read.append(part)
                yield part
        except Exception as error:
            self._broken(error)
            raise
        self._end()

    def close(self) -> None:
        self._response.close()
        self._end(is_whole=False)

    async def aclose(self) -> None:
        await self._response.aclose()
        self._end(is_whole=False)

    def _broken(self, error: Exception) -> None:
        if self._call.is_transport_error(error):
            self._end(is_whole=False, failure=(type(error).__name__, str(error)))

    def _end(self, **outcome: Any) -> None:
        if self._is_open:
            self._is_open = False
            body = b"".join(self._read)
            self._event.finish(self._call.answer_value(self._response, body, **outcome))


def _stream(
    module: ModuleType,
    parts: Callable[[], Iterator[bytes]],
    aparts: Callable[[], AsyncIterator[bytes]] | None = None,
    close: Callable[[], None] | None = None,
    aclose: Callable[[], Any] | None = None,
) -> Any:
    """Returns a stream of the module's classes, for blocking and asynchronous clients."""

    class Stream(module.SyncByteStream, module.AsyncByteStream):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[bytes]:
            return parts()

        async def __aiter__(self) -> AsyncIterator[bytes]:
            if aparts is not None:
                async for part in aparts():
                    yield part
                return
            for part in parts():
                yield part

        def close(self) -> None:
            if close is not None:
                close()

        async def aclose(self) -> None:
            if aclose is not None:
                await aclose()

    return Stream()

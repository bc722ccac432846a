"""The library for asyncio: the same names, and calls that do not block the loop.

Every class here is reflected from the one of the same name in `ibidem`, so the two cannot differ:
a method returns an awaitable, and runs in a thread of the repository's own pool, of `THREADS`.
What a call returns is the same, with three exceptions: repositories, revisions, transactions,
namespaces and memories come as the classes of this module; what would be an iterator comes as a
list; and a call whose result is a context manager can be entered at once, with `async with`.
Properties are read directly: they read a few bytes of a mapped file. So are the layers, such as
`repo.conversations` and `repo.add`, which import their module when they are first used.

A call that has begun is finished before a cancellation is raised, and one that waits for its turn
is never begun. So a cancelled commit is whole or not there, and a cancelled
`async with repo.transaction()` changes nothing.

>>> import asyncio
>>> from ibidem import aio
>>> async def main() -> list[str]:
...     async with aio.init("memory:") as repo:
...         async with repo.transaction(message="a fact") as tx:
...             await tx.add_node("Fact", summary="tea at five")
...         return [item.node.summary for item in await repo.retrieve("tea")]
>>> asyncio.run(main())
['tea at five']
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
import warnings
from collections.abc import Callable, Coroutine, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import MethodType, TracebackType
from typing import Any, Final

import ibidem

THREADS: Final = 4
"""Calls of one repository that run at the same time; the others wait for their turn."""
CLASSES: Final = (
    *("Repository", "Revision", "Transaction", "ViewerRepository", "ViewerRevision"),
    *("History", "Keys", "Maintenance", "NoteSpaces", "Notes", "Receipts", "Runs", "Run", "Fork"),
    *("Replay", "Stage", "Sync", "Conversations", "GraphMemory", "ViewerNotes", "ViewerReceipts"),
    *("ViewerSpace", "ViewerTransaction", "Feedback", "Union"),
)
"""The classes that have calls which read or write."""
FUNCTIONS: Final = (
    *("add_procedure", "clone", "ingest_text", "init", "mine", "offers", "open"),
    *("recall", "set_status", "union"),
)
"""The functions that read or write."""
__all__ = [*CLASSES, *FUNCTIONS]


class Call(Coroutine[Any, Any, Any]):
    """A call that runs once, in a thread, when it is awaited or entered, or when a task runs it.

    One that is dropped before that has done nothing, and warns as a coroutine does.
    """

    def __init__(self, pool: ThreadPoolExecutor, name: str, function: Callable[[], Any]) -> None:
        self.__name__ = self.__qualname__ = name
        self._pool, self._function = pool, function
        self._running: Coroutine[Any, Any, Any] | None = None
        self._entered: Any = None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise AttributeError(f"the call of {self.__name__!r} has no {name!r}: await it first")

    def __del__(self) -> None:
        if self._running is None:
            text = f"the call of {self.__name__!r} was never awaited, so nothing was done"
            warnings.warn(text, RuntimeWarning, stacklevel=2, source=self)

    def __await__(self) -> Generator[Any, None, Any]:
        return self._run().__await__()

    def send(self, value: Any) -> Any:
        """Goes on with the call; for event loops."""
        return self._run().send(value)

    def throw(self, *error: Any) -> Any:
        """Raises an error in the call; for event loops."""
        return self._run().throw(*error)

    async def __aenter__(self) -> Any:
        self._entered = await self._run()
        return await self._entered.__aenter__()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._entered.__aexit__(kind, error, trace)

    def _run(self) -> Coroutine[Any, Any, Any]:
        if self._running is None:
            self._running = self._result()
        return self._running

    async def _result(self) -> Any:
        return _face_of(await _in_thread(self._pool, self._function), self._pool)


class Face:
    """An object of the library whose calls are awaited."""

    _of: type[Any]
    _inner: Any
    _pool: ThreadPoolExecutor

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._pool = _pool_of(arguments)
        self._inner = self._of(*map(_plain, arguments), **_plain_map(options))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return _face_of(getattr(self._inner, name), self._pool)

    def __repr__(self) -> str:
        return f"<aio {self._inner!r}>"

    async def __aenter__(self) -> Any:
        await _in_thread(self._pool, self._inner.__enter__)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        leave = functools.partial(self._inner.__exit__, kind, error, trace)
        await _in_thread(self._pool, leave, must_run=True)


def __getattr__(name: str) -> Any:
    if name in CLASSES:
        found: Any = _class_of(getattr(ibidem, name))
    elif name in FUNCTIONS:
        found = _function(getattr(ibidem, name))
    else:
        raise AttributeError(f"module 'ibidem.aio' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)


@functools.cache
def _class_of(cls: type[Any]) -> type[Face]:
    """Returns the class of this module that is reflected from one of the library."""
    members: dict[str, Any] = {"_of": cls, "__doc__": cls.__doc__, "__module__": __name__}
    for name in dir(cls):
        if not name.startswith("_"):
            found = inspect.getattr_static(cls, name)
            is_method = inspect.isfunction(found)
            members[name] = _method(name, found) if is_method else _property(name, found)
    return type(cls.__name__, (Face,), members)


def _method(name: str, function: Callable[..., Any]) -> Callable[..., Call]:
    @functools.wraps(function)
    def call(self: Face, *arguments: Any, **options: Any) -> Call:
        given, named = [*map(_plain, arguments)], _plain_map(options)
        method = getattr(self._inner, name)
        return Call(self._pool, name, lambda: _listed(method(*given, **named)))

    return call


def _property(name: str, found: Any) -> property:
    def read(self: Face) -> Any:
        return _face_of(getattr(self._inner, name), self._pool)

    return property(read, doc=getattr(found, "__doc__", None))


def _function(
    function: Callable[..., Any], pool: ThreadPoolExecutor | None = None
) -> Callable[..., Call]:
    """Returns a function whose calls run in `pool`, or else in that of an argument."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Call:
        given, named = [*map(_plain, arguments)], _plain_map(options)
        return Call(
            pool or _pool_of(arguments),
            function.__name__,
            lambda: _listed(function(*given, **named)),
        )

    return call


def _pool_of(arguments: tuple[Any, ...]) -> ThreadPoolExecutor:
    """Returns the pool of the first argument that has one, or a new one."""
    several = (list, tuple)
    some = [one for given in arguments for one in (given if type(given) in several else [given])]
    pool = next((one._pool for one in some if isinstance(one, Face)), None)
    return ThreadPoolExecutor(THREADS, "ibidem") if pool is None else pool


def _plain(value: Any) -> Any:
    """Returns an argument as the library takes it."""
    if type(value) in (list, tuple):
        return type(value)(map(_plain, value))
    return value._inner if isinstance(value, Face) else value


def _plain_map(options: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in options.items()}


def _listed(value: Any) -> Any:
    """Returns what a call returned; an iterator is read in the same thread."""
    return list(value) if isinstance(value, Iterator) else value


def _is_reflected(cls: type[Any]) -> bool:
    return cls.__name__ in CLASSES and cls is getattr(ibidem, cls.__name__)


def _face_of(value: Any, pool: ThreadPoolExecutor) -> Any:
    """Returns a result as a program on asyncio gets it."""
    cls = type(value)
    if cls is MethodType:
        return _function(value, pool)
    public = next((one for one in cls.__mro__ if _is_reflected(one)), None)
    if public is None:
        return value
    found = object.__new__(_class_of(public))
    found._inner, found._pool = value, pool
    return found


async def _in_thread(
    pool: ThreadPoolExecutor, function: Callable[[], Any], *, must_run: bool = False
) -> Any:
    """Returns the result of a function that runs in a thread, and is not left running alone.

    Args:
        must_run: whether it runs even if it is cancelled while it waits for its turn.
    """
    job = pool.submit(contextvars.copy_context().run, function)
    future = asyncio.wrap_future(job)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        if must_run or not job.cancel():
            while not future.done():  # it may be cancelled again meanwhile
                with suppress(asyncio.CancelledError):
                    await asyncio.wait([future])
        raise

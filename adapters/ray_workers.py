"""Ray actors that rank for a large repository: an open session, whose rows stay in memory.

Each actor opens the repository once and answers messages of the driver until it is closed. Ray
starts an actor that died again; meanwhile another one that may rank the same segments is asked. Ray
moves bytes and decides where an actor runs, nothing else: what they compute and how it is merged is
that of `Repository.use_workers`, whoever carries it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import ibidem

if TYPE_CHECKING:
    from types import TracebackType

TIMEOUT_SECONDS = 30.0


class RayWorkers(Mapping[str, Callable[[bytes], bytes]]):
    """Workers in the Ray cluster of this process, by name; a context manager that ends them.

    `repo.use_workers(RayWorkers("s3://bucket/notes", 4))`
    """

    def __init__(
        self,
        address: str,
        count: int,
        *,
        timeout_seconds: float = TIMEOUT_SECONDS,
        **options: Any,
    ) -> None:
        """Starts the actors; they open the repository when they are asked first.

        Args:
            address: of the repository, which every machine of the cluster can open.
            count: how many.
            timeout_seconds: how long an answer is waited for.
            options: of the actors, for Ray, such as `num_cpus=4` or `resources`.

        Raises:
            InvalidInputError: Ray is not installed, or `count` is below 1.
        """
        if type(count) is not int or count < 1:
            raise ibidem.InvalidInputError(f"count: got {count!r:.80}, expected a number from 1 on")
        try:
            import ray
        except ImportError as error:
            raise ibidem.InvalidInputError(
                "workers: they need the package ray, which is not installed",
                hint="pip install 'ibidem[ray]'",
            ) from error
        self._ray = ray
        self._timeout_seconds = timeout_seconds
        actor = ray.remote(_Worker).options(max_restarts=-1, **options)
        self._actors = {f"ray-{number}": actor.remote(str(address)) for number in range(count)}

    def __getitem__(self, name: str) -> Callable[[bytes], bytes]:
        actor = self._actors[name]

        def ask(message: bytes) -> bytes:
            answer = self._ray.get(actor.work.remote(message), timeout=self._timeout_seconds)
            return bytes(answer)

        return ask

    def __iter__(self) -> Iterator[str]:
        return iter(self._actors)

    def __len__(self) -> int:
        return len(self._actors)

    def close(self) -> None:
        """Ends the actors; the cluster stays."""
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Worker:
    """What runs in an actor."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._repo: ibidem.Repository | None = None

    def work(self, message: bytes) -> bytes:
        """Returns the answer to a message of the driver."""
        if self._repo is None:
            self._repo = ibidem.open(self._address)
        return self._repo.work(message)

"""Counters of a server in the text format of Prometheus; in memory, from its start on.

They have the paths of the routes as written in the table, never of a request, so that a stranger
cannot add one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable

from ibidem.objects.forking import ForkLock

TEXT = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)


class Metrics:
    """The counters of one server; threads may count at once."""

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: Counter[tuple[str, float]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._counts: Counter[str] = Counter()
        self.gauges: dict[str, Callable[[], int]] = {}
        """What is read when it is asked for, by name."""

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts one answered request."""
        with self._lock:
            self._requests[method, route, status] += 1
            self._counts[route] += 1
            self._seconds[route] += seconds
            for bound in BUCKETS_SECONDS:
                if seconds <= bound:
                    self._buckets[route, bound] += 1

    def text(self) -> str:
        """Returns all counters, in order."""
        lines = ["# TYPE ibidem_requests_total counter"]
        with self._lock:
            for (method, route, status), count in sorted(self._requests.items()):
                labels = f'method="{method}",route="{route}",status="{status}"'
                lines.append(f"ibidem_requests_total{{{labels}}} {count}")
            lines.append("# TYPE ibidem_request_seconds histogram")
            for route, count in sorted(self._counts.items()):
                name = f'ibidem_request_seconds_bucket{{route="{route}",le='
                lines += [f'{name}"{one}"}} {self._buckets[route, one]}' for one in BUCKETS_SECONDS]
                lines.append(f'{name}"+Inf"}} {count}')
                seconds = self._seconds[route]
                lines.append(f'ibidem_request_seconds_sum{{route="{route}"}} {seconds:.6f}')
                lines.append(f'ibidem_request_seconds_count{{route="{route}"}} {count}')
        for gauge, read in sorted(self.gauges.items()):
            lines += [f"# TYPE ibidem_{gauge} gauge", f"ibidem_{gauge} {read()}"]
        return "\n".join(lines) + "\n"

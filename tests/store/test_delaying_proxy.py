"""The proxy that stands for a network: it counts and delays round trips, and changes no byte."""

from __future__ import annotations

import time
from urllib.parse import urlsplit

import pytest

pytest.importorskip("obstore", reason="obstore is not installed: pip install 'ibidem[s3]'")
from tests.delaying_proxy import delaying
from tests.s3_server import BUCKET, free_port

from ibidem.store.log.backend import bucket_at
from ibidem.store.log.objects import Created

DELAY_SECONDS = 0.02


def test_each_request_is_counted_and_delayed(
    s3_prefix: str, s3_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = urlsplit(s3_environment["AWS_ENDPOINT_URL"]).port
    assert port is not None
    with delaying(port, DELAY_SECONDS) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        bucket, _ = bucket_at(s3_prefix)
        body = bytes(range(256)) * 4_096
        started = time.monotonic()
        for number in range(3):
            bucket.put(f"a/{number}", body)
            assert bucket.get(f"a/{number}") == body
        assert proxy.taken() == 6
        assert time.monotonic() - started >= 6 * DELAY_SECONDS
        assert proxy.waiting_max == 1
        assert bucket.get_all([f"a/{number % 3}" for number in range(16)]) == [body] * 16
        assert proxy.taken() == 16
        assert proxy.waiting_max > 1


def test_a_server_that_is_gone_ends_the_connection(
    s3_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with delaying(free_port(), 0.0) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
        bucket, _ = bucket_at(f"s3://{BUCKET}/nowhere")
        assert bucket.create("a", b"1") is Created.UNKNOWN

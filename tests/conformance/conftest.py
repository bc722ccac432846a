"""Each test that uses `engine` runs with both, where both are installed."""

from __future__ import annotations

import pytest

from ibidem.objects import codec


@pytest.fixture(params=["cbor2", "cbrrr"])
def engine(request):
    """Selects an engine for one test and yields its name."""
    pytest.importorskip(request.param)
    before = codec.engine_name()
    codec.use_engine(request.param)
    yield request.param
    codec.use_engine(before)

"""What is remembered of one object is that object's, whatever equals it."""

from __future__ import annotations

import pytest

from ibidem.retrieve.identity_cache import IdentityCache


def test_only_the_last_object_is_remembered_and_by_identity():
    asked = []
    count = IdentityCache(lambda key: (asked.append(key), len(key))[1])
    one, other = [1, 2], [1, 2]
    assert [count(one), count(one), count(other), count(one)] == [2, 2, 2, 2]
    assert list(map(id, asked)) == [id(one), id(other), id(one)]


def test_an_error_is_not_remembered():
    length = IdentityCache(len)
    with pytest.raises(TypeError):
        length(1)
    with pytest.raises(TypeError):
        length(1)
    assert length("abc") == 3

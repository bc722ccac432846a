"""The collector of cycles is as it was when the last holder lets go."""

import gc

import pytest

from ibidem.objects.gc_pause import gc_paused


def test_it_is_still_inside_and_runs_afterwards():
    assert gc.isenabled()
    with gc_paused():
        assert not gc.isenabled()
        with gc_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_lets_go_of_it():
    with pytest.raises(KeyError), gc_paused():
        raise KeyError
    assert gc.isenabled()


def test_who_had_it_off_keeps_it_off():
    gc.disable()
    try:
        with gc_paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

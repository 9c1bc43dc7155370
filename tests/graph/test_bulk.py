"""Blocks in which cycles are not looked for."""

import gc

import pytest

from gpuplace.graph.bulk import without_garbage_collection


def test_collection_is_as_it_was_afterwards():
    assert gc.isenabled()
    with without_garbage_collection():
        assert not gc.isenabled()
        with without_garbage_collection():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_an_error_leaves_it_enabled():
    with pytest.raises(ValueError), without_garbage_collection():
        raise ValueError
    assert gc.isenabled()


def test_what_was_disabled_stays_so():
    gc.disable()
    try:
        with without_garbage_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()

"""Functions that are compiled as they stand: their records, what calls what, the cache, and life without it."""

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from gpuplace.numerics.compiled import functions

numba = pytest.importorskip("numba")

SOURCE = """
from __future__ import annotations
from typing import Annotated, Any, NamedTuple

FACTOR = {factor}

class Pair(NamedTuple):
    count: int
    first: Annotated[Any, "float64"]
    weight: float
    second: Annotated[Any, "int64"]

def weighted(pair: Pair, at: int) -> float:
    return pair.first[at] * pair.weight + FACTOR

def total(pair: Pair, taken: Annotated[Any, "int64"]) -> float:
    found = 0.0
    for at in range(pair.count):
        found += weighted(pair, at) + len(pair.second)
        taken[at] = pair.second[at]
        pair.second[at] = -1
    return found
"""


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A function that writes the module, imports it anew and forgets what was compiled."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(functions, "_made", {})
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # `__pycache__` is numba's alone

    def make(factor=3):
        (tmp_path / "some_loops.py").write_text(SOURCE.format(factor=factor))
        sys.modules.pop("some_loops", None)
        importlib.invalidate_caches()
        return importlib.import_module("some_loops")

    yield make
    sys.modules.pop("some_loops", None)


def packed(module, **changed):
    from gpuplace.numerics.compiled.record_types import Packed

    fields = {"count": 3, "first": np.arange(3.0), "weight": 2.0, "second": np.arange(3) + 7, **changed}
    return Packed(module.Pair(**fields))


def test_records_are_read_and_written_in_place(made):
    module = made()
    pair, taken = packed(module), np.zeros(3, np.int64)
    assert functions.compiled_functions(module).total(pair, taken) == 6.0 + 3 * 3 + 3 * 3
    assert taken.tolist() == [7, 8, 9] and pair.record.second.tolist() == [-1, -1, -1]


@pytest.mark.parametrize(
    "wrong", [{"first": np.zeros(3, np.float32)}, {"second": np.zeros(6, np.int64)[::2]}], ids=str
)
def test_what_is_no_such_array_is_refused(made, wrong):
    with pytest.raises(TypeError, match=rf"Pair.{next(iter(wrong))} is not a one-axis array of"):
        packed(made(), **wrong)


def test_other_processes_compile_into_the_cache_and_a_changed_constant_is_seen(made):
    module = made()
    compilation = functions.Compilation([[module.total]])
    assert compilation.is_needed
    compilation.finish()
    cached = functions.compiled_function(module.total)
    assert sum(cached.stats.cache_hits.values()) == 1 and not cached.stats.cache_misses
    assert not functions.Compilation([[module.total]]).is_needed
    # numba itself would not see that what `total` calls is another: the file could be another one
    functions._made.clear()
    module = made(factor=4)
    assert functions.Compilation([[module.total]]).is_needed
    assert functions.compiled_function(module.total)(packed(module), np.zeros(3, np.int64)) == 27.0


@pytest.mark.skipif(sys.platform == "win32", reason="a file in the place of a folder is another error there")
def test_where_no_cache_may_be_written_each_process_compiles(made, tmp_path, monkeypatch):
    module = made()
    (tmp_path / "__pycache__").write_text("")  # not a folder, so that root cannot write either
    (tmp_path / "home").write_text("")
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    compilation = functions.Compilation([[module.total]])
    assert compilation.is_needed and compilation.is_over()  # no other process was started
    compilation.finish()
    assert functions.compiled_function(module.total)(packed(module), np.zeros(3, np.int64)) == 24.0
    assert not functions.Compilation([[module.total]]).is_needed


def test_a_folder_that_may_not_be_written_is_left_for_the_users(made, tmp_path, monkeypatch):
    """As a package that was installed for all users."""
    module = made()
    (tmp_path / "__pycache__").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("HOME", str(tmp_path))
    functions.compiled_function(module.weighted)
    found = [Path(folder) / name for folder, _, names in os.walk(tmp_path / "own") for name in names]
    assert any(one.suffix == ".nbi" for one in found)


def test_without_numba_a_module_stays_as_it_is(made, monkeypatch):
    module = made()
    monkeypatch.setattr(functions, "can_compile", lambda: False)
    assert functions.compiled_functions.__wrapped__(module) is module

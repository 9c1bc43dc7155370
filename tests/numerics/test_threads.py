"""The pool of threads: every piece once, errors, callers at once, forks."""

import os
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest

from gpuplace.numerics import threads
from gpuplace.process import PROCESS


@pytest.fixture(autouse=True)
def three_threads(monkeypatch):
    monkeypatch.setattr(PROCESS, "intra_op_threads", 3)


def test_every_piece_once_and_on_several_threads():
    done, names, together = [], set(), threading.Barrier(3, timeout=30)

    def piece(index):
        if index < 3:
            together.wait()  # three threads at once, or it breaks
        names.add(threading.current_thread().name)
        done.append(index)

    threads.share(piece, 50)
    assert sorted(done) == list(range(50)) and len(names) == 3


def test_the_first_error_by_number_and_the_others_are_done():
    done = []

    def piece(index):
        if index in (4, 7):
            raise ValueError(f"piece {index}")
        done.append(index)

    with pytest.raises(ValueError, match="piece 4"):
        threads.share(piece, 10)
    assert sorted(done) == [0, 1, 2, 3, 5, 6, 8, 9]


def test_pieces_within_pieces_stay_on_their_thread():
    names = {}

    def outer(index):
        inner = []
        threads.share(lambda _: inner.append(threading.current_thread().name), 5)
        names[index] = inner

    threads.share(outer, 4)
    assert all(len(inner) == 5 and len(set(inner)) == 1 for inner in names.values())


def test_many_callers_at_once():
    sums = {}

    def caller(number):
        for _ in range(200):
            found = np.zeros(8)
            threads.share(lambda index, found=found: found.__setitem__(index, index), 8)
            sums.setdefault(number, set()).add(found.sum())

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(6)]
    for one in callers:
        one.start()
    for one in callers:
        one.join()
    assert sums == {number: {28.0} for number in range(6)}


def test_helpers_are_as_silent_as_plans():
    together, settings = threading.Barrier(3, timeout=30), {}

    def piece(index):
        together.wait()
        settings[threading.current_thread().name] = np.geterr()["over"]

    with np.errstate(all="ignore"):
        threads.share(piece, 3)
    assert set(settings.values()) == {"ignore"} and len(settings) == 3


def test_none():
    threads.share(lambda index: 1 / 0, 0)


@pytest.mark.parametrize(
    "wanted, environment, found", [(0, "5", 5), (2, "5", 2), (3, "", 3), (0, "-1", None), (0, "many", None)]
)
def test_size(wanted, environment, found, monkeypatch):
    threads.reset()
    monkeypatch.setenv(threads.ENVIRONMENT_VARIABLE, environment)
    assert threads.configure(wanted) == (found or threads.available_cores())
    assert threads.configure(9) == threads.size() == (found or threads.available_cores())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_starts_threads_of_its_own():
    program = """
import os, threading
from gpuplace.numerics import threads
from gpuplace.process import PROCESS
threads.configure(2)
def both():
    together = threading.Barrier(2, timeout=30)
    threads.share(lambda index: together.wait(), 2)
both()
child = os.fork()
both()
if child == 0:
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == "0\n"


def test_a_job_that_is_done_keeps_nothing_alive_for_threads_that_come_late(monkeypatch):
    kept = []
    monkeypatch.setattr(threads._pool, "jobs", type("Late", (), {"put": staticmethod(kept.append)}))
    array = np.ones(10)
    alive = weakref.ref(array)

    def piece(index, array=array):
        array[index] += 1

    threads.share(piece, 3)
    del piece, array
    assert len(kept) == 2 and alive() is None
    kept[0].work()  # finds nothing left

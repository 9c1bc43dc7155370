"""Threads of the linear algebra library: a block with one, and the number that a session asks for."""

import threading

import pytest

from gpuplace.numerics import blas_threads, threads
from gpuplace.numerics.blas_threads import ONE_THREAD, counts


@pytest.fixture(autouse=True)
def three_threads():
    blas_threads.reset()
    if not counts():
        pytest.skip("NumPy's linear algebra library has no number of threads")
    before = counts()
    blas_threads.limit(3)
    yield
    blas_threads.reset()
    assert counts() == before


def test_one_thread_in_the_block_and_the_usual_number_after_it():
    with ONE_THREAD:
        with ONE_THREAD:
            assert set(counts()) == {1}
        assert set(counts()) == {1}
    assert set(counts()) == {3}


def test_the_block_ends_with_the_last_thread_in_it():
    inside, leave = threading.Event(), threading.Event()

    def other():
        with ONE_THREAD:
            inside.set()
            leave.wait(30)

    thread = threading.Thread(target=other)
    with ONE_THREAD:
        thread.start()
        assert inside.wait(30)
    assert set(counts()) == {1}
    leave.set()
    thread.join()
    assert set(counts()) == {3}


def test_a_limit_that_is_set_or_taken_back_in_the_block_holds_after_it():
    blas_threads.reset()
    usual = counts()
    with ONE_THREAD:
        blas_threads.limit(2)
        assert set(counts()) == {1}
    assert set(counts()) == {2}
    with ONE_THREAD:
        blas_threads.reset()
        assert set(counts()) == {1}
    assert counts() == usual
    blas_threads.limit(3)


def test_pieces_that_threads_share_have_one_thread_each():
    seen = set()
    threads.share(lambda index: seen.update(counts()), 4)
    assert seen == {1} and set(counts()) == {3}
    with pytest.raises(ZeroDivisionError):
        threads.share(lambda index: 1 // 0, 4)
    assert set(counts()) == {3}

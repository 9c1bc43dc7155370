"""What goes over the wire: errors."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import gpuplace as tf
from gpuplace.clusters.wire import packed_error


def test_a_task_that_ends_is_one_that_is_not_there():
    """So that trainings try again; any other error of Python is none of the cluster."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError) as caught:
        pool.submit(print)
    assert packed_error(caught.value)["code"] == tf.errors.UNAVAILABLE
    assert packed_error(RuntimeError("something else"))["code"] == tf.errors.INTERNAL

"""What goes over the wire: tensors and errors."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.clusters.wire import SMALL_BYTES, packed, packed_error, unpacked
from tests.clusters.running import servers

distributed = pytest.importorskip("distributed")


def test_a_task_that_ends_is_one_that_is_not_there():
    """So that trainings try again; any other error of Python is none of the cluster."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with pytest.raises(RuntimeError) as caught:
        pool.submit(print)
    assert packed_error(caught.value)["code"] == tf.errors.UNAVAILABLE
    assert packed_error(RuntimeError("something else"))["code"] == tf.errors.INTERNAL


@pytest.mark.parametrize("count", [3, SMALL_BYTES])
def test_what_arrives_may_be_written_to(count):
    """So that kernels write their results over it; the sender's array may be a constant."""
    sent = np.arange(count, dtype=np.float32)
    sent.flags.writeable = False
    frames = distributed.protocol.dumps(packed(sent), on_error="raise")
    found = unpacked(distributed.protocol.loads(list(map(bytearray, frames))))
    np.testing.assert_array_equal(found, sent)
    assert found.flags.writeable and not np.shares_memory(found, sent)


def test_results_are_written_over_what_arrives():
    with servers(ps=1, worker=1) as tasks:
        with tf.device("/job:ps"):
            sent = tf.fill([1 << 16], tf.placeholder_with_default(2.0, []))
        with tf.device("/job:worker"):
            received = sent * 3
        with tf.Session(tasks["worker", 0].target) as session:
            (value,) = session.run([received])
            (opened,) = tasks["worker", 0]._running.task._sessions.values()
            sources = [plan.code.source for plan, *_ in opened.parts.values()]
        assert any("out=" in source for source in sources)
        np.testing.assert_array_equal(value, np.full(1 << 16, 6, np.float32))

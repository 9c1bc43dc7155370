"""Limits of time hold, whoever does not answer."""

import contextlib
import signal
import socket
import threading
import time
from functools import partial

import pytest

import gpuplace as tf
from tests.clusters.running import addresses, process

pytest.importorskip("distributed")

LATE_S = 15.0
"""Much longer than any limit here, and shorter than what ends waiting without one."""


@contextlib.contextmanager
def one_frozen():
    """A worker here and a parameter server in another process: target, and what freezes and thaws the server."""
    cluster = addresses(ps=1, worker=1)
    server = tf.train.Server(cluster, job_name="worker", task_index=0)
    other = process(cluster, "ps", 0)
    try:
        with tf.Graph().as_default():
            yield (
                server.target,
                lambda: other.send_signal(signal.SIGSTOP),
                lambda: other.send_signal(signal.SIGCONT),
            )
    finally:
        other.send_signal(signal.SIGCONT)
        other.kill()
        other.wait()
        server.stop()


def late(call):
    """The DeadlineExceededError of a call, which has to come soon."""
    found = []

    def run():
        try:
            call()
        except tf.errors.OpError as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(LATE_S)
    assert not thread.is_alive() and isinstance(found[0], tf.errors.DeadlineExceededError)
    return found[0]


@pytest.mark.parametrize("reads", ["on the frozen task", "from the frozen task"])
def test_a_step_with_a_frozen_task_ends_when_its_time_is_up(reads):
    with one_frozen() as (target, freeze, thaw):
        with tf.device("/job:ps"):
            one = tf.get_variable("one", initializer=1.0) + 0.0
        with tf.device("/job:worker" if reads.startswith("from") else "/job:ps"):
            two, three = one + 1.0, one + 2.0
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            assert session.run(two) == 2
            freeze()
            options = tf.RunOptions(timeout_in_ms=500)
            traced = tf.RunOptions(timeout_in_ms=500, trace_level=tf.RunOptions.FULL_TRACE)
            for fetch, how in (
                (two, options),
                (three, options),
                (two, traced),
            ):  # three has no plan on the task yet
                error = late(partial(session.run, fetch, options=how, run_metadata=tf.RunMetadata()))
                assert (
                    "Timed out waiting for notification" in error.message and "500 ms" in error.facts["limit"]
                )
            thaw()
            assert session.run([two, three]) == [2, 3]
            freeze()
            begun = time.monotonic()
        assert time.monotonic() - begun < LATE_S  # closing asks nobody


def test_a_session_with_a_frozen_task_is_not_opened():
    with one_frozen() as (target, freeze, _):
        tf.Session(target).close()
        freeze()
        error = late(lambda: tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=500)))
        assert error.message == "Deadline Exceeded" and error.facts["did not answer"].startswith("/job:ps")
        late(lambda: tf.Session.reset(target, config=tf.ConfigProto(operation_timeout_in_ms=500)))


@pytest.mark.parametrize("answer", [b"", b"gpuplace task 1\n"])
def test_a_listener_that_does_not_answer_holds_no_session(answer):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        callers = []

        def talk():
            with contextlib.suppress(OSError):
                while True:
                    callers.append(silent.accept()[0])
                    callers[-1].sendall(answer)

        threading.Thread(target=talk, daemon=True).start()
        target = f"grpc://127.0.0.1:{silent.getsockname()[1]}"
        error = late(lambda: tf.Session(target, config=tf.ConfigProto(operation_timeout_in_ms=500)))
        assert error.message == "Deadline Exceeded"
        silent.shutdown(socket.SHUT_RDWR)
        for caller in callers:
            caller.close()


def test_a_scheduler_that_is_not_there_holds_no_session():
    config = tf.ConfigProto(operation_timeout_in_ms=500)
    error = late(lambda: tf.Session(f"dask://{addresses(nobody=1)['nobody'][0]}", config=config))
    assert error.message == "Deadline Exceeded"


@pytest.mark.parametrize(
    "address",
    ["a..b:5", "localhost:abc", "localhost", "localhost:70000", "localhost:-1", ":5", "localhost:", "a/b:5"],
)
@pytest.mark.parametrize("protocol", ["grpc", "grpc+dask", "dask"])
def test_addresses_that_are_none(protocol, address):
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="Could not interpret .* as a host-port pair"
    ) as raised:
        tf.Session(f"{protocol}://{address}")
    assert f'"{address}"' in raised.value.message and "localhost:2222" in raised.value.hint


def test_a_cluster_with_an_address_that_is_none():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match='Could not interpret "a..b:5" as a host-port pair'
    ):
        tf.train.Server({"worker": ["a..b:5"]})
    server = tf.train.Server({"ps": ["a..b:5"], "worker": ["localhost:0"]}, job_name="worker")
    try:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match='Could not interpret "a..b:5" as a host-port pair'
        ):
            tf.Session(server.target)
    finally:
        server.stop()

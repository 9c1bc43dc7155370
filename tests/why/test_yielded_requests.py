"""Requests that reference and resource edges take away, and what the log says about them."""

import logging

import pytest

import gpuplace as tf


def build():
    """Two updates of a variable on another device, and one on its own."""
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0, 2.0], name="v")
    updates = []
    for name, device in (
        ("u", "/device:GPU:1"),
        ("same", "/device:CPU:0"),
        ("w", "/job:localhost/device:GPU:0"),
    ):
        op = tf.assign(v, [2.0, 3.0], name=name).op
        op._set_device(device)
        del op.attrs["_class"]
        updates.append(op)
    return updates


WHY = "because the input edge from 'v' is a reference connection and already has a device field set to"


@pytest.mark.parametrize(
    ("release", "lines"),
    [
        (
            "1.0",
            [
                f"Ignoring device specification /GPU:1 for node 'u' {WHY} /CPU:0",
                f"Ignoring device specification /job:localhost/GPU:0 for node 'w' {WHY} /CPU:0",
            ],
        ),
        *(
            (
                release,
                [
                    f"Ignoring device specification /device:GPU:1 for node 'u' {WHY} /device:CPU:0",
                    f"Ignoring device specification /job:localhost/device:GPU:0 for node 'w' {WHY} /device:CPU:0",
                ],
            )
            for release in ("1.4", "1.15", "2.21")
        ),
    ],
)
def test_the_log_of_a_session(caplog, capsys, release, lines):
    """As TensorFlow 1.0.1, 1.4.1 and 2.21 logged it, before the lines of the nodes and not on stdout."""
    tf.use_machine("2x Tesla K40c")
    tf.set_release(release)
    updates = build()
    with caplog.at_level(logging.INFO, "gpuplace.runtime.session"):
        session = tf.Session(config=tf.ConfigProto(log_device_placement=True))
        session.run(updates[0])
    assert caplog.messages == lines
    assert "Ignoring" not in capsys.readouterr().out
    assert all(session.placement[op.name].endswith("CPU:0") for op in updates)


def test_nothing_is_said_without_the_option_or_where_requests_agree(caplog):
    tf.use_machine("2x Tesla K40c")
    with caplog.at_level(logging.INFO, "gpuplace.runtime.session"):
        tf.Session().run(build()[0])
        tf.reset_default_graph()
        with tf.device("/gpu:1"):
            v = tf.Variable([1.0], name="v")
            update = tf.assign(v, [2.0])
        tf.Session(config=tf.ConfigProto(log_device_placement=True)).run(update)
    assert caplog.messages == []


def test_a_resource():
    tf.use_machine("2x Tesla K40c")
    with tf.device("/gpu:0"):
        v = tf.get_variable("h", [2], use_resource=True)
    with tf.device("/gpu:1"):
        update = v.assign([1.0, 2.0])
    op = update if isinstance(update, tf.Operation) else update.op
    placement = tf.place(op.graph, "2x Tesla K40c")
    from gpuplace.why.yielded_requests import yielded_request_notes

    notes = yielded_request_notes(placement, "1.15")
    assert notes
    assert all(
        note.startswith("Ignoring device specification /device:GPU:1 for node '")
        and "the input edge from 'h' is a reference connection" in note
        and note.endswith("/device:GPU:0")
        for note in notes
    )

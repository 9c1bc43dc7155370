"""Measured steps: TensorFlow's records of launches, streams and loops, and those of a session here."""

from types import SimpleNamespace

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.step_times import measured_bytes, measured_us
from tests.views.tables.views import towers


def record(name, micros, nanos=0):
    return SimpleNamespace(node_name=name, all_end_rel_micros=micros, all_end_rel_nanos=nanos, output=[])


def step(**devices):
    return SimpleNamespace(
        dev_stats=[SimpleNamespace(device=name, node_stats=nodes) for name, nodes in devices.items()]
    )


def test_times_of_one_place_add_up_and_of_several_the_largest_counts():
    view = towers()
    found = measured_us(
        view,
        step(
            gpu=[record("MatMul", 5), record("MatMul", 7), record("AddN", 3)],
            stream=[record("MatMul:MatMul", 40), record("AddN:AddN", 1), record("edge_7_x", 9)],
        ),
    )
    by_name = dict(zip(view.names, found.tolist(), strict=True))
    assert (by_name["MatMul"], by_name["AddN"]) == (40, 3)
    assert np.isnan(by_name["Const"])


def test_nanoseconds_count_where_there_are_any():
    found = measured_us(towers(), step(gpu=[record("AddN", 2, nanos=1500)]))
    assert np.nanmax(found) == 1.5


def test_a_session_s_own_step():
    with tf.Graph().as_default() as graph:
        product = tf.matmul([[1.0, 2.0]], [[3.0], [4.0]], name="product")
        metadata = tf.RunMetadata()
        full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.Session() as session:
            session.run(product, options=full, run_metadata=metadata)
    view = view_of(tf.place(graph))
    assert measured_us(view, metadata)[view.index["product"]] > 0
    assert measured_us(view, metadata.step_stats).shape == (len(view),)
    assert measured_bytes(view, metadata)[view.index["product"]] == 4


def test_what_is_no_step():
    with pytest.raises(TypeError, match="RunMetadata or a StepStats, not int"):
        measured_bytes(towers(), 3)

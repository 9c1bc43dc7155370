"""A parsed log in the explorer: it can be looked at; switches change nothing and say so."""

import pytest

import gpuplace as tf
from tests.jupyter.programs import layered

GPU = "/job:localhost/replica:0/task:0/device:GPU:1"


def test_the_explorer_takes_a_log():
    placement = tf.place(layered(2), machine="2x V100")
    log = tf.parse_log(placement.log("1.15"))
    explorer = tf.explore(log)
    assert explorer.placement is log and explorer.error == ""
    assert "GPU:1" in explorer.svg and sorted(explorer.log.splitlines()) == sorted(
        f"{row.name}: ({row.type}): {row.device}" for row in log.rows
    )
    explorer.selected = "tower_1/x"
    assert GPU in explorer.reason and "not reasons" in explorer.reason
    assert dict(explorer.frame["assigned"].astype(str)) == dict(log)
    assert explorer.find("tower_0/layer_1/MatMul") and explorer.selected == "tower_0/layer_1/MatMul"


def test_switches_change_nothing_and_say_so():
    log = tf.parse_log(tf.place(layered(1), machine="2x V100").log("1.4"))
    explorer = tf.explore(log)
    with pytest.raises(tf.errors.FailedPreconditionError, match="cannot be placed again") as caught:
        explorer.soft_placement = True
    assert "log.compare(graph)" in str(caught.value)
    assert not explorer.soft_placement and explorer.placement is log and explorer.error == ""


def test_an_empty_log():
    explorer = tf.explore(tf.parse_log("nothing of the kind"))
    assert len(explorer.placement) == 0 and explorer.log == ""
    assert "text/plain" in tf.parse_log("")._repr_mimebundle_()

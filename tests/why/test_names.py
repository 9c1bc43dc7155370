"""Names as people write them, in every place that takes one."""

import pytest

import gpuplace as tf
from gpuplace.errors import NotFoundError
from gpuplace.why.explanation import Explanation
from gpuplace.why.names import UnknownNameError, named_by, suggestions
from gpuplace.why.rules import Rule
from gpuplace.why.scope_explanation import ScopeExplanation

NAMES = ["tower/conv1/Conv2D", "tower/conv2/Conv2D", "tower/conv2/bias", "loss"]


@pytest.fixture(scope="module")
def placement():
    with tf.Graph().as_default() as graph:
        for tower in range(2):
            with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"), tf.name_scope("conv1"):
                x = tf.constant([[1.0]], name="kernel")
                tf.matmul(x, x, name="Conv2D")
    return tf.place(graph, "2x Tesla K40c")


@pytest.mark.parametrize(
    "text, nodes",
    [
        ("Conv2D", [0, 1]),
        ("conv1/Conv2D", [0]),
        ("tower/conv2", [1, 2]),
        ("tower/conv2/", [1, 2]),
        ("conv2", [1, 2]),
        ("conv[12]/C", [0, 1]),
        ("conv[", []),
        ("lo", []),
        ("", []),
        ("/", []),
    ],
)
def test_what_a_text_names(text, nodes):
    assert named_by(text, NAMES) == nodes


def test_a_pattern_that_takes_years_names_nothing(monkeypatch):
    monkeypatch.setattr("gpuplace.why.names._MOST_S", 0.05)
    assert named_by("(a+)+$", ["a" * 60 + "b"]) == []


def test_suggestions_are_names_that_end_so_or_look_so():
    assert suggestions("Conv2D", NAMES) == NAMES[:2]
    assert suggestions("conv2d", NAMES) == NAMES[:2]
    assert suggestions("biass", NAMES) == ["tower/conv2/bias"]
    assert suggestions("xyzzy", NAMES) == []


def test_the_end_of_a_name_is_explained(placement):
    why = placement.explain("tower_1/conv1/Conv2D")
    assert isinstance(why, Explanation)
    assert placement.explain("tower_1/.*2D") == why
    assert placement.explain("tower_1/conv1/Conv2D:0") == why


def test_a_scope_is_explained_by_shares(placement):
    for text, count in (("tower_0", 2), ("tower_0/", 2), ("conv1", 4), ("Conv2D", 2), ("tower_[01]", 4)):
        why = placement.explain(text)
        assert isinstance(why, ScopeExplanation) and len(why.nodes) == count, text
    why = placement.explain("conv1")
    assert why.devices == (("GPU:0", 2), ("GPU:1", 2))
    assert why.rules == ((Rule.REQUEST, 4),)
    assert "GPU:0 2 (50%), GPU:1 2 (50%)" in str(why) and "request 4 (100%)" in str(why)


def test_an_unknown_name_is_an_error_of_tensorflows_with_suggestions(placement):
    with pytest.raises(NotFoundError) as raised:
        placement.explain("kernal")
    assert isinstance(raised.value, KeyError) and isinstance(raised.value, UnknownNameError)
    assert "There is no node 'kernal'; similar names: tower_0/conv1/kernel" in str(raised.value)
    with pytest.raises(NotFoundError, match="no node and no name scope 'kernal'"):
        placement.trace("kernal")
    assert set(placement.trace("conv1").names) == set(placement.graph.names)


def test_color_is_colour(placement):
    assert placement.picture(color="type").colouring.name == "type"
    assert placement.picture(colour="type").colouring.name == "type"


def test_there_is_no_such_gpu():
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        tf.place(_graph(), "2x Tesla K40c", visible_devices="5")
    assert "there is no GPU 5; the machine has 2 GPUs" in str(raised.value)


def _graph():
    with tf.Graph().as_default() as graph, tf.device("/gpu:0"):
        tf.constant(1.0, name="x")
    return graph


def test_a_card_that_is_not_listed():
    from gpuplace.device.gpu_models import GPUModel

    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        tf.Machine.parse("2x GTX 1080")
    text = str(raised.value)
    assert raised.value.hint == "GeForce GTX 1080 Ti"
    assert "custom model  gpuplace.Machine.simulated(2, gpu=GPUModel('name'" in text
    machine = tf.Machine.simulated(
        2, gpu=GPUModel("name", memory_bytes=8 * 2**30, compute_capability=(6, 1), sm_count=20)
    )
    assert set(tf.place(_graph(), machine).counts()) == {"GPU:0"}

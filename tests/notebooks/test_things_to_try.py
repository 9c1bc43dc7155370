"""What the notebooks suggest to try works, and shows what it is meant to show."""

import numpy as np
import pytest

import gpuplace as tf

LOCAL = "/job:localhost/replica:0/task:0/device:"
NUMBERS = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]


def product(numbers, where=None):
    with tf.device(where):
        a = tf.constant(numbers, shape=[2, 3], name="a")
        b = tf.constant(numbers, shape=[3, 2], name="b")
        return tf.matmul(a, b)


def placed(session) -> dict[str, str]:
    return {node: device.removeprefix(LOCAL) for node, device in session.placement.items()}


def test_machines():
    assert len(tf.use_machine("2 CPU, 1x V100 + 2x K40c").gpus) == 3
    assert tf.use_machine("cpu").gpus == ()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tesla K40c"):
        tf.use_machine("1x Tesla K40d")


def test_whole_numbers_go_to_the_cpu():
    tf.use_machine("1x Tesla K40c")
    c = product([1, 2, 3, 4, 5, 6])
    session = tf.Session()
    np.testing.assert_array_equal(session.run(c), [[22, 28], [49, 64]])
    assert placed(session)["MatMul"] == "CPU:0"
    assert session.placement.explain("MatMul").steps[0].rule.value == "kernel"
    assert "GPU" not in "".join(session.placement.explain("MatMul").steps[0].after)


def test_copies_when_only_one_constant_is_on_the_cpu():
    tf.use_machine("1x Tesla K40c")
    with tf.device("/cpu:0"):
        a = tf.constant(NUMBERS, shape=[2, 3])
    tf.matmul(a, tf.constant(NUMBERS, shape=[3, 2]))
    assert sum(edge.is_copy for edge in tf.Session().placement.edges()) == 1
    tf.reset_default_graph()
    product(NUMBERS, "/cpu:0")
    assert not any(edge.is_copy for edge in tf.Session().placement.edges())


def test_fractions():
    tf.use_machine("1x Tesla K40c")
    session = tf.Session(
        config=tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=0.7))
    )
    assert 7900 < session.list_devices()[1].memory_limit_bytes / 2**20 < 8100
    tf.reset_runtime()
    with pytest.raises(tf.errors.InternalError, match="does not support oversubscription"):
        tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=1.5)))


def test_soft_placement_without_a_gpu_and_inside_another_device():
    tf.use_machine("cpu")
    c = product(NUMBERS, "/device:GPU:2")
    session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    session.run(c)
    assert set(placed(session).values()) == {"CPU:0"}
    tf.reset_default_graph()
    with tf.device("/cpu:0"), tf.device("/gpu:2"):
        assert tf.constant(1.0).device == "/device:GPU:2"


def test_text_on_a_gpu():
    tf.use_machine("1x Tesla K40c")
    with tf.device("/gpu:0"):
        text = tf.constant("text")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="no supported kernel for GPU devices is available"
    ):
        tf.Session().run(text)
    session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True))
    assert session.run(text) == b"text"
    assert placed(session) == {"Const": "CPU:0"}


@pytest.mark.parametrize(("where", "copies"), [("/cpu:0", 4), ("/gpu:3", 3)])
def test_four_towers(where, copies):
    tf.use_machine("4x Tesla K20m")
    parts = [product(NUMBERS, f"/gpu:{number}") for number in range(4)]
    with tf.device(where):
        total = tf.add_n(parts)
    session = tf.Session()
    np.testing.assert_array_equal(session.run(total), [[88.0, 112.0], [196.0, 256.0]])
    assert sum(edge.is_copy for edge in session.placement.edges()) == copies


@pytest.mark.parametrize(("value", "seen"), [("0,7,1", [0]), ("1,1", [])])
def test_lists_with_a_gpu_that_is_not_there_and_one_named_twice(value, seen):
    rows = tf.Machine.parse("4x Tesla K20m").mapping(environ={"CUDA_VISIBLE_DEVICES": value})
    assert [row.physical_id for row in rows if row.device] == seen


def test_three_graphs_on_two_gpus():
    tf.use_machine("2x Tesla K40c")
    found = []
    for number in range(3):
        graph = tf.Graph()
        with graph.as_default(), graph.device(f"/device:GPU:{number}"):
            tf.constant([1.0])
        found.append(
            placed(tf.Session(graph=graph, config=tf.ConfigProto(allow_soft_placement=True)))["Const"]
        )
    assert found == ["GPU:0", "GPU:1", "GPU:0"]


def test_one_graph_under_two_names(tmp_path):
    tf.use_machine("2x Tesla K40c")
    product(NUMBERS)
    message = tf.get_default_graph().as_graph_def()
    tf.reset_default_graph()
    ends = []
    for number in range(2):
        with tf.device(f"/gpu:{number}"):
            ends += tf.import_graph_def(message, return_elements=["MatMul:0"], name=f"copy_{number}")
    session = tf.Session()
    session.run(ends)
    assert placed(session)["copy_0/MatMul"] == "GPU:0"
    assert placed(session)["copy_1/MatMul"] == "GPU:1"

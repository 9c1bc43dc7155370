"""TensorFlow's guide "Using GPUs", program by program, as the releases 1.0, 1.4 and 1.15 print it.

The guide of release 1.0 writes `/gpu:0` everywhere; the one known from 1.4 on writes `/device:GPU:0` beside
`/cpu:0`; 1.15 adds the op type and decides, and logs, generators last.
"""

import numpy as np
import pytest

import gpuplace as tf

LOCAL = "/job:localhost/replica:0/task:0"
K40C = "1x Tesla K40c"
K20M = "4x Tesla K20m"

MATMUL = """
    # Creates a graph.
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
    c = tf.matmul(a, b)
    # Creates a session with log_device_placement set to True.
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    # Runs the op.
    print(sess.run(c))
"""
MANUAL = """
    # Creates a graph.
    with tf.device('/cpu:0'):
      a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
      b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
    c = tf.matmul(a, b)
    # Creates a session with log_device_placement set to True.
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    # Runs the op.
    print(sess.run(c))
"""
ONE_OF_MANY = """
    # Creates a graph.
    with tf.device('{gpu}:2'):
      a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
      b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
      c = tf.matmul(a, b)
    # Creates a session with log_device_placement set to True.
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    # Runs the op.
    print(sess.run(c))
"""
SOFT = """
    # Creates a graph.
    with tf.device('{gpu}:2'):
      a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
      b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
      c = tf.matmul(a, b)
    # Creates a session with allow_soft_placement and log_device_placement set
    # to True.
    sess = tf.Session(config=tf.ConfigProto(
          allow_soft_placement=True, log_device_placement=True))
    # Runs the op.
    print(sess.run(c))
"""
TOWERS = """
    # Creates a graph.
    c = []
    for d in ['{gpu}:2', '{gpu}:3']:
      with tf.device(d):
        a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3])
        b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2])
        c.append(tf.matmul(a, b))
    with tf.device('/cpu:0'):
      sum = tf.add_n(c)
    # Creates a session with log_device_placement set to True.
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    # Runs the op.
    print(sess.run(sum))
"""
PRODUCT = np.array([[22.0, 28.0], [49.0, 64.0]])

# How each release's guide writes a request, and how its log writes a GPU and a CPU.
REQUEST = {"1.0": "/gpu", "1.4": "/device:GPU", "1.15": "/device:GPU"}
GPU = {"1.0": f"{LOCAL}/gpu", "1.4": f"{LOCAL}/device:GPU", "1.15": f"{LOCAL}/device:GPU"}
CPU = {"1.0": f"{LOCAL}/cpu:0", "1.4": f"{LOCAL}/cpu:0", "1.15": f"{LOCAL}/device:CPU:0"}
RELEASES = tuple(REQUEST)


def log_lines(release: str, *lines: tuple[str, str, str]) -> list[str]:
    """Placement lines for (node, op type, device) in the words of `release`."""
    if release == "1.15":
        return [f"{node}: ({op_type}): {device}" for node, op_type, device in lines]
    return [f"{node}: {device}" for node, _, device in lines]


def mapping_lines(release: str, name: str, bus_ids: list[str]) -> list[str]:
    capability = ", compute capability: 3.5" if release == "1.15" else ""
    return [
        f"{GPU[release]}:{i} -> device: {i}, name: {name}, pci bus id: {bus_id}{capability}"
        for i, bus_id in enumerate(bus_ids)
    ]


def in_order(release: str, guide: str, decided: str) -> list[str]:
    """Node names in the guide's order for the early releases, in the order of decision for 1.15."""
    return (decided if release == "1.15" else guide).split()


@pytest.mark.parametrize("release", RELEASES)
def test_logging_device_placement(run_program, release):
    run = run_program(MATMUL, K40C, release)
    assert run.text.splitlines()[0] == "Device mapping:"
    assert run.mapping == mapping_lines(release, "Tesla K40c", ["0000:05:00.0"])
    gpu = f"{GPU[release]}:0"
    kinds = {"a": "Const", "b": "Const", "MatMul": "MatMul"}
    order = in_order(release, "b a MatMul", "MatMul a b")
    assert run.placement == log_lines(release, *((node, kinds[node], gpu) for node in order))
    np.testing.assert_array_equal(run.numbers, PRODUCT)


def test_the_mapping_precedes_the_lines_and_the_lines_the_value(run_program):
    lines = run_program(MATMUL, K40C, "1.4").text.splitlines()
    assert lines[0] == "Device mapping:"
    assert [line.split(": ")[0] for line in lines[2:5]] == ["b", "a", "MatMul"]
    assert lines[5].startswith("[[")


@pytest.mark.parametrize("release", RELEASES)
def test_manual_device_placement(run_program, release):
    run = run_program(MANUAL, K40C, release)
    where = {"a": CPU[release], "b": CPU[release], "MatMul": f"{GPU[release]}:0"}
    kinds = {"a": "Const", "b": "Const", "MatMul": "MatMul"}
    order = in_order(release, "b a MatMul", "MatMul a b")
    assert run.placement == log_lines(release, *((node, kinds[node], where[node]) for node in order))
    np.testing.assert_array_equal(run.numbers, PRODUCT)


@pytest.mark.parametrize("release", RELEASES)
def test_one_gpu_of_several(run_program, release):
    run = run_program(ONE_OF_MANY.format(gpu=REQUEST[release]), K20M, release)
    assert {line.rpartition(": ")[2] for line in run.placement} == {f"{GPU[release]}:2"}
    assert len(run.placement) == 3
    np.testing.assert_array_equal(run.numbers, PRODUCT)


@pytest.mark.parametrize("release", RELEASES)
def test_soft_placement_uses_the_gpu_that_exists(run_program, release):
    run = run_program(SOFT.format(gpu=REQUEST[release]), K40C, release)
    assert {line.rpartition(": ")[2] for line in run.placement} == {f"{GPU[release]}:0"}
    np.testing.assert_array_equal(run.numbers, PRODUCT)


def test_soft_placement_without_any_gpu(run_program):
    run = run_program(SOFT.format(gpu="/device:GPU"), "cpu", "1.15")
    assert {line.rpartition(": ")[2] for line in run.placement} == {f"{LOCAL}/device:CPU:0"}
    np.testing.assert_array_equal(run.numbers, PRODUCT)


@pytest.mark.parametrize("release", RELEASES)
def test_multiple_gpus(run_program, release):
    run = run_program(TOWERS.format(gpu=REQUEST[release]), K20M, release)
    assert run.mapping == mapping_lines(
        release, "Tesla K20m", ["0000:02:00.0", "0000:03:00.0", "0000:83:00.0", "0000:84:00.0"]
    )
    tower, other, host = f"{GPU[release]}:2", f"{GPU[release]}:3", CPU[release]
    where = {"Const": tower, "Const_1": tower, "MatMul": tower, "AddN": host}
    where |= {"Const_2": other, "Const_3": other, "MatMul_1": other}
    order = in_order(
        release,
        "Const_3 Const_2 MatMul_1 Const_1 Const MatMul AddN",
        "MatMul MatMul_1 AddN Const Const_1 Const_2 Const_3",
    )
    assert run.placement == log_lines(
        release, *((node, node.partition("_")[0], where[node]) for node in order)
    )
    np.testing.assert_array_equal(run.numbers, [[44.0, 56.0], [98.0, 128.0]])


@pytest.mark.parametrize("release", ["1.0", "1.4"])
@pytest.mark.parametrize("request_", ["/gpu:2", "/device:GPU:2"])
def test_a_device_that_does_not_exist_as_the_guide_says_it(run_program, release, request_):
    source = ONE_OF_MANY.format(gpu=request_.removesuffix(":2"))
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        run_program(source, K40C, release)
    shown = "/gpu:2" if release == "1.0" else "/device:GPU:2"
    message = " ".join(str(caught.value).split())
    assert (
        f"Cannot assign a device to node 'b': Could not satisfy explicit device specification '{shown}'"
        in message
    )
    node = (
        "[[Node: b = Const[dtype=DT_FLOAT, value=Tensor<type: float shape: [3,2] values: 1 2 3...>, "
        f'_device="{shown}"]()]]'
    )
    assert node in message
    assert caught.value.error_code == tf.errors.INVALID_ARGUMENT


def test_a_device_that_does_not_exist_as_1_15_says_it(run_program):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        run_program(ONE_OF_MANY.format(gpu="/device:GPU"), K40C, "1.15")
    message = caught.value.message
    assert "was explicitly assigned to /device:GPU:2 but available devices are [ " in message
    assert f"{LOCAL}/device:CPU:0, {LOCAL}/device:GPU:0" in message
    assert message.index("Cannot assign a device for operation") == 0
    assert "Make sure the device specification refers to a valid device." in message
    assert "program.py:6" in str(caught.value)


def test_a_session_block_sees_no_gpu_when_there_is_none(run_program):
    run = run_program(MATMUL, "cpu", "1.15")
    assert run.text.splitlines()[:1] == ["Device mapping: no known devices."]
    assert {line.rpartition(": ")[2] for line in run.placement} == {f"{LOCAL}/device:CPU:0"}

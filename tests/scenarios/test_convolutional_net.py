"""A small net in the manner of AlexNet: where its parts go, and a device that is not there."""

import numpy as np
import pytest

import gpuplace as tf

LOCAL = "/job:localhost/replica:0/task:0"


def conv(x, size: int, filters: int, stride: int, name: str, groups: int = 1):
    """A convolution over `groups` slices of the channels, reshaped to its own static shape, with a relu."""
    channels = int(x.get_shape()[-1])
    strides = [1, stride, stride, 1]
    with tf.variable_scope(name) as scope:
        weights = tf.get_variable("weights", shape=[size, size, channels // groups, filters])
        biases = tf.get_variable("biases", shape=[filters])
    if groups == 1:
        y = tf.nn.conv2d(x, weights, strides=strides, padding="SAME")
    else:
        inputs = tf.split(axis=3, num_or_size_splits=groups, value=x)
        kernels = tf.split(axis=3, num_or_size_splits=groups, value=weights)
        parts = [
            tf.nn.conv2d(i, k, strides=strides, padding="SAME") for i, k in zip(inputs, kernels, strict=True)
        ]
        y = tf.concat(axis=3, values=parts)
    y = tf.reshape(tf.nn.bias_add(y, biases), tf.shape(y))
    return tf.nn.relu(y, name=scope.name)


def net():
    x = tf.placeholder(tf.float32, [1, 19, 19, 3])
    y = conv(x, 5, 8, 2, "conv1")
    y = tf.nn.max_pool(y, ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="VALID", name="pool1")
    return x, conv(y, 3, 6, 1, "conv2", groups=2)


INITIALISERS = [
    "conv1/weights/Initializer/random_uniform/shape",
    "conv1/weights/Initializer/random_uniform/min",
    "conv1/weights/Initializer/random_uniform/max",
    "conv1/biases/Initializer/random_uniform/shape",
    "conv1/biases/Initializer/random_uniform/min",
    "conv1/biases/Initializer/random_uniform/max",
    "Shape",
    "conv2/weights/Initializer/random_uniform/shape",
    "conv2/weights/Initializer/random_uniform/min",
    "conv2/weights/Initializer/random_uniform/max",
    "conv2/biases/Initializer/random_uniform/shape",
    "conv2/biases/Initializer/random_uniform/min",
    "conv2/biases/Initializer/random_uniform/max",
]


def test_without_a_gpu_every_parameter_is_on_the_cpu(capsys):
    tf.set_release("1.15")
    tf.use_machine("cpu")
    x, y = net()
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        value = session.run(y, {x: np.ones([1, 19, 19, 3], np.float32)})
    assert value.shape == (1, 4, 4, 6)
    assert (value >= 0).all()
    lines = capsys.readouterr().out.splitlines()
    assert "Device mapping: no known devices." in lines[0]
    constants = [
        line
        for line in lines
        if ": (Const): " in line and ("Initializer" in line or line.startswith("Shape"))
    ]
    expected = [f"{name}: (Const): {LOCAL}/device:CPU:0" for name in INITIALISERS]
    assert constants[: len(expected)] == expected


def test_with_a_gpu_shapes_stay_in_host_memory_and_weights_move():
    tf.use_machine("1x Tesla K40c")
    net()
    placement = tf.place(tf.get_default_graph())
    assert placement["conv1/weights"] == placement["conv1/weights/Assign"] == f"{LOCAL}/device:GPU:0"
    assert placement["conv1/weights/Initializer/random_uniform/RandomUniform"] == f"{LOCAL}/device:GPU:0"
    assert placement["Conv2D"] == placement["pool1"] == f"{LOCAL}/device:GPU:0"


def test_assigning_on_a_cpu_that_does_not_exist():
    """The variable is on the first CPU, the value that is assigned asks for a second one."""
    tf.set_release("1.15")
    tf.use_machine("cpu")
    with tf.device("/device:CPU:0"):
        net()
    with tf.device("/device:CPU:1"), tf.variable_scope("conv1", reuse=True):
        assign = tf.get_variable("weights").assign(np.zeros([5, 5, 3, 8], np.float32))
    session = tf.Session()
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        session.run(assign)
    message = caught.value.message
    assert "conv1_2/Assign/value" in message
    assert message.startswith("Cannot assign a device for operation conv1_2/Assign/value: ")
    assert (
        f"was explicitly assigned to /device:CPU:1 but available devices are [ {LOCAL}/device:CPU:0 ]. "
        "Make sure the device specification refers to a valid device."
    ) in message
    assert "test_convolutional_net.py:" in str(caught.value)


def test_data_parallel_model_over_several_cpus():
    config = tf.ConfigProto(device_count={"CPU": 3})
    tf.use_machine("cpu")
    with tf.Session(config=config) as session:
        for index in range(3):
            with tf.device(f"/cpu:{index}"), tf.variable_scope(f"replica{index}"):
                x, y = net()
        session.run(tf.global_variables_initializer())
        session.run([variable.assign(tf.zeros_like(variable)) for variable in tf.global_variables()])
        np.testing.assert_array_equal(
            session.run(y, {x: np.ones([1, 19, 19, 3], np.float32)}), np.zeros([1, 4, 4, 6])
        )
        placement = session.placement
    for index in range(3):
        assert placement[f"replica{index}/conv1/weights"] == f"{LOCAL}/device:CPU:{index}"

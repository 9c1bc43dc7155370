"""`tf.config` and `tf.debugging.set_log_device_placement`: the config of sessions that are given none.

Texts of errors are TensorFlow 1.15.5's.
"""

import pytest

import gpuplace as tf

experimental = tf.config.experimental


@pytest.fixture(autouse=True)
def machine():
    tf.use_machine("2x Tesla K40c")
    with tf.Graph().as_default():
        yield
    tf.use_machine(None)


def gpus():
    return tf.config.list_physical_devices("GPU")


def devices(**arguments):
    with tf.Session(**arguments) as session:
        return [device.name.rpartition("device:")[2] for device in session.list_devices()]


def test_physical_devices_are_those_that_cuda_shows(monkeypatch):
    assert [tuple(device) for device in experimental.list_physical_devices()] == [
        ("/physical_device:CPU:0", "CPU"),
        ("/physical_device:GPU:0", "GPU"),
        ("/physical_device:GPU:1", "GPU"),
    ]
    assert repr(gpus()[0]) == "PhysicalDevice(name='/physical_device:GPU:0', device_type='GPU')"
    tf.reset_runtime()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert len(gpus()) == 1


def test_soft_placement_is_the_default_of_sessions():
    with tf.device("/gpu:7"):
        three = tf.constant(1.0) + 2.0
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(three)
    assert not tf.config.get_soft_device_placement()
    tf.config.set_soft_device_placement(True)
    assert tf.config.get_soft_device_placement()
    with tf.Session() as session:
        assert session.run(three) == 3.0
    with tf.Session(config=tf.ConfigProto()) as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(three)
    with tf.train.MonitoredSession() as session:
        assert session.run(three) == 3.0


def test_the_log_of_placement_is_the_default_of_sessions(capsys):
    tf.debugging.set_log_device_placement(True)
    assert tf.debugging.get_log_device_placement()
    one = tf.constant(1.0, name="one")
    with tf.Session() as session:
        session.run(one)
    assert "one: (Const): /job:localhost/replica:0/task:0/device:GPU:0" in capsys.readouterr().out


def test_visible_devices():
    tf.config.set_visible_devices(gpus()[1], "GPU")
    assert [device.name for device in experimental.get_visible_devices()] == [
        "/physical_device:CPU:0",
        "/physical_device:GPU:1",
    ]
    with tf.Session() as session:
        assert session._devices.devices[1].physical_device_desc.startswith("device: 1")
    tf.reset_runtime()
    experimental.set_visible_devices([], "GPU")
    assert devices() == ["CPU:0"]
    assert devices(config=tf.ConfigProto()) == ["CPU:0", "GPU:0", "GPU:1"]


def test_one_device_of_the_cpu_may_be_several():
    (cpu,) = tf.config.list_physical_devices("CPU")
    parts = [tf.config.LogicalDeviceConfiguration()] * 3
    tf.config.set_logical_device_configuration(cpu, parts)
    assert tf.config.get_logical_device_configuration(cpu) == parts
    assert devices() == ["CPU:0", "CPU:1", "CPU:2", "GPU:0", "GPU:1"]


def test_a_gpu_may_be_several():
    parts = [experimental.VirtualDeviceConfiguration(memory_limit=limit) for limit in (1000, 2000)]
    experimental.set_virtual_device_configuration(gpus()[0], parts)
    tf.config.set_visible_devices(gpus()[:1], "GPU")
    found = experimental.list_logical_devices("GPU")
    assert [device.name.rpartition("device:")[2] for device in found] == ["GPU:0", "GPU:1"]
    with tf.Session() as session:
        assert [one.memory_limit_bytes >> 20 for one in session.list_devices()[1:]] == [1000, 2000]


def test_memory_growth():
    assert experimental.get_memory_growth(gpus()[0]) is None
    experimental.set_memory_growth(gpus()[0], True)
    with pytest.raises(ValueError, match="Memory growth cannot differ between GPU devices"):
        tf.Session()
    experimental.set_memory_growth(gpus()[1], True)
    assert experimental.get_memory_growth(gpus()[1]) is True
    assert tf.Session()._config.gpu_options.allow_growth
    with pytest.raises(ValueError, match="Cannot set memory growth on non-GPU devices"):
        experimental.set_memory_growth(tf.config.list_physical_devices("CPU")[0], True)


def test_threads_and_optimizers():
    tf.config.threading.set_inter_op_parallelism_threads(2)
    tf.config.threading.set_intra_op_parallelism_threads(3)
    tf.config.optimizer.set_jit(False)
    tf.config.optimizer.set_experimental_options({"constant_folding": False, "disable_meta_optimizer": True})
    config = tf.Session()._config
    assert (config.inter_op_parallelism_threads, config.intra_op_parallelism_threads) == (2, 3)
    assert config.graph_options.optimizer_options.global_jit_level == -1
    assert config.graph_options.rewrite_options.constant_folding == 2
    assert config.graph_options.rewrite_options.disable_meta_optimizer
    assert tf.config.optimizer.get_experimental_options()["constant_folding"] is False


def test_wrong_devices_are_refused():
    other = tf.config.PhysicalDevice("/physical_device:GPU:7", "GPU")
    calls = [
        lambda: tf.config.set_visible_devices(other),
        lambda: tf.config.set_visible_devices(gpus()[0], "CPU"),
        lambda: experimental.get_memory_growth(other),
        lambda: experimental.set_memory_growth(other, True),
        lambda: tf.config.get_logical_device_configuration(other),
        lambda: tf.config.set_logical_device_configuration("/gpu:0", []),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="Unrecognized device: "):
            call()
    with pytest.raises(ValueError, match="Setting memory limit is required for GPU virtual devices"):
        tf.config.set_logical_device_configuration(gpus()[0], [tf.config.LogicalDeviceConfiguration()])
    (cpu,) = tf.config.list_physical_devices("CPU")
    with pytest.raises(
        ValueError, match="Setting memory limit on CPU virtual devices is currently not supported"
    ):
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration(100)])


def test_devices_that_were_listed_stay_as_they_are():
    tf.config.list_logical_devices()
    calls = {
        "Visible devices cannot be modified after being initialized": lambda: tf.config.set_visible_devices(
            [], "GPU"
        ),
        "Physical devices cannot be modified after being initialized": lambda: experimental.set_memory_growth(
            gpus()[0], True
        ),
        "Virtual devices cannot be modified after being initialized": (
            lambda: tf.config.set_logical_device_configuration(
                gpus()[0], [tf.config.LogicalDeviceConfiguration(9)]
            )
        ),
        "Device placement logging must be set at program startup": (
            lambda: tf.debugging.set_log_device_placement(True)
        ),
    }
    for text, call in calls.items():
        with pytest.raises(RuntimeError, match=text):
            call()
    tf.config.set_visible_devices(gpus(), "GPU")  # no change
    tf.use_machine("2x Tesla K40c")
    tf.config.set_visible_devices([], "GPU")

"""How much of each GPU a process takes, and which GPUs it sees: the options of the documents, as programs."""

import shlex
import textwrap

import numpy as np
import pytest

import gpuplace as tf

LOCAL = "/job:localhost/replica:0/task:0"
K20M_BUS_IDS = ["0000:02:00.0", "0000:03:00.0", "0000:83:00.0", "0000:84:00.0"]
MATMUL = """
    a = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[2, 3], name='a')
    b = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], shape=[3, 2], name='b')
    c = tf.matmul(a, b)
    sess = tf.Session(config=tf.ConfigProto(log_device_placement=True))
    print(sess.run(c))
"""


def gpus(session: tf.Session) -> list:
    return [device for device in session.list_devices() if device.device_type == "GPU"]


@pytest.mark.parametrize("fraction", [0.4, 0.7])
def test_memory_fraction_set_on_the_config(run_program, fraction):
    run = run_program(
        f"""
        config = tf.ConfigProto()
        config.gpu_options.per_process_gpu_memory_fraction = {fraction}
        session = tf.Session(config=config)
        x = session.run(tf.constant(2.0) * 3.0)
        """,
        "2x Tesla K40c",
    )
    assert run.names["x"] == 6.0
    machine = tf.Machine.parse("2x Tesla K40c")
    devices = gpus(run.names["session"])
    assert [device.name for device in devices] == [f"{LOCAL}/device:GPU:{i}" for i in range(2)]
    for device, gpu in zip(devices, machine.gpus, strict=True):
        assert device.memory_limit_bytes == pytest.approx(fraction * gpu.total_bytes, rel=1e-6)


@pytest.mark.parametrize("fraction", [0.7])
def test_memory_fraction_through_gpu_options(run_program, fraction):
    run = run_program(
        f"""
        gpu_options = tf.GPUOptions(per_process_gpu_memory_fraction={fraction})
        sess = tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))
        """,
        "1x Tesla K40c",
    )
    (device,) = gpus(run.names["sess"])
    (gpu,) = tf.Machine.parse("1x Tesla K40c").gpus
    assert device.memory_limit_bytes == pytest.approx(fraction * gpu.total_bytes, rel=1e-6)


def test_allow_growth_runs_and_keeps_the_limit(run_program):
    run = run_program(
        """
        gpu_options = tf.GPUOptions(allow_growth=True)
        sess = tf.Session(config=tf.ConfigProto(gpu_options=gpu_options))
        with tf.device('/device:GPU:0'):
            value = sess.run(tf.ones([4, 4]) + 1.0)
        """,
        "1x Tesla K40c",
    )
    np.testing.assert_array_equal(run.names["value"], np.full((4, 4), 2.0, np.float32))
    (device,) = gpus(run.names["sess"])
    assert device.memory_limit_bytes > 0


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("1", [1]),
        ("0,1", [0, 1]),
        (shlex.split('"0,1"')[0], [0, 1]),
        ("0,2,3", [0, 2, 3]),
        (shlex.split('""')[0], []),
    ],
)
def test_cuda_visible_devices(run_program, monkeypatch, value, seen):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    run = run_program(MATMUL, "4x Tesla K20m", "1.15")
    assert run.mapping == [
        f"{LOCAL}/device:GPU:{index} -> device: {index}, name: Tesla K20m, "
        f"pci bus id: {K20M_BUS_IDS[gpu]}, compute capability: 3.5"
        for index, gpu in enumerate(seen)
    ]
    best = "GPU:0" if seen else "CPU:0"
    assert run.placement == [
        f"{node}: ({kind}): {LOCAL}/device:{best}"
        for node, kind in (("MatMul", "MatMul"), ("a", "Const"), ("b", "Const"))
    ]


def test_cuda_visible_devices_set_by_the_program_itself(run_program, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # so that what the program sets is taken back afterwards
    source = 'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "2"\n'
    run = run_program(source + textwrap.dedent(MATMUL), "4x Tesla K20m", "1.15")
    (line,) = run.mapping
    assert "GPU:0 -> device: 0" in line and "0000:83:00.0" in line


def test_visible_device_list_remaps(run_program):
    run = run_program(
        """
        options = tf.GPUOptions(visible_device_list='3,1')
        sess = tf.Session(config=tf.ConfigProto(log_device_placement=True, gpu_options=options))
        sess.run(tf.constant(1.0))
        """,
        "4x Tesla K20m",
        "1.15",
    )
    assert [line.partition("pci bus id: ")[2][:12] for line in run.mapping] == [
        "0000:84:00.0",
        "0000:03:00.0",
    ]
    assert [line.partition(" -> ")[0] for line in run.mapping] == [
        f"{LOCAL}/device:GPU:{i}" for i in range(2)
    ]


def test_two_sessions_with_lists_on_a_machine_with_one_visible_gpu(run_program, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        run_program(
            """
            gpu_options = tf.GPUOptions(allow_growth=True, visible_device_list='2')
            session = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, gpu_options=gpu_options))
            """,
            "4x Tesla K20m",
        )
    assert (
        "'visible_device_list' listed an invalid GPU id '2' but visible device count is 1"
        in caught.value.message
    )


TWO_LISTS = """
    first = tf.GPUOptions(allow_growth=True, visible_device_list='1')
    session1 = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, gpu_options=first))
    second = tf.GPUOptions(allow_growth=True, visible_device_list='2')
    session2 = tf.Session(config=tf.ConfigProto(allow_soft_placement=True, gpu_options=second))
"""


def test_a_second_session_cannot_choose_another_gpu(run_program):
    """GPU options are process-wide: 1.15 refuses the second list."""
    with pytest.raises(tf.errors.AlreadyExistsError) as caught:
        run_program(TWO_LISTS, "4x Tesla K20m", "1.15")
    assert "is being mapped to multiple CUDA devices (2 now, and 1 previously)" in caught.value.message


def test_a_second_session_that_chooses_another_gpu_is_told(run_program):
    """Up to 1.4 nothing was said, and GPU:0 meant two GPUs; here both lists are named in a warning."""
    with pytest.warns(UserWarning, match="visible_device_list") as warned:
        run = run_program(TWO_LISTS, "4x Tesla K20m", "1.4")
    text = str(warned[0].message)
    assert (
        "is visible GPU 2 in this session, but it was visible GPU 1 in an earlier session (visible_device_list='1')"
        in text
    )
    for name in ("session1", "session2"):
        (device,) = gpus(run.names[name])
        assert device.name == f"{LOCAL}/device:GPU:0"


def test_device_count(run_program):
    run = run_program(
        """
        config = tf.ConfigProto(device_count={"CPU": 3, "GPU": 2})
        with tf.Session(config=config) as sess:
            with tf.device('/cpu:2'):
                weights = tf.get_variable('weights', shape=[2, 2], initializer=tf.ones_initializer())
            with tf.device('/gpu:1'):
                doubled = weights * 2.0
            sess.run(tf.global_variables_initializer())
            value = sess.run(doubled)
            devices = sess.list_devices()
            placement = sess.placement
        """,
        "4x Tesla K20m",
    )
    assert [device.name for device in run.names["devices"]] == [
        f"{LOCAL}/device:CPU:0",
        f"{LOCAL}/device:CPU:1",
        f"{LOCAL}/device:CPU:2",
        f"{LOCAL}/device:GPU:0",
        f"{LOCAL}/device:GPU:1",
    ]
    placement = run.names["placement"]
    assert placement["weights"] == placement["weights/Assign"] == f"{LOCAL}/device:CPU:2"
    assert placement["mul"] == f"{LOCAL}/device:GPU:1"
    np.testing.assert_array_equal(run.names["value"], np.full((2, 2), 2.0))

"""Real GPUs. Without one: importing costs nothing, what is missing is said. With one: the answers of the CPU."""

import subprocess
import sys

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.device.device_set import DeviceAttributes
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.errors import UnimplementedError
from gpuplace.runtime.backends import cupy_backend
from gpuplace.runtime.backends.cupy_backend import CupyBackend

GPU = DeviceAttributes("/job:localhost/replica:0/task:0/device:GPU:0", physical_id=0, visible_id=0)


def test_the_module_does_not_load_cupy():
    program = "import sys, gpuplace.runtime.backends.cupy_backend; print('cupy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "False\n"


def test_without_cupy_the_error_says_how_to_get_it(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(f"No module named '{name}'", name=name)

    monkeypatch.setattr(cupy_backend.importlib, "import_module", missing)
    with pytest.raises(UnimplementedError, match="a real GPU, requires CuPy") as caught:
        CupyBackend(GPU, GPUSettings())
    assert "pip install 'gpuplace[cuda12]'" in caught.value.hint


def test_kernels_run_on_their_device_and_values_cross_by_copies(fake):
    x = tf.placeholder(tf.float32, [2, 2])
    with tf.device("/gpu:0"):
        square = tf.add(x, x)
    with tf.device("/gpu:1"):
        total = tf.add(square, 1.0)
    with tf.Session() as session:
        value = session.run(total, {x: np.eye(2)})
    assert type(value) is np.ndarray and value.tolist() == [[3, 1], [1, 3]]
    assert [event for event in fake.events if event[0] != "alloc"] == [
        ("call", "add", 0),
        ("peer copy", 0, 1),
        ("call", "add", 1),
    ]
    assert (fake.current, fake.stream) == (0, "default")


def test_a_thread_gets_its_streams_back(fake):
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:0"):
        first = tf.add(x, x)
    with tf.device("/gpu:1"), tf.Session() as session:
        total = tf.add(first, x)
        with fake.cuda.Device(1):
            own = fake.cuda.Stream(non_blocking=True)
            own.use()
        fake.current = 1
        assert session.run(total, {x: [1, 2]}).tolist() == [3, 6]
        assert (fake.current, fake.stream) == (1, own)
        fake.current = 0
        assert fake.stream == "default"


def test_sessions_share_streams_and_memory(fake):
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [2])
        total = tf.add(x, x)
    with tf.Session() as one, tf.Session() as other:
        for session in (one, other):
            assert session.run(total, {x: [1, 2]}).tolist() == [2, 4]
        assert one._compiler.backends.keys() == other._compiler.backends.keys()
        for name, backend in one._compiler.backends.items():
            if backend.owns_arrays:
                assert backend.compute is other._compiler.backends[name].compute
    fake.assert_one_arena()


def test_integers_stay_in_host_memory(fake):
    x = tf.placeholder(tf.float32, [4])
    with tf.device("/gpu:1"):
        shape = tf.add(tf.constant([1, 1]), tf.constant([1, 1]))
        square = tf.reshape(x, shape)
    with tf.Session() as session:
        assert session.run(square, {x: [1, 2, 3, 4]}).tolist() == [[1, 2], [3, 4]]
    assert "add" not in [event[1] for event in fake.events]


def test_variables_keep_arrays_of_their_device(fake):
    with tf.device("/gpu:1"):
        variable = tf.Variable([1.0, 2.0])
        update = tf.assign_add(variable, [1.0, 1.0])
    with tf.Session() as session:
        session.run(variable.initializer)
        session.run(update.op)
        (storage,) = session.resources.variables()
        assert storage.value.device.id == 1
        assert session.run(variable).tolist() == [2.0, 3.0]


def test_the_pool_gets_the_memory_options(fake):
    with tf.device("/gpu:1"):
        total = tf.add(tf.constant([1.0]), 1.0)
    with tf.Session() as session:
        limit = session.list_devices()[2].memory_limit_bytes
        session.run(total)
    assert fake.limits == {1: limit}
    assert ("alloc", 1, limit) in fake.events


def test_with_growth_nothing_is_taken_in_advance(fake):
    with tf.device("/gpu:1"):
        total = tf.add(tf.constant([1.0]), 1.0)
    with tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))) as session:
        session.run(total)
    assert not [event for event in fake.events if event[0] == "alloc"]


def test_the_first_session_says_whether_memory_grows_also_if_it_runs_later(fake):
    with tf.device("/gpu:1"):
        total = tf.add(tf.constant([1.0]), 1.0)
    tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))).close()
    with (
        pytest.warns(UserWarning, match="allow_growth: True stays, False is ignored"),
        tf.Session() as session,
    ):
        session.run(total)
    assert not [event for event in fake.events if event[0] == "alloc"]


def test_out_of_memory_on_a_real_gpu(fake):
    x = tf.placeholder(tf.float32, [2])
    with tf.device("/gpu:0"):
        total = tf.add(x, x, name="total")

    with tf.Session() as session:
        fake.capacity[0] = 100
        with pytest.raises(tf.errors.ResourceExhaustedError, match="Out of memory allocating 512 bytes"):
            session.run(total, {x: [1, 2]})
    assert (fake.current, fake.stream) == (0, "default")


def test_a_gpu_that_fails_is_reported(fake):
    def broken(number=None):
        raise RuntimeError("cudaErrorInsufficientDriver")

    fake.cuda.Device = broken
    with tf.device("/gpu:0"):
        total = tf.add(tf.constant([1.0]), 1.0)
    with tf.Session() as session, pytest.raises(tf.errors.InternalError) as caught:
        session.run(total)
    assert "device:GPU:0 cannot be used: RuntimeError: cudaErrorInsufficientDriver" in caught.value.message


@pytest.fixture
def session():
    tf.use_machine(tf.Machine.local())
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(allow_growth=True))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        yield session


@pytest.mark.gpu
def test_a_product_on_a_real_gpu(session):
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    with tf.device("/gpu:0"):
        x = tf.placeholder(tf.float32, [3, 4])
        product = tf.matmul(x, x, transpose_b=True)
    value = session.run(product, {x: a})
    assert isinstance(value, np.ndarray)
    np.testing.assert_allclose(value, a @ a.T)


@pytest.mark.gpu
def test_variables_and_shapes_on_a_real_gpu(session):
    with tf.device("/gpu:0"):
        variable = tf.Variable(np.arange(6, dtype=np.float32))
        update = tf.assign_add(variable, np.ones(6, np.float32))
        square = tf.reshape(variable, [2, 3])
    session.run(variable.initializer)
    session.run(update.op)
    np.testing.assert_array_equal(session.run(square), np.arange(1, 7).reshape(2, 3))


@pytest.mark.gpu
def test_the_thread_gets_its_device_and_stream_back(session):
    import cupy

    before = cupy.cuda.Device().id, cupy.cuda.get_current_stream().ptr
    with tf.device("/gpu:0"):
        total = tf.add(tf.constant([1.0]), 1.0)
    session.run(total)
    assert (cupy.cuda.Device().id, cupy.cuda.get_current_stream().ptr) == before


@pytest.mark.gpu
def test_the_memory_limit_reaches_cupys_pool(session):
    import cupy

    with tf.device("/gpu:0"):
        total = tf.add(tf.constant([1.0]), 1.0)
    session.run(total)
    limit = session.list_devices()[1].memory_limit_bytes
    with cupy.cuda.Device(0):
        assert 0 < cupy.get_default_memory_pool().get_limit() <= max(limit, cupy.cuda.runtime.memGetInfo()[1])

"""Sessions on stand-ins for real GPUs."""

import pytest

import gpuplace as tf
from gpuplace.runtime import cupy_backend, plan_maker
from gpuplace.runtime.cupy_backend import CupyBackend
from gpuplace.runtime.numpy_backend import NumpyBackend
from tests.runtime.fake_cupy import FakeCupy


@pytest.fixture
def fake(monkeypatch):
    """Sessions whose two GPUs are real ones as far as the runtime can tell, with a stand-in for CuPy."""
    module = FakeCupy()
    monkeypatch.setattr(cupy_backend.importlib, "import_module", lambda name: module)
    monkeypatch.setattr(cupy_backend, "_pools_made", set())

    def make(devices, name):
        device = devices.by_name[name]
        return (
            NumpyBackend(name, "CPU")
            if device.device_type == "CPU"
            else CupyBackend(device, devices.settings)
        )

    monkeypatch.setattr(plan_maker, "make_backend", make)
    tf.use_machine("2x Tesla K40c")
    with tf.Graph().as_default():
        yield module

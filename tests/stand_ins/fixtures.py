"""Sessions on stand-ins for real GPUs."""

import pytest

import gpuplace as tf
from gpuplace.runtime.backends import cupy_backend, gpu_streams
from gpuplace.runtime.backends.cupy_backend import CupyBackend
from gpuplace.runtime.backends.numpy_backend import NumpyBackend
from gpuplace.runtime.plan import compile as plan_maker
from tests.stand_ins.fake_cupy import FakeCupy


@pytest.fixture
def fake(monkeypatch, request):
    """Sessions whose two GPUs are real ones as far as the runtime can tell, with a stand-in for CuPy.

    The parameter, if there is one, is the seed.
    """
    module = FakeCupy(getattr(request, "param", 0))
    monkeypatch.setattr(cupy_backend.importlib, "import_module", lambda name: module)
    monkeypatch.setattr(cupy_backend, "_pools_made", set())
    monkeypatch.setattr(gpu_streams, "_streams", {})

    def make(devices, name):
        device = devices.by_name[name]
        return (
            NumpyBackend(name, "CPU")
            if device.device_type == "CPU"
            else CupyBackend(device, devices.memory_settings[name])
        )

    monkeypatch.setattr(plan_maker, "make_backend", make)
    tf.use_machine("2x Tesla K40c")
    with tf.Graph().as_default():
        yield module

"""The listing of local devices and the questions of tf.test."""

import pytest

import gpuplace as tf
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.runtime.memory.process_state import use_machine
from gpuplace.runtime.session.device_lib import gpu_device_name, is_gpu_available, list_local_devices


def test_listing():
    use_machine("4x Tesla K20m")
    devices = list_local_devices()
    assert [device.name for device in devices] == [
        "/device:CPU:0",
        *(f"/device:GPU:{index}" for index in range(4)),
    ]
    assert [device.device_type for device in devices] == ["CPU", "GPU", "GPU", "GPU", "GPU"]
    assert devices[0].memory_limit == 268435456 and devices[0].physical_device_desc == ""
    assert len({device.incarnation for device in devices}) == 5
    assert devices[3].locality.numa_node == 1


def test_listing_prints_like_the_message():
    use_machine("4x Tesla K20m")
    cpu, _, gpu, *_ = list_local_devices()
    assert repr(cpu) == (
        'name: "/device:CPU:0"\ndevice_type: "CPU"\nmemory_limit: 268435456\nlocality {\n}\n'
        f"incarnation: {cpu.incarnation}\n"
    )
    assert repr(gpu) == (
        f'name: "/device:GPU:1"\ndevice_type: "GPU"\nmemory_limit: {gpu.memory_limit}\n'
        'locality {\n  bus_id: 1\n  links {\n    link {\n      type: "StreamExecutor"\n'
        "      strength: 1\n    }\n  }\n}\n"
        f"incarnation: {gpu.incarnation}\n"
        'physical_device_desc: "device: 1, name: Tesla K20m, pci bus id: 0000:03:00.0, compute capability: 3.5"\n'
    )


def test_listing_with_a_config():
    use_machine("4x Tesla K20m")
    assert len(list_local_devices(GPUSettings(device_count={"GPU": 1, "CPU": 2}))) == 3


@pytest.mark.parametrize(
    ("machine", "minimum", "answer"),
    [
        ("cpu", None, False),
        ("K40c", None, True),
        ("K40c", (3, 5), True),
        ("K40c", (3, 7), False),
        ("B200", (9, 0), True),
        ("K40c + P100", (6, 0), True),
    ],
)
def test_is_gpu_available(machine, minimum, answer):
    use_machine(machine)
    assert is_gpu_available(min_cuda_compute_capability=minimum) is answer
    assert is_gpu_available(cuda_only=True, min_cuda_compute_capability=minimum) is answer


def test_gpu_device_name():
    use_machine("2x T4")
    assert gpu_device_name() == "/device:GPU:0"
    use_machine("cpu")
    assert gpu_device_name() == ""


def test_a_cpu_build_has_no_cuda():
    use_machine("cpu")
    assert tf.test.is_built_with_cuda()
    use_machine("cpu build, 1 XLA_CPU")
    assert not tf.test.is_built_with_cuda()
    assert [device.physical_device_desc for device in list_local_devices()] == ["", "device: XLA_CPU device"]

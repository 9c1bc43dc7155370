"""Device sets: attributes, priorities, matching."""

import pytest

from gpuplace.device.device_set import DeviceAttributes, DeviceSet, device_type_priority
from gpuplace.device.parsed_name import ANY, parse_name
from gpuplace.errors import InvalidArgumentError


def name(kind, index, task=0, job="localhost"):
    return f"/job:{job}/replica:0/task:{task}/device:{kind}:{index}"


def make(*names, **kwargs):
    return DeviceSet([DeviceAttributes(each) for each in names], **kwargs)


def test_attributes():
    device = DeviceAttributes("/job:localhost/replica:0/task:0/gpu:1", uuid="GPU-1")
    assert (device.name, device.device_type, device.id) == (name("GPU", 1), "GPU", 1)
    assert device.parsed == parse_name(device.name)
    assert device.incarnation == DeviceAttributes(name("GPU", 1), uuid="GPU-1").incarnation
    assert device.incarnation != DeviceAttributes(name("GPU", 1), uuid="GPU-2").incarnation
    assert device.with_memory_limit(5).memory_limit == 5
    assert repr(device) == f"_DeviceAttributes({name('GPU', 1)}, GPU, 268435456, {device.incarnation})"
    assert DeviceAttributes(name("CPU", 0)).memory_limit == 268435456


@pytest.mark.parametrize("bad", ["/gpu:0", "GPU:0", "", "/job:a/replica:0/task:0/device:GPU:*"])
def test_names_must_be_full(bad):
    with pytest.raises(InvalidArgumentError) as caught:
        DeviceAttributes(bad)
    assert caught.value.message == f"Device name '{bad}' is not a full device name."


def test_priorities():
    devices = make(name("CPU", 0), name("XLA_GPU", 0), name("GPU", 0), name("XLA_CPU", 0), name("FPGA", 0))
    assert [kind for kind, _ in devices.prioritized_types()] == ["GPU", "CPU", "XLA_CPU", "XLA_GPU", "FPGA"]
    assert device_type_priority("FPGA") == -1
    changed = make(name("CPU", 0), name("GPU", 0), type_priority={"CPU": 500})
    assert changed.prioritized_types() == [("CPU", 500), ("GPU", 210)]


def test_devices_by_priority_then_place_then_name_as_text():
    devices = make(
        name("CPU", 0),
        name("GPU", 2),
        name("GPU", 10),
        name("GPU", 1, task=1),
        name("CPU", 0, job="a"),
        name("CPU", 1),
    )
    assert [device.name for device in devices.prioritized_devices()] == [
        name("GPU", 10),
        name("GPU", 2),
        name("GPU", 1, task=1),
        name("CPU", 0),
        name("CPU", 1),
        name("CPU", 0, job="a"),
    ]


def test_matching():
    devices = make(name("CPU", 0), name("GPU", 0), name("GPU", 1), name("GPU", 0, task=1))
    assert [device.name for device in devices.matching(parse_name("/gpu:*"))] == devices.names[1:]
    assert [device.name for device in devices.matching(parse_name("/task:1"))] == [name("GPU", 0, task=1)]
    assert len(devices.matching(ANY)) == len(devices) == 4
    assert devices.matching(parse_name("/device:gpu:0")) == []


def test_collection():
    devices = make(name("CPU", 0), name("GPU", 0))
    assert devices.client_device is devices.devices[0]
    assert devices.by_name[name("GPU", 0)].device_type == "GPU"
    assert name("GPU", 0) in devices and name("GPU", 7) not in devices
    assert devices == make(name("CPU", 0), name("GPU", 0)) and hash(devices) == hash(
        make(name("CPU", 0), name("GPU", 0))
    )
    assert repr(devices) == f"DeviceSet({devices.names})"
    assert DeviceSet([]).client_device is None
    with pytest.raises(InvalidArgumentError, match="Duplicate device name"):
        make(name("CPU", 0), name("CPU", 0))

"""visible_device_list, device_count, virtual devices and memory limits; every error sentence."""

import dataclasses
from types import SimpleNamespace

import pytest

from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.device.machine import Machine
from gpuplace.device.mapping import default_memory_limit
from gpuplace.errors import InternalError, InvalidArgumentError, UnknownError

MIB = 1 << 20
MACHINE = Machine.parse("4x Tesla K20m")
P100 = Machine.parse("2x P100")


def devices(settings, machine=MACHINE, **environ):
    return machine.virtual_gpus(settings, environ)


def physical(*args, **kwargs):
    return [device.gpu.index for device in devices(*args, **kwargs)]


def test_all_gpus_by_default():
    assert physical(None) == [0, 1, 2, 3]
    assert [device.tf_id for device in devices(None)] == [0, 1, 2, 3]


def test_visible_device_list_orders_and_chooses():
    assert physical(GPUSettings(visible_device_list="1,0")) == [1, 0]
    assert physical(GPUSettings(visible_device_list=" 3 ,1")) == [3, 1]
    assert physical(GPUSettings(visible_device_list="1,0"), CUDA_VISIBLE_DEVICES="3,2") == [2, 3]


def error_of(settings, kind=InvalidArgumentError, **environ):
    with pytest.raises(kind) as caught:
        devices(settings, **environ)
    return caught.value


def test_visible_device_list_beyond_what_is_visible():
    error = error_of(GPUSettings(visible_device_list="2"), CUDA_VISIBLE_DEVICES="3")
    assert error.message == "'visible_device_list' listed an invalid GPU id '2' but visible device count is 1"
    assert error.facts["CUDA_VISIBLE_DEVICES"] == "'3'"
    assert error.facts["visible GPUs"] == "0: Tesla K20m 0000:84:00.0"
    error = error_of(GPUSettings(visible_device_list="-1"))
    assert (
        error.message == "'visible_device_list' listed an invalid GPU id '-1' but visible device count is 4"
    )


@pytest.mark.parametrize(
    ("text", "entry"),
    [("0,abc", "abc"), ("0,", ""), ("0;1", "0;1"), ("1.0", "1.0"), ("99999999999", "99999999999")],
)
def test_visible_device_list_that_cannot_be_parsed(text, entry):
    error = error_of(GPUSettings(visible_device_list=text))
    assert error.message == (
        f"Could not parse entry in 'visible_device_list': '{entry}'. visible_device_list = {text}"
    )


def test_visible_device_list_with_duplicates():
    error = error_of(GPUSettings(visible_device_list="0,0"))
    assert error.message == "visible_device_list contained a duplicate entry: 0,0"


def test_nothing_is_checked_where_there_is_no_gpu():
    assert devices(GPUSettings(visible_device_list="17,x"), CUDA_VISIBLE_DEVICES="") == []
    assert devices(GPUSettings(visible_device_list="x", device_count={"GPU": 0})) == []


def test_device_count_bounds_the_number():
    assert physical(GPUSettings(device_count={"GPU": 2})) == [0, 1]
    assert physical(GPUSettings(device_count={"GPU": 9})) == [0, 1, 2, 3]
    assert physical(GPUSettings(device_count={"GPU": 0})) == []
    assert physical(GPUSettings(device_count={"CPU": 1})) == [0, 1, 2, 3]
    assert physical(GPUSettings(device_count={"GPU": 1}, visible_device_list="2,3")) == [2]


def test_default_limit_is_free_memory_less_a_reserve():
    gpu = MACHINE.gpus[0]
    reserve = max(300 * MIB, int(gpu.free_bytes * 0.05))
    assert default_memory_limit(gpu, GPUSettings(), "1.15") == gpu.free_bytes - reserve
    large = Machine.parse("H100").gpus[0]
    assert default_memory_limit(large, GPUSettings(), "1.15") == large.free_bytes - int(
        large.free_bytes * 0.05
    )


@pytest.mark.parametrize(
    ("name", "megabytes"), [("K80", 500), ("P100", 500), ("V100", 1050), ("A100", 1536), ("H100", 1800)]
)
def test_reserve_of_2_21_goes_by_compute_capability(name, megabytes):
    gpu = Machine.parse(name).gpus[0]
    assert default_memory_limit(gpu, GPUSettings(), "2.21") == gpu.free_bytes - megabytes * MIB


def with_free(gpu, free_bytes):
    return dataclasses.replace(gpu, free_bytes=free_bytes)


@pytest.mark.parametrize(
    ("free", "limit"),
    [
        (1 << 30, (1 << 30) - 225 * MIB),
        ((2 << 30) - 1, (2 << 30) - 1 - 225 * MIB),
        (2 << 30, (2 << 30) - 300 * MIB),
        (6000 * MIB, 5700 * MIB),
        (10000 * MIB, 9500 * MIB),
        (225 * MIB, 225 * MIB),
        (100 * MIB, 100 * MIB),
    ],
)
def test_reserve_by_free_memory(free, limit):
    assert default_memory_limit(with_free(MACHINE.gpus[0], free), GPUSettings(), "1.15") == limit


def test_fraction_is_of_the_total_memory():
    gpu = MACHINE.gpus[0]
    for fraction in (0.4, 0.7, 1.0, 1e-3):
        settings = GPUSettings(per_process_gpu_memory_fraction=fraction)
        assert default_memory_limit(gpu, settings) == int(gpu.total_bytes * fraction)


def test_more_than_all_memory_needs_pascal():
    settings = GPUSettings(per_process_gpu_memory_fraction=1.5)
    assert default_memory_limit(P100.gpus[0], settings) == int(P100.gpus[0].total_bytes * 1.5)
    for refused in (settings, GPUSettings(use_unified_memory=True)):
        with pytest.raises(InternalError) as caught:
            default_memory_limit(MACHINE.gpus[0], refused)
        assert caught.value.message == (
            "Unified memory on GPUs with compute capability lower than 6.0 (pre-Pascal class GPUs) does not support "
            "oversubscription."
        )
        assert caught.value.facts["GPU"] == "Tesla K20m, compute capability 3.5"


def test_virtual_devices():
    made = P100.virtual_gpus(GPUSettings(virtual_devices=((1024, 2048), ())), {})
    assert [(device.tf_id, device.gpu.index) for device in made] == [(0, 0), (1, 0), (2, 1)]
    assert [device.memory_limit for device in made[:2]] == [1 << 30, 2 << 30]
    assert made[2].memory_limit == default_memory_limit(P100.gpus[1], GPUSettings())


def test_virtual_devices_link_to_each_other():
    machine = Machine.parse("2x V100")
    device_set = machine.device_set(GPUSettings(virtual_devices=((1000, 1000), (1000,))), environ={})
    gpus = [device for device in device_set if device.device_type == "GPU"]
    links = gpus[0].locality.links
    assert [(link.device_id, link.type) for link in links] == [(1, "SAME_DEVICE"), (2, "StreamExecutor")]
    assert [link.strength for link in gpus[0].locality.links] == [(1 << 31) - 1, 1]
    assert [device.physical_device_desc.partition(",")[0] for device in gpus] == [
        "device: 0",
        "device: 0",
        "device: 1",
    ]


def test_gpus_reach_each_other_under_one_socket_or_over_nvlink():
    def links(text):
        devices = [
            device for device in Machine.parse(text).device_set(environ={}) if device.device_type == "GPU"
        ]
        return [[link.device_id for link in device.locality.links] for device in devices]

    assert links("4x Tesla K20m") == [[1], [0], [3], [2]]
    assert links("4x V100") == [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]
    assert links("2x RTX 3090") == [[], []]


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        (
            GPUSettings(virtual_devices=((100,),), per_process_gpu_memory_fraction=0.5),
            InvalidArgumentError,
            "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set.",
        ),
        (
            GPUSettings(virtual_devices=((100,),), device_count={"GPU": 0}),
            UnknownError,
            "Not enough GPUs to create virtual devices. num_gpus_to_use: 0 #virtual_devices: 1",
        ),
        (
            GPUSettings(virtual_devices=((100,),), visible_device_list="0,1"),
            InvalidArgumentError,
            "The number of GPUs in visible_device_list doesn't match the number of elements in the virtual_devices "
            "list. #GPUs in visible_device_list: 2 virtual_devices.size(): 1",
        ),
        (
            GPUSettings(virtual_devices=((100,),)),
            UnknownError,
            "The number of valid GPUs doesn't match the number of elements in the virtual_devices list. #valid GPUs: 4 "
            "virtual_devices.size(): 1",
        ),
    ],
)
def test_virtual_device_errors(settings, kind, message):
    assert error_of(settings, kind).message == message


def test_rows_tell_the_whole_chain():
    rows = MACHINE.mapping(
        GPUSettings(visible_device_list="2,0", device_count={"GPU": 1}), {"CUDA_VISIBLE_DEVICES": "3,1,0"}
    )
    assert [(row.physical_id, row.visible_id, row.device) for row in rows] == [
        (0, 2, "/device:GPU:0"),
        (1, 1, None),
        (2, None, None),
        (3, 0, None),
    ]
    assert rows[1].reason == "not in visible_device_list='2,0', or beyond device_count GPU: 1"
    assert rows[2].reason == "not in CUDA_VISIBLE_DEVICES='3,1,0'"
    assert (rows[0].reason, rows[1].memory_limit) == ("", 0)
    assert rows[0].memory_limit == default_memory_limit(MACHINE.gpus[0], GPUSettings())
    assert rows[3].pci_bus_id == "0000:84:00.0" and rows[3].name == "Tesla K20m"
    assert rows[3].uuid == MACHINE.gpus[3].uuid


def test_rows_of_unused_gpus():
    assert MACHINE.mapping(GPUSettings(device_count={"GPU": 2}), {})[3].reason == "device_count allows GPU: 2"
    rows = MACHINE.mapping(GPUSettings(visible_device_list="1"), {})
    assert rows[0].reason == "not in visible_device_list='1'"


def test_rows_of_virtual_devices():
    rows = Machine.parse("P100").mapping(GPUSettings(virtual_devices=((100, 200),)), {})
    assert [(row.physical_id, row.device, row.memory_limit) for row in rows] == [
        (0, "/device:GPU:0", 100 * MIB),
        (0, "/device:GPU:1", 200 * MIB),
    ]


def test_settings_are_read_from_anything_shaped_like_a_config():
    config = SimpleNamespace(
        device_count={"CPU": 2},
        gpu_options=SimpleNamespace(
            visible_device_list="1",
            per_process_gpu_memory_fraction=0.5,
            allow_growth=True,
            allocator_type="BFC",
            experimental=SimpleNamespace(
                virtual_devices=[SimpleNamespace(memory_limit_mb=[1.0, 2.0])], use_unified_memory=True
            ),
        ),
    )
    assert GPUSettings.from_config(config) == GPUSettings(
        {"CPU": 2}, "1", 0.5, True, "BFC", ((1.0, 2.0),), True
    )
    assert GPUSettings.from_config(SimpleNamespace()) == GPUSettings()
    settings = GPUSettings(allow_growth=True)
    assert GPUSettings.from_config(settings) is settings


def test_settings_are_read_from_a_config_proto():
    from tensorboard.compat.proto.config_pb2 import ConfigProto

    config = ConfigProto(device_count={"CPU": 3, "GPU": 2})
    config.gpu_options.visible_device_list = "1,0"
    config.gpu_options.per_process_gpu_memory_fraction = 0.25
    config.gpu_options.experimental.virtual_devices.add().memory_limit_mb.extend([100, 200])
    assert GPUSettings.from_config(config) == GPUSettings(
        {"CPU": 3, "GPU": 2}, "1,0", 0.25, virtual_devices=((100.0, 200.0),)
    )
    assert GPUSettings.from_config(ConfigProto()) == GPUSettings()

"""CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplace.device.machine import Machine
from gpuplace.device.visible import cuda_order, visible_gpus
from gpuplace.errors import InvalidArgumentError

MACHINE = Machine.parse("4x Tesla K20m")
UUIDS = [gpu.uuid for gpu in MACHINE.gpus]


def seen(setting, gpus=MACHINE.gpus, **more):
    environ = dict(more) if setting is None else {"CUDA_VISIBLE_DEVICES": setting, **more}
    return [gpu.index for gpu in visible_gpus(gpus, environ).visible]


@pytest.mark.parametrize(
    ("setting", "indices"),
    [
        (None, [0, 1, 2, 3]),
        ("", []),
        ("   ", []),
        ("1", [1]),
        ("0,1", [0, 1]),
        ('"0,1"', [0, 1]),
        ("'0,1'", [0, 1]),
        ('""', []),
        ("0,2,3", [0, 2, 3]),
        ("3,1", [3, 1]),
        (" 2 , 0 ", [2, 0]),
        ("-1", []),
        ("0,-1,1", [0]),
        ("0,4,1", [0]),
        ("7", []),
        ("1,", [1]),
        (",1", []),
        ("0,x,1", [0]),
        ("NoDevFiles", []),
        ("all", []),
        ("1,1", []),
        ("0,1,0", []),
        ("0,9,9", [0]),
        ("2gpu,0", [2, 0]),
        ("+1", [1]),
        (UUIDS[2], [2]),
        (f"{UUIDS[3]},{UUIDS[0]}", [3, 0]),
        (UUIDS[1][:12], [1]),
        (f"{UUIDS[1]},{UUIDS[1][:12]}", []),
        ("GPU-", []),
        (f"{UUIDS[1]},GPU-ffffffff,{UUIDS[0]}", [1]),
        (f"{UUIDS[1]},0", [1]),
        (f"0,{UUIDS[1]}", [0]),
    ],
)
def test_what_a_process_sees(setting, indices):
    assert seen(setting) == indices


def reasons(setting):
    return visible_gpus(MACHINE.gpus, {"CUDA_VISIBLE_DEVICES": setting}).hidden


def test_reasons_for_hiding():
    assert reasons("0,2,3") == {1: "not in CUDA_VISIBLE_DEVICES='0,2,3'"}
    assert reasons("")[0] == "CUDA_VISIBLE_DEVICES='' is empty, so no GPU is visible"
    assert reasons("0,9,1") == dict.fromkeys(
        (1, 2, 3), "CUDA_VISIBLE_DEVICES='0,9,1' ends at '9': there is no GPU 9; the machine has 4 GPUs"
    )
    assert reasons("1,1")[2] == "CUDA_VISIBLE_DEVICES='1,1' contains a GPU twice ('1'), so no GPU is visible"
    assert reasons("one")[0] == "CUDA_VISIBLE_DEVICES='one' ends at 'one': not an id"
    assert reasons("GPU-")[0].endswith("ends at 'GPU-': 4 GPUs have a UUID with this prefix")
    assert reasons("GPU-nope")[0].endswith("ends at 'GPU-nope': no GPU has a UUID with this prefix")
    assert reasons(f"{UUIDS[1]},0")[0].endswith("ends at '0': not a UUID like the first entry")


def test_mig_is_refused_with_a_reason():
    with pytest.raises(InvalidArgumentError) as caught:
        seen("MIG-41b36874-68e8-5a2a-b92b-ac8e9e5b2d36")
    assert "names a MIG instance; MIG instances are not supported" in caught.value.message
    assert "UUID (GPU-...)" in caught.value.hint


def test_cuda_counts_fastest_first_unless_told_otherwise():
    machine = Machine.parse("Tesla K40c + 2x Tesla V100-SXM2-16GB")
    assert [gpu.name[:10] for gpu in machine.gpus] == ["Tesla K40c", "Tesla V100", "Tesla V100"]
    assert seen(None, machine.gpus) == [1, 2, 0]
    assert seen("0", machine.gpus) == [1]
    assert seen("0", machine.gpus, CUDA_DEVICE_ORDER="PCI_BUS_ID") == [0]
    assert seen(None, machine.gpus, CUDA_DEVICE_ORDER="FASTEST_FIRST") == [1, 2, 0]
    assert [gpu.index for gpu in cuda_order(machine.gpus, "PCI_BUS_ID")] == [0, 1, 2]


def test_visible_ids():
    visibility = visible_gpus(MACHINE.gpus, {"CUDA_VISIBLE_DEVICES": "3,1"})
    assert [visibility.visible_id(gpu) for gpu in MACHINE.gpus] == [None, 1, None, 0]
    assert visibility.setting == "3,1"


def test_a_machine_without_gpus_shows_none():
    visibility = visible_gpus((), {"CUDA_VISIBLE_DEVICES": "0"})
    assert visibility.visible == () and not visibility.hidden


@given(st.text("0123-, \"'xGPU", max_size=12))
def test_every_gpu_is_visible_or_has_a_reason(setting):
    visibility = visible_gpus(MACHINE.gpus, {"CUDA_VISIBLE_DEVICES": setting})
    visible = [gpu.index for gpu in visibility.visible]
    assert len(set(visible)) == len(visible)
    assert sorted([*visible, *visibility.hidden]) == [0, 1, 2, 3]


@given(st.permutations(range(4)), st.integers(0, 4))
def test_ids_and_uuids_mean_the_same(order, count):
    chosen = order[:count]
    assert seen(",".join(map(str, chosen))) == chosen
    assert seen(",".join(UUIDS[index] for index in chosen)) == chosen

"""Machines: grammar, slots, printing, devices."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuplace.device.gpu_models import GPU_MODELS
from gpuplace.device.machine import Machine, default_machine
from gpuplace.errors import InvalidArgumentError, NotFoundError

LOCAL = "/job:localhost/replica:0/task:0"


def bus_ids(machine):
    return [gpu.pci_bus_id for gpu in machine.gpus]


def test_the_machines_of_the_guide():
    machine = Machine.parse("4x Tesla K20m")
    assert bus_ids(machine) == ["0000:02:00.0", "0000:03:00.0", "0000:83:00.0", "0000:84:00.0"]
    assert bus_ids(Machine.parse("1x Tesla K40c")) == ["0000:05:00.0"]
    descriptions = [device.physical_device_desc for device in machine.device_set(environ={})][1:]
    assert descriptions[2] == "device: 2, name: Tesla K20m, pci bus id: 0000:83:00.0, compute capability: 3.5"


def test_slots_by_rule():
    assert bus_ids(Machine.parse("2x T4")) == ["0000:02:00.0", "0000:03:00.0"]
    assert bus_ids(Machine.parse("3x T4")) == ["0000:02:00.0", "0000:03:00.0", "0000:83:00.0"]
    eight = Machine.parse("8x V100")
    assert [bus[5:7] for bus in bus_ids(eight)] == ["02", "03", "04", "05", "83", "84", "85", "86"]
    assert [gpu.numa_node for gpu in eight.gpus] == [0, 0, 0, 0, 1, 1, 1, 1]
    many = Machine.parse("40x V100")
    assert len(set(bus_ids(many))) == 40 and bus_ids(many)[-1].startswith("0002:")


@pytest.mark.parametrize(
    ("text", "cpus", "names"),
    [
        ("cpu", 1, []),
        ("CPU", 1, []),
        ("2 CPUs", 2, []),
        ("3x cpu", 3, []),
        ("Tesla K40c", 1, ["Tesla K40c"]),
        ("2 CPU, 1x V100 + 2x K40c", 2, ["Tesla V100-SXM2-16GB", "Tesla K40c", "Tesla K40c"]),
        ("2xT4", 1, ["Tesla T4", "Tesla T4"]),
        ("2 × T4", 1, ["Tesla T4", "Tesla T4"]),
        ("2*T4", 1, ["Tesla T4", "Tesla T4"]),
        ("1080 Ti", 1, ["GeForce GTX 1080 Ti"]),
        ("2x 1080 Ti", 1, ["GeForce GTX 1080 Ti"] * 2),
        ("0x T4", 1, []),
        ("1 cpu, 1 cpu", 2, []),
    ],
)
def test_grammar(text, cpus, names):
    machine = Machine.parse(text)
    assert (machine.cpus, [gpu.name for gpu in machine.gpus]) == (cpus, names)


@pytest.mark.parametrize(
    "text", ["", "  ", "4x", ",", "T4,,T4", "0 cpu", "2x T4 @ 0000:05:00.0", "T4; T4", "priority GPU=x"]
)
def test_bad_text_says_what_is_allowed(text):
    with pytest.raises(InvalidArgumentError) as caught:
        Machine.parse(text)
    assert "Tesla K20m" in str(caught.value)
    assert caught.value.message.startswith(("Cannot parse machine '", "Unknown GPU model '"))


def test_bad_text_names_the_fault():
    with pytest.raises(InvalidArgumentError, match="Cannot parse machine .*: empty part"):
        Machine.parse("T4,")
    with pytest.raises(InvalidArgumentError, match="Cannot parse machine .*: no CPU"):
        Machine.parse("0 cpu, T4")
    with pytest.raises(InvalidArgumentError, match="2 GPUs with the same PCI slot"):
        Machine.parse("2x T4 @ 05:00.0")
    with pytest.raises(InvalidArgumentError, match=r"Two GPUs have the same PCI slot: 0000:05:00.0"):
        Machine.parse("T4 @ 05:00.0 + K80 @ 0000:05:00.0")
    with pytest.raises(InvalidArgumentError, match="'slot7' is not a PCI bus id"):
        Machine.parse("T4 @ slot7")


def test_gpus_can_be_put_into_slots():
    machine = Machine.parse("K80 @ 00000000:8A:00.0 + T4 @ 04:00.0")
    assert [(gpu.index, gpu.name, gpu.pci_bus_id) for gpu in machine.gpus] == [
        (0, "Tesla T4", "0000:04:00.0"),
        (1, "Tesla K80", "0000:8a:00.0"),
    ]
    assert [gpu.numa_node for gpu in machine.gpus] == [0, 1]
    by_argument = Machine.simulated(gpus=2, gpu="T4", pci_bus_ids=["04:00.0", "05:00.0"])
    assert bus_ids(by_argument) == ["0000:04:00.0", "0000:05:00.0"]
    with pytest.raises(InvalidArgumentError, match="2 GPUs require 2 PCI bus ids; got 1"):
        Machine.simulated(gpus=2, pci_bus_ids=["04:00.0"])


def test_simulated():
    assert Machine.simulated(gpus=4, cpus=1, gpu="Tesla K40c") == Machine.parse("4x Tesla K40c")
    assert Machine.simulated(gpus=0, cpus=2) == Machine.parse("2 cpu")
    assert Machine.simulated(gpus=1, gpu=GPU_MODELS[0]) == Machine.parse("Tesla K20m")
    with pytest.raises(InvalidArgumentError, match="at least one CPU"):
        Machine.simulated(cpus=0)


def test_uuids_are_the_same_each_time_and_differ_between_slots():
    one, two = Machine.parse("4x Tesla K20m"), Machine.parse("4x Tesla K20m")
    assert [gpu.uuid for gpu in one.gpus] == [gpu.uuid for gpu in two.gpus]
    assert len({gpu.uuid for gpu in one.gpus}) == 4
    assert all(gpu.uuid.startswith("GPU-") and len(gpu.uuid) == 40 for gpu in one.gpus)


def test_devices_of_a_session():
    machine = Machine.parse("2 CPU, 2x T4")
    assert machine.device_set(environ={}).names == [
        f"{LOCAL}/device:{name}" for name in ("CPU:0", "CPU:1", "GPU:0", "GPU:1")
    ]
    from gpuplace.device.gpu_settings import GPUSettings

    assert machine.device_set(GPUSettings({"CPU": 3, "GPU": 1}), environ={}).names == [
        f"{LOCAL}/device:{name}" for name in ("CPU:0", "CPU:1", "CPU:2", "GPU:0")
    ]
    with pytest.raises(NotFoundError, match="No CPU devices are available in this process"):
        machine.device_set(GPUSettings({"CPU": 0}), environ={})


def test_environ_is_the_process_environment_by_default(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    (gpu,) = [device for device in Machine.parse("2x T4").device_set() if device.device_type == "GPU"]
    assert (gpu.physical_id, gpu.visible_id) == (1, 0)


def test_from_devices():
    names = ["/job:ps/replica:0/task:0/device:CPU:0", "/job:worker/replica:0/task:1/device:FPGA:3"]
    machine = Machine.from_devices(names, type_priority={"FPGA": 300})
    devices = machine.device_set(environ={"CUDA_VISIBLE_DEVICES": ""})
    assert devices.names == names
    assert devices.prioritized_types() == [("FPGA", 300), ("CPU", 70)]
    assert machine.mapping(environ={}) == ()
    with pytest.raises(InvalidArgumentError, match="Device name '/gpu:0' is not a full device name"):
        Machine.from_devices(["/gpu:0"])
    with pytest.raises(InvalidArgumentError, match="Duplicate device name"):
        Machine.from_devices([names[0], names[0]])


def test_xla_devices_and_full_names_beside_gpus():
    machine = Machine.parse("1 CPU, 1 XLA_CPU, T4")
    assert machine.device_set(environ={}).names == [
        f"{LOCAL}/device:{name}" for name in ("CPU:0", "GPU:0", "XLA_CPU:0")
    ]
    mixed = Machine.parse("cpu, /job:ps/replica:0/task:0/device:CPU:0")
    assert mixed.device_set(environ={}).names[1] == "/job:ps/replica:0/task:0/device:CPU:0"


def test_a_cpu_build_has_no_gpus():
    with pytest.raises(InvalidArgumentError, match=r"^A CPU build of TensorFlow cannot use GPUs\."):
        Machine.parse("cpu build, T4")
    assert Machine.parse("worker: cpu build; ps: T4").is_cpu_build
    assert Machine.parse("cpu build") != Machine.parse("cpu")


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("cpu", "1 CPU"),
        ("2 cpus", "2 CPU"),
        ("k40c", "1x Tesla K40c"),
        ("2 CPU, 1x V100 + 2x K40c", "2 CPU, 1x Tesla V100-SXM2-16GB + 2x Tesla K40c"),
        ("T4 @ 07:00.0", "Tesla T4 @ 0000:07:00.0"),
        ("1 CPU, 2 XLA_CPU", f"1 CPU, {LOCAL}/device:XLA_CPU:0, {LOCAL}/device:XLA_CPU:1"),
        ("CPU  build", "1 CPU, cpu build"),
    ],
)
def test_printing(text, printed):
    machine = Machine.parse(text)
    assert str(machine) == printed
    assert Machine.parse(str(machine)) == machine
    assert repr(machine) == f"Machine({str(machine)!r})"


parts = st.lists(
    st.tuples(st.sampled_from([model.name for model in GPU_MODELS]), st.integers(1, 3)), max_size=4
)


@given(parts, st.integers(1, 4))
def test_parsing_what_was_printed_gives_the_same_machine(gpus, cpus):
    machine = Machine.parse(", ".join([f"{cpus} CPU", *(f"{count}x {name}" for name, count in gpus)]))
    assert Machine.parse(str(machine)) == machine
    assert hash(Machine.parse(str(machine))) == hash(machine)


def test_printing_of_devices_with_priorities():
    machine = Machine.from_devices(
        ["/job:a/replica:0/task:0/device:FPGA:0"], type_priority={"FPGA": 7, "GPU": -1}
    )
    assert str(machine) == "/job:a/replica:0/task:0/device:FPGA:0, priority FPGA=7 GPU=-1"
    assert Machine.parse(str(machine)) == machine


def test_default_machine_is_the_environments_else_the_real_one(monkeypatch):
    assert default_machine({"GPUPLACE_MACHINE": "2x T4"}) == Machine.parse("2x T4")
    assert default_machine({"GPUPLACE_MACHINE": " "}).is_local
    assert all(not gpu.is_simulated for gpu in default_machine({}).gpus)
    monkeypatch.setitem(os.environ, "GPUPLACE_MACHINE", "K80")
    assert default_machine() == Machine.parse("K80")
    with pytest.raises(InvalidArgumentError, match="Unknown GPU model 'K8O'"):
        default_machine({"GPUPLACE_MACHINE": "K8O"})


def test_local_text():
    assert Machine.parse("local") == Machine.local()
    assert str(Machine.local()) == "local"

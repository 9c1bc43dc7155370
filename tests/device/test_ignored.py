"""GPUs that TensorFlow sees and does not use: which, the numbers of the others, and what is said about them."""

import dataclasses

import pytest

import gpuplace as tf
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.device.ignored import ignored_gpus, min_compute_capability, min_multiprocessors
from gpuplace.device.machine import Machine
from gpuplace.errors import InvalidArgumentError, UnknownError
from gpuplace.release import RELEASES
from gpuplace.runtime.memory.process_state import ProcessState

MIXED = Machine.parse("Quadro K4000 @ 0000:02:00.0, Tesla K40c @ 0000:03:00.0, GTX 1050 @ 0000:04:00.0")
BY_BUS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
COUNT = "TF_MIN_GPU_MULTIPROCESSOR_COUNT"
ADJUST = f"You can adjust this requirement with the env var {COUNT}."


def used(machine, release="1.15", settings=None, **environ):
    """Names of the GPUs that become GPU:0, GPU:1, ..."""
    made = machine.virtual_gpus(settings, BY_BUS | environ, release=release)
    assert [device.tf_id for device in made] == list(range(len(made)))
    return [device.gpu.name for device in made]


def test_a_small_gpu_leaves_its_number_to_the_next():
    assert used(MIXED) == ["Tesla K40c"]
    devices = MIXED.device_set(None, BY_BUS)
    assert [device.name.rpartition("/")[2] for device in devices] == ["device:CPU:0", "device:GPU:0"]
    description = next(device for device in devices if device.device_type == "GPU").physical_device_desc
    assert description.startswith("device: 1, name: Tesla K40c, pci bus id: 0000:03:00.0")


@pytest.mark.parametrize("release", ["1.0", "1.4", "1.15", "2.21"])
def test_the_capability_is_that_of_the_release(release):
    names = used(MIXED, release, **{COUNT: "1"})
    assert (
        ("Quadro K4000" in names)
        is (min_compute_capability(release) <= (3, 0))
        is (release in ("1.0", "1.4"))
    )
    assert names[-2:] == ["Tesla K40c", "GeForce GTX 1050"]


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", ["Tesla K20m", "Tesla K40c", "Tesla K80"])
def test_gpus_of_the_guides_time_are_used_in_every_release(name, release):
    assert used(Machine.parse(f"4x {name}"), release) == [name] * 4


def test_the_best_visible_gpu_is_never_too_slow():
    assert used(Machine.parse("2x GTX 1050")) == ["GeForce GTX 1050"] * 2
    assert used(MIXED, "1.15", CUDA_VISIBLE_DEVICES="2") == ["GeForce GTX 1050"]
    assert used(MIXED, "1.4", CUDA_VISIBLE_DEVICES="0,2") == ["GeForce GTX 1050"]
    assert used(MIXED, "1.15", CUDA_VISIBLE_DEVICES="0") == []


@pytest.mark.parametrize(
    ("setting", "count", "is_valid"),
    [
        ("", 8, True),
        ("0", 0, True),
        (" +5 ", 5, True),
        ("-0", 0, True),
        ("14", 14, True),
        ("2147483647", 2147483647, True),
        ("2147483648", 8, False),
        ("9" * 5000, 8, False),
        ("-3", 8, False),
        ("4.5", 8, False),
        ("many", 8, False),
    ],
)
def test_the_environment_variable(setting, count, is_valid):
    line = (
        ""
        if is_valid
        else f"Invalid minimum GPU multiprocessor count: [{setting}]. Using the default value: 8"
    )
    assert min_multiprocessors(MIXED.gpus, {COUNT: setting}) == (count, line)


def test_the_environment_variable_decides():
    assert used(MIXED, **{COUNT: "5"}) == ["Tesla K40c", "GeForce GTX 1050"]
    assert used(MIXED, **{COUNT: "15"}) == ["Tesla K40c"]
    assert used(MIXED, **{COUNT: "16"}) == []
    assert used(MIXED, **{COUNT: "nonsense"}) == ["Tesla K40c"]


@pytest.mark.parametrize(
    ("release", "notes"),
    [
        (
            "1.0",
            [
                "Ignoring gpu device (device: 0, name: Quadro K4000, pci bus id: 0000:02:00.0) with Cuda "
                f"multiprocessor count: 4. The minimum required count is 8. {ADJUST}",
                "Ignoring gpu device (device: 2, name: GeForce GTX 1050, pci bus id: 0000:04:00.0) with Cuda "
                f"multiprocessor count: 5. The minimum required count is 8. {ADJUST}",
            ],
        ),
        (
            "1.4",
            [
                "Ignoring gpu device (device: 0, name: Quadro K4000, pci bus id: 0000:02:00.0, compute capability: "
                f"3.0) with Cuda multiprocessor count: 4. The minimum required count is 8. {ADJUST}",
                "Ignoring gpu device (device: 2, name: GeForce GTX 1050, pci bus id: 0000:04:00.0, compute capability: "
                f"6.1) with Cuda multiprocessor count: 5. The minimum required count is 8. {ADJUST}",
            ],
        ),
        (
            "1.15",
            [
                "Ignoring visible gpu device (device: 0, name: Quadro K4000, pci bus id: 0000:02:00.0, compute "
                "capability: 3.0) with Cuda compute capability 3.0. The minimum required Cuda capability is 3.5.",
                "Ignoring visible gpu device (device: 2, name: GeForce GTX 1050, pci bus id: 0000:04:00.0, compute "
                f"capability: 6.1) with core count: 5. The minimum required count is 8. {ADJUST}",
            ],
        ),
    ],
)
def test_what_is_said(release, notes):
    """Sentences as in the libraries of 1.0.1, 1.4.1 and 1.15.5."""
    found = ignored_gpus(MIXED.visibility(BY_BUS), range(3), release, {})
    assert [gpu.note for gpu in found] == notes
    assert tf.parse_log(notes[0]).gpus[0].told == "ignored"


def test_the_table_says_why():
    rows = MIXED.mapping(None, BY_BUS)
    assert [row.device for row in rows] == [None, "/device:GPU:0", None]
    assert rows[0].reason == "ignored: compute capability 3.0, and TensorFlow 1.15 requires 3.5"
    assert rows[2].reason == f"ignored: 5 multiprocessors, and 8 are required ({COUNT})"
    rows = MIXED.mapping(None, BY_BUS | {COUNT: "1"}, release="1.4")
    assert [row.device for row in rows] == ["/device:GPU:0", "/device:GPU:1", "/device:GPU:2"]


def test_options_count_visible_gpus_and_the_used_ones_as_tensorflow_does():
    """visible_device_list numbers what CUDA shows; virtual devices are made on what is left."""
    assert used(MIXED, settings=GPUSettings(visible_device_list="2,1")) == ["Tesla K40c"]
    assert used(MIXED, settings=GPUSettings(visible_device_list="2")) == ["GeForce GTX 1050"]
    with pytest.raises(InvalidArgumentError, match="invalid GPU id '3' but visible device count is 3"):
        used(MIXED, settings=GPUSettings(visible_device_list="3"))
    assert len(used(MIXED, settings=GPUSettings(virtual_devices=((1024, 1024),)))) == 2
    with pytest.raises(UnknownError, match="num_gpus_to_use: 1 #virtual_devices: 2"):
        used(MIXED, settings=GPUSettings(virtual_devices=((1024,), (1024,))))
    assert used(MIXED, settings=GPUSettings(device_count={"GPU": 0})) == []


@pytest.mark.parametrize(
    ("release", "created"),
    [
        (
            "1.0",
            "Creating TensorFlow device (/gpu:0) -> (device: 1, name: Tesla K40c, pci bus id: 0000:03:00.0)",
        ),
        (
            "1.4",
            "Creating TensorFlow device (/device:GPU:0) -> (device: 1, name: Tesla K40c, pci bus id: 0000:03:00.0, "
            "compute capability: 3.5)",
        ),
        (
            "1.15",
            "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 10795 MB memory) -> physical "
            "GPU (device: 1, name: Tesla K40c, pci bus id: 0000:03:00.0, compute capability: 3.5)",
        ),
        (
            "2.21",
            "Created device /job:localhost/replica:0/task:0/device:GPU:0 with 10863 MB memory:  -> device: 1, name: "
            "Tesla K40c, pci bus id: 0000:03:00.0, compute capability: 3.5",
        ),
    ],
)
def test_a_session_logs_it(caplog, release, created):
    tf.set_release(release)
    state = ProcessState(BY_BUS | {COUNT: "x"})
    state.use_machine(MIXED)
    with caplog.at_level("INFO", "gpuplace"):
        devices = state.session_devices()
    assert len(devices.allocators) == 1
    assert caplog.messages[0] == "Invalid minimum GPU multiprocessor count: [x]. Using the default value: 8"
    assert [message.split(" (")[0] for message in caplog.messages[1:3]] == (
        ["Ignoring gpu device"] * 2 if release in ("1.0", "1.4") else ["Ignoring visible gpu device"] * 2
    )
    assert caplog.messages[3:] == [created]


def test_a_graph_is_placed_on_what_is_left():
    with tf.device("/gpu:1"):
        tf.constant([1.0], name="a")
    machine = "Quadro K4000 + Tesla K40c"
    with pytest.raises(tf.errors.InvalidArgumentError, match="available devices are"):
        tf.place(tf.get_default_graph(), machine)
    soft = tf.ConfigProto(allow_soft_placement=True)
    assert tf.place(tf.get_default_graph(), machine, soft)["a"].endswith("/device:GPU:0")
    tf.reset_default_graph()
    tf.constant([1.0], name="a")
    assert tf.place(tf.get_default_graph(), "Quadro K4000", release="1.4")["a"].endswith("GPU:0")
    assert tf.place(tf.get_default_graph(), "Quadro K4000", release="1.15")["a"].endswith("CPU:0")


def test_a_gpu_whose_multiprocessors_are_not_known_is_used():
    """A real one outside of the catalogue whose driver does not report them."""
    machine = Machine.parse("Tesla K40c + T4")
    unknown = dataclasses.replace(machine.gpus[0].model, sm_count=0)
    machine = dataclasses.replace(
        machine, gpus=(dataclasses.replace(machine.gpus[0], model=unknown), machine.gpus[1])
    )
    assert used(machine) == ["Tesla K40c", "Tesla T4"]

"""``soft_placement=`` and ``visible_devices=`` of all that places, and what advice calls the switch."""

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.cli import main
from gpuplace.graphdef.messages import ConfigProto

GPU = "/job:localhost/replica:0/task:0/device:GPU:"
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


@pytest.fixture
def graph():
    made = tf.Graph()
    with made.as_default(), tf.device("/gpu:1"):
        tf.constant([1.0], name="a")
    return made


def descriptions(placement):
    return [device.physical_device_desc for device in placement.device_set if device.device_type == "GPU"]


@pytest.mark.parametrize("true", [True, np.True_])
def test_softly(graph, true):
    assert tf.place(graph, "1x Tesla K40c", soft_placement=true)["a"] == f"{GPU}0"
    assert tf.place(graph, "cpu", soft_placement=true)["a"] == CPU


def test_the_keyword_goes_over_the_config(graph):
    soft = tf.ConfigProto(allow_soft_placement=True)
    assert tf.place(graph, "cpu", soft)["a"] == CPU
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.place(graph, "cpu", soft, soft_placement=False)
    assert tf.place(graph, "cpu", tf.ConfigProto(), soft_placement=True)["a"] == CPU


def test_the_rest_of_the_config_counts(graph):
    config = tf.ConfigProto(device_count={"GPU": 1})
    assert tf.place(graph, "2x Tesla K40c", config, soft_placement=True)["a"] == f"{GPU}0"


@pytest.mark.parametrize("wanted", [[2, 0], (2, 0), "2,0", iter([2, 0]), np.array([2, 0])])
def test_visible_devices_in_their_order(graph, wanted):
    machine = tf.Machine.parse("4x Tesla K20m")
    found = tf.place(graph, machine, visible_devices=wanted)
    buses = [text.split("pci bus id: ")[1].split(",")[0] for text in descriptions(found)]
    assert buses == [machine.gpus[2].pci_bus_id, machine.gpus[0].pci_bus_id]


@pytest.mark.parametrize("none", [[], (), ""])
def test_no_visible_device(graph, none):
    assert tf.place(graph, "4x Tesla K20m", soft_placement=True, visible_devices=none)["a"] == CPU


def test_numbers_are_the_machines_also_where_cuda_counts_otherwise(graph):
    machine = tf.Machine.parse("1x Tesla K20m + 1x V100")
    slow = next(gpu for gpu in machine.gpus if "K20m" in gpu.model.name)
    found = tf.place(graph, machine, soft_placement=True, visible_devices=[slow.index])
    assert "K20m" in descriptions(found)[0] and len(descriptions(found)) == 1


def test_the_visible_device_list_chooses_among_those_left(graph):
    config = tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="1"))
    machine = tf.Machine.parse("4x Tesla K20m")
    found = tf.place(graph, machine, config, soft_placement=True, visible_devices=[3, 2])
    assert machine.gpus[2].pci_bus_id in descriptions(found)[0]


def test_of_the_processs_machine(graph, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    tf.use_machine("4x Tesla K20m")
    assert len(descriptions(tf.place(graph, soft_placement=True))) == 1
    assert len(descriptions(tf.place(graph, soft_placement=True, visible_devices=[1, 2, 3]))) == 3


@pytest.mark.parametrize("wrong", [2, True, 1.5, [0.5], ["0"], [True], {"GPU": 1}])
def test_what_is_no_list_of_gpus(graph, wrong):
    with pytest.raises(
        TypeError, match="visible_devices must be a list of GPU numbers of the machine, such as"
    ):
        tf.place(graph, "2x Tesla K40c", visible_devices=wrong)


@pytest.mark.parametrize(
    ("machine", "wrong", "text"),
    [
        ("2x Tesla K40c", [2], r"The machine has 2 GPUs, numbered from 0; got visible_devices=\[2\]"),
        ("2x Tesla K40c", [-1], "numbered from 0"),
        ("cpu", [0], "The machine has 0 GPUs; got"),
        ("2x Tesla K40c", [1, 1], "lists a GPU twice"),
    ],
)
def test_gpus_that_are_not_there(graph, machine, wrong, text):
    with pytest.raises(ValueError, match=text):
        tf.place(graph, machine, visible_devices=wrong)
    with pytest.raises(ValueError, match=text):
        tf.explore(graph, machine, visible_devices=wrong)


@pytest.mark.parametrize("wrong", ["yes", 1, 0.0, [True]])
def test_what_is_no_truth_value(graph, wrong):
    for ask in (tf.place, tf.explore):
        with pytest.raises(TypeError, match="soft_placement must be True or False; got"):
            ask(graph, "cpu", soft_placement=wrong)


def test_a_device_set_is_taken_as_it_is(graph):
    devices = tf.Machine.parse("2x Tesla K40c").device_set(environ={})
    with pytest.raises(ValueError, match="cannot be combined with a DeviceSet"):
        tf.place(graph, devices, visible_devices=[0])


def test_the_explorer_begins_with_them(graph):
    shown = tf.explore(graph, "4x Tesla K20m", soft_placement=True, visible_devices=[2, 0])
    assert shown.soft_placement and shown.cuda_visible_devices == "2,0" and shown.visible_devices == (0, 2)
    assert shown.placement["a"] == f"{GPU}1" and not shown.error
    config = tf.ConfigProto(allow_soft_placement=True)
    assert not tf.explore(graph, "cpu", config, soft_placement=False).soft_placement
    assert tf.explore(graph, "cpu", config).soft_placement
    assert tf.explore(graph, "2x Tesla K40c", visible_devices=[0, 1]).cuda_visible_devices is None
    placed = tf.place(graph, "4x Tesla K20m")
    assert (
        tf.explore(placed, "4x Tesla K20m", visible_devices="3", soft_placement=True).placement["a"]
        == f"{GPU}0"
    )


def test_a_log_has_no_switches():
    log = tf.parse_log(f"a: (Const): {CPU}")
    for switch in ({"soft_placement": True}, {"visible_devices": [0]}):
        with pytest.raises(tf.errors.FailedPreconditionError, match="cannot be placed again"):
            tf.explore(log, **switch)


def test_a_log_is_compared_with_them(graph):
    log = tf.parse_log(f"a: (Const): {GPU}0")
    assert not log.compare(graph, "2x Tesla K40c", soft_placement=True, visible_devices=[1])
    assert len(log.compare(graph, "2x Tesla K40c", soft_placement=True, visible_devices=[])) == 1
    with pytest.raises(tf.errors.InvalidArgumentError):
        log.compare(graph, "1x Tesla K40c")


# What advice calls the switch


def test_advice_names_the_switch_of_the_interface(graph, tmp_path, capsys):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.place(graph, "1x Tesla K40c")
    assert caught.value.hint.startswith("soft_placement=True, or ")
    kept = tf.place(graph, "1x Tesla K40c", on_error="keep")
    assert kept.errors[0].hint == caught.value.hint
    tf.use_machine("1x Tesla K40c")
    with graph.as_default(), pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.Session().run("a:0")
    assert caught.value.hint.startswith("allow_soft_placement=True, or ")
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    for command in (["place", str(path)], ["explain", str(path), "a"], ["blame", str(path)]):
        assert main([*command, "--machine", "1x Tesla K40c"]) == 1
        assert "try                 --soft (allow_soft_placement=True), or " in capsys.readouterr().err


def test_advice_on_a_conflict_names_it_too():
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/cpu:0"):
            a = tf.constant([1.0], name="a")
        with pytest.warns(UserWarning), tf.colocate_with(a.op), tf.device("/gpu:0"):
            tf.constant([1.0], name="b")
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        tf.place(graph, "1x Tesla K40c")
    assert caught.value.hint.endswith("; soft_placement=True ignores the colocation")


# Arguments of another kind


@pytest.mark.parametrize("machine", [3, 3.0, ["GPU"], None.__class__])
def test_what_is_no_machine(graph, machine):
    for ask in (
        lambda: tf.place(graph, machine),
        lambda: tf.explore(graph, machine),
        lambda: tf.use_machine(machine),
    ):
        with pytest.raises(
            TypeError, match="a machine must be a Machine or its text, such as '4x Tesla K20m'; got"
        ):
            ask()


def test_a_number_of_gpus_says_what_to_write(graph):
    with pytest.raises(TypeError, match="got 3: write '3x Tesla K20m'$"):
        tf.place(graph, machine=3)
    with pytest.raises(TypeError, match="got 0: write 'cpu'$"):
        tf.Machine.parse(0)


@pytest.mark.parametrize("config", [{"allow_soft_placement": True}, "soft", True, tf.RunOptions()])
def test_what_is_no_config(graph, config):
    for ask in (lambda: tf.place(graph, "cpu", config), lambda: tf.explore(graph, "cpu", config)):
        with pytest.raises(TypeError, match="config must be a tf.ConfigProto, such as"):
            ask()


def test_gpu_options_are_part_of_a_config(graph):
    with pytest.raises(TypeError, match=r"got GPUOptions; pass tf.ConfigProto\(gpu_options=...\)"):
        tf.place(graph, "cpu", tf.GPUOptions())
    assert ConfigProto is tf.ConfigProto

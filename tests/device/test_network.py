"""Machines of several tasks, and the network between them."""

import pickle

import pytest

import gpuplace as tf
from gpuplace.cli.main import main
from gpuplace.device.machine import Machine
from gpuplace.device.network import FRAME_SHARE, LOOPBACK, Network
from gpuplace.errors import InvalidArgumentError, ResourceExhaustedError


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("ps: cpu; worker*2: 1x K80", "ps: 1 CPU; worker*2: 1x Tesla K80"),
        (
            "worker : 2 CPU, 1x K80 ;ps: cpu; network 40GbE",
            "worker: 2 CPU, 1x Tesla K80; ps: 1 CPU; network 40GbE",
        ),
        ("a: cpu; network gbit=3 us=7.5", "a: 1 CPU; network gbit=3 us=7.5"),
        ("a: cpu; network loopback", "a: 1 CPU; network loopback"),
        ("a: cpu; network loopback us=50", "a: 1 CPU; network loopback us=50"),
        ("a: cpu; network 10GbE", "a: 1 CPU"),
        ("a: 1x K80 @ 0000:07:00.0", "a: Tesla K80 @ 0000:07:00.0"),
    ],
)
def test_a_cluster_is_written_and_read(text, written):
    machine = Machine.parse(text)
    assert str(machine) == written
    assert Machine.parse(written) == machine == pickle.loads(pickle.dumps(machine))
    assert hash(Machine.parse(written)) == hash(machine)


def test_devices_of_all_tasks():
    machine = Machine.parse("worker*2: 2x K80; ps: 2 CPU")
    devices = machine.device_set(environ={"CUDA_VISIBLE_DEVICES": "1"})
    worker = "/job:worker/replica:0/task"
    assert devices.names == [
        f"{worker}:0/device:CPU:0",
        f"{worker}:0/device:GPU:0",
        f"{worker}:1/device:CPU:0",
        f"{worker}:1/device:GPU:0",
        "/job:ps/replica:0/task:0/device:CPU:0",
        "/job:ps/replica:0/task:0/device:CPU:1",
    ]
    gpus = [device for device in devices if device.device_type == "GPU"]
    assert [device.physical_id for device in gpus] == [1, 3]
    assert len({device.incarnation for device in devices}) == 6
    rows = machine.mapping(environ={"CUDA_VISIBLE_DEVICES": "1"})
    assert [(row.physical_id, row.device) for row in rows if row.device] == [
        (1, f"{worker}:0/device:GPU:0"),
        (3, f"{worker}:1/device:GPU:0"),
    ]


def test_from_one_task_to_another():
    links = Machine.parse("worker*2: 2x K80; ps: cpu; network 25GbE us=100").links
    rate = 25e9 / 8 * FRAME_SHARE
    hosts = links.between(-3, -1)
    assert (hosts.kind, hosts.bandwidth, hosts.latency) == ("network", rate, 100e-6)
    assert [links.links[number].name for number in hosts.links] == [
        "network of ps/0, out",
        "network of worker/0, in",
    ]
    pcie = links.between(1, -1)
    assert pcie.kind == "PCIe"
    through = links.between(1, 2)
    assert through.latency == pytest.approx(hosts.latency + 2 * pcie.latency)
    assert 1 / through.bandwidth == pytest.approx(1 / rate + 2 / pcie.bandwidth)
    names = [links.links[number].name for number in through.links]
    assert "network of worker/0, out" in names and "network of worker/1, in" in names
    assert names[0].startswith("PCIe of GPU 1, up") and names[-1] == "PCIe of GPU 0, down of worker/1"
    assert links.between(0, 1).is_peer  # the halves of one board
    assert links.board == (0, 0, 1, 1) and links.text(2) == "PCIe 12.1 GB/s, switch 0 with GPU 1"


def test_networks():
    assert Network().bandwidth == pytest.approx(1.177e9, rel=1e-3)
    assert Network.parse("loopback") == LOOPBACK and LOOPBACK.latency < Network().latency
    assert Machine.parse("a: cpu; b: cpu; network loopback").links.is_one_host
    assert not Machine.parse("a: cpu; b: cpu").links.is_one_host
    assert Network.parse("100GbE").text() == "11.8 GB/s each way, 150 µs"


@pytest.mark.parametrize(
    "text",
    [
        "a: cpu; ",
        "a: cpu; 1x K80",
        "a: b: cpu",
        "a: cpu; network 7GbE",
        "network 1GbE;",
        "a*0: cpu",
        "a: 1x; b: cpu",
    ],
)
def test_what_is_not_understood(text):
    with pytest.raises(
        InvalidArgumentError,
        match="Cannot parse|Invalid setting|that is not itself a cluster|Unknown|not found|No GPU|unknown",
    ):
        Machine.parse(text)


def test_limits():
    with pytest.raises(ResourceExhaustedError):
        Machine.parse("a*9999999999: cpu")
    with pytest.raises(InvalidArgumentError, match="Invalid job name"):
        Machine.cluster({"a b": "cpu"})
    with pytest.raises(InvalidArgumentError, match="that is not itself a cluster"):
        Machine.cluster({"a": Machine.cluster({"b": "cpu"})})


def test_a_session_in_one_process_is_refused():
    tf.use_machine("ps: cpu; worker: 1x K80")
    with tf.Graph().as_default() as graph:
        with tf.device("/job:worker/gpu:0"):
            tf.constant(1.0, name="a") + 1.0
        assert tf.place(graph)["a"] == "/job:worker/replica:0/task:0/device:GPU:0"
        with pytest.raises(
            InvalidArgumentError, match="is a cluster, but a session in one process has only one task"
        ):
            tf.Session()


def test_the_command_line_tells_of_the_network(capsys):
    assert main(["devices", "--machine", "worker*2: 1x K80; ps: cpu"]) == 0
    told = capsys.readouterr().out
    assert "/job:worker/replica:0/task:1/device:GPU:0" in told
    assert told.endswith("network between 3 tasks: 1.2 GB/s each way, 150 µs\n")
    assert main(["devices", "--machine", "worker: cpu; ps: cpu", "--format", "json"]) == 0
    assert "network" not in capsys.readouterr().out

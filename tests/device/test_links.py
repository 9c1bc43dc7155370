"""What connects the GPUs of a machine: switches, NVLink, rates, and how all that is written."""

import pytest

from gpuplace.cli.main import main
from gpuplace.device.links import PCIE_EFFICIENCY, Wiring
from gpuplace.device.machine import Machine
from gpuplace.errors import InvalidArgumentError


def pairs(text):
    """GB/s of NVLink between the GPUs of a machine, in whole connections of 25 GB/s (20 on a P100)."""
    links = Machine.parse(text).links
    count = len(links.gpus)
    return [[round(links.nvlink_bandwidth(i, j) / 0.92 / 1e9) for j in range(count)] for i in range(count)]


def test_a_dgx_1_is_a_hybrid_cube_mesh():
    lanes = pairs("8x V100")
    assert lanes == [list(row) for row in zip(*lanes, strict=True)]
    assert [sum(row) for row in lanes] == [150] * 8  # six connections each
    assert lanes[0][3] == lanes[0][4] == 50 and lanes[0][1] == 25 and lanes[0][5] == 0
    assert [sum(row) for row in pairs("8x Tesla P100-SXM2-16GB")] == [80] * 8
    assert pairs("8x A100-80")[0][1:] == [300] * 7  # all through NVSwitch
    assert pairs("4x V100, links nvlink=none") == [[0] * 4] * 4


def test_the_halves_of_a_k80_share_a_switch():
    links = Machine.parse("4x Tesla K80").links
    assert links.switch == (0, 0, 1, 1)
    names = [links.links[number].name for number in links.route(None, 1).links]
    assert names == ["host memory, reading", "switch 0, down", "PCIe of GPU 1, down"]
    assert set(links.route(None, 0).links) & set(links.route(None, 1).links)  # contended
    assert not set(links.route(None, 0).links) & set(links.route(0, None).links)  # each way has its own
    peer, across = links.route(0, 1), links.route(0, 2)
    assert peer.is_peer and not across.is_peer and across.kind == "PCIe through the host"
    assert across.seconds(1 << 26) > 1.9 * peer.seconds(1 << 26)


def test_rates_follow_generation_lanes_and_kind_of_memory():
    links = Machine.parse("2x K40c, links pcie=2x8").links
    assert links.route(None, 0).bandwidth == pytest.approx(PCIE_EFFICIENCY * 4e9)
    first = Machine.parse(
        "2x K40c, links pcie=1x16"
    ).links  # four gigabytes per second, half of the second generation
    assert first.route(None, 0).bandwidth == pytest.approx(PCIE_EFFICIENCY * 4e9)
    own = Machine.parse("2x K40c").links
    assert own.route(None, 0, pinned=False).bandwidth == pytest.approx(own.route(None, 0).bandwidth / 2)
    assert Machine.parse("K40c, links pcie=5").links.route(None, 0).bandwidth == own.route(None, 0).bandwidth


@pytest.mark.parametrize(
    "text",
    [
        "4x Tesla K80, links pcie=3x16 switch=4",
        "8x Tesla V100-SXM2-16GB, links nvlink=none peer=off host=pageable",
        "1x Tesla K40c",
        "2 CPU, 2x Tesla T4, links peer=on",
    ],
)
def test_the_text_of_a_machine_gives_the_machine_back(text):
    machine = Machine.parse(text)
    assert Machine.parse(str(machine)) == machine and hash(Machine.parse(str(machine))) == hash(machine)
    assert ("links" in str(machine)) == ("links" in text)


@pytest.mark.parametrize("wrong", ["pcie=9", "switch=0", "nvlink=ring", "peer=maybe", "speed=4", "pcie"])
def test_what_is_not_understood_says_what_is_allowed(wrong):
    with pytest.raises(InvalidArgumentError, match="Invalid setting of a machine's links") as caught:
        Machine.parse(f"4x K80, links {wrong}")
    assert "pcie=GENERATION" in str(caught.value)


def test_devices_show_links(capsys):
    assert main(["devices", "--machine", "2x Tesla K80", "--format", "json"]) == 0
    assert "switch 0 with GPU 1" in capsys.readouterr().out


def test_nothing_said_is_the_default():
    assert Machine.parse("2x K80").wiring == Wiring() == Wiring.parse("")

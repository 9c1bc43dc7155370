"""Calibration: what is measured, with a clock of the test's own; nothing here depends on how fast the machine is."""

from itertools import count

import pytest

from gpuplace.cli.main import main
from gpuplace.cost import calibrate as module
from gpuplace.cost.calibrate import PROBES, calibrate, scales_of
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.work import Work
from gpuplace.device.machine import Machine

FEW = [probe for probe in PROBES if probe.name in ("small layers", "few numbers")]
ADDING = Work("float32", 1e6, 8e6, 4e6)


@pytest.fixture
def quick(monkeypatch):
    """Calibrates by few probes, each run as seldom as can be."""
    monkeypatch.setattr(module, "_FEWEST_RUNS", 1)
    monkeypatch.setattr(module, "_MOST_RUNS", 1)
    monkeypatch.setattr(module, "PROBES", FEW)


def ticking(seconds):
    """A clock of which every second reading is so much later."""
    readings = count()
    return lambda: (next(readings) // 2 + 1) * seconds


def test_probes_cover_the_classes_and_differ():
    names = [probe.name for probe in PROBES]
    assert len(set(names)) == len(names) and {"convolutions", "products", "a great many numbers"} <= set(
        names
    )


def test_steps_as_a_whole_scale_the_kernels(quick):
    said = []
    fast = calibrate(said.append, Machine.parse("cpu"), ticking(0.0))
    assert said[:2] == ["CPU: small layers", "CPU: few numbers"] and said[-1] == "CPU: starting nodes"
    assert "kernels measured on this machine" in fast.source
    clock = iter([0.0, 1.0] * 1000)
    slow = calibrate(clock=lambda: next(clock), machine=Machine.parse("cpu"))
    assert slow.kernel_seconds(ADDING, None) > 20 * fast.kernel_seconds(ADDING, None)
    assert slow.host_seconds("Tanh", ADDING, None) == pytest.approx(1 / 400)


def test_starts_and_the_rest_are_scaled_apart():
    steps = [
        (8e-6 * count, work, 0.5 * 8e-6 * count + 1.5 * work)
        for count in (1, 10, 100)
        for work in (1e-6, 1e-4, 1e-2)
    ]
    assert scales_of(steps) == pytest.approx((0.5, 1.5), rel=0.03)
    steps[4] = (*steps[4][:2], 50 * steps[4][2])  # one that something else disturbed
    assert scales_of(steps) == pytest.approx((0.5, 1.5), rel=0.03)
    assert scales_of([]) == scales_of([(0.0, 0.0, 1.0)]) == (1.0, 1.0)


def test_simulated_gpus_are_not_measured(quick):
    model = calibrate(machine=Machine.parse("1x K80"))
    gpu = Machine.parse("1x K80").gpus[0].model
    assert model.kernel_seconds(ADDING, gpu, "Add") == CostModel.uncalibrated().kernel_seconds(ADDING, gpu)


def test_the_command_writes_where_models_are_looked_for(quick, monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("GPUPLACE_COST_MODEL", raising=False)
    assert main(["calibrate"]) == 0
    out, err = capsys.readouterr()
    assert (
        out.startswith(f"wrote {tmp_path}/gpuplace/cost_model.json: ") and "measuring CPU: few numbers" in err
    )
    assert "measured on this machine" in CostModel().source
    assert main(["calibrate", "--output", str(tmp_path / "mine.json")]) == 0
    assert "measured on this machine" in CostModel.load(tmp_path / "mine.json").source
    assert main(["calibrate", "-o", str(tmp_path / "nowhere" / "mine.json")]) == 1
    assert "nowhere" in capsys.readouterr().err

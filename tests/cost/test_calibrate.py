"""Calibration: what is measured, with a clock of the test's own; nothing here depends on how fast the machine is."""

import shlex
import sys
from itertools import count
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.cli.main import main
from gpuplace.cost import calibrate as module
from gpuplace.cost import probe_runs
from gpuplace.cost.calibrate import calibrate
from gpuplace.cost.cost_model import CostModel
from gpuplace.cost.cpu_times import Curve, cpu_seconds, fitted_curve
from gpuplace.cost.probes import PROBES, build
from gpuplace.cost.work import Work
from gpuplace.device.machine import Machine
from gpuplace.errors import InvalidArgumentError

ROOT = Path(__file__).resolve().parents[2]
FEW = [probe for probe in PROBES if probe.name in ("small layers", "few numbers")]
ADDING = Work("float32", 1e6, 8e6, 4e6)


@pytest.fixture
def quick(monkeypatch):
    """Calibrates by few probes, each run as seldom as can be."""
    monkeypatch.setattr(probe_runs, "FEWEST_RUNS", 1)
    monkeypatch.setattr(probe_runs, "MOST_RUNS", 1)
    monkeypatch.setattr(module, "_ROUNDS", 1)
    monkeypatch.setattr(module, "PROBES", FEW)


def ticking(seconds):
    """A clock of which every second reading is so much later."""
    readings = count()
    return lambda: (next(readings) // 2 + 1) * seconds


def test_probes_cover_the_classes_and_differ():
    names = [probe.name for probe in PROBES]
    assert len(set(names)) == len(names)
    assert {"convolutions", "products", "a great many numbers"} <= set(names)


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_the_time_of_a_probe_rests_on_no_guess(probe):
    built = build(probe)
    feeds = {name: value.shape for name, value in built.feeds.items()}
    assert tf.estimate(built.graph, built.fetches, feeds, machine="1 CPU").guessed == 0


def test_steps_as_a_whole_scale_the_kernels(quick):
    said = []
    fast = calibrate(said.append, Machine.parse("cpu"), ticking(0.0))
    assert said == ["CPU: 2 kinds of steps, round 1 of 1", "CPU: whole steps"]
    assert "kernels measured on this machine" in fast.source
    clock = iter([0.0, 1.0] * 1000)
    slow = calibrate(clock=lambda: next(clock), machine=Machine.parse("cpu"))
    assert step_seconds(slow) == pytest.approx(1.0, rel=0.2) and step_seconds(fast) < 0.1


def step_seconds(model):
    """Of the first probe, foretold."""
    built = build(FEW[0])
    feeds = {name: value.shape for name, value in built.feeds.items()}
    return tf.estimate(built.graph, built.fetches, feeds, machine="1 CPU", cost_model=model).step_time


def test_a_type_of_op_bends_its_line():
    lines = CostModel.uncalibrated().lines
    works = [Work("float32", count, 8.0 * count, 4.0 * count) for count in (1e3, 2e3, 1e5, 1e6, 1e7, 2e7)]
    usual = [cpu_seconds(work, lines) - lines["bytes"].start for work in works]
    taken = [2e-6, 3e-6, 90e-6, *(90e-6 + 0.5 * (seconds - usual[2]) for seconds in usual[3:])]
    curve = fitted_curve(works, taken, lines)
    for work, seconds in zip(works, taken, strict=True):
        assert cpu_seconds(work, lines, curve) == pytest.approx(seconds, rel=0.3)
    assert 0 < curve.at(0.0) < 2e-6 and curve.foretold[0] == 0.0
    assert curve.at(10 * usual[-1]) == pytest.approx(10 * taken[-1], rel=0.1)
    assert fitted_curve([], [], lines) is None


def test_curves_never_fall_and_heed_no_outlier():
    lines = CostModel.uncalibrated().lines
    works = [Work("float32", count, 8.0 * count, 4.0 * count) for count in (1e4, 1.1e4, 1.2e4, 1e6, 1e8)]
    curve = fitted_curve(works, [5e-6, 900e-6, 6e-6, 4e-6, 7e-3], lines)
    assert list(curve.taken) == sorted(curve.taken) and curve.taken[1] < 10e-6 and curve.taken[-1] == 7e-3


def test_one_small_kernel_says_little_of_large_ones():
    lines = CostModel.uncalibrated().lines
    curve = fitted_curve([Work("float32", 10, 80, 40)], [50e-6], lines)
    large = Work("float32", 1e8, 8e8, 4e8)
    assert cpu_seconds(large, lines, curve) < 1.2 * cpu_seconds(large, lines) + 50e-6


def test_starts_and_the_rest_are_scaled_apart():
    assert Curve((0.0, 4.0), (1.0, 7.0)).scaled(0.5, 2.0) == Curve((0.0, 8.0), (0.5, 12.5))


def test_tensorflow_of_another_interpreter_is_measured(quick, tmp_path):
    python = tmp_path / "python"
    environment = f"PYTHONPATH={shlex.quote(str(ROOT))}"
    started = f"{environment} exec {shlex.quote(sys.executable)} -m gpuplace run"
    python.write_text(f'#!/bin/sh\nshift\n{started} "$@"\n')  # its TensorFlow is this one
    python.chmod(0o755)
    model = calibrate(tensorflow=str(python), machine=Machine.parse("cpu"))
    assert "TensorFlow's kernels measured on this machine" in model.source
    assert model.call_seconds(1) > 0 and step_seconds(model) < 1.0


@pytest.mark.parametrize(
    ("python", "why"), [(sys.executable, "No module named 'tensorflow'"), ("/nowhere/python", "No such file")]
)
def test_interpreters_without_tensorflow_are_refused(quick, python, why):
    with pytest.raises(InvalidArgumentError, match="TensorFlow cannot be run with") as caught:
        calibrate(tensorflow=python)
    assert why in str(caught.value) and "import tensorflow" in caught.value.hint


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
        out.startswith(f"wrote {tmp_path}/gpuplace/cost_model.json: ") and "measuring CPU: whole steps" in err
    )
    assert "measured on this machine" in CostModel().source
    assert main(["calibrate", "--output", str(tmp_path / "mine.json")]) == 0
    assert "measured on this machine" in CostModel.load(tmp_path / "mine.json").source
    assert main(["calibrate", "-o", str(tmp_path / "nowhere" / "mine.json")]) == 1
    assert "nowhere" in capsys.readouterr().err

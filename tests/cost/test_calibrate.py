"""Calibration: what is measured, with a clock of the test's own; nothing here depends on how fast the machine is."""

import shlex
import sys
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.cli.main import main
from gpuplace.cost.calibration import calibrate as module
from gpuplace.cost.calibration import probe_runs
from gpuplace.cost.calibration.calibrate import calibrate
from gpuplace.cost.calibration.probes import PROBES, Probe, build
from gpuplace.cost.cost_model import CostModel
from gpuplace.device.machine import Machine
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_sets import FUSED_OPS
from gpuplace.kernels.work.record import Work

ROOT = Path(__file__).resolve().parents[2]
FEW = [probe for probe in PROBES if probe.name in ("small layers", "few numbers")]
SLOW = "few random numbers"
ADDING = Work("float32", 1e6, 8e6, 4e6)


@pytest.fixture
def quick(monkeypatch):
    """Calibrates by few probes, each run as seldom as can be."""
    monkeypatch.setattr(probe_runs, "FEWEST_RUNS", 1)
    for limit in ("BRIEF", "OFTEN", "ALONE", "LONG"):
        monkeypatch.setattr(probe_runs, limit, probe_runs.Limit(1, 0.0))
    monkeypatch.setattr(probe_runs, "ROUNDS", 1)
    monkeypatch.setattr(probe_runs, "ROUNDS_OF_TENSORFLOW", 1)
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
    step = tf.estimate(built.graph, built.fetches, feeds, machine="1 CPU")
    guessed = {
        step.part.graph.op_type(node)
        for node, work in enumerate(step.works)
        if work.launches and (work.is_guess or work.assumed)
    }
    assert guessed <= {"Unique"}  # whose rows may be fewer, and nothing that is run takes them


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_integers_that_are_fed_are_within_what_they_index(probe):
    built = build(probe)
    indices = [value for value in built.feeds.values() if value.dtype == "int32"]
    rows = {"many rows changed": 8_000, "rows of a large table": 30_000}.get(probe.name, 1)
    assert not indices or max(value.max() for value in indices) >= min(rows // 2, 4)
    if probe.name in ("many rows changed", "small layers", "rearranged"):
        with tf.Session(graph=built.graph) as session:
            session.run(built.initializer)
            session.run(list(built.fetches), built.feeds)


def test_steps_as_a_whole_scale_the_kernels(quick):
    said = []
    fast = calibrate(said.append, Machine.parse("cpu"), ticking(0.0))
    assert said == ["CPU: 2 kinds of steps, round 1 of 1", "CPU: whole steps"]
    assert "kernels measured on this machine" in fast.source
    clock = iter([0.0, 1.0] * 1000)
    slow = calibrate(clock=lambda: next(clock), machine=Machine.parse("cpu"))
    assert step_seconds(slow) == pytest.approx(1.0, rel=0.2) and step_seconds(fast) < 0.1


def step_seconds(model, probe=FEW[0]):
    """Of a probe, predicted."""
    built = build(probe)
    feeds = {name: value.shape for name, value in built.feeds.items()}
    return tf.estimate(built.graph, built.fetches, feeds, machine="1 CPU", cost_model=model).step_time


def test_a_step_that_takes_longer_than_its_kernels_lengthens_few_others(monkeypatch):
    names = ("few numbers", "many numbers", "rearranged", "gates", "attention", "functions of many numbers")
    probes = [probe for probe in PROBES if probe.name in (*names, "functions of few numbers", SLOW)]
    seconds = {}

    def run(probe):
        trace = tf.RunMetadata()
        with tf.Session(graph=probe.graph) as session:
            session.run(probe.initializer)
            options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
            session.run(list(probe.fetches), probe.feeds, options=options, run_metadata=trace)
        nodes = [node for device in trace.step_stats.dev_stats for node in device.node_stats]
        for node in nodes:  # a clock of the test's own
            node.op_start_rel_nanos, node.op_end_rel_nanos = 0, 10_000
        seconds[probe.name] = 1e-5 * len(nodes) * (2.0 if probe.name == SLOW else 1.0)
        return probe_runs.ProbeRun(seconds[probe.name], trace)

    @contextmanager
    def here(clock):
        yield probe_runs.Runner(run, 1)

    monkeypatch.setattr(module, "here", here)
    model = calibrate(machine=Machine.parse("cpu"), probes=probes)
    ratios = {probe.name: step_seconds(model, probe) / seconds[probe.name] for probe in probes}
    assert {name: ratios[name] for name in names} == {name: pytest.approx(1.0, rel=0.25) for name in names}


def test_fused_kernels_are_measured_under_the_name_that_traces_give_them(monkeypatch):
    """TensorFlow 2.21 names what computes a product and its function as the latter, and a normalisation as itself."""
    seconds = {
        "FusedBatchNormV3": ("_MklNativeFusedBatchNormEx", 1e-3),
        "Relu_1": ("_MklNativeFusedMatMul", 2e-3),
    }

    def layers():
        images = tf.random_uniform([4, 8, 8, 16])
        rows = tf.nn.relu(tf.nn.fused_batch_norm(images, tf.ones([16]), tf.zeros([16]))[0])
        weights, biases = tf.random_uniform([1024, 32]), tf.random_uniform([32])
        return [tf.nn.relu(tf.nn.bias_add(tf.matmul(tf.reshape(rows, [4, 1024]), weights), biases))]

    def run(probe):
        trace = tf.RunMetadata()
        device = trace.step_stats.dev_stats.add(device="/job:localhost/replica:0/task:0/device:CPU:0")
        for name, (op_type, taken) in seconds.items():
            device.node_stats.add(
                node_name=name, timeline_label=f"{name} = {op_type}(x)", op_end_rel_nanos=int(1e9 * taken)
            )
        return probe_runs.ProbeRun(3e-3, trace)

    @contextmanager
    def here(clock):
        yield probe_runs.Runner(run, 1, "2.21")

    monkeypatch.setattr(module, "here", here)
    model = calibrate(machine=Machine.parse("cpu"), probes=[Probe("fused", layers)])
    assert model.source.startswith("2 kernels")
    with tf.Graph().as_default() as graph:
        (last,) = layers()
    step = tf.estimate(graph, last, machine="1 CPU", release="2.21")
    works = {step.part.graph.op_type(node): work for node, work in enumerate(step.works)}
    taken = {
        name: model.kernel_seconds(works[name], None, FUSED_OPS[name])
        for name in ("FusedBatchNormV3", "MatMul")
    }
    assert taken["MatMul"] == pytest.approx(2 * taken["FusedBatchNormV3"], rel=0.01)


def test_the_cpu_is_measured_where_sessions_use_gpus(quick, monkeypatch):
    monkeypatch.setenv("GPUPLACE_MACHINE", "2x V100")
    tf.reset_runtime()
    assert not calibrate().source.startswith("0 ")


def test_tensorflow_of_another_interpreter_is_measured(quick, monkeypatch, tmp_path):
    monkeypatch.setenv("GPUPLACE_MACHINE", "2x V100")  # its GPUs are not
    python = tmp_path / "python"
    environment = f"PYTHONPATH={shlex.quote(str(ROOT))}"
    started = f"{environment} exec {shlex.quote(sys.executable)} -m gpuplace run"
    python.write_text(f'#!/bin/sh\nshift\n{started} "$@"\n')  # its TensorFlow is this one
    python.chmod(0o755)
    model = calibrate(tensorflow=str(python), machine=Machine.parse("cpu"))
    assert "TensorFlow's kernels measured on this machine" in model.source
    assert not model.source.startswith("0 ")
    assert model.call_seconds(1) > 0 and step_seconds(model) < 1.0


@pytest.mark.parametrize(
    ("python", "why"), [(sys.executable, "No module named 'tensorflow'"), ("/nowhere/python", "No such file")]
)
def test_interpreters_without_tensorflow_are_refused(quick, python, why):
    with pytest.raises(InvalidArgumentError, match="cannot run TensorFlow") as caught:
        calibrate(tensorflow=python)
    assert why in str(caught.value) and "can import TensorFlow" in caught.value.hint


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

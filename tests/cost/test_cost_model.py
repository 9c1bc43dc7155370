"""Cost models: fitted to steps, saved, loaded, and found again where a calibration left them."""

import json

import pytest

import gpuplace as tf
from gpuplace.cost.cost_model import CostModel, calibrated_path
from gpuplace.cost.samples import Sample, host_times, samples_of
from gpuplace.device.gpu_models import find_model
from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.kernels.work.record import Product, Work

K80 = find_model("K80")
ADDING = Work("float32", 1e6, 8e6, 4e6, model="elementwise")


@pytest.fixture(autouse=True)
def no_calibration(monkeypatch, tmp_path):
    monkeypatch.delenv("GPUPLACE_COST_MODEL", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def product(size):
    return Work(
        "float32",
        2.0 * size**3,
        8.0 * size**2,
        4.0 * size**2,
        kernel=Product(size, size, size),
        model="product",
    )


def step_stats(*devices):
    """`StepStats` from (device, [(node name, start in microseconds, microseconds)])."""
    stats = tf.RunMetadata().step_stats
    for device, nodes in devices:
        made = stats.dev_stats.add(device=device)
        for name, start, micros in nodes:
            made.node_stats.add(
                node_name=name, all_start_micros=start, op_end_rel_micros=micros, all_end_rel_micros=micros
            )
    return stats


def graph_of_two():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 512], name="x")
        y = tf.matmul(x, tf.ones([512, 512]), name="product")
        tf.nn.relu(y, name="above")
    return graph


CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
GPU = "/job:localhost/replica:0/task:0/device:GPU:0"


def test_a_model_is_exported():
    assert tf.CostModel is CostModel
    assert "not calibrated" in tf.CostModel().source and tf.CostModel().library is None


def test_times_of_many_are_those_of_each():
    works = [product(64), ADDING, product(64), Work("float32", launches=0)]
    for gpu in (None, K80):
        assert CostModel().kernel_times(works, gpu) == [
            CostModel().kernel_seconds(work, gpu) for work in works
        ]
        assert CostModel().kernel_times([], gpu) == []
    assert CostModel().kernel_seconds(works[3], K80) == 0.0


def test_the_host_pays_for_launches():
    three = Work("float32", 1.0, 8.0, 4.0, launches=3)
    model = CostModel()
    assert model.host_seconds("Add", three, None) < model.host_seconds("Add", ADDING, K80)
    assert model.host_seconds("Add", ADDING, K80) < model.host_seconds("Add", three, K80)


def test_libraries():
    old, new = CostModel("7.5"), CostModel("8.0.88")
    assert new.kernel_seconds(product(2048), find_model("P100")) < old.kernel_seconds(
        product(2048), find_model("P100")
    )
    with pytest.raises(InvalidArgumentError, match="Unknown CUDA release '1.0'"):
        CostModel("1.0")


def test_a_factor_for_every_type_of_op():
    base = CostModel()
    slow = [Sample("MatMul", product(256), K80, 3 * base.kernel_seconds(product(256), K80))] * 40
    once = [Sample("Add", ADDING, K80, 3 * base.kernel_seconds(ADDING, K80))]
    model = CostModel.of_samples(slow + once, base, "test")
    many = model.kernel_seconds(product(256), K80, "MatMul") / base.kernel_seconds(product(256), K80)
    few = model.kernel_seconds(ADDING, K80, "Add") / base.kernel_seconds(ADDING, K80)
    assert 2.7 < many < 3.0 and 1.3 < few < 1.6  # one kernel is little evidence
    assert model.kernel_seconds(ADDING, K80, "Mul") == model.kernel_seconds(ADDING, K80)
    assert model.kernel_seconds(ADDING, find_model("K40"), "Add") == base.kernel_seconds(
        ADDING, find_model("K40")
    )


def test_fitting_to_steps():
    graph = graph_of_two()
    stats = step_stats(
        (CPU, [("product", 0, 4000), ("above", 4002, 100), ("x", 4103, 1), ("stranger", 4105, 9)]),
        (f"{GPU}/stream:all", [("product:MatMul", 0, 50), ("product:MatMul", 50, 30)]),
        (GPU, [("product", 0, 7)]),
    )
    metadata = tf.RunMetadata()
    metadata.step_stats.CopyFrom(stats)
    model = CostModel.fit([metadata] * 3, graph, {"x": (1024, 512)}, machine="1x K80")
    work = Work(
        "float32",
        2.0 * 1024 * 512 * 512,
        4.0 * 3 * 512 * 512,
        4.0 * 1024 * 512,
        kernel=Product(1024, 512, 512),
        model="product",
    )
    plain = CostModel()
    assert model.kernel_seconds(work, None, "MatMul") == pytest.approx(4e-3)
    assert 1.2 * plain.kernel_seconds(work, None) < 4e-3
    assert model.kernel_seconds(work, K80, "MatMul") < plain.kernel_seconds(work, K80)
    assert model.host_seconds("MatMul", work, None) == pytest.approx(1e-6, abs=1.5e-6)
    assert model.host_seconds("MatMul", work, K80) == pytest.approx(8e-6, abs=2e-6)
    assert "measured kernels of 3 steps" in model.source
    alone = CostModel.fit(stats, graph, {"x": (1024, 512)})
    assert alone.kernel_seconds(work, K80, "MatMul") == plain.kernel_seconds(work, K80)


def test_fitting_to_a_step_of_ours():
    graph = graph_of_two()
    metadata = tf.RunMetadata()
    with tf.Session(graph=graph) as session:
        feeds = {"x:0": [[1.0] * 512] * 64}
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run("above:0", feeds, options=options, run_metadata=metadata)
    model = CostModel.fit(metadata, graph, {"x": (64, 512)})
    assert model.kernel_seconds(product(128), None, "MatMul") != CostModel().kernel_seconds(
        product(128), None
    )


def test_steps_of_another_graph_are_refused():
    with pytest.raises(InvalidArgumentError, match="no measurement of a kernel in this graph") as caught:
        CostModel.fit(step_stats((CPU, [("elsewhere", 0, 5)])), graph_of_two(), {"x": (1, 512)})
    assert "FULL_TRACE" in caught.value.hint


def test_samples_are_of_nodes_on_cpus_and_of_streams_of_gpus():
    works = {"a": ("Add", ADDING)}
    stats = [
        step_stats((CPU, [("a", 0, 10)]), (f"{GPU}/stream:all", [("a:Add", 0, 4), ("a:Add", 4, 3)])),
        step_stats(
            (CPU, [("a", 0, 14)]), ("/host:CPU", [("a:Add", 0, 99)]), (f"{GPU}/stream:13", [("a:Add", 0, 99)])
        ),
    ]
    found = samples_of(stats, works, {0: K80})
    assert [(sample.gpu, round(1e6 * sample.seconds)) for sample in found] == [(None, 12), (K80, 7)]
    assert [round(1e6 * sample.seconds) for sample in samples_of(stats, works, {}, min)] == [10]
    assert samples_of(stats, works, {1: K80})[0].gpu is None
    assert host_times([step_stats((CPU, [("a", 0, 10)]))]) == (None, None)


@pytest.mark.parametrize(
    ("alone", "share"),
    [(100, 0.0), (104, 0.0), (97, 0.0), (190, 1.0), (120, 1.0), (60, 1.0), (10, 1.0), (None, None)],
)
def test_what_a_kernel_takes_with_one_core_shows_when_it_has_all(alone, share, tmp_path):
    """Of 100 µs with all cores: in one thread, split, or mostly waiting for the cores to wake up."""
    steps = [step_stats((CPU, [("a", 0, 100)]))]
    with_one = [] if alone is None else [step_stats((CPU, [("a", 0, alone)]))]
    (found,) = samples_of(steps, {"a": ("Add", ADDING)}, {}, min, with_one)
    assert found.share == (None if share is None else pytest.approx(share))
    model = CostModel.of_samples([found], CostModel.uncalibrated(), "one kernel")
    held = model.held_seconds("Add", ADDING, 100e-6)
    assert held == pytest.approx(100e-6 * (1.0 if share is None else share))
    again = CostModel.load(model.save(tmp_path / "model.json"))
    assert again.is_same(model) and again.held_seconds("Add", ADDING, 100e-6) == held
    assert (
        model.held_seconds("Mul", ADDING, 100e-6) == 100e-6 and model.held_seconds("Mul", ADDING, 1e-6) == 0.0
    )


def test_saved_models_come_back(tmp_path):
    base = CostModel("9.0")
    model = CostModel.of_samples(
        [Sample("Add", ADDING, None, 1e-2), Sample("Add", ADDING, K80, 1e-2)], base, "two kernels"
    )
    path = model.save(tmp_path / "model.json")
    again = CostModel.load(path)
    assert (again.library, again.source, repr(again)) == ("9.0", "two kernels", "<CostModel: two kernels>")
    for gpu in (None, K80):
        for work in (product(128), ADDING):
            assert again.kernel_seconds(work, gpu, "Add") == model.kernel_seconds(work, gpu, "Add")
        assert again.host_seconds("Add", ADDING, gpu) == model.host_seconds("Add", ADDING, gpu)


NEAR = {**dict.fromkeys(("flops", "nbytes", "starts", "rests"), [1, 2]), "shares": []}
DAMAGES = {
    "not JSON": lambda text: text[: len(text) // 2],
    "format": lambda text: "[]",
    "its format is not": lambda text: text.replace("gpuplace.CostModel", "something"),
    "its version is 99": lambda text: text.replace('"version": 7', '"version": 99'),
    "'lines' is missing": lambda text: text.replace('"lines"', '"circles"'),
    "start must be a non-negative number, not 'fast'": lambda text: json.dumps(
        json.loads(text) | {"lines": dict.fromkeys(json.loads(text)["lines"], {"start": "fast"})}
    ),
    "executor_seconds must be a non-negative number, not -1": lambda text: json.dumps(
        json.loads(text) | {"executor_seconds": -1}
    ),
    "launch_seconds must be a non-negative number, not nan": lambda text: json.dumps(
        json.loads(text) | {"launch_seconds": float("nan")}
    ),
    "factor of Add must be greater than 0, not 0": lambda text: json.dumps(
        json.loads(text) | {"factors": {"K80": {"Add": 0}}}
    ),
    "'flops' is missing": lambda text: json.dumps(json.loads(text) | {"near": {"Add": {"taken": [0]}}}),
    "some measured kernels of Add lack a time": lambda text: json.dumps(
        json.loads(text) | {"near": {"Add": NEAR | {"taken": [1e-6]}}}
    ),
    "some measured kernels of Add lack a share": lambda text: json.dumps(
        json.loads(text) | {"near": {"Add": NEAR | {"taken": [1e-6, 2e-6], "shares": [0.5]}}}
    ),
    "the largest share of Add is 2; a share must be at most 1": lambda text: json.dumps(
        json.loads(text) | {"near": {"Add": NEAR | {"taken": [1e-6, 2e-6], "shares": [0.5, 2]}}}
    ),
    "taken of Add must be greater than 0, not 0": lambda text: json.dumps(
        json.loads(text) | {"near": {"Add": NEAR | {"taken": [1e-6, 0]}}}
    ),
    "has no attribute": lambda text: json.dumps(json.loads(text) | {"near": [1]}),
    "in_a_line must be true or false, not 1": lambda text: json.dumps(json.loads(text) | {"in_a_line": 1}),
    "Unknown CUDA release": lambda text: json.dumps(json.loads(text) | {"library": "0.1"}),
}


@pytest.mark.parametrize("why", DAMAGES)
def test_damaged_files_are_refused(why, tmp_path):
    path = tmp_path / "model.json"
    path.write_text(DAMAGES[why](open(CostModel().save(path)).read()))
    with pytest.raises(InvalidArgumentError) as caught:
        CostModel.load(path)
    assert why in str(caught.value)
    if "release" not in why:
        assert "is not a cost model" in str(caught.value) and "gpuplace calibrate" in caught.value.hint


def test_files_that_are_no_text_or_not_there(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidArgumentError, match="is not a cost model"):
        CostModel.load(tmp_path / "bytes")
    with pytest.raises(InvalidArgumentError, match="is not a cost model"):
        CostModel.load(tmp_path)
    with pytest.raises(NotFoundError, match="does not exist"):
        CostModel.load(tmp_path / "nowhere")


def test_a_calibration_is_found_again(monkeypatch, tmp_path):
    plain = CostModel()
    assert calibrated_path() == tmp_path / "config" / "gpuplace" / "cost_model.json"
    calibrated_path().parent.mkdir(parents=True)
    CostModel.of_samples([Sample("Add", ADDING, None, 1.0)], plain, "here").save(calibrated_path())
    assert CostModel().source == "here" and CostModel("9.0").library == "9.0"
    assert CostModel().kernel_seconds(ADDING, None) > 10 * plain.kernel_seconds(ADDING, None)
    assert CostModel.uncalibrated().kernel_seconds(ADDING, None) == plain.kernel_seconds(ADDING, None)
    monkeypatch.setenv("GPUPLACE_COST_MODEL", "")
    assert CostModel().source == plain.source
    monkeypatch.setenv("GPUPLACE_COST_MODEL", str(tmp_path / "other.json"))
    with pytest.raises(NotFoundError, match="GPUPLACE_COST_MODEL names a file that does not exist"):
        CostModel()
    plain.save(tmp_path / "other.json")
    assert CostModel().source == plain.source


def test_a_call_takes_what_the_nodes_of_its_body_take():
    model, gpu = CostModel(), find_model("V100")
    works = [Work("float32", flops=1e9, bytes_read=4e6), Work("float32", bytes_read=4e8, bytes_written=4e8)]
    call = Work(
        "float32", 1e9, 4.04e8, 4e8, 2, model="call", parts=tuple(zip(["MatMul", "Relu"], works, strict=True))
    )
    alone = model.kernel_times(works, gpu, ["MatMul", "Relu"])
    assert model.kernel_times([works[0], call], gpu, ["MatMul", "PartitionedCall"]) == [alone[0], sum(alone)]
    assert model.kernel_seconds(call, None) == pytest.approx(sum(model.kernel_times(works, None)))
    small = Work("float32", bytes_read=4.0)  # started more slowly than it runs
    calls = Work("float32", 0.0, 400.0, model="call", parts=(("Relu", small),) * 100)
    assert model.kernel_seconds(calls, gpu) == pytest.approx(100 * model.host_seconds("Relu", small, gpu))
    assert model.host_seconds("PartitionedCall", calls, gpu) == model.host_seconds("Relu", small, gpu)

"""What is asked of the advisor at its edges: what is kept, what cannot be, what costs nothing; the command."""

import json
import math
import re

import pytest

import gpuplace as tf
from gpuplace.advisor.steps import step_search
from gpuplace.advisor.steps.candidates import candidates_of
from gpuplace.advisor.steps.choice_scores import ChoiceScorer
from gpuplace.cli import main
from gpuplace.errors import InvalidArgumentError, OpError
from gpuplace.graphdef.messages import GraphDef
from tests.advisor.step_graphs import branches, graph_of, large, stack, towers
from tests.placer.corpus_files import folder

SOFT = tf.ConfigProto(allow_soft_placement=True)
GRAPH = graph_of(branches(blocks=1))


def advise(graph=GRAPH, machine="2x V100", steps=30, **options):
    return tf.advise(graph, options.pop("fetches", "train"), machine=machine, steps=steps, **options)


def test_with_one_device_there_is_nothing_to_choose():
    advice = advise(machine="cpu")
    assert not advice.has_gain and advice.moves == () and advice.value == advice.before
    assert "There is only one device, CPU:0, so there is nothing to choose." in str(advice)
    assert "the search found nothing better" in advice.text and advice.as_python().count("/device") == 0
    assert advice.graph_def() == GRAPH.as_graph_def()


def test_costs_can_be_measured():
    """A GPU whose products were measured to be slow loses them to the CPU, and only them."""
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [2048, 2048], name="rows")
        product = tf.matmul(rows, rows, name="product")
        tf.reduce_sum(tf.exp(product), name="sum")
    place = "/job:localhost/replica:0/task:0/device:"
    metadata = tf.RunMetadata()
    for device, name, micros in (
        ("CPU:0", "product", 9_000),
        ("GPU:0/stream:all", "product:MatMul", 4_000_000),
    ):
        nodes = metadata.step_stats.dev_stats.add(device=place + device).node_stats
        nodes.add(node_name=name, op_end_rel_micros=micros, all_end_rel_micros=micros)
    fitted = tf.CostModel.fit([metadata] * 40, graph, {"rows": (2048, 2048)}, machine="1x V100")
    usual, measured = (advise(graph, "1x V100", fetches="sum", cost_model=model) for model in (None, fitted))
    assert usual.placement["product"].endswith("GPU:0") and not usual.has_gain
    assert measured.placement["product"].endswith("CPU:0") and measured.value < 0.9 * measured.before
    assert measured.estimate.cost_model is fitted
    with pytest.raises(TypeError, match="cost_model must be a CostModel; got"):
        advise(graph, cost_model=metadata)


@pytest.mark.parametrize("data_format", ["NCHW", "NHWC"])
def test_images_with_channels_first_stay_on_gpus_whose_kernels_take_them(data_format):
    with tf.Graph().as_default() as graph:
        images = tf.ones([1, 8, 8, 8], name="images")
        found = tf.nn.conv2d(images, tf.ones([1, 1, 8, 8]), [1, 1, 1, 1], "SAME", data_format=data_format)
        tf.identity(tf.nn.max_pool(found, 1, 1, "SAME", data_format), name="out")
    candidates = candidates_of(tf.place(graph, "2x V100"), {})
    for name in ("Conv2D", "MaxPool"):
        node = candidates.placement.graph.index[name]
        allowed = candidates.allowed[candidates.group[node]].tolist()
        labels = [
            label for label, may in zip(candidates.placement.device_labels, allowed, strict=True) if may
        ]
        assert ("CPU:0" in labels) == (data_format == "NHWC") and {"GPU:0", "GPU:1"} <= set(labels)


def test_steps_that_take_no_time_are_not_moved():
    with tf.Graph().as_default() as graph:
        tf.no_op("train")
        tf.no_op("other")
    assert not advise(graph).has_gain and not advise(graph, fetches=["train", "other"]).has_gain


def test_parts_without_a_link_run_side_by_side():
    with tf.Graph().as_default() as graph:
        for name in ("left", "right"):
            rows = tf.ones([8192, 8192], name=f"{name}/rows")
            tf.matmul(rows, rows, name=f"{name}/product")
    advice = advise(graph, fetches=["left/product", "right/product"])
    assert advice.placement["left/product"] != advice.placement["right/product"]
    assert advice.value < 0.75 * advice.before


@pytest.mark.parametrize(
    "keep",
    [
        "block_0/branch_1",
        "block_0/branch_1/*",
        re.compile("^block_0/branch_1/"),
        lambda name: "/branch_1/" in name,
    ],
    ids=["scope", "pattern", "expression", "function"],
)
def test_what_is_kept_stays(keep):
    before = tf.place(GRAPH, "2x V100")
    advice = advise(keep=[keep] if isinstance(keep, str) else keep)
    assert advice.has_gain
    for name in before:
        if name.startswith("block_0/branch_1/"):
            assert advice.placement[name] == before[name]


def test_kept_nodes_can_be_told_where_to_be():
    advice = advise(keep={"block_0/branch_1/weights": "/gpu:1", lambda node: node.type == "Relu": "/cpu:0"})
    for name, device in advice.placement.items():
        if GRAPH.get_operation_by_name(name).type == "Relu":
            assert device.endswith("CPU:0")
        elif name.startswith("block_0/branch_1/weights"):
            assert device.endswith("GPU:1")
    assert dict(tf.place(advice.graph_def(), "2x V100")) == dict(advice.placement)


@pytest.mark.parametrize(
    ("keep", "sentence"),
    [
        (
            {"block_0": "/gpu:0", "block_0/branch_1": "/gpu:1"},
            "keep contradicts itself: .* cannot be on '/gpu:0' and",
        ),
        ({"*/weights": "/gpu:0", "*/weights/read": "/gpu:1"}, "cannot be satisfied: Cannot colocate nodes"),
        ({"block_0/*": "/gpu:5"}, "cannot be satisfied: .*was explicitly assigned to /gpu:5"),
        ({"block_0/*": "gpu 5"}, "keep puts 'block_0/\\*' on 'gpu 5', which is not a device"),
        ("blok_0", "keep: no node matches 'blok_0'"),
    ],
)
def test_contradictions_in_what_is_kept_are_named(keep, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        advise(keep=keep)


def test_soft_placement_does_not_drop_what_is_kept():
    config = tf.ConfigProto(allow_soft_placement=True)
    with pytest.raises(InvalidArgumentError, match="keep contradicts itself: .* must be on the same device"):
        advise(keep={"*/weights": "/gpu:0", "*/weights/read": "/gpu:1"}, config=config)


def test_a_program_that_cannot_be_placed_is_advised_on_without_its_requests():
    with tf.Graph().as_default() as graph, tf.device("/gpu:7"):
        branches(blocks=1)()
    advice = advise(graph)
    assert advice.baseline is None and advice.before == math.inf
    assert "The program cannot be placed as it is: " in str(advice) and advice.fits
    assert dict(tf.place(advice.graph_def(), "2x V100")) == dict(advice.placement)
    with pytest.raises(OpError, match="GPU:7"):
        advise(graph, keep=True)


def test_what_does_not_fit_anywhere_is_said():
    graph = graph_of(large(layers=6))
    kept = {"layer_*": "/gpu:0", "train/*": "/gpu:0"}
    advice = advise(graph, machine="1x GTX 1050", keep=kept, steps=5)
    sentence = r"it does not fit: it is (.* GiB) short of memory \(\1 on GPU:0\)"
    assert not advice.fits and re.search(sentence, advice.text)
    assert not advice.estimate.memory.fits


def test_room_is_found_where_there_is_hardly_any():
    # Three layers and their gradients need 99.9 % of a GPU; with two layers on the CPU a step takes twice as long.
    graph = graph_of(large(layers=6, width=8512, has_slots=False))
    advice = advise(graph, machine="2x GTX 1050", steps=20)
    devices = [advice.placement[f"layer_{number}/weights"][-5:] for number in range(6)]
    assert advice.fits and sorted(devices) == ["GPU:0"] * 3 + ["GPU:1"] * 3
    assert all(use.peak > 0.99 * use.limit for use in advice.estimate.memory.devices)


def test_where_the_time_is_too_short_nothing_more_is_prepared_and_it_is_said(monkeypatch):
    monkeypatch.setattr(step_search, "levels_of", lambda *_: pytest.fail("the step in numbers was made"))
    monkeypatch.setattr(ChoiceScorer, "measure_memory", lambda _: pytest.fail("memory was measured"))
    advice = advise(seconds=1e-6, steps=None)
    assert not advice.has_gain
    assert "There was no time to try another placement" in advice.explain()
    monkeypatch.undo()
    assert "no time" not in advise(steps=1).explain()


def test_memory_that_is_not_predicted_is_counted_roughly():
    with tf.Graph().as_default() as graph:
        rows = tf.raw_ops.VariableV2(
            shape=[None, 4096], dtype=tf.float32, name="rows"
        )  # nothing initializes it, nor says how large it is
        tops = []
        for number in range(4):
            with tf.variable_scope(f"part_{number}"):
                tops.append(tf.matmul(rows, tf.get_variable("weights", [4096, 4096])))
        tf.add_n(tops, name="train")
    advice = tf.advise(graph, "train", machine="2x GTX 1050", objective="memory", steps=60)
    assert not advice.estimate.memory.devices
    assert 128 * 2**20 < advice.value < 0.8 * advice.before
    assert advice.notes[0] == "The memory is a rough estimate." and "rows" in advice.notes[1]
    assert advice.fits is None and set(advice.estimate.peak_memory.values()) >= {None}
    assert "it is unknown whether it fits: " in advice.text
    assert "It is unknown whether the step fits on GPU:0, GPU:1: " in advice.explain()
    unknown = [point for point in advice.tradeoff(limits=1, steps=20).rows() if point.fits is None]
    assert unknown and all(point.peak_memory is None for point in unknown)


def test_what_an_advice_rests_on_is_said():
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, name="rows")
        tf.matmul(rows, rows, name="product")
    notes = advise(graph, fetches="product").notes
    assert (
        "Assumed: Unknown sizes of 'rows' (Placeholder) are assumed to be 1: its shape is <unknown>." in notes
    )
    fed = tf.advise(graph, "product", {"rows": (64, 64)}, machine="2x V100", steps=10)
    assert not [note for note in fed.notes if "Assumed" in note]


def test_a_kept_device_that_soft_placement_changes_is_named():
    def told(keep):
        return [note for note in advise(keep=keep, config=SOFT).notes if "keep" in note]

    assert told({"train/learning_rate": "/gpu:7"}) == [
        "keep puts train/learning_rate on '/gpu:7', where it cannot run: soft placement moved it to GPU:0."
    ]
    assert told({"train/learning_rate": "/gpu:1"}) == [] == told("train")
    many = told({"*": "/gpu:7"})
    assert (
        len(many) == 1
        and f"and {len(GRAPH.get_operations()) - 1:,} more kept nodes are on other devices" in many[0]
    )


def test_memory_is_divided():
    graph = graph_of(large(layers=4, width=2048))
    advice = advise(graph, machine="2x GTX 1050", objective="memory")
    assert advice.value == max(advice.estimate.peak_memory.values()) < 0.8 * advice.before
    assert advice.bound <= advice.value and "MiB" in advice.text


def test_a_pipeline_is_as_fast_as_its_busiest_part():
    advice = advise(graph_of(stack(layers=2)), objective="throughput")
    assert advice.bound <= advice.value < advice.before
    assert max(
        advice.estimate.busy[name] for name in advice.estimate.device_names if "GPU" in name
    ) <= advice.value * (1 + 1e-9)


def test_ctrl_c_gives_the_best_so_far():
    seen = []

    def stop(progress):
        seen.append(progress.score)
        if len(seen) == 4:
            raise KeyboardInterrupt

    advice = advise(seconds=60, steps=None, progress=stop)
    assert advice.was_stopped and "The search was stopped early." in str(advice)
    assert advice.value <= advice.before


def test_progress_is_told_where_nothing_better_is_found(monkeypatch):
    monkeypatch.setattr("gpuplace.advisor.steps.step_search.TELL_SECONDS", 0.0)
    told = []
    advise(steps=60, progress=told.append)
    same = [after for before, after in zip(told, told[1:]) if after.score == before.score]
    assert len(same) > 20 and max(one.fraction for one in same) > 0.5


def test_steps_and_seed_settle_the_answer():
    first, again = advise(seed=3), advise(seed=3)
    assert first.requests == again.requests and first.moves == again.moves


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"objective": "speed"}, "Unknown objective 'speed'"),
        *[
            ({"seconds": value}, "seconds must be a positive number; got .*")
            for value in (0, -1, math.nan, math.inf, "3")
        ],
        *[
            ({"steps": value}, "steps must be a positive integer; got .*")
            for value in (0, -1, 1.5, math.nan, "3")
        ],
        *[
            ({"seed": value}, "seed must be a non-negative integer; got .*")
            for value in (-1, 1.5, math.nan, "3", None)
        ],
        (
            {"fetches": "nowhere"},
            "Tensor nowhere, specified in either feed_devices or fetch_devices was not found",
        ),
        ({"fetches": []}, "Must specify at least one target to fetch or execute"),
        ({"feeds": {"nowhere": (3,)}}, "Tensor nowhere, specified in either"),
        ({"feeds": {"rows:0": (3,)}}, r"Cannot feed value of shape \(3,\) for Tensor 'rows:0'"),
        ({"graph": tf.Graph(), "fetches": None}, "The graph has no nodes"),
        ({"machine": "2x Abacus"}, "Unknown GPU model 'Abacus'"),
    ],
)
def test_wrong_questions_are_answered(options, sentence):
    with pytest.raises(InvalidArgumentError, match=sentence):
        advise(**options)
    assert advise(steps=1).value > 0  # and the next is


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"keep": 3},
            "keep must be a pattern, a function, a sequence of these, or a mapping to devices; got 3",
        ),
        (
            {"keep": ["rows", 3]},
            "keep must contain patterns, regular expressions or functions of a name; got 3",
        ),
        ({"progress": 3}, "progress must be a function of a SearchProgress; got 3"),
        ({"fetches": 3}, "Fetch argument 3 has invalid type"),
    ],
)
def test_wrong_types_are_named(options, sentence):
    with pytest.raises(TypeError, match=sentence):
        advise(**options)


def test_graphs_that_only_the_placer_takes_are_advised_on():
    def_function = GraphDef()
    for name, op in (("wide", "MutexV2"), ("alone", "NoOp")):
        def_function.node.add(name=name, op=op).attr["_class"].list.s.append(b"loc:@elsewhere")
    advice = advise(def_function, fetches=None, objective="memory", config=SOFT)
    assert dict(tf.place(advice.graph_def(), "2x V100", SOFT)) == dict(advice.placement)


def test_calls_are_inlined_and_what_is_added_is_not_fetched():
    path = folder("functions", "1.15") / "v2_conditionals.pb"
    advice = advise(path, fetches=None, objective="memory", config=SOFT)
    assert advice.fits and advice.value == max(advice.estimate.peak_memory.values())


@pytest.mark.oracle
@pytest.mark.parametrize("build", [towers(), branches(), stack()], ids=["towers", "branches", "stack"])
def test_tensorflow_places_it_as_promised(build):
    pytest.importorskip("tensorflow")
    from tests.oracle.tensorflow_placer import ask, local_devices

    advice = advise(graph_of(build), release="2.21")
    assert ask(advice.graph_def().SerializeToString(), local_devices(1, 2), False) == dict(advice.placement)


def test_the_command_writes_what_it_advises(tmp_path, capsys):
    path, placed, script = (str(tmp_path / name) for name in ("graph.pb", "placed.pb", "placed.py"))
    (tmp_path / "graph.pb").write_bytes(GRAPH.as_graph_def().SerializeToString())
    words = ["advise", path, "--machine", "2x V100", "--fetch", "train", "--steps", "20"]
    assert main([*words, "-o", placed, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert dict(tf.place(placed, "2x V100")) == {
        node: device.replace("/device:", "/job:localhost/replica:0/task:0/device:")
        for node, device in found["requests"].items()
    }
    assert tf.estimate(placed, "train", machine="2x V100").step_time == pytest.approx(found["value"])
    assert main([*words, "-o", script]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Findings:\n1. GPU:1 is idle") and "\nThe step takes " in printed
    assert "def advised_device(op):" in open(script).read()


def test_ctrl_c_in_the_command_writes_the_best_so_far(tmp_path, capsys, monkeypatch):
    def stop(progress):
        raise KeyboardInterrupt

    monkeypatch.setattr("gpuplace.cli.advise_graph.is_seen", lambda: True)
    monkeypatch.setattr("gpuplace.cli.advise_graph._show", stop)
    (tmp_path / "graph.pb").write_bytes(GRAPH.as_graph_def().SerializeToString())
    words = ["advise", str(tmp_path / "graph.pb"), "--machine", "2x V100", "--seconds", "60"]
    assert main([*words, "-o", str(tmp_path / "placed.pb")]) == 0
    assert "The search was stopped early." in capsys.readouterr().out
    assert set(tf.place(str(tmp_path / "placed.pb"), "2x V100")) == set(tf.place(GRAPH, "2x V100"))


def test_the_command_says_that_a_file_cannot_be_written(tmp_path, capsys):
    (tmp_path / "graph.pb").write_bytes(GRAPH.as_graph_def().SerializeToString())
    words = ["advise", str(tmp_path / "graph.pb"), "--machine", "2x V100", "--steps", "1"]
    assert main([*words, "-o", str(tmp_path / "nowhere" / "placed.pb")]) == 1
    assert "nowhere" in (shown := capsys.readouterr()).err and not shown.out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "give either a GRAPH or --problem FILE"),
        (["nowhere.pb"], "cannot read nowhere.pb"),
        (
            ["--problem", "w.json", "--keep", "x"],
            "--keep applies to a graph, not to the workload of --problem",
        ),
        (["--problem", "w.json", "--objective", "memory"], "--objective memory applies to a graph"),
    ],
)
def test_the_command_names_what_is_wrong(words, sentence, capsys):
    assert main(["advise", *words]) == 2
    assert sentence in capsys.readouterr().err

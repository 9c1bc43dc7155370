"""Predicting computes nothing that is large, and what it cannot know it does not call known."""

from __future__ import annotations

import json
import tracemalloc

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.cli.main import main
from gpuplace.cost.batches import largest
from gpuplace.cost.grid import cost_grid
from gpuplace.cost.memory import requests, step_facts
from gpuplace.cost.memory.unfilled import unfilled, unfilled_like
from gpuplace.kernels import compute
from gpuplace.tf1.stand_in.framework.function import Defun
from gpuplace.views.page.cost_blocks import cost_blocks, grid_blocks

CPU, GPU = (f"/job:localhost/replica:0/task:0/device:{kind}:0" for kind in ("CPU", "GPU"))
HUGE = 10**8
MOST_GROWN = 8 << 20
"""Bytes that an estimate of a huge batch may take more than one of a small batch; the limit is 50 MB."""
REFUSED = (0, -1, 10**12, 2**62)
"""Batches that there cannot be."""

MODELS = {}


def model(function):
    """A graph for any batch: what is fed, and what is fetched."""
    MODELS[function.__name__] = function
    return function


@model
def convolutions(batch):
    images, labels = tf.placeholder(tf.float32, [None, 28, 28, 1]), tf.placeholder(tf.int32, [None])
    top = tf.layers.batch_normalization(tf.layers.conv2d(images, 8, 3), training=True)
    logits = tf.layers.dense(tf.nn.dropout(tf.layers.flatten(tf.nn.relu(top)), 0.5), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    feeds = {images: (batch, 28, 28, 1), labels: (batch,)}
    return feeds, tf.train.AdamOptimizer().minimize(loss)


@model
def recurrent(batch):
    rows = tf.placeholder(tf.float32, [None, 5, 16])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(8), rows, dtype=tf.float32)
    return {rows: (batch, 5, 16)}, tf.train.AdamOptimizer().minimize(tf.reduce_mean(outputs))


@model
def masks_and_texts(batch):
    rows, is_used = tf.placeholder(tf.float32, [None, 64]), tf.placeholder(tf.bool, [None])
    lines = tf.placeholder(tf.string, [None, 3])
    numbers = tf.string_to_number(tf.strings.regex_replace(lines, "[^0-9]", ""))
    feeds = {rows: (batch, 64), is_used: (batch,), lines: (batch, 3)}
    return feeds, [tf.boolean_mask(rows, is_used) * 2.0, tf.cast(is_used, tf.float32), numbers * 2.0]


@model
def views_and_parts(batch):
    rows = tf.placeholder(tf.float32, [None, 20, 8])
    halves = tf.split(tf.transpose(rows, [0, 2, 1]), 2, 1)
    tops = tf.unstack(tf.reverse(halves[0][:, :, ::2], [1]), axis=1)
    bits = tf.bitcast(tf.cumsum(rows, 1), tf.int32)
    return {rows: (batch, 20, 8)}, [
        tf.add_n(tops),
        tf.nn.lrn(halves[1][:, :, None]),
        bits,
        tf.linalg.band_part(rows, 1, 1),
    ]


@model
def calls(batch):
    @Defun(tf.float32, noinline=True)
    def scaled(rows):
        rows.set_shape([None, 64])
        return tf.nn.softmax(tf.concat([rows, rows * 2.0], 1)) - tf.reverse(tf.tile(rows, [1, 2]), [1])

    rows = tf.placeholder(tf.float32, [None, 64])
    return {rows: (batch, 64)}, scaled(rows)


@model
def splat_constants(batch):
    rows, table = tf.placeholder(tf.float32, [None, 64]), tf.Variable(tf.constant(0.5, shape=[100_000, 64]))
    return {rows: (batch, 64)}, tf.nn.embedding_lookup(table, tf.cast(rows[:, 0], tf.int32)) + 1.0


def peak_of_process(name, batch):
    """Most bytes of Python and NumPy that an estimate takes with its memory, and the memory."""
    with tf.Graph().as_default() as graph:
        feeds, fetches = MODELS[name](batch)
    tracemalloc.start()
    step = tf.estimate(graph, fetches, feeds, machine="1x V100")
    memory = step.memory
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak, memory


@pytest.mark.parametrize("name", MODELS)
def test_any_batch_takes_as_much_memory_to_predict(name):
    peak_of_process(name, 10)  # what is read and compiled once
    small, few = peak_of_process(name, 10)
    large, many = peak_of_process(name, HUGE)
    assert large < small + MOST_GROWN
    assert few.fits is True and many.fits is False and not many.unknown
    assert many.of("GPU:0").peak > HUGE * 4 and few.of("GPU:0").peak < 2**26


def test_arrays_without_memory_are_arrays():
    made, other = unfilled((10**9, 1000), np.float32), unfilled((10**9, 1000), np.float32)
    assert made.nbytes == 4 * 10**12 and made is not other and made[5, 7] == 0.0
    assert made.reshape(1000, -1).shape == (1000, 10**9) and made.reshape(-1).base is made
    assert made.T[3].base is made and unfilled_like(made).shape == made.shape
    assert unfilled((3,), bool, byte=1).tolist() == [True] * 3 and unfilled((10**9,), bool, byte=1)[-1]
    assert unfilled((10**9,), object)[7] == b"" and unfilled((2,), object).tolist() == [b"", b""]
    with pytest.raises(tf.errors.ResourceExhaustedError, match="larger than the address space of a process"):
        unfilled((2**61,), np.float64)


def computed(monkeypatch, op_type):
    """The calls of what computes an op."""
    found = []
    (entry,) = compute._of(op_type).values()

    def computes(*inputs, **attrs):
        found.append(inputs)
        return entry.function(*inputs, **attrs)

    computes.__kwdefaults__ = entry.function.__kwdefaults__
    changed = entry.__class__(
        **{name: getattr(entry, name) for name in entry.__slots__} | {"function": computes}
    )
    monkeypatch.setitem(compute._registered[op_type], "", changed)
    return found


def test_no_regular_expression_is_matched(monkeypatch):
    calls = computed(monkeypatch, "RegexReplace")

    @Defun(tf.string, noinline=True)
    def cleaned(lines):
        return tf.strings.regex_replace(tf.concat([lines, ["a" * 40 + "b"]], 0), "(a|aa)+$", "")

    with tf.Graph().as_default() as graph:
        lines = tf.placeholder(tf.string, [None])
        folded = tf.strings.regex_replace(["a" * 40 + "b"], "(a|aa)+$", "")
        numbers = tf.string_to_number(tf.concat([cleaned(lines), folded], 0)) * 2.0
        step = tf.estimate(graph, numbers, {lines: (3,)}, machine="1x V100")
    assert step.memory.fits is True and not calls


def test_a_loop_of_a_billion_trips_is_predicted():
    def peak(trips):
        with tf.Graph().as_default() as graph:
            rows = tf.placeholder(tf.float32, [64, 64])
            top = tf.while_loop(lambda i, x: i < trips, lambda i, x: (i + 1, tf.tanh(x)), [0, rows])[1]
            return tf.estimate(graph, top, machine="1x V100").memory

    few, many = peak(1000), peak(10**9)
    assert few.of("GPU:0").peak == many.of("GPU:0").peak and not few.assumed
    assert any("represent all 1,000,000,000, which are alike" in said for said in many.assumed)


def test_long_loops_stand_for_longer_ones_to_the_byte(monkeypatch):
    def peak():
        with tf.Graph().as_default() as graph:
            rows = tf.placeholder(tf.float32, [64, 64])
            top = tf.while_loop(lambda i, x: i < 900, lambda i, x: (i + 1, tf.tanh(x) @ x), [0, rows])[1]
            return tf.estimate(graph, top, machine="1x V100").memory

    whole = peak()
    monkeypatch.setattr(step_facts, "MOST_IN_LOOP", 3000)
    part = peak()
    assert part.peaks == whole.peaks and part.assumed and not whole.assumed


def branches(wide, narrow):
    """Branches of functions that stay in one piece, in a function that does; nobody knows which one runs."""

    @Defun(tf.float32)
    def many(rows):
        rows.set_shape([512, 64])
        return tf.matmul(tf.tile(rows, [1, 100]), tf.ones([6400, 64]))

    @Defun(tf.float32)
    def few(rows):
        return rows * 2.0

    functions = {"many": many, "few": few}
    rows = tf.placeholder(tf.float32, [512, 64])
    chosen = tf.placeholder(tf.bool, [])
    return rows, tf.raw_ops.If(
        cond=chosen,
        input=[rows],
        Tout=[tf.float32],
        then_branch=functions[wide],
        else_branch=functions[narrow],
    )[0]


@pytest.mark.parametrize(("wide", "narrow"), [("many", "few"), ("few", "many")])
def test_memory_is_that_of_the_branch_that_is_timed(wide, narrow):
    with tf.Graph().as_default() as graph:
        rows, top = branches(wide, narrow)
        step = tf.estimate(graph, top, {rows: (512, 64)}, machine="1x V100")
    assert step.peak_memory[GPU] > 512 * 6400 * 4
    assert next(row.flops for row in step.rows() if row.op == "If") > 512 * 6400 * 64


# What is not known


@pytest.fixture
def limited(monkeypatch):
    """A step with a loop over its batch, of which few examples can be gone through."""
    monkeypatch.setattr(requests, "MOST_WORK", 500)
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [None, 256], name="rows")
        tf.reduce_sum(tf.map_fn(lambda row: tf.tanh(row) * 2.0, rows), name="out")
    return graph


def test_unknown_is_neither_fits_nor_does_not_fit(limited, tmp_path, capsys):
    step = tf.estimate(limited, "out", {"rows": (150, 256)}, machine="1x V100")
    memory = step.memory
    assert memory.fits is None and "allocations and node executions" in memory.unknown
    assert step.peak_memory[GPU] is None and step.peak_memory[CPU] > 0
    assert f"It is unknown whether the step fits on GPU:0: {memory.unknown}" in step.explain()
    with pytest.raises(KeyError, match="the memory use of GPU:0 is unknown"):
        memory.of("GPU:0")
    row = next(row for row in step.rows("memory") if row.device == GPU)
    assert row.limit > 0 and (row.peak, row.fits, row.fragmentation, row.constants) == (None,) * 4
    frame = step.frame("memory").set_index("device")
    assert frame.loc[CPU, "fits"] and frame.loc[GPU].isna()[["peak", "fits", "constants"]].all()
    assert "unknown" in step._repr_mimebundle_()["text/html"]
    (given,) = cost_grid(step, ["1x V100"])
    assert (given.peak, given.fits, given.error) == (None, None, "")
    pages = json.dumps([cost_blocks(step), grid_blocks([given])])
    assert "does not fit" not in pages and pages.count("unknown") >= 2
    path = tmp_path / "graph.pb"
    path.write_bytes(limited.as_graph_def().SerializeToString())
    words = ["estimate", str(path), "--fetch", "out", "--feed", "rows=150,256", "--machine", "1x V100"]
    assert main([*words, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["fits"] is None and told["peak_mib"] is None and told["peak_memory"][GPU] is None
    assert main([*words, "--machine", "1x K80", "--format", "json"]) == 0
    assert {row["fits"] for row in json.loads(capsys.readouterr().out)} == {None}


def test_memory_is_not_known_where_a_shape_is_not():
    """Nobody states the shape of a tensor in a file; of what is fed, nobody asked for more than one number."""

    @Defun(tf.string, noinline=True)
    def parsed(text):
        return tf.raw_ops.ParseTensor(serialized=text, out_type=tf.float32)

    with tf.Graph().as_default() as graph:
        text = tf.placeholder(tf.string, [], name="text")
        tf.tanh(tf.raw_ops.ParseTensor(serialized=text, out_type=tf.float32), name="parsed")
        tf.tanh(parsed(text), name="called")
        tf.tanh(tf.placeholder(tf.float32, name="given"), name="fed")
    for name in ("parsed", "called"):
        memory = tf.estimate(graph, name, machine="1x V100").memory
        assert memory.fits is None and "are unknown" in memory.unknown
    assert tf.estimate(graph, "fed", machine="1x V100").memory.fits is True


def test_a_sweep_says_what_is_not_known(limited):
    (row,) = tf.sweep(
        limited, ["1x V100"], what="estimate", fetches="out", feeds={"rows": (150, 256)}
    ).itertuples()
    assert row.fits is not True and row.fits is not False and row.error != row.error
    assert row.peak_memory[GPU] is None and row.peak_memory[CPU] > 0


def test_the_largest_batch_is_not_what_is_not_known(limited):
    step = tf.estimate(limited, "out", {"rows": (None, 256)}, machine="1x V100")
    with pytest.raises(
        tf.errors.FailedPreconditionError, match="Cannot determine the largest batch"
    ) as caught:
        step.largest_batch(20000)
    told = str(caught.value)
    known = int(told.partition("known to fit  a batch of ")[2].split()[0].replace(",", ""))
    assert "allocations and node executions" in told and 10 < known < 150
    assert step.largest_batch(known) == known
    assert tf.estimate(limited, "out", batch=known, machine="1x V100").memory.fits is True
    assert tf.estimate(limited, "out", batch=known + 1, machine="1x V100").memory.fits is None


@pytest.mark.parametrize("unknown_from", [1, 2, 3, 50, 64, 65, 1000])
def test_the_largest_known_number(unknown_from):
    assert largest(lambda n: True if n < unknown_from else None) == (unknown_from - 1, unknown_from)
    assert largest(lambda n: n < unknown_from) == (unknown_from - 1, None)
    assert largest(lambda n: True, most=unknown_from) == (unknown_from, None)


def test_advice_on_what_is_not_known(limited):
    advice = tf.advise(limited, "out", {"rows": (150, 256)}, machine="2x V100", steps=5)
    assert advice.fits is None and "it is unknown whether it fits: " in advice.text
    assert "does not fit" not in advice.explain()
    points = advice.tradeoff(limits=0, steps=5)
    assert all(
        point.fits is None and point.peak_memory is None
        for point in points.rows()
        if point.name == "as it is"
    )
    assert points.svg() and "unknown memory" in points.explain()
    assert points.frame()["fits"].isna().any()
    peaks = advice.frame("devices").set_index("device")["peak_after"]
    assert peaks.isna().tolist() == [name.endswith(("GPU:0", "GPU:1")) for name in peaks.index]


def test_findings_do_not_say_that_the_unknown_does_not_fit(limited):
    step = tf.estimate(limited, "out", {"rows": (150, 256)}, machine="1x V100")
    assert not [row for row in step.findings.table() if row.kind == "does not fit"]


# Batches and feeds that there cannot be


@pytest.fixture
def trained():
    with tf.Graph().as_default() as graph:
        images = tf.placeholder(tf.float32, [None, 28, 28, 1], name="images")
        loss = tf.reduce_mean(tf.layers.dense(tf.layers.flatten(images), 10))
        tf.group(tf.train.GradientDescentOptimizer(0.1).minimize(loss), name="train")
    return graph


def asks_of(graph):
    """Whatever takes a batch, by name."""
    step = tf.estimate(graph, "train", batch=8, machine="1x V100")
    return {
        "estimate": lambda batch: tf.estimate(graph, "train", batch=batch, machine="1x V100"),
        "advise": lambda batch: tf.advise(graph, "train", batch=batch, machine="1x V100", steps=1),
        "largest_batch": step.largest_batch,
    }


@pytest.mark.parametrize("batch", REFUSED)
def test_absurd_batches_are_refused(trained, batch, tmp_path, capsys):
    for ask in asks_of(trained).values():
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="A batch must have at (least|most)"
        ) as caught:
            ask(batch)
        assert "try" in str(caught.value)
    (row,) = cost_grid(tf.estimate(trained, "train", batch=8, machine="1x V100"), ["1x V100"], [batch])
    assert row.error.startswith("A batch must have at") and row.fits is None and row.peak is None
    path = tmp_path / "graph.pb"
    path.write_bytes(trained.as_graph_def().SerializeToString())
    for command in ("estimate", "advise", "blame", "report"):
        words = [command, str(path), "--machine", "1x V100", "--batch", str(batch)]
        assert main(words + (["-o", str(tmp_path / "page.html")] if command == "report" else [])) != 0
        assert "batch" in capsys.readouterr().err


@pytest.mark.parametrize("fed", ["train", "train:0"])
def test_what_has_no_output_cannot_be_fed(trained, fed):
    for ask in (tf.estimate, tf.advise):
        with pytest.raises(tf.errors.InvalidArgumentError, match="'train' cannot be fed: it has no outputs"):
            ask(trained, "train", {fed: ()}, machine="1x V100")


@pytest.mark.parametrize("sizes", [(2**62, 28, 28, 1), (2**64, 28, 28, 1), "-3,28,28,1", "many"])
@pytest.mark.parametrize("batch", [None, 4])
def test_absurd_shapes_are_refused(trained, sizes, batch):
    if batch and sizes[0] in (2**62, 2**64):
        return  # their first size is the batch
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot feed") as caught:
        tf.estimate(trained, "train", {"images": sizes}, machine="1x V100", batch=batch)
    assert "try" in str(caught.value)


def test_shapes_as_texts_have_batches_too(trained):
    step = tf.estimate(trained, "train", {"images": "?,28,28,1"}, machine="1x V100", batch=16)
    assert step.shapes["images"].as_list() == [16, 28, 28, 1]
    with pytest.raises(TypeError, match="feeds must be a dict from tensors or names"):
        tf.estimate(trained, "train", [("images", (1, 28, 28, 1))], machine="1x V100")


def test_every_device_has_a_peak():
    with tf.Graph().as_default() as graph:
        for number in range(2):
            with tf.device(f"/cpu:{number}"):
                rows = tf.ones([1000 * (number + 1), 100]) * tf.placeholder(
                    tf.float32, [], name=f"x_{number}"
                )
                tf.reduce_sum(rows, name=f"out_{number}")
    machine = tf.Machine.simulated(gpus=1, cpus=2)
    step = tf.estimate(graph, ["out_0", "out_1"], machine=machine)
    assert list(step.peak_memory) == step.device_names
    assert step.peak_memory[CPU] < step.peak_memory[CPU.replace("CPU:0", "CPU:1")]

"""Shapes of whole graphs beside those that TensorFlow infers (``tests/oracle/record/shapes.py``)."""

import base64
import io
import json
import lzma
import tarfile
from collections import Counter
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.cost.node_work import step_work
from gpuplace.graph.apply_op import apply_op
from gpuplace.graphdef.load import load_graph_def
from tests.support.inferred_shapes import compared, inferred

DATA = Path(__file__).resolve().parents[1] / "data"
ARCHIVES = {"corpus-1.15": 0.95, "corpus-2.21": 0.95, "functions-1.15": 0.96, "functions-2.21": 0.98}
"""Archive -> least share of shapes that are just TensorFlow's; the others are known better here."""


@pytest.fixture(scope="module")
def recorded():
    return json.loads(lzma.decompress((DATA / "shapes.json.xz").read_bytes()))


def graphs_in(archive, every=slice(None)):
    with tarfile.open(
        fileobj=io.BytesIO(lzma.decompress((DATA / f"{archive}.tar.xz").read_bytes()))
    ) as files:
        members = [member for member in files.getmembers() if member.name.endswith(".pb")]
        for member in members[every]:
            yield member.name, files.extractfile(member).read()


def verdicts(found, theirs, wrong):
    counts = Counter()
    for name, shapes in theirs.items():
        node = found.graph.index.get(name)
        if node is None:  # what it was inlined to has other names
            continue
        assert len(found.sizes[node]) == len(shapes), name
        for output, (ours, other) in enumerate(zip(found.sizes[node], shapes)):
            verdict = compared(ours, other)
            counts[verdict] += 1
            if verdict in ("wrong", "worse"):
                wrong.append((verdict, found.kinds[node].op_type, name, output, ours, other))
    return counts


@pytest.mark.parametrize("archive", ARCHIVES)
def test_shapes_are_tensorflows(archive, recorded):
    counts, wrong = Counter(), []
    release = archive.rpartition("-")[2]
    for name, data in graphs_in(archive, slice(0, None, 2)):  # the others are fed, below
        counts += verdicts(
            inferred(load_graph_def(data, signature=""), release), recorded[archive][name]["shapes"], wrong
        )
    assert [one for one in wrong if one[0] == "wrong"] == []
    assert {one[1] for one in wrong} <= {"Substr"}  # its broadcast of unknown shapes has a rank there
    assert counts["equal"] > ARCHIVES[archive] * counts.total()
    assert counts["better"]


def test_shapes_and_flops_of_what_is_fed(recorded):
    """The graphs of the corpus fed 3 wherever a size is unknown."""
    counts, wrong, flops = Counter(), [], 0
    for name, data in graphs_in("corpus-2.21", slice(1, None, 2)):
        entry = recorded["corpus-2.21"][name]
        if "flops" not in entry:
            continue
        found = inferred(
            load_graph_def(data, signature=""),
            "2.21",
            {f"{key}:0": tuple(sizes) for key, sizes in entry.get("feeds", {}).items()},
        )
        if "fed" in entry:
            counts += verdicts(found, entry["fed"], wrong)
        works = step_work(found)
        for node, count in entry["flops"].items():
            at = found.graph.index[node]
            if "Backprop" in found.kinds[at].op_type:
                assert 0.3 * count < works[at].flops <= count, (
                    name,
                    node,
                )  # there windows over the edge count, which do not exist
            else:
                assert works[at].flops == count, (name, node)
            flops += 1
    assert [one for one in wrong if one[0] == "wrong"] == []
    assert counts["equal"] > 0.95 * counts.total()
    assert counts["worse"] <= 2
    assert flops > 100


def test_ops_that_are_not_computed(recorded):
    counts, wrong = Counter(), []
    graph_def = load_graph_def(base64.b64decode(recorded["ops"]["graph"]))
    counts += verdicts(inferred(graph_def, "2.21"), recorded["ops"]["shapes"], wrong)
    # the edges of five and six regions: TensorFlow's kernel gives out one more than its shape function says
    pool = "FractionalMaxPool"
    assert wrong == [("wrong", pool, pool, 1, (7,), [6]), ("wrong", pool, pool, 2, (6,), [5])]
    assert counts["equal"] > 0.97 * counts.total()


def of(*sizes, dtype="float32"):
    """A placeholder; without sizes of unknown rank."""
    return tf.placeholder(dtype, sizes or None)


@pytest.mark.parametrize(
    ("op_type", "make", "output", "shape"),
    [
        ("RGBToHSV", lambda: {"images": of(3, None)}, 0, [3, 3]),
        (
            "SpaceToBatch",
            lambda: {"input": of(), "paddings": of(dtype="int32"), "block_size": 2},
            0,
            [None] * 4,
        ),
        ("DepthToSpace", lambda: {"input": of(), "block_size": 2}, 0, [None] * 4),
        (
            "MirrorPadGrad",
            lambda: {"input": of(), "paddings": of(2, 2, dtype="int32"), "mode": "REFLECT"},
            0,
            [None] * 2,
        ),
        ("InvertPermutation", lambda: {"x": of(dtype="int32")}, 0, [None]),
        ("BroadcastTo", lambda: {"input": of(4), "shape": of(2, dtype="int32")}, 0, [None, 4]),
        ("BroadcastTo", lambda: {"input": of(1), "shape": of(2, dtype="int32")}, 0, [None, None]),
        ("Tile", lambda: {"input": of(), "multiples": [1, 0]}, 0, [None, 0]),
        ("Reshape", lambda: {"tensor": of(2, 2, 2), "shape": of(1, dtype="int32")}, 0, [8]),
        ("Reshape", lambda: {"tensor": of(2, 4), "shape": tf.stack([of(1, dtype="int32")[0], 4])}, 0, [2, 4]),
        ("Reshape", lambda: {"tensor": of(None, 0), "shape": [-1, 4]}, 0, [0, 4]),
        (
            "Reshape",
            lambda: {"tensor": of(0, 4), "shape": tf.stack([of(1, dtype="int32")[0], 0])},
            0,
            [None, 0],
        ),
        ("MatrixSetDiag", lambda: {"input": of(None, 1, 4), "diagonal": of(3, 1)}, 0, [3, 1, 4]),
        ("MatrixSetDiag", lambda: {"input": of(), "diagonal": of(3, 1)}, 0, [3, None, None]),
        ("BatchMatMul", lambda: {"x": of(3, 1, 2), "y": of()}, 0, [3, 1, None]),
        ("BatchMatMulV2", lambda: {"x": of(3, 1, 2), "y": of()}, 0, None),
        (
            "StringJoin",
            lambda: {"inputs": [of(None, dtype="string"), of(4, dtype="string"), of(dtype="string")]},
            0,
            [4],
        ),
        (
            "LRNGrad",
            lambda: {"input_grads": of(), "input_image": of(), "output_image": of(1, 2, 3, 4)},
            0,
            [1, 2, 3, 4],
        ),
        (
            "SoftmaxCrossEntropyWithLogits",
            lambda: {"features": of(1, 4), "labels": of(None, None)},
            1,
            [1, 4],
        ),
        ("SoftmaxCrossEntropyWithLogits", lambda: {"features": of(4, 4), "labels": of()}, 0, [4]),
        ("SoftmaxCrossEntropyWithLogits", lambda: {"features": of(1, 4), "labels": of(3, 1)}, 1, [3, 4]),
        (
            "CropAndResize",
            lambda: {"image": of(), "boxes": of(), "box_ind": of(3, dtype="int32"), "crop_size": [2, 2]},
            0,
            [3, 2, 2, None],
        ),
        ("ExtractGlimpse", lambda: {"input": of(), "size": [2, 2], "offsets": of(3, 2)}, 0, [3, 2, 2, None]),
        (
            "Conv2D",
            lambda: {"input": of(1, 4, 5, 2), "filter": of(), "strides": [1, 2, 2, 1], "padding": "SAME"},
            0,
            [1, 2, 3, None],
        ),
        (
            "Conv2D",
            lambda: {"input": of(1, 4, 5, 2), "filter": of(), "strides": [1, 2, 2, 1], "padding": "VALID"},
            0,
            [1, None, None, None],
        ),
        (
            "Conv3D",
            lambda: {
                "input": of(1, 4, 5, 6, 2),
                "filter": of(),
                "strides": [1, 2, 2, 2, 1],
                "padding": "SAME",
            },
            0,
            [1, 2, 3, 3, None],
        ),
        (
            "DepthwiseConv2dNative",
            lambda: {
                "input": of(1, 4, 5, 2),
                "filter": of(None, None, None, 3),
                "strides": [1, 2, 2, 1],
                "padding": "SAME",
            },
            0,
            [1, 2, 3, 6],
        ),
        (
            "MaxPoolGradGrad",
            lambda: {
                "orig_input": of(1, 4, 4, 1),
                "orig_output": of(),
                "grad": of(),
                "ksize": [1, 2, 2, 1],
                "strides": [1, 2, 2, 1],
                "padding": "SAME",
            },
            0,
            [1, 2, 2, 1],
        ),
        (
            "FusedBatchNorm",
            lambda: {"x": of(), "scale": of(3), "offset": of(), "mean": of(0), "variance": of(0)},
            0,
            [None, None, None, 3],
        ),
        (
            "FusedBatchNormGrad",
            lambda: {
                "y_backprop": of(),
                "x": of(),
                "scale": of(3),
                "reserve_space_1": of(),
                "reserve_space_2": of(),
            },
            1,
            [3],
        ),
        (
            "SparseFillEmptyRows",
            lambda: {
                "indices": of(dtype="int64"),
                "values": of(5),
                "dense_shape": of(2, dtype="int64"),
                "default_value": 0.0,
            },
            3,
            [5],
        ),
    ],
)
def test_shapes_of_single_ops(op_type, make, output, shape):
    """As TensorFlow 1.15 and 2.21 infer them."""
    found = apply_op(op_type, **make()).outputs[output].shape
    assert (None if found.ndims is None else found.as_list()) == shape

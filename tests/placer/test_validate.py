"""Graphs that are none: each with TensorFlow's sentence."""

import pytest

from gpuplace import errors
from gpuplace.dtypes import as_dtype
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.graph_builder import PlacementGraphBuilder
from gpuplace.placer.validate import check_graph

FLOAT = as_dtype("float32")


def check(op_type, attrs, *inputs):
    builder = PlacementGraphBuilder(default_catalogue())
    builder.add_node("a", "Const", {"dtype": FLOAT})
    builder.add_node("n", op_type, attrs, inputs)
    check_graph(builder.build(), default_catalogue())


def test_a_sound_node():
    check("Neg", {"T": FLOAT}, "a")


def test_a_missing_input_is_noticed_only_when_the_kernel_is_made():
    check("Neg", {"T": FLOAT})


@pytest.mark.parametrize(
    ("op_type", "attrs", "inputs", "sentence"),
    [
        ("Neg", {"T": FLOAT}, ["a", "a"], "Input 1 of node n does not exist. Node only has 1 inputs."),
        (
            "Neg",
            {"T": FLOAT},
            ["a:1"],
            "Connecting to invalid output 1 of source node a which has 1 outputs.",
        ),
        (
            "Neg",
            {"T": FLOAT},
            ["a:99999999999999"],
            "Connecting to invalid output 2147483647 of source node a",
        ),
        ("Neg", {"T": as_dtype("int32")}, ["a"], "Input 0 of node n was passed float from a:0 incompatible"),
        (
            "Neg",
            {"T": 3},
            ["a"],
            "Input 0 of node n was passed float from a:0 incompatible with expected INVALID.",
        ),
        (
            "AddN",
            {"T": FLOAT, "N": b"2"},
            ["a", "a"],
            "AttrValue had value with type 'string' when 'int' expected",
        ),
        ("AddN", {"T": FLOAT, "N": -1}, ["a", "a"], "Value for number_attr.. -1 < 0"),
        ("AddN", {"T": FLOAT, "N": 1 << 50}, ["a"], f"Number of outputs is too big: {1 << 50}"),
        ("AddN", {"T": FLOAT, "N": None}, ["a"], "AttrValue missing value with expected type 'int'"),
        ("AddN", {"T": FLOAT, "N": "n"}, ["a"], "AttrValue had value with unexpected type 'placeholder'"),
        (
            "IdentityN",
            {"T": (3,)},
            ["a"],
            "Input 0 of node n does not exist. Node only has 0 inputs.",
        ),
    ],
)
def test_what_is_wrong(op_type, attrs, inputs, sentence):
    with pytest.raises(errors.InvalidArgumentError, match=sentence):
        check(op_type, attrs, *inputs)


def test_a_missing_attribute_and_an_unknown_op():
    with pytest.raises(errors.NotFoundError, match="No attr named 'T' in NodeDef"):
        check("Neg", {}, "a")
    with pytest.raises(errors.NotFoundError, match="Op type not registered 'Negg'"):
        check("Negg", {}, "a")

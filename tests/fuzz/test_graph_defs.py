"""Hostile graphs: some damaged ones at random, and each that once was neither refused nor placed."""

import argparse
import re
from random import Random

import pytest

import gpuplace as tf
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.op_notation import value_text
from gpuplace.graphdef.messages import GraphDef
from gpuplace.graphdef.tensor_proto import tensor_value
from gpuplace.why.node_text import attr_text
from tests.fuzz import graph_defs


@pytest.fixture(autouse=True)
def release():
    before = tf.get_release()
    yield
    tf.set_release(before)


def message(**attrs):
    """A Const `a` and a Neg `n`, with attributes set on `n` by a function of its message."""
    graph = GraphDef()
    made = graph.node.add(name="a", op="Const")
    made.attr["dtype"].type = 1
    made.attr["value"].tensor.dtype = 1
    made.attr["value"].tensor.tensor_shape.SetInParent()
    node = graph.node.add(name="n", op="Neg", input=["a"])
    node.attr["T"].type = 1
    return graph


def imported(graph):
    with tf.Graph().as_default() as made:
        tf.import_graph_def(graph, name="")
    return made


def attempted(graph):
    """The graph after all that the harness asks of it, under several of its choices."""
    for seed in range(8):
        graph_defs.attempt(graph, Random(seed))
    return graph


def add_function(graph, name="f"):
    signature = graph.library.function.add().signature
    signature.name = name
    graph.node.add(name="call", op=name)
    return signature


def test_damaged_graphs_are_refused_or_placed():
    for number in range(400):
        source, random = graph_defs.case(12345, number)
        graph_defs.attempt(source, random)


def test_a_campaign_finds_nothing_and_says_how_many_it_ran(capfd):
    arguments = argparse.Namespace(executions=60, processes=2, seed=7, time_limit=10.0, seconds=0, save=None)
    assert graph_defs.Campaign(arguments).run() == 0
    assert "60 executions in" in capfd.readouterr().out


def test_a_finding_is_told_by_class_and_line():
    try:
        tf.TensorShape([1, "x"])
    except (TypeError, ValueError) as error:
        assert graph_defs.finding(error)["key"].startswith(f"{type(error).__name__} at shapes.py:")


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({}, "Exactly one of type, type_attr, type_list_attr must be set for input 'x'"),
        (
            {"type": 1, "type_attr": "T"},
            "Exactly one of type, type_attr, type_list_attr must be set for input 'x'",
        ),
        ({"type_attr": "missing"}, "No attr with name 'missing' for input 'x'"),
        ({"type": 1, "number_attr": "N"}, "No attr with name 'N' for input 'x'"),
    ],
)
def test_a_function_with_an_unsound_signature(fields, sentence):
    graph = message()
    add_function(graph).input_arg.add(name="x", **fields)
    attempted(graph)
    with pytest.raises(InvalidArgumentError, match=sentence):
        tf.place(graph, "cpu")
    with pytest.raises(ValueError, match=sentence):
        imported(graph)


def test_a_function_with_an_attribute_of_no_type():
    graph = message()
    add_function(graph).attr.add(name="T", type="list(list(int))")
    attempted(graph)
    with pytest.raises(InvalidArgumentError, match="Unrecognized type"):
        tf.place(graph, "cpu")


def test_a_function_of_an_ops_name():
    graph = message()
    add_function(graph, "NoOp").output_arg.add(name="y", type=1)
    attempted(graph)
    with pytest.raises(ValueError, match="because an op with the same name already exists"):
        imported(graph)


@pytest.mark.parametrize("output", [None, 1])
def test_a_function_of_an_ops_name_is_refused_before_placing_too(output):
    graph = message()
    signature = graph.library.function.add().signature
    signature.name = "NoOp"
    if output:
        signature.output_arg.add(name="y", type=output)
    with pytest.raises(
        InvalidArgumentError,
        match="^Cannot add function 'NoOp' because an op with the same name already exists",
    ):
        tf.place(graph, "cpu")


def test_two_functions_of_one_name():
    graph = message()
    add_function(graph).output_arg.add(name="y", type=1)
    graph.library.function.add().CopyFrom(graph.library.function[0])
    del graph.node[-1]
    assert len(tf.place(attempted(graph), "cpu")) == 2
    assert len(imported(graph).get_operations()) == 2
    graph.library.function[1].signature.output_arg[0].type = 3
    sentence = "Cannot add function 'f' because a different function with the same name already exists"
    with pytest.raises(InvalidArgumentError, match=sentence):
        tf.place(attempted(graph), "cpu")
    with pytest.raises(ValueError, match=sentence):
        imported(graph)


@pytest.mark.parametrize(
    ("field", "value", "placed", "refused"),
    [
        ("i", 1, "INVALID", "AttrValue had value with type 'int' when 'type' expected"),
        ("s", b"x", "INVALID", "AttrValue had value with type 'string' when 'type' expected"),
        ("b", True, "INVALID", "AttrValue had value with type 'bool' when 'type' expected"),
        ("type", 0, "INVALID", "AttrValue has invalid DataType"),
        ("type", 77, "unknown dtype enum (77)", "AttrValue has invalid DataType enum: 77"),
        ("type", 9999, "unknown dtype enum (9899)_ref", "AttrValue has invalid DataType enum: 9999"),
        ("type", 101, "float_ref", "AttrValue must not have reference type value of float_ref"),
    ],
)
def test_a_type_that_is_none(field, value, placed, refused):
    graph = message()
    setattr(graph.node[1].attr["T"], field, value)
    attempted(graph)
    with pytest.raises(InvalidArgumentError) as error:
        tf.place(graph, "cpu", release="2.21")
    assert (
        error.value.message
        == f"Input 0 of node n was passed float from a:0 incompatible with expected {placed}."
    )
    with pytest.raises(ValueError, match=re.escape(refused) + r"\n\t for attr 'T'\n\t; NodeDef: {{node n}}"):
        imported(graph)


def test_a_type_that_is_none_where_no_kernel_asks_for_it():
    graph = message()
    graph.node[0].op = "Placeholder"
    graph.node[0].attr["dtype"].i = 1
    del graph.node[1]
    del graph.node[0].attr["value"]
    assert tf.place(attempted(graph), "1x V100")["a"].endswith("GPU:0")
    user = graph.node.add(name="q", op="Neg", input=["a"])
    user.attr["T"].i = 1
    with pytest.raises(InvalidArgumentError) as error:
        tf.place(attempted(graph), "1x V100", release="2.21")
    text = error.value.message
    assert text.startswith('KernelDef \'op: "Neg" device_type: "GPU" constraint { name: "T"')
    assert (
        "has constraint on attr 'T' that has value '1' that does not have type 'type' or 'list(type)'" in text
    )
    assert "in NodeDef '[T=1]'" in text


@pytest.mark.parametrize("kind", ["type", "shape", "i", "list of types"])
def test_a_class_that_is_no_list_of_strings(kind):
    graph = message()
    attr = graph.node[1].attr["_class"]
    if kind == "type":
        attr.type = 1
    elif kind == "shape":
        attr.shape.dim.add(size=2)
    elif kind == "i":
        attr.i = 5
    else:
        attr.list.type.append(1)
    attempted(graph)
    assert len(tf.place(graph, "cpu")) == 2
    with pytest.raises(ValueError, match=r"when 'list\(string\)' expected"):
        imported(graph)


def test_a_million_colocation_groups():
    graph = message()
    graph.node[1].attr["_class"].list.s.extend(b"loc:@g%d" % i for i in range(500_000))
    graph.node[1].attr["_class"].list.s.extend([b"loc:@a"] * 500_000)
    assert len(tf.place(graph, "cpu")) == 2


def test_a_kernel_label_that_is_no_text():
    graph = message()
    graph.node[1].attr["_kernel"].s = b"\xff"
    attempted(graph)
    with pytest.raises(InvalidArgumentError, match="No OpKernel was registered|kernel"):
        tf.place(graph, "cpu")
    graph.node[1].attr["_kernel"].i = 3
    assert len(tf.place(attempted(graph), "cpu")) == 2


def test_a_tensor_that_cannot_be_decoded_in_an_error():
    graph = message()
    graph.node[0].device = "/gpu:77"
    graph.node[0].attr["value"].tensor.dtype = 0
    attempted(graph)
    with pytest.raises(InvalidArgumentError, match="was explicitly assigned to /gpu:77"):
        tf.place(graph, "cpu")
    graph.node[0].attr["value"].tensor.dtype = 20
    attempted(graph)


def test_output_shapes_that_are_none():
    graph = message()
    graph.node[1].attr["_output_shapes"].list.s.append(b"loc:@a")
    assert len(imported(attempted(graph)).get_operations()) == 2


@pytest.mark.parametrize("size", [1 << 62, -1])
def test_a_list_of_absurd_length(size):
    graph = message()
    split = graph.node.add(name="s", op="Unpack", input=["a"])
    split.attr["num"].i = size
    split.attr["T"].type = 1
    attempted(graph)
    with pytest.raises(InvalidArgumentError, match="number_attr|Number of outputs is too big"):
        tf.place(graph, "cpu")
    with pytest.raises(ValueError, match="Number of outputs is too big|at least minimum"):
        imported(graph)


@pytest.mark.parametrize("rank", [3, 254, 100_000])
def test_sizes_that_no_tensor_can_have_are_unknown(rank):
    graph = message()
    for _ in range(rank):
        graph.node[0].attr["value"].tensor.tensor_shape.dim.add(size=1 << 62)
    (row,) = tf.place(attempted(graph), "cpu").blame()
    assert (row.nbytes, row.unsized) == (0, 2)


def test_functions_nested_without_end():
    graph = message()
    function = graph.node[1].attr["f"].func
    for _ in range(900):
        function = function.attr["f"].func
    attempted(graph)
    with pytest.raises(ValueError, match="nested more than"):
        imported(graph)


def test_a_library_function_nested_too_deeply_to_be_read():
    graph = message()
    function = graph.library.function.add()
    function.signature.name = "f"
    inner = function.attr["f"].func
    for _ in range(200):
        inner = inner.attr["f"].func
    attempted(graph)
    with pytest.raises(ValueError, match="Function 'f' cannot be read"):
        imported(graph)


@pytest.mark.parametrize("op", ["AccumulateNV2", "ParallelConcat"])
def test_an_aggregate_without_its_type(op):
    graph = message()
    graph.node.add(name="acc", op=op)
    attempted(graph)
    with pytest.raises(InvalidArgumentError, match=f"Node 'acc' .{op}. does not match its op"):
        tf.place(graph, "cpu")


def test_a_shape_of_another_type_than_its_constant_says():
    graph = message()
    shape = graph.node.add(name="s", op="Const")
    shape.attr["dtype"].type = 3
    shape.attr["value"].tensor.dtype = 18
    shape.attr["value"].tensor.tensor_shape.SetInParent()
    made = graph.node.add(name="r", op="Reshape", input=["a", "s"])
    made.attr["T"].type, made.attr["Tshape"].type = 1, 3
    attempted(graph)


def test_a_tile_by_a_scalar():
    graph = message()
    graph.node[0].attr["value"].tensor.tensor_shape.dim.add(size=1)
    count = graph.node.add(name="c", op="Const")
    count.attr["dtype"].type = count.attr["value"].tensor.dtype = 3
    count.attr["value"].tensor.tensor_shape.SetInParent()
    tile = graph.node.add(name="t", op="Tile", input=["a", "c"])
    tile.attr["T"].type, tile.attr["Tmultiples"].type = 1, 3
    attempted(graph)
    with pytest.raises(ValueError, match="Shape must be rank 1"):
        imported(graph)


def test_names_that_differ_in_case_only():
    graph = GraphDef()
    for number in range(1 << 12):
        graph.node.add(
            name="".join(c.upper() if number >> i & 1 else c for i, c in enumerate("abcdefghijkl")), op="NoOp"
        )
    made = imported(graph)
    assert [op.name for op in made.get_operations()] == [node.name for node in graph.node]
    with made.as_default():
        assert tf.no_op("ABCdefghijkl").name == "ABCdefghijkl_1"


def test_a_chain_of_lists_of_strings_is_searched_once():
    graph = GraphDef()
    size = graph.node.add(name="i", op="Placeholder")
    size.attr["dtype"].type = 3
    made = graph.node.add(name="n0", op="EmptyTensorList", input=["i", "i"])
    made.attr["element_dtype"].type, made.attr["shape_type"].type = 7, 3
    for number in range(20_000):
        graph.node.add(name=f"n{number + 1}", op="Identity", input=[f"n{number}"]).attr["T"].type = 21
    placement = tf.place(graph, "1x V100", release="2.21")
    assert placement["n20000"].endswith("CPU:0")


def test_a_bias_gradient_of_a_scalar():
    graph = message()
    grad = graph.node.add(name="g", op="BiasAddGrad", input=["a"])
    grad.attr["T"].type = 1
    attempted(graph)
    with pytest.raises(ValueError, match="at least rank 2"):
        imported(graph)


def test_a_huge_tensor_of_one_value_is_never_spread_out():
    graph = message()
    for name in ("k", "l"):
        axes = graph.node.add(name=name, op="Const")
        axes.attr["dtype"].type = 3
        axes.attr["value"].tensor.dtype = 3
        axes.attr["value"].tensor.tensor_shape.dim.add(size=1 << 40)
        axes.attr["T"].tensor.CopyFrom(axes.attr["value"].tensor)
    total = graph.node.add(name="s", op="Sum", input=["a", "k"])
    total.attr["T"].type = 1
    total.attr["Tidx"].type = 3
    with pytest.raises(ValueError, match="not in Op"):
        imported(attempted(graph))
    for node in graph.node[2:4]:
        del node.attr["T"]
    assert imported(graph).get_tensor_by_name("s:0").shape.ndims is None


def test_huge_tensors_of_one_value_are_compared_by_it():
    graph = message()
    tensor = graph.node[0].attr["value"].tensor
    tensor.tensor_shape.dim.add(size=1 << 40)
    tensor.float_val.append(1)
    first, same = tensor_value(tensor), tensor_value(tensor)
    tensor.float_val[0] = 2
    assert first == same
    assert first != tensor_value(tensor)


@pytest.mark.parametrize(("values", "text"), [([], "0 0 0..."), ([5], "5 5 5..."), ([5, 6], "5 6 6...")])
def test_the_text_of_a_huge_tensor(values, text):
    graph = message()
    tensor = graph.node[0].attr["value"].tensor
    for size in (1 << 20, 1 << 11):
        tensor.tensor_shape.dim.add(size=size)
    tensor.float_val.extend(values)
    value = tensor_value(tensor)
    assert attr_text(value, "2.21") == f"Tensor<type: float shape: [1048576,2048] values: {text}>"
    first, second = (text.split()[0], text.split()[1])
    assert f"values: {first}.0 {second}.0 " in value_text(value)
    assert not value.is_decoded


def test_a_tensor_larger_than_any_memory():
    graph = message()
    for _ in range(2):
        graph.node[0].attr["value"].tensor.tensor_shape.dim.add(size=1 << 40)
    attempted(graph)
    with pytest.raises(InvalidArgumentError, match="Cannot parse tensor from proto"):
        _ = tensor_value(graph.node[0].attr["value"].tensor).array


def lists(node, **attrs):
    """Sets attributes of lists of types and of shapes that are known to be vectors of two."""
    for name, count in attrs.items():
        found = node.attr[name].list
        for _ in range(count):
            if name.endswith("shapes"):
                found.shape.add().dim.add(size=2)
            else:
                found.type.append(1)
    return node


@pytest.mark.parametrize("op", ["IteratorGetNext", "IteratorGetNextSync"])
def test_an_iterator_with_more_types_than_shapes(op):
    graph = GraphDef()
    made = graph.node.add(name="i", op="IteratorV2")
    made.attr["shared_name"].s = made.attr["container"].s = b""
    lists(made, output_types=2, output_shapes=2)
    lists(graph.node.add(name="n", op=op, input=["i"]), output_types=2, output_shapes=1)
    attempted(graph)
    with pytest.raises(ValueError, match=re.escape("the same length as `output_types` (1 vs. 2)")):
        imported(graph)


@pytest.mark.parametrize(
    ("types", "shapes", "sparse", "sparse_types", "text"),
    [(2, 1, 0, 0, "dense_keys.*dense_shapes"), (1, 1, 0, 1, "sparse_keys.*sparse_types")],
)
def test_a_parser_with_lists_of_different_lengths(types, shapes, sparse, sparse_types, text):
    graph = GraphDef()
    graph.node.add(name="a", op="Placeholder").attr["dtype"].type = 7
    for number in range(types):
        graph.node.add(name=f"d{number}", op="Placeholder").attr["dtype"].type = 1
    node = graph.node.add(name="n", op="ParseSingleExample", input=["a", *(f"d{i}" for i in range(types))])
    lists(node, Tdense=types, dense_shapes=shapes, sparse_types=sparse_types)
    node.attr["num_sparse"].i = sparse
    for name in ("sparse_keys", "dense_keys"):
        node.attr[name].list.SetInParent()
    attempted(graph)
    with pytest.raises(ValueError, match=text):
        imported(graph)


def test_a_sum_of_nothing():
    """The placer accepts it, as TensorFlow's does; its shape is unknown."""
    graph = message()
    node = graph.node.add(name="sum", op="AddN", input=["^a"])
    node.attr["T"].type = 1
    node.attr["N"].i = 0
    attempted(graph)
    placement = tf.place(graph, "2x Tesla K40c")
    assert [edge.shape for edge in placement.edges() if edge.src == "sum"] == []
    assert tf.estimate(placement).step_time >= 0


def split_into(count):
    """A Split with very many outputs on the CPU, one of which a GPU needs."""
    graph = message()
    graph.node.add(name="axis", op="Const").CopyFrom(graph.node[0])
    graph.node[-1].name = "axis"
    graph.node[-1].attr["dtype"].type = graph.node[-1].attr["value"].tensor.dtype = 3
    node = graph.node.add(name="parts", op="Split", input=["axis", "a"], device="/cpu:0")
    node.attr["T"].type = 1
    node.attr["num_split"].i = count
    graph.node.add(name="part", op="Neg", input=["parts:77777"], device="/gpu:0").attr["T"].type = 1
    return graph


def test_an_output_beyond_the_inferred_ones_is_copied():
    placement = tf.place(split_into(100_000), "1x V100")
    [copied] = [edge for edge in placement.edges() if edge.dst == "part"]
    assert (copied.is_copy, copied.dtype, copied.shape) == (True, "float32", None)
    copies = placement.frame("copies")
    assert list(zip(copies["src"], copies["src_output"], strict=True)) == [("a", 0), ("parts", 77777)]
    estimate = tf.estimate(placement)
    assert estimate.step_time > 0 and any("unknown" in sentence for sentence in estimate.assumptions)


def test_two_billion_outputs_are_not_listed():
    placement = tf.place(split_into((1 << 31) - 1), "1x V100")
    assert placement.never_on() == tf.place(split_into(100_000), "1x V100").never_on()


def test_a_node_of_very_many_inputs_is_copied():
    graph = GraphDef()
    made = graph.node.add(name="word", op="Const")
    made.attr["dtype"].type = made.attr["value"].tensor.dtype = 7
    made.attr["value"].tensor.string_val.append(b"a")
    made.attr["value"].tensor.tensor_shape.SetInParent()
    graph.node.add(name="line", op="StringJoin", input=["word"] * 70_000).attr["N"].i = 70_000
    graph.node.add(name="same", op="Identity", input=["line"], device="/gpu:0").attr["T"].type = 7
    placement = tf.place(graph, "1x V100", tf.ConfigProto(allow_soft_placement=True))
    [edge] = [edge for edge in placement.edges() if edge.src == "line"]
    assert (edge.is_copy, edge.dtype) == (True, "string")

"""Calls that are not simply copied: handles as results, `_noinline`, compiled nodes, assigned devices, attributes."""

import pytest

import gpuplace
from gpuplace.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from gpuplace.graphdef.messages import ConfigProto, GraphDef

TWO = "2x Tesla K40c"
LOCAL = "/job:localhost/replica:0/task:0/device:"
FLOAT, BOOL, RESOURCE = 1, 10, 20


def node(nodes, name, op, *inputs, device="", **types):
    made = nodes.add(name=name, op=op, input=inputs, device=device)
    for key, number in types.items():
        made.attr[key].type = number
    return made


def function(graph, name, takes, gives, returns):
    """A function of the library; `returns` are what its results are, in order."""
    made = graph.library.function.add()
    made.signature.name = name
    for i, number in enumerate(takes):
        made.signature.input_arg.add(name=f"a{i}", type=number)
    for i, number in enumerate(gives):
        made.signature.output_arg.add(name=f"r{i}", type=number)
        made.ret[f"r{i}"] = returns[i]
    return made


def call(graph, name, called, inputs, takes, gives, *, marked=True, op="StatefulPartitionedCall"):
    made = graph.node.add(name=name, op=op, input=inputs)
    made.attr["f"].func.name = called
    made.attr["Tin"].list.type.extend(takes)
    made.attr["Tout"].list.type.extend(gives)
    if marked:
        made.attr["_lower_as_multi_device_function"].b = True
    return made


def negation(**options):
    """A graph with a marked call `y = f(x)`, and that call."""
    graph = GraphDef()
    body = function(graph, "f", [FLOAT], [FLOAT], ["n:y:0"])
    node(body.node_def, "n", "Neg", "a0", T=FLOAT)
    node(graph.node, "x", "Placeholder", device="/gpu:1", dtype=FLOAT)
    return graph, call(graph, "y", "f", ["x"], [FLOAT], [FLOAT], **options)


def handle():
    """A graph whose call gives back the handle that it was given, and a new one on the CPU."""
    graph = GraphDef()
    body = function(graph, "f", [RESOURCE], [RESOURCE, RESOURCE], ["a0", "made:resource:0"])
    node(body.node_def, "made", "VarHandleOp", device="/cpu:0", dtype=FLOAT).attr["shape"].shape.SetInParent()
    node(graph.node, "v", "VarHandleOp", device="/gpu:1", dtype=FLOAT).attr["shape"].shape.SetInParent()
    call(graph, "c", "f", ["v"], [RESOURCE], [RESOURCE, RESOURCE], marked=False)
    node(graph.node, "same", "ReadVariableOp", "c", dtype=FLOAT)
    node(graph.node, "other", "ReadVariableOp", "c:1", dtype=FLOAT)
    return graph


@pytest.mark.parametrize("release", ["1.15", "2.21"])
def test_handles_that_a_call_gives_back_bind_as_its_function_says(release):
    placement = gpuplace.place(handle(), TWO, release=release)
    assert set(placement) == {"v", "c", "same", "other", "v_c", "c_same", "c_other"}
    assert {placement[name] for name in ("v", "v_c", "c_same", "same")} == {f"{LOCAL}GPU:1"}
    assert {placement[name] for name in ("c_other", "other")} == {f"{LOCAL}CPU:0"}


def test_what_the_function_asks_for_can_be_impossible():
    graph = handle()
    graph.library.function[0].node_def[0].device = "/gpu:7"
    with pytest.raises(InvalidArgumentError, match="required incompatible device '/device:GPU:7'"):
        gpuplace.place(graph, TWO, release="2.21")


def test_a_function_that_looks_into_itself():
    graph = handle()
    inner = graph.library.function[0].node_def.add()
    inner.CopyFrom(next(n for n in graph.node if n.name == "c"))
    inner.input[0] = "a0"
    with pytest.raises(UnimplementedError) as caught:
        gpuplace.place(graph, TWO, release="2.21")
    assert caught.value.message == (
        "Recursive function calls are not supported. Node {{node c}} inside the body of {{function_node f}} calls "
        "function {{function_node f}} which is already present in the call stack:\n  Graph contains node {{node c}}\n"
        "  Node {{node c}} calls function {{function_node f}}"
    )
    assert caught.value.facts == {"functions": "f > f", "inside": "c calls f"}


def test_a_function_that_does_not_want_to_be_copied():
    graph, _ = negation()
    assert "y/n" in gpuplace.place(graph, TWO, release="2.21")
    graph.library.function[0].attr["_noinline"].b = True
    assert list(gpuplace.place(graph, TWO, release="2.21")) == ["x", "y"]


@pytest.mark.parametrize(("release", "stays"), [("1.15", False), ("2.21", True)])
def test_what_must_be_compiled_stays_in_later_releases(release, stays):
    graph, made = negation()
    made.attr["_XlaMustCompile"].b = True
    assert ("y/n" not in gpuplace.place(graph, TWO, release=release)) is stays


def test_all_calls_are_written_out_where_the_config_says_so():
    graph, _ = negation(marked=False)
    config = ConfigProto()
    assert "y/n" not in gpuplace.place(graph, TWO, config)
    config.graph_options.optimizer_options.do_function_inlining = True
    assert "y/n" in gpuplace.place(graph, TWO, config)


def test_a_device_assigned_to_a_replaced_node_is_gone():
    graph, _ = negation()
    placement = gpuplace.place(
        graph, TWO, release="2.21", assigned={"y": f"{LOCAL}GPU:1", "x": f"{LOCAL}GPU:1"}
    )
    assert placement["y"] == f"{LOCAL}GPU:0"
    assert placement["x"] == f"{LOCAL}GPU:1"


def test_a_call_without_its_functions_attribute():
    graph, _ = negation()
    signature = graph.library.function[0].signature
    signature.attr.add(name="T", type="type")
    for arg in (signature.input_arg[0], signature.output_arg[0]):
        arg.type, arg.type_attr = 0, "T"
    sentence = "Attr T is not found from Op<name=f; signature=a0:T -> r0:T; attr=T:type>"
    with pytest.raises(NotFoundError) as caught:
        gpuplace.place(graph, TWO, release="2.21")
    assert caught.value.message == sentence


def test_a_choice_that_is_no_bool():
    graph, _ = negation()
    function(graph, "g", [], [], [])
    node(graph.node, "p", "Placeholder", dtype=FLOAT)
    choice = node(graph.node, "c", "If", "p", Tcond=FLOAT)
    for key in ("then_branch", "else_branch"):
        choice.attr[key].func.name = "g"
    for key in ("Tin", "Tout"):
        choice.attr[key].list.SetInParent()
    choice.attr["_lower_using_switch_merge"].b = True
    with pytest.raises(
        InvalidArgumentError, match="Input 'pred' passed float expected bool while building NodeDef"
    ):
        gpuplace.place(graph, TWO, release="2.21")


def test_functions_that_call_each_other_twice_are_looked_into_once():
    """Thirty levels would be a thousand million bodies."""
    graph = GraphDef()

    def add_call(nodes, name, level):
        call = node(nodes, name, "StatefulPartitionedCall")
        call.attr["Tin"].list.SetInParent()
        call.attr["Tout"].list.type.append(RESOURCE)
        call.attr["f"].func.name = f"f{level}"

    lowest = function(graph, "f0", [], [RESOURCE], ["v:resource:0"])
    node(lowest.node_def, "v", "VarHandleOp", dtype=FLOAT)
    for level in range(1, 30):
        body = function(graph, f"f{level}", [], [RESOURCE], ["c0:output:0"])
        add_call(body.node_def, "c0", level - 1)
        add_call(body.node_def, "c1", level - 1)
    add_call(graph.node, "call", 29)
    node(graph.node, "read", "ReadVariableOp", "call", dtype=FLOAT)
    placement = gpuplace.place(graph, "1x Tesla K40c", release="2.21")
    assert set(placement.counts()) == {"GPU:0"}


def test_an_argument_of_a_type_that_the_function_does_not_have():
    graph = GraphDef()
    body = function(graph, "f", [], [RESOURCE], ["v:resource:0"])
    node(body.node_def, "v", "VarHandleOp", dtype=FLOAT)
    body.signature.input_arg.add(name="x", type_list_attr="types")
    call = node(graph.node, "call", "StatefulPartitionedCall")
    call.attr["Tin"].list.SetInParent()
    call.attr["Tout"].list.type.append(RESOURCE)
    call.attr["f"].func.name = "f"
    with pytest.raises(InvalidArgumentError, match="No attr with name 'types' for arg 'x' of function f"):
        gpuplace.place(graph, TWO, release="2.21")


@pytest.mark.parametrize("waits", [("^data", "^v"), ("^v", "^data")])
def test_a_body_waits_in_the_order_of_its_nodes(waits):
    """The first edge into a Shape is the one that it follows, here that from the variable, which stands first."""
    graph = GraphDef()
    body = function(graph, "f", [FLOAT], [3], ["shape:output:0"])
    node(body.node_def, "v", "VariableV2", dtype=FLOAT).attr["shape"].shape.SetInParent()
    node(body.node_def, "n", "Placeholder", dtype=9)
    data = node(body.node_def, "data", "RangeDataset", *["n:output:0"] * 3)
    data.attr["output_types"].list.type.append(3)
    data.attr["output_shapes"].list.shape.add()
    node(body.node_def, "shape", "Shape", "a0", *waits, T=FLOAT, out_type=3)
    node(graph.node, "p", "Placeholder", dtype=FLOAT)
    call = node(graph.node, "call", "PartitionedCall", "p")
    call.attr["_lower_as_multi_device_function"].b = True
    call.attr["Tin"].list.type.append(FLOAT)
    call.attr["Tout"].list.type.append(3)
    call.attr["f"].func.name = "f"
    placement = gpuplace.place(graph, TWO, ConfigProto(allow_soft_placement=True), release="2.21")
    assert placement["call/shape"] == LOCAL + "GPU:0"

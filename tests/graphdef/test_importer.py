"""``import_graph_def``: arguments, devices, and graphs that are not valid."""

import numpy as np
import pytest

from gpuplace.errors import NotFoundError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.convert import make_constant
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.export import as_graph_def
from gpuplace.graphdef.importer import import_graph_def
from gpuplace.graphdef.messages import GraphDef, text_format
from gpuplace.release import set_release


@pytest.fixture
def graph():
    with Graph().as_default() as graph:
        yield graph


@pytest.fixture
def source():
    """x, y -> MatMul on /gpu:1 -> Neg, colocated with the product and after x."""
    with Graph().as_default() as graph:
        x = make_constant([[1.0, 2.0]], name="x")
        y = make_constant([[3.0], [4.0]], name="y")
        with graph.device("/gpu:1"):
            product = apply_op("MatMul", a=x, b=y)
        with graph.colocate_with(product), graph.control_dependencies([x]):
            apply_op("Neg", x=product.outputs[0])
    return as_graph_def(graph)


def nodes(text):
    return text_format.Parse(text, GraphDef())


def describe(graph):
    return {
        op.name: (op.device, [t.name for t in op.inputs], [c.name for c in op.control_inputs])
        for op in graph.get_operations()
    }


class TestArguments:
    def test_prefix_reaches_inputs_controls_and_colocation(self, graph, source):
        assert import_graph_def(source) is None
        assert describe(graph) == {
            "import/x": ("", [], []),
            "import/y": ("", [], []),
            "import/MatMul": ("/device:GPU:1", ["import/x:0", "import/y:0"], []),
            "import/Neg": ("/device:GPU:1", ["import/MatMul:0"], ["import/x"]),
        }
        assert graph.get_operation_by_name("import/Neg").attrs["_class"] == (b"loc:@import/MatMul",)

    def test_importing_twice_gives_new_names(self, graph, source):
        import_graph_def(source, name="")
        import_graph_def(source, name="")
        import_graph_def(source, name="a")
        import_graph_def(source, name="a")
        names = [op.name for op in graph.get_operations()]
        assert names[4:6] == ["x_1", "y_1"]
        assert names[8] == "a/x"
        assert names[12] == "a_1/x"
        assert graph.get_operation_by_name("Neg_1").attrs["_class"] == (b"loc:@MatMul_1",)
        assert graph.unique_name("a") == "a_2"

    def test_return_elements(self, graph, source):
        product, op = import_graph_def(source, return_elements=["MatMul:0", "Neg"])
        assert product.name == "import/MatMul:0"
        assert op is graph.get_operation_by_name("import/Neg")
        for missing, kind in (("zz", "node"), ("zz:0", "tensor")):
            with pytest.raises(
                ValueError, match=f"Requested return {kind} '{missing}' not found in graph def"
            ):
                import_graph_def(source, return_elements=[missing])
        with pytest.raises(
            ValueError, match=r"Invalid return output 1 of node 'MatMul', which has 1 output\(s\)"
        ):
            import_graph_def(source, return_elements=["MatMul:1"])
        for wrong in ("MatMul:x", "a:b:c"):
            with pytest.raises(ValueError, match=f"Cannot convert '{wrong}' to a tensor name."):
                import_graph_def(source, return_elements=[wrong])
        assert import_graph_def(source, return_elements=[b"Neg"])[0].type == "Neg"

    def test_a_scope_without_operations_takes_no_name(self, graph, source):
        with graph.name_scope("MatMul"):
            pass
        with graph.name_scope("x"):
            make_constant(1.0, name="inside")
        product, taken = import_graph_def(source, return_elements=["MatMul", "x"], name="")
        assert (product.name, taken.name) == ("MatMul", "x_1")
        assert graph.unique_name("MatMul") == "MatMul_1"

    def test_input_map(self, graph, source):
        mine = make_constant([[5.0, 6.0]], name="mine")
        import_graph_def(
            source, input_map={"x": mine, "^x": mine.op, "y:0": np.ones([2, 1], np.float32)}, name="i"
        )
        assert [t.name for t in graph.get_operation_by_name("i/MatMul").inputs] == [
            "mine:0",
            "i/_inputs/Const:0",
        ]
        assert graph.get_operation_by_name("i/Neg").control_inputs == [mine.op]
        with pytest.raises(ValueError, match=r"not found in graph_def: \[zz:0\]"):
            import_graph_def(source, input_map={"zz:0": mine})
        with pytest.raises(ValueError, match="requires a non-empty `name`"):
            import_graph_def(source, input_map={"x": [[1.0, 2.0]]}, name="")
        with pytest.raises(
            ValueError, match="was passed int32 from other:0 incompatible with expected float"
        ):
            import_graph_def(source, input_map={"x": make_constant([[1, 2]], name="other")})

    def test_wrong_types(self, graph, source):
        with pytest.raises(TypeError, match="graph_def must be a GraphDef proto"):
            import_graph_def("graph.pb")
        for elements in ([7], 7):
            with pytest.raises(TypeError, match="return_elements must be a list of strings"):
                import_graph_def(source, return_elements=elements)
        for mapping in ([1], {1: 1}):
            with pytest.raises(
                TypeError, match="input_map must be a dictionary mapping strings to Tensor objects."
            ):
                import_graph_def(source, input_map=mapping)
        with pytest.raises(TypeError, match="input_map must be a dictionary mapping strings"):
            import_graph_def(source, input_map={1: 2})

    def test_devices_merge_below_those_of_the_nodes(self, graph, source):
        with graph.device("/job:worker/cpu:0"):
            import_graph_def(source, name="")
        assert {name: device for name, (device, *_) in describe(graph).items()} == {
            "x": "/job:worker/device:CPU:0",
            "y": "/job:worker/device:CPU:0",
            "MatMul": "/job:worker/device:GPU:1",
            "Neg": "/job:worker/device:GPU:1",
        }

    def test_a_finalised_graph_is_not_touched(self, graph, source):
        graph.finalize()
        with pytest.raises(RuntimeError, match="Graph is finalized"):
            import_graph_def(source)
        assert len(graph) == 0


IDENTITY = 'attr { key: "T" value { type: DT_FLOAT } }'
INVALID = {
    "cycle": (
        f'node {{ name: "a" op: "Identity" input: "b" {IDENTITY} }} node'
        f' {{ name: "b" op: "Identity" input: "a" {IDENTITY} }}',
        "2 nodes in a cycle",
    ),
    "control cycle": ('node { name: "a" op: "NoOp" input: "^a" }', "1 nodes in a cycle"),
    "unknown input": (
        f'node {{ name: "a" op: "Identity" input: "b:1" {IDENTITY} }}',
        "Node 'a': Unknown input node 'b:1'",
    ),
    "unknown control": ('node { name: "a" op: "NoOp" input: "^b" }', r"Node 'a': Unknown input node '\^b'"),
    "name twice": ('node { name: "a" op: "NoOp" } node { name: "a" op: "NoOp" }', "Node 'a' is not unique"),
    "bad name": ('node { name: "a b" op: "NoOp" }', "Node 'a b': Node name contains invalid characters"),
    "missing attr": (
        'node { name: "a" op: "Placeholder" }',
        "NodeDef missing attr 'dtype' from Op<Placeholder",
    ),
    "unknown attr": (
        'node { name: "a" op: "NoOp" attr { key: "q" value { i: 1 } } }',
        "NodeDef mentions attr 'q' not in Op",
    ),
    "attr of another type": (
        'node { name: "a" op: "Placeholder" attr { key: "dtype" value { i: 1 } } }',
        "when 'type' expected\n\t for attr 'dtype'",
    ),
    "attr not allowed": (
        'node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_STRING } } }'
        'node { name: "a" op: "Neg" input: "s" attr { key: "T" value { type: DT_STRING } } }',
        "Value for attr 'T' of string is not in the list of allowed values: bfloat16, half, float, double",
    ),
    "too few inputs": (
        f'node {{ name: "a" op: "Identity" {IDENTITY} }}',
        "NodeDef expected inputs 'float' do not match 0",
    ),
    "output that is not there": (
        'node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
        f'node {{ name: "a" op: "Identity" input: "s:3" {IDENTITY} }}',
        "Node 'a': Connecting to invalid output 3 of source node s which has 1 outputs",
    ),
    "wrong type": (
        'node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_INT32 } } }'
        f'node {{ name: "a" op: "Identity" input: "s" {IDENTITY} }}',
        "Input 0 of node import/a was passed int32 from import/s:0 incompatible with expected float",
    ),
    "reference wanted": (
        'node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
        f'node {{ name: "a" op: "Assign" input: "s" input: "s" {IDENTITY} }}',
        "expected float_ref",
    ),
    "control before data": (
        'node { name: "s" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } } }'
        f'node {{ name: "a" op: "Identity" input: "^s" input: "s" {IDENTITY} }}',
        "Control dependencies must come after regular dependencies",
    ),
    "list too short": (
        'node { name: "a" op: "AddN" attr { key: "N" value { i: 0 } } ' + IDENTITY + " }",
        "must be at least minimum 1",
    ),
    "unknown colocation": (
        'node { name: "a" op: "NoOp" attr { key: "_class" value { list { s: "loc:@z" } } } }',
        "Node 'a' expects to be colocated with unknown node 'z'",
    ),
    "from before all releases": (
        "versions { producer: -1 }",
        "GraphDef producer version -1 below min producer 0 supported by TensorFlow 1.15.  Please regenerate",
    ),
    "from the future": (
        "versions { producer: 9999 min_consumer: 9999 }",
        "GraphDef min consumer version 9999 above",
    ),
}


class TestInvalidGraphs:
    @pytest.mark.parametrize(("text", "message"), INVALID.values(), ids=list(INVALID))
    def test_the_error_says_what_is_wrong_and_nothing_is_imported(self, graph, text, message):
        with pytest.raises(ValueError, match=message):
            import_graph_def(nodes(text))
        assert len(graph) == 0
        assert graph.unique_name("a") == "a"

    def test_unknown_op(self, graph):
        with pytest.raises(NotFoundError, match="Op type not registered 'MatMu'") as caught:
            import_graph_def(nodes('node { name: "a" op: "MatMu" }'))
        assert "MatMul" in caught.value.hint

    def test_attributes_that_a_newer_release_added_are_dropped_at_their_default_only(self, graph):
        text = (
            'node {{ name: "a" op: "Placeholder" attr {{ key: "dtype" value {{ type: DT_FLOAT }} }} }}'
            'node {{ name: "m" op: "MatMul" input: "a" input: "a" attr {{ key: "T" value {{ type: DT_FLOAT }} }}'
            ' attr {{ key: "grad_a" value {{ b: {value} }} }} }}'
        )
        import_graph_def(nodes(text.format(value="false")), name="")
        assert "grad_a" not in graph.get_operation_by_name("m").attrs
        with pytest.raises(ValueError, match="mentions attr 'grad_a'") as caught:
            import_graph_def(nodes(text.format(value="true")))
        assert 'set_release("2.21")' in str(caught.value)
        set_release("2.21")
        import_graph_def(nodes(text.format(value="true")), name="new")
        assert graph.get_operation_by_name("new/m").attrs["grad_a"] is True


def test_a_loop_is_closed(graph):
    import_graph_def(
        nodes(
            """
            node { name: "zero" op: "Const" attr { key: "dtype" value { type: DT_INT32 } } attr { key: "value" value {
              tensor { dtype: DT_INT32 tensor_shape {} int_val: 0 } } } }
            node { name: "enter" op: "Enter" input: "zero" attr { key: "T" value { type: DT_INT32 } }
              attr { key: "frame_name" value { s: "loop" } } }
            node { name: "merge" op: "Merge" input: "enter" input: "next" attr { key: "T" value { type: DT_INT32 } }
              attr { key: "N" value { i: 2 } } }
            node { name: "next" op: "NextIteration" input: "merge" attr { key: "T" value { type: DT_INT32 } } }
            """
        ),
        name="",
    )
    merge, following = graph.get_operation_by_name("merge"), graph.get_operation_by_name("next")
    assert [t.name for t in merge.inputs] == ["enter:0", "next:0"]
    assert following.outputs[0].consumers() == [merge]


def test_output_shapes_are_taken_over(graph):
    import_graph_def(
        nodes(
            'node { name: "a" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }'
            ' attr { key: "_output_shapes" value { list { shape { dim { size: 2 } dim { size: -1 } } } } } }'
        ),
        name="",
    )
    assert str(graph.get_tensor_by_name("a:0").shape) == "(2, ?)"
    assert "_output_shapes" not in graph.get_operation_by_name("a").attrs

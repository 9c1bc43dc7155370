"""Graphs and tensors keep everything on the way out and in."""

import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpuplace import dtypes
from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError, ResourceExhaustedError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.graph.convert import make_constant
from gpuplace.graph.graph import Graph
from gpuplace.graphdef.attr_values import decode_attr, encode_attr
from gpuplace.graphdef.export import as_graph_def, write_graph
from gpuplace.graphdef.importer import import_graph_def
from gpuplace.graphdef.load import load_graph_def, load_placement_graph
from gpuplace.graphdef.messages import GraphDef, MetaGraphDef, SavedModel, TensorProto, text_format
from gpuplace.graphdef.tensor_proto import make_ndarray, make_tensor_proto
from gpuplace.release import set_release
from gpuplace.shapes import TensorShape

NUMPY_TYPES = (
    "float32 float64 int32 uint8 int16 int8 int64 bool uint16 uint32 uint64 float16 complex64 complex128"
).split()
SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)


@given(st.sampled_from(NUMPY_TYPES).flatmap(lambda t: hnp.arrays(np.dtype(t), SHAPES)))
def test_tensors(array):
    proto = make_tensor_proto(array)
    again = make_ndarray(TensorProto.FromString(proto.SerializeToString()))
    assert again.dtype == array.dtype
    assert again.shape == array.shape
    assert again.tobytes() == array.tobytes()


@given(hnp.arrays(object, SHAPES, elements=st.binary(max_size=8), fill=st.nothing()))
def test_string_tensors(array):
    again = make_ndarray(make_tensor_proto(array, dtypes.string))
    assert again.shape == array.shape
    assert again.tolist() == array.tolist()


@pytest.mark.parametrize(
    "dtype", [d for d in dtypes.ALL_DTYPES if d.is_numpy_compatible and d.name != "string"], ids=str
)
def test_every_type(dtype):
    array = np.array([0, 1, 1], dtype.numpy_dtype)
    proto = make_tensor_proto(array, dtype)
    assert proto.dtype == dtype.as_datatype_enum
    assert make_ndarray(proto).tolist() == array.tolist()
    assert make_ndarray(proto).dtype == dtype.numpy_dtype


def test_short_value_lists_are_continued_by_their_last_value():
    def decode(text):
        return make_ndarray(text_format.Parse(text, TensorProto())).tolist()

    assert decode("dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: 2") == [2, 2, 2]
    assert decode("dtype: DT_INT64 tensor_shape { dim { size: 4 } } int64_val: [1, 2]") == [1, 2, 2, 2]
    assert decode("dtype: DT_BOOL tensor_shape { dim { size: 2 } }") == [False, False]
    assert decode("dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: 'a'") == [b"a", b"a"]
    assert decode("dtype: DT_HALF tensor_shape {} half_val: 15360") == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "dtype: DT_FLOAT tensor_shape { dim { size: 3 } } tensor_content: 'abc'",
        "dtype: DT_FLOAT tensor_shape { dim { size: 1 } } float_val: [1, 2]",
        "dtype: DT_FLOAT tensor_shape { unknown_rank: true } float_val: 1",
        "dtype: DT_COMPLEX64 tensor_shape { dim { size: 1 } } scomplex_val: 1",
        "dtype: DT_RESOURCE tensor_shape {}",
        "tensor_shape {}",
    ],
)
def test_corrupt_tensors(text):
    with pytest.raises(InvalidArgumentError, match="Cannot parse tensor from proto|Invalid data type"):
        make_ndarray(text_format.Parse(text, TensorProto()))


@pytest.mark.parametrize("values", ["", "1", "[1, 2]"])
def test_an_array_larger_than_any_message_is_refused(values):
    text = f"dtype: DT_INT32 tensor_shape {{ dim {{ size: 99999999999 }} }} {values and 'int_val: ' + values}"
    with pytest.raises(ResourceExhaustedError, match=r"OOM when allocating tensor with shape\[99999999999\]"):
        make_ndarray(text_format.Parse(text, TensorProto()))


def test_a_huge_tensor_of_one_value_costs_no_memory():
    text = "dtype: DT_FLOAT tensor_shape { dim { size: 1000000 } dim { size: 1000000 } } float_val: 2"
    value = decode_attr(encode_attr(TensorValue.of_array(np.zeros(1))))
    assert value.array.shape == (1,)
    from gpuplace.graphdef.tensor_proto import decode_tensor

    array = decode_tensor(text_format.Parse(text, TensorProto()))
    assert array.shape == (1000000, 1000000)
    assert array[5, 5] == 2


SCALARS = {
    "type": st.sampled_from(dtypes.ALL_DTYPES),
    "int": st.integers(-(2**63), 2**63 - 1),
    "float": st.floats(width=32, allow_nan=False),
    "bool": st.booleans(),
    "bytes": st.binary(max_size=10),
    "shape": st.none().map(TensorShape)
    | st.lists(st.none() | st.integers(0, 100), max_size=4).map(TensorShape),
    "tensor": hnp.arrays(np.float32, SHAPES).map(TensorValue.of_array),
}
SCALARS["func"] = st.builds(
    FunctionRef, st.text(max_size=5), st.dictionaries(st.text(max_size=3), SCALARS["int"], max_size=2)
)
VALUES = st.one_of(
    *SCALARS.values(), *(st.lists(s, min_size=1, max_size=4).map(tuple) for s in SCALARS.values())
)


@given(VALUES)
def test_attributes(value):
    assert decode_attr(encode_attr(value)) == value


@st.composite
def graphs(draw):
    """Random graphs: constants, sums, control edges, devices, colocations, scopes."""
    graph = Graph()
    with graph.as_default():
        tensors = [make_constant(draw(hnp.arrays(np.float32, [2])), name="c")]
        for _ in range(draw(st.integers(0, 12))):
            device = draw(st.sampled_from(["", "/gpu:0", "/cpu:0", "/job:ps/task:1", "/device:GPU:3"]))
            scope = draw(st.sampled_from([None, "tower", "a/b"]))
            anchors = draw(st.lists(st.sampled_from(tensors), max_size=2))
            controls = draw(st.lists(st.sampled_from(tensors), max_size=2))
            with graph.name_scope(scope), graph.control_dependencies(controls), graph.device(device or None):
                inputs = draw(st.lists(st.sampled_from(tensors), min_size=1, max_size=3))
                if anchors:
                    with graph.colocate_with(anchors[0]):
                        op = apply_op("AddN", inputs=inputs)
                else:
                    op = apply_op("AddN", inputs=inputs)
                tensors.append(op.outputs[0])
    return graph


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_graphs(graph):
    message = as_graph_def(graph)
    assert GraphDef.FromString(message.SerializeToString()) == message
    assert text_format.Parse(text_format.MessageToString(message), GraphDef()) == message
    with Graph().as_default() as again:
        import_graph_def(message, name="")
    assert as_graph_def(again) == message


@settings(max_examples=60, deadline=None)
@given(graphs())
def test_the_placer_sees_the_same_graph_in_a_message(graph):
    flat = load_placement_graph(as_graph_def(graph))
    assert flat.names == tuple(op.name for op in graph.get_operations())
    assert [flat.requested_device(i) for i in range(len(flat))] == [
        op.device for op in graph.get_operations()
    ]
    assert len(flat.src) == sum(len(op.inputs) + len(op.control_inputs) for op in graph.get_operations())


class TestFiles:
    @pytest.fixture
    def graph(self):
        with Graph().as_default() as graph:
            make_constant([math.pi, 2.0], name="a")
        return graph

    @pytest.mark.parametrize(
        ("name", "as_text"), [("g.pbtxt", True), ("g.pb", False), ("deep/er/g.pb", False)]
    )
    def test_written_graphs_load(self, graph, tmp_path, name, as_text):
        path = write_graph(graph, tmp_path, name, as_text=as_text)
        assert path == str(tmp_path / name)
        assert load_graph_def(path) == as_graph_def(graph)
        assert [entry.name for entry in (tmp_path / name).parent.iterdir()] == [name.rpartition("/")[2]]

    def test_meta_graphs_and_saved_models(self, graph, tmp_path):
        meta = MetaGraphDef(graph_def=as_graph_def(graph))
        (tmp_path / "model.meta").write_bytes(meta.SerializeToString())
        (tmp_path / "saved_model.pb").write_bytes(SavedModel(meta_graphs=[meta]).SerializeToString())
        for source in (tmp_path / "model.meta", tmp_path, str(tmp_path), meta):
            assert load_graph_def(source) == as_graph_def(graph)

    def test_truncated_and_foreign_files(self, graph, tmp_path):
        data = as_graph_def(graph).SerializeToString()
        (tmp_path / "cut.pb").write_bytes(data[:-3])
        (tmp_path / "cut.pbtxt").write_text("node { name: ")
        (tmp_path / "noise.pb").write_bytes(bytes(range(255, 0, -1)))
        (tmp_path / "cut.pb.gz").write_bytes(b"\x1f\x8b\x08\x00")
        for name in ("cut.pb", "noise.pb"):
            with pytest.raises(DataLossError, match="Can't parse .* as binary proto") as caught:
                load_graph_def(tmp_path / name)
            assert "check that the file is complete" in str(caught.value)
        with pytest.raises(DataLossError, match="as text proto"):
            load_graph_def(tmp_path / "cut.pbtxt")
        with pytest.raises(DataLossError, match="Can't decompress"):
            load_graph_def(tmp_path / "cut.pb.gz")
        with pytest.raises(NotFoundError, match="No such file"):
            load_graph_def(tmp_path / "none.pb")
        with pytest.raises(NotFoundError, match="SavedModel file does not exist"):
            load_graph_def(tmp_path)
        with pytest.raises(TypeError, match="Expected a Graph, GraphDef, bytes or a path, not int"):
            load_graph_def(3)

    def test_bytes_in_either_form(self, graph):
        message = as_graph_def(graph)
        assert load_graph_def(message.SerializeToString()) == message
        assert load_graph_def(text_format.MessageToString(message).encode()) == message


def test_bfloat16_constants_keep_their_bits():
    with Graph().as_default() as graph:
        make_constant(np.array([1.5, -2.0], ml_dtypes.bfloat16))
    value = as_graph_def(graph).node[0].attr["value"].tensor
    assert list(value.half_val) == [0x3FC0, 0xC000]


RECORDED = sorted((Path(__file__).parents[1] / "data" / "graph_defs").glob("*.written.pb"))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_imported_graphs_of_tensorflow_are_what_tensorflow_makes_of_them(path):
    set_release("2.21")
    with Graph().as_default() as graph:
        import_graph_def(load_graph_def(path), name="")
    expected = load_graph_def(path.with_name(path.name.replace(".written.", ".imported.")))
    assert as_graph_def(graph) == expected
    with Graph().as_default() as again:
        import_graph_def(expected, name="")
    assert as_graph_def(again) == expected


def test_there_are_graphs_of_tensorflow():
    assert len(RECORDED) == 5


@pytest.mark.oracle
def test_tensorflow_reads_our_graphs_and_writes_them_back_equal():
    tf1 = pytest.importorskip("tensorflow").compat.v1
    set_release("2.21")
    with Graph().as_default() as graph, graph.device("/gpu:2"):
        x = make_constant(np.ones([2, 2], np.float32), name="x")
        for value in ("text", [True, False], 1j, np.ones(3, ml_dtypes.bfloat16), np.int8(3)):
            make_constant(value)
        with graph.control_dependencies([x]), graph.colocate_with(x):
            apply_op("AddN", inputs=[apply_op("MatMul", a=x, b=x).outputs[0], x])
    data = as_graph_def(graph).SerializeToString()
    with tf1.Graph().as_default() as theirs:
        tf1.import_graph_def(tf1.GraphDef.FromString(data), name="")
    assert GraphDef.FromString(theirs.as_graph_def().SerializeToString()) == as_graph_def(graph)

"""Parts of a model: which signature it is asked by, functions alone, what is said of a part; files of other formats."""

import numpy as np
import pytest

import gpuplace
from gpuplace.errors import DataLossError, InvalidArgumentError, NotFoundError
from gpuplace.graphdef.load import load_graph_def, load_placement_graph, open_model
from gpuplace.graphdef.messages import GraphDef
from gpuplace.graphdef.model import Model
from tests.graphdef.function_libraries import folder, graph_def, saved_model, with_tags

TWO = "2x Tesla K40c"
GPU = "/job:localhost/replica:0/task:0/device:GPU"


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        (("b", "serving_default", "a"), "serving_default"),
        (("only",), "only"),
        (("b", "a", "B"), "B"),
        ((), ""),
        (("zz",), "zz"),
    ],
)
def test_the_signature_that_a_model_is_asked_by(keys, chosen):
    model = Model(saved_model(*keys))
    assert model.serving_signature() == chosen
    assert model.part().signature == chosen
    assert model.part(signature="").signature == ""
    assert model.signatures("serve") == (*sorted(keys), "__saved_model_init_op")


def test_the_signature_of_other_tags():
    model = Model(with_tags(saved_model("serving_default"), "gpu", "train", signature="step"))
    assert model.tag_sets == ("serve", "gpu,train")
    part = model.part("train, gpu")
    assert (part.tags, part.signature) == ("gpu,train", "step")
    with pytest.raises(NotFoundError, match="Could not find signature"):
        model.part(["gpu", "train"], "serving_default")
    with pytest.raises(NotFoundError, match="Could not find meta graph def"):
        model.part("tpu")


def test_parts_in_words(tmp_path):
    path = folder(tmp_path / "net", with_tags(saved_model("serving_default", "a"), "gpu", "serve"))
    model = open_model(path)
    assert (model.name, model.path) == ("saved_model.pb", str(path))
    said = {
        "": "whole graph of saved_model.pb, tags serve; 2 signatures; 1 other tag set",
        "serving_default": "signature serving_default of saved_model.pb, tags serve; 1 other; 1 other tag set",
    }
    for signature, text in said.items():
        assert model.text(model.part(signature=signature)) == text
        assert gpuplace.place(path, TWO, signature=signature).graph.part == text
    assert model.text(model.part("serve,gpu")).startswith(
        "whole graph of saved_model.pb, tags gpu, serve; 1 other"
    )
    assert model.text(model.part(function="add")).startswith(
        "function add of saved_model.pb, tags serve, as a separate graph"
    )
    assert model.text(model.part(clear_devices=True)).endswith("; device requests are cleared")
    assert gpuplace.place(graph_def(), TWO).graph.part == ""
    assert (
        gpuplace.place(graph_def(), TWO, function="add").graph.part
        == "function add of a GraphDef, as a separate graph"
    )
    meta = saved_model("s").meta_graphs[0]
    assert gpuplace.place(meta, TWO, signature="s").graph.part == "signature s of a MetaGraphDef"


def test_a_signature_with_nothing_in_it_is_the_whole_graph():
    message = saved_model("s")
    assert list(gpuplace.place(message, TWO, signature="")) == list(
        gpuplace.place(message, TWO, whole_graph=True)
    )
    assert "saver" in gpuplace.place(message, TWO, whole_graph=True) and "saver" not in gpuplace.place(
        message, TWO, signature="s"
    )
    assert gpuplace.place(graph_def(), TWO, signature="")["saver"]


def test_a_function_is_a_graph_of_its_own():
    graph = load_graph_def(graph_def(), function="add")
    assert [(node.name, node.op, list(node.input)) for node in graph.node] == [
        ("x", "_Arg", []),
        ("one", "Const", []),
        ("plus", "AddV2", ["x", "one"]),
        ("sum_RetVal", "_Retval", ["plus"]),
    ]
    assert graph.node[0].attr["T"].type == graph.node[3].attr["T"].type == 1
    placement = gpuplace.place(saved_model(), TWO, function="add_on_gpu_1")
    assert placement["one"] == f"{GPU}:1" and placement["plus"] == f"{GPU}:0"
    cleared = gpuplace.place(saved_model(), TWO, function="add_on_gpu_1", clear_devices=True)
    assert cleared["one"] == f"{GPU}:0"


def test_calls_in_a_function_are_inlined():
    placement = gpuplace.place(graph_def(), TWO, function="outer")
    assert "call/plus" in placement and "y_RetVal" in placement
    assert "PartitionedCall" not in {placement.graph.op_type(i) for i in range(len(placement))}
    assert "function add" in placement.explain("call/plus").made_from


def test_functions_that_are_not_there():
    with pytest.raises(NotFoundError, match=r"Function ad is not defined\.") as caught:
        gpuplace.place(graph_def(), TWO, function="ad")
    assert caught.value.facts == {"functions in the library": "4", "nearest": "add"}
    with pytest.raises(NotFoundError, match="Attr T is not found"):
        gpuplace.place(graph_def(), TWO, function="template")
    with pytest.raises(NotFoundError, match=r"Function f is not defined\."):
        gpuplace.place(gpuplace.Graph(), TWO, function="f")
    bare = load_placement_graph(GraphDef()).changed(source=None)
    with pytest.raises(ValueError, match="this graph has no library"):
        gpuplace.place(bare, TWO, function="f")


def test_a_function_of_a_graph_and_of_a_placed_graph():
    with gpuplace.Graph().as_default() as graph:
        gpuplace.import_graph_def(graph_def(), name="")
    expected = dict(gpuplace.place(graph_def(), TWO, function="outer"))
    assert dict(gpuplace.place(graph, TWO, function="outer")) == expected
    assert dict(gpuplace.place(gpuplace.place(graph, TWO).graph, TWO, function="outer")) == expected
    assert dict(gpuplace.place(load_placement_graph(graph_def()), TWO, function="outer")) == expected


def test_another_part_of_what_is_placed(tmp_path):
    path = folder(tmp_path, with_tags(saved_model("a", "b"), "gpu", "serve"))
    placement = gpuplace.place(path, TWO, signature="a")
    for part in ({"signature": ""}, {"signature": "b"}, {"tags": "serve,gpu"}, {"function": "add"}):
        expected = gpuplace.place(path, TWO, **part)
        for known in (placement, placement.graph):
            found = gpuplace.place(known, TWO, **part)
            assert dict(found) == dict(expected) and found.graph.part == expected.graph.part
    with gpuplace.Graph().as_default() as graph:
        gpuplace.constant(1.0, name="a")
    for known in (
        graph,
        gpuplace.place(graph, TWO),
        gpuplace.place(graph.as_graph_def(), TWO),
        graph.as_graph_def(),
    ):
        assert list(gpuplace.place(known, TWO, signature="")) == ["a"]
        assert list(gpuplace.place(known, TWO, function="")) == ["a"]
    with pytest.raises(ValueError, match="this is a PlacementGraph"):
        gpuplace.place(gpuplace.place(graph, TWO), TWO, signature="s")


def test_bytes_of_a_saved_model():
    data = saved_model("s").SerializeToString(deterministic=True)
    assert list(gpuplace.place(data, TWO, signature="s")) == list(
        gpuplace.place(saved_model("s"), TWO, signature="s")
    )


def onnx():
    """What an ONNX model begins with: its version, and the name of what wrote it."""
    return b"\x08\x08\x12\x07pytorch\x1a\x052.4.0:\x04\x0a\x02\x0a\x00"


FORMATS = {
    "model.h5": (
        b"\x89HDF\r\n\x1a\n" + bytes(100),
        ("an HDF5 file",),
        ("model.export",),
    ),
    "model.keras": (
        b"PK\x03\x04" + bytes(100),
        ("a zip archive", "a Keras model"),
        ("model.export", "model.save"),
    ),
    "model.tflite": (
        b"\x1c\x00\x00\x00TFL3" + bytes(100),
        ("TensorFlow Lite",),
        ("the SavedModel that it was converted", "the model that it was converted"),
    ),
    "model.onnx": (onnx(), ("an ONNX model",), ("convert it to a SavedModel", "converted from")),
    "frozen.pb": (onnx(), ("an ONNX model",), ("convert it",)),
}


@pytest.mark.parametrize("name", FORMATS)
def test_files_of_other_formats_say_what_to_do(tmp_path, name):
    data, what, way_out = FORMATS[name]
    (tmp_path / name).write_bytes(data)
    for given in (tmp_path / name, data):
        for look in (gpuplace.place, gpuplace.explore):
            with pytest.raises(
                (DataLossError, InvalidArgumentError), match="not a|neither a graph"
            ) as caught:
                look(given)
            assert any(text in str(caught.value) for text in what)
            assert any(text in caught.value.hint for text in way_out)


def test_other_objects_have_no_way_out():
    with pytest.raises(TypeError, match="not ndarray$"):
        gpuplace.place(np.zeros(3))


def test_a_folder_of_models_says_so(tmp_path):
    for name in ("2", "1"):
        folder(tmp_path / name, saved_model("s"))
    with pytest.raises(NotFoundError, match="SavedModel file does not exist at") as caught:
        gpuplace.explore(tmp_path)
    assert f"pass {tmp_path / '1'}, {tmp_path / '2'}" in caught.value.hint
    with pytest.raises(NotFoundError) as caught:
        gpuplace.place(folder(tmp_path / "a" / "b" / "c", saved_model()).parent.parent)
    assert "the folder that contains saved_model.pb" in caught.value.hint


def test_an_empty_model():
    with pytest.raises(InvalidArgumentError, match="contains no MetaGraphDef"):
        gpuplace.explore(type(saved_model())())

"""SavedModels: MetaGraphDefs by their tags, signatures, nodes without devices, models that cannot be run here."""

import io
import lzma
import tarfile
from pathlib import Path

import pytest

import gpuplace
from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.graphdef.load import load_graph_def, load_placement_graph
from gpuplace.graphdef.messages import GraphDef, MetaGraphDef, SavedModel

DATA = Path(__file__).parent.parent / "data"
TWO = "2x Tesla K40c"
GPU = "/job:localhost/replica:0/task:0/device:GPU"
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"


def meta_graph(tags, *names, device="", signatures=()):
    """A MetaGraphDef of constants, each with an Identity as signature where asked for."""
    made = MetaGraphDef()
    made.meta_info_def.tags.extend(tags)
    for name in names:
        made.graph_def.node.add(name=name, op="NoOp", device=device)
    for key in signatures:
        x = made.graph_def.node.add(name=f"{key}_x", op="Placeholder", device=device)
        x.attr["dtype"].type = 1
        y = made.graph_def.node.add(name=f"{key}_y", op="Neg", input=[f"{key}_x", "^go"])
        y.attr["T"].type = 1
        made.signature_def[key].inputs["x"].name = f"{key}_x:0"
        made.signature_def[key].outputs["y"].name = f"{key}_y:0"
    return made


def model(*meta_graphs):
    made = SavedModel(saved_model_schema_version=1)
    made.meta_graphs.extend(meta_graphs)
    return made


def saved(folder, message):
    """A folder with the model's graph and no variables."""
    (folder / "saved_model.pb").write_bytes(message.SerializeToString())
    return folder


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """The folder with the models that TensorFlow 2.21 saved."""
    folder = tmp_path_factory.mktemp("models")
    data = lzma.decompress((DATA / "functions-2.21.tar.xz").read_bytes())
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            if member.name.endswith("saved_model.pb"):
                target = folder / member.name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.extractfile(member).read())
    return folder


MANY = model(
    meta_graph(["train", "gpu"], "a"),
    meta_graph(["serve", "gpu"], "b", device="/gpu:1"),
    meta_graph(["serve"], "c"),
)


@pytest.mark.parametrize(
    ("tags", "node"),
    [(None, "c"), ("serve", "c"), ("gpu, serve", "b"), (["serve", "gpu"], "b"), ({"train", "gpu"}, "a")],
)
def test_tags_choose_a_graph(tmp_path, tags, node):
    assert list(gpuplace.place(saved(tmp_path, MANY), TWO, tags=tags)) == [node]
    assert list(gpuplace.place(MANY, TWO, tags=tags)) == [node]


def test_without_the_one_for_serving_the_nearest_is_taken():
    assert [n.name for n in load_graph_def(model(*MANY.meta_graphs[:2])).node] == ["b"]
    assert [n.name for n in load_graph_def(model(MANY.meta_graphs[0])).node] == ["a"]


def test_unknown_tags_name_those_there_are():
    with pytest.raises(
        NotFoundError, match=r"Could not find meta graph def matching supplied tags: \{ gpu \}"
    ) as caught:
        gpuplace.place(MANY, TWO, tags="gpu")
    assert caught.value.facts["tags in the model"] == "gpu, train; gpu, serve; serve"


def test_a_model_without_graphs():
    with pytest.raises(InvalidArgumentError, match="contains no MetaGraphDef"):
        gpuplace.place(SavedModel(), TWO)


def test_a_signature_takes_what_it_needs():
    message = model(meta_graph(["serve"], "go", "other", signatures=["first", "second"]))
    assert list(gpuplace.place(message, TWO, whole_graph=True)) == [
        "go",
        "other",
        "first_x",
        "first_y",
        "second_x",
        "second_y",
    ]
    assert list(gpuplace.place(message, TWO, signature="second")) == ["go", "second_x", "second_y"]
    assert list(gpuplace.place(message.meta_graphs[0], TWO, signature="first")) == [
        "go",
        "first_x",
        "first_y",
    ]
    with pytest.raises(
        NotFoundError, match='Could not find signature "third". Please choose from: first, second'
    ):
        gpuplace.place(message, TWO, signature="third")


def test_tensors_of_several_parts_are_followed():
    message = meta_graph(["serve"], "go", "values", "indices", "shape", "row")
    info = message.signature_def["s"].outputs["sparse"].coo_sparse
    info.values_tensor_name, info.indices_tensor_name, info.dense_shape_tensor_name = (
        "values:0",
        "indices:0",
        "shape:0",
    )
    message.signature_def["s"].outputs["ragged"].composite_tensor.components.add(name="row:0")
    assert list(gpuplace.place(message, TWO, signature="s")) == ["values", "indices", "shape", "row"]


def test_a_signature_of_a_node_that_is_not_there():
    message = meta_graph(["serve"], "go", signatures=["s"])
    message.signature_def["s"].outputs["y"].name = "gone:0"
    with pytest.raises(InvalidArgumentError, match="Signature 's' needs node 'gone'"):
        gpuplace.place(message, TWO, signature="s")


def test_devices_are_cleared():
    message = model(meta_graph(["serve"], "go", device="/gpu:7", signatures=["s"]))
    with pytest.raises(InvalidArgumentError, match="was explicitly assigned to /gpu:7"):
        gpuplace.place(message, TWO)
    assert set(gpuplace.place(message, TWO, clear_devices=True).values()) == {f"{GPU}:0"}
    assert message.meta_graphs[0].graph_def.node[0].device == "/gpu:7"
    graph = load_placement_graph(message, release="2.21")
    assert set(gpuplace.place(graph, TWO, clear_devices=True, release="2.21").values()) == {f"{GPU}:0"}
    placement = gpuplace.place(graph, "8x Tesla K40c", release="2.21")
    assert placement["go"] == f"{GPU}:7"
    assert gpuplace.place(placement, TWO, clear_devices=True, release="2.21")["go"] == f"{GPU}:0"


def test_devices_of_a_graph_are_cleared():
    with gpuplace.Graph().as_default() as graph, gpuplace.device("/gpu:7"):
        gpuplace.constant(1.0, name="a")
    assert gpuplace.place(graph, TWO, clear_devices=True)["a"] == f"{GPU}:0"
    assert graph.get_operation_by_name("a").device == "/device:GPU:7"


def test_tags_and_signatures_belong_to_models():
    with pytest.raises(
        ValueError, match="tags select a MetaGraphDef of a SavedModel, but this is a GraphDef"
    ):
        gpuplace.place(GraphDef(), TWO, tags="serve")
    with pytest.raises(ValueError, match="this is a GraphDef"):
        gpuplace.place(GraphDef(), TWO, signature="s")
    with pytest.raises(ValueError, match="this is a Graph"):
        gpuplace.place(gpuplace.Graph(), TWO, signature="s")


def test_a_model_whose_ops_have_no_code_here(tmp_path):
    message = meta_graph(["serve"], "go")
    node = message.graph_def.node.add(name="barrier", op="Barrier")
    node.attr["component_types"].list.type.append(1)
    placement = gpuplace.place(saved(tmp_path, model(message)), TWO, release="2.21")
    assert placement["barrier"] == CPU


def test_a_signature_of_tensorflow_2_has_its_functions_written_out(recorded):
    folder = recorded / "saved_trainer"
    whole = gpuplace.place(folder, TWO, whole_graph=True, release="2.21")
    assert "StatefulPartitionedCall" in {whole.graph.op_type(i) for i in range(len(whole))}
    called = gpuplace.place(folder, TWO, release="2.21", signature="train")
    kinds = {called.graph.op_type(i) for i in range(len(called))}
    assert {"Tanh", "AssignVariableOp", "AssignAddVariableOp"} <= kinds
    assert not kinds & {"PartitionedCall", "StatefulPartitionedCall", "RestoreV2"}
    copied = [name for name in called if called.explain(name).made_from]
    assert any(name.endswith("/Tanh") for name in copied)

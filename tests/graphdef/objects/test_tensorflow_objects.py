"""Objects of TensorFlow's as input, told by what they have; `tests/oracle/objects.py` does the same with TensorFlow."""

import sys
from types import SimpleNamespace

import pytest

import gpuplace
from gpuplace.errors import InvalidArgumentError
from gpuplace.graphdef.load import open_model
from gpuplace.graphdef.messages import GraphDef, RunMetadata
from tests.graphdef.function_libraries import folder, saved_model
from tests.support.node_specs import graph_def, node

DTYPE = SimpleNamespace(as_datatype_enum=1)


class Shape:
    """Of a tensor of TensorFlow's."""

    def as_proto(self):
        return gpuplace.TensorShape([2, 2]).as_proto()


def tensor(name: str) -> SimpleNamespace:
    """A tensor of TensorFlow's."""
    return SimpleNamespace(name=f"{name}:0", dtype=DTYPE, shape=Shape(), op=SimpleNamespace(name=name))


class FuncGraph:
    """The body of a function: the product of an argument and a captured variable."""

    def __init__(self):
        rows, inside, outside = tensor("rows"), tensor("weights_in"), tensor("weights")
        handle = SimpleNamespace(name="layer/weights:0", handle=outside, dtype=DTYPE, shape=Shape())
        self.inputs, self.outputs = [rows, inside], [tensor("product")]
        self.captures, self.variables = [(outside, inside)], [handle]

    def as_graph_def(self, add_shapes=False):
        return GraphDef.FromString(
            graph_def(
                [
                    node("rows", "Placeholder", dtype="float32"),
                    node("weights_in", "Placeholder", dtype="resource"),
                    node("read", "ReadVariableOp", "weights_in", dtype="float32"),
                    node("product", "MatMul", "rows", "read", T="float32"),
                ]
            )
        )


@pytest.fixture
def tensorflow(monkeypatch, tmp_path):
    """A module that saves as TensorFlow does: `saved` are the calls."""
    saved = []

    def save(value, path, signatures=None):
        saved.append((value, signatures))
        if isinstance(signatures, dict) and any(hasattr(one, "nested") for one in signatures.values()):
            raise ValueError("Got a dictionary containing non-Tensor value\nmore")
        folder(type(tmp_path)(path), saved_model("serving_default"))

    module = SimpleNamespace(
        __version__="2.21.0",
        Module=lambda name: SimpleNamespace(name=name),
        saved_model=SimpleNamespace(save=save),
        saved=saved,
    )
    monkeypatch.setitem(sys.modules, "tensorflow", module)
    return module


def concrete(**more):
    """A concrete function."""
    return SimpleNamespace(
        name="__inference_f_1", structured_outputs=None, captured_inputs=[], graph=FuncGraph(), **more
    )


def function(*traces, signature=None):
    """A ``tf.function``."""
    return SimpleNamespace(
        __name__="f",
        input_signature=signature,
        get_concrete_function=lambda: traces[0],
        _list_all_concrete_functions=lambda: list(traces),
    )


@pytest.fixture
def exported(tmp_path):
    """The folder of a SavedModel."""
    return folder(tmp_path / "exported", saved_model("serving_default"))


def test_a_keras_model_is_what_it_exports(exported):
    def export(filepath, verbose=None):
        assert verbose is False
        folder(exported.__class__(filepath), saved_model("serving_default"))

    model = SimpleNamespace(name="net", export=export, trainable_variables=[])
    placement = gpuplace.place(model, machine="1x V100")
    assert dict(placement) == dict(gpuplace.place(exported, machine="1x V100"))
    assert placement.subject.text("2.21").startswith("Signature serving_default of net, ")
    assert gpuplace.estimate(model).step_time == gpuplace.estimate(exported).step_time
    assert not gpuplace.place(exported).diff(gpuplace.place(model))
    assert "signature serving_default of net" in repr(gpuplace.explore(model))


def test_a_keras_model_that_is_not_built():
    def export(filepath):
        raise ValueError("The model provided has not yet been built.\nDetails")

    model = SimpleNamespace(name="net", export=export, trainable_variables=[])
    for look in (gpuplace.place, gpuplace.explore):
        with pytest.raises(InvalidArgumentError, match="cannot save the SimpleNamespace 'net'") as caught:
            look(model)
        assert caught.value.facts["because"] == "The model provided has not yet been built."
        assert "call a Keras model once" in caught.value.hint


def test_modules_and_loaded_models(tensorflow, exported):
    loaded = SimpleNamespace(signatures={"serving_default": "fn"}, trainable_variables=[])
    module = SimpleNamespace(name="module", trainable_variables=[])
    for value in (loaded, module):
        assert dict(gpuplace.place(value)) == dict(gpuplace.place(exported))
    assert [signatures for _, signatures in tensorflow.saved] == [{"serving_default": "fn"}, None]


def test_a_module_without_signature(tensorflow, monkeypatch, tmp_path):
    save = tensorflow.saved_model
    monkeypatch.setattr(
        save, "save", lambda value, path, signatures: folder(type(tmp_path)(path), saved_model())
    )
    with pytest.raises(InvalidArgumentError, match="'module' has no signature") as caught:
        gpuplace.place(SimpleNamespace(name="module", trainable_variables=[]))
    assert "module.fn.get_concrete_function" in caught.value.hint


def test_functions(tensorflow, exported):
    one = concrete()
    for value in (one, function(one), function(one, concrete(), signature=[])):
        assert dict(gpuplace.place(value)) == dict(gpuplace.place(exported))
    keeper, signatures = tensorflow.saved[-1]
    assert keeper.kept == one.graph.variables and signatures == {"serving_default": one}


@pytest.mark.parametrize(("traces", "text"), [(0, "has no trace yet"), (2, "has 2 traces")])
def test_functions_without_the_one_trace(traces, text, tensorflow):
    with pytest.raises(InvalidArgumentError, match=f"The tf.function 'f' {text}") as caught:
        gpuplace.place(function(*(concrete() for _ in range(traces))))
    assert "fn.get_concrete_function(*arguments)" in caught.value.hint


def test_a_function_that_no_signature_can_have(tensorflow):
    placement = gpuplace.place(concrete(nested=True), machine="1x V100")
    assert set(placement) == {"rows", "weights_in", "read", "product"}
    graph_placement = gpuplace.place(concrete().graph, machine="1x V100")
    assert dict(placement) == dict(graph_placement)


def test_a_function_graph_has_its_variables_and_feeds(tensorflow):
    model = open_model(FuncGraph())
    nodes = {node.name: node for node in model.message.graph_def.node}
    handle = nodes["weights_in"]
    assert (handle.op, handle.attr["shared_name"].s) == ("VarHandleOp", b"layer/weights")
    assert [dim.size for dim in handle.attr["shape"].shape.dim] == [2, 2]
    signature = model.message.signature_def["serving_default"]
    assert {name: info.name for name, info in signature.inputs.items()} == {"rows": "rows:0"}
    assert {name: info.name for name, info in signature.outputs.items()} == {"output_0": "product:0"}
    assert model.release == "2.21"
    step = gpuplace.estimate(FuncGraph(), feeds={"rows": (2, 2)}, machine="1x V100")
    assert step.step_time > 0


def test_graphs_and_sessions():
    nodes = [node("a", "Placeholder", dtype="float32"), node("b", "Neg", "a", T="float32")]
    made = GraphDef.FromString(graph_def(nodes))
    graph = SimpleNamespace(as_graph_def=lambda: made)
    session = SimpleNamespace(graph=graph, run=None)
    assert set(gpuplace.place(graph)) == set(gpuplace.place(session)) == {"a", "b"}
    assert len(gpuplace.explore(graph).placement) == 2


def test_run_metadata_is_what_ran():
    metadata = RunMetadata()
    for device in ("CPU:0", "GPU:0"):
        ran = metadata.partition_graphs.add().node.add(name=f"on_{device[:3]}", op="NoOp")
        ran.device = f"/job:localhost/replica:0/task:0/device:{device}"
    placement = gpuplace.place(metadata, machine="1x V100")
    assert {name: device[-5:] for name, device in placement.items()} == {"on_CPU": "CPU:0", "on_GPU": "GPU:0"}
    functions = RunMetadata()
    functions.function_graphs.add().partition_graphs.add().CopyFrom(metadata.partition_graphs[0])
    assert list(gpuplace.place(functions, machine="1x V100")) == ["on_CPU"]
    with pytest.raises(InvalidArgumentError, match="contains measurements but no graph") as caught:
        gpuplace.place(RunMetadata())
    assert "output_partition_graphs=True" in caught.value.hint


def test_gpuplaces_own_graph_defs_are_no_objects():
    assert open_model(GraphDef()).kind == "GraphDef"

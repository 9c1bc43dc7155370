"""Builders of SavedModels, ops by name and other modules of the graph that programs import."""

import numpy as np
import pytest
from google.protobuf import text_format
from tensorboard.compat.proto.op_def_pb2 import OpDef

import gpuplace as tf
from gpuplace.graphdef.messages import Event, MetaGraphDef
from gpuplace.ops.composite import CompositeTensor
from gpuplace.tf1.saving import saved_model_loader, signatures
from gpuplace.tf1.stand_in import pywrap_tensorflow
from gpuplace.tf1.stand_in.framework import ops
from gpuplace.tf1.stand_in.framework.op_def_library import op_def_library
from gpuplace.tf1.stand_in.names import resolve
from gpuplace.tf1.stand_in.saved_model.builder_impl import _SavedModelBuilder
from gpuplace.tf1.stand_in.summary import plugin_asset


@pytest.fixture
def model(tmp_path):
    """A SavedModel with a file, an operation to begin with and one that trains."""
    (tmp_path / "words.txt").write_text("a b")
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.Variable(5, name="x"), tf.Variable(11, name="y")
        session.run(tf.global_variables_initializer())
        path = tf.constant(str(tmp_path / "words.txt"), name="path")
        builder = _SavedModelBuilder(str(tmp_path / "model"))
        first = tf.group(tf.assign(y, 7), name="first")
        builder.add_meta_graph_and_variables(
            session, ["foo"], assets_list=[path], init_op=first, train_op=tf.assign_add(x, y, name="train")
        )
        builder.save()
    return str(tmp_path / "model")


def test_a_model_step_by_step(model):
    loader = saved_model_loader.SavedModelLoader(model)
    graph = tf.Graph()
    saver, _ = loader.load_graph(graph, ["foo"], import_scope="in")
    with tf.Session(graph=graph) as session:
        with pytest.raises(ValueError, match="No tf.train.Saver object was passed"):
            loader.restore_variables(session, None)
        loader.restore_variables(session, saver)
        assert session.run("in/y:0") == 11
        with pytest.raises(tf.errors.NotFoundError, match="could not be found in the graph"):
            loader.run_init_ops(session, ["foo"])
        loader.run_init_ops(session, ["foo"], import_scope="in")
        assert session.run(["in/x:0", "in/y:0"]) == [5, 7]
        meta_graph = loader.get_meta_graph_def_from_tags(["foo"])
        with graph.as_default():
            train = saved_model_loader.get_train_op(meta_graph, "in")
        assert session.run(train) == 12
    (asset,) = meta_graph.asset_file_def
    assert (asset.filename, asset.tensor_info.name) == ("words.txt", "path:0")
    assert not meta_graph.collection_def.keys() & {"saved_model_assets", "saved_model_main_op"}


@pytest.mark.parametrize(
    "make", [signatures.supervised_train_signature_def, signatures.supervised_eval_signature_def]
)
def test_signatures_of_training(make):
    x, loss = tf.constant("a", name="x"), tf.constant(0.5, name="loss")
    made = make({"x": x}, {"loss": loss}, metrics={"m": loss})
    assert made.method_name.startswith("tensorflow/supervised/")
    assert {key: info.name for key, info in made.outputs.items()} == {"loss": "loss:0", "m": "loss:0"}
    with pytest.raises(ValueError, match="inputs cannot be None or empty"):
        make({}, {"loss": loss})


def add(text):
    op_def_library.add_op(text_format.Parse(text, OpDef()))


def test_ops_by_name():
    add("name: 'OfStandInTests' input_arg { name: 'in' type: DT_INT32 } attr { name: 'for' type: 'int' }")
    op = op_def_library.apply_op("OfStandInTests", in_=1, for_=tf.Dimension(3), name="mine")
    assert (op.name, op.get_attr("for")) == ("mine", 3)
    with pytest.raises(RuntimeError, match="Unrecognized Op name NoSuchOp"):
        op_def_library.apply_op("NoSuchOp")


UNSOUND = {
    "name: 'X' input_arg { name: 'a' type_attr: 'T' }": "Inconsistent OpDef for 'X', missing attr 'T'",
    "name: 'X' output_arg { name: 'a' type_attr: 'T' } attr { name: 'T' type: 'int' }":
        "Attr 'T' of 'X' used as a type_attr but has type int",
    "name: 'X' output_arg { name: 'a' }": "Arg 'a' of 'X' must have one type field not 0",
}  # fmt: skip


@pytest.mark.parametrize("text", UNSOUND)
def test_definitions_that_are_not_sound(text):
    with pytest.raises(TypeError) as error:
        add(text)
    assert str(error.value) == UNSOUND[text]


REFUSED = [
    ({"op_type_name": "PolymorphicOut", "T": None}, "No argument for attr T"),
    (
        {"op_type_name": "PolymorphicOut", "T": [tf.string]},
        "Expected DataType for argument 'T' not [tf.string].",
    ),
    ({"op_type_name": "OutTypeList", "T": tf.int32}, "Expected list for attr T"),
    (
        {"op_type_name": "TypeListTwice", "a": ["a", False], "b": ["b", 6]},
        "Input 'b' of 'TypeListTwice' Op has type list of string, int32 that does not match type list string, bool of"
        " argument 'a'.",
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_arguments_that_are_refused(number):
    arguments, text = REFUSED[number]
    with pytest.raises(TypeError) as error:
        op_def_library.apply_op(**arguments)
    assert str(error.value) == text


def test_made_of_several_tensors():
    sparse = tf.SparseTensor([[0]], [1.0], [3])
    assert isinstance(sparse, CompositeTensor) and not isinstance(sparse.values, CompositeTensor)


def test_a_writer_of_events(tmp_path):
    writer = pywrap_tensorflow.EventsWriter(str(tmp_path / "events").encode())
    writer.WriteEvent(Event(step=3))
    writer.Flush()
    assert [event.step for event in tf.train.summary_iterator(writer.FileName())] == [0, 3]
    writer.Close()
    with pytest.raises(TypeError, match="Expected an event_pb2.Event proto"):
        writer.WriteEvent("event")


def test_numbers_of_bfloat16():
    module = resolve("tensorflow.python.pywrap_tensorflow")
    assert float(module.TF_bfloat16_type()(1.5)) == 1.5 and module.NewCheckpointReader


def test_operations_of_messages():
    graph = tf.Graph()
    message = ops._NodeDef("FloatOutput", "mine", device="/job:a")
    made = ops.Operation(message, graph, [], [tf.float32])
    assert isinstance(made, ops.Operation) and isinstance(tf.constant(1).op, ops.Operation)
    assert (made.name, made.type, made.device, made.graph is graph) == ("mine", "FloatOutput", "/job:a", True)
    before = ops.Operation(ops._NodeDef("NoOp", "before"), graph)
    taking = ops.Operation(
        ops._NodeDef("FloatInput", "taking"), graph, [made.outputs[0]], [], control_inputs=[before]
    )
    assert list(taking.inputs) == [made.outputs[0]] and list(taking.control_inputs) == [before]
    with pytest.raises(ValueError, match="'_invalid' is not a valid node name"):
        ops.Operation(ops._NodeDef("NoOp", "_invalid"), graph)
    with pytest.raises(TypeError, match="node_def needs to be a NodeDef"):
        ops.Operation("NoOp", graph)


def test_files_of_a_plugin():
    class Files(plugin_asset.PluginAsset):
        plugin_name = "plugin"

        def assets(self):
            return {"a.txt": "a"}

    class Others(Files):
        pass

    made = plugin_asset.get_plugin_asset(Files)
    assert plugin_asset.get_plugin_asset(Files) is made and plugin_asset.get_all_plugin_assets() == [made]
    with pytest.raises(ValueError, match="Plugin name collision between classes Others and Files"):
        plugin_asset.get_plugin_asset(Others)
    assert plugin_asset.get_all_plugin_assets(tf.Graph()) == []


def test_moving_variances_of_all_examples():
    """Of the fused op they are of a sample, as TensorFlow's are, if nothing else is asked for."""
    images = np.random.RandomState(1).normal(size=[2, 3, 2, 4]).astype("float32")
    moved = []
    for fused, corrected in (True, True), (True, False), (False, True):
        layer = tf.layers.BatchNormalization(fused=fused, momentum=0.0)
        layer._bessels_correction_test_only = corrected
        layer.apply(tf.constant(images), training=True)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(layer.updates)
            moved.append(session.run(layer.moving_variance))
    np.testing.assert_allclose(moved[0], moved[2] * 12 / 11, rtol=1e-4)
    np.testing.assert_allclose(moved[1], moved[2], rtol=1e-4)


def test_layers_keep_their_constraints():
    one, other = (lambda w: w), (lambda w: w)
    assert tf.layers.Conv2D(1, 1, kernel_constraint=one, bias_constraint=other).kernel_constraint is one
    assert tf.layers.SeparableConv2D(1, 1, pointwise_constraint=one).pointwise_constraint is one
    assert tf.layers.BatchNormalization(gamma_constraint=other).gamma_constraint is other


def test_shapes_of_messages_and_as_tensors():
    module = resolve("tensorflow.python.framework.tensor_util")
    proto = tf.make_tensor_proto(np.zeros([2, 3]))
    assert module.ShapeEquals(proto, [2, 3]) and module.ShapeEquals(proto, proto.tensor_shape)
    assert not module.ShapeEquals(proto, (3, 2))
    with pytest.raises(TypeError, match="shape is not a list or tuple"):
        module.ShapeEquals(proto, 6)
    with tf.Session() as session:
        for shape in (tf.TensorShape([1, 2]), [1, tf.Dimension(2)], [tf.constant(1), 2]):
            made = module.shape_tensor(shape)
            assert made.dtype == tf.int32 and session.run(made).tolist() == [1, 2]


def test_a_message_of_another_file():
    config_pb2 = resolve("tensorflow.core.protobuf.config_pb2")
    options = config_pb2.RPCOptions(use_rpc_for_inprocess_master=True)
    assert config_pb2.ConfigProto(rpc_options=options).rpc_options.use_rpc_for_inprocess_master


def test_names_in_a_checkpoint():
    module = resolve("tensorflow.python.training.warm_starting_util")
    whole = tf.get_variable("whole", [2, 2])
    parts = tf.get_variable("parts", [2, 2], partitioner=tf.fixed_size_partitioner(2))
    assert module._get_var_info(whole) == ("whole", whole)
    assert module._get_var_info(parts, "old") == ("old", list(parts))
    assert module._infer_var_name(list(parts)) == "parts"


def test_the_meta_graph_of_an_event_file_lists_its_ops(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.constant(1) + 2
        tf.summary.FileWriter(str(tmp_path), graph).close()
    (path,) = tmp_path.iterdir()
    (message,) = (one.meta_graph_def for one in tf.train.summary_iterator(str(path)) if one.meta_graph_def)
    info = MetaGraphDef.FromString(message).meta_info_def
    assert [op.name for op in info.stripped_op_list.op] == ["AddV2", "Const"]
    assert info.tensorflow_version == "1.15.5"


def test_tensorflows_names_of_a_tensors_place_and_sizes():
    x = tf.placeholder(tf.float32, [2, None])
    assert (x._value_index, x._shape_tuple(), tf.placeholder(tf.float32)._shape_tuple()) == (
        0,
        (2, None),
        None,
    )

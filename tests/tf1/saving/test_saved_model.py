"""SavedModels: written, loaded, of TensorFlow, and damaged."""

import os

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.graphdef.messages import AssetFileDef, SavedModel
from tests.support.saved_files import RELEASES, unpack

BUILDER = tf.saved_model.builder.SavedModelBuilder


def net(device="/gpu:0"):
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    with tf.device(device):
        w = tf.Variable([[1.0], [2.0]], name="w")
    return x, tf.matmul(x, w, name="y")


def saved(folder, clear_devices=False, **arguments):
    with tf.Graph().as_default():
        x, y = net()
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
            session.run(tf.global_variables_initializer())
            builder = BUILDER(folder)
            signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
            builder.add_meta_graph_and_variables(
                session, ["serve"], {"main": signature}, clear_devices=clear_devices, **arguments
            )
            builder.save()
    return folder


def answer(session, scope=""):
    return session.run(f"{scope}y:0", {f"{scope}x:0": [[1.0, 1.0]]}).tolist()


def test_a_folder_named_in_bytes(tmp_path):
    folder = os.path.join(tf.compat.as_bytes(str(tmp_path)), tf.compat.as_bytes("1"))
    saved(folder)
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        tf.saved_model.load(session, ["serve"], folder)
        assert answer(session) == [[3.0]]


@pytest.mark.parametrize(("clear_devices", "device"), [(False, "/device:GPU:0"), (True, "")])
def test_devices_are_kept_cleared_or_moved(tmp_path, clear_devices, device):
    folder = saved(str(tmp_path / "model"), clear_devices)
    soft = tf.ConfigProto(allow_soft_placement=True)
    with tf.Graph().as_default() as graph, tf.Session(config=soft) as session:
        tf.saved_model.load(session, ["serve"], folder)
        assert graph.get_operation_by_name("w").device == device and answer(session) == [[3.0]]
    tf.use_machine("2x Tesla K40c")
    with tf.Graph().as_default(), tf.device("/gpu:1"), tf.Session(config=soft) as session:
        tf.saved_model.loader.load(session, {"serve"}, folder, import_scope="in", clear_devices=True)
        assert session.placement["in/w"].endswith("GPU:1") and answer(session, "in/") == [[3.0]]


def test_as_text(tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        net("/cpu:0")
        session.run(tf.global_variables_initializer())
        builder = BUILDER(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(session, ["serve"])
        assert builder.save(as_text=True) == os.fsencode(str(tmp_path / "model" / "saved_model.pbtxt"))
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.load(session, ["serve"], str(tmp_path / "model"))
        assert answer(session) == [[3.0]]


@pytest.mark.parametrize("release", RELEASES)
def test_a_model_of_tensorflow(release, tmp_path):
    folder = str(unpack(release, tmp_path) / "model")
    tf.set_release(release)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        meta = tf.saved_model.load(session, ["serve"], folder)
        signature = meta.signature_def["serving_default"]
        feeds = {signature.inputs["x"].name: [[1.0, 10.0]]}
        assert session.run(signature.outputs["y"].name, feeds).tolist() == [[21.0]]
        assert tf.get_default_graph().get_operation_by_name("w").device == "/device:GPU:1"


def test_it_can_be_placed_and_explored(tmp_path):
    folder = saved(str(tmp_path / "model"))
    placement = tf.place(folder, machine="1x Tesla K40c", config=tf.ConfigProto(allow_soft_placement=True))
    assert placement["w"].endswith("GPU:0")


def test_what_cannot_be_written(tmp_path):
    x, y = net("/cpu:0")
    signature = tf.saved_model.predict_signature_def({"x": x}, {"y": y})
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        builder = BUILDER(str(tmp_path / "a"))
        with pytest.raises(AssertionError, match="has not been saved yet"):
            builder.add_meta_graph(["serve"])
        with pytest.raises(KeyError, match="is reserved for initialization"):
            builder.add_meta_graph_and_variables(session, ["serve"], {"__saved_model_init_op": signature})
        signature.inputs["x"].dtype = 0
        with pytest.raises(AssertionError, match="must have the dtype field set"):
            builder.add_meta_graph_and_variables(session, ["serve"], {"bad": signature})
        signature.inputs["x"].Clear()
        with pytest.raises(AssertionError, match="'encoding' fields"):
            builder.add_meta_graph_and_variables(session, ["serve"], {"bad": signature})
        for assets, error, text in (
            (["a"], TypeError, "must be a Tensor"),
            ([x], TypeError, "must be of type constant"),
            ([tf.constant(1.0)], TypeError, "must be of dtype string"),
            ([tf.constant(["a", "b"])], TypeError, "must be a scalar"),
            ([tf.constant(str(tmp_path / "none"))], tf.errors.NotFoundError, "none"),
        ):
            with pytest.raises(error, match=text):
                builder.add_meta_graph_and_variables(session, ["serve"], assets_collection=assets)
        with pytest.raises(TypeError, match="main_op needs to be an Operation"):
            builder.add_meta_graph_and_variables(session, ["serve"], main_op=x)
        builder.add_meta_graph_and_variables(session, ["serve"])
        with pytest.raises(AssertionError, match="has already been saved"):
            builder.add_meta_graph_and_variables(session, ["serve"])
        builder.add_meta_graph(["other"], main_op=tf.no_op())
        with pytest.raises(ValueError, match="already contains one or more main ops"):
            builder.add_meta_graph(["third"], main_op=tf.no_op())
        for inputs, outputs, text in (({}, {"y": y}, "inputs"), ({"x": x}, {}, "outputs")):
            with pytest.raises(ValueError, match=f"Prediction {text} cannot be None or empty"):
                tf.saved_model.simple_save(session, str(tmp_path / text), inputs, outputs)
    with pytest.raises(AssertionError, match="Export directory already exists, and isn't empty"):
        BUILDER(str(tmp_path / "a"))


def test_assets_of_the_same_name(tmp_path):
    paths = []
    for folder, text in (("a", "one"), ("b", "two"), ("c", "one")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "words").write_text(text)
        paths.append(str(tmp_path / folder / "words"))
    with tf.Graph().as_default(), tf.Session() as session:
        constants = [tf.constant(path, name=f"asset_{i}") for i, path in enumerate(paths)]
        builder = BUILDER(str(tmp_path / "model"))
        builder.add_meta_graph_and_variables(session, ["serve"], assets_collection=constants)
        builder.save()
    assets = tmp_path / "model" / "assets"
    assert {path.name: path.read_text() for path in assets.iterdir()} == {"words": "one", "words_1": "two"}


def test_main_ops(tmp_path):
    table = tf.Variable(7.0, name="v")
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, tf.no_op(name="fill_table"))
    main = tf.saved_model.main_op.main_op()
    assert {op.name for op in main.control_inputs} == {"init", "init_1", "init_all_tables"}
    after = tf.saved_model.main_op_with_restore(tf.no_op(name="restore"))
    assert [op.name for op in after.control_inputs]
    with tf.Session() as session:
        session.run(main)
        assert session.run(table) == 7.0


@pytest.mark.parametrize("argument", ["legacy_init_op", "main_op", None])
def test_tables_are_filled_by_the_op_that_loading_runs(argument, tmp_path):
    """The file of words goes with the model, and the first one is not needed any more."""
    words = tmp_path / "words.txt"
    words.write_text("red\ngreen\nblue\n")
    path = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.string, [None])
        asset = tf.constant(str(words))
        tf.add_to_collection(tf.GraphKeys.ASSET_FILEPATHS, asset)
        ids = tf.contrib.lookup.index_table_from_file(asset, num_oov_buckets=1).lookup(x)
        fill = {argument: tf.tables_initializer()} if argument else {}
        signature = tf.saved_model.signature_def_utils.predict_signature_def({"x": x}, {"ids": ids})
        builder = tf.saved_model.builder.SavedModelBuilder(path)
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, assets_collection=[asset], **fill
        )
        builder.save()
    words.unlink()
    with tf.Graph().as_default(), tf.Session() as session:
        signature = tf.saved_model.loader.load(session, ["serve"], path).signature_def["serving_default"]
        feed = {signature.inputs["x"].name: ["blue", "pink", "red"]}
        if argument:
            assert session.run(signature.outputs["ids"].name, feed).tolist() == [2, 3, 0]
        else:
            with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
                session.run(signature.outputs["ids"].name, feed)


@pytest.mark.parametrize("name", ["../../secret", "a/../../../secret", "..", ".", "/etc/passwd"])
def test_names_of_assets_that_lead_out_of_their_folder(name, tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("red\n")
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        asset = tf.constant(str(words), name="asset")
        main = tf.group(tf.identity(asset), name="main")
        builder = tf.saved_model.builder.SavedModelBuilder(folder)
        builder.add_meta_graph_and_variables(session, ["serve"], assets_collection=[asset], main_op=main)
        builder.save()
    path = os.path.join(folder, "saved_model.pb")
    with open(path, "rb") as file:
        model = SavedModel.FromString(file.read())
    graph = model.meta_graphs[0]
    del graph.asset_file_def[:]
    asset_def = AssetFileDef(filename=name)
    asset_def.tensor_info.name = "asset:0"
    graph.collection_def["saved_model_assets"].any_list.value[0].value = asset_def.SerializeToString()
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="names a file outside of its assets"
        ) as caught:
            tf.saved_model.loader.load(session, ["serve"], folder)
        assert repr(name) in caught.value.message and caught.value.hint


def test_what_cannot_be_loaded(tmp_path):
    folder = saved(str(tmp_path / "model"))
    with tf.Session() as session:
        with pytest.raises(
            RuntimeError, match=r"tags 'train' could not be found.*\navailable_tags: \[\{'serve'\}\]"
        ):
            tf.saved_model.load(session, ["train"], folder)
        with pytest.raises(OSError, match="SavedModel file does not exist at: .*saved_model.pbtxt"):
            tf.saved_model.load(session, ["serve"], str(tmp_path))
        path = os.path.join(folder, "saved_model.pb")
        os.truncate(path, os.path.getsize(path) - 5)
        with pytest.raises(OSError, match=r"Cannot parse file .*saved_model\.pb"):
            tf.saved_model.load(session, ["serve"], folder)
    assert tf.saved_model.maybe_saved_model_directory(folder)
    assert not tf.saved_model.contains_saved_model(str(tmp_path))


def test_damaged_variables(tmp_path):
    folder = saved(str(tmp_path / "model"))
    os.remove(os.path.join(folder, "variables", "variables.index"))
    soft = tf.ConfigProto(allow_soft_placement=True)
    with tf.Session(config=soft) as session, pytest.raises(ValueError, match="not a valid checkpoint"):
        tf.saved_model.load(session, ["serve"], folder)


def test_signatures():
    texts, numbers = tf.placeholder(tf.string, [None], name="t"), tf.placeholder(tf.float32, name="n")
    utils = tf.saved_model.signature_def_utils
    regression = utils.regression_signature_def(texts, numbers)
    classes = utils.classification_signature_def(texts, texts, numbers)
    predict = utils.predict_signature_def({"a": texts}, {"b": numbers})
    assert [utils.is_valid_signature(one) for one in (regression, classes, predict, None)] == [
        True,
        True,
        True,
        False,
    ]
    assert regression.method_name == "tensorflow/serving/regress" and classes.outputs["classes"].name == "t:0"
    info = tf.saved_model.utils.build_tensor_info(numbers)
    assert info.dtype == 1 and info.tensor_shape.unknown_rank
    assert tf.saved_model.utils.get_tensor_from_tensor_info(info) is numbers
    assert [dim.size for dim in predict.inputs["a"].tensor_shape.dim] == [-1]
    regression.outputs["extra"].CopyFrom(info)
    assert not utils.is_valid_signature(regression)
    assert not utils.is_valid_signature(utils.build_signature_def({"a": info}, {"b": info}, "other"))
    for make, text in (
        (lambda: utils.regression_signature_def(None, numbers), "examples cannot be None"),
        (lambda: utils.regression_signature_def(texts, texts), "output must be a float Tensor"),
        (lambda: utils.regression_signature_def(numbers, numbers), "must be a string Tensor"),
        (lambda: utils.classification_signature_def(texts, None, None), "cannot both be None"),
        (lambda: utils.classification_signature_def(texts, numbers, None), "classes must be a string Tensor"),
    ):
        with pytest.raises(ValueError, match=text):
            make()


def test_frozen_loops_and_kept_variables():
    x = tf.placeholder(tf.float32, [2], name="x")
    v = tf.Variable([1.0, 2.0], name="v", use_resource=True)
    w = tf.Variable([3.0, 4.0], name="w")
    (_, out) = tf.while_loop(lambda i, p: i < 2, lambda i, p: (i + 1, p * v), [tf.constant(0), x * w])
    tf.identity(out, name="out")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        nodes = tf.get_default_graph().as_graph_def()
        whole = tf.graph_util.convert_variables_to_constants(session, nodes, ["out"])
        kept = tf.graph_util.convert_variables_to_constants(
            session, nodes, ["out"], variable_names_whitelist=["v"]
        )
        with pytest.raises(AssertionError, match="none is not in graph"):
            tf.graph_util.convert_variables_to_constants(session, nodes, ["none"])
    ops = {node.op for node in whole.node}
    assert not ops & {"VarHandleOp", "ReadVariableOp", "VariableV2"} and "Enter" in ops
    assert "VariableV2" in {node.op for node in kept.node}
    with tf.Graph().as_default(), tf.Session() as session:
        (out,) = tf.import_graph_def(whole, return_elements=["out:0"], name="")
        assert np.allclose(session.run(out, {"x:0": [1.0, 1.0]}), [3.0, 16.0])


def test_nodes_that_training_needs():
    x = tf.placeholder(tf.float32, [2], name="x")
    same = tf.identity(tf.identity(x), name="same")
    with tf.control_dependencies([tf.check_numerics(same, "bad")]):
        waiting = tf.identity(same, name="waiting")
    checked = tf.check_numerics(same, "worse")
    with tf.control_dependencies([waiting]):
        tf.negative(checked, name="out")
    nodes = tf.get_default_graph().as_graph_def()
    small = tf.graph_util.remove_training_nodes(nodes)
    assert [(node.name, list(node.input)) for node in small.node] == [
        ("x", []),
        ("waiting", ["x"]),
        ("out", ["x", "^waiting"]),
    ]
    kept = tf.graph_util.remove_training_nodes(nodes, protected_nodes=["same"])
    assert [node.name for node in kept.node] == ["x", "same", "waiting", "out"]
    with pytest.raises(TypeError, match="must be a graph_pb2.GraphDef proto"):
        tf.graph_util.remove_training_nodes("graph")
    with pytest.raises(AssertionError, match="must be an Operation or a NodeDef"):
        tf.graph_util.must_run_on_cpu("x")

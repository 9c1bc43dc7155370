"""Meta graphs: what goes out and comes back, and files of TensorFlow."""

import pytest

import gpuplace as tf
from gpuplace.errors import InvalidArgumentError
from gpuplace.graphdef.messages import VariableDef, WhileContextDef
from gpuplace.saving import scoped_meta_graph
from tests.support.saved_files import RELEASES, unpack


def rows(graph):
    return [(op.name, op.type, op.device, [t.name for t in op.inputs]) for op in graph.get_operations()]


def loops_and_branches():
    x = tf.placeholder(tf.float32, [], name="x")
    v = tf.Variable(2.0, name="v")

    def body(i, p):
        return i + 1, tf.cond(p > 4.0, lambda: p + v, lambda: p * v)

    (_, out) = tf.while_loop(lambda i, p: i < 4, body, [tf.constant(0), x], name="loop")
    tf.add_to_collection("out", tf.identity(out, name="out"))
    return x, v


@pytest.mark.parametrize("scope", [None, "there"])
def test_loops_with_branches_come_back_and_have_gradients(scope):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, _ = loops_and_branches()
        (slope,) = tf.gradients(tf.get_collection("out"), [x])
        session.run(tf.global_variables_initializer())
        expected = [session.run([*tf.get_collection("out"), slope], {x: one}) for one in (0.5, 3.0)]
    with tf.Graph().as_default() as graph:
        loops_and_branches()
        meta = tf.train.export_meta_graph(graph=graph)
    (loop,) = meta.collection_def["while_context"].bytes_list.value
    assert b"cond" in loop and "cond_context" not in meta.collection_def
    with tf.Graph().as_default() as again, tf.Session() as session:
        tf.train.import_meta_graph(meta, import_scope=scope)
        prefix = f"{scope}/" if scope else ""
        found = sorted(row for row in rows(again) if "save" not in row[0])
        names = [prefix + op.name for op in graph.get_operations()]
        assert [row[0] for row in found] == sorted(names)
        if scope is None:
            (twice,) = tf.train.export_meta_graph().collection_def["while_context"].bytes_list.value
            assert WhileContextDef.FromString(twice) == WhileContextDef.FromString(loop)
        x = again.get_tensor_by_name(f"{prefix}x:0")
        (slope,) = tf.gradients(tf.get_collection("out"), [x])
        session.run(tf.global_variables_initializer())
        assert [session.run([*tf.get_collection("out"), slope], {x: one}) for one in (0.5, 3.0)] == expected


@pytest.mark.parametrize("is_resource", [False, True])
def test_variables_as_messages(is_resource):
    with tf.device("/cpu:0"):
        v = tf.Variable([1.0, 2.0], name="v", trainable=False, use_resource=is_resource)
    v._set_save_slice_info(tf.Variable.SaveSliceInfo("whole", [4], [2], [2]))
    message = v.to_proto()
    assert message.is_resource == is_resource and not message.trainable and message.variable_name == "v:0"
    operations = len(tf.get_default_graph().get_operations())
    for twin in (tf.Variable.from_proto(message), tf.Variable(variable_def=message)):
        assert type(twin) is type(v) and twin.name == v.name and twin.dtype == v.dtype
        assert twin.shape == v.shape and not twin.trainable and twin.device == v.device
        assert twin.initializer is v.initializer and twin._get_save_slice_info().spec == "4 2,2"
        assert twin.to_proto() == message
    assert len(tf.get_default_graph().get_operations()) == operations
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(twin.value() + twin).tolist() == [2.0, 4.0]
        session.run(twin.assign([5.0, 6.0]))
        assert session.run(v).tolist() == [5.0, 6.0]
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.Variable(1.0, variable_def=message)
    with pytest.raises(TypeError, match="must be a VariableDef"):
        tf.Variable(variable_def="v")
    with pytest.raises(KeyError, match="nothing"):
        tf.Variable.from_proto(VariableDef(variable_name="nothing:0"))
    with pytest.raises(ValueError, match="Trying to restore Variable"):
        tf.ResourceVariable(variable_def=VariableDef(variable_name="v:0"))


def test_the_same_variable_in_several_collections_is_one_object():
    tf.Variable(1.0, name="v")
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta)
        assert tf.global_variables()[0] is tf.trainable_variables()[0]


def test_devices_and_defaults_are_left_out():
    with tf.device("/gpu:1"):
        v = tf.Variable([[1.0]], name="v")
    tf.matmul(v, v, transpose_b=True, name="product")
    kept, cleared = tf.train.export_meta_graph(), tf.train.export_meta_graph(clear_devices=True)
    assert {node.device for node in kept.graph_def.node} == {"/device:GPU:1", ""}
    assert {node.device for node in cleared.graph_def.node} == {""}
    stripped = tf.train.export_meta_graph(strip_default_attrs=True)
    attrs = {node.name: sorted(node.attr) for node in stripped.graph_def.node}
    assert attrs["product"] == ["T", "_output_shapes", "transpose_b"]
    assert stripped.meta_info_def.stripped_default_attrs
    ops = {op.name for op in kept.meta_info_def.stripped_op_list.op}
    assert ops == {node.op for node in kept.graph_def.node}
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(kept, clear_devices=True)
        assert {op.device for op in graph.get_operations() if "save" not in op.name} == {""}


def test_inputs_from_outside_have_to_be_given():
    outside = tf.constant(3.0, name="outside")
    with tf.name_scope("inner"):
        tf.multiply(outside, 2.0, name="twice")
    meta = tf.train.export_meta_graph(export_scope="inner")
    assert [node.name for node in meta.graph_def.node] == ["twice/y", "twice"]
    (name,) = meta.collection_def["unbound_inputs"].bytes_list.value
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(ValueError, match="Graph contains unbound inputs: .*outside.* through input_map"):
            tf.train.import_meta_graph(meta)
        tf.train.import_meta_graph(meta, input_map={name.decode(): tf.constant(5.0)}, import_scope="new")
        assert session.run("new/twice:0") == 10.0


def test_collections_that_cannot_be_written_are_left_out(caplog):
    tf.add_to_collection("objects", object())
    tf.add_to_collection("mixed", "text")
    tf.add_to_collection("mixed", 3.5)
    tf.add_to_collection("texts", "text")
    meta = tf.train.export_meta_graph()
    assert list(meta.collection_def) == ["texts"]
    assert "Issue encountered when serializing objects" in caplog.text


def test_files(tmp_path):
    tf.Variable(1.0, name="v")
    for name, as_text in (("a.meta", False), ("a.txt", True)):
        meta = tf.train.export_meta_graph(str(tmp_path / name), as_text=as_text)
        with tf.Graph().as_default() as graph:
            tf.train.import_meta_graph(str(tmp_path / name))
            assert "v/Assign" in [op.name for op in graph.get_operations()]
    assert meta.meta_info_def.tensorflow_version == tf.VERSION
    with pytest.raises(OSError, match=r"File .*none\.meta does not exist\."):
        tf.train.import_meta_graph(str(tmp_path / "none.meta"))
    (tmp_path / "bad.meta").write_bytes(b"\xff\x00 nonsense")
    with pytest.raises(OSError, match=r"Cannot parse file .*bad\.meta"):
        tf.train.import_meta_graph(str(tmp_path / "bad.meta"))
    with pytest.raises(TypeError, match="graph_def must be of type GraphDef"):
        tf.train.export_meta_graph(graph_def="graph")


def test_without_variables_there_is_no_saver():
    tf.constant(1.0, name="c")
    meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        assert tf.train.import_meta_graph(meta) is None


@pytest.mark.parametrize("release", RELEASES)
def test_what_tensorflow_wrote_is_restored(release, tmp_path):
    prefix = str(unpack(release, tmp_path) / "sharded-3")
    tf.set_release(release)
    saver = tf.train.import_meta_graph(prefix + ".meta")
    names = [v.name for v in tf.global_variables()]
    assert {"ref:0", "resource:0", "split/part_0:0", "split/part_1:0"} <= set(names)
    parts = [v for v in tf.global_variables() if v.name.startswith("split")]
    assert [v._get_save_slice_info().spec for v in parts] == ["5 4 0,3:0,4", "5 4 3,2:0,4"]
    with tf.Session() as session:
        saver.restore(session, prefix)
        assert session.run(["ref:0", "resource/Read/ReadVariableOp:0"])[1].tolist() == [[3.0]]
        whole = tf.train.load_variable(prefix, "split")
        assert session.run(parts[1]).tolist() == whole[3:].tolist()


@pytest.mark.parametrize("release", RELEASES)
def test_a_graph_of_tensorflow_is_placed_as_it_asks(release, tmp_path):
    folder = str(unpack(release, tmp_path) / "model")
    placement = tf.place(
        folder,
        machine="2x Tesla K40c",
        release=release,
        config=tf.ConfigProto(allow_soft_placement=True),
        whole_graph=True,
    )
    assert placement["w"].endswith("GPU:1") and placement["save/SaveV2"].endswith("CPU:0")


def test_a_graph_that_is_not_sound():
    tf.constant(1.0, name="c")
    meta = tf.train.export_meta_graph()
    meta.graph_def.node[0].op = "NoSuchOp"
    with tf.Graph().as_default() as graph:
        with pytest.raises((ValueError, InvalidArgumentError, tf.errors.NotFoundError)):
            tf.train.import_meta_graph(meta)
        assert graph.get_operations() == []


def damaged_collection(damage):
    """A meta graph of a variable, after a change of its collections."""
    tf.get_variable("v", [])
    tf.add_to_collection("nodes", tf.constant(1.0, name="c"))
    meta = tf.train.export_meta_graph()
    damage(meta.collection_def)
    return meta


def not_a_message(collections):
    collections["variables"].bytes_list.value[0] = b"\n\xff"


def another_name(collections):
    variable = VariableDef.FromString(collections["variables"].bytes_list.value[0])
    variable.initializer_name = "nothing"
    collections["variables"].bytes_list.value[0] = variable.SerializeToString()


def no_names(collections):
    collections["variables"].bytes_list.value[0] = b""


def no_variables(collections):
    collections["variables"].int64_list.value.append(3)


def no_node(collections):
    collections["nodes"].node_list.value[0] = "c:9"


@pytest.mark.parametrize(
    ("damage", "because"),
    [
        (not_a_message, "variables of a meta graph: Error parsing message"),
        (
            another_name,
            "variables of a meta graph: The name 'nothing' refers to an Operation not in the graph.",
        ),
        (no_names, "variables of a meta graph: The name '' refers to an Operation not in the graph."),
        (no_variables, "variables of a meta graph: it contains int64_list, not variables"),
        (no_node, "nodes of a meta graph: The name 'c:9' refers to a Tensor which does not exist."),
    ],
)
def test_a_collection_that_is_damaged(damage, because):
    with tf.Graph().as_default():
        meta = damaged_collection(damage)
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError) as caught:
        tf.train.import_meta_graph(meta)
    assert f"Cannot import the collection {because}" in caught.value.message and caught.value.hint


def test_a_scope_is_exported_imported_and_copied():
    with tf.Graph().as_default() as graph:
        x = tf.constant(3.0, name="x")
        with tf.name_scope("net"):
            v = tf.Variable(2.0, name="v")
            tf.multiply(x, v, name="out")
        made, variables = scoped_meta_graph.export_scoped_meta_graph(export_scope="net", graph=graph)
        assert variables == {"v:0": v}
        assert made.collection_def["unbound_inputs"].bytes_list.value == [b"$unbound_inputs_x"]
        assert "out" in [node.name for node in made.graph_def.node]
    with tf.Graph().as_default():
        given = {"$unbound_inputs_x": tf.constant(5.0)}
        found = scoped_meta_graph.import_scoped_meta_graph(made, import_scope="new", input_map=given)
        assert {name: one.name for name, one in found.items()} == {"v:0": "new/v:0"}
        with tf.name_scope("part"):
            tf.Variable([1.0], name="w")
        copied = scoped_meta_graph.copy_scoped_meta_graph("part", "again")
        assert {name: one.name for name, one in copied.items()} == {"w:0": "again/w:0"}
        with pytest.raises(ValueError, match="need to be different"):
            scoped_meta_graph.copy_scoped_meta_graph("new", "new")
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert session.run("new/out:0") == 10


def test_the_message_alone_with_the_ops_it_uses():
    tf.add(1.0, 2.0, name="sum")
    made = scoped_meta_graph.create_meta_graph_def(collection_list=[])
    assert [op.name for op in scoped_meta_graph.stripped_op_list_for_graph(made.graph_def).op] == [
        "Add",
        "Const",
    ]
    assert not made.collection_def

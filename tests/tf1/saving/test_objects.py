"""`tf.train.Checkpoint` and what is about it; the checkpoints are TensorFlow 1.15.5's, see `object_programs`."""

import gc
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.files.checkpoints.reader import open_checkpoint
from gpuplace.ops.tracking import data_structures
from gpuplace.ops.tracking.base import OBJECT_GRAPH_PROTO_KEY, Trackable
from gpuplace.ops.tracking.tracking import AutoTrackable, NotTrackable
from gpuplace.ops.tracking.variables import add_variable
from gpuplace.tf1.saving.tracking import identity
from gpuplace.tf1.saving.tracking.checkpoint import (
    frozen_saver,
    gather_initializers,
    list_objects,
    object_metadata,
)
from gpuplace.tf1.saving.tracking.state import PythonStringStateSaveable
from gpuplace.tf1.saving.tracking.status import streaming_restore
from tests.support.saved_files import DATA, same
from tests.tf1.saving import object_programs


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """TensorFlow's checkpoints of the programs, unpacked."""
    folder = tmp_path_factory.mktemp("theirs")
    with tarfile.open(DATA / "objects-1.15.tar.xz") as archive:
        for member in archive.getmembers():
            (folder / member.name).write_bytes(archive.extractfile(member).read())
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """The files of checkpoints in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if ".data-" in path.name or path.suffix}


def test_files_are_tensorflows_to_the_byte(theirs, tmp_path):
    object_programs.write(tf, tmp_path)
    ours = files(tmp_path)
    expected = files(theirs)
    assert ours.keys() == expected.keys()
    for name, content in expected.items():
        prefix = name.split(".")[0]
        is_trained = prefix == "layered-1" or "_of_" in prefix  # elsewhere nothing is computed
        assert ours[name] == content or (is_trained and worst_difference(theirs, tmp_path, prefix) < 1e-6), (
            name
        )


def worst_difference(theirs, ours, prefix):
    """The largest relative difference of two checkpoints that have the same objects."""
    one, other = open_checkpoint(str(theirs / prefix)), open_checkpoint(str(ours / prefix))
    assert one.names() == other.names()
    worst = 0.0
    for name in one.names():
        expected, found = one.read(name), other.read(name)
        if expected.dtype.kind == "f":
            worst = max(worst, float(np.max(np.abs(found - expected) / np.maximum(np.abs(expected), 1e-3))))
        else:
            assert same(found, expected), name
    return worst


def test_what_tensorflow_wrote_is_restored_and_saved_again_to_the_byte(theirs):
    object_programs.restore(tf, theirs)
    again = files(theirs / "again")
    assert len(again) == len(files(theirs))
    for name, content in files(theirs).items():
        assert again[name.replace("-1.", ".", 1)] == content, name


def session_with(*names_and_values):
    variables = {name: tf.Variable(value, name=name) for name, value in names_and_values}
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return variables, session


def test_numbers_paths_and_the_last_one(tmp_path):
    variables, session = session_with(("v", 1.0))
    checkpoint = tf.train.Checkpoint(**variables)
    with session:
        paths = [checkpoint.save(tmp_path / "deep" / "er" / "model") for _ in range(2)]
        assert session.run(checkpoint.save_counter) == 2
        assert checkpoint.write(str(tmp_path / "other")) == str(tmp_path / "other")
    assert [os.path.basename(path) for path in paths] == ["model-1", "model-2"]
    assert tf.train.latest_checkpoint(tmp_path / "deep" / "er") == paths[1]
    state = tf.train.get_checkpoint_state(tmp_path / "deep" / "er")
    assert list(state.all_model_checkpoint_paths) == paths[1:]
    assert not (tmp_path / "checkpoint").exists()


def test_objects_that_come_later_are_restored_when_they_do(tmp_path):
    with tf.Graph().as_default():
        variables, session = session_with(("v", 7.0), ("w", 8.0))
        inner = AutoTrackable()
        inner.w = variables["w"]
        with session:
            path = tf.train.Checkpoint(v=variables["v"], inner=inner).save(tmp_path / "model")
    root = tf.train.Checkpoint()
    status = root.restore(path)
    root.v = tf.Variable(0.0)
    root.inner = AutoTrackable()
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\).inner.w: "):
        status.assert_consumed()
    assert status.assert_existing_objects_matched() is status
    root.inner.w = tf.Variable(0.0)
    with tf.Session() as session:
        status.assert_consumed().run_restore_ops()
        assert session.run([root.v, root.inner.w]) == [7.0, 8.0]


def test_slots_are_restored_when_the_optimizer_makes_them(tmp_path):
    def training():
        v = tf.Variable([1.0, 2.0], name="v")
        optimizer = tf.train.MomentumOptimizer(0.5, 0.9)
        return v, optimizer

    with tf.Graph().as_default(), tf.Session() as session:
        v, optimizer = training()
        step = optimizer.minimize(tf.reduce_sum(v * v))
        session.run(tf.global_variables_initializer())
        session.run(step)
        path = tf.train.Checkpoint(v=v, optimizer=optimizer).save(tmp_path / "model")
        expected = session.run([v, optimizer.get_slot(v, "momentum")])
    for optimizer_first in (False, True):
        with tf.Graph().as_default(), tf.Session() as session:
            v, optimizer = training()
            root = tf.train.Checkpoint(**({"optimizer": optimizer} if optimizer_first else {"v": v}))
            status = root.restore(path)
            root.v, root.optimizer = v, optimizer
            with pytest.raises(
                AssertionError, match="Unresolved object in checkpoint .root..optimizer's state"
            ):
                status.assert_consumed()
            optimizer.minimize(tf.reduce_sum(v * v))
            status.assert_consumed().initialize_or_restore()
            found = session.run([v, optimizer.get_slot(v, "momentum")])
            np.testing.assert_array_equal(found, expected)


def test_restores_without_a_checkpoint_initialize():
    v = tf.Variable(3.0)
    root = tf.train.Checkpoint(v=v)
    status = root.restore(None)
    for check in (
        status.assert_consumed,
        status.assert_existing_objects_matched,
        status.assert_nontrivial_match,
    ):
        with pytest.raises(AssertionError, match=r"No checkpoint specified \(save_path=None\)"):
            check()
    with pytest.raises(AssertionError, match="no restore ops are available"):
        status.run_restore_ops()
    with tf.Session() as session:
        status.initialize_or_restore()
        assert session.run([v, root.save_counter]) == [3.0, 0]


def test_what_is_not_in_the_checkpoint_is_initialized(tmp_path):
    with tf.Graph().as_default():
        variables, session = session_with(("v", 7.0))
        with session:
            path = tf.train.Checkpoint(**variables).save(tmp_path / "model")
    root = tf.train.Checkpoint(v=tf.Variable(0.0), new=tf.Variable(5.0))
    status = root.restore(path)
    with pytest.raises(AssertionError, match="Some Python objects were not bound to checkpointed values"):
        status.assert_consumed()
    with tf.Session() as session:
        status.initialize_or_restore()
        assert session.run([root.v, root.new]) == [7.0, 5.0]
    other = tf.train.Checkpoint(unknown=tf.Variable(0.0))
    with pytest.raises(AssertionError, match=r"Unresolved object|not bound|Nothing except the root"):
        other.restore(path).assert_nontrivial_match().assert_consumed()


def test_operations_are_made_once(tmp_path):
    variables, session = session_with(("v", 1.0), ("w", [2.0]))
    root = tf.train.Checkpoint(optimizer=tf.train.AdamOptimizer(), **variables)
    with session:
        path = root.save(tmp_path / "model")
        root.restore(path).run_restore_ops()
        count = len(tf.get_default_graph().get_operations())
        for _ in range(3):
            path = root.save(tmp_path / "model")
            root.restore(path).assert_consumed().run_restore_ops()
        assert len(tf.get_default_graph().get_operations()) == count


def test_checkpoints_of_savers_are_restored_by_names(tmp_path):
    with tf.Graph().as_default():
        variables, session = session_with(("v", 7.0), ("w", [8.0]))
        path = tf.train.Saver().save(session, str(tmp_path / "by_names"))
    with pytest.raises(ValueError, match="does not appear to be object-based"):
        object_metadata(path)
    v, w = tf.Variable(0.0, name="v"), tf.Variable([0.0], name="w", use_resource=True)
    root = AutoTrackable()
    root.any, root.other = v, w
    checkpoint = tf.train.Checkpoint(root=root)
    with tf.Session() as session:
        status = checkpoint._saver.restore(path)
        with pytest.raises(AssertionError, match="Object not restored"):
            status.assert_consumed()
        status.initialize_or_restore()
        status.assert_consumed()
        assert session.run(v) == 7.0 and session.run(w).tolist() == [8.0]
        with pytest.raises(NotImplementedError, match="Streaming restore not supported from name-based"):
            streaming_restore(status)


def test_savers_load_checkpoints_of_objects(tmp_path):
    variables, session = session_with(("v", 7.0))
    with session:
        path = tf.train.Checkpoint(**variables).save(tmp_path / "model")
        session.run(variables["v"].assign(0.0))
        tf.train.Saver(variables).restore(session, path)
        assert session.run(variables["v"]) == 7.0


def test_streaming(tmp_path):
    with tf.Graph().as_default():
        variables, session = session_with(("v", 7.0))
        with session:
            path = tf.train.Checkpoint(**variables).save(tmp_path / "model")
    root = tf.train.Checkpoint()
    with tf.Session() as session:
        streaming_restore(root.restore(path))
        root.v = tf.Variable(0.0)
        assert session.run(root.v) == 7.0


class Note(tf.train.experimental.PythonState):
    def __init__(self, text):
        self.text = text

    def serialize(self):
        return self.text

    def deserialize(self, string_value):
        self.text = string_value


def test_values_of_python(tmp_path):
    note = Note(b"first")
    root = tf.train.Checkpoint(note=note)
    with tf.Session():
        first = root.save(tmp_path / "model")
        note.text = b"second"
        second = root.save(tmp_path / "model")
        note.text = b"other"
        root.restore(first).assert_consumed()
        assert note.text == b"first"
        root.restore(second)
        assert note.text == b"second"
    key = "note/.ATTRIBUTES/py_state"
    assert tf.train.load_variable(second, key) == b"second"


def test_values_without_a_restore_may_be_missing(tmp_path):
    class Config(Trackable):
        def _gather_saveables_for_checkpoint(self):
            return {"config": lambda name="own": PythonStringStateSaveable(name, lambda: "written")}

    with tf.Session():
        path = tf.train.Checkpoint(one=Config()).save(tmp_path / "model")
        (attribute,) = object_metadata(path).nodes[1].attributes
        assert attribute.optional_restore and attribute.checkpoint_key == "one/.ATTRIBUTES/config"
        tf.train.Checkpoint(one=Trackable()).restore(path).assert_consumed()


def test_a_frozen_saver_has_the_values_of_now(tmp_path):
    note = Note(b"then")
    root = tf.train.Checkpoint(note=note, v=tf.Variable(2.0, use_resource=True))
    root.save_counter  # noqa: B018 - makes it
    saver = frozen_saver(root)
    with tf.Session() as session:
        session.run(gather_initializers(root))
        written = saver.save(str(tmp_path / "frozen"))
        note.text = b"later"
        session.run(written)
    assert tf.train.load_variable(str(tmp_path / "frozen"), "note/.ATTRIBUTES/py_state") == b"then"
    assert tf.train.load_variable(str(tmp_path / "frozen"), "v/.ATTRIBUTES/VARIABLE_VALUE") == 2.0
    assert OBJECT_GRAPH_PROTO_KEY in dict(tf.train.list_variables(str(tmp_path / "frozen")))


def test_warnings_about_what_was_not_used(tmp_path, caplog):
    with tf.Graph().as_default():
        variables, session = session_with(("v", 7.0), ("w", 8.0))
        with session:
            path = tf.train.Checkpoint(**variables).save(tmp_path / "model")
    for quiet in (False, True):
        caplog.clear()
        root = tf.train.Checkpoint(v=tf.Variable(0.0))
        status = root.restore(path)
        if quiet:
            status.expect_partial()
        del status, root
        gc.collect()
        assert ("Unresolved object in checkpoint: (root).w" in caplog.text) is not quiet


def test_what_cannot_be_saved_is_said():
    with pytest.raises(ValueError, match="`Checkpoint` was expecting a trackable object"):
        tf.train.Checkpoint(v=3)

    class Not(AutoTrackable, NotTrackable):
        pass

    root = tf.train.Checkpoint(inner=Not())
    with pytest.raises(NotImplementedError, match="does not support object-based saving"):
        list_objects(root)
    one, other = tf.Variable(1.0), tf.Variable(2.0)
    thing = Trackable()
    thing._track_trackable(one, "name")
    with pytest.raises(ValueError, match=r"name='name', but a Trackable with this name is already declared"):
        thing._track_trackable(other, "name")
    with pytest.raises(TypeError, match="not a Trackable"):
        thing._track_trackable(3, "three")
    with pytest.raises(ValueError, match="If initializer is a constant, do not specify shape"):
        add_variable(thing, "shaped", shape=[2], initializer=[1.0, 2.0])
    made = add_variable(thing, "made", shape=[2])
    assert thing._lookup_dependency("made") is made and made.shape == (2,)


def test_lists():
    one, other = tf.Variable(1.0), tf.Variable(2.0)
    kept = data_structures.List([one])
    kept.append(other)
    kept += [one]
    assert [name for name, _ in kept._checkpoint_dependencies] == ["0", "1", "2"]
    assert (kept * 2)[4] is other and len([one] + kept) == 4 and len(kept + [other]) == 4
    assert kept.trainable_variables == [one, other, one] and kept != [one, other, one]
    with pytest.raises(ValueError, match=r"may be stored in a List object. Got 3, which does not inherit"):
        kept.append(3)
    with pytest.raises(ValueError, match="multiplying in place by 0 removes elements"):
        kept *= 0


def root_with(value):
    root = AutoTrackable()
    root.attribute = value
    return root


def test_a_list_as_an_attribute_is_a_list():
    one = tf.Variable(1.0)
    mine = [one, 3, {"a": [one]}]
    root = root_with(mine)
    kept = root.attribute
    assert isinstance(kept, list) and isinstance(kept[2], dict) and kept == [one, 3, {"a": [one]}]
    assert tf.nest.flatten(kept) == [one, 3, one]
    kept.append(4)
    assert list(kept) == mine == [one, 3, {"a": [one]}, 4] and sorted([2, *kept[3:]]) == [2, 4]
    assert [name for name, _ in kept._checkpoint_dependencies] == ["0", "2"]
    with pytest.raises(TypeError, match="unhashable type: 'ListWrapper'"):
        hash(kept)
    kept[1] = 5  # no variable: it may change
    assert len(kept._checkpoint_dependencies) == 2
    kept[0] = tf.Variable(2.0)
    with pytest.raises(ValueError, match="A list element was replaced"):
        list_objects(root)
    hidden = root_with(data_structures.NoDependency(mine))
    assert hidden.attribute is mine and len(list_objects(hidden)) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: kept.insert(0, 1),
        lambda kept: kept.sort(key=str),
        lambda kept: kept.pop(),
        lambda kept: kept.__delitem__(0),
        lambda kept: kept.__imul__(0),
        lambda kept: kept.__setitem__(slice(0, 1), []),
    ],
)
def test_changes_of_lists_that_cannot_be_saved(change):
    root = root_with([tf.Variable(1.0), 2])
    change(root.attribute)
    with pytest.raises(ValueError, match="Unable to save the object ListWrapper"):
        list_objects(root)


def test_changes_behind_the_back_are_found():
    mine = [tf.Variable(1.0)]
    root = root_with(mine)
    mine.append(3)
    with pytest.raises(ValueError, match="The wrapped list was modified outside the wrapper"):
        list_objects(root)
    named = {"v": tf.Variable(1.0)}
    root = root_with(named)
    named["w"] = 5
    with pytest.raises(ValueError, match="The wrapped dictionary was modified outside the wrapper"):
        list_objects(root)
    root = root_with({3: tf.Variable(1.0)})
    with pytest.raises(ValueError, match="contains a non-string key which maps to a trackable object"):
        list_objects(root)


def test_a_dict_as_an_attribute_is_a_dict():
    one = tf.Variable(1.0)
    root = root_with({"b": one, "a": [2], 3: "text"})
    kept = root.attribute
    assert isinstance(kept, dict) and kept == {"b": one, "a": [2], 3: "text"}
    assert {**kept, "c": 1}.keys() == {"a", "b", 3, "c"}
    assert tf.nest.flatten({"x": root_with({"y": 1}).attribute}) == [1]
    kept["c"] = tf.Variable(2.0)
    kept.update(d=5)
    del kept["d"]
    assert [name for name, _ in kept._checkpoint_dependencies] == ["b", "a", "c"]
    with pytest.raises(TypeError, match="unhashable type: 'DictWrapper'"):
        hash(kept)
    mapping = data_structures.Mapping(v=one)
    with pytest.raises(ValueError, match="Mappings are an append-only data structure"):
        mapping["v"] = tf.Variable(2.0)
    with pytest.raises(TypeError, match="Mapping accepts only string keys, but got a key 3"):
        mapping[3] = one
    assert len(identity.ObjectIdentitySet([kept, kept, {}])) == 2


def test_an_attribute_that_is_deleted_is_no_dependency():
    root = root_with(tf.Variable(1.0))
    del root.attribute
    assert root._checkpoint_dependencies == [] and not hasattr(root, "attribute")


def test_modules():
    class Line(tf.Module):
        def __init__(self, name=None):
            super().__init__(name=name)
            with self.name_scope:
                self.slope = tf.Variable(1.0, name="slope")
                self.fixed = tf.Variable(2.0, name="fixed", trainable=False)

        @tf.Module.with_name_scope
        def __call__(self, x):
            return tf.multiply(x, self.slope, name="times")

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.lines = [Line("a"), Line("b")]
            self.first = self.lines[0]

    net = Net()
    assert net.name == "net" and [one.name for one in net.submodules] == ["a", "b"]
    assert [v.name for v in net.variables] == ["a/fixed:0", "a/slope:0", "b/fixed:0", "b/slope:0"]
    assert [v.name for v in net.trainable_variables] == ["a/slope:0", "b/slope:0"]
    assert net.first(1.0).op.name == "a/times" and net.first(1.0).op.name == "a/times_1"
    with pytest.raises(ValueError, match="'2nd' is not a valid module name"):
        Line("2nd")
    paths = dict(net._flatten(predicate=lambda leaf: isinstance(leaf, tf.Module), with_path=True))
    assert list(paths) == [("first",), ("lines", 0), ("lines", 1)]


def test_the_manager_removes_and_keeps(tmp_path, monkeypatch):
    now = [10000.0]
    monkeypatch.setattr("gpuplace.tf1.saving.tracking.checkpoint_manager.time.time", lambda: now[0])
    root = tf.train.Checkpoint()

    def manager(**options):
        return tf.train.CheckpointManager(root, tmp_path, max_to_keep=2, **options)

    def there():
        return sorted(path.stem for path in tmp_path.iterdir() if path.suffix == ".index")

    with tf.Session():
        first = manager(keep_checkpoint_every_n_hours=1.0)
        assert first.latest_checkpoint is None and first.checkpoints == []
        for _ in range(4):
            now[0] += 1900.0
            latest = first.save()
        assert there() == ["ckpt-2", "ckpt-3", "ckpt-4"]  # the second is kept for good
        state = tf.train.get_checkpoint_state(tmp_path)
        assert list(state.all_model_checkpoint_timestamps) == [15700.0, 17600.0]
        assert state.last_preserved_timestamp == 13800.0
        second = manager()
        assert second.checkpoints == first.checkpoints and second.latest_checkpoint == latest
        now[0] += 1.0
        assert os.path.basename(second.save(checkpoint_number=tf.constant(77))) == "ckpt-77"
        assert there() == ["ckpt-2", "ckpt-4", "ckpt-77"]
        assert os.path.basename(second.save()) == "ckpt-6"
    with pytest.raises(ValueError, match="Expected a positive integer or `None`"):
        tf.train.CheckpointManager(root, tmp_path, max_to_keep=0)

"""`tf.train.Saver`: what it saves and restores, which checkpoints it keeps, and its errors."""

import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.files.checkpoints.bundle import Bundle
from gpuplace.saving.builder import BaseSaverBuilder
from gpuplace.saving.checkpoint_state import wait_for_new_checkpoint
from gpuplace.saving.saver import saver_or_default

ALL = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 bool complex64 complex128 string".split()


def value_of(name: str) -> np.ndarray:
    if name == "string":
        return np.array([[b"a", b"\x00\xff"], [b"", b"long" * 50]], object)
    return np.arange(6).reshape(3, 2).astype(name)


@pytest.fixture
def prefix(tmp_path):
    return str(tmp_path / "model")


def initialised():
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session


@pytest.mark.parametrize("version", [tf.train.SaverDef.V2, tf.train.SaverDef.V1], ids=["V2", "V1"])
@pytest.mark.parametrize("sharded", [False, True])
@pytest.mark.parametrize("is_resource", [False, True])
def test_all_element_types_come_back(prefix, version, sharded, is_resource):
    variables = [tf.Variable(value_of(name), name=name, use_resource=is_resource) for name in ALL]
    variables.append(tf.Variable(tf.cast([1.5, -2.5], tf.bfloat16), name="bfloat16"))
    if version == tf.train.SaverDef.V2:
        variables.append(tf.Variable(np.float32(2.5), name="scalar"))
    saver = tf.train.Saver(sharded=sharded, write_version=version)
    with initialised() as session:
        before = session.run(variables)
        path = saver.save(session, prefix)
    assert path == prefix + ("-?????-of-00001" if sharded and version == tf.train.SaverDef.V1 else "")
    with tf.Session() as session:
        saver.restore(session, path)
        for name, one, other in zip(ALL, before, session.run(variables)):
            assert one.dtype == other.dtype and one.tolist() == other.tolist(), name
    assert tf.train.latest_checkpoint(os.path.dirname(prefix)) == path


def test_names_of_a_dict_and_of_a_list(prefix):
    a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b", use_resource=True)
    with initialised() as session:
        tf.train.Saver({"first": a, "second": b}).save(session, prefix)
        tf.train.Saver([b]).save(session, prefix + "_list")
    assert tf.train.list_variables(prefix) == [("first", []), ("second", [])]
    assert tf.train.load_variable(prefix, "second:0") == 2.0
    assert tf.train.list_variables(prefix + "_list") == [("b", [])]


def test_slices_of_a_variable(prefix):
    slices = []
    for index in range(2):
        part = tf.Variable(np.full([2, 3], index + 1.0, np.float32), name=f"w/part_{index}")
        part._set_save_slice_info(tf.Variable.SaveSliceInfo("w", [4, 3], [2 * index, 0], [2, 3]))
        slices.append(part)
    saver = tf.train.Saver(slices)
    with initialised() as session:
        saver.save(session, prefix)
        session.run([part.assign(tf.zeros([2, 3])) for part in slices])
        saver.restore(session, prefix)
        assert [part[0].tolist() for part in session.run(slices)] == [[1, 1, 1], [2, 2, 2]]
    assert tf.train.load_variable(prefix, "w").tolist() == [[1] * 3] * 2 + [[2] * 3] * 2
    with tf.Graph().as_default(), tf.Session() as session:
        whole = tf.Variable(tf.zeros([4, 3]), name="w")
        tf.train.Saver([whole]).restore(session, prefix)
        assert session.run(whole)[:, 0].tolist() == [1, 1, 2, 2]
    with pytest.raises(ValueError, match="Slices must all be slices"):
        tf.train.Saver({"w": [*slices, tf.Variable(1.0)]})


def test_shards_are_by_device(prefix):
    with tf.device("/cpu:0"):
        a = tf.Variable([1.0], name="a")
    with tf.device("/gpu:0"):
        b = tf.Variable([2.0], name="b", use_resource=True)
    saver = tf.train.Saver(sharded=True)
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run([a.initializer, b.initializer])
        saver.save(session, prefix, write_meta_graph=False)
        session.run([a.assign([0.0]), b.assign([0.0])])
        saver.restore(session, prefix)
        assert [one.tolist() for one in session.run([a, b])] == [[1.0], [2.0]]
    folder = os.path.dirname(prefix)
    assert sorted(os.listdir(folder)) == [
        "checkpoint",
        "model.data-00000-of-00002",
        "model.data-00001-of-00002",
        "model.index",
    ]
    assert [Bundle(prefix).entry(name).shard_id for name in ("a", "b")] == [0, 1]


def test_only_the_last_checkpoints_stay(prefix):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=2)
    folder = os.path.dirname(prefix)
    with initialised() as session:
        paths = [saver.save(session, prefix, global_step=step) for step in range(4)]
        saver.save(session, prefix, global_step=2)
    assert saver.last_checkpoints == [paths[3], paths[2]]
    found = sorted(name for name in os.listdir(folder) if name.endswith((".index", ".meta")))
    assert found == ["model-2.index", "model-2.meta", "model-3.index", "model-3.meta"]
    state = tf.train.get_checkpoint_state(folder)
    assert list(state.all_model_checkpoint_paths) == [paths[3], paths[2]]
    assert state.model_checkpoint_path == paths[2] == tf.train.latest_checkpoint(folder)


@pytest.mark.parametrize("keep", [None, 0])
def test_all_checkpoints_stay(prefix, keep):
    tf.Variable(1.0)
    saver = tf.train.Saver(max_to_keep=keep)
    with initialised() as session:
        paths = [saver.save(session, prefix, global_step=step) for step in range(7)]
    assert all(tf.train.checkpoint_exists(path) for path in paths)
    assert saver.last_checkpoints == []
    state = tf.train.get_checkpoint_state(os.path.dirname(prefix))
    assert list(state.all_model_checkpoint_paths) == [paths[-1]]


def test_one_stays_every_so_many_hours(prefix, monkeypatch):
    tf.Variable(1.0)
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=1)
    with initialised() as session:
        paths = []
        for step in range(6):
            paths.append(saver.save(session, prefix, global_step=step))
            now[0] += 1500
    kept = [tf.train.checkpoint_exists(path) for path in paths]
    assert kept == [False, False, False, True, False, True]


def test_an_earlier_run_goes_on(prefix):
    tf.Variable(1.0)
    with initialised() as session:
        first = tf.train.Saver(max_to_keep=2)
        paths = [first.save(session, prefix, global_step=step) for step in range(2)]
        second = tf.train.Saver(max_to_keep=2)
        second.recover_last_checkpoints([*paths, prefix + "-9"])
        assert second.last_checkpoints == paths
        second.save(session, prefix, global_step=2)
    assert [tf.train.checkpoint_exists(path) for path in paths] == [False, True]
    times = tf.train.get_checkpoint_mtimes([*paths, prefix + "-2"])
    assert len(times) == 2 and all(abs(one - time.time()) < 1000 for one in times)


def test_names_of_steps(prefix):
    tf.Variable(1.0)
    step = tf.Variable(7, name="step", dtype=tf.int64)
    saver = tf.train.Saver(pad_step_number=True)
    with initialised() as session:
        assert saver.save(session, prefix, global_step=step).endswith("model-00000007")
        assert saver.save(session, prefix, global_step="step:0").endswith("model-00000007")
        assert saver.save(session, prefix, global_step=np.int32(12)).endswith("model-00000012")


def test_relative_paths_can_be_moved(tmp_path):
    tf.Variable(1.0)
    (tmp_path / "old").mkdir()
    saver = tf.train.Saver(save_relative_paths=True)
    with initialised() as session:
        saver.save(session, str(tmp_path / "old" / "model"))
    (tmp_path / "old").rename(tmp_path / "new")
    assert tf.train.latest_checkpoint(str(tmp_path / "new")) == str(tmp_path / "new" / "model")


def test_the_folder_one_is_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tf.Variable(1.0)
    saver = tf.train.Saver()
    with initialised() as session:
        assert saver.save(session, "model") == "model"
        assert saver.save(session, "./model", global_step=1) == "./model-1"
        os.mkdir("sub")
        saver.save(session, "sub/model")
        assert tf.train.latest_checkpoint("sub") == "sub/model"
        saver.restore(session, tf.train.latest_checkpoint("."))
    assert 'model_checkpoint_path: "model"' in (tmp_path / "sub" / "checkpoint").read_text()


def test_other_shapes(prefix):
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="v")
    with initialised() as session:
        tf.train.Saver().save(session, prefix)
    with tf.Graph().as_default(), tf.Session() as session:
        flat = tf.Variable(tf.zeros([4]), name="v")
        tf.train.Saver(reshape=True).restore(session, prefix)
        assert session.run(flat).tolist() == [1, 2, 3, 4]
        with pytest.raises(tf.errors.InvalidArgumentError, match="a mismatch between the current graph and"):
            tf.train.Saver().restore(session, prefix)
    assert v.shape == [2, 2]


def test_other_types(prefix):
    tf.Variable([1.0], name="v")
    with initialised() as session:
        tf.train.Saver().save(session, prefix)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable([1], name="v")
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            tf.train.Saver().restore(session, prefix)
    sentence = "tensor_name = v; expected dtype int32 does not equal original dtype float"
    assert caught.value.message.startswith(
        "Restoring from checkpoint failed. This is most likely due to a mis"
    )
    assert sentence in caught.value.message


def test_a_missing_variable(prefix):
    tf.Variable([1.0], name="v")
    with initialised() as session:
        tf.train.Saver().save(session, prefix)
        tf.Variable([1.0], name="w")
        with pytest.raises(tf.errors.NotFoundError) as caught:
            tf.train.Saver().restore(session, prefix)
    assert "a Variable name or other graph key that is missing from the checkpoint" in caught.value.message
    assert "Key w not found in checkpoint" in caught.value.message


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda v: tf.train.Saver([]), ValueError, "No variables to save"),
        (lambda v: tf.train.Saver([v], defer_build=True), ValueError, "build cannot be deferred"),
        (lambda v: tf.train.Saver(v), TypeError, "should be passed in a dict or a list"),
        (lambda v: tf.train.Saver([tf.constant(1.0)]), TypeError, "Variable to save is not a Variable"),
        (lambda v: tf.train.Saver({"c": tf.constant(1.0)}), TypeError, "Not a variable"),
        (lambda v: tf.train.Saver({1: v}), TypeError, "Name is not a string: 1"),
        (lambda v: tf.train.Saver([v, v]), ValueError, "At least two variables have the same name: v"),
        (lambda v: tf.train.Saver({"a": v, "b": v}), ValueError, "will be restored with two names: b"),
        (lambda v: tf.train.Saver(saver_def=tf.train.SaverDef()), ValueError, "save_tensor_name"),
        (lambda v: tf.train.Saver(saver_def=3), ValueError, "saver_def must be a saver_pb2.SaverDef"),
    ],
)
def test_what_cannot_be_saved(make, error, text):
    v = tf.Variable(1.0, name="v")
    with pytest.raises(error, match=re.escape(text)):
        make(v)


def test_what_cannot_be_saved_to(tmp_path):
    tf.Variable(1.0)
    saver, prefix = tf.train.Saver(), str(tmp_path / "model")
    with initialised() as session:
        with pytest.raises(ValueError, match=r"Parent directory of .*b/model doesn't exist, can't save\."):
            saver.save(session, str(tmp_path / "a" / "b" / "model"))
        with pytest.raises(ValueError, match="must not contain path components"):
            saver.save(session, prefix, latest_filename="a/checkpoint")
        with pytest.raises(ValueError, match="'latest_filename' collides with 'save_path'"):
            saver.save(session, str(tmp_path / "checkpoint"))
        with pytest.raises(TypeError, match="'sess' must be a Session"):
            saver.save(None, prefix)
        with pytest.raises(RuntimeError, match=r"`build\(\)` should be called before save"):
            tf.train.Saver(defer_build=True).save(session, prefix)
    with tf.Session() as session, pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"):
        saver.save(session, prefix)
    assert os.listdir(tmp_path) == []


def test_a_graph_without_variables(prefix):
    saver = tf.train.Saver(allow_empty=True)
    tf.constant(1.0)
    with tf.Session() as session:
        assert saver.save(session, prefix) is None
        saver.restore(session, None)
    assert os.listdir(os.path.dirname(prefix)) == ["model.meta"]


def test_as_a_message(prefix):
    v = tf.Variable(1.0, name="v")
    with tf.name_scope("outer"):
        saver = tf.train.Saver(max_to_keep=3, sharded=True)
    found = saver.to_proto("outer")
    assert saver.as_saver_def().save_tensor_name == "outer/save/Identity:0"
    assert found.save_tensor_name == "save/Identity:0" and found.restore_op_name == "save/restore_all"
    assert saver.to_proto("other") is None and saver.to_proto() is saver.saver_def
    again = tf.train.Saver.from_proto(found, import_scope="outer")
    assert again.saver_def == saver.saver_def and again.saver_def.max_to_keep == 3
    with initialised() as session:
        again.save(session, prefix)
        session.run(v.assign(5.0))
        again.restore(session, prefix)
        assert session.run(v) == 1.0


def test_a_builder_of_ones_own(prefix):
    class Doubling(BaseSaverBuilder):
        def restore_op(self, filename_tensor, saveable, preferred_shard):
            return [tensor * 2.0 for tensor in super().restore_op(filename_tensor, saveable, preferred_shard)]

    v = tf.Variable(3.0, name="v")
    saver = tf.train.Saver(builder=Doubling())
    with initialised() as session:
        saver.save(session, prefix)
        saver.restore(session, prefix)
        assert session.run(v) == 6.0


def test_the_saver_of_a_graph():
    tf.Variable(1.0)
    saver = saver_or_default()
    assert saver_or_default() is saver and saver.saver_def.sharded
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item in collection savers"):
        saver_or_default()


def test_the_name_that_a_graph_says(prefix):
    v = tf.Variable(4.0)
    saver = tf.train.Saver(filename=prefix)
    with initialised() as session:
        assert session.run(saver.saver_def.save_tensor_name) == prefix.encode()
        session.run(v.assign(0.0))
        session.run(saver.saver_def.restore_op_name)
        assert session.run(v) == 4.0


def test_the_state_file(tmp_path, caplog):
    folder = str(tmp_path)
    assert tf.train.get_checkpoint_state(folder) is None and tf.train.latest_checkpoint(folder) is None
    tf.train.update_checkpoint_state(folder, "b", ["a", "b"])
    state = tf.train.get_checkpoint_state(folder)
    assert state.model_checkpoint_path == os.path.join(folder, "b")
    assert [os.path.basename(path) for path in state.all_model_checkpoint_paths] == ["a", "b"]
    assert tf.train.latest_checkpoint(folder) is None
    assert "Couldn't match files for checkpoint" in caplog.text
    made = tf.train.generate_checkpoint_state_proto("rel", "rel/c", ["rel/a"], [1.0, 2.0], 1.5)
    assert list(made.all_model_checkpoint_paths) == ["a", "c"] and made.last_preserved_timestamp == 1.5
    with pytest.raises(ValueError, match="Checkpoint timestamps, if provided, must match"):
        tf.train.generate_checkpoint_state_proto("", "a", ["a"], [1.0, 2.0])
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        tf.train.update_checkpoint_state(folder, os.path.join(folder, "checkpoint"))
    (tmp_path / "checkpoint").write_text("nonsense {")
    assert tf.train.get_checkpoint_state(folder) is None and "Checkpoint ignored" in caplog.text
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state loaded from"):
        tf.train.get_checkpoint_state(folder)


def test_a_checkpoint_is_removed(prefix):
    tf.Variable(1.0)
    with initialised() as session:
        path = tf.train.Saver().save(session, prefix, global_step=1)
    tf.train.remove_checkpoint(path)
    assert os.listdir(os.path.dirname(prefix)) == ["checkpoint"] and not tf.train.checkpoint_exists(path)


def test_errors_name_the_operation_and_the_file(prefix):
    v = tf.Variable([1.0] * 1000, name="v")
    saver = tf.train.Saver()
    with initialised() as session:
        path = saver.save(session, prefix)
        data = path + ".data-00000-of-00001"
        with open(data, "r+b") as file:
            file.seek(100)
            file.write(b"\xff\xff\xff\xff")
        with pytest.raises(tf.errors.DataLossError, match="Checksum does not match") as caught:
            saver.restore(session, path)
        assert data in str(caught.value)
        os.truncate(data, 100)
        with pytest.raises(tf.errors.OutOfRangeError, match="Read less bytes than requested"):
            saver.restore(session, path)
        os.remove(data)
        with pytest.raises(tf.errors.NotFoundError, match="No such file or directory"):
            saver.restore(session, path)
        assert session.run(v)[0] == 1.0


def test_killed_while_saving(tmp_path):
    """Whenever a process is killed, the checkpoint that the state file names is whole, and of one step."""
    program = tmp_path / "saves.py"
    program.write_text(
        "import sys\n"
        "import gpuplace as tf\n"
        "v = tf.Variable(tf.zeros([200000]), name='v')\n"
        "value = tf.placeholder(tf.float32, [])\n"
        "fill = v.assign(tf.fill([200000], value))\n"
        "saver = tf.train.Saver(max_to_keep=2)\n"
        "with tf.Session() as session:\n"
        "    for number in range(100000):\n"
        "        session.run(fill.op, {value: number})\n"
        "        saver.save(session, sys.argv[1], global_step=number, write_meta_graph=False)\n"
        "        print(number, flush=True)\n"
    )
    for attempt in range(2):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        process = subprocess.Popen(
            [sys.executable, str(program), str(folder / "model")], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3):
            process.stdout.readline()
        time.sleep(0.005 * attempt)
        process.kill()
        process.communicate()
        path = tf.train.latest_checkpoint(str(folder))
        values = tf.train.load_variable(path, "v")
        assert len(set(values.tolist())) == 1 and path.endswith(f"-{int(values[0])}")
        assert int(values[0]) >= 2


def test_an_interrupted_save_leaves_the_old_checkpoint(prefix, monkeypatch):
    """Under the same name: the disk is full while the new files are written."""
    v = tf.Variable([1.0, 2.0])
    saver = tf.train.Saver()
    with initialised() as session:
        saver.save(session, prefix)
        session.run(v.assign([5.0, 6.0]))
        files = sorted(os.listdir(os.path.dirname(prefix)))

        def full(descriptor):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="No space left on device"):
            saver.save(session, prefix)
        monkeypatch.undo()
        assert sorted(os.listdir(os.path.dirname(prefix))) == files
        saver.restore(session, prefix)
        assert session.run(v).tolist() == [1.0, 2.0]


def test_checkpoints_as_they_are_written(prefix):
    tf.Variable(1.0)
    folder, saver = os.path.dirname(prefix), tf.train.Saver()
    assert list(tf.train.checkpoints_iterator(folder, timeout=0)) == []
    ends = iter([False, True])
    with initialised() as session:
        first = saver.save(session, prefix, global_step=1)
        found = []
        for path in tf.train.checkpoints_iterator(folder, timeout=0, timeout_fn=lambda: next(ends)):
            found.append(path)
            if len(found) == 1:
                second = saver.save(session, prefix, global_step=2)
    assert found == [first, second]
    assert wait_for_new_checkpoint(folder, first, timeout=0) == second
    assert wait_for_new_checkpoint(folder, second, seconds_to_sleep=0.01, timeout=0.05) is None

"""A block that leaves no trace in the process's state."""

import os

import pytest

import gpuplace as tf
from gpuplace.runtime.session.fresh_process import fresh_process


def test_everything_comes_back(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    tf.use_machine("4x Tesla K20m")
    graph = tf.get_default_graph()
    with tf.Session() as session:
        session.run(tf.constant(1.0))
        before = session.list_devices()
        with fresh_process("2x Tesla K40c", environ={"CUDA_VISIBLE_DEVICES": "0,1"}):
            assert tf.get_default_session() is None
            assert len(tf.Session(config=tf.ConfigProto(allow_soft_placement=True)).list_devices()) == 3
            tf.set_release("1.0")
            os.environ["GPUPLACE_MACHINE"] = "cpu"
        assert tf.get_default_session() is session and tf.get_default_graph() is graph
        assert [d.name for d in tf.Session().list_devices()] == [d.name for d in before]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "1" and "GPUPLACE_MACHINE" not in os.environ
    assert tf.get_release() == "1.15"


def test_the_first_session_wins_anew_inside():
    tf.use_machine("2x Tesla K40c")
    tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="1")))
    with fresh_process():
        tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="0")))
    with pytest.raises(tf.errors.AlreadyExistsError):
        tf.Session(config=tf.ConfigProto(gpu_options=tf.GPUOptions(visible_device_list="0")))


def test_errors_and_wrong_arguments():
    with pytest.raises(KeyError), fresh_process("cpu"):
        tf.get_default_graph().as_default().__enter__()
        raise KeyError
    assert not tf.get_default_graph().get_operations() and tf.get_default_session() is None
    with pytest.raises(ValueError, match="Unknown release"), fresh_process(release="0.1"):
        pass
    with pytest.raises(tf.errors.InvalidArgumentError), fresh_process("9x Nothing"):
        pass
    assert tf.get_release() == "1.15"

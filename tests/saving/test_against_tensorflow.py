"""What is saved here is loaded by TensorFlow 2.21, if that is installed, and its savers build the same graphs.

With `GPUPLACE_ORACLE_PYTHON` TensorFlow is that of another interpreter, of 1.15.5 for example.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gpuplace as tf
from gpuplace.files.checkpoints.bundle import Bundle, write_bundle
from gpuplace.files.checkpoints.bundle import SavedTensor as Saved
from gpuplace.files.checkpoints.reader import open_checkpoint
from gpuplace.ops.tracking.base import OBJECT_GRAPH_PROTO_KEY
from tests.saving.saver_graphs import PROGRAMS, rows
from tests.saving.test_meta_graph import loops_and_branches
from tests.support.saved_files import array, same, unpack
from tests.tf1.saving import object_programs

ORACLE = Path(__file__).parents[1] / "oracle"
PYTHON = os.environ.get("GPUPLACE_ORACLE_PYTHON", "")

pytestmark = [] if PYTHON else [pytest.mark.oracle]


def ask(script: Path, *arguments: str):
    if not PYTHON:
        pytest.importorskip("tensorflow")
    environment = {key: value for key, value in os.environ.items() if not PYTHON or key != "PYTHONPATH"}
    command = [PYTHON or sys.executable, str(script), *arguments]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def test_tensorflow_loads_what_is_saved_here(tmp_path):
    folder = unpack("1.15", tmp_path / "theirs")
    out = tmp_path / "ours"
    out.mkdir()
    source = Bundle(str(folder / "all"))
    write_bundle(str(out / "all"), [Saved(n, source.read(n), source.dtype(n)) for n in source.names()])
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        with tf.device("/gpu:0"):
            a = tf.Variable(np.arange(6.0).reshape(2, 3), name="a")
        b = tf.Variable(["text", ""], name="b")
        c = tf.Variable(np.arange(4, dtype=np.float16), name="c", use_resource=True)
        session.run(tf.global_variables_initializer())
        tf.train.Saver(sharded=True).save(session, str(out / "sharded"))
        tf.train.Saver([a, b, c], write_version=tf.train.SaverDef.V1).save(session, str(out / "one"))
    with tf.Graph().as_default(), tf.Session() as session:
        loops_and_branches()
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        saver.save(session, str(out / "model"))
    with tf.Graph().as_default(), tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.device("/gpu:1"):
            w = tf.Variable([[1.0], [2.0]], name="w", use_resource=True)
        session.run(w.initializer)
        tf.saved_model.simple_save(session, str(out / "export"), {"x": x}, {"y": tf.matmul(x, w)})

    found = ask(ORACLE / "load_saved.py", str(out))
    for name in ("all", "sharded", "one"):
        ours = open_checkpoint(str(out / name))
        assert sorted(found[name]) == sorted(ours.names())
        for key, row in found[name].items():
            assert same(ours.read(key), array(*row)), (name, key)
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x, v = loops_and_branches()
        fetches = [*tf.get_collection("out"), *tf.gradients(tf.get_collection("out"), [x])]
        session.run(v.initializer)
        expected = [[float(one) for one in session.run(fetches, {x: value})] for value in (0.5, 3.0)]
        assert graph is tf.get_default_graph()
    assert found["meta "] == found["meta there/"] == expected
    assert found["export"] == [[21.0]]


def test_tensorflow_restores_objects_saved_here_and_saves_the_same(tmp_path):
    object_programs.write(tf, tmp_path)
    assert ask(Path(object_programs.__file__), str(tmp_path)) == "restored"
    names = {path.name.split(".")[0] for path in (tmp_path / "again").iterdir()}
    assert len(names) >= len(object_programs.PROGRAMS) - 2
    for name in names:
        ours, theirs = (
            open_checkpoint(str(tmp_path / f"{name}-1")),
            open_checkpoint(str(tmp_path / "again" / name)),
        )
        assert ours.names() == theirs.names()
        for key in set(ours.names()) - {OBJECT_GRAPH_PROTO_KEY}:  # 2.21 says more of objects
            assert same(theirs.read(key), ours.read(key)), (name, key)


DIFFER_IN_2_21 = {"sharded"}
"""Savers whose names of temporary files are made by other operations in 2.21."""


def test_savers_build_the_graphs_of_tensorflow():
    theirs = ask(Path(__file__).with_name("saver_graphs.py"))
    nodes = 0
    for name, program in PROGRAMS.items():
        if theirs["version"].startswith("2.") and name in DIFFER_IN_2_21:
            continue
        with tf.Graph().as_default() as graph:
            program(tf)
        found = rows(graph.as_graph_def())
        assert json.loads(json.dumps(found)) == theirs[name], name
        nodes += len(found)
    assert nodes > 600

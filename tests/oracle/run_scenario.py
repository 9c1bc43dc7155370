"""Runs scripts of ``tests/scenarios/scripts`` as TensorFlow runs them: what they print and the graphs they build.

    python tests/oracle/run_scenario.py SCRIPT ... > answers.json

in an environment with TensorFlow 1.15.5 (Python 3.7) or 2.21, whose ``compat.v1`` with version 2 behaviour off then is
what ``import tensorflow`` gives. One JSON object: script -> ``{"text", "graphs", "graph_defs"}``, each script in a
process of its own; an exception that a script does not catch ends the recording.

    python tests/oracle/run_scenario.py --task SCRIPT ARGUMENT ...

runs one process of a program of ``tests/scenarios/cluster_scripts``, whose sessions log where nodes go (to stderr).
"""

import base64
import contextlib
import io
import json
import os
import runpy
import subprocess
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"


def node_rows(graph_def):
    """Name, op type, inputs, device and colocation of each node; control inputs sorted."""
    rows = []
    for node in graph_def.node:
        data = [name for name in node.input if not name.startswith("^")]
        controls = sorted(name for name in node.input if name.startswith("^"))
        groups = [value.decode() for value in node.attr["_class"].list.s] if "_class" in node.attr else []
        rows.append([node.name, node.op, data + controls, node.device, groups])
    return rows


def log_placements(tf):
    """Has all sessions log where nodes go."""
    base = tf.Session.__mro__[1]
    made = base.__init__

    def make(self, target="", graph=None, config=None):
        own = tf.ConfigProto()
        if config is not None:
            own.CopyFrom(config)
        own.log_device_placement = True
        made(self, target, graph, own)

    base.__init__ = make


def run(path, arguments=(), is_task=False):
    """Answers for one script."""
    import tensorflow as tf

    if tf.__version__.startswith("2."):
        tf = tf.compat.v1
        tf.disable_v2_behavior()
        sys.modules["tensorflow"] = sys.modules["tensorflow.compat.v1"] = tf
    if is_task:
        log_placements(tf)
    graphs = []
    made = tf.Graph.__init__

    def remember(self, *args, **kwargs):
        made(self, *args, **kwargs)
        if type(self) is tf.Graph:
            graphs.append(self)

    tf.Graph.__init__ = remember
    out = io.StringIO()
    sys.argv = [path] + list(arguments)
    with contextlib.redirect_stdout(out):
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as leaving:
            if leaving.code:
                raise
    defs = [graph.as_graph_def() for graph in graphs]
    defs = [graph_def for graph_def in defs if graph_def.node]
    return {
        "text": out.getvalue(),
        "graphs": [node_rows(graph_def) for graph_def in defs],
        "graph_defs": [base64.b64encode(graph_def.SerializeToString()).decode() for graph_def in defs],
    }


def main(paths):
    if paths[:1] in (["--one"], ["--task"]):
        answer = run(paths[1], paths[2:], paths[0] == "--task")
        sys.__stdout__.write("\n" + json.dumps(answer) + "\n")
        return
    answers = {}
    for path in paths:
        done = subprocess.run(
            [sys.executable, __file__, "--one", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        name = os.path.splitext(os.path.basename(path))[0]
        if done.returncode:
            sys.exit("%s failed:\n%s" % (name, done.stderr.decode()))
        answers[name] = json.loads(done.stdout.decode().splitlines()[-1])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])

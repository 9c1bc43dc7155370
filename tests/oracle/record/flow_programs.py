"""Records what TensorFlow 1.15.5 builds for ``tests/tf1/functions/flow_programs.py``, computes and places.

usage, with Python 3.7 and TensorFlow 1.15.5 (with GPU kernels), from the root of the project:
    python tests/oracle/record/flow_programs.py

Writes ``tests/tf1/data/flow-programs-1.15.json.gz``: program -> its graph with the functions, the values of what it
fetches, and for each machine (number of GPUs) the device of each node of the graph that the placer sees.
"""

import gzip
import importlib.util
import json
import os
import sys

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOCAL = "/job:localhost/replica:0/task:0/device:"
GPUS = (0, 2)


def loaded(*path):
    """A module of the tests, by its file."""
    name = path[-1].split(".")[0]
    spec = importlib.util.spec_from_file_location(name, os.path.join(TESTS, *path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def recorded(tf, program, described, oracle):
    with tf.Graph().as_default() as graph:
        fetches = program(tf)
        graph_def = graph.as_graph_def()
        initialize = tf.compat.v1.global_variables_initializer()
        with tf.compat.v1.Session(config=tf.compat.v1.ConfigProto(allow_soft_placement=True)) as session:
            session.run(initialize)
            values = session.run(fetches)
    placed = {}
    for gpus in GPUS:
        devices = [LOCAL + "CPU:0"] + [LOCAL + "GPU:%d" % i for i in range(gpus)]
        answer = oracle.ask(graph_def.SerializeToString(), devices, soft=True)
        placed[gpus] = {node: devices.index(device) for node, device in answer.items()}
    return {
        "graph": described(graph_def),
        "values": [None if value is None else [str(value.dtype), value.tolist()] for value in values],
        "placed": placed,
    }


def main():
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    programs = loaded("tf1", "functions", "flow_programs.py").PROGRAMS
    described = loaded("tf1", "functions", "described.py").described
    oracle = loaded("oracle", "tensorflow_placer_1_15.py").Oracle(sys.executable)
    found = {name: recorded(tf, program, described, oracle) for name, program in programs.items()}
    oracle.close()
    with open(os.path.join(TESTS, "tf1", "data", "flow-programs-1.15.json.gz"), "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            file.write(json.dumps(found, separators=(",", ":"), sort_keys=True).encode())
    print({name: [len(one["values"]), len(one["placed"][2])] for name, one in found.items()})


if __name__ == "__main__":
    main()

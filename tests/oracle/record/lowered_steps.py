"""Records steps of ``tests/runtime/session/lowered_programs.py`` in TensorFlow: what they log, run and answer.

usage, with Python 3.7 and TensorFlow 1.15.5, then with TensorFlow 2.21, from the root of the project:
    python tests/oracle/record/lowered_steps.py

Writes ``tests/runtime/session/data/lowered-steps.json.gz``: program -> its graph as 1.15.5 builds it, and for each
release its steps in their order. Nothing is optimized: nodes are those that were placed.
"""

import base64
import collections
import gzip
import importlib.util
import json
import os
import re
import tempfile

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "0"

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.path.join(TESTS, "session", "data", "lowered-steps.json.gz")
LINE = re.compile(
    r"(?:^|\] )([^\s:]+): \((\w+)\): (/job:localhost/replica:0/task:0/device:\w+:\d+)$", re.MULTILINE
)


def programs():
    path = os.path.join(TESTS, "session", "lowered_programs.py")
    spec = importlib.util.spec_from_file_location("lowered_programs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.PROGRAMS


class Logged:
    """What C++ writes to standard error and output meanwhile, placements to both."""

    def __enter__(self):
        self.file = tempfile.TemporaryFile()
        self.kept = [(number, os.dup(number)) for number in (1, 2)]
        for number in (1, 2):
            os.dup2(self.file.fileno(), number)
        return self

    def __exit__(self, *error):
        for number, kept in self.kept:
            os.dup2(kept, number)
            os.close(kept)
        self.file.seek(0)
        self.text = self.file.read().decode(errors="replace")


def plain(value):
    return None if value is None else value.tolist()


def steps_of(tf, graph_def, steps):
    found = []
    with tf.Graph().as_default():
        tf.compat.v1.import_graph_def(graph_def, name="")
        sessions = {}
        for name, fetches, feeds, mode in steps:
            if mode not in sessions:
                config = tf.compat.v1.ConfigProto(
                    log_device_placement=True, allow_soft_placement=mode == "soft"
                )
                config.graph_options.place_pruned_graph = mode == "pruned"
                config.graph_options.rewrite_options.disable_meta_optimizer = True
                config.graph_options.optimizer_options.opt_level = -1
                sessions[mode] = tf.compat.v1.Session(config=config)
            metadata = tf.compat.v1.RunMetadata()
            answer = {"name": name}
            with Logged() as logged:
                try:
                    options = tf.compat.v1.RunOptions(trace_level=3)
                    values = sessions[mode].run(fetches, feeds, options, metadata)
                    answer["values"] = [plain(value) for value in values]
                except tf.errors.OpError as error:
                    answer["error"] = [
                        type(error).__name__,
                        error.message.split("\n\nOriginal stack trace")[0],
                    ]
                    answer["op"] = None if error.op is None else error.op.name
            answer["log"] = [list(line) for line in dict.fromkeys(LINE.findall(logged.text))]
            answer["ran"] = {
                one.device: dict(
                    sorted(collections.Counter(node.node_name for node in one.node_stats).items())
                )
                for one in metadata.step_stats.dev_stats
            }
            found.append(answer)
    return found


def main():
    import tensorflow as tf

    tf.compat.v1.logging.set_verbosity("ERROR")
    release = "1.15" if tf.__version__.startswith("1.15") else "2.21"
    recorded = {}
    if release == "1.15":
        tf.compat.v1.enable_control_flow_v2()
        for name, program in programs().items():
            with tf.Graph().as_default() as graph:
                steps = program(tf)
                text = base64.b64encode(graph.as_graph_def().SerializeToString()).decode()
            recorded[name] = {"graph": text, "steps": steps, "answers": {}}
    else:
        tf.compat.v1.disable_eager_execution()
        with gzip.open(TARGET) as file:
            recorded = json.loads(file.read().decode())
    for name, one in recorded.items():
        graph_def = tf.compat.v1.GraphDef.FromString(base64.b64decode(one["graph"]))
        one["answers"][release] = steps_of(tf, graph_def, one["steps"])
        print(name, [answer.get("values", answer.get("error")) for answer in one["answers"][release]])
    with open(TARGET, "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            file.write(json.dumps(recorded, separators=(",", ":"), sort_keys=True).encode())


if __name__ == "__main__":
    main()

"""Records what TensorFlow 1.15.5's profiler says: tests/tf1/profiling/data/profiler-1.15.json.gz.

usage, with Python 3.7 and TensorFlow 1.15.5, from the root of the project:
    python tests/oracle/record/profiler.py

`flops`: case of `tests/tf1/profiling/flop_cases.py` -> the number, or the error. `profiles`: program, step or none,
command and options of `tests/tf1/profiling/programs.py` -> what is printed, and the message. `advice`, `steps`: of a
`Profiler`.
"""

import gzip
import json
import os
import sys
import tempfile
from functools import partial

os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def printed(call):
    """What a call prints from C++, and what it returns."""
    sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            found = call()
        finally:
            sys.stdout.flush()
            os.dup2(kept, 1)
            os.close(kept)
        file.seek(0)
        return file.read().decode(), found


def profiles(tf, programs):
    """Every program with every command and every options, the perceptron with a step too."""
    profiler, found = tf.profiler, {}
    for name, build in programs.PROGRAMS.items():
        for measured in (False, True) if name == "perceptron" else (False,):
            for cmd in ("scope", "graph", "op"):
                for asked, options in programs.options(profiler.ProfileOptionBuilder).items():
                    with tf.Graph().as_default() as graph:
                        build(tf)
                        step = programs.step(tf) if measured else None
                        text, message = printed(partial(profiler.profile, graph, step, None, cmd, options))
                    key = ", ".join((name, "step" if measured else "none", cmd, asked))
                    found[key] = [text, programs.plain(message)]
    return found


def advice(tf, programs):
    """What a profiler of two steps prints and advises."""
    with tf.Graph().as_default() as graph:
        programs.perceptron(tf)
        options = tf.profiler.ProfileOptionBuilder.time_and_memory()

        def run():
            profiler = tf.profiler.Profiler(graph)
            profiler.add_step(2, programs.step(tf))
            step = programs.step(tf)
            step.step_stats.dev_stats[0].node_stats[0].op_end_rel_micros = 18
            profiler.add_step(5, step)
            profiler.profile_operations(options)
            profiler.profile_name_scope(dict(options, step=5))
            checks = ("AcceleratorUtilizationChecker", "OperationChecker")
            return programs.plain(profiler.advise({name: {} for name in checks}))

        return printed(run)


def main():
    import tensorflow as tf
    from tensorflow.python.framework import ops
    from tensorflow.python.profiler import tfprof_logger  # noqa: F401  (registers the statistics)

    tf.compat.v1.logging.set_verbosity("ERROR")
    sys.path.insert(0, os.path.dirname(TESTS))
    from tests.tf1.profiling import flop_cases, programs

    def statistics(graph, node):
        return ops.get_stats_for_node_def(graph, node, "flops").value

    found = {
        "flops": {
            name: flop_cases.counted(tf, build, statistics) for name, build in flop_cases.cases().items()
        },
        "profiles": profiles(tf, programs),
        "advice": advice(tf, programs),
    }
    print(len(found["flops"]), "counts,", len(found["profiles"]), "profiles")
    with open(os.path.join(TESTS, "tf1", "profiling", "data", "profiler-1.15.json.gz"), "wb") as raw:
        with gzip.GzipFile(fileobj=raw, mode="wb", mtime=0) as file:
            file.write(json.dumps(found, separators=(",", ":"), sort_keys=True).encode())


if __name__ == "__main__":
    main()

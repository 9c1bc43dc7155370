"""Writes the graphs of all programs: `python -m tests.oracle.corpus FOLDER [--functions]`.

For every program that the installed TensorFlow can build there is `FOLDER/NAME.pb` (a GraphDef) or
`FOLDER/NAME/saved_model.pb`; 2.21 (through `compat.v1`, in graph mode) and 1.15.5 (Python 3.7) are meant. With
`--functions` the programs are `FUNCTION_PROGRAMS` and `EAGER_PROGRAMS`: control flow v2 and functions, which
TensorFlow rewrites before it places them.
"""

from __future__ import annotations

import os
import shutil
import sys

import tensorflow

from tests.oracle.corpus.programs import EAGER_PROGRAMS, FUNCTION_PROGRAMS, PROGRAMS, tf


def write(folder, name, build):
    """Builds one program and writes what it made."""
    with tf.Graph().as_default() as graph:
        made = build()
    target = os.path.join(folder, name)
    if isinstance(made, str):
        keep_model(made, target)
        return
    message = graph.as_graph_def() if made is None or not hasattr(made, "node") else made
    with open(target + ".pb", "wb") as file:
        file.write(message.SerializeToString(deterministic=True))


def keep_model(made, target):
    """Keeps the graph of a SavedModel, and nothing else of it."""
    os.makedirs(target)
    shutil.copy(os.path.join(made, "saved_model.pb"), target)
    shutil.rmtree(os.path.dirname(made))


def main(folder, functions=""):
    """Writes all programs that this TensorFlow can build, and says which it cannot."""
    from tests.oracle.corpus import (  # noqa: F401
        control_flow,
        convolutional,
        devices,
        files,
        inputs,
        modules,
        optimizers,
        others,
        recurrent,
        text,
    )
    from tests.oracle.corpus import functions as _  # noqa: F401

    os.makedirs(folder, exist_ok=True)
    chosen = FUNCTION_PROGRAMS if functions else PROGRAMS
    failed, count = {}, 0
    if functions and tensorflow.__version__.startswith("2"):
        for name, build in EAGER_PROGRAMS.items():
            keep_model(build(), os.path.join(folder, name))
            count += 1
    tf.disable_v2_behavior()
    tf.logging.set_verbosity("ERROR")
    for name, build in chosen.items():
        try:
            write(folder, name, build)
            count += 1
        except (AttributeError, LookupError, TypeError, ValueError, NotImplementedError) as error:
            failed[name] = "%s: %s" % (type(error).__name__, str(error).split("\n")[0])
    print("%d graphs written by TensorFlow %s" % (count, tensorflow.__version__))
    for name, reason in failed.items():
        print("  cannot build %s: %s" % (name, reason))


if __name__ == "__main__":
    main(*sys.argv[1:])

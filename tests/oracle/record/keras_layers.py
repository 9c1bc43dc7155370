"""Records the graphs of Keras applications, and the layers that Keras names, for ``tests/model/structure``.

    python tests/oracle/record/keras_layers.py FOLDER

reads what ``tests/oracle/keras_layers.py FOLDER`` wrote with TensorFlow 2.21, and writes
``tests/data/keras_layers.json.xz``: for each model its layers, and the nodes and edges of its inlined graph.
"""

import json
import lzma
import os
import sys

import gpuplace as tf
from gpuplace.views.tables.placement_view import view_of

TARGET = os.path.join(os.path.dirname(__file__), "..", "..", "data", "keras_layers.json.xz")


def columns(path):
    """The graph that a model serves, as columns for JSON."""
    view = view_of(tf.place(path, "1x Tesla V100", tf.ConfigProto(allow_soft_placement=True)))
    return {
        "names": list(view.names),
        "op_types": list(view.op_types),
        "op_type": view.op_type.tolist(),
        "edges": [column.tolist() for column in (view.src, view.src_output, view.dst, view.dst_input)],
    }


def main():
    """Record all models of a folder."""
    (folder,) = sys.argv[1:]
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name, "layers.json"), encoding="utf-8") as file:
            found[name] = {"layers": json.load(file)} | columns(os.path.join(folder, name))
        print(name, len(found[name]["names"]), flush=True)
    with lzma.open(TARGET, "wt", preset=9, encoding="utf-8") as file:
        json.dump(found, file, separators=(",", ":"))


if __name__ == "__main__":
    main()

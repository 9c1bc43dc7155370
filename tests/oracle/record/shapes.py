"""Records the shapes that TensorFlow's C++ functions infer for the graphs of the corpus, and for ops one by one.

    PYTHONPATH=. python tests/oracle/record/shapes.py    (needs the `oracle` extra)

The graphs are imported without the shapes that their program knew (`_output_shapes`); those with placeholders of
unknown sizes once more with 3 in their place (`fed`), where `flops` is what TensorFlow's profiler counts for products
and convolutions. Writes `tests/data/shapes.json.xz`: archive -> graph -> node -> shapes, and `ops`, a GraphDef in base
64 whose nodes are ops that gpuplace does not compute, with its shapes.
"""

from __future__ import annotations

import base64
import io
import json
import lzma
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow.compat.v1 as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.framework import ops

from tests.oracle.record.uncomputed_ops import cases

DATA = Path(__file__).resolve().parents[2] / "data"
ARCHIVES = ("corpus-1.15", "corpus-2.21", "functions-1.15", "functions-2.21")
FED = 3
COUNTED = (
    "MatMul",
    "Conv2D",
    "Conv2DBackpropFilter",
    "Conv2DBackpropInput",
    "DepthwiseConv2dNative",
    "BatchMatMulV2",
)


def graphs_in(archive: str) -> dict[str, Any]:
    """The GraphDefs of an archive by name."""
    found = {}
    with tarfile.open(
        fileobj=io.BytesIO(lzma.decompress((DATA / f"{archive}.tar.xz").read_bytes()))
    ) as files:
        for member in files.getmembers():
            if not member.name.endswith(".pb"):
                continue
            data = files.extractfile(member).read()
            if member.name.endswith("saved_model.pb"):
                found[member.name] = saved_model_pb2.SavedModel.FromString(data).meta_graphs[0].graph_def
            else:
                found[member.name] = tf.GraphDef.FromString(data)
    return found


def without_shapes(graph_def: Any) -> Any:
    """The graph as a program writes it that keeps no shapes."""
    for node in graph_def.node:
        if "_output_shapes" in node.attr:
            del node.attr["_output_shapes"]
    return graph_def


def feed(graph_def: Any) -> dict[str, list[int]]:
    """Puts 3 in the place of unknown sizes of placeholders; their shapes."""
    fed = {}
    for node in graph_def.node:
        if node.op != "Placeholder" or "shape" not in node.attr or node.attr["shape"].shape.unknown_rank:
            continue
        sizes = node.attr["shape"].shape.dim
        if any(size.size < 0 for size in sizes):
            for size in sizes:
                size.size = FED if size.size < 0 else size.size
            fed[node.name] = [size.size for size in sizes]
    return fed


def shapes(graph: tf.Graph) -> dict[str, Any]:
    """The shapes of every node's outputs."""
    return {
        op.name: [None if one.shape.rank is None else one.shape.as_list() for one in op.outputs]
        for op in graph.get_operations()
    }


def imported(graph_def: Any) -> tf.Graph:
    """The graph, with the shapes that the import infers."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
    return graph


def flops(graph: tf.Graph) -> dict[str, int]:
    """What the profiler counts, where it counts anything."""
    found = {}
    for node in graph.as_graph_def().node:
        if node.op in COUNTED:
            count = ops.get_stats_for_node_def(graph, node, "flops").value
            if count:
                found[node.name] = int(count)
    return found


def recorded(name: str, graph_def: Any) -> dict[str, Any]:
    """All about one graph."""
    entry: dict[str, Any] = {"shapes": shapes(imported(without_shapes(graph_def)))}
    fed = feed(graph_def)
    try:
        graph = imported(graph_def)
        entry["flops"] = flops(graph)
        if fed:
            entry |= {"feeds": fed, "fed": shapes(graph)}
    except ValueError as error:
        print(name, "cannot be fed 3:", str(error)[:100])
    return entry


def one_by_one(makers: list[Callable[[], Any]]) -> dict[str, Any]:
    """A graph of single ops, with its shapes."""
    with tf.Graph().as_default() as graph:
        for make in makers:
            make()
    message = graph.as_graph_def().SerializeToString()
    return {"graph": base64.b64encode(message).decode(), "shapes": shapes(graph)}


def main() -> None:
    tf.disable_v2_behavior()
    found: dict[str, Any] = {"ops": one_by_one(cases())}
    for archive in ARCHIVES:
        found[archive] = {}
        for name, graph_def in graphs_in(archive).items():
            found[archive][name] = recorded(name, graph_def)
        print(archive, len(found[archive]), "graphs")
    data = json.dumps(found, separators=(",", ":")).encode()
    (DATA / "shapes.json.xz").write_bytes(lzma.compress(data, preset=9))


if __name__ == "__main__":
    main()

"""Nodes that iterate a loop on each of its tasks, named after the operation that is the loop's condition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import DType, float32
from gpuplace.graph.op_sets import DECIDES_WHOLE_LOOP
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.runtime.plan.schedule.loop_frames import DECIDING, GOING_ON, Frame
from gpuplace.typing import GraphDef


def encode_attrs(attrs: Mapping[str, Any], node: Any) -> None:
    """Set attributes of a node."""
    for label, value in attrs.items():
        encode_attr(value, node.attr[label])


def add_signal(graph_def: GraphDef, name: str, device: str, controls: Sequence[str]) -> str:
    """Add a constant empty tensor that is computed after some nodes; return its name.

    Args:
        graph_def: graph to which it is added.
        name: name of the constant.
        device: device of the constant.
        controls: names of its control inputs.
    """
    node = graph_def.node.add(
        name=name, op="Const", device=device, input=[f"^{control}" for control in controls]
    )
    node.attr["dtype"].type = float32.as_datatype_enum
    node.attr["value"].tensor.dtype = float32.as_datatype_enum
    node.attr["value"].tensor.tensor_shape.dim.add(size=0)
    return name


class LoopNodes:
    """Nodes of one loop, with the same names on all tasks.

    Args:
        frame: the loop.
        predicate: name of its ``LoopCond``.
        names: names that are already used.
    """

    def __init__(self, frame: Frame, predicate: str, names: Collection[str]) -> None:
        self.frame = frame
        self._start = f"{predicate}_round"
        while any(name.startswith(f"{self._start}/") for name in names):
            self._start += "_"
        self._dtype = float32
        self._anchors: dict[tuple[str, int], str] = {}

    def name(self, end: str) -> str:
        """Return the name of a node."""
        return f"{self._start}/{end}"

    def begin(self, graph_def: GraphDef, device: str, first: str, dtype: DType, decides_whole: bool) -> None:
        """Add the nodes that begin an iteration.

        Args:
            graph_def: graph to which they are added.
            device: device of the nodes.
            first: input of the ``Enter``.
            dtype: type of this input.
            decides_whole: whether all inputs of the loop are alive if this one is.
        """
        self._dtype = dtype
        attrs: dict[str, Any] = {
            "frame_name": self.frame.name.encode(),
            "is_constant": False,
            "parallel_iterations": 10,
        }
        if decides_whole:
            attrs[DECIDES_WHOLE_LOOP] = True
        self._add(graph_def, device, "enter", "Enter", [first], attrs)
        inputs = [self.name("enter"), self.name("next")]
        self._anchors[device, DECIDING] = self._add(graph_def, device, "merge", "Merge", inputs, {"N": 2})

    def receive_predicate(self, graph_def: GraphDef, device: str, received: str) -> str:
        """Add the ``LoopCond`` for a predicate from another task; return its name.

        Args:
            graph_def: graph to which it is added.
            device: device of the node.
            received: name of the received predicate.
        """
        node = graph_def.node.add(name=self.name("cond"), op="LoopCond", device=device, input=[received])
        return str(node.name)

    def end_iteration(self, graph_def: GraphDef, device: str, predicate: str) -> None:
        """Add the nodes that end an iteration.

        Args:
            graph_def: graph to which they are added.
            device: device of the nodes.
            predicate: name of the predicate.
        """
        self._add(graph_def, device, "switch", "Switch", [self.name("merge"), predicate])
        self._add(graph_def, device, "next", "NextIteration", [self.anchor(graph_def, device, GOING_ON)])

    def anchor(self, graph_def: GraphDef, device: str, part: int) -> str:
        """Return the node that marks a part of the loop; its successors run in that part.

        Args:
            graph_def: graph to which it is added if it is missing.
            device: device of the node.
            part: the part.
        """
        if (device, part) not in self._anchors:
            end, output = ("body", ":1") if part == GOING_ON else ("left", "")
            inputs = [f"{self.name('switch')}{output}"]
            self._anchors[device, part] = self._add(graph_def, device, end, "Identity", inputs)
        return self._anchors[device, part]

    def _add(
        self,
        graph_def: GraphDef,
        device: str,
        end: str,
        op: str,
        inputs: Sequence[str],
        attrs: Mapping[str, Any] | None = None,
    ) -> str:
        node = graph_def.node.add(name=self.name(end), op=op, device=device, input=inputs)
        encode_attrs({"T": self._dtype, **(attrs or {})}, node)
        return self.name(end)

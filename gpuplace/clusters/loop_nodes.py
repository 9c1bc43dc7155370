"""The nodes that make a loop go round on each of its tasks, named after the operation that decides about it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from gpuplace.dtypes import DType, float32
from gpuplace.graph.op_sets import DECIDES_WHOLE_LOOP
from gpuplace.graphdef.attr_values import encode_attr
from gpuplace.runtime.plan.schedule.loop_frames import DECIDING, GOING_ON, Frame


def encode_attrs(attrs: Mapping[str, Any], node: Any) -> None:
    """Gives a node its attributes."""
    for label, value in attrs.items():
        encode_attr(value, node.attr[label])


def add_signal(graph_def: Any, name: str, device: str, controls: Sequence[str]) -> str:
    """Adds an empty tensor, which is there when nodes have run; gives its name.

    Args:
        graph_def: what it is added to.
        name: its name.
        device: its device.
        controls: names of the nodes.
    """
    node = graph_def.node.add(name=name, op="Const", device=device, input=[f"^{one}" for one in controls])
    node.attr["dtype"].type = float32.as_datatype_enum
    node.attr["value"].tensor.dtype = float32.as_datatype_enum
    node.attr["value"].tensor.tensor_shape.dim.add(size=0)
    return name


class LoopNodes:
    """The nodes of one loop, which have the same names on all tasks.

    Args:
        frame: the loop.
        predicate: name of its ``LoopCond``.
        names: those that are used otherwise.
    """

    def __init__(self, frame: Frame, predicate: str, names: Collection[str]) -> None:
        self.frame = frame
        self._start = f"{predicate}_round"
        while any(name.startswith(f"{self._start}/") for name in names):
            self._start += "_"
        self._dtype = float32
        self._anchors: dict[tuple[str, int], str] = {}

    def name(self, end: str) -> str:
        """The name of one of them."""
        return f"{self._start}/{end}"

    def begin(self, graph_def: Any, device: str, first: str, dtype: DType, decides_whole: bool) -> None:
        """Adds what begins an iteration.

        Args:
            graph_def: what it is added to.
            device: its device.
            first: the value that leads into the loop.
            dtype: its type.
            decides_whole: whether all that the loop takes is there where that value is.
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

    def decide_as(self, graph_def: Any, device: str, received: str) -> str:
        """Adds what decides about the loop, as another task says; gives its name.

        Args:
            graph_def: what it is added to.
            device: its device.
            received: what the other task says.
        """
        node = graph_def.node.add(name=self.name("cond"), op="LoopCond", device=device, input=[received])
        return str(node.name)

    def go_on(self, graph_def: Any, device: str, predicate: str) -> None:
        """Adds what ends an iteration.

        Args:
            graph_def: what it is added to.
            device: its device.
            predicate: what decides.
        """
        self._add(graph_def, device, "switch", "Switch", [self.name("merge"), predicate])
        self._add(graph_def, device, "next", "NextIteration", [self.anchor(graph_def, device, GOING_ON)])

    def anchor(self, graph_def: Any, device: str, part: int) -> str:
        """The node that others wait for to be in a part of the loop.

        Args:
            graph_def: what it is added to, if it is not there.
            device: its device.
            part: the part.
        """
        if (device, part) not in self._anchors:
            end, output = ("body", ":1") if part == GOING_ON else ("left", "")
            inputs = [f"{self.name('switch')}{output}"]
            self._anchors[device, part] = self._add(graph_def, device, end, "Identity", inputs)
        return self._anchors[device, part]

    def _add(
        self,
        graph_def: Any,
        device: str,
        end: str,
        op: str,
        inputs: Sequence[str],
        attrs: Mapping[str, Any] | None = None,
    ) -> str:
        node = graph_def.node.add(name=self.name(end), op=op, device=device, input=inputs)
        encode_attrs({"T": self._dtype, **(attrs or {})}, node)
        return self.name(end)

"""The result of placing a graph: the device of every node, with all data that explanations need.

A `Placement` is a mapping from node name to full device name. It keeps the placer's arrays and computes texts, tables
and explanations on demand; the modules that write them are loaded then, so that a session starts without them.

Source: tensorflow/core/common_runtime/placer.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from gpuplace.display import above, notebook_view, safe_text, with_safe_text
from gpuplace.errors import OpError
from gpuplace.kernels.listing import DeviceGap, never_on
from gpuplace.placer.decide import NOWHERE
from gpuplace.placer.placed import Placed
from gpuplace.placer.placement_graph import CONTROL, split_tensor_name
from gpuplace.progress import track
from gpuplace.release import resolve
from gpuplace.typing import DataFrame, Picture, PictureOptions, Subject, TensorShapeFact, Trace
from gpuplace.why.messages import SOFT_FIELD, error_of
from gpuplace.why.names import UnknownNameError, named_by
from gpuplace.why.placement_log import log
from gpuplace.why.verdict import Verdicts, verdicts_of

if TYPE_CHECKING:
    from gpuplace.graph.operation import Operation, Tensor
    from gpuplace.why.blame import Blame
    from gpuplace.why.diff import PlacementDiff


class EdgeRow(NamedTuple):
    """One edge of a placed graph."""

    src: str
    """Producing node."""
    src_output: int
    """Output index of the producing node; -1 for a control edge."""
    dst: str
    """Consuming node."""
    dst_input: int
    """Input index of the consuming node; -1 for a control edge."""
    src_device: str
    """Full device name; "" if the node has no device."""
    dst_device: str
    """Full device name; "" if the node has no device."""
    dtype: str
    """Dtype of the tensor; "" for a control edge."""
    shape: tuple[int | None, ...] | None
    """Dimensions, None for an unknown one; None for an unknown rank."""
    nbytes: int | None
    """Size in bytes, if known."""
    is_copy: bool
    """Whether a step copies the tensor to another device for this edge; False for a control edge."""
    is_control: bool


class NodeGroup(NamedTuple):
    """Nodes that must share a device."""

    nodes: tuple[str, ...]
    """Their names in graph order."""
    decided_by: str
    """The culprit of the verdict on the first visited member."""
    device: str
    """Full device name; "" if the group could not be placed."""
    requested: str
    """The members' combined request; "" for none."""


class Placement(Placed, Mapping[str, str]):
    """A mapping from node name to full device name; nodes without a device are not in it.

    See `Placed` for its arrays.
    """

    soft_switch = SOFT_FIELD
    """The setting that turns on soft placement for the caller, named in hints."""

    def __getitem__(self, name: str) -> str:
        device = self._device_names[self.graph.index[name]]
        if not device:
            raise KeyError(name)
        return device

    @cached_property
    def _device_names(self) -> list[str]:
        """Full device name of each node; "" for a node without a device."""
        names = (*self.device_set.names, "")  # `NOWHERE` is the last
        return [names[device] for device in self.devices.tolist()]

    def __iter__(self) -> Iterator[str]:
        devices = self.devices
        if not (devices == NOWHERE).any():
            return iter(self.graph.names)
        return (self.graph.names[node] for node in np.flatnonzero(devices != NOWHERE).tolist())

    def __len__(self) -> int:
        return int(np.count_nonzero(self.devices != NOWHERE))

    @with_safe_text
    def __repr__(self) -> str:
        counts = ", ".join(f"{count} on {device}" for device, count in self.counts().items())
        plural = "" if len(self.faults) == 1 else "s"
        errors = f", {len(self.faults)} error{plural}" if self.faults else ""
        return f"<Placement of {len(self.graph)} nodes: {counts or 'none placed'}{errors}>"

    def counts(self) -> dict[str, int]:
        """Return the number of nodes by local device name (`GPU:0`), by full name if the machine has several tasks."""
        placed = self.devices[self.devices != NOWHERE]
        totals = np.bincount(placed, minlength=len(self.device_set)).tolist()
        return {label: total for label, total in zip(self.device_labels, totals, strict=True) if total}

    def explain(self, node: Any) -> Any:
        """Explain why a node has its device: the rules that acted, in order, and what would move it.

        For a name scope, or a text that matches several nodes, the result is a `ScopeExplanation`: devices and rules as
        shares.

        Args:
            node: an `Operation`, a `Tensor`, or the name of either (`MatMul`, `MatMul:0`); also the end of a name
                (`Conv2D`), a name scope (`tower_0`), or a regular expression.

        Raises:
            UnknownNameError: no node has this name; a `NotFoundError` and `KeyError` whose message lists similar names.
        """
        name = node if isinstance(node, str) else getattr(node, "op", node).name
        text = name
        if name not in self.graph.index:
            name = split_tensor_name(name)[0]
        if name not in self.graph.index:
            nodes = named_by(text, self.graph.names)
            if not nodes:
                raise UnknownNameError.among(name, self.graph.names)
            if (
                len(nodes) > 1
                or not isinstance(node, str)
                or f"{text.rstrip('/')}/" in self.graph.names[nodes[0]]
            ):
                from gpuplace.why.scope_explanation import explain_nodes

                return explain_nodes(self, text, nodes)
            name = self.graph.names[nodes[0]]
        from gpuplace.why.explain import explain

        return explain(self, self.graph.index[name])

    @property
    def subject(self) -> Subject:
        """One step of the graph: the nodes that run, the fetches and the feeds; see `gpuplace.model.subject.subject`.

        Raises:
            InvalidArgumentError: the graph has no nodes.
        """
        subject_of = above("gpuplace.model.subject.subject", "subject_of")
        subject: Subject = subject_of(self.graph, self.placer.catalogue)
        return subject

    @property
    def verdicts(self) -> Verdicts:
        """For every node, the rule that determined its device, and the culprit; every explanation reads these."""
        return verdicts_of(self)

    def diff(self, other: Placed) -> PlacementDiff:
        """Return the nodes that have another device in `other`, with both verdicts; the last result is cached."""
        from gpuplace.why.diff import diff

        cached = self.__dict__.get("_last_diff")
        if cached is None or cached[0] is not other:
            cached = self.__dict__["_last_diff"] = other, diff(self, other)
        return cached[1]

    def blame(self, device_type: str = "GPU") -> Blame:
        """Rank the causes that keep nodes off a device type; the cause that affects the most nodes is first.

        Args:
            device_type: `"GPU"`, `"CPU"`, ...
        """
        from gpuplace.why.blame import blame

        return blame(self, device_type)

    def never_on(self, device_type: str = "GPU") -> tuple[DeviceGap, ...]:
        """Return the graph's ops that can never run on a device type, on any machine, and for which dtypes.

        Functions of the graph run anywhere and are left out; so are ops without any kernel.

        Args:
            device_type: `"GPU"`, `"CPU"`, ...
        """
        op_types = (fact.signature.op_type for fact in self.facts if not fact.is_function)
        return never_on(device_type, dict.fromkeys(op_types), catalogue=self.placer.catalogue)

    def groups(self) -> Iterator[NodeGroup]:
        """Yield the groups of two or more nodes that must share a device, in graph order."""
        if self.partition is None or self.decisions is None:
            return
        sizes = np.bincount(self.partition.root, minlength=len(self.graph))
        firsts = np.flatnonzero(sizes > 1)[np.argsort(self.decisions.decider[sizes > 1], kind="stable")]
        culprit = self.verdicts.culprit
        for first in track(firsts.tolist(), len(firsts), "listing groups", " groups"):
            members = self.group_of(first)
            yield NodeGroup(
                tuple(self.graph.names[node] for node in members),
                self.graph.names[culprit[self.decisions.decider[first]]],
                self.get(self.graph.names[first], ""),
                self.constraints(first).requested.to_string(),
            )

    @cached_property
    def errors(self) -> tuple[OpError, ...]:
        """The placement errors, the first being the one that TensorFlow raises; empty for a complete placement."""
        return tuple(error_of(self, fault) for fault in self.faults)

    @property
    def visiting_order(self) -> list[str]:
        """Node names in the order in which the placer decided them."""
        if self.decisions is None:
            return []
        return [self.graph.names[node] for node in self.decisions.visiting_order(self.graph).tolist()]

    def edges(self) -> list[EdgeRow]:
        """Return every edge with the devices of its ends, in the order of the consuming nodes."""
        return list(self._edge_rows())

    def _edge_rows(self) -> Iterator[EdgeRow]:
        graph, devices = self.graph, self.devices.tolist()
        columns = zip(
            graph.src.tolist(),
            graph.src_output.tolist(),
            graph.dst.tolist(),
            graph.dst_input.tolist(),
            self._is_copy().tolist(),
            strict=True,
        )
        names = (*self.device_set.names, "")
        for src, output, dst, position, is_copy in columns:
            is_control = output == CONTROL
            dtype, shape, nbytes = "", None, None
            if not is_control:
                dtype = self.facts_of(src).output_types[output].name
                fact = self.tensor_shape(src, output)
                shape, nbytes = fact.sizes, fact.nbytes
            yield EdgeRow(
                graph.names[src],
                output,
                graph.names[dst],
                position,
                names[devices[src]],
                names[devices[dst]],
                dtype,
                shape,
                nbytes,
                is_copy,
                is_control,
            )

    def tensor_shape(self, node: int, output: int) -> TensorShapeFact:
        """Return dtype, shape and size in bytes of an output, inferred over the whole graph.

        Args:
            node: the node's position in the graph.
            output: the output's index.
        """
        graph_shapes = above("gpuplace.cost.shapes.graph_shapes", "graph_shapes")
        fact: TensorShapeFact = graph_shapes(self.graph, self.placer.catalogue).tensor(node, output)
        return fact

    def _is_copy(self) -> np.ndarray:
        """[edges] bool: whether a step copies the edge's tensor; all False if the graph has no step."""
        try:
            of_edge: np.ndarray = above("gpuplace.cost.step_copies", "step_copies")(self).of_edge
        except OpError:
            return np.zeros(self.graph.num_edges, dtype=bool)
        return of_edge >= 0

    def log(self, release: str | None = None) -> str:
        """Return the device mapping and a line per node, as `log_device_placement` prints them in `release`."""
        return safe_text(log(self, resolve(release or self.release)))

    def frame(self, table: str = "nodes", *, depth: int | None = None) -> DataFrame:
        """Return a table of the placement as a ``DataFrame``; see ``jupyter.frames.placement_frames`` for the columns.

        Args:
            table: ``"nodes"``, ``"devices"``, ``"edges"``, ``"copies"``, ``"groups"``, ``"scopes"``, ``"kernels"``,
                ``"memory"`` or ``"errors"``.
            depth: the number of scope levels that ``"scopes"`` lists, 1 by default; not for other tables.

        Raises:
            ValueError: there is no such table.
        """
        return above("gpuplace.jupyter.frames.placement_frames", "frame")(self, table, depth=depth)

    def picture(self, **options: Unpack[PictureOptions]) -> Picture:
        """Draw the graph in colors; see ``gpuplace.jupyter.pictures.placement_picture`` for the options."""
        return above("gpuplace.jupyter.pictures", "placement_picture")(self, **options)

    def trace(self, of: Operation | Tensor | str, direction: str = "inputs") -> Trace:
        """Return everything that an op depends on, as a `Trace`: ``names``, ``counts``, ``copies``, ``.frame()``.

        Args:
            of: an `Operation`, a `Tensor`, or the name of an op or a name scope.
            direction: ``"inputs"``, ``"consumers"`` (everything that depends on the op) or ``"both"``.

        Returns:
            The `Trace`.

        Raises:
            KeyError: there is no such op; the message lists similar names.
            ValueError: the direction is unknown.
        """
        return above("gpuplace.views.tables.dependency_trace", "trace_of")(self, of, direction)

    _repr_mimebundle_ = notebook_view

"""Memory requests of a step, from a dry run of the session's own plan.

The variables are initialized first, as a program does, so that they get the same addresses as there; then the
step runs once.

If a session would run the plan in several lanes (see ``gpuplace.runtime.plan.compile``), the order of allocations is
not deterministic. The dry run uses the order of the single lane of ``inter_op_parallelism_threads=1``.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple

import numpy as np

from gpuplace.cost.memory.dry_run import DryRun
from gpuplace.cost.memory.requests import MemoryRequests
from gpuplace.cost.memory.step_facts import StepFacts, running_graph
from gpuplace.cost.memory.unfilled import unfilled
from gpuplace.cost.shapes.step_shapes import StepShapes
from gpuplace.errors import OpError
from gpuplace.graph.op_sets import (
    ASSIGNMENTS,
    CONSTANT_OPS,
    IDENTITY_OPS,
    PASSING_ON,
    PLACEHOLDERS,
    VARIABLE_OPS,
)
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.model.subject.step_part import StepPart
from gpuplace.placer.decide import NOWHERE
from gpuplace.runtime.plan.lowered_graph import program_of
from gpuplace.typing import ConfigProto
from gpuplace.why.placement import Placement

_VARIABLES = ("variables", "local_variables")


class StepRequests(NamedTuple):
    """Memory requests of a step, and facts about them."""

    requests: MemoryRequests
    assumed: tuple[str, ...]
    """Assumptions, one sentence each."""
    called: Callable[[str, bool], tuple[str, str]]
    """Function from a node to the owner of its bytes; see `DeviceUse`."""
    unknown: str = ""
    """Why the step may need more memory, or ``""``."""


class StepDryRun:
    """A step that is ready for a dry run.

    Args:
        placement: the placed whole graph.
        part: the nodes that run.
        shapes: their shapes.
        config: the ``ConfigProto``.
        values_fed: arrays that are fed, by node name; feeds with only a shape are zeros.
    """

    def __init__(
        self,
        placement: Placement,
        part: StepPart,
        shapes: StepShapes,
        config: ConfigProto,
        values_fed: Mapping[str, Any],
    ) -> None:
        self.values_fed = values_fed
        self.placement, self.part, self.shapes, self.config = placement, part, shapes, config
        self.graph = running_graph(placement)
        self.facts = StepFacts(self.graph, part, shapes)
        self.index = part.graph.index
        devices = placement.device_set.names
        self.devices = {
            name: devices[at]
            for name, at in zip(placement.graph.names, placement.devices.tolist(), strict=True)
            if at != NOWHERE
        }
        self.signature, self.values = self._signature()
        self.initializers = self._initializers()
        self.variables = {
            _initial_value(op): op.inputs[0].op.name for op in self.initializers if len(op.inputs) > 1
        }

    def type_of(self, node: str) -> str:
        """Return the op type of a node; "" if it does not exist."""
        op = self.graph.by_name.get(node)
        return "" if op is None else op.type

    def device_of(self, op: Operation) -> str:
        """Return the full device name of an operation."""
        return self.devices[op.name]

    def _signature(self) -> tuple[Any, list[Any]]:
        graph, names = self.graph, self.part.graph.names
        tensors: dict[Tensor, None] = {}
        targets: dict[Operation, None] = {}
        for node, output in self.part.fetches:
            op = graph.get_operation_by_name(names[node])
            if output < 0 or output >= len(op.outputs):
                targets[op] = None
            else:
                tensors[op.outputs[output]] = None
        feeds, values = [], []
        for node in np.flatnonzero(self.part.is_fed).tolist():
            if not self.type_of(names[node]):  # a node of an inlined function, which cannot be fed
                continue
            tensor = graph.get_operation_by_name(names[node]).outputs[0]
            known_sizes = self.facts.sizes(names[node], 0)
            sizes = tuple(1 if size is None else size for size in known_sizes or ())
            feeds.append(tensor)
            value = self.values_fed.get(names[node])
            if value is not None:
                values.append(np.asarray(value, tensor.dtype.as_numpy_dtype))
                continue
            dtype = tensor.dtype.as_numpy_dtype
            values.append(unfilled(sizes, dtype, byte=int(dtype is np.bool_)))  # unknown booleans are True
        return (tuple(tensors), tuple(targets), tuple(feeds)), values

    def _initializers(self) -> tuple[Operation, ...]:
        """Return the operations that initialize the variables of the graph, as programs do.

        These are the initializers in the collections. Variables of the step that are in no collection, and all
        variables if there are no collections, are initialized by their first assignment.
        """
        initializers: dict[Operation, None] = {}
        program = program_of(self.graph)
        for key in _VARIABLES:
            for variable in program.get_collection(key):
                initializer = getattr(variable, "initializer", None)
                if isinstance(initializer, Operation):
                    initializers[self.graph.get_operation_by_name(initializer.name)] = None
        has_collections = bool(initializers)
        initialized = {initializer.inputs[0].op for initializer in initializers if initializer.inputs}
        for op in self.graph.get_operations():
            if (
                op.type not in VARIABLE_OPS
                or op in initialized
                or (has_collections and op.name not in self.index)
            ):
                continue
            first = next(
                (consumer for consumer in op.outputs[0].consumers() if consumer.type in ASSIGNMENTS), None
            )
            if first is not None:
                initializers[first] = None
        return tuple(initializers)

    def _restored(self) -> list[Operation]:
        """Return the variables of the step without an initializer in the graph: they are loaded with the model."""
        initialized = {initializer.inputs[0].op for initializer in self.initializers if initializer.inputs}
        return [
            op
            for op in self.graph.get_operations()
            if op.type in VARIABLE_OPS
            and op not in initialized
            and op.name in self.index
            and op.attrs["shape"].is_fully_defined()
        ]

    def _split_initializers(self, gpus: Container[str]) -> tuple[tuple[Operation, ...], list[Operation]]:
        """Return the initializers that have to run, and the variables of the others.

        The others are numeric arrays on whose values nothing in a step depends, and that are computed on devices
        without memory accounting.
        """
        to_run, unfilled_variables = [], []
        for initializer in self.initializers:
            variable = initializer.inputs[0].op if initializer.inputs else initializer
            if variable.type in VARIABLE_OPS and self._needs_no_value(variable, initializer, gpus):
                unfilled_variables.append(variable)
            else:
                to_run.append(initializer)
        return tuple(to_run), unfilled_variables

    def _needs_no_value(self, variable: Operation, initializer: Operation, gpus: Container[str]) -> bool:
        shape = variable.attrs["shape"]
        if initializer.type not in ASSIGNMENTS or not variable.attrs["dtype"].is_floating:
            return False
        if not shape.is_fully_defined() or shape.num_elements() < 2:
            return False
        if initializer.inputs[1].shape.sizes != shape.sizes:
            return False
        seen, stack = {initializer}, [initializer]
        while stack:
            op = stack.pop()
            if op.controls or self.devices[op.name] in gpus:
                return False
            for tensor in op.inputs:
                if tensor.op not in seen:
                    seen.add(tensor.op)
                    stack.append(tensor.op)
        return True

    def requests(self, gpus: Container[str]) -> StepRequests:
        """Run the step without its arithmetic, and return its memory requests.

        Args:
            gpus: full names of the GPUs.

        Raises:
            OpError: The step cannot be planned.
        """
        placement = self.placement
        dry = DryRun(
            placement.device_set,
            placement.placer.catalogue.kernels,
            self.config,
            placement.release,
            self.facts,
            gpus,
        )
        assumed = self.facts.assumed
        to_run, unfilled_variables = self._split_initializers(gpus)
        restored = self._restored()
        if restored:
            more = f" and {len(restored) - 1} more" if len(restored) > 1 else ""
            assumed[
                f"Variables without an initializer are assumed to be loaded: {restored[0].name}{more}"
            ] = None
        dry.set_unfilled_values([*unfilled_variables, *restored], self.device_of)
        if to_run:
            try:
                dry.run(((), to_run, ()), self.device_of, ())
            except OpError as error:
                assumed[f"Variables start without initial values: {error.message.splitlines()[0]}"] = None
        dry.collect()
        dry.requests.begin = len(dry.requests)
        dry.run(self.signature, self.device_of, self.values)
        dry.close()
        return StepRequests(
            dry.requests, (*assumed, *dry.assumed), self.called, self._unknown(gpus) or dry.unknown
        )

    def _unknown(self, gpus: Container[str]) -> str:
        """Return why the memory of a GPU node of unknown shape is unknown, or "".

        Placeholders of unknown shape are fed with size 1, so their consumers' shapes count as known.
        """
        shapes, names = self.shapes, self.part.graph.names
        unknown: set[int] = set()
        for node in shapes.engine.order if shapes.unknown else ():
            if node not in shapes.unknown:
                continue
            op_type = shapes.kinds[node].op_type
            sources = [source for source, _ in shapes.inputs[node] if source in shapes.unknown]
            if unknown.isdisjoint(sources) and (sources or op_type in PLACEHOLDERS):
                continue
            unknown.add(node)
            if self.devices.get(names[node]) in gpus and op_type not in PASSING_ON:
                return f"the shape and size of '{names[node]}' ({op_type}) are unknown"
        return ""

    def called(self, label: str, is_kept: bool) -> tuple[str, str]:
        """Return the name and op type of the owner of a node's bytes; before the step, a variable or a constant.

        Args:
            label: the node.
            is_kept: whether it ran before the step.
        """
        op_type = self.type_of(label)
        if op_type in VARIABLE_OPS or not op_type or (is_kept and op_type not in CONSTANT_OPS):
            return self.variables.get(label, label), "variable"
        return label, op_type


def _initial_value(initializer: Operation) -> str:
    """Return the node that computes the initial value of a variable."""
    op = initializer.inputs[1].op
    while op.type in IDENTITY_OPS:
        op = op.inputs[0].op
    return op.name

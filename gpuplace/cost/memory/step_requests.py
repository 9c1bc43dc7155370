"""What a step asks of the memories of GPUs: the session's own plan is gone through without its arithmetic.

The variables are initialized first, as a program does, so that they lie where they would; then the step runs once.

Where a session would run the plan in several lanes (see ``gpuplace.runtime.plan.compile``) the order of allocations is
not determined; asked is in the order of the single line of ``inter_op_parallelism_threads=1``.
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
from gpuplace.why.placement import Placement

_VARIABLES = ("variables", "local_variables")


class Asked(NamedTuple):
    """What a step asks of the memories of GPUs, and what of it can be said."""

    requests: MemoryRequests
    assumed: tuple[str, ...]
    """What had to be assumed."""
    called: Callable[[str, bool], tuple[str, str]]
    """As of `DeviceUse`."""
    unknown: str = ""
    """Why the step may ask for more; ``""`` where nothing is unknown."""


class StepToAsk:
    """A step, ready to be gone through without arithmetic.

    Args:
        placement: the whole graph, placed.
        part: what runs.
        shapes: of what runs.
        config: the ``ConfigProto``.
        given: arrays that are fed, by name of the node; where there are shapes only, zeros are fed.
    """

    def __init__(
        self, placement: Placement, part: StepPart, shapes: StepShapes, config: Any, given: Mapping[str, Any]
    ) -> None:
        self.given = given
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
        """Op type of a node; "" where there is none."""
        op = self.graph._by_name.get(node)
        return "" if op is None else op.type

    def device_of(self, op: Operation) -> str:
        """Full name of the device of an operation."""
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
            if not self.type_of(names[node]):  # within what is inlined, where nobody feeds it
                continue
            tensor = graph.get_operation_by_name(names[node]).outputs[0]
            known = self.facts.sizes(names[node], 0)
            sizes = tuple(1 if size is None else size for size in known or ())
            feeds.append(tensor)
            value = self.given.get(names[node])
            if value is not None:
                values.append(np.asarray(value, tensor.dtype.as_numpy_dtype))
                continue
            dtype = tensor.dtype.as_numpy_dtype
            values.append(
                unfilled(sizes, dtype, byte=int(dtype is np.bool_))
            )  # what is not known is taken as true
        return (tuple(tensors), tuple(targets), tuple(feeds)), values

    def _initializers(self) -> tuple[Operation, ...]:
        """What gives the variables of the graph their initial values, all at once, as programs do.

        Those of the collections; of the step's variables in no collection, and where there are no collections of all,
        the first assignment.
        """
        found: dict[Operation, None] = {}
        program = program_of(self.graph)
        for key in _VARIABLES:
            for variable in program.get_collection(key):
                initializer = getattr(variable, "initializer", None)
                if isinstance(initializer, Operation):
                    found[self.graph.get_operation_by_name(initializer.name)] = None
        has_collections = bool(found)
        begun = {initializer.inputs[0].op for initializer in found if initializer.inputs}
        for op in self.graph.get_operations():
            if op.type not in VARIABLE_OPS or op in begun or (has_collections and op.name not in self.index):
                continue
            first = next((one for one in op.outputs[0].consumers() if one.type in ASSIGNMENTS), None)
            if first is not None:
                found[first] = None
        return tuple(found)

    def _restored(self) -> list[Operation]:
        """The variables of the step that the graph gives no value to: what loads the model does."""
        begun = {initializer.inputs[0].op for initializer in self.initializers if initializer.inputs}
        return [
            op
            for op in self.graph.get_operations()
            if op.type in VARIABLE_OPS
            and op not in begun
            and op.name in self.index
            and op.attrs["shape"].is_fully_defined()
        ]

    def _told(self, gpus: Container[str]) -> tuple[tuple[Operation, ...], list[Operation]]:
        """The initializers that have to run, and the variables of the others.

        Those are arrays of numbers, of which nothing in a step hangs on the values; and they are made where no memory
        is accounted for.
        """
        untold, told = [], []
        for initializer in self.initializers:
            variable = initializer.inputs[0].op if initializer.inputs else initializer
            if variable.type in VARIABLE_OPS and self._is_told(variable, initializer, gpus):
                told.append(variable)
            else:
                untold.append(initializer)
        return tuple(untold), told

    def _is_told(self, variable: Operation, initializer: Operation, gpus: Container[str]) -> bool:
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
            if op._control_inputs or self.devices[op.name] in gpus:
                return False
            for tensor in op.inputs:
                if tensor.op not in seen:
                    seen.add(tensor.op)
                    stack.append(tensor.op)
        return True

    def asked(self, gpus: Container[str]) -> Asked:
        """What a step asks of the memories of GPUs.

        Args:
            gpus: their full names.

        Raises:
            OpError: the step cannot be planned.
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
        untold, told = self._told(gpus)
        restored = self._restored()
        if restored:
            more = f" and {len(restored) - 1} more" if len(restored) > 1 else ""
            assumed[
                f"Variables that the graph gives no value are taken as loaded: {restored[0].name}{more}"
            ] = None
        dry.give_values([*told, *restored], self.device_of)
        if untold:
            try:
                dry.run(((), untold, ()), self.device_of, ())
            except OpError as error:
                assumed[f"Variables begin without initial values: {error.message.splitlines()[0]}"] = None
        dry.collect()
        dry.requests.begin = len(dry.requests)
        dry.run(self.signature, self.device_of, self.values)
        dry.close()
        return Asked(dry.requests, (*assumed, *dry.assumed), self.called, self._unknown(gpus) or dry.unknown)

    def _unknown(self, gpus: Container[str]) -> str:
        """What is said of a node on a GPU whose shape is not known; "" where there is none.

        What is fed in a shape that nobody states counts as 1, and what hangs on that: so it is asked.
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
                return f"the shape of '{names[node]}' ({op_type}) is not known, nor how much it takes"
        return ""

    def called(self, label: str, is_kept: bool) -> tuple[str, str]:
        """Name and op type of what keeps the bytes that a node took; before the step that is a variable, or a constant.

        Args:
            label: the node.
            is_kept: whether it ran before the step.
        """
        op_type = self.type_of(label)
        if op_type in VARIABLE_OPS or not op_type or (is_kept and op_type not in CONSTANT_OPS):
            return self.variables.get(label, label), "variable"
        return label, op_type


def _initial_value(initializer: Operation) -> str:
    """Name of the node that makes the initial value of a variable."""
    op = initializer.inputs[1].op
    while op.type in IDENTITY_OPS:
        op = op.inputs[0].op
    return op.name

"""Runs one case through gpuplace: the op is built in a graph and its function bound and called, without a session."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.graph import Graph
from gpuplace.graph.op_def import op_registry
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.kernels.compute import bind
from gpuplace.kernels.registry import session_catalogue
from gpuplace.kernels.resources import SessionResources, VariableStorage
from gpuplace.numerics.complaints import tensorflow_sentence
from gpuplace.shapes import TensorShape
from tests.ops.cases import Case, Handle, Ref


class Run:
    """One case, built.

    After ``execute`` it has ``outputs`` and ``variables``, and the function's ``arrays`` and what it ``made``.
    """

    def __init__(self, case: Case, known_shapes: bool = True) -> None:
        """Args: ``known_shapes``: whether the graph knows the inputs' shapes (their values it never knows)."""
        self.case = case
        self.known_shapes = known_shapes
        self.flat: list[Any] = []
        self.session = SessionResources()
        op_def = op_registry().lookup(case.op)
        with Graph().as_default() as graph:
            self.graph = graph
            arguments = {
                arg.name: self._tensor(value) for arg, value in zip(op_def.inputs, case.inputs, strict=True)
            }
            self.op: Operation = apply_op(case.op, **arguments, **case.attrs)

    def _tensor(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._tensor(item) for item in value]
        self.flat.append(value)
        if isinstance(value, (Ref, Handle)):
            dtype = as_dtype(value.dtype if value.value is None else value.value.dtype)
            shape = TensorShape(value.shape if value.value is None else value.value.shape)
            kind = "VariableV2" if isinstance(value, Ref) else "VarHandleOp"
            return self.graph.create_op(kind, (), attrs={"dtype": dtype, "shape": shape}).outputs[0]
        array = np.asarray(value)
        shape = TensorShape(array.shape) if self.known_shapes else TensorShape(None)
        tensor: Tensor = self.graph.create_op(
            "Placeholder", (), attrs={"dtype": as_dtype(array.dtype), "shape": shape}
        ).outputs[0]
        return tensor

    def execute(self, device_type: str, xp: Any) -> None:
        """Calls the function as on a device of that type, arrays where the catalogue wants them."""
        kernels = session_catalogue().kernels
        on_host: frozenset[int] = frozenset()
        host_outputs: frozenset[int] = frozenset()
        if device_type != "CPU":
            on_host, host_outputs = kernels.host_memory(self.op.op_def, self.op.attrs, device_type)
        all_on_host = len(host_outputs) == len(self.op.outputs) > 0 or (
            not self.op.outputs and len(on_host) == len(self.op.inputs)
        )
        stores: list[VariableStorage] = []
        arrays = []
        for index, (value, tensor) in enumerate(zip(self.flat, self.op.inputs, strict=True)):
            if isinstance(value, (Ref, Handle)):
                shape = TensorShape(value.shape if value.value is None else value.value.shape)
                dtype = as_dtype(tensor.op.attrs["dtype"])
                store = self.session.variable(
                    f"v{index}", dtype, shape, is_resource=isinstance(value, Handle)
                )
                if value.value is not None:
                    store.assign(xp.asarray(value.value))
                stores.append(store)
                arrays.append(store if isinstance(value, Ref) else store.handle)
            else:
                arrays.append(np.asarray(value) if index in on_host else xp.asarray(value))
        function = bind(
            self.op.type,
            device_type,
            np if all_on_host else xp,
            self.op,
            self.session,
            f"/device:{device_type}:0",
        )
        try:
            with np.errstate(all="ignore"):
                result = function(*arrays)
        except ValueError as error:
            shapes = [array.shape for array in arrays if isinstance(getattr(array, "shape", None), tuple)]
            raise InvalidArgumentError(
                None, self.op, tensorflow_sentence(error, shapes) or str(error)
            ) from error
        if not self.op.outputs:
            outputs: list[Any] = []
        else:
            outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        self.arrays, self.made = arrays, outputs
        self.outputs = [_checked(out, index in host_outputs, xp) for index, out in enumerate(outputs)]
        self.variables = [_to_numpy(store.value) for store in stores]


def _checked(value: Any, on_host: bool, xp: Any) -> np.ndarray:
    if isinstance(value, VariableStorage):
        value = value.value
    if xp is not np:
        assert isinstance(value, (np.ndarray, np.generic)) == (on_host or value.dtype == object), (
            f"output is a {type(value)} although the catalogue has it in {'host' if on_host else 'device'} memory"
        )
    assert isinstance(value, np.generic) or hasattr(value, "__array__"), f"not an array: {type(value)}"
    return _to_numpy(value)


def _to_numpy(value: Any) -> np.ndarray:
    return value.get() if hasattr(value, "get") else np.asarray(value)


def has_kernel(case: Case, op: Operation, device_type: str) -> bool:
    """Whether the catalogue has a kernel for the operation on that device type."""
    row, _ = session_catalogue().kernels.find(op.type, op.attrs, device_type)
    return row is not None

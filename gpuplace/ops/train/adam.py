"""Adam: steps from running means of the gradients and their squares.

Source: tensorflow/python/training/adam.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops.flow import control
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.math import unary
from gpuplace.ops.train.optimizer import KernelOptimizer, cast_to
from gpuplace.ops.variables import state
from gpuplace.ops.variables.resource_state import resource_scatter
from gpuplace.typing import TensorLike


class AdamOptimizer(KernelOptimizer):
    """Adam optimizer.

    Args:
        learning_rate: a number, a scalar tensor, or a function that returns one, as for the next three arguments.
        beta1: decay of the running mean of the gradients, from 0 to below 1.
        beta2: decay of the running mean of their squares, from 0 to below 1.
        epsilon: added to the square root to avoid division by zero.
        use_locking: stored in the graph without effect.
        name: name of the update and of the slots.

    Raises:
        ValueError: the name is empty.
    """

    _op = "Adam"
    _kernel_slots = {"m": "m", "v": "v"}

    def __init__(
        self,
        learning_rate: TensorLike = 0.001,
        beta1: TensorLike = 0.9,
        beta2: TensorLike = 0.999,
        epsilon: TensorLike = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        settings = {"learning_rate": learning_rate, "beta1": beta1, "beta2": beta2, "epsilon": epsilon}
        super().__init__(use_locking, name, **settings)

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        first = min(var_list, key=lambda variable: variable.name)
        for name in ("beta1", "beta2"):
            self._create_non_slot_variable(self._settings[name], f"{name}_power", colocate_with=first)
        super()._create_slots(var_list)

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        return self._get_non_slot_variable("beta1_power"), self._get_non_slot_variable("beta2_power")

    def _scalars(self) -> dict[str, Tensor]:
        beta1_power, beta2_power = self._get_beta_accumulators()
        return {"beta1_power": beta1_power, "beta2_power": beta2_power, **super()._scalars()}

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        def add(slot: Any, indices: Tensor, values: Tensor) -> Tensor:
            return state.scatter_add(slot, indices, values, use_locking=self._use_locking)

        return self._on_rows(grad.values, var, grad.indices, add)

    def _resource_apply_sparse(self, grad: Tensor, var: Any, indices: Tensor) -> Any:
        def add(slot: Any, indices: Tensor, values: Tensor) -> Tensor:
            with slot.graph.control_dependencies([resource_scatter("add", slot.handle, indices, values)]):
                return slot.value()

        return self._on_rows(grad, var, indices, add)

    def _on_rows(self, grad: Tensor, var: Any, indices: Tensor, scatter_add: Callable[..., Any]) -> Any:
        """Return the update from some rows; the means of all rows decay."""
        scalars: dict[str, Any] = self._scalars()
        scalars = {name: cast_to(value, var.dtype.base_dtype) for name, value in scalars.items()}
        rate = scalars["lr"] * unary.sqrt(1 - scalars["beta2_power"]) / (1 - scalars["beta1_power"])
        means = []
        for slot_name, beta in (("m", scalars["beta1"]), ("v", scalars["beta2"])):
            slot = self.get_slot(var, slot_name)
            value: Any = grad if slot_name == "m" else grad * grad
            scaled = value * (1 - beta)
            decayed = state.assign(slot, slot * beta, use_locking=self._use_locking)
            with get_default_graph().control_dependencies([decayed]):
                means.append(scatter_add(slot, indices, scaled))
        root: Any = unary.sqrt(means[1])
        step = rate * means[0] / (root + scalars["epsilon"])
        update = state.assign_sub(var, step, use_locking=self._use_locking)
        return control.group(update, *means)

    def _finish(self, update_ops: Sequence[Any], name_scope: str) -> Any:
        graph = get_default_graph()
        with graph.control_dependencies(update_ops):
            powers = self._get_beta_accumulators()
            with graph.colocate_with(powers[0].op):
                updates = [
                    power.assign(power * self._tensors[name], use_locking=self._use_locking)
                    for power, name in zip(powers, ("beta1", "beta2"), strict=True)
                ]
        return control.group(*update_ops, *updates, name=name_scope)

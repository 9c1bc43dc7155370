"""An optimizer that scales the loss of another optimizer.

Source: tensorflow/python/training/experimental/loss_scale_optimizer.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.ops.flow import control
from gpuplace.ops.flow.conditionals import smart_cond
from gpuplace.ops.gradients.indexed_slices import IndexedSlices
from gpuplace.ops.train.optimizer import Gradient, GradsAndVars, Optimizer
from gpuplace.tf1.train import loss_scale as loss_scales
from gpuplace.typing import TensorLike, VariableLike

__all__ = ["MixedPrecisionLossScaleOptimizer"]


class MixedPrecisionLossScaleOptimizer(Optimizer):
    """A wrapper around an optimizer that computes gradients from a scaled loss and divides them by the scale.

    With a dynamic scale, a step whose gradients are not all finite changes only the scale.

    Args:
        opt: the optimizer.
        loss_scale: a ``LossScale``, a number, or ``"dynamic"``.

    Raises:
        ValueError: ``opt`` is not an optimizer, or ``loss_scale`` not a loss scale.
    """

    def __init__(self, opt: Optimizer, loss_scale: Any) -> None:
        if not isinstance(opt, Optimizer):
            raise ValueError(f'"opt" must be an instance of Optimizer, but got: {type(opt)}')
        super().__init__(opt._use_locking, opt.get_name())
        self._optimizer = opt
        self._loss_scale: Any = loss_scales.get(loss_scale)
        self._track_trackable(self._optimizer, "base_optimizer")
        self._track_trackable(self._loss_scale, "loss_scale")

    def compute_gradients(
        self,
        loss: Tensor | Callable[[], Tensor],
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: Any = None,
        colocate_gradients_with_ops: bool = False,
        grad_loss: Any = None,
    ) -> list[tuple[Gradient | None, Any]]:
        """Return the gradient of the loss for each variable, computed from the scaled loss.

        Args:
            loss, var_list, gate_gradients, aggregation_method, colocate_gradients_with_ops, grad_loss: as for
                ``Optimizer.compute_gradients``.

        Returns:
            Pairs of a gradient, or None, and its variable.
        """
        loss_or_function: Any = loss
        scale = self._loss_scale()
        scaled: Any = (
            (lambda: loss_or_function() * scale) if callable(loss_or_function) else loss_or_function * scale
        )
        pairs = self._optimizer.compute_gradients(
            scaled,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            grad_loss=grad_loss,
        )
        factor = 1 / self._loss_scale()
        return [(None if grad is None else _scale_loss(grad, factor), variable) for grad, variable in pairs]

    def apply_gradients(
        self, grads_and_vars: GradsAndVars, global_step: VariableLike | None = None, name: str | None = None
    ) -> Operation:
        """Return an operation that updates the scale and, if all gradients are finite, the variables.

        Args:
            grads_and_vars, global_step, name: as for ``Optimizer.apply_gradients``.

        Returns:
            The operation.
        """
        if not isinstance(self._loss_scale, loss_scales.DynamicLossScale):
            return self._optimizer.apply_gradients(grads_and_vars, global_step, name)
        pairs = tuple(grads_and_vars)
        name = self.get_name() if name is None else name
        update, are_good = self._loss_scale.update([grad for grad, _ in pairs])

        def apply() -> Operation:
            constant(0)  # the replica number, which TensorFlow's graph has even for a single replica
            return self._optimizer.apply_gradients(pairs, global_step, f"{name}-wrapped")

        return control.group(smart_cond(are_good, apply, control.no_op), update, name=name)


def _scale_loss(grad: TensorLike, factor: Tensor) -> Any:
    if isinstance(grad, IndexedSlices):
        return IndexedSlices(grad.values * factor, grad.indices, grad.dense_shape)
    return grad * factor

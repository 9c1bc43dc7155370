"""Ops that update a variable from its gradient, for reference and resource variables alike.

``ApplyMomentum(var, accum, ...)`` has reference inputs and returns a reference; ``ResourceApplyMomentum`` has handles
and returns nothing. One formula below serves both: it maps old values to new ones. The sparse variants get the rows'
values and ``indices`` and only change those rows.

Source: tensorflow/core/kernels/training_ops.cc, release 1.15 (formulas, messages).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder
from gpuplace.kernels.resources import change
from gpuplace.numerics.pieces import WHOLE_BYTES
from gpuplace.ops.shape_rules import merge_shapes
from gpuplace.ops.train.updating import Formula, Loop, to_all, to_rows
from gpuplace.ops.variables.resource_state import handle_shape
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, TensorLike


def _apply(
    name: str,
    variables: int,
    attrs: tuple[str, ...] = (),
    sparse: bool = False,
    loop: Loop | None = None,
) -> Callable[[Formula], Formula]:
    """Register a formula as the kernel of ``<name>`` and ``Resource<name>``.

    Args:
        name: op type of the reference variant.
        variables: number of leading inputs that are variables, the trained one first.
        attrs: attributes passed on by keyword.
        sparse: whether an input after the gradient holds the positions of its rows.
        loop: compiled loop for large variables.
    """

    def register(formula: Formula) -> Formula:
        def bind(xp: Any, op_attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
            keywords = {attr: op_attrs[attr] for attr in attrs}
            names = _input_names(op)
            grad_at = _gradient_position(op) - variables
            rows_at = names.index("indices") - variables if sparse else -1
            has_output = bool(op.outputs)

            def changed(values: list[Any], are_own: list[bool], rest: tuple[Any, ...]) -> Any:
                if sparse:
                    others = rest[:rows_at] + rest[rows_at + 1 :]
                    return to_rows(xp, formula, values, are_own, others, grad_at, rest[rows_at], keywords)
                grad = rest[grad_at]
                shape = grad.shape
                for value in values:
                    if value.shape != shape:
                        _check_shapes(names, values, grad)
                        break
                if grad.nbytes <= WHOLE_BYTES:
                    return formula(xp, *values, *rest, **keywords)
                return to_all(xp, formula, values, are_own, rest, grad_at, keywords, loop)

            def run(*inputs: Any) -> Any:
                storages = inputs[:variables]
                if not has_output:
                    storages = tuple([handle.variable for handle in storages])
                change(storages, changed, inputs[variables:])
                return inputs[0] if has_output else ()

            return run

        bind.__qualname__ = f"bind_{name}"
        binder(name, f"Resource{name}")(bind)
        shape_function(name)(_reference_shape)
        shape_function(f"Resource{name}")(_handle_shape)
        return formula

    return register


def _input_names(op: Operation) -> list[str]:
    assert op.op_def is not None
    return [arg.name for arg in op.op_def.inputs]


def _gradient_position(op: Operation) -> int:
    return next(i for i, name in enumerate(_input_names(op)) if name in ("grad", "delta"))


def _gradient_fits(op: Operation, shape: TensorShape) -> TensorShape:
    """Return the variable's shape merged with that of the gradient, or with that of its rows."""
    gradient_shape = op.inputs[_gradient_position(op)].shape
    if "SparseApply" not in op.type:
        return merge_shapes(shape, gradient_shape)
    if shape.sizes:
        merge_shapes(TensorShape.of((None, *shape.sizes[1:])), gradient_shape)
    return shape


def _reference_shape(op: Operation) -> list[TensorShape]:
    return [_gradient_fits(op, op.inputs[0].shape)]


def _handle_shape(op: Operation) -> list[TensorShape]:
    _gradient_fits(op, handle_shape(op.inputs[0]))
    return []


def _check_shapes(names: list[str], values: list[Any], grad: TensorLike) -> None:
    shape = values[0].shape
    for name, array in zip((*names[1 : len(values)], "grad"), (*values[1:], grad), strict=True):
        if array.shape != shape and array.ndim:
            raise InvalidArgumentError.of(
                f"var and {name} do not have the same shape{brackets(TensorShape.of(shape))} "
                f"{brackets(TensorShape.of(array.shape))}"
            )


def _as(value: Array, like: Array) -> Array:
    """Return ``value`` with the dtype of ``like``."""
    return value.astype(like.dtype, copy=False)


def minus(xp: ArrayModule, value: Array, step: Array) -> Array:
    """Return ``value - step``, written to ``step``, which must be a temporary array."""
    return xp.subtract(value, step, out=step) if step.ndim else value - step


# Update formulas


@_apply("ApplyGradientDescent", 1, loop=Loop("descent", lambda alpha: (alpha[()],)))
def _gradient_descent(xp: ArrayModule, var: Array, alpha: Array, delta: Array) -> tuple[Any, ...]:
    return (minus(xp, var, delta * alpha),)


def _momentum_numbers(lr: Any, momentum: Any, *, use_nesterov: bool) -> tuple[Any, ...] | None:
    return None if use_nesterov else (lr[()], momentum[()])


@_apply("ApplyMomentum", 2, ("use_nesterov",), loop=Loop("momentum", _momentum_numbers))
@_apply("SparseApplyMomentum", 2, ("use_nesterov",), sparse=True)
def _momentum(
    xp: ArrayModule, var: Array, accum: Array, lr: Array, grad: Array, momentum: Array, *, use_nesterov: bool
) -> tuple[Any, ...]:
    accum = accum * momentum
    accum += grad
    step = grad * lr + accum * momentum * lr if use_nesterov else accum * lr
    return minus(xp, var, step), accum


@_apply("ApplyAdagrad", 2, ("update_slots",))
@_apply("SparseApplyAdagrad", 2, ("update_slots",), sparse=True)
def _adagrad(
    xp: ArrayModule, var: Array, accum: Array, lr: Array, grad: Array, *, update_slots: bool
) -> tuple[Any, ...]:
    if update_slots:
        accum = accum + grad * grad
    return var - grad * lr / xp.sqrt(accum), accum


@_apply("ApplyAdadelta", 3)
@_apply("SparseApplyAdadelta", 3, sparse=True)
def _adadelta(
    xp: ArrayModule,
    var: Array,
    accum: Array,
    accum_update: Array,
    lr: Array,
    rho: Array,
    epsilon: Array,
    grad: Array,
) -> tuple[Any, ...]:
    one = rho.dtype.type(1)
    accum = accum * rho + grad * grad * (one - rho)
    update = xp.sqrt(accum_update + epsilon) / xp.sqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + update * update * (one - rho)


@_apply("ApplyRMSProp", 3)
@_apply("SparseApplyRMSProp", 3, sparse=True)
def _rms_prop(
    xp: ArrayModule,
    var: Array,
    ms: Array,
    mom: Array,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Array,
    grad: Array,
) -> tuple[Any, ...]:
    ms = ms + (grad * grad - ms) * (rho.dtype.type(1) - rho)
    mom = mom * momentum + grad * lr / xp.sqrt(ms + epsilon)
    return var - mom, ms, mom


@_apply("ApplyCenteredRMSProp", 4)
@_apply("SparseApplyCenteredRMSProp", 4, sparse=True)
def _centered_rms_prop(
    xp: ArrayModule,
    var: Array,
    mg: Array,
    ms: Array,
    mom: Array,
    lr: Array,
    rho: Array,
    momentum: Array,
    epsilon: Array,
    grad: Array,
) -> tuple[Any, ...]:
    rest = rho.dtype.type(1) - rho
    ms = ms + (grad * grad - ms) * rest
    mg = mg + (grad - mg) * rest
    mom = mom * momentum + grad * lr / xp.sqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


def _adam_numbers(
    beta1_power: Any,
    beta2_power: Any,
    lr: TensorLike,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    *,
    use_nesterov: bool,
) -> tuple[Any, ...] | None:
    one = beta1.dtype.type(1)
    rate = lr * np.sqrt(one - beta2_power) / (one - beta1_power)
    return None if use_nesterov else (one - beta1, one - beta2, rate, epsilon[()])


@_apply("ApplyAdam", 3, ("use_nesterov",), loop=Loop("adam", _adam_numbers))
def _adam(
    xp: ArrayModule,
    var: Array,
    m: Array,
    v: Array,
    beta1_power: Array,
    beta2_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
    *,
    use_nesterov: bool,
) -> tuple[Any, ...]:
    one = beta1.dtype.type(1)
    rate = lr * xp.sqrt(one - beta2_power) / (one - beta1_power)
    m = m + (grad - m) * (one - beta1)
    v = v + (grad * grad - v) * (one - beta2)
    step = grad * (one - beta1) + beta1 * m if use_nesterov else m
    return var - step * rate / (xp.sqrt(v) + epsilon), m, v


@_apply("ApplyAdaMax", 3)
def _ada_max(
    xp: ArrayModule,
    var: Array,
    m: Array,
    v: Array,
    beta1_power: Array,
    lr: Array,
    beta1: Array,
    beta2: Array,
    epsilon: Array,
    grad: Array,
) -> tuple[Any, ...]:
    one = beta1.dtype.type(1)
    m = m + (grad - m) * (one - beta1)
    v = xp.maximum(beta2 * v, xp.abs(grad))
    return var - lr / (one - beta1_power) * (m / (v + epsilon)), m, v


@_apply("ApplyProximalGradientDescent", 1)
@_apply("SparseApplyProximalGradientDescent", 1, sparse=True)
def _proximal_gradient_descent(
    xp: ArrayModule, var: Array, alpha: Array, l1: Array, l2: Array, delta: Array
) -> tuple[Any, ...]:
    zero, one = alpha.dtype.type(0), alpha.dtype.type(1)
    moved = var - delta * alpha
    if float(l1) > 0:
        return (xp.sign(moved) * xp.maximum(xp.abs(moved) - alpha * l1, zero) / (one + l2 * alpha),)
    return (moved / (one + l2 * alpha),)


@_apply("ApplyProximalAdagrad", 2)
@_apply("SparseApplyProximalAdagrad", 2, sparse=True)
def _proximal_adagrad(
    xp: ArrayModule, var: Array, accum: Array, lr: Array, l1: Array, l2: Array, grad: Array
) -> tuple[Any, ...]:
    accum = accum + grad * grad
    rate = lr / xp.sqrt(accum)
    moved = var - grad * rate
    one = lr.dtype.type(1)
    if float(l1) > 0:
        moved = xp.sign(moved) * xp.maximum(xp.abs(moved) - rate * l1, lr.dtype.type(0))
    return moved / (one + l2 * rate), accum


@_apply("ApplyAdagradDA", 3)
@_apply("SparseApplyAdagradDA", 3, sparse=True)
def _adagrad_da(
    xp: ArrayModule,
    var: Array,
    gradients: Array,
    squares: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    global_step: Array,
) -> tuple[Any, ...]:
    step = global_step.astype(lr.dtype)
    gradients = gradients + grad
    squares = squares + grad * grad
    pull = gradients
    if float(l1) > 0:
        pull = xp.sign(gradients) * xp.maximum(xp.abs(gradients) - l1 * step, lr.dtype.type(0))
    return -lr * pull / (l2 * step * lr + xp.sqrt(squares)), gradients, squares


@_apply("ApplyFtrl", 3)
@_apply("SparseApplyFtrl", 3, sparse=True)
def _ftrl(
    xp: ArrayModule,
    var: Array,
    accum: Array,
    linear: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    lr_power: Array,
) -> tuple[Any, ...]:
    return _ftrl_step(xp, var, accum, linear, grad, grad, lr, l1, l2, lr_power)


@_apply("ApplyFtrlV2", 3)
@_apply("SparseApplyFtrlV2", 3, sparse=True)
def _ftrl_v2(
    xp: ArrayModule,
    var: Array,
    accum: Array,
    linear: Array,
    grad: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    l2_shrinkage: Array,
    lr_power: Array,
) -> tuple[Any, ...]:
    pull = grad + lr.dtype.type(2) * l2_shrinkage * var
    return _ftrl_step(xp, var, accum, linear, grad, pull, lr, l1, l2, lr_power)


def _ftrl_step(
    xp: ArrayModule,
    var: Array,
    accum: Array,
    linear: Array,
    grad: Array,
    pull: Array,
    lr: Array,
    l1: Array,
    l2: Array,
    lr_power: Array,
) -> tuple[Any, ...]:
    """Return a step along ``pull``, with the sums of squares of ``grad``."""
    new_accum = accum + grad * grad
    power = -lr_power
    linear = linear + pull - (new_accum**power - accum**power) / lr * var
    two = lr.dtype.type(2)
    quadratic = new_accum**power / lr + two * l2
    shrunk = (xp.sign(linear) * l1 - linear) / quadratic
    return _as(xp.where(xp.abs(linear) > l1, shrunk, xp.zeros_like(linear)), var), new_accum, linear

"""The ops that update a variable from its gradient, for reference and resource variables alike.

``ApplyMomentum(var, accum, ...)`` takes references and returns one; ``ResourceApplyMomentum`` takes handles and returns
nothing. One function below serves both: it gets the values and returns the new ones. The sparse variants get the rows'
values and ``indices`` and change those rows only.

Source: tensorflow/core/kernels/training_ops.cc, release 1.15 (formulas, messages).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.operation import Operation
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import binder
from gpuplace.kernels.one_kernel import OneKernel, environment_allows_fusion
from gpuplace.kernels.resources import ResourceHandle, VariableStorage
from gpuplace.ops.resource_state import handle_shape
from gpuplace.ops.scatter import check_indices
from gpuplace.ops.shape_rules import brackets, merge_shapes
from gpuplace.shapes import TensorShape

Update = Callable[..., tuple[Any, ...]]
"""``(xp, *values of the variables, *other inputs, **attributes)`` to the new values of the variables."""


def _apply(
    name: str, variables: int, attrs: tuple[str, ...] = (), sparse: bool = False
) -> Callable[[Update], Update]:
    """Registers an update as what computes ``<name>`` and ``Resource<name>``.

    Args:
        name: op type of the variant for reference variables.
        variables: how many of the first inputs are variables, the trained one first.
        attrs: attributes handed on by keyword.
        sparse: the last input holds the positions of the rows that the gradient before it is for.
    """

    def register(update: Update) -> Update:
        def bind(xp: Any, op_attrs: Mapping[str, Any], op: Operation) -> Callable[..., Any]:
            keywords = {attr: op_attrs[attr] for attr in attrs}
            new_values = _by_element(update, xp, op, keywords)

            def run(*inputs: Any) -> Any:
                storages = [_storage(tensor) for tensor in inputs[:variables]]
                rest = inputs[variables:]
                with storages[0].lock:
                    values = [storage.value for storage in storages]
                    if sparse:
                        new: Any = _on_rows(update, xp, op, values, rest, keywords)
                    else:
                        _check_shapes(op, values, rest[_gradient_position(op) - variables])
                        new = new_values(*values, *rest)
                    for storage, value in zip(storages, new, strict=True):
                        storage.assign(value)
                return inputs[0] if op.outputs else ()

            return run

        bind.__qualname__ = f"bind_{name}"
        binder(name, f"Resource{name}")(bind)
        shape_function(name)(_reference_shape)
        shape_function(f"Resource{name}")(_handle_shape)
        return update

    return register


def _by_element(
    update: Update, xp: Any, op: Operation, keywords: Mapping[str, Any]
) -> Callable[..., tuple[Any, ...]]:
    """The update of whole arrays: with CuPy one kernel that reads and writes every array once, and not one a sign."""
    plain = functools.partial(update, xp, **keywords)
    if not hasattr(xp, "ElementwiseKernel") or not environment_allows_fusion():
        return plain
    kernel = OneKernel(xp, op.type, lambda recorder, given: update(recorder, *given, **keywords), plain)

    def run(*arrays: Any) -> tuple[Any, ...]:
        made = kernel(*arrays)
        return made if isinstance(made, tuple) else (made,)

    return run


def _storage(tensor: VariableStorage | ResourceHandle) -> VariableStorage:
    return tensor.variable if isinstance(tensor, ResourceHandle) else tensor


def _gradient_position(op: Operation) -> int:
    assert op.op_def is not None
    return next(i for i, arg in enumerate(op.op_def.inputs) if arg.name in ("grad", "delta"))


def _reference_shape(op: Operation) -> list[TensorShape]:
    shape = op.inputs[0].shape
    if not op.type.startswith("Sparse"):
        shape = merge_shapes(shape, op.inputs[_gradient_position(op)].shape)
    return [shape]


def _handle_shape(op: Operation) -> list[TensorShape]:
    if not op.type.startswith("ResourceSparse"):
        merge_shapes(handle_shape(op.inputs[0]), op.inputs[_gradient_position(op)].shape)
    return []


def _check_shapes(op: Operation, values: list[Any], grad: Any) -> None:
    names = [arg.name for arg in op.op_def.inputs] if op.op_def else []
    for name, array in [*zip(names[1 : len(values)], values[1:], strict=True), ("grad", grad)]:
        if array.shape != values[0].shape and array.ndim:
            raise InvalidArgumentError(
                None,
                None,
                f"var and {name} do not have the same shape{brackets(TensorShape.of(values[0].shape))} "
                f"{brackets(TensorShape.of(array.shape))}",
            )


def _on_rows(
    update: Update, xp: Any, op: Operation, values: list[Any], rest: tuple[Any, ...], keywords: dict[str, Any]
) -> list[Any]:
    """Applies an update to some rows; rows that occur several times take their turns one after the other."""
    position = (
        [arg.name for arg in op.op_def.inputs].index("indices") - len(values) if op.op_def else len(rest) - 1
    )
    indices = rest[position].reshape(-1)
    others = rest[:position] + rest[position + 1 :]
    check_indices(xp, indices, values[0].shape[0])
    grad_at = _gradient_position(op) - len(values)
    new = [value.copy() for value in values]
    batches = [slice(None)] if len(xp.unique(indices)) == len(indices) else range(len(indices))
    for batch in batches:
        rows = indices[batch]
        arguments = list(others)
        arguments[grad_at] = others[grad_at].reshape(-1, *values[0].shape[1:])[batch]
        changed = update(xp, *[value[rows] if value.ndim else value for value in new], *arguments, **keywords)
        for value, part in zip(new, changed, strict=True):
            if value.ndim:
                value[rows] = part
    return new


def _as(value: Any, like: Any) -> Any:
    """``value`` in the element type of ``like``."""
    return value.astype(like.dtype, copy=False)


# The updates


@_apply("ApplyGradientDescent", 1)
def _gradient_descent(xp: Any, var: Any, alpha: Any, delta: Any) -> tuple[Any, ...]:
    return (var - alpha * delta,)


@_apply("ApplyMomentum", 2, ("use_nesterov",))
@_apply("SparseApplyMomentum", 2, ("use_nesterov",), sparse=True)
def _momentum(
    xp: Any, var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, *, use_nesterov: bool
) -> tuple[Any, ...]:
    accum = accum * momentum + grad
    step = grad * lr + accum * momentum * lr if use_nesterov else accum * lr
    return var - step, accum


@_apply("ApplyAdagrad", 2, ("update_slots",))
@_apply("SparseApplyAdagrad", 2, ("update_slots",), sparse=True)
def _adagrad(xp: Any, var: Any, accum: Any, lr: Any, grad: Any, *, update_slots: bool) -> tuple[Any, ...]:
    if update_slots:
        accum = accum + grad * grad
    return var - grad * lr / xp.sqrt(accum), accum


@_apply("ApplyAdadelta", 3)
@_apply("SparseApplyAdadelta", 3, sparse=True)
def _adadelta(
    xp: Any, var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any
) -> tuple[Any, ...]:
    one = rho.dtype.type(1)
    accum = accum * rho + grad * grad * (one - rho)
    update = xp.sqrt(accum_update + epsilon) / xp.sqrt(accum + epsilon) * grad
    return var - update * lr, accum, accum_update * rho + update * update * (one - rho)


@_apply("ApplyRMSProp", 3)
@_apply("SparseApplyRMSProp", 3, sparse=True)
def _rms_prop(
    xp: Any, var: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> tuple[Any, ...]:
    ms = ms + (grad * grad - ms) * (rho.dtype.type(1) - rho)
    mom = mom * momentum + grad * lr / xp.sqrt(ms + epsilon)
    return var - mom, ms, mom


@_apply("ApplyCenteredRMSProp", 4)
@_apply("SparseApplyCenteredRMSProp", 4, sparse=True)
def _centered_rms_prop(
    xp: Any, var: Any, mg: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> tuple[Any, ...]:
    rest = rho.dtype.type(1) - rho
    ms = ms + (grad * grad - ms) * rest
    mg = mg + (grad - mg) * rest
    mom = mom * momentum + grad * lr / xp.sqrt(ms - mg * mg + epsilon)
    return var - mom, mg, ms, mom


@_apply("ApplyAdam", 3, ("use_nesterov",))
def _adam(
    xp: Any,
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
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
    xp: Any,
    var: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
) -> tuple[Any, ...]:
    one = beta1.dtype.type(1)
    m = m + (grad - m) * (one - beta1)
    v = xp.maximum(beta2 * v, xp.abs(grad))
    return var - lr / (one - beta1_power) * (m / (v + epsilon)), m, v


@_apply("ApplyProximalGradientDescent", 1)
def _proximal_gradient_descent(
    xp: Any, var: Any, alpha: Any, l1: Any, l2: Any, delta: Any
) -> tuple[Any, ...]:
    zero, one = alpha.dtype.type(0), alpha.dtype.type(1)
    moved = var - delta * alpha
    if float(l1) > 0:
        return (xp.sign(moved) * xp.maximum(xp.abs(moved) - alpha * l1, zero) / (one + l2 * alpha),)
    return (moved / (one + l2 * alpha),)


@_apply("ApplyFtrl", 3)
@_apply("SparseApplyFtrl", 3, sparse=True)
def _ftrl(
    xp: Any, var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any
) -> tuple[Any, ...]:
    new_accum = accum + grad * grad
    power = -lr_power
    linear = linear + grad - (new_accum**power - accum**power) / lr * var
    two = lr.dtype.type(2)
    quadratic = new_accum**power / lr + two * l2
    shrunk = (xp.sign(linear) * l1 - linear) / quadratic
    return _as(xp.where(xp.abs(linear) > l1, shrunk, xp.zeros_like(linear)), var), new_accum, linear

"""``tf.custom_gradient``: functions with their own gradient.

The function's results, arguments and variables go through one ``IdentityN``, whose gradient is the function's::

    results ──┐
    arguments ┼─> IdentityN (_gradient_op_type: CustomGradient-7) ─> results
    variables ┘

Source: tensorflow/python/ops/custom_gradient.py, release 1.15.
"""

from __future__ import annotations

import functools
import inspect
import itertools
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.callers import warn
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import nest
from gpuplace.ops.array import reshaping
from gpuplace.ops.gradients.gradients import gradients
from gpuplace.ops.gradients.registry import RegisterGradient, find_gradient
from gpuplace.ops.variables.resource_variables import is_resource_variable
from gpuplace.ops.variables.variable_scope import get_variable_scope
from gpuplace.typing import Function

__all__ = ["custom_gradient", "grad_pass_through", "recompute_grad"]

_numbers = itertools.count()


def custom_gradient(f: Function) -> Function:
    """Decorate a function that defines its own gradient.

    >>> import gpuplace as tf
    >>> @tf.custom_gradient
    ... def log1pexp(x):
    ...     e = tf.exp(x)
    ...     return tf.log(1 + e), lambda dy: dy * (1 - 1 / (1 + e))
    >>> x = tf.constant(100.0)
    >>> float(tf.Session().run(tf.gradients(log1pexp(x), x)[0]))
    1.0

    Args:
        f: a function of tensors that returns a structure of tensors and a gradient function, from the gradients of
            these tensors to those of the arguments, one or a list. If ``f`` uses variables, the gradient function has a
            keyword ``variables``, a list, and returns the gradients of the arguments and a list of those of the
            variables.

    Returns:
        A function of the same positional arguments that returns the structure. It raises ValueError for keyword
        arguments, and TypeError if ``f`` makes a reference variable or uses variables that its gradient function does
        not accept.
    """

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when eager execution is"
                " enabled."
            )
        return _with_gradient(f, [convert_to_tensor(item) for item in args])

    return decorated


def _with_gradient(f: Function, args: list[Tensor]) -> Any:
    scope = get_variable_scope()
    before = {id(variable) for variable in [*scope.global_variables(), *scope.local_variables()]}
    result, grad_fn = f(*args)
    for variable in [*scope.global_variables(), *scope.local_variables()]:
        if id(variable) not in before and not is_resource_variable(variable):
            raise TypeError(
                "All variables used by a function wrapped with @custom_gradient must be `ResourceVariable`s. Ensure"
                " that no `variable_scope` is created with `use_resource=False`."
            )
    results = nest.flatten(result)
    variables = get_dependent_variables(args, results)
    _check_gradient_function(grad_fn, variables)

    def grad(op: Operation, *result_grads: Any) -> list[Any]:
        output_grads = result_grads[: len(results)]
        of_variables: Sequence[Any] = ()
        if variables:
            of_args, of_variables = grad_fn(*output_grads, variables=variables)
            if len(of_variables) != len(variables):
                raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        else:
            of_args = grad_fn(*output_grads)
        return [*[None] * len(results), *nest.flatten(of_args), *of_variables]

    name = f"CustomGradient-{next(_numbers)}"
    RegisterGradient(name)(grad)
    with get_default_graph().gradient_override_map({"IdentityN": name}):
        handed_on = reshaping.identity_n([*results, *args, *variables])
    return nest.pack_sequence_as(result, handed_on[: len(results)])


def _check_gradient_function(grad_fn: Function, variables: Sequence[Any]) -> None:
    parameters = inspect.signature(grad_fn).parameters
    takes_variables = "variables" in parameters or any(
        parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters.values()
    )
    if variables and not takes_variables:
        raise TypeError(
            "If using @custom_gradient with a function that uses variables, then grad_fn must accept a keyword argument"
            " 'variables'."
        )
    if takes_variables and not variables:
        if not get_variable_scope().use_resource:
            raise TypeError(
                "If using @custom_gradient with a function that uses variables, the enclosing variable scope must have"
                " use_resource=True."
            )
        warn(
            "@custom_gradient grad_fn has 'variables' in signature, but no ResourceVariables were used on the forward"
            " pass."
        )


def get_dependent_variables(input_ops: Any, output_ops: Any) -> list[Any]:
    """Return the trainable variables that results depend on through differentiable ops, but not through the inputs.

    Args:
        input_ops: a structure of tensors.
        output_ops: a structure of tensors.

    Returns:
        A list of variables, nearest to the results first.
    """
    graph = get_default_graph()
    by_op = {variable.op: variable for variable in graph.get_collection(GraphKeys.GLOBAL_VARIABLES)}
    seen = {tensor.op for tensor in nest.flatten(input_ops)}
    queue = deque(convert_to_tensor(item).op for item in nest.flatten(output_ops))
    variables = []
    while queue:
        op = queue.popleft()
        if op in seen:
            continue
        seen.add(op)
        if op in by_op and by_op[op].trainable:
            variables.append(by_op[op])
        if _is_differentiable(op):
            queue.extend(tensor.op for tensor in op.inputs)
    return variables


def _is_differentiable(op: Operation) -> bool:
    try:
        return find_gradient(op) is not None
    except LookupError:
        return False


def recompute_grad(f: Function) -> Function:
    """Return a function whose gradient recomputes intermediate results instead of keeping them.

    >>> import gpuplace as tf
    >>> cube = tf.recompute_grad(lambda x: x * x * x)
    >>> x = tf.constant(2.0)
    >>> with tf.variable_scope("cubes", use_resource=True):
    ...     y = cube(x)
    >>> float(tf.Session().run(tf.gradients(y, x)[0]))
    12.0

    Args:
        f: a function from tensors to a tensor; it may use only resource variables, and must use the same ones when
            called again. The variable scope around the call must use resource variables.

    Returns:
        A function with the same arguments and result.
    """

    @custom_gradient
    def inner(*args: Any) -> Any:
        result = f(*args)

        def grad(dresult: Any, variables: Sequence[Any] | None = None) -> Any:
            with get_default_graph().control_dependencies([dresult]):
                again = [reshaping.identity(item) for item in args]
                of_all = gradients(f(*again), [*again, *(variables or ())], grad_ys=dresult)
            return (of_all[: len(args)], of_all[len(args) :]) if variables else of_all

        return result, grad

    return inner


def grad_pass_through(f: Callable[..., Any]) -> Function:
    """Return a function whose gradient is that of the identity.

    Args:
        f: a function of tensors.

    Returns:
        A function with the result of ``f``; it raises TypeError if the variable scope does not use resource variables.
    """

    @custom_gradient
    def passed_through(*args: Any) -> Any:
        def grad(*grads: Any, **kwargs: Any) -> Any:
            variables = kwargs.get("variables")
            return grads if variables is None else (grads, [None] * len(variables))

        return f(*args), grad

    return functools.wraps(f)(passed_through)

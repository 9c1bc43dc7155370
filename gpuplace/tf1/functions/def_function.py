"""``tf.function``: ``defun`` that can also create variables in its first call.

>>> import gpuplace as tf
>>> @function
... def cube(x):
...     return x * x * x
>>> y = cube(tf.constant(2.0))
>>> y.op.type, *(float(value) for value in tf.Session().run([y, *tf.gradients(y, y.op.inputs)]))
('PartitionedCall', 8.0, 12.0)

Source: tensorflow/python/eager/def_function.py, release 1.15 (names, messages, structure).
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.traced_graph import init_scope
from gpuplace.ops.variables.variable_scope import variable_creator_scope
from gpuplace.tf1.functions import defun as polymorphic
from gpuplace.tf1.functions.concrete import ConcreteFunction
from gpuplace.tf1.functions.func_graph import func_graph_from_py_func

_PRIORITY = 50
"""Priority of the variable creators here; those of the program come first."""


class Function(polymorphic.Function):
    """A Python function that becomes a node of the graph, and may create variables in its first call.

    The first call runs it twice: once to create the variables, and once to trace it with them.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._is_first = True
        self._made: list[weakref.ref[Any]] = []
        self._plain = self._python_function
        self._python_function = self._with_creator(self._first_creator)

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._plain

    def _of(self, python_function: Callable[..., Any]) -> Function:
        return Function(python_function, self._name, self._input_signature, self._attributes)

    def _with_creator(self, creator: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(self._plain)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with variable_creator_scope(creator, _PRIORITY):
                return self._plain(*args, **kwargs)

        return wrapped

    def _first_creator(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        variable = next_creator(**kwargs)
        self._made.append(weakref.ref(variable))
        return variable

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Return the function for one signature; before the first call, add a call of an empty function too.

        Args:
            *args: arguments; a ``TensorSpec`` can stand for a tensor.
            **kwargs: arguments by name.

        Raises:
            ValueError: arguments do not fit the signature, or a later call than the first creates variables.
        """
        was_first = self._is_first
        function = super().get_concrete_function(*args, **kwargs)
        if was_first and not self._made:
            with init_scope():
                _add_empty_call()
        return function

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        was_first, self._is_first = self._is_first, False
        if not was_first and self._made:
            return super()._traced(args, kwargs)
        traced = super()._traced(args, kwargs)
        if not self._made:
            return traced
        if not was_first:
            raise ValueError(
                "Creating variables on a non-first call to a function decorated with tf.function."
            )
        with init_scope():
            _add_empty_call()
        self._cache().clear()
        self._python_function = self._with_creator(_no_creator)
        return super()._traced(args, kwargs)


def _no_creator(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
    raise ValueError("tf.function-decorated function tried to create variables on non-first call.")


def _add_empty_call() -> None:
    """Add the call of an empty function, as TensorFlow does for variables with initializers."""
    graph = func_graph_from_py_func("initialize_variables", lambda: None, (), None)
    ConcreteFunction(graph).add_call([])


def function(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
    experimental_compile: bool | None = None,
) -> Any:
    """Turn a Python function into a library function of the graph, traced for each signature.

    A call is one node. Tensors and variables of the surrounding graph that the function uses become inputs, and
    stateful operations run in program order. Python's ``if`` and ``while`` on tensors are not converted: use
    ``tf.cond`` and ``tf.while_loop``.

    Args:
        func: takes structures of tensors and other values, and returns a structure of tensors; None: return a
            decorator.
        input_signature: a list of ``TensorSpec``: the only signature; None: the signature of each call.
        autograph: ignored: Python's own control flow is not converted.
        experimental_autograph_options: ignored.
        experimental_relax_shapes: ignored: shapes are those of each call.
        experimental_compile: stored as an attribute of the functions.

    Returns:
        The function, with ``get_concrete_function``.

    Raises:
        TypeError: the signature contains something other than specs; later, the function returns something that is not
            a tensor.
        ValueError: later, a call after the first one creates variables.
    """

    def decorated(inner: Callable[..., Any]) -> Function:
        attributes = {} if experimental_compile is None else {"_XlaCompile": bool(experimental_compile)}
        plain = inner.func if isinstance(inner, functools.partial) else inner
        name = getattr(plain, "__name__", type(plain).__name__)
        return Function(inner, name, input_signature, attributes)

    return decorated if func is None else decorated(func)

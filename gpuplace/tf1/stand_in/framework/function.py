"""``tensorflow.python.framework.function``: ``Defun``, a decorator that turns a Python function into a graph function.

The function is built once, with placeholders, when its definition is first needed. A call adds one node whose
op type is the function's name. Tensors that it captures from the outer graph become arguments after its own.

>>> import gpuplace as tf
>>> @Defun(tf.float32, func_name="Twice")
... def twice(x):
...     return 2 * x
>>> y = twice(4.0)
>>> y.op.type, *(float(value) for value in tf.Session().run([y, *tf.gradients(y, y.op.inputs)]))
('Twice', 8.0, 2.0)

Source: tensorflow/python/framework/function.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.dtypes import as_dtype
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.traced_graph import FunctionBody, TracedGraph, add_called_functions
from gpuplace.graphdef.attr_values import decode_op_def
from gpuplace.graphdef.function_def import function_def
from gpuplace.graphdef.messages import FunctionDef
from gpuplace.ops.flow.calls import set_python_gradient
from gpuplace.shapes import TensorShape, as_shape
from gpuplace.tf1.stand_in.util import tf_inspect

__all__ = ["Defun", "get_extra_args", "get_extra_inputs", "get_extra_vars"]


class Defun:
    """A decorator that turns a function of tensors into a function of the graph's library.

    Args:
        *input_types: the types of its arguments; without them, the types of each call.
        **kwargs: ``func_name``: its name in the library; ``grad_func``: its gradient, another such function;
            ``python_grad_func``: its gradient as a Python function ``(op, *grads)``; ``out_names``: names of
            its results; ``shape_func``: returns their shapes for a call; ``capture_by_value``: whether to
            copy captured operations; others become attributes of the function.
    """

    def __init__(self, *input_types: Any, **kwargs: Any) -> None:
        self._input_types = [as_dtype(dtype) for dtype in input_types]
        self._options = {
            name: kwargs.pop(name, None)
            for name in ("func_name", "grad_func", "python_grad_func", "out_names", "shape_func")
        }
        self._options["capture_by_value"] = kwargs.pop("capture_by_value", False)
        self._options["extra"] = kwargs

    def __call__(self, func: Callable[..., Any]) -> Any:
        """Return the graph function.

        Args:
            func: takes tensors; returns a tensor, several, or None.

        Raises:
            ValueError: ``func`` is not callable, has defaults or keyword arguments, or the number of its
                arguments differs from the number of types.
        """
        if not callable(func):
            raise ValueError(f"function {func} must be callable")
        spec = tf_inspect.getargspec(func)
        if spec.keywords or spec.defaults:
            raise ValueError(
                "Functions with argument defaults or keywords arguments are not supported. "
                f"{func} has defaults {spec.defaults} and keywords {spec.keywords}."
            )
        least = len(spec.args) - (1 if inspect.ismethod(func) else 0)
        count = len(self._input_types)
        if self._input_types:
            if count < least:
                raise ValueError(
                    "The function has fewer arguments than the number of specified input types."
                    if spec.varargs
                    else "The function has more arguments than specified input types."
                )
            if count > least and not spec.varargs:
                raise ValueError("The function has fewer arguments than the number of specified input types.")
        elif least or spec.varargs:
            return _OverloadedFunction(func, spec.args, self._options)
        return _DefinedFunction(func, spec.args, self._input_types, self._options)


class _DefinedFunction:
    """A function with given types.

    Args:
        func: the Python function.
        argnames: the names of its arguments.
        input_types: their types.
        options: the options of ``Defun``.
    """

    def __init__(
        self,
        func: Callable[..., Any],
        argnames: Sequence[str],
        input_types: Sequence[Any],
        options: dict[str, Any],
    ) -> None:
        self._func = func
        self._argnames = argnames
        self._input_types = input_types
        self._options = options
        self._name: str | None = options["func_name"]
        self._grad_func = options["grad_func"]
        self._body: FunctionBody | None = None
        self._definition: Any = None
        self._captured: tuple[Tensor, ...] = ()
        self._stateful: list[tuple[str, str]] = []

    @property
    def name(self) -> str:
        """The function's name in the library."""
        self._define()
        assert self._name is not None
        return self._name

    @property
    def definition(self) -> Any:
        """The ``FunctionDef``."""
        self._define()
        return self._definition

    @property
    def _signature(self) -> Any:
        return self.definition.signature

    @property
    def grad_func_name(self) -> str | None:
        """The name of its gradient; None if the gradient is derived."""
        return self._grad_func.name if self._grad_func else None

    @property
    def python_grad_func(self) -> Any:
        """The Python function that adds its gradient, or None."""
        return self._options["python_grad_func"]

    @property
    def declared_input_types(self) -> tuple[Any, ...]:
        """The declared types of its arguments."""
        return tuple(self._input_types)

    @property
    def captured_inputs(self) -> list[Tensor]:
        """The tensors that it captures from the outer graph."""
        self._define()
        return list(self._captured)

    @property
    def stateful_ops(self) -> list[tuple[str, str]]:
        """Names and types of the stateful operations."""
        self._define()
        return list(self._stateful)

    def _define(self) -> None:
        if self._definition is not None:
            return
        outer = get_default_graph()
        graph = TracedGraph(outer, by_value=self._options["capture_by_value"])
        with graph.as_default():
            named = [*self._argnames][-len(self._input_types) :] if self._input_types else []
            names = [*named, *(f"arg{i}" for i in range(len(named), len(self._input_types)))]
            args = [
                graph.add_arg(dtype, TensorShape(None), name)
                for dtype, name in zip(self._input_types, names, strict=True)
            ]
            results = self._results(graph, self._func(*args))
        targets = [op for op in graph.get_operations() if _always_runs(op, graph)]
        body = graph.body(results, targets)
        self._stateful = [
            (op.name, op.type)
            for op in graph.get_operations()
            if op.op_def is not None and op.op_def.is_stateful
        ]
        self._set(body, outer)

    def _results(self, graph: TracedGraph, returned: Any) -> list[Tensor]:
        if returned is None or isinstance(returned, Operation):
            return []
        values = list(returned) if isinstance(returned, (list, tuple)) else [returned]
        if any(value is None for value in values):
            raise ValueError(f"Function can not return None: {self._func.__name__}")
        results = [graph.capture(convert_to_tensor(value)) for value in values]
        names = self._options["out_names"]
        if names and len(names) != len(results):
            raise InvalidArgumentError.of(
                "output names must be either empty or equal in size to outputs. output names size ="
                f" {len(names)} outputs size = {len(results)}"
            )
        return results

    def _set(self, body: FunctionBody, outer: Graph) -> None:
        extra = dict(self._options["extra"])
        attrs: dict[str, Any] = {}
        if "noinline" in extra:
            attrs["_noinline"] = bool(extra.pop("noinline"))
        attrs.update(
            {key: value.encode() if isinstance(value, str) else value for key, value in extra.items()}
        )
        fdef = function_def("", body, inspect.getdoc(self._func) or "", attrs, self._options["out_names"])
        if self._name is None:
            digest = hashlib.sha1(fdef.SerializeToString(deterministic=True)).hexdigest()[:11]
            self._name = f"{getattr(self._func, '__name__', 'function')}_{digest}"
        fdef.signature.name = self._name
        self._captured = body.graph.captures  # type: ignore[attr-defined]
        self._body, self._definition = body, fdef
        self._outer = outer

    def add_to_graph(self, g: Graph) -> None:
        """Add the function to a graph's library, with the functions that it calls and its gradient.

        Args:
            g: the graph.

        Raises:
            ValueError: the graph has another function of that name.
        """
        self._define()
        serialized = self._definition.SerializeToString(deterministic=True)
        if self.name in g.functions:
            if g.functions[self.name] != serialized:
                raise ValueError(
                    f"Cannot add function '{self.name}' because a different function with the same name already exists."
                )
            return
        g.functions[self.name] = serialized
        g.function_op_defs[self.name] = decode_op_def(self._definition.signature)
        if self._body is not None:
            g.function_bodies[self.name] = self._body
            add_called_functions(g, self._body.graph)
        if self._grad_func:
            self._grad_func.add_to_graph(g)
            g.gradient_functions[self.name] = self._grad_func.name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call to the graph.

        Args:
            *args: the arguments.
            **kwargs: ``name``: name of the node; ``noinline``: whether to forbid inlining.

        Returns:
            A tensor, a tuple of tensors, or the operation if there are no results.

        Raises:
            ValueError: the number of arguments is wrong, or there are other keyword arguments.
        """
        graph = get_default_graph()
        self.add_to_graph(graph)
        name, noinline = kwargs.pop("name", None), kwargs.pop("noinline", None)
        if kwargs:
            raise ValueError(f"Unknown keyword arguments: {kwargs.keys()}")
        expected = len(self._signature.input_arg) - len(self._captured)
        if len(args) != expected:
            raise ValueError(f"Expected number of arguments: {expected}, received: {len(args)}")
        types = [as_dtype(arg.type) for arg in self._signature.input_arg]
        inputs = [convert_to_tensor(arg, dtype=dtype) for arg, dtype in zip(args, types, strict=False)]
        outputs = [as_dtype(arg.type) for arg in self._signature.output_arg]
        op = graph.create_op(
            self.name,
            [*inputs, *self._captured],
            outputs,
            name=name or self.name,
            attrs={} if noinline is None else {"_noinline": bool(noinline)},
        )
        if self.python_grad_func is not None:
            set_python_gradient(op, self.python_grad_func)
        tell = self._options["shape_func"]
        if tell is not None:
            for tensor, shape in zip(op.outputs, tell(op), strict=True):
                tensor.set_shape(as_shape(shape))
        if not op.outputs:
            return op
        return op.outputs[0] if len(op.outputs) == 1 else tuple(op.outputs)


def _always_runs(op: Operation, graph: TracedGraph) -> bool:
    """Return whether an operation runs even if unused: it is stateful, outside of loops and conditionals."""
    return (
        op.op_def is not None
        and op.op_def.is_stateful
        and op.type != "Placeholder"
        and op not in graph.scopes.contexts
    )


class _OverloadedFunction:
    """A function whose types are determined by each call.

    Args:
        func: the Python function.
        argnames: the names of its arguments.
        options: the options of ``Defun``.
    """

    def __init__(self, func: Callable[..., Any], argnames: Sequence[str], options: dict[str, Any]) -> None:
        self._func = func
        self._argnames = argnames
        self._options = options
        self._overload: dict[tuple[Any, ...], _DefinedFunction] = {}

    def instantiate(self, input_types: Sequence[Any]) -> _DefinedFunction:
        """Return the function for given types.

        Args:
            input_types: the types of its arguments.
        """
        types = tuple(as_dtype(dtype) for dtype in input_types)
        if types not in self._overload:
            options = dict(self._options)
            name = options["func_name"]
            if name is not None and self._overload:
                options["func_name"] = "_".join([name, *(dtype.name for dtype in types)])
            function = _DefinedFunction(self._func, self._argnames, types, options)
            if isinstance(options["grad_func"], _OverloadedFunction):
                grads = [as_dtype(arg.type) for arg in function._signature.output_arg]
                function._grad_func = options["grad_func"].instantiate([*types, *grads])
            self._overload[types] = function
        return self._overload[types]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call to the graph.

        Args:
            *args: as for a function of given types.
            **kwargs: as above.
        """
        inputs = [convert_to_tensor(arg) for arg in args]
        return self.instantiate([tensor.dtype.base_dtype for tensor in inputs])(*inputs, **kwargs)


def _from_definition(fdef: Any, grad_func: _DefinedFunction | None = None) -> _DefinedFunction:
    """Return a function from its message.

    Args:
        fdef: a ``FunctionDef``.
        grad_func: its gradient; None: the gradient is derived.
    """
    types = [as_dtype(arg.type) for arg in fdef.signature.input_arg]
    options = Defun(func_name=fdef.signature.name, grad_func=grad_func)._options
    function = _DefinedFunction(
        lambda *args: None, [arg.name for arg in fdef.signature.input_arg], types, options
    )
    function._definition = FunctionDef()
    function._definition.CopyFrom(fdef)
    return function


def from_library(lib: Any) -> list[_DefinedFunction]:
    """Return the functions of a library, gradients before the functions that they belong to.

    Args:
        lib: a ``FunctionDefLibrary``.

    Raises:
        ValueError: a gradient is missing, or gradients form a cycle.
    """
    if not lib.function and not lib.gradient:
        return []
    definitions = {function.signature.name: function for function in lib.function}
    gradients = {one.function_name: one.gradient_func for one in lib.gradient}
    for function, grad in gradients.items():
        for name, what in ((function, "function"), (grad, "gradient function")):
            if name not in definitions:
                raise ValueError(
                    f"FunctionDefLibrary missing '{name}' FunctionDef (as a {what}) for gradient of '{function}'"
                )
    functions: dict[str, _DefinedFunction] = {}

    def make(name: str, above: tuple[str, ...]) -> _DefinedFunction:
        if name in above:
            raise ValueError("FunctionDefLibrary contains cyclic gradient functions!")
        if name not in functions:
            grad = make(gradients[name], (*above, name)) if name in gradients else None
            functions[name] = _from_definition(definitions[name], grad)
        return functions[name]

    for name in definitions:
        make(name, ())
    return list(functions.values())


def _innermost() -> TracedGraph | None:
    graph = get_default_graph()
    return graph if isinstance(graph, TracedGraph) else None


def get_extra_inputs() -> list[Tensor]:
    """Return the tensors, in the outer graph, that the function being built captures."""
    graph = _innermost()
    return list(graph.captures) if graph is not None else []


def get_extra_args() -> list[Tensor]:
    """Return the captured tensors as they appear in the function."""
    graph = _innermost()
    return list(graph.captured.values()) if graph is not None else []


def get_extra_vars() -> list[Any]:
    """Return the captured variables: none are kept separately here."""
    return []

"""``defun`` of ``tensorflow.python.eager.function``: functions that are traced for each signature.

>>> import gpuplace as tf
>>> @defun
... def cube(x):
...     return x * x * x
>>> y = cube(tf.constant(2.0))
>>> y.op.type, float(tf.Session().run(y))
('PartitionedCall', 8.0)

Source: tensorflow/python/eager/function.py, release 1.15 (names, messages).
"""

from __future__ import annotations

import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.ops import nest
from gpuplace.ops.type_spec import TensorSpec
from gpuplace.ops.variables.variables import Variable
from gpuplace.tf1.functions.concrete import ConcreteFunction
from gpuplace.tf1.functions.func_graph import func_graph_from_py_func
from gpuplace.typing import TensorLike

_KEPT = ("traced_functions",)
"""The collection for the functions traced for a graph."""


class Function:
    """A Python function that becomes a node of the graph, with one library function for each signature.

    Args:
        python_function: takes structures of tensors and other values, and returns a structure of tensors.
        name: name of the function.
        input_signature: a list of ``TensorSpec``: the only signature; None: the signature of each call.
        attributes: attributes of the library functions.

    Raises:
        TypeError: the signature is not a sequence, or contains something other than specs.
    """

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str,
        input_signature: Sequence[Any] | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> None:
        if input_signature is not None:
            if not isinstance(input_signature, (tuple, list)):
                raise TypeError(
                    "input_signature must be either a tuple or a list, received " + str(type(input_signature))
                )
            if not all(isinstance(item, TensorSpec) for item in nest.flatten(input_signature)):
                raise TypeError(
                    f"Invalid input_signature {input_signature}; input_signature must be a possibly nested sequence of"
                    " TensorSpec objects."
                )
        self._python_function = python_function
        self._name = name
        self._input_signature = None if input_signature is None else tuple(input_signature)
        self._attributes = dict(attributes or {})
        self._signature = inspect.signature(python_function)
        self._bound: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        functools.update_wrapper(self, python_function, updated=())

    @property
    def python_function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._python_function

    @property
    def input_signature(self) -> Any:
        """The only signature; None: any signature."""
        return self._input_signature

    def __get__(self, instance: Any, owner: Any) -> Any:
        """Return a separate function for each object whose method it is."""
        if instance is None:
            return self
        known = self._bound.get(instance)
        if known is None:
            method = types.MethodType(self._python_function, weakref.proxy(instance))
            known = self._bound[instance] = self._of(method)
        return known

    def _of(self, python_function: Callable[..., Any]) -> Function:
        return Function(python_function, self._name, self._input_signature, self._attributes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Add a call.

        Args:
            *args: arguments; arrays become tensors, other values belong to the signature.
            **kwargs: arguments by name.

        Returns:
            The results of the call, in the structure that the Python function returns.
        """
        concrete, tensors = self._traced(args, kwargs)
        return concrete.call_flat(tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """Return the function for one signature.

        Args:
            *args: arguments; a ``TensorSpec`` can stand for a tensor.
            **kwargs: arguments by name.

        Raises:
            ValueError: arguments do not fit the signature.
        """
        if self._input_signature is not None and not args and not kwargs:
            args = self._input_signature
        return self._traced(args, kwargs)[0]

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ConcreteFunction, list[Tensor]]:
        """Return the function for these arguments, and the tensors among them."""
        positional, named = self._canonical(args, kwargs)
        leaves = [*nest.flatten(positional), *nest.flatten(named)]
        tensors = [leaf.tensor if isinstance(leaf, _DeclaredTensor) else leaf for leaf in leaves]
        positional = nest.map_structure(
            lambda leaf: leaf.spec if isinstance(leaf, _DeclaredTensor) else leaf, positional
        )
        leaves = [leaf.spec if isinstance(leaf, _DeclaredTensor) else leaf for leaf in leaves]
        key = (_structure(positional), _structure(named), *(_key(leaf) for leaf in leaves))
        cache: dict[Any, ConcreteFunction] = self._cache()
        function = cache.get(key)
        if function is None:
            graph = func_graph_from_py_func(
                self._name, self._python_function, positional, named, arg_names=self._arg_names(positional)
            )
            function = cache[key] = ConcreteFunction(graph, self._attributes)
        return function, [tensor for tensor in tensors if isinstance(tensor, Tensor)]

    def _cache(self) -> dict[Any, ConcreteFunction]:
        """Return the functions traced for the default graph, which keeps them."""
        collection = get_default_graph().get_collection_ref(_KEPT)
        if not collection:
            collection.append(weakref.WeakKeyDictionary())
        functions: dict[Any, ConcreteFunction] = collection[0].setdefault(self, {})
        return functions

    def _arg_names(self, positional: tuple[Any, ...]) -> list[str]:
        names: list[str] = []
        for parameter in self._signature.parameters.values():
            if parameter.kind is parameter.VAR_POSITIONAL:
                names += [f"{parameter.name}_{i}" for i in range(len(positional) - len(names))]
            elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
                names.append(parameter.name)
        return names

    def _canonical(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments with defaults filled in, positional where possible, with arrays as tensors."""
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        positional, named = bound.args, bound.kwargs
        if self._input_signature is None:
            return nest.map_structure(_with_tensors, tuple(positional)), nest.map_structure(
                _with_tensors, named
            )
        if named:
            raise ValueError(
                "Cannot define a TensorFlow function from a Python function with keyword arguments when"
                " input_signature is provided."
            )
        specs = nest.flatten(self._input_signature)
        wanted = tuple(positional)[: len(self._input_signature)]
        try:
            values = list(_values_for_specs(self._input_signature, wanted))
        except ValueError:
            raise ValueError(
                "Structure of Python function inputs does not match input_signature:\n"
                f"  inputs: ({', '.join(map(str, positional))})\n  input_signature: {self._input_signature}"
            ) from None
        leaves = [_as_spec(value, spec) for value, spec in zip(values, specs, strict=True)]
        packed = nest.pack_sequence_as(self._input_signature, leaves)
        return (*packed, *positional[len(self._input_signature) :]), {}


def _values_for_specs(specs: Any, values: TensorLike) -> Iterator[Any]:
    """Yield the values at the places of specs; ValueError if the structures differ."""
    parts = nest.items(specs)
    if parts is None:
        yield values
        return
    value_items = nest.items(values)
    if value_items is None or [key for key, _ in value_items] != [key for key, _ in parts]:
        raise ValueError("other parts")
    for (_, spec), (_, value) in zip(parts, value_items, strict=True):
        yield from _values_for_specs(spec, value)


def _as_spec(value: Any, spec: TensorSpec) -> Any:
    """Convert a value to a tensor of a spec; the function is traced for the spec's shape."""
    if isinstance(value, TensorSpec):
        return spec
    tensor = convert_to_tensor(value, spec.dtype if not isinstance(value, Tensor) else None)
    if tensor.dtype.base_dtype is not spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            "Python inputs incompatible with input_signature:\n"
            f"  inputs: ({tensor})\n  input_signature: ({spec})"
        )
    return _DeclaredTensor(tensor, spec)


def _with_tensors(value: Any) -> Any:
    return convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


class _DeclaredTensor:
    """A tensor argument with a declared spec.

    Args:
        tensor: the tensor.
        spec: the spec.
    """

    def __init__(self, tensor: Tensor, spec: TensorSpec) -> None:
        self.tensor, self.spec = tensor, spec


def _structure(value: Any) -> Any:
    """Return the structure of a value without its leaves."""
    parts = nest.items(value)
    if parts is None:
        return None
    return type(value), tuple((key, _structure(part)) for key, part in parts)


def _key(value: Any) -> Any:
    """Return the part of an argument that requires a new trace when it changes."""
    if isinstance(value, (Tensor, TensorSpec)):
        return "tensor", value.dtype.base_dtype, value.shape.sizes
    if isinstance(value, Variable):
        return "variable", id(value)
    try:
        hash(value)
    except TypeError:
        return "object", id(value)
    return type(value), value


def defun(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """Turn a Python function into a library function of the graph, traced for each signature.

    Args:
        func: the function; None: return a decorator.
        input_signature: a list of ``TensorSpec``: the only signature; None: the signature of each call.
        autograph: ignored: Python's own control flow is not converted.
        experimental_autograph_options: ignored.
        experimental_relax_shapes: ignored: shapes are those of each call.
    """
    return defun_with_attributes(func, input_signature)


def defun_with_attributes(
    func: Callable[..., Any] | None = None,
    input_signature: Sequence[Any] | None = None,
    attributes: Mapping[str, Any] | None = None,
    autograph: bool = True,
    experimental_autograph_options: Any = None,
    experimental_relax_shapes: bool = False,
) -> Any:
    """``defun`` with attributes for the library functions.

    Args:
        func: the function; None: return a decorator.
        input_signature: a list of ``TensorSpec``: the only signature; None: the signature of each call.
        attributes: their names and values.
        autograph: ignored.
        experimental_autograph_options: ignored.
        experimental_relax_shapes: ignored.
    """

    def decorated(function: Callable[..., Any]) -> Function:
        plain = function.func if isinstance(function, functools.partial) else function
        name = getattr(plain, "__name__", type(plain).__name__)
        return Function(function, name, input_signature, attributes)

    return decorated if func is None else decorated(func)

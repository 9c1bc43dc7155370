"""Functions that are traced for each signature they are called with: ``defun`` of ``tensorflow.python.eager.function``.

>>> import gpuplace as tf
>>> @defun
... def cube(x):
...     return x * x * x
>>> y = cube(tf.constant(2.0))
>>> y.op.type, float(tf.Session().run(y))
('PartitionedCall', 8.0)

Source: tensorflow/python/eager/function.py, release 1.15 (names, sentences).
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
"""The collection of a graph with the functions that were traced for it."""


class Function:
    """A Python function that becomes a node of the graph, one function of its library for each signature.

    Args:
        python_function: takes structures of tensors and other values, and returns a structure of tensors.
        name: its name.
        input_signature: a list of ``TensorSpec``: the only signature; None: that of each call.
        attributes: attributes of the functions in the library.

    Raises:
        TypeError: the signature is no sequence, or has other things than specs in it.
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
            if not all(isinstance(one, TensorSpec) for one in nest.flatten(input_signature)):
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
        """The only signature that it takes; None for any."""
        return self._input_signature

    def __get__(self, instance: Any, owner: Any) -> Any:
        """A function of its own for each object whose method it is."""
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
        """Adds a call.

        Args:
            *args: arguments; arrays become tensors, other values belong to the signature.
            **kwargs: arguments by name.

        Returns:
            What the Python function returns, of the results of the call.
        """
        concrete, tensors = self._traced(args, kwargs)
        return concrete.call_flat(tensors)

    def get_concrete_function(self, *args: Any, **kwargs: Any) -> ConcreteFunction:
        """The function for one signature.

        Args:
            *args: arguments, of which tensors may be given as ``TensorSpec``.
            **kwargs: arguments by name.

        Raises:
            ValueError: arguments that do not fit the signature.
        """
        if self._input_signature is not None and not args and not kwargs:
            args = self._input_signature
        return self._traced(args, kwargs)[0]

    def _traced(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ConcreteFunction, list[Tensor]]:
        """The function for these arguments, and the tensors among them."""
        positional, named = self._canonical(args, kwargs)
        leaves = [*nest.flatten(positional), *nest.flatten(named)]
        tensors = [one.tensor if isinstance(one, _Declared) else one for one in leaves]
        positional = nest.map_structure(
            lambda one: one.spec if isinstance(one, _Declared) else one, positional
        )
        leaves = [one.spec if isinstance(one, _Declared) else one for one in leaves]
        key = (_structure(positional), _structure(named), *(_key(one) for one in leaves))
        kept: dict[Any, ConcreteFunction] = self._cache()
        found = kept.get(key)
        if found is None:
            graph = func_graph_from_py_func(
                self._name, self._python_function, positional, named, arg_names=self._arg_names(positional)
            )
            found = kept[key] = ConcreteFunction(graph, self._attributes)
        return found, [one for one in tensors if isinstance(one, Tensor)]

    def _cache(self) -> dict[Any, ConcreteFunction]:
        """What was traced for the default graph, which keeps it."""
        kept = get_default_graph().get_collection_ref(_KEPT)
        if not kept:
            kept.append(weakref.WeakKeyDictionary())
        found: dict[Any, ConcreteFunction] = kept[0].setdefault(self, {})
        return found

    def _arg_names(self, positional: tuple[Any, ...]) -> list[str]:
        names: list[str] = []
        for one in self._signature.parameters.values():
            if one.kind is one.VAR_POSITIONAL:
                names += [f"{one.name}_{i}" for i in range(len(positional) - len(names))]
            elif one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD):
                names.append(one.name)
        return names

    def _canonical(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments with those that are left out, by position as far as they can be; arrays as tensors."""
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
            values = list(_up_to(self._input_signature, wanted))
        except ValueError:
            raise ValueError(
                "Structure of Python function inputs does not match input_signature:\n"
                f"  inputs: ({', '.join(map(str, positional))})\n  input_signature: {self._input_signature}"
            ) from None
        leaves = [_fitting(one, spec) for one, spec in zip(values, specs, strict=True)]
        packed = nest.pack_sequence_as(self._input_signature, leaves)
        return (*packed, *positional[len(self._input_signature) :]), {}


def _up_to(specs: Any, values: TensorLike) -> Iterator[Any]:
    """The values at the places of specs; ValueError where a structure has other parts."""
    parts = nest.items(specs)
    if parts is None:
        yield values
        return
    given = nest.items(values)
    if given is None or [key for key, _ in given] != [key for key, _ in parts]:
        raise ValueError("other parts")
    for (_, spec), (_, value) in zip(parts, given, strict=True):
        yield from _up_to(spec, value)


def _fitting(value: Any, spec: TensorSpec) -> Any:
    """A value as a tensor of a spec, whose shape the function is traced for."""
    if isinstance(value, TensorSpec):
        return spec
    tensor = convert_to_tensor(value, spec.dtype if not isinstance(value, Tensor) else None)
    if tensor.dtype.base_dtype is not spec.dtype or not spec.shape.is_compatible_with(tensor.shape):
        raise ValueError(
            "Python inputs incompatible with input_signature:\n"
            f"  inputs: ({tensor})\n  input_signature: ({spec})"
        )
    return _Declared(tensor, spec)


def _with_tensors(value: Any) -> Any:
    return convert_to_tensor(value) if isinstance(value, (np.ndarray, np.generic)) else value


class _Declared:
    """A tensor that is given for a spec.

    Args:
        tensor: the tensor.
        spec: the spec.
    """

    def __init__(self, tensor: Tensor, spec: TensorSpec) -> None:
        self.tensor, self.spec = tensor, spec


def _structure(value: Any) -> Any:
    """What two structures have in common that differ in their leaves alone."""
    parts = nest.items(value)
    if parts is None:
        return None
    return type(value), tuple((key, _structure(part)) for key, part in parts)


def _key(value: Any) -> Any:
    """What a function is traced anew for."""
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
    """Makes a Python function a function of the graph's library, traced for each signature.

    Args:
        func: the function; None: a decorator is returned.
        input_signature: a list of ``TensorSpec``: the only signature; None: that of each call.
        autograph: ignored: Python's own control flow is not translated.
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
    """``defun`` with attributes of the functions in the library.

    Args:
        func: the function; None: a decorator is returned.
        input_signature: a list of ``TensorSpec``: the only signature; None: that of each call.
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

"""``tensorflow.python.framework.func_graph``: the graph of a Python function, built with placeholders.

Source: tensorflow/python/framework/func_graph.py, release 1.15 (names, arguments).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.operation import Tensor
from gpuplace.graph.traced_graph import TracedGraph
from gpuplace.ops import nest
from gpuplace.ops.type_spec import TensorSpec


class FuncGraph(TracedGraph):
    """The graph of a function's body; what it uses of the graph around it becomes an argument.

    Args:
        name: the function's name.
        collections: nothing that counts: those of the graph around it are not shared.
        capture_by_value: copy what is used of that graph.
    """

    def __init__(self, name: str, collections: Any = None, capture_by_value: bool = False) -> None:
        super().__init__(get_default_graph(), by_value=capture_by_value)
        self.name = name
        self.outputs: list[Tensor] = []
        """Its results, in a list."""
        self.structured_outputs: Any = None
        """The same in their form."""

    @property
    def outer_graph(self) -> Any:
        """The graph around it."""
        return self.outer

    @property
    def inputs(self) -> list[Tensor]:
        """Its arguments, and after them what stands for tensors of the graph around it."""
        return [*self.args, *(() if self.by_value else self.captured.values())]

    @property
    def external_captures(self) -> list[Tensor]:
        """The tensors of the graph around it."""
        return list(self.captures)

    @property
    def internal_captures(self) -> list[Tensor]:
        """What stands for them here."""
        return list(self.captured.values())


def func_graph_from_py_func(
    name: str,
    python_func: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any] | None,
    signature: Sequence[Any] | None = None,
    func_graph: FuncGraph | None = None,
    **options: Any,
) -> FuncGraph:
    """The graph of what a Python function adds.

    Args:
        name: the function's name.
        python_func: takes tensors, and what else it is given.
        args: its arguments; a ``TensorSpec`` or tensor among them gives a placeholder.
        kwargs: its arguments by name.
        signature: specs for ``args``.
        func_graph: the graph; None: a new one.
        **options: nothing that counts here: how Python's control flow and side effects are translated.
    """
    graph = FuncGraph(name) if func_graph is None else func_graph
    with graph.as_default():
        given = [
            _argument(graph, one, f"args_{i}")
            for i, one in enumerate(args if signature is None else signature)
        ]
        named = {key: _argument(graph, one, key) for key, one in (kwargs or {}).items()}
        made = python_func(*given, **named)
        graph.structured_outputs = nest.map_structure(
            lambda one: None if one is None else graph.capture(convert_to_tensor(one)), made
        )
    graph.outputs = [one for one in nest.flatten(graph.structured_outputs) if one is not None]
    return graph


def _argument(graph: FuncGraph, value: Any, name: str) -> Any:
    if isinstance(value, TensorSpec):
        return graph.add_arg(value.dtype, value.shape, value.name or name)
    if isinstance(value, Tensor):
        return graph.add_arg(value.dtype.base_dtype, value.shape, name)
    return value

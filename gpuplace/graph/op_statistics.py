"""``ops.RegisterStatistics``: functions that count something of a node, floating-point operations for example.

>>> from types import SimpleNamespace
>>> @RegisterStatistics("Doubled", "weights")
... def _weights(graph, node):
...     return OpStats("weights", 2)
>>> get_stats_for_node_def(None, SimpleNamespace(op="Doubled"), "weights").value
2
>>> get_stats_for_node_def(None, SimpleNamespace(op="Other"), "weights").value is None
True

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["OpStats", "RegisterStatistics", "get_stats_for_node_def"]

_FUNCTIONS: dict[tuple[str, str], Callable[[Any, Any], Any]] = {}


class OpStats:
    """A number of a node, to which others of the same statistic are added.

    Args:
        statistic_type: what is counted.
        value: the number; None: it is not known.
    """

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type = statistic_type
        self.value = value

    @property
    def statistic_type(self) -> str:
        """What is counted."""
        return self._statistic_type

    @statistic_type.setter
    def statistic_type(self, statistic_type: str) -> None:
        self._statistic_type = statistic_type

    @property
    def value(self) -> Any:
        """The number; None: it is not known."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value

    def __iadd__(self, other: OpStats) -> OpStats:
        if other.statistic_type != self.statistic_type:
            raise ValueError(
                f"Can't add an OpStat of type {self.statistic_type} to one of {other.statistic_type}."
            )
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value += other.value
        return self


class RegisterStatistics:
    """A decorator of the function that counts a statistic of an op type's nodes.

    Args:
        op_type: the op's type.
        statistic_type: what is counted.

    Raises:
        TypeError: ``op_type`` is no text.
        ValueError: it has a comma, which separates the two elsewhere.
    """

    def __init__(self, op_type: str, statistic_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string.")
        if "," in op_type:
            raise ValueError("op_type must not contain a comma.")
        if not isinstance(statistic_type, str):
            raise TypeError("statistic_type must be a string.")
        if "," in statistic_type:
            raise ValueError("statistic_type must not contain a comma.")
        self._key = op_type, statistic_type

    def __call__(self, f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        """Registers a function of a graph and a ``NodeDef``, which gives ``OpStats``.

        Args:
            f: the function.

        Returns:
            The function.

        Raises:
            KeyError: the statistic has one already.
        """
        if self._key in _FUNCTIONS:
            raise KeyError(
                f"Registering two statistics with name '{','.join(self._key)}'! (Previous registration was in"
                f" {_FUNCTIONS[self._key].__module__})"
            )
        _FUNCTIONS[self._key] = f
        return f


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> Any:
    """A statistic of a node.

    Args:
        graph: its graph.
        node: its ``NodeDef``.
        statistic_type: what is counted.

    Returns:
        ``OpStats``, without a value where nothing is registered for the op.
    """
    function = _FUNCTIONS.get((node.op, statistic_type))
    return OpStats(statistic_type) if function is None else function(graph, node)

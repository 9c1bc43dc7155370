"""``ops.RegisterStatistics``: functions that compute a statistic of a node, such as floating-point operations.

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
    """A statistic of a node; values of the same statistic can be added.

    Args:
        statistic_type: name of the statistic.
        value: the number; None: unknown.
    """

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type = statistic_type
        self.value = value

    @property
    def statistic_type(self) -> str:
        """The name of the statistic."""
        return self._statistic_type

    @statistic_type.setter
    def statistic_type(self, statistic_type: str) -> None:
        self._statistic_type = statistic_type

    @property
    def value(self) -> Any:
        """The number; None: unknown."""
        return self._value

    @value.setter
    def value(self, value: object) -> None:
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
    """Decorator for a function that computes a statistic of the nodes of one op type.

    Args:
        op_type: op type.
        statistic_type: name of the statistic.

    Raises:
        TypeError: ``op_type`` is not a string.
        ValueError: it contains a comma, the separator of the two names.
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
        """Register a function of a graph and a ``NodeDef`` that returns ``OpStats``.

        Args:
            f: the function.

        Returns:
            The function.

        Raises:
            KeyError: the statistic already has a function.
        """
        if self._key in _FUNCTIONS:
            raise KeyError(
                f"Registering two statistics with name '{','.join(self._key)}'! (Previous registration was in"
                f" {_FUNCTIONS[self._key].__module__})"
            )
        _FUNCTIONS[self._key] = f
        return f


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> Any:
    """Return a statistic of a node.

    Args:
        graph: graph of the node.
        node: its ``NodeDef``.
        statistic_type: name of the statistic.

    Returns:
        ``OpStats``, without a value if the op has no registered function.
    """
    function = _FUNCTIONS.get((node.op, statistic_type))
    return OpStats(statistic_type) if function is None else function(graph, node)

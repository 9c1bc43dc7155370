"""What operations, tensors, scopes and stacks ask of the graph that they belong to.

They stand below ``Graph``, which is made of them and has all of this and more; so they know it by this protocol alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

__all__ = ["GraphLike"]


class GraphLike(Protocol):
    """A graph, seen from below; what each member does is said at ``Graph``."""

    _by_name: dict[str, Any]
    _name_stack: str
    _device_stack: tuple[Any, ...]
    _colocation_stack: list[Any]
    _control_stack: list[Any]
    _control_flow_context: Any
    _contexts: dict[Any, Any]
    functions: dict[str, bytes]

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Any],
        dtypes: Sequence[Any] | None = None,
        input_types: Sequence[Any] | None = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Adds an operation."""
        ...

    def get_operations(self) -> list[Any]:
        """All operations."""
        ...

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of a collection."""
        ...

    def as_default(self) -> Any:
        """Makes it the default graph within a ``with`` block."""
        ...

    def name_scope(self, name: str | None) -> Any:
        """Prefixes names within a ``with`` block."""
        ...

    def device(self, device_name_or_function: Any) -> Any:
        """Requests a device within a ``with`` block."""
        ...

    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Any:
        """Places operations where another is within a ``with`` block."""
        ...

    def control_dependencies(self, control_inputs: Any) -> Any:
        """Lets operations run after others within a ``with`` block."""
        ...

    def prevent_feeding(self, tensor: Any) -> None:
        """Makes feeding a tensor an error."""
        ...

    def prevent_fetching(self, op: Any) -> None:
        """Makes fetching an operation an error."""
        ...

    def _enter_name(self, name: str | None) -> str:
        """Makes a name scope the current one."""
        ...

    def _get_control_flow_context(self) -> Any:
        """The branch or loop that is being built."""
        ...

    def _note_consumers(self) -> None:
        """Completes the lists of consumers."""
        ...

    def _touch(self) -> None:
        """Notes that something has changed."""
        ...

    def _check_not_finalized(self) -> None:
        """RuntimeError where the graph may no longer change."""
        ...

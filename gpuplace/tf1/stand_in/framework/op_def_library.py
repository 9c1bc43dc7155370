"""``tensorflow.python.framework.op_def_library``: operations from op names and Python arguments.

Source: tensorflow/python/framework/op_def_library.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import NotFoundError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.generated import results
from gpuplace.graph.op_def import op_registry
from gpuplace.graphdef.attr_values import decode_op_def

_USES = (("type_attr", "type"), ("number_attr", "int"), ("type_list_attr", "list(type)"))
"""Field of an argument that names an attribute -> the type that the attribute must have."""


class OpDefLibrary:
    """TensorFlow's ops and additional ones."""

    def add_op(self, op_def: Any) -> None:
        """Add an op.

        Args:
            op_def: an ``OpDef``.

        Raises:
            TypeError: ``op_def`` is invalid.
        """
        attrs = {attr.name: attr.type for attr in op_def.attr}
        for arg in (*op_def.input_arg, *op_def.output_arg):
            types = (arg.type != 0) + bool(arg.type_attr) + bool(arg.type_list_attr)
            if types != 1:
                raise TypeError(f"Arg '{arg.name}' of '{op_def.name}' must have one type field not {types}")
            for use, attr_type in _USES:
                name = getattr(arg, use)
                if not name:
                    continue
                if name not in attrs:
                    raise TypeError(f"Inconsistent OpDef for '{op_def.name}', missing attr '{name}'")
                if attrs[name] != attr_type:
                    raise TypeError(
                        f"Attr '{name}' of '{op_def.name}' used as a {use} but has type {attrs[name]}"
                    )
        op_registry().register(decode_op_def(op_def))

    def apply_op(self, op_type_name: str, name: str | None = None, **keywords: Any) -> Any:
        """Add an operation.

        Args:
            op_type_name: its op type.
            name: its name; None for its type.
            **keywords: its inputs and attributes.

        Returns:
            A tensor, several, or the operation if it has no outputs.

        Raises:
            RuntimeError: there is no such op.
            TypeError: an argument is missing, unknown, or of a type that the op does not accept.
            ValueError: types, lengths or shapes do not match.
        """
        return results(self._apply_op_helper(op_type_name, name, **keywords)[2])

    def _apply_op_helper(
        self, op_type_name: str, name: str | None = None, **keywords: Any
    ) -> tuple[Any, Any, Any]:
        """Return the op's definition, whether it is stateful, and the new operation."""
        try:
            op_def = op_registry().lookup(op_type_name)
        except NotFoundError:
            raise RuntimeError(f"Unrecognized Op name {op_type_name}") from None
        return op_def, op_def.is_stateful, apply_op(op_type_name, name, **keywords)


op_def_library = OpDefLibrary()

"""Node attributes as text: long values shortened, constants with their first elements.

>>> value_text((b"loc:@w", b"loc:@b")), value_text(True), value_text(3.0)
('loc:@w, loc:@b', 'True', '3.0')
>>> value_text(TensorValue.of_array(np.arange(12, dtype=np.int32).reshape(3, 4)))
'int32 3×4: 0 1 2 3 4 5 6 7 …'
>>> value_text(TensorValue.of_array(np.float32([[1, 2], [3, 4.5]])))
'float32 2×2: [[1, 2], [3, 4.5]]'
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import OpError
from gpuplace.graph.attr_value import FunctionRef, TensorValue
from gpuplace.shapes import TensorShape
from gpuplace.typing import PlacementLike
from gpuplace.views.tables.interner import Interner
from gpuplace.views.tables.text import printable, shortened

_VALUES = 8
"""Number of elements of a constant that are shown."""
_ITEMS = 12
"""Number of list entries that are shown."""
_WIDTH = 120
"""Maximum length of a value, in characters."""
_HIDDEN = ("_output_shapes",)
"""Attributes that repeat information shown elsewhere."""
_LEFT_OUT = ("_class",)
"""Attributes left out on pages, which show them as groups; with them, nearly all nodes' lists would differ."""


def attr_rows(placement: PlacementLike, node: int) -> list[tuple[str, str]]:
    """Return ``(name, value)`` of a node's attributes, a constant's ``value`` first; empty if the source has none.

    Args:
        placement: a `Placement`; other sources, such as a log, have no attributes.
        node: the node's position.
    """
    attrs_of = getattr(getattr(placement, "graph", None), "attrs", None)
    if attrs_of is None:
        return []
    attrs: Mapping[str, Any] = attrs_of(node)
    names = sorted((name for name in attrs if name not in _HIDDEN), key=lambda name: (name != "value", name))
    return [(printable(name), _readable(attrs, name)) for name in names]


def attr_columns(placement: PlacementLike) -> dict[str, Any]:
    """Return the attributes for a page.

    ``rows`` holds the distinct lists of ``[name, value]``, and ``of`` the index of each node's list. ``_class`` is left
    out because the page shows the groups.
    """
    rows = Interner()
    count = len(getattr(getattr(placement, "graph", None), "names", ()))
    of = [
        rows(tuple(row for row in attr_rows(placement, node) if row[0] not in _LEFT_OUT))
        for node in range(count)
    ]
    return {"rows": [list(map(list, row)) for row in rows.values], "of": of}


def _readable(attrs: Mapping[str, Any], name: str) -> str:
    try:
        return value_text(attrs[name])
    except OpError as error:  # a file may contain values that cannot be decoded; show the others
        return shortened(printable(f"cannot be decoded: {error.message}"), _WIDTH)


def value_text(value: object) -> str:
    """Return an attribute value as text of about 120 characters at most.

    Raises:
        OpError: the value is an invalid tensor.
    """
    if isinstance(value, TensorValue):
        return shortened(_tensor_text(value), _WIDTH)
    return shortened(printable(_text(value)), _WIDTH)


def _text(value: object) -> str:
    if isinstance(value, DType):
        return value.name
    if isinstance(value, TensorShape):
        return str(value)
    if isinstance(value, bytes):
        return value[: 2 * _WIDTH].decode("utf-8", "backslashreplace")
    if isinstance(value, FunctionRef):
        return f"function {value.name}"
    if isinstance(value, TensorValue):
        return _tensor_text(value)
    if isinstance(value, (list, tuple)):
        more = " …" if len(value) > _ITEMS else ""
        return ", ".join(map(_text, value[:_ITEMS])) + more
    return str(value)


def _tensor_text(value: TensorValue) -> str:
    sizes = value.shape.sizes
    shape = "?" if sizes is None else "×".join("?" if size is None else str(size) for size in sizes)
    head = f"{value.dtype.name} {shape or 'scalar'}"
    if not value.shape.num_elements():
        return f"{head}: no elements"
    shown = value.shown(_VALUES, most=_VALUES)
    flat = shown.reshape(-1)
    if shown.size <= _VALUES and shown.size == value.shape.num_elements():
        return f"{head}: {_nested(shown)}"
    return f"{head}: {' '.join(map(_element, flat[:_VALUES]))} …"


def _nested(array: np.ndarray) -> str:
    if not array.ndim:
        return _element(array[()])
    return f"[{', '.join(map(_nested, array))}]" if array.ndim > 1 else f"[{', '.join(map(_element, array))}]"


def _element(value: object) -> str:
    if isinstance(value, bytes):
        return repr(value.decode("utf-8", "backslashreplace"))
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (complex, np.complexfloating)):
        return f"{complex(value):.6g}"
    return f"{float(value):.6g}" if hasattr(value, "__float__") else printable(str(value))

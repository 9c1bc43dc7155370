"""Names of nodes moved out of a name scope, and into one.

>>> strip_name_scope("^tower/v", "tower"), prepend_name_scope("loc:@v", "tower/")
('^v', 'loc:@tower/v')

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

_MARKS = ("^", "loc:@")


def _parts(name: str) -> tuple[str, str]:
    """The mark of a control input, or a colocation group, and the name of the node."""
    for mark in _MARKS:
        if name.startswith(mark):
            return mark, name[len(mark) :]
    return "", name


def strip_name_scope(name: str | bytes, export_scope: str | None) -> str:
    """A name without a scope that it begins with.

    Args:
        name: of a node or tensor, also with ``^`` or ``loc:@`` before it.
        export_scope: the scope; None or empty: none.
    """
    text = name.decode() if isinstance(name, bytes) else name
    if not export_scope:
        return text
    mark, node = _parts(text)
    scope = export_scope.removesuffix("/") + "/"
    return mark + (node[len(scope) :].lstrip("/") if node.startswith(scope) else node)


def prepend_name_scope(name: str | bytes, import_scope: str | None) -> str:
    """A name in a scope.

    Args:
        name: of a node or tensor, also with ``^`` or ``loc:@`` before it.
        import_scope: the scope; None or empty: none.
    """
    text = name.decode() if isinstance(name, bytes) else name
    if not import_scope:
        return text
    mark, node = _parts(text)
    return f"{mark}{import_scope.removesuffix('/')}/{node}"

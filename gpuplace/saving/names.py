"""Move names of nodes out of or into a name scope.

>>> strip_name_scope("^tower/v", "tower"), prepend_name_scope("loc:@v", "tower/")
('^v', 'loc:@tower/v')

Source: tensorflow/python/framework/ops.py, release 1.15.
"""

from __future__ import annotations

_MARKS = ("^", "loc:@")


def _parts(name: str) -> tuple[str, str]:
    """Return the prefix for a control input or colocation group, and the node's name."""
    for mark in _MARKS:
        if name.startswith(mark):
            return mark, name[len(mark) :]
    return "", name


def strip_name_scope(name: str | bytes, export_scope: str | None) -> str:
    """Return a name without its scope prefix.

    Args:
        name: name of a node or tensor, also with the prefix ``^`` or ``loc:@``.
        export_scope: scope to remove; None or empty: none.
    """
    text = name.decode() if isinstance(name, bytes) else name
    if not export_scope:
        return text
    mark, node = _parts(text)
    scope = export_scope.removesuffix("/") + "/"
    return mark + (node[len(scope) :].lstrip("/") if node.startswith(scope) else node)


def prepend_name_scope(name: str | bytes, import_scope: str | None) -> str:
    """Return a name with a scope prefix.

    Args:
        name: name of a node or tensor, also with the prefix ``^`` or ``loc:@``.
        import_scope: scope to add; None or empty: none.
    """
    text = name.decode() if isinstance(name, bytes) else name
    if not import_scope:
        return text
    mark, node = _parts(text)
    return f"{mark}{import_scope.removesuffix('/')}/{node}"

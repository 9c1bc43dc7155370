"""Fast construction of typed DataFrame columns.

>>> category(["Const", "", "Const"]).codes.tolist(), scope_category(["a/b/c", "d"]).categories.tolist()
([0, -1, 0], ['a/b'])
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, get_type_hints

import numpy as np
import pandas as pd

from gpuplace.views.tables.palette import device_label

_DTYPES = {
    int: "int64",
    float: "float64",
    float | None: "float64",
    bool: "bool",
    bool | None: "boolean",
}
"""Type of a record's field -> dtype of its column."""


def coded(codes: np.ndarray, categories: Sequence[str]) -> pd.Categorical:
    """Return a column of texts given by number; the empty text is missing."""
    kept = [i for i, name in enumerate(categories) if name]
    place = np.full(len(categories) + 1, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return pd.Categorical.from_codes(
        place[codes], categories=pd.Index([categories[i] for i in kept], dtype="str")
    )


def category(values: Iterable[str | None], order: Iterable[str] = ()) -> pd.Categorical:
    """Return a column with few distinct texts, None and "" missing; categories are sorted after those of ``order``."""
    listed = list(values)
    distinct = set(listed)
    first = list(dict.fromkeys(order))
    rest = sorted(value for value in distinct.difference(first) if value)
    categories = [*first, *rest]
    position: dict[str | None, int] = {name: i for i, name in enumerate(categories)}
    codes = np.fromiter((position.get(value, -1) for value in listed), dtype=np.int64, count=len(listed))
    return pd.Categorical.from_codes(codes, categories=pd.Index(categories, dtype="str"))


def device_category(devices: Iterable[str], all_devices: Sequence[str]) -> pd.Categorical:
    """Return short names for full device names, with categories in the order of the known devices."""
    labels = list(dict.fromkeys(map(device_label, all_devices)))
    position = {name: labels.index(device_label(name)) for name in all_devices}
    codes = np.array([position[name] for name in devices], dtype=np.int64)
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels, dtype="str"), ordered=True)


def scope_category(names: Iterable[str]) -> pd.Categorical:
    """Return the name scopes of nodes; missing at the top level."""
    return category([name.rpartition("/")[0] for name in names])


def record_columns(record: Any, rows: Sequence[Any], texts: Collection[str] = ()) -> dict[str, Any]:
    """Return a column for each field of records, with the dtype of the field's type.

    Args:
        record: class of the records, a named tuple.
        rows: the records.
        texts: string fields whose texts are mostly distinct; the other string fields become categories.
    """
    types = get_type_hints(record)
    columns: dict[str, Any] = {}
    for name in record._fields:
        values = [getattr(row, name) for row in rows]
        if name in texts:
            columns[name] = pd.array(values, dtype="string")
        else:
            columns[name] = (
                category(values) if types[name] is str else pd.array(values, dtype=_DTYPES[types[name]])
            )
    return columns

"""Typed columns of DataFrames, made quickly.

>>> category(["Const", "", "Const"]).codes.tolist(), scope_category(["a/b/c", "d"]).categories.tolist()
([0, -1, 0], ['a/b'])
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from gpuplace.views.tables.palette import device_label


def coded(codes: np.ndarray, categories: Sequence[str]) -> pd.Categorical:
    """A column of texts given by number, the empty text missing."""
    kept = [i for i, name in enumerate(categories) if name]
    place = np.full(len(categories) + 1, -1, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return pd.Categorical.from_codes(
        place[codes], categories=pd.Index([categories[i] for i in kept], dtype="str")
    )


def category(values: Iterable[str | None], order: Iterable[str] = ()) -> pd.Categorical:
    """A column of a few texts, None and the empty one missing; the categories sorted after those given first."""
    listed = list(values)
    found = set(listed)
    first = list(dict.fromkeys(order))
    rest = sorted(value for value in found.difference(first) if value)
    categories = [*first, *rest]
    position: dict[str | None, int] = {name: i for i, name in enumerate(categories)}
    codes = np.fromiter((position.get(value, -1) for value in listed), dtype=np.int64, count=len(listed))
    return pd.Categorical.from_codes(codes, categories=pd.Index(categories, dtype="str"))


def device_category(devices: Iterable[str], known: Sequence[str]) -> pd.Categorical:
    """Short names of devices given by full name, in the order of the known ones."""
    labels = list(dict.fromkeys(map(device_label, known)))
    position = {name: labels.index(device_label(name)) for name in known}
    codes = np.array([position[name] for name in devices], dtype=np.int64)
    return pd.Categorical.from_codes(codes, categories=pd.Index(labels, dtype="str"), ordered=True)


def scope_category(names: Iterable[str]) -> pd.Categorical:
    """The name scopes of nodes, missing at the top."""
    return category([name.rpartition("/")[0] for name in names])

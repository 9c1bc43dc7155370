"""The DataFrame that all tables are: one that shows nothing where a value is missing.

A missing value stays one, for ``isna`` and ``dropna``; it is only not shown as ``NaN`` or ``<NA>``, which would say of
a node without a request that something went wrong.

>>> table = Table({"node": ["a", "b"], "requested": pd.Categorical(["/cpu:0", None])})
>>> print(table)
  node requested
0    a    /cpu:0
1    b
>>> table["requested"].isna().tolist()
[False, True]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

__all__ = ["Table"]


class Table(pd.DataFrame):
    """A DataFrame; missing texts and whole numbers are shown as nothing."""

    @property
    def _constructor(self) -> Any:
        return Table

    def __repr__(self) -> str:
        lines = repr(self._as_shown()).splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def _repr_html_(self) -> str | None:
        found: str | None = self._as_shown()._repr_html_()  # type: ignore[operator]
        return found

    def _as_shown(self) -> pd.DataFrame:
        """A plain DataFrame of the same shape with empty texts, where pandas prints them, for what is missing."""
        made = pd.DataFrame(self)
        most = pd.get_option("display.max_rows")
        for position in range(self.shape[1]):
            column = self.iloc[:, position]
            missing = column.isna().to_numpy()
            if isinstance(column.dtype, np.dtype) or not missing.any():
                continue
            rows = np.arange(len(self))
            if most and len(rows) > 2 * most:  # pandas prints the first and the last alone
                rows = np.concatenate((rows[:most], rows[-most:]))
            kept = rows[~missing[rows]]
            values = np.full(len(self), "", dtype=object)
            values[kept] = column.iloc[kept].to_numpy(dtype=object)
            made.isetitem(position, values)
        return made

"""The DataFrame that all tables are: one that shows nothing where a value is missing.

A missing value stays one, for ``isna`` and ``dropna``; it is only not shown as ``NaN`` or ``<NA>``, which would say of
a node without a request that something went wrong.

>>> table = Table({"requested": pd.Categorical(["/cpu:0", None]), "node": ["a", "b"]})
>>> print(table)
  requested node
0    /cpu:0    a
1              b
>>> table["requested"].isna().tolist()
[False, True]
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


class Table(pd.DataFrame):  # type: ignore[misc]
    """A DataFrame; missing texts and whole numbers are shown as nothing."""

    @property
    def _constructor(self) -> Any:
        return Table

    def __repr__(self) -> str:
        return repr(self._as_shown())

    def _repr_html_(self) -> str | None:
        found: str | None = self._as_shown()._repr_html_()
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

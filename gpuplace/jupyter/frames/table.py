r"""The DataFrame that all tables are, and its columns: nothing is shown where a value is missing.

A missing value stays one, for ``isna`` and ``dropna``; it is only not shown as ``NaN`` or ``<NA>``, which would say of
a node without a request that something went wrong. What a terminal would obey is shown written out.

>>> table = Table({"requested": pd.Categorical(["/cpu:0", None]), "node": ["a", "b\x1b[2J"]})
>>> print(table)
  requested      node
0    /cpu:0         a
1            b\x1b[2J
>>> print(table["requested"].to_string(index=False).splitlines())
['/cpu:0', '      ']
>>> table["requested"].isna().tolist()
[False, True]
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pandas as pd

from gpuplace.display import safe_text


class Table(pd.DataFrame):  # type: ignore[misc]
    """A DataFrame; missing texts and whole numbers are shown as nothing."""

    @property
    def _constructor(self) -> Any:
        return Table

    @property
    def _constructor_sliced(self) -> Any:
        return Column

    def __repr__(self) -> str:
        return repr(self._as_shown())

    def _repr_html_(self) -> str | None:
        found: str | None = self._as_shown()._repr_html_()
        return found

    def to_string(self, *args: Any, **options: Any) -> Any:
        """As of a DataFrame, but as it is shown."""
        return self._as_shown(whole=True).to_string(*args, **options)

    def to_html(self, *args: Any, **options: Any) -> Any:
        """As of a DataFrame, but as it is shown."""
        return self._as_shown(whole=True).to_html(*args, **options)

    def _as_shown(self, *, whole: bool = False) -> pd.DataFrame:
        """A plain DataFrame of the same shape with other texts, where pandas prints them (or everywhere)."""
        made = pd.DataFrame(self)
        rows = np.arange(len(self)) if whole else _printed(len(self))
        for position in range(self.shape[1]):
            values = _shown_values(pd.Series(made.iloc[:, position]), rows)
            if values is not None:
                made.isetitem(position, values)
        made.index = _shown_index(made.index, rows)
        made.columns = _shown_index(made.columns, np.arange(self.shape[1]))
        return made


class Column(pd.Series):  # type: ignore[misc]
    """A column or a row of a `Table`; missing values are shown as nothing."""

    @property
    def _constructor(self) -> Any:
        return Column

    @property
    def _constructor_expanddim(self) -> Any:
        return Table

    def __repr__(self) -> str:
        return self._with_own_type(repr(self._as_shown(_printed(len(self)))))

    def to_string(self, *args: Any, **options: Any) -> Any:
        """As of a Series, but as it is shown."""
        return self._as_shown(np.arange(len(self))).to_string(*args, **options)

    def value_counts(self, *args: Any, **options: Any) -> pd.Series:
        """As of a Series, labels shown as values are."""
        return Column(super().value_counts(*args, **options))

    def _as_shown(self, rows: np.ndarray[Any, Any]) -> pd.Series:
        made = pd.Series(self)
        values = _shown_values(made, rows)
        if values is not None:
            made = pd.Series(values, made.index, object, made.name)
        made.index = _shown_index(made.index, rows)
        return made

    def _with_own_type(self, text: str) -> str:
        """The text of what is shown, which ends with a type, with the column's own there."""
        before, found, _ = text.rpartition("dtype: object")
        return f"{before}dtype: {self.dtype}" if found else text


def _printed(count: int) -> np.ndarray[Any, Any]:
    """The rows of so many that pandas prints, and some more: of many the first and the last alone."""
    most = pd.get_option("display.max_rows")
    rows = np.arange(count)
    return np.concatenate((rows[:most], rows[-most:])) if most and count > 2 * most else rows


def _shown_values(column: pd.Series, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """What is shown of a column in these rows, nothing elsewhere; None where it is shown as it is.

    Args:
        column: the column.
        rows: those that are printed.
    """
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind != "O":
        return None
    given = column.iloc[rows].to_numpy(dtype=object)
    missing = column.iloc[rows].isna().to_numpy()
    shown = [safe_text(value) if isinstance(value, str) else value for value in given]
    if not missing.any() and all(map(operator.is_, shown, given)):
        return None
    values = np.full(len(column), "", dtype=object)
    for row, value, is_missing in zip(rows.tolist(), shown, missing.tolist(), strict=True):
        values[row] = "" if is_missing else value
    return values


def _shown_index(index: pd.Index, rows: np.ndarray[Any, Any]) -> pd.Index:
    """Labels as they are shown; those of several levels as they are."""
    if isinstance(index, pd.MultiIndex):
        return index
    values = _shown_values(pd.Series(index), rows)
    return index if values is None else pd.Index(values, dtype=object, name=index.name)

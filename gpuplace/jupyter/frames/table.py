r"""The DataFrame class of all tables, and its columns: missing values are displayed as empty cells.

A missing value is still missing for ``isna`` and ``dropna``. It is not displayed as ``NaN`` or ``<NA>``, because a node
without a request, for example, is not an error. Control characters are displayed escaped.

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
    """A DataFrame that displays missing texts and integers as empty cells."""

    @property
    def _constructor(self) -> Any:
        return Table

    @property
    def _constructor_sliced(self) -> Any:
        return Column

    def __repr__(self) -> str:
        return repr(self._as_shown())

    def _repr_html_(self) -> str | None:
        markup: str | None = self._as_shown()._repr_html_()
        return markup

    def to_string(self, *args: Any, **options: Any) -> Any:
        """Return the displayed values as text; see ``DataFrame.to_string``."""
        return self._as_shown(whole=True).to_string(*args, **options)

    def to_html(self, *args: Any, **options: Any) -> Any:
        """Return the displayed values as HTML; see ``DataFrame.to_html``."""
        return self._as_shown(whole=True).to_html(*args, **options)

    def _as_shown(self, *, whole: bool = False) -> pd.DataFrame:
        """Return a plain DataFrame of the same shape with the displayed texts, in the printed rows or in all."""
        frame = pd.DataFrame(self)
        rows = np.arange(len(self)) if whole else _printed(len(self))
        for position in range(self.shape[1]):
            values = _shown_values(pd.Series(frame.iloc[:, position]), rows)
            if values is not None:
                frame.isetitem(position, values)
        frame.index = _shown_index(frame.index, rows)
        frame.columns = _shown_index(frame.columns, np.arange(self.shape[1]))
        return frame


class Column(pd.Series):  # type: ignore[misc]
    """A column or a row of a `Table` that displays missing values as empty cells."""

    @property
    def _constructor(self) -> Any:
        return Column

    @property
    def _constructor_expanddim(self) -> Any:
        return Table

    def __repr__(self) -> str:
        return self._with_own_type(repr(self._as_shown(_printed(len(self)))))

    def to_string(self, *args: Any, **options: Any) -> Any:
        """Return the displayed values as text; see ``Series.to_string``."""
        return self._as_shown(np.arange(len(self))).to_string(*args, **options)

    def value_counts(self, *args: Any, **options: Any) -> pd.Series:
        """Count the values; see ``Series.value_counts``. Labels are displayed like values."""
        return Column(super().value_counts(*args, **options))

    def _as_shown(self, rows: np.ndarray[Any, Any]) -> pd.Series:
        series = pd.Series(self)
        values = _shown_values(series, rows)
        if values is not None:
            series = pd.Series(values, series.index, object, series.name)
        series.index = _shown_index(series.index, rows)
        return series

    def _with_own_type(self, text: str) -> str:
        """Replace ``dtype: object`` at the end of a displayed text with the dtype of the column."""
        before, marker, _ = text.rpartition("dtype: object")
        return f"{before}dtype: {self.dtype}" if marker else text


def _printed(count: int) -> np.ndarray[Any, Any]:
    """Return the rows that pandas prints of a number of rows, and some more: the first and last of many rows."""
    most = pd.get_option("display.max_rows")
    rows = np.arange(count)
    return np.concatenate((rows[:most], rows[-most:])) if most and count > 2 * most else rows


def _shown_values(column: pd.Series, rows: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """Return the displayed values of a column in some rows, empty elsewhere; None if they equal the values.

    Args:
        column: column to display.
        rows: the rows that are printed.
    """
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind != "O":
        return None
    originals = column.iloc[rows].to_numpy(dtype=object)
    missing = column.iloc[rows].isna().to_numpy()
    shown = [safe_text(value) if isinstance(value, str) else value for value in originals]
    if not missing.any() and all(map(operator.is_, shown, originals)):
        return None
    values = np.full(len(column), "", dtype=object)
    for row, value, is_missing in zip(rows.tolist(), shown, missing.tolist(), strict=True):
        values[row] = "" if is_missing else value
    return values


def _shown_index(index: pd.Index, rows: np.ndarray[Any, Any]) -> pd.Index:
    """Return labels as they are displayed; multi-level labels are unchanged."""
    if isinstance(index, pd.MultiIndex):
        return index
    values = _shown_values(pd.Series(index), rows)
    return index if values is None else pd.Index(values, dtype=object, name=index.name)

"""Parquet file with the rows of a sweep; it is complete at any moment.

The file is rewritten as rows complete, for at most a twentieth of the time, and atomically replaced. Each row contains
the key of its case (`gpuplace.sweeps.cases.key_of`), so that a resumed sweep, also one of more machines or graphs,
finds the completed cases. Rows of other cases of the same query stay in the file.

Source: parquet.apache.org, "File Format" (structure and metadata).
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from gpuplace.errors import DataLossError, FailedPreconditionError
from gpuplace.sweeps.evaluation import CASE, COLUMNS, OUTCOME, Row
from gpuplace.sweeps.runner import KILLED
from gpuplace.writing import check_writable, write_file

_MARK = b"gpuplace.sweep"
_VERSION = "1"
_KEY, _NUMBER = "key", "case"
_INTERVAL_S, _INTERVAL_FACTOR = 1.0, 20
"""Minimal time between writes: in seconds, and relative to the duration of a write."""


class SweepFile:
    """File of a sweep.

    Args:
        path: path of the file, which may not exist yet.
        what: kind of query.

    Raises:
        DataLossError: the file is not a sweep, or is damaged.
        FailedPreconditionError: the file is a sweep with another kind of query.
        OSError: the file cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        self._path, self._what = os.fspath(path), what
        self.rows: dict[str, Row] = {}
        """Rows of completed cases, by key."""
        check_writable(self._path)
        if os.path.exists(self._path):
            self.rows = {row.pop(_KEY): row for row in self._read()}
        self._cost, self._written, self._is_behind = 0.0, time.monotonic(), False

    def done(self, key: str) -> Row | None:
        """Return the row of a completed case; None if it must be evaluated, even if it killed its workers.

        Args:
            key: key of the case.
        """
        row = self.rows.get(key)
        return None if row is None or row["error"] == KILLED else row

    def add(self, key: str, row: Row) -> None:
        """Add a row, and write the file if it is due.

        Args:
            key: key of the case.
            row: the row.
        """
        self.rows[key] = row
        self._is_behind = True
        if time.monotonic() - self._written > max(_INTERVAL_S, _INTERVAL_FACTOR * self._cost):
            self.write()

    def write(self) -> None:
        """Write the file if it lacks rows.

        Raises:
            OSError: the file cannot be written; it is unchanged.
        """
        if not self._is_behind:
            return
        import pyarrow as pa
        import pyarrow.parquet as pq

        begin = time.monotonic()
        schema = self._schema(pa)
        columns = {_KEY: list(self.rows)} | {
            name: [_plain(row[name]) for row in self.rows.values()] for name in schema.names if name != _KEY
        }
        stream = io.BytesIO()
        pq.write_table(pa.table(columns, schema), stream, write_page_checksum=True)
        write_file(self._path, stream.getvalue())
        self._written = time.monotonic()
        self._cost, self._is_behind = self._written - begin, False

    def _schema(self, pa: Any) -> Any:
        kinds = {
            int: pa.int64(),
            float: pa.float64(),
            bool: pa.bool_(),
            str: pa.string(),
            dict: pa.map_(pa.string(), pa.int64()),
        }
        fields = [(_KEY, pa.string()), (_NUMBER, pa.int64())] + [(name, pa.string()) for name in CASE]
        fields += [(name, kinds[kind]) for name, kind in (*COLUMNS[self._what].items(), *OUTCOME.items())]
        return pa.schema(fields, {_MARK: f"{_VERSION} {self._what}"})

    def _read(self) -> Iterable[Row]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self._path
        try:
            table = pq.ParquetFile(path, page_checksum_verification=True).read()
            mark = (table.schema.metadata or {}).get(_MARK, b"").decode()
            rows: list[Row] = table.to_pylist()
        except (pa.ArrowException, OSError, ValueError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise DataLossError.of(
                f"{path} is not a Parquet file, or is damaged",
                facts={"because": str(error)},
                hint="use another name for a new sweep",
            ) from None
        version, _, saved_what = mark.partition(" ")
        if not version:
            raise DataLossError.of(
                f"{path} is a Parquet file that does not contain a sweep",
                hint="choose another file name; this file is not changed",
            )
        if version == _VERSION and saved_what != self._what:
            raise FailedPreconditionError.of(
                f"{path} contains a sweep with what={saved_what!r}, not {self._what!r}",
                hint="use one file for each",
            )
        if version != _VERSION or not table.schema.equals(self._schema(pa)):
            raise FailedPreconditionError.of(
                f"{path} is from another version of gpuplace", hint="use another name for a new sweep"
            )
        kinds: Mapping[str, type] = COLUMNS[self._what]
        maps = [name for name, kind in kinds.items() if kind is dict]
        for row in rows:
            for name in maps:
                row[name] = None if row[name] is None else dict(row[name])
        return rows


def _plain(value: object) -> Any:
    return list(value.items()) if isinstance(value, dict) else value

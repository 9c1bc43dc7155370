"""The file of a sweep: Parquet, a row for every case that is done, whole at any moment.

It is written anew as rows come, at most for a twentieth of the time, and takes its name only when all of it is on disk.
Every row has the key of its case (`gpuplace.sweeps.cases.key_of`), so that a sweep that goes on finds what is done, and
one of more machines or graphs too. Rows of other cases of the same question stay in the file.

Source: parquet.apache.org, "File Format" (what a file is, its metadata).
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Iterable, Mapping
from typing import Any

from gpuplace.errors import DataLossError, FailedPreconditionError
from gpuplace.sweeps.answers import CASE, COLUMNS, OUTCOME, Row
from gpuplace.sweeps.running import KILLED
from gpuplace.writing import check_writable, write_file

_MARK = b"gpuplace.sweep"
_VERSION = "1"
_KEY, _NUMBER = "key", "case"
_OFTEN_S, _PART = 1.0, 20
"""A file is written once a second, and takes at most a twentieth of the time."""


class Saved:
    """The file of a sweep.

    Args:
        path: the file, which need not exist.
        what: what is asked.

    Raises:
        DataLossError: the file is no sweep, or is damaged.
        FailedPreconditionError: it is a sweep that asked something else.
        OSError: it cannot be read or written.
    """

    def __init__(self, path: str | os.PathLike[str], what: str) -> None:
        self._path, self._what = os.fspath(path), what
        self.rows: dict[str, Row] = {}
        """Key -> row of what is done."""
        check_writable(self._path)
        if os.path.exists(self._path):
            self.rows = {row.pop(_KEY): row for row in self._read()}
        self._cost, self._written, self._is_behind = 0.0, time.monotonic(), False

    def done(self, key: str) -> Row | None:
        """The row of a case; None where it has to be asked, also where it killed its workers.

        Args:
            key: of the case.
        """
        found = self.rows.get(key)
        return None if found is None or found["error"] == KILLED else found

    def add(self, key: str, row: Row) -> None:
        """Adds a row; writes the file if that is due.

        Args:
            key: of its case.
            row: the row.
        """
        self.rows[key] = row
        self._is_behind = True
        if time.monotonic() - self._written > max(_OFTEN_S, _PART * self._cost):
            self.write()

    def write(self) -> None:
        """Writes the rows that are not in the file yet.

        Raises:
            OSError: the file cannot be written; it is as it was.
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
                f"{path} is no Parquet file, or is damaged",
                facts={"because": str(error)},
                hint="another name for a new sweep",
            ) from None
        version, _, asked = mark.partition(" ")
        if not version:
            raise DataLossError.of(
                f"{path} is a Parquet file, but not of a sweep",
                hint="another name: this file is left as it is",
            )
        if version == _VERSION and asked != self._what:
            raise FailedPreconditionError.of(
                f"{path} holds a sweep that asked what={asked!r}, not {self._what!r}", hint="a file for each"
            )
        if version != _VERSION or not table.schema.equals(self._schema(pa)):
            raise FailedPreconditionError.of(
                f"{path} is of another version of gpuplace", hint="another name for a new sweep"
            )
        kinds: Mapping[str, type] = COLUMNS[self._what]
        maps = [name for name, kind in kinds.items() if kind is dict]
        for row in rows:
            for name in maps:
                row[name] = None if row[name] is None else dict(row[name])
        return rows


def _plain(value: Any) -> Any:
    return list(value.items()) if isinstance(value, dict) else value

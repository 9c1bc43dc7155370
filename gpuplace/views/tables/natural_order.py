"""Natural sort order: numbers inside texts compare as numbers, so `layer_9` comes before `layer_10`.

Node names are split at slashes. A graph has far fewer distinct parts than names, and each part is analyzed once; the
rest is done by arrays.

>>> natural_ranks(["layer_10/w", "layer_9/w", "layer_9", "layer_9/w"]).tolist()
[2, 1, 0, 1]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np

_PIECES = re.compile(r"(\d+)").split
_MAX_CELLS = 20_000_000
"""Maximum size of the table of ranks, in cells; larger inputs are sorted one by one."""
_LONG = 1000
"""Maximum number of digits that Python always converts to an integer."""


def natural_ranks(texts: Sequence[str]) -> np.ndarray:
    """Return the ranks of texts from 0, [texts]; equal texts have equal ranks."""
    paths: dict[str, int] = {}
    parts: dict[str, int] = {}
    path_of, last_of = [], []
    for text in texts:
        path, slash, last = text.rpartition("/")
        path_of.append(paths.setdefault(path + slash, len(paths)))
        last_of.append(parts.setdefault(last, len(parts)))
    # A slash belongs to the part before it, so following parts are compared only if that part is equal.
    rows = [[parts.setdefault(f"{part}/", len(parts)) for part in path.split("/")[:-1]] for path in paths]
    widest = max(map(len, rows), default=0) + 1
    if len(texts) * widest > _MAX_CELLS:
        return _ranks_one_by_one(texts)
    rank = _ranks_of_parts(list(parts)) + 1
    depth = np.array([len(row) for row in rows], dtype=np.int64)
    table = _table(rows, depth, widest, rank)[path_of]
    table[np.arange(len(texts)), depth[path_of]] = rank[last_of]
    return _ranks_of_rows(table)


def _ranks_of_parts(parts: list[str]) -> np.ndarray:
    """Return the ranks of texts without slashes, [parts]."""
    pieces = list(map(_PIECES, parts))
    lengths = np.array([len(row) for row in pieces], dtype=np.int64)
    widest = int(lengths.max(initial=0))
    if len(parts) * widest > _MAX_CELLS:
        return _ranks_one_by_one(parts)
    distinct = set(chain.from_iterable(pieces))
    numbers = {piece for piece in distinct if piece.isdecimal()}
    number: dict[str, int] = {}
    by_size = _number_key if max(map(len, numbers), default=0) > _LONG else int
    for ordered in (sorted(distinct - numbers), sorted(sorted(numbers), key=by_size)):
        number |= {piece: i + 1 for i, piece in enumerate(ordered)}
    rows = [[number[piece] for piece in row] for row in pieces]
    return _ranks_of_rows(_table(rows, lengths, widest, np.arange(len(distinct) + 1)))


def _number_key(digits: str) -> tuple[int, str, str]:
    """Order numbers of any length by value, and numbers of equal value by their spelling."""
    significant = digits.lstrip("0")
    return len(significant), significant, digits


def _table(rows: list[list[int]], lengths: np.ndarray, width: int, value: np.ndarray) -> np.ndarray:
    """Return the values of each row's numbers, padded with zeros, [rows, width]."""
    flat = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
    table = np.zeros((len(rows), width), dtype=np.int64)
    table[np.arange(width) < lengths[:, None]] = value[flat]
    return table


def _ranks_of_rows(table: np.ndarray) -> np.ndarray:
    """Return the ranks of rows in lexicographic order, [rows]."""
    code, size = np.zeros(len(table), dtype=np.int64), 1
    for column in table.T:
        span = int(column.max(initial=0)) + 1
        if size * span > 1 << 62:
            values, code = np.unique(code, return_inverse=True)
            size = len(values)
        code, size = code * span + column, size * span
    return np.unique(code, return_inverse=True)[1]


def _ranks_one_by_one(texts: Sequence[str]) -> np.ndarray:
    keys = {
        text: [_number_key(piece) if i % 2 else (0, piece, "") for i, piece in enumerate(_PIECES(text))]
        for text in texts
    }
    rank = {text: i for i, text in enumerate(sorted(keys, key=keys.__getitem__))}
    return np.array([rank[text] for text in texts], dtype=np.int64)

"""Texts in the order a reader expects: the numbers in them as numbers, `layer_9` before `layer_10`.

Names of nodes are worked on in parts between slashes: a graph has far fewer different parts than names, and each
is taken to pieces once. What remains is done with arrays.

>>> natural_ranks(["layer_10/w", "layer_9/w", "layer_9", "layer_9/w"]).tolist()
[2, 1, 0, 1]
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

import numpy as np

_PIECES = re.compile(r"(\d+)").split
_MOST_CELLS = 20_000_000
"""Cells of a table up to which one is made; a name of a thousand parts among many is sorted without."""
_LONG = 1000
"""Digits up to which Python makes a number of them in any case."""


def natural_ranks(texts: Sequence[str]) -> np.ndarray:
    """[texts] their ranks from 0, equal texts having the same."""
    paths: dict[str, int] = {}
    parts: dict[str, int] = {}
    path_of, last_of = [], []
    for text in texts:
        path, slash, last = text.rpartition("/")
        path_of.append(paths.setdefault(path + slash, len(paths)))
        last_of.append(parts.setdefault(last, len(parts)))
    # A slash belongs to the part before it: what follows it counts only where that part is the same.
    rows = [[parts.setdefault(f"{part}/", len(parts)) for part in path.split("/")[:-1]] for path in paths]
    widest = max(map(len, rows), default=0) + 1
    if len(texts) * widest > _MOST_CELLS:
        return _ranks_one_by_one(texts)
    rank = _ranks_of_parts(list(parts)) + 1
    depth = np.array([len(row) for row in rows], dtype=np.int64)
    table = _table(rows, depth, widest, rank)[path_of]
    table[np.arange(len(texts)), depth[path_of]] = rank[last_of]
    return _ranks_of_rows(table)


def _ranks_of_parts(parts: list[str]) -> np.ndarray:
    """[parts] ranks of texts without a slash inside."""
    pieces = list(map(_PIECES, parts))
    lengths = np.array([len(row) for row in pieces], dtype=np.int64)
    widest = int(lengths.max(initial=0))
    if len(parts) * widest > _MOST_CELLS:
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
    """Orders numbers of any length by size, those of one size by how they are written."""
    significant = digits.lstrip("0")
    return len(significant), significant, digits


def _table(rows: list[list[int]], lengths: np.ndarray, width: int, value: np.ndarray) -> np.ndarray:
    """[rows, width] the values of each row's numbers, then zeros."""
    flat = np.fromiter(chain.from_iterable(rows), np.int64, int(lengths.sum()))
    table = np.zeros((len(rows), width), dtype=np.int64)
    table[np.arange(width) < lengths[:, None]] = value[flat]
    return table


def _ranks_of_rows(table: np.ndarray) -> np.ndarray:
    """[rows] ranks of rows, their first columns counting most."""
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

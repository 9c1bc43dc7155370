"""Sentences about the rule that decided a node: equal facts share a code."""

import numpy as np
import pytest

from gpuplace.why import sentences

_LARGE = 2**40


@pytest.mark.parametrize(
    "columns",
    [
        [[0, 0, 1, 1, 0], [0, 1, 0, 1, 0]],
        [[-1, 0, -1, 3, -1], [2, -1, 2, -1, -1], [0, 0, 0, 0, 0]],
        [
            [-1, _LARGE, _LARGE, 0, -1],
            [_LARGE, 5, 5, _LARGE, _LARGE],
            [1, 2, 2, 1, 1],
        ],  # more than int64 holds
    ],
)
def test_codes_are_equal_where_all_columns_are(columns):
    codes = sentences._codes(*(np.array(column, dtype=np.int64) for column in columns))
    rows = list(zip(*columns, strict=True))
    for a, row in enumerate(rows):
        for b, other in enumerate(rows):
            assert (codes[a] == codes[b]) == (row == other)

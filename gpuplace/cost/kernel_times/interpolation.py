"""A function between its known points: Gaussian process regression over the shapes of calls.

The points are shapes, as vectors in which nearness means alikeness (logarithms of sizes); the values are logarithms of
measured over computed time. At a known shape the answer is the known value, nearby it goes over into the neighbours',
far from all of them it is the middle of all values, so that the computed time keeps its say there.

>>> known = Interpolation(np.array([[0.0], [1.0], [40.0]]), np.array([0.0, 1.0, 0.5]))
>>> [round(float(value), 1) for value in known(np.array([[0.0], [0.5], [1.0], [400.0]]))]
[0.0, 0.5, 1.0, 0.5]

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", algorithm 2.1.
"""

from __future__ import annotations

import numpy as np

from gpuplace.typing import Array

# Sums are einsum's, in this thread: a linear algebra library's threads would wait longer than such a sum takes.

_NOISE = 0.003
_ROUGH = 0.6
_CHUNK = 256
"""Points asked for at once, so that what is computed for them stays in the caches."""


def _kernel(left: Array, right: Array) -> Array:
    """Alikeness of points, ``[left, right]``: a rough part, which keeps what is special, and a smooth one."""
    squares = (
        (left**2).sum(1)[:, None] + (right**2).sum(1)[None, :] - 2.0 * np.einsum("if,jf->ij", left, right)
    )
    near = np.maximum(squares, 0.0).astype(np.float32)  # after the difference, which needs all digits
    smooth = np.exp(near * np.float32(-1 / 18)) * np.float32(1.0 - _ROUGH)
    smooth += np.exp(np.sqrt(near) * np.float32(-1.2)) * np.float32(_ROUGH)
    return smooth


class Interpolation:
    """A function that passes through (or close to) known values."""

    def __init__(self, points: Array, values: Array, noise: Array | float = 0.0) -> None:
        """Learns a function.

        Args:
            points: ``[point, feature]``.
            values: ``[point]``; points without a value (NaN) are left out.
            noise: what a point's value is off by at least, squared; one number, or ``[point]``.
        """
        known = ~np.isnan(values)
        self._points = points[known]
        self._middle = float(np.median(values[known])) if known.any() else 0.0
        spread = np.broadcast_to(np.asarray(noise, float), values.shape)[known] + _NOISE
        gram = _kernel(self._points, self._points).astype(float)
        gram[np.diag_indices_from(gram)] += spread
        self._weights = np.linalg.solve(gram, values[known] - self._middle)

    def __call__(self, points: Array) -> Array:
        """Returns the values at ``[point, feature]``."""
        found = np.empty(len(points))
        for start in range(0, len(points), _CHUNK):
            part = slice(start, start + _CHUNK)
            found[part] = np.einsum("ij,j->i", _kernel(points[part], self._points), self._weights)
        return self._middle + found

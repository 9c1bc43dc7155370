"""The columns of a profile: number formats and headings.

>>> number(1234), micros(1500), memory(2_000_000)
('1.23k', '1.50ms', '2.00MB')

Source: tensorflow/core/profiler/internal/tfprof_utils.cc, tfprof_show.cc and tfprof_show_multi.cc, release
1.15 (number formats, column names and order).
"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["BYTES", "legend", "memory", "micros", "number", "shapes_text", "times"]


def _scaled(value: int, units: Iterable[tuple[int, str]], plain: str) -> str:
    for size, unit in units:
        if value >= size:
            return f"{value / size:.2f}{unit}"
    return f"{value}{plain}"


def number(value: int) -> str:
    """Format a count.

    Args:
        value: the count.
    """
    return _scaled(value, ((10**9, "b"), (10**6, "m"), (1000, "k")), "")


def micros(value: int) -> str:
    """Format a time.

    Args:
        value: microseconds.
    """
    return _scaled(value, ((10**6, "sec"), (1000, "ms")), "us")


def memory(value: int) -> str:
    """Format a number of bytes.

    Args:
        value: number of bytes.
    """
    return _scaled(value, ((10**6, "MB"), (1000, "KB")), "B")


BYTES = {
    "bytes": ("requested_bytes", "requested bytes"),
    "peak_bytes": ("peak_bytes", "peak bytes"),
    "residual_bytes": ("residual_bytes", "residual bytes"),
    "output_bytes": ("output_bytes", "output bytes"),
}
"""Selected attribute -> its count and column heading."""

_TIMES = {
    "micros": ("exec_micros", "total execution time"),
    "accelerator_micros": ("accelerator_exec_micros", "accelerator execution time"),
    "cpu_micros": ("cpu_exec_micros", "cpu execution time"),
}


def times(select: frozenset[str]) -> list[tuple[str, str]]:
    """Return the time columns, all or only the selected ones, each with its count and heading.

    Args:
        select: the selected attributes.
    """
    return [column for name, column in _TIMES.items() if "micros" in select or name in select]


def legend(select: frozenset[str], of_groups: bool) -> str:
    """Return the heading of a profile.

    Args:
        select: the selected attributes.
        of_groups: whether rows are op types or Python lines rather than nodes.
    """
    counted = {"params": "# parameters", "float_ops": "# float_ops"}
    counts = [text for name, text in counted.items() if name in select]
    measured = [
        *(text for name, (_, text) in BYTES.items() if name in select),
        *(text for _, text in times(select)),
    ]
    other = {
        "device": "assigned devices",
        "op_types": "op types",
        "occurrence": "op occurrence (run|defined)" if of_groups else "op count (run|defined)",
        "input_shapes": "input shapes",
    }
    columns = [
        *((measured + counts) if of_groups else (counts + measured)),
        *(text for name, text in other.items() if name in select),
    ]
    return f"node name | {' | '.join(columns)}\n"


def shapes_text(shapes: Iterable[tuple[int, list[int]]], between: str) -> str:
    """Return the shapes of inputs as text.

    Args:
        shapes: index and sizes of each input; no sizes for an unknown shape.
        between: the separator.
    """
    return between.join(
        f"{index}:{'x'.join(map(str, sizes)) if sizes else 'unknown'}" for index, sizes in shapes
    )

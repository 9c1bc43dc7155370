"""``tf.decode_csv``: parse lines of comma-separated values.

Source: tensorflow/python/ops/parsing_ops.py and core/kernels/decode_csv_op.cc, release 1.15.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import DType, string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.kernels.number_texts import number_of
from gpuplace.ops.shape_rules import require_rank_at_most
from gpuplace.typing import TensorLike, TensorsLike

__all__ = ["decode_csv"]

_END_OF_LINE = (b"\n", b"\r")
_QUOTE = b'"'


def decode_csv(
    records: TensorLike, record_defaults: TensorsLike, field_delim: str = ",", use_quote_delim: bool = True,
    name: str | None = None, na_value: str = "", select_cols: Sequence[int] | None = None,
) -> list[Tensor]:  # fmt: skip
    """Parse lines of CSV, column by column.

    >>> import gpuplace as tf
    >>> number, word = tf.decode_csv(["1,one", ",two"], [[0], [""]])
    >>> tf.Session().run(number).tolist()
    [1, 0]

    Args:
        records: the lines, strings of any shape.
        record_defaults: for each column a list with its default value, or an empty tensor of the column's dtype
            (float32, float64, int32, int64 or string) if every value is required.
        field_delim: the separator, one character.
        use_quote_delim: whether to strip quotation marks around values.
        name: name of the op.
        na_value: another text for missing values.
        select_cols: indices of the columns to read, ascending; None: all.

    Returns:
        A list of tensors, one for each column, of the shape of ``records``.

    Raises:
        ValueError: a default has several values, or the columns are not ascending, or do not match the defaults.
        InvalidArgumentError: at run time, a line has a wrong number of values, or a value of another type.
    """
    columns = list(select_cols or ())
    if any(a >= b for a, b in zip(columns, columns[1:])):
        raise ValueError("select_cols is not strictly increasing.")
    if columns and columns[0] < 0:
        raise ValueError("select_cols contains negative values.")
    defaults: Any = record_defaults
    if columns and len(columns) != len(defaults):
        raise ValueError("Length of select_cols and record_defaults do not match.")
    op = apply_op(
        "DecodeCSV", name, records=records, record_defaults=list(defaults), field_delim=field_delim,
        use_quote_delim=use_quote_delim, na_value=na_value, select_cols=columns,
    )  # fmt: skip
    return list(op.outputs)


def fields_of(line: bytes, delimiter: bytes, quotes: bool, what: str = "quotes/CRLFs") -> list[bytes]:
    """Split a line into its values.

    Args:
        line: the line.
        delimiter: the separator.
        quotes: whether to strip quotation marks around values.
        what: characters that unquoted values must not contain, for the error.

    Raises:
        InvalidArgumentError: quotation marks are misplaced.
    """
    fields: list[bytes] = []
    at, end = 0, len(line)
    if not end:
        return fields
    while True:
        if quotes and line[at : at + 1] == _QUOTE:
            text, at = _quoted(line, at + 1, delimiter)
        else:
            stop = line.find(delimiter, at)
            stop = end if stop < 0 else stop
            text = line[at:stop]
            if quotes and any(sign in text for sign in (_QUOTE, *_END_OF_LINE)):
                raise InvalidArgumentError.of(f"Unquoted fields cannot have {what} inside")
            at = stop
        fields.append(text)
        if at >= end:
            return fields
        at += 1
        if at == end:
            return [*fields, b""]


def _quoted(line: bytes, at: int, delimiter: bytes) -> tuple[bytes, int]:
    """Return a quoted value, and the position after it."""
    parts = []
    while True:
        stop = line.find(_QUOTE, at)
        if stop < 0:
            raise InvalidArgumentError.of("Quoted field has to end with quote followed by delim or end")
        parts.append(line[at:stop])
        following = line[stop + 1 : stop + 2]
        if following == _QUOTE:
            parts.append(_QUOTE)
            at = stop + 2
        elif following in (b"", delimiter):
            return b"".join(parts), stop + 1
        else:
            raise InvalidArgumentError.of("Quote inside a string has to be escaped by another quote")


def value_of(text: bytes, dtype: DType, field: int, record: str) -> Any:
    """Convert the text of a field to a dtype; InvalidArgumentError if it does not fit."""
    if dtype is string:
        return text
    try:
        return number_of(text, dtype)
    except ValueError:
        shown = text.decode("utf-8", "backslashreplace")
        raise InvalidArgumentError.of(
            f"Field {field} in {record} is not a valid {dtype.short_name}: {shown}"
        ) from None


@compute("DecodeCSV")
def _decode_csv(
    xp: Any, records: Any, record_defaults: list[Any], *, OUT_TYPE: Any, field_delim: bytes, use_quote_delim: bool,
    na_value: bytes, select_cols: Any,
) -> list[Any]:  # fmt: skip
    if len(field_delim) != 1:
        raise InvalidArgumentError.of("field_delim should be only 1 char")
    for number, default in enumerate(record_defaults):
        if default.size > 1:
            raise InvalidArgumentError.of(
                f"There should only be 1 default per field but field {number} has {default.size}"
            )
    columns: list[list[Any]] = [[] for _ in OUT_TYPE]
    for record, line in enumerate(records.reshape(-1).tolist()):
        fields = fields_of(line, field_delim, use_quote_delim)
        if select_cols:
            fields = [fields[column] for column in select_cols if column < len(fields)]
        if len(fields) != len(OUT_TYPE):
            raise InvalidArgumentError.of(
                f"Expect {len(OUT_TYPE)} fields but have {len(fields)} in record {record}"
            )
        for number, (text, dtype, default) in enumerate(zip(fields, OUT_TYPE, record_defaults, strict=True)):
            if text and text != na_value:
                columns[number].append(value_of(text, dtype, number, f"record {record}"))
            elif default.size:
                columns[number].append(default.reshape(-1)[0])
            else:
                raise InvalidArgumentError.of(
                    f"Field {number} is required but missing in record {record}!",
                    hint="set a default: record_defaults=[..., [0], ...]",
                )
    results = []
    for values, dtype in zip(columns, OUT_TYPE, strict=True):
        result = np.empty(len(values), object if dtype is string else dtype.as_numpy_dtype)
        result[:] = values
        results.append(result.reshape(records.shape))
    return results


@shape_function("DecodeCSV")
def _shape(op: Operation) -> Any:
    for tensor in op.inputs[1:]:
        sizes = require_rank_at_most(tensor.shape, 1).sizes
        if sizes and (sizes[0] or 0) > 1:
            raise ValueError("Shape of a default must be a length-0 or length-1 vector, or a scalar.")
    return (op.inputs[0].shape,) * len(op.attrs["OUT_TYPE"])

"""Convolutions, poolings and their gradients as numba-compiled loops.

A convolution and the gradient of a filter are sums of products over windows of padded images. Nearly all time is spent
on tiles. A tile consists of the sums of a few rows and columns of the result, which stay in the processor's registers
until they are complete::

    sums[row, column] = sum over segments and steps of a[segment, step, row] * b[segment, step, column]

                      rows            columns    a segment             a step
    a convolution     pixels          filters    line of the window    element of that line, across its channels
    its filter        elements of     filters    line of the result    pixel of that line
                      such a line

The pixels of a window's line are contiguous in the image, and neighboring windows overlap, so only the padded image is
copied (``padded``). Columns, and channels of poolings, are processed in units of ``UNIT_BYTES``, except for a
remainder.

Products are added with fused multiply-add if the processor has it, and sums are added in another order than in BLAS.
Therefore the last bits differ from NumPy's.

numba inlines the work for one pixel or channel (``inline="always"``): a call would take as long as the work.

This module needs numba; ``dispatch`` imports it when a loop is requested.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import types
from numba.extending import intrinsic, register_jitable

from gpuplace.numerics.compiled.loops import UNIT_BYTES

if TYPE_CHECKING:
    from numba.core.typing.context import Context as TypingContext
    from numba.core.typing.templates import Signature

_FEATURES = get_host_cpu_features()
_VECTOR_BYTES = 64 if _FEATURES.get("avx512f") else 32 if _FEATURES.get("avx") else 16
_MOST_ROWS = 12 if _FEATURES.get("avx512f") or _FEATURES.get("neon") else 6
"""Rows and vectors of a tile: as many sums as fit in 32 or in 16 registers."""

_STRIP = 64
"""Approximate number of pixels that are processed with one group of filters, whose weights are in the cache."""

_LONG_STRIP = 1024
"""The same number for sums of a filter's gradient."""

_ADDRESS = ir.IntType(64)


def _tile(rows: int, units: int, adds: bool) -> Any:
    """Create the function that computes a tile.

    Args:
        rows: number of rows of the tile.
        units: number of units of columns.
        adds: whether the sums are added to existing values.
    """

    @intrinsic
    def tile(
        context: TypingContext,
        a: types.Array,
        a_at: types.Type,
        a_segment: types.Type,
        a_step: types.Type,
        a_row: types.Type,
        b: types.Array,
        b_at: types.Type,
        b_segment: types.Type,
        b_step: types.Type,
        segments: types.Type,
        steps: types.Type,
        result: types.Array,
        at: types.Type,
        result_row: types.Type,
    ) -> tuple[Signature, Callable[..., ir.Value]]:
        """Compute a tile. Positions and distances are in elements; segments and steps are at least 1."""
        number = types.int64
        signature = types.void(a, *[number] * 4, b, *[number] * 5, result, number, number)

        def generate(
            context: Any, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]
        ) -> ir.Value:
            left, right, counts, target = given[:5], given[5:9], given[9:11], given[11:]
            kinds = signature.args[0], signature.args[5], signature.args[11]
            pointers = [
                context.make_array(kind)(context, builder, value).data
                for kind, (value, *_) in zip(kinds, (left, right, target), strict=True)
            ]
            element = context.get_value_type(kinds[0].dtype)
            size = context.get_abi_sizeof(element)
            _cut_tile(
                _Code(builder, ir.VectorType(element, _VECTOR_BYTES // size), size),
                (rows, units * UNIT_BYTES // _VECTOR_BYTES),
                (pointers[0], *left[1:]),
                (pointers[1], *right[1:]),
                (counts[0], counts[1]),
                (pointers[2], target[1], target[2]),
                adds,
            )
            return context.get_dummy_value()

        return signature, generate

    return tile


def _cut_tile(
    code: _Code,
    shape: tuple[int, int],
    left: tuple[ir.Value, ...],
    right: tuple[ir.Value, ...],
    counts: tuple[ir.Value, ir.Value],
    target: tuple[ir.Value, ir.Value, ir.Value],
    adds: bool,
) -> None:
    """Write the instructions for a tile, in parts whose sums fit into the registers.

    Args:
        code: receives the instructions.
        shape: the numbers of rows, and of vectors in each row.
        left, right, counts, target, adds: as in ``_register_tile``.
    """
    rows, vectors = shape
    builder = code.builder
    high = max(count for count in range(1, _MOST_ROWS + 1) if rows % count == 0)
    for row in range(0, rows, high):
        start = builder.add(left[1], builder.mul(left[-1], _ADDRESS(row)))
        result = builder.add(target[1], builder.mul(target[-1], _ADDRESS(row)))
        for first in range(0, vectors, 2):
            column = _ADDRESS(first * code.vector.count)
            _register_tile(
                code,
                (high, min(2, vectors - first)),
                (left[0], start, *left[2:]),
                (right[0], builder.add(right[1], column), *right[2:]),
                counts,
                (target[0], builder.add(result, column), target[-1]),
                adds,
            )


def _register_tile(
    code: _Code,
    shape: tuple[int, int],
    left: tuple[ir.Value, ...],
    right: tuple[ir.Value, ...],
    counts: tuple[ir.Value, ir.Value],
    target: tuple[ir.Value, ir.Value, ir.Value],
    adds: bool,
) -> None:
    """Emit the instructions for some rows and vectors of a tile.

    Args:
        code: receives the instructions.
        shape: number of rows, and of vectors in each row.
        left: array, start, and distances of segments, steps and rows.
        right: array, start, and distances of segments and steps.
        counts: number of segments and of steps.
        target: array, start, and distance of rows.
        adds: whether the sums are added to existing values.
    """
    rows, vectors = shape
    a, a_at, a_segment, a_step, a_row = left
    b, b_at, b_segment, b_step = right
    result, at, result_row = target
    builder, vector = code.builder, code.vector
    zeros = [ir.Constant(vector, None)] * (rows * vectors)
    outer, by_segment = code.begin([_ADDRESS(0), a_at, b_at, *zeros])
    segment, a_now, b_now, *sums = by_segment
    inner, by_step = code.begin([_ADDRESS(0), a_now, b_now, *sums])
    step, a_place, b_place, *sums = by_step
    seen = [code.load(pointer) for pointer in code.vectors(b, b_place, vectors)]
    new = []
    place = a_place
    for row in range(rows):
        factor = code.spread(code.load(builder.gep(a, [place])))
        for index in range(vectors):
            part = builder.fmul(factor, seen[index], flags=("contract",))
            new.append(builder.fadd(part, sums[row * vectors + index], flags=("contract",)))
        place = builder.add(place, a_row)
    stepped = [builder.add(step, _ADDRESS(1)), builder.add(a_place, a_step), builder.add(b_place, b_step)]
    code.end(inner, by_step, [*stepped, *new], counts[1])
    moved = [builder.add(segment, _ADDRESS(1)), builder.add(a_now, a_segment), builder.add(b_now, b_segment)]
    code.end(outer, by_segment, [*moved, *new], counts[0])
    for row in range(rows):
        for index, pointer in enumerate(code.vectors(result, at, vectors)):
            total = new[row * vectors + index]
            code.store(builder.fadd(code.load(pointer), total) if adds else total, pointer)
        at = builder.add(at, result_row)


class _Code:
    """Emits vector instructions and loops.

    Args:
        builder: LLVM builder.
        vector: vector type.
        size: size of an element in bytes.
    """

    def __init__(self, builder: ir.IRBuilder, vector: ir.VectorType, size: int) -> None:
        self.builder, self.vector, self._size = builder, vector, size

    def vectors(self, array: ir.Value, position: ir.Value, count: int) -> list[ir.Value]:
        """Return the address of the vectors that start at an element."""
        start = self.builder.bitcast(self.builder.gep(array, [position]), self.vector.as_pointer())
        return [self.builder.gep(start, [_ADDRESS(index)]) for index in range(count)]

    def load(self, pointer: ir.Value) -> ir.Value:
        """Load a vector or an element."""
        return self.builder.load(pointer, align=self._size)

    def store(self, value: ir.Value, pointer: ir.Value) -> None:
        """Store a vector."""
        self.builder.store(value, pointer, align=self._size)

    def spread(self, number: ir.Value) -> ir.Value:
        """Return a vector with a number in all lanes."""
        anything = ir.Constant(self.vector, ir.Undefined)
        first = ir.Constant(ir.VectorType(ir.IntType(32), self.vector.count), None)
        one = self.builder.insert_element(anything, number, ir.IntType(32)(0))
        return self.builder.shuffle_vector(one, anything, first)

    def begin(self, starts: list[ir.Value]) -> tuple[ir.Block, list[ir.Value]]:
        """Begin a loop; return the values of its variables in each iteration."""
        before = self.builder.block
        block = self.builder.append_basic_block("again")
        self.builder.branch(block)
        self.builder.position_at_end(block)
        values = [self.builder.phi(start.type) for start in starts]
        for value, start in zip(values, starts, strict=True):
            value.add_incoming(start, before)
        return block, values

    def end(self, block: ir.Block, values: list[ir.Value], new: list[ir.Value], count: ir.Value) -> None:
        """End a loop: repeat with the new values while the first one is less than the count."""
        for value, changed in zip(values, new, strict=True):
            value.add_incoming(changed, self.builder.block)
        done = self.builder.append_basic_block("done")
        self.builder.cbranch(self.builder.icmp_signed("<", new[0], count), block, done)
        self.builder.position_at_end(done)


@intrinsic
def _largest_unit(
    context: TypingContext,
    images: types.Array,
    at: types.Type,
    row: types.Type,
    tap: types.Type,
    rows: types.Type,
    taps: types.Type,
    lowest: types.Type,
    pooled: types.Array,
    to: types.Type,
) -> tuple[Signature, Callable[..., ir.Value]]:
    """Return the largest elements of a window for a unit of channels; the window has at least one element."""
    number = types.int64
    signature = types.void(images, number, number, number, number, number, images.dtype, pooled, number)

    def generate(
        context: Any, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]
    ) -> ir.Value:
        images, at, row, tap, rows, taps, lowest, pooled, to = given
        code, vectors = _code(context, builder, signature.args[0])
        images = context.make_array(signature.args[0])(context, builder, images).data
        pooled = context.make_array(signature.args[7])(context, builder, pooled).data
        start = [code.spread(lowest)] * vectors
        outer, by_row = code.begin([_ADDRESS(0), at, *start])
        inner, by_tap = code.begin([_ADDRESS(0), *by_row[1:]])
        new = []
        for best, pointer in zip(by_tap[2:], code.vectors(images, by_tap[1], vectors), strict=True):
            value = code.load(pointer)
            is_it = builder.or_(
                builder.fcmp_ordered(">", value, best), builder.fcmp_unordered("uno", value, value)
            )
            new.append(builder.select(is_it, value, best))
        code.end(
            inner, by_tap, [builder.add(by_tap[0], _ADDRESS(1)), builder.add(by_tap[1], tap), *new], taps
        )
        code.end(
            outer, by_row, [builder.add(by_row[0], _ADDRESS(1)), builder.add(by_row[1], row), *new], rows
        )
        for value, pointer in zip(new, code.vectors(pooled, to, vectors), strict=True):
            code.store(value, pointer)
        return context.get_dummy_value()

    return signature, generate


def _back(adds: bool) -> Any:
    """Create the function that passes a window's gradient to the first of its largest elements.

    Args:
        adds: whether the gradient is added to existing values; otherwise the window's other elements are set to zero.
    """

    @intrinsic
    def back(
        context: TypingContext,
        images: types.Array,
        result: types.Array,
        at: types.Type,
        row: types.Type,
        tap: types.Type,
        rows: types.Type,
        taps: types.Type,
        lowest: types.Type,
        is_cut: types.Type,
        pooled: types.Array,
        grad: types.Array,
        to: types.Type,
    ) -> tuple[Signature, Callable[..., ir.Value]]:
        """Process a unit of channels; ``is_cut``: the first element of the window is in the padding."""
        number = types.int64
        signature = types.void(
            images,
            result,
            number,
            number,
            number,
            number,
            number,
            images.dtype,
            types.boolean,
            pooled,
            grad,
            number,
        )

        def generate(
            context: Any, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]
        ) -> ir.Value:
            images, result, at, row, tap, rows, taps, lowest, is_cut, pooled, grad, to = given
            code, vectors = _code(context, builder, signature.args[0])
            images, result, pooled, grad = (
                context.make_array(signature.args[index])(context, builder, given[index]).data
                for index in (0, 1, 9, 10)
            )
            least, zero = code.spread(lowest), code.spread(ir.Constant(lowest.type, 0.0))
            wanted = [code.load(pointer) for pointer in code.vectors(pooled, to, vectors)]
            start = []
            for value, pointer in zip(wanted, code.vectors(grad, to, vectors), strict=True):
                rest = code.load(pointer)
                taken = builder.select(builder.fcmp_ordered("==", value, least), zero, rest)
                start.append(builder.select(is_cut, taken, rest))
            outer, by_row = code.begin([_ADDRESS(0), at, *start])
            inner, by_tap = code.begin([_ADDRESS(0), *by_row[1:]])
            new = []
            for value, rest, source, target in zip(
                wanted,
                by_tap[2:],
                code.vectors(images, by_tap[1], vectors),
                code.vectors(result, by_tap[1], vectors),
                strict=True,
            ):
                seen = code.load(source)
                is_it = builder.or_(
                    builder.fcmp_ordered("==", seen, value), builder.fcmp_unordered("uno", seen, seen)
                )
                part = builder.select(is_it, rest, zero)
                code.store(builder.fadd(code.load(target), part) if adds else part, target)
                new.append(builder.select(is_it, zero, rest))
            code.end(
                inner, by_tap, [builder.add(by_tap[0], _ADDRESS(1)), builder.add(by_tap[1], tap), *new], taps
            )
            code.end(
                outer, by_row, [builder.add(by_row[0], _ADDRESS(1)), builder.add(by_row[1], row), *new], rows
            )
            return context.get_dummy_value()

        return signature, generate

    return back


def _code(context: Any, builder: ir.IRBuilder, array: ir.Value) -> tuple[_Code, int]:
    """Return the vector type for an array's elements, and the number of vectors in a unit."""
    element = context.get_value_type(array.dtype)
    size = context.get_abi_sizeof(element)
    return _Code(builder, ir.VectorType(element, _VECTOR_BYTES // size), size), UNIT_BYTES // _VECTOR_BYTES


_largest: Any = _largest_unit
_write_back, _add_back = _back(False), _back(True)
_tile_8_2, _tile_4_2, _tile_1_2 = (_tile(rows, 2, False) for rows in (8, 4, 1))
_tile_8_1, _tile_4_1, _tile_1_1 = (_tile(rows, 1, False) for rows in (8, 4, 1))
_add_12_2, _add_8_2, _add_4_2 = (_tile(rows, 2, True) for rows in (12, 8, 4))
_add_12_1, _add_8_1, _add_4_1 = (_tile(rows, 1, True) for rows in (12, 8, 4))


@register_jitable
def _with_border(
    images: Any, image: int, padded: Any, start: int, lines: int, left: int, across: int
) -> None:
    """Write some lines of an image, padded with zeros.

    Args:
        images: ``[batch, height, width, channels]``.
        image: number of the image.
        padded: output, at least ``lines * across * channels`` elements.
        start: first line; it may be above the image, and the last one below.
        lines: number of lines.
        left: columns of padding on the left.
        across: total number of columns; columns further to the right are cut off.
    """
    _, height, width, channels = images.shape
    copied = max(0, min(width, across - left)) * channels
    before = min(left, across) * channels
    size = across * channels
    flat = images.reshape(-1)
    for line in range(lines):
        y = start + line
        target = padded[line * size : (line + 1) * size]
        if 0 <= y < height:
            source = (image * height + y) * width * channels
            _fill(target[:before], 0)
            _copy(flat[source : source + copied], target[before : before + copied])
            _fill(target[before + copied :], 0)
        else:
            _fill(target, 0)


@intrinsic
def _as_writable(context: TypingContext, array: types.Array) -> tuple[Signature, Callable[..., ir.Value]]:
    """Return a read-only array as writable, which numba treats as another type; nothing writes to it."""

    def generate(
        context: Any, builder: ir.IRBuilder, signature: Signature, given: Sequence[ir.Value]
    ) -> ir.Value:
        context.nrt.incref(builder, signature.return_type, given[0])
        return given[0]

    return types.Array(array.dtype, array.ndim, array.layout)(array), generate


_writable: Any = _as_writable


@register_jitable
def _copy(source: Any, target: Any) -> None:
    """Fill ``target`` from ``source``, both with one axis; a loop counter as index needs no bounds checks."""
    for index in range(target.size):
        target[index] = source[index]


@register_jitable
def _fill(target: Any, value: Any) -> None:
    for index in range(target.size):
        target[index] = value


@register_jitable
def _write_products(
    padded: Any,
    place: int,
    a_line: int,
    a_row: int,
    a_segment: int,
    weights: Any,
    b_at: int,
    segments: int,
    steps: int,
    sums: Any,
    at: int,
    lines: int,
    out_width: int,
    width: int,
    two: bool,
) -> None:
    """Compute some lines of a convolution for one or two units of filters.

    Args:
        padded: output of ``_with_border``.
        place: start of the first window of the first line.
        a_line: distance between vertically adjacent windows.
        a_row: distance between horizontally adjacent windows.
        a_segment: distance between lines of a window.
        weights: filter, with one axis.
        b_at: start of its units.
        segments: number of lines of a window.
        steps: number of elements in a line of a window.
        sums: output.
        at: start of the output.
        lines: number of lines.
        out_width: number of pixels in a line.
        width: distance between pixels in ``sums``.
        two: whether there are two units.
    """
    together = (2 if two else 1) * (UNIT_BYTES // weights.itemsize)
    for _ in range(lines):
        x = 0
        while x < out_width:
            left_over = out_width - x
            high = 8 if left_over >= 8 or (left_over > 4 and out_width >= 8) else 4
            if out_width < 4:
                high = 1
            x = min(x, out_width - high)  # the last tile recomputes some values
            arguments = (
                padded, place + x * a_row, a_segment, 1, a_row,
                weights, b_at, steps * together, together, segments, steps, sums, at + x * width, width,
            )  # fmt: skip
            if two:
                if high == 8:
                    _tile_8_2(*arguments)
                elif high == 4:
                    _tile_4_2(*arguments)
                else:
                    _tile_1_2(*arguments)
            elif high == 8:
                _tile_8_1(*arguments)
            elif high == 4:
                _tile_4_1(*arguments)
            else:
                _tile_1_1(*arguments)
            x += high
        place += a_line
        at += out_width * width


@register_jitable(inline="always")
def _add_bias(target: Any, bias: Any, has_bias: bool, has_relu: bool) -> None:
    """Add the bias and apply the relu to one pixel of a convolution."""
    if has_bias:
        for index in range(target.size):
            target[index] += bias[index]
    if has_relu:
        for index in range(target.size):
            value = target[index]
            target[index] = 0 if value < 0 else value


def convolution(
    images: Any,
    matrix: Any,
    bias: Any,
    result: Any,
    padded: Any,
    products: Any,
    rows: int,
    columns: int,
    top: int,
    left: int,
    down: int,
    right: int,
    gap: int,
    first: int,
    has_bias: bool,
    has_relu: bool,
) -> None:
    """Compute some lines of the convolution of some images, with bias and relu.

    Args:
        images: ``[batch, height, width, channels]``.
        matrix: ``[rows * columns * channels, filters]``, the filter; the last axis is padded to whole units, and two
            units are interleaved so that a tile reads contiguous memory: ``conv_arithmetic.side_by_side``.
        bias: ``[filters]``; any length if ``has_bias`` is False.
        result: ``[batch, lines, out_width, filters]``.
        padded: scratch memory for the part of a padded image that the lines need.
        products: scratch memory of ``lines * out_width * matrix.shape[1]`` elements.
        rows: number of rows of the window.
        columns: number of columns of the window.
        top: lines of padding above the images.
        left: columns of padding on their left.
        down: vertical stride.
        right: horizontal stride.
        gap: vertical dilation.
        first: number of the first line.
        has_bias: whether ``bias`` is added.
        has_relu: whether negative results become zero.
    """
    batch, _, _, channels = images.shape
    _, lines, out_width, filters = result.shape
    deep, width = matrix.shape
    unit = UNIT_BYTES // matrix.itemsize
    across = (out_width - 1) * right + columns
    line = across * channels
    weights = matrix.reshape(-1)
    results = result.reshape(-1)
    sums = results if width == filters else products
    strip = max(1, _STRIP // out_width)
    for image in range(batch):
        _with_border(
            images, image, padded, first * down - top, (lines - 1) * down + (rows - 1) * gap + 1, left, across
        )
        for start in range(0, lines, strip):
            stop = min(lines, start + strip)
            base = (image * lines + start) * out_width
            at = base if width == filters else 0
            for column in range(0, width, 2 * unit):
                _write_products(
                    padded, start * down * line, down * line, right * channels, gap * line, weights, column * deep,
                    rows, columns * channels, sums, at * width + column, stop - start, out_width, width,
                    width - column >= 2 * unit,
                )  # fmt: skip
            for pixel in range((stop - start) * out_width):
                target = results[(base + pixel) * filters : (base + pixel + 1) * filters]
                if width != filters:
                    _copy(products[pixel * width :], target)
                _add_bias(target, bias, has_bias, has_relu)


@register_jitable
def _add_products(
    padded: Any,
    place: int,
    a_step: int,
    a_segment: int,
    grads: Any,
    b_at: int,
    segments: int,
    steps: int,
    totals: Any,
    at: int,
    deep: int,
    width: int,
    two: bool,
) -> None:
    """Add to the gradient of a line of the filter, for one or two units of filters.

    Args:
        padded: output of ``_with_border``.
        place: start of that line in the first window.
        a_step: distance between horizontally adjacent windows.
        a_segment: distance between vertically adjacent windows.
        grads: gradients of the pixels, with one axis.
        b_at: start of the units' gradients.
        segments: number of lines of pixels.
        steps: number of pixels in a line.
        totals: output.
        at: start of the output.
        deep: number of elements in a line of the filter, padded to a multiple of four.
        width: distance between pixels, and between those elements.
        two: whether there are two units.
    """
    done = 0
    while done < deep:
        left_over = deep - done
        high = 12 if left_over >= 12 and left_over != 16 else 8 if left_over >= 8 else 4
        arguments = (
            padded, place + done, a_segment, a_step, 1,
            grads, b_at, steps * width, width, segments, steps, totals, at + done * width, width,
        )  # fmt: skip
        if two:
            if high == 12:
                _add_12_2(*arguments)
            elif high == 8:
                _add_8_2(*arguments)
            else:
                _add_4_2(*arguments)
        elif high == 12:
            _add_12_1(*arguments)
        elif high == 8:
            _add_8_1(*arguments)
        else:
            _add_4_1(*arguments)
        done += high


def filter_gradient(
    images: Any,
    grad: Any,
    total: Any,
    padded: Any,
    packed: Any,
    rows: int,
    columns: int,
    top: int,
    left: int,
    down: int,
    right: int,
    gap: int,
    first: int,
) -> None:
    """Add the gradient of a convolution's filter for some lines of some images.

    Args:
        images: ``[batch, height, width, channels]``.
        grad: ``[batch, lines, out_width, filters]``.
        total: ``[rows, columns * channels, filters]``; the second axis is padded to a multiple of four, the last one to
            whole units; the padding has arbitrary values.
        padded: scratch memory for the part of a padded image that the lines need, and four more elements.
        packed: scratch memory of ``lines * out_width * total.shape[2]`` elements.
        rows: number of rows of the window.
        columns: number of columns of the window.
        top: lines of padding above the images.
        left: columns of padding on their left.
        down: vertical stride.
        right: horizontal stride.
        gap: vertical dilation.
        first: number of the first line.
    """
    batch, _, _, channels = images.shape
    _, lines, out_width, filters = grad.shape
    _, deep, width = total.shape
    unit = UNIT_BYTES // total.itemsize
    across = (out_width - 1) * right + columns
    line = across * channels
    totals = total.reshape(-1)
    grads = _writable(grad.reshape(-1))
    right_side = grads if width == filters else packed
    strip = max(1, _LONG_STRIP // out_width)
    for image in range(batch):
        _with_border(
            images, image, padded, first * down - top, (lines - 1) * down + (rows - 1) * gap + 1, left, across
        )
        for start in range(0, lines, strip):
            count = min(lines, start + strip) - start
            base = (image * lines + start) * out_width
            if width != filters:
                for pixel in range(count * out_width):
                    target = packed[pixel * width : (pixel + 1) * width]
                    _copy(grads[(base + pixel) * filters :], target[:filters])
                    _fill(target[filters:], 0)
            b_at = base * width if width == filters else 0
            for column in range(0, width, 2 * unit):
                for row in range(rows):
                    _add_products(
                        padded, (start * down + row * gap) * line, right * channels, down * line,
                        right_side, b_at + column, count, out_width, totals, row * deep * width + column, deep, width,
                        width - column >= 2 * unit,
                    )  # fmt: skip


@register_jitable(inline="always")
def _largest_element(
    images: Any, image: int, y: int, x: int, channel: int, rows: int, taps: int, lowest: Any
) -> Any:
    """Return the largest element of a window for a channel; ``lowest`` for an empty window."""
    best = lowest
    for row in range(rows):
        for tap in range(taps):
            value = images[image, y + row, x + tap, channel]
            best = value if value > best or value != value else best
    return best


def largest(
    images: Any, pooled: Any, lowest: Any, rows: int, columns: int, top: int, left: int, down: int, right: int
) -> None:
    """Compute ``pool_arithmetic.largest``; it may choose the other of two zeros with different signs.

    Args:
        images: ``[batch, height, width, channels]``.
        pooled: ``[batch, out_height, out_width, channels]``.
        lowest: value of the padding.
        rows: number of rows of the window.
        columns: number of columns of the window.
        top: lines of padding above the images.
        left: columns of padding on their left.
        down: vertical stride.
        right: horizontal stride.
    """
    batch, height, width, channels = images.shape
    _, out_height, out_width, _ = pooled.shape
    unit = UNIT_BYTES // pooled.itemsize
    flat, results = images.reshape(-1), pooled.reshape(-1)
    for image in range(batch):
        for line in range(out_height):
            first = max(0, top - line * down)
            count = min(rows, height + top - line * down) - first
            for column in range(out_width):
                begin = max(0, left - column * right)
                taps = min(columns, width + left - column * right) - begin
                y, x = line * down + first - top, column * right + begin - left
                at = ((image * height + y) * width + x) * channels
                to = ((image * out_height + line) * out_width + column) * channels
                channel = 0
                last_unit = channels - unit if count > 0 and taps > 0 else -1
                while channel <= last_unit:
                    _largest(
                        flat, at + channel, width * channels, channels, count, taps, lowest, results, to + channel
                    )  # fmt: skip
                    channel += unit
                while channel < channels:
                    results[to + channel] = _largest_element(
                        images, image, y, x, channel, count, taps, lowest
                    )
                    channel += 1


@register_jitable(inline="always")
def _channel_back(
    images: Any,
    image: int,
    y: int,
    x: int,
    channel: int,
    rows: int,
    taps: int,
    most: Any,
    rest: Any,
    result: Any,
    adds: bool,
) -> None:
    """Add ``rest`` to the first element of a window that equals ``most``, as the function of ``_back`` does."""
    zero = result.dtype.type(0)
    for row in range(rows):
        for tap in range(taps):
            value = images[image, y + row, x + tap, channel]
            is_it = value == most or value != value
            part = rest if is_it else zero
            if adds:
                result[image, y + row, x + tap, channel] += part
            else:
                result[image, y + row, x + tap, channel] = part
            rest = zero if is_it else rest


def largest_gradient(
    images: Any,
    pooled: Any,
    grad: Any,
    result: Any,
    lowest: Any,
    rows: int,
    columns: int,
    top: int,
    left: int,
    down: int,
    right: int,
) -> None:
    """Compute ``pool_arithmetic.largest_gradient``; overlapping windows are processed from the last to the first, so
    that the contributions to a pixel are added in the order of the positions within the window.

    Args:
        images: ``[batch, height, width, channels]``.
        pooled: ``[batch, out_height, out_width, channels]``.
        grad: ``[batch, out_height, out_width, channels]``.
        result: ``[batch, height, width, channels]``.
        lowest: value of the padding.
        rows: number of rows of the window.
        columns: number of columns of the window.
        top: lines of padding above the images.
        left: columns of padding on their left.
        down: vertical stride.
        right: horizontal stride.
    """
    batch, height, width, channels = images.shape
    _, out_height, out_width, _ = pooled.shape
    unit = UNIT_BYTES // result.itemsize
    overlap = down < rows or right < columns
    is_covered = out_height * down >= height + top and out_width * right >= width + left and down <= rows
    is_covered = is_covered and right <= columns and not overlap
    flat, wanted, given, results = (
        images.reshape(-1),
        pooled.reshape(-1),
        grad.reshape(-1),
        result.reshape(-1),
    )
    zero = result.dtype.type(0)
    for image in range(batch):
        if not is_covered:
            result[image] = 0
        for i in range(out_height):
            line = out_height - 1 - i if overlap else i  # the processor prefetches in this direction
            first = max(0, top - line * down)
            count = min(rows, height + top - line * down) - first
            for j in range(out_width):
                column = out_width - 1 - j if overlap else j
                begin = max(0, left - column * right)
                taps = min(columns, width + left - column * right) - begin
                y, x = line * down + first - top, column * right + begin - left
                at = ((image * height + y) * width + x) * channels
                to = ((image * out_height + line) * out_width + column) * channels
                is_cut = first > 0 or begin > 0
                channel = 0
                last_unit = channels - unit if count > 0 and taps > 0 else -1
                while channel <= last_unit:
                    places = (
                        flat, results, at + channel, width * channels, channels, count, taps, lowest, is_cut,
                        wanted, given, to + channel,
                    )  # fmt: skip
                    if overlap:
                        _add_back(*places)
                    else:
                        _write_back(*places)
                    channel += unit
                while channel < channels:
                    most, rest = wanted[to + channel], given[to + channel]
                    if is_cut and most == lowest:
                        rest = zero
                    _channel_back(images, image, y, x, channel, count, taps, most, rest, result, overlap)
                    channel += 1


@register_jitable(inline="always")
def _add_window(
    parts: Any,
    image: int,
    line: int,
    column: int,
    result: Any,
    top: int,
    left: int,
    gap_down: int,
    gap_right: int,
) -> None:
    """Add a window's gradient to its pixels; the first pixel is at ``top`` and ``left``."""
    _, height, width, channels = result.shape
    for row in range(parts.shape[3]):
        y = top + row * gap_down
        if 0 <= y < height:
            for tap in range(parts.shape[4]):
                x = left + tap * gap_right
                if 0 <= x < width:
                    for channel in range(channels):
                        result[image, y, x, channel] += parts[image, line, column, row, tap, channel]


def scatter(
    parts: Any, result: Any, top: int, left: int, down: int, right: int, gap_down: int, gap_right: int
) -> None:
    """Compute ``Window.scatter``.

    The windows are processed from the last to the first, so that the contributions to a pixel are added in the order of
    the positions within the window.

    Args:
        parts: ``[batch, out_height, out_width, rows, columns, channels]``.
        result: ``[batch, height, width, channels]``.
        top: lines of padding above the images.
        left: columns of padding on their left.
        down: vertical stride.
        right: horizontal stride.
        gap_down: vertical dilation.
        gap_right: horizontal dilation.
    """
    batch, out_height, out_width, _, _, _ = parts.shape
    for image in range(batch):
        result[image] = 0  # here, while it is in the cache
        for line in range(out_height - 1, -1, -1):
            for column in range(out_width - 1, -1, -1):
                y, x = line * down - top, column * right - left
                _add_window(parts, image, line, column, result, y, x, gap_down, gap_right)

"""Random inputs and attributes for ops, by which `compare_random` compares them with TensorFlow.

A function takes a ``Draw`` and gives a ``Case``. Now and then it makes a size zero, or one that does not fit; types go
through all that TensorFlow's kernel for the CPU takes.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.graph.op_def import op_registry
from gpuplace.kernels.registry import default_catalogue
from tests.ops.cases import Case, Handle, Ref, f32, i32, i64, s


class Draw:
    """Random values for one case of an op."""

    def __init__(self, op: str, seed: int, index: int) -> None:
        self.op, self.index = op, index
        self.rng = np.random.default_rng([seed, index, zlib.crc32(op.encode())])

    def types(self, attr: str = "T") -> list[np.dtype]:
        """The types that the attribute may have on a CPU."""
        declared = op_registry().lookup(self.op).attr_defs[attr].allowed
        found = set()
        for row in default_catalogue("2.21").kernels.rows(self.op):
            if row.device_type == "CPU":
                allowed = dict(row.constraints).get(attr)
                found |= set(allowed or ()) if allowed else {as_dtype(name) for name in COMMON}
        if declared:
            found &= set(declared)
        names = sorted(one.name for one in found)
        return [as_dtype(name).numpy_dtype for name in names if name in NUMBERS]

    def dtype(self, attr: str = "T", no: tuple[str, ...] = ()) -> np.dtype:
        """The next of the types, one after the other from case to case."""
        types = [one for one in self.types(attr) if one.name not in no]
        return types[self.index % len(types)]

    def chance(self, one_in: int) -> bool:
        return bool(self.rng.integers(one_in) == 0)

    def int(self, low: int, high: int) -> int:
        """Both ends are possible."""
        return int(self.rng.integers(low, high + 1))

    def pick(self, *items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def shape(self, low: int, high: int, most: int = 4, zero: int = 12) -> list[int]:
        """Sizes of a random rank; each is zero once in ``zero`` times."""
        return [0 if zero and self.chance(zero) else self.int(1, most) for _ in range(self.int(low, high))]

    def values(self, dtype: Any, shape: Any, low: float = -3, high: float = 3) -> np.ndarray:
        """An array of the type."""
        dtype, shape = np.dtype(dtype), tuple(shape)
        if dtype.kind == "O":
            words = [b"", b"a", b"bc", b"a b", b"\xc3\xa9", b"long word, that"]
            flat = np.empty(int(np.prod(shape)), object)
            flat[:] = [words[int(self.rng.integers(len(words)))] for _ in range(flat.size)]
            return flat.reshape(shape)
        if dtype.kind == "b":
            return self.rng.integers(0, 2, shape).astype(bool)
        if dtype.kind in "iu":
            return self.rng.integers(
                0 if dtype.kind == "u" else int(low * 3), int(high * 3) + 1, shape
            ).astype(dtype)
        if dtype.kind == "c":
            return (self.rng.uniform(low, high, shape) + 1j * self.rng.uniform(low, high, shape)).astype(
                dtype
            )
        return self.rng.uniform(low, high, shape).astype(dtype)

    def sparse(self, shape: list[int], dtype: Any, density: float = 0.4) -> list[np.ndarray]:
        """Indices in order, values and shape of a sparse tensor."""
        chosen = self.rng.random(int(np.prod(shape))) < density
        indices = np.argwhere(chosen.reshape(shape)).reshape(-1, len(shape)).astype(np.int64)
        return [indices, self.values(dtype, [len(indices)]), i64(shape)]


COMMON = tuple("float32 float64 float16 int32 int64 uint8 bool string complex64".split())
NUMBERS = frozenset(
    "float16 bfloat16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool string complex64 "
    "complex128".split()
)


# Images


def _images(d: Draw, channels: int | None = None, dtype: Any = None, low: float = 0, high: float = 1) -> Any:
    shape = [d.int(0 if d.chance(6) else 1, 3), d.int(1, 6), d.int(1, 6), channels or d.int(1, 4)]
    return d.values(d.dtype() if dtype is None else dtype, shape, low, high)


def _adjust(d: Draw) -> Case:
    shape = [*d.shape(2, 4), d.pick(3, 3, 3, 3, 1)]
    return Case(d.op, [d.values(d.dtype(), shape, 0, 1), f32(d.rng.uniform(-1 if "Hue" in d.op else 0, 1.5))])


def _colours(d: Draw) -> Case:
    return Case(d.op, [d.values(d.dtype(), [*d.shape(0, 4), d.pick(3, 3, 3, 3, 2)], 0, 1)])


def _centers(d: Draw) -> dict[str, Any]:
    if (
        d.op == "ResizeArea"
    ):  # with aligned corners one row or column gives no number in 1.15, in 2.21 it does
        return {}
    return d.pick(
        {},
        {"align_corners": True},
        {"half_pixel_centers": True},
    )


def _resize(d: Draw) -> Case:
    size = i32([d.int(1, 9), d.int(1, 9)])
    if d.chance(10):
        size = d.pick(i32([0, 3]), i32([3]), i32(3), i32([-1, 2]))
    return Case(d.op, [_images(d, high=60), size], _centers(d))


def _resize_grad(d: Draw) -> Case:
    images = _images(d)
    if d.op == "ResizeNearestNeighborGrad":
        return Case(d.op, [images, i32([d.int(1, 8), d.int(1, 8)])], _centers(d))
    grads = d.values(np.float32, [images.shape[0], d.int(1, 8), d.int(1, 8), images.shape[3]])
    return Case(d.op, [grads, images], _centers(d))


def _boxes(d: Draw, number: int, images: int) -> list[np.ndarray]:
    return [
        d.values(np.float32, [number, 4], -0.3, 1.3),
        d.rng.integers(0, max(images, 1), number).astype(np.int32),
    ]


def _crop(d: Draw) -> Case:
    images = _images(d)
    boxes = _boxes(d, d.int(0, 3) if len(images) else 0, len(images))
    attrs = {"method": d.pick("bilinear", "nearest"), "extrapolation_value": d.pick(0.0, 7.5)}
    return Case(d.op, [images, *boxes, i32([d.int(1, 5), d.int(1, 5)])], attrs)


def _crop_grad_image(d: Draw) -> Case:
    sizes = [d.int(1, 3), d.int(1, 6), d.int(1, 6), d.int(1, 3)]
    number = d.int(0, 3)
    grads = d.values(np.float32, [number, d.int(1, 4), d.int(1, 4), sizes[3]])
    attrs = {"T": d.dtype().name, "method": d.pick("bilinear", "nearest")}
    return Case(d.op, [grads, *_boxes(d, number, sizes[0]), i32(sizes)], attrs)


def _crop_grad_boxes(d: Draw) -> Case:
    images = _images(d)
    number = d.int(0, 3) if len(images) else 0
    grads = d.values(np.float32, [number, d.int(1, 4), d.int(1, 4), images.shape[3]])
    return Case(d.op, [grads, images, *_boxes(d, number, len(images))])


def _draw_boxes(d: Draw) -> Case:
    images = _images(d, d.pick(1, 3, 3, 4))
    boxes = d.values(np.float32, [len(images), d.int(0, 3), 4], -0.2, 1.2)
    colours = [d.values(np.float32, [d.int(0, 3), 4], 0, 1)] if d.op.endswith("V2") else []
    return Case(d.op, [images, boxes, *colours])


def _suppression(d: Draw) -> Case:
    dtype = np.float32 if d.op in ("NonMaxSuppression", "NonMaxSuppressionWithOverlaps") else d.dtype()
    number = d.int(0, 8)
    boxes = d.values(dtype, [number, 4], 0, 1)
    if number and d.chance(8):
        boxes = boxes[:, :3]
    inputs = [boxes, d.values(dtype, [number], 0, 1), i32(d.int(0, 6))]
    threshold = d.pick(0.0, 0.2, 0.5, 0.9, 1.0, 1.5)
    if d.op == "NonMaxSuppression":
        return Case(d.op, inputs, {"iou_threshold": threshold})
    if d.op == "NonMaxSuppressionWithOverlaps":
        inputs[0] = d.values(dtype, [number, number + d.chance(12)], 0, 1)
    numbers = [threshold, d.pick(0.0, 0.3), d.pick(0.0, 0.0, 0.3, 0.8)]
    counts = {"NonMaxSuppressionV2": 1, "NonMaxSuppressionV5": 3}
    attrs = {"pad_to_max_output_size": d.chance(2)} if d.op.endswith(("V4", "V5")) else {}
    thresholds = [np.asarray(one, dtype) for one in numbers[: counts.get(d.op, 2)]]
    return Case(d.op, [*inputs, *thresholds], attrs)


def _glimpse(d: Draw) -> Case:
    images = _images(d, dtype=np.float32)
    attrs = {"centered": d.chance(2), "normalized": d.chance(2), "uniform_noise": False, "noise": "zero"}
    size = i32([d.int(1, 7), d.int(1, 7)])
    return Case(d.op, [images, size, d.values(np.float32, [len(images), 2], -1.2, 1.2)], attrs)


def _sample_box(d: Draw) -> Case:
    dtype = np.dtype(d.pick("int32", "int64", "int16", "uint8", "int8"))
    boxes = np.sort(d.rng.random((d.int(1, 2), d.int(0, 3), 2, 2)), axis=-2).reshape(-1, 4).astype(np.float32)
    boxes = boxes.reshape(1, -1, 4)
    attrs: dict[str, Any] = {"seed": d.int(1, 99), "seed2": d.int(1, 99), "max_attempts": d.pick(1, 10, 100)}
    attrs["use_image_if_no_bounding_boxes"] = d.chance(2)
    attrs["aspect_ratio_range"] = d.pick([0.75, 1.33], [0.2, 3.0])
    attrs["area_range"] = d.pick([0.05, 1.0], [0.3, 0.6])
    size = np.asarray([d.int(5, 120), d.int(5, 120), 3], dtype)
    if d.op.endswith("V2"):
        return Case(d.op, [size, boxes, f32(d.pick(0.0, 0.1, 0.7))], attrs)
    return Case(d.op, [size, boxes], {**attrs, "min_object_covered": d.pick(0.1, 0.6)})


def _encoded(d: Draw, kind: str) -> np.ndarray:
    from PIL import Image

    rows, columns, mode = d.int(1, 9), d.int(1, 9), d.pick("L", "RGB")
    shape = (rows, columns) if mode == "L" else (rows, columns, 3)
    smooth = np.add.outer(np.arange(rows) * 9, np.arange(columns) * 11) % 256
    noise = d.rng.integers(0, 30, shape)
    pixels = np.clip((smooth if mode == "L" else smooth[..., None]) + noise, 0, 255).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).convert("RGB" if kind == "bmp" else mode).save(stream, kind)
    return _data(stream.getvalue()[: -10 if d.chance(12) else None])


def _data(content: bytes) -> np.ndarray:
    result = np.empty((), object)
    result[()] = content
    return result


def _decode(d: Draw) -> Case:
    kind = {"DecodeBmp": "bmp", "DecodeGif": "gif", "DecodePng": "png"}.get(d.op, "jpeg")
    attrs: dict[str, Any] = {}
    if d.op in ("DecodeBmp", "DecodePng"):
        attrs = {"channels": d.pick(0, 3, 1, 4) if d.op == "DecodePng" else d.pick(0, 3)}
    if d.op == "DecodePng":
        attrs["dtype"] = d.pick("uint8", "uint16")
    if d.op == "DecodeJpeg":
        attrs = {
            "channels": d.pick(0, 1, 3),
            "dct_method": "INTEGER_ACCURATE",
            "ratio": d.pick(1, 1, 2, 4, 8),
        }
    if d.op == "ExtractJpegShape":
        attrs = {"output_type": d.pick("int32", "int64")}
    return Case(d.op, [_encoded(d, kind)], attrs)


def _encode(d: Draw) -> Case:
    dtype = d.dtype() if d.op == "EncodePng" else np.dtype("uint8")
    channels = d.pick(1, 2, 3, 4) if d.op == "EncodePng" else d.pick(1, 3)
    image = d.values(dtype, [d.int(1, 9), d.int(1, 9), channels], 0, 80)
    if d.op == "EncodePng":
        return Case(d.op, [image], {"compression": d.pick(-1, 0, 9)})
    if d.op == "EncodeJpeg":
        attrs = {"quality": d.pick(95, 50, 100), "chroma_downsampling": d.chance(2)}
        return Case(d.op, [image], {**attrs, "progressive": d.chance(2)})
    return Case(d.op, [image, i32(d.int(0, 100))])


def _same_picture(ours: Any, theirs: Any) -> tuple[float, str]:
    """The pixels of two files; those of JPEG may differ by rounding."""
    from PIL import Image

    one, other = (np.asarray(Image.open(io.BytesIO(data))).astype(int) for data in (ours, theirs))
    if one.shape != other.shape:
        return 0.0, f"shape {one.shape} is not {other.shape}"
    far = int(np.abs(one - other).max())
    return far / 255, "" if far <= (0 if theirs.startswith(b"\x89PNG") else 3) else f"{far} of 255 apart"


# Blocks of a batch


def _space_to_batch(d: Draw) -> Case:
    block = d.int(1 if d.chance(10) else 2, 3)
    paddings = d.rng.integers(0, 3, (2, 2))
    sizes = [d.int(1, 3) * block - paddings[axis].sum() for axis in range(2)]
    if min(sizes) < 1:
        paddings, sizes = np.zeros((2, 2), int), [block, 2 * block]
    if d.chance(10):
        sizes[0] += 1
    shape = [d.int(0 if d.chance(6) else 1, 3), *sizes, d.int(1, 3)]
    kind = d.pick(np.int32, np.int64)
    return Case(d.op, [d.values(d.dtype(), shape), paddings.astype(kind)], {"block_size": block})


def _batch_to_space(d: Draw) -> Case:
    block = d.int(2, 3)
    shape = [d.int(1, 2) * block**2 + d.chance(10), d.int(1, 4), d.int(1, 4), d.int(1, 3)]
    crops = d.rng.integers(0, 2, (2, 2)).astype(d.pick(np.int32, np.int64))
    return Case(d.op, [d.values(d.dtype(), shape), crops], {"block_size": block})


def _space_to_batch_nd(d: Draw) -> Case:
    number = d.int(1, 3)
    blocks = d.rng.integers(1, 4, number)
    paddings = d.rng.integers(0, 3, (number, 2))
    sizes = []
    for axis in range(number):
        size = d.int(1, 3) * blocks[axis] - paddings[axis].sum()
        while size < 1:
            size += blocks[axis]
        sizes.append(int(size) + (1 if d.chance(20) else 0))
    shape = [d.int(0 if d.chance(6) else 1, 2), *sizes, *d.shape(0, 2, 3, 0)]
    kinds = [d.pick(np.int32, np.int64) for _ in range(2)]
    return Case(d.op, [d.values(d.dtype(), shape), blocks.astype(kinds[0]), paddings.astype(kinds[1])])


def _batch_to_space_nd(d: Draw) -> Case:
    number = d.int(1, 3)
    blocks = d.rng.integers(1, 4, number)
    crops = d.rng.integers(0, 2, (number, 2))
    shape = [d.int(1, 2) * int(np.prod(blocks)) + (1 if d.chance(12) else 0), *d.shape(number, number, 4, 0)]
    shape += d.shape(0, 2, 3, 0)
    kinds = [d.pick(np.int32, np.int64) for _ in range(2)]
    return Case(d.op, [d.values(d.dtype(), shape), blocks.astype(kinds[0]), crops.astype(kinds[1])])


# Sparse tensors


def _two_sparse(d: Draw, low: int = 1, high: int = 4) -> tuple[list[int], list[Any], list[Any]]:
    shape, dtype = d.shape(low, high), d.dtype()
    one, other = d.sparse(shape, dtype), d.sparse(shape, dtype)
    if d.chance(12):
        other[2] = other[2] + 1
    return shape, one, other


def _sparse_add(d: Draw) -> Case:
    _, one, other = _two_sparse(d)
    dtype = one[1].dtype
    real = {"complex64": "float32", "complex128": "float64"}.get(dtype.name)
    return Case(d.op, [*one, *other, np.asarray(d.pick(0, 0, 1, 2), real or dtype)])


def _sparse_add_grad(d: Draw) -> Case:
    shape, dtype = d.shape(1, 3), d.dtype()
    one, other = d.sparse(shape, dtype), d.sparse(shape, dtype)
    both = np.array(sorted({*map(tuple, one[0].tolist()), *map(tuple, other[0].tolist())}), np.int64)
    both = both.reshape(-1, len(shape))
    return Case(d.op, [d.values(dtype, [len(both)]), one[0], other[0], both])


def _sparse_concat(d: Draw) -> Case:
    shape, dtype = d.shape(1, 3), d.dtype()
    axis = d.int(-len(shape), len(shape) - 1)
    parts = []
    for _ in range(d.int(2, 3)):
        sizes = list(shape)
        sizes[axis] = d.int(0, 3)
        if d.chance(16):
            sizes[0] += 1
        parts.append(d.sparse(sizes, dtype))
    columns = [list(column) for column in zip(*parts, strict=True)]
    return Case(d.op, columns, {"concat_dim": axis})


def _sparse_cwise(d: Draw) -> Case:
    shape, dtype = d.shape(1, 4), d.dtype()
    sparse = d.sparse(shape, dtype)
    dense = [d.pick(size, size, 1) for size in shape][d.pick(0, 0, 1) :]
    if d.chance(12):
        dense = [*dense, 3]
    values = d.values(dtype, dense)
    if "Div" in d.op:
        values = np.where(values == 0, np.ones_like(values), values)
    return Case(d.op, [*sparse, values])


def _fill_empty(d: Draw) -> Case:
    shape, dtype = d.shape(1 if d.chance(8) else 2, 3), d.dtype()
    return Case(d.op, [*d.sparse(shape, dtype, 0.25), d.values(dtype, [])])


def _fill_empty_grad(d: Draw) -> Case:
    number = d.int(0, 5)
    rows = d.rng.permutation(number + d.int(0, 3))[:number].astype(np.int64)
    return Case(d.op, [rows, d.values(d.dtype(), [number + 3])])


def _sparse_reduce(d: Draw) -> Case:
    shape = d.shape(1, 4)
    axes = d.pick([], [0], [-1], [0, len(shape) - 1], list(range(len(shape))), [len(shape)])
    return Case(d.op, [*d.sparse(shape, d.dtype()), i32(axes)], {"keep_dims": d.chance(2)})


def _sparse_reorder(d: Draw) -> Case:
    indices, values, shape = d.sparse(d.shape(1, 4), d.dtype())
    order = d.rng.permutation(len(indices))
    return Case(d.op, [indices[order], values, shape])


def _sparse_reshape(d: Draw) -> Case:
    shape = d.shape(1, 3)
    new = [int(np.prod(shape[:1])), *shape[1:][::-1], d.pick(1, 1, 1, 2)]
    if d.chance(2):
        new[d.int(0, len(new) - 1)] = -1
    return Case(d.op, [d.sparse(shape, np.float32)[0], i64(shape), i64(new)])


def _sparse_segment(d: Draw) -> Case:
    rows = d.int(1, 5)
    data = d.values(d.dtype(), [rows, *d.shape(0, 2)])
    number = d.int(1, 7)  # without rows TensorFlow's gradient is memory that was never written
    kind = d.pick(np.int32, np.int64)
    indices = d.rng.integers(0, rows + d.chance(20), number).astype(kind)
    segments = np.sort(d.rng.integers(0, 4, number))
    inputs = [data, indices, segments.astype(np.int32)]
    if d.op.endswith("WithNumSegments"):
        inputs.append(np.asarray(d.int(3, 6), d.pick(np.int32, np.int64)))
    return Case(d.op, inputs)


def _sparse_segment_grad(d: Draw) -> Case:
    segments, number, rows = d.int(1, 4), d.int(1, 6), d.int(1, 5)
    grad = d.values(d.dtype(), [segments, *d.shape(0, 2, 3, 0)])
    indices = d.rng.integers(0, rows, number).astype(d.pick(np.int32, np.int64))
    ids = np.sort(d.rng.integers(0, segments, number)).astype(np.int32)
    return Case(d.op, [grad, indices, ids, i32(rows)])


def _sparse_slice(d: Draw) -> Case:
    shape = d.shape(1, 4)
    start = [d.int(0, max(size, 1)) for size in shape]
    size = [d.int(0, 4) for _ in shape]
    return Case(d.op, [*d.sparse(shape, d.dtype()), i64(start), i64(size)])


def _sparse_slice_grad(d: Draw) -> Case:
    shape = d.shape(1, 3)
    indices, _, _ = d.sparse(shape, np.float32, 0.7)
    start = np.array([d.int(0, max(0, size - 1)) for size in shape], np.int64)
    size = np.array([d.int(1, 3) for _ in shape], np.int64)
    inside = ((indices >= start) & (indices < start + size)).all(axis=1)
    kept = indices[inside] - start
    return Case(d.op, [d.values(d.dtype(), [len(kept)]), indices, start, kept])


def _sparse_softmax(d: Draw) -> Case:
    return Case(d.op, d.sparse(d.shape(1 if d.chance(8) else 2, 4), d.dtype()))


def _sparse_sparse(d: Draw) -> Case:
    _, one, other = _two_sparse(d)
    return Case(d.op, [*one, *other])


def _sparse_split(d: Draw) -> Case:
    shape = d.shape(1, 3, 6, 0)
    axis = d.int(-len(shape) if d.chance(4) else 0, len(shape) - 1)
    return Case(d.op, [i64(axis), *d.sparse(shape, d.dtype())], {"num_split": d.int(1, max(1, shape[axis]))})


def _sparse_matmul(d: Draw) -> Case:
    complexes = ("complex64", "complex128")  # whose gradients came after 1.15
    rows, inner, columns = (d.int(0 if d.chance(8) else 1, 5) for _ in range(3))
    adjoint_a, adjoint_b = d.chance(2), d.chance(2)
    indices, values, _ = d.sparse([inner, rows] if adjoint_a else [rows, inner], d.dtype(no=complexes))
    dense = [columns, inner] if adjoint_b else [inner + d.chance(12), columns]
    kind = d.pick(np.int64, np.int32)
    shape = i64([inner, rows] if adjoint_a else [rows, inner])
    inputs = [indices.astype(kind), values, shape, d.values(values.dtype, dense)]
    return Case(d.op, inputs, {"adjoint_a": adjoint_a, "adjoint_b": adjoint_b})


def _sparse_to_dense(d: Draw) -> Case:
    kind = d.pick(np.int32, np.int64)
    shape, dtype = d.shape(0, 3), d.dtype()
    indices, values, sizes = (
        d.sparse(shape, dtype) if shape else (np.zeros((1, 0)), d.values(dtype, [1]), i64([]))
    )
    if len(shape) == 1 and d.chance(2):
        indices = indices[:, 0]
    if d.chance(4) and len(indices):
        values = values[0]
    if d.chance(10):
        indices = indices[::-1]
    attrs = {"validate_indices": d.chance(2)}
    return Case(d.op, [indices.astype(kind), sizes.astype(kind), values, d.values(dtype, [])], attrs)


def _set_operation(d: Draw) -> Case:
    shape, dtype = d.shape(2, 3), d.dtype()
    operation = {"set_operation": d.pick("a-b", "b-a", "intersection", "union"), "validate_indices": True}

    def dense() -> np.ndarray:
        return d.values(dtype, [*shape[:-1], d.int(1, 4)], -1, 1)

    def sparse() -> list[Any]:
        indices, _, sizes = d.sparse([*shape[:-1], d.int(1, 4)], dtype)
        return [indices, d.values(dtype, [len(indices)], -1, 1), sizes]

    if d.op == "SetSize":
        return Case(d.op, sparse(), {"validate_indices": d.chance(2)})
    parts = {"DenseToDense": [[dense()], [dense()]], "DenseToSparse": [[dense()], sparse()]}
    one, other = parts.get(d.op.removesuffix("SetOperation"), None) or [sparse(), sparse()]
    return Case(d.op, [*one, *other], operation)


# Variables


def _variable(d: Draw, value: np.ndarray) -> Any:
    return (Handle if d.op.startswith("Resource") else Ref)(value)


def _scatter_nd(d: Draw) -> Case:
    shape = d.shape(1, 4, 4, 0)
    depth, outer = d.int(1, len(shape)), d.shape(0, 2, 3)
    dtype = d.dtype(no=("bool", "object") if not d.op.endswith("Update") else ())
    low = [d.rng.integers(0, shape[axis] + (1 if d.chance(20) else 0), outer) for axis in range(depth)]
    indices = np.stack(low, axis=-1).astype(d.pick(np.int32, np.int64)) if depth else np.zeros(outer)
    if d.op.endswith("Update"):  # the order of two updates of one place is open
        if len({*map(tuple, indices.reshape(-1, depth).tolist())}) < int(np.prod(outer)):
            indices = np.zeros([1, depth], indices.dtype)
            outer = [1]
    updates = d.values(dtype, [*outer, *shape[depth:]])
    return Case(d.op, [_variable(d, d.values(dtype, shape)), indices, updates])


def _slice_assign(d: Draw) -> Case:
    shape, dtype = d.shape(0, 4, 5, 0), d.dtype()
    kind = d.pick(np.int32, np.int64)
    begin, end, strides = [], [], []
    masks = dict.fromkeys(("begin_mask", "end_mask", "shrink_axis_mask"), 0)
    sizes = []
    for axis, size in enumerate(shape):
        stride = d.pick(1, 1, 2, -1)
        one, two = sorted((d.int(0, size), d.int(0, size)))
        if d.chance(5):
            masks["shrink_axis_mask"] |= 1 << axis
            stride, one = 1, min(one, size - 1)
            two = one + 1
        elif d.chance(4):
            masks["begin_mask"] |= 1 << axis
        if stride < 0:
            one, two = (size - 1 if masks["begin_mask"] >> axis & 1 else two - 1), one - 1
            two = two if two >= 0 else -size - 1
            one = one if one >= 0 else -size - 1
        begin.append(one)
        end.append(two)
        strides.append(stride)
        start = None if masks["begin_mask"] >> axis & 1 else one
        if not masks["shrink_axis_mask"] >> axis & 1:
            sizes.append(len(range(*slice(start, two, stride).indices(size))))
    value = d.values(dtype, sizes if not d.chance(12) else [*sizes, 2])
    spec = [np.asarray(one, kind) for one in (begin, end, strides)]
    return Case(d.op, [_variable(d, d.values(dtype, shape)), *spec, value], masks)


def _sparse_proximal(d: Draw) -> Case:
    shape, dtype = [d.int(1, 5), *d.shape(0, 2, 3, 0)], d.dtype()
    rows = d.rng.permutation(shape[0])[: d.int(0, shape[0])].astype(d.pick(np.int32, np.int64))
    scalars = [np.asarray(d.rng.uniform(0.01, 0.9), dtype) for _ in range(3)]
    return Case(
        d.op, [_variable(d, d.values(dtype, shape)), *scalars, d.values(dtype, [len(rows), *shape[1:]]), rows]
    )


# Texts, messages


def _texts(d: Draw, *words: bytes) -> np.ndarray:
    flat = np.empty(d.int(0, 4), object)
    flat[:] = [words[d.int(0, len(words) - 1)] for _ in flat]
    return flat


def _string_split(d: Draw) -> Case:
    words = _texts(d, b"", b"a b c", b" a  b ", b"a,b;c", b",,a", b"\xc3\xa9 b\tc\n")
    sep = s(d.pick(b"", b" ", b",", b",;"))
    if d.op == "StringSplit":
        return Case(d.op, [words, sep], {"skip_empty": d.chance(2)})
    return Case(d.op, [words, sep], {"maxsplit": d.pick(-1, 0, 1, 2)})


def _hash(d: Draw) -> Case:
    attrs: dict[str, Any] = {"num_buckets": d.pick(1, 7, 2**40)}
    if d.op.endswith("Strong"):
        attrs["key"] = [d.int(0, 2**40), d.int(0, 99)]
    length = d.int(0, 70)
    words = d.values(object, d.shape(0, 4))
    if words.ndim and words.size:
        words.reshape(-1)[0] = bytes(d.rng.integers(0, 256, length).tolist())
    return Case(d.op, [words], attrs)


def _csv(d: Draw) -> Case:
    lines = _texts(
        d, b"1,2.5,a", b",,", b'3,-1e3,"b,c"', b"7,NA,d", b" 4 ,1,", b"1,2", b"x,1,b", b'5,0.1,"a""b"'
    )
    empty = [np.zeros(0, np.int32), f32([]), _data(b"").reshape(1)[:0]]
    given = [d.values(np.int32, [1]), d.values(np.float32, [1]), _data(b"none").reshape(1)]
    defaults = [d.pick(*pair) for pair in zip(empty, given, strict=True)] if d.chance(2) else given
    if d.chance(3):
        defaults[0] = defaults[0].astype(d.pick(np.int64, np.float64))
    attrs = {"na_value": d.pick("", "NA"), "use_quote_delim": not d.chance(4)}
    return Case(d.op, [lines, defaults], attrs)


def _any_number(d: Draw) -> np.ndarray:
    return d.values(d.dtype(), d.shape(0, 5))


def _serialize(d: Draw) -> Case:
    return Case(d.op, [_any_number(d)])


def _parse_tensor(d: Draw) -> Case:
    import tensorflow

    types = [as_dtype(name).numpy_dtype for name in sorted(NUMBERS)]
    dtype = types[d.index % len(types)]
    array = d.values(dtype, d.shape(0, 5))
    message = tensorflow.make_tensor_proto(array).SerializeToString()
    if d.chance(10):
        message = message[:-1]
    other = d.pick(dtype, dtype, dtype, np.dtype("float32"))
    return Case(d.op, [_data(message)], {"out_type": as_dtype(other).name})


def _summary(d: Draw) -> Case:
    if d.op == "ScalarSummary":
        shape = d.shape(0, 2)
        return Case(d.op, [d.values(object, shape if not d.chance(10) else [2]), d.values(d.dtype(), shape)])
    if d.op == "HistogramSummary":
        return Case(d.op, [s(b"h"), d.values(d.dtype(), d.shape(0, 5))])
    if d.op == "ImageSummary":
        dtype, channels = d.dtype(), d.pick(1, 3, 4)
        shape = [d.int(1, 4), d.int(1, 4), d.int(1, 4), channels]
        return Case(
            d.op,
            [s(b"i"), d.values(dtype, shape, *(0, 1) if d.chance(2) else (-2, 2))],
            {"max_images": d.int(1, 3)},
        )
    if d.op == "AudioSummaryV2":
        shape = [d.int(0, 3), d.int(1, 6), *d.pick([], [1], [2])]
        return Case(
            d.op,
            [s(b"a"), d.values(np.float32, shape, -1.5, 1.5), f32(d.pick(8000.0, 44100.0, 0.5))],
            {"max_outputs": d.int(1, 3)},
        )
    if d.op == "TensorSummary":
        return Case(d.op, [_any_number(d)], {"description": d.pick("", "text")})
    return Case(d.op, [s(b"t"), _any_number(d), s(b"")])


def _merge_summary(d: Draw) -> Case:
    parts = [
        b"",
        b"\n\x08\n\x01a\x15\x00\x00\x80?",
        b"\n\x08\n\x01b\x15\x00\x00\x00@",
        b"\n\x05\x15\x00\x00\x80?",
    ]
    return Case(d.op, [[_data(d.pick(*parts)) for _ in range(d.int(1, 4))]])


def _png_summaries(ours: Any, theirs: Any) -> tuple[float, str]:
    """Summaries of images, by their pixels."""
    from tensorflow.core.framework import summary_pb2

    one, other = (summary_pb2.Summary.FromString(data) for data in (ours, theirs))
    if [value.tag for value in one.value] != [value.tag for value in other.value]:
        return 0.0, "other tags"
    worst = 0.0
    for a, z in zip(one.value, other.value, strict=True):
        sizes = [(v.image.height, v.image.width, v.image.colorspace) for v in (a, z)]
        if sizes[0] != sizes[1]:
            return 0.0, f"{sizes[0]} is not {sizes[1]}"
        far, text = _same_picture(a.image.encoded_image_string, z.image.encoded_image_string)
        worst = max(worst, far)
        if text:
            return worst, text
    return worst, ""


# Samplers


def _sampler(d: Draw) -> Case:
    number, count, most = d.int(1, 3), d.int(1, 5), d.int(5, 30)
    classes = d.rng.integers(0, most, (d.int(1, 4), number)).astype(np.int64)
    attrs = {
        "num_true": number,
        "num_sampled": count,
        "unique": d.chance(2),
        "seed": d.int(1, 9),
        "seed2": d.int(1, 9),
    }
    if d.op != "AllCandidateSampler":
        attrs["range_max"] = most
    else:
        attrs["num_sampled"] = most
    return Case(d.op, [classes], attrs)


def _accidental_hits(d: Draw) -> Case:
    number = d.int(1, 3)
    classes = d.rng.integers(0, 6, (d.int(0, 4), number)).astype(np.int64)
    sampled = d.rng.permutation(8)[: d.int(1, 6)].astype(np.int64)
    return Case(d.op, [classes, sampled], {"num_true": number})


# Volumes


def _volume(d: Draw, taps: list[int], strides: list[int], padding: str) -> tuple[list[int], list[int]]:
    """Sizes of volumes that windows fit, and of what they make."""
    sizes = [d.int(1, 5) if padding == "SAME" else tap + d.int(0, 3) for tap in taps]
    if padding == "SAME":
        return sizes, [-(-size // step) for size, step in zip(sizes, strides, strict=True)]
    return sizes, [(size - tap) // step + 1 for size, tap, step in zip(sizes, taps, strides, strict=True)]


def _conv3d(d: Draw) -> Case:
    taps, strides, padding = (
        [d.int(1, 3) for _ in range(3)],
        [d.int(1, 2) for _ in range(3)],
        d.pick("SAME", "VALID"),
    )
    sizes, out = _volume(d, taps, strides, padding)
    batch, channels, filters = d.int(0 if d.chance(6) else 1, 2), d.int(1, 3), d.int(1, 3)
    dtype = d.dtype()
    attrs = {"strides": [1, *strides, 1], "padding": padding}
    volumes = d.values(dtype, [batch, *sizes, channels])
    filter = d.values(dtype, [*taps, channels + d.chance(12), filters])
    grad = d.values(dtype, [batch, *out, filters])
    if d.op == "Conv3D":
        return Case(d.op, [volumes, filter], attrs)
    if d.op == "Conv3DBackpropInputV2":
        return Case(d.op, [i32(volumes.shape), filter, grad], attrs)
    return Case(d.op, [volumes, i32(filter.shape), grad], attrs)


def _pool3d(d: Draw) -> Case:
    taps, strides, padding = (
        [d.int(1, 3) for _ in range(3)],
        [d.int(1, 2) for _ in range(3)],
        d.pick("SAME", "VALID"),
    )
    sizes, out = _volume(d, taps, strides, padding)
    some = d.chance(6) and not d.op.endswith("Grad") and not d.op.startswith("Max")  # 2.21 refuses none
    batch, channels = d.int(0 if some else 1, 2), d.int(1, 3)
    dtype = d.dtype()
    attrs = {"ksize": [1, *taps, 1], "strides": [1, *strides, 1], "padding": padding}
    volumes = d.values(dtype, [batch, *sizes, channels])
    made = d.values(dtype, [batch, *out, channels])
    if d.op in ("MaxPool3D", "AvgPool3D"):
        return Case(d.op, [volumes], attrs)
    if d.op == "AvgPool3DGrad":
        return Case(d.op, [i32(volumes.shape), made], attrs)
    from gpuplace.ops.nn.volume_arithmetic import Block, largest

    block = Block(tuple(taps), tuple(strides), padding=padding)
    pooled = largest(np, volumes, block)
    return Case(
        d.op, [volumes, pooled, made if d.op == "MaxPool3DGrad" else d.values(dtype, volumes.shape)], attrs
    )


# Dilations, decoders, distances


def _dilation2d(d: Draw) -> Case:
    dtype, channels = d.dtype(), d.int(1, 3)
    taps, strides, rates = ([d.int(1, most) for _ in range(2)] for most in (3, 2, 2))
    sizes = [(tap - 1) * rate + 1 + d.int(0, 4) for tap, rate in zip(taps, rates, strict=True)]
    padding = d.pick("SAME", "VALID")
    attrs = {"strides": [1, *strides, 1], "rates": [1, *rates, 1], "padding": padding}
    images = d.values(dtype, [d.int(1, 3), *sizes, channels])
    filter = d.values(dtype, [*taps, channels + d.chance(12)], -1, 1)
    if d.op == "Dilation2D":
        return Case(d.op, [images, filter], attrs)
    out = [
        -(-size // step) if padding == "SAME" else (size - (tap - 1) * rate - 1) // step + 1
        for size, step, tap, rate in zip(sizes, strides, taps, rates, strict=True)
    ]
    return Case(d.op, [images, filter, d.values(dtype, [len(images), *out, channels])], attrs)


def _edit_distance(d: Draw) -> Case:
    dtype, groups = d.dtype(), d.shape(1, 3, 3, 0)

    def some() -> list[Any]:
        indices, _, shape = d.sparse([*groups, d.int(1, 4)], dtype, 0.6)
        return [indices, d.values(dtype, [len(indices)], -0.5, 0.5), shape]

    return Case(d.op, [*some(), *some()], {"normalize": d.chance(2)})


def _said(d: Draw) -> list[Any]:
    steps, batch, classes = d.int(2, 7), d.int(1, 3), d.int(2, 5)
    lengths = d.rng.integers(1, steps + 1 + d.chance(12), batch).astype(np.int32)
    return [d.values(d.dtype(), [steps, batch, classes]), lengths]


def _ctc_loss(d: Draw) -> Case:
    inputs, lengths = _said(d)
    rows = [d.rng.integers(0, inputs.shape[2] - 1, d.int(1, min(length, 4))).tolist() for length in lengths]
    indices = i64([[row, at] for row, labels in enumerate(rows) for at in range(len(labels))]).reshape(-1, 2)
    values = i32([label for labels in rows for label in labels])
    attrs = {"ctc_merge_repeated": not d.chance(3), "preprocess_collapse_repeated": d.chance(3)}
    attrs["ignore_longer_outputs_than_inputs"] = d.chance(2)
    return Case(d.op, [inputs, indices, values, lengths], attrs)


def _ctc_decoder(d: Draw) -> Case:
    attrs: dict[str, Any] = {"merge_repeated": d.chance(2)}
    if d.op == "CTCBeamSearchDecoder":
        width = d.int(1, 6)
        attrs |= {"beam_width": width, "top_paths": d.int(1, min(2, width))}
    return Case(d.op, _said(d), attrs)


def _factors(d: Draw) -> Case:
    batch, rows, columns = d.shape(0, 2, 3, 0), d.int(1, 5), d.int(1, 5)
    if d.op == "SelfAdjointEigV2":
        columns = rows + d.chance(12)
        return Case(d.op, [d.values(d.dtype(), [*batch, rows, columns])], {"compute_v": d.chance(2)})
    attrs = {"full_matrices": False}
    if d.op == "Svd":
        attrs["compute_uv"] = d.chance(2)
    return Case(d.op, [d.values(d.dtype(), [*batch, rows, columns])], attrs)


def _but_for_signs(ours: Any, theirs: Any) -> tuple[float, str]:
    """Matrices whose columns, or rows, may be multiplied by any number of magnitude 1."""
    if not theirs.shape and ours.shape in ((), (0,)):  # what was not asked for, which TensorFlow leaves unset
        return 0.0, ""
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return 0.0, f"{ours.dtype}{ours.shape} is not {theirs.dtype}{theirs.shape}"
    if not theirs.size:
        return 0.0, ""
    worst = float((np.abs(np.abs(ours) - np.abs(theirs)) / np.abs(theirs).max()).max())
    limit = {"float64": 1e-10, "complex128": 1e-10, "float16": 5e-3}.get(theirs.dtype.name, 1e-4)
    return worst, "" if worst < limit else f"{ours!r} is not {theirs!r}"


def _block_cell(d: Draw) -> Case:
    dtype = d.dtype()
    batch, size, units = d.int(1, 4), d.int(1, 4), d.int(1, 4)

    def some(*shape: int) -> np.ndarray:
        return d.values(dtype, shape, -1.5, 1.5)

    if d.op.startswith("GRU"):
        inputs = [some(batch, size), some(batch, units), some(size + units, 2 * units)]
        inputs += [some(size + units, units), some(2 * units), some(units)]
        gates = [d.values(dtype, [batch, units], 0, 1) for _ in range(3)]
        return Case(d.op, inputs if d.op == "GRUBlockCell" else [*inputs, *gates, some(batch, units)])
    inputs = [some(batch, size), some(batch, units), some(batch, units), some(size + units, 4 * units)]
    inputs += [*[some(units) for _ in range(3)], some(4 * units)]
    attrs: dict[str, Any] = {"use_peephole": d.chance(2)}
    if d.op == "LSTMBlockCell":
        return Case(d.op, inputs, {**attrs, "cell_clip": d.pick(-1.0, 1.0), "forget_bias": d.pick(0.0, 1.0)})
    gates = [d.values(dtype, [batch, units], 0, 1) for _ in range(6)]
    return Case(d.op, [*inputs, *gates, some(batch, units), some(batch, units)], attrs)


def _same_example(ours: Any, theirs: Any) -> tuple[float, str]:
    """Serialized examples, by what is in them: whether numbers are packed is open."""
    from tensorflow.core.example import example_pb2

    one, other = (
        [example_pb2.Example.FromString(data) for data in np.asarray(array).reshape(-1)]
        for array in (ours, theirs)
    )
    return 0.0, "" if one == other and np.shape(ours) == np.shape(theirs) else f"{ours!r} is not {theirs!r}"


UNLIKE: dict[str, Callable[[Any, Any], tuple[float, str]]] = {
    "EncodePng": _same_picture,
    "EncodeJpeg": _same_picture,
    "EncodeJpegVariableQuality": _same_picture,
    "ImageSummary": _png_summaries,
    "SelfAdjointEigV2": _but_for_signs,
    "Svd": _but_for_signs,
    "Qr": _but_for_signs,
    "DecodeJSONExample": _same_example,
}
"""Ops whose results may differ in their bytes, to how they are compared."""

CASES_OF: dict[str, Callable[[Draw], Case]] = {
    **dict.fromkeys(("AdjustContrastv2", "AdjustHue", "AdjustSaturation"), _adjust),
    **dict.fromkeys(("RGBToHSV", "HSVToRGB"), _colours),
    **dict.fromkeys(("ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor"), _resize),
    **dict.fromkeys(("ResizeBicubicGrad", "ResizeBilinearGrad", "ResizeNearestNeighborGrad"), _resize_grad),
    "CropAndResize": _crop,
    "CropAndResizeGradImage": _crop_grad_image,
    "CropAndResizeGradBoxes": _crop_grad_boxes,
    **dict.fromkeys(("DrawBoundingBoxes", "DrawBoundingBoxesV2"), _draw_boxes),
    **{f"NonMaxSuppression{end}": _suppression for end in ("", "V2", "V3", "V4", "V5", "WithOverlaps")},
    "ExtractGlimpse": _glimpse,
    **dict.fromkeys(("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2"), _sample_box),
    **dict.fromkeys(("DecodeBmp", "DecodeGif", "DecodeJpeg", "DecodePng", "ExtractJpegShape"), _decode),
    **dict.fromkeys(("EncodeJpeg", "EncodeJpegVariableQuality", "EncodePng"), _encode),
    "SpaceToBatch": _space_to_batch,
    "BatchToSpace": _batch_to_space,
    "SpaceToBatchND": _space_to_batch_nd,
    "BatchToSpaceND": _batch_to_space_nd,
    "SparseAdd": _sparse_add,
    "SparseAddGrad": _sparse_add_grad,
    "SparseConcat": _sparse_concat,
    **dict.fromkeys(("SparseDenseCwiseAdd", "SparseDenseCwiseDiv", "SparseDenseCwiseMul"), _sparse_cwise),
    "SparseFillEmptyRows": _fill_empty,
    "SparseFillEmptyRowsGrad": _fill_empty_grad,
    **dict.fromkeys(
        ("SparseReduceMax", "SparseReduceMaxSparse", "SparseReduceSum", "SparseReduceSumSparse"),
        _sparse_reduce,
    ),
    "SparseReorder": _sparse_reorder,
    "SparseReshape": _sparse_reshape,
    **{
        f"SparseSegment{what}{suffix}": _sparse_segment
        for what in ("Mean", "SqrtN", "Sum")
        for suffix in ("", "WithNumSegments")
    },
    **dict.fromkeys(("SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"), _sparse_segment_grad),
    "SparseSlice": _sparse_slice,
    "SparseSliceGrad": _sparse_slice_grad,
    "SparseSoftmax": _sparse_softmax,
    **dict.fromkeys(("SparseSparseMaximum", "SparseSparseMinimum"), _sparse_sparse),
    "SparseSplit": _sparse_split,
    "SparseTensorDenseMatMul": _sparse_matmul,
    "SparseToDense": _sparse_to_dense,
    **dict.fromkeys(
        ("DenseToDenseSetOperation", "DenseToSparseSetOperation", "SparseToSparseSetOperation", "SetSize"),
        _set_operation,
    ),
    **{
        f"{kind}ScatterNd{what}": _scatter_nd
        for kind in ("", "Resource")
        for what in ("Add", "Sub", "Update")
    },
    **dict.fromkeys(("StridedSliceAssign", "ResourceStridedSliceAssign"), _slice_assign),
    **{f"{kind}SparseApplyProximalGradientDescent": _sparse_proximal for kind in ("", "Resource")},
    **dict.fromkeys(("StringSplit", "StringSplitV2"), _string_split),
    **dict.fromkeys(("StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong"), _hash),
    "DecodeCSV": _csv,
    "SerializeTensor": _serialize,
    "ParseTensor": _parse_tensor,
    **dict.fromkeys(
        (
            "ScalarSummary",
            "HistogramSummary",
            "ImageSummary",
            "AudioSummaryV2",
            "TensorSummary",
            "TensorSummaryV2",
        ),
        _summary,
    ),
    "MergeSummary": _merge_summary,
    **dict.fromkeys(
        ("AllCandidateSampler", "LogUniformCandidateSampler", "UniformCandidateSampler"), _sampler
    ),
    "ComputeAccidentalHits": _accidental_hits,
    **dict.fromkeys(("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"), _conv3d),
    **dict.fromkeys(
        ("MaxPool3D", "MaxPool3DGrad", "MaxPool3DGradGrad", "AvgPool3D", "AvgPool3DGrad"), _pool3d
    ),
    **dict.fromkeys(("Dilation2D", "Dilation2DBackpropInput", "Dilation2DBackpropFilter"), _dilation2d),
    "EditDistance": _edit_distance,
    **dict.fromkeys(("LSTMBlockCell", "LSTMBlockCellGrad", "GRUBlockCell", "GRUBlockCellGrad"), _block_cell),
    **dict.fromkeys(("SelfAdjointEigV2", "Svd", "Qr"), _factors),
    "CTCLoss": _ctc_loss,
    **dict.fromkeys(("CTCGreedyDecoder", "CTCBeamSearchDecoder"), _ctc_decoder),
}
"""Op type to what makes its cases."""

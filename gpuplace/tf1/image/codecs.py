"""Image files: JPEG, PNG, GIF and BMP, decoded to arrays of pixels and encoded.

Pillow reads and writes the files. PNG is exact; 16-bit colour PNGs, which Pillow would truncate, are decoded
here. JPEGs are decoded by the same library as TensorFlow's with its slower, more exact transform, which
TensorFlow uses for ``dct_method="INTEGER_ACCURATE"``; fancy upsampling is always on.

Source: tensorflow/core/kernels/decode_image_op.cc, encode_*_op.cc and core/lib/png/png_io.cc, release 1.15.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.summary_media import png_file
from gpuplace.ops.gradients.registry import not_differentiable
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new, scalar_shape
from gpuplace.shapes import TensorShape, brackets
from gpuplace.typing import Array, ArrayModule, DTypeLike, TensorLike

__all__ = [
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
]
__all__ += ["extract_jpeg_shape"]


def decode_jpeg(
    contents: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return the pixels of a JPEG.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: 1 for gray, 3 for colour; 0: as in the file.
        ratio: downscaling factor: 1, 2, 4 or 8.
        fancy_upscaling: recorded in the node only; colours are always smoothed.
        try_recover_truncated: whether to decode as much as possible of a truncated file.
        acceptable_fraction: recorded in the node only.
        dct_method: recorded in the node only; the exact transform is used.
        name: name of the op.

    Returns:
        uint8 ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: at run time, the bytes are not such a file.
    """
    return new(
        "DecodeJpeg",
        name,
        contents=contents,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
    )


def decode_and_crop_jpeg(
    contents: TensorLike,
    crop_window: TensorLike,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return the pixels of a part of a JPEG.

    Args:
        contents: the bytes of the file, a string scalar.
        crop_window: first row, first column, height and width of the part, int32, in the image scaled by
            ``ratio``.
        channels: 1 for gray, 3 for colour; 0: as in the file.
        ratio: downscaling factor: 1, 2, 4 or 8.
        fancy_upscaling: recorded in the node only; colours are always smoothed.
        try_recover_truncated: whether to decode as much as possible of a truncated file.
        acceptable_fraction: recorded in the node only.
        dct_method: recorded in the node only; the exact transform is used.
        name: name of the op.

    Returns:
        uint8 ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: at run time, the bytes are not such a file, or the part is not within the image.
    """
    return new(
        "DecodeAndCropJpeg",
        name,
        contents=contents,
        crop_window=crop_window,
        channels=channels,
        ratio=ratio,
        fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated,
        acceptable_fraction=acceptable_fraction,
        dct_method=dct_method,
    )


def decode_png(
    contents: TensorLike, channels: int = 0, dtype: DTypeLike = "uint8", name: str | None = None
) -> Tensor:
    """Return the pixels of a PNG.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: 1 for gray, 3 for colour, 4 for colour and opacity; 0: as in the file.
        dtype: uint8 or uint16.
        name: name of the op.

    Returns:
        ``[height, width, channels]`` of that type.

    Raises:
        InvalidArgumentError: at run time, the bytes are not such a file.
    """
    return new("DecodePng", name, contents=contents, channels=channels, dtype=dtype)


def decode_gif(contents: TensorLike, name: str | None = None) -> Tensor:
    """Return the frames of a GIF.

    Args:
        contents: the bytes of the file, a string scalar.
        name: name of the op.

    Returns:
        uint8 ``[frames, height, width, 3]``.

    Raises:
        InvalidArgumentError: at run time, the bytes are not such a file.
    """
    return new("DecodeGif", name, contents=contents)


def decode_bmp(contents: TensorLike, channels: int = 0, name: str | None = None) -> Tensor:
    """Return the pixels of a BMP.

    Args:
        contents: the bytes of the file, a string scalar.
        channels: number of channels; 0: as in the file.
        name: name of the op.

    Returns:
        uint8 ``[height, width, channels]``.

    Raises:
        InvalidArgumentError: at run time, the bytes are not such a file.
    """
    return new("DecodeBmp", name, contents=contents, channels=channels)


def encode_jpeg(
    image: TensorLike,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Return an image as a JPEG.

    Args:
        image: uint8 ``[height, width, channels]``.
        format: ``"grayscale"`` or ``"rgb"``; empty: determined by the number of channels.
        quality: from 0 to 100.
        progressive: whether to write a progressive JPEG.
        optimize_size: whether to make the file smaller, which takes longer.
        chroma_downsampling: whether to halve the resolution of colours.
        density_unit: ``"in"`` or ``"cm"``.
        x_density: pixels per unit, horizontally.
        y_density: pixels per unit, vertically.
        xmp_metadata: XMP metadata to write into the file.
        name: name of the op.

    Returns:
        The bytes of the file, a string scalar.

    Raises:
        InvalidArgumentError: at run time, the image has another shape.
    """
    return new(
        "EncodeJpeg",
        name,
        image=image,
        format=format,
        quality=quality,
        progressive=progressive,
        optimize_size=optimize_size,
        chroma_downsampling=chroma_downsampling,
        density_unit=density_unit,
        x_density=x_density,
        y_density=y_density,
        xmp_metadata=xmp_metadata,
    )


def encode_png(image: TensorLike, compression: int = -1, name: str | None = None) -> Tensor:
    """Return an image as a PNG.

    Args:
        image: uint8 or uint16 ``[height, width, channels]``.
        compression: from 0, fast, to 9, small; -1 for the default.
        name: name of the op.

    Returns:
        The bytes of the file, a string scalar.

    Raises:
        InvalidArgumentError: at run time, the image has another shape.
    """
    return new("EncodePng", name, image=image, compression=compression)


def extract_jpeg_shape(
    contents: TensorLike, output_type: DTypeLike = "int32", name: str | None = None
) -> Tensor:
    """Return height, width and channels of a JPEG without decoding it.

    Args:
        contents: the bytes of the file, a string scalar.
        output_type: int32 or int64.
        name: name of the op.

    Returns:
        A vector of three numbers.

    Raises:
        InvalidArgumentError: at run time, the bytes are not such a file.
    """
    return new("ExtractJpegShape", name, contents=contents, output_type=output_type)


# Files

_MODES = {1: "L", 2: "LA", 3: "RGB", 4: "RGBA"}


def _open_image(contents: Array, kind: str, sentence: str) -> Any:
    """Return Pillow's image of the bytes; raise InvalidArgumentError for another format.

    ``Image.open`` is not used, because it warns of large images and refuses very large ones.
    """
    from PIL import Image

    if contents.ndim:
        raise InvalidArgumentError.of(f"contents must be scalar, got shape {brackets(contents.shape)}")
    Image.preinit()
    make, _ = Image.OPEN[kind]
    try:
        image = make(io.BytesIO(bytes(contents[()])), "")
    except (*_DAMAGED, EOFError, IndexError, TypeError, struct.error) as error:
        raise InvalidArgumentError.of(sentence) from error
    if image.width * image.height >= _MOST_PIXELS:
        if kind == "PNG":
            sentence = f"PNG size too large for int: {image.width} by {image.height}"
        raise InvalidArgumentError.of(sentence)
    return image


_DAMAGED = (OSError, SyntaxError, ValueError)
"""Errors that Pillow raises when it decodes a damaged file."""
_MOST_PIXELS = 1 << 29
"""TensorFlow decodes only images with fewer pixels."""
_BAND_PIXELS = 1 << 22


def _pixels(image: Any, sentence: str) -> Array:
    """Return the pixels, ``[height, width, channels]``; in bands, because Pillow copies arrays twice."""
    try:
        image.load()
        rows = max(_BAND_PIXELS // image.width, 1)
        band = np.array(image.crop((0, 0, image.width, min(rows, image.height))))
        array = np.empty((image.height, *band.shape[1:]), band.dtype)
        array[: len(band)] = band
        for top in range(rows, image.height, rows):
            bottom = min(top + rows, image.height)
            array[top:bottom] = np.asarray(image.crop((0, top, image.width, bottom)))
    except _DAMAGED as error:
        raise InvalidArgumentError.of(sentence) from error
    return array if array.ndim == 3 else array[..., None]


def _check_channels(channels: int, allowed: Sequence[int]) -> None:
    if channels not in allowed:
        raise InvalidArgumentError.of(f"channels must be {', '.join(map(str, allowed))}, got {channels}")


_NO_JPEG = "Invalid JPEG data or crop window, data size {}"
_NO_PNG = "Invalid PNG header, data size {}"
_END_OF_PNG = b"IEND\xaeB`\x82"


def _decode_jpeg(contents: Array, channels: int, ratio: int, recovers: bool) -> Any:
    from PIL import ImageFile

    sentence = _NO_JPEG.format(len(contents[()]) if not contents.ndim else 0)
    image = _open_image(contents, "JPEG", sentence)
    mode = "L" if channels == 1 else None
    if mode or ratio > 1:
        image.draft(mode, (image.width / ratio, image.height / ratio))
    before = ImageFile.LOAD_TRUNCATED_IMAGES
    ImageFile.LOAD_TRUNCATED_IMAGES = recovers
    try:
        if channels or image.mode not in ("L", "RGB"):
            image = image.convert("L" if channels == 1 else "RGB")
        return _pixels(image, sentence)
    except _DAMAGED as error:
        raise InvalidArgumentError.of(sentence) from error
    finally:
        ImageFile.LOAD_TRUNCATED_IMAGES = before


@compute("DecodeJpeg")
def _jpeg(
    xp: ArrayModule, contents: Array, *, channels: int, ratio: int, try_recover_truncated: bool
) -> Array:
    _check_channels(channels, (0, 1, 3))
    return (
        _decode_any_format(contents, channels)
        if not _is_jpeg(contents)
        else _decode_jpeg(contents, channels, ratio, try_recover_truncated)
    )


@compute("DecodeAndCropJpeg")
def _crop_jpeg(
    xp: ArrayModule,
    contents: Array,
    crop_window: Array,
    *,
    channels: int,
    ratio: int,
    try_recover_truncated: bool,
) -> Array:
    _check_channels(channels, (0, 1, 3))
    if crop_window.shape != (4,):
        raise InvalidArgumentError.of(
            f"crop_window must have four elements, got shape {brackets(crop_window.shape)}",
            hint="use [first row, first column, height, width]",
        )
    if not _is_jpeg(contents):  # TensorFlow returns all frames
        return _decode_any_format(contents, channels)
    pixels = _decode_jpeg(contents, channels, ratio, try_recover_truncated)
    top, left, height, width = crop_window.tolist()
    bottom, right = top + height, left + width
    if min(top, left) < 0 or min(height, width) <= 0 or bottom > pixels.shape[0] or right > pixels.shape[1]:
        raise InvalidArgumentError.of(
            _NO_JPEG.format(len(contents[()])),
            facts={"crop_window": f"{crop_window.tolist()}", "image": brackets(pixels.shape)},
            hint="use a window inside the image: [first row, first column, height, width]",
        )
    return pixels[top:bottom, left:right].copy()


def _is_jpeg(contents: Array) -> bool:
    return bool(contents.ndim) or bytes(contents[()])[:3] == b"\xff\xd8\xff" or not _detect_format(contents)


def _detect_format(contents: Array) -> str:
    """Return the format that the bytes start like: ``jpeg``, ``png``, ``gif``, ``bmp``, or an empty string."""
    data = bytes(contents[()])
    for name, start in (("jpeg", b"\xff\xd8\xff"), ("png", b"\x89PNG"), ("gif", b"GIF8"), ("bmp", b"BM")):
        if data.startswith(start):
            return name
    return ""


def _decode_any_format(contents: Any, channels: int, wide: bool = False) -> Any:
    """Decode a file of any format as the ops for JPEG and PNG do."""
    kind = _detect_format(contents)
    if kind == "png":
        return _decode_png(contents, channels, wide)
    if kind == "gif":
        pictures = _decode_gif(contents)
        if len(pictures) != 1:
            raise InvalidArgumentError.of(
                "Got animated gif, expected a single picture", hint="use tf.image.decode_gif"
            )
        return pictures[0]
    if kind == "jpeg":
        return _decode_jpeg(contents, channels, 1, False)
    raise InvalidArgumentError.of(
        "Expected image (JPEG, PNG, or GIF), got unknown format starting with "
        + repr(bytes(contents[()])[:16])[2:-1]
    )


# PNG


def _decode_16_bit_png(data: bytes) -> Array | None:
    """Return the pixels of a PNG with 16 bits per channel, uint16; None for other PNGs."""
    width, height, depth, colour, *_, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    if depth != 16 or interlaced:
        return None
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    packed, at = [], 8
    while at + 8 <= len(data):
        (length,), kind = struct.unpack(">I", data[at : at + 4]), data[at + 4 : at + 8]
        if kind == b"IDAT":
            packed.append(data[at + 8 : at + 8 + length])
        at += length + 12
    step = 2 * channels
    unpacked = zlib.decompressobj().decompress(b"".join(packed), height * (1 + width * step))
    rows = np.frombuffer(unpacked, np.uint8).reshape(height, 1 + width * step)
    before = np.zeros(width * step, np.uint8)
    pixels = np.empty((height, width * step), np.uint8)
    for number, row in enumerate(rows):
        before = pixels[number] = _UNFILTERED[int(row[0])](row[1:].reshape(width, step), before, step)
    return pixels.view(">u2").astype(np.uint16).reshape(height, width, channels)


def _average(row: Array, before: Array, step: int) -> Array:
    above, left = before.reshape(-1, step).astype(np.int32), np.zeros(step, np.int32)
    result = np.empty_like(row)
    for number, pixel in enumerate(row):
        left = (pixel + (left + above[number]) // 2) & 0xFF
        result[number] = left
    return result.reshape(-1)


def _paeth(row: Array, before: Array, step: int) -> Array:
    above, left, corner = (
        before.reshape(-1, step).astype(np.int32),
        np.zeros(step, np.int32),
        np.zeros(step, np.int32),
    )
    result = np.empty_like(row)
    for number, pixel in enumerate(row):
        up = above[number]
        to_left, to_up, to_corner = np.abs(up - corner), np.abs(left - corner), np.abs(left + up - 2 * corner)
        is_left = (to_left <= to_up) & (to_left <= to_corner)
        nearest = np.where(is_left, left, np.where(to_up <= to_corner, up, corner))
        left, corner = (pixel + nearest) & 0xFF, up
        result[number] = left
    return result.reshape(-1)


_UNFILTERED: dict[int, Callable[[Any, Any, int], Any]] = {
    0: lambda row, before, step: row.reshape(-1),
    1: lambda row, before, step: np.cumsum(row, 0, dtype=np.uint8).reshape(-1),
    2: lambda row, before, step: row.reshape(-1) + before,
    3: _average,
    4: _paeth,
}
"""Functions that undo a row's filter; they take pixels ``[width, bytes]``, the row above, and the bytes per pixel."""


def _decode_png(contents: Array, channels: int, wide: bool) -> Array:
    sentence = _NO_PNG.format(len(contents[()]) if not contents.ndim else 0)
    image = _open_image(contents, "PNG", sentence)
    if _END_OF_PNG not in bytes(contents[()]):
        raise InvalidArgumentError.of(f"Invalid PNG data, size {len(contents[()])}")
    try:
        array = _decode_16_bit_png(bytes(contents[()]))
    except (KeyError, struct.error, ValueError, zlib.error) as error:
        raise InvalidArgumentError.of(sentence) from error
    if array is None:
        if image.mode == "P" or (image.mode == "1" and image.info.get("transparency") is not None):
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        elif image.mode == "1":
            image = image.convert("L")
        elif "transparency" in image.info and image.mode in ("L", "RGB"):
            image = image.convert("LA" if image.mode == "L" else "RGBA")
        array = _with_channels(_pixels(image, sentence), channels)
        return array.astype(np.uint16) * 257 if wide else array
    return _with_channels(array if wide else (array >> 8).astype(np.uint8), channels)


def _with_channels(array: Any, channels: int) -> Any:
    """Return the same pixels with another number of channels: gray is a weighted sum, and missing opacity is full."""
    count = array.shape[2]
    if channels in (0, count):
        return array
    colours = array[..., :1] if count < 3 else array[..., :3]
    if channels < 3 and count >= 3:
        weights = np.array([9798, 19235, 3735], np.int64)
        colours = (colours.astype(np.int64) @ weights >> 15).astype(array.dtype)[..., None]
    elif channels >= 3 and count < 3:
        colours = np.repeat(colours, 3, 2)
    if channels in (1, 3):
        return colours
    opacity = (
        array[..., -1:] if count in (2, 4) else np.full_like(colours[..., :1], np.iinfo(array.dtype).max)
    )
    return np.concatenate([colours, opacity], 2)


@compute("DecodePng")
def _png(xp: ArrayModule, contents: Array, *, channels: int, dtype: Any) -> Array:
    _check_channels(channels, (0, 1, 3, 4))
    wide = dtype.name == "uint16"
    if contents.ndim or _detect_format(contents) == "png" or not _detect_format(contents):
        return _decode_png(contents, channels, wide)
    return _decode_any_format(contents, channels, wide)


# GIF and BMP


def _decode_gif(contents: Array) -> Array:
    from PIL import Image, ImageSequence

    sentence = f"Invalid GIF data, data size {len(contents[()]) if not contents.ndim else 0}"
    image = _open_image(contents, "GIF", sentence)
    try:
        return np.stack([np.array(one.convert("RGB")) for one in ImageSequence.Iterator(image)])
    except (*_DAMAGED, Image.DecompressionBombError) as error:
        raise InvalidArgumentError.of(sentence) from error


@compute("DecodeGif")
def _gif(xp: ArrayModule, contents: Array) -> Array:
    if contents.ndim or _detect_format(contents) in ("gif", ""):
        return _decode_gif(contents)
    return _decode_any_format(contents, 3)[None]


@compute("DecodeBmp")
def _bmp(xp: ArrayModule, contents: Any, *, channels: int) -> Array:
    """Return the pixel bytes as they are in the file; colour tables and compression are ignored.

    Source: tensorflow/core/kernels/decode_bmp_op.cc, release 1.15.
    """
    _check_channels(channels, (0, 1, 3, 4))
    if contents.ndim:
        raise InvalidArgumentError.of(f"contents must be scalar, got shape {brackets(contents.shape)}")
    data: bytes = contents[()]
    if len(data) < 32:
        raise InvalidArgumentError.of(
            "Incomplete bmp content, requires at least 32 bytes to find the header size, width, height, and bpp, got"
            f" {len(data)} bytes"
        )
    (start,), (width, height), (bits,) = (
        struct.unpack_from(form, data, at) for form, at in (("<i", 10), ("<ii", 18), ("<H", 28))
    )
    own = bits // 8
    if channels not in (0, own):
        raise InvalidArgumentError.of(
            f"channels attribute {channels} does not match bits per pixel from file {own}"
        )
    if own not in (1, 3, 4):
        raise InvalidArgumentError.of(f"Number of channels must be 1, 3 or 4, was {own}")
    if width <= 0:
        raise InvalidArgumentError.of("Width must be positive")
    if not height or start < 0:
        raise InvalidArgumentError.of("Height must be nonzero" if not height else "header size must be >= 0")
    rows, used = abs(height), width * own
    row = -(-used // 4) * 4
    needed = start + (rows - 1) * row + used
    if len(data) < needed:
        raise InvalidArgumentError.of(
            f"Incomplete bmp content, requires at least {needed} bytes, got {len(data)} bytes"
        )
    padded = np.zeros(rows * row, np.uint8)
    padded[: needed - start] = np.frombuffer(data, np.uint8, needed - start, start)
    image = padded.reshape(rows, row)[:, :used].reshape(rows, width, own)
    order = [[0], [], [2, 1, 0], [2, 1, 0, 3]][own - 1]
    return np.ascontiguousarray(image[::-1] if height > 0 else image)[:, :, order]


# Writing


def _string(data: bytes) -> Any:
    array = np.empty((), object)
    array[()] = data
    return array


def _check_image(image: Array) -> None:
    if image.ndim != 3:
        raise InvalidArgumentError.of(f"image must be 3-dimensional{brackets(image.shape)}")


@compute("EncodeJpeg")
def _to_jpeg(
    xp: ArrayModule,
    image: Array,
    *,
    format: bytes,
    quality: int,
    progressive: bool,
    optimize_size: bool,
    chroma_downsampling: bool,
    density_unit: bytes,
    x_density: int,
    y_density: int,
    xmp_metadata: bytes,
) -> Array:
    _check_image(image)
    channels = image.shape[2]
    needed = {b"": channels, b"grayscale": 1, b"rgb": 3}[format]
    if needed != channels:
        raise InvalidArgumentError.of(f"format '{format.decode()}' expects {needed} channels, got {channels}")
    if channels not in (1, 3):
        raise InvalidArgumentError.of(f"image must have 1 or 3 channels, got {brackets(image.shape)}")
    if not 0 <= quality <= 100:
        raise InvalidArgumentError.of(f"quality must be in [0,100], got {quality}")
    per_inch = 1.0 if density_unit == b"in" else 2.54
    return _jpeg_file(
        image,
        quality,
        progressive=progressive,
        optimize=optimize_size,
        subsampling="4:2:0" if chroma_downsampling else "4:4:4",
        dpi=(round(x_density * per_inch), round(y_density * per_inch)),
        **({"xmp": xmp_metadata} if xmp_metadata else {}),
    )


@compute("EncodeJpegVariableQuality")
def _to_jpeg_of_quality(xp: ArrayModule, images: Array, quality: Array) -> Array:
    _check_image(images)
    if not 0 <= int(quality) <= 100:
        raise InvalidArgumentError.of(f"quality must be in [0,100], got {int(quality)}")
    return _jpeg_file(images, int(quality), subsampling="4:2:0")


def _jpeg_file(image: Any, quality: int, **settings: Any) -> Any:
    from PIL import Image

    picture = Image.fromarray(image[..., 0] if image.shape[2] == 1 else image)
    if picture.mode == "L":
        settings.pop("subsampling", None)
    data = io.BytesIO()
    picture.save(data, "JPEG", quality=quality or 1, **settings)
    return _string(data.getvalue())


@compute("EncodePng")
def _to_png(xp: ArrayModule, image: Array, *, compression: int) -> Array:
    _check_image(image)
    height, width, channels = image.shape
    if channels not in _MODES:
        raise InvalidArgumentError.of(f"image must have 1, 2, 3, or 4 channels, got {brackets(image.shape)}")
    if not image.size:
        raise InvalidArgumentError.of("image cannot be empty")
    if not -1 <= compression <= 9:
        raise InvalidArgumentError.of(f"compression should be in [-1,9], got {compression}")
    return _string(png_file(image, compression))


@compute("ExtractJpegShape")
def _jpeg_shape(xp: ArrayModule, contents: Array, *, output_type: Any) -> Array:
    image = _open_image(contents, "JPEG", "Invalid JPEG data")
    return np.array([image.height, image.width, len(image.getbands())], output_type.as_numpy_dtype)


# Shapes


def _image_shape(channels: int) -> TensorShape:
    return TensorShape([None, None, channels or None])


@shape_function("DecodeJpeg", "DecodePng", "DecodeBmp")
def _decoded_shape(op: Operation) -> Sequence[TensorShape]:
    return (_image_shape(op.attrs["channels"]),)


@shape_function("DecodeAndCropJpeg")
def _part_shape(op: Operation) -> Sequence[TensorShape]:
    (count,) = require_rank(op.inputs[1].shape, 1)
    if count.value not in (None, 4):
        raise ValueError(f"Dimension must be 4 but is {count.value}")
    window = constant_value(op.inputs[1])
    size = [None, None] if window is None else [int(number) for number in window[2:]]
    return (TensorShape([*size, op.attrs["channels"] or None]),)


@shape_function("DecodeGif")
def _gif_shape(op: Operation) -> Sequence[TensorShape]:
    return (TensorShape([None, None, None, 3]),)


@shape_function("ExtractJpegShape")
def _three(op: Operation) -> Sequence[TensorShape]:
    return (TensorShape([3]),)


shape_function("EncodeJpeg", "EncodePng", "EncodeJpegVariableQuality")(scalar_shape)
not_differentiable("DecodeAndCropJpeg", "DecodeJpeg", "DecodePng", "DecodeGif", "DecodeBmp")
not_differentiable("EncodeJpeg", "EncodePng", "EncodeJpegVariableQuality", "ExtractJpegShape")

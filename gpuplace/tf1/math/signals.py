"""Signals: windows, frames, short-time Fourier and cosine transforms, mel scale.

Source: tensorflow/python/ops/signal (window_ops.py, shape_ops.py, reconstruction_ops.py, spectral_ops.py, dct_ops.py,
mel_ops.py, mfcc_ops.py), release 1.15 (arguments, formulas).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.graph.constant_value import constant_value
from gpuplace.graph.convert import convert_to_tensor, name_scope
from gpuplace.graph.operation import Tensor
from gpuplace.ops.array.sequence import roll
from gpuplace.ops.math.segments import unsorted_segment_sum
from gpuplace.ops.support import like, new, shape_tensor
from gpuplace.tf1.math.spectral import irfft, rfft
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "dct", "fftshift", "frame", "hamming_window", "hann_window", "idct", "ifftshift", "inverse_stft",
    "inverse_stft_window_fn", "linear_to_mel_weight_matrix", "mfccs_from_log_mel_spectrograms",
    "overlap_and_add", "stft",
]  # fmt: skip


def _cast(x: TensorLike, dtype: DTypeLike) -> Tensor:
    return new("Cast", x=x, DstT=as_dtype(dtype))


def _count(stop: Any) -> Tensor:
    return new("Range", start=0, limit=stop, delta=1)


def _part(sizes: Tensor, begin: int, end: int | None) -> Tensor:
    masks: dict[str, Any] = ({"begin_mask": 1} if not begin else {}) | (
        {"end_mask": 1} if end is None else {}
    )
    return new(
        "StridedSlice", input=sizes, begin=[begin], end=[0 if end is None else end], strides=[1], **masks
    )


def _last(sizes: Tensor, at: int = -1) -> Tensor:
    masks: dict[str, Any] = {"end_mask": 1} if at == -1 else {}
    return new(
        "Squeeze", input=new("StridedSlice", input=sizes, begin=[at], end=[at + 1], strides=[1], **masks)
    )


def _joined(*parts: Any) -> Tensor:
    return new("ConcatV2", values=list(parts), axis=0)


# Windows


def _raised_cosine(
    default: str,
    window_length: Any,
    periodic: Any,
    dtype: DTypeLike,
    name: str | None,
    high: float,
    low: float,
) -> Tensor:
    with name_scope(name, default, [window_length, periodic]):
        length = convert_to_tensor(window_length, "int32", name="window_length")
        length.shape.assert_has_rank(0)
        if constant_value(length) == 1:
            return new("Fill", dims=[1], value=np.ones((), as_dtype(dtype).as_numpy_dtype))
        is_periodic = _cast(convert_to_tensor(periodic, "bool", name="periodic"), "int32")
        even = 1 - new("FloorMod", x=length, y=2)
        period = new("Maximum", x=length + is_periodic * even - 1, y=1)  # a window of length 1 is 1
        angle = like(2 * math.pi, _cast(period, dtype)) * _cast(_count(length), dtype) / _cast(period, dtype)
        waves = like(low, angle) * new("Cos", x=angle)
        window = like(high, angle) - waves
        if constant_value(length) is not None:
            return window
        return new("SelectV2", condition=new("Equal", x=length, y=1), t=like(1, window), e=window)


def hann_window(
    window_length: TensorLike, periodic: Any = True, dtype: DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Return a Hann window.

    Args:
        window_length: a scalar int32.
        periodic: whether the window is periodic, for spectral analysis; otherwise it is symmetric.
        dtype: floating.
        name: name of the scope.

    Returns:
        ``[window_length]`` of that dtype.
    """
    return _raised_cosine("hann_window", window_length, periodic, dtype, name, 0.5, 0.5)


def hamming_window(
    window_length: TensorLike, periodic: Any = True, dtype: DTypeLike = "float32", name: str | None = None
) -> Tensor:
    """Return a Hamming window.

    Args:
        window_length: a scalar int32.
        periodic: as for ``hann_window``.
        dtype: floating.
        name: name of the scope.

    Returns:
        ``[window_length]`` of that dtype.
    """
    return _raised_cosine("hamming_window", window_length, periodic, dtype, name, 0.54, 0.46)


# Frames


def frame(
    signal: TensorLike, frame_length: TensorLike, frame_step: TensorLike, pad_end: bool = False,
    pad_value: TensorLike = 0, axis: int = -1, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Split a signal into frames, which overlap if they are longer than the step between them.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.signal.frame([1, 2, 3, 4, 5], 3, 2)).tolist()
    [[1, 2, 3], [3, 4, 5]]

    Args:
        signal: ``[..., samples, ...]``.
        frame_length: samples of a frame, a scalar integer.
        frame_step: samples from the start of a frame to the start of the next.
        pad_end: whether to include frames that run past the end, padded with ``pad_value``.
        pad_value: a scalar.
        axis: the dimension of the samples.
        name: name of the scope.

    Returns:
        ``[..., frames, frame_length, ...]`` of that dtype.

    Raises:
        ValueError: the rank of ``signal`` is unknown, or it has no such axis.
    """
    with name_scope(name, "frame", [signal, frame_length, frame_step, pad_value]):
        samples = convert_to_tensor(signal, name="signal")
        length = convert_to_tensor(frame_length, "int32", name="frame_length")
        step = convert_to_tensor(frame_step, "int32", name="frame_step")
        rank = samples.shape.ndims
        if rank is None:
            raise ValueError("signal must have a known rank")
        if not -rank <= axis < rank:
            raise ValueError(f"axis {axis} is out of range for a signal of rank {rank}")
        at = axis % rank
        sizes = shape_tensor(samples)
        size = _last(_part(sizes, at, at + 1 if at + 1 < rank else None), -1)
        if pad_end:
            count = new("FloorDiv", x=size + step - 1, y=step)
            missing = new("Maximum", x=length + step * (count - 1) - size, y=0)
            before = np.zeros((rank, 1), np.int32)
            after = new(
                "ScatterNd",
                indices=[[at, 0]],
                updates=new("ExpandDims", input=missing, dim=0),
                shape=[rank, 1],
            )
            paddings = new("ConcatV2", values=[before, after], axis=1)
            fill = convert_to_tensor(pad_value, samples.dtype.base_dtype)
            samples = new("PadV2", input=samples, paddings=paddings, constant_values=fill)
        else:
            count = new("Maximum", x=1 + new("FloorDiv", x=size - length, y=step), y=0)
        starts = new("ExpandDims", input=_count(count) * step, dim=1)
        places = starts + new("ExpandDims", input=_count(length), dim=0)
        return new("GatherV2", params=samples, indices=places, axis=at)


def overlap_and_add(signal: TensorLike, frame_step: TensorLike, name: str | None = None) -> Tensor:
    """Reconstruct a signal by adding overlapping frames.

    Args:
        signal: ``[..., frames, frame_length]``.
        frame_step: samples from the start of a frame to the start of the next, a scalar integer.
        name: name of the scope.

    Returns:
        ``[..., frame_length + (frames - 1) * frame_step]`` of that dtype.

    Raises:
        ValueError: the rank is below 2, or ``frame_step`` is not a scalar integer.
    """
    with name_scope(name, "overlap_and_add", [signal, frame_step]):
        frames = convert_to_tensor(signal, name="signal")
        frames.shape.with_rank_at_least(2)
        step = convert_to_tensor(frame_step, name="frame_step")
        step.shape.assert_has_rank(0)
        if not step.dtype.is_integer:
            raise ValueError(f"frame_step must be an integer. Got {step.dtype}")
        step = step if step.dtype.base_dtype.name == "int32" else _cast(step, "int32")
        sizes = shape_tensor(frames)
        outer, count, length = _part(sizes, 0, -2), _last(sizes, -2), _last(sizes)
        total = length + new("Maximum", x=count - 1, y=0) * step
        starts = new("ExpandDims", input=_count(count) * step, dim=1)
        places = new("Reshape", tensor=starts + new("ExpandDims", input=_count(length), dim=0), shape=[-1])
        rows = new("Reshape", tensor=frames, shape=new("Pack", values=[-1, count * length]))
        summed = unsorted_segment_sum(new("Transpose", x=rows, perm=[1, 0]), places, total)
        one = new("ExpandDims", input=total, dim=0)
        return new("Reshape", tensor=new("Transpose", x=summed, perm=[1, 0]), shape=_joined(outer, one))


# Short-time Fourier transforms


def _enclosing_power_of_two(value: Tensor) -> Any:
    static = constant_value(value)
    if static is not None:
        return np.int32(2 ** math.ceil(math.log2(max(int(static), 1))))
    logarithm = new("Log", x=_cast(value, "float32")) / math.log(2.0)
    return _cast(new("Pow", x=2.0, y=new("Ceil", x=logarithm)), "int32")


def stft(
    signals: TensorLike, frame_length: TensorLike, frame_step: TensorLike, fft_length: TensorLike | None = None,
    window_fn: Callable[..., Any] | None = hann_window, pad_end: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the short-time Fourier transform of signals.

    Args:
        signals: ``[..., samples]``, float32.
        frame_length: samples of a frame.
        frame_step: samples from the start of a frame to the start of the next.
        fft_length: length of the transform. None: the smallest power of two that holds a frame.
        window_fn: takes the length and a dtype and returns a window. None: no window.
        pad_end: as for ``frame``.
        name: name of the scope.

    Returns:
        ``[..., frames, fft_length // 2 + 1]``, complex64.
    """
    with name_scope(name, "stft", [signals, frame_length, frame_step]):
        samples = convert_to_tensor(signals, name="signals")
        samples.shape.with_rank_at_least(1)
        length = convert_to_tensor(frame_length, "int32", name="frame_length")
        length.shape.assert_has_rank(0)
        if fft_length is None:
            fft_length = _enclosing_power_of_two(length)
        fft_size = convert_to_tensor(fft_length, "int32", name="fft_length")
        frames = frame(samples, length, frame_step, pad_end=pad_end)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        static = constant_value(fft_size)
        lengths: Any = [int(static)] if static is not None else new("Pack", values=[fft_size])
        return rfft(frames, lengths)


def inverse_stft_window_fn(
    frame_step: TensorLike, forward_window_fn: Callable[..., Any] = hann_window,
    name: str | None = None,
) -> Callable[..., Tensor]:  # fmt: skip
    """Return a window function with which ``inverse_stft`` inverts ``stft``.

    Args:
        frame_step: samples from the start of a frame to the start of the next.
        forward_window_fn: the window function of ``stft``.
        name: name of the scope.
    """

    def window(frame_length: Any, dtype: DTypeLike) -> Tensor:
        with name_scope(name, "inverse_stft_window_fn", [frame_step]):
            step = convert_to_tensor(frame_step, "int32", name="frame_step")
            length = convert_to_tensor(frame_length, "int32", name="frame_length")
            forward = forward_window_fn(length, dtype=dtype)
            overlaps = -new("FloorDiv", x=-length, y=step)
            missing = overlaps * step - length
            squares = new(
                "Pad",
                input=new("Square", x=forward),
                paddings=new("Pack", values=[new("Pack", values=[0, missing])]),
            )
            rows = new("Reshape", tensor=squares, shape=new("Pack", values=[overlaps, step]))
            sums = new("Sum", input=rows, reduction_indices=[0], keep_dims=True)
            spread = new("Tile", input=sums, multiples=new("Pack", values=[overlaps, 1]))
            flat = new("Reshape", tensor=spread, shape=new("Pack", values=[overlaps * step]))
            return forward / new("Slice", input=flat, begin=[0], size=new("Pack", values=[length]))

    return window


def inverse_stft(
    stfts: TensorLike, frame_length: TensorLike, frame_step: TensorLike, fft_length: TensorLike | None = None,
    window_fn: Callable[..., Any] | None = hann_window, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the signals of short-time Fourier transforms.

    Args:
        stfts: ``[..., frames, fft_length // 2 + 1]``, complex64.
        frame_length: samples of a frame.
        frame_step: samples from the start of a frame to the start of the next.
        fft_length: length of the transform. None: the smallest power of two that holds a frame.
        window_fn: takes the length and a dtype and returns a window, see ``inverse_stft_window_fn``. None: no window.
        name: name of the scope.

    Returns:
        ``[..., samples]``, float32.
    """
    with name_scope(name, "inverse_stft", [stfts]):
        spectra = convert_to_tensor(stfts, name="stfts")
        spectra.shape.with_rank_at_least(2)
        length = convert_to_tensor(frame_length, "int32", name="frame_length")
        if fft_length is None:
            fft_length = _enclosing_power_of_two(length)
        fft_size = convert_to_tensor(fft_length, "int32", name="fft_length")
        frames = irfft(spectra, new("Pack", values=[fft_size]))
        sizes = shape_tensor(frames)
        used = new("Minimum", x=fft_size, y=length)
        size = _joined(_part(sizes, 0, -1), new("ExpandDims", input=used, dim=0))
        frames = new("Slice", input=frames, begin=new("ZerosLike", x=size), size=size)
        rank = spectra.shape.ndims
        if rank is None:
            raise ValueError("stfts must have a known rank")
        missing = new("Pack", values=[0, new("Maximum", x=length - fft_size, y=0)])
        paddings = _joined(np.zeros((rank - 1, 2), np.int32), new("ExpandDims", input=missing, dim=0))
        frames = new("Pad", input=frames, paddings=paddings)
        if window_fn is not None:
            frames = frames * window_fn(length, dtype=frames.dtype)
        return overlap_and_add(frames, frame_step)


# Cosine transforms


def _check_transform(type: int, axis: int, n: Any, norm: str | None, size: int | None) -> None:
    if axis != -1:
        raise NotImplementedError(f"axis must be -1. Got: {axis}")
    if n is not None and n < 1:
        raise ValueError("n should be a positive integer or None")
    if type not in (1, 2, 3):
        raise ValueError("Only Types I, II and III (I)DCT are supported.")
    if type == 1:
        if norm == "ortho":
            raise ValueError("Normalization is not supported for the Type-I DCT.")
        if size is not None and size < 2:
            raise ValueError("Type-I DCT requires the dimension to be greater than one.")
    if norm not in (None, "ortho"):
        raise ValueError(f"Unknown normalization. Expected None or 'ortho', got: {norm}")


def dct(
    input: TensorLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the cosine transform over the last dimension.

    Args:
        input: ``[..., samples]``, float32.
        type: 1, 2 or 3.
        n: length of the transform: the input is truncated or padded with zeros. None: all samples.
        axis: -1.
        norm: ``"ortho"``: orthonormal, for types 2 and 3. None: not normalized.
        name: name of the scope.

    Returns:
        A tensor like ``input``.

    Raises:
        ValueError: another type or norm, or ``n`` below 1.
        NotImplementedError: another axis.
    """
    samples = convert_to_tensor(input, "float32")
    static_size = samples.shape.dims[-1].value if samples.shape.dims else None
    _check_transform(type, axis, n, norm, static_size if n is None else n)
    with name_scope(name, "dct", [samples]):
        if n is not None:
            samples = _of_length(samples, n)
        size = _last(shape_tensor(samples))
        count = _cast(size, "float32")
        if type == 1:
            inner = new(
                "StridedSlice", input=samples, begin=[0, 1], end=[0, -1], strides=[1, 1], ellipsis_mask=1
            )
            back = new("ReverseV2", tensor=inner, axis=[-1])
            return _real_of(rfft(new("ConcatV2", values=[samples, back], axis=-1)))
        turns = _cast(_count(size), "float32") * (math.pi * 0.5) / count
        twice = new("Pack", values=[2 * size])
        if type == 2:
            turned = 2.0 * new("Exp", x=new("Complex", real=new("ZerosLike", x=turns), imag=-turns))
            spectrum = _cut(rfft(samples, twice), size)
            real = _real_of(spectrum * turned)
            return (
                real if norm is None else real * _weights(0.5 * new("Rsqrt", x=count), math.sqrt(2.0), size)
            )
        if norm == "ortho":
            samples = samples * _weights(new("Sqrt", x=count), math.sqrt(0.5), size)
        else:
            samples = samples * count
        turned = 2.0 * new("Exp", x=new("Complex", real=new("ZerosLike", x=turns), imag=turns))
        waves = turned * new("Complex", real=samples, imag=new("ZerosLike", x=samples))
        return _cut(irfft(waves, twice), size)


def idct(
    input: TensorLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the inverse cosine transform over the last dimension: type 2 is inverted by type 3 and vice versa.

    Args:
        input: ``[..., samples]``, float32.
        type: 1, 2 or 3, the type of the transform to invert.
        n: None.
        axis: -1.
        norm: as for ``dct``; None: the result is the signal times twice its length.
        name: name of the scope.

    Returns:
        A tensor like ``input``.

    Raises:
        ValueError: as for ``dct``.
        NotImplementedError: as for ``dct``.
    """
    return dct(input, type={2: 3, 3: 2}.get(type, type), n=n, axis=axis, norm=norm, name=name)


def _real_of(x: Tensor) -> Tensor:
    return new("Real", input=x, Tout="float32")


def _cut(x: Tensor, size: Tensor) -> Tensor:
    """Return the first ``size`` numbers of the last dimension."""
    outer = _part(shape_tensor(x), 0, -1)
    wanted = _joined(outer, new("ExpandDims", input=size, dim=0))
    return new("Slice", input=x, begin=new("ZerosLike", x=wanted), size=wanted)


def _of_length(x: Tensor, n: int) -> Tensor:
    size = x.shape.dims[-1].value if x.shape.dims else None
    if size is None:
        raise ValueError("the last dimension must be known if n is given")
    if n <= size:
        return _cut(x, convert_to_tensor(n, "int32"))
    assert x.shape.ndims is not None
    return new("Pad", input=x, paddings=[[0, 0]] * (x.shape.ndims - 1) + [[0, n - size]])


def _weights(first: Tensor, ratio: float, size: Tensor) -> Tensor:
    """Return a vector of ``first`` followed by ``first * ratio``."""
    rest = new("Fill", dims=new("Pack", values=[size - 1]), value=first * ratio)
    return _joined(new("ExpandDims", input=first, dim=0), rest)


# Mel scale


def _mel(hertz: Any) -> Tensor:
    return 1127.0 * new("Log", x=1.0 + hertz / 700.0)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20, num_spectrogram_bins: TensorLike = 129, sample_rate: Any = 8000,
    lower_edge_hertz: float = 125.0, upper_edge_hertz: float = 3800.0, dtype: DTypeLike = "float32",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the matrix that converts magnitudes of linear frequencies to mel bands.

    Args:
        num_mel_bins: number of bands.
        num_spectrogram_bins: number of frequencies from 0 to half the sample rate, a scalar integer.
        sample_rate: samples per second.
        lower_edge_hertz: lower edge of the lowest band, in hertz.
        upper_edge_hertz: upper edge of the highest band, in hertz.
        dtype: floating.
        name: name of the scope.

    Returns:
        ``[num_spectrogram_bins, num_mel_bins]`` of that dtype.

    Raises:
        ValueError: a number is not positive, or the edges are out of order or above half the sample rate.
    """
    with name_scope(name, "linear_to_mel_weight_matrix"):
        if num_mel_bins <= 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {num_mel_bins}")
        if lower_edge_hertz < 0.0:
            raise ValueError(f"lower_edge_hertz must be non-negative. Got: {lower_edge_hertz}")
        if lower_edge_hertz >= upper_edge_hertz:
            raise ValueError(
                f"lower_edge_hertz {lower_edge_hertz:.1f} >= upper_edge_hertz {upper_edge_hertz:.1f}"
            )
        if not isinstance(sample_rate, Tensor):
            if sample_rate <= 0.0:
                raise ValueError(f"sample_rate must be positive. Got: {sample_rate}")
            if upper_edge_hertz > sample_rate / 2:
                raise ValueError(
                    f"upper_edge_hertz must not be larger than the Nyquist frequency (sample_rate / 2). Got"
                    f" {upper_edge_hertz} for sample_rate: {sample_rate}"
                )
        if not as_dtype(dtype).is_floating:
            raise ValueError(f"dtype must be a floating point type. Got: {dtype}")
        rate = _cast(convert_to_tensor(sample_rate, name="sample_rate"), dtype)
        low, high = (convert_to_tensor(edge, dtype) for edge in (lower_edge_hertz, upper_edge_hertz))
        zero = like(0, rate)
        bins = convert_to_tensor(num_spectrogram_bins, "int32")
        linear = new("LinSpace", start=zero, stop=rate / 2.0, num=bins)
        above_zero = new("StridedSlice", input=linear, begin=[1], end=[0], strides=[1], end_mask=1)
        places = new("ExpandDims", input=_mel(above_zero), dim=1)
        edges = new("LinSpace", start=_mel(low), stop=_mel(high), num=num_mel_bins + 2)
        lower, middle, upper = (
            new("Slice", input=edges, begin=[first], size=[num_mel_bins]) for first in range(3)
        )
        rising, falling = (places - lower) / (middle - lower), (upper - places) / (upper - middle)
        weights = new("Maximum", x=zero, y=new("Minimum", x=rising, y=falling))
        return new("Pad", input=weights, paddings=[[1, 0], [0, 0]])


def _halves_swapped(default_name: str, sign: int, x: Any, axes: Any, name: str | None) -> Tensor:
    with name_scope(name, default_name) as scope:
        x = convert_to_tensor(x)
        sizes = x.shape.as_list()
        chosen = range(len(sizes)) if axes is None else [axes] if isinstance(axes, int) else axes
        shifts: Any = [sign * (sizes[axis] // 2) for axis in chosen]
        if isinstance(axes, int):
            return roll(x, shifts[0], axes, scope)
        return roll(x, shifts, tuple(chosen), scope)


def fftshift(x: TensorLike, axes: int | Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """Shift the zero frequency of a spectrum to the middle.

    >>> import gpuplace as tf
    >>> tf.Session().run(tf.signal.fftshift([0.0, 1.0, 2.0, -2.0, -1.0])).tolist()
    [-2.0, -1.0, 0.0, 1.0, 2.0]

    Args:
        x: the spectrum, of known sizes.
        axes: the frequency axes, one or several; None: all.
        name: name of the scope.

    Raises:
        ValueError: the rank is unknown.
    """
    return _halves_swapped("fftshift", 1, x, axes, name)


def ifftshift(x: TensorLike, axes: int | Sequence[int] | None = None, name: str | None = None) -> Tensor:
    """Shift the zero frequency of a spectrum to the front: the inverse of `fftshift`.

    Args:
        x: the spectrum, of known sizes.
        axes: the frequency axes, one or several; None: all.
        name: name of the scope.

    Raises:
        ValueError: the rank is unknown.
    """
    return _halves_swapped("ifftshift", -1, x, axes, name)


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: TensorLike, name: str | None = None) -> Tensor:
    """Return the mel-frequency cepstral coefficients of log-mel spectrograms.

    Args:
        log_mel_spectrograms: ``[..., num_mel_bins]``, float32.
        name: name of the scope.

    Returns:
        A tensor of the same shape and dtype.

    Raises:
        ValueError: there are no bands.
    """
    with name_scope(name, "mfccs_from_log_mel_spectrograms", [log_mel_spectrograms]):
        spectrograms = convert_to_tensor(log_mel_spectrograms, "float32")
        static_size = spectrograms.shape.dims[-1].value if spectrograms.shape.dims else None
        if static_size == 0:
            raise ValueError(f"num_mel_bins must be positive. Got: {spectrograms.shape}")
        bins = _cast(_last(shape_tensor(spectrograms)), "float32")
        return dct(spectrograms, type=2) * new("Rsqrt", x=bins * 2.0)

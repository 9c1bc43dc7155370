"""Audio: decoding and encoding of WAV files, spectrograms, and cepstral coefficients.

Source: tensorflow/core/kernels/decode_wav_op.cc, encode_wav_op.cc, spectrogram.cc, mfcc_mel_filterbank.cc, mfcc_dct.cc,
core/lib/wav/wav_io.cc and core/ops/audio_ops.cc, release 1.15 (formats, formulas).
"""

from __future__ import annotations

import math
import struct
from typing import Any, NamedTuple

import numpy as np

from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.apply_op import apply_op
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graph.shape_inference import shape_function
from gpuplace.kernels.compute import compute
from gpuplace.numerics.summary_media import wav_file
from gpuplace.ops.shape_rules import require_rank
from gpuplace.ops.support import new
from gpuplace.shapes import SCALAR_SHAPE, TensorShape
from gpuplace.typing import Array, ArrayModule, TensorLike

__all__ = ["audio_spectrogram", "decode_wav", "encode_wav", "mfcc"]


class DecodeWav(NamedTuple):
    """Result of ``decode_wav``."""

    audio: Tensor
    """Samples, from -1 to 1."""
    sample_rate: Tensor
    """Samples per second."""


def decode_wav(
    contents: TensorLike, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodeWav:
    """Decode a WAV file.

    Args:
        contents: the bytes of the file, a string scalar: 16-bit PCM.
        desired_channels: number of channels in the result; the last one is repeated. -1: as in the file.
        desired_samples: number of samples; the rest is dropped, or padded with zeros. -1: as in the file.
        name: name of the op.

    Returns:
        ``audio``, float32 ``[samples, channels]`` from -1 to 1, and ``sample_rate``, an int32 scalar.

    Raises:
        InvalidArgumentError: at run time, it is not such a file.
    """
    return DecodeWav(
        *apply_op(
            "DecodeWav",
            name,
            contents=contents,
            desired_channels=desired_channels,
            desired_samples=desired_samples,
        ).outputs
    )


def encode_wav(audio: TensorLike, sample_rate: TensorLike, name: str | None = None) -> Tensor:
    """Encode a WAV file.

    Args:
        audio: float32 ``[samples, channels]``; values are clipped to -1 to 1.
        sample_rate: samples per second, an int32 scalar.
        name: name of the op.

    Returns:
        A string scalar: 16-bit PCM.

    Raises:
        InvalidArgumentError: at run time, the shapes are wrong, or there are no samples.
    """
    return new("EncodeWav", name, audio=audio, sample_rate=sample_rate)


def audio_spectrogram(
    input: TensorLike, window_size: int, stride: int, magnitude_squared: bool = False, name: str | None = None
) -> Tensor:
    """Return the spectrogram of a signal: the magnitude of each frequency in each window.

    Args:
        input: float32 ``[samples, channels]``.
        window_size: number of samples in a window, 2 or more.
        stride: samples from the start of a window to the start of the next.
        magnitude_squared: whether to return squared magnitudes.
        name: name of the op.

    Returns:
        float32 ``[channels, windows, n // 2 + 1]``, for the smallest power of two ``n`` that holds a window.
    """
    return new(
        "AudioSpectrogram",
        name,
        input=input,
        window_size=window_size,
        stride=stride,
        magnitude_squared=magnitude_squared,
    )


def mfcc(
    spectrogram: TensorLike, sample_rate: TensorLike, upper_frequency_limit: float = 4000,
    lower_frequency_limit: float = 20, filterbank_channel_count: int = 40, dct_coefficient_count: int = 13,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the mel-frequency cepstral coefficients of spectrograms of squared magnitudes.

    Args:
        spectrogram: float32 ``[channels, windows, frequencies]``.
        sample_rate: samples per second, an int32 scalar.
        upper_frequency_limit: highest frequency used, in hertz.
        lower_frequency_limit: lowest frequency used, in hertz.
        filterbank_channel_count: number of mel bands.
        dct_coefficient_count: number of coefficients.
        name: name of the op.

    Returns:
        float32 ``[channels, windows, dct_coefficient_count]``.
    """
    return new(
        "Mfcc", name, spectrogram=spectrogram, sample_rate=sample_rate, upper_frequency_limit=upper_frequency_limit,
        lower_frequency_limit=lower_frequency_limit, filterbank_channel_count=filterbank_channel_count,
        dct_coefficient_count=dct_coefficient_count,
    )  # fmt: skip


# Files


def _chunks(data: bytes) -> tuple[tuple[int, int, int], bytes]:
    """Return (channels, samples per second, bits) and the samples of a file."""
    if data[:4] != b"RIFF":
        raise InvalidArgumentError.of(
            f"Header mismatch: Expected RIFF but found {data[:4].decode(errors='replace')}"
        )
    if data[8:12] != b"WAVE":
        raise InvalidArgumentError.of(
            f"Header mismatch: Expected WAVE but found {data[8:12].decode(errors='replace')}"
        )
    at, header = 12, None
    while at + 8 <= len(data):
        name, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8
        if name == b"fmt ":
            if size not in (16, 18) or at + 16 > len(data):
                raise InvalidArgumentError.of(f"Bad size for WAV header: Expected 16 or 18, but got {size}")
            code, channels, rate, per_second, per_sample, bits = struct.unpack("<HHIIHH", data[at : at + 16])
            if code != 1:
                raise InvalidArgumentError.of(f"Bad audio format for WAV: Expected 1 (PCM), but got{code}")
            if bits != 16:
                raise InvalidArgumentError.of(f"Can only read 16-bit WAV files, but received {bits}")
            if per_sample != (bits * channels + 7) // 8:
                raise InvalidArgumentError.of(
                    f"Bad bytes per sample in WAV header: Expected {(bits * channels + 7) // 8} but got {per_sample}"
                )
            if per_second != per_sample * rate:
                raise InvalidArgumentError.of(
                    f"Bad bytes per second in WAV header: Expected {per_sample * rate} but got {per_second}"
                    f" (sample_rate={rate}, bytes_per_sample={per_sample})"
                )
            header = (channels, rate, bits)
        elif name == b"data":
            if header is None:
                raise InvalidArgumentError.of("The data chunk of the WAV file comes before the header")
            if at + size > len(data):
                raise InvalidArgumentError.of(f"Data too short when trying to read {size} bytes of samples")
            return header, data[at : at + size]
        at += size
    raise InvalidArgumentError.of("The WAV file has no data chunk")


@compute("DecodeWav", fresh=True)
def _decode_wav(
    xp: ArrayModule, contents: Array, *, desired_channels: int, desired_samples: int
) -> tuple[Any, Any]:
    if contents.ndim:
        raise InvalidArgumentError.of(f"contents must be scalar, got shape {list(contents.shape)}")
    (channels, rate, _), samples = _chunks(contents.item())
    numbers = np.frombuffer(samples[: len(samples) // (2 * channels) * 2 * channels], "<i2").reshape(
        -1, channels
    )
    audio = numbers.astype(np.float32) / np.float32(32768)
    if desired_channels >= 0:
        places = np.minimum(np.arange(desired_channels), channels - 1)
        audio = audio[:, places]
    if desired_samples >= 0:
        missing = max(0, desired_samples - len(audio))
        audio = np.concatenate([audio[:desired_samples], np.zeros((missing, audio.shape[1]), np.float32)])
    return np.ascontiguousarray(audio), np.asarray(rate, np.int32)


@shape_function("DecodeWav")
def _decode_wav_shape(op: Operation) -> list[TensorShape]:
    require_rank(op.inputs[0].shape, 0)
    sizes = [
        None if op.attrs[name] < 0 else op.attrs[name] for name in ("desired_samples", "desired_channels")
    ]
    return [TensorShape.of(tuple(sizes)), SCALAR_SHAPE]


@compute("EncodeWav", fresh=True)
def _encode_wav(xp: ArrayModule, audio: Array, sample_rate: Array) -> Array:
    if audio.ndim != 2:
        raise InvalidArgumentError.of(f"audio must be 2-dimensional, got shape {list(audio.shape)}")
    if sample_rate.ndim:
        raise InvalidArgumentError.of(f"sample_rate should be a scalar, got shape {list(sample_rate.shape)}")
    if not audio.size:
        raise InvalidArgumentError.of(
            "Insufficient data to write: num_frames and num_channels must be positive"
        )
    result = np.empty((), object)
    result[()] = wav_file(audio, float(sample_rate))
    return result


@shape_function("EncodeWav")
def _encode_wav_shape(op: Operation) -> list[TensorShape]:
    require_rank(op.inputs[0].shape, 2)
    require_rank(op.inputs[1].shape, 0)
    return [SCALAR_SHAPE]


# Spectrograms


def _power_of_two(size: int) -> int:
    return 1 << max(0, size - 1).bit_length()


@compute("AudioSpectrogram", fresh=True, slow=True)
def _audio_spectrogram(
    xp: ArrayModule, input: Array, *, window_size: int, stride: int, magnitude_squared: bool
) -> Array:
    if input.ndim != 2:
        raise InvalidArgumentError.of(f"input must be 2-dimensional, got shape {list(input.shape)}")
    if window_size < 2:
        raise InvalidArgumentError.of(f"window length must be at least 2, got {window_size}")
    if stride < 1:
        raise InvalidArgumentError.of(f"stride must be strictly positive, got {stride}")
    fft_length = _power_of_two(window_size)
    count = max(0, 1 + (len(input) - window_size) // stride)
    channels = xp.ascontiguousarray(input.T).astype("float64")
    if not count:
        return xp.zeros((len(channels), 0, fft_length // 2 + 1), input.dtype)
    window = 0.5 - 0.5 * xp.cos(2 * math.pi * xp.arange(window_size) / window_size)
    places = xp.arange(count)[:, None] * stride + xp.arange(window_size)
    spectrum = xp.fft.rfft(channels[:, places] * window, fft_length)
    squares = spectrum.real**2 + spectrum.imag**2
    return (squares if magnitude_squared else xp.sqrt(squares)).astype(input.dtype)


@shape_function("AudioSpectrogram")
def _audio_spectrogram_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank(op.inputs[0].shape, 2).sizes
    window, stride = op.attrs["window_size"], op.attrs["stride"]
    assert sizes is not None
    count = None if sizes[0] is None else max(0, 1 + (sizes[0] - window) // stride) if stride > 0 else None
    return [TensorShape.of((sizes[1], count, _power_of_two(window) // 2 + 1))]


def _bands(frequencies: int, rate: float, low: float, high: float, count: int) -> Array:
    """Return the weight of each frequency in each band, ``[frequencies, bands]``: triangles on the mel scale."""
    if frequencies < 2 or low < 0 or low >= high:
        raise InvalidArgumentError.of(
            f"Mel filterbank initialization failed for spectrogram of {frequencies} frequencies, from {low} to {high}"
        )

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log1p(np.asarray(hertz, np.float64) / 700.0)

    start = mel(low)
    spacing = (mel(high) - start) / (count + 1)
    centers = start + spacing * np.arange(1, count + 2)
    width = 0.5 * rate / (frequencies - 1)
    first, last = int(1.5 + low / width), int(high / width)
    weights = np.zeros((frequencies, count + 1))
    for place in range(first, min(last, frequencies - 1) + 1):
        at = mel(place * width)
        band = int(np.searchsorted(centers[:count], at)) - 1
        left = centers[band] if band >= 0 else start
        share = (centers[band + 1] - at) / (centers[band + 1] - left)
        if band >= 0:
            weights[place, band] += share
        weights[place, band + 1] += 1 - share
    return weights[:, :count]


@compute("Mfcc", fresh=True, slow=True)
def _mfcc(
    xp: ArrayModule, spectrogram: Array, sample_rate: Array, *, upper_frequency_limit: float,
    lower_frequency_limit: float,
    filterbank_channel_count: int, dct_coefficient_count: int,
) -> Array:  # fmt: skip
    if spectrogram.ndim != 3:
        raise InvalidArgumentError.of(
            f"spectrogram must be 3-dimensional, got shape {list(spectrogram.shape)}"
        )
    if sample_rate.ndim:
        raise InvalidArgumentError.of(f"sample_rate should be a scalar, got shape {list(sample_rate.shape)}")
    count, coefficients = filterbank_channel_count, dct_coefficient_count
    limits = (lower_frequency_limit, upper_frequency_limit)
    if not 0 < coefficients <= count:
        raise InvalidArgumentError.of(
            "DCT coefficient count must be positive and at most the filterbank channel count"
        )
    bands = xp.asarray(_bands(spectrogram.shape[-1], float(sample_rate), *limits, count))
    energies = xp.log(xp.maximum(xp.sqrt(spectrogram.astype("float64")) @ bands, 1e-12))
    waves = xp.cos(xp.arange(coefficients)[None, :] * (math.pi / count) * (xp.arange(count)[:, None] + 0.5))
    return (energies @ (math.sqrt(2.0 / count) * waves)).astype(spectrogram.dtype)


@shape_function("Mfcc")
def _mfcc_shape(op: Operation) -> list[TensorShape]:
    sizes = require_rank(op.inputs[0].shape, 3).sizes
    require_rank(op.inputs[1].shape, 0)
    assert sizes is not None
    return [TensorShape.of((*sizes[:2], op.attrs["dct_coefficient_count"]))]

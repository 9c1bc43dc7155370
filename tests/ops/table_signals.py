"""Cases of transforms, sound, patches, and functions that integrals define."""

import numpy as np

from tests.ops.cases import Case, c64, f32, f64, i32, i64, ramp, s

RNG = np.random.default_rng(11)
WAVE = RNG.uniform(-1, 1, (20, 2)).astype(np.float32)
WAV = (
    b"RIFF,\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x02\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x10\x00"
    b"data\x08\x00\x00\x00\x00\x40\x00\xc0\xff\x7f\x00\x80"
)
REAL = RNG.uniform(-1, 1, (2, 3, 4)).astype(np.float32)
WHOLE = c64(REAL + 1j * RNG.uniform(-1, 1, (2, 3, 4)))
TRIANGLE = f64(RNG.uniform(1, 2, (2, 3, 3)))
IMAGES = ramp(2, 5, 4, 2, step=-0.25)
VOLUMES = ramp(2, 3, 5, 4, 2, step=-0.25)
A, X = f64([0.3, 2.0, 7.5, 4.0]), f64([0.0, 1.5, 30.0, 0.2])

CASES = [
    *(Case(f"{prefix}FFT{end}", [WHOLE]) for end in ("", "2D", "3D") for prefix in ("", "I")),
    Case("RFFT", [REAL, i32([4])]),
    Case("RFFT", [REAL, i32([3])], {}, "cut"),
    Case("RFFT", [REAL, i32([6])], {}, "too long", only_class=True),
    Case("RFFT2D", [REAL, i32([3, 4])]),
    Case("RFFT3D", [REAL, i32([2, 2, 3])]),
    Case("IRFFT", [WHOLE, i32([6])]),
    Case("IRFFT", [WHOLE, i32([5])], {}, "odd"),
    Case("IRFFT2D", [WHOLE, i32([3, 6])]),
    Case("IRFFT3D", [WHOLE, i32([2, 3, 6])]),
    Case("DecodeWav", [s(WAV)], {"desired_channels": -1, "desired_samples": -1}),
    Case("DecodeWav", [s(WAV)], {"desired_channels": 3, "desired_samples": 4}, "another shape"),
    Case("DecodeWav", [s(WAV[:40])], {"desired_channels": -1, "desired_samples": -1}, "cut", only_class=True),
    Case("EncodeWav", [f32([[0.5, -0.5], [2.0, -2.0]]), i32(8000)]),
    Case("AudioSpectrogram", [WAVE], {"window_size": 6, "stride": 3}, atol=1e-5),
    Case(
        "AudioSpectrogram",
        [WAVE],
        {"window_size": 8, "stride": 4, "magnitude_squared": True},
        "squares",
        atol=1e-5,
    ),
    Case("Mfcc", [np.abs(RNG.uniform(0, 5, (1, 2, 129))).astype(np.float32), i32(16000)], {}, atol=1e-5),
    Case(
        "ExtractImagePatches",
        [IMAGES],
        {"ksizes": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "rates": [1, 2, 1, 1], "padding": "VALID"},
    ),
    Case(
        "ExtractImagePatches",
        [IMAGES],
        {"ksizes": [1, 2, 3, 1], "strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1], "padding": "SAME"},
    ),
    Case(
        "ExtractVolumePatches",
        [VOLUMES],
        {"ksizes": [1, 2, 3, 1, 1], "strides": [1, 1, 2, 1, 1], "padding": "VALID"},
    ),
    Case(
        "ExtractVolumePatches",
        [VOLUMES.astype(np.float64)],
        {"ksizes": [1, 2, 2, 3, 1], "strides": [1, 2, 1, 2, 1], "padding": "SAME"},
    ),
    Case(
        "MaxPoolWithArgmax",
        [IMAGES],
        {"ksize": [1, 2, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME", "Targmax": "int64"},
    ),
    Case(
        "MaxPoolGradWithArgmax",
        [IMAGES, ramp(2, 2, 2, 2), i64([[[[0, 1], [2, 3]]] * 2] * 2)],
        {"ksize": [1, 2, 2, 1], "strides": [1, 4, 2, 1], "padding": "SAME"},
    ),
    Case("UnravelIndex", [i64([2, 5, 11]), i64([3, 4])]),
    Case("UnravelIndex", [i32(12), i32([3, 4])], {}, "beyond", only_class=True),
    Case(
        "MatrixTriangularSolve",
        [TRIANGLE, f64(RNG.uniform(-1, 1, (2, 3, 2)))],
        {"lower": False, "adjoint": True},
    ),
    Case("LogMatrixDeterminant", [TRIANGLE]),
    Case("Zeta", [f64([1.5, 3.0, 1.0, 0.5]), f64([0.5, 4.0, 1.0, 1.0])]),
    Case("Polygamma", [f64([0, 1, 3, 2.5]), f64([0.5, 4.0, 1.5, 1.0])]),
    Case("Igamma", [A, X], rtol=1e-12),
    Case("Igammac", [A, X], rtol=1e-12),
    Case("IgammaGradA", [A, X], rtol=1e-9),
    Case("Betainc", [A, f64([0.5, 3.0, 1.0, 9.0]), f64([0.1, 0.0, 1.0, 0.4])], rtol=1e-12),
    Case("BesselI0e", [f64([-3, 0, 0.5, 90])], rtol=1e-12),
    Case("BesselI1e", [f64([-3, 0, 0.5, 90])], rtol=1e-12),
    Case(
        "RegexReplace", [s(["foo", "a.b"]), s("o*"), s(b"<\\0>")], {"replace_global": True}, "empty matches"
    ),
    Case("DecodeBase64", [s(["ab=c"])], {}, "padding within"),
    Case("InTopK", [f32([[1, 2, np.inf], [3, 2, 1]]), i32([1, 0])], {"k": 3}, "infinite"),
    Case("ReduceJoin", [s(["a", "b"]), i32([1])], {}, "axis", only_class=True),
]
"""What `tests/oracle/record/ops.py` records."""

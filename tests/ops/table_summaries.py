"""Cases: summaries. Images are in `tests/ops/test_summaries.py`: PNG files of equal content differ in their bytes."""

import numpy as np

from tests.ops.cases import Case, bf16, f16, f32, f64, i32, i64, ramp, s, u8

EMPTY = b""
ONE = b"\n\x08\n\x01a\x15\x00\x00\x80?"  # Summary(value=[Value(tag="a", simple_value=1.0)])
OTHER = b"\n\x08\n\x01b\x15\x00\x00\x00@"
UNTAGGED = b"\n\x05\x15\x00\x00\x80?"
TEXT = b"*\x08\n\x06\n\x04text"[2:]

CASES = [
    Case("ScalarSummary", [s(b"loss"), f32(0.25)]),
    Case("ScalarSummary", [s(b"loss"), f64(1e-300)], label="double"),
    Case("ScalarSummary", [s(b"loss"), f16(2.5)], label="half"),
    Case("ScalarSummary", [s(b"loss"), bf16(2.5)], label="bfloat16"),
    Case("ScalarSummary", [s(b"steps"), i64(2**40 + 1)], label="int64"),
    Case("ScalarSummary", [s(b"byte"), u8(255)], label="uint8"),
    Case("ScalarSummary", [s(b"nan"), f32(np.nan)], label="nan"),
    Case("ScalarSummary", [s(b"inf"), f32(-np.inf)], label="inf"),
    Case("ScalarSummary", [s([b"a", b"b"]), f32([1.0, 2.0])], label="vector"),
    Case("ScalarSummary", [s([[b"a"], [b"b"]]), i32([[1], [2]])], label="matrix"),
    Case("ScalarSummary", [s(b"lonely"), f32([1.0, 2.0])], label="shapes", only_class=True),
    Case("ScalarSummary", [s([b"a", b"b"]), f32([1.0])], label="lengths", only_class=True),
    Case("HistogramSummary", [s(b"h"), f32([[1.0, 2.0], [3.0, -7.0]])]),
    Case("HistogramSummary", [s(b"h"), i64([[1, 2], [3, -7]])], label="int64"),
    Case("HistogramSummary", [s(b"h"), f32(5.0)], label="scalar"),
    Case("HistogramSummary", [s(b"h"), i32([0, 0, 0])], label="zeros"),
    Case("HistogramSummary", [s(b"h"), f32(np.zeros(0))], label="none"),
    Case("HistogramSummary", [s(b"h"), f64([1e30, -1e30, 1e-13, 1e-12, -1e-12, 1e300])], label="far"),
    Case("HistogramSummary", [s(b"h"), f64([1.7e308, -1.7e308])], label="overflow"),
    Case("HistogramSummary", [s(b"h"), f32(np.sin(np.arange(500)) * 3)], label="sine"),
    Case("HistogramSummary", [s(b"h"), f16([0.1, 0.2, -65504])], label="half"),
    Case("HistogramSummary", [s(b"h"), bf16([0.1, 0.2])], label="bfloat16"),
    Case("HistogramSummary", [s(b"h"), u8([0, 1, 255, 255])], label="uint8"),
    Case("HistogramSummary", [s(b"h"), f32([1.0, np.nan, np.inf])], label="nan"),
    Case("HistogramSummary", [s(b"h"), f32([1.0, -np.inf, np.nan])], label="infinity", only_class=True),
    Case("HistogramSummary", [s([b"a", b"b"]), f32([1.0])], label="tags"),
    Case("ImageSummary", [s(b"i"), f32(np.zeros([0, 2, 2, 1]))], {"max_images": 3}, "no images"),
    Case("ImageSummary", [s(b"i"), ramp(2, 3, 4)], {"max_images": 3}, "rank"),
    Case("ImageSummary", [s(b"i"), ramp(2, 3, 3, 2)], {"max_images": 3}, "channels"),
    Case("ImageSummary", [s(b"i"), f32(np.zeros([2, 0, 3, 3]))], {"max_images": 3}, "zero height"),
    Case("AudioSummaryV2", [s(b"a"), f32([[0.0, 0.5, -0.5, 1.0]]), f32(44100.0)], {"max_outputs": 1}),
    Case("AudioSummaryV2", [s(b"a"), ramp(3, 4, 2, step=0.05), f32(22050.7)], {"max_outputs": 2}, "stereo"),
    Case(
        "AudioSummaryV2",
        [s(b"a"), f32([[-2.0, 2.0, -1.0, np.nan, 1 / 3, 1e-5]]), f32(8000.2)],
        {"max_outputs": 3},
        "beyond",
    ),
    Case("AudioSummaryV2", [s(b"a"), f32([[0.0]]), f32(0.25)], {"max_outputs": 3}, "slow"),
    Case("AudioSummaryV2", [s(b"a"), f32([[0.0]]), f32(0.0)], {"max_outputs": 3}, "no rate"),
    Case("AudioSummaryV2", [s(b"a"), f32([0.0, 1.0]), f32(8000.0)], {"max_outputs": 3}, "rank"),
    Case("AudioSummaryV2", [s(b"a"), f32(np.zeros([0, 3, 1])), f32(8000.0)], {"max_outputs": 3}, "no sounds"),
    Case("TensorSummaryV2", [s(b"t"), f32([[1.0, 2.0]]), s(EMPTY)]),
    Case("TensorSummaryV2", [s(b"t"), f32(1.5), s(TEXT)], label="scalar"),
    Case("TensorSummaryV2", [s(b"t"), i64([3]), s(EMPTY)], label="one"),
    Case("TensorSummaryV2", [s(b"t"), s([b"a", b"b"]), s(TEXT)], label="texts"),
    Case("TensorSummaryV2", [s(b"t"), np.array([True, False]), s(EMPTY)], label="bool"),
    Case("TensorSummaryV2", [s(b"t"), f16([1.0, 2.0]), s(EMPTY)], label="half"),
    Case("TensorSummaryV2", [s(b"t"), np.array([1 + 2j, 3], np.complex64), s(EMPTY)], label="complex"),
    Case("TensorSummaryV2", [s(b"t"), f32(np.zeros([0, 2])), s(EMPTY)], label="empty"),
    Case("TensorSummaryV2", [s([b"t"]), f32(1.0), s(EMPTY)], label="tags"),
    Case("TensorSummary", [f32([1.0, 2.0])], label="old"),
    Case("MergeSummary", [[s(ONE), s(OTHER)]]),
    Case("MergeSummary", [[s([ONE, OTHER]), s(EMPTY)]], label="vector"),
    Case("MergeSummary", [[s(UNTAGGED), s(UNTAGGED)]], label="untagged"),
    Case("MergeSummary", [[s(ONE), s(OTHER), s(ONE)]], label="twice"),
    Case("MergeSummary", [[s(ONE), s(b"\xff\xff")]], label="damaged"),
]

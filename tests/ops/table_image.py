"""Cases of images: sizes, colours, boxes and files."""

import base64
import struct
import zlib

import numpy as np

from tests.ops.cases import Case, f16, f32, f64, i32, i64, ramp, u8


def wave(*shape, dtype=np.float32, top=1.0):
    """Values from 0 to ``top`` in no order."""
    numbers = (np.arange(int(np.prod(shape))) * 37 % 101) / 100
    return (numbers * top).reshape(shape).astype(dtype)


def data(content):
    """A string scalar."""
    made = np.empty((), object)
    made[()] = content
    return made


def png(pixels, colour, depth, filters=(0,), palette=b"", transparent=b""):
    """A PNG file of rows of bytes, each with the next of the filters."""

    def chunk(kind, content):
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    height, row_bytes = pixels.shape
    step = max(1, {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * depth // 8)
    width = row_bytes * 8 // ({0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * depth)
    rows, before = [], np.zeros(row_bytes, np.int64)
    for number, row in enumerate(pixels.astype(np.int64)):
        kind = filters[number % len(filters)]
        left = np.concatenate([np.zeros(step, np.int64), row[:-step]])
        corner = np.concatenate([np.zeros(step, np.int64), before[:-step]])
        guess = left + before - corner
        nearest = np.where(
            (abs(guess - left) <= abs(guess - before)) & (abs(guess - left) <= abs(guess - corner)),
            left,
            np.where(abs(guess - before) <= abs(guess - corner), before, corner),
        )
        expected = [np.zeros_like(row), left, before, (left + before) // 2, nearest][kind]
        rows.append(bytes([kind]) + ((row - expected) % 256).astype(np.uint8).tobytes())
        before = row
    parts = [chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, 0))]
    parts += [chunk(b"PLTE", palette)] if palette else []
    parts += [chunk(b"tRNS", transparent)] if transparent else []
    parts += [chunk(b"IDAT", zlib.compress(b"".join(rows))), chunk(b"IEND", b"")]
    return data(b"\x89PNG\r\n\x1a\n" + b"".join(parts))


def bytes_of(height, row_bytes):
    return (np.arange(height * row_bytes) * 89 % 256).reshape(height, row_bytes)


def bmp(channels, top_down=False):
    height, width = 2, 3
    row = (width * channels + 3) // 4 * 4
    pixels = bytes_of(height, row).astype(np.uint8).tobytes()
    header = struct.pack(
        "<IiiHHIIiiII", 40, width, -height if top_down else height, 1, 8 * channels, 0, 0, 0, 0, 0, 0
    )
    return data(b"BM" + struct.pack("<IHHI", 54 + len(pixels), 0, 0, 54) + header + pixels)


GIF = data(base64.b64decode("R0lGODlhAgACAIAAAP8AAAAA/yH5BAAKAAAALAAAAAACAAIAAAIDRAJZADs="))

IMAGE = wave(1, 4, 5, 3)
SIZES = [[8, 10], [2, 3], [4, 5], [1, 1], [7, 2]]


def resized(op, **attrs):
    """Several sizes, and the settings."""
    cases = [
        Case(op, [IMAGE, i32(size)], attrs, "-".join(map(str, size)), rtol=2e-5, atol=2e-6) for size in SIZES
    ]
    cases += [
        Case(op, [IMAGE, i32([6, 7])], {**attrs, "align_corners": True}, "corners", rtol=2e-5, atol=2e-6),
        Case(op, [IMAGE, i32([1, 3])], {**attrs, "align_corners": True}, "corners-one", rtol=2e-5, atol=2e-6),
        Case(
            op, [wave(2, 3, 3, 1, dtype=np.uint8, top=255), i32([5, 4])], attrs, "uint8", rtol=2e-5, atol=1e-4
        ),
        Case(
            op, [wave(1, 3, 2, 2, dtype=np.int32, top=900), i32([5, 4])], attrs, "int32", rtol=2e-5, atol=1e-3
        ),
        Case(op, [wave(1, 3, 2, 2, dtype=np.float64), i32([5, 4])], attrs, "double", rtol=2e-5, atol=2e-6),
        Case(op, [wave(3, 3, 2), i32([5, 4])], attrs, "rank", only_class=True),
        Case(op, [IMAGE, i32([5])], attrs, "size", only_class=True),
        Case(op, [IMAGE, i32([5, 0])], attrs, "no-size", only_class=True),
    ]
    if op != "ResizeArea":
        centers = {**attrs, "half_pixel_centers": True}
        cases += [
            Case(op, [IMAGE, i32(size)], centers, "centers-" + "-".join(map(str, size)), rtol=2e-5, atol=2e-6)
            for size in SIZES
        ]
    return cases


def gradients():
    cases = []
    for size in ([8, 10], [2, 3], [4, 5]):
        for attrs in ({}, {"align_corners": True}, {"half_pixel_centers": True}):
            grads = wave(1, *size, 3)
            close = {"rtol": 2e-5, "atol": 2e-6}
            cases.append(Case("ResizeBilinearGrad", [grads, IMAGE], attrs, **close))
            cases.append(Case("ResizeNearestNeighborGrad", [grads, i32([4, 5])], attrs, **close))
            if "half_pixel_centers" not in attrs:
                cases.append(Case("ResizeBicubicGrad", [grads, IMAGE], attrs, **close))
    return cases


BOXES = f32([[0, 0, 1, 1], [0.25, 0.5, 0.75, 1], [1, 1, 0, 0], [-0.5, 0.2, 1.5, 0.7]])
BOX_OF = i32([0, 1, 0, 1])
TWO = wave(2, 5, 4, 2)


def crops():
    cases = []
    for size in ([3, 3], [1, 1], [6, 8], [1, 4]):
        for method in ("bilinear", "nearest"):
            attrs = {"method": method, "extrapolation_value": -1.0}
            cases.append(Case("CropAndResize", [TWO, BOXES, BOX_OF, i32(size)], attrs, rtol=2e-5, atol=2e-6))
            grads = wave(4, *size, 2)
            cases.append(
                Case(
                    "CropAndResizeGradImage",
                    [grads, BOXES, BOX_OF, i32([2, 5, 4, 2])],
                    {"method": method, "T": "float32"},
                    rtol=2e-5,
                    atol=2e-6,
                )
            )
        cases.append(
            Case("CropAndResizeGradBoxes", [wave(4, *size, 2), TWO, BOXES, BOX_OF], rtol=5e-5, atol=5e-6)
        )
    return [
        *cases,
        Case(
            "CropAndResize",
            [wave(1, 4, 4, 3, dtype=np.uint8, top=255), BOXES[:2], i32([0, 0]), i32([2, 3])],
            rtol=2e-5,
        ),
        Case(
            "CropAndResize", [TWO, BOXES, i32([0, 1, 2, 0]), i32([2, 2])], label="no-image", only_class=True
        ),
        Case("CropAndResize", [TWO, BOXES, BOX_OF, i32([0, 2])], label="no-size", only_class=True),
        Case("CropAndResize", [TWO, BOXES, i32([0]), i32([2, 2])], label="few", only_class=True),
    ]


COLOURS = np.concatenate(
    [wave(2, 3, 3), f32([[[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5]], [[1, 0, 0], [0, 1, 0], [0, 0, 1]]])]
)


def colours():
    cases = []
    for kind in (f32, f64, f16):
        loose = {"rtol": 3e-3, "atol": 3e-3} if kind is f16 else {"rtol": 2e-5, "atol": 2e-6}
        cases += [
            Case("RGBToHSV", [kind(COLOURS)], **loose),
            Case("HSVToRGB", [kind(COLOURS)], **loose),
        ]
    close = {"rtol": 2e-5, "atol": 2e-6}
    cases += [Case("AdjustHue", [COLOURS, f32(factor)], **close) for factor in (-0.4, 0.0, 0.3, 0.9, 1.0)]
    for factor in (0.0, 0.5, 1.0, 2.5):
        cases.append(Case("AdjustSaturation", [COLOURS, f32(factor)], **close))
        cases.append(Case("AdjustContrastv2", [COLOURS, f32(factor)], **close))
    return [
        *cases,
        Case("AdjustContrastv2", [wave(2, 3, 4, 2), f32(1.5)], rtol=2e-5, atol=2e-6),
        Case("AdjustHue", [wave(2, 3, 4), f32(0.1)], label="channels", only_class=True),
        Case("AdjustHue", [COLOURS, f32([0.1])], label="vector", only_class=True),
        Case("AdjustSaturation", [wave(2, 3, 4), f32(0.1)], label="channels", only_class=True),
        Case("RGBToHSV", [wave(2, 2)], label="channels", only_class=True),
        Case("HSVToRGB", [wave(2, 2)], label="channels", only_class=True),
    ]


OBJECTS = f32([[[0.1, 0.2, 0.6, 0.7], [0.5, 0.5, 1, 1]]])


def samples():
    cases = []
    for seed in (1, 7, 12, 99):
        attrs = {"seed": seed, "seed2": 3}
        cases += [
            Case("SampleDistortedBoundingBoxV2", [i32([40, 60, 3]), OBJECTS, f32(0.1)], attrs),
            Case("SampleDistortedBoundingBoxV2", [i64([500, 333, 3]), OBJECTS, f32(0.6)], attrs),
            Case(
                "SampleDistortedBoundingBoxV2",
                [i32([299, 299, 3]), np.zeros((1, 0, 4), np.float32), f32(0.1)],
                {
                    **attrs,
                    "use_image_if_no_bounding_boxes": True,
                    "aspect_ratio_range": [0.5, 2.0],
                    "area_range": [0.3, 0.6],
                    "max_attempts": 5,
                },
            ),
        ]
    none = [i32([9, 9, 3]), np.zeros((1, 0, 4), np.float32), f32(0.1)]
    return [
        *cases,
        Case("SampleDistortedBoundingBoxV2", none, {"seed": 1}, "no-boxes", only_class=True),
        Case(
            "SampleDistortedBoundingBoxV2",
            [i32([9, 9]), OBJECTS, f32(0.1)],
            {"seed": 1},
            "size",
            only_class=True,
        ),
        Case(
            "SampleDistortedBoundingBox",
            [i32([40, 60, 3]), OBJECTS],
            {"seed": 5, "seed2": 6, "min_object_covered": 0.3},
        ),
    ]


CHOICES = f32(
    [[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11], [1, 11.1, 0, 10.1], [0, 100, 1, 101]]
)
MANY_BOXES = (np.random.default_rng(8).random((2, 9, 3, 4)) * [0.5, 0.5, 0.9, 0.9] + [0, 0, 0.4, 0.4]).astype(
    np.float32
)
MANY_SCORES = np.random.default_rng(9).random((2, 9, 3)).astype(np.float32)
SCORES = f32([0.9, 0.75, 0.6, 0.95, 0.5, 0.3])
LINES = f32([[[0, 0, 1, 1], [0.2, 0.3, 0.6, 0.7], [0.5, -0.5, 0.9, 2], [0.9, 0.9, 0.1, 0.1]]])

CASES = [
    *resized("ResizeBilinear"),
    *resized("ResizeNearestNeighbor"),
    *resized("ResizeBicubic"),
    *resized("ResizeArea"),
    *gradients(),
    *crops(),
    *colours(),
    *samples(),
    *[
        Case(
            "ExtractGlimpse",
            [wave(2, 6, 7, 2), i32([2, 3]), f32(offsets)],
            {"centered": centered, "normalized": normalized},
        )
        for centered, normalized, offsets in (
            (True, True, [[0, 0], [0.2, -0.3]]),
            (True, False, [[1, 1], [0, -2]]),
            (False, True, [[0.5, 0.5], [0.3, 0.6]]),
            (False, False, [[3, 3], [2.6, 4.4]]),
        )
    ],
    Case("ExtractGlimpse", [wave(2, 6, 7, 2), i32([2, 3]), f32([[0, 0]])], label="few", only_class=True),
    Case("DrawBoundingBoxes", [wave(1, 8, 9, 3), LINES]),
    Case("DrawBoundingBoxes", [wave(1, 8, 9, 4), LINES], label="opacity"),
    Case("DrawBoundingBoxes", [wave(1, 8, 9, 1), LINES], label="grey"),
    Case("DrawBoundingBoxes", [f16(wave(1, 8, 9, 3)), LINES], label="half"),
    Case("DrawBoundingBoxes", [wave(1, 8, 9, 2), LINES], label="channels", only_class=True),
    Case("DrawBoundingBoxes", [wave(2, 8, 9, 3), LINES], label="batch", only_class=True),
    Case("DrawBoundingBoxesV2", [wave(1, 8, 9, 3), LINES, f32([[1, 0, 0], [0, 0.5, 1]])]),
    *[
        Case("NonMaxSuppression", [CHOICES, SCORES, i32(n)], {"iou_threshold": t})
        for n in (3, 30)
        for t in (0.5, 0.1)
    ],
    *[Case("NonMaxSuppressionV2", [CHOICES, SCORES, i32(n), f32(t)]) for n in (2, 30) for t in (0.5, 0.9)],
    *[
        Case("NonMaxSuppressionV3", [CHOICES, SCORES, i32(n), f32(0.5), f32(t)])
        for n in (0, 30)
        for t in (0.0, 0.55)
    ],
    *[
        Case(
            "CombinedNonMaxSuppression",
            [boxes, MANY_SCORES, i32(2), i32(7), f32(0.4), f32(least)],
            {"pad_per_class": pads, "clip_boxes": not pads},
            label,
        )
        for boxes, label in ((MANY_BOXES, "own"), (MANY_BOXES[:, :, :1], "shared"))
        for pads in (False, True)
        for least in (0.0, 0.6)
    ],
    Case(
        "NonMaxSuppressionV3",
        [CHOICES, SCORES[:3], i32(3), f32(0.5), f32(0)],
        label="scores",
        only_class=True,
    ),
    Case(
        "NonMaxSuppressionV3", [CHOICES, SCORES, i32(3), f32(1.5), f32(0)], label="threshold", only_class=True
    ),
    *[
        Case("DecodePng", [png(bytes_of(3, 12), 2, 8, (0, 1, 2, 3, 4))], {"channels": n}, "rgb")
        for n in (0, 1, 3, 4)
    ],
    *[Case("DecodePng", [png(bytes_of(3, 4), 0, 8)], {"channels": n}, "grey") for n in (0, 1, 3, 4)],
    *[Case("DecodePng", [png(bytes_of(2, 8), 4, 8)], {"channels": n}, "grey-alpha") for n in (0, 1, 3, 4)],
    *[Case("DecodePng", [png(bytes_of(2, 8), 6, 8)], {"channels": n}, "rgba") for n in (0, 1, 3, 4)],
    *[
        Case(
            "DecodePng",
            [png(bytes_of(7, 3 * 2 * n), colour, 16, (4, 1, 3, 2, 0, 3, 4))],
            {"dtype": kind},
            "wide",
        )
        for n, colour in ((1, 0), (2, 4), (3, 2), (4, 6))
        for kind in ("uint16", "uint8")
    ],
    Case("DecodePng", [png(bytes_of(2, 4), 0, 8)], {"dtype": "uint16"}, "widened"),
    Case("DecodePng", [png(np.array([[0b10110000], [0b01000000]]), 0, 1)], {}, "bits"),
    Case("DecodePng", [png(np.array([[0, 1, 2], [2, 1, 0]]), 3, 8, palette=bytes(range(9)))], {}, "palette"),
    Case(
        "DecodePng",
        [png(np.array([[0, 1, 2], [2, 1, 0]]), 3, 8, palette=bytes(range(9)), transparent=b"\x00\x80")],
        {"channels": 4},
        "palette-opacity",
    ),
    Case("DecodePng", [data(b"nothing like that")], {}, "no-image", only_class=True),
    Case("DecodePng", [data(b"\x89PNG\r\n\x1a\n and then?")], {}, "broken", only_class=True),
    Case("DecodeBmp", [bmp(3)]),
    Case("DecodeBmp", [bmp(3)], {"channels": 3}, "three"),
    Case("DecodeBmp", [bmp(3, True)], {}, "top-down"),
    Case("DecodeBmp", [data(b"BM")], {}, "short", only_class=True),
    Case("DecodeBmp", [bmp(1)], {}, "gray"),
    Case("DecodeBmp", [bmp(4)], {}, "alpha"),
    Case("DecodeBmp", [bmp(4, True)], {"channels": 4}, "alpha-top-down"),
    Case("DecodeBmp", [bmp(2)], {}, "two", only_class=True),
    Case("DecodeGif", [GIF]),
    Case("DecodeGif", [data(b"GIF89a")], {}, "broken", only_class=True),
    Case("DecodeJpeg", [data(b"no image")], {}, "no-image", only_class=True),
    Case("DecodeJpeg", [data(b"\xff\xd8\xff\xe0 broken")], {}, "broken", only_class=True),
    Case("ExtractJpegShape", [data(b"no image")], {}, "no-image", only_class=True),
    Case("EncodeJpeg", [u8(ramp(2, 2, 2))], {}, "channels", only_class=True),
    Case("EncodeJpeg", [u8(ramp(2, 2, 3))], {"quality": 101}, "quality", only_class=True),
    Case("EncodePng", [u8(ramp(2, 2))], {}, "rank", only_class=True),
    Case("EncodePng", [u8(ramp(2, 2, 5))], {}, "channels", only_class=True),
    Case("EncodeJpegVariableQuality", [u8(ramp(2, 2, 3)), i32(101)], {}, "quality", only_class=True),
    Case("DecodePng", [png(bytes_of(2, 12), 2, 8)], {"channels": 1, "dtype": "uint16"}, "grey-widened"),
    Case("DecodePng", [data(png(bytes_of(2, 4), 0, 8)[()][:-10])], {}, "cut", only_class=True),
    Case("DecodeGif", [data(GIF[()][:-10])], {}, "cut", only_class=True),
    Case(
        "SampleDistortedBoundingBox",
        [u8([87, 107, 3]), f32([[[0.1, 0.2, 0.6, 0.9]]])],
        {"seed": 5, "seed2": 3},
        "small-sizes",
    ),
    *[
        Case(
            op,
            [CHOICES, SCORES, i32(n), f32(0.55), f32(0.15), *([f32(0)] if op[-1] == "5" else [])],
            {"pad_to_max_output_size": pads},
            f"{n}, {pads}",
        )
        for op in ("NonMaxSuppressionV4", "NonMaxSuppressionV5")
        for n, pads in ((3, False), (30, False), (30, True))
    ],
    Case(
        "NonMaxSuppressionV5",
        [CHOICES, SCORES, i32(3), f32(0.5), f32(0), f32(-1)],
        label="sigma",
        only_class=True,
    ),
    *[
        Case(
            "NonMaxSuppressionWithOverlaps", [ramp(3, 3), f32([0.5, 0.9, 0.1]), i32(n), f32(1.2), f32(least)]
        )
        for n, least in ((1, 0), (5, 0), (5, 0.3))
    ],
    Case(
        "NonMaxSuppressionWithOverlaps",
        [ramp(3, 3), f32([0.5, 0.9]), i32(2), f32(1.2), f32(0)],
        label="scores",
        only_class=True,
    ),
    Case("NonMaxSuppressionV2", [ramp(2, 3), f32([1, 2]), i32(1), f32(0.5)], {}, "three", only_class=True),
    *[
        Case(
            "ExtractGlimpse",
            [wave(1, 2, 3, 1), i32([4, 4]), f32([[0, 0]])],
            {"noise": kind, "uniform_noise": False},
            f"noise-{kind}",
        )
        for kind in ("zero", "what")
    ],
]

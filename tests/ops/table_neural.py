"""Cases: neural network ops."""

import numpy as np

from tests.ops.cases import Case, bf16, f16, f32, f64, i32, i64, ramp

X = (np.sin(np.arange(2 * 5 * 6 * 3)) * 2).reshape(2, 5, 6, 3).astype(np.float32)
W = (np.cos(np.arange(3 * 2 * 3 * 4) * 1.3)).reshape(3, 2, 3, 4).astype(np.float32)
V = f32([[-2.0, -0.5, 0.0], [0.5, 3.0, 7.0]])
G = f32([[1.0, -2.0, 0.5], [2.0, 0.25, -1.0]])
ROW = {"strides": [1, 1, 1, 1], "padding": "SAME"}
STEP = {"strides": [1, 2, 2, 1], "padding": "VALID"}
ODD = {"strides": [1, 2, 1, 1], "padding": "SAME"}
SIZES = i32([2, 5, 6, 3])

CASES = []


def out(attrs: dict, channels: int = 4) -> np.ndarray:
    """A gradient shaped like the output of a convolution of X by W."""
    height, width = {"SAME": (5, 6), "VALID": (3, 5)}[attrs["padding"]]
    down, right = attrs["strides"][1:3]
    shape = (2, -(-height // down), -(-width // right), channels)
    return np.cos(np.arange(int(np.prod(shape))) * 0.7).reshape(shape).astype(np.float32)


for label, attrs in (("same", ROW), ("valid", STEP), ("odd", ODD)):
    CASES += [
        Case("Conv2D", [X, W], attrs, label, atol=2e-6),
        Case("Conv2DBackpropInput", [SIZES, W, out(attrs)], attrs, label, atol=2e-6),
        Case("Conv2DBackpropFilter", [X, i32([3, 2, 3, 4]), out(attrs)], attrs, label, atol=1e-5),
    ]
    square = {**attrs, "strides": [1, attrs["strides"][1], attrs["strides"][1], 1]}
    deep = W.reshape(3, 2, 3, 4)[..., :2]
    CASES += [
        Case("DepthwiseConv2dNative", [X, deep], square, label, atol=2e-6),
        Case("DepthwiseConv2dNativeBackpropInput", [SIZES, deep, out(square, 6)], square, label, atol=2e-6),
        Case(
            "DepthwiseConv2dNativeBackpropFilter",
            [X, i32([3, 2, 3, 2]), out(square, 6)],
            square,
            label,
            atol=1e-5,
        ),
    ]
CASES += [
    Case("Conv2D", [X.astype(np.float64), W.astype(np.float64)], ROW, "double", atol=1e-12),
    Case("Conv2D", [X.astype(np.float16), W.astype(np.float16)], ROW, "half", atol=1e-2),
    Case("Conv2D", [X, W], {**ROW, "dilations": [1, 2, 2, 1]}, "dilated", atol=2e-6),
    Case(
        "Conv2D",
        [X, W],
        {**ROW, "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 2, 0, 1, 0, 0]},
        "explicit",
        atol=2e-6,
    ),
    Case("Conv2D", [X, W[:1, :1]], ROW, "pointwise", atol=2e-6),
    Case("Conv2D", [X[:0], W], ROW, "empty"),
]

# Poolings
POOLED = X[:, :4, :6].reshape(2, 2, 2, 3, 2, 3).max((2, 4))
POOL = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
WIDE = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
CASES += [
    Case("MaxPool", [X], POOL, "valid"),
    Case("MaxPool", [X], WIDE, "same"),
    Case("MaxPool", [X.astype(np.float16)], WIDE, "half"),
    Case("MaxPool", [i32(np.arange(36).reshape(1, 6, 6, 1) % 7)], POOL, "integers"),
    Case("AvgPool", [X], POOL, "valid"),
    Case("AvgPool", [X], WIDE, "same"),
    Case("AvgPool", [X.astype(np.float64)], WIDE, "double"),
    Case("AvgPoolGrad", [SIZES, ramp(2, 2, 3, 3)], POOL, "valid"),
    Case("AvgPoolGrad", [SIZES, ramp(2, 3, 3, 3)], WIDE, "same"),
    Case("MaxPoolV2", [X, i32([1, 3, 3, 1]), i32([1, 2, 2, 1])], {"padding": "SAME"}),
    Case(
        "MaxPoolGradV2",
        [X, POOLED, ramp(2, 2, 3, 3), i32([1, 2, 2, 1]), i32([1, 2, 2, 1])],
        {"padding": "VALID"},
    ),
    Case(
        "MaxPoolGradGradV2",
        [X, POOLED, ramp(2, 5, 6, 3), i32([1, 2, 2, 1]), i32([1, 2, 2, 1])],
        {"padding": "VALID"},
    ),
    Case("MaxPoolGrad", [X, POOLED, ramp(2, 2, 3, 3)], POOL, "valid"),
    Case("MaxPoolGradGrad", [X, POOLED, ramp(2, 5, 6, 3)], POOL, "valid"),
]

# Activations
for op in ("Relu", "Relu6", "LeakyRelu", "Elu", "Selu", "Softplus", "Softsign", "Softmax", "LogSoftmax"):
    CASES += [
        Case(op, [V]),
        Case(op, [V.astype(np.float64)], label="double", rtol=1e-6),
        Case(op, [V.astype(np.float16)], label="half"),
    ]
for op in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad"):
    CASES += [
        Case(op, [G, V]),
        Case(op, [G.astype(np.float64), V.astype(np.float64)], label="double", rtol=1e-6),
    ]
CASES += [
    Case("Relu", [i32([-3, 0, 4])], label="integers"),
    Case("LeakyRelu", [V], {"alpha": 0.5}, "alpha"),
    Case("LeakyReluGrad", [G, V], {"alpha": 0.5}, "alpha"),
    Case("Softmax", [f32([1000.0, 1001.0, -1000.0])], label="large"),
    Case("LogSoftmax", [f32([1000.0, 1001.0, -1000.0])], label="large"),
    Case("Softmax", [ramp(2, 3, 4)], label="cube"),
    Case("Softplus", [f32([-20.0, -5.0, 0.0, 20.0, 100.0])], label="large"),
]

# Cross entropies
LABELS = f32([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
CASES += [
    Case("SoftmaxCrossEntropyWithLogits", [V, LABELS], atol=1e-6),
    Case("SoftmaxCrossEntropyWithLogits", [V, LABELS[:1]], label="broadcast", atol=1e-6),
    Case("SparseSoftmaxCrossEntropyWithLogits", [V, i32([2, 0])], atol=1e-6),
    Case("SparseSoftmaxCrossEntropyWithLogits", [V, i64([1, 1])], label="int64", atol=1e-6),
    Case("SparseSoftmaxCrossEntropyWithLogits", [V, i32([2, 3])], label="outside", cpu_only=True),
]

# Normalisation
SCALE, OFFSET = f32([1.0, 2.0, -0.5]), f32([0.0, 1.0, -1.0])
MEAN, VARIANCE = f32([0.1, -0.2, 0.3]), f32([1.5, 0.5, 2.0])
NONE = f32([])
NEAR = f32([[1, 1, 0], [1, 1, 1], [0, 1, 1]])  # the channels that one channel is normalised by
NORMALISED = X * (1 + 0.5 * (X * X) @ NEAR) ** np.float32(-0.75)
CASES += [
    Case("FusedBatchNormV3", [X, SCALE, OFFSET, NONE, NONE], {"is_training": True}, "training", atol=2e-6),
    Case(
        "FusedBatchNormGradV3",
        [out(ROW, 3), X, SCALE, MEAN, VARIANCE, NONE],
        {"is_training": False},
        "inference",
        atol=2e-5,
    ),
    Case(
        "FusedBatchNormGradV3",
        [out(ROW, 3), X, SCALE, MEAN, VARIANCE, NONE],
        {"is_training": True},
        "training",
        atol=2e-5,
    ),
    Case("LRN", [X], {"depth_radius": 1, "bias": 1.0, "alpha": 0.5, "beta": 0.75}, rtol=1e-5),
    Case(
        "LRN",
        [ramp(1, 2, 2, 8)],
        {"depth_radius": 2, "bias": 2.0, "alpha": 1e-2, "beta": 0.5},
        "wide",
        rtol=1e-5,
    ),
    Case(
        "LRNGrad",
        [out(ROW, 3), X, NORMALISED],
        {"depth_radius": 1, "bias": 1.0, "alpha": 0.5, "beta": 0.75},
        rtol=1e-4,
        atol=1e-5,
    ),
]

for version in ("", "V2"):
    learnt = [out(ROW, 3), X, SCALE, MEAN, VARIANCE]
    CASES += [
        Case(f"FusedBatchNorm{version}", [X, SCALE, OFFSET, NONE, NONE], {"is_training": True}, atol=2e-6),
        Case(f"FusedBatchNormGrad{version}", learnt, {"is_training": True}, atol=2e-5),
    ]

# The rest
CASES += [
    Case("Qr", [f32([[4.0, 1.0], [3.0, 2.0], [0.0, 5.0]])], atol=1e-6),
    Case("Qr", [f32([[4.0, 1.0, 2.0], [3.0, 2.0, 1.0]])], {"full_matrices": True}, "full", atol=1e-6),
    Case("Svd", [f32([[4.0, 1.0], [3.0, 2.0], [0.0, 5.0]])], {"compute_uv": False}, "values", atol=1e-6),
    Case(
        "Svd", [np.array([[1j, 2.0], [3.0, 4.0]], "complex64")], {"compute_uv": False}, "complex", atol=1e-6
    ),
    Case("BiasAdd", [X, OFFSET]),
    Case("BiasAdd", [V, OFFSET], label="matrix"),
    Case("BiasAdd", [ramp(2, 3, 2, 2), OFFSET], {"data_format": "NCHW"}, "channels"),
    Case("BiasAddGrad", [X], rtol=1e-5, atol=1e-5),
    Case("BiasAddGrad", [ramp(2, 3, 2, 2)], {"data_format": "NCHW"}, "channels"),
    Case("L2Loss", [V]),
    Case("L2Loss", [f64([1.0, 2.0])], label="double"),
    Case("L2Loss", [f16([1.0, 2.0])], label="half"),
    Case("L2Loss", [bf16([1.0, 2.0])], label="bfloat16"),
    Case("TopKV2", [f32([[1, 5, 3, 5], [2, 2, 0, 1]]), i32(2)]),
    Case("TopKV2", [i32([3, 1, 2]), i32(3)], label="all"),
    Case("TopKV2", [f32([1, 2]), i32(3)], label="too many", only_class=True),
    Case("InTopKV2", [f32([[0.1, 0.9, 0.5], [0.5, 0.5, 0.2]]), i32([2, 1]), i32(1)]),
    Case("InTopK", [f32([[0.1, 0.9, 0.5], [0.5, 0.5, 0.2]]), i32([2, 7])], {"k": 2}),
    Case("PreventGradient", [V], {"message": "no"}),
]

VOLUME = np.sin(ramp(2, 3, 4, 5, 2, dtype=np.float64, step=0.7)).astype(np.float32)
BLOCK = np.cos(ramp(2, 2, 3, 2, 3, step=0.6))
for label, attrs, out in (
    ("same", {"strides": [1, 1, 2, 1, 1], "padding": "SAME"}, [2, 3, 2, 5, 3]),
    ("valid", {"strides": [1, 1, 1, 2, 1], "padding": "VALID"}, [2, 2, 3, 2, 3]),
):
    GRAD = np.cos(ramp(*out, step=0.9))
    CASES += [
        Case("Conv3D", [VOLUME, BLOCK], attrs, label, atol=2e-6),
        Case("Conv3DBackpropInputV2", [i32(VOLUME.shape), BLOCK, GRAD], attrs, label, atol=2e-6),
        Case("Conv3DBackpropFilterV2", [VOLUME, i32(BLOCK.shape), GRAD], attrs, label, atol=5e-6),
    ]
CASES += [
    Case(
        "Conv3D",
        [VOLUME, BLOCK[..., :1, :]],
        {"strides": [1, 1, 1, 2, 1], "padding": "VALID"},
        "groups",
        only_class=True,
        cpu_only=True,
    ),
    Case(
        "Conv3D", [VOLUME, BLOCK], {"strides": [1, 1, 1, 1, 2], "padding": "VALID"}, "deep", only_class=True
    ),
    Case(
        "Conv3DBackpropInputV2",
        [i32(VOLUME.shape), BLOCK, VOLUME[..., :1]],
        attrs,
        "channels",
        only_class=True,
    ),
    Case("Conv3DBackpropFilterV2", [VOLUME, i32(BLOCK.shape), GRAD[:, :1]], attrs, "planes", only_class=True),
]
TIES = np.round(2 * VOLUME)
POOL = {"ksize": [1, 2, 2, 3, 1], "strides": [1, 1, 2, 2, 1]}
for padding, out in (("SAME", [2, 3, 2, 3, 2]), ("VALID", [2, 2, 2, 2, 2])):
    attrs, SMALL = {**POOL, "padding": padding}, ramp(*out)
    HIGHEST = np.full(out, 2, np.float32)
    CASES += [
        Case("MaxPool3D", [VOLUME], attrs, padding),
        Case("MaxPool3DGrad", [TIES, HIGHEST, SMALL], attrs, padding),
        Case("MaxPool3DGradGrad", [TIES, HIGHEST, VOLUME], attrs, padding),
        Case("AvgPool3D", [VOLUME], attrs, padding, atol=2e-7),
        Case("AvgPool3DGrad", [i32(VOLUME.shape), SMALL], attrs, padding),
    ]
CASES += [
    Case("MaxPool3D", [VOLUME], {**attrs, "strides": [2, 1, 1, 1, 1]}, "batch", only_class=True),
    Case("MaxPool3DGrad", [TIES, HIGHEST, SMALL[:1]], attrs, "sizes", only_class=True),
    Case("AvgPool3DGrad", [i32(VOLUME.shape), SMALL[:1]], attrs, "sizes", only_class=True),
]

PICTURES, STAMP = np.sin(ramp(2, 5, 4, 2, step=0.7)), np.cos(ramp(2, 3, 2, step=0.8)) / 4
for label, attrs, out in (
    ("same", {"strides": [1, 1, 2, 1], "rates": [1, 2, 1, 1], "padding": "SAME"}, [2, 5, 2, 2]),
    ("valid", {"strides": [1, 2, 1, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}, [2, 2, 2, 2]),
):
    CASES += [
        Case("Dilation2D", [f32(PICTURES), f32(STAMP)], attrs, label, atol=2e-7),
        Case("Dilation2DBackpropInput", [f32(PICTURES), f32(STAMP), ramp(*out)], attrs, label),
        Case("Dilation2DBackpropFilter", [f32(PICTURES), f32(STAMP), ramp(*out)], attrs, label),
    ]
CASES += [
    Case("Dilation2D", [i32(9 * PICTURES), i32(9 * STAMP)], attrs, "integers"),
    Case("Dilation2D", [f32(PICTURES), f32(STAMP[..., :1])], attrs, "channels", only_class=True),
    Case("SelfAdjointEigV2", [f32([[0, -3, 4], [2, 4, -4], [2, -2, 0]])], {"compute_v": True}, atol=2e-6),
    Case("SelfAdjointEigV2", [f32([[0, -3]])], {"compute_v": True}, "square", only_class=True),
    Case("Svd", [f32([[4, -2], [2, -3], [-2, 4]])], {"compute_uv": True, "full_matrices": False}, atol=2e-6),
]
SAID, HEARD = np.sin(ramp(5, 2, 4, step=0.9)) * 2, i32([5, 3])
LABELS = [i64([[0, 0], [0, 1], [0, 2], [1, 0]]), i32([1, 1, 0, 2])]
CASES += [
    Case("CTCLoss", [f32(SAID), *LABELS, HEARD], atol=2e-6),
    Case(
        "CTCLoss", [f64(SAID), *LABELS, HEARD], {"ctc_merge_repeated": False}, "apart", rtol=2e-6, atol=2e-6
    ),
    Case(
        "CTCLoss", [f32(SAID), *LABELS, HEARD], {"preprocess_collapse_repeated": True}, "collapsed", atol=2e-6
    ),
    Case("CTCLoss", [f32(SAID), *LABELS, i32([2, 3])], {}, "short", only_class=True),
    Case(
        "CTCLoss",
        [f32(SAID), *LABELS, i32([2, 3])],
        {"ignore_longer_outputs_than_inputs": True},
        "ignored",
        atol=2e-6,
    ),
    Case("CTCLoss", [f32(SAID), LABELS[0], i32([1, 1, 3, 2]), HEARD], {}, "ends-in-blank", atol=2e-6),
    Case("CTCLoss", [f32(SAID), LABELS[0], i32([1, 3, 0, 2]), HEARD], {}, "blank-between", only_class=True),
    Case("CTCLoss", [f32(SAID), *LABELS, i32([5, 6])], {}, "long", only_class=True),
    Case("CTCGreedyDecoder", [f32(SAID), HEARD], {"merge_repeated": True}),
    Case("CTCGreedyDecoder", [f32(SAID), i32([0, 5])], {"merge_repeated": False}, "apart"),
    Case("CTCGreedyDecoder", [f32(SAID), i32([0, 6])], {"merge_repeated": False}, "long", only_class=True),
    Case(
        "CTCBeamSearchDecoder",
        [f32(SAID), HEARD],
        {"beam_width": 4, "top_paths": 2, "merge_repeated": True},
        atol=2e-6,
    ),
    Case(
        "CTCBeamSearchDecoder",
        [f32(SAID), HEARD],
        {"beam_width": 1, "top_paths": 1, "merge_repeated": False},
        "one",
    ),
    Case(
        "CTCBeamSearchDecoder",
        [f32(SAID), HEARD],
        {"beam_width": 1, "top_paths": 2},
        "paths",
        only_class=True,
    ),
]

X, HIDDEN, MEMORY = (
    np.sin(ramp(3, 2, step=0.7)),
    np.cos(ramp(3, 2, step=0.6)),
    np.sin(ramp(3, 2, step=1.3)) * 2,
)
GATES = [np.sin(ramp(4, 8, step=0.31)), *[np.cos(ramp(2, start=at)) for at in range(3)], np.sin(ramp(8))]
STEP = [1 / (1 + np.exp(-np.sin(ramp(3, 2, start=at)))) for at in range(8)]
RESET = [np.sin(ramp(4, 4, step=0.3)), np.cos(ramp(4, 2, step=0.4)), np.sin(ramp(4)), np.cos(ramp(2))]
for peephole in (False, True):
    lstm = [f32(one) for one in (X, MEMORY, HIDDEN, *GATES)]
    attrs = {"use_peephole": peephole}
    CASES += [
        Case("LSTMBlockCell", lstm, {**attrs, "cell_clip": 1.2, "forget_bias": 0.5}, atol=3e-7),
        Case("LSTMBlockCellGrad", [*lstm, *map(f32, STEP)], attrs, atol=3e-7),
    ]
CASES += [
    Case("LSTMBlockCell", lstm, {"cell_clip": -1.0}, "unclipped", atol=3e-7),
    Case("LSTMBlockCell", [*lstm[:3], lstm[3][:, :4], *lstm[4:]], {}, "sizes", only_class=True),
    Case("BlockLSTM", [i64(2), f32([X, -X]), *lstm[1:]], {"use_peephole": True}, atol=3e-7),
    Case("BlockLSTM", [i64(2), f32(X), *lstm[1:]], {}, "matrix", only_class=True),
    Case(
        "BlockLSTMGrad",
        [i64(2), f32([X, -X]), *lstm[1:], *[f32([one, one[::-1]]) for one in (*STEP, HIDDEN)]],
        {"use_peephole": True},
        atol=1e-6,
    ),
    Case("GRUBlockCell", [f32(one) for one in (X, HIDDEN, *RESET)], atol=3e-7),
    Case("GRUBlockCellGrad", [f32(one) for one in (X, HIDDEN, *RESET, *STEP[:4])], atol=3e-7),
]

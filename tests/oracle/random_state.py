"""Random inputs for ops that change variables, and for those of texts, files and examples.

Functions are as in `random_cases`. The ops of optimizers share one that reads their signature.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gpuplace.dtypes import as_dtype
from gpuplace.graph.op_def import op_registry
from tests.ops.cases import Case, Handle, Ref, i32, i64, s
from tests.oracle.random_cases import Draw, _data, _texts, _variable

# Optimizers

_LOW = {"lr": 0.01, "rho": 0.5, "momentum": 0.1, "epsilon": 1e-3, "lr_power": -0.5}


def _scalar(d: Draw, name: str, dtype: Any) -> np.ndarray:
    if name == "lr_power":
        return np.asarray(d.pick(-0.5, -0.5, -0.8), dtype)
    if name in ("beta1_power", "beta2_power", "beta1", "beta2", "rho", "momentum"):
        return np.asarray(d.rng.uniform(0.2, 0.95), dtype)
    if name == "epsilon":
        return np.asarray(d.pick(1e-2, 0.5), dtype)
    if name == "global_step":
        return i64(d.int(1, 20))
    return np.asarray(d.rng.uniform(0.05, 0.9), dtype)


def _optimizer(d: Draw) -> Case:
    sparse = "Sparse" in d.op
    shape = [d.int(1, 5), *d.shape(0, 2, 3, 0)] if sparse else d.shape(0, 3)
    dtype = d.dtype(no=("complex64", "complex128"))
    kind = d.pick(np.int32, np.int64)
    rows = d.rng.permutation(shape[0])[: d.int(0, shape[0])].astype(kind) if sparse else None
    made: list[Any] = []
    for arg in op_registry().lookup(d.op).inputs:
        if arg.is_ref or (arg.type is not None and arg.type.name == "resource"):
            low = {"var": -2, "m": -1, "mom": -1, "mg": -0.1, "linear": -1, "gradient_accumulator": -1}.get(
                arg.name, 0.5
            )
            made.append(_variable(d, d.values(dtype, shape, low, 0.1 if arg.name == "mg" else 2)))
        elif arg.name in ("grad", "delta"):
            sizes = shape if rows is None else [len(rows), *shape[1:]]
            wrong = d.chance(20) and not d.op.startswith(("Resource", "Sparse"))
            made.append(d.values(dtype, [*sizes, 2] if wrong else sizes))
        elif arg.name in ("alpha", "lr") and d.op.endswith("GradientDescent"):
            made.append(np.asarray(d.rng.uniform(0.05, 0.9), dtype))
        elif arg.name == "indices":
            made.append(rows)
        else:
            made.append(_scalar(d, arg.name, dtype))
    attrs = {
        name: d.chance(2)
        for name in ("use_nesterov", "update_slots")
        if name in op_registry().lookup(d.op).attr_defs
    }
    return Case(d.op, made, attrs)


# Variables


def _assign(d: Draw) -> Case:
    shape, dtype = d.shape(0, 3), d.dtype("dtype" if "VariableOp" in d.op else "T")
    if "VariableOp" in d.op:
        value = d.values(dtype, shape if not d.chance(14) else [*shape, 2])
        return Case(d.op, [Handle(d.values(dtype, shape)), value], {})
    value = d.values(dtype, shape if not d.chance(10) else [*shape, 2])
    attrs = {"use_locking": d.chance(2)} | ({"validate_shape": not d.chance(4)} if d.op == "Assign" else {})
    return Case(d.op, [Ref(d.values(dtype, shape)), value], attrs)


def _count_up_to(d: Draw) -> Case:
    kind = d.pick(np.int32, np.int64)
    return Case(d.op, [Ref(np.asarray(d.int(0, 6), kind))], {"limit": d.int(1, 6)})


def _scatter(d: Draw) -> Case:
    shape = d.shape(1, 3, 4, 0)
    dtype = d.dtype(
        "dtype" if d.op.startswith("Resource") else "T", no=("bool", "object") if "Update" not in d.op else ()
    )
    outer, kind = d.shape(0, 2, 3), d.pick(np.int32, np.int64)
    indices = d.rng.integers(0, shape[0] + d.chance(16), outer).astype(kind)
    if d.op.endswith("Update"):
        outer = [min(shape[0], 2)]
        indices = d.rng.permutation(shape[0])[: outer[0]].astype(kind)
    sizes = [] if d.chance(6) else [*outer, *shape[1:]]
    updates = d.values(dtype, sizes)
    if d.op.endswith("Div"):
        updates = np.where(updates == 0, np.ones_like(updates), updates)
    return Case(d.op, [_variable(d, d.values(dtype, shape)), indices, updates])


def _read(d: Draw) -> Case:
    """Ops that look at a resource variable."""
    shape, dtype = (
        d.shape(1, 4, 4, 0),
        d.dtype("dtype") if d.op.startswith("Resource") or "Read" in d.op else np.dtype(np.float32),
    )
    handle, kind = Handle(d.values(dtype, shape)), d.pick(np.int32, np.int64)
    if d.op == "ResourceGather":
        indices = d.rng.integers(0, shape[0] + d.chance(12), d.shape(0, 2, 3)).astype(kind)
        return Case(d.op, [handle, indices], {"dtype": as_dtype(dtype).name})
    if d.op == "ResourceGatherNd":
        depth, outer = d.int(1, len(shape)), d.shape(0, 2, 3)
        indices = np.stack([d.rng.integers(0, shape[axis], outer) for axis in range(depth)], -1)
        return Case(d.op, [handle, indices.astype(kind)], {"dtype": as_dtype(dtype).name})
    if d.op == "ReadVariableOp":
        return Case(d.op, [handle], {"dtype": as_dtype(dtype).name})
    if d.op == "VariableShape":
        return Case(d.op, [handle], {"out_type": d.pick("int32", "int64")})
    return Case(d.op, [handle])


def _is_initialized(d: Draw) -> Case:
    return Case(d.op, [Ref(d.values(d.dtype("dtype"), d.shape(0, 3)))])


# Texts


def _as_string(d: Draw) -> Case:
    attrs: dict[str, Any] = {
        "precision": d.pick(-1, 0, 3),
        "width": d.pick(-1, 8),
        "fill": d.pick("", " ", "0", "-"),
    }
    dtype = d.dtype(no=("object",))
    if dtype.kind in "fc":
        attrs |= d.pick({}, {"scientific": True}, {"shortest": True})
    elif dtype.kind in "iub":
        attrs["precision"] = -1
    return Case(d.op, [d.values(dtype, d.shape(0, 2))], attrs)


def _words(d: Draw, *more: bytes) -> np.ndarray:
    words = [b"", b"a", b"Ab c", b" x\t", b"\xc3\xa9\xe6\x97\xa5z", b"long word, that", *more]
    shape = d.shape(0, 3)
    flat = np.empty(int(np.prod(shape)), object)
    flat[:] = [words[d.int(0, len(words) - 1)] for _ in flat]
    return flat.reshape(shape)


def _base64(d: Draw) -> Case:
    if d.op == "EncodeBase64":
        return Case(d.op, [_words(d, b"\xff\xfe\x00")], {"pad": d.chance(2)})
    import base64

    words = _words(d)
    flat = words.reshape(-1)
    for at, word in enumerate(flat):
        text = base64.urlsafe_b64encode(word)
        flat[at] = text.rstrip(b"=") if d.chance(2) else text
    if flat.size and d.chance(6):
        flat[0] = d.pick(b"+/", b"a", b"====", b"ab=c")
    return Case(d.op, [words])


def _decode_raw(d: Draw) -> Case:
    kind = d.pick("uint8", "int16", "float32", "int32", "float64", "int64", "float16", "int8", "uint16")
    number = d.int(0, 4) * np.dtype(kind).itemsize
    words = np.empty(d.shape(0, 2), object)
    flat = words.reshape(-1)
    for at in range(flat.size):
        flat[at] = bytes(d.rng.integers(0, 60, number + (1 if d.chance(12) else 0)).tolist())
    return Case(d.op, [words], {"out_type": kind, "little_endian": not d.chance(3)})


def _decode_padded(d: Draw) -> Case:
    case = _decode_raw(d)
    size = np.dtype(case.attrs["out_type"]).itemsize
    length = d.int(0, 3) if d.chance(8) else size * d.int(1, 6)
    return Case(d.op, [case.inputs[0], i32(length)], case.attrs)


def _decode_json(d: Draw) -> Case:
    words = [
        b"{}",
        b'{"features": {"feature": {"a": {"int64List": {"value": [1, "-2"]}}}}}',
        b'{"features": {"feature": {"b": {"floatList": {"value": [0.5, 1e3]}}}}}',
        b'{"features": {"feature": {"c": {"bytesList": {"value": ["YQ==", "YmM="]}}}}}',
    ]
    if d.chance(5):
        words = [b"{", b'{"what": 1}']
    return Case(d.op, [_texts(d, *words)])


PATTERNS = (
    "a.*",
    "[a-z]+",
    "(x|b)",
    "\\s",
    "o",
    "",
    "^A",
    "w(o)r",
    "(?i)AB",
    "[[:alpha:]]",
    "z$",
    "\\d*",
    ".",
)


def _regex(d: Draw) -> Case:
    pattern = d.pick(*PATTERNS) if not d.chance(14) else "("
    if d.op.startswith("Static"):
        attrs: dict[str, Any] = {"pattern": pattern}
        if d.op == "StaticRegexReplace":
            attrs |= {"rewrite": d.pick("", "<\\0>", "#"), "replace_global": d.chance(2)}
        return Case(d.op, [_words(d)], attrs)
    if d.op == "RegexFullMatch":
        return Case(d.op, [_words(d), s(pattern)])
    return Case(d.op, [_words(d), s(pattern), s(d.pick("", "<\\0>", "#"))], {"replace_global": d.chance(2)})


def _format(d: Draw) -> Case:
    parts = [  # no texts beyond ASCII, which 2.21 shows as they are
        d.values(d.pick(np.float32, np.int32, np.bool_, np.int64), d.shape(0, 3, 5, 0))
        for _ in range(d.int(1, 2))
    ]
    return Case(
        d.op,
        [parts],
        {"template": "x: %s" + ", %s" * (len(parts) - 1), "placeholder": "%s", "summarize": d.pick(1, 3, -1)},
    )


def _join(d: Draw) -> Case:
    shape = d.shape(0, 2)
    parts = [d.values(object, d.pick(shape, shape, [])) for _ in range(d.int(1, 3))]
    return Case(d.op, [parts], {"separator": d.pick("", ", ")})


def _string_unit(d: Draw) -> Case:
    attrs: dict[str, Any] = {}
    if d.op == "StringLength":
        attrs["unit"] = d.pick("BYTE", "UTF8_CHAR")
    if d.op in ("StringLower", "StringUpper"):
        attrs["encoding"] = d.pick("", "utf-8")
    return Case(d.op, [_words(d, b"\xc3\x89TE")], attrs)


def _to_number(d: Draw) -> Case:
    kind = d.pick("float32", "float64", "int32", "int64")
    words = [b"1", b" -7 ", b"0", b"12345"]
    words += [b"1.5", b"-1e3", b"inf", b"nan", b".5"] if kind.startswith("f") else [b"2147483647"]
    if d.chance(5):
        words += [b"", b"x", b"1 2", b"99999999999999999999"]
    shape = d.shape(0, 2)
    flat = np.empty(int(np.prod(shape)), object)
    flat[:] = [words[d.int(0, len(words) - 1)] for _ in flat]
    return Case(d.op, [flat.reshape(shape)], {"out_type": kind})


def _substr(d: Draw) -> Case:
    words = np.empty(d.shape(0, 2), object)
    flat = words.reshape(-1)
    for at in range(flat.size):
        flat[at] = d.pick(b"hello", b"world!", b"abc\xc3\xa9f", b"four")
    kind = d.pick(np.int32, np.int64)
    shape = d.pick([], [], words.shape)
    far = 4 + 3 * d.chance(8)
    begin, count = (d.rng.integers(low, far, shape).astype(kind) for low in (-3, 0))
    return Case(d.op, [words, begin, count], {"unit": d.pick("BYTE", "UTF8_CHAR")})


def _sharded(d: Draw) -> Case:
    if d.op == "ShardedFilespec":
        return Case(d.op, [s("dir/base"), i32(d.int(0, 100000))])
    return Case(d.op, [s(d.pick("dir/base", "")), i32(d.int(0, 20)), i32(d.int(1, 123456))])


# Files


def _files(d: Draw) -> Path:
    folder = Path(tempfile.gettempdir()) / "gpuplace_random_cases"
    folder.mkdir(exist_ok=True)
    for name, content in (("a.txt", b"one\ntwo\n"), ("b.txt", b""), ("c.bin", bytes(range(40)))):
        (folder / name).write_bytes(content)
    return folder


def _file(d: Draw) -> Case:
    folder = str(_files(d))
    if d.op == "ReadFile":
        return Case(d.op, [s(f"{folder}/{d.pick('a.txt', 'b.txt', 'c.bin', 'none')}")])
    if d.op == "WriteFile":
        return Case(d.op, [s(f"{folder}/sub/{d.int(0, 3)}"), s(d.pick("", "text"))])
    patterns = [f"{folder}/{name}" for name in ("*.txt", "a.*", "none*", "?.bin", "[ab].txt")]
    chosen = d.rng.permutation(5)[: d.int(1, 3)]
    return Case(d.op, [s([patterns[at] for at in chosen]) if d.chance(2) else s(patterns[chosen[0]])])


# Examples


def _example(d: Draw, *, with_a: bool = True) -> bytes:
    from tensorflow.core.example import example_pb2

    made = example_pb2.Example()
    feature = made.features.feature
    if with_a:
        feature["a"].float_list.value.extend(d.rng.uniform(-1, 1, 2).round(3).tolist())
    if not d.chance(4):
        feature["b"].int64_list.value.extend(d.rng.integers(-5, 5, d.int(0, 3)).tolist())
    if not d.chance(4):
        feature["c"].bytes_list.value.extend([b"x", b"yz"][: d.int(0, 2)])
    feature["more"].int64_list.value.append(3)
    return made.SerializeToString()


def _dense(d: Draw) -> tuple[list[Any], dict[str, Any]]:
    default = d.pick(np.zeros(0, np.float32), d.values(np.float32, [2]))
    return [default], {"dense_shapes": [[2]]}


def _parse_example(d: Draw) -> Case:
    number = d.int(0, 3)
    serialized = np.empty(number, object)
    serialized[:] = [_example(d, with_a=not d.chance(8)) for _ in range(number)]
    if number and d.chance(14):
        serialized[0] = b"\x0a\xff"
    defaults, dense = _dense(d)
    names = s(["one", "two", "three"][:number]) if d.chance(3) and number else np.empty(0, object)
    return Case(
        d.op,
        [serialized, names, [s("b"), s("c")], [s("a")], defaults],
        {**dense, "sparse_types": ["int64", d.pick("string", "string", "string", "float32")]},
    )


def _parse_single(d: Draw) -> Case:
    defaults, dense = _dense(d)
    return Case(
        d.op,
        [_data(_example(d, with_a=not d.chance(8))), defaults],
        {
            **dense,
            "num_sparse": 2,
            "sparse_keys": ["b", "c"],
            "dense_keys": ["a"],
            "sparse_types": ["int64", "string"],
        },
    )


def _parse_sequence(d: Draw) -> Case:
    from tensorflow.core.example import example_pb2

    made = example_pb2.SequenceExample()
    made.context.feature["a"].float_list.value.extend(d.rng.uniform(-1, 1, 2).round(3).tolist())
    made.context.feature["b"].int64_list.value.extend(d.rng.integers(-5, 5, d.int(0, 3)).tolist())
    lists = made.feature_lists.feature_list
    for _ in range(d.int(0, 3)):
        lists["steps"].feature.add().float_list.value.extend(d.rng.uniform(-1, 1, 2).round(3).tolist())
        lists["words"].feature.add().bytes_list.value.extend([b"p", b"qr"][: d.int(0, 2)])
    missing = d.chance(2)
    return Case(
        d.op,
        [
            _data(made.SerializeToString()),
            s(["steps"]) if missing else np.empty(0, object),
            [s("b")],
            [s("a")],
            [s("words")],
            [s("steps")],
            [np.zeros(0, np.float32)],
            s(d.pick("", "name")),
        ],
        {
            "context_sparse_types": ["int64"],
            "context_dense_shapes": [[2]],
            "feature_list_sparse_types": ["string"],
            "feature_list_dense_types": ["float32"],
            "feature_list_dense_shapes": [[2]],
        },
    )


# Sound


def _sound(d: Draw) -> Case:
    samples, channels = d.int(1, 60), d.int(1, 3)
    audio = d.values(np.float32, [samples, channels], -1.2, 1.2)
    if d.op == "EncodeWav":
        return Case(d.op, [audio, i32(d.pick(8000, 44100))])
    if d.op == "AudioSpectrogram":
        attrs = {"window_size": d.int(2, 20), "stride": d.int(1, 7), "magnitude_squared": d.chance(2)}
        return Case(
            d.op,
            [
                audio,
            ],
            attrs,
        )
    if d.op == "Mfcc":
        attrs = {
            "upper_frequency_limit": d.pick(3000.0, 4000.0),
            "lower_frequency_limit": d.pick(20.0, 300.0),
            "filterbank_channel_count": d.int(4, 40),
            "dct_coefficient_count": d.int(1, 4),
        }
        squares = d.values(np.float32, [channels, d.int(1, 4), d.pick(17, 65, 257)], 0, 9)
        return Case(d.op, [squares, i32(d.pick(8000, 16000))], attrs)
    from gpuplace.numerics.summary_media import wav_file

    content = wav_file(audio, float(d.pick(8000, 44100)))
    if d.chance(8):
        content = d.pick(
            content[:20], b"RIFX" + content[4:], content[:-2], content[:22] + b"\x09" + content[23:]
        )
    return Case(
        d.op,
        [_data(content)],
        {"desired_channels": d.pick(-1, 1, 2, 4), "desired_samples": d.pick(-1, 5, 70)},
    )


APPLY = tuple(
    f"{kind}{name}"
    for kind in ("", "Resource")
    for name in (
        "ApplyAdaMax ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdam ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 "
        "ApplyGradientDescent ApplyMomentum ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp "
        "SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA SparseApplyCenteredRMSProp SparseApplyFtrl "
        "SparseApplyFtrlV2 SparseApplyMomentum SparseApplyProximalAdagrad SparseApplyRMSProp"
    ).split()
)

CASES_OF: dict[str, Callable[[Draw], Case]] = {
    **dict.fromkeys(APPLY, _optimizer),
    **dict.fromkeys(
        (
            "Assign",
            "AssignAdd",
            "AssignSub",
            "AssignVariableOp",
            "AssignAddVariableOp",
            "AssignSubVariableOp",
        ),
        _assign,
    ),
    "CountUpTo": _count_up_to,
    **{
        f"{kind}Scatter{what}": _scatter
        for kind in ("", "Resource")
        for what in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")
    },
    **dict.fromkeys(
        ("ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"), _read
    ),
    "IsVariableInitialized": _is_initialized,
    "AsString": _as_string,
    **dict.fromkeys(("EncodeBase64", "DecodeBase64"), _base64),
    "DecodeRaw": _decode_raw,
    "DecodePaddedRaw": _decode_padded,
    "DecodeJSONExample": _decode_json,
    **dict.fromkeys(("RegexFullMatch", "RegexReplace", "StaticRegexFullMatch", "StaticRegexReplace"), _regex),
    "StringFormat": _format,
    "StringJoin": _join,
    **dict.fromkeys(("StringLength", "StringLower", "StringUpper", "StringStrip"), _string_unit),
    "StringToNumber": _to_number,
    "Substr": _substr,
    **dict.fromkeys(("ShardedFilename", "ShardedFilespec"), _sharded),
    **dict.fromkeys(("ReadFile", "WriteFile", "MatchingFiles"), _file),
    **dict.fromkeys(("AudioSpectrogram", "DecodeWav", "EncodeWav", "Mfcc"), _sound),
    "ParseExample": _parse_example,
    "ParseSingleExample": _parse_single,
    "ParseSingleSequenceExample": _parse_sequence,
}
"""Op type to what makes its cases."""

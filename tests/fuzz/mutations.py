"""Damaged GraphDefs: bytes that were cut and flipped, and messages that say hostile things.

`mutant(seeds, random)` makes one from recorded graphs. Every choice comes from `random`, so that a case can be made
again from its seed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from gpuplace.graphdef.messages import DecodeError, EncodeError, GraphDef
from gpuplace.kernels.registry import default_catalogue

INTS = (
    -1,
    0,
    1,
    2,
    3,
    17,
    255,
    1 << 20,
    (1 << 31) - 1,
    1 << 31,
    1 << 40,
    (1 << 62),
    (1 << 63) - 1,
    -(1 << 63),
)
SIZES = (-2, -1, 0, 1, 2, 3, 1 << 16, (1 << 31) - 1, 1 << 40, (1 << 63) - 1, -(1 << 63))
NAMES = (
    "",
    "a",
    "A",
    "\0",
    "a\0b",
    "a b",
    "^a",
    "a:0",
    "/",
    "a/",
    "//",
    "_",
    "é",
    "²",
    "a\nb",
    "-",
    ".",
    ">",
    "a>",
    "\\",
)
INPUTS = (
    "",
    "^",
    "^^a",
    ":",
    ":0",
    "a:",
    "a:-1",
    "a:0:0",
    "a:4294967296",
    "a:99999999999999999999",
    "a:²",
    "a:٣",
    "^a:0",
)
DEVICES = (
    "/gpu:0", "/cpu:0", "/gpu:99", "/device:GPU:*", "/device:*:*", "/job:a/task:1", "/job:\0", "gpu", "/", "/gpu:-1",
    "/gpu:99999999999999999999", "/device:XLA_GPU:0", "/job:localhost/replica:0/task:0/device:CPU:0", "/gpu:٣",
    "/device:GPU:0/device:CPU:0", "/task:18446744073709551616", "é", "/gpu:0" * 200,
)  # fmt: skip
ATTRS = (
    "T",
    "N",
    "dtype",
    "value",
    "shape",
    "_class",
    "_kernel",
    "_output_shapes",
    "f",
    "Tin",
    "Tout",
    "_device",
    "",
)
GROUPS = (b"loc:@", b"loc:@a", b"loc:@\0", b"a", b"", b"\xff\xfe", b"loc:@\xff", b"loc:@a:0", b"loc:@^a")
KINDS = (
    "int",
    "type",
    "list(type)",
    "list(list(int))",
    "",
    "foo",
    "func",
    "shape",
    "tensor",
    "list(func)",
    "float",
)
_OPS = default_catalogue("2.21").ops.names()


def mutant(seeds: Sequence[bytes], random: Random) -> bytes | Any:
    """A damaged graph: serialised, or a message that was never serialised."""
    data = random.choice(seeds)
    if random.random() < 0.2:
        return damaged_bytes(data, seeds, random)
    message = GraphDef.FromString(data)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        with contextlib.suppress(DecodeError):  # what is nested too deeply cannot be copied
            random.choice(_EDITS)(message, random)
    if random.random() < 0.3:
        return message
    try:
        serialised = message.SerializeToString(deterministic=True)
    except EncodeError:  # nested too deeply to be written
        return message
    return damaged_bytes(serialised, seeds, random) if random.random() < 0.1 else serialised


def damaged_bytes(data: bytes, seeds: Sequence[bytes], random: Random) -> bytes:
    """Bytes flipped, cut out, repeated, truncated, or taken from two graphs."""
    found = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 4, 16))):
        at = random.randrange(len(found) + 1)
        choice = random.randrange(7)
        if choice == 0:
            del found[at:]
        elif choice == 1:
            del found[at : at + random.randrange(1, 16)]
        elif choice == 2:
            found[at:at] = random.randbytes(random.randrange(1, 8))
        elif choice == 3:
            found[at:at] = found[at : at + random.randrange(1, 200)]
        elif choice == 4:
            other = random.choice(seeds)
            found[at:] = other[random.randrange(len(other)) :]
        elif at < len(found):
            found[at] = random.choice((found[at] ^ 1 << random.randrange(8), 0, 0xFF, 0x7F, 0x80))
    return bytes(found)


def _node(message: Any, random: Random) -> Any:
    if not message.node:
        message.node.add(name="a", op="NoOp")
    return random.choice(message.node)


def _any_node(message: Any, random: Random) -> Any:
    """A node of the graph or, where there are any, of a function's body."""
    bodies = [function.node_def for function in message.library.function if function.node_def]
    return (
        random.choice(random.choice(bodies)) if bodies and random.random() < 0.4 else _node(message, random)
    )


def _name(message: Any, random: Random) -> str:
    known = [node.name for node in message.node]
    return random.choice(known) if known and random.random() < 0.7 else random.choice(NAMES)


def _edit_name(message: Any, random: Random) -> None:
    _node(message, random).name = random.choice(
        (_name(message, random), "x" * random.choice((1, 300, 70000)))
    )


def _edit_op(message: Any, random: Random) -> None:
    functions = [function.signature.name for function in message.library.function]
    _any_node(message, random).op = random.choice(
        [*functions, random.choice(_OPS), random.choice(_OPS), "", "\0", "NoSuchOp"]
    )


def _edit_device(message: Any, random: Random) -> None:
    _any_node(message, random).device = random.choice(DEVICES)


def _edit_inputs(message: Any, random: Random) -> None:
    node = _any_node(message, random)
    text = random.choice((random.choice(INPUTS), _name(message, random), f"^{_name(message, random)}",
                          f"{_name(message, random)}:{random.choice(INTS)}"))  # fmt: skip
    choice = random.randrange(5)
    if choice == 0 and node.input:
        node.input[random.randrange(len(node.input))] = text
    elif choice == 1 and node.input:
        del node.input[random.randrange(len(node.input))]
    elif choice == 2 and random.random() < 0.02:
        node.input.extend([text[:20]] * 50000)
    else:
        node.input.append(text)


def _edit_nodes(message: Any, random: Random) -> None:
    choice = random.randrange(4)
    node = _node(message, random)
    if choice == 0:
        message.node.add().CopyFrom(node)
    elif choice == 1:
        message.node.remove(node)
    elif choice == 2:
        nodes = list(message.node)
        random.shuffle(nodes)
        copy = GraphDef(node=nodes)
        message.ClearField("node")
        message.node.extend(copy.node)
    else:
        name = random.choice(NAMES) or "new"
        message.node.add(name=name, op=random.choice(_OPS), input=[_name(message, random)])


def _edit_attr(message: Any, random: Random) -> None:
    node = _any_node(message, random)
    names = [*sorted(node.attr), random.choice(ATTRS)]
    name = random.choice(names)
    if random.random() < 0.15:
        node.attr.pop(name, None)
        return
    _set_value(node.attr[name], random)


def _set_value(attr: Any, random: Random) -> None:
    """Another value, of the same kind or of another."""
    kind = attr.WhichOneof("value") if random.random() < 0.5 else None
    kind = kind or random.choice(
        ("i", "f", "b", "s", "type", "shape", "tensor", "list", "func", "placeholder")
    )
    if kind == "i":
        attr.i = random.choice(INTS)
    elif kind == "f":
        attr.f = random.choice((0.0, -1.0, float("inf"), float("nan"), 1e38))
    elif kind == "b":
        attr.b = random.random() < 0.5
    elif kind == "s":
        attr.s = random.choice((b"", b"\0", b"\xff\xfe", b"SAME", b"x" * 5000))
    elif kind == "type":
        attr.type = _type(random)
    elif kind == "shape":
        _set_shape(attr.shape, random)
    elif kind == "tensor":
        _set_tensor(attr.tensor, random)
    elif kind == "list":
        _set_list(attr.list, random)
    elif kind == "func":
        _set_function(attr.func, random)
    else:
        attr.placeholder = random.choice(("", "T", "\0"))


def _type(random: Random) -> int:
    return random.choice((*range(34), *range(100, 124), 53, 200, 9999, -1, (1 << 31) - 1, -(1 << 31)))


def _set_shape(shape: Any, random: Random) -> None:
    shape.SetInParent()
    if random.random() < 0.2:
        shape.unknown_rank = True
    for _ in range(random.choice((0, 1, 2, 4, 8, 33, 255, 3000 if random.random() < 0.05 else 1))):
        shape.dim.add(size=random.choice(SIZES))


def _set_tensor(tensor: Any, random: Random) -> None:
    tensor.SetInParent()
    if random.random() < 0.5:
        tensor.dtype = _type(random)
    if random.random() < 0.6:
        tensor.ClearField("tensor_shape")
        _set_shape(tensor.tensor_shape, random)
    if random.random() < 0.5:
        tensor.tensor_content = random.randbytes(random.choice((0, 1, 3, 4, 8, 64)))
    if random.random() < 0.5:
        field = random.choice(
            ("float_val", "int_val", "int64_val", "half_val", "dcomplex_val", "bool_val", "double_val")
        )
        values = getattr(tensor, field)
        values.extend([1] * random.choice((1, 2, 3, 100)))
    if random.random() < 0.3:
        tensor.string_val.append(b"\xff\0")
    if random.random() < 0.1:
        tensor.version_number = -1
    if random.random() < 0.1:
        tensor.variant_val.add(type_name="x", metadata=b"\0")
    if random.random() < 0.1:
        tensor.int_val.append(random.choice((-1, -(1 << 31), (1 << 31) - 1, 70000)))
    if random.random() < 0.1:
        tensor.ClearField("tensor_shape")
        tensor.tensor_shape.dim.add(size=random.choice((1 << 20, 1 << 29, 1 << 31, 1 << 40)))
        tensor.float_val.extend([1] * random.choice((1, 2)))


def _set_list(values: Any, random: Random) -> None:
    values.SetInParent()
    many = random.choice((0, 1, 2, 3, 20, 5000 if random.random() < 0.02 else 1))
    for _ in range(random.choice((1, 1, 1, 2))):
        kind = random.choice(("s", "i", "f", "b", "type", "shape", "tensor", "func"))
        if kind == "s":
            values.s.extend(random.choice(GROUPS) for _ in range(many))
        elif kind == "i":
            values.i.extend(random.choice(INTS) for _ in range(many))
        elif kind == "f":
            values.f.extend([1.5] * many)
        elif kind == "b":
            values.b.extend([True] * many)
        elif kind == "type":
            values.type.extend(_type(random) for _ in range(many))
        elif kind == "shape":
            for _ in range(min(many, 20)):
                _set_shape(values.shape.add(), random)
        elif kind == "tensor":
            for _ in range(min(many, 20)):
                _set_tensor(values.tensor.add(), random)
        else:
            for _ in range(min(many, 3)):
                _set_function(values.func.add(), random)


def _set_function(function: Any, random: Random) -> None:
    """A reference to a function, sometimes nested deeply in its own attributes."""
    function.name = random.choice(("", "f", "g", "\0", "MatMul"))
    for _ in range(random.choice((0, 0, 1, 3, 20, 30, 600 if random.random() < 0.1 else 1))):
        inner = function.attr["f"]
        function = inner.list.func.add() if random.random() < 0.3 else inner.func
        function.name = "f"


def _edit_class(message: Any, random: Random) -> None:
    groups = _any_node(message, random).attr["_class"].list.s
    if random.random() < 0.7:
        groups.append(b"loc:@" + _name(message, random).encode())
    elif random.random() < 0.9:
        groups.append(random.choice(GROUPS))
    else:
        many = random.choice((10, 100, 1000, 1_000_000 if random.random() < 0.002 else 10))
        groups.extend([b"loc:@" + _name(message, random).encode()] * (many // 2))
        groups.extend(b"loc:@g%d" % i for i in range(many // 2))


def _edit_library(message: Any, random: Random) -> None:
    """A function: odd, recursive, of an op's name, or twice."""
    function = message.library.function.add()
    signature = function.signature
    signature.name = random.choice(("f", "g", "MatMul", "NoOp", "", "\0", random.choice(_OPS)))
    for arg in (signature.input_arg, signature.output_arg):
        for _ in range(random.choice((0, 1, 2, 5))):
            made = arg.add(name=random.choice(("x", "x", "y", "", "\0")))
            if random.random() < 0.5:
                made.type = _type(random)
            for name in ("type_attr", "number_attr", "type_list_attr"):
                if random.random() < 0.25:
                    setattr(made, name, random.choice(("T", "N", "Tin", "missing", "\0")))
            made.is_ref = random.random() < 0.1
    for _ in range(random.choice((0, 1, 3))):
        made = signature.attr.add(name=random.choice(ATTRS), type=random.choice(KINDS))
        if random.random() < 0.4:
            _set_value(made.default_value, random)
        if random.random() < 0.4:
            _set_value(made.allowed_values, random)
        if random.random() < 0.4:
            made.has_minimum, made.minimum = True, random.choice(INTS)
    for _ in range(random.choice((0, 1, 3))):
        function.node_def.add(
            name=random.choice(NAMES), op=random.choice(("f", "g", signature.name)), input=["x", "^x"]
        )
    function.ret["y"] = random.choice(INPUTS)
    if random.random() < 0.5:
        message.node.add(name=f"call{len(message.node)}", op=signature.name, input=[_name(message, random)])
    if random.random() < 0.2:
        message.library.function.add().CopyFrom(function)
    if random.random() < 0.3:
        message.library.gradient.add(function_name="f", gradient_func="f")


def _edit_body(message: Any, random: Random) -> None:
    """A function's arguments, nodes or results do not fit each other any more."""
    if not message.library.function:
        return
    function = random.choice(message.library.function)
    choice = random.randrange(6)
    if choice == 0 and function.node_def:
        function.node_def.remove(random.choice(function.node_def))
    elif choice == 1 and function.node_def:
        function.node_def.add().CopyFrom(random.choice(function.node_def))
    elif choice == 2:
        key = random.choice([*sorted(function.ret), "y"])
        function.ret[key] = random.choice([*INPUTS, "x", *(f"{node.name}:y:0" for node in function.node_def)])
    elif choice == 3:
        side = random.choice((function.signature.input_arg, function.signature.output_arg))
        if side and random.random() < 0.5:
            side.remove(random.choice(side))
        else:
            side.add(name=random.choice(("x", "y", "")), type=random.choice((1, 3, 7, 20)))
    elif choice == 4:
        function.control_ret[random.choice(NAMES)] = random.choice(NAMES)
        function.signature.control_output.append(random.choice(sorted(function.control_ret)))
    else:
        _set_value(function.attr[random.choice(ATTRS)], random)


def _edit_calls(message: Any, random: Random) -> None:
    """Calls and control flow that are to be written out, of functions that fit or do not, in circles too."""
    names = [function.signature.name for function in message.library.function] or ["f"]
    node = _any_node(message, random)
    kind = random.choice(("call", "PartitionedCall", "If", "While", "Case", "chain"))
    if kind == "chain":
        _chain(message, random)
        return
    if kind == "call":
        node.op = random.choice(names)
    else:
        node.op = kind
        for attr in {"PartitionedCall": "f", "If": "then_branch else_branch", "While": "cond body"}.get(
            kind, ""
        ).split():
            node.attr[attr].func.name = random.choice(names)
        if kind == "Case":
            for _ in range(random.choice((0, 1, 3, 300))):
                node.attr["branches"].list.func.add(name=random.choice(names))
        for attr in ("T", "Tin", "Tout"):
            node.attr[attr].list.type.extend([random.choice((1, 3, 10))] * random.choice((0, 1, 2, 300)))
        node.attr["Tcond"].type = 10
    for attr in ("_lower_as_multi_device_function", "_lower_using_switch_merge"):
        node.attr[attr].b = random.random() < 0.9


def _chain(message: Any, random: Random) -> None:
    """Functions of which each calls the next some times: their bodies multiply."""
    depth, times = random.choice(((2, 2), (5, 2), (4, 3), (30, 2), (40, 1)))
    last = random.choice(("NoOp", "chain0", "chain1", "NoSuchOp"))
    for level in range(depth):
        function = message.library.function.add()
        function.signature.name = f"chain{level}"
        for number in range(times):
            call = function.node_def.add(
                name=f"c{number}", op=f"chain{level + 1}" if level + 1 < depth else last
            )
            call.attr["_lower_as_multi_device_function"].b = random.random() < 0.95
    message.node.add(name="chain", op="chain0").attr["_lower_as_multi_device_function"].b = True


def _edit_lengths(message: Any, random: Random) -> None:
    """Nodes that declare many inputs or outputs, each another number of them."""
    source = _name(message, random)
    for number in range(random.choice((1, 1, 3, 40))):
        op, attr = random.choice((("AddN", "N"), ("Unpack", "num"), ("Split", "num_split"), ("Pack", "N")))
        node = message.node.add(name=f"long{len(message.node)}", op=op, input=[source])
        node.attr["T"].type = random.choice((1, 3))
        node.attr[attr].i = random.choice((*INTS, 65, (1 << 20) - number, (1 << 24) + number))
        if random.random() < 0.3:
            user = message.node.add(
                name=f"user{len(message.node)}", op="Neg", input=[f"{node.name}:{1 << 19}"]
            )
            user.attr["T"].type = 1


def _edit_versions(message: Any, random: Random) -> None:
    versions = message.versions
    limit = (1 << 31) - 1
    versions.producer = random.choice((0, 1, 21, 26, 134, 1395, -1, limit))
    versions.min_consumer = random.choice((0, 0, 12, 5000, -1, limit))
    if random.random() < 0.2:
        versions.bad_consumers.append(random.choice((134, 2000, -1)))


def _edit_cycle(message: Any, random: Random) -> None:
    first, second = _node(message, random), _node(message, random)
    prefix = random.choice(("", "", "^"))
    first.input.append(prefix + second.name)
    second.input.append(prefix + first.name)


_EDITS: tuple[Callable[[Any, Random], None], ...] = (
    _edit_name,
    _edit_op,
    _edit_device,
    _edit_inputs,
    _edit_inputs,
    _edit_nodes,
    _edit_attr,
    _edit_attr,
    _edit_attr,
    _edit_class,
    _edit_library,
    _edit_body,
    _edit_calls,
    _edit_lengths,
    _edit_versions,
    _edit_cycle,
)

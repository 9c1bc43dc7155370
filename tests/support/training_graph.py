"""A training graph of any size, and the machines that it is placed on."""

from __future__ import annotations

from tests.support.node_specs import NodeSpec, node

__all__ = ["local_devices", "training_graph"]

TOWERS = 4


def training_graph(count: int) -> list[NodeSpec]:
    """A training graph of about `count` nodes."""
    specs: list[NodeSpec] = [
        node("x", "Placeholder", dtype="float32"),
        node("rate", "Const", dtype="float32"),
    ]
    layer = 0
    last = ["x"] * TOWERS
    while len(specs) < count:
        tower = layer % TOWERS
        device = f"/gpu:{tower}"
        w = f"tower_{tower}/layer_{layer}"
        specs += [
            node(f"{w}/w", "VariableV2", dtype="float32", device=device),
            node(f"{w}/shape", "Const", dtype="int32", groups=f"{w}/w"),
            node(
                f"{w}/init", "RandomStandardNormal", f"{w}/shape", T="int32", dtype="float32", groups=f"{w}/w"
            ),
            node(f"{w}/Assign", "Assign", f"{w}/w", f"{w}/init", T="float32", groups=f"{w}/w", device=device),
            node(f"{w}/read", "Identity", f"{w}/w", T="float32", groups=f"{w}/w", device=device),
            node(f"{w}/MatMul", "MatMul", last[tower], f"{w}/read", T="float32", device=device),
            node(f"{w}/Relu", "Relu", f"{w}/MatMul", T="float32", device=device),
            node(f"{w}/Shape", "Shape", f"{w}/Relu", T="float32", device=device),
            node(f"{w}/Cast", "Cast", f"{w}/Shape", SrcT="int32", DstT="float32"),
            node(f"{w}/scale", "Const", dtype="float32"),
            node(f"{w}/mul", "Mul", f"{w}/Cast", f"{w}/scale", T="float32"),
            node(f"{w}/grad", "MatMul", f"{w}/Relu", f"{w}/MatMul", T="float32", device=device),
            node(f"{w}/grad_id", "Identity", f"{w}/grad", T="float32"),
            node(
                f"{w}/update",
                "ApplyGradientDescent",
                f"{w}/w",
                "rate",
                f"{w}/grad_id",
                T="float32",
                groups=f"{w}/w",
            ),
            node(f"{w}/group", "NoOp", f"^{w}/update"),
        ]
        last[tower] = f"{w}/Relu"
        layer += 1
    return specs


def local_devices(gpus: int) -> list[str]:
    """A local machine's device names."""
    prefix = "/job:localhost/replica:0/task:0/device:"
    return [f"{prefix}CPU:0", *(f"{prefix}GPU:{i}" for i in range(gpus))]

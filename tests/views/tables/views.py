"""Placement views that tests draw: the guide's towers, and a training graph of any size."""

from gpuplace.views.tables.placement_view import PlacementView, TensorFact

LOCAL = "/job:localhost/replica:0/task:0/device:"
MACHINE = [f"{LOCAL}{name}" for name in ("CPU:0", "GPU:0", "GPU:1", "GPU:2", "GPU:3")]


def towers(second: str = "GPU:3") -> PlacementView:
    """The guide's two towers; the second one asks for GPU:3 and is on `second`."""
    nodes, edges = [], []
    for suffixes, asked, got in ((("", "_1", ""), "GPU:2", "GPU:2"), (("_2", "_3", "_1"), "GPU:3", second)):
        device = f"{LOCAL}{got}" if got else ""
        left, right, product = (
            f"{kind}{suffix}" for kind, suffix in zip(("Const", "Const", "MatMul"), suffixes, strict=True)
        )
        nodes += [
            (left, "Const", f"/device:{asked}", device),
            (right, "Const", f"/device:{asked}", device),
            (product, "MatMul", f"/device:{asked}", device),
        ]
        edges += [(left, 0, product, 0), (right, 0, product, 1), (product, 0, "AddN", len(edges) // 3)]
    nodes.append(("AddN", "AddN", "/cpu:0", f"{LOCAL}CPU:0"))
    tensors = {(name, 0): TensorFact("float32", (2, 2), 16) for name in ("MatMul", "MatMul_1")}
    return PlacementView.of_columns(nodes, edges, tensors, MACHINE)


def training(towers: int = 4, layers: int = 50, ops: int = 10) -> PlacementView:
    """Towers of layers, a gradient of each, and an update: scopes, long edges, repeated structure."""
    nodes: list[tuple[str, str, str, str]] = []
    edges: list[tuple[str, int, str, int]] = []
    for tower in range(towers):
        gpu = f"{LOCAL}GPU:{tower}"
        before = None
        for layer in range(layers):
            for op in range(ops):
                name = f"tower_{tower}/layer_{layer}/op_{op}"
                nodes.append((name, ("MatMul", "Add", "Relu")[op % 3], f"/gpu:{tower}", gpu))
                if before:
                    edges.append((before, 0, name, 0))
                before = name
        for layer in reversed(range(layers)):
            for op in reversed(range(ops)):
                forward = f"tower_{tower}/layer_{layer}/op_{op}"
                name = f"gradients/{forward}_grad/Grad"
                nodes.append((name, "MatMul", f"/gpu:{tower}", gpu))
                edges += [(before, 0, name, 0), (forward, 0, name, 1)]
                before = name
        nodes.append((f"train/update_{tower}", "ApplyGradientDescent", "", f"{LOCAL}CPU:0"))
        edges.append((before, 0, f"train/update_{tower}", 0))
    nodes.append(("train/done", "NoOp", "", f"{LOCAL}CPU:0"))
    edges += [(f"train/update_{tower}", -1, "train/done", -1) for tower in range(towers)]
    return PlacementView.of_columns(nodes, edges, devices=MACHINE)

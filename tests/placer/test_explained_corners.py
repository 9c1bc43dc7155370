"""The text of the explanation of every corner graph's interesting node.

Each row of `CASES` is a graph of `tests/oracle/corner_graphs.py`, one of its nodes, the node's device on a machine with
two GPUs as TensorFlow 2.21 has it ("" where it cannot be placed), and words that its explanation must hold: the rules
that settled it, and what would move it. `REFUSED` has the graphs that are refused before anything is placed.
"""

import pytest

from gpuplace.device.machine import Machine
from gpuplace.errors import OpError
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placement import Placement
from gpuplace.placer.placer import Placer
from tests.oracle.corner_graphs import GRAPHS
from tests.oracle.node_specs import placement_graph
from tests.placer.test_recorded_placements import RECORDED, device_names

CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    (
        "guide: product",
        "m",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    ("guide: by hand", "b", "CPU:0", ("asked for '/cpu:0'", "ask for '/device:GPU:0' instead of '/cpu:0'")),
    (
        "guide: third GPU",
        "m",
        "",
        (
            "asked for '/gpu:2', which the machine does not have",
            "Cannot assign a device for operation m: {{node m}} was explicitly assigned to /gpu:2",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "guide: towers",
        "MatMul_1",
        "",
        (
            "asked for '/gpu:3', which the machine does not have",
            "Cannot assign a device for operation MatMul_1: {{node MatMul_1}} was explicitly assigned to /gpu:3",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "guide: second CPU",
        "a",
        "",
        (
            "asked for '/cpu:1', which the machine does not have",
            "Cannot assign a device for operation a: {{node a}} was explicitly assigned to /cpu:1",
            "ask for '/device:GPU:0' instead of '/cpu:1'",
        ),
    ),
    (
        "int32 has few GPU kernels",
        "p",
        "CPU:0",
        ("kernels for Pow with T=int32: CPU; none on GPU", "no GPU kernel for Pow with T=int32"),
    ),
    (
        "int32 asked for a GPU",
        "p",
        "",
        (
            "asked for '/gpu:0', which has no kernel for it",
            "Cannot assign a device for operation p: Could not satisfy explicit device specification '/gpu:0'",
            "no GPU kernel for Pow with T=int32",
        ),
    ),
    ("strings", "l", "CPU:0", ("kernels for StringJoin: CPU; none on GPU", "StringJoin has no GPU kernel")),
    (
        "string placeholder",
        "s",
        "GPU:0",
        ("all its consumers are on GPU:0: i", "it follows its consumers: ask for '/device:CPU:0', or move i"),
    ),
    (
        "string constant on a GPU",
        "s",
        "",
        (
            "asked for '/gpu:0', which has no kernel for it",
            "Cannot assign a device for operation s: Could not satisfy explicit device specification '/gpu:0'",
            "no GPU kernel for Const with dtype=string",
        ),
    ),
    (
        "no kernel for the type",
        "n",
        "",
        (
            "Value for attr 'T' of string is not in the list of allowed values: bfloat16, half, float, double, co",
            "no GPU kernel for Sin with T=string",
        ),
    ),
    (
        "op without any kernel",
        "f",
        "",
        (
            "No OpKernel was registered to support Op 'IntOutput' used by {{node f}} with these attrs: []",
            "IntOutput has no GPU kernel",
        ),
    ),
    (
        "bool and int64",
        "n",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    ("sum of int32", "s", "GPU:0", ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'")),
    (
        "mean of int32",
        "s",
        "CPU:0",
        (
            "kernels for Mean with T=int32, Tidx=int32: CPU; none on GPU",
            "no GPU kernel for Mean with T=int32, Tidx=int32",
        ),
    ),
    (
        "shapes in host memory",
        "r",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    ("cast to int", "n", "GPU:0", ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'")),
    (
        "kernel label",
        "n",
        "",
        (
            "No OpKernel was registered to support Op 'NoOp' used by {{node n}} with these attrs: [_kernel=\"none\"",
            "no GPU kernel for NoOp has the label 'none'",
        ),
    ),
    ("request /gpu:0", "n", "GPU:0", ("asked for '/gpu:0'", "ask for '/device:CPU:0' instead of '/gpu:0'")),
    ("request /gpu:1", "n", "GPU:1", ("asked for '/gpu:1'", "ask for '/device:CPU:0' instead of '/gpu:1'")),
    ("request /cpu:0", "n", "CPU:0", ("asked for '/cpu:0'", "ask for '/device:GPU:0' instead of '/cpu:0'")),
    (
        "request /cpu:3",
        "n",
        "",
        (
            "asked for '/cpu:3', which the machine does not have",
            "Cannot assign a device for operation n: {{node n}} was explicitly assigned to /cpu:3",
            "ask for '/device:GPU:0' instead of '/cpu:3'",
        ),
    ),
    (
        "request /gpu:7",
        "n",
        "",
        (
            "asked for '/gpu:7', which the machine does not have",
            "Cannot assign a device for operation n: {{node n}} was explicitly assigned to /gpu:7",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "request /device:GPU:*",
        "n",
        "GPU:0",
        (
            "asked for '/device:GPU:*'",
            "the first by name",
            "ask for '/device:CPU:0' instead of '/device:GPU:*'",
        ),
    ),
    (
        "request /device:CPU:*",
        "n",
        "CPU:0",
        ("asked for '/device:CPU:*'", "ask for '/device:GPU:0' instead of '/device:CPU:*'"),
    ),
    (
        "request /job:localhost",
        "n",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "request /task:0/gpu:0",
        "n",
        "GPU:0",
        ("asked for '/task:0/gpu:0'", "ask for '/device:CPU:0' instead of '/task:0/gpu:0'"),
    ),
    (
        "request /job:worker",
        "n",
        "",
        (
            "asked for '/job:worker', which the machine does not have",
            "Cannot assign a device for operation n: {{node n}} was explicitly assigned to /job:worker",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "request /task:1",
        "n",
        "",
        (
            "asked for '/task:1', which the machine does not have",
            "Cannot assign a device for operation n: {{node n}} was explicitly assigned to /task:1",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "request /replica:0",
        "n",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    ("request /device:*:1", "n", "GPU:1", ("asked for '/device:*:1'", "ask for '/device:CPU:0'")),
    (
        "request /device:gpu:0",
        "n",
        "",
        (
            "asked for '/device:gpu:0', which the machine does not have",
            "Cannot assign a device for operation n: {{node n}} was explicitly assigned to /device:gpu:0",
            "ask for '/device:GPU:0' instead of '/device:gpu:0'",
        ),
    ),
    (
        "request /gpu:01",
        "n",
        "GPU:1",
        ("asked for '/gpu:01'", "ask for '/device:CPU:0' instead of '/gpu:01'"),
    ),
    ("request /", "n", "GPU:0", ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'")),
    (
        "request twice in one name",
        "n",
        "CPU:0",
        ("asked for '/gpu:0/cpu:0'", "ask for '/device:GPU:0' instead of '/gpu:0/cpu:0'"),
    ),
    (
        "request in full",
        "n",
        "GPU:0",
        (
            "asked for '/job:localhost/replica:0/task:0/device:GPU:0'",
            "ask for '/device:CPU:0' instead of '/job:localhost/replica:0/task:0/device:GPU:0'",
        ),
    ),
    (
        "request for an unknown type",
        "n",
        "",
        (
            "asked for '/device:FPGA:0', which the machine does not have",
            "Cannot assign a device for operation n: {{node n}} was explicitly assigned to /device:FPGA:0",
            "ask for '/device:GPU:0' instead of '/device:FPGA:0'",
        ),
    ),
    ("malformed gpu:0", "n", "GPU:0", ("'gpu:0' is no device name", "ask for '/device:CPU:0'")),
    ("malformed /gpu", "n", "GPU:0", ("'/gpu' is no device name", "ask for '/device:CPU:0'")),
    ("malformed /tpu:0", "n", "GPU:0", ("'/tpu:0' is no device name", "ask for '/device:CPU:0'")),
    ("malformed /gpu:0/", "n", "GPU:0", ("'/gpu:0/' is no device name", "ask for '/device:CPU:0'")),
    ("malformed //cpu:0", "n", "GPU:0", ("'//cpu:0' is no device name", "ask for '/device:CPU:0'")),
    ("malformed /job:", "n", "GPU:0", ("'/job:' is no device name", "ask for '/device:CPU:0'")),
    (
        "malformed before missing",
        "a",
        "",
        (
            "asked for '/gpu:9', which the machine does not have",
            "Cannot assign a device for operation a: {{node a}} was explicitly assigned to /gpu:9",
            "ask for '/device:GPU:0'",
        ),
    ),
    ("type without index", "s", "CPU:0", ("asked for '/device:CPU:*'", "ShardedFilename has no GPU kernel")),
    (
        "constant goes with its consumer",
        "a",
        "CPU:0",
        ("all its consumers are on CPU:0: n", "it follows its consumers: ask for '/device:GPU:0', or move n"),
    ),
    (
        "constant with two consumers",
        "a",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "constant with consumers alike",
        "a",
        "CPU:0",
        ("all its consumers are on CPU:0: n", "it follows its consumers: ask for '/device:GPU:0', or move n"),
    ),
    (
        "constant that cannot follow",
        "s",
        "CPU:0",
        (
            "kernels for Const with dtype=string: CPU; none on GPU",
            "no GPU kernel for Const with dtype=string",
        ),
    ),
    (
        "control edge counts",
        "a",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "constants after one another",
        "b",
        "CPU:0",
        ("all its consumers are on CPU:0: n", "it follows its consumers: ask for '/device:GPU:0', or move n"),
    ),
    (
        "constant with a device of its own",
        "a",
        "GPU:0",
        ("asked for '/gpu:0'", "ask for '/device:CPU:0' instead of '/gpu:0'"),
    ),
    (
        "placeholder follows",
        "a",
        "CPU:0",
        ("all its consumers are on CPU:0: n", "it follows its consumers: ask for '/device:GPU:0', or move n"),
    ),
    (
        "nobody consumes",
        "s",
        "CPU:0",
        (
            "kernels for Const with dtype=string: CPU; none on GPU",
            "no GPU kernel for Const with dtype=string",
        ),
    ),
    (
        "missing GPU, soft follows",
        "a",
        "",
        (
            "asked for '/gpu:6', which the machine does not have",
            "Cannot assign a device for operation a: {{node a}} was explicitly assigned to /gpu:6",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "shape goes with its input",
        "s",
        "CPU:0",
        ("its input is on CPU:0: n", "it follows its input n: ask for '/device:GPU:0', or move n"),
    ),
    (
        "size and rank",
        "s",
        "CPU:0",
        ("its input is on CPU:0: n", "it follows its input n: ask for '/device:GPU:0', or move n"),
    ),
    (
        "shape of a constant",
        "s",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "shape of a shape",
        "s",
        "CPU:0",
        ("its input is on CPU:0: n", "it follows its input n: ask for '/device:GPU:0', or move n"),
    ),
    (
        "shape with a request",
        "s",
        "GPU:0",
        ("asked for '/gpu:0'", "ask for '/device:CPU:0' instead of '/gpu:0'"),
    ),
    (
        "ShapeN is no metadata",
        "s",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "identity follows",
        "i",
        "CPU:0",
        ("its input is on CPU:0: p", "it follows its input p: ask for '/device:GPU:0', or move p"),
    ),
    (
        "identity, requests differ",
        "i",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "identity, requests equal",
        "i",
        "CPU:0",
        ("its input is on CPU:0: p", "it follows its input p: ask for '/device:GPU:0', or move p"),
    ),
    (
        "identity without consumer",
        "i",
        "CPU:0",
        ("its input is on CPU:0: p", "it follows its input p: ask for '/device:GPU:0', or move p"),
    ),
    (
        "identity with two consumers",
        "i",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "identity with a control input",
        "i",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "identity chain",
        "i",
        "CPU:0",
        ("its input is on CPU:0: p", "it follows its input p: ask for '/device:GPU:0', or move p"),
    ),
    (
        "colocated",
        "b",
        "CPU:0",
        (
            "b is colocated with a, which asks for '/device:CPU:0'",
            "n is visited first and decides for the group",
            "its group asks for another type: change a ('/cpu:0')",
        ),
    ),
    (
        "colocation clash",
        "b",
        "GPU:0",
        ("asked for '/gpu:0'", "b is colocated with a", "ask for '/device:CPU:0' instead of '/gpu:0'"),
    ),
    (
        "colocation, ids clash",
        "b",
        "GPU:1",
        ("asked for '/gpu:1'", "b is colocated with a", "ask for '/device:CPU:0' instead of '/gpu:1'"),
    ),
    (
        "colocation, jobs clash",
        "b",
        "",
        (
            "b is colocated with a",
            "Cannot colocate nodes {{colocation_node b}} and {{colocation_node a}}: Cannot merge devices with inc",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "colocation, request and kernel",
        "n",
        "",
        (
            "n is colocated with p, which has no GPU kernel",
            "Cannot assign a device for operation p: Could not satisfy explicit device specification '' because t",
            "colocated with p, which has none: no GPU kernel for Pow with T=int32",
        ),
    ),
    (
        "colocation chain",
        "c",
        "CPU:0",
        (
            "c is colocated with b, which asks for '/device:CPU:0'",
            "a is visited first and decides for the group",
            "its group asks for another type: change a ('/cpu:0')",
        ),
    ),
    (
        "colocation, unknown name",
        "b",
        "CPU:0",
        (
            "b is colocated with a, which asks for '/device:CPU:0'",
            "a is visited first and decides for the group",
            "its group asks for another type: change a ('/cpu:0')",
        ),
    ),
    (
        "colocation with itself",
        "b",
        "CPU:0",
        (
            "b is colocated with a, which asks for '/device:CPU:0'",
            "a is visited first and decides for the group",
            "its group asks for another type: change a ('/cpu:0')",
        ),
    ),
    (
        "two groups of one node",
        "c",
        "CPU:0",
        (
            "c is colocated with a, which asks for '/device:CPU:0'",
            "a is visited first and decides for the group",
            "its group asks for another type: change a ('/cpu:0')",
        ),
    ),
    (
        "named before it exists",
        "a",
        "CPU:0",
        (
            "asked for '/cpu:0'",
            "b is visited first and decides for the group",
            "ask for '/device:GPU:0' instead of '/cpu:0'",
        ),
    ),
    (
        "partial requests merge",
        "b",
        "GPU:0",
        (
            "asked for '/gpu:0'",
            "a is visited first and decides for the group",
            "its group asks for another type: change a ('/job:localhost'), b ('/gpu:0')",
        ),
    ),
    (
        "no common kernel",
        "t",
        "CPU:0",
        (
            "t is colocated with n, but no device type supports both of those nodes and the other nodes colocated",
            "StringStrip has no GPU kernel",
        ),
    ),
    (
        "three clashing",
        "b",
        "GPU:1",
        ("b is colocated with a", "c is colocated with b", "ask for '/device:CPU:0' instead of '/gpu:1'"),
    ),
    (
        "constants of one group",
        "b",
        "GPU:0",
        (
            "a is visited first and decides for the group",
            "ask for '/device:CPU:0' here, or for a, which decides for the group",
        ),
    ),
    (
        "variable and assign",
        "r",
        "GPU:0",
        (
            "v is visited first and decides for the group",
            "ask for '/device:CPU:0' here, or for v, which decides for the group",
        ),
    ),
    (
        "assign yields",
        "w",
        "GPU:0",
        (
            "reference edge v -> w: the request of w yields to '/device:GPU:0'",
            "v is visited first and decides for the group",
            "its group asks for another type: change v ('/gpu:0'), w ('/cpu:0')",
        ),
    ),
    (
        "variable takes the request",
        "w",
        "CPU:0",
        (
            "asked for '/cpu:0'",
            "v is visited first and decides for the group",
            "ask for '/device:GPU:0' instead of '/cpu:0'",
        ),
    ),
    (
        "vaguer variable",
        "w",
        "GPU:1",
        (
            "asked for '/gpu:1'",
            "v is visited first and decides for the group",
            "its group asks for another type: change v ('/device:GPU:*'), w ('/gpu:1')",
        ),
    ),
    (
        "job against type",
        "w",
        "GPU:1",
        (
            "asked for '/gpu:1'",
            "v is visited first and decides for the group",
            "its group asks for another type: change v ('/job:localhost'), w ('/gpu:1')",
        ),
    ),
    (
        "int32 variable",
        "w",
        "CPU:0",
        ("v is visited first and decides for the group", "no GPU kernel for Assign with T=int32"),
    ),
    (
        "int32 variable on a GPU",
        "w",
        "",
        (
            "reference edge v -> w, which asks for '/device:GPU:0'",
            "Cannot assign a device for operation v: Could not satisfy explicit device specification '/gpu:0'",
            "no GPU kernel for Assign with T=int32",
        ),
    ),
    (
        "identity of a reference",
        "r",
        "CPU:0",
        ("asked for '/cpu:0'", "ask for '/device:GPU:0' instead of '/cpu:0'"),
    ),
    (
        "shape of a reference",
        "s",
        "CPU:0",
        ("its input is on CPU:0: v", "it follows its input v: ask for '/device:GPU:0', or move v"),
    ),
    (
        "two variables, one op",
        "u",
        "CPU:0",
        (
            "reference edge w -> u",
            "v is visited first and decides for the group",
            "its group asks for another type: change v ('/cpu:0')",
        ),
    ),
    (
        "sparse momentum",
        "w",
        "CPU:0",
        (
            "reference edge w -> u, which has no GPU kernel",
            "v is visited first and decides for the group",
            "colocated with u, which has none: SparseApplyMomentum has no GPU kernel",
        ),
    ),
    (
        "colocated with two variables",
        "u",
        "GPU:0",
        (
            "u is colocated with w",
            "v is visited first and decides for the group",
            "its group asks for another type: change v ('/gpu:0')",
        ),
    ),
    (
        "reference switch",
        "s",
        "GPU:0",
        (
            "reference edge v -> s, which asks for '/device:GPU:0'",
            "v is visited first and decides for the group",
            "its group asks for another type: change v ('/gpu:0')",
        ),
    ),
    (
        "handle and reads",
        "v",
        "GPU:0",
        (
            "r is visited first and decides for the group",
            "ask for '/device:CPU:0' here, or for r, which decides for the group",
        ),
    ),
    (
        "read yields",
        "r",
        "GPU:0",
        (
            "asked for '/cpu:0'",
            "resource edge v -> r: the request of r yields to '/device:GPU:0'",
            "its group asks for another type: change v ('/gpu:0'), r ('/cpu:0')",
        ),
    ),
    (
        "int32 handle",
        "r",
        "CPU:0",
        (
            "resource edge v -> r, which has no GPU kernel",
            "colocated with v, which has none: no GPU kernel for VarHandleOp with dtype=int32",
        ),
    ),
    (
        "int32 handle on a GPU",
        "r",
        "",
        (
            "resource edge v -> r, which has no GPU kernel",
            "Cannot assign a device for operation r: Could not satisfy explicit device specification '' because t",
            "colocated with v, which has none: no GPU kernel for VarHandleOp with dtype=int32",
        ),
    ),
    (
        "handles clash",
        "v",
        "CPU:0",
        (
            "resource edge w -> u",
            "u is visited first and decides for the group",
            "ask for '/device:GPU:0' instead of '/cpu:0'",
        ),
    ),
    (
        "handle through identity",
        "i",
        "GPU:0",
        (
            "resource edge v -> i, which asks for '/device:GPU:0'",
            "its group asks for another type: change v ('/gpu:0'), r ('/cpu:0')",
        ),
    ),
    (
        "handle through IdentityN",
        "i",
        "CPU:0",
        ("asked for '/cpu:0'", "ask for '/device:GPU:0' instead of '/cpu:0'"),
    ),
    (
        "hash table",
        "t",
        "CPU:0",
        ("f is visited first and decides for the group", "HashTableV2 has no GPU kernel"),
    ),
    (
        "queue on a GPU",
        "q",
        "GPU:0",
        (
            "asked for '/gpu:0'",
            "e is visited first and decides for the group",
            "ask for '/device:CPU:0' instead of '/gpu:0'",
        ),
    ),
    ("iterator", "g", "CPU:0", ("its CPU kernel has priority 2", "ask for '/device:GPU:0'")),
    (
        "missing GPU of a handle",
        "r",
        "",
        (
            "resource edge v -> r, which asks for '/device:GPU:5'",
            "Cannot assign a device for operation r: Could not satisfy explicit device specification '' because t",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "dataset edges",
        "p",
        "CPU:0",
        (
            "dataset edge d -> p, which has no GPU kernel",
            "d is visited first and decides for the group",
            "colocated with d, which has none: TensorSliceDataset has no GPU kernel",
        ),
    ),
    ("prefetch prefers the CPU", "p", "CPU:0", ("its CPU kernel has priority 2", "ask for '/device:GPU:0'")),
    ("priority in a group", "n", "CPU:0", ("its CPU kernel has priority 2", "ask for '/device:GPU:0'")),
    (
        "list of strings",
        "p",
        "CPU:0",
        (
            "p reads a list of strings or handles",
            "a list of strings or handles stays on the CPU: p reads one",
        ),
    ),
    (
        "not in file order",
        "a",
        "",
        (
            "asked for '/gpu:8', which the machine does not have",
            "Cannot assign a device for operation a: {{node a}} was explicitly assigned to /gpu:8",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "first fault of several",
        "x",
        "",
        (
            "asked for '/gpu:8', which the machine does not have",
            "Cannot assign a device for operation x: {{node x}} was explicitly assigned to /gpu:8",
            "ask for '/device:GPU:0'",
        ),
    ),
    (
        "switch and merge",
        "g",
        "GPU:0",
        ("GPU comes before CPU", "the first by name", "ask for '/device:CPU:0'"),
    ),
    (
        "while loop",
        "i",
        "GPU:0",
        ("its input is on GPU:0: s", "it follows its input s: ask for '/device:CPU:0', or move s"),
    ),
]
REFUSED = {
    "unknown op": "Op type not registered 'NoSuchOp'",
    "cycle": "2 nodes in a cycle",
    "unknown input": "Node 'a': Unknown input node 'zz'",
    "wrong type": "Input 0 of node n was passed int32 from a:0 incompatible with expected float.",
    "output that does not exist": "Node 'n': Connecting to invalid output 3 of source node a which has 1 outputs.",
    "two of one name": "Node 'a' is not unique",
    "missing attribute": "No attr named 'T' in NodeDef:",
}


def placed(name: str) -> Placement:
    catalogue = default_catalogue("2.21")
    placer = Placer(placement_graph(GRAPHS[name], catalogue), catalogue, rules="2.21")
    return placer.place(Machine.parse("2x Tesla K40c").device_set(environ={}), on_error="keep")


@pytest.mark.parametrize(("name", "node", "device", "words"), CASES, ids=[row[0] for row in CASES])
def test_the_text_says_why(name, node, device, words):
    placement = placed(name)
    text = str(placement.explain(node))
    op_type = placement.graph.op_type(placement.graph.index[node])
    where = f"/job:localhost/replica:0/task:0/device:{device}" if device else "no device"
    assert text.splitlines()[0] == f"{node} ({op_type}) -> {where}"
    for expected in words:
        assert expected in text, text


@pytest.mark.parametrize(("name", "node", "device", "words"), CASES, ids=[row[0] for row in CASES])
def test_the_device_is_tensorflows(name, node, device, words):
    hard, _ = RECORDED["rules"]["2.21"]["answers"][name]["2 GPU"]
    if isinstance(hard, dict):
        assert device_names("2.21", "2 GPU")[hard[node]].endswith(f"device:{device}")
    else:
        assert type(placed(name).errors[0]).__name__ == hard[0]


@pytest.mark.parametrize("name", REFUSED)
def test_a_graph_that_is_none_is_refused_in_words(name):
    with pytest.raises(OpError) as error:
        placed(name)
    assert REFUSED[name] in str(error.value)


UNREAD = frozenset(
    {
        "ControlTrigger",
        "LoopCond on a GPU",
        "RefSelect of two variables",
        "a string variable",
        "accumulator",
        "colocated with a read",
        "datasets on two devices",
        "files",
        "float32 through Switch and Merge",
        "generator of a metadata node",
        "generator of a variable's group",
        "generator with a control input",
        "handle into a loop",
        "host memory inputs do not decide",
        "identity of a generator",
        "identity of a reference chain",
        "index without type in a group",
        "initialised?",
        "iterator from a string handle",
        "iterator made of a dataset",
        "iterator on a GPU",
        "kernels of bfloat16",
        "kernels of bool",
        "kernels of complex64",
        "kernels of float16",
        "kernels of float64",
        "kernels of int64",
        "kernels of int8",
        "kernels of uint8",
        "malformed in a group",
        "missing GPU of a group",
        "mutable table",
        "old queue by reference",
        "old table by reference",
        "optional",
        "placeholder with default",
        "random numbers",
        "reader and writer",
        "reference into a loop",
        "reference through RefMerge",
        "replicas clash",
        "resource through Switch and Merge",
        "save from two devices",
        "scatter of int32",
        "shape of a handle's value",
        "shape with a control input",
        "sparse handles",
        "stack of floats",
        "staging",
        "summaries",
        "tensor array of float32",
        "tensor array of int32",
        "the same without a request",
        "three handles, one step",
        "two updates agree",
        "two updates, two requests",
        "type against job in a group",
        "update without a GPU kernel",
        "wrong job, soft",
    }
)
"""Corner graphs whose explanations nobody has read yet."""


def test_every_corner_graph_is_here():
    read = {row[0] for row in CASES} | set(REFUSED)
    assert not read & UNREAD
    assert read | UNREAD == set(GRAPHS)
    assert len(CASES) + len(REFUSED) == len(read)


@pytest.mark.parametrize("name", sorted(UNREAD))
def test_the_others_have_an_explanation_for_every_node_that_names_its_device(name):
    placement = placed(name)
    for node, device in placement.items():
        assert str(placement.explain(node)).splitlines()[0].endswith(f"-> {device}")
    assert dict(placement) or placement.errors

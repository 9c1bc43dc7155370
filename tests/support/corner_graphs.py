"""Small graphs of our own making, each about one rule of placement.

`GRAPHS` maps a name to a list of nodes (`node_specs.NodeSpec`). The answers of TensorFlow's placers to all
of them are in `tests/data/placements.json.gz`, written by `record.py`.
"""

from __future__ import annotations

from tests.support.node_specs import NodeSpec, node

GRAPHS: dict[str, list[NodeSpec]] = {}


def graph(name: str, *nodes: NodeSpec) -> None:
    """Adds a graph."""
    assert name not in GRAPHS
    GRAPHS[name] = list(nodes)


def const(name: str, dtype: str = "float32", **options: object) -> NodeSpec:
    """A constant."""
    return node(name, "Const", dtype=dtype, **options)  # type: ignore[arg-type]


def product(name: str = "m", a: str = "a", b: str = "b", **options: object) -> NodeSpec:
    """A matrix product of floats."""
    return node(name, "MatMul", a, b, T="float32", **options)  # type: ignore[arg-type]


def variable(name: str, dtype: str = "float32", **options: object) -> NodeSpec:
    """A reference variable."""
    return node(name, "VariableV2", dtype=dtype, **options)  # type: ignore[arg-type]


def handle(name: str, dtype: str = "float32", **options: object) -> NodeSpec:
    """A resource variable's handle."""
    return node(name, "VarHandleOp", dtype=dtype, **options)  # type: ignore[arg-type]


def identity(name: str, source: str, dtype: str = "float32", **options: object) -> NodeSpec:
    """An Identity."""
    return node(name, "Identity", source, T=dtype, **options)  # type: ignore[arg-type]


def neg(name: str, source: str, dtype: str = "float32", **options: object) -> NodeSpec:
    """A negation."""
    return node(name, "Neg", source, T=dtype, **options)  # type: ignore[arg-type]


# The guide
graph("guide: product", const("a"), const("b"), product())
graph("guide: by hand", const("a", device="/cpu:0"), const("b", device="/cpu:0"), product())
graph("guide: third GPU", *(const(n, device="/gpu:2") for n in "ab"), product(device="/gpu:2"))
graph(
    "guide: towers",
    const("Const", device="/gpu:2"),
    const("Const_1", device="/gpu:2"),
    product("MatMul", "Const", "Const_1", device="/gpu:2"),
    const("Const_2", device="/gpu:3"),
    const("Const_3", device="/gpu:3"),
    product("MatMul_1", "Const_2", "Const_3", device="/gpu:3"),
    node("AddN", "AddN", "MatMul", "MatMul_1", N=2, T="float32", device="/cpu:0"),
)
graph("guide: second CPU", const("a", device="/cpu:1"), const("b"), product())

# Kernels
graph(
    "int32 has few GPU kernels",
    const("a", "int32"),
    node("p", "Pow", "a", "a", T="int32"),
    neg("n", "p", "int32"),
)
graph("int32 asked for a GPU", const("a", "int32"), node("p", "Pow", "a", "a", T="int32", device="/gpu:0"))
graph("strings", const("s", "string"), identity("i", "s", "string"), node("l", "StringJoin", "s", "i", N=2))
graph("string placeholder", node("s", "Placeholder", dtype="string"), identity("i", "s", "string"))
graph("string constant on a GPU", const("s", "string", device="/gpu:0"))
graph("no kernel for the type", const("s", "string"), node("n", "Sin", "s", T="string"))
graph("op without any kernel", node("f", "IntOutput"))
graph("unknown op", node("a", "NoSuchOp"))
graph(
    "bool and int64",
    const("a", "bool"),
    node("n", "LogicalNot", "a"),
    const("i", "int64"),
    neg("m", "i", "int64"),
)
graph(
    "sum of int32",
    const("a", "int32"),
    const("k", "int32"),
    node("s", "Sum", "a", "k", T="int32", Tidx="int32"),
)
graph(
    "mean of int32",
    const("a", "int32"),
    const("k", "int32"),
    node("s", "Mean", "a", "k", T="int32", Tidx="int32"),
)
graph("shapes in host memory", const("a"), const("s", "int32"), node("r", "Reshape", "a", "s", T="float32"))
graph("cast to int", const("a"), node("c", "Cast", "a", SrcT="float32", DstT="int32"), neg("n", "c", "int32"))
graph("kernel label", node("n", "NoOp", _kernel="none"))

# Requests
for text in (
    "/gpu:0",
    "/gpu:1",
    "/cpu:0",
    "/cpu:3",
    "/gpu:7",
    "/device:GPU:*",
    "/device:CPU:*",
    "/job:localhost",
):
    graph(f"request {text}", const("a"), neg("n", "a", device=text))
for text in (
    "/task:0/gpu:0",
    "/job:worker",
    "/task:1",
    "/replica:0",
    "/device:*:1",
    "/device:gpu:0",
    "/gpu:01",
    "/",
):
    graph(f"request {text}", const("a"), neg("n", "a", device=text))
graph("request twice in one name", const("a"), neg("n", "a", device="/gpu:0/cpu:0"))
graph("request in full", const("a"), neg("n", "a", device="/job:localhost/replica:0/task:0/device:GPU:0"))
graph("request for an unknown type", const("a"), neg("n", "a", device="/device:FPGA:0"))
for text in ("gpu:0", "/gpu", "/tpu:0", "/gpu:0/", "//cpu:0", "/job:"):
    graph(f"malformed {text}", const("a"), neg("n", "a", device=text))
graph("malformed before missing", const("a", device="/gpu:9"), neg("n", "a", device="/gpu"))
graph("type without index", const("a"), node("s", "ShardedFilename", "f", "i", "i", device="/device:CPU:*"),
      const("f", "string"), const("i", "int32"))  # fmt: skip

# Generators
graph("constant goes with its consumer", const("a"), neg("n", "a", device="/cpu:0"))
graph(
    "constant with two consumers", const("a"), neg("n", "a", device="/cpu:0"), neg("m", "a", device="/gpu:0")
)
graph(
    "constant with consumers alike",
    const("a"),
    neg("n", "a", device="/cpu:0"),
    neg("m", "a", device="/cpu:0"),
)
graph("constant that cannot follow", const("s", "string"), identity("i", "s", "string", device="/gpu:0"))
graph(
    "control edge counts",
    const("a"),
    neg("n", "a", device="/cpu:0"),
    node("o", "NoOp", "^a", device="/gpu:0"),
)
graph("constants after one another", const("a"), node("b", "Const", "^a",
      dtype="float32"), neg("n", "b", device="/cpu:0"))  # fmt: skip
graph("constant with a device of its own", const("a", device="/gpu:0"), neg("n", "a", device="/cpu:0"))
graph("placeholder follows", node("a", "Placeholder", dtype="float32"), neg("n", "a", device="/cpu:0"))
graph("nobody consumes", const("a"), const("s", "string"))
graph("missing GPU, soft follows", const("a", device="/gpu:6"), neg("n", "a", device="/gpu:1"))

# Metadata
graph(
    "shape goes with its input",
    const("a"),
    neg("n", "a", device="/cpu:0"),
    node("s", "Shape", "n", T="float32"),
)
graph("size and rank", const("a"), neg("n", "a", device="/cpu:0"), node("s", "Size", "n", T="float32"),
      node("r", "Rank", "n", T="float32"))  # fmt: skip
graph("shape of a constant", const("a", device="/cpu:0"), node("s", "Shape", "a", T="float32"))
graph("shape of a shape", const("a"), neg("n", "a", device="/cpu:0"), node("s", "Shape", "n", T="float32"),
      node("t", "Shape", "s", T="int32"))  # fmt: skip
graph("shape with a request", const("a"), neg("n", "a", device="/cpu:0"),
      node("s", "Shape", "n", T="float32", device="/gpu:0"))  # fmt: skip
graph(
    "ShapeN is no metadata",
    const("a"),
    neg("n", "a", device="/cpu:0"),
    node("s", "ShapeN", "n", N=1, T="float32"),
)

# Identity: 2.x follows the input
graph("identity follows", const("a", "int32"), node("p", "Pow", "a", "a", T="int32"), identity("i", "p", "int32"),
      neg("n", "i", "int32"))  # fmt: skip
graph(
    "identity, requests differ", const("a"), neg("p", "a", device="/cpu:0"), identity("i", "p"), neg("n", "i")
)
graph("identity, requests equal", const("a"), neg("p", "a", device="/cpu:0"), identity("i", "p"),
      neg("n", "i", device="/cpu:0"))  # fmt: skip
graph(
    "identity without consumer",
    const("a", "int32"),
    node("p", "Pow", "a", "a", T="int32"),
    identity("i", "p", "int32"),
)
graph("identity with two consumers", const("a", "int32"), node("p", "Pow", "a", "a", T="int32"),
      identity("i", "p", "int32"), neg("n", "i", "int32"), neg("m", "i", "int32"))  # fmt: skip
graph("identity with a control input", const("a", "int32"), node("p", "Pow", "a", "a", T="int32"), node("o", "NoOp"),
      node("i", "Identity", "p", "^o", T="int32"))  # fmt: skip
graph("identity chain", const("a", "int32"), node("p", "Pow", "a", "a", T="int32"), identity("i", "p", "int32"),
      identity("j", "i", "int32"), identity("k", "j", "int32"), neg("n", "k", "int32"))  # fmt: skip

# Colocation
graph("colocated", const("a", device="/cpu:0"), const("b", groups="a"), neg("n", "a", groups="a"))
graph("colocation clash", node("a", "NoOp", device="/cpu:0"), node("b", "NoOp", device="/gpu:0", groups="a"))
graph(
    "colocation, ids clash",
    node("a", "NoOp", device="/gpu:0"),
    node("b", "NoOp", device="/gpu:1", groups="a"),
)
graph(
    "colocation, jobs clash",
    node("a", "NoOp", device="/job:a"),
    node("b", "NoOp", device="/job:b", groups="a"),
)
graph("colocation, request and kernel", const("a", "int32"), node("p", "Pow", "a", "a", T="int32"), const("x"),
      neg("n", "x", device="/gpu:0", groups="p"))  # fmt: skip
graph(
    "colocation chain",
    node("a", "NoOp", device="/cpu:0"),
    node("b", "NoOp", groups="a"),
    node("c", "NoOp", groups="b"),
)
graph(
    "colocation, unknown name",
    node("a", "NoOp", device="/cpu:0", groups="zz"),
    node("b", "NoOp", groups="zz"),
)
graph("colocation with itself", node("a", "NoOp", device="/cpu:0", groups="a"), node("b", "NoOp", groups="a"))
graph(
    "two groups of one node",
    node("a", "NoOp", device="/cpu:0"),
    node("b", "NoOp"),
    node("c", "NoOp", groups=("a", "b")),
)
graph("named before it exists", node("b", "NoOp", groups="a"), node("a", "NoOp", device="/cpu:0"))
graph(
    "partial requests merge",
    node("a", "NoOp", device="/job:localhost"),
    node("b", "NoOp", device="/gpu:0", groups="a"),
)
graph("no common kernel", const("x"), const("s", "string"),
      node("n", "NcclAllReduce", "x", T="float32", reduction="sum"),
      node("t", "StringStrip", "s", groups="n"))  # fmt: skip
graph("three clashing", node("a", "NoOp", device="/gpu:0"), node("b", "NoOp", device="/gpu:1", groups="a"),
      node("c", "NoOp", device="/cpu:0", groups="b"))  # fmt: skip
graph("constants of one group", const("a"), const("b", groups="a"), neg("n", "b", device="/cpu:0"))

# Reference variables
graph("variable and assign", variable("v"), const("x"), node("w", "Assign", "v", "x", T="float32"),
      identity("r", "v", groups="v"))  # fmt: skip
graph("assign yields", variable("v", device="/gpu:0"), const("x"),
      node("w", "Assign", "v", "x", T="float32", device="/cpu:0"))  # fmt: skip
graph("variable takes the request", variable("v"), const("x"),
      node("w", "Assign", "v", "x", T="float32", device="/cpu:0"))  # fmt: skip
graph("vaguer variable", variable("v", device="/device:GPU:*"), const("x"),
      node("w", "Assign", "v", "x", T="float32", device="/gpu:1"))  # fmt: skip
graph("job against type", variable("v", device="/job:localhost"), const("x"),
      node("w", "Assign", "v", "x", T="float32", device="/gpu:1"))  # fmt: skip
graph("int32 variable", variable("v", "int32"), const("x", "int32"), node("w", "Assign", "v", "x", T="int32"))
graph("int32 variable on a GPU", variable("v", "int32", device="/gpu:0"), const("x", "int32"),
      node("w", "Assign", "v", "x", T="int32"))  # fmt: skip
graph("identity of a reference", variable("v", device="/gpu:0"), identity("r", "v", device="/cpu:0"))
graph("shape of a reference", variable("v", device="/cpu:0"), node("s", "Shape", "v", T="float32"))
graph("two variables, one op", variable("v", device="/cpu:0"), variable("w", device="/gpu:0"), const("x"),
      node("u", "ApplyAdagrad", "v", "w", "x", "x", T="float32"))  # fmt: skip
graph("sparse momentum", variable("v"), variable("w"), const("x"), const("i", "int32"),
      node("u", "SparseApplyMomentum", "v", "w", "x", "x", "i", "x", T="float32", Tindices="int32"))  # fmt: skip
graph("colocated with two variables", variable("v", device="/gpu:0"), variable("w", device="/cpu:0"), const("x"),
      node("u", "Assign", "v", "x", T="float32", groups="w"))  # fmt: skip
graph(
    "reference switch",
    variable("v", device="/gpu:0"),
    const("p", "bool"),
    node("s", "RefSwitch", "v", "p", T="float32"),
)

# Resources
graph("handle and reads", handle("v"), node("r", "ReadVariableOp", "v", dtype="float32"), neg("n", "r"))
graph(
    "read yields",
    handle("v", device="/gpu:0"),
    node("r", "ReadVariableOp", "v", dtype="float32", device="/cpu:0"),
)
graph("int32 handle", handle("v", "int32"), node("r", "ReadVariableOp", "v", dtype="int32"))
graph(
    "int32 handle on a GPU",
    handle("v", "int32", device="/gpu:0"),
    node("r", "ReadVariableOp", "v", dtype="int32"),
)
graph("handles clash", handle("v", device="/cpu:0"), handle("w", device="/gpu:0"), const("x"),
      node("u", "ResourceApplyAdagrad", "v", "w", "x", "x", T="float32"))  # fmt: skip
graph("handle through identity", handle("v", device="/gpu:0"), identity("i", "v", "resource"),
      node("r", "ReadVariableOp", "i", dtype="float32", device="/cpu:0"))  # fmt: skip
graph(
    "handle through IdentityN",
    handle("v", device="/gpu:0"),
    node("i", "IdentityN", "v", T=("resource",), device="/cpu:0"),
)
graph("hash table", node("t", "HashTableV2", key_dtype="string", value_dtype="int64"), const("k", "string"),
      const("d", "int64"), node("f", "LookupTableFindV2", "t", "k", "d", Tin="string", Tout="int64"))  # fmt: skip
graph("queue on a GPU", node("q", "FIFOQueueV2", component_types=("float32",), device="/gpu:0"), const("x"),
      node("e", "QueueEnqueueV2", "q", "x", Tcomponents=("float32",)))  # fmt: skip
graph("iterator", node("i", "IteratorV2", output_types=("float32",)), node("g", "IteratorGetNext", "i",
      output_types=("float32",)))  # fmt: skip
graph(
    "missing GPU of a handle", handle("v", device="/gpu:5"), node("r", "ReadVariableOp", "v", dtype="float32")
)

# Datasets, priorities
graph("dataset edges", const("c", "int64"),
      node("d", "TensorSliceDataset", "c", Toutput_types=("int64",), device="/cpu:0"),
      node("p", "PrefetchDataset", "d", "c", output_types=("int64",)))  # fmt: skip
graph("prefetch prefers the CPU", node("d", "Placeholder", dtype="variant"), const("c", "int64"),
      node("p", "PrefetchDataset", "d", "c", output_types=("int64",)))  # fmt: skip
graph(
    "priority in a group",
    node("i", "IteratorV2", output_types=("float32",)),
    const("x"),
    neg("n", "x", groups="i"),
)
graph("list of strings", node("h", "Placeholder", dtype="variant"), const("s", "string"),
      node("p", "TensorListPushBack", "h", "s", element_dtype="string"))  # fmt: skip

# Order and control flow
graph("not in file order", product(), const("b", device="/gpu:9"), const("a", device="/gpu:8"))
graph("first fault of several", neg("y", "x", device="/gpu:9"), neg("x", "a", device="/gpu:8"), const("a"))
graph("switch and merge", const("a"), const("p", "bool"), node("s", "Switch", "a", "p", T="float32"), neg("n", "s:1"),
      node("g", "Merge", "s", "n", N=2, T="float32"))  # fmt: skip
graph(
    "while loop",
    const("a", device="/cpu:0"),
    node("e", "Enter", "a", T="float32", frame_name="w"),
    node("g", "Merge", "e", "x", N=2, T="float32"),
    const("t", "bool"),
    node("l", "LoopCond", "t"),
    node("s", "Switch", "g", "l", T="float32"),
    identity("i", "s:1"),
    neg("n", "i"),
    node("x", "NextIteration", "n", T="float32"),
    node("o", "Exit", "s", T="float32"),
)
graph("cycle", neg("a", "b"), neg("b", "a"))
graph("unknown input", neg("a", "zz"))
graph("wrong type", const("a", "int32"), neg("n", "a"))
graph("output that does not exist", const("a"), neg("n", "a:3"))
graph("two of one name", const("a"), const("a"))
graph("missing attribute", const("a"), NodeSpec("n", "Neg", ("a",)))

# References and handles that pass through control flow
for kind, source in (("float32", variable("v", device="/gpu:1")), ("resource", handle("v", device="/gpu:1"))):
    graph(
        f"{kind} through Switch and Merge",
        source,
        const("p", "bool"),
        node("s", "Switch", "v", "p", T=kind),
        identity("i", "s:1", kind),
        node("g", "Merge", "s", "i", N=2, T=kind),
        identity("o", "g", kind, device="/cpu:0"),
    )
graph("reference through RefMerge", variable("v", device="/gpu:1"), const("p", "bool"), const("x"),
      node("s", "RefSwitch", "v", "p", T="float32"), node("i", "RefIdentity", "s:1", T="float32"),
      node("g", "RefMerge", "s", "i", N=2, T="float32"), node("w", "Assign", "g", "x", T="float32"))  # fmt: skip
graph("reference into a loop", variable("v", device="/gpu:1"), const("x"),
      node("e", "RefEnter", "v", T="float32", frame_name="f"),
      node("w", "AssignAdd", "e", "x", T="float32", device="/cpu:0"),
      node("o", "RefExit", "e", T="float32"))  # fmt: skip
graph("handle into a loop", handle("v", device="/gpu:1"),
      node("e", "Enter", "v", T="resource", frame_name="f"), node("r", "ReadVariableOp", "e", dtype="float32"),
      node("o", "Exit", "r", T="float32", device="/cpu:0"))  # fmt: skip
graph("RefSelect of two variables", variable("v", device="/gpu:0"), variable("w", device="/cpu:0"),
      const("i", "int32"), node("s", "RefSelect", "i", "v", "w", N=2, T="float32"))  # fmt: skip
graph("LoopCond on a GPU", const("p", "bool"), node("l", "LoopCond", "p", device="/gpu:0"))
graph("ControlTrigger", const("a", device="/gpu:0"), node("t", "ControlTrigger", "^a", device="/gpu:1"))

# Groups tied by several updates
graph("two updates, two requests", variable("v"), const("x"),
      node("w", "Assign", "v", "x", T="float32", device="/gpu:0"),
      node("u", "AssignAdd", "v", "x", T="float32", device="/cpu:0"))  # fmt: skip
graph("two updates agree", handle("v"), const("x"),
      node("w", "AssignVariableOp", "v", "x", dtype="float32", device="/gpu:1"),
      node("u", "AssignAddVariableOp", "v", "x", dtype="float32", device="/gpu:1"))  # fmt: skip
graph("three handles, one step", handle("v", device="/gpu:1"), handle("m"), handle("n", device="/device:GPU:*"),
      const("x"),
      node("u", "ResourceApplyAdam", "v", "m", "n", *"xxxxxxx", T="float32"))  # fmt: skip
graph("update without a GPU kernel", variable("v", device="/gpu:0"), variable("a"), const("x"), const("i", "int32"),
      node("u", "SparseApplyAdagrad", "v", "a", "x", "x", "i", T="float32", Tindices="int32"))  # fmt: skip
graph("the same without a request", variable("v"), variable("a"), const("x"), const("i", "int32"),
      node("u", "SparseApplyAdagrad", "v", "a", "x", "x", "i", T="float32", Tindices="int32"))  # fmt: skip
graph("sparse handles", handle("v"), handle("a"), const("x"), const("i", "int64"),
      node("u", "ResourceSparseApplyFtrl", *"vaaxixxxx", T="float32", Tindices="int64"))  # fmt: skip
graph("scatter of int32", variable("v", "int32"), const("i", "int32"), const("x", "int32"),
      node("u", "ScatterAdd", "v", "i", "x", T="int32", Tindices="int32"))  # fmt: skip
graph("missing GPU of a group", variable("v", device="/gpu:9"), const("x", device="/gpu:9"),
      node("w", "Assign", "v", "x", T="float32"), identity("r", "v", groups="v"))  # fmt: skip
graph("a string variable", variable("v", "string", device="/gpu:0"), const("x", "string"),
      node("w", "Assign", "v", "x", T="string"))  # fmt: skip
graph("colocated with a read", variable("v", device="/gpu:1"), identity("r", "v", groups="v"),
      neg("n", "r", groups="r"), neg("m", "n", groups="v", device="/cpu:0"))  # fmt: skip
graph("initialised?", handle("v", device="/gpu:0"), node("q", "VarIsInitializedOp", "v", device="/cpu:0"),
      node("d", "DestroyResourceOp", "v"))  # fmt: skip

# Other resources
graph("old queue by reference", node("q", "FIFOQueue", component_types=("float32",)), const("x"),
      node("e", "QueueEnqueue", "q", "x", Tcomponents=("float32",), device="/gpu:0"))  # fmt: skip
graph("old table by reference", node("t", "HashTable", key_dtype="int64", value_dtype="float32", device="/gpu:0"),
      node("s", "LookupTableSize", "t"))  # fmt: skip
graph("mutable table", node("t", "MutableHashTableV2", key_dtype="int64", value_dtype="int64"),
      const("k", "int64"), node("i", "LookupTableInsertV2", "t", "k", "k", Tin="int64", Tout="int64"),
      node("s", "LookupTableSizeV2", "t", device="/gpu:0"))  # fmt: skip
graph("stack of floats", const("n", "int32"), const("x"), node("s", "StackV2", "n", elem_type="float32"),
      node("p", "StackPushV2", "s", "x", T="float32"), node("o", "StackPopV2", "s", elem_type="float32"))  # fmt: skip
for kind in ("float32", "int32"):
    graph(f"tensor array of {kind}", const("n", "int32"), const("x", kind),
          node("t", "TensorArrayV3", "n", dtype=kind), node("w", "TensorArrayWriteV3", "t", "n", "x", "t:1", T=kind),
          node("r", "TensorArrayReadV3", "t", "n", "w", dtype=kind, device="/gpu:0"))  # fmt: skip
graph("accumulator", node("c", "ConditionalAccumulator", dtype="float32"), const("n", "int32"),
      node("t", "AccumulatorTakeGradient", "c", "n", dtype="float32", device="/gpu:0"))  # fmt: skip
graph("iterator on a GPU", node("i", "IteratorV2", output_types=("float32",), device="/gpu:0"),
      node("g", "IteratorGetNext", "i", output_types=("float32",), device="/cpu:0"))  # fmt: skip
graph("iterator made of a dataset", node("i", "IteratorV2", output_types=("int64",)), const("c", "int64"),
      node("d", "RangeDataset", "c", "c", "c", output_types=("int64",), device="/cpu:0"),
      node("m", "MakeIterator", "d", "i"), node("g", "IteratorGetNext", "i", output_types=("int64",)))  # fmt: skip
graph("iterator from a string handle", node("s", "Placeholder", dtype="string"),
      node("i", "IteratorFromStringHandleV2", "s"),
      node("g", "IteratorGetNext", "i", output_types=("float32",), device="/gpu:0"))  # fmt: skip
graph("optional", const("x"), node("o", "OptionalFromValue", "x", Toutput_types=("float32",)),
      node("v", "OptionalGetValue", "o", output_types=("float32",)))  # fmt: skip
graph("reader and writer", node("r", "TFRecordReaderV2", device="/gpu:0"), node("w", "SummaryWriter"),
      const("q", "string"), node("f", "FlushSummaryWriter", "w"))  # fmt: skip
graph("datasets on two devices", const("c", "int64"),
      node("d", "RangeDataset", "c", "c", "c", output_types=("int64",), device="/cpu:0"),
      node("b", "BatchDataset", "d", "c", output_types=("int64",), device="/gpu:0"))  # fmt: skip
graph("staging", const("x"), node("s", "Stage", "x", dtypes=("float32",), device="/gpu:0"),
      node("u", "Unstage", dtypes=("float32", "int32")), neg("n", "u"))  # fmt: skip

# Kernels by type
for kind in ("float16", "bfloat16", "float64", "complex64", "uint8", "int8", "int64", "bool"):
    graph(
        f"kernels of {kind}",
        const("a", kind),
        node("c", "ConcatV2", "a", "a", "k", N=2, T=kind, Tidx="int32"),
        const("k", "int32"),
        node("e", "Equal", "c", "c", T=kind),
        node("u", "Unique", "c", T=kind, out_idx="int32"),
    )
graph("host memory inputs do not decide", const("x", device="/cpu:0"), const("d", "int32"),
      node("t", "Tile", "x", "d", T="float32", Tmultiples="int32"),
      node("f", "Fill", "d", "x", T="float32", index_type="int32"))  # fmt: skip
graph("random numbers", const("s", "int32"), node("u", "RandomUniform", "s", T="int32", dtype="float32"),
      node("i", "RandomUniformInt", "s", "s", "s", T="int32", Tout="int32"),
      node("p", "RandomShuffle", "u", T="float32"))  # fmt: skip
graph(
    "files", const("f", "string"), node("r", "ReadFile", "f", device="/gpu:0"), node("d", "DecodeJpeg", "r")
)
graph("summaries", const("t", "string"), const("x"), node("h", "HistogramSummary", "t", "x", T="float32"),
      node("m", "MergeSummary", "h", "h", N=2, device="/gpu:0"))  # fmt: skip
graph("save from two devices", const("f", "string"), variable("v", device="/gpu:0"), handle("w", device="/cpu:0"),
      node("r", "ReadVariableOp", "w", dtype="float32"),
      node("s", "SaveV2", "f", "f", "f", "v", "r", dtypes=("float32", "float32")))  # fmt: skip

# Generators, metadata, identities once more
graph("placeholder with default", const("a", device="/cpu:0"),
      node("p", "PlaceholderWithDefault", "a", dtype="float32"), neg("n", "p", device="/gpu:0"))  # fmt: skip
graph("generator with a control input", node("o", "NoOp", device="/gpu:0"), const("a", groups=()),
      node("b", "Const", "^o", dtype="float32"), node("s", "Add", "a", "b", T="float32", device="/cpu:0"))  # fmt: skip
graph("generator of a metadata node", const("a"), node("s", "Shape", "a", T="float32"),
      neg("n", "s", "int32", device="/cpu:0"))  # fmt: skip
graph("generator of a variable's group", const("x"), variable("v", device="/cpu:0"),
      node("w", "Assign", "v", "x", T="float32"))  # fmt: skip
graph("shape of a handle's value", handle("v", device="/cpu:0"), node("s", "VariableShape", "v"),
      node("r", "ReadVariableOp", "v", dtype="float32"), node("z", "Size", "r", T="float32"))  # fmt: skip
graph("shape with a control input", const("a"), neg("n", "a", device="/cpu:0"), node("o", "NoOp", device="/gpu:0"),
      node("s", "Shape", "n", "^o", T="float32"))  # fmt: skip
graph("identity of a generator", const("a"), identity("i", "a"), neg("n", "i", device="/cpu:0"))
graph("identity of a reference chain", variable("v", device="/cpu:0"),
      node("i", "RefIdentity", "v", T="float32"), identity("j", "i"), neg("n", "j"))  # fmt: skip

# Requests that merge
graph("type against job in a group", node("a", "NoOp", device="/job:localhost/task:0"),
      node("b", "NoOp", device="/device:CPU:*", groups="a"), node("c", "NoOp", groups="b"))  # fmt: skip
graph(
    "replicas clash",
    node("a", "NoOp", device="/replica:0"),
    node("b", "NoOp", device="/replica:1", groups="a"),
)
graph("wrong job, soft", const("a"), neg("n", "a", device="/job:ps/gpu:0"))
graph(
    "malformed in a group", node("a", "NoOp", device="/cpu:0"), node("b", "NoOp", device="/gpu:", groups="a")
)
graph("index without type in a group", node("a", "NoOp", device="/device:*:1"),
      node("b", "NoOp", device="/gpu:1", groups="a"))  # fmt: skip

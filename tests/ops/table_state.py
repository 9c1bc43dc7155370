"""Cases: variables, and the ops that update them."""

from tests.ops.cases import Case, Handle, Ref, f16, f32, f64, i32, i64, ramp

V, D = f32([1.0, 2.0, 3.0]), f32([0.5, -1.0, 4.0])
M = ramp(4, 2)

CASES = [
    Case("Assign", [Ref(V), D]),
    Case("Assign", [Ref(None, shape=(3,)), D], label="first"),
    Case("Assign", [Ref(V), f32([1.0, 2.0])], label="shape", only_class=True),
    Case("Assign", [Ref(V), f32([[1.0, 2.0]])], {"validate_shape": False}, "any shape"),
    Case("AssignAdd", [Ref(V), D]),
    Case("AssignSub", [Ref(V), D]),
    Case("AssignAdd", [Ref(i64([1, 2])), i64([3, 4])], label="int64"),
    Case("AssignAdd", [Ref(None, shape=(3,)), D], label="uninitialized", only_class=True),
    Case("IsVariableInitialized", [Ref(V)]),
    Case("CountUpTo", [Ref(i32(3))], {"limit": 5}),
    Case("CountUpTo", [Ref(i32(5))], {"limit": 5}, "reached", only_class=True),
    Case("ReadVariableOp", [Handle(V)], {"dtype": "float32"}),
    Case("AssignVariableOp", [Handle(V), D]),
    Case("AssignAddVariableOp", [Handle(V), D]),
    Case("AssignSubVariableOp", [Handle(V), D]),
    Case("VarIsInitializedOp", [Handle(V)]),
    Case("VariableShape", [Handle(M)]),
    Case("ResourceGather", [Handle(M), i32([[3, 0], [1, 1]])], {"dtype": "float32"}),
    Case(
        "ResourceGather",
        [Handle(M), i32([[1], [0], [1], [1]])],
        {"dtype": "float32", "batch_dims": 1},
        "batches",
    ),
    Case("ResourceGatherNd", [Handle(M), i32([[3, 0], [1, 1]])], {"dtype": "float32"}),
    Case("ResourceGatherNd", [Handle(M), i32([[3]])], {"dtype": "float32"}, "rows"),
    Case("ResourceGather", [Handle(M), i32([4])], {"dtype": "float32"}, "outside", cpu_only=True),
    Case("UnsortedSegmentSum", [M, i32([1, 0, 1, -1]), i32(3)]),
    Case("UnsortedSegmentSum", [M, i32([[0, 1], [2, 0], [1, 1], [2, 2]]), i32(3)], label="elements"),
]
for how in ("Update", "Add", "Sub", "Mul", "Div", "Min", "Max"):
    CASES += [
        Case(f"Scatter{how}", [Ref(M), i32([2, 0]), ramp(2, 2, start=2.0)]),
        Case(f"ResourceScatter{how}", [Handle(M), i32([2, 0]), ramp(2, 2, start=2.0)]),
    ]
    if how != "Update":
        CASES += [
            Case(f"Scatter{how}", [Ref(M), i32([1, 1]), ramp(2, 2, start=2.0)], label="twice"),
            Case(f"ResourceScatter{how}", [Handle(M), i64([1, 1]), f32(3.0)], label="scalar twice"),
        ]
CASES.append(Case("ScatterAdd", [Ref(M), i32([4]), ramp(1, 2)], label="outside", cpu_only=True))

R, MOM, EPS = f32(0.1), f32(0.9), f32(1e-7)
ONES, GRAD = f32([1.0, 1.0, 1.0]), f32([0.5, -2.0, 0.25])
UPDATES = [
    ("ApplyGradientDescent", [V], [R, GRAD], {}),
    ("ApplyMomentum", [V, D], [R, GRAD, MOM], {}),
    ("ApplyMomentum", [V, D], [R, GRAD, MOM], {"use_nesterov": True}),
    ("ApplyAdagrad", [V, ONES], [R, GRAD], {}),
    ("ApplyAdagrad", [V, ONES], [R, GRAD], {"update_slots": False}),
    ("ApplyAdadelta", [V, ONES, ONES], [R, MOM, EPS, GRAD], {}),
    ("ApplyRMSProp", [V, ONES, D], [R, MOM, f32(0.5), EPS, GRAD], {}),
    ("ApplyCenteredRMSProp", [V, f32([0.1, 0.2, 0.3]), ONES, D], [R, MOM, f32(0.5), EPS, GRAD], {}),
    ("ApplyAdam", [V, D, ONES], [MOM, f32(0.99), R, MOM, f32(0.99), EPS, GRAD], {}),
    ("ApplyAdam", [V, D, ONES], [MOM, f32(0.99), R, MOM, f32(0.99), EPS, GRAD], {"use_nesterov": True}),
    ("ApplyAdaMax", [V, D, ONES], [MOM, R, MOM, f32(0.99), EPS, GRAD], {}),
    ("ApplyProximalGradientDescent", [V], [R, f32(0.5), f32(0.25), GRAD], {}),
    ("ApplyFtrl", [V, ONES, D], [GRAD, R, f32(0.5), f32(0.25), f32(-0.5)], {}),
    ("ApplyFtrlV2", [V, ONES, D], [GRAD, R, f32(0.5), f32(0.25), f32(0.75), f32(-0.5)], {}),
    ("ApplyProximalAdagrad", [V, ONES], [R, f32(0.5), f32(0.25), GRAD], {}),
    ("ApplyAdagradDA", [V, D, ONES], [GRAD, R, f32(0.5), f32(0.25), i64(3)], {}),
]
for op, variables, rest, attrs in UPDATES:
    label = "-".join(name for name, _ in attrs.items())
    CASES += [
        Case(op, [*map(Ref, variables), *rest], attrs, label, rtol=1e-5),
        Case(f"Resource{op}", [*map(Handle, variables), *rest], attrs, label, rtol=1e-5),
    ]
CASES += [
    Case("ApplyGradientDescent", [Ref(f64([1.0])), f64(0.1), f64([2.0])], label="double"),
    Case("ApplyGradientDescent", [Ref(f16([1.0])), f16(0.1), f16([2.0])], label="half"),
    Case("ApplyMomentum", [Ref(V), Ref(f32([1.0])), R, GRAD, MOM], label="shapes", only_class=True),
]
ROWS, AT = ramp(2, 2, start=-1.0, step=0.5), i32([3, 1])
S = ramp(4, 2, start=1.0)
SPARSE = [
    ("SparseApplyMomentum", 2, [R, ROWS, AT, MOM], {}),
    ("SparseApplyMomentum", 2, [R, ROWS, AT, MOM], {"use_nesterov": True}),
    ("SparseApplyAdagrad", 2, [R, ROWS, AT], {}),
    ("SparseApplyAdadelta", 3, [R, MOM, EPS, ROWS, AT], {}),
    ("SparseApplyRMSProp", 3, [R, MOM, f32(0.5), EPS, ROWS, AT], {}),
    ("SparseApplyProximalGradientDescent", 1, [R, f32(0.5), f32(0.25), ROWS, AT], {}),
    ("SparseApplyProximalAdagrad", 2, [R, f32(0.5), f32(0.25), ROWS, AT], {}),
    ("SparseApplyAdagradDA", 3, [ROWS, AT, R, f32(0.5), f32(0.25), i64(3)], {}),
    ("SparseApplyFtrl", 3, [ROWS, AT, R, f32(0.5), f32(0.25), f32(-0.5)], {}),
    ("SparseApplyFtrlV2", 3, [ROWS, AT, R, f32(0.5), f32(0.25), f32(0.75), f32(-0.5)], {}),
]
for op, count, rest, attrs in SPARSE:
    label = "-".join(name for name, _ in attrs.items())
    variables = [M, *[S] * (count - 1)]
    CASES += [
        Case(op, [*map(Ref, variables), *rest], attrs, label, rtol=1e-5, atol=1e-6),
        Case(f"Resource{op}", [*map(Handle, variables), *rest], attrs, label, rtol=1e-5, atol=1e-6),
    ]
CASES += [
    Case(
        "SparseApplyCenteredRMSProp",
        [Ref(M), Ref(S * 0), Ref(S), Ref(S), R, MOM, f32(0.5), EPS, ROWS, AT],
        rtol=1e-5,
    ),
    Case(
        "ResourceSparseApplyCenteredRMSProp",
        [Handle(M), Handle(S * 0), Handle(S), Handle(S), R, MOM, f32(0.5), EPS, ROWS, AT],
        rtol=1e-5,
    ),
]

"""Named sets of op types by role: control flow, variables, function calls, copies and feeds.

Use these sets to find the role of an op in a graph. Properties of its computation (elementwise, slow, new arrays as
results) are declared with its registration; see ``gpuplace.kernels.compute``. Its ``OpDef`` states whether it is
stateful or takes references. Sets for a single rule of TensorFlow's placer are next to that rule.

>>> "RefSwitch" in SWITCHES, "Switch" in LOOP_OPS
(True, False)
"""

from __future__ import annotations

# Control flow

SWITCHES = frozenset({"Switch", "RefSwitch"})
"""Ops with two outputs, one of which is dead."""

SWITCHES_OF_MANY = frozenset({"_SwitchN"})
"""Ops with one live output, chosen by an index; the others are dead."""

ALL_SWITCHES = SWITCHES | SWITCHES_OF_MANY
"""Switches of both kinds."""

MERGES = frozenset({"Merge", "RefMerge"})
"""Ops that return whichever input is not dead."""

ENTERS = frozenset({"Enter", "RefEnter"})
"""Ops that pass a value into a loop's frame."""

EXITS = frozenset({"Exit", "RefExit"})
"""Ops that pass a value out of a loop's frame."""

NEXT_ITERATIONS = frozenset({"NextIteration", "RefNextIteration"})
"""Ops that pass a value to the next iteration."""

LOOP_OPS = ENTERS | EXITS | NEXT_ITERATIONS | {"LoopCond"}
"""Ops that occur only in loops."""

CONTROL_FLOW_OPS = ALL_SWITCHES | MERGES | LOOP_OPS | {"ControlTrigger"}
"""All control-flow ops."""

CONTROL_FLOW_PASSING = frozenset({"Switch", "Enter", "Exit", "Identity", "Merge", "NextIteration"})
"""Ops that pass through the handle of a variable."""

# Functions

CALL_OPS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
"""Ops that call a function named by an attribute."""

WHILE_OPS = frozenset({"While", "StatelessWhile"})
"""Loops whose condition and body are functions."""

BRANCH_OPS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
"""Conditionals whose branches are functions."""

ENDS_OF_FUNCTIONS = frozenset({"_Arg", "_Retval"})
"""Ops that stand for arguments and results of a function, or for feeds and fetches of a step."""

# Variables

REFERENCE_VARIABLES = frozenset({"Variable", "VariableV2"})
"""Ops that return a variable by reference."""

VARIABLE_OPS = REFERENCE_VARIABLES | {"VarHandleOp"}
"""Ops that return a variable, by reference or as a handle."""

ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
"""Ops that assign their input to a variable."""

PARAMETER_SERVER_OPS = (
    *("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2"),
    *("MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable"),
    *("MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp"),
    *("BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator", "DecisionTreeResource"),
)
"""Ops placed on a parameter server: ``STANDARD_PS_OPS`` of 1.15's python/training/device_setter.py."""

VARIABLE_CHANGES = frozenset(
    {
        *("Assign", "AssignAdd", "AssignSub", "Queue", "ScatterAdd", "ScatterSub", "ScatterUpdate"),
        *("TruncatedNormal", "Variable", "VariableV2"),
    }
)
"""Variable ops for `must_run_on_cpu`: ``_VARIABLE_OPS`` of 1.15's python/framework/graph_util_impl.py."""

SAVE_AND_RESTORE_OPS = frozenset(
    {
        *("SaveV2", "Save", "SaveSlices", "SaveSlice", "LegacySave", "LegacySaveSlice"),
        *("RestoreV2", "Restore", "RestoreSlice", "LegacyRestore", "LegacyRestoreSlice"),
    }
)
"""Ops with which savers write and read checkpoints."""

SAVER_OPS = SAVE_AND_RESTORE_OPS | {"MergeV2Checkpoints", "ShardedFilename", "ShardedFilespec"}
"""All ops that occur only in savers."""

# Constants, values that are passed through, and copies

CONSTANT_OPS = frozenset({"Const", "HostConst"})
"""Ops whose value is in the graph."""

PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
"""Ops whose output must be fed."""

IDENTITY_OPS = frozenset({"Identity", "RefIdentity"})
"""Ops that pass their input through, and that the placer looks through."""

PLUMBING = IDENTITY_OPS | ENDS_OF_FUNCTIONS | {"IdentityN", "NoOp"}
"""Ops that inlining and naming add, and that are not part of a model."""

SUMS = frozenset({"Add", "AddN", "AddV2"})
"""Ops that sum tensors."""

ALIASES_OF_VARIABLES = IDENTITY_OPS | SWITCHES | ENTERS | {"StopGradient", "PreventGradient"}
"""Ops that return the memory of a reference to a variable, where later assignments are visible."""

METADATA_OPS = frozenset({"Shape", "Size", "Rank"})
"""Ops that read only the shape of their input."""

COMPARISONS = frozenset(("Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"))
"""Ops that compare numbers."""

CHECKS = COMPARISONS | {"LogicalAnd", "LogicalOr", "LogicalNot", "All", "Any", "IsFinite", "IsNan", "IsInf"}
"""Ops that the condition of an assertion consists of."""

SIZE_ARITHMETIC = frozenset(
    {
        *(
            "StridedSlice",
            "Slice",
            "Pack",
            "Unpack",
            "ConcatV2",
            "GatherV2",
            "Reshape",
            "ExpandDims",
            "Squeeze",
            "Cast",
        ),
        *(
            "Add",
            "AddV2",
            "Sub",
            "Mul",
            "FloorDiv",
            "RealDiv",
            "FloorMod",
            "Maximum",
            "Minimum",
            "Neg",
            "Prod",
            "Sum",
            "Max",
        ),
        *("Min", "Fill", "LogicalAnd", "LogicalOr"),
        *COMPARISONS,
        *("BroadcastArgs", "DynamicStitch", "ListDiff", "InvertPermutation", "Transpose"),
    }
)
"""Ops that compute shapes if their inputs are shapes and constants."""

SENDS = frozenset({"_Send", "_HostSend"})
"""Ops that send a tensor to another device."""

MAY_BE_DEAD = "_may_be_dead"
"""Attribute of a receiving op whose tensor may come from a conditional branch that is not taken."""

DECIDES_WHOLE_LOOP = "_decides_whole_loop"
"""Attribute of an ``Enter`` in a partition: all its inputs are available if the loop runs."""

KNOWN_BRANCH = "_known_branch"
"""Attribute of a ``Switch`` in such a loop: the output that is always taken, because the loop runs."""

RECEIVED_SHAPE = "_received_shape"
"""Attribute of a ``_Recv``: the expected shape, as far as it is known."""

RECEIVES = frozenset({"_Recv", "_HostRecv"})
"""Ops that receive a tensor from another device."""

CONDITIONAL_OPS = ALL_SWITCHES | MERGES | RECEIVES
"""Ops at which a branch begins or ends; a received tensor may be dead."""

TRANSFERS = SENDS | RECEIVES
"""Both ends of a copy."""

# Input

QUEUE_MAKERS = frozenset({"FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2"})
"""Ops that return the handle of a queue."""

SESSION_HANDLES = frozenset({"GetSessionHandle", "GetSessionHandleV2"})
"""Ops that keep a tensor in the session and return its handle."""

READER_MAKERS = frozenset(
    {
        "FixedLengthRecordReaderV2",
        "IdentityReaderV2",
        "TFRecordReaderV2",
        "TextLineReaderV2",
        "WholeFileReaderV2",
    }
)
"""Ops that return the handle of a file reader."""

TABLE_MAKERS = frozenset({"HashTableV2", "MutableHashTableOfTensorsV2", "MutableHashTableV2"})
"""Ops that return the handle of a lookup table."""

# Lists of tensors

LIST_MAKERS = {
    "EmptyTensorList": 0,
    "TensorListReserve": 0,
    "TensorListFromTensor": 1,
    "TensorListSplit": 1,
    "TensorListScatter": 2,
    "TensorListScatterV2": 2,
}
"""Ops that create lists of tensors -> the input with the shape of the elements."""

LISTS_LIKE_THE_FIRST = (
    ALL_SWITCHES
    | MERGES
    | ENTERS
    | EXITS
    | NEXT_ITERATIONS
    | {"TensorListPushBack", "TensorListPushBackBatch", "TensorListSetItem", "TensorListResize"}
    | {"TensorListScatterIntoExistingList", "TensorListConcatLists"}
    | {"Identity", "ZerosLike", "AddN", "Pack"}
)
"""Ops whose list has the element type and shape of the first input list."""

# Random numbers

RANDOM_OPS = frozenset(
    """
    RandomUniform RandomUniformInt RandomStandardNormal ParameterizedTruncatedNormal TruncatedNormal RandomShuffle
    Multinomial RandomGamma RandomGammaGrad RandomPoisson RandomPoissonV2
    """.split()
)
"""Ops that are stateful only because of random numbers."""

WEIGHTS_OF = {
    "BatchMatMul": (0, 1),
    "BatchMatMulV2": (0, 1),
    "BatchMatMulV3": (0, 1),
    "BiasAdd": (1,),
    "Conv1D": (1,),
    "Conv2D": (1,),
    "Conv2DBackpropInput": (1,),
    "Conv3D": (1,),
    "DepthwiseConv2dNative": (1,),
    "Einsum": (0, 1),
    "FusedBatchNorm": (1, 2, 3, 4),
    "FusedBatchNormV2": (1, 2, 3, 4),
    "FusedBatchNormV3": (1, 2, 3, 4),
    "Gather": (0,),
    "GatherV2": (0,),
    "MatMul": (0, 1),
    "ResourceGather": (0,),
}
"""Inputs that are model weights if they are constants, as in a frozen graph."""

CUT_OFF_BELOW_ZERO = frozenset({"Relu", "Softplus", "Relu6"})
"""Activations whose share of inputs below zero a summary reports."""

WITH_BIASES = frozenset({"Conv2D", "DepthwiseConv2dNative", "MatMul"})
"""Products whose CPU kernels can add a bias."""

BIAS_ADDITIONS = frozenset({"BiasAdd", "Add", "AddV2"})
"""Ops that add a bias in a graph."""

APPLIED_TO_BIASED = frozenset({"Relu", "Relu6", "Elu"})
"""Functions that the same kernels can apply to the sum."""

FUSED_OPS = {
    "Conv2D": "_FusedConv2D",
    "DepthwiseConv2dNative": "_FusedDepthwiseConv2dNative",
    "FusedBatchNorm": "_FusedBatchNormEx",
    "FusedBatchNormV2": "_FusedBatchNormEx",
    "FusedBatchNormV3": "_FusedBatchNormEx",
    "MatMul": "_FusedMatMul",
}
"""Op -> TensorFlow optimizer op that also computes the following ops."""

FIRST_OF_FUSED = {fused: op_type for op_type, fused in FUSED_OPS.items()}
"""Optimizer op -> op; the last of several versions of an op."""

PASSING_ON = (
    CONTROL_FLOW_OPS | IDENTITY_OPS | {"Reshape", "ReadVariableOp", "Squeeze", "ExpandDims", "StopGradient"}
)
"""Ops that return the memory of their inputs."""

HANDING_ON = frozenset({"Identity", "StopGradient", "PreventGradient", "NoOp"})
"""Ops that only pass their inputs through, or only wait."""

INLINE_OPS = (
    CONTROL_FLOW_OPS
    | CONSTANT_OPS
    | PLACEHOLDERS
    | METADATA_OPS
    | VARIABLE_OPS
    | {
        "Identity",
        "RefIdentity",
        "IdentityN",
        "NoOp",
        "ReadVariableOp",
        "ShapeN",
        "ExpandDims",
        "Reshape",
        "Squeeze",
    }
    | {"StopGradient", "PreventGradient", "_Retval"}
)
"""Cheap CPU ops, which TensorFlow's executor runs on the thread that made them ready (``IsExpensive``).

Source: tensorflow/core/framework/op_kernel.h and the kernels that override it, release 1.15.
"""

NOT_FOR_THEIR_RESULTS = (
    SAVE_AND_RESTORE_OPS
    | PLACEHOLDERS
    | ASSIGNMENTS
    | VARIABLE_OPS
    | {
        "Const",
        "NoOp",
        "PlaceholderWithDefault",
        "ReadVariableOp",
        "VarIsInitializedOp",
        "IsVariableInitialized",
    }
    | {"Assert", "MergeSummary", "ScalarSummary", "HistogramSummary", "ImageSummary"}
    | {"MergeV2Checkpoints", "ShardedFilename", "ReportUninitializedResources"}
)
"""Ops that are not the purpose of a step, although their results have no consumers."""

BATCH_NORMALIZATIONS = frozenset(
    f"FusedBatchNorm{part}{version}" for part in ("", "Grad") for version in ("", "V2", "V3")
)
"""Batch normalizations in a single kernel, and their gradients."""

KEEPING_WITHIN_A_STEP = ("TensorArray", "Stack", "TemporaryVariable", "DestroyTemporaryVariable")
"""Prefixes of op types that keep tensors within a step."""

UPDATES_OF_VARIABLES = (
    *("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply", "AssignAdd", "AssignSub"),
    *("ScatterAdd", "ScatterSub", "ScatterUpdate", "ScatterMul", "ScatterDiv", "ScatterMin", "ScatterMax"),
    *("ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate"),
)
"""Prefixes of op types that replace the values of variables."""

HANDLING_VARIABLES = ASSIGNMENTS | {"ReadVariableOp", "VarIsInitializedOp", "IsVariableInitialized"}
"""Ops on variables that compute nothing, whatever the size of the variable."""

NUMBERS_OF_ELEMENTS = {
    **{"TensorArrayV3": 0, "TensorArrayGatherV3": 1, "TensorArrayScatterV3": 1, "TensorArraySplitV3": 2},
    **{"TensorListReserve": 1, "TensorListResize": 1, "TensorListFromTensor": 0, "TensorListSplit": 2},
    **{"TensorListScatter": 1, "TensorListScatterV2": 1, "TensorListScatterIntoExistingList": 2},
    **{"TensorListGather": 1, "TensorListPushBackBatch": 0},
}
"""Ops on many elements of an array or list of tensors -> the input with the number of elements, or a row for each."""

CHANNELS_LAST_ON_CPU = frozenset(
    {
        *("Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"),
        *("Conv3D", "Conv3DBackpropInputV2", "Conv3DBackpropFilterV2"),
        *(
            "DepthwiseConv2dNative",
            "DepthwiseConv2dNativeBackpropInput",
            "DepthwiseConv2dNativeBackpropFilter",
        ),
        *(
            "MaxPool",
            "MaxPoolGrad",
            "MaxPoolGradGrad",
            "MaxPoolV2",
            "MaxPoolGradV2",
            "MaxPool3D",
            "MaxPool3DGrad",
        ),
        *("AvgPool", "AvgPoolGrad", "AvgPool3D", "AvgPool3DGrad"),
        *("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
        *("FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"),
        *("DepthToSpace", "SpaceToDepth"),
    }
)
"""Ops whose CPU kernels reject the data formats NCHW and NCDHW, although the placer accepts them there."""

EVALUATED_AT_ONCE = frozenset({"Const", "Rank", "Shape", "Size"})
"""Ops whose values TensorFlow's Python computes from attributes and input shapes.

Source: tensorflow/python/framework/tensor_util.py, release 1.15.
"""

EVALUATED_OF_INPUTS = frozenset({"Cast", "Concat", "ConcatV2", "Equal", "Fill", "NotEqual", "Pack", "Range"})
"""Ops whose values TensorFlow's Python computes from known input values."""

ENDS_OF_LOSS_TERMS = frozenset({"L2Loss", "Max", "Mean", "Min", "Prod", "Sum"})
"""Reductions that end a term of a loss."""

ARGUMENTS_RENAMED = {
    **{
        (op_type, "reduction_indices"): "axis"
        for op_type in ("All", "Any", "EuclideanNorm", "Max", "Mean", "Min", "Prod", "Sum")
    },
    ("ExpandDims", "dim"): "axis",
    ("Select", "t"): "x",
    ("Select", "e"): "y",
    ("Split", "split_dim"): "axis",
    ("SplitV", "split_dim"): "axis",
    ("Squeeze", "squeeze_dims"): "axis",
    ("Where", "input"): "condition",
}
"""Inputs and attributes that have another name in TensorFlow's single-op functions.

Source: the functions of release 1.15.5 beside its registered ops.
"""

"""Named sets of op types: control flow, variables, calls of functions, and what stands for moved and fed tensors.

They are for those who ask for the role that an op has in a graph. What an op is like when it is computed (elementwise,
slow, with new arrays as results) is declared where it is registered, see ``gpuplace.kernels.compute``; whether it is
stateful or takes references says its ``OpDef``. What one rule of TensorFlow's placer lists stands with that rule.

>>> "RefSwitch" in SWITCHES, "Switch" in LOOP_OPS
(True, False)
"""

from __future__ import annotations

# Control flow

SWITCHES = frozenset({"Switch", "RefSwitch"})
"""Ops of which one of two outputs is dead."""

SWITCHES_OF_MANY = frozenset({"_SwitchN"})
"""Ops of which all outputs but one are dead; an index says which."""

ALL_SWITCHES = SWITCHES | SWITCHES_OF_MANY
"""Both."""

MERGES = frozenset({"Merge", "RefMerge"})
"""Ops that take the input that is not dead."""

ENTERS = frozenset({"Enter", "RefEnter"})
"""Ops that bring a value into a loop's frame."""

EXITS = frozenset({"Exit", "RefExit"})
"""Ops that bring a value out of a loop's frame."""

NEXT_ITERATIONS = frozenset({"NextIteration", "RefNextIteration"})
"""Ops that bring a value into the next iteration."""

LOOP_OPS = ENTERS | EXITS | NEXT_ITERATIONS | {"LoopCond"}
"""Ops that only loops have."""

CONTROL_FLOW_OPS = ALL_SWITCHES | MERGES | LOOP_OPS | {"ControlTrigger"}
"""All ops that decide what runs."""

CONTROL_FLOW_PASSING = frozenset({"Switch", "Enter", "Exit", "Identity", "Merge", "NextIteration"})
"""Ops that hand on the handle of a variable."""

# Functions

CALL_OPS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
"""Ops that call the function that an attribute names."""

WHILE_OPS = frozenset({"While", "StatelessWhile"})
"""Loops whose condition and body are functions."""

BRANCH_OPS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
"""Conditionals whose branches are functions."""

ENDS_OF_FUNCTIONS = frozenset({"_Arg", "_Retval"})
"""Ops that stand for the arguments and results of a function, and for what a step is fed and fetches."""

# Variables

REFERENCE_VARIABLES = frozenset({"Variable", "VariableV2"})
"""Ops that give out a variable by reference."""

VARIABLE_OPS = REFERENCE_VARIABLES | {"VarHandleOp"}
"""Ops that give out a variable, by reference or as a handle."""

ASSIGNMENTS = frozenset({"Assign", "AssignVariableOp"})
"""Ops that make their input the value of a variable."""

PARAMETER_SERVER_OPS = (
    *("Variable", "VariableV2", "AutoReloadVariable", "MutableHashTable", "MutableHashTableV2"),
    *("MutableHashTableOfTensors", "MutableHashTableOfTensorsV2", "MutableDenseHashTable"),
    *("MutableDenseHashTableV2", "VarHandleOp", "BoostedTreesEnsembleResourceHandleOp"),
    *("BoostedTreesQuantileStreamResourceHandleOp", "ResourceConditionalAccumulator", "DecisionTreeResource"),
)
"""Ops that belong on a parameter server: ``STANDARD_PS_OPS`` of 1.15's python/training/device_setter.py."""

VARIABLE_CHANGES = frozenset(
    {
        *("Assign", "AssignAdd", "AssignSub", "Queue", "ScatterAdd", "ScatterSub", "ScatterUpdate"),
        *("TruncatedNormal", "Variable", "VariableV2"),
    }
)
"""What `must_run_on_cpu` counts as variables: ``_VARIABLE_OPS`` of 1.15's python/framework/graph_util_impl.py."""

SAVE_AND_RESTORE_OPS = frozenset(
    {
        *("SaveV2", "Save", "SaveSlices", "SaveSlice", "LegacySave", "LegacySaveSlice"),
        *("RestoreV2", "Restore", "RestoreSlice", "LegacyRestore", "LegacyRestoreSlice"),
    }
)
"""Ops by which savers write checkpoints and read them."""

SAVER_OPS = SAVE_AND_RESTORE_OPS | {"MergeV2Checkpoints", "ShardedFilename", "ShardedFilespec"}
"""All ops that only savers have."""

# Values that are there, that are handed on, and that are moved

CONSTANT_OPS = frozenset({"Const", "HostConst"})
"""Ops whose value stands in the graph."""

PLACEHOLDERS = frozenset({"Placeholder", "PlaceholderV2"})
"""Ops that only a feed can replace."""

IDENTITY_OPS = frozenset({"Identity", "RefIdentity"})
"""Ops that hand their input on, and that the placer looks through."""

PLUMBING = IDENTITY_OPS | ENDS_OF_FUNCTIONS | {"IdentityN", "NoOp"}
"""Ops that inlining and naming leave behind, which are no part of a model."""

SUMS = frozenset({"Add", "AddN", "AddV2"})
"""Ops that add tensors up."""

ALIASES_OF_VARIABLES = IDENTITY_OPS | SWITCHES | ENTERS | {"StopGradient", "PreventGradient"}
"""Ops whose result, of a reference, is the variable's own memory: what is assigned afterwards shows in it."""

METADATA_OPS = frozenset({"Shape", "Size", "Rank"})
"""Ops that read only the size of their input."""

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
        *(
            "Min",
            "Fill",
            "Equal",
            "NotEqual",
            "Less",
            "LessEqual",
            "Greater",
            "GreaterEqual",
            "LogicalAnd",
            "LogicalOr",
        ),
        *("BroadcastArgs", "DynamicStitch", "ListDiff", "InvertPermutation", "Transpose"),
    }
)
"""Ops that work out sizes of other tensors where their inputs are sizes and constants."""

SENDS = frozenset({"_Send", "_HostSend"})
"""Ops that send a tensor to another device."""

MAY_BE_DEAD = "_may_be_dead"
"""Attribute of a receiving op whose tensor may be in a branch of a conditional that is not taken."""

DECIDES_WHOLE_LOOP = "_decides_whole_loop"
"""Attribute of an ``Enter`` in a part of a step: its loop runs where its value is there; all of it then is."""

KNOWN_BRANCH = "_known_branch"
"""Attribute of a ``Switch`` in such a loop: the output that is always taken, as the loop would not run otherwise."""

RECEIVED_SHAPE = "_received_shape"
"""Attribute of a ``_Recv``: the shape of what will come, as far as it is known."""

RECEIVES = frozenset({"_Recv", "_HostRecv"})
"""Ops that receive it."""

CONDITIONAL_OPS = ALL_SWITCHES | MERGES | RECEIVES
"""Ops at which a branch begins or ends; what is received may come dead."""

TRANSFERS = SENDS | RECEIVES
"""Both ends of a copy."""

# Input

QUEUE_MAKERS = frozenset({"FIFOQueueV2", "PaddingFIFOQueueV2", "PriorityQueueV2", "RandomShuffleQueueV2"})
"""Ops that give out the handle of a queue."""

SESSION_HANDLES = frozenset({"GetSessionHandle", "GetSessionHandleV2"})
"""Ops that keep a tensor in the session and give out its handle."""

READER_MAKERS = frozenset(
    {
        "FixedLengthRecordReaderV2",
        "IdentityReaderV2",
        "TFRecordReaderV2",
        "TextLineReaderV2",
        "WholeFileReaderV2",
    }
)
"""Ops that give out the handle of a reader of files."""

TABLE_MAKERS = frozenset({"HashTableV2", "MutableHashTableOfTensorsV2", "MutableHashTableV2"})
"""Ops that give out the handle of a lookup table."""

# Lists of tensors

LIST_MAKERS = {
    "EmptyTensorList": 0,
    "TensorListReserve": 0,
    "TensorListFromTensor": 1,
    "TensorListSplit": 1,
    "TensorListScatter": 2,
    "TensorListScatterV2": 2,
}
"""Ops that make lists of tensors -> the input that says the shape of their elements."""

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
"""Ops whose lists are declared as the one that they take first."""

# Random numbers

RANDOM_OPS = frozenset(
    """
    RandomUniform RandomUniformInt RandomStandardNormal ParameterizedTruncatedNormal TruncatedNormal RandomShuffle
    Multinomial RandomGamma RandomGammaGrad RandomPoisson RandomPoissonV2
    """.split()
)
"""Ops that are stateful for their random numbers alone."""

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
"""Inputs that are weights of a model if they are constants, as in a frozen graph."""

CUT_OFF_BELOW_ZERO = frozenset({"Relu", "Softplus", "Relu6"})
"""Activations of whose inputs a summary says what share is below zero."""

WITH_BIASES = frozenset({"Conv2D", "DepthwiseConv2dNative", "MatMul"})
"""Products whose kernels on a CPU can add a bias."""

BIAS_ADDITIONS = frozenset({"BiasAdd", "Add", "AddV2"})
"""What adds it in a graph."""

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
"""Ops to those of TensorFlow's optimizers that compute what follows them, too."""

FIRST_OF_FUSED = {fused: op_type for op_type, fused in FUSED_OPS.items()}
"""The reverse; of several versions of an op, to the last."""

PASSING_ON = (
    CONTROL_FLOW_OPS | IDENTITY_OPS | {"Reshape", "ReadVariableOp", "Squeeze", "ExpandDims", "StopGradient"}
)
"""Ops whose results are their inputs' memory."""

HANDING_ON = frozenset({"Identity", "StopGradient", "PreventGradient", "NoOp"})
"""Ops that only hand on what they take, or only wait."""

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
"""Ops of the CPU that TensorFlow's executor runs on the thread that made them ready: cheap ones (``IsExpensive``).

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
"""Ops that are not what a step is run for, though nothing takes their results."""

BATCH_NORMALIZATIONS = frozenset(
    f"FusedBatchNorm{part}{version}" for part in ("", "Grad") for version in ("", "V2", "V3")
)
"""Normalisations of batches by one kernel, and their gradients."""

KEEPING_WITHIN_A_STEP = ("TensorArray", "Stack", "TemporaryVariable", "DestroyTemporaryVariable")
"""How the types of ops begin that keep tensors within a step."""

UPDATES_OF_VARIABLES = (
    *("Apply", "SparseApply", "ResourceApply", "ResourceSparseApply", "AssignAdd", "AssignSub"),
    *("ScatterAdd", "ScatterSub", "ScatterUpdate", "ScatterMul", "ScatterDiv", "ScatterMin", "ScatterMax"),
    *("ResourceScatterAdd", "ResourceScatterSub", "ResourceScatterUpdate"),
)
"""How the types of ops begin that put new values in place of variables' old ones."""

HANDLING_VARIABLES = ASSIGNMENTS | {"ReadVariableOp", "VarIsInitializedOp", "IsVariableInitialized"}
"""Ops on variables that compute nothing, however large these are."""

NUMBERS_OF_ELEMENTS = {
    **{"TensorArrayV3": 0, "TensorArrayGatherV3": 1, "TensorArrayScatterV3": 1, "TensorArraySplitV3": 2},
    **{"TensorListReserve": 1, "TensorListResize": 1, "TensorListFromTensor": 0, "TensorListSplit": 2},
    **{"TensorListScatter": 1, "TensorListScatterV2": 1, "TensorListScatterIntoExistingList": 2},
    **{"TensorListGather": 1, "TensorListPushBackBatch": 0},
}
"""Ops on many elements of an array or list of tensors to the input that tells how many: a number, or a row for each."""

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
"""Ops whose kernels on a CPU refuse the data formats NCHW and NCDHW, though the placer would put them there."""

EVALUATED_AT_ONCE = frozenset({"Const", "Rank", "Shape", "Size"})
"""Ops whose values TensorFlow's Python knows, of their attributes and the shapes of their inputs.

Source: tensorflow/python/framework/tensor_util.py, release 1.15.
"""

EVALUATED_OF_INPUTS = frozenset({"Cast", "Concat", "ConcatV2", "Equal", "Fill", "NotEqual", "Pack", "Range"})
"""Ops whose values it works out where it knows those of the inputs."""

ENDS_OF_LOSS_TERMS = frozenset({"L2Loss", "Max", "Mean", "Min", "Prod", "Sum"})
"""Reductions at which a term of a loss ends."""

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
"""Inputs and attributes that TensorFlow's functions of single ops have another name for.

Source: the functions of release 1.15.5 beside its registered ops.
"""

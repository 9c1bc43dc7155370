"""Every function that computes an op, against what TensorFlow 2.21 computes for the same inputs."""

from __future__ import annotations

import gzip
import importlib
import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuplace.ops
from gpuplace import errors
from gpuplace.kernels.compute import computable_ops, compute_defs, ops_that_are, traits_of
from tests.ops.cases import Case, all_cases, decode_array, digest, read_recorded
from tests.ops.run_case import Run, has_kernel

CASES = all_cases()
ANSWERS = {
    f"{table}/{key}": answer
    for table in {t for t, _ in CASES.values()}
    for key, answer in read_recorded(table).items()
}
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 2e-6,
    "float64": 1e-12,
    "complex64": 2e-6,
    "complex128": 1e-12,
}
BACKENDS = [
    pytest.param("CPU", id="numpy"),
    pytest.param("GPU", id="simulated"),
    pytest.param("cupy", id="cupy", marks=pytest.mark.gpu),
]


def compare(actual: np.ndarray, expected: np.ndarray, case: Case, what: str, looser: float = 1.0) -> None:
    """Same type, same shape, and the same values within the case's tolerance."""
    assert actual.dtype == expected.dtype, f"{what}: {actual.dtype} where TensorFlow has {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: {actual.shape} where TensorFlow has {expected.shape}"
    rtol = TOLERANCE.get(expected.dtype.name, 0.0) if case.rtol is None else case.rtol
    if rtol == 0 and case.atol == 0:
        assert actual.tolist() == expected.tolist() or np.array_equal(
            actual, expected, equal_nan=expected.dtype.kind in "fc"
        ), f"{what}: {actual!r} where TensorFlow has {expected!r}"
        return
    if expected.dtype.name in ("bfloat16", "float16"):
        actual, expected = actual.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_allclose(actual, expected, rtol=rtol * looser, atol=case.atol * looser, err_msg=what)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("key", CASES)
def test_computes_what_tensorflow_computes(key: str, backend: str) -> None:
    table, case = CASES[key]
    answer = ANSWERS.get(key)
    assert answer is not None and answer["digest"] == digest(case), (
        f"{key} has no answer of TensorFlow's for these inputs: python tests/oracle/record/ops.py {table}"
    )
    xp: Any = np
    device_type = "CPU"
    if backend != "CPU":
        device_type = "GPU"
        if case.cpu_only:
            pytest.skip("the stream of a GPU is another one")
    if backend == "cupy":
        xp = importlib.import_module("cupy")
    if "error" in answer:
        with pytest.raises((getattr(errors, answer["error"], errors.OpError), ValueError)) as caught:
            run = Run(case, known_shapes=False)
            if not has_kernel(case, run.op, device_type):
                pytest.skip(f"TensorFlow has no kernel for this on {device_type}")
            run.execute(device_type, xp)
        if not case.only_class:
            message = getattr(caught.value, "message", str(caught.value))
            assert _plain(answer["message"]) in _plain(message)
        return
    run = Run(case)
    if not has_kernel(case, run.op, device_type):
        pytest.skip(f"TensorFlow has no kernel for this on {device_type}")
    run.execute(device_type, xp)
    for index, (actual, record) in enumerate(zip(run.outputs, answer["outputs"], strict=True)):
        compare(actual, decode_array(record), case, f"{key} output {index}", 1.0 if xp is np else 10.0)
        output = run.op.outputs[index]
        assert output.shape.is_compatible_with(actual.shape) or index >= DECLARED_OTHERWISE.get(key, 99), (
            f"{key}: inferred {output.shape}, is {actual.shape}"
        )
        assert output.dtype.base_dtype.numpy_dtype == actual.dtype, (
            f"{key}: declared {output.dtype}, is {actual.dtype}"
        )
    for index, record in enumerate(answer.get("variables", ())):
        compare(run.variables[index], decode_array(record), case, f"{key} variable {index}")


def _plain(message: str) -> str:
    return message.rstrip(". \n")


DECLARED_OTHERWISE = {
    "neural/Svd-values": 1,
    "neural/Svd-complex": 1,
    "neural/FusedBatchNormGradV3-inference": 3,
}
"""Calls -> their first output of which TensorFlow's shape function tells another shape than its kernel makes."""

REFUSE_UNKNOWN_SHAPES = {"ParallelConcat", "SpaceToBatchND", "BatchToSpaceND"}
"""Ops that TensorFlow does not build where it knows nothing of the shapes."""


@pytest.mark.parametrize("key", CASES)
def test_shapes_are_right_where_the_graph_knows_nothing(key: str) -> None:
    _, case = CASES[key]
    answer = ANSWERS.get(key, {})
    if "outputs" not in answer:
        return
    if case.op in REFUSE_UNKNOWN_SHAPES:
        with pytest.raises(ValueError, match="rank|shapes must be"):
            Run(case, known_shapes=False)
        return
    op = Run(case, known_shapes=False).op
    for index, (output, record) in enumerate(zip(op.outputs, answer["outputs"], strict=False)):
        is_declared_otherwise = index >= DECLARED_OTHERWISE.get(key, 99)
        assert output.shape.is_compatible_with(record["shape"]) or is_declared_otherwise


def test_inputs_are_left_as_they_were() -> None:
    for key, (_, case) in CASES.items():
        if "outputs" not in ANSWERS.get(key, {}):
            continue
        run = Run(case)
        before = [v.copy() for v in run.flat if isinstance(v, np.ndarray)]
        run.execute("CPU", np)
        after = [v for v in run.flat if isinstance(v, np.ndarray)]
        for one, other in zip(before, after, strict=True):
            assert (
                one.tobytes() == other.tobytes() if one.dtype != object else one.tolist() == other.tolist()
            ), key


def test_elementwise_ops_have_fresh_results() -> None:
    assert ops_that_are("elementwise") <= ops_that_are("fresh")
    assert not ops_that_are("fresh") & ops_that_are("shares")


def test_fresh_results_share_no_memory() -> None:
    """Neither with an input or a variable, nor with each other or with those of the run before."""
    checked = set()
    for key, (_, case) in CASES.items():
        if "outputs" not in ANSWERS.get(key, {}) or not traits_of(case.op).fresh:
            continue
        run = Run(case)
        made: list[Any] = []
        for _ in range(2):
            run.execute("CPU", np)
            made += run.made
        given = [value for value in run.arrays if isinstance(value, np.ndarray)]
        for one, other in [*itertools.product(made, given), *itertools.combinations(made, 2)]:
            if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
                assert not np.shares_memory(one, other), key
        checked.add(case.op)
    assert checked == ops_that_are("fresh") - NOT_RECORDED


MAY_SHOW_INPUTS = frozenset(  # where there is nothing to do, and on CPUs alone; stateful ops
    (
        "CheckNumerics",
        "DecodeCompressed",
        "GuaranteeConst",
        "Print",
        "RandomShuffle",
        "SpaceToBatchND",
        "Tile",
    )
)


def test_ops_whose_results_show_an_input_say_so() -> None:
    """Where nothing is computed, as in the estimate of memory, the others have new results."""
    showing = set()
    for key, (_, case) in CASES.items():
        if "outputs" not in ANSWERS.get(key, {}) or traits_of(case.op).fresh:
            continue
        run = Run(case)
        run.execute("CPU", np)
        pairs = itertools.product(run.made, run.arrays)
        if any(
            isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and np.shares_memory(one, other)
            for one, other in pairs
        ):
            showing.add(case.op)
    declared = ops_that_are("shares") | ops_that_are("views")
    assert showing <= declared | MAY_SHOW_INPUTS
    assert ops_that_are("views") <= showing | {"ConjugateTranspose"}


def test_what_forwards_gives_its_input() -> None:
    for _, case in CASES.values():
        if traits_of(case.op).forwards:
            run = Run(case)
            run.execute("CPU", np)
            assert run.made == run.arrays and run.made[0] is run.arrays[0], case.op


def test_every_op_that_computes_has_a_recorded_case() -> None:
    assert gpuplace.ops is not None
    alone = {op_type for op_type in computable_ops() if not _of_pipelines(op_type)}
    missing = sorted(alone - {case.op for _, case in CASES.values()} - NOT_RECORDED)
    assert not missing, f"no case in tests/ops/table_*.py for: {', '.join(missing)}"


SAVING_OPS = frozenset(  # tests/ops/test_saving.py, with files that TensorFlow wrote
    "MergeV2Checkpoints Restore RestoreSlice RestoreV2 Save SaveSlices SaveV2 ShardedFilename ShardedFilespec".split()
)
CALLS = frozenset(  # tests/tf1/stand_in/test_function.py, with functions of the graph's library
    ("PartitionedCall", "StatefulPartitionedCall", "SymbolicGradient")
)
FUNCTIONS_AND_LISTS = frozenset(  # tests/ops/flow/test_call_programs.py, with programs that TensorFlow ran
    node[1]
    for program in json.loads(
        gzip.decompress((Path(__file__).parent / "data" / "call-programs-1.15.json.gz").read_bytes())
    ).values()
    for node in program["nodes"]
    if "TensorList" in node[1] or node[1] in ("Case", "For", "If", "While")
) | {  # tests/ops/flow/test_functional_control_flow.py
    *("FakeParam", "StatelessCase", "StatelessIf", "StatelessWhile", "TensorListConcat", "TensorListScatter")
}
QUANTIZED_OPS = frozenset(  # tests/tf1/test_quantized.py, beside TensorFlow's numbers
    (
        "Dequantize QuantizeV2 QuantizedAvgPool QuantizedConcat QuantizedConv2D QuantizedMatMul QuantizedMaxPool "
        "QuantizedRelu QuantizedRelu6 QuantizedReshape"
    ).split()
)
CRITICAL_SECTIONS = frozenset(  # tests/tf1/flow/test_critical_section.py, with programs that TensorFlow ran
    ("ConsumeMutexLock", "MutexLock", "MutexV2")
)
WARM_STARTING_OPS = frozenset(  # tests/tf1/training/test_estimator.py, with vocabularies and checkpoints
    ("GenerateVocabRemapping", "LoadAndRemapMatrix")
)
UPDATES_OF_PARTS = frozenset(  # tests/ops/variables/test_scatter_nd.py, test_sliced_assignment.py
    "ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ResourceStridedSliceAssign ScatterNdAdd "
    "ScatterNdSub ScatterNdUpdate StridedSliceAssign".split()
)
INPUT_OPS = frozenset(
    (
        "AccumulatorApplyGradient AccumulatorNumAccumulated AccumulatorSetGlobalStep AccumulatorTakeGradient Barrier "
        "BarrierClose BarrierIncompleteSize BarrierInsertMany BarrierReadySize BarrierTakeMany "
        "ConditionalAccumulator MutableDenseHashTableV2 ResourceAccumulatorApplyGradient "
        "ResourceAccumulatorNumAccumulated ResourceAccumulatorSetGlobalStep ResourceAccumulatorTakeGradient "
        "ResourceConditionalAccumulator SparseAccumulatorApplyGradient SparseAccumulatorTakeGradient "
        "SparseConditionalAccumulator ParseSequenceExample DecodeAndCropJpeg "
        "DecodeCSV DecodeJSONExample FIFOQueueV2 FixedLengthRecordReaderV2 HashTableV2 IdentityReaderV2 "
        "InitializeTableFromTextFileV2 InitializeTableV2 LookupTableExportV2 LookupTableFindV2 "
        "LookupTableImportV2 LookupTableInsertV2 LookupTableRemoveV2 LookupTableSizeV2 MapClear "
        "MapIncompleteSize MapPeek MapSize MapStage MapUnstage MapUnstageNoKey MatchingFiles "
        "MutableHashTableOfTensorsV2 MutableHashTableV2 OrderedMapClear OrderedMapIncompleteSize "
        "OrderedMapPeek OrderedMapSize OrderedMapStage OrderedMapUnstage OrderedMapUnstageNoKey "
        "FIFOQueue PaddingFIFOQueue PriorityQueue QueueClose QueueDequeue QueueDequeueMany QueueDequeueUpTo "
        "QueueEnqueue QueueEnqueueMany QueueIsClosed QueueSize RandomShuffleQueue "
        "PaddingFIFOQueueV2 ParseExample ParseSingleExample ParseSingleSequenceExample ParseTensor "
        "PriorityQueueV2 QueueCloseV2 QueueDequeueManyV2 QueueDequeueUpToV2 QueueDequeueV2 "
        "QueueEnqueueManyV2 QueueEnqueueV2 QueueIsClosedV2 QueueSizeV2 RandomShuffleQueueV2 ReadFile "
        "ReaderNumRecordsProducedV2 ReaderNumWorkUnitsCompletedV2 ReaderReadUpToV2 ReaderReadV2 "
        "ReaderResetV2 ReaderRestoreStateV2 ReaderSerializeStateV2 RecordInput SerializeTensor Stage StageClear "
        "StagePeek StageSize StringSplit StringSplitV2 StringToHashBucket StringToHashBucketFast "
        "StringToHashBucketStrong TFRecordReaderV2 TextLineReaderV2 Unstage WholeFileReaderV2 WriteFile "
    ).split()
)
"""Ops that wait, or work on files, messages and tables: their answers are in `tests/tf1/input`, as 1.15 gives them."""

NOT_RECORDED = (
    INPUT_OPS
    | SAVING_OPS
    | CALLS
    | CRITICAL_SECTIONS
    | WARM_STARTING_OPS
    | QUANTIZED_OPS
    | FUNCTIONS_AND_LISTS
    | UPDATES_OF_PARTS
    | frozenset(
        {
            *"ControlTrigger Enter Exit LoopCond NextIteration RefEnter RefExit RefNextIteration".split(),  # programs:
            *"StackCloseV2 StackPopV2 StackPushV2 StackV2".split(),  # test_loops_as_tensorflow, test_loop_gradients
            *[
                f"TensorArray{what}V3"
                for what in ("", *"Close Concat Gather Grad Read Scatter Size Split Write".split())
            ],
            "Placeholder",  # always fed
            "ResourceCountUpTo",  # tests/ops/variables/test_variables.py
            "Timestamp",  # the time of day
            "PlaceholderV2",
            "PyFunc",  # calls into the process that made it
            "PyFuncStateless",
            "EagerPyFunc",
            "Variable",  # what the variables of other cases are made by
            "VariableV2",
            "VarHandleOp",
            "PrintV2",  # it writes; tests/api/test_printing.py
            "AddManySparseToTensorsMap",  # maps that others read; tests/tf1/input/test_sparse_batches.py
            "AddSparseToTensorsMap",
            "TakeManySparseFromTensorsMap",
            *"DeleteSessionTensor GetSessionHandle GetSessionHandleV2 GetSessionTensor".split(),  # test_tensor_handles
            *"Stack StackClose StackPop StackPush TemporaryVariable DestroyTemporaryVariable".split(),
            *"BytesInUse BytesLimit MaxBytesInUse".split(),  # of contrib; tests/tf1/test_memory_stats.py
            *"NcclAllReduce NcclBroadcast NcclReduce".split(),  # on several GPUs; tests/tf1/test_nccl.py
            "GatherTree",  # of contrib; tests/tf1/test_decoding.py
            *"_Recv _Send".split(),  # between tasks; tests/clusters/test_sessions.py
            "BatchNormWithGlobalNormalization",  # gone from TensorFlow 2; tests/ops/nn/test_norm_arithmetic.py
            "BatchNormWithGlobalNormalizationGrad",
            "CompareAndBitpack",  # gone from 2.21; tests/ops/test_as_tensorflows_tests.py, as 1.15 has it
            *"_ParallelConcatStart _ParallelConcatUpdate".split(),  # tests/runtime/session/test_lowered_steps.py
            "DestroyResourceOp",  # leaves nothing to compare
            "Switch",  # one output is dead; tests/ops/variables/test_variables.py runs them
            "RefSwitch",
            "RefIdentity",  # its output cannot be fetched by itself
        }
    )
)
"""Ops that cannot be run alone in another process; their own tests are beside the others."""


def _of_pipelines(op_type: str) -> bool:
    """Whether an op makes a dataset or takes elements of one: test_pipelines_as_tensorflow runs them."""
    return all(
        one.function.__module__.startswith("gpuplace.tf1.data.runtime") for one in compute_defs(op_type)
    )

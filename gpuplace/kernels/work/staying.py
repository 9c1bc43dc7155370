"""Work of ops that pass a tensor through or use only its shape, and of host ops, for which only bytes count."""

from __future__ import annotations

from gpuplace.kernels.work.models import Task, work_model
from gpuplace.kernels.work.record import Work


@work_model(
    "NoOp", "Const", "HostConst", "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "ControlTrigger"
)
@work_model(
    "Identity", "RefIdentity", "IdentityN", "Snapshot", "StopGradient", "PreventGradient", "GuaranteeConst"
)
@work_model("Reshape", "Squeeze", "ExpandDims", "Bitcast", "EnsureShape", "QuantizedReshape", "RiscReshape")
@work_model("Switch", "RefSwitch", "_SwitchN", "Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit")
@work_model(
    "NextIteration",
    "RefNextIteration",
    "LoopCond",
    "RefSelect",
    "_Arg",
    "_Retval",
    "_DeviceArg",
    "_DeviceRetval",
)
@work_model("Shape", "ShapeN", "Size", "Rank", "VariableShape", "TensorArraySizeV3", "TensorArraySizeV2")
@work_model(
    "Variable", "VariableV2", "VarHandleOp", "ReadVariableOp", "VarIsInitializedOp", "IsVariableInitialized"
)
@work_model("DestroyResourceOp", "TemporaryVariable", "DestroyTemporaryVariable", "_VarHandlesOp")
@work_model(
    "TensorArrayV3",
    "TensorArrayV2",
    "TensorArray",
    "TensorArrayGradV3",
    "TensorArrayGradV2",
    "TensorArrayGrad",
)
@work_model(
    "TensorArrayReadV3", "TensorArrayReadV2", "TensorArrayRead", "TensorArrayWriteV3", "TensorArrayWriteV2"
)
@work_model(
    "TensorArrayWrite", "TensorArrayCloseV3", "TensorArrayCloseV2", "TensorArrayClose", "TensorArraySize"
)
@work_model(
    "TensorArrayGradWithShape", "EmptyTensorList", "TensorListReserve", "TensorListLength", "TensorListResize"
)
@work_model(
    "TensorListGetItem",
    "TensorListSetItem",
    "TensorListPushBack",
    "TensorListPopBack",
    "TensorListElementShape",
)
@work_model(
    "StackV2", "Stack", "StackPushV2", "StackPush", "StackPopV2", "StackPop", "StackCloseV2", "StackClose"
)
@work_model(
    "FIFOQueueV2", "FIFOQueue", "PaddingFIFOQueueV2", "PaddingFIFOQueue", "PriorityQueueV2", "PriorityQueue"
)
@work_model(
    "RandomShuffleQueueV2", "RandomShuffleQueue", "QueueCloseV2", "QueueClose", "QueueSizeV2", "QueueSize"
)
@work_model(
    "QueueIsClosedV2", "QueueIsClosed", "FakeQueue", "QueueEnqueueV2", "QueueEnqueue", "QueueDequeueV2"
)
@work_model(
    "QueueDequeue", "Stage", "Unstage", "StagePeek", "StageSize", "StageClear", "MapStage", "MapUnstage"
)
@work_model("MapPeek", "MapSize", "MapClear", "MapIncompleteSize", "MapUnstageNoKey", "OrderedMapStage")
@work_model(
    "OrderedMapUnstage", "OrderedMapUnstageNoKey", "OrderedMapPeek", "OrderedMapSize", "OrderedMapClear"
)
@work_model("OrderedMapIncompleteSize", "MutexV2", "MutexLock", "ConsumeMutexLock", "FakeParam", "Abort")
@work_model("ConditionalAccumulator", "SparseConditionalAccumulator", "ResourceConditionalAccumulator")
@work_model("AccumulatorNumAccumulated", "AccumulatorSetGlobalStep", "ResourceAccumulatorNumAccumulated")
@work_model("ResourceAccumulatorSetGlobalStep", "GetSessionHandle", "GetSessionHandleV2", "GetSessionTensor")
@work_model(
    "DeleteSessionTensor", "Iterator", "IteratorV2", "OneShotIterator", "MakeIterator", "AnonymousIterator"
)
@work_model(
    "AnonymousIteratorV2", "AnonymousIteratorV3", "IteratorToStringHandle", "IteratorFromStringHandle"
)
@work_model(
    "IteratorFromStringHandleV2", "DeleteIterator", "MultiDeviceIterator", "AnonymousMultiDeviceIterator"
)
@work_model("AnonymousMultiDeviceIteratorV3", "DeleteMultiDeviceIterator", "MultiDeviceIteratorInit")
@work_model("MultiDeviceIteratorToStringHandle", "MultiDeviceIteratorFromStringHandle", "WrapDatasetVariant")
@work_model("UnwrapDatasetVariant", "HashTableV2", "HashTable", "MutableHashTableV2", "MutableHashTable")
@work_model("MutableHashTableOfTensorsV2", "MutableHashTableOfTensors", "MutableDenseHashTableV2")
@work_model("MutableDenseHashTable", "LookupTableSizeV2", "LookupTableSize", "DeviceIndex", "ImmutableConst")
@work_model("TFRecordReaderV2", "TFRecordReader", "TextLineReaderV2", "TextLineReader", "WholeFileReaderV2")
@work_model(
    "WholeFileReader", "IdentityReaderV2", "IdentityReader", "FixedLengthRecordReaderV2", "LMDBReader"
)
@work_model("FixedLengthRecordReader", "ReaderResetV2", "ReaderReset", "ReaderNumRecordsProducedV2")
@work_model("ReaderNumRecordsProduced", "ReaderNumWorkUnitsCompletedV2", "ReaderNumWorkUnitsCompleted")
@work_model(
    "BroadcastGradientArgs", "BroadcastArgs", "ConcatOffset", "_ReadVariablesOp", "NcclBroadcast", "Timestamp"
)
@work_model(
    "OptionalFromValue", "OptionalNone", "OptionalHasValue", "OptionalGetValue", "XlaOptimizationBarrier"
)
@work_model(
    "_EagerConst", "_ArrayToList", "_ListToArray", "_ParallelConcatStart", "Empty", "DisableCopyOnRead"
)
def _hands_on(task: Task) -> Work:
    return task.work("none", read=0, written=0, launches=0)


@work_model(
    "IteratorGetNext",
    "IteratorGetNextSync",
    "IteratorGetNextAsOptional",
    "MultiDeviceIteratorGetNextFromShard",
)
@work_model("DatasetToSingleElement", "ReduceDataset", "RecordInput", "GeneratorDataset")
@work_model(
    "ReadFile",
    "WriteFile",
    "MatchingFiles",
    "ReaderReadV2",
    "ReaderRead",
    "ReaderReadUpToV2",
    "ReaderReadUpTo",
)
@work_model("SaveV2", "Save", "SaveSlices", "RestoreV2", "Restore", "RestoreSlice", "MergeV2Checkpoints")
@work_model(
    "ShardedFilename", "ShardedFilespec", "DecodeRaw", "DecodePaddedRaw", "DecodeCSV", "DecodeJSONExample"
)
@work_model(
    "ParseExample", "ParseExampleV2", "ParseSingleExample", "ParseSequenceExample", "ParseSequenceExampleV2"
)
@work_model(
    "ParseSingleSequenceExample", "ParseTensor", "SerializeTensor", "DecodeCompressed", "DecodeProtoV2"
)
@work_model(
    "EncodeProto", "DecodeBase64", "EncodeBase64", "AsString", "StringToNumber", "StringJoin", "StringSplit"
)
@work_model(
    "StringSplitV2", "StringLength", "StringLower", "StringUpper", "StringStrip", "StringFormat", "Substr"
)
@work_model(
    "StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong", "RegexReplace", "StringNGrams"
)
@work_model(
    "RegexFullMatch",
    "StaticRegexReplace",
    "StaticRegexFullMatch",
    "ReduceJoin",
    "UnicodeDecode",
    "UnicodeEncode",
)
@work_model(
    "UnicodeDecodeWithOffsets", "UnicodeScript", "UnicodeTranscode", "_TensorToHashBucketFast", "Fingerprint"
)
@work_model(
    "LookupTableFindV2", "LookupTableFind", "LookupTableInsertV2", "LookupTableInsert", "LookupTableExportV2"
)
@work_model(
    "LookupTableExport",
    "LookupTableImportV2",
    "LookupTableImport",
    "LookupTableRemoveV2",
    "InitializeTableV2",
)
@work_model("InitializeTable", "InitializeTableFromTextFileV2", "InitializeTableFromTextFile")
@work_model(
    "ScalarSummary", "TensorSummary", "TensorSummaryV2", "MergeSummary", "ImageSummary", "AudioSummary"
)
@work_model(
    "AudioSummaryV2", "WriteSummary", "WriteScalarSummary", "WriteHistogramSummary", "WriteImageSummary"
)
@work_model(
    "Print", "PrintV2", "Assert", "PyFunc", "PyFuncStateless", "EagerPyFunc", "CountUpTo", "ResourceCountUpTo"
)
@work_model("Range", "LinSpace", "SparseAdd", "SparseAddGrad", "SparseConcat", "SparseSplit", "SparseSlice")
@work_model(
    "SparseSliceGrad", "SparseReshape", "SparseFillEmptyRows", "SparseFillEmptyRowsGrad", "SparseCross"
)
@work_model("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv", "SparseSparseMaximum")
@work_model(
    "SparseSparseMinimum", "SparseTensorDenseAdd", "SetSize", "AddSparseToTensorsMap", "DeserializeSparse"
)
@work_model(
    "AddManySparseToTensorsMap", "TakeManySparseFromTensorsMap", "SerializeSparse", "SerializeManySparse"
)
@work_model("DeserializeManySparse", "RaggedRange", "RaggedTensorToSparse", "RaggedTensorToTensor")
@work_model("RaggedTensorFromVariant", "RaggedTensorToVariant", "DrawBoundingBoxes", "DrawBoundingBoxesV2")
@work_model(
    "_Send", "_Recv", "_HostSend", "_HostRecv", "Copy", "CopyHost", "DeepCopy", "NcclAllReduce", "NcclReduce"
)
@work_model(
    "CollectiveReduce", "CollectiveReduceV2", "CollectiveBcastSend", "CollectiveBcastRecv", "CollectiveGather"
)
@work_model(
    "StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg", "StatelessRandomGetAlg", "RngSkip"
)
@work_model("Barrier", "BarrierInsertMany", "BarrierTakeMany", "BarrierClose", "BarrierReadySize")
@work_model("BarrierIncompleteSize", "Skipgram", "RaggedCross", "SparseCrossV2", "SparseCrossHashed")
def _bytes_alone(task: Task) -> Work:
    return task.work("bytes")


@work_model(
    "DecodeJpeg", "DecodeAndCropJpeg", "DecodePng", "DecodeBmp", "DecodeGif", "DecodeImage", "DecodeWebP"
)
@work_model(
    "EncodeJpeg", "EncodeJpegVariableQuality", "EncodePng", "DecodeWav", "EncodeWav", "ExtractJpegShape"
)
def _codec(task: Task) -> Work:
    """Count some hundred flops on the CPU for each point."""
    points = max(task.in_count(0), task.out_count() if task.out_sizes else 0)
    return task.work("bytes", 100.0 * points)

"""Signatures of a SavedModel: the names under which its tensors are fed and fetched.

>>> from gpuplace.ops.array.constant import placeholder
>>> x = placeholder("float32", [None, 3], name="x")
>>> signature = predict_signature_def({"images": x}, {"same": x})
>>> signature.inputs["images"].name, signature.method_name, is_valid_signature(signature)
('x:0', 'tensorflow/serving/predict', True)

Source: tensorflow/python/saved_model/signature_def_utils_impl.py and utils_impl.py, release 1.15.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.dtypes import as_dtype, dtype_of_number
from gpuplace.errors import NotFoundError
from gpuplace.graph.convert import convert_to_tensor, get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.graphdef.messages import SignatureDef, TensorInfo
from gpuplace.ops.sparse.sparse_tensor import SparseTensor
from gpuplace.ops.variants import variant_of
from gpuplace.saving.names import prepend_name_scope
from gpuplace.saving.signature_constants import (
    CLASSIFY_INPUTS,
    CLASSIFY_METHOD_NAME,
    CLASSIFY_OUTPUT_CLASSES,
    CLASSIFY_OUTPUT_SCORES,
    PREDICT_METHOD_NAME,
    REGRESS_INPUTS,
    REGRESS_METHOD_NAME,
    REGRESS_OUTPUTS,
    SUPERVISED_EVAL_METHOD_NAME,
    SUPERVISED_TRAIN_METHOD_NAME,
)
from gpuplace.shapes import TensorShape
from gpuplace.typing import DTypeLike, TensorLike

__all__ = [
    "build_signature_def",
    "build_tensor_info",
    "classification_signature_def",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "op_signature_def",
    "predict_signature_def",
    "regression_signature_def",
]


def build_tensor_info(tensor: Any) -> Any:
    """Return a tensor as a ``TensorInfo``: its name, dtype and shape.

    Args:
        tensor: a tensor or variable, or a sparse tensor.
    """
    components: list[Any] = [getattr(tensor, part, None) for part in ("indices", "values", "dense_shape")]
    if not isinstance(tensor, Tensor) and all(isinstance(part, Tensor) for part in components):
        indices, values, dense_shape = components
        info = _info(values.dtype, tensor.get_shape())
        info.coo_sparse.values_tensor_name = values.name
        info.coo_sparse.indices_tensor_name = indices.name
        info.coo_sparse.dense_shape_tensor_name = dense_shape.name
        return info
    info = _info(tensor.dtype, tensor.get_shape())
    info.name = tensor.name
    return info


def build_tensor_info_from_op(op: Operation | Tensor) -> Any:
    """Return an operation as a ``TensorInfo``, which only has its name.

    Args:
        op: the operation.
    """
    info = TensorInfo(name=op.name)
    info.tensor_shape.unknown_rank = True
    return info


def _info(dtype: DTypeLike, shape: TensorShape) -> Any:
    info = TensorInfo(dtype=as_dtype(dtype).as_datatype_enum)
    if shape.sizes is None:
        info.tensor_shape.unknown_rank = True
    else:
        info.tensor_shape.SetInParent()
        for size in shape.sizes:
            info.tensor_shape.dim.add(size=-1 if size is None else size)
    return info


def get_tensor_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """Return the tensor that a ``TensorInfo`` names, or the sparse tensor whose parts it names.

    Args:
        tensor_info: the message.
        graph: its graph; None for the default one.
        import_scope: the scope of the tensor; None: the message has its full name.

    Raises:
        KeyError: there is no such tensor.
        ValueError: the message has no name, or an encoding that gpuplace does not support.
    """
    graph = graph or get_default_graph()
    encoding = tensor_info.WhichOneof("encoding")

    def found(name: str) -> Tensor:
        return graph.get_tensor_by_name(prepend_name_scope(name, import_scope))

    if encoding == "name":
        return found(tensor_info.name)
    if encoding != "coo_sparse":
        raise ValueError(f"Invalid TensorInfo.encoding: {encoding}")
    parts = tensor_info.coo_sparse
    return SparseTensor(
        found(parts.indices_tensor_name),
        found(parts.values_tensor_name),
        found(parts.dense_shape_tensor_name),
    )


def get_element_from_tensor_info(
    tensor_info: Any, graph: Graph | None = None, import_scope: str | None = None
) -> Any:
    """Return the operation or tensor that a ``TensorInfo`` names.

    Args:
        tensor_info: the message.
        graph: its graph; None for the default one.
        import_scope: the scope of the element; None: the message has its full name.

    Raises:
        KeyError: there is no such element.
    """
    graph = graph or get_default_graph()
    return graph.as_graph_element(prepend_name_scope(tensor_info.name, import_scope))


def build_signature_def(
    inputs: Mapping[str, Any] | None = None,
    outputs: Mapping[str, Any] | None = None,
    method_name: str | None = None,
) -> Any:
    """Return a ``SignatureDef``.

    Args:
        inputs: dict from name to ``TensorInfo``; None for no inputs.
        outputs: dict from name to ``TensorInfo``; None for no outputs.
        method_name: its purpose, such as ``PREDICT_METHOD_NAME``, or None.
    """
    definition = SignatureDef()
    for field, infos in ((definition.inputs, inputs), (definition.outputs, outputs)):
        for name, info in (infos or {}).items():
            field[name].CopyFrom(info)
    if method_name is not None:
        definition.method_name = method_name
    return definition


def regression_signature_def(examples: Any, predictions: TensorLike) -> Any:
    """Return the ``SignatureDef`` of a model that predicts a number for each example.

    Args:
        examples: a string tensor.
        predictions: a float32 tensor.

    Raises:
        ValueError: a tensor is None, or has another dtype.
    """
    if examples is None:
        raise ValueError("Regression examples cannot be None.")
    if not isinstance(examples, Tensor):
        raise ValueError("Regression examples must be a string Tensor.")
    if predictions is None:
        raise ValueError("Regression predictions cannot be None.")
    inputs = _checked(REGRESS_INPUTS, examples, "string", "Regression examples must be a string Tensor.")
    outputs = _checked(REGRESS_OUTPUTS, predictions, "float32", "Regression output must be a float Tensor.")
    return build_signature_def(inputs, outputs, REGRESS_METHOD_NAME)


def classification_signature_def(examples: Any, classes: Any, scores: Any) -> Any:
    """Return the ``SignatureDef`` of a model that predicts classes for each example.

    Args:
        examples: a string tensor.
        classes: a string tensor; None: there are only scores.
        scores: a float32 tensor; None: there are only classes.

    Raises:
        ValueError: a tensor has another dtype, or both are None.
    """
    if examples is None:
        raise ValueError("Classification examples cannot be None.")
    if not isinstance(examples, Tensor):
        raise ValueError("Classification examples must be a string Tensor.")
    if classes is None and scores is None:
        raise ValueError("Classification classes and scores cannot both be None.")
    inputs = _checked(CLASSIFY_INPUTS, examples, "string", "Classification examples must be a string Tensor.")
    outputs: dict[str, Any] = {}
    if classes is not None:
        outputs |= _checked(
            CLASSIFY_OUTPUT_CLASSES, classes, "string", "Classification classes must be a string Tensor."
        )
    if scores is not None:
        outputs |= _checked(
            CLASSIFY_OUTPUT_SCORES, scores, "float32", "Classification scores must be a float Tensor."
        )
    return build_signature_def(inputs, outputs, CLASSIFY_METHOD_NAME)


def _checked(key: str, tensor: Any, dtype: str, sentence: str) -> dict[str, Any]:
    info = build_tensor_info(convert_to_tensor(tensor))
    if dtype_of_number(info.dtype).name != dtype:
        raise ValueError(sentence)
    return {key: info}


def predict_signature_def(inputs: Mapping[str, Any], outputs: Mapping[str, Any]) -> Any:
    """Return the ``SignatureDef`` of any model.

    Args:
        inputs: dict from name to tensor.
        outputs: dict from name to tensor.

    Raises:
        ValueError: a dict is missing or empty.
    """
    if inputs is None or not inputs:
        raise ValueError("Prediction inputs cannot be None or empty.")
    if outputs is None or not outputs:
        raise ValueError("Prediction outputs cannot be None or empty.")
    return build_signature_def(
        {key: build_tensor_info(tensor) for key, tensor in inputs.items()},
        {key: build_tensor_info(tensor) for key, tensor in outputs.items()},
        PREDICT_METHOD_NAME,
    )


def op_signature_def(op: Operation | Tensor, key: str) -> Any:
    """Return the ``SignatureDef`` of an operation of the model itself.

    Args:
        op: the operation.
        key: the key of the operation.
    """
    return build_signature_def(outputs={key: build_tensor_info_from_op(op)})


def load_op_from_signature_def(signature_def: Any, key: str, import_scope: str | None = None) -> Any:
    """Return the operation or tensor that such a signature names, in the default graph.

    Args:
        signature_def: a ``SignatureDef``.
        key: the key of the operation.
        import_scope: the scope under which the graph was loaded.

    Raises:
        NotFoundError: the graph has no element of that name.
    """
    name = prepend_name_scope(signature_def.outputs[key].name, import_scope)
    try:
        return get_default_graph().as_graph_element(name)
    except KeyError:
        raise NotFoundError.of(
            f'The operation "{name}" for the signature key "{key}" could not be found in the graph.'
        ) from None


def _supervised_signature_def(
    inputs: Mapping[str, Any],
    loss: Mapping[str, Any] | None,
    predictions: Mapping[str, Any] | None = None,
    metrics: Mapping[str, Any] | None = None,
    *,
    method_name: str = "",
) -> Any:
    if not inputs:
        raise ValueError(f"{method_name} inputs cannot be None or empty.")
    outputs = {
        key: build_tensor_info(tensor)
        for some in (loss, predictions, metrics)
        for key, tensor in (some or {}).items()
    }
    infos = {key: build_tensor_info(tensor) for key, tensor in inputs.items()}
    return build_signature_def(infos, outputs, method_name)


@variant_of(_supervised_signature_def, method_name=SUPERVISED_TRAIN_METHOD_NAME)
def supervised_train_signature_def() -> None:
    """Return the ``SignatureDef`` of a model in training.

    Args:
        inputs: dict from name to tensor.
        loss: dict from name to tensor, or None.
        predictions: dict from name to tensor, or None.
        metrics: dict from name to tensor, or None.

    Raises:
        ValueError: there are no inputs.
    """


@variant_of(_supervised_signature_def, method_name=SUPERVISED_EVAL_METHOD_NAME)
def supervised_eval_signature_def() -> None:
    """Return the ``SignatureDef`` of a model in evaluation.

    Args:
        inputs: dict from name to tensor.
        loss: dict from name to tensor, or None.
        predictions: dict from name to tensor, or None.
        metrics: dict from name to tensor, or None.

    Raises:
        ValueError: there are no inputs.
    """


def is_valid_signature(signature_def: Any) -> bool:
    """Return whether a signature is a classification, regression or prediction with the required tensors.

    Args:
        signature_def: a ``SignatureDef``, or None, which is not valid.
    """
    if signature_def is None:
        return False
    inputs, outputs = signature_def.inputs, signature_def.outputs
    if signature_def.method_name == PREDICT_METHOD_NAME:
        return len(inputs) > 0 and len(outputs) > 0
    types = {
        CLASSIFY_METHOD_NAME: {CLASSIFY_OUTPUT_CLASSES: "string", CLASSIFY_OUTPUT_SCORES: "float32"},
        REGRESS_METHOD_NAME: {REGRESS_OUTPUTS: "float32"},
    }.get(signature_def.method_name)
    if types is None or set(inputs) != {CLASSIFY_INPUTS}:
        return False
    if dtype_of_number(inputs[CLASSIFY_INPUTS].dtype).name != "string" or not set(outputs) <= set(types):
        return False
    return bool(outputs) and all(
        dtype_of_number(info.dtype).name == types[key] for key, info in outputs.items()
    )

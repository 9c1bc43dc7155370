"""Outputs of a served model, ``tf.estimator.export.*Output``, and their signatures.

Source: tensorflow/python/saved_model/model_utils/export_output.py and export_utils.py, release 1.15
(messages).
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from gpuplace import tf_logging
from gpuplace.dtypes import string
from gpuplace.graph.operation import Tensor
from gpuplace.saving.signature_constants import (
    CLASSIFY_METHOD_NAME,
    DEFAULT_SERVING_SIGNATURE_DEF_KEY,
    PREDICT_METHOD_NAME,
    REGRESS_METHOD_NAME,
    SUPERVISED_EVAL_METHOD_NAME,
    SUPERVISED_TRAIN_METHOD_NAME,
)
from gpuplace.tf1.saving.signatures import (
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)
from gpuplace.typing import TensorLike

__all__ = [
    "ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput", "build_all_signature_defs",
    "checked_export_outputs", "named_outputs", "output_name", "timestamped_folder",
]  # fmt: skip

_ATTEMPTS = 10


class ExportOutput(ABC):
    """Base class of the outputs of a served model."""

    @abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the ``SignatureDef`` from the inputs to this output.

        Args:
            receiver_tensors: dict from name to the tensor that is fed.
        """


def output_name(key: Any, what: str) -> str:
    """Return the name of an output; the parts of a name from a model with several heads are joined.

    >>> output_name(("head", "scores"), "Prediction")
    'head/scores'

    Args:
        key: a string, or a tuple of strings.
        what: the kind of output, for the error message.

    Raises:
        ValueError: the key has another type.
    """
    name = "/".join(key) if isinstance(key, tuple) else key
    if not isinstance(name, str):
        raise ValueError(f"{what} output key must be a string; got {name}.")
    return name


def named_outputs(outputs: Any, single: str, what: str) -> dict[str, Tensor]:
    """Return tensors by name.

    Args:
        outputs: a tensor, or a dict from name to tensor.
        single: the name of a single tensor.
        what: the kind of output, for error messages.

    Raises:
        ValueError: a name is not a string, or a value not a tensor.
    """
    named = {}
    for key, value in (outputs if isinstance(outputs, dict) else {single: outputs}).items():
        name = output_name(key, what)
        if not isinstance(value, Tensor):
            raise ValueError(f"{what} output value must be a Tensor; got {value}.")
        named[name] = value
    return named


def _only_text(receivers: Mapping[str, Any], what: str) -> Any:
    examples = next(iter(receivers.values())) if len(receivers) == 1 else None
    if not isinstance(examples, Tensor) or examples.dtype.base_dtype != string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receivers}")
    return examples


class ClassificationOutput(ExportOutput):
    """Classes and their scores.

    Args:
        scores: a tensor of floats ``[batch, classes]``, or None.
        classes: a tensor of strings of this shape, or None.

    Raises:
        ValueError: both are None, or one has the wrong type.
    """

    def __init__(self, scores: TensorLike | None = None, classes: TensorLike | None = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype.base_dtype == string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self.scores, self.classes = scores, classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature of a classification.

        Args:
            receiver_tensors: dict with one tensor of serialized examples.
        """
        examples = _only_text(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """Regression values.

    Args:
        value: a tensor of floats ``[batch]``.

    Raises:
        ValueError: ``value`` has another type.
    """

    def __init__(self, value: Any) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.value = value

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature of a regression.

        Args:
            receiver_tensors: dict with one tensor of serialized examples.
        """
        return regression_signature_def(_only_text(receiver_tensors, "Regression"), self.value)


class PredictOutput(ExportOutput):
    """Any tensors, as predictions.

    Args:
        outputs: a tensor, or a dict from name to tensor; the names of a model with several heads may be
            tuples.

    Raises:
        ValueError: a name is not a string, or a value not a tensor.
    """

    def __init__(self, outputs: Any) -> None:
        self.outputs = named_outputs(outputs, "output", "Prediction")

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature of a prediction.

        Args:
            receiver_tensors: dict from name to the tensor that is fed.
        """
        return predict_signature_def(receiver_tensors, self.outputs)


def checked_export_outputs(outputs: Any, predictions: TensorLike) -> dict[str, ExportOutput]:
    """Return the outputs of a model for prediction, one of them the default.

    Args:
        outputs: dict from name to ``ExportOutput``; None for all predictions.
        predictions: the model's predictions.

    Raises:
        TypeError: ``outputs`` is not such a dictionary.
        ValueError: there are several outputs, and none is the default.
    """
    if outputs is None:
        return {DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(predictions)}
    if not isinstance(outputs, dict):
        raise TypeError(f"export_outputs must be dict, given: {outputs}")
    for value in outputs.values():
        if not isinstance(value, ExportOutput):
            raise TypeError(f"Values in export_outputs must be ExportOutput objects. Given: {outputs}")
    if len(outputs) == 1:
        return {**outputs, DEFAULT_SERVING_SIGNATURE_DEF_KEY: next(iter(outputs.values()))}
    if outputs and DEFAULT_SERVING_SIGNATURE_DEF_KEY not in outputs:
        raise ValueError(
            "Multiple export_outputs were provided, but none of them is specified as the default.  Do this by naming"
            " one of them with signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY."
        )
    return outputs


def build_all_signature_defs(
    receiver_tensors: Any,
    export_outputs: Any,
    receiver_tensors_alternatives: Mapping[str, Any] | None = None,
    serving_only: bool = True,
) -> dict[str, Any]:
    """Return the signatures of an exported model, and log the outputs that do not fit the inputs.

    Args:
        receiver_tensors: dict from name to the tensor that is fed, or one tensor, which is called ``input``.
        export_outputs: dict from name to ``ExportOutput``.
        receiver_tensors_alternatives: dict from name to further inputs, or None.
        serving_only: whether to leave out signatures that cannot be served.

    Raises:
        ValueError: ``export_outputs`` is not a dictionary.
    """
    if not isinstance(export_outputs, dict):
        raise ValueError(f"export_outputs must be a dict and not{type(export_outputs)}")
    inputs = [("", receiver_tensors)]
    inputs += [(f"{name or 'None'}:", other) for name, other in (receiver_tensors_alternatives or {}).items()]
    signatures: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for prefix, receivers in inputs:
        named = receivers if isinstance(receivers, dict) else {"input": receivers}
        for key, output in export_outputs.items():
            name = f"{prefix}{key or 'None'}"
            try:
                signatures[name] = output.as_signature_def(named)
            except ValueError as error:
                left_out[name] = str(error)
    _log_signatures(signatures, left_out)
    if not serving_only:
        return signatures
    return {name: signature for name, signature in signatures.items() if is_valid_signature(signature)}


def _log_signatures(signatures: Mapping[str, Any], left_out: Mapping[str, str]) -> None:
    """Log the included signatures, and why the others are excluded."""
    methods = {
        CLASSIFY_METHOD_NAME: "Classify",
        REGRESS_METHOD_NAME: "Regress",
        PREDICT_METHOD_NAME: "Predict",
        SUPERVISED_TRAIN_METHOD_NAME: "Train",
        SUPERVISED_EVAL_METHOD_NAME: "Eval",
    }
    names: defaultdict[str, list[str]] = defaultdict(list, {method: [] for method in methods})
    for name, signature in signatures.items():
        names[signature.method_name].append(name)
    for method, of_method in names.items():
        text = of_method or "None"
        tf_logging.info("Signatures INCLUDED in export for %s: %s", methods.get(method, method), text)
    if left_out:
        tf_logging.info(
            "Signatures EXCLUDED from export because they cannot be be served via TensorFlow Serving APIs:"
        )
        for name, reason in left_out.items():
            tf_logging.info("'%s' : %s", name, reason)
    if not signatures:
        tf_logging.warn("Export includes no signatures!")
    elif DEFAULT_SERVING_SIGNATURE_DEF_KEY not in signatures:
        tf_logging.warn("Export includes no default signature!")


def timestamped_folder(base: Any) -> str:
    """Return a new folder below ``base``, named after the time in seconds.

    Args:
        base: the parent folder.

    Raises:
        RuntimeError: ten such folders existed already.
    """
    base = os.fsdecode(base)
    now = int(time.time())
    for stamp in range(now, now + _ATTEMPTS):
        folder = os.path.join(base, str(stamp))
        if not os.path.exists(folder):
            return folder
    raise RuntimeError(f"Failed to obtain a unique export directory name after {_ATTEMPTS} attempts.")

"""What a model gives when it is served, ``tf.estimator.export.*Output``, and the signatures made of it.

Source: tensorflow/python/saved_model/model_utils/export_output.py and export_utils.py, release 1.15 (sentences).
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from gpuplace import tf_logging
from gpuplace.dtypes import string
from gpuplace.graph.operation import Tensor
from gpuplace.saving.signature_constants import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from gpuplace.saving.signatures import (
    classification_signature_def,
    is_valid_signature,
    predict_signature_def,
    regression_signature_def,
)

__all__ = [
    "ClassificationOutput", "ExportOutput", "PredictOutput", "RegressionOutput", "checked_export_outputs",
    "serving_signatures", "timestamped_folder",
]  # fmt: skip

_ATTEMPTS = 10


class ExportOutput(ABC):
    """Base of what a model gives when it is served."""

    @abstractmethod
    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The ``SignatureDef`` from inputs to this.

        Args:
            receiver_tensors: name to the tensor that is fed.
        """


def _only_text(receivers: Mapping[str, Any], what: str) -> Any:
    examples = next(iter(receivers.values())) if len(receivers) == 1 else None
    if not isinstance(examples, Tensor) or examples.dtype.base_dtype != string:
        raise ValueError(f"{what} input must be a single string Tensor; got {receivers}")
    return examples


class ClassificationOutput(ExportOutput):
    """Classes and their scores.

    Args:
        scores: a tensor of floats ``[batch, classes]``; None: none.
        classes: a tensor of strings of this shape; None: none.

    Raises:
        ValueError: both are None, or one has another type.
    """

    def __init__(self, scores: Any = None, classes: Any = None) -> None:
        if scores is not None and not (isinstance(scores, Tensor) and scores.dtype.is_floating):
            raise ValueError(f"Classification scores must be a float32 Tensor; got {scores}")
        if classes is not None and not (isinstance(classes, Tensor) and classes.dtype.base_dtype == string):
            raise ValueError(f"Classification classes must be a string Tensor; got {classes}")
        if scores is None and classes is None:
            raise ValueError("At least one of scores and classes must be set.")
        self.scores, self.classes = scores, classes

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The signature of a classification.

        Args:
            receiver_tensors: one tensor of serialised examples.
        """
        examples = _only_text(receiver_tensors, "Classification")
        return classification_signature_def(examples, self.classes, self.scores)


class RegressionOutput(ExportOutput):
    """Numbers.

    Args:
        value: a tensor of floats ``[batch]``.

    Raises:
        ValueError: it has another type.
    """

    def __init__(self, value: Any) -> None:
        if not (isinstance(value, Tensor) and value.dtype.is_floating):
            raise ValueError(f"Regression output value must be a float32 Tensor; got {value}")
        self.value = value

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The signature of a regression.

        Args:
            receiver_tensors: one tensor of serialised examples.
        """
        return regression_signature_def(_only_text(receiver_tensors, "Regression"), self.value)


class PredictOutput(ExportOutput):
    """Any tensors.

    Args:
        outputs: a tensor, or name to tensor.

    Raises:
        ValueError: a name is no text, or a value no tensor.
    """

    def __init__(self, outputs: Any) -> None:
        named = outputs if isinstance(outputs, dict) else {"output": outputs}
        for name, value in named.items():
            if not isinstance(name, str):
                raise ValueError(f"Prediction output key must be a string; got {name}.")
            if not isinstance(value, Tensor):
                raise ValueError(f"Prediction output value must be a Tensor; got {value}.")
        self.outputs = dict(named)

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The signature of a prediction.

        Args:
            receiver_tensors: name to the tensor that is fed.
        """
        return predict_signature_def(receiver_tensors, self.outputs)


def checked_export_outputs(outputs: Any, predictions: Any) -> dict[str, ExportOutput]:
    """The outputs of a model to predict, one of them the default.

    Args:
        outputs: name to ``ExportOutput``; None: all predictions.
        predictions: what the model predicts.

    Raises:
        TypeError: this is no such dictionary.
        ValueError: there are several, and none is the default.
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


def serving_signatures(
    receivers: Any, outputs: Mapping[str, ExportOutput], alternatives: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The signatures of a model that is served; outputs that do not fit the inputs have none.

    Args:
        receivers: name to the tensor that is fed.
        outputs: name to what it gives.
        alternatives: name to further inputs; None: none.
    """
    found: dict[str, Any] = {}
    for key, output in outputs.items():
        inputs = {key or "None": receivers}
        inputs.update({f"{name}:{key or 'None'}": other for name, other in (alternatives or {}).items()})
        for name, given in inputs.items():
            try:
                found[name] = output.as_signature_def(given)
            except ValueError as error:
                tf_logging.info("Signature %r is left out: %s", name, error)
    return {name: signature for name, signature in found.items() if is_valid_signature(signature)}


def timestamped_folder(base: Any) -> str:
    """A folder below ``base`` that does not exist yet, named after the time in seconds.

    Args:
        base: the folder above.

    Raises:
        RuntimeError: there were ten such folders already.
    """
    base = os.fsdecode(base)
    now = int(time.time())
    for stamp in range(now, now + _ATTEMPTS):
        folder = os.path.join(base, str(stamp))
        if not os.path.exists(folder):
            return folder
    raise RuntimeError(f"Failed to obtain a unique export directory name after {_ATTEMPTS} attempts.")

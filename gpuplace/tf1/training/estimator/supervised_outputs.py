"""Outputs of a model in training or evaluation: loss, predictions and metrics, and their signatures.

Source: tensorflow/python/saved_model/model_utils/export_output.py, release 1.15 (names, messages).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import constant
from gpuplace.tf1.saving.signatures import supervised_eval_signature_def, supervised_train_signature_def
from gpuplace.tf1.training.estimator.export_outputs import ExportOutput, named_outputs, output_name

__all__ = ["EvalOutput", "TrainOutput"]


def _below(name: str, above: str) -> str:
    return name if name.startswith(above) else f"{above}/{name}"


class SupervisedOutput(ExportOutput):
    """Loss, predictions and metrics, under names that begin with their role.

    Args:
        loss: a tensor, or a dict from name to tensor, or None.
        predictions: a tensor, or a dict from name to tensor, or None.
        metrics: a pair of a value and its update op, as ``tf.metrics`` returns it, or a dict from name to
            such a pair, or None.

    Raises:
        ValueError: a name is not a string, a value not a tensor, or an update neither a tensor nor an
            operation.
    """

    LOSS_NAME = "loss"
    PREDICTIONS_NAME = "predictions"
    METRICS_NAME = "metrics"
    METRIC_VALUE_SUFFIX = "value"
    METRIC_UPDATE_SUFFIX = "update_op"

    def __init__(self, loss: Any = None, predictions: Any = None, metrics: Any = None) -> None:
        self.loss = self._tensors(loss, self.LOSS_NAME)
        self.predictions = self._tensors(predictions, self.PREDICTIONS_NAME)
        self.metrics = None if metrics is None else self._metrics(metrics)

    def _tensors(self, values: Any, what: str) -> dict[str, Tensor] | None:
        if values is None:
            return None
        return {_below(name, what): value for name, value in named_outputs(values, what, what).items()}

    def _metrics(self, metrics: Any) -> dict[str, Tensor]:
        tensors: dict[str, Tensor] = {}
        named = metrics if isinstance(metrics, dict) else {self.METRICS_NAME: metrics}
        for key, (value, update) in named.items():
            name = _below(output_name(key, self.METRICS_NAME), self.METRICS_NAME)
            if not isinstance(value, Tensor):
                raise ValueError(f"{name} output value must be a Tensor; got {value}.")
            if not isinstance(update, Tensor | Operation):
                raise ValueError(f"{name} update_op must be a Tensor or Operation; got {update}.")
            if isinstance(update, Operation):  # signatures refer to tensors only
                with get_default_graph().control_dependencies([update]):
                    update = constant([], name="metric_op_wrapper")
            tensors[f"{name}/{self.METRIC_VALUE_SUFFIX}"] = value
            tensors[f"{name}/{self.METRIC_UPDATE_SUFFIX}"] = update
        return tensors

    @abstractmethod
    def _get_signature_def_fn(self) -> Callable[..., Any]:
        """Return the function that creates the signature."""

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """Return the signature from inputs to loss, predictions and metrics.

        Args:
            receiver_tensors: dict from name to the tensor that is fed.
        """
        return self._get_signature_def_fn()(receiver_tensors, self.loss, self.predictions, self.metrics)


class TrainOutput(SupervisedOutput):
    """Outputs of a model in training.

    Args:
        loss: a tensor, or a dict from name to tensor, or None.
        predictions: a tensor, or a dict from name to tensor, or None.
        metrics: a pair of a value and its update op, or a dict from name to such a pair, or None.

    Raises:
        ValueError: a name is not a string, a value not a tensor, or an update neither a tensor nor an
            operation.
    """

    def _get_signature_def_fn(self) -> Callable[..., Any]:
        return supervised_train_signature_def


class EvalOutput(SupervisedOutput):
    """Outputs of a model in evaluation.

    Args:
        loss: a tensor, or a dict from name to tensor, or None.
        predictions: a tensor, or a dict from name to tensor, or None.
        metrics: a pair of a value and its update op, or a dict from name to such a pair, or None.

    Raises:
        ValueError: a name is not a string, a value not a tensor, or an update neither a tensor nor an
            operation.
    """

    def _get_signature_def_fn(self) -> Callable[..., Any]:
        return supervised_eval_signature_def

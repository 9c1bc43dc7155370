"""What a model gives while it is trained or evaluated: loss, predictions and metrics, and the signatures of these.

Source: tensorflow/python/saved_model/model_utils/export_output.py, release 1.15 (names, sentences).
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
    """Loss, predictions and metrics, under names that begin with what they are.

    Args:
        loss: a tensor, or name to tensor; None: none.
        predictions: the same.
        metrics: a pair of a value and what updates it, as ``tf.metrics`` gives it, or name to such a pair; None: none.

    Raises:
        ValueError: a name is no text, a value no tensor, or an update neither tensor nor operation.
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
        found: dict[str, Tensor] = {}
        named = metrics if isinstance(metrics, dict) else {self.METRICS_NAME: metrics}
        for key, (value, update) in named.items():
            name = _below(output_name(key, self.METRICS_NAME), self.METRICS_NAME)
            if not isinstance(value, Tensor):
                raise ValueError(f"{name} output value must be a Tensor; got {value}.")
            if not isinstance(update, Tensor | Operation):
                raise ValueError(f"{name} update_op must be a Tensor or Operation; got {update}.")
            if isinstance(update, Operation):  # signatures name tensors
                with get_default_graph().control_dependencies([update]):
                    update = constant([], name="metric_op_wrapper")
            found[f"{name}/{self.METRIC_VALUE_SUFFIX}"] = value
            found[f"{name}/{self.METRIC_UPDATE_SUFFIX}"] = update
        return found

    @abstractmethod
    def _get_signature_def_fn(self) -> Callable[..., Any]:
        """The function that makes the signature."""

    def as_signature_def(self, receiver_tensors: Mapping[str, Any]) -> Any:
        """The signature from inputs to loss, predictions and metrics.

        Args:
            receiver_tensors: name to the tensor that is fed.
        """
        return self._get_signature_def_fn()(receiver_tensors, self.loss, self.predictions, self.metrics)


class TrainOutput(SupervisedOutput):
    """What a model gives while it is trained.

    Args:
        loss: a tensor, or name to tensor; None: none.
        predictions: the same.
        metrics: a pair of a value and what updates it, or name to such a pair; None: none.

    Raises:
        ValueError: a name is no text, a value no tensor, or an update neither tensor nor operation.
    """

    def _get_signature_def_fn(self) -> Callable[..., Any]:
        return supervised_train_signature_def


class EvalOutput(SupervisedOutput):
    """What a model gives while it is evaluated.

    Args:
        loss: a tensor, or name to tensor; None: none.
        predictions: the same.
        metrics: a pair of a value and what updates it, or name to such a pair; None: none.

    Raises:
        ValueError: a name is no text, a value no tensor, or an update neither tensor nor operation.
    """

    def _get_signature_def_fn(self) -> Callable[..., Any]:
        return supervised_eval_signature_def

"""The result of a ``model_fn``: ``EstimatorSpec``, checked.

Source: tensorflow_estimator/python/estimator/model_fn.py and mode_keys.py, release 1.15.1 (fields, messages).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.reshaping import reshape
from gpuplace.ops.nest import flatten
from gpuplace.ops.variables.variables import Variable
from gpuplace.tf1.training.estimator.export_outputs import checked_export_outputs
from gpuplace.tf1.training.scaffold import Scaffold
from gpuplace.tf1.training.session_run_hook import SessionRunHook

__all__ = ["EstimatorSpec", "ModeKeys"]

_OTHER_GRAPH = (
    '{0} with "{1}" must be from the default graph. Possible causes of this error include: \n\n1) {0} was created'
    " outside the context of the default graph.\n\n2) The object passed through to EstimatorSpec was not created in the"
    ' most recent call to "model_fn".'
)


class ModeKeys:
    """The purposes for which a ``model_fn`` is called."""

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


class _Fields(NamedTuple):
    mode: str
    predictions: Any
    loss: Any
    train_op: Any
    eval_metric_ops: Any
    export_outputs: Any
    training_chief_hooks: Any
    training_hooks: Any
    scaffold: Any
    evaluation_hooks: Any
    prediction_hooks: Any


class EstimatorSpec(_Fields):
    """The ops of a model, as an ``Estimator`` runs them.

    Args:
        mode: one of ``ModeKeys``.
        predictions: a tensor, or a dictionary of tensors; needed for prediction.
        loss: a scalar tensor; needed for training and evaluation.
        train_op: the training operation; needed for training.
        eval_metric_ops: dict from a metric's name to a pair: its value and its update op.
        export_outputs: dict from a signature's name to its ``ExportOutput``.
        training_chief_hooks: hooks of the chief during training.
        training_hooks: hooks during training.
        scaffold: a ``tf.train.Scaffold``.
        evaluation_hooks: hooks during evaluation.
        prediction_hooks: hooks during prediction.

    Raises:
        ValueError: a value that the mode needs is missing, a tensor is in another graph, or the loss is not a
            scalar.
        TypeError: an argument has the wrong type.
    """

    __slots__ = ()

    def __new__(
        cls,
        mode: str,
        predictions: Any = None,
        loss: Any = None,
        train_op: Any = None,
        eval_metric_ops: Mapping[str, Any] | None = None,
        export_outputs: Any = None,
        training_chief_hooks: Any = None,
        training_hooks: Any = None,
        scaffold: Scaffold | None = None,
        evaluation_hooks: Any = None,
        prediction_hooks: Any = None,
    ) -> EstimatorSpec:
        train_op = _train_op(train_op, mode)
        loss = _loss(loss, mode)
        predictions = _predictions(predictions, mode)
        if mode == ModeKeys.PREDICT:
            export_outputs = checked_export_outputs(export_outputs, predictions)
        if scaffold is None:
            scaffold = Scaffold()
        elif not isinstance(scaffold, Scaffold):
            raise TypeError(f"scaffold must be tf.train.Scaffold. Given: {scaffold}")
        return super().__new__(
            cls, mode, predictions, loss, train_op, _metrics(eval_metric_ops), export_outputs,
            _hooks(training_chief_hooks), _hooks(training_hooks), scaffold, _hooks(evaluation_hooks),
            _hooks(prediction_hooks),
        )  # fmt: skip

    def _replace(self, **changes: Any) -> EstimatorSpec:
        if changes.get("mode", self.mode) != self.mode:
            raise ValueError("mode of EstimatorSpec cannot be changed.")
        unknown = sorted(set(changes) - set(self._fields))
        if unknown:
            raise ValueError(f"Got unexpected field names: {unknown}")
        return EstimatorSpec(**{**self._asdict(), **changes})


def _check_graph(what: str, value: Any, name: str) -> None:
    if value.graph is not get_default_graph():
        raise ValueError(_OTHER_GRAPH.format(what, name))


def _train_op(train_op: Any, mode: str) -> Any:
    if train_op is None:
        if mode == ModeKeys.TRAIN:
            raise ValueError("Missing train_op.")
        return None
    if not isinstance(train_op, (Operation, Tensor, Variable)):
        raise TypeError(f"train_op must be Operation or Tensor, given: {train_op}")
    if isinstance(train_op, Variable):
        train_op = train_op.op
    _check_graph("train_op", train_op, train_op.name)
    return train_op


def _tensor(value: Any, name: str) -> Any:
    if not isinstance(value, (Tensor, Variable)):
        raise TypeError(f"{name} must be Tensor, given: {value}")
    return value


def _loss(loss: Any, mode: str) -> Any:
    if loss is None:
        if mode in (ModeKeys.TRAIN, ModeKeys.EVAL):
            raise ValueError("Missing loss.")
        return None
    shape = _tensor(loss, "loss").get_shape()
    if shape.num_elements() not in (None, 1):
        raise ValueError(f"Loss must be scalar, given: {loss}")
    if not shape.is_compatible_with([]):
        loss = reshape(loss, [])
    _check_graph("loss", loss, loss.name)
    return loss


def _predictions(predictions: Any, mode: str) -> Any:
    if predictions is None:
        if mode == ModeKeys.PREDICT:
            raise ValueError("Missing predictions.")
        return {}
    if not isinstance(predictions, dict):
        _check_graph("prediction values", _tensor(predictions, "predictions"), predictions.name)
        return predictions
    for key, value in predictions.items():
        _check_graph("prediction values", _tensor(value, f"predictions[{key}]"), f"{key}: {value.name}")
    return dict(predictions)


def _metrics(metrics: Any) -> dict[str, Any]:
    if metrics is None:
        return {}
    if not isinstance(metrics, dict):
        raise TypeError(f"eval_metric_ops must be a dict, given: {metrics}")
    for key, pair in metrics.items():
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                "Values of eval_metric_ops must be (metric_value, update_op) tuples, given:"
                f" {pair} for key: {key}"
            )
        for value in flatten(pair):
            _check_graph("eval_metric_ops", value, f"{key}: {value.name}")
    return metrics


def _hooks(hooks: Any) -> tuple[SessionRunHook, ...]:
    checked = tuple(hooks or ())
    for hook in checked:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be SessionRunHook instances, given: {hook}")
    return checked

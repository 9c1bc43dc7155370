"""``tf.estimator.train_and_evaluate``: training, with an evaluation and exports at its checkpoints.

Source: tensorflow_estimator/python/estimator/training.py and exporter.py, release 1.15.1 (times of
evaluations, messages).
"""

from __future__ import annotations

import glob
import os
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from gpuplace import tf_logging
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graphdef.event_file import summary_iterator
from gpuplace.tf1.training.estimator.estimator import Estimator
from gpuplace.tf1.training.saver_hooks import CheckpointSaverListener
from gpuplace.tf1.training.session_run_hook import SessionRunHook
from gpuplace.tf1.training.timers import SecondOrStepTimer

__all__ = [
    "BestExporter", "EvalSpec", "Exporter", "FinalExporter", "LatestExporter", "TrainSpec", "train_and_evaluate",
]  # fmt: skip


class _Train(NamedTuple):
    input_fn: Callable[..., Any]
    max_steps: int | None
    hooks: tuple[SessionRunHook, ...]


class TrainSpec(_Train):
    """Settings for training.

    Args:
        input_fn: as for ``Estimator.train``.
        max_steps: global step at which training stops; None: until the input ends.
        hooks: further hooks.

    Raises:
        ValueError: ``max_steps`` is not positive.
        TypeError: ``input_fn`` is not a function, or a hook has another type.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        max_steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
    ) -> TrainSpec:
        _check_input_fn(input_fn)
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        return super().__new__(cls, input_fn, max_steps, _checked_hooks(hooks))


class _Eval(NamedTuple):
    input_fn: Callable[..., Any]
    steps: int | None
    name: str | None
    hooks: tuple[SessionRunHook, ...]
    exporters: tuple[Exporter, ...]
    start_delay_secs: float
    throttle_secs: float


class EvalSpec(_Eval):
    """Settings for evaluation and export.

    Args:
        input_fn: as for ``Estimator.evaluate``.
        steps: number of batches; None: until the input ends.
        name: name of the evaluation.
        hooks: further hooks.
        exporters: one ``Exporter`` or several, or None.
        start_delay_secs: for clusters; has no effect in one process.
        throttle_secs: shortest time between two evaluations, in seconds.

    Raises:
        ValueError: a number is out of its range, or exporters have equal names or none.
        TypeError: ``input_fn`` is not a function, or a hook, name or exporter has the wrong type.
    """

    __slots__ = ()

    def __new__(
        cls,
        input_fn: Callable[..., Any],
        steps: int | None = 100,
        name: str | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        exporters: Any = None,
        start_delay_secs: float = 120,
        throttle_secs: float = 600,
    ) -> EvalSpec:
        _check_input_fn(input_fn)
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if name is not None and not isinstance(name, str):
            raise TypeError(f"`name` must be string, given: {name}")
        if start_delay_secs < 0:
            raise ValueError(f"Must specify start_delay_secs >= 0, given: {start_delay_secs}")
        if throttle_secs < 0:
            raise ValueError(f"Must specify throttle_secs >= 0, given: {throttle_secs}")
        return super().__new__(
            cls, input_fn, steps, name, _checked_hooks(hooks), _checked_exporters(exporters), start_delay_secs,
            throttle_secs,
        )  # fmt: skip


def _check_input_fn(input_fn: Any) -> None:
    if not callable(input_fn):
        raise TypeError(f"`input_fn` must be callable, given: {input_fn}")


def _checked_hooks(hooks: Any) -> tuple[SessionRunHook, ...]:
    checked = tuple(hooks or ())
    for hook in checked:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"All hooks must be `SessionRunHook` instances, given: {hook}")
    return checked


def _checked_exporters(exporters: Any) -> tuple[Exporter, ...]:
    if exporters is None:
        return ()
    checked = (exporters,) if isinstance(exporters, Exporter) else tuple(exporters)
    names = set()
    for one in checked:
        if not isinstance(one, Exporter):
            raise TypeError(
                f"`exporters` must be an Exporter, an iterable of Exporter, or `None`, found {one}."
            )
        if not one.name:
            raise ValueError(f"An Exporter must have a non-empty name. Given: {one}")
        if one.name in names:
            raise ValueError(
                f"`exporters` must have unique names. Such a name cannot be found twice: {one.name}"
            )
        names.add(one.name)
    return checked


class Exporter(ABC):
    """Base of exporters, which export a model after an evaluation."""

    @property
    @abstractmethod
    def name(self) -> str:
        """Name of the folder below ``export`` in the model's folder."""

    @abstractmethod
    def export(
        self, estimator: Estimator, export_path: str, checkpoint_path: str, eval_result: Mapping[str, Any] | None,
        is_the_final_export: bool,
    ) -> Any:  # fmt: skip
        """Export the model.

        Args:
            estimator: the model.
            export_path: the folder.
            checkpoint_path: the checkpoint.
            eval_result: the values of the metrics.
            is_the_final_export: whether the training has ended.

        Returns:
            The path of the SavedModel, or None.
        """


class _ServingExporter(Exporter):
    """Base of exporters for serving.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: as for ``Estimator.export_saved_model``.
        assets_extra: as for ``Estimator.export_saved_model``.
        as_text: as for ``Estimator.export_saved_model``.
    """

    def __init__(
        self, name: str, serving_input_receiver_fn: Callable[[], Any], assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:  # fmt: skip
        self._name = name
        self._receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text

    @property
    def name(self) -> str:
        """Name of the folder below ``export``."""
        return self._name

    def _save(self, estimator: Estimator, path: str, checkpoint: str) -> bytes:
        return estimator.export_saved_model(
            path,
            self._receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint,
        )


class FinalExporter(_ServingExporter):
    """Exporter that runs once, after the training.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: as for ``Estimator.export_saved_model``.
        assets_extra: as for ``Estimator.export_saved_model``.
        as_text: as for ``Estimator.export_saved_model``.
    """

    def export(
        self, estimator: Estimator, export_path: str, checkpoint_path: str, eval_result: Mapping[str, Any] | None,
        is_the_final_export: bool,
    ) -> bytes | None:  # fmt: skip
        """Export the model if the training has ended.

        Args:
            estimator: the model.
            export_path: the folder.
            checkpoint_path: the checkpoint.
            eval_result: the values of the metrics.
            is_the_final_export: whether the training has ended.
        """
        if not is_the_final_export:
            return None
        tf_logging.info("Performing the final export in the end of training.")
        return self._save(estimator, export_path, checkpoint_path)


class LatestExporter(_ServingExporter):
    """Exporter that runs after every evaluation and keeps the latest exports.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: as for ``Estimator.export_saved_model``.
        assets_extra: as for ``Estimator.export_saved_model``.
        as_text: as for ``Estimator.export_saved_model``.
        exports_to_keep: number of exports to keep; None for all.

    Raises:
        ValueError: ``exports_to_keep`` is not positive.
    """

    def __init__(
        self, name: str, serving_input_receiver_fn: Callable[[], Any], assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False, exports_to_keep: int | None = 5,
    ) -> None:  # fmt: skip
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text)
        if exports_to_keep is not None and exports_to_keep <= 0:
            raise ValueError(
                f"`exports_to_keep`, if provided, must be a positive number. Got {exports_to_keep}"
            )
        self._to_keep = exports_to_keep

    def export(
        self, estimator: Estimator, export_path: str, checkpoint_path: str, eval_result: Mapping[str, Any] | None,
        is_the_final_export: bool,
    ) -> bytes | None:  # fmt: skip
        """Export the model and remove the oldest exports.

        Args:
            estimator: the model.
            export_path: the folder.
            checkpoint_path: the checkpoint.
            eval_result: the values of the metrics.
            is_the_final_export: whether the training has ended.
        """
        path = self._save(estimator, export_path, checkpoint_path)
        if self._to_keep is not None:
            stamps = sorted((one for one in os.listdir(export_path) if one.isdigit()), key=int)
            for stamp in stamps[: -self._to_keep]:
                shutil.rmtree(os.path.join(export_path, stamp))
        return path


def _loss_is_smaller(best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]) -> bool:
    for result, argument in (
        (best_eval_result, "best_eval_result"),
        (current_eval_result, "current_eval_result"),
    ):
        if not result or "loss" not in result:
            raise ValueError(f"{argument} cannot be empty or no loss is found in it.")
    return bool(best_eval_result["loss"] > current_eval_result["loss"])


class BestExporter(LatestExporter):
    """Exporter that runs when a model is better than all earlier ones.

    Args:
        name: name of the folder.
        serving_input_receiver_fn: as for ``Estimator.export_saved_model``.
        event_file_pattern: event files of earlier evaluations, below the model's folder, to compare with too;
            None: compare only with evaluations of this training.
        compare_fn: returns whether ``current_eval_result`` is better than ``best_eval_result``.
        assets_extra: as for ``Estimator.export_saved_model``.
        as_text: as for ``Estimator.export_saved_model``.
        exports_to_keep: number of exports to keep; None for all.

    Raises:
        ValueError: ``compare_fn`` has other arguments, or ``exports_to_keep`` is not positive.
    """

    def __init__(
        self, name: str = "best_exporter", serving_input_receiver_fn: Callable[[], Any] | None = None,
        event_file_pattern: str | None = None, compare_fn: Callable[..., bool] = _loss_is_smaller,
        assets_extra: Mapping[str, str] | None = None, as_text: bool = False, exports_to_keep: int | None = 5,
    ) -> None:  # fmt: skip
        if serving_input_receiver_fn is None:
            raise ValueError("`serving_input_receiver_fn` must be defined.")
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        if compare_fn is None:
            raise ValueError("`compare_fn` must not be None.")
        self._is_better = compare_fn
        self._pattern = event_file_pattern
        self._best: Mapping[str, Any] | None = None
        self._has_looked = False

    def export(
        self, estimator: Estimator, export_path: str, checkpoint_path: str, eval_result: Mapping[str, Any] | None,
        is_the_final_export: bool,
    ) -> bytes | None:  # fmt: skip
        """Export the model if it is better.

        Args:
            estimator: the model.
            export_path: the folder.
            checkpoint_path: the checkpoint.
            eval_result: the values of the metrics.
            is_the_final_export: whether the training has ended.
        """
        if self._pattern and not self._has_looked:
            self._best = self._best_before(os.path.join(estimator.model_dir, self._pattern))
        self._has_looked = True
        if self._best is not None and not self._is_better(
            best_eval_result=self._best, current_eval_result=eval_result
        ):
            return None
        tf_logging.info("Performing best model export.")
        self._best = eval_result
        return super().export(estimator, export_path, checkpoint_path, eval_result, is_the_final_export)

    def _best_before(self, pattern: str) -> Mapping[str, Any] | None:
        best: Mapping[str, Any] | None = None
        for path in sorted(glob.glob(pattern)):
            for event in summary_iterator(path):
                values = {
                    one.tag: one.simple_value for one in event.summary.value if one.HasField("simple_value")
                }
                if values and (
                    best is None or self._is_better(best_eval_result=best, current_eval_result=values)
                ):
                    best = values
        return best


class _EvaluatesCheckpoints(CheckpointSaverListener):
    """Listener that evaluates and exports new checkpoints, except the first and those that follow too soon."""

    def __init__(self, estimator: Estimator, spec: EvalSpec, max_steps: int | None) -> None:
        self._estimator, self._spec, self._max_steps = estimator, spec, max_steps
        self.metrics: dict[str, Any] | None = None
        self.exports: list[Any] | None = None

    def begin(self) -> None:
        """Start measuring time."""
        self._timer = SecondOrStepTimer(every_secs=self._spec.throttle_secs)
        self._is_first = True

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluate the checkpoint unless the previous evaluation is too recent.

        Args:
            session: the session.
            global_step_value: the global step.
        """
        if self._is_first:
            self._is_first = False
        elif self._timer.should_trigger_for_step(global_step_value):
            self._evaluate(global_step_value)
        else:
            tf_logging.info(
                "Skip the current checkpoint eval due to throttle secs (%s secs).", self._spec.throttle_secs
            )

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluate the last checkpoint.

        Args:
            session: the session.
            global_step_value: the global step.
        """
        if global_step_value != self._timer.last_triggered_step():
            self._evaluate(global_step_value)

    def _evaluate(self, step: int) -> None:
        self._timer.update_last_triggered_step(step)
        estimator, spec = self._estimator, self._spec
        checkpoint = estimator.latest_checkpoint()
        if checkpoint is None:
            raise RuntimeError(
                "There was no new checkpoint after the training. Eval status: missing checkpoint"
            )
        metrics = estimator.evaluate(spec.input_fn, spec.steps, spec.hooks, checkpoint, spec.name)
        is_last = bool(self._max_steps and metrics[GraphKeys.GLOBAL_STEP] >= self._max_steps)
        self.metrics = metrics
        self.exports = [
            one.export(
                estimator, os.path.join(estimator.model_dir, "export", one.name), checkpoint, metrics, is_last
            )
            for one in spec.exporters
        ]


def train_and_evaluate(
    estimator: Estimator, train_spec: TrainSpec, eval_spec: EvalSpec
) -> tuple[dict[str, Any] | None, list[Any] | None]:
    """Train, and evaluate and export at checkpoints, including the last one.

    Args:
        estimator: the model.
        train_spec: settings for training.
        eval_spec: settings for evaluation.

    Returns:
        The metric values of the last evaluation and the results of its exporters; None for both if training
        had already finished.

    Raises:
        TypeError: an argument has the wrong type.
    """
    for value, kind, sentence in (
        (estimator, Estimator, "`estimator` must have type `tf.estimator.Estimator`"),
        (train_spec, TrainSpec, "`train_spec` must have type `tf.estimator.TrainSpec`"),
        (eval_spec, EvalSpec, "`eval_spec` must have type `tf.estimator.EvalSpec`"),
    ):
        if not isinstance(value, kind):
            raise TypeError(f"{sentence}, given: {type(value)}")
    listener = _EvaluatesCheckpoints(estimator, eval_spec, train_spec.max_steps)
    estimator.train(
        train_spec.input_fn,
        hooks=train_spec.hooks,
        max_steps=train_spec.max_steps,
        saving_listeners=[listener],
    )
    return listener.metrics, listener.exports

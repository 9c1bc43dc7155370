"""``tf.estimator.Estimator``: a model that trains, evaluates, predicts and exports itself.

Each of these builds a graph: the global step, the input (on the CPU), then the model. Checkpoints in
``model_dir`` carry the variables from one graph to the next.

Source: tensorflow_estimator/python/estimator/estimator.py, release 1.15.1 (order of the ops, messages).
"""

from __future__ import annotations

import copy
import inspect
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from gpuplace import tf_logging
from gpuplace.errors import NotFoundError
from gpuplace.files.file_system import with_op_errors
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph import Graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graphdef.file_writer import FileWriterCache
from gpuplace.graphdef.messages import Summary
from gpuplace.graphdef.tensor_proto import make_tensor_proto
from gpuplace.ops import summaries
from gpuplace.ops.distribute.contexts import LOSS_REDUCTION
from gpuplace.ops.flow.control import group
from gpuplace.ops.losses import Reduction
from gpuplace.ops.random.random_ops import set_random_seed
from gpuplace.ops.train.global_step import create_global_step, get_global_step, global_step_read
from gpuplace.runtime.session.session import Session
from gpuplace.saving.checkpoint_state import latest_checkpoint
from gpuplace.saving.saver import Saver
from gpuplace.saving.tag_constants import SERVING
from gpuplace.tf1.data.dataset import Dataset
from gpuplace.tf1.distribute.values import selected
from gpuplace.tf1.metrics.metrics import mean
from gpuplace.tf1.saving.load import list_variables, load_variable
from gpuplace.tf1.saving.saved_model_builder import SavedModelBuilder
from gpuplace.tf1.training.estimator.export_outputs import build_all_signature_defs, timestamped_folder
from gpuplace.tf1.training.estimator.run_config import RunConfig, default_session_config
from gpuplace.tf1.training.estimator.spec import EstimatorSpec, ModeKeys
from gpuplace.tf1.training.evaluation import StopAfterNEvalsHook, evaluate_checkpoint, get_or_create_eval_step
from gpuplace.tf1.training.hooks import LoggingTensorHook, NanTensorHook, StopAtStepHook
from gpuplace.tf1.training.monitored_session import (
    ChiefSessionCreator,
    MonitoredSession,
    MonitoredTrainingSession,
)
from gpuplace.tf1.training.saver_hooks import CheckpointSaverHook, CheckpointSaverListener
from gpuplace.tf1.training.scaffold import Scaffold
from gpuplace.tf1.training.session_run_hook import SessionRunHook
from gpuplace.tf1.training.warm_start import warm_start
from gpuplace.typing import TensorLike

__all__ = ["Estimator", "WarmStartSettings"]

_MODEL_FN_ARGS = {"features", "labels", "mode", "params", "self", "config"}
_LOSS = "loss"


class WarmStartSettings(NamedTuple):
    """The variables of a new model that start with values from a checkpoint.

    Args:
        ckpt_to_initialize_from: the checkpoint, or its folder.
        vars_to_warm_start: a regular expression of names, a list of names or variables, or None.
        var_name_to_vocab_info: dict from a variable's name to its ``VocabInfo``.
        var_name_to_prev_var_name: dict from a variable's name to its name in the checkpoint.
    """

    ckpt_to_initialize_from: str
    vars_to_warm_start: Any = ".*"
    var_name_to_vocab_info: Mapping[str, Any] | None = None
    var_name_to_prev_var_name: Mapping[str, str] | None = None


class _DatasetInitializer(SessionRunHook):
    """Hook that initializes the iterator of a dataset that an ``input_fn`` returned."""

    def __init__(self, iterator: Any) -> None:
        self._iterator = iterator
        self._initializer: Any = None

    def begin(self) -> None:
        """Create the initializer operation."""
        self._initializer = self._iterator.initializer

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run the operation.

        Args:
            session: the session.
            coord: its coordinator.
        """
        session.run(self._initializer)


class Estimator:
    """A model that trains, evaluates, predicts and exports itself.

    Args:
        model_fn: function that returns an ``EstimatorSpec``. Its arguments are ``features`` and, if it names
            them, ``labels``, ``mode``, ``params`` and ``config``.
        model_dir: folder of checkpoints and events; None for that of ``config``, or a new temporary one.
        config: a ``RunConfig``; None for the default one.
        params: passed to ``model_fn`` as ``params``.
        warm_start_from: a checkpoint or ``WarmStartSettings``, or None.

    Raises:
        ValueError: ``model_fn`` is missing or has other arguments, ``config`` is not a ``RunConfig``, or its
            ``model_dir`` differs.
    """

    def __init__(
        self,
        model_fn: Callable[..., EstimatorSpec],
        model_dir: str | os.PathLike[str] | None = None,
        config: RunConfig | None = None,
        params: Mapping[str, Any] | None = None,
        warm_start_from: Any = None,
    ) -> None:
        self._config = _config_of(config, model_dir)
        assert self._config.model_dir is not None
        self._model_dir = self._config.model_dir
        tf_logging.info("Using config: %s", vars(self._config))
        if model_fn is None:
            raise ValueError("model_fn must be provided to Estimator.")
        _check_model_fn(model_fn, params)
        self._model_fn = model_fn
        self._params = copy.deepcopy(params if params else {})
        self._warm_start = _warm_start_settings(warm_start_from)

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and events."""
        return self._model_dir

    @property
    def config(self) -> RunConfig:
        """The run configuration."""
        return copy.copy(self._config)

    @property
    def params(self) -> Any:
        """A copy of the ``params`` that ``model_fn`` gets."""
        return copy.deepcopy(self._params)

    @property
    def model_fn(self) -> Callable[..., EstimatorSpec]:
        """A function of ``features, labels, mode, config`` that builds the model."""
        return self._build

    def get_variable_value(self, name: str) -> Any:
        """Return the value of a variable in the last checkpoint.

        Args:
            name: name of the variable.

        Raises:
            ValueError: there is no checkpoint.
        """
        return load_variable(self._trained(), name)

    def get_variable_names(self) -> list[str]:
        """Return the names of the variables in the last checkpoint.

        Raises:
            ValueError: there is no checkpoint.
        """
        return [name for name, _ in list_variables(self._trained())]

    def _trained(self) -> str:
        if not latest_checkpoint(self._model_dir):
            raise ValueError(f"Could not find trained model in model_dir: {self._model_dir}.")
        return self._model_dir

    def latest_checkpoint(self) -> str | None:
        """Return the path of the last checkpoint, or None."""
        return latest_checkpoint(self._model_dir)

    def eval_dir(self, name: str | None = None) -> str:
        """Return the folder of an evaluation's events.

        Args:
            name: name of the evaluation; None for the only one.
        """
        return os.path.join(self._model_dir, f"eval_{name}" if name else "eval")

    def train(
        self,
        input_fn: Callable[..., Any],
        hooks: Sequence[SessionRunHook] | None = None,
        steps: int | None = None,
        max_steps: int | None = None,
        saving_listeners: Sequence[CheckpointSaverListener] | None = None,
    ) -> Estimator:
        """Train, starting from the last checkpoint.

        Args:
            input_fn: returns features, features and labels, or a dataset of them; it may take ``mode``,
                ``params`` and ``config``.
            hooks: further hooks.
            steps: number of further steps; None: until the input ends.
            max_steps: global step at which training stops; None for no limit.
            saving_listeners: ``CheckpointSaverListener`` objects.

        Returns:
            The estimator.

        Raises:
            ValueError: both ``steps`` and ``max_steps`` are given, or one is not positive.
            TypeError: a hook or listener has another type.
        """
        if steps is not None and max_steps is not None:
            raise ValueError("Can not provide both steps and max_steps.")
        if steps is not None and steps <= 0:
            raise ValueError(f"Must specify steps > 0, given: {steps}")
        if max_steps is not None and max_steps <= 0:
            raise ValueError(f"Must specify max_steps > 0, given: {max_steps}")
        if max_steps is not None and max_steps <= self._saved_step():
            tf_logging.info("Skipping training since max_steps has already saved.")
            return self
        all_hooks = _checked_hooks(hooks)
        if steps is not None or max_steps is not None:
            all_hooks.append(StopAtStepHook(steps, max_steps))
        loss = self._train(input_fn, all_hooks, _checked_listeners(saving_listeners))
        tf_logging.info("Loss for final step: %s.", loss)
        return self

    def _saved_step(self) -> int:
        checkpoint = latest_checkpoint(self._model_dir)
        if checkpoint is None:
            return 0
        try:
            return int(load_variable(checkpoint, GraphKeys.GLOBAL_STEP))
        except NotFoundError:
            return 0

    def _train(
        self,
        input_fn: Callable[..., Any],
        hooks: list[SessionRunHook],
        listeners: list[CheckpointSaverListener],
    ) -> Any:
        config = self._config
        graph, strategy = Graph(), config.train_distribute
        scope: Any = nullcontext() if strategy is None else strategy.scope()
        with graph.as_default(), graph.device(config.device_fn), scope:
            set_random_seed(config.tf_random_seed)
            create_global_step(graph)
            global_step_read(graph)
            if strategy is not None:
                spec, input_hooks = self._replicated(strategy, input_fn)
            else:
                features, labels, input_hooks = self._input(input_fn, ModeKeys.TRAIN)
                spec = self._build(features, labels, ModeKeys.TRAIN, self.config)
            if self._warm_start:
                tf_logging.info("Warm-starting with WarmStartSettings: %s", (self._warm_start,))
                warm_start(*self._warm_start)
            if all(one.op.name != _LOSS for one in graph.get_collection(GraphKeys.SUMMARIES)):
                summaries.scalar(_LOSS, spec.loss)
            graph.add_to_collection(GraphKeys.LOSSES, spec.loss)
            all_hooks: list[Any] = [*input_hooks, *hooks, NanTensorHook(spec.loss)]
            if config.log_step_count_steps is not None:
                logged = {"loss": spec.loss, "step": get_global_step(graph)}
                all_hooks.append(LoggingTensorHook(logged, every_n_iter=config.log_step_count_steps))
            all_hooks.extend(spec.training_hooks)
            if not (spec.scaffold.saver or graph.get_collection(GraphKeys.SAVERS)):
                saver = Saver(
                    sharded=True,
                    max_to_keep=config.keep_checkpoint_max,
                    keep_checkpoint_every_n_hours=config.keep_checkpoint_every_n_hours,
                    defer_build=True,
                    save_relative_paths=True,
                )
                graph.add_to_collection(GraphKeys.SAVERS, saver)
            chief_hooks = self._saving_hooks(spec, all_hooks, listeners)
            session = MonitoredTrainingSession(
                master=config.master,
                checkpoint_dir=self._model_dir,
                scaffold=spec.scaffold,
                hooks=all_hooks,
                chief_only_hooks=[*chief_hooks, *spec.training_chief_hooks],
                save_checkpoint_secs=0,
                save_summaries_steps=config.save_summary_steps,
                config=config.session_config,
                max_wait_secs=config.session_creation_timeout_secs,
                log_step_count_steps=config.log_step_count_steps,
            )
            loss = None
            with session:
                while not session.should_stop():
                    _, loss = session.run([spec.train_op, spec.loss])
        if loss is None:
            tf_logging.warning(
                "Training with estimator made no steps. Perhaps input is empty or misspecified."
            )
        return loss

    def _replicated(self, strategy: Any, input_fn: Any) -> tuple[EstimatorSpec, list[SessionRunHook]]:
        """Return the model with a copy for each replica of a strategy, and the hooks of its input."""

        def dataset(context: Any) -> Dataset:
            parameters = inspect.signature(input_fn).parameters
            arguments = {
                "mode": ModeKeys.TRAIN,
                "params": self.params,
                "config": self.config,
                "input_context": context,
            }
            result = input_fn(**{name: value for name, value in arguments.items() if name in parameters})
            if not isinstance(result, Dataset):
                raise ValueError(
                    f"dataset_fn() must return a tf.data.Dataset when using a tf.distribute.Strategy: {result}"
                )
            return result

        def build(features: TensorLike, labels: TensorLike) -> tuple[Any, ...]:
            return tuple(self._build(features, labels, ModeKeys.TRAIN, self.config))

        iterator = strategy.make_input_fn_iterator(dataset)
        element = iterator.get_next()
        pair = element if isinstance(element, tuple | list) else (element, None)
        if len(pair) != 2:
            raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
        extended = strategy.extended
        before, extended.scales_loss = extended.scales_loss, True
        try:
            fields = extended.call_for_each_replica(build, args=tuple(pair))
        finally:
            extended.scales_loss = before
        first = EstimatorSpec._fields
        outputs = dict(zip(first, fields, strict=True))
        is_sum = get_default_graph().attached.get(LOSS_REDUCTION) == Reduction.SUM
        of_first = dict(zip(first, selected(0, fields), strict=True))
        spec = EstimatorSpec(
            ModeKeys.TRAIN,
            loss=strategy.reduce("SUM" if is_sum else "MEAN", outputs["loss"], axis=None),
            train_op=strategy.group(outputs["train_op"]),
            training_hooks=of_first["training_hooks"],
            training_chief_hooks=of_first["training_chief_hooks"],
            scaffold=of_first["scaffold"],
        )
        return spec, [_DatasetInitializer(iterator)]

    def _saving_hooks(
        self, spec: EstimatorSpec, hooks: Sequence[Any], listeners: Sequence[CheckpointSaverListener]
    ) -> list[CheckpointSaverHook]:
        """Return the hook that saves, if the model has none; the first such hook gets the listeners."""
        config = self._config
        savers = [one for one in (*hooks, *spec.training_chief_hooks) if isinstance(one, CheckpointSaverHook)]
        created: list[CheckpointSaverHook] = []
        if not savers and (config.save_checkpoints_secs or config.save_checkpoints_steps):
            created = [
                CheckpointSaverHook(
                    self._model_dir,
                    save_secs=config.save_checkpoints_secs,
                    save_steps=config.save_checkpoints_steps,
                    scaffold=spec.scaffold,
                )
            ]
        if listeners:
            if not (savers or created):
                raise ValueError(
                    "There should be a CheckpointSaverHook to use saving_listeners. Please set one of the"
                    " RunConfig.save_checkpoints_steps or RunConfig.save_checkpoints_secs."
                )
            (savers or created)[0].add_listeners(listeners)
        return created

    def evaluate(
        self,
        input_fn: Callable[..., Any],
        steps: int | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Evaluate the model at a checkpoint.

        Args:
            input_fn: as for ``train``.
            steps: number of batches; None: until the input ends.
            hooks: further hooks.
            checkpoint_path: the checkpoint; None for the last one, or new variables.
            name: name of the evaluation, if there are several.

        Returns:
            Dict from each metric's name to its value, with ``loss`` and ``global_step``.

        Raises:
            ValueError: ``steps`` is not positive, or a metric is called ``loss`` or ``global_step``.
        """
        all_hooks = _checked_hooks(hooks)
        if steps is not None:
            if steps <= 0:
                raise ValueError(f"Must specify steps > 0, given: {steps}")
            all_hooks.append(StopAfterNEvalsHook(steps))
        checkpoint = self._checkpoint(checkpoint_path, "evaluate")
        graph = Graph()
        with graph.as_default():
            set_random_seed(self._config.tf_random_seed)
            create_global_step(graph)
            features, labels, input_hooks = self._input(input_fn, ModeKeys.EVAL)
            spec = self._build(features, labels, ModeKeys.EVAL, self.config)
            metrics = dict(spec.eval_metric_ops)
            if _LOSS in metrics:
                raise ValueError(
                    f'Metric with name "{_LOSS}" is not allowed, because Estimator already defines a default metric'
                    " with the same name."
                )
            metrics[_LOSS] = mean(spec.loss)
            update = group(*(metrics[key][1] for key in sorted(metrics)))
            values = {key: metrics[key][0] for key in sorted(metrics)}
            if checkpoint is None and self._warm_start:
                warm_start(*self._warm_start)
            if GraphKeys.GLOBAL_STEP in values:
                raise ValueError(
                    "Metric with name `global_step` is not allowed, because Estimator already defines a default metric"
                    " with the same name."
                )
            values[GraphKeys.GLOBAL_STEP] = get_global_step(graph)
            scaffold = spec.scaffold
            if scaffold.local_init_op is not None:
                get_or_create_eval_step()
                both = group(scaffold.local_init_op, Scaffold.default_local_init_op())
                scaffold = Scaffold(local_init_op=both, copy_from_scaffold=scaffold)
            results: dict[str, Any] = evaluate_checkpoint(
                checkpoint,
                master=self._config.evaluation_master,
                scaffold=scaffold,
                eval_ops=update,
                final_ops=values,
                hooks=[*input_hooks, *all_hooks, *spec.evaluation_hooks],
                config=self._config.session_config,
            )
        _write_results(self.eval_dir(name), results, checkpoint)
        return results

    def predict(
        self,
        input_fn: Callable[..., Any],
        predict_keys: Any = None,
        hooks: Sequence[SessionRunHook] | None = None,
        checkpoint_path: str | None = None,
        yield_single_examples: bool = True,
    ) -> Iterator[Any]:
        """Yield the predictions, one example at a time.

        Args:
            input_fn: returns features; labels are ignored.
            predict_keys: names of the predictions to return; None for all.
            hooks: further hooks.
            checkpoint_path: the checkpoint; None for the last one, or new variables.
            yield_single_examples: False to yield whole batches.

        Yields:
            The predictions for an example: a dictionary if the model's predictions are one.

        Raises:
            ValueError: there are no such keys, or the batch sizes of the predictions differ.
        """
        all_hooks = _checked_hooks(hooks)
        checkpoint = self._checkpoint(checkpoint_path, "predict")
        graph = Graph()
        with graph.as_default():
            set_random_seed(self._config.tf_random_seed)
            create_global_step(graph)
            features, _, input_hooks = self._input(input_fn, ModeKeys.PREDICT)
            spec = self._build(features, None, ModeKeys.PREDICT, self.config)
            if checkpoint is None and self._warm_start:
                warm_start(*self._warm_start)
            predictions = _only(spec.predictions, predict_keys)
            creator = ChiefSessionCreator(
                checkpoint_filename_with_path=checkpoint,
                master=self._config.master,
                scaffold=spec.scaffold,
                config=self._config.session_config,
            )
            with MonitoredSession(creator, [*input_hooks, *all_hooks, *spec.prediction_hooks]) as session:
                while not session.should_stop():
                    batch = session.run(predictions)
                    if not yield_single_examples:
                        yield batch
                    elif isinstance(predictions, dict):
                        for row in range(_batch_size(batch)):
                            yield {key: value[row] for key, value in batch.items()}
                    else:
                        yield from batch

    def _checkpoint(self, path: str | None, what: str) -> str | None:
        checkpoint = path or latest_checkpoint(self._model_dir)
        if not checkpoint:
            tf_logging.info(
                "Could not find trained model in model_dir: %s, running initialization to %s.",
                self._model_dir,
                what,
            )
        return checkpoint or None

    def export_saved_model(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
    ) -> bytes:
        """Export the model as a SavedModel for prediction.

        Args:
            export_dir_base: folder in which the model's folder, named after the time, is created.
            serving_input_receiver_fn: returns a ``ServingInputReceiver``.
            assets_extra: dict from a path below ``assets.extra`` to the file that is copied there, or None.
            as_text: whether to write protobuf's text format.
            checkpoint_path: the checkpoint; None for the last one.

        Returns:
            The path of the model's folder.

        Raises:
            ValueError: the function is missing, there is no checkpoint, or the checkpoint lacks variables.
        """
        return self._export(
            export_dir_base, serving_input_receiver_fn, assets_extra, as_text, checkpoint_path, True
        )

    def export_savedmodel(
        self,
        export_dir_base: str | os.PathLike[str],
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
        strip_default_attrs: bool = False,
    ) -> bytes:
        """Call ``export_saved_model``, under its old name.

        Args:
            export_dir_base: folder in which the model's folder, named after the time, is created.
            serving_input_receiver_fn: returns a ``ServingInputReceiver``.
            assets_extra: dict from a path below ``assets.extra`` to the file that is copied there, or None.
            as_text: whether to write protobuf's text format.
            checkpoint_path: the checkpoint; None for the last one.
            strip_default_attrs: whether to leave out attributes that have their default values.

        Returns:
            The path of the model's folder.
        """
        return self._export(
            export_dir_base,
            serving_input_receiver_fn,
            assets_extra,
            as_text,
            checkpoint_path,
            strip_default_attrs,
        )

    def _export(
        self, base: Any, receiver_fn: Any, assets_extra: Any, as_text: bool, checkpoint: Any, strips: bool
    ) -> bytes:
        if not receiver_fn:
            raise ValueError("An input_receiver_fn must be defined.")
        checkpoint = checkpoint or latest_checkpoint(self._model_dir)
        if not checkpoint:
            raise ValueError(f"Couldn't find trained model at {self._model_dir}.")
        folder = timestamped_folder(base)
        temporary = os.path.join(os.path.dirname(folder), f"temp-{os.path.basename(folder)}")
        builder = SavedModelBuilder(temporary)
        graph = Graph()
        with graph.as_default():
            create_global_step(graph)
            set_random_seed(self._config.tf_random_seed)
            receiver = receiver_fn()
            spec = self._build(receiver.features, None, ModeKeys.PREDICT, self.config)
            signatures = build_all_signature_defs(
                receiver.receiver_tensors, spec.export_outputs, receiver.receiver_tensors_alternatives
            )
            with Session(config=self._config.session_config) as session:
                scaffold = spec.scaffold
                local_init = scaffold.local_init_op
                if local_init is None:
                    local_init = Scaffold.default_local_init_op()
                saver = scaffold.saver or Saver(sharded=True)
                try:
                    saver.restore(session, checkpoint)
                except NotFoundError as error:
                    raise ValueError(
                        "Could not load all requested variables from checkpoint. Please make sure your model_fn does"
                        " not expect variables that were not saved in the checkpoint.\n\nEncountered error with mode"
                        f" `{ModeKeys.PREDICT}` while restoring checkpoint from: `{checkpoint}`. Full"
                        f" Traceback:\n\n{error}"
                    ) from error
                builder.add_meta_graph_and_variables(
                    session,
                    tags=[SERVING],
                    signature_def_map=signatures,
                    assets_collection=graph.get_collection(GraphKeys.ASSET_FILEPATHS),
                    main_op=local_init,
                    saver=saver,
                    strip_default_attrs=strips,
                )
        builder.save(as_text)
        with with_op_errors(folder):
            for relative, source in (assets_extra or {}).items():
                target = os.path.join(temporary, "assets.extra", relative)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(source, target)
            os.rename(temporary, folder)
        return os.fsencode(folder)

    def _input(self, input_fn: Callable[..., Any], mode: str) -> tuple[Any, Any, list[SessionRunHook]]:
        """Return the features, the labels (or None) and the hooks of an input."""
        parameters = inspect.signature(input_fn).parameters
        arguments = {"mode": mode, "params": self.params, "config": self.config}
        with get_default_graph().device("/cpu:0"):
            result = input_fn(**{name: value for name, value in arguments.items() if name in parameters})
        hooks: list[SessionRunHook] = []
        if isinstance(result, Dataset):
            iterator = result.make_initializable_iterator()
            hooks.append(_DatasetInitializer(iterator))
            result = iterator.get_next()
        if isinstance(result, (list, tuple)):
            if len(result) != 2:
                raise ValueError("input_fn should return (features, labels) as a len 2 tuple.")
            return result[0], result[1], hooks
        if (
            mode == ModeKeys.PREDICT
            and not hooks
            and not get_default_graph().get_collection(GraphKeys.QUEUE_RUNNERS)
        ):
            tf_logging.warning(
                "Input graph does not use tf.data.Dataset or contain a QueueRunner. That means predict yields forever."
                " This is probably a mistake."
            )
        return result, None, hooks

    def _build(self, features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        """Call ``model_fn`` with the arguments that it names."""
        parameters = _arguments(self._model_fn)
        passed = {"mode": mode, "params": self.params, "config": config}
        arguments = {name: value for name, value in passed.items() if name in parameters}
        if "labels" in parameters:
            arguments["labels"] = labels
        elif labels is not None:
            raise ValueError("model_fn does not take labels, but input_fn returns labels.")
        tf_logging.info("Calling model_fn.")
        spec = self._model_fn(features=features, **arguments)
        tf_logging.info("Done calling model_fn.")
        if not isinstance(spec, EstimatorSpec):
            raise ValueError("model_fn should return an EstimatorSpec.")
        return spec


def _config_of(config: RunConfig | None, model_dir: Any) -> RunConfig:
    if config is None:
        config = RunConfig()
        tf_logging.info("Using default config.")
    if not isinstance(config, RunConfig):
        raise ValueError(f"config must be an instance of `RunConfig`, but provided {config}.")
    if config.session_config is None:
        config = config.replace(session_config=default_session_config())
    model_dir = None if model_dir is None else os.fspath(model_dir)
    if model_dir is not None and config.model_dir is not None and config.model_dir != model_dir:
        raise ValueError(
            "`model_dir` are set both in constructor and `RunConfig`, but with different values. In constructor:"
            f" '{model_dir}', in `RunConfig`: '{config.model_dir}' "
        )
    if model_dir:
        return config.replace(model_dir=model_dir)
    if config.model_dir is None:
        model_dir = tempfile.mkdtemp()
        tf_logging.warning("Using temporary folder as model directory: %s", model_dir)
        return config.replace(model_dir=model_dir)
    return config


def _arguments(function: Callable[..., Any]) -> set[str]:
    return {
        name
        for name, one in inspect.signature(function).parameters.items()
        if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    }


def _check_model_fn(model_fn: Callable[..., Any], params: Any) -> None:
    names = _arguments(model_fn)
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
        )
    if params is None and "params" in names:
        tf_logging.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to Estimator.",
            model_fn,
        )
    others = sorted(names - _MODEL_FN_ARGS)
    if others:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {others}")


def _warm_start_settings(settings: Any) -> WarmStartSettings | None:
    if settings is None or isinstance(settings, WarmStartSettings):
        return settings
    if isinstance(settings, (str, bytes)):
        path = os.fsdecode(settings)
        inner = os.path.join(path, "variables", "variables")
        return WarmStartSettings(inner if os.path.exists(f"{inner}.index") else path)
    raise ValueError(f"warm_start_from must be a string or a WarmStartSettings, instead got {type(settings)}")


def _checked_hooks(hooks: Any) -> list[SessionRunHook]:
    checked = list(hooks or ())
    for hook in checked:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return checked


def _checked_listeners(listeners: Any) -> list[CheckpointSaverListener]:
    checked = list(listeners or ())
    for listener in checked:
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}")
    return checked


def _only(predictions: TensorLike, keys: Any) -> Any:
    if not keys:
        return predictions
    if not isinstance(predictions, dict):
        raise ValueError("predict_keys argument is not valid in case of non-dict predictions.")
    chosen = {key: value for key, value in predictions.items() if key in keys}
    if not chosen:
        raise ValueError(f"Expected to run at least one output from {predictions.keys()}, provided {keys}.")
    return chosen


def _batch_size(batch: Mapping[str, Any]) -> int:
    size: int | None = None
    for key, value in batch.items():
        size = size or value.shape[0]
        if value.shape[0] != size:
            raise ValueError(
                f"Batch length of predictions should be same. {key} has different batch length than others."
            )
    return size or 0


def _write_results(folder: str, results: Mapping[str, Any], checkpoint: str | None) -> None:
    """Write the values of metrics, and the path of their checkpoint, as summaries."""
    step = results[GraphKeys.GLOBAL_STEP]
    listing = ", ".join(
        f"{key} = {value}" for key, value in sorted(results.items()) if not isinstance(value, bytes)
    )
    tf_logging.info("Saving dict for global step %d: %s", step, listing)
    summary = Summary()
    for key, value in results.items():
        if key == GraphKeys.GLOBAL_STEP or value is None:
            continue
        if isinstance(value, (float, int, np.float32, np.int32, np.int64)):
            summary.value.add(tag=key, simple_value=float(value))
        elif isinstance(value, np.ndarray):
            summary.value.add(tag=key, node_name=key, tensor=make_tensor_proto(value))
        elif isinstance(value, bytes):
            inner = Summary.FromString(value)
            for number, one in enumerate(inner.value):
                one.tag = f"{key}/{number}"
            summary.value.extend(inner.value)
        else:
            tf_logging.warning(
                "Skipping summary for %s, must be a float, np.float32, np.int64, np.int32 or int or np.ndarray or a"
                " serialized string of Summary.",
                key,
            )
    writer = FileWriterCache.get(folder)
    writer.add_summary(summary, step)
    if checkpoint:
        tf_logging.info("Saving 'checkpoint_path' summary for global step %d: %s", step, checkpoint)
        named = Summary()
        named.value.add(tag="checkpoint_path", tensor=make_tensor_proto(checkpoint))
        writer.add_summary(named, step)
    writer.flush()

"""Run configuration of an ``Estimator``: ``tf.estimator.RunConfig``.

Source: tensorflow_estimator/python/estimator/run_config.py, release 1.15.1 (names, defaults, messages).
"""

from __future__ import annotations

import copy
import inspect
import json
import os
from collections.abc import Callable
from typing import Any

from gpuplace.errors import UnimplementedError
from gpuplace.graphdef.messages import ConfigProto
from gpuplace.ops.train.device_setter import ClusterSpec
from gpuplace.tf1.distribute.strategy import Strategy

__all__ = ["RunConfig", "TaskType", "default_session_config"]

_USE_DEFAULT = object()
_DEFAULT_CHECKPOINT_SECS = 600
_BOTH = "`save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set."


class TaskType:
    """Types of tasks in a cluster."""

    MASTER = "master"
    PS = "ps"
    WORKER = "worker"
    CHIEF = "chief"
    EVALUATOR = "evaluator"


def default_session_config() -> Any:
    """Return the default session configuration, which allows soft placement."""
    config = ConfigProto(allow_soft_placement=True)
    config.graph_options.rewrite_options.meta_optimizer_iterations = 1
    return config


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "model_dir": (bool, "model_dir should be non-empty"),
    "save_summary_steps": (lambda n: n >= 0, "save_summary_steps should be >= 0"),
    "save_checkpoints_steps": (lambda n: n >= 0, "save_checkpoints_steps should be >= 0"),
    "save_checkpoints_secs": (lambda n: n >= 0, "save_checkpoints_secs should be >= 0"),
    "session_config": (
        lambda c: isinstance(c, ConfigProto),
        "session_config must be instance of ConfigProto",
    ),
    "keep_checkpoint_max": (lambda n: n >= 0, "keep_checkpoint_max should be >= 0"),
    "keep_checkpoint_every_n_hours": (lambda n: n > 0, "keep_checkpoint_every_n_hours should be > 0"),
    "log_step_count_steps": (lambda n: n > 0, "log_step_count_steps should be > 0"),
    "tf_random_seed": (_is_number, "tf_random_seed must be integer."),
    "experimental_max_worker_delay_secs": (
        _is_number,
        "experimental_max_worker_delay_secs must be an integer if set.",
    ),
    "session_creation_timeout_secs": (lambda n: n > 0, "session_creation_timeout_secs should be > 0"),
    "device_fn": (
        lambda f: callable(f) and set(inspect.signature(f).parameters) == {"op"},
        'device_fn must be callable with exactly one argument "op".',
    ),
    "train_distribute": (
        lambda s: isinstance(s, Strategy),
        "train_distribute must be a tf.distribute.Strategy",
    ),
    "protocol": (lambda p: p in ("grpc", "grpc+verbs"), "protocol should be grpc or grpc+verbs"),
}
"""Property that can be replaced -> its check, and the error message if it fails."""

_REPLACEABLE = [
    "model_dir", "tf_random_seed", "save_summary_steps", "save_checkpoints_steps", "save_checkpoints_secs",
    "session_config", "keep_checkpoint_max", "keep_checkpoint_every_n_hours", "log_step_count_steps",
    "train_distribute", "device_fn", "protocol", "eval_distribute", "experimental_distribute",
    "experimental_max_worker_delay_secs", "session_creation_timeout_secs",
]  # fmt: skip


class RunConfig:
    """How an ``Estimator`` runs, in one process.

    Args:
        model_dir: folder of checkpoints and events; None for that of the estimator.
        tf_random_seed: seed of the graphs, or None.
        save_summary_steps: steps between summaries; 0 for no summaries.
        save_checkpoints_steps: steps between checkpoints; None: do not count steps.
        save_checkpoints_secs: seconds between checkpoints, 600 if neither number is given; None: ignore the
            time.
        session_config: a ``ConfigProto``; None for one with soft placement.
        keep_checkpoint_max: number of checkpoints to keep; None or 0 for all.
        keep_checkpoint_every_n_hours: hours between additional checkpoints that are kept.
        log_step_count_steps: steps between log lines with the speed and the loss; None for no lines.
        train_distribute: a ``tf.distribute.Strategy`` to train with; None for one copy of the model.
        device_fn: function from an operation to its device, or None.
        protocol: None, because there is one process.
        eval_distribute: None.
        experimental_distribute: None.
        experimental_max_worker_delay_secs: longest time for which workers wait for the chief, in seconds.
        session_creation_timeout_secs: longest time to create a session, in seconds.

    Raises:
        ValueError: a value is out of its range, or ``TF_CONFIG`` contradicts one.
        UnimplementedError: there is a strategy for evaluation, or a cluster in the environment variable
            ``TF_CONFIG``.
    """

    def __init__(
        self,
        model_dir: str | os.PathLike[str] | None = None,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_steps: Any = _USE_DEFAULT,
        save_checkpoints_secs: Any = _USE_DEFAULT,
        session_config: Any = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        train_distribute: Any = None,
        device_fn: Callable[[Any], Any] | None = None,
        protocol: str | None = None,
        eval_distribute: Any = None,
        experimental_distribute: Any = None,
        experimental_max_worker_delay_secs: int | None = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        if save_checkpoints_steps is _USE_DEFAULT and save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_steps, save_checkpoints_secs = None, _DEFAULT_CHECKPOINT_SECS
        elif save_checkpoints_secs is _USE_DEFAULT:
            save_checkpoints_secs = None
        elif save_checkpoints_steps is _USE_DEFAULT:
            save_checkpoints_steps = None
        elif save_checkpoints_steps is not None and save_checkpoints_secs is not None:
            raise ValueError(_BOTH)
        environment = json.loads(os.environ.get("TF_CONFIG") or "{}")
        if environment.get("cluster") or eval_distribute or experimental_distribute:
            raise UnimplementedError(
                None,
                None,
                "gpuplace trains an estimator in one process and evaluates one copy of the model: leave out"
                " eval_distribute and experimental_distribute, and unset TF_CONFIG",
            )
        self._task = environment.get("task", {})
        self._master = environment.get("session_master", "")
        self._evaluation_master = environment.get("eval_session_master", "")
        self._service = environment.get("service")
        self._set(
            model_dir=_model_dir(environment, model_dir),
            tf_random_seed=tf_random_seed,
            save_summary_steps=save_summary_steps,
            save_checkpoints_steps=save_checkpoints_steps,
            save_checkpoints_secs=save_checkpoints_secs,
            session_config=session_config,
            keep_checkpoint_max=keep_checkpoint_max,
            keep_checkpoint_every_n_hours=keep_checkpoint_every_n_hours,
            log_step_count_steps=log_step_count_steps,
            train_distribute=train_distribute,
            device_fn=device_fn,
            protocol=protocol,
            eval_distribute=None,
            experimental_distribute=None,
            experimental_max_worker_delay_secs=experimental_max_worker_delay_secs,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )
        self._check_task()

    model_dir: str | None
    tf_random_seed: int | None
    save_summary_steps: int | None
    save_checkpoints_steps: int | None
    save_checkpoints_secs: float | None
    session_config: Any
    keep_checkpoint_max: int | None
    keep_checkpoint_every_n_hours: float
    log_step_count_steps: int | None
    train_distribute: Strategy | None
    device_fn: Callable[[Any], Any] | None
    protocol: str | None
    eval_distribute: None
    experimental_max_worker_delay_secs: int | None
    session_creation_timeout_secs: float

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            if value is not None and name in _CHECKS and not _CHECKS[name][0](value):
                raise ValueError(_CHECKS[name][1])
        self.__dict__.update(values)

    def _check_task(self) -> None:
        if self.task_type != TaskType.WORKER:
            raise ValueError('If "cluster" is not set in TF_CONFIG, task type must be WORKER.')
        if self.task_id != 0:
            raise ValueError('If "cluster" is not set in TF_CONFIG, task index must be 0.')

    def replace(self, **kwargs: Any) -> RunConfig:
        """Return a copy with other values.

        Args:
            **kwargs: the new values by name.

        Raises:
            ValueError: a name cannot be replaced, or a value is out of its range.
        """
        for name in kwargs:
            if name not in _REPLACEABLE:
                raise ValueError(f"Replacing {name} is not supported. Allowed properties are {_REPLACEABLE}.")
        steps, secs = kwargs.get("save_checkpoints_steps"), kwargs.get("save_checkpoints_secs")
        if steps is not None and secs is not None:
            raise ValueError(_BOTH)
        if steps is not None:
            kwargs["save_checkpoints_secs"] = None
        elif secs is not None:
            kwargs["save_checkpoints_steps"] = None
        changed = copy.copy(self)
        changed._set(**kwargs)
        return changed

    @property
    def cluster_spec(self) -> ClusterSpec:
        """An empty cluster."""
        return ClusterSpec({})

    @property
    def master(self) -> str:
        """The execution engine for training."""
        return str(self._master)

    @property
    def evaluation_master(self) -> str:
        """The execution engine for evaluation."""
        return str(self._evaluation_master)

    @property
    def service(self) -> Any:
        """The service in ``TF_CONFIG``, or None."""
        return self._service

    @property
    def task_type(self) -> str:
        """Always ``"worker"``."""
        return str(self._task.get("type", TaskType.WORKER))

    @property
    def task_id(self) -> int:
        """Always 0."""
        return int(self._task.get("index", 0))

    @property
    def global_id_in_cluster(self) -> int:
        """Always 0."""
        return 0

    @property
    def is_chief(self) -> bool:
        """Always True."""
        return True

    @property
    def num_ps_replicas(self) -> int:
        """Always 0."""
        return 0

    @property
    def num_worker_replicas(self) -> int:
        """Always 1."""
        return 1


def _model_dir(environment: dict[str, Any], model_dir: Any) -> str | None:
    if model_dir == "":
        raise ValueError("model_dir should be non-empty.")
    argument = None if model_dir is None else os.fspath(model_dir)
    other = environment.get("model_dir")
    if other == "":
        raise ValueError("model_dir in TF_CONFIG should be non-empty.")
    if other and argument and other != argument:
        raise ValueError(
            "`model_dir` provided in RunConfig construct, if set, must have the same value as the model_dir in"
            f' TF_CONFIG. model_dir: {argument}\nTF_CONFIG["model_dir"]: {other}.\n'
        )
    return argument or other

"""The processes of ``tests.soak.cluster``: tasks that train, and the parts of a dask cluster.

Every step adds one to ``applied`` and to the global step, so that a step that is applied twice, or not at all, shows.
"""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import gpuplace as tf

SAVE_STEPS = 10


class Training(NamedTuple):
    """What is trained."""

    hosts: dict[str, list[str]]
    """The cluster; of a dask cluster the address of the scheduler under ``scheduler``."""
    folder: str
    """Of checkpoints, results and logs."""
    steps: int
    """How many there should be."""
    is_synchronous: bool
    """Whether the workers' gradients are averaged."""
    has_filters: bool
    """Whether workers do not see each other."""
    pause_s: float
    """Seconds between steps."""


def _to_files(training: Training, name: str) -> None:
    """Standard output and errors of this process, which also tells where it is on SIGUSR1."""
    with (Path(training.folder) / f"{name}.log").open("ab") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    faulthandler.register(signal.SIGUSR1, all_threads=True)


def task(training: Training, job: str, index: int) -> None:
    """One task: a parameter server, or a worker that trains; the first one is the chief."""
    _to_files(training, f"{job}-{index}")
    server = tf.train.Server(training.hosts, job_name=job, task_index=index)
    if job == "ps":
        server.join()
    own = f"/job:worker/task:{index}"
    setter = tf.train.replica_device_setter(cluster=training.hosts, worker_device=own)
    with tf.device(setter):
        step, applied, train, hooks = _model(training, index == 0)
    config = tf.ConfigProto(device_filters=["/job:ps", own] if training.has_filters else [])
    scaffold = tf.train.Scaffold()
    if index == 0:
        creator: Any = tf.train.ChiefSessionCreator(scaffold, server.target, config, training.folder)
    else:
        creator = _Waiting(scaffold, server.target, config)
    _train(training, creator, scaffold, hooks, train, is_chief=index == 0)
    if index == 0:
        alone = tf.ConfigProto(device_filters=["/job:ps", own])  # the other worker may have ended
        with tf.Session(server.target, config=alone) as session:
            _tell(training, session.run([step, applied]))
    server.stop()


def client(training: Training) -> None:
    """Trains on the workers of a dask cluster."""
    _to_files(training, "client-0")
    with tf.device("/job:ps"):
        step, applied, train, hooks = _model(training, True)
    with tf.device("/job:worker"):
        train = tf.group(train, tf.identity(applied))
    scaffold = tf.train.Scaffold()
    creator = _OnDask(scaffold, training)
    _train(training, creator, scaffold, hooks, train, is_chief=True)
    with creator.create_session() as session:
        _tell(training, session.run([step, applied]))


def _model(training: Training, is_chief: bool) -> tuple[Any, Any, Any, list[Any]]:
    """The global step, what counts steps too, the training operation, and hooks."""
    step = tf.train.get_or_create_global_step()
    applied = tf.get_variable("applied", initializer=0.0)
    if not training.is_synchronous:
        with tf.control_dependencies([tf.assign_add(applied, 1.0, use_locking=True)]):
            return step, applied, tf.assign_add(step, 1, use_locking=True), []
    optimizer = tf.train.SyncReplicasOptimizer(
        tf.train.GradientDescentOptimizer(1.0), replicas_to_aggregate=2
    )
    train = optimizer.minimize(-tf.identity(applied), step)
    return step, applied, train, [optimizer.make_session_run_hook(is_chief, num_tokens=0)]


def _train(
    training: Training, creator: Any, scaffold: Any, hooks: list[Any], train: Any, is_chief: bool
) -> None:
    hooks = [*hooks, _StopAtStep(last_step=training.steps)]
    if is_chief:
        hooks.append(tf.train.CheckpointSaverHook(training.folder, save_steps=SAVE_STEPS, scaffold=scaffold))
    with tf.train.MonitoredSession(creator, hooks, stop_grace_period_secs=0.5) as session:
        while not session.should_stop():
            session.run(train)
            time.sleep(training.pause_s)


class _StopAtStep(tf.train.StopAtStepHook):  # type: ignore[misc]
    """Stops right away where the last step is in the checkpoint; TensorFlow's hook lets a step run before it looks."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        super().after_create_session(session, coord)
        if session.run(self._step) >= self._last_step:
            coord.request_stop()


def _tell(training: Training, values: Any) -> None:
    found = {"step": int(values[0]), "applied": float(values[1])}
    path = Path(training.folder) / "result.json"
    path.with_suffix(".part").write_text(json.dumps(found))
    path.with_suffix(".part").rename(path)


class _Waiting(tf.train.SessionCreator):  # type: ignore[misc]
    """As ``WorkerSessionCreator``, which looks only twice a minute whether the chief is ready."""

    def __init__(self, scaffold: Any, master: str, config: Any) -> None:
        self._scaffold, self._master, self._config = scaffold, master, config

    def create_session(self) -> Any:
        scaffold = self._scaffold.finalize()
        manager = tf.train.SessionManager(
            local_init_op=scaffold.local_init_op,
            ready_op=scaffold.ready_op,
            ready_for_local_init_op=scaffold.ready_for_local_init_op,
            recovery_wait_secs=0.1,
        )
        return manager.wait_for_session(self._master, self._config)


class _OnDask(tf.train.SessionCreator):  # type: ignore[misc]
    """A chief's sessions on a dask cluster, of which two workers are waited for."""

    def __init__(self, scaffold: Any, training: Training) -> None:
        self._scaffold, self._training = scaffold, training

    def create_session(self) -> Any:
        from distributed import Client

        address = f"tcp://{self._training.hosts['scheduler'][0]}"
        try:
            with Client(address, timeout=5, set_as_default=False) as found:
                found.wait_for_workers(2, timeout=20)
                target = tf.cluster(found, jobs={"ps": 1, "worker": 1}).target
        except OSError as error:  # TimeoutError and CommClosedError are too
            raise tf.errors.UnavailableError(
                None, None, f"The dask scheduler does not answer: {error}"
            ) from None
        return tf.train.ChiefSessionCreator(
            self._scaffold, target, checkpoint_dir=self._training.folder
        ).create_session()


def scheduler(training: Training) -> None:
    """A scheduler of dask."""
    _to_files(training, "scheduler-0")

    async def serve() -> None:
        from distributed import Scheduler

        host, _, port = training.hosts["scheduler"][0].partition(":")
        async with Scheduler(host=host, port=int(port), dashboard=False) as running:
            await running.finished()

    asyncio.run(serve())


def dask_worker(training: Training, index: int) -> None:
    """A worker of dask; it ends when the scheduler is gone."""
    _to_files(training, f"dask-{index}")

    async def serve() -> None:
        from distributed import Worker

        address = f"tcp://{training.hosts['scheduler'][0]}"
        async with Worker(
            address, nthreads=1, host="127.0.0.1", dashboard=False, name=str(index), death_timeout=20
        ) as running:
            await running.finished()

    asyncio.run(serve())

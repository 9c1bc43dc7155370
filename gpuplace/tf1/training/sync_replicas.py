"""Synchronous training with replicas: the parameter servers average gradients before they apply them.

::

    worker 0 ── gradient ──┐                          ┌── token ──> worker 0
    worker 1 ── gradient ──┼──> accumulator ──> apply ┼── token ──> worker 1
    worker 2 ── gradient ──┘     (mean of n)          └── token ──> worker 2

A worker adds its gradients to the accumulators and waits for a token. When there are enough gradients, a
thread of the chief applies their mean and hands out one token for each worker; the token is the new step.
Gradients computed from an older step are dropped.

Source: tensorflow/python/training/sync_replicas_optimizer.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

from gpuplace import tf_logging
from gpuplace.dtypes import int32
from gpuplace.graph.convert import get_default_graph, name_scope
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops.array.constant import fill
from gpuplace.ops.flow.control import group, no_op
from gpuplace.ops.train.moving_averages import ExponentialMovingAverage
from gpuplace.ops.train.optimizer import GradsAndVars, Optimizer
from gpuplace.ops.variables.initialization import global_variables, report_uninitialized_variables
from gpuplace.ops.variables.state import assign
from gpuplace.ops.variables.variables import Variable
from gpuplace.tf1.input.accumulators import ConditionalAccumulator, SparseConditionalAccumulator
from gpuplace.tf1.input.queue_runner import QueueRunner
from gpuplace.tf1.input.queues import FIFOQueue
from gpuplace.tf1.training.session_manager import missing_values
from gpuplace.tf1.training.session_run_hook import SessionRunHook
from gpuplace.typing import VariableLike


class SyncReplicasOptimizer(Optimizer):
    """An optimizer that collects the gradients of several replicas and applies their mean.

    Args:
        opt: optimizer that computes and applies the gradients.
        replicas_to_aggregate: number of gradients in a mean.
        total_num_replicas: number of replicas, or None for ``replicas_to_aggregate``; with more than that the
            slowest are not waited for.
        variable_averages: an ``ExponentialMovingAverage`` to update in every step, or None.
        variables_to_average: the averaged variables; None for all trainable ones.
        use_locking: recorded in the graph only.
        name: name scope of the update.
    """

    def __init__(
        self,
        opt: Optimizer,
        replicas_to_aggregate: int,
        total_num_replicas: int | None = None,
        variable_averages: ExponentialMovingAverage | None = None,
        variables_to_average: Any = None,
        use_locking: bool = False,
        name: str = "sync_replicas",
    ) -> None:
        super().__init__(use_locking, name)
        total = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
        tf_logging.info(
            "SyncReplicasV2: replicas_to_aggregate=%s; total_num_replicas=%s", replicas_to_aggregate, total
        )
        self._opt = opt
        self._replicas_to_aggregate = replicas_to_aggregate
        self._total_num_replicas = total
        self._tokens_per_step = max(total, replicas_to_aggregate)
        self._variable_averages = variable_averages
        self._variables_to_average = variables_to_average
        self._global_step: Any = None
        self._sync_token_queue: Any = None
        self._chief_queue_runner: QueueRunner | None = None
        self._gradients_applied = False
        self.chief_init_op: Any = None
        """The chief runs it when all global variables have values."""
        self.local_step_init_op: Any = None
        """The other workers run it when all global variables have values."""
        self.ready_for_local_init_op: Any = None
        """The names of uninitialized global variables."""

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return the gradients of the wrapped optimizer.

        Args:
            *args: arguments of its ``compute_gradients``.
            **kwargs: keyword arguments of its ``compute_gradients``.

        Returns:
            The function's result.
        """
        return self._opt.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: GradsAndVars, global_step: VariableLike | None = None, name: str | None = None
    ) -> Operation:
        """Return an operation that submits a replica's gradients and waits until their mean is applied.

        Args:
            grads_and_vars: pairs of a gradient and a variable.
            global_step: the variable that counts steps.
            name: name scope; None for the optimizer's.

        Returns:
            The operation, which every replica must run.

        Raises:
            ValueError: there are no gradients, or no ``global_step``.
        """
        if not grads_and_vars:
            raise ValueError("Must supply at least one variable")
        if global_step is None:
            raise ValueError("Global step is required to check staleness")
        step: Any = global_step
        graph = get_default_graph()
        self._global_step = step
        with graph.colocate_with(no_op()):  # on the worker, as device setters do
            local_step: Any = Variable(
                0,
                trainable=False,
                collections=[GraphKeys.LOCAL_VARIABLES],
                dtype=step.dtype.base_dtype,
                name="sync_rep_local_step",
            )
        self.local_step_init_op = assign(local_step, step)
        init_ops: list[Any] = [self.local_step_init_op]
        self.ready_for_local_init_op = report_uninitialized_variables(global_variables())
        handed_in: list[Operation] = []
        means: list[Any] = []
        accumulators: list[tuple[Any, str]] = []
        with name_scope(None, self._name):
            for gradient, var in grads_and_vars:
                with graph.device(var.device):
                    if gradient is None:
                        means.append(None)
                        continue
                    shared_name = f"{var.name}/grad_accum"
                    if isinstance(gradient, Tensor):
                        dense = ConditionalAccumulator(
                            gradient.dtype, shape=var.get_shape(), shared_name=shared_name
                        )
                        handed_in.append(dense.apply_grad(gradient, local_step=local_step))
                        means.append(dense.take_grad(self._replicas_to_aggregate))
                        accumulators.append((dense, var.device))
                    else:
                        sparse = SparseConditionalAccumulator(
                            gradient.dtype, shape=(), shared_name=shared_name
                        )
                        handed_in.append(sparse.apply_indexed_slices_grad(gradient, local_step=local_step))
                        means.append(sparse.take_indexed_slices_grad(self._replicas_to_aggregate))
                        accumulators.append((sparse, var.device))
            averaged = list(zip(means, [var for _, var in grads_and_vars], strict=True))
            with graph.device(step.device), name_scope(""):
                applied = self._opt.apply_gradients(averaged, step)
                self._sync_token_queue = FIFOQueue(
                    -1, step.dtype.base_dtype, shapes=(), name="sync_token_q", shared_name="sync_token_q"
                )
                dummy_queue = FIFOQueue(1, int32, shapes=(), name="dummy_queue", shared_name="dummy_queue")
                with graph.control_dependencies(handed_in):
                    token = self._sync_token_queue.dequeue()
                train_op = assign(local_step, token)
                with graph.control_dependencies([applied]):
                    tokens = fill([self._tokens_per_step], step)
                    sync_op = self._sync_token_queue.enqueue_many((tokens,))
                if self._variable_averages is not None:
                    with graph.control_dependencies([sync_op]), name_scope(""):
                        sync_op = self._variable_averages.apply(self._variables_to_average)
                self._chief_queue_runner = QueueRunner(dummy_queue, [sync_op])
            for accumulator, device in accumulators:
                with graph.device(device):
                    init_ops.append(accumulator.set_global_step(step, name="SetGlobalStep"))
            self.chief_init_op = group(*init_ops)
            self._gradients_applied = True
            return train_op

    def get_chief_queue_runner(self) -> QueueRunner:
        """Return the queue runner that applies the means, for the chief to start.

        Returns:
            A ``QueueRunner``.

        Raises:
            ValueError: ``apply_gradients`` was not called.
        """
        if self._chief_queue_runner is None:
            raise ValueError("Should be called after apply_gradients().")
        return self._chief_queue_runner

    def get_slot(self, *args: Any, **kwargs: Any) -> Any:
        """Return a slot of the wrapped optimizer.

        Args:
            *args: arguments of its ``get_slot``.
            **kwargs: keyword arguments of its ``get_slot``.

        Returns:
            A variable, or None.
        """
        return self._opt.get_slot(*args, **kwargs)

    def variables(self) -> list[Any]:
        """Return the variables of the wrapped optimizer."""
        return self._opt.variables()

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """Return the names of the wrapped optimizer's slots.

        Args:
            *args: arguments of its ``get_slot_names``.
            **kwargs: keyword arguments of its ``get_slot_names``.

        Returns:
            A list of strings.
        """
        return self._opt.get_slot_names(*args, **kwargs)

    def get_init_tokens_op(self, num_tokens: int = -1) -> Operation:
        """Return an operation that hands out the tokens of the first step.

        Args:
            num_tokens: number of tokens; -1: ``replicas_to_aggregate``.

        Returns:
            The operation, which the chief must run.

        Raises:
            ValueError: ``apply_gradients`` was not called, or there are too few tokens.
        """
        if not self._gradients_applied:
            raise ValueError("get_init_tokens_op() should be called after apply_gradients().")
        needed = self._replicas_to_aggregate - self._total_num_replicas
        if num_tokens == -1:
            num_tokens = self._replicas_to_aggregate
        elif num_tokens < needed:
            raise ValueError(
                f"Too few tokens to finish the first step: {num_tokens} (given) vs {needed} (needed)"
            )
        if num_tokens <= 0:
            return no_op(name="no_init_tokens")
        with get_default_graph().device(self._global_step.device), name_scope(""):
            tokens = fill([num_tokens], self._global_step)
            enqueue: Operation = self._sync_token_queue.enqueue_many((tokens,))
        return enqueue

    def make_session_run_hook(self, is_chief: bool, num_tokens: int = -1) -> SessionRunHook:
        """Return the hook that starts synchronous training in a session.

        Args:
            is_chief: whether the session is the chief's.
            num_tokens: as for ``get_init_tokens_op``.

        Returns:
            A hook for ``MonitoredTrainingSession``.
        """
        return _SyncReplicasHook(self, is_chief, num_tokens)


class _SyncReplicasHook(SessionRunHook):
    """Hook that initializes steps and tokens, and starts the chief's thread."""

    def __init__(self, optimizer: SyncReplicasOptimizer, is_chief: bool, num_tokens: int) -> None:
        self._optimizer = optimizer
        self._is_chief = is_chief
        self._num_tokens = num_tokens
        self._init_op: Any = None
        self._tokens_op: Any = None
        self._queue_runner: QueueRunner | None = None

    def begin(self) -> None:
        """Add the required operations to the graph."""
        optimizer = self._optimizer
        if not optimizer._gradients_applied:
            raise ValueError("SyncReplicasOptimizer.apply_gradient should be called before using the hook.")
        if self._is_chief:
            self._init_op = optimizer.chief_init_op
            self._queue_runner = optimizer.get_chief_queue_runner()
            self._tokens_op = optimizer.get_init_tokens_op(self._num_tokens)
        else:
            self._init_op = optimizer.local_step_init_op

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Set the local step, hand out the first tokens, and start the chief's thread."""
        missing = missing_values(
            self._optimizer.ready_for_local_init_op,
            session,
            "Model is not ready for SyncReplicasOptimizer local init.",
        )
        if missing is not None:
            raise RuntimeError(
                "Init operations did not make model ready for SyncReplicasOptimizer local_init. Init op: "
                f"{self._init_op.name}, error: {missing}"
            )
        session.run(self._init_op)
        if self._tokens_op is not None:
            session.run(self._tokens_op)
        if self._queue_runner is not None:
            self._queue_runner.create_threads(session, coord=coord, daemon=True, start=True)

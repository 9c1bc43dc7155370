"""Operations and the saver that a session starts with.

Source: tensorflow/python/training/monitored_session.py, ops/resources.py and ops/lookup_ops.py, release 1.15 (order and
names of the operations, collections).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace import tf_logging
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.graph.operation import Operation, Tensor
from gpuplace.ops import summaries
from gpuplace.ops.array import joining
from gpuplace.ops.flow import control
from gpuplace.ops.variables import initialization, resources
from gpuplace.saving.saver import saver_or_default
from gpuplace.tf1.input.tables import tables_initializer
from gpuplace.typing import FeedDict


class Scaffold:
    """Operations and saver of a new session; missing ones come from the graph's collections or are created.

    Args:
        init_op: initializes the variables if there is no checkpoint; None for all global variables.
        init_feed_dict: the feeds for ``init_op``, or None.
        init_fn: called after ``init_op`` with the scaffold and the session, or None.
        ready_op: tensor with the names of uninitialized variables; None for all variables.
        ready_for_local_init_op: the same before ``local_init_op`` runs; None for the global variables.
        local_init_op: run in every new session; None: initialize local variables and tables.
        summary_op: the merged summary; None for all summaries.
        saver: a ``Saver``; None for the one of the collection, or a new one.
        copy_from_scaffold: a ``Scaffold`` with the values of arguments that are not given.

    Raises:
        TypeError: ``copy_from_scaffold`` is not a ``Scaffold``.
    """

    def __init__(
        self,
        init_op: Any = None,
        init_feed_dict: FeedDict | None = None,
        init_fn: Callable[[Any, Any], Any] | None = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        local_init_op: Any = None,
        summary_op: Any = None,
        saver: Any = None,
        copy_from_scaffold: Any = None,
    ) -> None:
        def either(argument: Any, name: str) -> Any:
            return getattr(copy_from_scaffold, name) if argument is None and copy_from_scaffold else argument

        if copy_from_scaffold is not None and not isinstance(copy_from_scaffold, Scaffold):
            raise TypeError("copy_from_scaffold is not a Scaffold instance.")
        self._user_init_fn: Callable[[Any, Any], Any] | None = either(init_fn, "_user_init_fn")
        self._init_op = either(init_op, "_init_op")
        self._init_feed_dict = either(init_feed_dict, "_init_feed_dict")
        self._ready_op = either(ready_op, "_ready_op")
        self._ready_for_local_init_op = either(ready_for_local_init_op, "_ready_for_local_init_op")
        self._local_init_op = either(local_init_op, "_local_init_op")
        self._summary_op = either(summary_op, "_summary_op")
        self._saver = either(saver, "_saver")

    def finalize(self) -> Scaffold:
        """Create missing operations, and finalize the default graph.

        Returns:
            The scaffold.

        Raises:
            RuntimeError: a collection has several candidates, or the graph is already finalized and an
                operation is missing.
        """
        if self._init_op is None:
            self._init_op = Scaffold.get_or_default("init_op", GraphKeys.INIT_OP, _default_init_op)
        if self._ready_op is None:
            self._ready_op = Scaffold.get_or_default("ready_op", GraphKeys.READY_OP, _default_ready_op)
        if self._ready_for_local_init_op is None:
            self._ready_for_local_init_op = Scaffold.get_or_default(
                "ready_for_local_init_op",
                GraphKeys.READY_FOR_LOCAL_INIT_OP,
                _default_ready_for_local_init_op,
            )
        if self._local_init_op is None:
            self._local_init_op = Scaffold.get_or_default(
                "local_init_op", GraphKeys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
        if self._summary_op is None:
            self._summary_op = Scaffold.get_or_default(
                "summary_op", GraphKeys.SUMMARY_OP, summaries.merge_all
            )
        if self._saver is None:
            self._saver = saver_or_default()
        self._saver.build()
        get_default_graph().finalize()
        tf_logging.info("Graph was finalized.")
        return self

    @property
    def init_fn(self) -> Callable[[Any], Any] | None:
        """Function of the session that initializes it, or None."""
        function = self._user_init_fn
        return None if function is None else lambda session: function(self, session)

    @property
    def init_op(self) -> Any:
        """The operation that initializes variables."""
        return self._init_op

    @property
    def init_feed_dict(self) -> FeedDict | None:
        """The feeds for ``init_op``."""
        return self._init_feed_dict

    @property
    def ready_op(self) -> Any:
        """A tensor with the names of uninitialized variables."""
        return self._ready_op

    @property
    def ready_for_local_init_op(self) -> Any:
        """A tensor with the names of variables that must have values before ``local_init_op`` runs."""
        return self._ready_for_local_init_op

    @property
    def local_init_op(self) -> Any:
        """The operation that runs in every new session."""
        return self._local_init_op

    @property
    def summary_op(self) -> Any:
        """The merged summary."""
        return self._summary_op

    @property
    def saver(self) -> Any:
        """The ``Saver``."""
        return self._saver

    @staticmethod
    def get_or_default(arg_name: str, collection_key: str, default_constructor: Callable[[], Any]) -> Any:
        """Return the element of a collection of the default graph; create and add it if the collection is empty.

        Args:
            arg_name: name of the argument, for the error message.
            collection_key: name of the collection.
            default_constructor: creates the element; may return None.

        Returns:
            The element.

        Raises:
            RuntimeError: the collection has several elements.
        """
        graph = get_default_graph()
        elements = graph.get_collection(collection_key)
        if len(elements) > 1:
            raise RuntimeError(
                f'More than one item in the collection "{collection_key}". Please indicate which one to use by passing'
                f" it to the tf.Scaffold constructor as:  tf.Scaffold({arg_name}=item to use)"
            )
        if elements:
            return elements[0]
        element = default_constructor()
        if element is not None:
            graph.add_to_collection(collection_key, element)
        return element

    @staticmethod
    def default_local_init_op() -> Operation:
        """Return an operation that initializes local variables and tables."""
        return control.group(
            initialization.local_variables_initializer(),
            tables_initializer(),
            resources.initialize_resources(resources.local_resources()),
        )


def _default_init_op() -> Operation:
    return control.group(
        initialization.global_variables_initializer(),
        resources.initialize_resources(resources.shared_resources()),
    )


def _default_ready_op() -> Tensor:
    return joining.concat(
        [initialization.report_uninitialized_variables(), resources.report_uninitialized_resources()], 0
    )


def _default_ready_for_local_init_op() -> Tensor:
    variables = initialization.global_variables()
    return joining.concat(
        [
            initialization.report_uninitialized_variables(variables),
            resources.report_uninitialized_resources(),
        ],
        0,
    )

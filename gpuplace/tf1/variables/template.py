"""Functions that create their variables at the first call and share them in later calls.

>>> import gpuplace as tf
>>> with tf.Graph().as_default():
...     scale = tf.make_template("scale", lambda x: x * tf.get_variable("factor", []))
...     results = [scale(1.0), scale(2.0)]
...     [variable.name for variable in tf.global_variables()]
['scale/factor:0']

Source: tensorflow/python/ops/template.py, release 1.15.
"""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpuplace.callers import is_own
from gpuplace.graph.convert import get_default_graph
from gpuplace.graph.graph_keys import GraphKeys
from gpuplace.ops.tracking.base import Trackable
from gpuplace.ops.tracking.variables import capture_dependencies
from gpuplace.ops.variables.variable_scope import VariableScope, variable_scope
from gpuplace.typing import Function

__all__ = ["make_template"]


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Function | None = None,
    **kwargs: Any,
) -> Template:
    """Return a ``Template`` of a function.

    Args:
        name_: name of the variable scope; made unique.
        func_: the function.
        create_scope_now_: whether to create the scope now rather than at the first call.
        unique_name_: exact name of the scope, in place of ``name_``.
        custom_getter_: see ``variable_scope``; None for the one around the scope.
        **kwargs: arguments of the function that are the same in every call.

    Returns:
        A ``Template``, to be called like the function.

    Raises:
        ValueError: ``name_`` is None.
    """
    function = functools.partial(func_, **kwargs) if kwargs else func_
    return Template(name_, function, create_scope_now_, unique_name_, custom_getter_)


def _program_stack() -> list[str]:
    """Return the program's lines in this thread's stack, without those of the package, as in Python tracebacks."""
    return traceback.format_list([frame for frame in traceback.extract_stack() if not is_own(frame.filename)])


def not_shared(stacktrace: Sequence[str], base_case: Sequence[str]) -> Sequence[str]:
    """Return the lines of a traceback from the first that differs from another; the last line if none does.

    Args:
        stacktrace: the lines, the outermost first.
        base_case: the lines of the other traceback.
    """
    for at, (line, other) in enumerate(zip(stacktrace, base_case, strict=False)):
        if line != other:
            return stacktrace[at:]
    return stacktrace[-1:]


class Template(Trackable):
    """A function that shares its variables between calls; see ``make_template``.

    Args:
        name: name of the variable scope; made unique.
        func: the function.
        create_scope_now: whether to create the scope now rather than at the first call.
        unique_name: exact name of the scope, in place of ``name``.
        custom_getter: see ``variable_scope``; None for the one around the scope.

    Raises:
        ValueError: ``name`` is None.
    """

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Any = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self.name = name
        self.func = func
        self.variable_scope: VariableScope | None = None
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._variables_created = False
        self._defined = _program_stack()
        if create_scope_now:
            with variable_scope(
                unique_name, name, custom_getter=custom_getter, auxiliary_name_scope=False
            ) as scope:
                self.variable_scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function.

        Args:
            *args: arguments of the function.
            **kwargs: keyword arguments of the function.

        Returns:
            The function's result.

        Raises:
            ValueError: a call after the first one creates a trainable variable.
        """
        if self.variable_scope is not None:
            with variable_scope(self.variable_scope, reuse=self._variables_created or None):
                return self._call(args, kwargs)
        with variable_scope(self._unique_name, self.name, custom_getter=self._custom_getter) as scope:
            self.variable_scope = scope
            return self._call(args, kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        trainable = get_default_graph().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
        before = len(trainable)
        with self._add_origin_to_errors():
            with capture_dependencies(template=self):
                result = self.func(*args, **kwargs)
            if self._variables_created and len(trainable) != before:
                raise ValueError(
                    "Trainable variable created when calling a template after the first time, perhaps you used"
                    f" tf.Variable when you meant tf.get_variable: {trainable[before:]}"
                )
        self._variables_created = True
        return result

    @contextlib.contextmanager
    def _add_origin_to_errors(self) -> Iterator[None]:
        """Add the lines that created the template to errors raised in the block."""
        try:
            yield
        except Exception as error:
            text = str(error.args[0]) if error.args else ""
            lines = "".join(not_shared(self._defined, _program_stack()))
            error.args = (f"{text}\n\noriginally defined at:\n{lines}", *error.args[1:])
            raise

    @property
    def var_scope(self) -> VariableScope | None:
        """The scope; None before the first call."""
        return self.variable_scope

    @property
    def variable_scope_name(self) -> str | None:
        """The scope's name with a final slash, ``""`` for the outermost scope; None before the first call."""
        if self.variable_scope is None:
            return None
        name = self.variable_scope.name
        return name if not name or name.endswith("/") else name + "/"

    def _collected(self, key: str) -> list[Any]:
        if not self._variables_created or self.variable_scope is None:
            return []
        return get_default_graph().get_collection(key, self.variable_scope_name)

    @property
    def global_variables(self) -> list[Any]:
        """The global variables that the function created."""
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        """The local variables that the function created."""
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables that the function created."""
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def variables(self) -> list[Any]:
        """All variables that the function created."""
        return self.global_variables + self.local_variables

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The global variables that the function created, except trainable ones."""
        trained = {id(variable) for variable in self.trainable_variables}
        return [variable for variable in self.global_variables if id(variable) not in trained]

    @property
    def weights(self) -> list[Any]:
        """All variables that the function created."""
        return self.variables

    @property
    def trainable_weights(self) -> list[Any]:
        """The trainable variables that the function created."""
        return self.trainable_variables

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The global variables that the function created, except trainable ones."""
        return self.non_trainable_variables

"""TensorFlow's error family, with facts and advice under the sentence.

Every error that a graph, a placement or a step can cause is an ``OpError``. ``message`` is TensorFlow's own
sentence, so that it can be searched for; ``facts`` and ``hint`` add what TensorFlow leaves out.

>>> raise InvalidArgumentError(
...     None, None, "Cannot assign a device", facts={"requested by": "train.py:14"}, hint="soft placement"
... )
Traceback (most recent call last):
...
gpuplace.errors.InvalidArgumentError: Cannot assign a device
  requested by  train.py:14
  try           soft placement

Source: tensorflow/python/framework/errors_impl.py, release 1.15 (classes, codes, constructor arguments).
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from typing import Any, Self

from gpuplace.display import notebook_view, with_safe_text

__all__ = [
    "ABORTED",
    "ALREADY_EXISTS",
    "CANCELLED",
    "DATA_LOSS",
    "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION",
    "INTERNAL",
    "INVALID_ARGUMENT",
    "NOT_FOUND",
    "OK",
    "OUT_OF_RANGE",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "UNAUTHENTICATED",
    "UNAVAILABLE",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError",
    "AlreadyExistsError",
    "CancelledError",
    "DataLossError",
    "DeadlineExceededError",
    "FailedPreconditionError",
    "InternalError",
    "InvalidArgumentError",
    "NotFoundError",
    "OpError",
    "OutOfRangeError",
    "PermissionDeniedError",
    "ResourceExhaustedError",
    "UnauthenticatedError",
    "UnavailableError",
    "UnimplementedError",
    "UnknownError",
    "error_code_from_exception_type",
    "exception_type_from_error_code",
]

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


_TAG = re.compile(r"\{\{(?:colocation_)?node ([^}]+)\}\}(?=(\w?))|\{\{function_node ([^}]+)\}\}")
"""How the runtime names a node, or a function, for the client to put the program's line there."""


class InaccessibleTensorError(ValueError):
    """A tensor of a function is used outside of it, without being given out."""


class OperatorNotAllowedInGraphError(TypeError):
    """Python asks for the value of a tensor while the graph is built: whether it is true, or what is in it."""


class OpError(Exception):
    """An error in a graph, its placement or its execution.

    Args:
        node_def: the ``NodeDef`` that failed, or None.
        op: the ``Operation`` that failed, or None if it is not known (for example a copy).
        message: TensorFlow's sentence.
        error_code: one of the codes of this module, 1 to 16.
        facts: label to text, shown below the sentence; None: none.
        hint: what to try, shown last; None: nothing.
    """

    def __init__(
        self,
        node_def: Any,
        op: Any,
        message: str,
        error_code: int,
        *,
        facts: Mapping[str, str] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = error_code
        self.facts: dict[str, str] = dict(facts or {})
        self.hint = hint
        self.made_at: dict[str, str] = {}
        """Name of a node that `message` names as ``{{node x}}`` -> the line of the program that made it."""

    @property
    def message(self) -> str:
        """TensorFlow's sentence, without facts and hint."""
        return self._message

    @property
    def sentence(self) -> str:
        """`message` as it is shown: ``node x (defined at train.py:14)`` in place of the runtime's ``{{node x}}``."""
        return _TAG.sub(self._named, self._message)

    def _named(self, tag: re.Match[str]) -> str:
        node, following, function = tag.groups()
        if function:
            return function
        line = self.made_at.get(node)
        return f"node {node}{f' (defined at {line})' if line else ''}{' ' if following else ''}"

    @property
    def op(self) -> Any:
        """The operation that failed, or None."""
        return self._op

    @property
    def node_def(self) -> Any:
        """The ``NodeDef`` that failed, or None."""
        return self._node_def

    @property
    def error_code(self) -> int:
        """TensorFlow's numeric error code."""
        return self._error_code

    @with_safe_text
    def __str__(self) -> str:
        return self.with_facts(self.sentence)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"

    def with_facts(self, sentence: str) -> str:
        """A sentence, then the facts and what to try.

        Args:
            sentence: `sentence`, or `message` as the runtime writes it.
        """
        rows = dict(self.facts)
        if self.hint:
            rows["try"] = self.hint
        if not rows:
            return sentence
        width = max(map(len, rows)) + 2
        indent = "\n" + " " * (width + 2)
        lines = [f"  {label:<{width}}{text.replace(chr(10), indent)}" for label, text in rows.items()]
        return "\n".join([sentence, *lines])

    _repr_mimebundle_ = notebook_view

    def __reduce__(self) -> tuple[Any, ...]:
        state = {"made_at": self.made_at}
        return _rebuild, (type(self), self._message, self._error_code, self.facts, self.hint), state


def _rebuild(cls: type[OpError], message: str, code: int, facts: dict[str, str], hint: str | None) -> OpError:
    """Unpickles an error; node and operation stay in the process that raised it."""
    if cls is OpError:
        return OpError(None, None, message, code, facts=facts, hint=hint)
    error: OpError = cls.of(message, facts=facts, hint=hint)  # type: ignore[attr-defined]
    error._error_code = code
    return error


def tagged_nodes(message: str) -> list[str]:
    """The nodes that a message names for the client to say where they were made, each once.

    >>> tagged_nodes("{{node a}} was colocated with {{colocation_node b}}")
    ['a', 'b']

    Args:
        message: as the runtime writes it.
    """
    return list(dict.fromkeys(found[1] for found in _TAG.finditer(message) if found[1]))


class _CodedError(OpError):
    """An ``OpError`` whose class says its code."""

    code = UNKNOWN

    def __init__(
        self,
        node_def: Any,
        op: Any,
        message: str,
        *,
        facts: Mapping[str, str] | None = None,
        hint: str | None = None,
    ) -> None:
        """Makes the error; arguments as of ``OpError``, but the code.

        Args:
            node_def: the ``NodeDef`` that failed, or None.
            op: the ``Operation`` that failed, or None.
            message: TensorFlow's sentence.
            facts: label to text, shown below the sentence; None: none.
            hint: what to try, shown last; None: nothing.
        """
        super().__init__(node_def, op, message, self.code, facts=facts, hint=hint)

    @classmethod
    def of(
        cls, message: str, *, op: Any = None, facts: Mapping[str, str] | None = None, hint: str | None = None
    ) -> Self:
        """The error of an operation, or of a request, an argument, a file.

        Args:
            message: TensorFlow's sentence.
            op: the ``Operation`` that failed, which stands for its ``NodeDef`` too; None: none did.
            facts: label to text, shown below the sentence; None: none.
            hint: what to try, shown last; None: nothing.
        """
        return cls(op, op, message, facts=facts, hint=hint)


class CancelledError(_CodedError):
    """The step was cancelled, for example because its session was closed."""

    code = CANCELLED


class UnknownError(_CodedError):
    """An error that fits no other class.

    Args:
        node_def: the ``NodeDef`` that failed, or None.
        op: the ``Operation`` that failed, or None.
        message: TensorFlow's sentence.
        error_code: its code, of a system that has others; None: there is none.
        facts: label to text, shown below the sentence; None: none.
        hint: what to try, shown last; None: nothing.
    """

    code = UNKNOWN

    def __init__(
        self,
        node_def: Any,
        op: Any,
        message: str,
        error_code: int | None = UNKNOWN,
        *,
        facts: Mapping[str, str] | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(node_def, op, message, facts=facts, hint=hint)
        self._error_code = error_code  # type: ignore[assignment]


class InvalidArgumentError(_CodedError):
    """An op received, or a request named, something that is not allowed."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """The step ran longer than ``timeout_in_ms`` allows."""

    code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A file, node, kernel or resource does not exist."""

    code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """Something that is to be created exists already."""

    code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The process may not do this."""

    code = PERMISSION_DENIED


class ResourceExhaustedError(_CodedError):
    """A resource, above all device memory, is used up."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the state the op needs, for example a variable is not initialised."""

    code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """The operation was given up, typically because of a concurrent one."""

    code = ABORTED


class OutOfRangeError(_CodedError):
    """An iteration went past its end."""

    code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """The operation is known and cannot be executed here."""

    code = UNIMPLEMENTED


class InternalError(_CodedError):
    """An invariant of the runtime is broken."""

    code = INTERNAL


class UnavailableError(_CodedError):
    """A device or service cannot be reached at present."""

    code = UNAVAILABLE


class DataLossError(_CodedError):
    """Stored data are truncated or corrupt."""

    code = DATA_LOSS


class UnauthenticatedError(_CodedError):
    """The request carries no valid credentials."""

    code = UNAUTHENTICATED


_CLASS_OF_CODE: dict[int, type[_CodedError]] = {cls.code: cls for cls in _CodedError.__subclasses__()}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Returns the error class for a numeric code.

    >>> exception_type_from_error_code(8).__name__
    'ResourceExhaustedError'

    Args:
        error_code: such as ``tf.errors.NOT_FOUND``, from 1 to 16.

    Raises:
        KeyError: a code that TensorFlow does not have.
    """
    return _CLASS_OF_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> Any:
    """Returns the numeric code of an error class; of a class that has none, after a warning, an ``UnknownError``.

    Args:
        cls: such as ``NotFoundError``.
    """
    codes = {known: code for code, known in _CLASS_OF_CODE.items()}
    if cls in codes:
        return codes[cls]
    warnings.warn("Unknown class exception", stacklevel=2)
    return UnknownError(None, None, "Unknown class exception", None)


def specific_exception(node_def: Any, op: Any, message: str, error_code: int) -> OpError:
    """Returns an error of the class that a code says; of an unknown code, after a warning, an ``UnknownError``.

    Args:
        node_def: the ``NodeDef`` that failed, or None.
        op: the ``Operation`` that failed, or None.
        message: TensorFlow's sentence.
        error_code: the code.
    """
    known: Any = _CLASS_OF_CODE.get(error_code)
    if known is not None:
        made: OpError = known(node_def, op, message)
        return made
    warnings.warn(f"Unknown error code: {error_code}", stacklevel=2)
    return UnknownError(node_def, op, message, error_code)


_make_specific_exception = specific_exception  # TensorFlow's own name for it

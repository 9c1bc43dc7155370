"""TensorFlow's error classes, extended by facts and a hint below the message.

Every error of a graph, a placement or a step is an ``OpError``. ``message`` is TensorFlow's own text, so that it can be
searched for; ``facts`` and ``hint`` add what TensorFlow omits.

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
"""Tag of a node or function in a runtime message, which the client replaces by the program's line."""


class InaccessibleTensorError(ValueError):
    """A tensor of a function is used outside the function without being returned by it."""


class OperatorNotAllowedInGraphError(TypeError):
    """Python requests the truth value or the elements of a tensor while the graph is built."""


class OpError(Exception):
    """An error in a graph, its placement or its execution.

    Args:
        node_def: the ``NodeDef`` that failed, or None.
        op: the ``Operation`` that failed, or None if unknown (for example a copy).
        message: TensorFlow's message.
        error_code: one of the codes of this module, 1 to 16.
        facts: label -> text, shown below the message; None: no facts.
        hint: what to do, shown last; None: no hint.
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
        """TensorFlow's message, without facts and hint."""
        return self._message

    @property
    def sentence(self) -> str:
        """`message` as shown, with ``node x (defined at train.py:14)`` instead of the tag ``{{node x}}``."""
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
        """Return a message followed by the facts and the hint.

        Args:
            sentence: `sentence`, or `message` with the runtime's tags.
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
    """Unpickle an error; node and operation stay in the process that raised it."""
    if cls is OpError:
        return OpError(None, None, message, code, facts=facts, hint=hint)
    error: OpError = cls.of(message, facts=facts, hint=hint)  # type: ignore[attr-defined]
    error._error_code = code
    return error


def tagged_nodes(message: str) -> list[str]:
    """Return the distinct nodes that a message tags for the client to add their definition.

    >>> tagged_nodes("{{node a}} was colocated with {{colocation_node b}}")
    ['a', 'b']

    Args:
        message: message with the runtime's tags.
    """
    return list(dict.fromkeys(tag[1] for tag in _TAG.finditer(message) if tag[1]))


class _CodedError(OpError):
    """An ``OpError`` whose class determines its code."""

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
        """Create the error; arguments as for ``OpError``, without the code.

        Args:
            node_def: the ``NodeDef`` that failed, or None.
            op: the ``Operation`` that failed, or None.
            message: TensorFlow's message.
            facts: label -> text, shown below the message; None: no facts.
            hint: what to do, shown last; None: no hint.
        """
        super().__init__(node_def, op, message, self.code, facts=facts, hint=hint)

    @classmethod
    def of(
        cls, message: str, *, op: Any = None, facts: Mapping[str, str] | None = None, hint: str | None = None
    ) -> Self:
        """Return the error of an operation, a request, an argument or a file.

        Args:
            message: TensorFlow's message.
            op: the ``Operation`` that failed, which also provides the ``NodeDef``; None: no operation failed.
            facts: label -> text, shown below the message; None: no facts.
            hint: what to do, shown last; None: no hint.
        """
        return cls(op, op, message, facts=facts, hint=hint)


class CancelledError(_CodedError):
    """The step was cancelled, for example because its session was closed."""

    code = CANCELLED


class UnknownError(_CodedError):
    """An error that belongs to no other class.

    Args:
        node_def: the ``NodeDef`` that failed, or None.
        op: the ``Operation`` that failed, or None.
        message: TensorFlow's message.
        error_code: code of a system with other codes; None: no code.
        facts: label -> text, shown below the message; None: no facts.
        hint: what to do, shown last; None: no hint.
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
    """An argument of an op or a request is invalid."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(_CodedError):
    """The step exceeded ``timeout_in_ms``."""

    code = DEADLINE_EXCEEDED


class NotFoundError(_CodedError):
    """A file, node, kernel or resource does not exist."""

    code = NOT_FOUND


class AlreadyExistsError(_CodedError):
    """Something to be created already exists."""

    code = ALREADY_EXISTS


class PermissionDeniedError(_CodedError):
    """The process lacks a permission."""

    code = PERMISSION_DENIED


class ResourceExhaustedError(_CodedError):
    """A resource, usually device memory, is exhausted."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(_CodedError):
    """The system is not in the required state, for example a variable is uninitialized."""

    code = FAILED_PRECONDITION


class AbortedError(_CodedError):
    """The operation was aborted, typically because of a concurrent one."""

    code = ABORTED


class OutOfRangeError(_CodedError):
    """An iteration went past its end."""

    code = OUT_OF_RANGE


class UnimplementedError(_CodedError):
    """The operation is not implemented here."""

    code = UNIMPLEMENTED


class InternalError(_CodedError):
    """An invariant of the runtime is violated."""

    code = INTERNAL


class UnavailableError(_CodedError):
    """A device or service is currently unavailable."""

    code = UNAVAILABLE


class DataLossError(_CodedError):
    """Stored data are truncated or corrupt."""

    code = DATA_LOSS


class UnauthenticatedError(_CodedError):
    """The request has no valid credentials."""

    code = UNAUTHENTICATED


_CLASS_OF_CODE: dict[int, type[_CodedError]] = {cls.code: cls for cls in _CodedError.__subclasses__()}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """Return the error class of a numeric code.

    >>> exception_type_from_error_code(8).__name__
    'ResourceExhaustedError'

    Args:
        error_code: such as ``tf.errors.NOT_FOUND``, from 1 to 16.

    Raises:
        KeyError: TensorFlow has no such code.
    """
    return _CLASS_OF_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> Any:
    """Return the numeric code of an error class; for other classes, warn and return an ``UnknownError``.

    Args:
        cls: such as ``NotFoundError``.
    """
    codes = {error_class: code for code, error_class in _CLASS_OF_CODE.items()}
    if cls in codes:
        return codes[cls]
    warnings.warn("Unknown class exception", stacklevel=2)
    return UnknownError(None, None, "Unknown class exception", None)


def specific_exception(node_def: Any, op: Any, message: str, error_code: int) -> OpError:
    """Return an error of the class of a code; for an unknown code, warn and return an ``UnknownError``.

    Args:
        node_def: the ``NodeDef`` that failed, or None.
        op: the ``Operation`` that failed, or None.
        message: TensorFlow's message.
        error_code: numeric code.
    """
    error_class: Any = _CLASS_OF_CODE.get(error_code)
    if error_class is not None:
        error: OpError = error_class(node_def, op, message)
        return error
    warnings.warn(f"Unknown error code: {error_code}", stacklevel=2)
    return UnknownError(node_def, op, message, error_code)


_make_specific_exception = specific_exception  # TensorFlow's own name for it

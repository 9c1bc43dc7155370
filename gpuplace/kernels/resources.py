"""State that outlives a step: variables, other resources, and random-op state, in one store for each session.

A variable is a ``VariableStorage``. Reference variables (``VariableV2``) pass the storage itself to the ops that take a
reference. Resource variables (``VarHandleOp``) return a ``ResourceHandle`` that points to it. A value that was read
earlier never changes: an assignment replaces the array, and an update writes to the array only if nothing else refers
to it (like TensorFlow's resource variables, which copy otherwise)::

    change([weights], function)
      weights.lock         until the end; who reads meanwhile waits
      values = [array]     taken out of the storage, so that its references are those of other readers
      function([array], [whether there are none])

>>> import numpy as np
>>> from gpuplace.dtypes import float32
>>> store = SessionResources()
>>> weights = store.variable("w", float32, TensorShape([2]))
>>> weights.assign(np.float32([1, 2]))
array([1., 2.], dtype=float32)
>>> weights.update(lambda value, is_own: value + 1)
array([2., 3.], dtype=float32)
>>> store.variable("w", float32, TensorShape([2])) is weights
True

Source: tensorflow/core/kernels/variable_ops.cc, resource_variable_ops.cc and core/framework/resource_mgr.cc, releases
1.15 and 2.21 (sentences of the errors).
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import FailedPreconditionError, InvalidArgumentError, NotFoundError
from gpuplace.kernels.cancellation import Cancellation
from gpuplace.release import rules
from gpuplace.shapes import TensorShape
from gpuplace.typing import Array, Graph

Resource = TypeVar("Resource")

DEFAULT_CONTAINER = "localhost"
"""The default container."""

VARIABLE_TYPE = "N10tensorflow3VarE"
"""Type of a variable in messages about resources."""

INITIALIZE_HINT = "run its initializer first, for example session.run(tf.global_variables_initializer())"


LARGE_BYTES = 16 << 10
"""Size in bytes below which a new array is cheaper than checking for other references to the old one."""


class VariableStorage:
    """The current value of a variable in one session.

    Attributes:
        name: name of the variable (``shared_name`` if set).
        dtype: element type, without reference.
        shape: declared shape; an assignment without validation may set another one.
        device: full name of the device that holds it, "" if unknown.
        container: the resource container.
        is_resource: whether it is a resource variable, for error messages.
        lock: held while the value is replaced; ops that change part of the value acquire it themselves.
    """

    __slots__ = ("_value", "container", "device", "dtype", "is_resource", "lock", "name", "shape")

    def __init__(
        self,
        name: str,
        dtype: DType,
        shape: TensorShape,
        *,
        device: str = "",
        container: str = DEFAULT_CONTAINER,
        is_resource: bool = False,
    ) -> None:
        self.name = name
        self.dtype = dtype
        self.shape = shape
        self.device = device
        self.container = container
        self.is_resource = is_resource
        self.lock = threading.RLock()
        self._value: Any = None

    @property
    def is_initialized(self) -> bool:
        """Whether a value was assigned."""
        return self._value is not None or self._settled() is not None

    @property
    def value(self) -> Any:
        """The current array, read-only; FailedPreconditionError before the first assignment."""
        value = self._value
        if value is None:
            value = self._settled()
            if value is None:
                raise self.uninitialized_error()
        return value

    def _settled(self) -> Array | None:
        """Return the value, or None while it is being changed."""
        with self.lock:
            return self._value

    def read(self) -> Any:
        """Return ``value``, for callers that need a function."""
        return self.value

    def assign(self, value: Any) -> Any:
        """Replace the value and return it; the array now belongs to the variable."""
        with self.lock:
            self._value = value
        return value

    def update(self, function: Callable[[Any, bool], Any]) -> Any:
        """Replace the value with ``function(value, is_own)`` atomically, and return the new value.

        Args:
            function: may write to the value and return it if ``is_own``.

        Raises:
            FailedPreconditionError: the variable is uninitialized.
        """
        (value,) = change((self,), lambda values, are_own: (function(values[0], are_own[0]),))
        return value

    def reset(self) -> None:
        """Drop the value: the variable becomes uninitialized."""
        with self.lock:
            self._value = None

    @property
    def nbytes(self) -> int:
        """Size of the current value in bytes; 0 before the first assignment."""
        value = self._settled()
        return 0 if value is None else int(value.nbytes)

    @property
    def handle(self) -> ResourceHandle:
        """The handle for resource ops."""
        return ResourceHandle(self.device, self.container, self.name, VARIABLE_TYPE, self)

    def uninitialized_error(self) -> FailedPreconditionError:
        """Return the error for reading before the first assignment."""
        facts = {"device": self.device} if self.device else {}
        if not self.is_resource:
            sentence = f"Attempting to use uninitialized value {self.name}"
        elif rules() == "1.15":
            sentence = (
                f"Error while reading resource variable {self.name} from Container: {self.container}. This could mean"
                f" that the variable was uninitialized. Not found: "
                f"{_missing(self.container, self.name, VARIABLE_TYPE)}"
            )
        else:
            sentence = (
                f"Could not find variable {self.name}. This could mean that the variable has been deleted. In TF1, it"
                f" can also mean the variable is uninitialized. Debug info: container={self.container}, status error"
                f" message={_missing(self.container, self.name, VARIABLE_TYPE)}"
            )
        return FailedPreconditionError.of(sentence, facts=facts, hint=INITIALIZE_HINT)

    def __repr__(self) -> str:
        state = "" if self.is_initialized else ", uninitialized"
        return f"<VariableStorage {self.name!r} {self.dtype.name}{self.shape} {self.device or 'no device'}{state}>"


def change(
    storages: Sequence[VariableStorage], function: Callable[..., Sequence[Any]], *arguments: Any
) -> Sequence[Any]:
    """Replace the values of several variables atomically, and return the new values.

    Args:
        storages: variables to change.
        function: takes the values, and for each whether it may be written to (there are no other references to the
            array or views of it). It returns the new values; changed arrays may be among them.
        *arguments: further arguments of ``function``.

    Raises:
        FailedPreconditionError: a variable is uninitialized.
    """
    ordered = storages
    if len(storages) > 2 or (len(storages) == 2 and id(storages[0]) > id(storages[1])):
        ordered = sorted(storages, key=id)
    for storage in ordered:
        storage.lock.acquire()
    try:
        values = []
        is_large = False
        for storage in storages:
            value = storage._value
            if value is None:
                raise storage.uninitialized_error()
            is_large = is_large or value.nbytes >= LARGE_BYTES
            values.append(value)
        new: Sequence[Any] = values
        if not is_large:
            new = function(values, [False] * len(values), *arguments)
            for storage, value in zip(storages, new, strict=True):
                storage._value = value
            return new
        del value
        for storage in storages:
            storage._value = None
        try:
            new = function(values, _are_own(values), *arguments)
        finally:
            for storage, value in zip(storages, new, strict=True):
                storage._value = value
    finally:
        for storage in ordered:
            storage.lock.release()
    return new


def _are_own(values: list[Any]) -> list[bool]:
    """Return whether the list has the only reference to the memory of each large array."""
    return [
        value.nbytes >= LARGE_BYTES
        and sys.getrefcount(value) <= _REFERENCES
        and value.base is None
        and getattr(value.flags, "writeable", True)
        for value in values
    ]


def _references(values: list[Any]) -> list[int]:
    """Return the reference count of each item in a comprehension over a list; it depends on the Python version."""
    return [sys.getrefcount(value) for value in values]


_REFERENCES = _references([object()])[0] if getattr(sys, "_is_gil_enabled", lambda: True)() else 0
"""Reference count of an item that only a list refers to; 0 if Python counts other threads' references later."""


def _missing(container: str, name: str, type_name: str) -> str:
    return f"Resource {container}/{name}/{type_name} does not exist."


@dataclass(frozen=True, slots=True)
class ResourceHandle:
    """The value of a tensor of type ``resource``: the name of a resource and a reference to it."""

    device: str
    container: str
    name: str
    type_name: str
    """Resource type in messages."""
    resource: Any = field(compare=False, repr=False)
    """The resource itself."""

    @property
    def value(self) -> Any:
        """Container and name, ``[2]``: the value if the handle is a reference to strings."""
        return np.array([self.container.encode(), self.name.encode()], object)

    @property
    def variable(self) -> VariableStorage:
        """The variable that it names; InvalidArgumentError if it names another resource."""
        return self.resource_of(VariableStorage, VARIABLE_TYPE)

    def resource_of(self, kind: type[Resource], type_name: str) -> Resource:
        """Return the named resource; InvalidArgumentError if it has another class.

        Args:
            kind: expected class.
            type_name: name of the class in messages.
        """
        if isinstance(self.resource, kind):
            return self.resource
        raise InvalidArgumentError.of(
            f"Trying to access resource using the wrong type. Expected {type_name} got {self.type_name}",
            facts={"resource": f"{self.container}/{self.name}"},
        )

    @property
    def text(self) -> Any:
        """Return device, container and name as a string scalar, which `named_by` reads."""
        text = np.empty((), object)
        text[()] = "\0".join((self.device, self.container, self.name)).encode()
        return text

    @classmethod
    def named_by(cls, text: Any, resources: Any, type_name: str) -> ResourceHandle:
        """Return the resource handle for a text.

        Args:
            text: string scalar, the `text` of a handle.
            resources: resources of the session.
            type_name: resource type in messages.

        Raises:
            InvalidArgumentError: the text is not that of a handle.
            NotFoundError: the session has no such resource.
        """
        parts = bytes(text[()]).decode(errors="replace").split("\0")
        if len(parts) != 3:
            raise InvalidArgumentError.of(
                "Could not parse string_handle as a valid ResourceHandle",
                hint="feed the result of session.run(iterator.string_handle())",
            )
        device, container, name = parts
        try:
            resource = resources.lookup(container, name, device, type_name)
        except NotFoundError:
            raise NotFoundError.of(
                _missing(container, name, type_name),
                hint="get the handle in the same session, with session.run(iterator.string_handle())",
            ) from None
        return cls(device, container, name, type_name, resource)


@runtime_checkable
class Closing(Protocol):
    """A resource with something to release when the session ends."""

    def end_session(self) -> None:
        """Release it."""
        ...


class FunctionRuns(Protocol):
    """Runs library functions of graphs on the devices of a session."""

    def callable_of(
        self, graph: Graph, name: str, device: str, state: Any
    ) -> Callable[[Sequence[Any]], list[Any]]:
        """Return a callable that takes all arguments of a function and returns all results.

        Args:
            graph: graph whose library contains the function.
            name: name of the function.
            device: full name of the device to run it on.
            state: store for the state of its kernels, such as ``SessionResources`` or ``CallResources``.

        Raises:
            OpError: the function does not exist, is invalid, or cannot be computed.
        """
        ...


class CountsMemory(Protocol):
    """The allocator of a device's memory."""

    def stats(self) -> Any:
        """Return its current counters ``bytes_in_use``, ``peak_bytes_in_use`` and ``bytes_limit``."""
        ...


class SessionResources:
    """The resources of a session by device, container and name, and the state of its kernels.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str, str], Any] = {}
        self._kernel_states: dict[str, Any] = {}
        self._lock = threading.RLock()
        self.is_closed = False
        """Whether the session was closed; loops check this in each iteration."""
        self.cancellation = Cancellation()
        """Ends the waits when the session is closed."""
        self.functions: FunctionRuns | None = None
        """Runs library functions of graphs."""
        self.allocators: Mapping[str, CountsMemory] = {}
        """Full name of each simulated GPU -> the allocator that counts its memory."""

    def _key(self, device: str, container: str, name: str) -> tuple[str, str, str]:
        """Key of a resource."""
        return device, container or DEFAULT_CONTAINER, name

    def get_or_create(
        self, container: str, name: str, factory: Callable[[], Resource], device: str = ""
    ) -> Resource:
        """Return the resource with a name, created by ``factory`` on first use ("" is the default container)."""
        key = self._key(device, container, name)
        with self._lock:
            if key not in self._resources:
                self._resources[key] = factory()
            resource: Resource = self._resources[key]
        return resource

    def variable(
        self,
        name: str,
        dtype: DType,
        shape: TensorShape,
        *,
        container: str = "",
        device: str = "",
        is_resource: bool = False,
    ) -> VariableStorage:
        """Return the variable with a name, created uninitialized on first use.

        Raises:
            InvalidArgumentError: it has another type, or the name belongs to another kind of resource.
        """
        container = container or DEFAULT_CONTAINER
        storage = self.get_or_create(
            container,
            name,
            lambda: VariableStorage(
                name, dtype.base_dtype, shape, device=device, container=container, is_resource=is_resource
            ),
            device,
        )
        if not isinstance(storage, VariableStorage):
            raise InvalidArgumentError.of(
                f"Resource {container}/{name} is a {type(storage).__name__}, not a variable"
            )
        if storage.dtype is not dtype.base_dtype:
            raise InvalidArgumentError.of(
                f"Trying to access resource {name} located in device {device or 'unknown'} with dtype"
                f" {dtype.base_dtype.short_name}, which was created with dtype {storage.dtype.short_name}"
            )
        return storage

    def lookup(self, container: str, name: str, device: str = "", type_name: str = VARIABLE_TYPE) -> Array:
        """Return the resource with a name; NotFoundError if it does not exist."""
        with self._lock:
            found = self._resources.get(self._key(device, container, name), self)
        if found is self:
            raise NotFoundError.of(_missing(container or DEFAULT_CONTAINER, name, type_name))
        return found

    def delete(self, container: str, name: str, device: str = "", type_name: str = VARIABLE_TYPE) -> None:
        """Remove a resource; NotFoundError if it does not exist. A variable also loses its value."""
        with self._lock:
            found = self.lookup(container, name, device, type_name)
            del self._resources[self._key(device, container, name)]
        if isinstance(found, VariableStorage):
            found.reset()

    def kernel_state(self, node: str, factory: Callable[[], Resource]) -> Resource:
        """Return a node's kernel state, such as a random generator, which is created on first use."""
        with self._lock:
            if node not in self._kernel_states:
                self._kernel_states[node] = factory()
            state: Resource = self._kernel_states[node]
        return state

    def variables(self) -> tuple[VariableStorage, ...]:
        """Return all variables, by name."""
        with self._lock:
            found = [
                resource for resource in self._resources.values() if isinstance(resource, VariableStorage)
            ]
        return tuple(sorted(found, key=lambda variable: (variable.name, variable.device)))

    def clear(self, container: str | None = None) -> None:
        """Remove the resources of a container, or all resources and kernel states."""
        with self._lock:
            dropped = [
                key
                for key in self._resources
                if container is None or key[1] == (container or DEFAULT_CONTAINER)
            ]
            resources = [self._resources.pop(key) for key in dropped]
            if container is None:
                self._kernel_states.clear()
        for resource in resources:
            if isinstance(resource, VariableStorage):
                resource.reset()
            elif isinstance(resource, Closing):
                resource.end_session()

    def __len__(self) -> int:
        return len(self._resources)


SESSION_TENSORS = "_session_tensors"
"""Container of tensors that stay in a session between steps."""


def session_tensor(resources: Any, handle: str) -> Array:
    """Return a tensor that is kept in a session.

    Args:
        resources: resources of a session or call.
        handle: handle of the tensor.

    Raises:
        InvalidArgumentError: the session does not have this tensor, or no longer has it.
    """
    try:
        return resources.lookup(SESSION_TENSORS, handle)
    except NotFoundError:
        raise InvalidArgumentError.of(
            f"The tensor with handle '{handle}' is not in the session store.",
            hint="keep the result of session.run(tf.get_session_handle(...)): the tensor is dropped with it",
        ) from None


class CallResources:
    """A session's resources for the kernels of a function call, with separate kernel states.

    Args:
        session: resources of the session.
    """

    def __init__(self, session: SessionResources) -> None:
        self._session = session
        self._states: dict[str, Any] = {}
        self._lock = threading.RLock()

    def kernel_state(self, node: str, factory: Callable[[], Resource]) -> Resource:
        """Like ``SessionResources.kernel_state``, but separate from the session and other calls."""
        with self._lock:
            if node not in self._states:
                self._states[node] = factory()
            state: Resource = self._states[node]
        return state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

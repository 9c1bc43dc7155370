"""What outlives a step: variables, other resources, and the state of random ops, one store per session.

A variable is a ``VariableStorage``. Reference variables (``VariableV2``) hand the storage itself to the ops that take
a reference; resource variables (``VarHandleOp``) hand out a ``ResourceHandle`` that points at it. A value read earlier
stays what it was: assigning replaces the array, and an update writes into the array only where nobody else has it
(as TensorFlow's resource variables do, copying otherwise)::

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

Resource = TypeVar("Resource")

DEFAULT_CONTAINER = "localhost"
"""The container of everything that names none."""

VARIABLE_TYPE = "N10tensorflow3VarE"
"""The type of a variable in the messages about resources."""

INITIALIZE_HINT = "run its initializer first, for example session.run(tf.global_variables_initializer())"


LARGE_BYTES = 16 << 10
"""Smaller values are replaced: a new array costs less than to ask who has the old one."""


class VariableStorage:
    """The current value of a variable in one session.

    Attributes:
        name: the variable's name (``shared_name`` where it has one).
        dtype: element type, without reference.
        shape: declared shape; the value's may be another one where an assignment did not validate it.
        device: full name of the device that holds it, "" where unknown.
        container: the resource container.
        is_resource: whether it is a resource variable; decides the sentences of errors.
        lock: held while the value is replaced; ops that change a part of it hold it themselves.
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
        """The current array, not to be written to; FailedPreconditionError before the first assignment."""
        value = self._value
        if value is None:
            value = self._settled()
            if value is None:
                raise self.uninitialized_error()
        return value

    def _settled(self) -> Any:
        """The value, or None, when nobody is changing it."""
        with self.lock:
            return self._value

    def read(self) -> Any:
        """The same as ``value``, for callers that want a function."""
        return self.value

    def assign(self, value: Any) -> Any:
        """Replaces the value, which from now on belongs to the variable; returns it."""
        with self.lock:
            self._value = value
        return value

    def update(self, function: Callable[[Any, bool], Any]) -> Any:
        """Replaces the value by ``function(value, is_own)``, with no assignment in between; returns the new one.

        Args:
            function: may write to the value and return it where ``is_own``.

        Raises:
            FailedPreconditionError: nothing was assigned yet.
        """
        (value,) = change((self,), lambda values, are_own: (function(values[0], are_own[0]),))
        return value

    def reset(self) -> None:
        """Forgets the value: the variable is uninitialised again."""
        with self.lock:
            self._value = None

    @property
    def nbytes(self) -> int:
        """Size of the current value in bytes; 0 before the first assignment."""
        value = self._settled()
        return 0 if value is None else int(value.nbytes)

    @property
    def handle(self) -> ResourceHandle:
        """The handle that resource ops get."""
        return ResourceHandle(self.device, self.container, self.name, VARIABLE_TYPE, self)

    def uninitialized_error(self) -> FailedPreconditionError:
        """The error about reading too early."""
        facts = {"device": self.device} if self.device else {}
        if not self.is_resource:
            sentence = f"Attempting to use uninitialized value {self.name}"
        elif rules() == "1.15":
            sentence = (
                f"Error while reading resource variable {self.name} from Container: {self.container}. This could mean"
                f" that the variable was uninitialized. Not found: {_missing(self.container, self.name, VARIABLE_TYPE)}"
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
    """Replaces the values of variables together, with no assignment or read in between; returns the new ones.

    Args:
        storages: the variables.
        function: gets their values, and for each whether it may be written to: nobody else has the array, nor a view
            of it. Returns the new values; one that was written to may be among them.
        *arguments: what it gets besides.

    Raises:
        FailedPreconditionError: nothing was assigned to one of them yet.
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
    """Whether the list is all that refers to the memory of an array, for each that is large."""
    return [
        value.nbytes >= LARGE_BYTES
        and sys.getrefcount(value) <= _REFERENCES
        and value.base is None
        and getattr(value.flags, "writeable", True)
        for value in values
    ]


def _references(values: list[Any]) -> list[int]:
    """References to each item while a comprehension goes over the list; versions of Python count differently."""
    return [sys.getrefcount(value) for value in values]


_REFERENCES = _references([object()])[0] if getattr(sys, "_is_gil_enabled", lambda: True)() else 0
"""References to an item that nothing but a list refers to; 0 where other threads' references are counted later."""


def _missing(container: str, name: str, type_name: str) -> str:
    return f"Resource {container}/{name}/{type_name} does not exist."


@dataclass(frozen=True, slots=True)
class ResourceHandle:
    """The value of a tensor of type ``resource``: names a resource and points at it."""

    device: str
    container: str
    name: str
    type_name: str
    """The resource's type as messages print it."""
    resource: Any = field(compare=False, repr=False)
    """The object itself."""

    @property
    def value(self) -> Any:
        """Container and name, ``[2]``: what is read where the handle is a reference to strings."""
        return np.array([self.container.encode(), self.name.encode()], object)

    @property
    def variable(self) -> VariableStorage:
        """The variable it names, initialised or not; InvalidArgumentError if it names something else."""
        return self.resource_of(VariableStorage, VARIABLE_TYPE)

    def resource_of(self, kind: type[Resource], type_name: str) -> Resource:
        """Return the resource that it names; InvalidArgumentError if that is of another class.

        Args:
            kind: the class.
            type_name: its name in messages.
        """
        if isinstance(self.resource, kind):
            return self.resource
        raise InvalidArgumentError.of(
            f"Trying to access resource using the wrong type. Expected {type_name} got {self.type_name}",
            facts={"resource": f"{self.container}/{self.name}"},
        )

    @property
    def text(self) -> Any:
        """Device, container and name as a string scalar, which `named_by` reads."""
        text = np.empty((), object)
        text[()] = "\0".join((self.device, self.container, self.name)).encode()
        return text

    @classmethod
    def named_by(cls, text: Any, resources: Any, type_name: str) -> ResourceHandle:
        """Return the handle of a resource that is named by a text.

        Args:
            text: a string scalar, the `text` of a handle.
            resources: the session's.
            type_name: the resource's type in messages.

        Raises:
            InvalidArgumentError: the text is none of a handle.
            NotFoundError: the session has no such resource.
        """
        parts = bytes(text[()]).decode(errors="replace").split("\0")
        if len(parts) != 3:
            raise InvalidArgumentError.of(
                "Could not parse string_handle as a valid ResourceHandle",
                hint="feed what session.run(iterator.string_handle()) returned",
            )
        device, container, name = parts
        try:
            resource = resources.lookup(container, name, device, type_name)
        except NotFoundError:
            raise NotFoundError.of(
                _missing(container, name, type_name),
                hint="take the handle in the same session, as session.run(iterator.string_handle())",
            ) from None
        return cls(device, container, name, type_name, resource)


@runtime_checkable
class Closing(Protocol):
    """A resource that has something to give up when the session ends."""

    def end_session(self) -> None:
        """Gives it up."""
        ...


class FunctionRuns(Protocol):
    """Runs functions of graphs' libraries on the devices of a session."""

    def callable_of(
        self, graph: Any, name: str, device: str, state: Any
    ) -> Callable[[Sequence[Any]], list[Any]]:
        """A function that takes the values of all arguments and returns those of all results.

        Args:
            graph: the graph whose library has the function.
            name: the function.
            device: full name of the device that it runs on.
            state: where its kernels keep what they keep, as ``SessionResources`` or ``CallResources``.

        Raises:
            OpError: it is not there, not sound, or cannot be computed.
        """
        ...


class CountsMemory(Protocol):
    """The allocator of a device's memory."""

    def stats(self) -> Any:
        """Its counters now, with ``bytes_in_use``, ``peak_bytes_in_use`` and ``bytes_limit``."""
        ...


class SessionResources:
    """The resources of one session by device, container and name, and the state that its kernels keep.

    Safe to use from several threads.
    """

    def __init__(self) -> None:
        self._resources: dict[tuple[str, str, str], Any] = {}
        self._kernel_states: dict[str, Any] = {}
        self._lock = threading.RLock()
        self.is_closed = False
        """Whether the session was closed; loops ask in every iteration."""
        self.cancellation = Cancellation()
        """Ends what waits when the session is closed."""
        self.functions: FunctionRuns | None = None
        """Runs functions of graphs' libraries."""
        self.allocators: Mapping[str, CountsMemory] = {}
        """Full name of each simulated GPU -> what counts the bytes of its memory."""

    def _key(self, device: str, container: str, name: str) -> tuple[str, str, str]:
        """What a resource is kept under."""
        return device, container or DEFAULT_CONTAINER, name

    def get_or_create(
        self, container: str, name: str, factory: Callable[[], Resource], device: str = ""
    ) -> Resource:
        """The resource of that name, made by ``factory`` at the first call ("" is the default container)."""
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
        """The variable of that name, made uninitialised at the first call.

        Raises:
            InvalidArgumentError: it exists with another type, or the name belongs to another kind of resource.
        """
        container = container or DEFAULT_CONTAINER
        found = self.get_or_create(
            container,
            name,
            lambda: VariableStorage(
                name, dtype.base_dtype, shape, device=device, container=container, is_resource=is_resource
            ),
            device,
        )
        if not isinstance(found, VariableStorage):
            raise InvalidArgumentError.of(
                f"Resource {container}/{name} is a {type(found).__name__}, no variable"
            )
        if found.dtype is not dtype.base_dtype:
            raise InvalidArgumentError.of(
                f"Trying to access resource {name} located in device {device or 'unknown'} with dtype"
                f" {dtype.base_dtype.short_name}, which was created with dtype {found.dtype.short_name}"
            )
        return found

    def lookup(self, container: str, name: str, device: str = "", type_name: str = VARIABLE_TYPE) -> Any:
        """The resource of that name; NotFoundError if there is none."""
        with self._lock:
            found = self._resources.get(self._key(device, container, name), self)
        if found is self:
            raise NotFoundError.of(_missing(container or DEFAULT_CONTAINER, name, type_name))
        return found

    def delete(self, container: str, name: str, device: str = "", type_name: str = VARIABLE_TYPE) -> None:
        """Forgets a resource; NotFoundError if there is none. A variable loses its value too."""
        with self._lock:
            found = self.lookup(container, name, device, type_name)
            del self._resources[self._key(device, container, name)]
        if isinstance(found, VariableStorage):
            found.reset()

    def kernel_state(self, node: str, factory: Callable[[], Resource]) -> Resource:
        """What the kernel of a node keeps between steps, such as a random generator; made at the first call."""
        with self._lock:
            if node not in self._kernel_states:
                self._kernel_states[node] = factory()
            state: Resource = self._kernel_states[node]
        return state

    def variables(self) -> tuple[VariableStorage, ...]:
        """All variables, by name."""
        with self._lock:
            found = [
                resource for resource in self._resources.values() if isinstance(resource, VariableStorage)
            ]
        return tuple(sorted(found, key=lambda variable: (variable.name, variable.device)))

    def clear(self, container: str | None = None) -> None:
        """Forgets the resources of a container, or all of them together with what kernels keep."""
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
"""The container of tensors that stay in a session between steps."""


def session_tensor(resources: Any, handle: str) -> Any:
    """A tensor that stays in a session.

    Args:
        resources: the session's, or a call's.
        handle: by which the session knows it.

    Raises:
        InvalidArgumentError: it does not, or no more.
    """
    try:
        return resources.lookup(SESSION_TENSORS, handle)
    except NotFoundError:
        raise InvalidArgumentError.of(
            f"The tensor with handle '{handle}' is not in the session store.",
            hint="keep what session.run(tf.get_session_handle(...)) returned: the tensor is forgotten with it",
        ) from None


class CallResources:
    """The resources of a session for the kernels of a function, which keep their own state apart.

    Args:
        session: the session's resources.
    """

    def __init__(self, session: SessionResources) -> None:
        self._session = session
        self._states: dict[str, Any] = {}
        self._lock = threading.RLock()

    def kernel_state(self, node: str, factory: Callable[[], Resource]) -> Resource:
        """As ``SessionResources.kernel_state``, apart from those of the session and of other calls."""
        with self._lock:
            if node not in self._states:
                self._states[node] = factory()
            state: Resource = self._states[node]
        return state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

"""Device names as Python programs write them: ``DeviceSpec``, canonical names, device functions.

A specification has five optional parts, ``/job:<str>/replica:<int>/task:<int>/device:<TYPE>:<int>``; a missing part
matches any value. TensorFlow has two parsers of such names, which disagree: the lenient Python parser is here
(``gpu:0``, ``//cpu:0`` and ``/GPU:0`` are all valid); the strict C++ parser, which runs when a session is created, is
in ``gpuplace.device.parsed_name`` and re-exported here.

>>> ps = DeviceSpec.from_string("/job:ps")
>>> ps.make_merged_spec(DeviceSpec.from_string("/gpu:1")).to_string()
'/job:ps/device:GPU:1'
>>> [canonical_name(text) for text in ("/cpu:0", "gpu:0", ":/gpu:0", "//cpu:0", "/device:gpu:*", "/gpu")]
['/device:CPU:0', '/device:GPU:0', '/device:GPU:0', '/device:CPU:0', '/device:GPU:*', '/device:GPU:*']

Source: tensorflow/python/framework/device_spec.py and device.py, releases 1.15 and 2.21.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

from gpuplace import release
from gpuplace.device.parsed_name import device_text

_Parts = tuple[str | None, str | None, str | None, str | None, int | None]

_SHORT_TYPES = {
    "1.15": frozenset({"CPU", "GPU"}),
    "2.21": frozenset({"CPU", "GPU", "TPU", "CUSTOM", "EPU"}),
}
"""Types that may be written without ``device:``, by rule set."""


class _HasDevice(Protocol):
    """Argument of a device function: an operation or a node."""

    @property
    def device(self) -> str | None: ...


class DeviceSpec:
    """A possibly partial device specification, mutable as in TensorFlow 1.

    Args:
        job: job name, for example ``"worker"``.
        replica: replica index.
        task: task index.
        device_type: for example ``"GPU"``; only lower-case ``"cpu"`` and ``"gpu"`` become upper-case.
        device_index: index among the task's devices of that type. Without it the name ends in ``:*``.

    >>> DeviceSpec(job="ps", device_type="gpu", device_index=0).to_string()
    '/job:ps/device:GPU:0'
    """

    __slots__ = ("_device_index", "_device_type", "_job", "_replica", "_task")

    def __init__(
        self,
        job: Any = None,
        replica: Any = None,
        task: Any = None,
        device_type: Any = None,
        device_index: Any = None,
    ) -> None:
        self.job = job
        self.replica = replica
        self.task = task
        self.device_type = device_type
        self.device_index = device_index

    @property
    def job(self) -> str | None:
        """Job name, or None for any."""
        return self._job

    @job.setter
    def job(self, job: Any) -> None:
        self._job: str | None = None if job is None else str(job)

    @property
    def replica(self) -> int | None:
        """Replica index, or None for any."""
        return self._replica

    @replica.setter
    def replica(self, replica: Any) -> None:
        self._replica: int | None = None if replica is None else _index(replica)

    @property
    def task(self) -> int | None:
        """Task index, or None for any."""
        return self._task

    @task.setter
    def task(self, task: Any) -> None:
        self._task: int | None = None if task is None else _index(task)

    @property
    def device_type(self) -> str | None:
        """Device type, for example ``GPU``, or None for any."""
        return self._device_type

    @device_type.setter
    def device_type(self, device_type: Any) -> None:
        if device_type in ("cpu", "gpu"):
            device_type = device_type.upper()
        self._device_type: str | None = None if device_type is None else str(device_type)

    @property
    def device_index(self) -> int | None:
        """Device index, or None for any."""
        return self._device_index

    @device_index.setter
    def device_index(self, device_index: Any) -> None:
        self._device_index: int | None = None if device_index is None else _index(device_index)

    @classmethod
    def from_string(cls, spec: str | None) -> DeviceSpec:
        """Return a new specification from text.

        Args:
            spec: such as ``"/job:ps/gpu:0"``; None and ``""``: the empty specification.

        Raises:
            ValueError: a part is unknown, there are two device types, or an index is not a number.
        """
        return cls(*_parts_of(spec or "", release.rules()))

    def parse_from_string(self, spec: str | None) -> DeviceSpec:
        """Replace all parts of this specification with the parts in a text, and return it.

        Args:
            spec: such as ``"/job:ps/gpu:0"``; None and ``""`` clear all parts.

        Raises:
            ValueError: as for ``from_string``; the specification is then unchanged.
        """
        self._set(*_parts_of(spec or "", release.rules()))
        return self

    def merge_from(self, dev: DeviceSpec) -> None:
        """Copy every part that another specification sets.

        Args:
            dev: the other specification.
        """
        self._set(*self._merged_parts(dev))

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Return a new specification with the parts that another one sets, and this one's otherwise.

        Args:
            dev: the other specification.
        """
        return type(self)(*self._merged_parts(dev))

    def replace(self, **kwargs: Any) -> DeviceSpec:
        """Return a new specification with the given parts replaced.

        Args:
            **kwargs: ``job``, ``replica``, ``task``, ``device_type``, ``device_index``; None clears a part.

        Raises:
            TypeError: a keyword is not one of the five parts.
        """
        names = ("job", "replica", "task", "device_type", "device_index")
        return type(self)(**(dict(zip(names, self._parts(), strict=True)) | kwargs))

    def to_string(self) -> str:
        """Return the canonical name; an index without a type is not printed."""
        return device_text(*self._parts())

    def _parts(self) -> tuple[Any, ...]:
        return self.job, self.replica, self.task, self.device_type, self.device_index

    def _set(self, *parts: Any) -> None:
        self.job, self.replica, self.task, self.device_type, self.device_index = parts

    def _merged_parts(self, dev: DeviceSpec) -> tuple[Any, ...]:
        return (
            self.job if dev.job is None else dev.job,
            self.replica if dev.replica is None else dev.replica,
            self.task if dev.task is None else dev.task,
            self.device_type if dev.device_type is None else dev.device_type,
            self.device_index if dev.device_index is None else dev.device_index,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DeviceSpec):
            return NotImplemented
        return self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        return f"<gpuplace.DeviceSpec {self.to_string()!r}>"


_REMEMBERED = 1000
"""Maximum length of cached specifications, in characters."""


def _parts_of(spec: str, rules: str) -> _Parts:
    return _parse(spec, rules) if len(spec) <= _REMEMBERED else _parse.__wrapped__(spec, rules)


@lru_cache(maxsize=4096)
def _parse(spec: str, rules: str) -> _Parts:
    """Return the five parts of ``spec``, all but the index as text, by the rules of 1.15 or 2.21."""
    job = replica = task = device_type = None
    device_index: int | None = None
    for part in spec.split("/"):
        match part.split(":"):
            case ["job", text]:
                job = text
            case ["replica", text]:
                replica = text
            case ["task", text]:
                task = text
            case [short, *index] if len(index) < 2 and short.upper() in _SHORT_TYPES[rules]:
                _refuse_second_type(device_type, spec, rules)
                device_type = short.upper()
                if index and index[0] != "*":
                    device_index = _index(index[0])
            case ["device", kind, index_text]:
                _refuse_second_type(device_type, spec, rules)
                device_type = kind
                if index_text != "*":
                    device_index = _index(index_text)
            case ["", *_]:
                pass
            case [unknown, *_]:
                if rules == "2.21":
                    raise ValueError(
                        f"Unknown attribute '{unknown}' is encountered while parsing the device spec: '{spec}'."
                    )
                raise ValueError(f"Unknown attribute: '{unknown}' in '{spec}'")
    return job, replica, task, device_type, device_index


_MAX_DIGITS = 4300
"""Maximum number of digits that Python converts to an integer."""


def _index(value: Any) -> int:
    if isinstance(value, str) and len(value) > _MAX_DIGITS:
        raise ValueError(f"A device index of {len(value)} digits is too large: {value[:20]}...")
    return int(value)


def _refuse_second_type(device_type: str | None, spec: str, rules: str) -> None:
    if device_type is None:
        return
    if rules == "2.21":
        raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
    raise ValueError(f"Cannot specify multiple device types: {spec}")


def check_valid(spec: str) -> None:
    """Check that TensorFlow's Python code accepts a device name.

    Args:
        spec: device name.

    Raises:
        ValueError: the name is invalid.
    """
    DeviceSpec.from_string(spec)


def canonical_name(device: DeviceSpec | str | None) -> str:
    """Return the full spelling of the request ``tf.device(device)``.

    Args:
        device: a name or ``DeviceSpec``; None gives ``""``.

    Raises:
        ValueError: as for ``DeviceSpec.from_string``.
    """
    if isinstance(device, DeviceSpec):
        return device.to_string()
    return DeviceSpec.from_string(device).to_string()


class MergeDevice:
    """A device function that merges a specification into a node's device; parts set by inner scopes win."""

    __slots__ = ("_cache", "_spec")

    def __init__(self, spec: DeviceSpec | str | None) -> None:
        text = spec.to_string() if isinstance(spec, DeviceSpec) else spec
        self._spec = DeviceSpec.from_string(text)
        self._cache: dict[str, str] = {}

    def __call__(self, node_def: _HasDevice) -> DeviceSpec:
        """Return the specification of a node whose ``device`` was set by inner scopes."""
        return self._spec.make_merged_spec(DeviceSpec.from_string(node_def.device))

    def shortcut_string_merge(self, node_def: _HasDevice) -> str:
        """Return the specification as text, cached per inner device; graph construction calls this per node."""
        device = node_def.device or ""
        merged = self._cache.get(device)
        if merged is None:
            merged = self._cache[device] = self(node_def).to_string()
        return merged

    @property
    def is_null_merge(self) -> bool:
        """Whether this function changes nothing."""
        return not self._spec.to_string()

    def to_string(self) -> str:
        """Return the canonical name of the specification."""
        return self._spec.to_string()

    def __repr__(self) -> str:
        return f"<gpuplace.MergeDevice {self._spec.to_string()!r}>"


def merge_device(spec: DeviceSpec | MergeDevice | str | None) -> MergeDevice:
    """Return the device function of ``with tf.device(spec)``; parts set by an inner scope win.

    >>> class Node:
    ...     device = "/job:ps"
    >>> merge_device("/gpu:1").shortcut_string_merge(Node)
    '/job:ps/device:GPU:1'

    Args:
        spec: a name or ``DeviceSpec``; a device function is returned unchanged; None changes nothing.

    Raises:
        ValueError: as for ``DeviceSpec.from_string``.
    """
    if isinstance(spec, MergeDevice):
        return spec
    text = spec.to_string() if isinstance(spec, DeviceSpec) else spec or ""
    return _merger(text, release.rules()) if len(text) <= _REMEMBERED else MergeDevice(text)


@lru_cache(maxsize=4096)
def _merger(spec: str, rules: str) -> MergeDevice:
    return MergeDevice(spec)

"""Device names as TensorFlow's C++ code parses, matches and merges them.

``parse_name`` is the strict parser that runs when a session is created: names that it rejects are a "Malformed device
specification". It differs from ``DeviceSpec`` (the Python side):

=====================  ==================  =====================
text                   DeviceSpec          parse_name
=====================  ==================  =====================
``gpu:0``              ``/device:GPU:0``   refused
``/gpu``               ``/device:GPU:*``   refused
``/gpu:0/``            ``/device:GPU:0``   refused
``/gpu:0/cpu:0``       ValueError          ``/device:CPU:0``
``/device:gpu:1``      ``/device:GPU:1``   ``/device:gpu:1``, a type that never exists
``/device:GPU``        ValueError          ``/device:GPU:*``
``/``                  empty               empty
=====================  ==================  =====================

A missing part or ``*`` is None and matches any value.

>>> parse_name("/job:ps/gpu:01")
ParsedName(job='ps', replica=None, task=None, type='GPU', id=1)
>>> parse_name("/tpu:0") is None
True

Source: tensorflow/core/util/device_name_utils.cc, releases 1.15 and 2.21.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from gpuplace.device.limits import number_of
from gpuplace.errors import InvalidArgumentError

_JOB = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?=/|\Z)")
_TYPE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(?=[/:]|\Z)")
_DIGITS = re.compile(r"[0-9]+")


def device_text(
    job: str | None, replica: int | None, task: int | None, device_type: str | None, index: int | None
) -> str:
    """Return the canonical text of the parts of a name; an index without a type is not printed."""
    text = ""
    if job is not None:
        text += f"/job:{job}"
    if replica is not None:
        text += f"/replica:{replica}"
    if task is not None:
        text += f"/task:{task}"
    if device_type is not None:
        text += f"/device:{device_type}:{'*' if index is None else index}"
    return text


class ParsedName(NamedTuple):
    """The five parts of a device name; None matches any value."""

    job: str | None = None
    """Job name."""
    replica: int | None = None
    """Replica index."""
    task: int | None = None
    """Task index."""
    type: str | None = None
    """Device type in its original case (``/gpu:`` and ``/cpu:`` become upper case)."""
    id: int | None = None
    """Device index; may be set without a type (``/device:*:1``)."""

    def to_string(self) -> str:
        """Return the canonical text; an id without a type is not printed, a type without an id ends in ``:*``."""
        return device_text(*self)

    def to_legacy_string(self) -> str:
        """Return the text of releases before 1.4: ``/job:ps/gpu:0`` for ``/job:ps/device:GPU:0``."""
        if self.type is None:
            return self.to_string()
        index = "*" if self.id is None else self.id
        return f"{self._replace(type=None).to_string()}/{self.type.lower()}:{index}"

    @property
    def local_name(self) -> str:
        """``/device:GPU:0`` of a name with type and id.

        Raises:
            ValueError: type or id is missing.
        """
        if self.type is None or self.id is None:
            raise ValueError(f"{self.to_string()!r} has no device type and index, so it has no local name")
        return f"/device:{self.type}:{self.id}"

    @property
    def is_complete(self) -> bool:
        """Whether all five parts are set."""
        return None not in self

    def is_complete_specification(self, name: ParsedName) -> bool:
        """Return whether the complete ``name`` has every part that this pattern sets (IsCompleteSpecification).

        Raises:
            ValueError: ``name`` is not complete.
        """
        if None in name:
            raise ValueError(f"expected a complete device name, got {name.to_string()!r}")
        return self.is_specification(name)

    def is_specification(self, more_specific: ParsedName) -> bool:
        """Return whether ``more_specific`` has every part of this name (IsSpecification)."""
        for mine, theirs in zip(self, more_specific, strict=True):
            if mine is not None and mine != theirs:
                return False
        return True

    def is_compatible(self, other: ParsedName) -> bool:
        """Return whether no part has different values in both names (AreCompatibleDevNames)."""
        for mine, theirs in zip(self, other, strict=True):
            if mine is not None and theirs is not None and mine != theirs:
                return False
        return True

    def is_same_address_space(self, other: ParsedName) -> bool:
        """Return whether both names set the same job, replica and task (IsSameAddressSpace)."""
        return self[:3] == other[:3] and None not in self[:3]

    def merge(self, other: ParsedName, *, allow_soft_placement: bool = False) -> ParsedName:
        """Merge two requests (MergeDevNames).

        With soft placement, the id is dropped if the ids differ, and type and id if the types differ; job, replica and
        task are never dropped.

        >>> gpu, cpu = parse_name("/gpu:0"), parse_name("/job:a/cpu:0")
        >>> gpu.merge(cpu, allow_soft_placement=True).to_string()
        '/job:a'

        Raises:
            InvalidArgumentError: the names conflict; "Cannot merge devices with incompatible types: ...".
        """
        return self._merge(other, soft=allow_soft_placement, override=False)

    def merge_override(self, other: ParsedName) -> ParsedName:
        """Merge as with soft placement, but ``other`` wins where type or id conflict (MergeOverrideDevNames).

        Raises:
            InvalidArgumentError: jobs, replicas or tasks conflict.
        """
        return self._merge(other, soft=True, override=True)

    def merge_unset(self, other: ParsedName) -> ParsedName:
        """Return this name with its missing parts taken from ``other`` (MergeUnsetDevNames)."""
        if self == ANY:
            return other
        if other == ANY or None not in self:
            return self
        return ParsedName._make(
            [theirs if mine is None else mine for mine, theirs in zip(self, other, strict=True)]
        )

    def ensure_specification(self, less_specific: ParsedName) -> ParsedName:
        """Return this name with all parts of ``less_specific`` taken from it (EnsureSpecification)."""
        return less_specific.merge_unset(self)

    def _merge(self, other: ParsedName, *, soft: bool, override: bool) -> ParsedName:
        if other == ANY or self == other:  # the common case
            return self
        if self == ANY:
            return other
        merged = self
        for part, plural in (("job", "jobs"), ("replica", "replicas"), ("task", "tasks")):
            merged = merged._merge_part(other, part, plural)
        if other.type is not None and merged.type is not None and merged.type != other.type and soft:
            if not override:
                return merged._replace(type=None, id=None)
            merged = merged._replace(type=other.type)
        merged = merged._merge_part(other, "type", "types")
        if other.id is not None and merged.id is not None and merged.id != other.id and soft:
            return merged._replace(id=other.id if override else None)
        return merged._merge_part(other, "id", "ids")

    def _merge_part(self, other: ParsedName, part: str, plural: str) -> ParsedName:
        mine, theirs = getattr(self, part), getattr(other, part)
        if theirs is None or mine == theirs:
            return self
        if mine is None:
            return self._replace(**{part: theirs})
        raise InvalidArgumentError.of(
            f"Cannot merge devices with incompatible {plural}: '{self.to_string()}' and '{other.to_string()}'"
        )


ANY = ParsedName()
"""The name that matches every device."""


def parse_name(text: str) -> ParsedName | None:
    """Parse a device name as C++ does, or return None if it is rejected (ParseFullName).

    Parts may come in any order and repeat; the last one wins, even if it is ``*``. ``""`` and ``"/"`` are empty.
    """
    return _parse_once(text) if len(text) <= _REMEMBERED else _parse(text)


def _parse(text: str) -> ParsedName | None:
    if text == "/":
        return ANY
    parts: dict[str, str | int | None] = {}
    at = 0
    while at < len(text):
        for prefix, read in _READERS:
            if text.startswith(prefix, at):
                end = read(text, at + len(prefix), parts)
                if end is None:
                    return None
                at = end
                break
        else:
            return None
    return ParsedName(**parts)  # type: ignore[arg-type]


def parse_local_name(text: str) -> ParsedName | None:
    """Parse ``GPU:0`` (no slash, both parts required), or return None (ParseLocalName)."""
    kind = _TYPE.match(text)
    if kind is None or not text.startswith(":", kind.end()):
        return None
    number = _read_number(text, kind.end() + 1)
    if number is None or number[1] != len(text):
        return None
    return ParsedName(type=kind[0], id=number[0])


def full_name(job: str, replica: int, task: int, device_type: str, index: int) -> str:
    """Return a full name such as ``/job:localhost/replica:0/task:0/device:GPU:0``.

    Raises:
        ValueError: ``job`` is not a valid job name, or a number is negative.
    """
    if not _JOB.fullmatch(job) or not device_type or min(replica, task, index) < 0:
        raise ValueError(f"invalid parts of a device name: {(job, replica, task, device_type, index)}")
    return f"/job:{job}/replica:{replica}/task:{task}/device:{device_type}:{index}"


def canonicalize_device_name(fullname: str, basename: str) -> str:
    """Return ``fullname`` (or a local ``GPU:0``) with its missing parts taken from the complete ``basename``.

    Raises:
        InvalidArgumentError: a name cannot be parsed, or ``basename`` is not complete.
    """
    base = parse_name(basename)
    if base is None:
        raise InvalidArgumentError.of(f"Could not parse basename: {basename} into a device specification.")
    if not base.is_complete:
        raise InvalidArgumentError.of(f"Basename: {basename} should be fully specified.")
    parsed = parse_local_name(fullname) or parse_name(fullname)
    if parsed is None:
        raise InvalidArgumentError.of(f"Could not parse {fullname} into a device specification.")
    return parsed.merge_unset(base).to_string()


_REMEMBERED = 1000
"""Maximum length of cached names, in characters."""
_parse_once = lru_cache(maxsize=65536)(_parse)


def _read_number(text: str, at: int) -> tuple[int, int] | None:
    """Read a decimal number as a C ``int``; return it and its end, or None without digits or above 64 bits."""
    digits = _DIGITS.match(text, at)
    number = number_of(digits[0]) if digits is not None else 1 << 64
    if digits is None or number >= 1 << 64:
        return None
    low = number & 0xFFFFFFFF
    return (low - (1 << 32) if low >> 31 else low), digits.end()


def _read_job(text: str, at: int, parts: dict[str, str | int | None]) -> int | None:
    if text.startswith("*", at):
        parts["job"] = None
        return at + 1
    job = _JOB.match(text, at)
    if job is None:
        return None
    parts["job"] = job[0]
    return job.end()


def _number_reader(part: str):  # type: ignore[no-untyped-def]
    def read(text: str, at: int, parts: dict[str, str | int | None]) -> int | None:
        if text.startswith("*", at):
            parts[part] = None
            return at + 1
        number = _read_number(text, at)
        if number is None:
            return None
        parts[part] = number[0]
        return number[1]

    return read


_read_id = _number_reader("id")


def _read_device(text: str, at: int, parts: dict[str, str | int | None]) -> int | None:
    if text.startswith("*", at):
        parts["type"] = None
        at += 1
    else:
        kind = _TYPE.match(text, at)
        if kind is None:
            return None
        parts["type"] = kind[0]
        at = kind.end()
    if text.startswith(":", at):
        end: int | None = _read_id(text, at + 1, parts)
        return end
    parts["id"] = None
    return at


def _short_reader(kind: str):  # type: ignore[no-untyped-def]
    def read(text: str, at: int, parts: dict[str, str | int | None]) -> int | None:
        parts["type"] = kind
        end: int | None = _read_id(text, at, parts)
        return end

    return read


_READERS = (
    ("/job:", _read_job),
    ("/replica:", _number_reader("replica")),
    ("/task:", _number_reader("task")),
    ("/device:", _read_device),
    ("/cpu:", _short_reader("CPU")),
    ("/CPU:", _short_reader("CPU")),
    ("/gpu:", _short_reader("GPU")),
    ("/GPU:", _short_reader("GPU")),
)


def short_name(device: str) -> str:
    """Return ``GPU:2``, or ``worker/1 GPU:2`` for another process; other texts are returned unchanged.

    Args:
        device: full or partial device name.
    """
    parsed = parse_name(device)
    if parsed is None:
        return device
    kind = parsed.type or "any"
    short = kind if parsed.id is None else f"{kind}:{parsed.id}"
    if parsed.job in (None, "", "localhost") and parsed.task in (None, 0) and parsed.replica in (None, 0):
        return short
    replica = f"/{parsed.replica}" if parsed.replica else ""
    return f"{parsed.job or 'any'}{replica}/{parsed.task if parsed.task is not None else '*'} {short}"

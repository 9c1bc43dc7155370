"""Kernel selection for a node on a device type, by TensorFlow's rules and the kernel registrations of a release.

    rows of AddN        T           host memory      query: T=int32 on GPU
    CPU                 any         -                    own rows (GPU): none supports int32
    GPU                 float       -                    DEFAULT rows:   the third supports it
    DEFAULT             int32       inputs, sum          -> match, its arguments stay in host memory

A row matches a node if device type and label (the node's ``_kernel`` attribute) are equal and all constraints hold. If
no row of the device type matches, rows of type ``DEFAULT`` are tried, in 1.15 and 2.21 alike. Two matching rows are an
error; in 2.21 only if their priorities are equal.

>>> from gpuplace.dtypes import as_dtype
>>> float32 = as_dtype("float32")
>>> kernel, was_attr_mismatch = default_catalogue("2.21").kernels.find("MatMul", {"T": float32}, "GPU")
>>> print(kernel)
GPU T=float

Source: FindKernelRegistration in tensorflow/core/framework/op_kernel.cc, releases 1.15 and 2.21; MemoryTypesForNode in
core/framework/memory_types.cc, the same releases.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Set
from functools import cache, cached_property
from typing import Any

from gpuplace.dtypes import ALL_DTYPES, DTYPES_OF_1_15, DType, int32, ref_type, resource, string
from gpuplace.errors import InvalidArgumentError
from gpuplace.graph.data_file import DataFile, read_data_file
from gpuplace.graph.long_list import LongList, Positions
from gpuplace.graph.op_def import OpDef, OpRegistry, make_op_def, op_registry
from gpuplace.graph.op_notation import ArgDef
from gpuplace.graph.op_sets import CALL_OPS
from gpuplace.kernels.kernel_def import DEFAULT_DEVICE_TYPE, KernelDef, make_kernel_def, parse_kernel
from gpuplace.release import RELEASES, rules

KERNEL_ATTR = "_kernel"
"""Node attribute that requests kernels with a label."""

_INPUTS_ATTR, _OUTPUTS_ATTR = "_input_hostmem", "_output_hostmem"
"""Node attributes that list additional tensors in host memory."""

SYMBOLIC_DEVICE_TYPES = frozenset({"XLA_CPU_JIT", "XLA_GPU_JIT", "XLA_TPU_JIT"})
"""Device types of the XLA compiler, which DEFAULT rows do not match."""

ALWAYS_ON_HOST = frozenset({string, ref_type(string), resource})
"""Types whose tensors are always in host memory; without a kernel, int32 too."""

FUNCTION_CALL_OPS = CALL_OPS | {"SymbolicGradient", "While"}
"""Ops that call a function: their memory types depend on the data types alone, as if they had no kernel. In 2.21 also
StatelessWhile."""

Found = tuple[KernelDef | None, bool]
"""The matching row, and whether some row failed only because of the attributes."""

HostMemory = tuple[Set[int], Set[int]]
"""Positions of the inputs and of the outputs in host memory, with lists expanded."""


class _OpKernels:
    """The rows of an op with cached results."""

    __slots__ = ("_asked", "answers", "attr_names", "by_key", "in_memory", "rows")

    def __init__(self, rows: tuple[KernelDef, ...]) -> None:
        self.rows = rows
        self.attr_names = tuple(dict.fromkeys(name for row in rows for name, _ in row.constraints))
        self.by_key: dict[tuple[str, str], list[KernelDef]] = {}
        for row in rows:
            self.by_key.setdefault((row.device_type, row.label), []).append(row)
        self.answers: dict[tuple[Any, ...], Found] = {}
        self.in_memory: dict[tuple[Any, ...], HostMemory] = {}
        self._asked: tuple[OpDef | None, tuple[str, ...]] = None, ()

    def asked(self, op_def: OpDef) -> tuple[str, ...]:
        """Return the attributes that determine the memory types of a node's tensors."""
        cached_def, names = self._asked
        if cached_def is not op_def:
            names = tuple(dict.fromkeys((*self.attr_names, *op_def.type_attrs, KERNEL_ATTR)))
            self._asked = op_def, names
        return names


_MAX_ANSWERS = 4096
"""Maximum number of cached results per op."""


def _is_small(key: tuple[Any, ...]) -> bool:
    """Return whether a query is worth caching: without long lists and texts."""
    return all(not isinstance(value, (tuple, str, bytes)) or len(value) <= 1000 for value in key)


class KernelRegistry:
    """Kernel rows by op: those of a release's data file, if any, and additional registrations.

    Thread-safe; the file is read on the first query, and rows are parsed op by op.
    """

    def __init__(self, release: str | None = None) -> None:
        self.release = release
        """``"1.15"``, ``"2.21"``, or None for an initially empty registry, which follows the rules of 2.21."""
        self.additions = 0
        """Number of additional registrations."""
        self._ops: dict[str, _OpKernels] = {}
        self._added: dict[str, tuple[KernelDef, ...]] = {}
        self._lock = threading.Lock()

    @classmethod
    def load(cls, release: str | None = None) -> KernelRegistry:
        """Return a new registry with all rows of ``release`` (see ``release.rules``)."""
        return cls(rules(release))

    @cached_property
    def _file(self) -> DataFile:
        return DataFile({}, {}) if self.release is None else _read_kernels(self.release)

    @property
    def facts(self) -> dict[str, str]:
        """Source of the rows: ``tensorflow``, ``release``, ``ops``, ``kernels``; empty without a file."""
        return dict(self._file.facts)

    def op_names(self) -> tuple[str, ...]:
        """Return the sorted names of all ops with kernels."""
        return tuple(sorted({*self._file.blocks, *self._added}))

    def rows(self, op: str) -> tuple[KernelDef, ...]:
        """Return all rows of an op, by device type, label and priority; empty without kernels."""
        return self._of(op).rows

    def deciding_attrs(self, op: str) -> tuple[str, ...]:
        """Return the attributes with constraints in an op's rows, without ``_kernel``."""
        return self._of(op).attr_names

    def _of(self, op: str) -> _OpKernels:
        kernels = self._ops.get(op)
        if kernels is None:
            with self._lock:
                lines = self._file.blocks.get(op, "").splitlines()
                rows = tuple(parse_kernel(op, line) for line in lines) + self._added.get(op, ())
                kernels = self._ops[op] = _OpKernels(rows)
        return kernels

    def register(self, row: KernelDef) -> KernelDef:
        """Add a row. As in TensorFlow, a second matching row is detected when a node is looked up."""
        with self._lock:
            self._added[row.op] = (*self._added.get(row.op, ()), row)
            self._ops.pop(row.op, None)
            self.additions += 1
        return row

    def find(self, op: str, attrs: Mapping[str, Any], device_type: str, node: str | None = None) -> Found:
        """Return the kernel of a node on a device type.

        Args:
            op: op type.
            attrs: attributes of the node including defaults (see ``attr_value``); types as ``DType``.
            device_type: ``"CPU"``, ``"GPU"``, ...
            node: node name for error messages.

        Returns:
            The row or None, and whether a row for this op and device type failed only because of the attributes.

        Raises:
            InvalidArgumentError: two rows match the node, or an attribute that a row needs is missing.
        """
        kernels = self._of(op)
        label = attrs.get(KERNEL_ATTR, "")
        if isinstance(label, bytes):
            label = label.decode(errors="replace")
        elif not isinstance(label, str):  # TensorFlow ignores a label that is not a string
            label = ""
        key = (device_type, label, *[attrs.get(name) for name in kernels.attr_names])
        try:
            answer = kernels.answers.get(key)
        except TypeError:  # unhashable: lists instead of the conventional tuples
            key = tuple(tuple(value) if isinstance(value, list) else value for value in key)
            answer = kernels.answers.get(key)
        if answer is None:
            answer = self._find(kernels, op, attrs, device_type, label, node)
            if len(kernels.answers) < _MAX_ANSWERS and _is_small(key):
                kernels.answers[key] = answer
        return answer

    def _find(
        self,
        kernels: _OpKernels,
        op: str,
        attrs: Mapping[str, Any],
        device_type: str,
        label: str,
        node: str | None,
    ) -> Found:
        match, was_attr_mismatch = None, False
        for row in kernels.by_key.get((device_type, label), ()):
            if not row.admits(attrs):
                was_attr_mismatch = True
            elif match is None:
                match = row
            elif match.priority == row.priority or self.release == "1.15":
                same = "" if self.release == "1.15" else " at the same priority"
                raise _two_rows(f"Multiple OpKernel registrations match NodeDef{same}", op, node, match, row)
            elif row.priority > match.priority:
                match = row
        if match is not None or device_type in SYMBOLIC_DEVICE_TYPES:
            return match, was_attr_mismatch
        for row in kernels.by_key.get((DEFAULT_DEVICE_TYPE, label), ()):
            if not row.admits(attrs):
                was_attr_mismatch = True
            elif match is None:
                match = row
            else:
                raise _two_rows("Multiple Default OpKernel registrations match NodeDef", op, node, match, row)
        return match, was_attr_mismatch

    def host_memory(self, op_def: OpDef, attrs: Mapping[str, Any], device_type: str) -> HostMemory:
        """Return which inputs and outputs of a node on ``device_type`` are in host memory.

        On the CPU all memory is host memory; the result still contains the requirements of the kernel and the types.

        Raises:
            InvalidArgumentError: as for ``find``.
        """
        kernels = self._of(op_def.name)
        if not kernels.rows or _INPUTS_ATTR in attrs or _OUTPUTS_ATTR in attrs:
            return self._host_memory(op_def, attrs, device_type)
        key = (device_type, *map(attrs.get, kernels.asked(op_def)))
        try:
            answer = kernels.in_memory.get(key)
        except TypeError:  # unhashable: lists instead of the conventional tuples
            return self._host_memory(op_def, attrs, device_type)
        if answer is None:
            answer = self._host_memory(op_def, attrs, device_type)
            if len(kernels.in_memory) < _MAX_ANSWERS and _is_small(key):
                kernels.in_memory[key] = answer
        return answer

    def _host_memory(self, op_def: OpDef, attrs: Mapping[str, Any], device_type: str) -> HostMemory:
        row, _ = self.find(op_def.name, attrs, device_type)
        is_call = op_def.name in FUNCTION_CALL_OPS or (
            op_def.name == "StatelessWhile" and self.release != "1.15"
        )
        if row is None or is_call:
            named, always = frozenset[str](), ALWAYS_ON_HOST | {int32}
        else:
            named, always = row.host_memory_args, ALWAYS_ON_HOST

        def positions(args: Iterable[ArgDef], extra: str) -> Set[int]:
            on_host = set(attrs.get(extra, ()))
            long = []
            position = 0
            for arg in args:
                types = arg.types(attrs)
                if isinstance(types, LongList):  # tensors of one type
                    if arg.name in named or types[0] in always:
                        long.append(range(position, position + len(types)))
                else:
                    on_host.update(
                        at for at, dtype in enumerate(types, position) if arg.name in named or dtype in always
                    )
                position += len(types)
            return Positions([*(range(at, at + 1) for at in on_host), *long]) if long else frozenset(on_host)

        return positions(op_def.inputs, _INPUTS_ATTR), positions(op_def.outputs, _OUTPUTS_ATTR)

    def registered_text(self, op: str) -> str:
        """Return TensorFlow's text below "Registered kernels:", one line per row."""
        return "".join(f"  {row.describe()}\n" for row in self.rows(op)) or "  <no registered kernels>\n"


def _two_rows(
    sentence: str, op: str, node: str | None, first: KernelDef, second: KernelDef
) -> InvalidArgumentError:
    named = f"{{{{node {node}}}}}" if node else op
    return InvalidArgumentError.of(
        f"{sentence} '{named}': '{first.debug_string()}' and '{second.debug_string()}'",
        facts={"first row": str(first), "second row": str(second)},
        hint="register the kernels with mutually exclusive constraints or with different priorities",
    )


class Catalogue:
    """Op and kernel registrations for a placer.

    ``Catalogue()`` is private and empty, for toy ops in tests; ``Catalogue.load(release)`` starts with everything that
    the release registers. Additions affect only this object.

    >>> toys = Catalogue()
    >>> _ = toys.register_op("TestInput", outputs=["a: float", "b: float"])
    >>> _ = toys.register_kernel("TestInput", "FakeGPU", priority=1)
    >>> toys.kernels.find("TestInput", {}, "FakeGPU")[0].priority
    1

    Args:
        ops: op registry; None: an empty one.
        kernels: kernel registry; None: an empty one.
    """

    def __init__(self, ops: OpRegistry | None = None, kernels: KernelRegistry | None = None) -> None:
        self.ops = OpRegistry() if ops is None else ops
        self.kernels = KernelRegistry() if kernels is None else kernels

    @classmethod
    def load(cls, release: str | None = None) -> Catalogue:
        """Return a new catalogue with the registrations of a release.

        Args:
            release: such as ``"1.15"``; None: the current release.

        Returns:
            The catalogue; additions to it do not affect others.

        Raises:
            ValueError: the release is unknown.
        """
        return cls(OpRegistry.load(release), KernelRegistry.load(release))

    @property
    def release(self) -> str | None:
        """``"1.15"``, ``"2.21"``, or None for a private catalogue."""
        return self.kernels.release

    @property
    def additions(self) -> int:
        """Number of registrations so far, to detect changes."""
        return self.ops.additions + self.kernels.additions

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """Types of the release; all types for a private catalogue."""
        return DTYPES_OF_1_15 if self.release == "1.15" else ALL_DTYPES

    def register_op(
        self,
        name: str,
        inputs: Iterable[str] = (),
        outputs: Iterable[str] = (),
        attrs: Iterable[str] = (),
        **properties: Any,
    ) -> OpDef:
        """Add an op.

        Args:
            name: op type.
            inputs: in TensorFlow's notation, such as ``"x: T"``.
            outputs: in TensorFlow's notation, such as ``"y: T"``.
            attrs: in TensorFlow's notation, such as ``"T: {float, int32} = DT_FLOAT"``.
            **properties: further fields of ``OpDef``, such as ``is_stateful``.

        Returns:
            The op.

        Raises:
            ValueError: the signature is malformed.
            AlreadyExistsError: the name belongs to an op with another signature.
        """
        return self.ops.register(
            make_op_def(name, _texts(inputs), _texts(outputs), _texts(attrs), **properties)
        )

    def register_kernel(
        self,
        op: str,
        device_type: str,
        priority: int = 0,
        *,
        label: str = "",
        host_memory: Iterable[str] = (),
        **type_constraints: Any,
    ) -> KernelDef:
        """Add a kernel row.

        Args:
            op: an op of this catalogue.
            device_type: device type; ``DEFAULT`` serves device types without a matching row.
            priority: higher values are preferred.
            label: the row only serves nodes with this ``_kernel`` attribute.
            host_memory: names of inputs and outputs that stay in host memory.
            **type_constraints: attribute name -> one or several types (or their names).

        Returns:
            The row.

        Raises:
            NotFoundError: the op is not in this catalogue.
            ValueError: the op lacks an attribute or argument.
        """
        row = make_kernel_def(
            self.ops.lookup(op), device_type, priority, label, _texts(host_memory), type_constraints
        )
        return self.kernels.register(row)


def _texts(texts: Iterable[str]) -> tuple[str, ...]:
    """Return one or several strings as a tuple, so that ``outputs="o: float"`` works."""
    return (texts,) if isinstance(texts, str) else tuple(texts)


@cache
def _read_kernels(release: str) -> DataFile:
    return read_data_file("gpuplace.kernels", f"kernels-{release}.txt.gz")


@cache
def _catalogue(release: str) -> Catalogue:
    return Catalogue(op_registry(release), KernelRegistry.load(release))


REPLACED_OPS = {"AccumulateNV2": "AddN"}
"""Ops without kernels that TensorFlow replaces before placement -> op whose kernels are used here."""


class _SessionKernels(KernelRegistry):
    """The rows of another registry, in which replaced ops have the rows of their replacement."""

    def __init__(self, kernels: KernelRegistry) -> None:
        super().__init__(kernels.release)
        self._kernels = kernels

    def _of(self, op: str) -> _OpKernels:
        return self._kernels._of(REPLACED_OPS.get(op, op))


@cache
def _session_catalogue(release: str) -> Catalogue:
    catalogue = _catalogue(release)
    return Catalogue(catalogue.ops, _SessionKernels(catalogue.kernels))


def session_catalogue(release: str | None = None) -> Catalogue:
    """Return the catalogue of sessions: the process's catalogue, with kernels for ``REPLACED_OPS``."""
    return _session_catalogue(rules(release))


def default_catalogue(release: str | None = None) -> Catalogue:
    """Return the process's catalogue for a release; one object per set of rules.

    Args:
        release: such as ``"1.15"``; None: the current release.

    Returns:
        The catalogue; additions to it persist.

    Raises:
        ValueError: the release is unknown.
    """
    return _catalogue(rules(release))


def every_default() -> list[Catalogue]:
    """Return the process's catalogues of all releases, each once."""
    return [default_catalogue(release) for release in dict.fromkeys(map(rules, RELEASES))]


def register_op(
    name: str,
    inputs: Iterable[str] = (),
    outputs: Iterable[str] = (),
    attrs: Iterable[str] = (),
    **properties: Any,
) -> OpDef:
    """Add an op to the default catalogues of all releases, for this process.

    Args:
        name: op type.
        inputs: in TensorFlow's notation, such as ``"x: T"``.
        outputs: in TensorFlow's notation, such as ``"y: T"``.
        attrs: in TensorFlow's notation, such as ``"T: {float, int32} = DT_FLOAT"``.
        **properties: further fields of ``OpDef``, such as ``is_stateful``.

    Returns:
        The op.

    Raises:
        ValueError: the signature is malformed.
        AlreadyExistsError: the name belongs to an op with another signature.
    """
    return [
        catalogue.register_op(name, inputs, outputs, attrs, **properties) for catalogue in every_default()
    ][0]


def register_kernel(op: str, device_type: str, priority: int = 0, **options: Any) -> KernelDef:
    """Add a row to the default catalogues of all releases that have the op, for this process.

    Args:
        op: op type.
        device_type: device type; ``DEFAULT`` serves device types without a matching row.
        priority: higher values are preferred.
        **options: ``label``, ``host_memory`` and type constraints, as for ``Catalogue.register_kernel``.

    Returns:
        The row.

    Raises:
        NotFoundError: no catalogue has the op.
        ValueError: the op lacks an attribute or argument.
    """
    holders = [catalogue for catalogue in every_default() if op in catalogue.ops] or [default_catalogue()]
    return [catalogue.register_kernel(op, device_type, priority, **options) for catalogue in holders][0]

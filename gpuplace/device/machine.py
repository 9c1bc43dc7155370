"""Machines: the real one, and simulated ones described by a text.

>>> machine = Machine.parse("2 CPU, 1x V100 + 2x K40c")
>>> print(machine)
2 CPU, 1x Tesla V100-SXM2-16GB + 2x Tesla K40c
>>> machine.device_set(environ={}).names[2:4]
['/job:localhost/replica:0/task:0/device:GPU:0', '/job:localhost/replica:0/task:0/device:GPU:1']

A machine text consists of parts separated by ``,`` or ``+``: ``N CPU``, ``Nx MODEL`` (``N`` is optional) or a full
device name. ``cpu`` is a machine without GPUs, ``local`` the real one. ``cpu build`` selects a TensorFlow built without
CUDA, with its errors for missing GPUs. ``Tesla K40c @ 0000:07:00.0`` puts a GPU into a slot, and a part
``links pcie=3x16 switch=2`` configures the interconnects: see `gpuplace.device.links`.

A cluster text lists the machines of its tasks, separated by ``;``, each with its job and the number of tasks, and
optionally the network: see `gpuplace.device.network`. The first task is the session's own.

>>> cluster = Machine.parse("worker*2: 2x K80; ps: cpu; network 25GbE")
>>> print(cluster)
worker*2: 2x Tesla K80; ps: 1 CPU; network 25GbE
>>> cluster.device_set(environ={}).names[5:]
['/job:worker/replica:0/task:1/device:GPU:1', '/job:ps/replica:0/task:0/device:CPU:0']

Default slots: a single GPU is on bus 05; several GPUs start at bus 02 on the first socket and at bus 83 on the second,
half of them each (at least two on the first); every sixteen GPUs form a PCI domain.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from gpuplace.device.device_set import DeviceAttributes, DeviceSet
from gpuplace.device.gpu_models import GPU_MODELS, GPUModel, find_model, is_model
from gpuplace.device.gpu_settings import GPUSettings
from gpuplace.device.limits import MAX_DEVICES, MAX_GPUS, check_count, number_of
from gpuplace.device.links import Links, Wiring
from gpuplace.device.mapping import MappingRow, VirtualGPU, gpu_devices, ignored_by, map_gpus, mapping_rows
from gpuplace.device.network import ClusterLinks, Network
from gpuplace.device.physical_gpu import PhysicalGPU
from gpuplace.device.visible import DEVICE_ORDER, VISIBLE_DEVICES, Visibility, visible_gpus
from gpuplace.display import above, notebook_view
from gpuplace.errors import InvalidArgumentError, NotFoundError
from gpuplace.typing import ConfigLike, DataFrame

ENVIRONMENT_VARIABLE = "GPUPLACE_MACHINE"
"""Environment variable that contains the text of the default machine."""

PREFIX = "/job:localhost/replica:0/task:0"

_COUNT = re.compile(r"(\d+)\s*(?:[x×*](?!la_)\s*|\s)(.+)", re.IGNORECASE)  # 2x T4, 2 T4; not 2 XLA_CPU
_CPU = re.compile(r"cpus?", re.IGNORECASE)
_CPU_BUILD = re.compile(r"cpu\s+build", re.IGNORECASE)
_JOB = re.compile(r"[A-Za-z]\w*")
_TASKS = re.compile(rf"({_JOB.pattern})\s*(?:\*\s*(\d+)\s*)?:")  # worker*2: ...
_XLA = re.compile(r"XLA_[CG]PU", re.IGNORECASE)
_GPUS_PER_DOMAIN = 16
_SHOWN = 1000
"""Maximum length of a text quoted in an error, in characters."""


@dataclass(frozen=True, slots=True)
class Machine:
    """CPUs and GPUs, real or simulated, or a list of arbitrary devices."""

    gpus: tuple[PhysicalGPU, ...] = ()
    """GPUs in order of PCI bus id."""
    cpus: int = 1
    """Number of CPU devices of a session unless ``device_count`` sets it."""
    is_local: bool = False
    """Whether this is the real machine."""
    extra_devices: tuple[str, ...] = ()
    """Full names of additional devices; CUDA options do not affect them."""
    type_priority: Mapping[str, int] = field(default_factory=dict)
    """Type priorities that override or extend TensorFlow's."""
    wiring: Wiring = Wiring()
    """Explicit settings of the links between GPUs and host; the rest follows from the GPUs."""
    tasks: tuple[tuple[str, Machine], ...] = ()
    """Tasks of a cluster, (``/job:ps/replica:0/task:0``, machine); ``gpus`` contains the GPUs of all tasks."""
    network: Network = Network()
    """Network between the tasks."""
    is_cpu_build: bool = False
    """Whether TensorFlow is built without CUDA (in a cluster: in its first task); such a machine has no GPU."""

    def __post_init__(self) -> None:
        if self.is_cpu_build and self.gpus and not self.tasks:
            raise InvalidArgumentError.of(
                "A CPU build of TensorFlow cannot use GPUs.", hint="leave out 'cpu build' or the GPUs"
            )

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Return the machine that a text describes; see the module for the grammar.

        Args:
            text: such as ``"2 CPU, 4x K40c"``, ``"cpu"`` or ``"local"``.

        Raises:
            InvalidArgumentError: the text is invalid or names an unknown model; the error explains the grammar.
            ResourceExhaustedError: the machine exceeds the size limit.
            InternalError: for ``"local"``, the driver or a GPU fails.
            TypeError: ``text`` is not a string.
        """
        if not isinstance(text, str):
            raise TypeError(_wrong_type(text))
        return _parse(text)

    @classmethod
    def simulated(
        cls,
        gpus: int = 1,
        cpus: int = 1,
        gpu: str | GPUModel = "Tesla K40c",
        pci_bus_ids: Iterable[str] | None = None,
    ) -> Machine:
        """Return a machine with identical GPUs from the catalogue.

        Args:
            gpus: number of GPUs.
            cpus: number of CPU devices.
            gpu: model name, alias or `GPUModel`.
            pci_bus_ids: PCI bus ids of the GPUs; None: the default slots (see the module).

        Raises:
            InvalidArgumentError: the model is unknown, a count is out of range, or the numbers of slots and GPUs
                differ.
            ResourceExhaustedError: the machine exceeds the size limit.
        """
        if gpus < 0 or cpus < 1:
            raise InvalidArgumentError.of(
                f"A machine needs at least one CPU and a non-negative number of GPUs; got cpus={cpus}, gpus={gpus}."
            )
        check_count(gpus, "GPU", MAX_GPUS)
        check_count(cpus, "CPU", MAX_DEVICES)
        model = find_model(gpu) if isinstance(gpu, str) else gpu
        slots = [None] * gpus if pci_bus_ids is None else list(pci_bus_ids)
        if len(slots) != gpus:
            raise InvalidArgumentError.of(
                f"{gpus} GPUs require {gpus} PCI bus ids; got {len(slots)}: {slots}"
            )
        return cls(gpus=_install([(model, slot) for slot in slots]), cpus=cpus)

    @classmethod
    def local(cls) -> Machine:
        """Return the real machine; without an NVIDIA driver it has only a CPU.

        Raises:
            InternalError: the driver or a GPU fails.
        """
        from gpuplace.device.local import local_gpus

        return cls(gpus=local_gpus(), is_local=True)

    @classmethod
    def from_devices(cls, names: Iterable[str], type_priority: Mapping[str, int] | None = None) -> Machine:
        """Return a machine with exactly these devices, of any job, task and type.

        >>> Machine.from_devices([f"/job:{job}/replica:0/task:0/cpu:0" for job in ("worker", "ps")]).device_set().names
        ['/job:worker/replica:0/task:0/device:CPU:0', '/job:ps/replica:0/task:0/device:CPU:0']

        Args:
            names: full device names; the first is the client device.
            type_priority: priorities of device types, higher is preferred; None: TensorFlow's.

        Raises:
            InvalidArgumentError: a name is not a full device name or occurs twice.
        """
        devices = DeviceSet([DeviceAttributes(name) for name in names], type_priority)
        return cls(cpus=0, extra_devices=tuple(devices.names), type_priority=dict(type_priority or {}))

    @classmethod
    def cluster(
        cls,
        jobs: Mapping[str, Machine | str | Sequence[Machine | str]],
        network: Network | str | None = None,
    ) -> Machine:
        """Return a cluster as one machine.

        >>> Machine.cluster({"worker": ["1x K80", "1x V100"], "ps": "cpu"}, "40GbE")
        Machine('worker: 1x Tesla K80; worker: 1x Tesla V100-SXM2-16GB; ps: 1 CPU; network 40GbE')

        Args:
            jobs: job name -> machine of its only task, or machines of its tasks in order; the first task is the
                session's own.
            network: network between the tasks, or its text; None: 10GbE.

        Raises:
            InvalidArgumentError: there are no tasks, a machine or network is invalid, or clusters are nested.
            ResourceExhaustedError: the cluster exceeds the size limit.
        """
        tasks = []
        for job, value in jobs.items():
            machines = [value] if isinstance(value, Machine | str) else list(value)
            if _JOB.fullmatch(job) is None:
                raise InvalidArgumentError.of(
                    f"Invalid job name '{job[:80]}'.",
                    hint="use letters, digits and _, starting with a letter",
                )
            tasks += [
                (f"/job:{job}/replica:0/task:{index}", as_machine(machine_of_task))
                for index, machine_of_task in enumerate(machines)
            ]
        return cls.of_tasks(dict(tasks), Network.parse(network) if isinstance(network, str) else network)

    @classmethod
    def of_tasks(cls, tasks: Mapping[str, Machine], network: Network | None = None) -> Machine:
        """Return the machines of tasks as one machine.

        Args:
            tasks: task name, ``/job:ps/replica:0/task:0``, -> its machine.
            network: network between the tasks; None: 10GbE.

        Raises:
            InvalidArgumentError: there are no tasks, or clusters are nested.
            ResourceExhaustedError: the cluster exceeds the size limit.
        """
        if not tasks or any(machine.tasks for machine in tasks.values()):
            raise InvalidArgumentError.of(
                "A cluster needs at least one task, and each task needs a machine that is not itself a cluster."
            )
        check_count(len(tasks), "task", MAX_DEVICES)
        gpus = [gpu for machine in tasks.values() for gpu in machine.gpus]
        check_count(len(gpus), "GPU", MAX_GPUS)
        numbered = tuple(gpu.at(index) for index, gpu in enumerate(gpus))
        return cls(
            numbered,
            0,
            tasks=tuple(tasks.items()),
            network=network or Network(),
            is_cpu_build=next(iter(tasks.values())).is_cpu_build,
        )

    @property
    def links(self) -> Links:
        """Interconnects between GPUs and host with their rates; for a cluster, the network too."""
        if self.tasks:
            names = [name.removeprefix("/job:").replace("/replica:0/task:", "/") for name, _ in self.tasks]
            return ClusterLinks(names, [machine.links for _, machine in self.tasks], self.network)
        return Links(self.gpus, self.wiring)

    def _first_gpus(self) -> list[int]:
        """Return the index of the first GPU of each task."""
        counts = [len(machine.gpus) for _, machine in self.tasks]
        return [sum(counts[:task]) for task in range(len(counts))]

    def visibility(self, environ: Mapping[str, str] | None = None) -> Visibility:
        """Return the GPUs that CUDA shows a process.

        Args:
            environ: environment that contains CUDA_VISIBLE_DEVICES; None: this process's.
        """
        return visible_gpus(self.gpus, os.environ if environ is None else environ)

    def virtual_gpus(
        self,
        config: ConfigLike | GPUSettings | None = None,
        environ: Mapping[str, str] | None = None,
        visibility: Visibility | None = None,
        release: str | None = None,
    ) -> list[VirtualGPU]:
        """Return the GPU devices that a session creates.

        Args:
            config: ``ConfigProto`` or any object with its attributes; None: the defaults.
            environ: environment that contains CUDA_VISIBLE_DEVICES and TF_MIN_GPU_MULTIPROCESSOR_COUNT; None: this
                process's.
            visibility: GPUs that CUDA has shown before; then CUDA's variables are not read.
            release: TensorFlow release whose rules apply; None: the current release.

        Raises:
            InvalidArgumentError: ``config`` or the environment is invalid; TensorFlow's messages.
            ResourceExhaustedError: ``config`` exceeds the size limit.
        """
        if self.tasks:
            return [
                replace(device, gpu=device.gpu.at(first + device.gpu.index))
                for (_, machine), first in zip(self.tasks, self._first_gpus(), strict=True)
                for device in machine.virtual_gpus(config, environ, None, release)
            ]
        seen = visibility or self.visibility(environ)
        return map_gpus(seen, GPUSettings.from_config(config), release, environ)

    def device_set(
        self,
        config: ConfigLike | GPUSettings | None = None,
        environ: Mapping[str, str] | None = None,
        visibility: Visibility | None = None,
        release: str | None = None,
    ) -> DeviceSet:
        """Return the devices of a session.

        Args:
            config: ``ConfigProto`` or any object with its attributes; None: the defaults.
            environ: environment that contains CUDA_VISIBLE_DEVICES and TF_MIN_GPU_MULTIPROCESSOR_COUNT; None: this
                process's.
            visibility: GPUs that CUDA has shown before; then CUDA's variables are not read.
            release: TensorFlow release whose rules apply; None: the current release.

        Raises:
            InvalidArgumentError: ``config`` or the environment is invalid; TensorFlow's messages.
            NotFoundError: ``device_count`` leaves no CPU.
            ResourceExhaustedError: ``config`` exceeds the size limit.
        """
        settings = GPUSettings.from_config(config)
        if self.tasks:
            seen = self.visibility(environ)
            devices = [
                replace(
                    device,
                    name=name + device.name.removeprefix(PREFIX),
                    incarnation=0,
                    physical_id=None if device.physical_id is None else first + device.physical_id,
                )
                for (name, machine), first in zip(self.tasks, self._first_gpus(), strict=True)
                for device in machine.device_set(settings, environ, None, release)
            ]
            return DeviceSet(devices, self.type_priority, Origin(self, settings, seen.order, seen.setting))
        cpus = settings.device_count.get("CPU", self.cpus) if self.cpus else 0
        if self.cpus and cpus < 1:
            raise NotFoundError.of(
                "No CPU devices are available in this process", hint="set device_count CPU to at least 1"
            )
        check_count(cpus, "CPU", MAX_DEVICES)
        devices = [DeviceAttributes(f"{PREFIX}/device:CPU:{index}", "CPU") for index in range(cpus)]
        seen = visibility or self.visibility(environ)
        devices += gpu_devices(self.virtual_gpus(settings, environ, seen, release), self.links, PREFIX)
        devices += map(_further_device, self.extra_devices)
        return DeviceSet(devices, self.type_priority, Origin(self, settings, seen.order, seen.setting))

    def mapping(
        self,
        config: ConfigLike | GPUSettings | None = None,
        environ: Mapping[str, str] | None = None,
        visibility: Visibility | None = None,
        release: str | None = None,
    ) -> tuple[MappingRow, ...]:
        """Return the mapping from physical GPUs to devices as rows, including hidden GPUs and the reasons.

        Args:
            config: ``ConfigProto`` or any object with its attributes; None: the defaults.
            environ: environment that contains CUDA_VISIBLE_DEVICES and TF_MIN_GPU_MULTIPROCESSOR_COUNT; None: this
                process's.
            visibility: GPUs that CUDA has shown before; then CUDA's variables are not read.
            release: TensorFlow release whose rules apply; None: the current release.

        Raises:
            InvalidArgumentError: ``config`` or the environment is invalid; TensorFlow's messages.
            ResourceExhaustedError: ``config`` exceeds the size limit.
        """
        if self.tasks:
            return tuple(
                replace(
                    row,
                    physical_id=first + row.physical_id,
                    device=None if row.device is None else name + row.device,
                )
                for (name, machine), first in zip(self.tasks, self._first_gpus(), strict=True)
                for row in machine.mapping(config, environ, None, release)
            )
        settings = GPUSettings.from_config(config)
        seen = visibility or self.visibility(environ)
        devices = map_gpus(seen, settings, release, environ)
        return mapping_rows(self.gpus, seen, devices, settings, ignored_by(seen, settings, release, environ))

    def __str__(self) -> str:
        if self.is_local:
            return "local"
        if self.tasks:
            return _cluster_text(self)
        parts = []
        if self.cpus and (self.cpus > 1 or self.extra_devices or not self.gpus):
            parts.append(f"{self.cpus} CPU")
        parts.append(_gpus_text(self.gpus))
        parts += self.extra_devices
        if self.type_priority:
            parts.append(
                "priority " + " ".join(f"{kind}={value}" for kind, value in self.type_priority.items())
            )
        if self.wiring != Wiring():
            parts.append(f"links {self.wiring}")
        if self.is_cpu_build:
            parts.append("cpu build")
        return ", ".join(part for part in parts if part)

    def __hash__(self) -> int:
        return hash(
            (
                self.gpus,
                self.cpus,
                self.is_local,
                self.extra_devices,
                self.wiring,
                self.tasks,
                self.network,
                self.is_cpu_build,
            )
        )

    def __repr__(self) -> str:
        return f"Machine({str(self)!r})"

    def frame(
        self,
        config: ConfigLike | None = None,
        environ: Mapping[str, str] | None = None,
        visibility: Visibility | None = None,
    ) -> DataFrame:
        """Return the mapping from physical GPUs to devices as a pandas ``DataFrame``, including hidden GPUs.

        Args:
            config: ``ConfigProto``; None: the defaults.
            environ: environment that contains CUDA_VISIBLE_DEVICES; None: this process's.
            visibility: GPUs that CUDA has shown before; then ``environ`` is not read.
        """
        return above("gpuplace.jupyter.frames.machine_frames", "mapping_frame")(
            self.mapping(config, environ, visibility)
        )

    _repr_mimebundle_ = notebook_view


def as_machine(given: Machine | str) -> Machine:
    """Return a machine, or the machine that a text describes.

    Args:
        given: a ``Machine`` or its text.

    Raises:
        InvalidArgumentError: the text is invalid.
        TypeError: ``given`` is neither a ``Machine`` nor a string.
    """
    return given if isinstance(given, Machine) else Machine.parse(given)


def _wrong_type(value: object) -> str:
    message = f"a machine must be a Machine or its text, such as '4x Tesla K20m'; got {value!r}"
    if isinstance(value, int) and not isinstance(value, bool):
        text = f"'{value}x Tesla K20m'" if value > 0 else "'cpu'"
        message += f": write {text}"
    return message


@dataclass(frozen=True, slots=True)
class Origin:
    """The machine and settings that a session's devices are created from."""

    machine: Machine
    """The machine."""
    settings: GPUSettings
    """The device settings of ``ConfigProto``."""
    cuda_device_order: str
    """CUDA_DEVICE_ORDER when CUDA read it."""
    cuda_visible_devices: str | None
    """CUDA_VISIBLE_DEVICES when CUDA read it; None if unset."""

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that are set."""
        variables = {DEVICE_ORDER: self.cuda_device_order}
        if self.cuda_visible_devices is not None:
            variables[VISIBLE_DEVICES] = self.cuda_visible_devices
        return variables


def default_machine(environ: Mapping[str, str] | None = None) -> Machine:
    """Return the machine of GPUPLACE_MACHINE, or the real one; GPUs are never simulated implicitly.

    Args:
        environ: environment that contains the variable; None: this process's.

    Raises:
        InvalidArgumentError: GPUPLACE_MACHINE is invalid.
        InternalError: the real GPUs fail.
    """
    text = (os.environ if environ is None else environ).get(ENVIRONMENT_VARIABLE, "").strip()
    return Machine.parse(text) if text else Machine.local()


def _slots(count: int) -> list[str]:
    """Return the default PCI bus ids of ``count`` GPUs."""
    if count == 1:
        return ["0000:05:00.0"]
    slots = []
    for domain, start in enumerate(range(0, count, _GPUS_PER_DOMAIN)):
        here = min(_GPUS_PER_DOMAIN, count - start)
        first = max(2, (here + 1) // 2)
        for index in range(here):
            bus = 0x02 + index if index < first else 0x83 + index - first
            slots.append(f"{domain:04x}:{bus:02x}:00.0")
    return slots


def _install(requests: list[tuple[GPUModel, str | None]]) -> tuple[PhysicalGPU, ...]:
    """Return GPUs in their slots, numbered by PCI bus id."""
    slots = _slots(len(requests))
    gpus = [
        PhysicalGPU.simulated(model, 0, slot or rule)
        for (model, slot), rule in zip(requests, slots, strict=True)
    ]
    gpus.sort(key=lambda gpu: gpu.pci_bus_id)
    for before, gpu in zip(gpus, gpus[1:], strict=False):
        if before.pci_bus_id == gpu.pci_bus_id:
            raise InvalidArgumentError.of(f"Two GPUs have the same PCI slot: {gpu.pci_bus_id}.")
    return tuple(gpu.at(index) for index, gpu in enumerate(gpus))


def _gpus_text(gpus: tuple[PhysicalGPU, ...]) -> str:
    if [gpu.pci_bus_id for gpu in gpus] != _slots(len(gpus)):
        return " + ".join(f"{gpu.name} @ {gpu.pci_bus_id}" for gpu in gpus)
    runs = [(name, len(list(run))) for name, run in groupby(gpus, key=lambda gpu: gpu.name)]
    return " + ".join(f"{count}x {name}" for name, count in runs)


def _cluster_text(cluster: Machine) -> str:
    runs: list[tuple[str, str, int]] = []
    for name, machine in cluster.tasks:
        job = name.removeprefix("/job:").partition("/")[0]
        if runs and runs[-1][:2] == (job, str(machine)):
            runs[-1] = *runs[-1][:2], runs[-1][2] + 1
        else:
            runs.append((job, str(machine), 1))
    parts = [f"{job}*{count}: {text}" if count > 1 else f"{job}: {text}" for job, text, count in runs]
    if cluster.network != Network():
        parts.append(f"network {cluster.network}")
    return "; ".join(parts)


def _parse_cluster(text: str) -> Machine:
    jobs: dict[str, list[Machine | str]] = {}
    network = Network()
    for part in (piece.strip() for piece in text.split(";")):
        job = _TASKS.match(part)
        if part.startswith("network "):
            network = Network.parse(part.removeprefix("network "))
        elif job is not None:
            count = number_of(job[2] or "1")
            check_count(count + sum(map(len, jobs.values())), "task", MAX_DEVICES)
            jobs.setdefault(job[1], []).extend([Machine.parse(part[job.end() :])] * count)
        else:
            raise _invalid(text, f"'{part[:80]}' is not a task of a cluster" if part else "empty part")
    return Machine.cluster(jobs, network)


def _further_device(name: str) -> DeviceAttributes:
    """Return a device of another type; for XLA's devices see the device mapping (xla_device.cc, release 1.15)."""
    device = DeviceAttributes(name)
    if not device.device_type.startswith("XLA_"):
        return device
    return replace(device, physical_device_desc=f"device: {device.device_type} device")


def _parse(text: str) -> Machine:
    if text.strip().lower() == "local":
        return Machine.local()
    if ";" in text or _TASKS.match(text.strip()):
        return _parse_cluster(text)
    cpus: int | None = None
    gpus: list[tuple[GPUModel, str | None]] = []
    names: list[str] = []
    xla: dict[str, int] = {}
    priority: dict[str, int] = {}
    wiring = Wiring()
    is_cpu_build = False
    for part in (piece.strip() for piece in re.split(r"[,+]", text)):
        if not part:
            raise _invalid(text, "empty part")
        if part.startswith("/"):
            names.append(part)
            continue
        if part.startswith("priority "):
            priority = _parse_priority(part, text)
            continue
        if part.startswith("links "):
            wiring = Wiring.parse(part.removeprefix("links "))
            continue
        if _CPU_BUILD.fullmatch(part):
            is_cpu_build = True
            continue
        count, name = _split_count(part)
        if _CPU.fullmatch(name):
            cpus = (cpus or 0) + count
        elif _XLA.fullmatch(name):
            xla[name.upper()] = xla.get(name.upper(), 0) + count
        else:
            model, _, slot = name.partition("@")
            if slot and count != 1:
                raise _invalid(text, f"{count} GPUs with the same PCI slot")
            check_count(count + len(gpus), "GPU", MAX_GPUS)
            gpus += [(find_model(model.strip()), slot.strip() or None)] * count
    if names and cpus is None and not gpus and not xla:
        return replace(Machine.from_devices(names, priority), wiring=wiring, is_cpu_build=is_cpu_build)
    if cpus == 0:
        raise _invalid(text, "no CPU")
    check_count(cpus or 1, "CPU", MAX_DEVICES)
    for kind, count in xla.items():
        check_count(count, kind, MAX_DEVICES)
    names += [f"{PREFIX}/device:{kind}:{index}" for kind, count in xla.items() for index in range(count)]
    extra = DeviceSet([DeviceAttributes(name) for name in names]).names
    return Machine(
        gpus=_install(gpus),
        cpus=1 if cpus is None else cpus,
        extra_devices=tuple(extra),
        type_priority=priority,
        wiring=wiring,
        is_cpu_build=is_cpu_build,
    )


def _split_count(part: str) -> tuple[int, str]:
    """Split ``2x K40c`` into ``(2, "K40c")``; names that start with digits, such as ``1080 Ti``, stay whole."""
    match = _COUNT.fullmatch(part)
    if match is None or is_model(part):
        return 1, part
    return number_of(match[1]), match[2].strip()


def _parse_priority(part: str, text: str) -> dict[str, int]:
    pairs = [pair.partition("=") for pair in part.split()[1:]]
    if not all(re.fullmatch(r"-?\d{1,18}", value) for _, _, value in pairs):
        raise _invalid(text, f"invalid priority in '{part}'")
    return {kind: int(value) for kind, _, value in pairs}


def _invalid(text: str, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"Cannot parse machine '{text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}': {reason}.",
        facts={
            "allowed": "'local', 'cpu', or parts separated by ',' or '+': 'N CPU', 'Nx MODEL', 'MODEL @ PCI-BUS-ID', "
            "a full device name, 'links pcie=3x16 switch=2 nvlink=cube', 'cpu build'; for a cluster, separated by ';': "
            "'JOB: MACHINE', 'JOB*N: MACHINE', 'network 10GbE'",
            "models": ", ".join(model.name for model in GPU_MODELS),
        },
        hint="write, for example, '4x Tesla K20m'",
    )

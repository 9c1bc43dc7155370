"""Machines: the one you have, and any you imagine.

>>> machine = Machine.parse("2 CPU, 1x V100 + 2x K40c")
>>> print(machine)
2 CPU, 1x Tesla V100-SXM2-16GB + 2x Tesla K40c
>>> machine.device_set(environ={}).names[2:4]
['/job:localhost/replica:0/task:0/device:GPU:0', '/job:localhost/replica:0/task:0/device:GPU:1']

The text: parts separated by ``,`` or ``+``, each ``N CPU``, ``Nx MODEL`` (``N`` may be left out) or a full device
name; ``cpu`` alone is a machine without a GPU, ``local`` the real one. ``cpu build`` is a part that stands for a
TensorFlow built without CUDA, which says so when a GPU is requested. A GPU can be put into a slot:
``Tesla K40c @ 0000:07:00.0``. What connects them can be said in a part of its own, ``links pcie=3x16 switch=2``: see
`gpuplace.device.links`.

A cluster is the machines of its tasks, separated by ``;``, each with the name of its job, and how many there are; the
network between them can be said too, see `gpuplace.device.network`. The first task is the session's own.

>>> cluster = Machine.parse("worker*2: 2x K80; ps: cpu; network 25GbE")
>>> print(cluster)
worker*2: 2x Tesla K80; ps: 1 CPU; network 25GbE
>>> cluster.device_set(environ={}).names[5:]
['/job:worker/replica:0/task:1/device:GPU:1', '/job:ps/replica:0/task:0/device:CPU:0']

Slots, where not given: one GPU alone sits at bus 05; several fill bus 02 upward on the first socket and bus 83 upward
on the second, half of them each (at least two on the first); every sixteen GPUs are a PCI domain of their own.
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
"""Environment variable with the text of the default machine."""

PREFIX = "/job:localhost/replica:0/task:0"

_COUNT = re.compile(r"(\d+)\s*(?:[x×*](?!la_)\s*|\s)(.+)", re.IGNORECASE)  # 2x T4, 2 T4; not 2 XLA_CPU
_CPU = re.compile(r"cpus?", re.IGNORECASE)
_CPU_BUILD = re.compile(r"cpu\s+build", re.IGNORECASE)
_JOB = re.compile(r"[A-Za-z]\w*")
_TASKS = re.compile(rf"({_JOB.pattern})\s*(?:\*\s*(\d+)\s*)?:")  # worker*2: ...
_XLA = re.compile(r"XLA_[CG]PU", re.IGNORECASE)
_GPUS_PER_DOMAIN = 16
_SHOWN = 1000
"""Characters of a text that an error repeats."""


@dataclass(frozen=True, slots=True)
class Machine:
    """CPUs and GPUs, real or simulated, or a list of devices of any kind."""

    gpus: tuple[PhysicalGPU, ...] = ()
    """GPUs in order of PCI bus id."""
    cpus: int = 1
    """CPU devices that a session makes unless ``device_count`` says otherwise."""
    is_local: bool = False
    """True for the machine that is really there."""
    extra_devices: tuple[str, ...] = ()
    """Full names of further devices; CUDA options do not touch them."""
    type_priority: Mapping[str, int] = field(default_factory=dict)
    """Priorities of device types that replace or add to TensorFlow's."""
    wiring: Wiring = Wiring()
    """What is said of the links between the GPUs and the host; the rest follows from the GPUs."""
    tasks: tuple[tuple[str, Machine], ...] = ()
    """Of a cluster: name of each task, ``/job:ps/replica:0/task:0``, and its machine; ``gpus`` are those of all."""
    network: Network = Network()
    """What connects the tasks."""
    is_cpu_build: bool = False
    """Whether TensorFlow is built without CUDA there, of a cluster in its first task; such a machine has no GPU."""

    def __post_init__(self) -> None:
        if self.is_cpu_build and self.gpus and not self.tasks:
            raise InvalidArgumentError.of(
                "A CPU build of TensorFlow uses no GPUs.", hint="leave out 'cpu build' or the GPUs"
            )

    @classmethod
    def parse(cls, text: str) -> Machine:
        """Returns the machine that a text describes; see the module for the grammar.

        Args:
            text: such as ``"2 CPU, 4x K40c"``, ``"cpu"`` or ``"local"``.

        Raises:
            InvalidArgumentError: not understood, or an unknown model; says what is allowed.
            ResourceExhaustedError: more devices than are simulated.
            InternalError: for ``"local"``, there is a driver, but it or a GPU fails.
            TypeError: it is no text.
        """
        if not isinstance(text, str):
            raise TypeError(_no_machine(text))
        return _parse(text)

    @classmethod
    def simulated(
        cls,
        gpus: int = 1,
        cpus: int = 1,
        gpu: str | GPUModel = "Tesla K40c",
        pci_bus_ids: Iterable[str] | None = None,
    ) -> Machine:
        """Returns a machine with equal GPUs of the catalogue.

        Args:
            gpus: how many GPUs.
            cpus: how many CPU devices.
            gpu: name, alias or model.
            pci_bus_ids: slots of the GPUs; None: by rule (see the module).

        Raises:
            InvalidArgumentError: unknown model, negative numbers, or not as many slots as GPUs.
            ResourceExhaustedError: more devices than are simulated.
        """
        if gpus < 0 or cpus < 1:
            raise InvalidArgumentError.of(
                f"A machine has at least one CPU and no fewer than 0 GPUs; got cpus={cpus}, gpus={gpus}."
            )
        check_count(gpus, "GPU", MAX_GPUS)
        check_count(cpus, "CPU", MAX_DEVICES)
        model = find_model(gpu) if isinstance(gpu, str) else gpu
        slots = [None] * gpus if pci_bus_ids is None else list(pci_bus_ids)
        if len(slots) != gpus:
            raise InvalidArgumentError.of(f"{gpus} GPUs need {gpus} PCI bus ids, got {len(slots)}: {slots}")
        return cls(gpus=_install([(model, slot) for slot in slots]), cpus=cpus)

    @classmethod
    def local(cls) -> Machine:
        """The machine that is really there; without an NVIDIA driver it has a CPU only.

        Raises:
            InternalError: there is a driver, but it or a GPU fails.
        """
        from gpuplace.device.local import local_gpus

        return cls(gpus=local_gpus(), is_local=True)

    @classmethod
    def from_devices(cls, names: Iterable[str], type_priority: Mapping[str, int] | None = None) -> Machine:
        """Returns a machine with exactly these devices, of any job, task and type.

        >>> Machine.from_devices([f"/job:{job}/replica:0/task:0/cpu:0" for job in ("worker", "ps")]).device_set().names
        ['/job:worker/replica:0/task:0/device:CPU:0', '/job:ps/replica:0/task:0/device:CPU:0']

        Args:
            names: full device names, the first being the client's own.
            type_priority: priorities of device types, higher preferred; None: TensorFlow's.

        Raises:
            InvalidArgumentError: a name is not a full device name, or occurs twice.
        """
        devices = DeviceSet([DeviceAttributes(name) for name in names], type_priority)
        return cls(cpus=0, extra_devices=tuple(devices.names), type_priority=dict(type_priority or {}))

    @classmethod
    def cluster(
        cls,
        jobs: Mapping[str, Machine | str | Sequence[Machine | str]],
        network: Network | str | None = None,
    ) -> Machine:
        """Returns the machines of a cluster's tasks as one.

        >>> Machine.cluster({"worker": ["1x K80", "1x V100"], "ps": "cpu"}, "40GbE")
        Machine('worker: 1x Tesla K80; worker: 1x Tesla V100-SXM2-16GB; ps: 1 CPU; network 40GbE')

        Args:
            jobs: name of a job to the machine of its only task, or to those of its tasks in order; the first task is
                the session's own.
            network: what connects them, or its text; None: 10GbE.

        Raises:
            InvalidArgumentError: no tasks, a machine or network that is not understood, or a cluster in a cluster.
            ResourceExhaustedError: more GPUs than are simulated.
        """
        tasks = []
        for job, given in jobs.items():
            machines = [given] if isinstance(given, Machine | str) else list(given)
            if _JOB.fullmatch(job) is None:
                raise InvalidArgumentError.of(
                    f"'{job[:80]}' is no name of a job.", hint="letters, digits and _"
                )
            tasks += [
                (f"/job:{job}/replica:0/task:{index}", as_machine(one)) for index, one in enumerate(machines)
            ]
        return cls.of_tasks(dict(tasks), Network.parse(network) if isinstance(network, str) else network)

    @classmethod
    def of_tasks(cls, tasks: Mapping[str, Machine], network: Network | None = None) -> Machine:
        """Returns the machines of tasks as one.

        Args:
            tasks: name of a task, ``/job:ps/replica:0/task:0``, to its machine.
            network: what connects them; None: 10GbE.

        Raises:
            InvalidArgumentError: no tasks, or a cluster in a cluster.
            ResourceExhaustedError: more GPUs than are simulated.
        """
        if not tasks or any(machine.tasks for machine in tasks.values()):
            raise InvalidArgumentError.of("A cluster is made of machines, one for each of its tasks.")
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
        """What connects the GPUs with the host and each other, and how fast; of a cluster, the network too."""
        if self.tasks:
            names = [name.removeprefix("/job:").replace("/replica:0/task:", "/") for name, _ in self.tasks]
            return ClusterLinks(names, [machine.links for _, machine in self.tasks], self.network)
        return Links(self.gpus, self.wiring)

    def _first_gpus(self) -> list[int]:
        """Of each task the position of its first GPU."""
        counts = [len(machine.gpus) for _, machine in self.tasks]
        return [sum(counts[:task]) for task in range(len(counts))]

    def visibility(self, environ: Mapping[str, str] | None = None) -> Visibility:
        """Returns what CUDA shows a process.

        Args:
            environ: environment to read CUDA_VISIBLE_DEVICES from; None for this process's.
        """
        return visible_gpus(self.gpus, os.environ if environ is None else environ)

    def virtual_gpus(
        self,
        config: ConfigLike | GPUSettings | None = None,
        environ: Mapping[str, str] | None = None,
        visibility: Visibility | None = None,
        release: str | None = None,
    ) -> list[VirtualGPU]:
        """Returns the GPU devices that a session makes.

        Args:
            config: ``ConfigProto`` or anything with its attributes; None for the defaults.
            environ: environment to read CUDA_VISIBLE_DEVICES and TF_MIN_GPU_MULTIPROCESSOR_COUNT from; None for this
                process's.
            visibility: what CUDA decided earlier; then CUDA's variables are not read.
            release: which TensorFlow decides which GPUs are used; None for the process's release.

        Raises:
            InvalidArgumentError: ``config`` or the environment are wrong; TensorFlow's sentences.
            ResourceExhaustedError: ``config`` wants more devices than are simulated.
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
        """Returns the devices of a session.

        Args:
            config: ``ConfigProto`` or anything with its attributes; None for the defaults.
            environ: environment to read CUDA_VISIBLE_DEVICES and TF_MIN_GPU_MULTIPROCESSOR_COUNT from; None for this
                process's.
            visibility: what CUDA decided earlier; then CUDA's variables are not read.
            release: which TensorFlow decides which GPUs are used; None for the process's release.

        Raises:
            InvalidArgumentError: ``config`` or the environment are wrong; TensorFlow's sentences.
            NotFoundError: ``device_count`` leaves no CPU.
            ResourceExhaustedError: ``config`` wants more devices than are simulated.
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
                "No CPU devices are available in this process", hint="device_count CPU >= 1"
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
        """Returns the chain from physical GPUs to devices as rows, hidden ones and reasons included.

        Args:
            config: ``ConfigProto`` or anything with its attributes; None for the defaults.
            environ: environment to read CUDA_VISIBLE_DEVICES and TF_MIN_GPU_MULTIPROCESSOR_COUNT from; None for this
                process's.
            visibility: what CUDA decided earlier; then CUDA's variables are not read.
            release: which TensorFlow decides which GPUs are used; None for the process's release.

        Raises:
            InvalidArgumentError: ``config`` or the environment are wrong; TensorFlow's sentences.
            ResourceExhaustedError: ``config`` wants more devices than are simulated.
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
        """The chain from physical GPUs to devices as a pandas ``DataFrame``, hidden ones and reasons included.

        Args:
            config: ``ConfigProto``; None for the defaults.
            environ: Environment to read CUDA_VISIBLE_DEVICES from; None for this process's.
            visibility: What CUDA decided earlier; then ``environ`` is not read.
        """
        mapping_frame = above("gpuplace.jupyter.frames.machine_frames", "mapping_frame")

        return mapping_frame(self.mapping(config, environ, visibility))

    _repr_mimebundle_ = notebook_view


def as_machine(given: Machine | str) -> Machine:
    """The machine that is given, or that a text describes.

    Args:
        given: a ``Machine`` or its text.

    Raises:
        InvalidArgumentError: the text is not understood.
        TypeError: it is neither.
    """
    return given if isinstance(given, Machine) else Machine.parse(given)


def _no_machine(given: object) -> str:
    told = f"a machine is a Machine or its text, such as '4x Tesla K20m'; got {given!r}"
    if isinstance(given, int) and not isinstance(given, bool):
        written = f"'{given}x Tesla K20m'" if given > 0 else "'cpu'"
        told += f": write {written}"
    return told


@dataclass(frozen=True, slots=True)
class Origin:
    """What the devices of a session are made of."""

    machine: Machine
    """The machine."""
    settings: GPUSettings
    """The part of ``ConfigProto`` that decides about devices."""
    cuda_device_order: str
    """CUDA_DEVICE_ORDER as CUDA read it."""
    cuda_visible_devices: str | None
    """CUDA_VISIBLE_DEVICES as CUDA read it; None if it was not set."""

    @property
    def environ(self) -> dict[str, str]:
        """The environment variables that are set."""
        found = {DEVICE_ORDER: self.cuda_device_order}
        if self.cuda_visible_devices is not None:
            found[VISIBLE_DEVICES] = self.cuda_visible_devices
        return found


def default_machine(environ: Mapping[str, str] | None = None) -> Machine:
    """Returns the machine GPUPLACE_MACHINE names, else the real one: a simulated GPU never stands in unasked.

    Args:
        environ: environment to read it from; None for this process's.

    Raises:
        InvalidArgumentError: GPUPLACE_MACHINE is not understood.
        InternalError: the real GPUs fail.
    """
    text = (os.environ if environ is None else environ).get(ENVIRONMENT_VARIABLE, "").strip()
    return Machine.parse(text) if text else Machine.local()


def _slots(count: int) -> list[str]:
    """PCI bus ids of ``count`` GPUs that nobody gave a slot."""
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


def _install(wanted: list[tuple[GPUModel, str | None]]) -> tuple[PhysicalGPU, ...]:
    """GPUs in their slots, numbered by PCI bus id."""
    slots = _slots(len(wanted))
    gpus = [
        PhysicalGPU.simulated(model, 0, slot or rule)
        for (model, slot), rule in zip(wanted, slots, strict=True)
    ]
    gpus.sort(key=lambda gpu: gpu.pci_bus_id)
    for before, gpu in zip(gpus, gpus[1:], strict=False):
        if before.pci_bus_id == gpu.pci_bus_id:
            raise InvalidArgumentError.of(f"Two GPUs in one slot: {gpu.pci_bus_id}.")
    return tuple(gpu.at(index) for index, gpu in enumerate(gpus))


def _gpus_text(gpus: tuple[PhysicalGPU, ...]) -> str:
    if [gpu.pci_bus_id for gpu in gpus] != _slots(len(gpus)):
        return " + ".join(f"{gpu.name} @ {gpu.pci_bus_id}" for gpu in gpus)
    runs = [(name, len(list(run))) for name, run in groupby(gpus, key=lambda gpu: gpu.name)]
    return " + ".join(f"{count}x {name}" for name, count in runs)


def _cluster_text(cluster: Machine) -> str:
    found: list[tuple[str, str, int]] = []
    for name, machine in cluster.tasks:
        job = name.removeprefix("/job:").partition("/")[0]
        if found and found[-1][:2] == (job, str(machine)):
            found[-1] = *found[-1][:2], found[-1][2] + 1
        else:
            found.append((job, str(machine), 1))
    parts = [f"{job}*{count}: {text}" if count > 1 else f"{job}: {text}" for job, text, count in found]
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
            raise _not_understood(text, f"'{part[:80]}' in a cluster" if part else "an empty part")
    return Machine.cluster(jobs, network)


def _further_device(name: str) -> DeviceAttributes:
    """A device of another type; those of XLA are described in the device mapping (xla_device.cc, release 1.15)."""
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
    wanted: list[tuple[GPUModel, str | None]] = []
    names: list[str] = []
    xla: dict[str, int] = {}
    priority: dict[str, int] = {}
    wiring = Wiring()
    is_cpu_build = False
    for part in (piece.strip() for piece in re.split(r"[,+]", text)):
        if not part:
            raise _not_understood(text, "an empty part")
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
                raise _not_understood(text, f"{count} GPUs in one slot")
            check_count(count + len(wanted), "GPU", MAX_GPUS)
            wanted += [(find_model(model.strip()), slot.strip() or None)] * count
    if names and cpus is None and not wanted and not xla:
        return replace(Machine.from_devices(names, priority), wiring=wiring, is_cpu_build=is_cpu_build)
    if cpus == 0:
        raise _not_understood(text, "a machine without a CPU")
    check_count(cpus or 1, "CPU", MAX_DEVICES)
    for kind, count in xla.items():
        check_count(count, kind, MAX_DEVICES)
    names += [f"{PREFIX}/device:{kind}:{index}" for kind, count in xla.items() for index in range(count)]
    extra = DeviceSet([DeviceAttributes(name) for name in names]).names
    return Machine(
        gpus=_install(wanted),
        cpus=1 if cpus is None else cpus,
        extra_devices=tuple(extra),
        type_priority=priority,
        wiring=wiring,
        is_cpu_build=is_cpu_build,
    )


def _split_count(part: str) -> tuple[int, str]:
    """``(2, "K40c")`` from ``2x K40c``; names that begin with digits, as in ``1080 Ti``, are whole names."""
    match = _COUNT.fullmatch(part)
    if match is None or is_model(part):
        return 1, part
    return number_of(match[1]), match[2].strip()


def _parse_priority(part: str, text: str) -> dict[str, int]:
    pairs = [pair.partition("=") for pair in part.split()[1:]]
    if not all(re.fullmatch(r"-?\d{1,18}", value) for _, _, value in pairs):
        raise _not_understood(text, f"'{part}'")
    return {kind: int(value) for kind, _, value in pairs}


def _not_understood(text: str, what: str) -> InvalidArgumentError:
    return InvalidArgumentError.of(
        f"Machine '{text if len(text) <= _SHOWN else text[:_SHOWN] + '...'}' is not understood: {what}.",
        facts={
            "allowed": "'local', 'cpu', or parts separated by ',' or '+': 'N CPU', 'Nx MODEL', 'MODEL @ PCI-BUS-ID', "
            "a full device name, 'links pcie=3x16 switch=2 nvlink=cube', 'cpu build'; of a cluster, separated by ';': "
            "'JOB: MACHINE', 'JOB*N: MACHINE', 'network 10GbE'",
            "models": ", ".join(model.name for model in GPU_MODELS),
        },
        hint="4x Tesla K20m",
    )

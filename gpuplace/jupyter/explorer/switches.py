"""The switches of the explorer as traits: set from Python or by the page, undone and made again.

A setting is checked when it is set, and raises for what is none; what a control of the page asks for is refused beside
the control instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import traitlets

from gpuplace.errors import OpError
from gpuplace.jupyter.explorer.controls import setting_of
from gpuplace.jupyter.explorer.what_if import WhatIf

_SETTINGS = {
    "soft_placement": "soft_placement",
    "machine": "machine",
    "release": "release",
    "visible_devices": "visible",
    "cuda_visible_devices": "cuda_visible_devices",
    "cuda_device_order": "cuda_device_order",
    "visible_device_list": "visible_device_list",
    "device_count": "device_count",
    "allow_growth": "allow_growth",
    "per_process_gpu_memory_fraction": "per_process_gpu_memory_fraction",
    "tags": "tags",
    "signature": "signature",
    "function": "function",
    "clear_devices": "clear_devices",
    "fetches": "fetches",
    "feeds": "feeds",
    "requests": "requests",
}
"""Trait -> setting of `WhatIf`."""


class Switches(traitlets.HasTraits):
    """The part of the explorer that holds its settings."""

    _what_if: WhatIf
    _settling: bool
    _refused: dict[str, tuple[Any, BaseException]]

    _show_placement: Callable[[], None]
    _show_fields: Callable[[], None]

    soft_placement = traitlets.Bool(False, help="allow_soft_placement")
    visible_devices = traitlets.Tuple(help="Numbers of the machine's GPUs that the process may see, sorted.")
    cuda_visible_devices = traitlets.Unicode(
        None, allow_none=True, help="CUDA_VISIBLE_DEVICES as text; None where it is not set."
    )
    cuda_device_order = traitlets.Unicode("FASTEST_FIRST", help="CUDA_DEVICE_ORDER")
    visible_device_list = traitlets.Unicode("", help="gpu_options.visible_device_list")
    device_count: Any = traitlets.Dict(help="device_count, for example {'GPU': 1}")
    allow_growth = traitlets.Bool(False, help="gpu_options.allow_growth")
    per_process_gpu_memory_fraction = traitlets.Float(0.0, help="gpu_options.per_process_gpu_memory_fraction")
    machine = traitlets.Unicode(help="The machine's text, for example '4x Tesla K20m'.")
    release = traitlets.Unicode(help="Which TensorFlow decides and speaks.")
    tags = traitlets.Unicode(
        None,
        allow_none=True,
        help="Tags of the SavedModel's graph, such as 'gpu,serve'; None for other graphs.",
    )
    signature = traitlets.Unicode("", help="The signature that is placed; empty for the whole graph.")
    function = traitlets.Unicode("", help="The function whose body is placed alone; empty for none.")
    clear_devices = traitlets.Bool(False, help="Whether the nodes lose the devices that they ask for.")

    fetches: Any = traitlets.Any((), help="What the step fetches whose cost is foretold; () for training.")
    feeds: Any = traitlets.Any({}, help="What is fed to it: names and shapes, {'images': (64, 224, 224, 3)}.")
    requests: Any = traitlets.Any(
        {}, help="What nodes ask for in place of what the program says: {'MatMul': '/gpu:1'}."
    )

    def undo(self) -> bool:
        """Takes the last change of a setting back; says whether there was one."""
        return self._step(self._what_if.undo)

    def redo(self) -> bool:
        """Makes the change again that was taken back last; says whether there was one."""
        return self._step(self._what_if.redo)

    @traitlets.validate(*_SETTINGS)
    def _check_setting(self, proposal: Any) -> Any:
        """What a setting becomes in its usual form; raises for what is none."""
        name, value = proposal.trait.name, proposal.value
        if self._settling:
            return value
        if name == "visible_devices":
            return self._what_if.checked_visible(value)
        made = self._what_if.changed(**{_SETTINGS[name]: value})
        return str(made.machine) if name == "machine" else getattr(made, name)

    @traitlets.observe(*_SETTINGS)
    def _setting_changed(self, change: Any) -> None:
        if not self._settling:
            self._step(lambda: self._what_if.change(**{_SETTINGS[change.name]: change.new}))

    def _step(self, change: Callable[[], bool | None]) -> bool:
        """Changes the state and shows what came of it, unless the change says that there is nothing to do."""
        with self._what_if.lock:
            if change() is False:
                return False
            self._refused = {}
            self._settling = True
            try:
                self._show_settings()
            finally:
                self._settling = False
            self._show_placement()
        return True

    def _set(self, field: str, value: Any) -> None:
        """Sets what a control stands for; what is refused is said beside it."""
        try:
            name, wanted = setting_of(field, value, self._what_if.settings)
            self._refused = {}
            setattr(self, name, wanted)
        except (OpError, ValueError, TypeError, traitlets.TraitError) as error:
            self._refused = {field: (value, error)}
        self._show_fields()

    def _show_settings(self) -> None:
        """Sets the traits to what the settings are."""
        settings = self._what_if.settings
        for name in _SETTINGS:
            if name not in ("machine", "visible_devices"):
                setattr(self, name, getattr(settings, name))
        self.machine = str(settings.machine)
        self.visible_devices = self._visible()

    def _visible(self) -> tuple[int, ...]:
        try:
            return self._what_if.settings.visible
        except OpError:
            return ()

"""The settings of the explorer as traits: set from Python or by the page, with undo and redo.

Setting an invalid value from Python raises an error; an invalid value from the page is shown next to its control. The
settings are defined in `SETTINGS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import traitlets

from gpuplace.errors import OpError
from gpuplace.jupyter.explorer.setting_table import SETTINGS, setting_of
from gpuplace.jupyter.explorer.what_if import WhatIf

_TRAITS: Any = type(
    "SettingTraits", (traitlets.HasTraits,), {name: setting.trait for name, setting in SETTINGS.items()}
)


class Switches(_TRAITS):  # type: ignore[misc]
    """The part of the explorer that holds its settings."""

    _what_if: WhatIf
    _settling: bool
    _checked: tuple[Any, ...] = ()
    """A checked change that is not yet announced: trait, settings before, settings after."""
    _refused: dict[str, tuple[Any, BaseException]]

    _show_placement: Callable[[], None]
    _show_fields: Callable[[], None]

    def undo(self) -> bool:
        """Undo the last change of a setting; return whether there was one."""
        return self._step(self._what_if.undo)

    def redo(self) -> bool:
        """Redo the last undone change; return whether there was one."""
        return self._step(self._what_if.redo)

    @traitlets.validate(*SETTINGS)
    def _check_setting(self, proposal: Any) -> Any:
        """Return a setting's value in its usual form; raises for an invalid value."""
        if self._settling:
            return proposal.value
        name, before = proposal.trait.name, self._what_if.settings
        after = self._what_if.changed(**{name: proposal.value})
        self._checked = (name, before, after)
        return SETTINGS[name].value(after)

    @traitlets.observe(*SETTINGS)
    def _setting_changed(self, change: Any) -> None:
        if self._settling:
            return
        name, before, after = self._checked
        if (name, before) != (change.name, self._what_if.settings):  # several changes are announced together
            after = self._what_if.changed(**{change.name: change.new})
        self._step(lambda: self._what_if.go_to(after))

    def _step(self, change: Callable[[], bool | None]) -> bool:
        """Change the state and show the result, unless the change reports that there is nothing to do."""
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

    def _set(self, control: str, value: object) -> None:
        """Set the trait that a control represents; an invalid value is shown next to the control."""
        try:
            name, trait_value = setting_of(control, value, self._what_if.settings)
            self._refused = {}
            setattr(self, name, trait_value)
        except (OpError, ValueError, TypeError, traitlets.TraitError) as error:
            self._refused = {control: (value, error)}
        self._show_fields()

    def _show_settings(self) -> None:
        """Set the traits from the settings."""
        for name, setting in SETTINGS.items():
            value = setting.value(self._what_if.settings)
            if getattr(self, name) != value:
                setattr(self, name, value)

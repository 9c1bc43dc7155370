"""What pages say to the explorer: a function for each type of message.

A message that has not the form that its function takes is passed over: a page of an older version may have sent it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpuplace.errors import OpError
from gpuplace.jupyter.explorer.explorer_views import LOOKS
from gpuplace.jupyter.explorer.saved_settings import parsed
from gpuplace.jupyter.explorer.setting_table import SETTINGS
from gpuplace.jupyter.explorer.tabs import TABS, act_advice
from gpuplace.tables.calls import calls_of
from gpuplace.tables.placement_view import view_of

Answer = Callable[[Any, Any, dict[str, Any]], None]
_ANSWERS: dict[str, Answer] = {}
_TABS = {tab.key: tab for tab in TABS}


def answer(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    """Does what a page asks for.

    Args:
        explorer: the explorer.
        widget: whose page it is; answers go there.
        content: the message.
    """
    known = _ANSWERS.get(str(content.get("type")))
    if known is not None:
        with explorer._what_if.lock:
            known(explorer, widget, content)


def _answers(kind: str) -> Callable[[Answer], Answer]:
    def add(function: Answer) -> Answer:
        _ANSWERS[kind] = function
        return function

    return add


# -------------------------------------------------------------------------------------------------------------- picture


@_answers("select")
def _select(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    match content:
        case {"id": str(box)}:
            explorer.selected = explorer._name_of_box(box)
        case {"name": str(name)}:
            explorer._reveal(name)


@_answers("toggle")
def _toggle(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    if isinstance(box := content.get("id"), str):
        explorer.toggle(box)


@_answers("open")
def _open(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    """Opens a function, that of a box, or saved settings."""
    match content:
        case {"function": str(function)}:
            explorer._open(function, explorer.selected)
        case {"id": str(box)}:
            name = explorer._name_of_box(box)
            node = view_of(explorer.placement).index.get(name) if name else None
            calls = [] if node is None else calls_of(explorer.placement, node)
            if calls:
                explorer._open(calls[0].function, name)
        case {"text": str(text)}:
            told = ""
            try:
                explorer.open_settings(parsed(text))
            except (OpError, ValueError, TypeError, OSError) as error:
                told = getattr(error, "message", str(error))
            widget.send({"type": "opened", "error": told})


@_answers("view")
def _view(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    if content.get("name") in LOOKS:
        explorer.view = content["name"]


@_answers("backward")
def _backward(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    explorer.backward = content.get("on") is True


@_answers("fold")
def _fold(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    match content.get("how"):
        case "all":
            explorer.opened = ()
        case "auto":
            explorer.unfold()


@_answers("find")
def _find(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    if isinstance(text := content.get("text"), str):
        explorer.find(text, back=content.get("back") is True)


@_answers("light")
def _light(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    match content:
        case {"what": str(what)} if what in explorer.lights:
            explorer.light = what
        case {"only": bool(only)}:
            explorer.lit_only = only


@_answers("canvas")
def _canvas(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    """Fits the picture to a page that says how large it is."""
    match content:
        case {"width": int(width), "height": int(height)}:
            explorer._views.canvas = (
                float(min(max(width, 300), 4000)),
                float(min(max(height, 300), 4000)),
            )
            explorer._show_look()


# ---------------------------------------------------------------------------------------------------- settings and tabs


@_answers("set")
def _set(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    """Sets what was typed into a field of a tab, or what a control stands for."""
    match content:
        case {"name": str(name), "value": value}:
            key, _, field = name.partition(":")
            tab = _TABS.get(key)
            if tab is not None and tab.typed is not None:
                tab.typed(explorer, field, str(value))
            else:
                explorer._set(name, value)
                if name in SETTINGS and SETTINGS[name].is_of_step:  # typed in a tab
                    explorer._views.show_tab()


@_answers("act")
def _act(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    """Does what a button says."""
    kind, _, rest = str(content.get("action")).partition(":")
    tab = _TABS.get(kind)
    if tab is not None and tab.act is not None:
        tab.act(explorer, rest)
    elif kind == "remedy" and rest.isdigit() and int(rest) < len(explorer.remedies):
        explorer.apply_remedy(int(rest))
    elif kind == "trail" and rest.isdigit():
        explorer._change(functions=explorer._what_if.settings.functions[: int(rest)])


@_answers("tab")
def _tab(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    if content.get("name") in explorer._views.pages:
        explorer.tab = content["name"]


@_answers("advise")
def _advise(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    act_advice(explorer, "start")


@_answers("undo")
def _undo(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    explorer.undo()


@_answers("redo")
def _redo(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    explorer.redo()


@_answers("save")
def _save(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    widget.send({"type": "saved", "text": explorer._saved()})


@_answers("code")
def _code(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    widget.send({"type": "code", "text": explorer.as_python()})


@_answers("ping")
def _ping(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    widget.send({"type": "pong", "number": content.get("number")})

"""Messages from pages to the explorer, by type.

Unknown messages are ignored, because an older page may have sent them.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import OpError
from gpuplace.jupyter.explorer.saved_settings import parsed
from gpuplace.jupyter.explorer.setting_table import SETTINGS
from gpuplace.jupyter.explorer.tabs import TABS, act_advice
from gpuplace.views.tables.calls import calls_of
from gpuplace.views.tables.placement_view import view_of

_TABS = {tab.key: tab for tab in TABS}


def answer(explorer: Any, widget: Any, content: dict[str, Any]) -> None:
    """Execute a page's message.

    Args:
        explorer: explorer to change.
        widget: the sender's widget, which receives answers.
        content: the message; names of fields and buttons in a tab begin with the tab's key and a colon.
    """
    key, _, rest = str(content.get("action", content.get("name"))).partition(":")
    tab = _TABS.get(key)
    match content:
        case {"type": "act"} if tab is not None and tab.act is not None:
            tab.act(explorer, rest)
        case {"type": "set", "value": value} if tab is not None and tab.typed is not None:
            tab.typed(explorer, rest, str(value))
        case {"type": "set", "name": str(name), "value": value}:
            explorer._set(name, value)
            if name in SETTINGS and SETTINGS[name].is_of_step:  # typed in a tab
                explorer._views.show_tab()
        case {"type": "act"} if key == "remedy" and rest.isdigit() and int(rest) < len(explorer.remedies):
            explorer.apply_remedy(int(rest))
        case {"type": "act"} if key == "trail" and rest.isdigit():
            explorer._change(functions=explorer._what_if.settings.functions[: int(rest)])
        case {"type": "advise"}:
            act_advice(explorer, "start")
        case {"type": "undo"}:
            explorer.undo()
        case {"type": "redo"}:
            explorer.redo()
        case {"type": "save"}:
            widget.send({"type": "saved", "text": explorer._saved()})
        case {"type": "open", "text": str(text)}:
            widget.send({"type": "opened", "error": _opened(explorer, text)})
        case {"type": "code"}:
            widget.send({"type": "code", "text": explorer.as_python()})
        case {"type": "ping", "number": number}:
            widget.send({"type": "pong", "number": number})
        case _:
            _look(explorer, content)


def _look(explorer: Any, content: dict[str, Any]) -> None:
    """Change the look of the placement."""
    match content:
        case {"type": "select", "id": str(box)}:
            explorer.selected = explorer._name_of_box(box)
        case {"type": "select", "name": str(name)}:
            explorer._reveal(name)
        case {"type": "toggle", "id": str(box)}:
            explorer.toggle(box)
        case {"type": "open", "function": str(function)}:
            explorer._open(function, explorer.selected)
        case {"type": "open", "id": str(box)}:
            name = explorer._name_of_box(box)
            node = view_of(explorer.placement).index.get(name) if name else None
            if node is not None and (calls := calls_of(explorer.placement, node)):
                explorer._open(calls[0].function, name)
        case {"type": "view" | "tab" as trait, "name": name} if name in explorer.traits()[trait].values:
            setattr(explorer, trait, name)
        case {"type": "backward", "on": bool(on)}:
            explorer.backward = on
        case {"type": "fold", "how": "all"}:
            explorer.opened = ()
        case {"type": "fold", "how": "auto"}:
            explorer.unfold()
        case {"type": "find", "text": str(text)}:
            explorer.find(text, back=content.get("back") is True)
        case {"type": "light", "what": str(what)} if what in explorer.lights:
            explorer.light = what
        case {"type": "light", "only": bool(only)}:
            explorer.lit_only = only
        case {"type": "canvas", "width": int(width), "height": int(height)}:
            explorer._views.canvas = _canvas(width, height)
            explorer._show_look()
        case {"type": "crowded", "width": int(width), "height": int(height), "boxes": list(boxes)}:
            explorer._views.show_less(boxes, _canvas(width, height))
            explorer._show_selection()


def _canvas(width: int, height: int) -> tuple[float, float]:
    return float(min(max(width, 300), 4000)), float(min(max(height, 300), 4000))


def _opened(explorer: Any, text: str) -> str:
    """Apply saved settings; return the error message, or ""."""
    try:
        explorer.open_settings(parsed(text))
    except (OpError, ValueError, TypeError, OSError) as error:
        return str(getattr(error, "message", error))
    return ""

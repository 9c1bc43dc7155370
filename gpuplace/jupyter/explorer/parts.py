"""The part of a model that the explorer shows: the whole graph, the nodes of a signature, or a function's body.

>>> from gpuplace.device.machine import Machine
>>> from gpuplace.graphdef.messages import GraphDef
>>> parts = Parts(Model(GraphDef()))
>>> parts.labels(Settings(Machine())), parts.label(Settings(Machine(), signature="serve"))
(['whole graph'], 'signature serve')
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

from gpuplace.graph.graph import Graph
from gpuplace.graphdef.function_graph import check_function
from gpuplace.graphdef.model import Model, Part
from gpuplace.jupyter.explorer.settings import Settings

WHOLE = "whole graph"
"""The picker's entry for it."""
_KINDS = ("signature", "function")
"""First words of the other entries in the picker."""


class Parts:
    """The parts that can be selected.

    Args:
        source: a `Model`; a `Graph`, whose only parts are functions; or any other source, which has no parts.
    """

    def __init__(self, source: Any) -> None:
        self.model = source if isinstance(source, Model) else None
        self._graph = source if isinstance(source, Graph) else None
        self.functions = cache(self._functions)

    @property
    def tag_sets(self) -> tuple[str, ...]:
        """The tags of each graph of a SavedModel."""
        return self.model.tag_sets if self.model is not None else ()

    def signatures(self, tags: str | None) -> tuple[str, ...]:
        """Return the signatures of a graph."""
        return self.model.signatures(tags) if self.model is not None else ()

    def _functions(self, tags: str | None) -> tuple[str, ...]:
        if self.model is not None:
            return self.model.functions(tags)
        return tuple(sorted(self._graph.functions)) if self._graph is not None else ()

    # ------------------------------------------------------------------------------------------------------- settings

    def begin(
        self,
        tags: str | Iterable[str] | None,
        signature: str | None,
        function: str | None,
        *,
        clear_devices: bool,
        otherwise: Part | None = None,
    ) -> dict[str, Any]:
        """Return the initial settings.

        Args:
            tags, signature, function, clear_devices: as for `gpuplace.place`, except that without a signature the
                model's default is used.
            otherwise: the part to start with if none is given.

        Raises:
            NotFoundError: there are no such tags, signature or function.
            ValueError: `tags` or `signature` was given for a source without them.
        """
        if otherwise is not None and tags is None and signature is None and not function:
            chosen = otherwise
            if clear_devices:
                chosen = Part(chosen.tags, chosen.signature, chosen.function, clear_devices)
        elif self.model is not None:
            chosen = self.model.part(tags, signature, function, clear_devices=clear_devices)
        else:
            if tags is not None or signature:
                raise ValueError(
                    "tags and signature select a part of a SavedModel, but this is not a SavedModel"
                )
            chosen = Part(None, "", function or "", clear_devices)
            if function:
                check_function(self.functions(None), function)
        return {
            "tags": chosen.tags,
            "signature": chosen.signature,
            "functions": (chosen.function,) if chosen.function else (),
            "clear_devices": chosen.clear_devices,
        }

    def changed(self, settings: Settings, **wanted: Any) -> dict[str, Any]:
        """Return the settings that follow from other tags, another signature or another function.

        Args:
            settings: the current settings.
            wanted: `tags`, `signature`, `function` (an already opened function goes back to it), or `functions` and
                `calls`.

        Raises:
            NotFoundError: there are no such tags, signature or function.
            ValueError: there is nothing to select.
        """
        tags, signature = wanted.get("tags", settings.tags), wanted.get("signature", settings.signature)
        functions = wanted.get("functions", settings.functions)
        if "function" in wanted:
            name = wanted["function"] or ""
            opened = functions[: functions.index(name) + 1] if name in functions else (name,)
            functions = opened if name else ()
        elif "functions" not in wanted:
            functions = ()
        calls = wanted.get("calls", settings.calls if functions[:1] == settings.functions[:1] else ())
        calls = (*calls, *[""] * len(functions))[: len(functions)]
        if self.model is not None:
            if "signature" not in wanted and tags != settings.tags:
                there = self.signatures(self.model.part(tags).tags)
                signature = signature if signature in there else self.model.serving_signature(tags)
            tags = self.model.part(tags, signature).tags
        elif tags is not None or signature:
            raise ValueError("tags and signature select a part of a SavedModel, but this is not a SavedModel")
        for name in functions:
            check_function(self.functions(tags), name)
        return {"tags": tags, "signature": signature or "", "functions": tuple(functions), "calls": calls}

    def options(self, settings: Settings) -> dict[str, Any]:
        """Return the part as keyword arguments of `gpuplace.place`; defaults are left out."""
        part = Part(*settings.part)
        if self.model is not None:
            return self.model.options(part)
        options: dict[str, Any] = {"function": part.function} if part.function else {}
        return {**options, "clear_devices": True} if part.clear_devices else options

    # ---------------------------------------------------------------------------------------------------------- words

    def text(self, settings: Settings) -> str:
        """Return a description of the part and of other available parts; `""` for a complete graph."""
        if self.model is not None:
            text = self.model.text(Part(*settings.part))
        else:
            text = f"function {settings.function}, as a separate graph" if settings.function else ""
        return f"{text}, as {settings.call} calls it" if settings.call else text

    def labels(self, settings: Settings) -> list[str]:
        """Return the entries of the picker."""
        tags = settings.tags
        groups = [("signature", self.signatures(tags)), ("function", self.functions(tags))]
        return [WHOLE, *(f"{kind} {name}" for kind, names in groups for name in names)]

    def label(self, settings: Settings) -> str:
        """Return the selected entry."""
        if settings.function:
            return f"function {settings.function}"
        return f"signature {settings.signature}" if settings.signature else WHOLE

    def trail(self, settings: Settings) -> list[str]:
        """Return the graphs from which the open functions were opened, and the functions; empty without any."""
        if not settings.functions:
            return []
        start = f"signature {settings.signature}" if settings.signature else WHOLE
        return [start, *settings.functions]


def setting_of_label(label: str, settings: Settings) -> tuple[str, str]:
    """Return the setting and the value that an entry of the picker represents.

    >>> from gpuplace.device.machine import Machine
    >>> setting_of_label("function f", Settings(Machine())), setting_of_label("whole graph", Settings(Machine()))
    (('function', 'f'), ('function', ''))

    Raises:
        ValueError: there is no such entry.
    """
    kind, _, name = label.partition(" ")
    if label == WHOLE:
        kind, name = "signature", ""
    if kind not in _KINDS:
        raise ValueError(f"There is no part {label!r} of the graph")
    if kind == "signature" and name == settings.signature:
        return "function", ""
    return kind, name

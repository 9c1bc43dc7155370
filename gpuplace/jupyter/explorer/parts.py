"""What of a model the explorer shows: its whole graph, what a signature needs, or a function's body.

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
"""How the picker calls it."""
_KINDS = ("signature", "function")
"""First words of its other entries."""


class Parts:
    """The parts that can be chosen.

    Args:
        source: a `Model`; a `Graph`, of which only the functions are parts; or anything else, which has no parts.
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
        """The signatures of a graph."""
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
        """The settings to begin with.

        Args:
            tags, signature, function, clear_devices: as for `gpuplace.place`; but where no signature is named, the one
                that the model is asked by.
            otherwise: what to begin with if nothing is asked for.

        Raises:
            NotFoundError: no such tags, signature or function.
            ValueError: `tags` or `signature` of what has none.
        """
        if otherwise is not None and tags is None and signature is None and not function:
            chosen = otherwise
            if clear_devices:
                chosen = Part(chosen.tags, chosen.signature, chosen.function, clear_devices)
        elif self.model is not None:
            chosen = self.model.part(tags, signature, function, clear_devices=clear_devices)
        else:
            if tags is not None or signature:
                raise ValueError("tags and signature choose a part of a SavedModel: this is none")
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
        """The settings that follow from other tags, another signature or another function.

        Args:
            settings: the settings until now.
            wanted: `tags`, `signature`, `function` (one of those that were opened goes back to it), or `functions` and
                `calls`.

        Raises:
            NotFoundError: no such tags, signature or function.
            ValueError: there is nothing to choose from.
        """
        tags, signature = wanted.get("tags", settings.tags), wanted.get("signature", settings.signature)
        functions = wanted.get("functions", settings.functions)
        if "function" in wanted:
            name = wanted["function"] or ""
            known = functions[: functions.index(name) + 1] if name in functions else (name,)
            functions = known if name else ()
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
            raise ValueError("tags and signature choose a part of a SavedModel: this is none")
        for name in functions:
            check_function(self.functions(tags), name)
        return {"tags": tags, "signature": signature or "", "functions": tuple(functions), "calls": calls}

    def options(self, settings: Settings) -> dict[str, Any]:
        """The part as keyword arguments of `gpuplace.place`; only what is not as by default."""
        part = Part(*settings.part)
        if self.model is not None:
            return self.model.options(part)
        found: dict[str, Any] = {"function": part.function} if part.function else {}
        return {**found, "clear_devices": True} if part.clear_devices else found

    # ---------------------------------------------------------------------------------------------------------- words

    def text(self, settings: Settings) -> str:
        """The part in words, with what else there is; `""` for a graph that is all there is."""
        if self.model is not None:
            found = self.model.text(Part(*settings.part))
        else:
            found = f"function {settings.function}, as a graph of its own" if settings.function else ""
        return f"{found}, as {settings.call} calls it" if settings.call else found

    def labels(self, settings: Settings) -> list[str]:
        """The entries of the picker."""
        tags = settings.tags
        found = [("signature", self.signatures(tags)), ("function", self.functions(tags))]
        return [WHOLE, *(f"{kind} {name}" for kind, names in found for name in names)]

    def label(self, settings: Settings) -> str:
        """The entry that is chosen."""
        if settings.function:
            return f"function {settings.function}"
        return f"signature {settings.signature}" if settings.signature else WHOLE

    def trail(self, settings: Settings) -> list[str]:
        """Where the functions that are open were opened from, and they; nothing where none is."""
        if not settings.functions:
            return []
        start = f"signature {settings.signature}" if settings.signature else WHOLE
        return [start, *settings.functions]


def setting_of_label(label: str, settings: Settings) -> tuple[str, str]:
    """The setting, and its value, that an entry of the picker stands for.

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

"""The explorer's advice: searched in a thread of its own, so that the kernel stays usable, stopped, applied in part.

What is applied is a setting, `Settings.requests`: the placement that is shown is made by placing the graph with them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.advise import advise
from gpuplace.advisor.steps.rehearsal import OBJECTIVES
from gpuplace.advisor.steps.step_search import SearchProgress
from gpuplace.cost.grid import fed_shapes
from gpuplace.errors import FailedPreconditionError
from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.jupyter.explorer.what_if import WhatIf
from gpuplace.views.page.advice_blocks import WORDS, advice_blocks, progress_blocks
from gpuplace.views.page.cost_blocks import cost_error_blocks
from gpuplace.views.tables.blocks import Block, button, buttons_block, field, fields_block, text_block
from gpuplace.views.tables.text import counted

_SHOWN_SECONDS = 0.3
"""How often the page is told how far the search is."""
_MOST_SECONDS = 3600.0
_STALE = "This advice is for other settings than those of now: search again."


class Advising:
    """The search for an advice, and what became of it.

    Args:
        what_if: where placements come from.
        on_change: called whenever there is something new to show, maybe by another thread, without the lock.

    Attributes:
        objective: as of `gpuplace.advise`.
        seconds: how long to search.
        keep: what stays as it is: patterns with commas between them; ``""`` for nothing.
        advice: what was found; None before.
        error: why nothing was found; None if nothing is wrong.
        chosen: scopes of the moves that are ticked.
        is_noted: whether the result is shown where the search was started.
    """

    def __init__(self, what_if: WhatIf, on_change: Callable[[], None]) -> None:
        self.what_if, self.on_change = what_if, on_change
        self.objective, self.seconds, self.keep = OBJECTIVES[0], 5.0, ""
        self.advice: Advice | None = None
        self.error: BaseException | None = None
        self.chosen: set[str] = set()
        self.refused: dict[str, tuple[Any, str]] = {}
        self.is_noted = False
        self._said = ""
        self._asked: Settings | None = None
        self._applied: tuple[Settings, str] | None = None
        self._thread: threading.Thread | None = None
        self._is_running = False
        self._stop = threading.Event()
        self._progress: SearchProgress | None = None
        self._shown = 0.0

    # ------------------------------------------------------------------------------------------------------- searching

    @property
    def is_running(self) -> bool:
        """Whether a search goes on."""
        return self._is_running

    def set(self, name: str, value: str) -> None:
        """Sets what is typed: ``objective``, ``seconds`` or ``keep``; what is wrong is kept in `refused`."""
        self.refused.pop(name, None)
        if name == "seconds":
            try:
                seconds = float(value)
            except ValueError:
                seconds = 0.0
            if not 0 < seconds <= _MOST_SECONDS:
                self.refused[name] = (value, f"A number above 0 and up to {_MOST_SECONDS:g}; got {value!r}")
            else:
                self.seconds = seconds
        elif name == "objective" and value in WORDS.values():
            self.objective = next(known for known, words in WORDS.items() if words == value)
        elif name == "keep":
            self.keep = value

    def run(self, *, wait: bool, seed: int = 0, steps: int | None = None, keep: Any = None) -> None:
        """Searches for a better placement than the one that is shown.

        Args:
            wait: whether to return when it is over; else it goes on in a thread of its own.
            seed, steps: as of `gpuplace.advise`.
            keep: as of `gpuplace.advise`; None: what `keep` says.

        Raises:
            FailedPreconditionError: a search goes on already, or a log is explored.
            OpError: there are no devices; if waited for, as of `gpuplace.advise`.
        """
        state = self.what_if
        with state.lock:
            if self._is_running:
                raise FailedPreconditionError.of(
                    "A search for a better placement goes on already.", hint="stop it first"
                )
            if state.is_fixed:
                raise FailedPreconditionError.of(
                    "A log says where nodes were, not what they do: explore its graph."
                )
            if state.error is not None and (state.is_stale or state.placement is None):
                raise state.error
            settings, placement = state.settings, state.placement
            kept = (
                keep
                if keep is not None
                else [one.strip() for one in self.keep.split(",") if one.strip()] or None
            )
            self._is_running, self._progress, self._said = True, None, ""
            self.is_noted = True
            self.advice = self.error = None
            self._stop.clear()

        def search() -> None:
            self._search(placement, settings, kept, seed, steps)

        if wait:
            self.on_change()
            search()
            if self.error is not None:
                raise self.error
            return
        self._thread = threading.Thread(target=search, name="gpuplace advice", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends the search; the best so far is the advice."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Waits for the end of a search that goes on.

        Args:
            timeout: seconds to wait at most; None: until it is over.
        """
        if self._thread is not None:
            self._thread.join(timeout)

    def _search(self, placement: Any, settings: Settings, keep: Any, seed: int, steps: int | None) -> None:
        """Searches; an error is kept, to be shown, whatever it is."""
        found: Advice | None = None
        error: BaseException | None = None
        said = ""
        try:
            found = advise(
                placement,
                list(settings.fetches) or None,
                fed_shapes(settings.feeds),
                placement.device_set,
                self.objective,
                self.seconds,
                seed,
                keep,
                settings.config,
                settings.release,
                steps=steps,
                progress=self._has_progressed,
            )
            advice_blocks(found, ())  # what is worked out when it is shown, before it is
        except KeyboardInterrupt:
            said = "The search was stopped before anything was found."
            if not self._stop.is_set():  # Ctrl-C of who waits for it
                raise
        except Exception as problem:
            error = problem
        finally:
            with self.what_if.lock:
                self.advice, self.error, self._said = found, error, said
                self._asked = settings
                self.chosen = set() if found is None else {move.scope for move in found.moves}
                self._is_running = False
            self.on_change()

    def _has_progressed(self, progress: SearchProgress) -> None:
        self._progress = progress
        if self._stop.is_set():
            raise KeyboardInterrupt
        now = time.perf_counter()
        if now - self._shown > _SHOWN_SECONDS:
            self._shown = now
            self.on_change()

    # -------------------------------------------------------------------------------------------------------- applying

    @property
    def why_not(self) -> str:
        """Why the advice cannot be applied, in words; ``""`` where it can."""
        asked = self._asked
        if asked is None or replace(self.what_if.settings, requests=asked.requests) == asked:
            return ""
        return _STALE

    def apply(self, scopes: Iterable[str] | None = None) -> dict[str, str]:
        """What nodes have to ask for so that the advice, or a part of it, is followed.

        Args:
            scopes: of the moves that are wanted; None for all.

        Raises:
            FailedPreconditionError: there is no advice, or it is for other settings.
            InvalidArgumentError: there is no such move.
        """
        if self.advice is None:
            raise FailedPreconditionError.of("There is no advice yet.", hint="explorer.advise()")
        if self.why_not:
            raise FailedPreconditionError.of(self.why_not, hint="explorer.advise()")
        wanted = None if scopes is None else list(dict.fromkeys(scopes))
        part = self.advice if wanted is None else self.advice.apply(wanted)
        own = self.what_if.attempt(replace(self.what_if.settings, requests={})).graph
        requests = {
            name: text
            for name, text in part.requests.items()
            if name in own.index and own.requested_device(own.index[name]) != text
        }
        total = len(self.advice.moves)
        count = total if wanted is None else len(wanted)
        told = "The advice is applied. Undo takes it back."
        if count < total:
            told = f"{count} of {counted(total, 'move')} are applied. {part.text} Undo takes it back."
        self._applied = (replace(self.what_if.settings, requests=requests), told)
        return requests

    @property
    def applied(self) -> str:
        """What of the advice is applied, in words; ``""`` for nothing."""
        if self._applied is not None and self._applied[0] == self.what_if.settings:
            return self._applied[1]
        count = len(self.what_if.settings.requests)
        return (
            f"{counted(count, 'node asks', 'nodes ask')} for other devices than the program says."
            if count
            else ""
        )

    # ---------------------------------------------------------------------------------------------------------- showing

    def blocks(self) -> list[Block]:
        """What the page shows."""
        if self.what_if.is_fixed:
            return [text_block("A log says where nodes were, not what they do: explore its graph.", "status")]
        if self._is_running:
            return [text_block("The search goes on; its progress is shown above the picture.", "status")]
        blocks: list[Block] = [
            self._fields(),
            buttons_block(
                "The search", [button("Advise", "advice:start", "Where would the step run better?")]
            ),
        ]
        if self._said:
            blocks.append(text_block(self._said, "status"))
        if self.error is not None:
            blocks += cost_error_blocks(self.error)
        if self.advice is not None:
            blocks += advice_blocks(self.advice, self.chosen, self.applied, self.why_not)
        elif self.applied:
            buttons = [button("Take the advice back", "advice:back")]
            blocks += [text_block(self.applied, "part"), buttons_block("The advice", buttons)]
        return blocks

    def note_blocks(self) -> list[Block]:
        """What the page shows below the button that starts a search: progress, then the result in one sentence."""
        if self._is_running:
            return progress_blocks(self.objective, self._progress)
        if not self.is_noted:
            return []
        close = button("Close", "advice:close")
        more = button("What moves", "advice:show")
        if self.advice is None:
            told = self._said or f"No advice: {getattr(self.error, 'message', self.error)}"
            tone = "status" if self.error is None else "alarm"
            return [text_block(told, tone), buttons_block("The result", [more, close])]
        buttons = [more, close]
        if self.applied:
            buttons.insert(0, button("Take the advice back", "advice:back"))
        elif self.advice.moves and not self.why_not:
            buttons.insert(0, button("Apply all moves", "advice:all"))
        told = self.applied or self.why_not or self.advice.text
        return [text_block(told, "status"), buttons_block("The result", buttons)]

    def _fields(self) -> Block:
        fields = [
            field(
                *("advice:objective", "Objective", WORDS[self.objective]),
                "What is to become less: the time of one step, of steps in a pipeline, or memory",
                options=list(WORDS.values()),
            ),
            field("advice:seconds", "Seconds", f"{self.seconds:g}", "How long to search", 5),
            field(
                *("advice:keep", "Keep", self.keep),
                "Scopes and patterns of nodes that stay as they are, separated by commas",
                *(22, "save/*, tower_0"),
            ),
        ]
        refused = {f"advice:{name}": typed for name, typed in self.refused.items()}
        return fields_block("What is searched for", fields, refused)

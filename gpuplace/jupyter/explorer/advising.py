"""The explorer's search for a better placement: runs in a separate thread, can be stopped, and can be applied in part.

An applied recommendation is a setting, `Settings.requests`: the explorer places the graph again with these requests.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from gpuplace.advisor.steps.advice import Advice
from gpuplace.advisor.steps.advise import advise
from gpuplace.advisor.steps.choice_scores import OBJECTIVES
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
"""Seconds between progress updates on the page."""
_MOST_SECONDS = 3600.0
_STALE = "This recommendation is for other settings than the current ones. Search again."


class Advising:
    """The search for a better placement, and its result.

    Args:
        what_if: the source of placements.
        on_change: called whenever the display changes, possibly in another thread, without the lock.

    Attributes:
        objective: as for `gpuplace.advise`.
        seconds: search time.
        keep: comma-separated patterns of the nodes to keep; ``""`` for none.
        advice: the result; None before a search.
        error: the error that ended the search, or None.
        chosen: scopes of the selected moves.
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
        self._message = ""
        self._searched_settings: Settings | None = None
        self._applied: tuple[Settings, str] | None = None
        self._thread: threading.Thread | None = None
        self._is_running = False
        self._stop = threading.Event()
        self._progress: SearchProgress | None = None
        self._shown = 0.0

    # ------------------------------------------------------------------------------------------------------- searching

    @property
    def is_running(self) -> bool:
        """Whether a search is running."""
        return self._is_running

    def set(self, name: str, value: str) -> None:
        """Set a typed value: ``objective``, ``seconds`` or ``keep``; an invalid value is stored in `refused`."""
        self.refused.pop(name, None)
        if name == "seconds":
            try:
                seconds = float(value)
            except ValueError:
                seconds = 0.0
            if not 0 < seconds <= _MOST_SECONDS:
                self.refused[name] = (
                    value,
                    f"Enter a number of seconds greater than 0 and at most {_MOST_SECONDS:g}; got {value!r}",
                )
            else:
                self.seconds = seconds
        elif name == "objective" and value in WORDS.values():
            self.objective = next(objective for objective, words in WORDS.items() if words == value)
        elif name == "keep":
            self.keep = value

    def run(self, *, wait: bool, seed: int = 0, steps: int | None = None, keep: Any = None) -> None:
        """Search for a better placement than the shown one.

        Args:
            wait: whether to return when the search is over; otherwise it runs in a separate thread.
            seed, steps: as for `gpuplace.advise`.
            keep: as for `gpuplace.advise`; None for the attribute `keep`.

        Raises:
            FailedPreconditionError: a search is already running, or a log is explored.
            OpError: there are no devices; with ``wait``, as for `gpuplace.advise`.
        """
        state = self.what_if
        with state.lock:
            if self._is_running:
                raise FailedPreconditionError.of(
                    "A search for a better placement is already running.", hint="stop it first"
                )
            if state.is_fixed:
                raise FailedPreconditionError.of(
                    "A log records devices, but not the graph. Explore the graph instead."
                )
            if state.error is not None and (state.is_stale or state.placement is None):
                raise state.error
            settings, placement = state.settings, state.placement
            kept = (
                keep
                if keep is not None
                else [pattern.strip() for pattern in self.keep.split(",") if pattern.strip()] or None
            )
            self._is_running, self._progress, self._message = True, None, ""
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
        """Stop the search; the best result so far becomes the recommendation."""
        self._stop.set()

    def join(self, timeout: float | None = None) -> None:
        """Wait for a running search to end.

        Args:
            timeout: maximum time to wait in seconds; None for no limit.
        """
        if self._thread is not None:
            self._thread.join(timeout)

    def _search(self, placement: Any, settings: Settings, keep: Any, seed: int, steps: int | None) -> None:
        """Run the search; any error is stored for display."""
        advice: Advice | None = None
        error: BaseException | None = None
        message = ""
        try:
            advice = advise(
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
            advice_blocks(advice, ())  # compute lazily evaluated parts now, in this thread
        except KeyboardInterrupt:
            message = "The search was stopped before it found a better placement."
            if not self._stop.is_set():  # Ctrl-C while waiting for it
                raise
        except Exception as problem:
            error = problem
        finally:
            with self.what_if.lock:
                self.advice, self.error, self._message = advice, error, message
                self._searched_settings = settings
                self.chosen = set() if advice is None else {move.scope for move in advice.moves}
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
        """Why the recommendation cannot be applied, as a sentence; ``""`` if it can."""
        searched = self._searched_settings
        if searched is None or replace(self.what_if.settings, requests=searched.requests) == searched:
            return ""
        return _STALE

    def apply(self, scopes: Iterable[str] | None = None) -> dict[str, str]:
        """Return the device requests that implement the recommendation, or a part of it.

        Args:
            scopes: scopes of the moves to apply; None for all.

        Raises:
            FailedPreconditionError: there is no recommendation, or it is for other settings.
            InvalidArgumentError: there is no such move.
        """
        if self.advice is None:
            raise FailedPreconditionError.of("There is no recommendation yet.", hint="call explorer.advise()")
        if self.why_not:
            raise FailedPreconditionError.of(self.why_not, hint="explorer.advise()")
        selected = None if scopes is None else list(dict.fromkeys(scopes))
        part = self.advice if selected is None else self.advice.apply(selected)
        own = self.what_if.attempt(replace(self.what_if.settings, requests={})).graph
        requests = {
            name: text
            for name, text in part.requests.items()
            if name in own.index and own.requested_device(own.index[name]) != text
        }
        total = len(self.advice.moves)
        count = total if selected is None else len(selected)
        message = "The recommendation is applied. Undo reverts it."
        if count < total:
            message = f"Applied: {count} of {counted(total, 'move')}. {part.text} Undo reverts it."
        self._applied = (replace(self.what_if.settings, requests=requests), message)
        return requests

    @property
    def applied(self) -> str:
        """Which part of the recommendation is applied, as a sentence; ``""`` for none."""
        if self._applied is not None and self._applied[0] == self.what_if.settings:
            return self._applied[1]
        count = len(self.what_if.settings.requests)
        return (
            f"{counted(count, 'node requests', 'nodes request')} other devices than in the program."
            if count
            else ""
        )

    # ---------------------------------------------------------------------------------------------------------- showing

    def blocks(self) -> list[Block]:
        """Return the blocks that the page shows."""
        if self.what_if.is_fixed:
            return [
                text_block("A log records devices, but not the graph. Explore the graph instead.", "status")
            ]
        if self._is_running:
            return [text_block("The search is running; its progress is shown above the picture.", "status")]
        blocks: list[Block] = [
            self._fields(),
            buttons_block(
                "The search", [button("Advise", "advice:start", "Search for a better placement of the step")]
            ),
        ]
        if self._message:
            blocks.append(text_block(self._message, "status"))
        if self.error is not None:
            blocks += cost_error_blocks(self.error)
        if self.advice is not None:
            blocks += advice_blocks(self.advice, self.chosen, self.applied, self.why_not)
        elif self.applied:
            buttons = [button("Revert the recommendation", "advice:back")]
            blocks += [text_block(self.applied, "part"), buttons_block("The recommendation", buttons)]
        return blocks

    def note_blocks(self) -> list[Block]:
        """Return the blocks below the button that starts a search: progress, then the result in one sentence."""
        if self._is_running:
            return progress_blocks(self.objective, self._progress)
        if not self.is_noted:
            return []
        close = button("Close", "advice:close")
        more = button("Show moves", "advice:show")
        if self.advice is None:
            message = self._message or f"No recommendation: {getattr(self.error, 'message', self.error)}"
            tone = "status" if self.error is None else "alarm"
            return [text_block(message, tone), buttons_block("The result", [more, close])]
        buttons = [more, close]
        if self.applied:
            buttons.insert(0, button("Revert the recommendation", "advice:back"))
        elif self.advice.moves and not self.why_not:
            buttons.insert(0, button("Apply all moves", "advice:all"))
        message = self.applied or self.why_not or self.advice.text
        return [text_block(message, "status"), buttons_block("The result", buttons)]

    def _fields(self) -> Block:
        fields = [
            field(
                *("advice:objective", "Objective", WORDS[self.objective]),
                "The quantity to reduce: the time of one step, the time per step in a pipeline, or memory",
                options=list(WORDS.values()),
            ),
            field("advice:seconds", "Seconds", f"{self.seconds:g}", "Search time in seconds", 5),
            field(
                *("advice:keep", "Keep", self.keep),
                "Scopes and name patterns of nodes that keep their devices, separated by commas",
                *(22, "save/*, tower_0"),
            ),
        ]
        refused = {f"advice:{name}": typed for name, typed in self.refused.items()}
        return fields_block("Search settings", fields, refused)

"""The table of tabs, which declares each tab of the explorer completely.

A new tab is an entry of `TABS`. The page, the keys that step through tabs, `explorer.tab`, saved looks and their help
then include it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpuplace.errors import OpError
from gpuplace.jupyter.explorer import panels
from gpuplace.jupyter.explorer.as_python import config_code
from gpuplace.jupyter.explorer.explorer_views import Views
from gpuplace.jupyter.explorer.row_sources import CopyRows, LogRows, MoveRows, NodeRows, Rows
from gpuplace.jupyter.explorer.settings import Settings
from gpuplace.jupyter.explorer.tab_page import Tab, TableOf
from gpuplace.runtime.memory.process_state import session_allocators
from gpuplace.views.page.cost_blocks import compared_blocks, cost_blocks, cost_error_blocks, grid_blocks
from gpuplace.views.page.finding_blocks import HEADING, finding_blocks
from gpuplace.views.tables.blocks import (
    Block,
    button,
    buttons_block,
    error_card,
    field,
    fields_block,
    heading_block,
    text_block,
)
from gpuplace.views.tables.memory import memory_rows
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.text import summary_text
from gpuplace.views.timelines.beside import beside
from gpuplace.views.timelines.reader import step_timeline

# --------------------------------------------------------------------------------------------------------------- tables


def _no_copies(views: Views) -> str:
    knows_edges = view_of(views.what_if.placement).knows_edges
    return "Nothing is copied between devices." if knows_edges else "A log contains no copies."


def _move_rows(views: Views) -> Rows:
    moves = views.comparison.moves(views.what_if.placement)
    return Rows(0) if moves is None else MoveRows(moves)


# ----------------------------------------------------------------------------------------------------------------- cost


def _step_fields(settings: Settings, refused: Mapping[str, tuple[Any, BaseException]]) -> Block:
    """Return the fields for the step's fetches and feeds."""
    feeds = "; ".join(f"{name}={shape}" for name, shape in settings.feeds.items())
    fields = [
        field(
            *("fetches", "Fetches", ", ".join(settings.fetches)),
            "Names of tensors and operations, separated by commas: loss, train_op",
            *(24, "training operation, or outputs"),
        ),
        field(
            *("feeds", "Feeds", feeds),
            "Shapes of the feeds: name=sizes, separated by semicolons",
            *(34, "images=64,224,224,3; labels=64"),
        ),
    ]
    return fields_block("The step", fields, refused)


def _grid_fields(machines: str, batches: str) -> list[Block]:
    """Return the fields for the machines and batch sizes to compare."""
    fields = [
        field(
            *("cost:machines", "Machines", machines),
            "Machines, separated by semicolons; clusters, separated by |",
            *(34, "1x K80; 2x K80; 4x V100"),
        ),
        field(
            *("cost:batches", "Batch sizes", batches),
            "Numbers, separated by commas; they replace the first dimension of the feeds",
            *(18, "as fed"),
        ),
    ]
    return [
        heading_block("Comparison of machines"),
        fields_block("Machines and batch sizes", fields),
        buttons_block("Comparison of machines", [button("Predict all", "cost:grid")]),
    ]


def _cost_blocks(views: Views) -> list[Block]:
    """Return the predicted step, and the comparison of machines if it was requested."""
    state, costs = views.what_if, views.costs
    if state.is_fixed:
        return [text_block("A log records devices, but not the graph. Explore the graph instead.", "status")]
    blocks = [_step_fields(state.settings, views.refused)]
    try:
        step = costs.estimate()
    except (OpError, ValueError, TypeError) as error:
        return [*blocks, *cost_error_blocks(error)]
    if not step.findings.skipped:
        blocks += [heading_block(HEADING), *finding_blocks(step.findings)]
    blocks += cost_blocks(step, costs.before)
    if views.run_metadata is not None:
        try:
            blocks += compared_blocks(step.compare(views.run_metadata), views.is_beside)
        except ValueError as error:  # the measured step is of another graph
            blocks += cost_error_blocks(error)
    machines, batches = costs.suggested()
    blocks += _grid_fields(costs.machines or machines, costs.batches or batches)
    try:
        if costs.is_due:
            costs.compare()
        if costs.grid is not None:
            blocks += grid_blocks(costs.grid)
    except (OpError, ValueError) as error:
        blocks += cost_error_blocks(error)
    return blocks


def _act_cost(explorer: Any, action: str) -> None:
    views = explorer._views
    if action == "grid":
        views.costs.is_due = True
    elif action == "beside":
        views.is_beside = not views.is_beside
    views.show_tab()


def _type_cost(explorer: Any, name: str, text: str) -> None:
    setattr(explorer._views.costs, name, text)
    _act_cost(explorer, "grid")


# --------------------------------------------------------------------------------------------------------------- advice


def act_advice(explorer: Any, what: str) -> None:
    """Execute a button or checkbox of the Advice tab; errors are shown next to it."""
    views = explorer._views
    advising = views.advising
    how, _, number = what.partition(":")
    if advising.advice is not None:
        advising.error = None
    try:
        match how:
            case "start" if not advising.is_running and not advising.refused:
                advising.run(wait=False)
            case "start" if advising.refused:
                explorer.tab = "Advice"  # which shows the error
            case "stop":
                advising.stop()
            case "show":
                explorer.tab = "Advice"
            case "close":
                advising.is_noted = False
            case "choose" if advising.advice is not None and int(number) < len(advising.advice.moves):
                advising.chosen ^= {advising.advice.moves[int(number)].scope}
            case "all":
                explorer.apply_advice()
            case "some" if advising.advice is not None:
                moves = advising.advice.moves
                explorer.apply_advice([move for move in moves if move.scope in advising.chosen])
            case "back":
                explorer.requests = {}
    except OpError as error:
        advising.error = error
    views.show_advice()


def _type_advice(explorer: Any, name: str, text: str) -> None:
    explorer._views.advising.set(name, text)
    explorer._views.show_advice()


# --------------------------------------------------------------------------------------------------------------- others


def _memory_blocks(views: Views) -> list[Block]:
    state = views.what_if
    if state.placement is None:
        return [text_block("No node can be placed.", "status")]
    stats = {
        name: allocator.stats()
        for name, allocator in session_allocators(state.settings.machine, state.session).items()
    }
    growth = None if state.is_fixed else (state.last_good or state.settings).allow_growth
    return panels.memory_blocks(memory_rows(state.placement, allow_growth=growth, stats=stats))


def _show_timeline(views: Views) -> None:
    """Show the measured step; hints are about the current placement, if the step ran with it."""
    placement, measured = views.what_if.placement, views.run_metadata
    predicted = None if measured is not None and not views.is_beside else views.predicted()
    if views.timed != (measured, placement, predicted):
        views.timed = (measured, placement, predicted)
        steps = [] if predicted is None else [("predicted", predicted.timeline())]
        if measured is not None:
            steps.append(("measured", step_timeline(measured, placement)))
        if measured is not None and predicted is None:
            views.timeline.show(steps[0][1])
        else:
            views.timeline.show(beside(*steps) if steps else None)
        views.timeline.select(views.selected)


def _error_blocks(views: Views) -> list[Block]:
    state = views.what_if
    return panels.error_blocks(state.placement, state.error, views.remedies, state.is_stale)


def _compare_blocks(views: Views) -> list[Block]:
    """Return the comparison; an error of the other placement precedes it, once."""
    comparison, placement = views.comparison, views.what_if.placement
    if comparison.error is not None:
        error, comparison.error = comparison.error, None
        return [
            {"kind": "error", **error_card(error)},
            *panels.compare_blocks("", "", None, comparison.choices()),
        ]
    after = "" if placement is None else summary_text(placement)
    return panels.compare_blocks(comparison.label, after, comparison.moves(placement), comparison.choices())


def _act_compare(explorer: Any, action: str) -> None:
    try:
        explorer._compare(lambda: explorer._comparison.act(action))
    except OpError as error:
        explorer._comparison.error = error
        explorer._views.show_tab()


def _device_blocks(views: Views) -> list[Block]:
    state = views.what_if
    if state.is_fixed:
        return panels.logged_device_blocks(state.placement)
    config = f"config = {config_code(state.settings)}"
    return panels.device_blocks(state.mapping, state.settings.environ, config)


# ------------------------------------------------------------------------------------------------------------ the table

TABS = (
    Tab(
        "Table",
        "nodes and their devices",
        table=TableOf(
            NodeRows.columns,
            "Nodes and their devices",
            lambda views: NodeRows(view_of(views.what_if.placement)),
            lambda views: "The graph is empty.",
        ),
    ),
    Tab(
        "Copies",
        "tensors that are copied between devices",
        table=TableOf(
            CopyRows.columns,
            "Copies between devices",
            lambda views: CopyRows(view_of(views.what_if.placement)),
            _no_copies,
        ),
    ),
    Tab(
        "Cost",
        "the predicted step: its time, its memory and its bottlenecks",
        blocks=_cost_blocks,
        shown=Views.show_predicted,
        act=_act_cost,
        typed=_type_cost,
    ),
    Tab(
        "Advice",
        "a search for a better placement, and the recommended moves",
        blocks=lambda views: views.advising.blocks(),
        act=act_advice,
        typed=_type_advice,
    ),
    Tab("Memory", "memory limits of the devices, and the bytes placed on them", blocks=_memory_blocks),
    Tab(
        "Timeline",
        "the measured step, or the predicted one",
        widget=lambda views: views.timeline,
        shown=_show_timeline,
    ),
    Tab("Errors", "nodes that cannot be placed, the reasons, and remedies", blocks=_error_blocks),
    Tab(
        "Compare",
        "nodes whose device differs from another placement",
        blocks=_compare_blocks,
        table=TableOf(MoveRows.columns, "Nodes that moved", _move_rows),
        act=_act_compare,
    ),
    Tab("Devices", "which GPU becomes which device, and the settings", blocks=_device_blocks),
    Tab(
        "Log",
        "the output of log_device_placement",
        table=TableOf(
            LogRows.columns,
            "Placement log",
            lambda views: LogRows(views.what_if.log(), view_of(views.what_if.placement).index),
            lambda views: "There is no log, because the placement failed.",
            plain=True,
        ),
    ),
)
TITLES = tuple(tab.title for tab in TABS)

"""Timelines in notebooks: tables, the widget's state and messages, what is saved, and the explorer's view."""

import base64
import json
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import gpuplace as tf
from gpuplace.jupyter.timeline_view import TimelineView
from gpuplace.views.timelines.page import COLOURS
from tests.views.timelines.steps import busy_step, entry, step_of, tower_step

DATA = Path(__file__).resolve().parents[1] / "data"
LOCAL = "/job:localhost/replica:0/task:0/device:"


@pytest.fixture
def towers():
    tf.use_machine("2x Tesla K40c")
    return tower_step()


def test_events_as_a_frame(towers):
    frame = towers.frame()
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == {
        "node": "string",
        "op": "category",
        "device": "category",
        "lane": "category",
        "thread": "Int64",
        "start": "float64",
        "end": "float64",
        "duration": "float64",
        "bytes": "Int64",
        "transfer": "bool",
        "critical": "bool",
    }
    assert len(frame) == len(towers) and frame["lane"].cat.ordered
    by_node = frame.set_index("node")
    assert by_node.loc["tower_1/in", "device"] == f"{LOCAL}GPU:1"
    assert by_node.loc["tower_1/in", "bytes"] == 16384
    assert frame["transfer"].sum() == 12
    assert frame[frame["critical"]]["node"].tolist() == [towers.names[event] for event in towers.path]


def test_other_frames(towers):
    copies = towers.frame("copies")
    assert len(copies) == 6 and str(copies["bytes"].dtype) == "Int64" and (copies["duration"] >= 0).all()
    devices = towers.frame("devices")
    assert devices.index.tolist() == [f"{LOCAL}{name}" for name in ("CPU:0", "GPU:0", "GPU:1")]
    assert devices["share"].between(0, 1).all() and devices["bytes_in"].sum() == 6 * 16384
    path = towers.frame("path")
    assert path["weight"].sum() == pytest.approx(towers.chain[1])
    gaps = towers.frame("gaps")
    assert gaps["duration"].is_monotonic_decreasing and gaps["waits_for"].dtype == "string"
    hints = towers.frame("hints")
    assert (hints["bytes_after"] <= hints["bytes_before"]).all()
    assert hints["text"].tolist() == [hint.text for hint in towers.hints]


def test_frames_of_nothing_have_their_columns():
    alone = tf.timeline(step_of(CPU_0=[entry("a", "a = Const()", 100, 5)]))
    for table in ("copies", "hints"):
        frame = alone.frame(table)
        assert len(frame) == 0 and isinstance(frame, pd.DataFrame) and "bytes" in frame.columns
    with pytest.raises(ValueError, match="A timeline has no table 'nodes': choose one of events, copies"):
        alone.frame("nodes")


def columns_of(view):
    count, raw, at, found = view.step["count"], view.columns, 0, {}
    for name, kind in (
        *((name, "<f8") for name in ("start", "end", "bytes")),
        *((name, "<u4") for name in ("name", "op", "lane")),
        *((name, "<i4") for name in ("last", "copy")),
        *((name, "<u2") for name in COLOURS),
        ("flags", "u1"),
    ):
        size = np.dtype(kind).itemsize * count
        found[name] = np.frombuffer(raw[at : at + size], dtype=kind)
        at += size
    assert at == len(raw)
    return found


def test_the_page_gets_every_event(towers):
    view = TimelineView(towers)
    columns = columns_of(view)
    names = [view.step["names"][number] for number in columns["name"]]
    assert names == list(towers.names)
    assert columns["start"].tolist() == towers.start_us.tolist()
    assert [view.step["lanes"][lane]["label"] for lane in columns["lane"]] == [
        towers.lanes[lane].label for lane in towers.lane
    ]
    assert ((columns["flags"] & 1) == towers.is_on_path).all()
    assert len(view.step["copies"]) == 6 and view.step["hints"][0][1] == towers.hints[0].text


@pytest.mark.parametrize("colour", COLOURS)
def test_colours(towers, colour):
    view = TimelineView(towers)
    view.colour = colour
    found = next(one for one in view.step["colours"] if one["name"] == colour)
    assert columns_of(view)[colour].max() < len(found["fills"]) and found["legend"]
    with pytest.raises(Exception, match="colour"):
        view.colour = "mood"


def test_what_the_page_says(towers):
    chosen = []
    view = TimelineView(towers, on_select=chosen.append)
    event = list(towers.names).index("tower_0/in")
    view._heard(view, {"type": "select", "event": event}, None)
    assert chosen == ["tower_0/in"] and view.selected == event
    columns = columns_of(view)
    assert view.step["copies"][columns["copy"][event]][4:] == [
        16384,
        towers.copies[columns["copy"][event]].tensor,
        "CPU:0",
    ]
    assert "16.0 KiB copy of" in towers.waits_for(event)
    view._heard(view, {"type": "select", "event": -1}, None)
    assert view.selected == -1 and len(chosen) == 1 and view.goto == {}
    view.select("total")
    assert towers.names[view.selected] == "total" and view.goto == {"event": view.selected, "number": 1}
    view._heard(view, {"type": "select", "event": -1}, None)
    for nonsense in (
        {"type": "select", "event": 10**6},
        {"type": "select", "event": "x"},
        {"type": "colour", "colour": "x"},
    ):
        view._heard(view, nonsense, None)
    assert view.selected == -1 and view.colour == "device"
    view._heard(view, {"type": "colour", "colour": "time"}, None)
    assert view.colour == "time"


def test_what_is_saved(towers):
    bundle = towers._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert bundle["text/plain"] == str(towers)
    page = bundle["text/html"]
    assert page.startswith('<img src="data:image/svg+xml;base64,') or "data:image/svg+xml;base64," in page
    assert "<script" not in page and "Suggested moves" in page and "6 copies" in page


def test_a_large_step_is_quick():
    view = TimelineView(busy_step(50_000))
    assert view.step["count"] == 50_000 and len(view.columns) == 50_000 * 51


def test_the_explorer_shows_the_step_that_it_is_given():
    tf.use_machine("2x Tesla K40c")
    metadata = tf.RunMetadata()
    with tf.Graph().as_default() as graph:
        with tf.device("/gpu:1"):
            y = tf.square(tf.placeholder_with_default([1.0, 2.0], [2], name="x"), name="y")
        with tf.Session() as session:
            session.run(y, options=tf.RunOptions(trace_level=3), run_metadata=metadata)
    explorer = tf.explore(graph, machine="2x Tesla K40c")
    view = explorer._views.timeline
    explorer.tab = "Timeline"
    assert {lane["label"].split()[-1] for lane in view.step["lanes"]} == {"predicted"}
    explorer.run_metadata = metadata
    assert not any("predicted" in lane["label"] for lane in view.step["lanes"])
    assert "y" in view.step["names"]
    explorer.selected = "y"
    assert view.timeline.names[view.selected] == "y"
    view._heard(view, {"type": "select", "event": list(view.timeline.names).index("x")}, None)
    assert explorer.selected == "x"
    explorer.run_metadata = None
    assert {lane["label"].split()[-1] for lane in view.step["lanes"]} == {"predicted"}


def test_sessions_give_it():
    tf.use_machine("cpu")
    with tf.Graph().as_default(), tf.Session() as session:
        timeline = session.timeline([tf.constant(1.0, name="one")])
        assert timeline.placement is session.placement and "one" in timeline.names
        with pytest.raises(TypeError):
            session.timeline(3)


def test_a_file_of_tensorflow(tmp_path):
    data = json.loads((DATA / "run_metadata_2_21.json").read_text())["runs"]["level 3"]
    path = tmp_path / "step.pb"
    path.write_bytes(zlib.decompress(base64.b64decode(data)))
    assert tf.timeline(path).frame("copies")["tensor"].tolist() == ["product", "total", "parts:1"]
    with pytest.raises(tf.errors.NotFoundError):
        tf.timeline(tmp_path / "nothing.pb")

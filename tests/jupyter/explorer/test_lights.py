"""What the explorer lights up, from Python and from the page, and what picture and tables make of it."""

import base64
import re

import pytest
from traitlets import TraitError

import gpuplace as tf
from gpuplace.jupyter.explorer.explorer import explore
from tests.jupyter.explorer.test_explorer import K20M, rows, says
from tests.jupyter.programs import layered, towers


@pytest.fixture
def explorer():
    return explore(towers(), machine=K20M)


def lit(explorer):
    return explorer._views.graph.lit


def test_inputs_and_consumers_of_the_selected_op(explorer):
    assert lit(explorer) == {"what": "", "text": ""} and explorer.lit == ()
    explorer.light = "inputs"
    assert explorer.lit_text == "Select an op to highlight all that it depends on." and "boxes" not in lit(
        explorer
    )
    explorer.selected = "MatMul_1"
    assert explorer.lit == ("Const_2", "Const_3", "MatMul_1")
    assert explorer.lit_text == "what MatMul_1 depends on: 2 nodes on GPU:3; no copy between devices"
    assert list(lit(explorer)["boxes"].values()) == [[1, 1]] * 3
    assert len(lit(explorer)["links"]) == 2 and len(lit(explorer)["starts"]) == 1
    explorer.light = "consumers"
    assert explorer.lit == ("MatMul_1", "AddN") and "1 copy between devices, 16 B" in explorer.lit_text
    explorer.selected = ""
    assert explorer.lit == ()
    explorer.light = ""
    assert lit(explorer) == {"what": "", "text": ""}


def test_the_page_chooses(explorer):
    assert [what for what, _ in explorer._views.graph.lights] == list(explorer.lights)
    says(explorer, type="select", name="AddN")
    says(explorer, type="light", what="both")
    assert explorer.light == "both" and len(explorer.lit) == 7
    says(explorer, type="light", what="nonsense")
    assert explorer.light == "both"
    says(explorer, type="light", only=True)
    assert explorer.lit_only and explorer._views.graph.lit_only


def test_tables_list_what_is_lit(explorer):
    explorer.selected, explorer.light, explorer.lit_only = "MatMul_1", "both", True
    assert {row[0] for row in rows(explorer)} == {"Const_2", "Const_3", "MatMul_1", "AddN"}
    assert (
        explorer._views.pages["Table"].table.view.total,
        explorer._views.pages["Table"].table.view.size,
    ) == (4, 7)
    explorer._views.pages["Table"].table.arrange("Const")
    assert {row[0] for row in rows(explorer)} == {"Const_2", "Const_3"}
    explorer._views.pages["Table"].table.arrange("")
    explorer.tab = "Copies"
    assert [row[1:3] for row in rows(explorer, "Copies")] == [["MatMul_1:0", "AddN"]]
    explorer.selected = "MatMul"
    assert [row[1:3] for row in rows(explorer, "Copies")] == [["MatMul:0", "AddN"]]
    explorer.lit_only = False
    assert len(rows(explorer, "Copies")) == 2
    explorer.tab = "Table"
    assert len(rows(explorer)) == 7


def test_it_stays_when_settings_change(explorer):
    explorer.selected, explorer.light = "AddN", "inputs"
    assert "(GPU:2 3, GPU:3 3)" in explorer.lit_text
    explorer.soft_placement = True
    explorer.visible_devices = (0, 1)
    assert "6 nodes on " in explorer.lit_text or "CPU:0" in explorer.lit_text
    assert len(explorer.lit) == 7 and len(lit(explorer)["boxes"]) == 7
    while explorer.undo():
        pass
    assert "(GPU:2 3, GPU:3 3)" in explorer.lit_text


def test_folded_scopes_count():
    explorer = explore(layered(6), machine=K20M)
    explorer.opened = ()
    names = list(explorer.placement)
    explorer.selected, explorer.light = names[-1], "inputs"
    boxes = lit(explorer)["boxes"]
    assert boxes and all(0 < number <= total for number, total in boxes.values())
    assert sum(number for number, _ in boxes.values()) == len(explorer.lit)
    scope = next(name for name in names if "/" in name).partition("/")[0]
    explorer.selected = scope
    assert explorer.lit_text.startswith(f"what {scope} depends on")


def test_critical_path_and_matches(explorer):
    explorer.light = "path by ops"
    assert len(explorer.lit) == 3 and explorer.lit_text == "critical path: 3 ops, the longest chain"
    explorer.light = "matches"
    assert explorer.lit_text.startswith("Search")
    says(explorer, type="find", text="^MatMul")
    assert explorer.lit == ("MatMul", "MatMul_1") and explorer.pattern == "^MatMul"
    with pytest.raises(TraitError, match="read-only"):
        explorer.pattern = "x"
    with pytest.raises(ValueError, match="'path by bytes'"):
        explorer.light = "path by time"


def test_by_time_once_there_is_a_step():
    step = tf.RunMetadata()
    device = step.step_stats.dev_stats.add(device="d")
    for micros, name in ((5, "Const"), (900, "Const_1"), (10, "MatMul"), (1, "AddN")):
        device.node_stats.add(node_name=name, all_end_rel_micros=micros)
    explorer = explore(towers(), machine=K20M)
    explorer.run_metadata = step
    explorer.light = "path by time"
    assert explorer.lit == ("Const_1", "MatMul", "AddN")
    assert explorer.lit_text == "critical path: 3 ops, 911 µs, the longest chain by measured time"
    explorer.run_metadata = None
    assert explorer.light == "" and explorer.lit == ()


def test_a_saved_notebook_shows_what_is_lit(explorer):
    for light, told in (
        ("inputs", "◉ what MatMul_1 depends on: 2 nodes on GPU:3"),
        ("path by ops", "◆ critical path: 3 ops"),
        ("matches", "● 4 matches of ^Const"),
        ("", ""),
    ):
        explorer.find("^Const")
        explorer.selected, explorer.light = "MatMul_1", light
        html = explorer._repr_mimebundle_()["text/html"]
        picture = base64.b64decode(re.search(r"base64,([^\"']+)", html)[1]).decode()
        assert told in picture
        assert ("opacity=" in picture) == (light == "inputs")


def test_a_log_has_matches_alone():
    explorer = explore(tf.parse_log("MatMul: (MatMul): /job:localhost/replica:0/task:0/device:GPU:0\n"))
    assert explorer.lights == ("", "matches")
    with pytest.raises(ValueError, match="Cannot highlight 'inputs'"):
        explorer.light = "inputs"


def test_values_on_the_card(explorer):
    explorer.selected = "Const"
    attrs = dict(explorer._views.graph.detail["attrs"])
    assert attrs["dtype"] == "float32" and attrs["value"].startswith("float32 2×3: [[1, 2, 3]")


def test_a_trace_as_a_picture():
    placement = tf.place(towers(), K20M)
    picture = placement.picture(trace="inputs", of="MatMul_1")
    assert "◉ what MatMul_1 depends on: 2 nodes on GPU:3" in picture.text
    assert picture.svg.count(' opacity="0.28"') == 4 + 4  # boxes and lines that are dimmed
    assert picture.svg.count("traced") == 3
    plain = placement.picture()
    assert plain.dot != picture.dot and "opacity" not in plain.svg
    with pytest.raises(ValueError, match="needs a direction and an op"):
        placement.picture(trace="inputs")
    with pytest.raises(KeyError, match="MatMul_1"):
        placement.picture(trace="inputs", of="MatMul_")
    with pytest.raises(ValueError, match="choose one of inputs, consumers, both"):
        placement.picture(trace="up", of="MatMul")

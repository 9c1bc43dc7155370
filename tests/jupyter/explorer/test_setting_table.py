"""The explorer's settings and tabs are declared once, in tables, and everything else follows from the tables."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import gpuplace as tf
from gpuplace.jupyter.explorer import explorer as explorer_module
from gpuplace.jupyter.explorer.explorer import Explorer, explore
from gpuplace.jupyter.explorer.setting_table import SETTINGS
from gpuplace.jupyter.explorer.settings import CONFIG_PATHS, Settings
from gpuplace.jupyter.explorer.tabs import TABS, TITLES
from tests.jupyter.programs import towers

PACKAGE = Path(explorer_module.__file__).parents[2]
PAGES = PACKAGE.parent / "notebooks" / "reference"
PARTS_OF_A_MODEL = {"tags", "signature", "function", "clear_devices"}


@pytest.mark.parametrize("name", sorted(CONFIG_PATHS))
def test_an_option_of_a_config_is_named_in_two_files(name):
    """Beside the places where it means something: placing softly, remedies that try it, and the panel of memory."""
    meaning = {
        "soft_placement": {"what_if.py", "remedies.py", "comparison.py", "costs.py", "explorer.py"},
        "device_count": {"remedies.py"},
        "visible_device_list": {"remedies.py"},
        "allow_growth": {"tabs.py", "panels.py"},
    }
    files = [*(PACKAGE / "jupyter" / "explorer").glob("*.py"), *(PACKAGE / "web" / "widgets").glob("*.js")]
    named = set()
    for path in files:
        text = re.sub(r'^"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))  # examples are not code
        if re.search(rf"\b{name}\b", text):
            named.add(path.name)
    assert named - meaning.get(name, set()) == {"settings.py", "setting_table.py"}


def test_every_setting_is_a_trait_with_help_and_on_the_page_of_results():
    listed = (
        (PAGES / "results.md")
        .read_text(encoding="utf-8")
        .split("```{result} Explorer")[1]
        .split("```")[0]
        .split()
    )
    for name in SETTINGS:
        assert Explorer.class_traits()[name].help, name
        assert name in listed, name


def test_every_control_has_the_help_of_its_setting():
    explorer = explore(towers(), machine="2x Tesla K40c")
    shown = {control["name"]: control for control in explorer._controls.fields}
    for name in ("machine", "release", "soft_placement", "cuda_visible_devices", "allow_growth"):
        assert shown[name]["tip"] == Explorer.class_traits()[name].help


def test_every_tab_is_described():
    explorer = explore(towers(), machine="2x Tesla K40c")
    assert explorer._views.tabs.titles == TITLES
    for tab in TABS:
        assert f"{tab.title}: {tab.help}" in Explorer.class_traits()["tab"].help
        explorer.tab = tab.title
        page = explorer._views.pages[tab.title]
        assert (page.panel is None) == (tab.blocks is None)
        assert page.panel is None or page.panel.blocks


def test_the_explorer_has_fewer_than_25_methods():
    members = vars(Explorer).values()
    assert len([member for member in members if inspect.isfunction(member)]) < 25


NEW = """
from dataclasses import replace
import traitlets
import gpuplace as tf
from gpuplace.jupyter.explorer import setting_table, tabs
from gpuplace.views.tables.blocks import text_block

def without_gpus(value, settings):
    return {"device_count": {"GPU": 0} if value else {}}

setting_table.SETTINGS["no_gpu"] = setting_table.Setting(
    traitlets.Bool(False, help="Make no GPU device"), "No GPU", fields=without_gpus,
    read=lambda settings: settings.device_count.get("GPU") == 0,
    controls=setting_table._control("check", place="main"), words=lambda settings: "", name="no_gpu",
)
def act(explorer, action):
    explorer.no_gpu = action == "hide"
tabs.TABS += (tabs.Tab("Counts", "nodes by device", act=act,
    blocks=lambda views: [text_block(str(views.what_if.placement.counts()))]),)
tabs.TITLES = tuple(tab.title for tab in tabs.TABS)

from tests.jupyter.programs import layered
explorer = tf.explore(layered(1), machine="2x Tesla K40c", soft_placement=True)
controls = explorer._controls
shown = lambda: next(field for field in controls.fields if field["name"] == "no_gpu")
controls._handle_custom_msg({"type": "tab", "name": "Counts"}, [])
panel = explorer._views.pages["Counts"].panel
print(explorer.tab, shown()["value"], shown()["tip"], panel.blocks[0]["text"])
controls._handle_custom_msg({"type": "set", "name": "no_gpu", "value": True}, [])
print(explorer.no_gpu, shown()["value"], panel.blocks[0]["text"], explorer.config.device_count["GPU"])
explorer.undo()
print(explorer.no_gpu, panel.blocks[0]["text"])
panel._handle_custom_msg({"type": "act", "action": "counts:hide"}, [])
print(explorer.no_gpu, explorer._look()["tab"], "Counts: nodes by device" in explorer.traits()["tab"].help)
"""


def test_a_new_setting_and_a_new_tab_are_one_entry_each():
    ran = subprocess.run([sys.executable, "-c", NEW], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    counts = tf.explore(_layered(), machine="2x Tesla K40c", soft_placement=True).placement.counts()
    total = sum(counts.values())
    assert ran.stdout.splitlines() == [
        f"Counts False Make no GPU device {counts}",
        f"True True {{'CPU:0': {total}}} 0",
        f"False {counts}",
        "True Counts True",
    ]


def _layered():
    from tests.jupyter.programs import layered

    return layered(1)


def test_a_change_is_checked_once(monkeypatch):
    explorer = explore(towers(), machine="4x Tesla K20m")
    checked = []
    check = explorer._what_if.changed
    monkeypatch.setattr(
        explorer._what_if, "changed", lambda **wanted: checked.append(wanted) or check(**wanted)
    )
    explorer.soft_placement = True
    explorer._controls._handle_custom_msg({"type": "set", "name": "release", "value": "1.4"}, [])
    assert checked == [{"soft_placement": True}, {"release": "1.4"}]
    with explorer.hold_trait_notifications():
        explorer.visible_devices = (0, 2)
        explorer.allow_growth = True
    assert (explorer.visible_devices, explorer.allow_growth, explorer.release) == ((0, 2), True, "1.4")


def test_a_change_repaints_what_depends_on_it():
    explorer = explore(towers(), machine="4x Tesla K20m")
    views, drawn = explorer._views, []
    views.graph.observe(drawn.append, ["svg", "legend"])
    placement = explorer.placement
    explorer.fetches = ("MatMul",)
    assert explorer.placement is placement and drawn == []  # another step of the same placement
    assert explorer.undo() and explorer.fetches == () and explorer.placement is placement and drawn == []
    filled = views.pages["Table"].table.view.window["version"]
    explorer.tab = "Devices"
    explorer.allow_growth = True
    explorer.tab = "Table"
    assert views.pages["Table"].table.view.window["version"] > filled
    explorer.soft_placement = True
    explorer.visible_devices = (0,)
    assert drawn


def test_settings_have_the_defaults_of_a_config():
    plain = Settings(tf.Machine.parse("cpu"))
    assert Settings.begin(plain.machine, "1.15", tf.ConfigProto(), {}) == plain
    asked = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 1})
    asked.gpu_options.per_process_gpu_memory_fraction = 0.5
    made = Settings.begin(plain.machine, "1.15", asked, {})
    assert made.config == asked
    assert (made.soft_placement, made.device_count, made.per_process_gpu_memory_fraction) == (
        True,
        {"GPU": 1},
        0.5,
    )


def test_names_that_are_no_setting():
    explorer = explore(towers(), machine="4x Tesla K20m")
    with pytest.raises(TypeError, match="There is no setting 'grow': choose from tags, "):
        explorer.compare(grow=True)
    assert set(SETTINGS) >= PARTS_OF_A_MODEL

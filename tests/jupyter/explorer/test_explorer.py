"""The explorer without a browser: every control by its trait and by what the page sends, and every view."""

import base64
import json
import re
import subprocess
import sys
import threading

import pytest
from traitlets import TraitError

import gpuplace as tf
from gpuplace.jupyter.explorer.explorer import explore
from gpuplace.views.tables.palette import device_style
from gpuplace.views.tables.placement_view import PlacementView, view_of
from tests.jupyter.programs import layered, towers
from tests.placer.corpus_files import folder
from tests.soak.session import resident_bytes

LOCAL = "/job:localhost/replica:0/task:0/device:"
K20M = "4x Tesla K20m"


@pytest.fixture
def explorer():
    return explore(towers(), machine=K20M)


def says(explorer, **message):
    """The page's picture sends a message."""
    explorer._views.graph._handle_custom_msg(message, [])


def sets(explorer, name, value):
    """A control of the page is changed."""
    explorer._controls._handle_custom_msg({"type": "set", "name": name, "value": value}, [])


def field(explorer, name):
    """What the page shows of a control."""
    return next(field for field in explorer._controls.fields if field["name"] == name)


def rows(explorer, name="Table"):
    """Rows that a table's page has."""
    return explorer._views.pages[name].table.view.window["rows"]


def table(explorer):
    """Node -> (requested, label of its device) as the table shows it."""
    return {key: (requested, look["label"]) for key, _, _, requested, look in rows(explorer)}


def marked(explorer):
    """Boxes that the picture marks as moved."""
    return len(re.findall(r'class="node [^"]*\bmoved\b', explorer.svg))


def words(blocks):
    """All text of a panel."""
    return str(blocks)


def buttons(blocks):
    """Label of a button -> its action."""
    return {
        button["label"]: button["action"]
        for block in blocks
        if block["kind"] == "buttons"
        for button in block["buttons"]
    }


def presses(explorer, panel, label):
    """A button of a panel is pressed."""
    action = next(action for name, action in buttons(panel.blocks).items() if name.startswith(label))
    panel._handle_custom_msg({"type": "act", "action": action}, [])


# ------------------------------------------------------------------------------------------------------------ settings


def test_what_it_begins_with(explorer):
    assert (explorer.soft_placement, explorer.machine, explorer.release) == (False, K20M, "1.15")
    assert explorer.visible_devices == (0, 1, 2, 3)
    assert explorer.cuda_visible_devices is None
    assert (explorer.error, explorer.stale) == ("", False)
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:3"
    assert table(explorer)["MatMul_1"] == ("/device:GPU:3", "GPU:3")
    assert [look["count"] for look in explorer._views.graph.legend] == [1, 0, 0, 3, 3]
    assert 'id="n5"' in explorer.svg
    assert "2 copies between devices, 32 B" in explorer._views.graph.notes[0][1]


def test_hiding_a_gpu_is_an_error_that_leaves_everything_usable(explorer):
    explorer.selected = "MatMul_1"
    explorer.visible_devices = (0, 1, 2)
    assert explorer.error.startswith("Cannot assign a device for operation MatMul_1")
    assert "was explicitly assigned to /device:GPU:3 but available devices are [" in explorer.error
    assert 'class="node op blank guilty"' in explorer.svg
    assert table(explorer)["MatMul_1"] == ("/device:GPU:3", "no device")
    assert table(explorer)["MatMul"] == ("/device:GPU:2", "GPU:2")
    error = explorer._views.status.blocks[0]
    assert error["kind"] == "error" and "requested by" in [label for label, _ in error["facts"]]
    assert "which the machine does not have" in explorer.reason
    assert explorer.log == ""
    explorer.soft_placement = True
    assert explorer.error == ""
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:0"
    assert table(explorer)["MatMul_1"] == ("≠ /device:GPU:3", "GPU:0")
    assert "soft placement" in explorer.reason
    assert device_style("/gpu:0").fill in explorer.svg
    explorer.visible_devices = [0, 1, 2, 3]
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:3"


def test_controls_and_traits_are_one(explorer):
    sets(explorer, "soft_placement", True)
    assert explorer.soft_placement is True
    sets(explorer, "gpu:3", False)
    assert explorer.visible_devices == (0, 1, 2)
    assert explorer.cuda_visible_devices == "0,1,2"
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:0"
    explorer.visible_devices = (1,)
    assert [field(explorer, f"gpu:{gpu}")["value"] for gpu in range(4)] == [False, True, False, False]
    assert field(explorer, "gpu:1")["label"] == "GPU 1 · Tesla K20m → GPU:0"
    sets(explorer, "release", "1.4")
    assert explorer.release == "1.4"
    sets(explorer, "machine", "2x Tesla K40c")
    assert explorer.machine == "2x Tesla K40c"
    labels = [field["label"] for field in explorer._controls.fields if field["place"] == "gpus"]
    assert labels == ["GPU 0 · Tesla K40c", "GPU 1 · Tesla K40c"]
    assert explorer.visible_devices == (0, 1)
    assert explorer.cuda_visible_devices is None


@pytest.mark.parametrize(
    ("text", "visible", "first"),
    [
        ("2,0", (0, 2), 2),
        ("", (), None),
        ("1,9,0", (1,), 1),
        ("-1,0", (), None),
        ("1,1", (), None),
        (" 3gpu , 2 ", (2, 3), 3),
        ('"1"', (1,), 1),
    ],
)
def test_cuda_visible_devices_as_text(explorer, text, visible, first):
    explorer.soft_placement = True
    sets(explorer, "cuda_visible_devices", text)
    assert explorer.cuda_visible_devices == text
    assert explorer.visible_devices == visible
    assert [field(explorer, f"gpu:{gpu}")["value"] for gpu in range(4)] == [
        gpu in visible for gpu in range(4)
    ]
    devices = {row.device: row.physical_id for row in explorer._what_if.mapping if row.device}
    assert devices.get("/device:GPU:0") == first
    sets(explorer, "cuda_visible_devices", None)
    assert explorer.visible_devices == (0, 1, 2, 3)


def test_cuda_visible_devices_by_uuid_and_in_the_order_of_the_bus():
    machine = tf.Machine.parse("2x Tesla K40c + 1x V100")
    explorer = explore(layered(1), machine=machine)
    explorer.cuda_visible_devices = machine.gpus[1].uuid[:12]
    assert explorer.visible_devices == (1,)
    explorer.cuda_visible_devices = "0"
    assert explorer.visible_devices == (2,)  # the fastest is CUDA's first
    explorer.cuda_device_order = "PCI_BUS_ID"
    assert explorer.visible_devices == (0,)
    explorer.visible_devices = (0, 2)
    assert explorer.cuda_visible_devices == "0,2"
    with pytest.raises(ValueError, match="CUDA_DEVICE_ORDER must be FASTEST_FIRST or PCI_BUS_ID, not 'SIZE'"):
        explorer.cuda_device_order = "SIZE"


def test_ticking_keeps_the_order_of_the_text(explorer):
    explorer.soft_placement = True
    explorer.cuda_visible_devices = "3,1"
    sets(explorer, "gpu:0", True)
    assert explorer.cuda_visible_devices == "3,1,0"
    sets(explorer, "gpu:3", False)
    assert explorer.cuda_visible_devices == "1,0"


def test_visible_device_list_and_device_count(explorer):
    explorer.soft_placement = True
    explorer.visible_device_list = "3,0"
    gpus = {row.device: row.physical_id for row in explorer._what_if.mapping if row.device}
    assert gpus == {"/device:GPU:0": 3, "/device:GPU:1": 0}
    assert explorer.config.gpu_options.visible_device_list == "3,0"
    sets(explorer, "device_count:GPU", "1")
    assert explorer.device_count == {"GPU": 1}
    sets(explorer, "device_count:CPU", "3")
    assert dict(explorer.config.device_count) == {"GPU": 1, "CPU": 3}
    assert [name for name in explorer.placement.device_set.names if "CPU" in name] == [
        f"{LOCAL}CPU:{i}" for i in range(3)
    ]
    sets(explorer, "device_count:GPU", "")
    assert explorer.device_count == {"CPU": 3}


def test_memory_settings(explorer):
    sets(explorer, "allow_growth", True)
    sets(explorer, "per_process_gpu_memory_fraction", "0.25")
    assert explorer.per_process_gpu_memory_fraction == 0.25
    options = explorer.config.gpu_options
    assert (options.allow_growth, options.per_process_gpu_memory_fraction) == (True, 0.25)
    device = explorer.placement.device_set.by_name[f"{LOCAL}GPU:0"]
    assert device.memory_limit == explorer._what_if.settings.machine.gpus[0].total_bytes // 4
    explorer.tab = "Memory"
    assert "reserves memory on demand" in words(explorer._views.pages["Memory"].panel.blocks)


@pytest.mark.parametrize(
    ("name", "value", "control", "part"),
    [
        ("visible_device_list", "9", "visible_device_list", "listed an invalid GPU id '9'"),
        ("visible_device_list", "1,x", "visible_device_list", "Could not parse entry"),
        ("device_count", {"CPU": 0}, "device_count:CPU", "No CPU devices are available"),
        (
            "per_process_gpu_memory_fraction",
            1.5,
            "per_process_gpu_memory_fraction",
            "Unified memory on GPUs with compute capability lower than 6.0",
        ),
        ("cuda_visible_devices", "MIG-1", "cuda_visible_devices", "names a MIG instance"),
    ],
)
def test_settings_without_devices_leave_the_last_placement(explorer, name, value, control, part):
    before = explorer.placement
    setattr(explorer, name, value)
    assert part in explorer.error
    assert explorer.stale is True
    assert explorer.placement is before
    assert explorer._views.graph.stale is True
    assert 'id="n5"' in explorer.svg
    assert part in field(explorer, control)["error"]["message"]
    blocks = explorer._views.status.blocks
    assert "The last placement is shown" in blocks[0]["text"]
    assert buttons(blocks)
    explorer.apply_remedy()
    assert (explorer.error, explorer.stale) == ("", False)
    assert dict(explorer.placement) == dict(before)


def test_a_machine_that_is_not_understood(explorer):
    with pytest.raises(tf.errors.InvalidArgumentError, match="Unknown GPU model 'Warp Drive'"):
        explorer.machine = "2x Warp Drive"
    assert explorer.machine == K20M
    sets(explorer, "machine", "2x Warp Drive")
    shown = field(explorer, "machine")
    assert "Unknown GPU model" in shown["error"]["message"] and shown["value"] == "2x Warp Drive"
    assert explorer.machine == K20M
    explorer.machine = "1x T4"
    assert explorer.machine == "1x Tesla T4"
    assert field(explorer, "machine")["value"] == "1x Tesla T4"
    assert "error" not in field(explorer, "machine")


@pytest.mark.parametrize(
    ("control", "typed", "part"),
    [
        (
            "per_process_gpu_memory_fraction",
            "half",
            "must be a fraction of each GPU's memory, for example 0.4; got 'half'",
        ),
        ("per_process_gpu_memory_fraction", "-1", "got '-1'"),
        ("per_process_gpu_memory_fraction", "nan", "got "),
        ("device_count:GPU", "two", "device_count GPU must be an integer, for example 1; got 'two'"),
        ("no such control", "1", "Unknown control"),
        ("release", "3.0", "Unknown release '3.0'"),
    ],
)
def test_what_is_typed_wrong_is_said_beside_the_control(explorer, control, typed, part):
    before = explorer._what_if.settings
    sets(explorer, control, typed)
    assert explorer._what_if.settings == before
    assert part in str(explorer._refused[control][1])
    if control in [field["name"] for field in explorer._controls.fields]:
        assert field(explorer, control)["value"] == typed
        assert part in field(explorer, control)["error"]["message"]


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("visible_devices", (0, 4), "4 GPUs, numbered from 0"),
        ("release", "1.99", "Unknown release '1.99'"),
        ("selected", "MatMul_9", "no op and no name scope 'MatMul_9'"),
        ("device_count", {"GPU": "x"}, "device_count GPU must be an integer"),
        ("per_process_gpu_memory_fraction", -0.5, "must be a fraction of each GPU's memory"),
    ],
)
def test_values_that_do_not_exist(explorer, name, value, part):
    before = getattr(explorer, name)
    with pytest.raises(ValueError, match=part):
        setattr(explorer, name, value)
    assert getattr(explorer, name) == before
    assert explorer.error == ""


def test_results_cannot_be_set(explorer):
    for name, value in [("reason", "because"), ("error", "no"), ("stale", True)]:
        with pytest.raises(TraitError):
            setattr(explorer, name, value)


def test_a_machine_without_gpus(explorer):
    explorer.machine = "cpu"
    assert [field for field in explorer._controls.fields if field["place"] == "gpus"] == []
    assert "was explicitly assigned to /device:GPU:" in explorer.error
    explorer.soft_placement = True
    assert set(explorer.placement.values()) == {f"{LOCAL}CPU:0"}


def test_hiding_every_gpu(explorer):
    explorer.soft_placement = True
    explorer.visible_devices = ()
    assert explorer.cuda_visible_devices == ""
    assert set(explorer.placement.values()) == {f"{LOCAL}CPU:0"}


def test_a_config_to_begin_with():
    config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": 1}, log_device_placement=True)
    explorer = explore(towers(), machine=K20M, config=config)
    assert explorer.soft_placement is True
    assert explorer.device_count == {"GPU": 1}
    assert set(explorer.placement.values()) == {f"{LOCAL}CPU:0", f"{LOCAL}GPU:0"}
    explorer.allow_growth = True
    assert explorer.config.log_device_placement is True and explorer.config.gpu_options.allow_growth is True
    assert config.gpu_options.allow_growth is False


# --------------------------------------------------------------------------------------------- undo, remedies, program


def test_undo_and_redo(explorer):
    assert explorer.undo() is False
    explorer.soft_placement = True
    explorer.machine = "cpu"
    explorer.release = "1.4"
    assert explorer._controls.can_undo and not explorer._controls.can_redo
    assert explorer.undo() and explorer.release == "1.15"
    explorer._controls._handle_custom_msg({"type": "undo"}, [])
    assert (explorer.machine, explorer.soft_placement) == (K20M, True)
    assert explorer.placement["MatMul_1"] == f"{LOCAL}GPU:3"
    explorer._controls._handle_custom_msg({"type": "redo"}, [])
    assert explorer.machine == "1 CPU" and set(explorer.placement.values()) == {f"{LOCAL}CPU:0"}
    explorer.allow_growth = True
    assert explorer.redo() is False
    for _ in range(3):
        assert explorer.undo()
    assert explorer.undo() is False and explorer.soft_placement is False


def test_remedies_are_tried_before_they_are_offered(explorer):
    assert explorer.remedies == ()
    explorer.visible_devices = (0, 1, 2)
    assert explorer.remedies == ("Turn on soft placement", "Show all GPUs (unset CUDA_VISIBLE_DEVICES)")
    presses(explorer, explorer._views.status, "Show all GPUs")
    assert explorer.visible_devices == (0, 1, 2, 3) and explorer.error == ""
    explorer.machine = "1x Tesla T4"
    assert "Use a machine with 4x Tesla T4" in explorer.remedies
    explorer.apply_remedy(explorer.remedies.index("Use a machine with 4x Tesla T4"))
    assert explorer.machine == "4x Tesla T4" and explorer.error == ""
    assert explorer.undo() and explorer.machine == "1x Tesla T4"
    with pytest.raises(IndexError):
        explorer.apply_remedy(9)


def test_errors_name_all_nodes_and_the_change_of_the_program(explorer):
    explorer.tab = "Errors"
    assert "No errors" in words(explorer._views.pages["Errors"].panel.blocks)
    explorer.visible_devices = (0, 1, 2)
    blocks = explorer._views.pages["Errors"].panel.blocks
    named = [name for block in blocks if block["kind"] == "nodes" for name in block["names"]]
    assert sorted(named) == ["Const_2", "Const_3", "MatMul_1"]
    code = [block["text"] for block in blocks if block["kind"] == "code"]
    assert any('with tf.device("/device:CPU:0")' in text or "/device:GPU:0" in text for text in code)
    assert "programs.py" in code[0]
    presses(explorer, explorer._views.pages["Errors"].panel, "Turn on soft placement")
    assert explorer.error == ""


def program_of(explorer):
    """Runs the program that the explorer gives; its names."""
    names = {}
    exec(explorer.as_python(), names)
    return names


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"soft_placement": True, "cuda_visible_devices": "2,0"},
        {"soft_placement": True, "machine": "2x Tesla K40c + 1x V100", "cuda_device_order": "PCI_BUS_ID"},
        {"soft_placement": True, "visible_device_list": "3,1", "device_count": {"GPU": 2, "CPU": 2}},
        {"release": "1.4", "allow_growth": True, "per_process_gpu_memory_fraction": 0.3},
        {"soft_placement": True, "machine": "cpu"},
    ],
)
def test_copied_program_gives_the_same_placement(explorer, settings, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    for name, value in settings.items():
        setattr(explorer, name, value)
    try:
        names = program_of(explorer)
        session = tf.Session(graph=explorer._what_if.graph, config=names["config"])
        assert dict(session.placement) == dict(explorer.placement)
        limits = {device.name: device.memory_limit for device in explorer.placement.device_set}
        assert {device.name: device.memory_limit for device in session.placement.device_set} == limits
        with tf.Graph().as_default(), tf.device(names["same_devices"]):
            again = (
                tf.import_graph_def(explorer._what_if.graph.as_graph_def(), name="") or tf.get_default_graph()
            )
            placed = tf.place(again, machine=explorer.placement.device_set)
        assert dict(placed) == dict(explorer.placement)
    finally:
        tf.set_release(None)
        tf.use_machine(None)


def test_a_placement_knows_its_machine_and_settings(monkeypatch):
    """Also one of a session, of a process that hides GPUs, and of a machine that a text cannot name."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    config = tf.ConfigProto(
        allow_soft_placement=True,
        device_count={"GPU": 3},
        gpu_options=tf.GPUOptions(visible_device_list="3,1,2", allow_growth=True),
    )
    placement = tf.place(towers(), machine=K20M, config=config)
    explorer = explore(placement)
    assert explorer.machine == K20M and dict(explorer.placement) == dict(placement)
    code = explorer.as_python(devices=False)
    assert 'tf.use_machine("4x Tesla K20m")' in code and 'device_count={"GPU": 3}' in code
    assert 'visible_device_list="3,1,2", allow_growth=True' in code and "allow_soft_placement=True" in code
    explorer.soft_placement = False
    assert "was explicitly assigned to /device:GPU:3" in explorer.error
    explorer.device_count, explorer.visible_device_list = {}, ""
    assert explorer.error == "" and explorer.visible_devices == (0, 1, 2, 3)
    again = explore(tf.place(towers(), machine=K20M))
    again.machine = "2x Tesla K40c"
    assert "was explicitly assigned to /device:GPU:2" in again.error
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,2")
    tf.use_machine(K20M)
    try:
        placed = tf.place(towers(), config=tf.ConfigProto(allow_soft_placement=True))
        seen = explore(placed)
        assert (seen.machine, seen.cuda_visible_devices) == (K20M, "3,2")
        assert dict(seen.placement) == dict(placed)
        session = tf.Session(graph=towers(), config=tf.ConfigProto(allow_soft_placement=True))
        assert explore(session.placement).cuda_visible_devices == "3,2"
    finally:
        tf.use_machine(None)
    named = tf.place(tf.Graph(), machine=tf.Machine.from_devices([f"{LOCAL}CPU:0", f"{LOCAL}TPU:0"]))
    assert "TPU:0" in explore(named).machine


def test_settings_can_be_saved_and_opened(tmp_path):
    explorer = explore(layered(3), machine=K20M)
    explorer.soft_placement = True
    explorer.visible_devices = (0, 2)
    explorer.device_count = {"GPU": 1}
    explorer.opened = ("tower_0",)
    explorer.colour, explorer.selected, explorer.tab = "type", "tower_0/x", "Copies"
    explorer.light, explorer.backward = "consumers", True
    path = explorer.save_settings(tmp_path / "two.json")
    other = explore(layered(3), machine="cpu", config=tf.ConfigProto(allow_soft_placement=True))
    other.open_settings(path)
    for name in (
        "machine",
        "soft_placement",
        "visible_devices",
        "device_count",
        "opened",
        "colour",
        "light",
        "backward",
    ):
        assert getattr(other, name) == getattr(explorer, name)
    assert (other.selected, other.tab) == ("tower_0/x", "Copies")
    assert dict(other.placement) == dict(explorer.placement)
    other.undo()
    assert other.machine == "1 CPU" and other.visible_devices == ()
    other.redo()
    # Of another graph, what there is of it.
    towered = explore(towers(), machine="cpu", config=tf.ConfigProto(allow_soft_placement=True))
    towered.open_settings(json.loads(path.read_text()))
    assert (towered.machine, towered.opened, towered.selected, towered.colour) == (K20M, (), "", "type")
    sent = []
    explorer._controls.send = sent.append
    explorer._controls._handle_custom_msg({"type": "save"}, [])
    assert sent == [{"type": "saved", "text": path.read_text()}]
    explorer._controls._handle_custom_msg(
        {"type": "open", "text": '{"gpuplace": "explorer", "look": {}}'}, []
    )
    assert sent[-1] == {"type": "opened", "error": ""}
    explorer._controls._handle_custom_msg({"type": "open", "text": "[]"}, [])
    assert "not saved settings" in sent[-1]["error"]


@pytest.mark.parametrize(
    "text, told",
    [
        ("{", "not a file of saved settings"),
        ('{"machine": "cpu"}', "These are not saved settings"),
        ('{"gpuplace": "explorer", "settings": {"machin": "cpu"}}', "There is no 'machin' in settings"),
        ('{"gpuplace": "explorer", "settings": 3}', "settings must map names to values; got 3"),
        ('{"gpuplace": "explorer", "settings": {"machine": "7x Warp"}}', "Unknown GPU model"),
        ('{"gpuplace": "explorer", "settings": {"release": "9"}}', "release"),
    ],
)
def test_what_cannot_be_opened(explorer, text, told, tmp_path):
    before = explorer.as_python()
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises((ValueError, tf.errors.OpError), match=re.escape(told)):
        explorer.open_settings(str(path))
    sent = []
    explorer._controls.send = sent.append
    explorer._controls._handle_custom_msg({"type": "open", "text": text}, [])
    assert told in sent[0]["error"]
    assert explorer.as_python() == before


def test_the_program_is_sent_to_the_page(explorer):
    sent = []
    explorer._controls.send = lambda content: sent.append(content)
    explorer._controls._handle_custom_msg({"type": "code"}, [])
    assert sent == [{"type": "code", "text": explorer.as_python()}]
    explorer._controls._handle_custom_msg({"type": "ping", "number": 7}, [])
    assert sent[1] == {"type": "pong", "number": 7}


# --------------------------------------------------------------------------------------------------------------- views


def test_selecting_shows_the_card_and_the_row(explorer):
    says(explorer, type="select", id="n2")
    assert explorer.selected == "MatMul" == explorer._views.pages["Table"].table.view.selected
    assert explorer._views.pages["Table"].table.view.selected_row == 2
    assert explorer._views.graph.selected_box == "n2"
    card = explorer._views.graph.detail
    assert (card["name"], card["kind"], card["requested"], card["met"]) == (
        "MatMul",
        "MatMul",
        "/device:GPU:2",
        True,
    )
    assert (card["inputs"], card["outputs"]) == (["Const", "Const_1"], ["AddN"])
    assert [step["rule"] for step in card["steps"]] == ["kernel", "request"]
    assert card["source"].startswith(__file__.replace("explorer/test_explorer", "programs"))
    assert explorer.reason.startswith(f"MatMul (MatMul) -> {LOCAL}GPU:2")
    says(explorer, type="select", name="AddN")
    assert explorer.selected == "AddN"
    says(explorer, type="select", id="")
    assert (explorer.selected, explorer.reason, explorer._views.graph.detail) == ("", "", {})


@pytest.mark.parametrize("tab", ["Table", "Copies", "Compare", "Log"])
def test_an_op_chosen_in_a_table_is_chosen_everywhere(explorer, tab):
    explorer.compare(machine="2x Tesla K40c", soft_placement=True)
    explorer.tab = tab
    model = explorer._views.pages[tab].table
    model._heard(model.view, {"type": "select", "name": "MatMul_1"}, [])
    assert explorer.selected == "MatMul_1"
    assert explorer._views.graph.detail["name"] == "MatMul_1"
    assert explorer._views.graph.selected_box == "n5"
    assert model.view.selected == "MatMul_1"
    assert model.view.selected_row >= 0
    assert model.rows.rows(model.view.selected_row, 1)[0][0] == "MatMul_1"
    for other in ("Table", "Copies", "Compare", "Log"):
        explorer.tab = other
        assert explorer._views.pages[other].table.view.selected == "MatMul_1"


def test_colours(explorer):
    assert explorer.colours == (
        "assigned",
        "requested",
        "type",
        "group",
        "memory",
        "cause",
        "predicted time",
    )
    assert field(explorer, "colour")["options"] == list(explorer.colours)
    explorer.soft_placement = True
    explorer.visible_devices = (0, 1, 2)
    pictures = {explorer.svg}
    for name in explorer.colours[1:]:
        sets(explorer, "colour", name)
        assert explorer.colour == name == field(explorer, "colour")["value"]
        pictures.add(explorer.svg)
    assert len(pictures) == len(explorer.colours)
    for name in ("time", "moved", "taste"):
        with pytest.raises(ValueError, match=f"Unknown colouring '{name}'"):
            explorer.colour = name
    with pytest.raises(ValueError, match="no name scope 'nowhere'"):
        explorer.opened = ("nowhere",)


def test_colours_by_time():
    tf.use_machine("1x Tesla K40c")
    try:
        graph = tf.Graph()
        with graph.as_default():
            y = tf.constant(2.0) * 3.0
        metadata = tf.RunMetadata()
        with tf.Session(graph=graph) as session:
            session.run(y, options=tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE), run_metadata=metadata)
        explorer = explore(graph)
        explorer.run_metadata = metadata
        explorer.colour = "time"
        assert "time" in field(explorer, "colour")["options"]
        explorer.run_metadata = None
        assert explorer.colour == "assigned"
    finally:
        tf.use_machine(None)


def test_search(explorer):
    assert explorer.find("matmul") is False
    assert explorer.find("MatMul") and explorer.selected == "MatMul"
    assert explorer.find("MatMul") and explorer.selected == "MatMul_1"
    assert explorer.find("MatMul") and explorer.selected == "MatMul"
    found = explorer._views.graph
    assert found.found["text"] == "1 of 2"
    says(explorer, type="find", text="MatMul", back=True)
    assert explorer.selected == "MatMul_1" and found.found["text"] == "2 of 2"
    number = found.found["search"]
    says(explorer, type="find", text="MatMul_1")
    assert found.found == {"text": "1 of 1", "isNone": False, "search": number + 1}
    says(explorer, type="find", text="(")
    assert explorer.selected == "MatMul_1"
    assert found.found["text"] == "No op's name matches (; not a regular expression; searched as plain text"
    assert found.found["isNone"]
    says(explorer, type="find", text="nowhere")
    assert found.found["text"] == "No op's name matches nowhere"
    says(explorer, type="find", text="")
    assert found.found["text"] == ""


def test_scopes_fold_and_unfold():
    explorer = explore(layered(2), machine="2x Tesla K40c")
    assert "▸ tower_" not in explorer.svg
    says(explorer, type="fold", how="all")
    assert explorer.opened == ()
    assert explorer.svg.count("▸ tower_") == 2
    says(explorer, type="select", id="s1")
    assert explorer.selected == "tower_0"
    assert "requested inside: /device:GPU:0" in explorer.reason
    says(explorer, type="toggle", id="s1")
    assert explorer.opened == ("tower_0",)
    assert explorer.svg.count("▸ layer_") == 2
    says(explorer, type="select", name="tower_1/layer_1/MatMul")
    assert "tower_1/layer_1" in explorer.opened
    assert explorer._views.graph.selected_box.startswith("n")
    card = explorer._views.graph.detail
    says(explorer, type="toggle", id=card["toggle"])
    assert "tower_1/layer_1" not in explorer.opened and "tower_1" in explorer.opened
    assert explorer._views.graph.selected_box.startswith("s")
    says(explorer, type="fold", how="auto")
    assert {"tower_0", "tower_1", "tower_1/layer_1", "tower_0/layer_0"} <= set(explorer.opened)


@pytest.mark.dot
@pytest.mark.parametrize("name", ["resnet_true", "lstm_unrolled"])
def test_unfolding_only_adds(name):
    """By boxes, by the button until all is unfolded, and by the way to a node: what was shown stays, but what opens."""
    explorer = explore(str(folder("corpus", "1.15") / f"{name}.pb"), machine=K20M)

    def shown():
        return {(box.kind, box.name): box.id for box in explorer._views.drawing.boxes}

    def check(change, opens=None):
        before, opened = shown(), set(explorer._views.drawing.opened)
        change()
        after = shown()
        assert opened <= set(explorer._views.drawing.opened)
        gone = {key for key in before if key not in after}
        if opens is None:
            assert {kind for kind, _ in gone} <= {"scope", "bundle"} and len(after) > len(before)
            assert {key for _, key in gone} <= set(explorer._views.drawing.opened)
        else:
            assert gone <= {opens} and len(after) >= len(before)

    for step in range(18):
        folded = [(key, box) for key, box in shown().items() if key[0] == "scope"]
        key, box = folded[(7 * step) % len(folded)]
        check(lambda box=box: says(explorer, type="toggle", id=box), key)
    assert len(shown()) > 70
    check(lambda: says(explorer, type="fold", how="auto"))
    says(explorer, type="fold", how="all")
    check(lambda: says(explorer, type="fold", how="auto"))
    check(lambda: says(explorer, type="fold", how="auto"))
    check(lambda: says(explorer, type="fold", how="auto"))


def asks(explorer, name, **message):
    """A table's page sends a message; what it is answered."""
    model, sent = explorer._views.pages[name].table, []
    model.view.send = lambda content: sent.append(content)
    model._heard(model.view, message, [])
    return sent


def test_a_large_table_sends_what_is_in_sight():
    explorer = explore(layered(500), machine="2x Tesla K40c")
    view = explorer._views.pages["Table"].table.view
    assert (view.total, view.size) == (len(explorer.placement),) * 2
    assert len(rows(explorer)) == 200
    version = view.window["version"]
    (answer,) = asks(explorer, "Table", type="rows", first=2800, count=200, version=version)
    assert answer["first"] == 2800 and answer["rows"][0][0] == explorer.placement.graph.names[2800]
    assert asks(explorer, "Table", type="rows", first=0, count=200, version=version - 1) == []
    explorer.soft_placement = True  # the rows in sight come with the change
    assert view.window["version"] > version and view.window["first"] == 2800
    explorer.find("tower_1/layer_499/MatMul")
    assert view.selected_row == explorer.placement.graph.index["tower_1/layer_499/MatMul"]
    assert explorer._views.graph.detail["name"] == "tower_1/layer_499/MatMul"
    asks(explorer, "Table", type="filter", text=r"tower_1/layer_499/")
    assert view.total == len(rows(explorer)) == 3
    assert view.selected_row == 2
    asks(explorer, "Table", type="filter", text="[")
    assert view.total == 0 and view.selected_row == -1


def test_a_table_sorts_by_every_column():
    explorer = explore(layered(12), machine="2x Tesla K40c")
    for column, expected in [
        (
            0,
            [
                "tower_0/layer_0/MatMul",
                "tower_0/layer_0/add",
                "tower_0/layer_0/add/y",
                "tower_0/layer_1/MatMul",
            ],
        ),
        (1, ["AddV2", "Const", "MatMul", "Placeholder"]),
        (2, ["/device:GPU:0", "/device:GPU:1"]),
        (3, ["GPU:0", "GPU:1"]),
    ]:
        asks(explorer, "Table", type="sort", column=column, descending=False)
        found = [row[column + 1] for row in rows(explorer)]
        texts = list(dict.fromkeys(cell["label"] if isinstance(cell, dict) else cell for cell in found))
        assert texts[: len(expected)] == expected
        asks(explorer, "Table", type="sort", column=column, descending=True)
        downwards = [row[column + 1] for row in rows(explorer)]
        assert [str(cell) for cell in downwards] == [str(cell) for cell in found[::-1]]
    names = [row[0] for row in rows(explorer)]
    assert names.index("tower_1/x") < names.index("tower_0/x")
    asks(explorer, "Table", type="sort", column=None, descending=False)
    assert [row[0] for row in rows(explorer)] == list(explorer.placement.graph.names)


def test_tabs_are_filled_when_they_come_to_the_front(explorer):
    assert explorer._views.pages["Log"].table.view.window == {}
    explorer.tab = "Devices"
    assert "0000:83:00.0" in words(explorer._views.pages["Devices"].panel.blocks)
    explorer.tab = "Log"
    assert rows(explorer, "Log")[0] == ["", "Device mapping:"]
    explorer.release = "1.4"
    assert ["MatMul", f"MatMul: {LOCAL}GPU:2"] in rows(explorer, "Log")
    assert "\n".join(row[1] for row in rows(explorer, "Log")) == explorer.log.rstrip("\n")
    explorer._views.tabs.selected_index = 1
    assert explorer.tab == "Copies"
    assert [(row[1], row[2], row[5], row[6]) for row in rows(explorer, "Copies")] == [
        ("MatMul:0", "AddN", "2×2 float32", "16 B"),
        ("MatMul_1:0", "AddN", "2×2 float32", "16 B"),
    ]
    asks(explorer, "Copies", type="filter", text="MatMul_1")
    assert explorer._views.pages["Copies"].table.view.total == 1
    for column in range(6):
        asks(explorer, "Copies", type="sort", column=column, descending=True)
        assert explorer._views.pages["Copies"].table.view.total == 1
    with pytest.raises(TraitError):
        explorer.tab = "Nowhere"


def test_memory_of_variables_constants_and_outputs():
    graph = tf.Graph()
    with graph.as_default():
        with tf.device("/gpu:0"):
            v = tf.get_variable("v", [256, 4], initializer=tf.zeros_initializer())
            x = tf.placeholder(tf.float32, [None, 256])
            tf.matmul(x, v, name="unknown")
            tf.add(v, v, name="sum")
        with tf.device("/cpu:0"):
            tf.constant([1.0, 2.0, 3.0], name="three")
    explorer = explore(graph, machine="1x Tesla K40c")
    explorer.tab = "Memory"
    blocks = explorer._views.pages["Memory"].panel.blocks
    cells = {row[0]["label"]: row for row in blocks[0]["rows"]}
    columns = dict(zip(blocks[0]["columns"], cells["GPU:0"], strict=True))
    assert (columns["variables"], columns["unknown"]) == ("4.0 KiB", "2 tensors")
    assert dict(zip(blocks[0]["columns"], cells["CPU:0"], strict=True))["constants"] == "12 B"
    assert "whole limit" in words(blocks) and "Explore a session" in words(blocks)


def test_memory_of_a_session_that_ran():
    tf.use_machine("1x Tesla K40c")
    try:
        tf.reset_runtime()
        graph = tf.Graph()
        with graph.as_default():
            y = tf.random_normal([512, 512]) * 2.0
        with tf.Session(graph=graph) as session:
            session.run(y)
            explorer = explore(session)
            explorer.tab = "Memory"
            table = explorer._views.pages["Memory"].panel.blocks[0]
            row = dict(zip(table["columns"], table["rows"][1], strict=True))
        assert row["device"]["label"] == "GPU:0"
        assert int(row["allocations"].replace(",", "")) > 0 and row["peak"].endswith("MiB")
    finally:
        tf.use_machine(None)


def test_compare_with_what_was_pinned(explorer):
    explorer.soft_placement = True
    explorer.pin()
    assert explorer.moves.rows == ()
    explorer.visible_devices = (0, 1, 2)
    moved = {row.node: (row.before, row.after, row.cause) for row in explorer.moves.rows}
    assert set(moved) == {"Const_2", "Const_3", "MatMul_1"}
    assert moved["MatMul_1"][:2] == (f"{LOCAL}GPU:3", f"{LOCAL}GPU:0")
    assert marked(explorer) == 3
    assert any("3 nodes moved" in text for _, text in explorer._views.graph.notes)
    explorer.colour = "moved"
    assert "soft placement" in words(explorer._views.graph.legend)
    explorer.tab = "Compare"
    blocks = explorer._views.pages["Compare"].panel.blocks
    assert "3 nodes move" in words(blocks) and "pinned: 4x Tesla K20m" in words(blocks)
    by_cause = next(block for block in blocks if block.get("caption") == "Moves by cause")
    assert [row[1] for row in by_cause["rows"]] == ["2", "1"]
    assert {row[0] for row in rows(explorer, "Compare")} == set(moved)
    asks(explorer, "Compare", type="sort", column=0, descending=True)
    assert [row[0] for row in rows(explorer, "Compare")] == ["MatMul_1", "Const_3", "Const_2"]
    presses(explorer, explorer._views.pages["Compare"].panel, "Stop comparing")
    assert explorer.moves is None and marked(explorer) == 0
    assert explorer.colour == "assigned"


def test_compare_with_other_settings_graphs_and_views(explorer):
    explorer.compare(machine="1x Tesla K40c", soft_placement=True)
    assert {row.node for row in explorer.moves.rows} == set(explorer.placement) - {"AddN"}
    explorer.tab = "Compare"
    for label in ("With soft placement", "With release 2.21", "Pin the current placement"):
        presses(explorer, explorer._views.pages["Compare"].panel, label)
        assert explorer.moves.rows == ()
    explorer.compare(tf.place(towers(), machine="cpu", config=tf.ConfigProto(allow_soft_placement=True)))
    assert len(explorer.moves.rows) == 6
    view = PlacementView.of_columns([("MatMul", "", "", f"{LOCAL}GPU:0"), ("gone", "", "", f"{LOCAL}CPU:0")])
    explorer.compare(view)
    assert [(row.node, row.cause) for row in explorer.moves.rows] == [("MatMul", "GPU:0 to GPU:2")]
    assert explorer.moves.only_before == ("gone",) and len(explorer.moves.only_after) == 6
    assert marked(explorer) == 1
    explorer.compare(towers())
    assert explorer.moves.rows == ()
    explorer.soft_placement = True
    explorer.visible_devices = ()
    presses(explorer, explorer._views.pages["Compare"].panel, "With the settings before the last change")
    assert len(explorer.moves.rows) == 6
    explorer.compare(None)
    assert explorer.moves is None


# ---------------------------------------------------------------------------------------------- what it is given


def test_what_a_saved_notebook_keeps(explorer):
    bundle = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    assert '<img style="max-width:100%' in bundle["text/html"] and "<table>" in bundle["text/html"]
    assert "MatMul_1  MatMul  /device:GPU:3  GPU:3" in bundle["text/plain"]
    explorer.machine = "cpu"
    assert 'role="alert"' in explorer._repr_mimebundle_()["text/html"]


def test_a_saved_notebook_keeps_the_picture_that_was_shown(explorer):
    def still():
        data = re.search(r'base64,([^"]*)"', explorer._repr_mimebundle_()["text/html"])[1]
        return base64.b64decode(data).decode()

    explorer.colour = "type"
    assert "MatMul: 2" in still() and "GPU:2: 3" not in still()
    explorer.compare(machine="cpu", soft_placement=True)
    explorer.colour = "moved"
    assert len(re.findall(r'class="node [^"]*\bmoved\b', still())) == marked(explorer) == 6


def test_sessions_and_placements_can_be_explored():
    tf.use_machine(K20M)
    session = tf.Session(graph=towers(), config=tf.ConfigProto(allow_soft_placement=True))
    explorer = explore(session)
    assert (explorer.soft_placement, explorer.machine) == (True, K20M)
    explorer = explore(session.placement)
    assert (explorer.soft_placement, explorer.machine) == (True, K20M)
    explorer.visible_devices = (2,)
    assert set(explorer.placement.values()) == {f"{LOCAL}CPU:0", f"{LOCAL}GPU:0"}
    other = tf.place(towers(), machine="8x Tesla K80", release="1.4")
    explorer = explore(other)
    assert explorer.release == "1.4"
    assert dict(explorer.placement) == dict(other)


def test_graph_defs_and_files_can_be_explored(tmp_path):
    graph = towers()
    path = tf.train.write_graph(graph, str(tmp_path), "towers.pbtxt")
    for source in (graph.as_graph_def(), path):
        assert explore(source, machine=K20M).placement["MatMul_1"] == f"{LOCAL}GPU:3"


def test_a_view_without_settings_can_be_explored():
    view = PlacementView.of_columns(
        [("a", "Const", "/gpu:1", f"{LOCAL}CPU:0"), ("s/n", "Neg", "", f"{LOCAL}GPU:0")],
        [("a", 0, "s/n", 0)],
    )
    explorer = explore(view)
    assert explorer._controls.is_fixed
    assert [field["name"] for field in explorer._controls.fields] == ["colour"]
    assert table(explorer) == {"a": ("≠ /gpu:1", "CPU:0"), "s/n": ("", "GPU:0")}
    says(explorer, type="select", name="s/n")
    assert explorer._views.graph.detail["inputs"] == ["a"]
    for tab in ("Memory", "Errors", "Compare", "Copies", "Devices", "Log"):
        explorer.tab = tab
    assert "<Explorer of 2 nodes" in repr(explorer)
    explorer.pin()
    assert explorer.moves.rows == ()
    assert view_of(explorer.placement) is view


def test_a_parsed_log_can_be_explored():
    text = tf.place(towers(), machine=K20M).log("1.0")
    log = tf.parse_log(text)
    explorer = explore(log)
    assert explorer._controls.is_fixed
    assert table(explorer)["MatMul_1"] == ("", "GPU:3")
    explorer.selected = "MatMul_1"
    assert "line " in explorer.reason
    for tab in ("Copies", "Memory", "Errors", "Devices", "Log"):
        explorer.tab = tab
    assert "Tesla K20m" in words(explorer._views.pages["Devices"].panel.blocks)
    assert explorer._views.pages["Copies"].table.view.empty == "A log contains no copies."
    assert ["MatMul_1", "MatMul_1: /job:localhost/replica:0/task:0/gpu:3"] in rows(explorer, "Log")
    with pytest.raises(tf.errors.FailedPreconditionError, match="A log cannot be placed again"):
        explorer.soft_placement = True
    explorer.compare(tf.place(towers(), machine="4x Tesla K20m"))
    assert explorer.moves.rows == ()
    assert "SCOPES = {" in explorer.as_python() and "ConfigProto" not in explorer.as_python()
    graph_explorer = explore(towers(), machine="cpu", config=tf.ConfigProto(allow_soft_placement=True))
    graph_explorer.compare(log)
    assert {row.node for row in graph_explorer.moves.rows} == set(log) - {"AddN"}


def test_a_graph_that_cannot_be_read_is_an_error_in_the_explorer():
    message = tf.GraphDef()
    message.node.add(name="x", op="NoSuchOp")
    explorer = explore(message, machine=K20M)
    assert "NoSuchOp" in explorer.error
    assert (explorer.svg, rows(explorer)) == ("", [])
    assert explorer._views.graph.notice
    explorer.soft_placement = True
    assert "NoSuchOp" in explorer.error
    for tab in ("Memory", "Errors", "Compare", "Devices", "Log", "Copies"):
        explorer.tab = tab
    assert "No" in words(explorer._views.pages["Errors"].panel.blocks)
    with pytest.raises(tf.errors.OpError):
        _ = explorer.frame


def test_two_threads_may_use_it(explorer):
    """JupyterLab hands messages to a thread of their own while a cell runs."""
    explorer.soft_placement = True
    failed = []

    def page():
        try:
            for i in range(40):
                sets(explorer, f"gpu:{i % 4}", bool(i % 3))
        except Exception as error:
            failed.append(error)

    thread = threading.Thread(target=page)
    thread.start()
    for i in range(40):
        explorer.machine = ("cpu", K20M)[i % 2]
    thread.join()
    assert failed == []
    assert explorer.error == "" and explorer.machine == K20M


CLOSED = """
import gc

import gpuplace as tf
from gpuplace.jupyter.explorer.explorer import explore
from tests.soak.session import resident_bytes

with tf.Graph().as_default() as graph:
    x = tf.placeholder(tf.float32, [8, 8])
    for number in range(10):
        with tf.name_scope(f"layer{number}"):
            x = tf.tanh(x)
placement = tf.place(graph, "2x Tesla K40c")
for _ in range(20):
    explore(placement).close()
gc.collect()
before = resident_bytes()
for _ in range(300):
    closed = explore(placement)
    closed.close()
    closed.close()
gc.collect()
assert closed.comm is None and closed.children[0].comm is None and closed.layout.comm is None
print(resident_bytes() - before)
"""


@pytest.mark.skipif(not resident_bytes(), reason="the system does not say how much memory a process has")
def test_closed_explorers_leave_nothing_behind():
    """In a process of its own, whose memory nothing else takes and gives back."""
    made = subprocess.run([sys.executable, "-c", CLOSED], capture_output=True, text=True, check=True)
    assert int(made.stdout) < 10e6

"""The explorer's advice: searched beside the kernel's work, stopped, applied in part, taken back, refused."""

import threading
import time

import pytest

import gpuplace as tf
from gpuplace.errors import FailedPreconditionError, InvalidArgumentError
from tests.advisor.step_graphs import branches, graph_of, large

GRAPH = graph_of(branches(count=3, width=1024, blocks=1))


@pytest.fixture
def explorer():
    made = tf.explore(GRAPH, machine="2x V100", soft_placement=True)
    made.fetches, made.feeds = "train", {"rows": (512, 1024)}
    return made


def blocks(explorer, kind, panel=None):
    panel = explorer._views.pages["Advice"].panel if panel is None else panel
    return [block for block in panel.blocks if block["kind"] == kind]


def texts(explorer):
    return "\n".join(block["text"] for block in blocks(explorer, "text"))


def buttons(explorer, panel=None):
    return [button["label"] for block in blocks(explorer, "buttons", panel) for button in block["buttons"]]


def heard(explorer, **content):
    explorer._views.pages["Advice"].panel._handle_custom_msg(content, [])


def test_advice_is_shown_applied_and_taken_back(explorer):
    before, step = dict(explorer.placement), explorer.estimate.step_time
    advice = explorer.advise(steps=40)
    assert advice is explorer.advice and advice.has_gain and explorer.tab == "Advice"
    assert dict(explorer.placement) == before and advice.before == pytest.approx(step)
    assert advice.text in texts(explorer) and "Revert the recommendation" not in buttons(explorer)
    heard(explorer, type="act", action="advice:all")
    assert dict(explorer.placement) == dict(advice.placement) != before
    assert explorer.estimate.step_time == pytest.approx(advice.value)
    assert "The recommendation is applied" in texts(explorer) and explorer.error == ""
    explorer.undo()
    assert dict(explorer.placement) == before and explorer.estimate.step_time == pytest.approx(step)
    explorer.redo()
    heard(explorer, type="act", action="advice:back")
    assert dict(explorer.placement) == before and explorer.requests == {}


def test_a_part_of_it_is_applied(explorer):
    advice = explorer.advise(steps=60)
    assert len(advice.moves) > 1
    for number in range(1, len(advice.moves)):
        heard(explorer, type="act", action=f"advice:choose:{number}")
    ticks = [
        row[0]["check"] for block in blocks(explorer, "table") for row in block["rows"] if "check" in row[0]
    ]
    assert ticks == [True] + [False] * (len(advice.moves) - 1)
    heard(explorer, type="act", action="advice:some")
    part = advice.apply(advice.moves[:1])
    assert dict(explorer.placement) == dict(part.placement) != dict(advice.placement)
    assert explorer.estimate.step_time == pytest.approx(part.value)
    assert f"Applied: 1 of {len(advice.moves)} moves." in texts(explorer)
    explorer.apply_advice([])
    assert dict(explorer.placement) == dict(advice._case.original)
    with pytest.raises(InvalidArgumentError, match="There is no recommended move of 'nowhere'"):
        explorer.apply_advice(["nowhere"])


def test_the_search_goes_on_beside_the_kernel_and_is_stopped(explorer):
    begin = time.perf_counter()
    explorer._views.advising.seconds = 600.0
    heard(explorer, type="advise")
    assert explorer.advice is None and explorer.tab == "Table"
    assert buttons(explorer, explorer._views.note) == ["Stop"] and blocks(
        explorer, "progress", explorer._views.note
    )
    with pytest.raises(FailedPreconditionError, match="is already running"):
        explorer.advise()
    explorer.selected = "loss"  # the kernel answers meanwhile
    assert explorer.reason
    while explorer._views.advising._progress is None:
        time.sleep(0.02)
    advice = explorer.stop_advising(timeout=60)
    assert advice.was_stopped and advice.value <= advice.before
    assert time.perf_counter() - begin < 120
    assert buttons(explorer, explorer._views.note)[-2:] == ["Show moves", "Close"]
    heard(explorer, type="act", action="advice:show")
    assert explorer.tab == "Advice"
    assert "Advise" in buttons(explorer) and "stopped early" in texts(explorer)
    heard(explorer, type="act", action="advice:close")
    assert not explorer._views.note.blocks
    assert not any(thread.name == "gpuplace advice" and thread.is_alive() for thread in threading.enumerate())


def test_what_goes_wrong_is_said(explorer, monkeypatch):
    heard(explorer, type="set", name="advice:seconds", value="soon")
    explorer.tab = "Advice"
    fields = {field["name"]: field for field in blocks(explorer, "fields")[0]["fields"]}
    assert fields["advice:seconds"]["value"] == "soon" and "got 'soon'" in fields["advice:seconds"]["error"]
    heard(explorer, type="act", action="advice:start")
    assert not explorer._views.advising.is_running
    heard(explorer, type="set", name="advice:seconds", value="2")
    heard(explorer, type="set", name="advice:keep", value="blokc_0")
    heard(explorer, type="act", action="advice:start")
    explorer._views.advising.join()
    (card,) = blocks(explorer, "error")
    assert "keep: no node matches 'blokc_0'" in card["message"]

    def broken(*args, **options):
        raise ZeroDivisionError("a fault of ours")

    monkeypatch.setattr("gpuplace.jupyter.explorer.advising.advise", broken)
    heard(explorer, type="act", action="advice:start")
    explorer._views.advising.join()
    assert "a fault of ours" in blocks(explorer, "error")[0]["message"]
    with pytest.raises(ZeroDivisionError):
        explorer.advise()
    with pytest.raises(InvalidArgumentError, match="Unknown objective 'speed'"):
        explorer.advise("speed")


def test_advice_for_other_settings_is_not_applied(explorer):
    explorer.advise(steps=20)
    explorer.machine = "4x V100"
    assert "for other settings" in texts(explorer) and "Apply all" not in buttons(explorer)
    with pytest.raises(FailedPreconditionError, match="for other settings"):
        explorer.apply_advice()
    heard(explorer, type="act", action="advice:all")
    assert "for other settings" in blocks(explorer, "error")[0]["message"]
    explorer.undo()
    explorer.apply_advice()
    assert explorer.requests


def test_requests_are_settings_of_their_own(explorer, tmp_path):
    name = "block_0/branch_1/MatMul"
    explorer.requests = {name: "/gpu:1"}
    assert (
        explorer.placement[name].endswith("GPU:1")
        and "asks for '/gpu:1'" in explorer.placement.explain(name).because
    )
    explorer.visible_devices = (0,)
    assert explorer.placement[name].endswith("GPU:0")  # softly
    explorer.undo()
    explorer.save_settings(tmp_path / "settings.json")
    other = tf.explore(GRAPH, machine="2x V100")
    other.open_settings(tmp_path / "settings.json")
    assert other.requests == {name: "/gpu:1"} and dict(other.placement) == dict(explorer.placement)
    stranger = tf.explore(graph_of(large(layers=1, width=64)))
    stranger.open_settings(tmp_path / "settings.json")
    assert stranger.requests == {}
    with pytest.raises(ValueError, match="no node 'nothing'"):
        explorer.requests = {"nothing": "/gpu:1"}
    with pytest.raises(ValueError, match="must be a device"):
        explorer.requests = {name: "gpu one"}


def test_a_log_has_no_advice():
    explorer = tf.explore(tf.parse_log("a: (Add): /job:localhost/replica:0/task:0/device:GPU:0\n"))
    explorer.tab = "Advice"
    assert "Explore the graph instead" in texts(explorer)
    with pytest.raises(FailedPreconditionError, match="A log records"):
        explorer.advise()

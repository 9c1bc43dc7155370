"""Parts of a model in the explorer: what it opens on, the picker, functions opened one from another, the way back."""

import pytest

import gpuplace as tf
from gpuplace.jupyter.explorer.explorer import explore
from tests.graphdef.function_libraries import folder, graph_def, saved_model, with_tags

TWO = "2x Tesla K40c"


@pytest.fixture
def path(tmp_path):
    """A model with two graphs; that of `serve` has two signatures and four functions."""
    return folder(
        tmp_path / "net", with_tags(saved_model("serving_default", "a"), "gpu", "serve", signature="step")
    )


def nodes(explorer):
    return set(explorer.placement)


def field(explorer, name):
    return next((field for field in explorer._controls.fields if field["name"] == name), None)


def sets(explorer, name, value):
    explorer._controls._handle_custom_msg({"type": "set", "name": name, "value": value}, [])


def says(explorer, **message):
    explorer._views.graph._handle_custom_msg(message, [])


def acts(explorer, action):
    explorer._views.status._handle_custom_msg({"type": "act", "action": action}, [])


def status(explorer):
    return [block.get("text") for block in explorer._views.status.blocks]


def box(explorer, name):
    return next(box.id for box in explorer._views.drawing.boxes if box.name == name)


WHOLE = {"x", "call", "choose", "go", "saver"}


def test_it_opens_on_what_the_model_is_asked_by_and_says_so(path):
    explorer = tf.explore(path, machine=TWO)
    assert "call/twice" in nodes(explorer) and not nodes(explorer) & {"saver", "choose"}
    assert (explorer.tags, explorer.signature, explorer.function) == ("serve", "serving_default", "")
    told = "signature serving_default of saved_model.pb, tags serve; 1 other; 1 other tag set"
    assert status(explorer)[0] == told
    assert repr(explorer).startswith(f"<Explorer of {told}: ")
    bundle = explorer._repr_mimebundle_()
    assert told in bundle["text/plain"] and told in bundle["text/html"]


@pytest.mark.parametrize("named", [(), ("only",)])
def test_models_of_no_and_of_one_signature(named):
    explorer = explore(saved_model(*named), machine=TWO)
    assert explorer.signature == "".join(named)
    assert ("saver" in nodes(explorer)) == (not named)


def test_what_to_begin_with(path):
    assert nodes(tf.explore(path, machine=TWO, signature="")) == WHOLE
    assert tf.explore(path, machine=TWO, signature="a").signature == "a"
    assert nodes(tf.explore(path, machine=TWO, tags=["serve", "gpu"])) == {"other"}
    explorer = tf.explore(path, machine=TWO, function="add_on_gpu_1", clear_devices=True)
    assert "sum_RetVal" in nodes(explorer) and explorer.clear_devices
    assert explorer.placement["one"].endswith("GPU:0")
    assert tf.explore(saved_model("s").meta_graphs[0], machine=TWO).signature == "s"


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"signature": "b"}, tf.errors.NotFoundError, 'Could not find signature "b". Please choose from: '),
        ({"tags": "tpu"}, tf.errors.NotFoundError, "Could not find meta graph def"),
        ({"function": "ad"}, tf.errors.NotFoundError, r"Function ad is not defined\."),
    ],
)
def test_parts_that_are_not_there(path, options, error, sentence):
    with pytest.raises(error, match=sentence):
        tf.explore(path, machine=TWO, **options)
    explorer = tf.explore(path, machine=TWO)
    before = dict(explorer.placement)
    for name, value in options.items():
        with pytest.raises(error, match=sentence):
            setattr(explorer, name, value)
    assert dict(explorer.placement) == before and not explorer._controls.can_undo


def test_parts_of_what_has_none():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="a")
    for source in (graph, tf.place(graph, TWO), graph.as_graph_def()):
        with pytest.raises(ValueError, match="signature"):
            tf.explore(source, machine=TWO, signature="s")
        explorer = tf.explore(source, machine=TWO, signature="")
        assert field(explorer, "part") is None and field(explorer, "tags") is None
        assert explorer.tag_sets == explorer.signatures == explorer.functions == ()
        with pytest.raises(ValueError, match="signature"):
            explorer.signature = "s"
        assert "tf.place" not in explorer.as_python()
    log = tf.parse_log(tf.place(graph, TWO).log("1.15"))
    with pytest.raises(tf.errors.FailedPreconditionError, match="cannot be placed again"):
        tf.explore(log, signature="s")


def test_the_picker(path):
    explorer = tf.explore(path, machine=TWO)
    assert field(explorer, "part")["value"] == "signature serving_default"
    assert field(explorer, "part")["options"] == [
        "whole graph",
        *("signature a", "signature serving_default", "signature __saved_model_init_op"),
        *("function add", "function add_on_gpu_1", "function outer", "function template"),
    ]
    assert explorer.tag_sets == ("serve", "gpu,serve")
    assert explorer.signatures == ("a", "serving_default", "__saved_model_init_op")
    assert explorer.functions == ("add", "add_on_gpu_1", "outer", "template")
    sets(explorer, "part", "whole graph")
    assert nodes(explorer) == WHOLE and explorer.signature == ""
    sets(explorer, "part", "function add")
    assert "sum_RetVal" in nodes(explorer) and explorer.function == "add"
    sets(explorer, "part", "whole graph")
    assert nodes(explorer) == WHOLE and explorer.function == ""
    sets(explorer, "part", "signature a")
    assert explorer.signature == "a" and field(explorer, "part")["value"] == "signature a"
    sets(explorer, "part", "nothing of the kind")
    assert "There is no part" in field(explorer, "part")["error"]["message"]
    assert field(explorer, "part")["value"] == "signature a"
    explorer.undo()
    assert nodes(explorer) == WHOLE
    explorer.redo()
    assert explorer.signature == "a"


def test_tags_bring_their_own_signature(path):
    explorer = tf.explore(path, machine=TWO)
    assert field(explorer, "tags")["options"] == ["serve", "gpu,serve"]
    sets(explorer, "tags", "gpu,serve")
    assert (explorer.tags, explorer.signature, nodes(explorer)) == ("gpu,serve", "step", {"other"})
    explorer.tags = "serve"
    assert explorer.signature == "serving_default"
    explorer.signature = ""
    explorer.tags = "serve,gpu"
    assert (explorer.tags, explorer.signature) == ("gpu,serve", "step")


def test_devices_are_cleared_and_asked_for_again():
    message = saved_model()
    message.meta_graphs[0].graph_def.node[4].device = "/gpu:7"
    explorer = explore(message, machine=TWO)
    assert "was explicitly assigned to /gpu:7" in explorer.error
    sets(explorer, "clear_devices", True)
    assert explorer.error == "" and explorer.clear_devices and nodes(explorer) == WHOLE
    with tf.Graph().as_default() as graph, tf.device("/gpu:1"):
        tf.constant(1.0, name="a")
    explorer = tf.explore(graph, machine=TWO)
    explorer.clear_devices = True
    assert explorer.placement["a"].endswith("GPU:0")
    explorer.clear_devices = False
    assert explorer.placement["a"].endswith("GPU:1")


def test_a_call_opens_and_there_is_a_way_back(path):
    explorer = tf.explore(path, machine=TWO, signature="")
    explorer.selected = "choose"
    assert explorer._views.graph.detail["calls"] == [["then_branch", "add"], ["else_branch", "add_on_gpu_1"]]
    says(explorer, type="open", id=box(explorer, "saver"))  # calls nothing
    assert explorer.function == ""
    says(explorer, type="open", id=box(explorer, "call"))
    assert explorer.function == "outer" and "twice" in nodes(explorer)
    assert explorer.selected == "" and explorer.signature == ""
    trail = next(block for block in explorer._views.status.blocks if block["kind"] == "trail")
    assert [step["label"] for step in trail["steps"]] == ["whole graph", "outer"]
    says(explorer, type="open", function="add")
    trail = next(block for block in explorer._views.status.blocks if block["kind"] == "trail")
    assert [step["label"] for step in trail["steps"]] == ["whole graph", "outer", "add"]
    acts(explorer, "trail:1")
    assert explorer.function == "outer"
    acts(explorer, "trail:0")
    assert explorer.function == "" and nodes(explorer) == WHOLE
    assert explorer.selected == "choose"  # as it was left
    assert all(block["kind"] != "trail" for block in explorer._views.status.blocks)
    explorer.undo()
    assert explorer.function == "outer"


def test_calls_are_opened_from_python(path):
    explorer = tf.explore(path, machine=TWO, signature="")
    explorer.open_call("choose", 1)
    assert explorer.function == "add_on_gpu_1"
    explorer.function = ""
    with pytest.raises(ValueError, match="'saver' calls 0 functions that can be opened"):
        explorer.open_call("saver")
    with pytest.raises(ValueError, match="'choose' calls 2 functions"):
        explorer.open_call("choose", 2)
    with pytest.raises(ValueError, match="calls 0 functions"):
        explorer.open_call("nowhere")


def test_a_function_that_cannot_be_a_graph_of_its_own(path):
    explorer = tf.explore(path, machine=TWO, signature="")
    sets(explorer, "part", "function template")
    assert "Attr T is not found" in explorer.error and explorer.stale
    assert nodes(explorer) == WHOLE
    assert "Attr T is not found" in field(explorer, "part")["error"]["message"]
    assert any("This part of the graph cannot be placed" in (text or "") for text in status(explorer))
    assert explorer.remedies[0] == "Back to the whole graph"
    explorer.apply_remedy()
    assert explorer.error == "" and explorer.function == ""


def test_settings_change_beside_the_part(path):
    explorer = tf.explore(path, machine=TWO, function="add_on_gpu_1")
    assert explorer.placement["one"].endswith("GPU:1")
    explorer.machine = "1x Tesla K40c"
    assert "was explicitly assigned to /gpu:1" in explorer.error and explorer.function == "add_on_gpu_1"
    explorer.soft_placement = True
    assert explorer.error == "" and "sum_RetVal" in nodes(explorer)
    explorer.release = "2.21"
    assert "sum_RetVal" in nodes(explorer)


def test_what_is_open_and_selected_stays_with_its_part(path):
    explorer = tf.explore(path, machine=TWO, signature="a")
    explorer.opened = ("call",)
    explorer.selected = "call/twice"
    explorer.function = "add"
    assert (explorer.opened, explorer.selected) == (None, "")
    explorer.function = ""
    assert (explorer.opened, explorer.selected) == (("call",), "call/twice")
    assert "gp-" in explorer.svg or explorer.svg.startswith("<svg")


def test_graphs_with_functions():
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def(), name="")
    for source in (graph, graph_def(), tf.place(graph, TWO), tf.Session(graph=graph)):
        explorer = tf.explore(source, machine=TWO)
        assert nodes(explorer) == WHOLE
        explorer.open_call("call")
        assert "twice" in nodes(explorer), type(source)
        assert "function outer" in status(explorer)[0]


def test_a_placement_is_explored_as_it_is(path):
    explorer = tf.explore(tf.place(path, TWO, whole_graph=True))
    assert (explorer.signature, nodes(explorer)) == ("", WHOLE)
    explorer.signature = "a"
    assert "call/twice" in nodes(explorer)
    explorer = tf.explore(tf.place(path, TWO, signature="a"))
    assert explorer.signature == "a" and "call/twice" in nodes(explorer)
    assert tf.explore(tf.place(path, TWO, signature="a"), signature="").signature == ""


def test_the_program_text_places_the_same(path):
    explorer = tf.explore(path, machine=TWO, signature="a")
    line = f'placement = tf.place("{path}", config=config, tags="serve", signature="a")'
    assert line in explorer.as_python().splitlines()
    explorer.function = "outer"
    explorer.clear_devices = True
    code = explorer.as_python(devices=False)
    assert 'tags="serve", function="outer", clear_devices=True)' in code
    made = {}
    exec(code, made)
    assert dict(made["placement"]) == dict(explorer.placement)
    assert "graph: the explored graph" in explore(saved_model("s"), machine=TWO).as_python()


def test_parts_are_compared(path):
    explorer = tf.explore(path, machine=TWO, signature="a")
    explorer.compare(signature="")
    assert set(explorer.moves.only_before) == {"choose", "go", "saver"}
    assert explorer._comparison.label.startswith("whole graph, 2x Tesla K40c, release 1.15: 5 nodes")
    explorer.compare(path)
    assert not explorer.moves.only_before and not explorer.moves.only_after
    explorer.signature = ""
    explorer.compare(path)
    assert not explorer.moves.only_before and not explorer.moves.only_after

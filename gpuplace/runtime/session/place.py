"""`gpuplace.place`: where would every node run? Nothing is executed and no state of the process is touched.

>>> from gpuplace.graph.graph import Graph
>>> with Graph().as_default() as graph:
...     with graph.device("/gpu:1"):
...         op = graph.create_op("NoOp", [], [], name="go")
>>> place(graph, machine="2x Tesla K40c")["go"]
'/job:localhost/replica:0/task:0/device:GPU:1'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from gpuplace import release as releases
from gpuplace.callers import OwnFramesHidden
from gpuplace.device.device_set import DeviceSet
from gpuplace.device.machine import as_machine
from gpuplace.device.visible import DEVICE_ORDER, VISIBLE_DEVICES, visible_devices_text
from gpuplace.errors import OpError
from gpuplace.graph.graph import Graph
from gpuplace.kernels.registry import Catalogue, default_catalogue
from gpuplace.placer.from_graph import placement_graph_of
from gpuplace.placer.placement_graph import PlacementGraph
from gpuplace.placer.placer import Placer
from gpuplace.runtime.memory.process_state import current_machine
from gpuplace.typing import ConfigLike, GraphLike, MachineLike, VisibleDevices
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement

SOFT_KEYWORD = "soft_placement=True"
"""What turns on soft placement in calls of `place` and `explore`."""
SOFT_OPTION = "--soft (allow_soft_placement=True)"
"""What turns it on in commands and magics."""


def place(
    graph: GraphLike,
    machine: MachineLike | None = None,
    config: ConfigLike | None = None,
    release: str | None = None,
    on_error: str = "raise",
    catalogue: Catalogue | None = None,
    assigned: Mapping[str, str] | None = None,
    default_local_device: str | None = None,
    *,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    function: str | None = None,
    clear_devices: bool = False,
    whole_graph: bool = False,
    soft_placement: bool | None = None,
    visible_devices: VisibleDevices | None = None,
) -> Placement:
    """Says on which device TensorFlow would run every node, and why.

    Args:
        graph: a `Graph`, a GraphDef message, its bytes, a path (`.pb`, `.pbtxt`, SavedModel folder), a
            `PlacementGraph`, a `Placement` to be made again (the quickest way to ask "what if"), anything with a
            `graph` attribute, such as a session, or an object of a TensorFlow in this process: a `tf.Graph`, a
            `tf.function` or a trace of it, a Keras model, a `tf.Module`, what `tf.saved_model.load` gave.
        machine: a `Machine`, its text (`"4x Tesla K20m"`), or a `DeviceSet`, taken as it is; the process's machine, of
            which CUDA_VISIBLE_DEVICES may hide GPUs, if None.
        config: a `ConfigProto`, or anything with its attributes.
        release: which TensorFlow to behave like. None: the process's release; where none is chosen, the one that wrote
            the file or message (`tensorflow_version` of a SavedModel, producer version of a GraphDef).
        on_error: `"raise"`, or `"keep"` for a partial placement whose `errors` say what is wrong.
        catalogue: op definitions and kernels; the release's own if None.
        assigned: node name -> full name of the device that the node already has.
        default_local_device: full name of the device that goes before equally good ones.
        tags: which graph of a SavedModel, by all its tags; that of `serve` if None.
        signature: key of a signature of a SavedModel or MetaGraphDef: only the nodes that it needs are placed, with the
            functions that they call inlined. `""`: the whole graph. None: the serving signature; the whole graph of a
            model without signatures.
        function: name of a function of the graph's library: its body alone is placed, between `_Arg` and `_Retval`
            nodes, as where it is called and not inlined; what a caller would pin to a device is not pinned.
        clear_devices: whether the nodes lose the devices that they ask for, as with `import_meta_graph`.
        whole_graph: whether the whole graph of a SavedModel is placed, loader and saver included, as a session does.
        soft_placement: whether a request that cannot be met is dropped; what `config` says in `allow_soft_placement` if
            None, over which this goes.
        visible_devices: the GPUs of the machine that TensorFlow sees: numbers such as `[2, 0]`, of which the first
            becomes `/device:GPU:0`, or the value of CUDA_VISIBLE_DEVICES, such as `"2,0"`; as the machine has them if
            None. `visible_device_list` in `config` chooses among those that are left.

    Returns:
        A `Placement`: a mapping from node name to full device name that also explains, compares and draws itself.

    Raises:
        InvalidArgumentError: the graph cannot be placed, or is not sound; TensorFlow's sentence, then facts.
        NotFoundError: an op is not registered, or there is no such file, tag set, signature or function.
        DataLossError: the file is not a graph.
        FailedPreconditionError: the machine has no devices.
        InternalError: a device of `assigned` is none, or has no kernel for its node.
        ValueError: an unknown release, an `on_error` that is neither of the two, `tags`, `signature` or `function` for
            a graph that has none, `visible_devices` that the machine does not have, or any for a `DeviceSet`.
        TypeError: `graph`, `machine`, `soft_placement` or `visible_devices` is nothing of the kind.
        KeyError: `assigned` names no node of the graph.
    """
    given = locals()
    with OwnFramesHidden(OpError):
        return place_for(SOFT_KEYWORD, **given)


def place_for(
    soft_switch: str,
    graph: GraphLike,
    machine: MachineLike | None = None,
    config: ConfigLike | None = None,
    release: str | None = None,
    on_error: str = "raise",
    catalogue: Catalogue | None = None,
    assigned: Mapping[str, str] | None = None,
    default_local_device: str | None = None,
    *,
    tags: str | Iterable[str] | None = None,
    signature: str | None = None,
    function: str | None = None,
    clear_devices: bool = False,
    whole_graph: bool = False,
    soft_placement: bool | None = None,
    visible_devices: VisibleDevices | None = None,
) -> Placement:
    """As `place`, for an interface of its own.

    Args:
        soft_switch: what turns on soft placement there, for advice: a keyword argument, an option of a command.
        graph, machine, config, release, on_error, catalogue, assigned, default_local_device: as of `place`.
        tags, signature, function, clear_devices, whole_graph, soft_placement, visible_devices: as of `place`.
    """
    graph = graph_or_model(graph)
    name = releases.resolve(release, release_of(graph))
    known = catalogue or default_catalogue(name)
    signature = signature_choice(signature, function, whole_graph)
    choice = _Choice(tags, signature, function, clear_devices, inlines_all(config))
    if (
        isinstance(graph, Placement)
        and graph.release == name
        and graph.placer.catalogue is known
        and choice == _Choice(None, None, None, False, False)
    ):
        placer = graph.placer
    else:
        made = _placement_graph(graph, known, name, choice)
        placer = Placer(made, known, rules=releases.rules(name), release=name)
    return place_again(
        placer,
        devices_of(machine, config, visible_devices, name),
        soft=is_soft(config, soft_placement),
        assigned=assigned,
        default_local_device=default_local_device,
        on_error=on_error,
        soft_switch=soft_switch,
    )


def signature_choice(signature: str | None, function: str | None, whole_graph: bool) -> str | None:
    """Return the signature that `signature=`, `function=` and `whole_graph=` choose together: `""` for the whole graph.

    Args:
        signature: key of a signature, or None.
        function: name of a function, or None.
        whole_graph: whether the whole graph is meant.

    Raises:
        ValueError: they contradict each other.
    """
    if whole_graph and (signature or function):
        raise ValueError("whole_graph chooses the whole graph: leave out signature and function")
    return "" if whole_graph else signature


def graph_or_model(graph: Any) -> Any:
    """Return a graph of ours or a `Placement` as it is, the graph of a session, and anything else as a `Model`.

    Args:
        graph: as of `place`.

    Raises:
        As `gpuplace.graphdef.load.open_model`.
    """
    if isinstance(graph, Graph | PlacementGraph | Placement):
        return graph
    inner = getattr(graph, "graph", None)
    if isinstance(inner, Graph | PlacementGraph):
        return inner
    from gpuplace.graphdef.load import open_model

    return open_model(graph)


def release_of(graph: Any) -> str | None:
    """Return the release that wrote a file or message, or that a `Placement` was made as; None where it is unknown.

    Args:
        graph: what `graph_or_model` returned.
    """
    if isinstance(graph, PlacementGraph):
        graph = getattr(graph.source, "model", None)
    found: str | None = getattr(graph, "release", None)
    return found


def graph_to_place(graph: GraphLike, catalogue: Catalogue, release: str | None = None) -> PlacementGraph:
    """The graph that `place` would place: lowered, with what the placer leaves out of a call inlined.

    Args:
        graph: as of `place`; of a `Placement`, the graph that was placed.
        catalogue: op definitions and kernels.
        release: which TensorFlow to behave like; the process's release if None.

    Raises:
        As `place`.
    """
    if isinstance(graph, Placement):
        return graph.placer.graph
    graph = graph_or_model(graph)
    name = releases.resolve(release, release_of(graph))
    return _placement_graph(graph, catalogue, name, _Choice(None, None, None, False, False))


def is_soft(config: Any, soft_placement: bool | None = None) -> bool:
    """Whether soft placement is allowed.

    Args:
        config: a ``ConfigProto``, anything with its attributes, or None.
        soft_placement: what goes over it; None: nothing.

    Raises:
        TypeError: `soft_placement` is not a truth value.
    """
    if soft_placement is None:
        return bool(getattr(config, "allow_soft_placement", False))
    if not isinstance(soft_placement, bool | np.bool_):
        raise TypeError(f"soft_placement is True or False; got {soft_placement!r}")
    return bool(soft_placement)


class _Choice(NamedTuple):
    """What of a model is placed."""

    tags: str | Iterable[str] | None
    signature: str | None
    function: str | None
    clear_devices: bool
    inline_all: bool


def inlines_all(config: Any) -> bool:
    """Whether the session's optimizer options ask for every function call to be inlined.

    Args:
        config: a ``ConfigProto``, anything with its attributes, or None.
    """
    options = getattr(getattr(config, "graph_options", None), "optimizer_options", None)
    return bool(getattr(options, "do_function_inlining", False))


def _placement_graph(graph: Any, catalogue: Catalogue, release: str, choice: _Choice) -> PlacementGraph:
    if isinstance(graph, Placement):
        graph = graph.graph
    if isinstance(graph, Graph | PlacementGraph):
        is_whole = choice.signature == "" and not getattr(graph, "part", "")
        if choice.tags is not None or choice.function or (choice.signature is not None and not is_whole):
            return _placement_graph_of_part(graph, catalogue, release, choice)
        if isinstance(graph, Graph):
            return _lowered(graph, catalogue, releases.rules(release), choice)
        return _without_devices(graph) if choice.clear_devices else graph
    from gpuplace.graphdef.load import load_placement_graph

    return load_placement_graph(graph, catalogue, release, **choice._asdict())


def _placement_graph_of_part(
    graph: Graph | PlacementGraph, catalogue: Catalogue, release: str, choice: _Choice
) -> PlacementGraph:
    """Another part of the model that a graph was made from; of a graph of ours, the body of one of its functions."""
    from gpuplace.graphdef.load import load_placement_graph
    from gpuplace.graphdef.model import Model, PlacedPart, library_of

    source = graph.source if isinstance(graph, PlacementGraph) else graph
    if isinstance(source, PlacedPart):
        tags = source.part.tags if choice.tags is None else choice.tags
        cleared = choice.clear_devices or source.part.clear_devices
        wanted = choice._replace(tags=tags, clear_devices=cleared)
        return load_placement_graph(source.model, catalogue, release, **wanted._asdict())
    if choice.tags is not None or choice.signature:
        what = type(graph).__name__
        raise ValueError(f"tags and signature choose a part of a SavedModel: this is a {what}")
    if not isinstance(source, Graph):
        raise ValueError("function names a function of a graph's library: this graph keeps none")
    return load_placement_graph(Model(library_of(source)), catalogue, release, **choice._asdict())


def _without_devices(graph: PlacementGraph) -> PlacementGraph:
    return graph.changed(device=np.zeros_like(graph.device))


def _lowered(graph: Graph, catalogue: Catalogue, rules: str, choice: _Choice) -> PlacementGraph:
    made = placement_graph_of(graph, catalogue)
    if choice.clear_devices:
        made = _without_devices(made)
    return lowered_nodes(made, graph, catalogue, rules, inline_all=choice.inline_all)


def lowered_nodes(
    nodes: PlacementGraph, graph: Graph, catalogue: Catalogue, rules: str, *, inline_all: bool
) -> PlacementGraph:
    """Nodes of a graph as a session lowers them before it places them; the same ones where nothing is lowered.

    Args:
        nodes: all nodes of the graph, or a part of them.
        graph: the graph, with the library of functions.
        catalogue: the ops.
        rules: "1.15" or "2.21".
        inline_all: as `inlines_all` says.

    Raises:
        As `gpuplace.placer.lowering.lower`.
    """
    from gpuplace.placer.lowering import is_affected, lower

    if not is_affected(nodes):
        return nodes
    if not graph.functions:
        return lower(nodes, lambda name: None, catalogue, rules, inline_all=inline_all)
    from gpuplace.graphdef.functions import stored_function_bodies

    bodies = stored_function_bodies(graph.functions)
    return lower(nodes, bodies, catalogue, rules, inline_all=inline_all)


def devices_of(
    machine: MachineLike | None,
    config: ConfigLike | None = None,
    visible_devices: VisibleDevices | None = None,
    release: str | None = None,
) -> DeviceSet:
    """The devices that `place` would place on.

    Args:
        machine, config, visible_devices, release: as of `place`.

    Raises:
        As `place`.
    """
    if isinstance(machine, DeviceSet):
        if visible_devices is not None:
            raise ValueError("visible_devices chooses GPUs of a Machine; a DeviceSet is taken as it is")
        return machine
    environ: Mapping[str, str] | None = None if machine is None else {}
    machine = current_machine() if machine is None else as_machine(machine)
    if visible_devices is not None:
        order = machine.visibility(environ).order
        text = visible_devices_text(visible_devices, machine.gpus, order)
        environ = {DEVICE_ORDER: order, VISIBLE_DEVICES: text}
    return machine.device_set(config, environ=environ, release=release)

"""`gpuplace.place`: computes the device of every node, without running anything or changing the process's state.

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
from gpuplace.typing import ConfigLike, ConfigProto, GraphLike, MachineLike, VisibleDevices
from gpuplace.why.place import place_again
from gpuplace.why.placement import Placement

SOFT_KEYWORD = "soft_placement=True"
"""The argument of `place` and `explore` that turns on soft placement."""
SOFT_OPTION = "--soft (allow_soft_placement=True)"
"""The option of commands and magics that turns on soft placement."""


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
    """Return the device on which TensorFlow would run each node, and why.

    Args:
        graph: a `Graph`, a GraphDef message, its bytes, a path (`.pb`, `.pbtxt`, SavedModel folder), a
            `PlacementGraph`, a `Placement` to be computed again (the fastest way to ask "what if"), an object with a
            `graph` attribute, such as a session, or an object of TensorFlow itself in this process: a `tf.Graph`, a
            `tf.function` or its trace, a Keras model, a `tf.Module`, the result of `tf.saved_model.load`.
        machine: a `Machine`, its text (`"4x Tesla K20m"`), or a `DeviceSet`, used as it is; None: the process's
            machine, of which CUDA_VISIBLE_DEVICES may hide GPUs.
        config: a `ConfigProto`, or an object with its attributes.
        release: TensorFlow release to behave like. None: the process's release; if none is chosen, the one that wrote
            the file or message (`tensorflow_version` of a SavedModel, producer version of a GraphDef).
        on_error: `"raise"`, or `"keep"` for a partial placement whose `errors` describe the problems.
        catalogue: op definitions and kernels; None: those of the release.
        assigned: full device name by node name, for nodes that already have a device.
        default_local_device: full name of the device preferred among equally good ones.
        tags: tags of the graph in a SavedModel, all of them; None: `serve`.
        signature: key of a signature of a SavedModel or MetaGraphDef: only the nodes that it needs are placed, with the
            functions that they call inlined. `""`: the whole graph. None: the serving signature; the whole graph of a
            model without signatures.
        function: name of a function of the graph's library: only its body is placed, between `_Arg` and `_Retval`
            nodes, as in a call that is not inlined; device constraints of a call do not apply.
        clear_devices: whether to remove the device requests of the nodes, as in `import_meta_graph`.
        whole_graph: whether to place the whole graph of a SavedModel, including loader and saver, as a session does.
        soft_placement: whether to drop requests that cannot be satisfied; overrides `allow_soft_placement` in `config`
            unless None.
        visible_devices: GPUs of the machine that TensorFlow sees: numbers such as `[2, 0]`, of which the first becomes
            `/device:GPU:0`, or a value of CUDA_VISIBLE_DEVICES, such as `"2,0"`; None: those of the machine.
            `visible_device_list` in `config` selects among them.

    Returns:
        A `Placement`: a mapping from node name to full device name that also explains, compares and draws itself.

    Raises:
        InvalidArgumentError: the graph is invalid or cannot be placed; TensorFlow's message, followed by facts.
        NotFoundError: an op is not registered, or the file, tag set, signature or function does not exist.
        DataLossError: the file is not a graph.
        FailedPreconditionError: the machine has no devices.
        InternalError: a device in `assigned` does not exist, or has no kernel for its node.
        ValueError: an unknown release, an invalid `on_error`, `tags`, `signature` or `function` for a graph that has
            none, `visible_devices` that the machine does not have, or any `visible_devices` with a `DeviceSet`.
        TypeError: `graph`, `machine`, `soft_placement` or `visible_devices` has the wrong type.
        KeyError: `assigned` contains a name that is not in the graph.
    """
    arguments = locals()
    with OwnFramesHidden(OpError):
        return place_for(SOFT_KEYWORD, **arguments)


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
    """Place a graph as `place` does, for another interface.

    Args:
        soft_switch: the argument or option that turns on soft placement in that interface, for hints.
        graph, machine, config, release, on_error, catalogue, assigned, default_local_device: as in `place`.
        tags, signature, function, clear_devices, whole_graph, soft_placement, visible_devices: as in `place`.
    """
    graph = graph_or_model(graph)
    name = releases.resolve(release, release_of(graph))
    definitions = catalogue or default_catalogue(name)
    signature = signature_choice(signature, function, whole_graph)
    choice = _Choice(tags, signature, function, clear_devices, inlines_all(config))
    if (
        isinstance(graph, Placement)
        and graph.release == name
        and graph.placer.catalogue is definitions
        and choice == _Choice(None, None, None, False, False)
    ):
        placer = graph.placer
    else:
        nodes = _placement_graph(graph, definitions, name, choice)
        placer = Placer(nodes, definitions, rules=releases.rules(name), release=name)
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
    """Return the signature that `signature`, `function` and `whole_graph` select together: `""` for the whole graph.

    Args:
        signature: key of a signature, or None.
        function: name of a function, or None.
        whole_graph: whether the whole graph is selected.

    Raises:
        ValueError: they contradict each other.
    """
    if whole_graph and (signature or function):
        raise ValueError("whole_graph=True selects the whole graph: omit signature and function")
    return "" if whole_graph else signature


def graph_or_model(graph: Any) -> Any:
    """Return a graph of this package or a `Placement` unchanged, the graph of a session, and a `Model` for any other
    object.

    Args:
        graph: as in `place`.

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
    """Return the release that wrote a file or message, or for which a `Placement` was computed; None if unknown.

    Args:
        graph: a result of `graph_or_model`.
    """
    if isinstance(graph, PlacementGraph):
        graph = getattr(graph.source, "model", None)
    release: str | None = getattr(graph, "release", None)
    return release


def graph_to_place(graph: GraphLike, catalogue: Catalogue, release: str | None = None) -> PlacementGraph:
    """Return the graph that `place` would place: lowered, with calls inlined that the placer does not see.

    Args:
        graph: as in `place`; for a `Placement`, its placed graph.
        catalogue: op definitions and kernels.
        release: TensorFlow release to behave like; None: the process's release.

    Raises:
        As `place`.
    """
    if isinstance(graph, Placement):
        return graph.placer.graph
    graph = graph_or_model(graph)
    name = releases.resolve(release, release_of(graph))
    return _placement_graph(graph, catalogue, name, _Choice(None, None, None, False, False))


def is_soft(config: ConfigProto, soft_placement: bool | None = None) -> bool:
    """Whether soft placement is allowed.

    Args:
        config: a ``ConfigProto``, an object with its attributes, or None.
        soft_placement: overrides ``config`` unless None.

    Raises:
        TypeError: `soft_placement` is not a bool.
    """
    if soft_placement is None:
        return bool(getattr(config, "allow_soft_placement", False))
    if not isinstance(soft_placement, bool | np.bool_):
        raise TypeError(f"soft_placement must be True or False; got {soft_placement!r}")
    return bool(soft_placement)


class _Choice(NamedTuple):
    """Part of a model to place."""

    tags: str | Iterable[str] | None
    signature: str | None
    function: str | None
    clear_devices: bool
    inline_all: bool


def inlines_all(config: ConfigProto) -> bool:
    """Whether the session's optimizer options request inlining of every function call.

    Args:
        config: a ``ConfigProto``, an object with its attributes, or None.
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
    """Return another part of the model that a graph comes from; for a `Graph`, the body of one of its functions."""
    from gpuplace.graphdef.load import load_placement_graph
    from gpuplace.graphdef.model import Model, PlacedPart, library_of

    source = graph.source if isinstance(graph, PlacementGraph) else graph
    if isinstance(source, PlacedPart):
        tags = source.part.tags if choice.tags is None else choice.tags
        cleared = choice.clear_devices or source.part.clear_devices
        part_choice = choice._replace(tags=tags, clear_devices=cleared)
        return load_placement_graph(source.model, catalogue, release, **part_choice._asdict())
    if choice.tags is not None or choice.signature:
        what = type(graph).__name__
        raise ValueError(f"tags and signature apply only to a SavedModel; this is a {what}")
    if not isinstance(source, Graph):
        raise ValueError("function must name a library function, but this graph has no library")
    return load_placement_graph(Model(library_of(source)), catalogue, release, **choice._asdict())


def _without_devices(graph: PlacementGraph) -> PlacementGraph:
    return graph.changed(device=np.zeros_like(graph.device))


def _lowered(graph: Graph, catalogue: Catalogue, rules: str, choice: _Choice) -> PlacementGraph:
    nodes = placement_graph_of(graph, catalogue)
    if choice.clear_devices:
        nodes = _without_devices(nodes)
    return lowered_nodes(nodes, graph, catalogue, rules, inline_all=choice.inline_all)


def lowered_nodes(
    nodes: PlacementGraph, graph: Graph, catalogue: Catalogue, rules: str, *, inline_all: bool
) -> PlacementGraph:
    """Return the nodes as a session lowers them before placement; unchanged if there is nothing to lower.

    Args:
        nodes: all nodes of the graph, or a part of them.
        graph: the graph, with its function library.
        catalogue: the ops.
        rules: "1.15" or "2.21".
        inline_all: result of `inlines_all`.

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
    """Return the devices that `place` would use.

    Args:
        machine, config, visible_devices, release: as in `place`.

    Raises:
        As `place`.
    """
    if isinstance(machine, DeviceSet):
        if visible_devices is not None:
            raise ValueError("visible_devices requires a Machine; it cannot be combined with a DeviceSet")
        return machine
    environ: Mapping[str, str] | None = None if machine is None else {}
    machine = current_machine() if machine is None else as_machine(machine)
    if visible_devices is not None:
        order = machine.visibility(environ).order
        text = visible_devices_text(visible_devices, machine.gpus, order)
        environ = {DEVICE_ORDER: order, VISIBLE_DEVICES: text}
    return machine.device_set(config, environ=environ, release=release)

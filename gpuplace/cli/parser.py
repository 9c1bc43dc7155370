"""The ``argparse`` parser of the command line, with all commands.

``COMMANDS`` holds each command's one-line help; the commands themselves are in ``gpuplace.cli.commands`` and the
``*_command`` modules.
"""

from __future__ import annotations

import argparse
from typing import TypeAlias

from gpuplace import __version__
from gpuplace.release import RELEASES

COMMANDS = {
    "run": "run a TensorFlow 1 script with gpuplace in TensorFlow's place",
    "place": "place a graph and print where every node goes",
    "explain": "explain why a node has its device",
    "blame": "rank the causes that keep nodes off the GPU",
    "diff": "place a graph on two machines, or as two releases, and print the nodes that move",
    "watch": "run any program and summarize the device placement that TensorFlow logs",
    "log": "read the output of log_device_placement, and compare it with a graph",
    "timeline": "show a measured step: ops by device and time, copies, the critical path and suggested moves",
    "advise": "search for a better placement of a graph, or split of a workload, with reasons and a bound",
    "sweep": "place, estimate or advise many graphs on many machines, on all cores or a dask cluster",
    "report": "write a graph's placement, or a log, as one HTML file with a picture, tables and reasons",
    "explore": "open a graph or a log in the explorer",
    "calibrate": "measure this machine so that step times can be predicted for it",
    "estimate": "predict the time, copies and memory of a graph's step on any machine",
    "devices": "show how the machine's GPUs become /device:GPU:0, /device:GPU:1, ...",
}
"""Command -> its help."""

RUN_OPTIONS = ("--machine", "--release", "--trace", "--trace-step")
"""Options of ``run``, allowed before or after the script."""

SHOWN_WITH = ("lab", "voila", "page")
"""Programs with which ``explore`` can open a graph."""

FORMATS = ("table", "json", "csv", "log")

LOG_TABLES = ("nodes", "devices", "gpus", "events", "ops", "sessions", "overridden", "unparsed", "notes")

MACHINE_HELP = (
    'such as "4x Tesla K20m", "2 CPU, 1x V100", "cpu" or "local"; default: GPUPLACE_MACHINE, or local'
)
GRAPH_HELP = "a GraphDef (.pb, or .pbtxt as text) or the folder of a SavedModel"

STEP_HELP = (
    "a measured step: a RunMetadata or StepStats (.pb, or .pbtxt as text), or its Chrome trace (.json), or "
    "a profile of TensorFlow 2 (.xplane.pb, .trace.json.gz, or the log folder)"
)

_FETCH_HELP = (
    "a tensor to fetch, an operation to run, or an output of the signature; repeatable; default: the signature's "
    "outputs, the training operation, or the graph's outputs, in this order"
)

_BATCH_HELP = "batch size: the value of the feeds' unknown first dimension, or of the ? in --feed"

_DEFAULT_RELEASE = "GPUPLACE_RELEASE if set, otherwise the release that wrote the graph, otherwise 1.15"

LOG_HELP = (
    "; or a TensorFlow log, recognized by its content: it shows the recorded devices and is not placed again"
)


_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; its ``parse_args`` exits with code 2 on a wrong command line."""
    parser = argparse.ArgumentParser(
        prog="gpuplace",
        description="Where does every op of a TensorFlow graph run, and why?",
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    for add in (
        _run,
        _place,
        _explain,
        _blame,
        _diff,
        _watch,
        _log,
        _timeline,
        _advise,
        _sweep,
        _report,
        _explore,
        _calibrate,
        _estimate,
        _devices,
    ):
        add(commands)
    return parser


def _run(commands: _Commands) -> None:
    parser = _command(commands, "run")
    parser.usage = (
        "gpuplace run [--machine MACHINE] [--release RELEASE] [--trace FILE [--trace-step N]] "
        "(SCRIPT | -m MODULE) [ARGUMENT ...]"
    )
    parser.epilog = "Options may also follow SCRIPT; everything after -- belongs to the script."
    parser.add_argument("script", metavar="SCRIPT", help="a Python file that imports tensorflow")
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="SCRIPT is a module name, as for python -m"
    )
    _add_machine(parser)
    _add_release(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="measure session runs and write one step as RunMetadata (.pb, or .pbtxt as text) or Chrome trace (.json)",
    )
    parser.add_argument(
        "--trace-step", type=int, metavar="N", help="number of the run to measure, from 1; default: the last"
    )


def _place(commands: _Commands) -> None:
    parser = _command(commands, "place")
    _add_graph(parser)
    _add_session_options(parser)
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    _add_rows(parser)


def _explain(commands: _Commands) -> None:
    parser = _command(commands, "explain")
    _add_graph(parser)
    parser.add_argument("node", metavar="NODE", help="a node's name, the end of a name, or a name scope")
    _add_session_options(parser)


def _blame(commands: _Commands) -> None:
    parser = _command(commands, "blame")
    _add_graph(parser)
    _add_session_options(parser)
    parser.add_argument("--device-type", metavar="TYPE", default="GPU", help="default: GPU")
    _add_step(parser, f"analyze the step with this fetch: {_FETCH_HELP}")
    parser.add_argument("--batch", type=int, metavar="N", help=f"{_BATCH_HELP}; default: 32 if unknown")
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text", help="default: text")


def _diff(commands: _Commands) -> None:
    parser = _command(commands, "diff")
    _add_graph(parser)
    _add_session_options(parser)
    parser.add_argument("--against", metavar="MACHINE", help="the other machine; default: the same")
    parser.add_argument(
        "--against-release", choices=RELEASES, metavar="RELEASE", help="the other release; default: the same"
    )
    parser.add_argument("--format", choices=FORMATS[:3], default="table", help="default: table")
    _add_rows(parser)


def _watch(commands: _Commands) -> None:
    parser = _command(commands, "watch")
    parser.usage = "gpuplace watch [-o FILE] [--title TITLE] [--] COMMAND [ARGUMENT ...]"
    parser.epilog = (
        "The output of COMMAND passes through a pipe unchanged, and its exit status is returned. The program itself "
        "must turn on the log: tf.debugging.set_log_device_placement(True), or "
        "tf.ConfigProto(log_device_placement=True)."
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write an HTML page instead of the summary")
    parser.add_argument("--title", help="page heading; default: the command")
    parser.add_argument("program", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program to run")


def _log(commands: _Commands) -> None:
    parser = _command(commands, "log")
    parser.epilog = (
        "With --against, list the nodes whose device differs; the exit code is 3 if there are any."
    )
    parser.add_argument(
        "log", metavar="FILE", help="a log with the program's stdout and stderr; - for standard input"
    )
    parser.add_argument(
        "--show",
        choices=LOG_TABLES,
        default="nodes",
        help="the table to print; default: nodes. unparsed: text that was not understood; notes: text that was "
        "restored, cut off or ambiguous",
    )
    parser.add_argument("--session", type=int, metavar="N", help="only the session with this number, from 0")
    parser.add_argument("--against", metavar="GRAPH", help=f"compare with {GRAPH_HELP}")
    _add_part(parser)
    _add_session_options(parser)
    parser.add_argument("--format", choices=FORMATS[:3], default="table", help="default: table")
    _add_rows(parser)


def _timeline(commands: _Commands) -> None:
    parser = _command(commands, "timeline")
    parser.epilog = "Without --svg, --html or --json, print the step as text. The file - is standard output."
    parser.add_argument("step", metavar="FILE", help=STEP_HELP)
    parser.add_argument("--svg", metavar="FILE", help="write a static picture")
    parser.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="theme of the picture; default: light"
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a zoomable, searchable page that needs only a browser"
    )
    parser.add_argument("--title", help="page heading; default: the file's name")
    parser.add_argument(
        "--json", metavar="FILE", help="write a Chrome trace, for Perfetto and chrome://tracing"
    )
    parser.add_argument(
        "--memory", action="store_true", help="include tensors and allocators in the Chrome trace"
    )
    _add_graph(parser, "; it is placed again to suggest moves", option=True)
    _add_session_options(parser)


def _advise(commands: _Commands) -> None:
    parser = _command(commands, "advise")
    parser.epilog = "Ctrl-C prints the best result so far. The file - is standard input or output."
    parser.add_argument("graph", metavar="GRAPH", nargs="?", help=f"the graph: {GRAPH_HELP}")
    _add_part(parser)
    _add_step(parser, _FETCH_HELP)
    parser.add_argument("--batch", type=int, metavar="N", help=_BATCH_HELP)
    _add_machine(parser)
    _add_release(parser)
    _add_config(parser)
    parser.add_argument("--soft", action="store_true", help="allow soft placement (allow_soft_placement)")
    _add_visible_devices(parser)
    parser.add_argument(
        "--keep",
        action="append",
        metavar="PATTERN",
        help="nodes that keep their devices: a name pattern such as save/*, or a scope; repeatable",
    )
    parser.add_argument(
        "--problem",
        metavar="FILE",
        help="a workload as JSON instead of a graph: maxFPGAs, maxCPUs, maxSizePerFPGA, nodes and edges",
    )
    parser.add_argument(
        "--objective",
        choices=("step_time", "throughput", "memory", "latency"),
        help="the quantity to minimize. step_time: the time of one step of a graph; throughput: the largest load of a "
        "device; memory: the bytes on the fullest device; latency: the time of one sample of a workload; default: "
        "step_time for a graph, throughput for a workload",
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="S", help="search time in seconds; default: 10"
    )
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="number of changes to try instead of a time limit; the result is then reproducible",
    )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="random seed of the search; default: 0"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="write the graph with the recommended device requests to FILE: .pb, .pbtxt, or .py for Python code; for a "
        "workload, write the split; default: write no graph, and the split to standard output",
    )


def _sweep(commands: _Commands) -> None:
    parser = _command(commands, "sweep")
    parser.epilog = (
        "Runs every combination of graph, machine, config and release; the row of a failed case holds its error. "
        "Ctrl-C prints the finished rows. Requires gpuplace[cluster]."
    )
    parser.add_argument(
        "graphs", metavar="GRAPH", nargs="+", help=f"{GRAPH_HELP}, or a pattern such as 'models/**/*.pb'"
    )
    parser.add_argument(
        "--what",
        choices=("place", "estimate", "advise"),
        default="place",
        help="the computation for each case; default: place",
    )
    parser.add_argument(
        "--machine", action="append", dest="machines", metavar="MACHINE", help=f"{MACHINE_HELP}; repeatable"
    )
    parser.add_argument(
        "--config", action="append", dest="configs", metavar="FILE", help="a ConfigProto as text; repeatable"
    )
    parser.add_argument(
        "--release",
        action="append",
        dest="releases",
        choices=RELEASES,
        metavar="RELEASE",
        help=f"the TensorFlow release to behave as: {', '.join(RELEASES)}; repeatable; default: {_DEFAULT_RELEASE}",
    )
    parser.add_argument("--soft", action="store_true", help="allow soft placement (allow_soft_placement)")
    _add_visible_devices(parser)
    _add_part(parser)
    _add_step(parser, _FETCH_HELP)
    parser.add_argument(
        "--trips", action="append", metavar="FRAME=N", help="number of iterations of a loop frame"
    )
    _add_searches(parser)
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="a Parquet file that stores the rows as they finish; cases that it already holds are not run again",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="number of processes; default: one per core")
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a dask scheduler to use instead of processes, such as tcp://10.0.0.1:8786",
    )
    parser.add_argument(
        "--format",
        choices=("table", "json", "csv", "jsonl"),
        default="table",
        help="jsonl: one line per row, as the rows finish; default: table",
    )
    _add_rows(parser)


def _add_searches(parser: argparse.ArgumentParser) -> None:
    """Add the options of the searches of a sweep, ``--what advise``."""
    parser.add_argument(
        "--objective",
        choices=("step_time", "throughput", "memory"),
        help="the objective of --what advise; default: step_time",
    )
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="search time of each --what advise case in seconds; default: 10",
    )
    parser.add_argument(
        "--steps", type=int, metavar="N", help="number of changes to try instead of a time limit"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="random seed of the search; default: 0")
    parser.add_argument(
        "--keep",
        action="append",
        metavar="PATTERN",
        help="nodes that keep their devices: a name pattern such as save/*, or a scope; repeatable",
    )


def _report(commands: _Commands) -> None:
    parser = _command(commands, "report")
    _add_graph(parser, LOG_HELP)
    parser.add_argument("-o", "--output", metavar="FILE", default="report.html", help="default: report.html")
    parser.add_argument("--title", help="page heading; default: the file's name")
    _add_session_options(parser)
    parser.add_argument(
        "--against", metavar="MACHINE", help="another machine; the page lists the nodes that move"
    )
    parser.add_argument(
        "--against-release",
        choices=RELEASES,
        metavar="RELEASE",
        help="another release; the page lists the nodes that move",
    )
    parser.add_argument(
        "--run-metadata",
        metavar="FILE",
        help=f"{STEP_HELP}; adds its timeline, and colors by time and memory",
    )
    _add_step(parser, "add the predicted cost of the step that fetches or runs this; repeatable")
    parser.add_argument("--batch", type=int, metavar="N", help=f"{_BATCH_HELP}; default: 32 if unknown")


def _explore(commands: _Commands) -> None:
    parser = _command(commands, "explore")
    _add_graph(parser, LOG_HELP)
    _add_session_options(parser)
    parser.add_argument(
        "--with",
        dest="shown_with",
        choices=SHOWN_WITH,
        help="lab: JupyterLab, as a notebook to run; voila: only the explorer; page: the static page of `report`, "
        "without a kernel; default: lab if installed, otherwise voila",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="save the notebook, or the page, as FILE")
    parser.add_argument("--port", type=int, help="port of the server")
    parser.add_argument("--no-browser", action="store_true", help="do not open a browser")


def _calibrate(commands: _Commands) -> None:
    parser = _command(commands, "calibrate")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="output file; default: GPUPLACE_COST_MODEL if set, otherwise gpuplace/cost_model.json in XDG_CONFIG_HOME "
        "(~/.config), which gpuplace reads",
    )
    parser.add_argument(
        "--tensorflow",
        metavar="PYTHON",
        help="measure the CPU kernels of the TensorFlow (1.15 or later) in this Python, not gpuplace's own",
    )


def _estimate(commands: _Commands) -> None:
    parser = _command(commands, "estimate")
    parser.epilog = (
        "Several machines or batch sizes give a table with one row each. GPUs must be in the catalogue."
    )
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    _add_part(parser)
    _add_step(parser, _FETCH_HELP)
    parser.add_argument("--batch", metavar="N,N,...", help=f"{_BATCH_HELP}; several sizes give a table")
    parser.add_argument(
        "--trips", action="append", metavar="FRAME=N", help="number of iterations of a loop frame"
    )
    parser.add_argument("--machine", action="append", dest="machines", metavar="MACHINE", help=MACHINE_HELP)
    parser.add_argument(
        "--gpu-machine", action="append", metavar="MACHINE", help="another machine; repeatable"
    )
    _add_release(parser)
    _add_config(parser)
    parser.add_argument("--soft", action="store_true", help="allow soft placement (allow_soft_placement)")
    _add_visible_devices(parser)
    parser.add_argument(
        "--table",
        choices=("nodes", "devices", "copies", "memory", "ops", "findings"),
        help="print this table instead",
    )
    parser.add_argument("--format", choices=("text", "json", "csv"), default="text", help="default: text")
    _add_rows(parser)


def _devices(commands: _Commands) -> None:
    parser = _command(commands, "devices")
    _add_machine(parser)
    _add_release(parser)
    _add_config(parser)
    parser.add_argument("--format", choices=FORMATS[:3], default="table", help="default: table")


def _command(commands: _Commands, name: str) -> argparse.ArgumentParser:
    help_text = COMMANDS[name]
    return commands.add_parser(
        name, help=help_text, description=f"{help_text[0].upper()}{help_text[1:]}.", allow_abbrev=False
    )


def _add_graph(parser: argparse.ArgumentParser, more_help: str = "", *, option: bool = False) -> None:
    parser.add_argument("--graph" if option else "graph", metavar="GRAPH", help=GRAPH_HELP + more_help)
    _add_part(parser)


def _add_step(parser: argparse.ArgumentParser, fetch_help: str) -> None:
    """Add the options that select the step."""
    parser.add_argument("--fetch", action="append", metavar="NAME", help=fetch_help)
    parser.add_argument(
        "--feed",
        action="append",
        metavar="NAME=SIZES",
        help="shape of a feed, named by a tensor or by an input of the signature, such as images=64,224,224,3; "
        "? marks the batch dimension",
    )


def _add_part(parser: argparse.ArgumentParser) -> None:
    """Add the options that select a part of a model."""
    parser.add_argument(
        "--tags", metavar="TAGS", help="tags of the graph in a SavedModel, such as serve,gpu; default: serve"
    )
    parser.add_argument(
        "--signature",
        metavar="KEY",
        help="only the nodes of this signature of a SavedModel; default: serving_default, otherwise the first by name",
    )
    parser.add_argument(
        "--function", metavar="NAME", help="only the body of this function of the graph's library"
    )
    parser.add_argument(
        "--whole-graph",
        action="store_true",
        help="the whole graph of a SavedModel, including loader and saver; for an estimate, every node of any graph",
    )
    parser.add_argument(
        "--clear-devices", action="store_true", help="ignore the devices that the nodes request"
    )


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machine", metavar="MACHINE", help=MACHINE_HELP)


def _add_release(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--release",
        choices=RELEASES,
        metavar="RELEASE",
        help=f"the TensorFlow release to behave as: {', '.join(RELEASES)}; default: {_DEFAULT_RELEASE}",
    )


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="a ConfigProto as text")


def _add_visible_devices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--visible-devices",
        metavar="IDS",
        help="the GPUs that TensorFlow sees, in the syntax of CUDA_VISIBLE_DEVICES; default: all",
    )


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    _add_machine(parser)
    _add_release(parser)
    _add_config(parser)
    parser.add_argument("--soft", action="store_true", help="allow soft placement (allow_soft_placement)")
    parser.add_argument(
        "--visible-devices",
        metavar="IDS",
        help="the GPUs that TensorFlow sees, in the syntax of CUDA_VISIBLE_DEVICES, such as 1,0; default: all",
    )


def _add_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=_count, metavar="N", help="print at most N rows; default: all")
    parser.add_argument(
        "--full-names", action="store_true", help="do not shorten names to fit the table to the terminal"
    )


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a number of rows, such as 20; got {text!r}")
    return int(text)

"""The words of the command line: one ``argparse`` parser for all commands.

``COMMANDS`` holds each command's one-line help; what a command does is in ``gpuplace.cli.commands`` and
``gpuplace.cli.run_script``.
"""

from __future__ import annotations

import argparse
from typing import TypeAlias

from gpuplace import __version__
from gpuplace.release import RELEASES

COMMANDS = {
    "run": "run a TensorFlow 1 script with gpuplace in TensorFlow's place",
    "place": "place a graph and print where every node goes",
    "explain": "say why a node is where it is",
    "blame": "rank the causes for everything that is not on a GPU",
    "diff": "place a graph on two machines, or as two releases, and print what moves",
    "watch": "run any program and say where TensorFlow's log puts its ops",
    "log": "read what TensorFlow printed with log_device_placement, and compare it with a graph",
    "timeline": "show a measured step: what ran where and when, copies, the critical path and what to move",
    "advise": "search a better placement of a graph, or split of a workload, and say why and how good it is",
    "sweep": "place, estimate or advise many graphs on many machines, on all cores or a dask cluster",
    "report": "write a graph's placement, or a log, as one HTML file: picture, tables and reasons",
    "explore": "open a graph or a log in the explorer",
    "calibrate": "measure this machine, so that times of steps can be predicted",
    "estimate": "predict what a step of a graph takes: time, copies and memory, on any machine",
    "devices": "show how the machine's GPUs become /device:GPU:0, /device:GPU:1, ...",
}
"""Command -> what it does."""

RUN_OPTIONS = ("--machine", "--release", "--trace", "--trace-step")
"""Options of ``run``, before or after the script."""

SHOWN_WITH = ("lab", "voila", "page")
"""What ``explore`` can open a graph with."""

FORMATS = ("table", "json", "csv", "log")

LOG_TABLES = ("nodes", "devices", "gpus", "events", "ops", "sessions", "overridden", "unparsed", "notes")

MACHINE_HELP = (
    'such as "4x Tesla K20m", "2 CPU, 1x V100", "cpu" or "local"; default: GPUPLACE_MACHINE, else local'
)
GRAPH_HELP = "a GraphDef (.pb, or .pbtxt as text) or the folder of a SavedModel"

STEP_HELP = (
    "a measured step: a RunMetadata or StepStats (.pb, or .pbtxt as text), or its Chrome trace (.json), or "
    "a profile of TensorFlow 2 (.xplane.pb, .trace.json.gz, or the log folder)"
)

_FETCH_HELP = (
    "a tensor to fetch or an operation to run, or an output of the signature; again for more; default: the signature's "
    "outputs, else the training operation, else the graph's outputs"
)

_BATCH_HELP = "batch size: the feeds' unknown first dimension, or the dimension that --feed leaves as ?"

_DEFAULT_RELEASE = "GPUPLACE_RELEASE, else the release that wrote the graph, else 1.15"

LOG_HELP = (
    "; or a log of TensorFlow, which says where nodes were: recognised by its content, and not placed again"
)


_Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def build_parser() -> argparse.ArgumentParser:
    """The parser; ``parse_args`` of it exits with code 2 on a wrong command line."""
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
        "-m", dest="is_module", action="store_true", help="SCRIPT is a module's name, as for python -m"
    )
    _add_machine(parser)
    _add_release(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE",
        help="measure what sessions run and write a step: RunMetadata (.pb, or .pbtxt as text) or Chrome trace (.json)",
    )
    parser.add_argument(
        "--trace-step", type=int, metavar="N", help="measure the N-th run, counted from 1; default: the last"
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
    parser.add_argument("node", metavar="NODE", help="name of a node of the graph")
    _add_session_options(parser)


def _blame(commands: _Commands) -> None:
    parser = _command(commands, "blame")
    _add_graph(parser)
    _add_session_options(parser)
    parser.add_argument("--device-type", metavar="TYPE", default="GPU", help="default: GPU")
    _add_step(parser, f"findings are about a step that fetches or runs this; {_FETCH_HELP}")
    parser.add_argument(
        "--batch", type=int, metavar="N", help=f"{_BATCH_HELP}; default: 32, where it is open"
    )
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
        "COMMAND prints as without gpuplace, to a pipe, and its exit status is kept. The program switches its log on "
        "itself: tf.debugging.set_log_device_placement(True), or tf.ConfigProto(log_device_placement=True)."
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write an HTML page in place of the summary")
    parser.add_argument("--title", help="heading of the page; default: the command")
    parser.add_argument("program", metavar="COMMAND", nargs=argparse.REMAINDER, help="the program to run")


def _log(commands: _Commands) -> None:
    parser = _command(commands, "log")
    parser.epilog = "With --against, lists nodes whose device differs; the exit code is 3 if there are any."
    parser.add_argument(
        "log", metavar="FILE", help="a log, stdout and stderr as they came; - for standard input"
    )
    parser.add_argument(
        "--show",
        choices=LOG_TABLES,
        default="nodes",
        help="what to list; default: nodes. unparsed is the text that was not understood, notes say what was undone, "
        "cut or ambiguous",
    )
    parser.add_argument("--session", type=int, metavar="N", help="only the session of this number, from 0")
    parser.add_argument("--against", metavar="GRAPH", help=f"compare with {GRAPH_HELP}")
    _add_part(parser)
    _add_session_options(parser)
    parser.add_argument("--format", choices=FORMATS[:3], default="table", help="default: table")
    _add_rows(parser)


def _timeline(commands: _Commands) -> None:
    parser = _command(commands, "timeline")
    parser.epilog = (
        "Without --svg, --html and --json, prints the step as text. The file - is standard output."
    )
    parser.add_argument("step", metavar="FILE", help=STEP_HELP)
    parser.add_argument("--svg", metavar="FILE", help="write a still picture")
    parser.add_argument(
        "--theme", choices=("light", "dark"), default="light", help="of the picture; default: light"
    )
    parser.add_argument(
        "--html", metavar="FILE", help="write a zoomable, searchable page that needs only a browser"
    )
    parser.add_argument("--title", help="heading of the page; default: the file's name")
    parser.add_argument(
        "--json", metavar="FILE", help="write a Chrome trace, for Perfetto and chrome://tracing"
    )
    parser.add_argument(
        "--memory", action="store_true", help="the Chrome trace shows tensors and allocators too"
    )
    _add_graph(parser, "; placing it again with other devices shows what to move", option=True)
    _add_session_options(parser)


def _advise(commands: _Commands) -> None:
    parser = _command(commands, "advise")
    parser.epilog = (
        "GRAPH is read as by place. Ctrl-C gives the best so far. The file - is standard input or output."
    )
    parser.add_argument("graph", metavar="GRAPH", nargs="?", help=f"the graph to advise on: {GRAPH_HELP}")
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
        help="nodes that stay as they are, by a pattern of their names, such as save/*, or a scope; again for more",
    )
    parser.add_argument(
        "--problem",
        metavar="FILE",
        help="in place of a graph, a workload as JSON: maxFPGAs, maxCPUs, maxSizePerFPGA, nodes and edges",
    )
    parser.add_argument(
        "--objective",
        choices=("step_time", "throughput", "memory", "latency"),
        help="step_time: of one step of a graph; throughput: the largest load of a device; memory: the fewest bytes on "
        "the fullest device; latency: the time of one sample of a workload; default: step_time of a graph, throughput "
        "of a workload",
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="S", help="how long to search; default: 10"
    )
    parser.add_argument(
        "--steps",
        type=int,
        metavar="N",
        help="how many changes to try, in place of a time: always the same answer",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the search; default: 0")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        default="-",
        help="write the graph that asks for the advised devices to FILE: .pb, .pbtxt, or .py for Python; of a "
        "workload, the split; default: nothing is written, of a workload standard output",
    )


def _sweep(commands: _Commands) -> None:
    parser = _command(commands, "sweep")
    parser.epilog = (
        "Every graph on every machine with every config as every release; a case that fails has its error in its row. "
        "Ctrl-C prints what is done. It needs gpuplace[cluster]."
    )
    parser.add_argument(
        "graphs", metavar="GRAPH", nargs="+", help=f"{GRAPH_HELP}, or a pattern such as 'models/**/*.pb'"
    )
    parser.add_argument(
        "--what",
        choices=("place", "estimate", "advise"),
        default="place",
        help="what is asked; default: place",
    )
    parser.add_argument(
        "--machine",
        action="append",
        dest="machines",
        metavar="MACHINE",
        help=f"{MACHINE_HELP}; again for more",
    )
    parser.add_argument(
        "--config",
        action="append",
        dest="configs",
        metavar="FILE",
        help="a ConfigProto as text; again for more",
    )
    parser.add_argument(
        "--release",
        action="append",
        dest="releases",
        choices=RELEASES,
        metavar="RELEASE",
        help=f"TensorFlow to behave as: {', '.join(RELEASES)}; again for more; default: {_DEFAULT_RELEASE}",
    )
    parser.add_argument("--soft", action="store_true", help="allow soft placement (allow_soft_placement)")
    _add_visible_devices(parser)
    _add_part(parser)
    _add_step(parser, _FETCH_HELP)
    parser.add_argument(
        "--trips", action="append", metavar="FRAME=N", help="how often the body of a loop runs"
    )
    parser.add_argument(
        "--objective",
        choices=("step_time", "throughput", "memory"),
        help="of --what advise; default: step_time",
    )
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="how long to search for each advice; default: 10"
    )
    parser.add_argument("--steps", type=int, metavar="N", help="how many changes to try, in place of a time")
    parser.add_argument("--seed", type=int, metavar="N", help="of the search; default: 0")
    parser.add_argument(
        "--keep",
        action="append",
        metavar="PATTERN",
        help="nodes that stay as they are, by a pattern of their names, such as save/*, or a scope; again for more",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="a Parquet file that rows are saved in as they come; what it holds is not asked again",
    )
    parser.add_argument("--workers", type=int, metavar="N", help="processes; default: one for each core")
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="a dask scheduler's, such as tcp://10.0.0.1:8786, in place of processes",
    )
    parser.add_argument(
        "--format",
        choices=("table", "json", "csv", "jsonl"),
        default="table",
        help="jsonl: each row on a line as it comes; default: table",
    )
    _add_rows(parser)


def _report(commands: _Commands) -> None:
    parser = _command(commands, "report")
    _add_graph(parser, LOG_HELP)
    parser.add_argument(
        "-o", "--output", metavar="FILE", default="report.html", help="default: report.html, here"
    )
    parser.add_argument("--title", help="heading of the page; default: the file's name")
    _add_session_options(parser)
    parser.add_argument("--against", metavar="MACHINE", help="another machine: the page lists what moves")
    parser.add_argument(
        "--against-release",
        choices=RELEASES,
        metavar="RELEASE",
        help="another release: the page lists what moves",
    )
    parser.add_argument(
        "--run-metadata",
        metavar="FILE",
        help=f"{STEP_HELP}: its timeline, and colours by time and memory",
    )
    _add_step(parser, "the page says what a step costs that fetches or runs this; again for more")
    parser.add_argument(
        "--batch", type=int, metavar="N", help=f"{_BATCH_HELP}; default: 32, where it is open"
    )


def _explore(commands: _Commands) -> None:
    parser = _command(commands, "explore")
    _add_graph(parser, LOG_HELP)
    _add_session_options(parser)
    parser.add_argument(
        "--with",
        dest="shown_with",
        choices=SHOWN_WITH,
        help="lab: in JupyterLab, as a notebook to run; voila: the explorer alone; page: the file of `report`, without "
        "a kernel; default: the first that is installed of lab and voila",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="keep the notebook, or the page, as FILE")
    parser.add_argument("--port", type=int, help="of the server")
    parser.add_argument("--no-browser", action="store_true", help="open no browser")


def _calibrate(commands: _Commands) -> None:
    parser = _command(commands, "calibrate")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to write; default: GPUPLACE_COST_MODEL, else gpuplace/cost_model.json in XDG_CONFIG_HOME "
        "(~/.config), where it is found again",
    )
    parser.add_argument(
        "--tensorflow",
        metavar="PYTHON",
        help="measure kernels on the CPU of the TensorFlow (1.15 or later) that this Python has, not gpuplace's own; "
        "estimates of its steps are then those with the --release that it is",
    )


def _estimate(commands: _Commands) -> None:
    parser = _command(commands, "estimate")
    parser.epilog = "Several machines or batches give a table, a row each; GPUs are those of the catalogue."
    parser.add_argument("graph", metavar="GRAPH", help=GRAPH_HELP)
    _add_part(parser)
    _add_step(parser, _FETCH_HELP)
    parser.add_argument("--batch", metavar="N,N,...", help=f"{_BATCH_HELP}; several for a table")
    parser.add_argument(
        "--trips", action="append", metavar="FRAME=N", help="how often the body of a loop runs"
    )
    parser.add_argument("--machine", action="append", dest="machines", metavar="MACHINE", help=MACHINE_HELP)
    parser.add_argument(
        "--gpu-machine", action="append", metavar="MACHINE", help="a further machine; again for more"
    )
    _add_release(parser)
    _add_config(parser)
    parser.add_argument("--soft", action="store_true", help="allow soft placement (allow_soft_placement)")
    _add_visible_devices(parser)
    parser.add_argument(
        "--table",
        choices=("nodes", "devices", "copies", "memory", "ops", "findings"),
        help="list these instead",
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


def _add_graph(parser: argparse.ArgumentParser, or_else: str = "", *, option: bool = False) -> None:
    parser.add_argument("--graph" if option else "graph", metavar="GRAPH", help=GRAPH_HELP + or_else)
    _add_part(parser)


def _add_step(parser: argparse.ArgumentParser, fetched: str) -> None:
    """Add the options that choose the step."""
    parser.add_argument("--fetch", action="append", metavar="NAME", help=fetched)
    parser.add_argument(
        "--feed",
        action="append",
        metavar="NAME=SIZES",
        help="the shape of a feed, by the name of a tensor or of the signature's input, such as images=64,224,224,3; "
        "? is the batch",
    )


def _add_part(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose the part of a model."""
    parser.add_argument(
        "--tags", metavar="TAGS", help="tags of the graph in a SavedModel, such as serve,gpu; default: serve"
    )
    parser.add_argument(
        "--signature",
        metavar="KEY",
        help="the nodes that this signature of a SavedModel needs; default: serving_default, else the first by name",
    )
    parser.add_argument(
        "--function", metavar="NAME", help="only the body of this function of the graph's library"
    )
    parser.add_argument(
        "--whole-graph",
        action="store_true",
        help="the whole graph of a SavedModel, loader and saver included; in an estimate, every node of any graph",
    )
    parser.add_argument(
        "--clear-devices", action="store_true", help="ignore the devices that the nodes ask for"
    )


def _add_machine(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--machine", metavar="MACHINE", help=MACHINE_HELP)


def _add_release(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--release",
        choices=RELEASES,
        metavar="RELEASE",
        help=f"TensorFlow to behave as: {', '.join(RELEASES)}; default: {_DEFAULT_RELEASE}",
    )


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", metavar="FILE", help="a ConfigProto as text")


def _add_visible_devices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--visible-devices",
        metavar="IDS",
        help="which of the machine's GPUs TensorFlow sees, as CUDA_VISIBLE_DEVICES has them; default: all",
    )


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    _add_machine(parser)
    _add_release(parser)
    _add_config(parser)
    parser.add_argument("--soft", action="store_true", help="allow soft placement (allow_soft_placement)")
    parser.add_argument(
        "--visible-devices",
        metavar="IDS",
        help="which of the machine's GPUs TensorFlow sees, as CUDA_VISIBLE_DEVICES has them, such as 1,0; default: all",
    )


def _add_rows(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limit", type=_count, metavar="N", help="print at most N rows; default: all")
    parser.add_argument(
        "--full-names",
        action="store_true",
        help="leave nothing of a name out to make a table fit the terminal",
    )


def _count(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"a number of rows, such as 20; got {text!r}")
    return int(text)

"""Shared by several commands: the machine, release, ConfigProto, placement or step that their options name."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from gpuplace import release as releases
from gpuplace.device.machine import Machine, default_machine
from gpuplace.errors import InvalidArgumentError
from gpuplace.runtime.session.place import SOFT_OPTION, place_for, signature_choice
from gpuplace.why.placement import Placement

if TYPE_CHECKING:
    from gpuplace.graphdef.model import Model, Part


class UsageError(Exception):
    """The command line, or an environment variable that it reads, is wrong."""


_OF_GRAPHS = (
    "machine", "against", "against_release", "run_metadata", "release", "config", "soft", "visible_devices",
    "tags", "signature", "function", "whole_graph", "clear_devices",
)  # fmt: skip
"""Options about how a graph is read and placed."""


def graph_options(arguments: argparse.Namespace) -> str:
    """Return the options of a command line about reading and placing a graph, for an error; "" if there are none."""
    names = [name for name in _OF_GRAPHS if getattr(arguments, name, None) not in (None, False)]
    return ", ".join("--" + name.replace("_", "-") for name in names)


def machine_of(text: str | None) -> Machine:
    """Return the machine that a text describes, or the process's machine without a text."""
    try:
        return Machine.parse(text) if text else default_machine()
    except InvalidArgumentError as error:
        raise UsageError(str(error)) from None


def release_of(arguments: argparse.Namespace, model: Model | None = None) -> str:
    """Return the release of --release, otherwise the process's, otherwise the release that wrote a model.

    Args:
        arguments: the parsed command line.
        model: the model, if there is one.
    """
    try:
        of_file = None if model is None else model.release
        return releases.resolve(getattr(arguments, "release", None), of_file)
    except ValueError as error:
        raise UsageError(str(error)) from None


def config_of(arguments: argparse.Namespace) -> Any:
    """Return the ConfigProto of --config and --soft; None if neither is given."""
    soft = getattr(arguments, "soft", False)
    if not arguments.config and not soft:
        return None
    from gpuplace.graphdef.messages import ConfigProto, text_format

    config = ConfigProto()
    if arguments.config:
        try:
            with open(arguments.config, encoding="utf-8") as stream:
                text_format.Parse(stream.read(), config)
        except OSError as error:
            raise UsageError(f"cannot read {arguments.config}: {error.strerror}") from None
        except (UnicodeDecodeError, text_format.ParseError) as error:
            raise UsageError(f"{arguments.config} is not a ConfigProto: {error}") from None
    if soft:
        config.allow_soft_placement = True
    return config


def placement_of(
    arguments: argparse.Namespace, machine: Machine, on_error: str, release: str | None = None
) -> Placement:
    """Place the graph that the command names.

    Args:
        arguments: the parsed command line.
        machine: the machine to place on.
        on_error: as for `gpuplace.place`.
        release: the release to place as, if it is not the one that the command names.
    """
    release_of(arguments)  # report a wrong release before reading the file
    model, part = opened(arguments, arguments.graph)
    return place_for(
        SOFT_OPTION,
        model,
        machine=machine,
        config=config_of(arguments),
        release=release or release_of(arguments, model),
        on_error=on_error,
        visible_devices=arguments.visible_devices,
        **model.options(part),
    )


def opened(arguments: argparse.Namespace, path: str) -> tuple[Model, Part]:
    """Return the model in a file, and the part of it that the command's options select.

    Args:
        arguments: the parsed command line.
        path: the file.

    Raises:
        UsageError: there is no such file, or the options select a part of a model without parts.
        OpError: the file cannot be read, or has no such part.
    """
    from gpuplace.graphdef.load import open_model

    if not os.path.exists(path):
        raise UsageError(f"cannot read {path}: No such file or directory")
    model = open_model(path)
    try:
        signature = signature_choice(arguments.signature, arguments.function, arguments.whole_graph)
        return model, model.part(
            arguments.tags, signature, arguments.function, clear_devices=arguments.clear_devices
        )
    except ValueError as error:
        raise UsageError(str(error)) from None


def step_of(path: str, placement: Placement | None, graph: str) -> Any:
    """Return the ``RunMetadata`` in a file.

    Args:
        path: a ``RunMetadata``, ``StepStats`` or Chrome trace.
        placement: the placement of the graph that ran; None to accept any step.
        graph: the graph's file, for the error message.

    Raises:
        UsageError: no node of the graph ran in the step.
        OpError: the file cannot be read, or holds no measured step.
    """
    from gpuplace.graphdef.measured.run_metadata import load_run_metadata

    step = load_run_metadata(path)
    if placement is not None:
        from gpuplace.views.tables.placement_view import view_of
        from gpuplace.views.tables.step_times import measured_us

        try:
            measured_us(view_of(placement), step)
        except ValueError as error:
            raise UsageError(f"{path} was not measured with {graph}: {error}") from None
    return step

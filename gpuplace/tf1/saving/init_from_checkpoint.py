"""Variables that start with values from a checkpoint: ``tf.train.init_from_checkpoint``.

    checkpoint_initializer (RestoreV2, on a CPU) --> Assign, the variable's new initializer

Source: tensorflow/python/training/checkpoint_utils.py, release 1.15.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from gpuplace.graph.convert import get_default_graph
from gpuplace.ops.saving import restore_v2
from gpuplace.ops.variables.resource_variables import ResourceVariable
from gpuplace.ops.variables.variable_scope import variables_by_name
from gpuplace.ops.variables.variables import Variable, slice_info_of
from gpuplace.saving.checkpoint_state import latest_checkpoint
from gpuplace.saving.saveables import ReferenceVariableSaveable, ResourceVariableSaveable
from gpuplace.tf1.saving.load import load_checkpoint

__all__ = ["init_from_checkpoint"]


def init_from_checkpoint(ckpt_dir_or_file: str | os.PathLike[str], assignment_map: Mapping[str, Any]) -> None:
    """Make initializers of variables read their values from a checkpoint when they run.

    Args:
        ckpt_dir_or_file: the path that ``Saver.save`` returned, or a folder, whose last checkpoint is read.
        assignment_map: a name in the checkpoint -> a variable, the list of a variable's slices, or the name
            of a variable created by ``get_variable``; a scope in the checkpoint, ``"scope/"`` -> a scope of
            the graph, for all variables created by ``get_variable`` in it. ``"/"`` is the scope of
            everything.

    Raises:
        ValueError: the checkpoint lacks a name, a shape differs, a scope is mapped to anything but a scope,
            or the folder has no checkpoint.
        NotFoundError: there is no such checkpoint.
        TypeError: ``assignment_map`` is not a dict, or has values of another type.
    """
    if not isinstance(assignment_map, Mapping):
        raise TypeError(
            "assignment_map must be a dict from names in the checkpoint to variables or their names; got "
            f"{assignment_map!r}. If the names are equal, map each name to itself"
        )
    place = os.fspath(ckpt_dir_or_file)
    prefix = (latest_checkpoint(place) or place) if os.path.isdir(place) else place
    shapes = load_checkpoint(place).get_variable_to_shape_map()
    stored = variables_by_name()
    for name, target in sorted(assignment_map.items(), key=lambda item: item[0]):
        variable = _stored_variable(target, stored) if isinstance(target, str) else target
        if variable is None:
            for full_name, variable_in_scope in _variables_in_scope(name, target, stored, shapes, place):
                _initialize_from(variable_in_scope, prefix, full_name)
            continue
        if not isinstance(variable, Variable) and not _is_slices(variable):
            raise TypeError(
                f"Cannot initialize {variable!r} from {name!r} in a checkpoint: it is neither a variable, a variable's "
                "name, nor a list of one variable's slices"
            )
        if name not in shapes:
            raise ValueError(f"Tensor {name} is not found in {place} checkpoint {shapes}")
        if isinstance(variable, Variable) and not variable.get_shape().is_compatible_with(shapes[name]):
            raise ValueError(
                f"Shape of variable {variable.name} ({variable.get_shape()}) doesn't match with shape of tensor {name} "
                f"({shapes[name]}) from checkpoint reader."
            )
        _initialize_from(variable, prefix, name)


def _is_slices(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and bool(value)
        and all(isinstance(one, Variable) and slice_info_of(one) is not None for one in value)
    )


def _stored_variable(name: str, stored: Mapping[str, Any]) -> Any:
    """Return a variable of the store, or its slices, or None."""
    if name in stored:
        return stored[name]
    slices: list[Any] = []
    while f"{name}/part_{len(slices)}" in stored:
        slices.append(stored[f"{name}/part_{len(slices)}"])
    return slices or None


def _variables_in_scope(
    name: str, target: str, stored: Mapping[str, Any], shapes: Mapping[str, Any], place: str
) -> list[tuple[str, Any]]:
    """Return the variables in a scope of the graph, each with its name in a scope of the checkpoint.

    Raises:
        ValueError: ``wanted`` is not a scope, or the checkpoint lacks a variable.
    """
    scope = "" if target == "/" else target.removesuffix("/")
    if not name.endswith("/"):
        raise ValueError(
            f"Assignment map with scope only name {scope} should map to scope only {name}. "
            "Should be 'scope/': 'other_scope/'."
        )
    inside = f"{scope}/" if scope else ""
    names = {re.sub(r"/part_\d+$", "", one) for one in stored if one.startswith(inside)}
    result = []
    for one in sorted(names):
        rest = one.removeprefix(inside)
        full_name = rest if name == "/" else name + rest
        if full_name not in shapes:
            raise ValueError(f"Tensor {full_name} ({rest} in {name}) is not found in {place} checkpoint")
        result.append((full_name, _stored_variable(one, stored)))
    return result


def _initialize_from(variable: Any, prefix: str, name: str) -> None:
    """Give a variable, or each of its slices, an initializer that reads a tensor from a checkpoint."""
    for one in [variable] if isinstance(variable, Variable) else variable:
        piece: Any = slice_info_of(one)
        spec = "" if one is variable else piece.spec
        graph = get_default_graph()
        with graph.device(one.device), graph.device("/cpu:0"):
            (value,) = restore_v2(
                prefix, [name], [spec], [one.dtype.base_dtype], name="checkpoint_initializer"
            )
            kind = (
                ResourceVariableSaveable if isinstance(one, ResourceVariable) else ReferenceVariableSaveable
            )
            assigned = kind(one, spec, one.op.name).restore([value], None)
        value.set_shape(one.get_shape())
        one._initializer_op = getattr(assigned, "op", assigned)
        one._initial_value = value

"""The functions of ``tf.layers``, which make a layer and call it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from gpuplace.graph.convert import convert_to_tensor
from gpuplace.graph.operation import Tensor
from gpuplace.ops.layers.base import Layer


def function_of(layer: type[Layer], name: str, has_variables: bool = True) -> Callable[..., Tensor]:
    """Return the function that makes a layer and calls it, such as ``tf.layers.conv1d`` for ``tf.layers.Conv1D``.

    Args:
        layer: the class, whose docstring describes the arguments.
        name: name of the function.
        has_variables: whether it has an argument ``reuse`` for sharing variables.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    own = [
        parameter
        for parameter in list(inspect.signature(layer.__init__).parameters.values())[1:]
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    parameters = [inspect.Parameter("inputs", kind), *own]
    if has_variables:
        parameters.append(inspect.Parameter("reuse", kind, default=None))
    signature = inspect.Signature(parameters)

    def function(*args: Any, **kwargs: Any) -> Tensor:
        arguments = signature.bind(*args, **kwargs).arguments
        inputs = convert_to_tensor(arguments.pop("inputs"))
        reuse = arguments.pop("reuse", None)
        if has_variables:
            arguments |= {"_reuse": reuse, "_scope": arguments.get("name")}
        result: Tensor = layer(**arguments)(inputs)
        return result

    first, _, rest = (layer.__doc__ or "").partition("\n")
    before, marker, described = rest.partition("    Args:\n")
    described = re.sub(r" {8}\*\*kwargs: [^\n]*\n( {12}[^\n]*\n)*", "", described)
    described, raises, errors = described.partition("    Raises:\n")
    if has_variables:
        described = described.rstrip() + "\n        reuse: whether to share variables of that name.\n\n"
    inputs_doc = "        inputs: a tensor of the layer's rank.\n"
    returns_doc = f"    Returns:\n        The layer's output, see ``tf.layers.{layer.__name__}``.\n\n"
    function.__doc__ = f"{first}\n{before}{marker}{inputs_doc}{described}{returns_doc}{raises}{errors}"
    function.__name__ = function.__qualname__ = name
    function.__module__ = layer.__module__
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function

"""Types of what programs hand in and get back, for signatures: ``TensorLike``, ``ShapeLike``, ``DataFrame``, ...

What they are stands in ``typing.pyi``, which type checkers read. They name every layer, and libraries that are not
loaded here; so where a program runs, each is `typing.Any`.

>>> from gpuplace.typing import TensorLike
>>> def scaled(x: TensorLike) -> "gpuplace.Tensor": ...
"""

from __future__ import annotations

from typing import Any

_NAMES = """
    Array ConfigLike ConfigProto DTypeLike DataFrame DeviceLike Explorer FeedDict FetchLike Findings Function Graph
    GraphDef GraphLike HasGraph InitializerLike IntsLike MachineLike NodeDef OperationLike Picture PictureOptions
    RunMetadata RunOptions SerializedBy ShapeLike SizesLike StepTimeline Subject SupportsArray TensorLike TensorProto
    TensorShapeFact TensorsLike Trace VariableLike VersionDef VisibleDevices
""".split()


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Any


def __dir__() -> list[str]:
    return sorted(_NAMES)

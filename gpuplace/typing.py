"""Types of arguments and results, for annotations: ``TensorLike``, ``ShapeLike``, ``DataFrame``, ...

Type checkers read their definitions in ``typing.pyi``. The definitions use every layer and libraries that are not
loaded here, so at run time each type is `typing.Any`.

>>> from gpuplace.typing import TensorLike
>>> def scaled(x: TensorLike) -> "gpuplace.Tensor": ...
"""

from __future__ import annotations

from typing import Any

_NAMES = """
    Array ArrayModule ConfigLike ConfigProto DTypeLike DataFrame DeviceLike Explorer FeedDict FetchLike Findings
    Function Graph GraphDef GraphLike HasGraph InitializerLike IntsLike MachineLike NodeDef OperationLike Picture
    PictureOptions PlacementLike RuleExplorer
    RunMetadata RunOptions SerializedBy ShapeLike SizesLike StepTimeline Subject SupportsArray TensorLike TensorProto
    TensorShapeFact TensorsLike Trace VariableLike VersionDef VisibleDevices
""".split()


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Any


def __dir__() -> list[str]:
    return sorted(_NAMES)

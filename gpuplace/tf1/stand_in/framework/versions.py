"""Names of ``tensorflow.python.framework.versions`` that start with an underscore, and the compiler's version.

Source: tensorflow/python/framework/versions.py, release 1.15 (names).
"""

from __future__ import annotations

import platform
from typing import Any

from gpuplace.api import version

COMPILER_VERSION = platform.python_compiler()
"""The compiler of Python, because nothing else here is compiled."""
__compiler_version__ = COMPILER_VERSION
CXX11_ABI_FLAG = __cxx11_abi_flag__ = 0
MONOLITHIC_BUILD = __monolithic_build__ = 0
_NAMES = {"__version__": "VERSION", "__git_version__": "GIT_VERSION"}


def __getattr__(name: str) -> Any:
    return getattr(version, _NAMES.get(name, name))

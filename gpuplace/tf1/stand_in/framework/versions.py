"""Names of ``tensorflow.python.framework.versions`` that begin with underscores, and the compiler's.

Source: tensorflow/python/framework/versions.py, release 1.15 (names).
"""

from __future__ import annotations

import platform
from typing import Any

from gpuplace.api import version

COMPILER_VERSION = platform.python_compiler()
"""What Python was made with: there is nothing else here that was compiled."""
__compiler_version__ = COMPILER_VERSION
CXX11_ABI_FLAG = __cxx11_abi_flag__ = 0
MONOLITHIC_BUILD = __monolithic_build__ = 0
_NAMES = {"__version__": "VERSION", "__git_version__": "GIT_VERSION"}


def __getattr__(name: str) -> Any:
    return getattr(version, _NAMES.get(name, name))

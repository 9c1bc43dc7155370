"""Handles of tensors that stay in the session.

Source: tensorflow/python/ops/session_ops.py, release 1.15.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from gpuplace.dtypes import DType
from gpuplace.errors import NotFoundError
from gpuplace.kernels.resources import SESSION_TENSORS, session_tensor


class TensorHandle:
    """Handle of a tensor that stays in a session until this object is deleted, unless its raw handle was taken.

    Args:
        handle: key of the tensor in the session: name, number and device.
        dtype: type of the tensor.
        session: the session.
    """

    _is_owner = False  # for `__del__` if the constructor is interrupted

    def __init__(self, handle: str | bytes, dtype: DType, session: Any) -> None:
        self._handle = handle.decode() if isinstance(handle, bytes) else handle
        self._dtype = dtype
        self._session = session
        self._is_owner = True

    def __del__(self) -> None:
        if self._is_owner:
            self._forget()

    def __str__(self) -> str:
        return self._handle

    @property
    def handle(self) -> str:
        """Key of the tensor in the session."""
        return self._handle

    def eval(self) -> Any:
        """Return the value.

        Raises:
            TypeError: the tensor was deleted, or its raw handle taken.
            RuntimeError: the session is closed.
        """
        self._check_owner()
        self._session._check_open()
        value = session_tensor(self._session.resources, self._handle)
        return (value if isinstance(value, np.ndarray) else value.get())[()]

    def delete(self) -> None:
        """Delete the tensor from the session.

        Raises:
            TypeError: the tensor was deleted already, or its raw handle taken.
        """
        self._check_owner()
        self._is_owner = False
        self._forget()

    def get_raw_handle(self) -> str:
        """Return the tensor's key; the tensor then stays until it is deleted by that key."""
        self._is_owner = False
        return self._handle

    def _check_owner(self) -> None:
        if not self._is_owner:
            raise TypeError(f"Persistent tensor {self._handle} may have already been deleted.")

    def _forget(self) -> None:
        try:
            self._session.resources.delete(SESSION_TENSORS, self._handle)
        except NotFoundError:  # deleted by an operation, or with the session
            return

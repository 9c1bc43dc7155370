"""Copies of real GPUs that are queued: what a plan holds of a value until the value is needed.

A plan queues a copy where the value is there and waits for it where it is first used::

    t0 = k4(t1)         a PendingCopy
    ...                 more work is queued
    t0 = ready(t0)      the array
    t2 = k9(t0)

For a value that comes to the host, waiting means that the calling thread waits. For one that comes to a GPU it means
that the GPU's kernels wait, and the host goes on. A copy that nobody waits for is kept by ``copy_streams`` until it is
done.
"""

from __future__ import annotations

from typing import Any

from gpuplace.errors import InternalError


class PendingCopy:
    """A copy that is queued.

    Args:
        source: what is copied; kept until the copy is done.
        target: where it goes.
        done: event that is over when the copy is done.
        described: from where to where, for errors.
        driver_error: class of the errors that CUDA reports.
        stream: for a copy to a GPU the stream of that GPU's kernels.
    """

    __slots__ = ("_described", "_done", "_driver_error", "_source", "_stream", "_target")

    def __init__(
        self, source: Any, target: Any, done: Any, described: str, driver_error: Any, stream: Any = None
    ) -> None:
        self._source = source
        self._target = target
        self._done = done
        self._described = described
        self._driver_error = driver_error
        self._stream = stream

    def is_done(self) -> bool:
        """Whether nothing has to be kept any more; asks the driver at most."""
        return self._done is None or self._done.done

    def wait(self) -> None:
        """Makes the calling thread wait until the copy is done.

        Raises:
            InternalError: the driver reports that it failed, or what was queued before it.
        """
        done = self._done
        if done is None:
            return
        try:
            done.synchronize()
        except self._driver_error as error:
            raise copy_error(self._described, error) from error
        self._source = self._done = None

    def value(self) -> Any:
        """The target, once its consumers need not wait for anything."""
        raise NotImplementedError


class CopyToHost(PendingCopy):
    """A copy to host memory."""

    __slots__ = ()

    def value(self) -> Any:
        """The array in host memory, after waiting for it."""
        self.wait()
        return self._target


class CopyToDevice(PendingCopy):
    """A copy to a GPU."""

    __slots__ = ()

    def value(self) -> Any:
        """The array; kernels that are queued from now on find the value in it."""
        target, done = self._target, self._done
        if done is not None:
            self._stream.wait_event(done)
        self._target = None  # from now on whoever takes its memory waits too
        return target


def ready(value: Any) -> Any:
    """The array of a pending copy; anything else as it is, as values are that were waited for before."""
    return value.value() if isinstance(value, PendingCopy) else value


def copy_error(described: str, error: Exception) -> InternalError:
    """The error of a copy that the driver says has failed, or what was queued before it."""
    return InternalError.of(
        f"{described} failed: {error}",
        hint="a kernel queued earlier may have failed: CUDA_LAUNCH_BLOCKING=1 shows which",
    )

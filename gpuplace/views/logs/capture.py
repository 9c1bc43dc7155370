"""Capture the output of a block of code on file descriptors 1 and 2, with the placement that TensorFlow logs.

TensorFlow logs placement from C++, bypassing `sys.stdout`, so a notebook never shows it. `LogCapture` captures what
Python, C++ and child processes write. The mechanism is in `redirection`.

>>> with LogCapture() as log:
...     _ = os.write(1, b"a: (Neg): /job:localhost/replica:0/task:0/device:CPU:0\\n")
>>> dict(log.placement)
{'a': '/job:localhost/replica:0/task:0/device:CPU:0'}
"""

from __future__ import annotations

import os
import threading
from functools import cached_property
from types import TracebackType

from gpuplace.display import notebook_view, with_safe_text
from gpuplace.errors import FailedPreconditionError
from gpuplace.views.logs import redirection
from gpuplace.views.logs.logged_placement import LoggedPlacement
from gpuplace.views.logs.parser import parse_log
from gpuplace.views.logs.tensorflow_log import LogSwitch, imported_tensorflow
from gpuplace.views.logs.text import decoded

NO_PLACEMENT = (
    "The output contains no placement log. The program must turn it on: in TensorFlow 2 with "
    "tf.debugging.set_log_device_placement(True) before its ops run, in TensorFlow 1 with "
    "tf.ConfigProto(log_device_placement=True) for its session."
)
"""The message for output without any placement lines."""


class LogCapture:
    """A ``with`` block that captures the text written to standard output and standard error.

    Args:
        quiet: whether placement lines are captured but not printed; for nested captures, the outermost decides.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._stretch: redirection.Stretch | None = None
        self._output: redirection.Output | None = None
        self._had_tensorflow = False

    def __enter__(self) -> LogCapture:
        """Start the capture.

        Raises:
            FailedPreconditionError: this capture was already used.
            UnimplementedError: the system is not a POSIX system.
            OSError: standard output or error is closed.
        """
        if self._stretch is not None:
            raise FailedPreconditionError.of(
                "This capture was already used", hint="start a new one: with gpuplace.capture_log() as log"
            )
        self._stretch = redirection.begin(self._quiet)
        try:
            _switch.count(1)
            self._had_tensorflow = imported_tensorflow() is not None
        except BaseException:
            redirection.end(self._stretch)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the capture; exceptions of the block pass through."""
        assert self._stretch is not None
        try:
            _switch.count(-1)
        finally:
            self._output = redirection.end(self._stretch)

    @property
    def stdout(self) -> str:
        """The text written to standard output, and to standard error if both go to the same place."""
        return decoded(self._done().stdout)

    @property
    def stderr(self) -> str:
        """The text written to standard error; "" if it goes to the same place as standard output."""
        return decoded(self._done().stderr)

    @cached_property
    def placement(self) -> LoggedPlacement:
        """The placement that TensorFlow logged; its `unparsed` holds the rest of the output."""
        return parse_log(self)

    @property
    def missing(self) -> str:
        """A sentence about why the log has no placement; "" if it has one."""
        placement = self.placement
        if placement.rows or placement.events:
            return ""
        if imported_tensorflow() is None:
            return NO_PLACEMENT
        if not self._had_tensorflow:
            return "TensorFlow was imported inside the block. Import it before, so that its log can be turned on."
        return (
            "No op ran, or only functions that TensorFlow had already placed; it logs their nodes only once."
        )

    def _done(self) -> redirection.Output:
        if self._output is None:
            raise FailedPreconditionError.of(
                "The capture has not ended yet", hint="read the log after the with block"
            )
        return self._output

    @with_safe_text
    def __repr__(self) -> str:
        if self._output is None:
            return "<LogCapture, still running>"
        size = sum(map(len, self._output))
        return f"<LogCapture of {size:,} bytes: {self.missing or repr(self.placement)[1:-1]}>"

    _repr_mimebundle_ = notebook_view


class _SharedSwitch:
    """TensorFlow's log, turned on by the first of several running captures and restored by the last."""

    def __init__(self) -> None:
        self.switch = LogSwitch()
        self.running = 0
        self.renew_lock()

    def renew_lock(self) -> None:
        """Replace the lock, which a thread of the parent process may hold."""
        self.lock = threading.Lock()

    def count(self, change: int) -> None:
        """Count a capture that starts (1) or ends (-1)."""
        with self.lock:
            if change > 0:
                self.switch.switch_on()
            self.running += change
            if not self.running:
                self.switch.switch_back()


_switch = _SharedSwitch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_switch.renew_lock)

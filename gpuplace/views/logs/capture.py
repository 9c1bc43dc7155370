"""What a block of a program writes to file descriptors 1 and 2, and the placement that TensorFlow logged in it.

TensorFlow logs placement from C++, past `sys.stdout`, so a notebook never sees it. `LogCapture` does, whether Python,
C++ or a child process writes. `redirection` has the mechanism.

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
    "The output has no line about placement. A program switches the log on: in TensorFlow 2 by "
    "tf.debugging.set_log_device_placement(True) before its ops run, in TensorFlow 1 by "
    "tf.ConfigProto(log_device_placement=True) for its session."
)
"""What is said of an output in which TensorFlow tells nothing."""


class LogCapture:
    """A ``with`` block that keeps what is written in it to standard output and standard error.

    Args:
        quiet: whether lines about placement are kept but not printed; of captures in each other, the outermost decides.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._stretch: redirection.Stretch | None = None
        self._output: redirection.Output | None = None
        self._had_tensorflow = False

    def __enter__(self) -> LogCapture:
        """Begin to keep the output.

        Raises:
            FailedPreconditionError: this capture has begun already.
            UnimplementedError: the system is not a POSIX one.
            OSError: standard output or error is closed.
        """
        if self._stretch is not None:
            raise FailedPreconditionError.of(
                "This capture has begun already", hint="a new one: with gpuplace.capture_log() as log"
            )
        self._stretch = redirection.begin(self._quiet)
        try:
            _switch(1)
            self._had_tensorflow = imported_tensorflow() is not None
        except BaseException:
            redirection.end(self._stretch)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it; an exception of the block is not held up."""
        assert self._stretch is not None
        try:
            _switch(-1)
        finally:
            self._output = redirection.end(self._stretch)

    @property
    def stdout(self) -> str:
        """What was written to standard output, and to standard error where both go to the same place."""
        return decoded(self._done().stdout)

    @property
    def stderr(self) -> str:
        """What was written to standard error; "" where it goes where standard output goes."""
        return decoded(self._done().stderr)

    @cached_property
    def placement(self) -> LoggedPlacement:
        """The placement that TensorFlow logged, and in `unparsed` the rest of the output."""
        return parse_log(self)

    @property
    def missing(self) -> str:
        """Why there is no placement in the log, in a sentence; "" if there is one."""
        placement = self.placement
        if placement.rows or placement.events:
            return ""
        if imported_tensorflow() is None:
            return NO_PLACEMENT
        if not self._had_tensorflow:
            return (
                "TensorFlow was imported within the block: import it before, so that its log is switched on."
            )
        return "No op ran, or only functions that TensorFlow had placed before, whose nodes it does not log again."

    def _done(self) -> redirection.Output:
        if self._output is None:
            raise FailedPreconditionError.of(
                "The capture has not ended", hint="read the log after the with block"
            )
        return self._output

    @with_safe_text
    def __repr__(self) -> str:
        if self._output is None:
            return "<LogCapture, not ended>"
        size = sum(map(len, self._output))
        return f"<LogCapture of {size:,} bytes: {self.missing or repr(self.placement)[1:-1]}>"

    _repr_mimebundle_ = notebook_view


_lock = threading.Lock()
_switch_of_process = LogSwitch()
_running = 0


def _switch(change: int) -> None:
    """Note that one more capture runs, or one less; the first switches TensorFlow's log on, and the last one back."""
    global _running
    with _lock:
        if change > 0:
            _switch_of_process.switch_on()
        _running += change
        if not _running:
            _switch_of_process.switch_back()


def _new_lock() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)

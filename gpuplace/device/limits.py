"""Limits on the size of a simulated machine, since a text or a `ConfigProto` can contain any number.

>>> check_count(4, "GPU", MAX_GPUS)
"""

from __future__ import annotations

from gpuplace.errors import ResourceExhaustedError

MAX_GPUS = 1024
"""Maximum number of GPUs of a machine, and of GPU devices of a session; each pair may have a link."""

MAX_DEVICES = 1 << 16
"""Maximum number of devices of any other type of a machine."""


def check_count(count: int, kind: str, most: int) -> None:
    """Check that a machine does not exceed the size limit.

    Raises:
        ResourceExhaustedError: `count` exceeds `most`.
    """
    if count > most:
        raise ResourceExhaustedError.of(
            f"Too many devices to simulate: {count if count < 1 << 64 else 'more than 2**64'} {kind} devices",
            facts={"limit": f"{most} devices of this type"},
            hint=f"specify at most {most} {kind} devices in the machine text, device_count and virtual_devices",
        )


def number_of(digits: str) -> int:
    """Convert decimal digits to an integer; larger numbers, of any length, become 2**64.

    >>> number_of("007"), number_of("9" * 5000) == 1 << 64
    (7, True)
    """
    significant = digits.lstrip("0") or "0"
    return min(int(significant), 1 << 64) if len(significant) <= 20 else 1 << 64

"""How large a machine may be: numbers in a text or a `ConfigProto` cost nothing to write.

>>> check_count(4, "GPU", MAX_GPUS)
"""

from __future__ import annotations

from gpuplace.errors import ResourceExhaustedError

MAX_GPUS = 1024
"""GPUs of one machine, and GPU devices of one session; each pair of them may be linked."""

MAX_DEVICES = 1 << 16
"""Devices of any other type of one machine."""


def check_count(count: int, kind: str, most: int) -> None:
    """Refuses a machine that is too large to imagine.

    Raises:
        ResourceExhaustedError: more than `most` devices.
    """
    if count > most:
        raise ResourceExhaustedError.of(
            f"A machine with {count if count < 1 << 64 else 'more than 2**64'} {kind} devices is not simulated",
            facts={"most": f"{most} of that type"},
            hint=f"at most {most} {kind} devices, in the machine's text, in device_count and in virtual_devices",
        )


def number_of(digits: str) -> int:
    """The number that decimal digits stand for; 2**64 for all that are larger, however many digits there are.

    >>> number_of("007"), number_of("9" * 5000) == 1 << 64
    (7, True)
    """
    significant = digits.lstrip("0") or "0"
    return min(int(significant), 1 << 64) if len(significant) <= 20 else 1 << 64

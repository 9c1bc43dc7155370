"""The soak in short; ``python -m tests.soak.interrupts`` has the long one."""

import signal

import pytest

from tests.soak.interrupts import Interrupts


@pytest.mark.parametrize("number", [signal.SIGALRM, signal.SIGINT], ids=lambda number: number.name)
def test_exceptions_of_signal_handlers(number, capsys):
    assert Interrupts(number, seed=7).interrupt(60) == []
    assert "interrupts by" in capsys.readouterr().out

"""The bar is there for people and for nobody else."""

import io
import sys

from gpuplace import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_no_bar_where_nobody_looks(capsys):
    items = range(5000)
    assert progress.track(items, 5000, "counting") is items
    assert capsys.readouterr() == ("", "")


def test_a_bar_on_a_terminal(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "DELAY_S", 0)
    assert sum(progress.track(range(5000), 5000, "counting")) == sum(range(5000))
    assert "counting" in screen.getvalue() and "5.00k" in screen.getvalue()


def test_what_is_quick_has_none(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    list(progress.track(range(5000), 5000, "counting"))
    list(progress.track(range(10), 10, "counting"))
    assert screen.getvalue().strip() == ""

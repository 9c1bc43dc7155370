"""What takes long on large graphs has a bar: on a terminal, where it does take long, and nowhere else."""

import io
import sys

import pytest

from gpuplace import progress
from gpuplace.device.machine import Machine
from gpuplace.graphdef import node_columns
from gpuplace.graphdef.load import load_placement_graph
from gpuplace.kernels.registry import default_catalogue
from gpuplace.placer.placer import Placer
from gpuplace.views.logs.parser import parse_log
from gpuplace.views.page.page import page_html
from gpuplace.views.tables.memory import memory_rows
from gpuplace.views.tables.placement_view import view_of
from gpuplace.views.tables.text import summary_text
from gpuplace.why.place import place_again
from tests.support.node_specs import graph_def
from tests.support.training_graph import training_graph

DATA = graph_def(training_graph(18_000))


class Terminal(io.StringIO):
    def isatty(self):
        return True


def placer():
    catalogue = default_catalogue("1.15")
    return Placer(load_placement_graph(DATA, catalogue, "1.15"), catalogue, rules="1.15")


def placed(machine, made):
    return place_again(made, Machine.parse(machine).device_set(environ={}), soft=True)


WORK = {
    "reading nodes": lambda p, q: placer(),
    "reading tensors": lambda p, q: summary_text(view_of(p)),
    "adding up memory": lambda p, q: memory_rows(p),
    "comparing": lambda p, q: p.diff(q),
    "listing groups": lambda p, q: list(p.groups()),
    "writing the log": lambda p, q: p.log(),
    "reading the log": lambda p, q: parse_log(p.log()),
    "explaining": lambda p, q: page_html(p),
    "writing nodes": lambda p, q: page_html(p),
    "writing edges": lambda p, q: page_html(p),
}


@pytest.mark.parametrize("what", WORK)
def test_a_bar_for_who_watches(what, monkeypatch):
    made = placer()
    two = placed("4x Tesla K20m", made), placed("2x Tesla K20m", made)
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "DELAY_S", 0)
    monkeypatch.setattr(node_columns, "_BLOCK", len(made.graph) // 4)
    WORK[what](*two)
    assert f"{what}:" in screen.getvalue()


def test_nothing_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr(progress, "DELAY_S", 0)
    made = placer()
    two = placed("4x Tesla K20m", made), placed("2x Tesla K20m", made)
    for work in WORK.values():
        work(*two)
    assert capsys.readouterr() == ("", "")


def test_nothing_where_it_is_quick(monkeypatch):
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "DELAY_S", 1000)
    two = placed("4x Tesla K20m", made := placer()), placed("2x Tesla K20m", made)
    for work in WORK.values():
        work(*two)
    assert screen.getvalue().strip() == ""

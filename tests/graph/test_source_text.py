"""Lines of a program, and of a notebook's cells."""

import sys
from types import SimpleNamespace

from gpuplace.graph.source_text import source_text


def test_a_file(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert source_text("/home/me/train.py", 7) == "/home/me/train.py:7"


def test_a_cell(monkeypatch):
    def format_code_name(name):
        return ("Cell", "In[3]") if name == "cell.py" else None

    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=format_code_name))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert source_text("cell.py", 2) == "In[3]:2"
    assert source_text("train.py", 2) == "train.py:2"


def test_ipython_loaded_and_not_running(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert source_text("cell.py", 2) == "cell.py:2"

"""The table of layers in CONTRIBUTING.md agrees with the rules that `test_layers.py` enforces."""

import re

from tests.project.test_layers import LAYERS, ROOT, TOP


def rows() -> list[list[str]]:
    """Return the layers of each row, from the lowest row to the highest."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = text.split("\n| layers | contents |\n|---|---|\n")[1].split("\n\n")[0]
    return [re.findall(r"`([\w.]+)`", line.split("|")[1]) for line in table.splitlines()]


def test_each_layer_is_in_one_row():
    listed = [layer for row in rows() for layer in row]
    assert sorted(listed) == sorted({*LAYERS, *TOP})


def test_a_layer_imports_from_its_own_row_and_the_rows_above():
    above: set[str] = set()
    for row in rows():
        above.update(row)
        for layer in row:
            assert LAYERS.get(layer, set()) <= above, layer


def test_exceptions_are_stated():
    """A layer that may not import all rows above it is described as such, or imports nothing."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for layer, banned in (
        ("placer", {"numerics", "ops"}),
        ("graphdef", {"ops"}),
        ("why", {"ops"}),
        ("web", set(LAYERS)),
    ):
        assert not LAYERS[layer] & banned
        (line,) = re.findall(rf"^\| `{layer}` \|.*$", text, re.MULTILINE)
        assert re.search(r"[Dd]oes not import|imports nothing|imports neither", line)

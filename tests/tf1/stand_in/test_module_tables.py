"""The tables of the stand-in's modules name modules that exist."""

from importlib.util import find_spec

import pytest

from gpuplace.tf1.stand_in import module_tables


@pytest.mark.parametrize("name", sorted(module_tables.NAMES))
def test_a_module_takes_its_names_from_modules_that_exist(name):
    missing = [source for source in module_tables.NAMES[name] if find_spec(f"gpuplace.{source}") is None]
    assert missing == []

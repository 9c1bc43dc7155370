"""Short campaigns of damaged checkpoints and meta graphs, in this process."""

import pytest

from tests.fuzz import saved_files


@pytest.mark.parametrize(("name", "count"), [("checkpoints", 1500), ("meta_graphs", 400)])
def test_damaged_files_are_refused_or_understood(name, count):
    inputs = saved_files.INPUTS[name]
    ends = set()
    for number in range(count):
        source, random = inputs.case(4321, number)
        ends.update(inputs.attempt(source, random))
    assert any(end.endswith("answer") for end in ends) and len(ends) > 3

"""The soak of training in short; ``python -m tests.soak.training`` has the long one."""

from tests.soak.training import soak


def test_steps_with_summaries_and_checkpoints_leave_nothing_behind(capsys):
    assert soak(200) == []
    assert "200 steps" in capsys.readouterr().out

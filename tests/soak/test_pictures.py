"""The soak with images in short; ``python -m tests.soak.pictures`` has the long one."""

from tests.soak.pictures import soak


def test_steps_on_images_from_files(capsys):
    assert soak(20, 40, 1) == []
    assert "loss" in capsys.readouterr().out

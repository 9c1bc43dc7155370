"""Flags of scripts: kinds, spellings on the command line, errors."""

import pytest

from gpuplace.api import flags


@pytest.fixture
def values(monkeypatch):
    made = flags.FlagValues()
    monkeypatch.setattr(flags, "FLAGS", made)
    flags.DEFINE_integer("steps", 10, "How many.")
    flags.DEFINE_float("rate", 1, "How fast.")
    flags.DEFINE_string("name", None, "What it is called.")
    flags.DEFINE_boolean("quiet", False, "Say nothing.")
    flags.DEFINE_enum("mode", "train", ["train", "eval"], "What to do.")
    flags.DEFINE_list("layers", "8,4", "Sizes.")
    return made


def test_defaults(values, monkeypatch):
    monkeypatch.setattr("sys.argv", ["script.py"])
    assert values.flag_values_dict() == {
        "steps": 10, "rate": 1.0, "name": None, "quiet": False, "mode": "train", "layers": ["8", "4"],
    }  # fmt: skip


def test_spellings(values):
    left = values(
        [
            "s.py",
            "--steps=0x10",
            "-rate",
            "2.5",
            "--quiet",
            "in",
            "--mode=eval",
            "--other=1",
            "--",
            "--name=x",
        ]
    )
    assert left == ["s.py", "in", "--other=1", "--name=x"]
    assert (values.steps, values.rate, values.quiet, values.mode, values.name) == (
        16,
        2.5,
        True,
        "eval",
        None,
    )
    values(["s.py", "--noquiet", "--layers=a, b"])
    assert values.quiet is False and values["layers"] == ["a", "b"]


def test_the_command_line_is_read_when_a_flag_is_first_asked_for(values, monkeypatch):
    monkeypatch.setattr("sys.argv", ["script.py", "--name=late"])
    assert values.name == "late"
    values.name = "set"
    assert values.name == "set"


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--steps=x", "flag --steps=x: invalid literal for int"),
        ("--quiet=perhaps", "flag --quiet=perhaps: Non-boolean argument to boolean flag"),
        ("--mode=test", "flag --mode=test: value should be one of <train|eval>"),
        ("--name", "Missing value for flag --name"),
    ],
)
def test_wrong_values(values, word, message):
    with pytest.raises(flags.IllegalFlagValueError) as caught:
        values(["s.py", word])
    assert message in str(caught.value)


def test_required_and_unknown_flags(values):
    flags.mark_flag_as_required("name")
    with pytest.raises(flags.IllegalFlagValueError, match="Flag --name must have a value other than None"):
        values(["s.py"])
    with pytest.raises(AttributeError, match="Unknown command line flag 'nothing'"):
        values.nothing  # noqa: B018

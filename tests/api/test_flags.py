"""Flags of scripts: kinds, spellings on the command line, errors."""

import absl.flags
import pytest

import gpuplace as tf
from gpuplace.api.flags import FlagsOfScript


@pytest.fixture
def values():
    own = absl.flags.FlagValues()
    flags = tf.app.flags
    flags.DEFINE_integer("steps", 10, "How many.", flag_values=own)
    flags.DEFINE_float("rate", 1, "How fast.", flag_values=own)
    flags.DEFINE_string(flag_name="name", default_value=None, docstring="What it is called.", flag_values=own)
    flags.DEFINE_boolean("quiet", False, "Say nothing.", flag_values=own)
    flags.DEFINE_enum("mode", "train", ["train", "eval"], "What to do.", flag_values=own)
    flags.DEFINE_list("layers", "8,4", "Sizes.", flag_values=own)
    return FlagsOfScript(own)


def test_defaults(values, monkeypatch):
    monkeypatch.setattr("sys.argv", ["script.py"])
    assert {name: getattr(values, name) for name in ("steps", "rate", "name", "quiet", "mode", "layers")} == {
        "steps": 10, "rate": 1.0, "name": None, "quiet": False, "mode": "train", "layers": ["8", "4"],
    }  # fmt: skip
    assert "steps" in values and "steps" in list(values) and "steps" in dir(values) and len(values) >= 6


def test_spellings(values):
    words = [
        "s.py",
        "--steps=16",
        "-rate",
        "2.5",
        "--quiet",
        "in",
        "--mode=eval",
        "--other=1",
        "--",
        "--name=x",
    ]
    left = values(words, known_only=True)
    assert left[0] == "s.py" and set(left[1:]) >= {"in", "--other=1", "--name=x"}
    assert (values.steps, values.rate, values.quiet, values.mode, values.name) == (
        16,
        2.5,
        True,
        "eval",
        None,
    )
    values(["s.py", "--noquiet", "--layers=a, b"])
    assert values.quiet is False and values["layers"].value == ["a", "b"]


def test_the_command_line_is_read_when_a_flag_is_first_asked_for(values, monkeypatch):
    monkeypatch.setattr("sys.argv", ["script.py", "-f", "kernel.json", "--name=late"])
    assert values.name == "late"
    values.name = "set"
    assert values.name == "set"


def test_a_cell_may_define_its_flags_again(values, monkeypatch):
    monkeypatch.setattr("sys.argv", ["script.py"])
    assert values.steps == 10
    tf.app.flags.DEFINE_integer("steps", 20, "How many.", flag_values=values._values)
    assert values.steps == 20


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("--steps=x", "flag --steps=x: invalid literal for int"),
        ("--quiet=perhaps", "Non-boolean argument to boolean flag"),
        ("--mode=test", "flag --mode=test: value should be one of <train|eval>"),
        ("--name", "Missing value for flag --name"),
        ("--other", "Unknown command line flag 'other'"),
    ],
)
def test_wrong_values(values, word, message):
    with pytest.raises(tf.flags.Error) as caught:
        values(["s.py", word])
    assert message in str(caught.value)


def test_required_and_unknown_flags(values):
    tf.flags.mark_flag_as_required("name", values._values)
    with pytest.raises(tf.flags.IllegalFlagValueError, match="Flag --name must have a value other than None"):
        values(["s.py"])
    with pytest.raises(AttributeError, match="nothing"):
        values.nothing  # noqa: B018


def test_a_script_is_run_with_what_is_left(monkeypatch, capsys):
    own = absl.flags.FlagValues()
    monkeypatch.setattr(tf.app.flags, "FLAGS", FlagsOfScript(own))
    tf.app.flags.DEFINE_integer("steps", 10, "How many.", flag_values=own)
    seen = []
    with pytest.raises(SystemExit) as caught:
        tf.app.run(lambda argv: seen.extend([argv, own.steps]), ["s.py", "--steps=3", "rest"])
    assert caught.value.code is None and seen == [["s.py", "rest"], 3]
    with pytest.raises(SystemExit) as caught:
        tf.app.run(seen.append, ["s.py", "--steps=many"])
    assert caught.value.code == 1 and "FATAL Flags parsing error" in capsys.readouterr().err

"""The soak in short; ``python -m tests.soak.session`` has the long one."""

from tests.soak.session import Soak, main, soak_runs, traced_growth


def test_many_runs_leave_nothing_behind(capsys):
    assert soak_runs(3_000) == []
    assert "3,000 runs" in capsys.readouterr().out


def test_many_threads_on_one_session(capsys):
    assert Soak(8, 4.0).run() == []
    assert "tasks in" in capsys.readouterr().out


def test_a_leak_would_be_seen():
    kept = []
    assert traced_growth(lambda: kept.append(bytearray(1000)), 200) > 200_000


def test_a_wrong_answer_would_be_seen(capsys):
    soak = Soak(2, 10.0)
    soak.towers_value = soak.towers_value + 1
    assert any("wrong: towers" in fault for fault in soak.run())
    assert main([]) == 0

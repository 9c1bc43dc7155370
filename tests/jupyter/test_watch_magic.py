"""``%%watch_placement``: in a real IPython shell, and in a kernel of its own, which is flooded and interrupted."""

import textwrap
import time

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from traitlets.config import Config

L = "/job:localhost/replica:0/task:0/device:CPU:0"
CELL = f"""%%watch_placement --into log
import os
_ = os.write(1, b"a: (DecodePng): {L}\\n")
print("Executing op Neg in device {L}")
kept = 1
"""


@pytest.fixture
def shell():
    """An IPython with the extension loaded."""
    InteractiveShell.clear_instance()
    config = Config()
    config.HistoryManager.enabled = False  # no database that outlives the test
    shell = InteractiveShell.instance(colors="nocolor", config=config)
    shell.run_line_magic("load_ext", "gpuplace")
    yield shell
    InteractiveShell.clear_instance()


def test_table_and_variable(shell, capfd):
    with capture_output() as captured:
        assert shell.run_cell(CELL).success
    (shown,) = captured.outputs
    assert "no GPU kernel" in shown.data["text/html"] and "DecodePng" in shown.data["text/plain"]
    assert captured.stdout == capfd.readouterr().out == ""  # the lines are in the table
    assert shell.user_ns["kept"] == 1
    assert dict(shell.user_ns["log"].placement) == {"a": L}
    assert [event.op for event in shell.user_ns["log"].placement.events] == ["Neg"]


def test_lines_are_printed_where_asked_for(shell, capfd):
    with capture_output() as captured:
        assert shell.run_cell(CELL.replace("--into log", "--log")).success
    assert captured.stdout == f"Executing op Neg in device {L}\n"
    assert capfd.readouterr().out == f"a: (DecodePng): {L}\n"


def test_a_cell_that_fails_shows_what_ran(shell, capfd):
    with capture_output() as captured:
        result = shell.run_cell(CELL + "1 / 0")
    assert isinstance(result.error_in_exec, ZeroDivisionError)
    assert "DecodePng" in captured.outputs[0].data["text/plain"]


def test_wrong_options_and_unloading(shell, capfd):
    with capture_output():
        for line in ("--into 1a", '--into "'):
            assert shell.run_cell(f"%%watch_placement {line}\n1").error_in_exec is not None
    shell.run_line_magic("unload_ext", "gpuplace")
    assert "watch_placement" not in shell.magics_manager.magics["cell"]
    shell.run_line_magic("load_ext", "gpuplace")


@pytest.mark.notebook
def test_in_a_kernel():
    """The kernel has descriptors 1 and 2 of its own, and its `print` uses neither."""
    from jupyter_client.manager import start_new_kernel

    manager, client = start_new_kernel()
    try:
        texts: list[str] = []

        def run(code: str, interrupt_after: float | None = None) -> tuple[str, str]:
            """Status of a cell and what it showed last; what it printed goes to `texts`."""
            shown = ""

            def note(message: dict) -> None:
                nonlocal shown
                content = message["content"]
                if message["msg_type"] == "stream":
                    texts.append(content["text"])
                elif message["msg_type"] == "error":
                    texts.append(content["evalue"])
                elif message["msg_type"] == "display_data":
                    shown = content["data"]["text/plain"]

            if interrupt_after is None:
                reply = client.execute_interactive(code, output_hook=note, timeout=120)
                return reply["content"]["status"], shown
            client.execute(code)
            time.sleep(interrupt_after)
            manager.interrupt_kernel()
            while (message := client.get_iopub_msg(timeout=60))["msg_type"] != "status" or (
                message["content"]["execution_state"] != "idle"
            ):
                note(message)
            return client.get_shell_msg(timeout=60)["content"]["status"], shown

        assert run("%load_ext gpuplace\nimport os, threading, time")[0] == "ok"
        status, shown = run(CELL)
        assert status == "ok" and "DecodePng" in shown and "Neg" in shown
        flood = f'%%watch_placement\nfor n in range(1000): os.write(2, b"a%d: (Neg): {L}\\n" % n * 160)'
        status, shown = run(flood)
        assert status == "ok" and "1,000" in shown and not any("/job:" in text for text in texts)
        loop = f'%%watch_placement\nwhile True: os.write(1, b"b: (Neg): {L}\\n"); time.sleep(0.01)'
        status, shown = run(loop, interrupt_after=2)
        assert status == "error" and "1 node" in shown
        count = "len(os.listdir('/proc/self/fd')), threading.active_count()"
        one = "get_ipython().run_cell_magic('watch_placement', '', 'n')"
        many = f"""
            import gc
            n = 0
            {one}
            gc.collect()
            before = {count}
            for n in range(50):
                {one}
            gc.collect()
            assert before == ({count}), (before, {count})
            """
        assert run(textwrap.dedent(many))[0] == "ok", texts
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)

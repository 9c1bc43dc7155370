"""A short campaign of damaged messages, in this process."""

from tests.fuzz.frames import INPUTS


def test_damaged_messages_are_refused_or_understood():
    ends = set()
    for number in range(1000):
        ends.update(INPUTS.attempt(*INPUTS.case(4321, number)))
    assert ends == {"message: answer", "message: FrameError", "tensor or error: FrameError", "no message"}

"""An exception at one instruction after the other, as signal handlers raise them."""

import dis
import sys


class Interrupt(Exception):
    """What is raised."""


def interrupted_at(instruction, files, function, *arguments):
    """Calls a function with an exception at the n-th instruction in the files; whether there was one.

    Python calls handlers where it begins with a function, has called one, or jumps back. The last instruction of a
    ``with`` block, which calls ``__exit__``, is none of these.
    """
    left, stops = instruction, {}

    def offsets(code):
        if code not in stops:
            names = ("RESUME", "JUMP_BACKWARD", "STORE_FAST", "POP_TOP", "STORE_ATTR", "STORE_SUBSCR")
            stops[code] = {one.offset for one in dis.get_instructions(code) if one.opname in names}
        return stops[code]

    def trace(frame, event, argument):
        nonlocal left
        if frame.f_code.co_filename not in files:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode" and frame.f_lasti in offsets(frame.f_code):
            left -= 1
            if left == 0:
                raise Interrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*arguments)
    except Interrupt:
        return True
    finally:
        sys.settrace(before)
    return False

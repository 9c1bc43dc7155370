"""Where a thread is, as ``tensorflow.python.util.tf_stack`` says it."""

import traceback

from gpuplace.tf1.stand_in.util import tf_stack


def test_it_is_as_pythons_own():
    ours, theirs = tf_stack.extract_stack(), traceback.extract_stack()
    assert ours[-1].name == "test_it_is_as_pythons_own" and ours[-1].filename == __file__
    assert ours[-1][tf_stack.TB_LINENO] == ours[-1].func_start_lineno + 1 == theirs[-1].lineno
    assert traceback.format_list(tf_stack.convert_stack(ours)) == traceback.format_list(theirs)
    assert tf_stack.convert_stack(ours[-1:], include_func_start_lineno=True)[0][4] == theirs[-1].lineno - 1


def test_a_limit():
    assert tf_stack.extract_stack(limit=0) == []
    assert [frame.name for frame in tf_stack.extract_stack(limit=1)] == ["test_a_limit"]
    assert len(tf_stack.extract_stack(limit=None)) == len(tf_stack.extract_stack()) > 2

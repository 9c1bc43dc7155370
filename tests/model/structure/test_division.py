"""Parts of a scope with many items: by names, with functions between layers, and without circles of the flow."""

from gpuplace.model.structure.division import MOST, Item, divided


def items(*labels):
    """Items in flow order; a name in parentheses is an op that reads no variable."""
    return [
        Item(label.strip("()"), -1 - number, number, hash(label), not label.startswith("("))
        for number, label in enumerate(labels)
    ]


def chain(count):
    return {(number, number + 1) for number in range(count - 1)}


def labels(parts):
    return [part.label for part in parts]


def inside(parts, label):
    return labels(next(part for part in parts if part.label == label).members)


def test_few_items_stay_as_they_are():
    few = items(*(f"layer{number}" for number in range(4)))
    assert divided(few, chain(4)) == few


def test_names_of_layers_count_and_those_of_functions_between_them_do_not():
    names = []
    for block in range(4):
        names += [f"block{block}_norm", f"(tf.reshape_{3 * block})", f"(tf.linalg.matmul_{block})"]
        names += [f"(tf.reshape_{3 * block + 1})", f"(tf.reshape_{3 * block + 2})", f"block{block}_dense"]
    parts = divided(items("stem_conv", *names, "head"), chain(len(names) + 2))
    assert labels(parts) == ["stem_conv", "block0", "block1", "block2", "block3", "head"]
    assert inside(parts, "block1") == [name.strip("()") for name in names[6:12]]


def test_a_function_between_two_groups_belongs_to_the_first():
    names = []
    for block in range(6):
        names += [f"block{block}_norm", f"block{block}_dense", f"(tf.reshape_{block})"]
    parts = divided(items(*names), chain(len(names)))
    assert labels(parts) == [*(f"block{block}" for block in range(6)), "tf.reshape_5"]


def test_a_group_that_holds_most_of_the_model_is_divided_by_the_next_piece_of_its_names():
    names = [f"stack{stack}_block{block}_{part}" for stack, count in ((1, 2), (2, 2), (3, 5)) for block in range(count)
             for part in ("norm", "conv")]  # fmt: skip
    parts = divided(items(*names), chain(len(names)))
    assert labels(parts) == ["stack1", "stack2", *(f"stack3_block{block}" for block in range(5))]


def test_what_the_flow_passes_on_its_way_back_to_a_group_is_in_the_group():
    """Poolings without variables between two layers of a stage, as in detectors."""
    names = [f"stack{stack}_conv{number}" for stack in (1, 2) for number in range(6)]
    names += ["(max_pooling2d)", "(max_pooling2d_1)", "(max_pooling2d_2)", "(concat)", "stack2_out"]
    names += [f"stack3_conv{number}" for number in range(4)]
    parts = divided(items(*names), chain(len(names)) | {(11, 15), (12, 15), (13, 15)})
    assert labels(parts) == ["stack1", "stack2", "stack3"]
    assert inside(parts, "stack2")[-5:] == [
        "max_pooling2d",
        "max_pooling2d_1",
        "max_pooling2d_2",
        "concat",
        "stack2_out",
    ]


def test_groups_that_the_flow_alternates_between_are_cut_into_runs():
    names = [f"{scope}_conv{number}" for scope in ("a", "b", "c") for number in range(6)]
    order = [*names[:4], *names[6:10], *names[4:6], *names[10:12], *names[12:]]
    parts = divided(items(*order), chain(len(order)))
    assert labels(parts)[:2] == ["a", "b"] and labels(parts)[-1] == "c"
    assert [len(part.members) for part in parts] == [4, 4, 2, 2, 6]
    assert len(parts) <= MOST


def test_a_merge_leaves_a_group_that_it_would_close_a_circle_with():
    """A concatenation of a stage's result with what later layers make of it belongs to those."""
    names = [f"{scope}_conv{number}" for scope in ("stem", "stack", "neck") for number in range(6)]
    names += ["(concat)", *(f"{scope}_out{number}" for scope in ("neck", "head") for number in range(3))]
    parts = divided(items(*names), chain(len(names)) | {(11, 18)})
    assert labels(parts) == ["stem", "stack", "neck", "head"]
    assert "concat" in inside(parts, "neck")

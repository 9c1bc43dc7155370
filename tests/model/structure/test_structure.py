"""Parts of models: what belongs to a layer, how parts are named, and what is set aside."""

import gpuplace as tf
from gpuplace.model.structure.roles import ROLES
from gpuplace.model.structure.structure import structure_of
from gpuplace.views.tables.placement_view import PlacementView, view_of


def structure(build):
    """The view and the structure of what a function builds in a graph of its own."""
    with tf.Graph().as_default() as graph:
        build()
    view = view_of(tf.place(graph, "4x Tesla V100", tf.ConfigProto(allow_soft_placement=True)))
    return view, structure_of(view)


def top(found):
    """Names of the parts directly in the whole."""
    return [part.label for part in found.parts[1:] if part.parent == 0 and part.kind != "shelf"]


def role(view, found, name):
    return ROLES[found.role[view.index[name]]]


def part(view, found, name):
    return found.parts[found.part_of[view.index[name]]].label


def matrix(name, shape=(8, 8)):
    return tf.get_variable(name, shape, tf.float32)


def scoped(top_tensor, name):
    with tf.variable_scope(name):
        return tf.nn.relu(tf.matmul(top_tensor, matrix("w")))


def rows_of(names_and_types):
    return [(name, op_type, "", "") for name, op_type in names_and_types]


def test_moving_averages_of_layers_are_updates_and_no_gradients():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        hidden = scoped(rows, "layer")
        average = tf.get_variable("layer/average", (8,), trainable=False)
        with tf.name_scope("layer/AssignMovingAvg"):
            change = (average - tf.reduce_mean(hidden, 0)) * 0.1
            tf.assign_sub(average, change, name="assign")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(hidden))

    view, found = structure(build)
    names = [name for name in view.names if name.startswith("layer/AssignMovingAvg/")]
    assert len(names) > 3 and {role(view, found, name) for name in names} == {"update"}
    assert "averaging" not in {ROLES[number] for number in found.role}


def test_sparse_updates_are_no_averages():
    def build():
        ids = tf.placeholder(tf.int32, [4], name="ids")
        table = matrix("table", (100, 8))
        loss = tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, ids)))
        tf.train.AdamOptimizer(0.1).minimize(loss)

    view, found = structure(build)
    names = [name for name in view.names if name.startswith("Adam/update_table/")]
    assert names and {role(view, found, name) for name in names} == {"update"}


def test_the_condition_of_a_learning_rate_is_part_of_the_update():
    def build():
        step = tf.train.get_or_create_global_step()
        hidden = scoped(tf.placeholder(tf.float32, [4, 8], name="rows"), "layer")
        with tf.name_scope("rate"):
            rate = tf.cond(step < 10, lambda: tf.constant(0.1) * 2.0, lambda: tf.constant(0.01) * 2.0)
        tf.train.GradientDescentOptimizer(rate).minimize(tf.reduce_mean(hidden))

    view, found = structure(build)
    assert top(found) and not [label for label in top(found) if label.startswith("rate")]
    roles = {role(view, found, name) for name in view.names if name.startswith("rate/")}
    assert roles <= {"update", "bookkeeping"}


def test_constants_of_a_frozen_graph_are_its_weights():
    rows = [("x", "Placeholder")]
    edges = []
    last = "x"
    for layer in range(4):
        name = f"net/layer_{layer}"
        rows += [(f"{name}/w", "Const"), (f"{name}/w/read", "Identity"), (f"{name}/MatMul", "MatMul")]
        rows += [(f"{name}/Relu", "Relu")]
        edges += [
            (f"{name}/w", 0, f"{name}/w/read", 0),
            (last, 0, f"{name}/MatMul", 0),
            (f"{name}/w/read", 0, f"{name}/MatMul", 1),
            (f"{name}/MatMul", 0, f"{name}/Relu", 0),
        ]
        last = f"{name}/Relu"
    view = PlacementView.of_columns(rows_of(rows), edges)
    found = structure_of(view)
    assert top(found) == [f"layer_{layer}" for layer in range(4)], "the scope of the model is dissolved"
    assert role(view, found, "net/layer_2/w") == "variable"
    assert all(part.has_variables for part in found.parts)


def test_an_op_that_says_no_more_than_its_type_has_the_name_of_its_variable():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        hidden = tf.matmul(rows, matrix("projection"))
        for name in ("first", "second", "third"):
            hidden = scoped(hidden, name)
        unnamed = tf.matmul(hidden, tf.Variable(tf.zeros([8, 8])))
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(unnamed))

    view, found = structure(build)
    assert part(view, found, "MatMul") == "projection"
    assert part(view, found, "MatMul_1") == "MatMul_1"


def test_what_works_for_one_layer_alone_is_shown_with_it():
    def build():
        ids = tf.placeholder(tf.int32, [4], name="ids")
        hidden = tf.nn.embedding_lookup(matrix("table", (100, 8)), tf.maximum(ids - 1, 0))
        for name in ("first", "second", "third"):
            hidden = scoped(hidden, name)
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(hidden))

    view, found = structure(build)
    assert part(view, found, "sub") == part(view, found, "Maximum") == "table"
    assert top(found)[:4] == ["table", "first", "second", "third"]


def test_ops_that_prepare_an_input_or_serve_all_layers_of_a_part_are_boxes_of_their_own():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        mask = tf.placeholder(tf.int32, [4], name="mask")
        shown = tf.expand_dims(tf.cast(mask, tf.float32), 1)
        band = tf.matrix_band_part(tf.ones([4, 4]), -1, 0)
        hidden = scoped(rows, "encoder")
        with tf.variable_scope("decoder"):
            for layer in range(3):
                hidden = tf.matmul(band, scoped(hidden * shown, f"layer_{layer}"))
        hidden = scoped(hidden * shown, "head")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(hidden))

    view, found = structure(build)
    assert part(view, found, "ExpandDims") == part(view, found, "Cast") == "mask → ExpandDims"
    assert part(view, found, "MatrixBandPart") == part(view, found, "ones") == "MatrixBandPart"


def test_a_result_that_a_program_names_names_its_part():
    def build():
        hidden = tf.placeholder(tf.float32, [4, 8], name="rows")
        for block in range(4):
            for _ in range(2):
                before = hidden
                for _ in range(3):
                    hidden = tf.layers.dense(hidden, 8, tf.nn.relu)
                hidden = hidden + before
            hidden = tf.identity(hidden, f"stage_{block}")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(hidden))

    _, found = structure(build)
    labels = [part.label for part in found.parts]
    assert all(f"stage_{block}" in labels for block in range(4))
    assert not [label for label in labels if label.startswith("add")], "layers say more than additions"


def test_scopes_that_the_flow_enters_again_and_again_are_divided():
    """Modules that open the same scope for every block: by their scopes the model is a circle."""
    rows, edges, last = [("x", "Placeholder")], [], "x"
    for block in range(5):
        for scope, variable in (("norm", "g"), ("attention", "q"), (f"block_{block}", "w")):
            name = f"{scope}/MatMul" + (f"_{block}" if block and scope != f"block_{block}" else "")
            weight = f"{variable}_{block}"
            rows += [(weight, "VariableV2"), (name, "MatMul"), (f"{name}_relu", "Relu")]
            edges += [(last, 0, name, 0), (weight, 0, name, 1), (name, 0, f"{name}_relu", 0)]
            last = f"{name}_relu"
    view = PlacementView.of_columns(rows_of(rows), edges)
    found = structure_of(view)
    places = [found.part_of[view.index[name]] for name in ("attention/MatMul", "attention/MatMul_3")]
    assert places[0] != places[1]
    paths = [part.path for part in found.parts]
    assert len(set(paths)) == len(paths)
    assert {f"block_{block}" for block in range(5)} <= {part.label for part in found.parts}


def test_encoder_and_decoder_are_both_parts_however_large_one_is():
    def build():
        hidden = tf.placeholder(tf.float32, [4, 8], name="rows")
        for name, count in (("encoder", 3), ("decoder", 9)):
            with tf.variable_scope(name):
                for layer in range(count):
                    hidden = scoped(hidden, f"layer_{layer}")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(hidden))

    _, found = structure(build)
    assert [label for label in top(found) if label in ("encoder", "decoder")] == ["encoder", "decoder"]


def test_numbers_within_names_make_groups():
    def build():
        hidden = tf.placeholder(tf.float32, [4, 8], name="rows")
        for name in ("stem", *(f"mixed_{stage}{module}" for stage in (5, 6, 7) for module in "abcdef")):
            hidden = scoped(hidden, name)
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(hidden))

    _, found = structure(build)
    assert [label for label in top(found) if label.startswith("mixed")] == ["mixed_5", "mixed_6", "mixed_7"]


def test_a_u_net_is_cut_where_it_goes_down_and_up():
    def build():
        hidden = tf.placeholder(tf.float32, [1, 64, 64, 8], name="images")
        passed = []
        for _ in range(4):
            hidden = tf.layers.conv2d(tf.layers.conv2d(hidden, 8, 3, padding="same"), 8, 3, padding="same")
            passed.append(hidden)
            hidden = tf.layers.max_pooling2d(hidden, 2, 2)
        hidden = tf.layers.conv2d(hidden, 8, 3, padding="same")
        for before in reversed(passed):
            hidden = tf.concat([tf.layers.conv2d_transpose(hidden, 8, 2, 2), before], 3)
            hidden = tf.layers.conv2d(tf.layers.conv2d(hidden, 8, 3, padding="same"), 8, 3, padding="same")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(hidden))

    view, found = structure(build)
    sizes = [0] * len(found.parts)
    for place in found.part_of.tolist():
        while place:
            sizes[place] += 1
            place = found.parts[place].parent
    tops = [size for size, part in zip(sizes, found.parts, strict=True) if size and part.parent == 0]
    assert len(tops) >= 8 and max(tops) < 0.4 * len(view)


def test_towers_without_a_scope_are_found_by_their_variables():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        weights = [tf.Variable(tf.zeros([8, 8]), name=f"w{layer}") for layer in range(3)]
        gradients = []
        for gpu, part in enumerate(tf.split(rows, 2)):
            with tf.device(f"/gpu:{gpu}"):
                hidden = part
                for weight in weights:
                    hidden = tf.nn.relu(tf.matmul(hidden, weight))
                gradients.append(tf.gradients(tf.reduce_mean(hidden), weights))
        pairs = zip(*gradients, strict=True)
        averages = [(one + other) / 2.0 for one, other in pairs]
        tf.train.GradientDescentOptimizer(0.1).apply_gradients(zip(averages, weights, strict=True))

    view, found = structure(build)
    towers = [part.label for part in found.parts if part.is_tower]
    assert towers == ["tower_0", "tower_1"]
    labels = []
    for name in ("MatMul", "MatMul_3", "Relu_5", "w0"):
        place = found.part_of[view.index[name]]
        while found.parts[place].parent:
            place = found.parts[place].parent
        labels.append(found.parts[place].label)
    assert labels == ["tower_0", "tower_1", "tower_1", "shared variables"]


def test_two_inputs_of_one_model_are_no_towers():
    def build():
        hidden = [scoped(tf.placeholder(tf.float32, [4, 8]), name) for name in ("left", "right")]
        hidden = scoped(tf.concat(hidden, 0), "together")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(hidden))

    _, found = structure(build)
    assert not [part for part in found.parts if part.is_tower]


def test_a_layer_that_is_used_again_is_no_tower():
    def build():
        hidden = tf.placeholder(tf.float32, [4, 8], name="rows")
        for layer in range(8):
            hidden = scoped(hidden, f"layer_{layer}")
        with tf.variable_scope("output"):
            weight = matrix("w")
            results = [tf.matmul(part, weight) for part in (hidden, tf.nn.relu(hidden))]
        for number, result in enumerate(results):
            with tf.name_scope(f"again_{number}"):
                tf.matmul(result, weight, name="product")
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.add_n(results)))

    _, found = structure(build)
    assert not [part for part in found.parts if part.is_tower]


def test_a_loop_consists_of_condition_body_and_what_it_passes_on():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        weight = matrix("w")
        for name in ("first", "second"):
            rows = scoped(rows, name)
        _, result = tf.while_loop(
            lambda turn, _: turn < 10,
            lambda turn, state: (turn + 1, tf.tanh(tf.matmul(state, weight))),
            [0, rows],
            name="repeat",
        )
        scoped(result, "last")

    view, found = structure(build)
    loop = [position for position, part in enumerate(found.parts) if part.is_loop]
    assert [found.parts[position].path for position in loop] == ["repeat"]
    inside = [part.label for part in found.parts if part.parent == loop[0]]
    assert sorted(inside) == ["body", "condition", "loop variables"]
    assert part(view, found, "repeat/Less") == "condition"
    assert "body" in labels_around(view, found, "repeat/Tanh")
    assert "loop variables" in labels_around(view, found, "repeat/Merge")


def test_an_average_with_a_summary_is_an_average():
    def build():
        optimizer, tower_gradients = tf.train.GradientDescentOptimizer(0.1), []
        for tower in range(2):
            with tf.name_scope(f"tower_{tower}"), tf.variable_scope("net", reuse=tower > 0):
                rows = scoped(scoped(scoped(tf.ones([4, 8]), "first"), "second"), "third")
                tower_gradients.append(optimizer.compute_gradients(tf.reduce_mean(rows)))
        pairs = []
        for pair in zip(*tower_gradients, strict=True):
            average = tf.reduce_mean(tf.stack([gradient for gradient, _ in pair]), 0, name="both")
            tf.summary.histogram("gradients", average)
            pairs.append((average, pair[0][1]))
        optimizer.apply_gradients(pairs)

    view, found = structure(build)
    assert sum(found.parts[tower].is_tower for tower in range(len(found.parts))) == 2
    for number in range(3):
        name = f"both_{number}" if number else "both"
        assert part(view, found, name) == "gradient averaging", name


def test_a_conditional_is_no_loop():
    def build():
        rows = scoped(tf.placeholder(tf.float32, [4, 8], name="rows"), "first")
        choice = tf.placeholder(tf.bool, [], name="choice")
        rows = tf.cond(choice, lambda: tf.nn.relu(rows), lambda: tf.tanh(rows), name="branches")
        scoped(scoped(rows, "second"), "third")

    _, found = structure(build)
    marked = [(part.label, part.is_loop) for part in found.parts if part.is_conditional or part.is_loop]
    assert marked == [("branches", False)]


def labels_around(view, found, name):
    """Labels of the parts around a node, the innermost first."""
    place, labels = found.part_of[view.index[name]], []
    while place:
        labels.append(found.parts[place].label)
        place = found.parts[place].parent
    return labels


def test_a_conditional_opens_into_its_branches():
    def build():
        rows = scoped(tf.placeholder(tf.float32, [4, 8], name="rows"), "first")
        outer, inner = (tf.placeholder(tf.bool, [], name=name) for name in ("outer_choice", "inner_choice"))

        def wide():
            noise = tf.random_normal([4, 8], name="noise")  # tied to its branch by a control edge alone
            return scoped(rows, "wide") + noise

        def narrow():
            return tf.cond(inner, lambda: tf.nn.relu(rows), lambda: tf.sigmoid(rows), name="inner")

        rows = tf.cond(outer, wide, narrow, name="outer")
        loss = tf.reduce_sum(scoped(scoped(rows, "second"), "third"))
        tf.train.GradientDescentOptimizer(0.1).minimize(loss)

    view, found = structure(build)
    branches = ["false branch", "switches and merges", "true branch"]
    for conditional in ("outer", "inner"):
        position = next(n for n, part in enumerate(found.parts) if part.label == conditional)
        assert found.parts[position].is_conditional
        inside = [part.label for part in found.parts[1:] if part.parent == position and part.kind != "role"]
        assert sorted(inside) == branches
    for name, branch in {
        "outer/wide/Relu": ["true branch", "outer"],
        "outer/noise": ["true branch", "outer"],
        "outer/inner/Relu": ["true branch", "inner", "false branch", "outer"],
        "outer/inner/Sigmoid": ["false branch", "inner", "false branch", "outer"],
        "outer/Merge": ["switches and merges", "outer"],
        "gradients/outer/inner/Relu_grad/ReluGrad": ["true branch", "inner", "false branch", "outer"],
    }.items():
        assert labels_around(view, found, name)[-len(branch) :] == branch, name


def test_a_chain_is_divided_by_the_numbers_that_its_layers_share():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        for number in range(1, 14):
            for layer in ("dw_{}", "dw_{}_relu", "pw_{}", "pw_{}_relu"):
                name = "conv_" + layer.format(number)
                rows = tf.nn.relu(rows, name=f"{name}/x") if "relu" in name else scoped(rows, name)
        tf.identity(scoped(rows, "head"), name="result")

    _, found = structure(build)
    assert top(found) == ["conv_pw_1 … conv_pw_13", "head"]
    series = next(position for position, part in enumerate(found.parts) if part.kind == "series")
    inside = [part.label for part in found.parts if part.parent == series]
    assert inside == [f"conv_pw_{number}" for number in range(1, 14)]


def test_sizes_and_what_passes_an_input_on_are_in_no_box_of_their_own():
    def build():
        rows = tf.placeholder(tf.float32, [None, 8], name="rows")
        flag = tf.placeholder(tf.bool, [], name="flag")
        for name in ("first", "second"):
            with tf.variable_scope(name):
                for layer in ("one", "two"):
                    with tf.name_scope(layer):
                        tf.identity(flag, name="passed")
                    rows = scoped(rows, layer)
                rows = tf.reshape(rows, [tf.shape(rows, name="sizes")[0], 8], name="rows")
        tf.identity(rows, name="result")

    view, found = structure(build)
    assert part(view, found, "second/sizes") == part(view, found, "second/rows")
    assert part(view, found, "first/sizes") not in ("", "first")


def circles(view, found):
    """Pairs of parts of the same parent between which data flows both ways, possibly through other parts."""

    def way(node):
        parts = [int(found.part_of[node])]
        while parts[-1]:
            parts.append(found.parts[parts[-1]].parent)
        return [*parts[::-1], -1 - node]

    links = {}
    for source, output, target in zip(view.src.tolist(), view.src_output.tolist(), view.dst.tolist()):
        if output < 0:
            continue
        pair = next((pair for pair in zip(way(source), way(target)) if pair[0] != pair[1]), None)
        if pair is not None:
            links.setdefault(pair[0], set()).add(pair[1])

    def reached(part):
        seen, waiting = set(), [part]
        while waiting:
            new = links.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    return {(a, b) for a in links for b in links[a] if a in reached(b)}


def attention(queries, keys, name):
    """Attention as in public transformers: sizes, an Identity for dropout, and products beside the layers."""
    with tf.variable_scope(name):
        count = tf.shape(queries)[0]
        query, key, value = (
            tf.reshape(scoped(rows, layer), [count * 1, 8])
            for layer, rows in (("query", queries), ("key", keys), ("value", keys))
        )
        weights = tf.identity(tf.nn.softmax(tf.matmul(query, key, transpose_b=True)), name="dropout")
        return scoped(tf.matmul(weights, value), "output")


def test_the_flow_between_layers_is_no_circle():
    def build():
        ids = tf.placeholder(tf.int32, [None, 1], name="ids")
        passed = tf.identity(ids, name="passed")
        sizes = tf.shape(passed, name="sizes")  # comes before the ids are used, and serves the end
        rows = tf.nn.embedding_lookup(matrix("table"), tf.reshape(passed, [-1]), name="rows")
        for number in range(4):
            with tf.variable_scope(f"layer_{number}"):
                rows = attention(rows, rows, "self")
        memory = rows
        for number in range(4):
            with tf.variable_scope(f"decoder_{number}"):
                rows = attention(rows, memory, "cross")
        logits = tf.reshape(scoped(rows, "logits"), [sizes[0], 8], name="shaped")
        tf.identity_n([memory, logits], name="results")

    view, found = structure(build)
    assert circles(view, found) == set()
    assert part(view, found, "results") == part(view, found, "shaped") != part(view, found, "passed")


def test_a_layer_that_begins_before_those_that_it_follows():
    """Keys and values of a decoder's cross attention need only the encoder's result."""

    def product(rows, scope):
        with tf.name_scope(f"{scope}/"):
            return tf.nn.relu(tf.matmul(rows, tf.Variable(tf.ones([8, 8]))))

    def build():
        rows = memory = product(tf.placeholder(tf.float32, [8, 8], name="ids"), "embeddings")
        for number in range(4):
            scope = f"decoder_{number}"
            key, value = (product(memory, f"{scope}/cross/{name}") for name in ("key", "value"))
            alone = product(product(rows, f"{scope}/self/query"), f"{scope}/self/output")
            with tf.name_scope(f"{scope}/"):
                rows = tf.add(rows, alone, name="add")
            query = product(product(rows, f"{scope}/norm"), f"{scope}/cross/query")
            with tf.name_scope(f"{scope}/cross/"):
                mixed = tf.matmul(tf.matmul(query, key), value)
            mixed = product(mixed, f"{scope}/cross/output")
            with tf.name_scope(f"{scope}/"):
                rows = tf.add(rows, mixed, name="add_1")
        tf.identity(product(rows, "logits"), name="result")

    view, found = structure(build)
    assert circles(view, found) == set()


def test_what_only_an_assertion_needs_is_bookkeeping():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        with tf.control_dependencies([tf.debugging.assert_less(rows, 9.0, name="bound")]):
            hidden = scoped(tf.identity(rows), "first")
        chosen = tf.greater(hidden, 0.5, name="chosen")
        tf.identity(tf.reduce_any(chosen, name="any_chosen"), name="result")

    view, found = structure(build)
    checks = [
        name
        for name in view.names
        if name.startswith("bound/") and view.op_type_of(view.index[name]) != "Const"
    ]
    assert len(checks) >= 2
    assert {role(view, found, name) for name in checks} == {"bookkeeping"}
    assert role(view, found, "chosen") == role(view, found, "any_chosen") == "forward"


def test_losses_without_labels_and_gradient_penalties_are_loss():
    def build():
        real = tf.placeholder(tf.float32, [4, 8], name="real")
        fake = tf.nn.tanh(scoped(tf.placeholder(tf.float32, [4, 8], name="noise"), "generator"), name="made")

        def critic(rows):
            with tf.variable_scope("critic", reuse=tf.AUTO_REUSE):
                return tf.matmul(tf.nn.tanh(tf.matmul(rows, matrix("w"))), matrix("v", (8, 1)))

        score, fooled = critic(real), critic(fake)
        losses = tf.nn.sigmoid_cross_entropy_with_logits(
            labels=tf.ones_like(fooled), logits=fooled, name="adversarial_loss"
        )
        (slope,) = tf.gradients(score, [real])
        penalty = tf.reduce_mean(tf.square(slope, name="steepness"), name="penalty")
        trained = tf.trainable_variables("critic")
        tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(losses) + penalty, var_list=trained)

    view, found = structure(build)
    assert role(view, found, "steepness") == role(view, found, "penalty") == "loss"
    assert role(view, found, "adversarial_loss") == "loss"
    assert role(view, found, "critic/MatMul") == role(view, found, "critic_1/MatMul") == "forward"


def test_data_in_a_variable_is_in_no_layer_that_reads_it_and_shared_weights_are_in_the_first():
    def build():
        images = tf.get_variable("images", (4, 8), trainable=False)
        with tf.variable_scope("mixed"):
            ends = []
            for branch in ("one", "two"):
                with tf.variable_scope(branch):
                    ends.append(tf.nn.relu(tf.matmul(images, matrix("w"))))
            mixed = tf.add(*ends, name="join")
        weights = matrix("shared")
        for layer in ("head", "tail"):
            with tf.name_scope(layer):
                mixed = tf.nn.relu(tf.matmul(mixed, weights))
        tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(mixed, name="loss"))

    view, found = structure(build)
    assert part(view, found, "images") == part(view, found, "images/read") == "mixed"
    assert part(view, found, "mixed/two/w") == "two"
    assert part(view, found, "shared") == "head"


def block_with_functions(rows, name, function):
    """A layer that calls functions; Keras gives these scopes beside the scope of the layer."""
    with tf.name_scope(f"{name}/one/"):
        rows = tf.matmul(rows, tf.Variable(tf.ones([8, 8]), name="w"))
    with tf.name_scope(f"tf.nn.gelu_{function}/"):
        rows = tf.multiply(rows, tf.sigmoid(rows, name="Sigmoid"), name="mul")
    with tf.name_scope(f"{name}/two/"):
        return tf.matmul(rows, tf.Variable(tf.ones([8, 8]), name="w"))


def test_functions_that_a_layer_calls_are_inside_it():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        for number in range(3):
            rows = block_with_functions(rows, f"block_{number}", number)
        tf.identity(rows, name="result")

    view, found = structure(build)
    assert top(found) == ["block_0", "block_1", "block_2"]
    assert circles(view, found) == set()
    gelu = found.part_of[view.index["tf.nn.gelu_1/mul"]]
    assert found.parts[found.parts[gelu].parent].label == "block_1"
    assert found.layers[:-1] == (
        "block_0",
        "tf.nn.gelu_0",
        "block_1",
        "tf.nn.gelu_1",
        "block_2",
        "tf.nn.gelu_2",
    )


def test_a_layer_that_is_called_repeatedly_is_not_one_with_the_functions_between_its_calls():
    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        with tf.name_scope("cell/"):
            weights = tf.Variable(tf.ones([8, 8]), name="w")
        for _ in range(4):
            with tf.name_scope("cell/one/"):
                rows = tf.tanh(tf.matmul(rows, weights), name="out")
            with tf.name_scope("between/"):
                rows = tf.negative(tf.negative(rows))
            with tf.name_scope("cell/two/"):
                rows = tf.tanh(tf.matmul(rows, weights), name="out")
        tf.identity(rows, name="result")

    view, found = structure(build)
    names = [name for name in view.names if name.startswith("between/Neg")]
    assert len(names) == 8 and "between" in {part(view, found, name) for name in names}


def test_what_passes_on_a_result_is_with_the_op_that_completes_it():
    """Keras's swish passes on its result, and its input and a constant for the gradient."""

    def build():
        rows = tf.placeholder(tf.float32, [4, 8], name="rows")
        for number in range(5):
            both = [scoped(rows, f"block{number}_{name}") for name in ("left", "right")]
            with tf.variable_scope(f"block{number}_bn"):
                rows = tf.add(*both, name="sum")
                rows = tf.multiply(rows, matrix("gamma", (8,)), name="scaled")
            with tf.name_scope(f"block{number}_swish/"):
                beta = tf.constant(1.0, name="beta")
                product = tf.multiply(rows, tf.sigmoid(beta * rows), name="mul_1")
                rows = tf.identity_n([product, rows, beta], name="IdentityN")[0]
            rows = tf.negative(rows, name=f"split{number}")
        tf.identity(scoped(rows, "head"), name="result")

    view, found = structure(build)
    assert circles(view, found) == set()
    assert part(view, found, "block1_swish/IdentityN") == part(view, found, "block1_swish/mul_1")

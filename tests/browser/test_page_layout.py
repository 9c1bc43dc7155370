"""Where the report page puts boxes and lines: real graphs, long chains and wide ranks, and what stays when one unfolds.

The milliseconds of layouts are printed (`pytest -s`), not asserted: machines are noisy.
"""

import pytest

import gpuplace as tf
from gpuplace.views.page.page import page_html
from tests.browser.jupyterlab import Watch
from tests.placer.corpus_files import folder

pytestmark = [pytest.mark.browser]

CORPUS = (
    "towers_1",
    "resnet_true",
    "lstm_unrolled",
    "dcgan",
    "lstm_in_a_loop_ref",
    "parameter_servers_ref",
    "sequence_to_sequence",
)

CROSSED = r"""() => {
    const svg = document.querySelector("#graph .gp-canvas > svg");
    const rect = (group) => {
        const { x, y, width, height } = group.querySelector("path, polygon").getBBox();
        return { id: group.id, x, y, width, height };
    };
    const boxes = [...svg.querySelectorAll("g.node")].map(rect);
    const frames = [...svg.querySelectorAll("g.cluster")].map(rect);
    const at = new Map(boxes.map((box) => [box.id, box]));
    const inside = (box, frame) => box.x >= frame.x && box.x + box.width <= frame.x + frame.width
        && box.y >= frame.y && box.y + box.height <= frame.y + frame.height;
    // The lines and curves of a path, each with its start. (`getPointAtLength` measures the whole path at each call.)
    const pieces = (text) => {
        let at = [];
        return [...text.matchAll(/([A-Za-z])([^A-Za-z]*)/g)].flatMap(([, command, rest]) => {
            const numbers = rest.match(/-?[\d.]+/g).map(Number);
            if (!"MLC".includes(command) || numbers.length !== (command === "C" ? 6 : 2)) throw new Error(text);
            const points = [at];
            for (let k = 0; k < numbers.length; k += 2) points.push([numbers[k], numbers[k + 1]]);
            at = points.at(-1);
            return command === "M" ? [] : [points];
        });
    };
    // The first box that a piece is in, looked for at points that are at most one pixel from each other.
    const behind = (points, boxes) => {
        const [left, top] = [0, 1].map((axis) => Math.min(...points.map((point) => point[axis])));
        const [right, bottom] = [0, 1].map((axis) => Math.max(...points.map((point) => point[axis])));
        const near = boxes.filter((box) => right > box.x + 1 && left < box.x + box.width - 1
            && bottom > box.y + 1 && top < box.y + box.height - 1);
        if (!near.length) return undefined;
        const legs = points.slice(1).map((point, k) => Math.hypot(point[0] - points[k][0], point[1] - points[k][1]));
        const steps = Math.max(1, Math.ceil(legs.length * Math.max(...legs)));
        for (let k = 0; k <= steps; k += 1) {
            const t = k / steps;
            let row = points;
            while (row.length > 1) {
                row = row.slice(1).map((point, n) => point.map((to, axis) => row[n][axis] + (to - row[n][axis]) * t));
            }
            const [x, y] = row[0];
            const hit = near.find((box) =>
                x > box.x + 1 && x < box.x + box.width - 1 && y > box.y + 1 && y < box.y + box.height - 1);
            if (hit) return hit;
        }
        return undefined;
    };
    const found = [];
    const lines = [...svg.querySelectorAll("g.edge")];
    for (const line of lines) {
        const ends = line.dataset.ends.split(/->| /);
        if (!ends.every((end) => at.has(end))) { found.push(`${line.dataset.ends} does not end at boxes`); continue; }
        const others = [
            ...boxes.filter((box) => !ends.includes(box.id)),
            ...frames.filter((frame) => !ends.some((end) => inside(at.get(end), frame))),
        ];
        for (const path of line.querySelectorAll("path")) {
            const hit = pieces(path.getAttribute("d")).map((piece) => behind(piece, others)).find((box) => box);
            if (hit) found.push(`${line.dataset.ends} runs behind ${hit.id}`);
        }
    }
    return { found, lines: lines.length, boxes: boxes.length };
}"""
"""Lines that run behind a box, or an open scope, that they have nothing to do with."""

UNFOLD = """(most) => {
    const model = window.gpuplacePage;
    for (let k = 0; k < 60 && model.drawn.boxes.length < most; k += 1) {
        const folded = model.drawn.boxes.filter((box) => box.kind !== "op" && !box.rest);
        if (!folded.length) break;
        model.send({ type: "toggle", id: folded[Math.floor(folded.length / 3)].id });
    }
}"""


def corpus_graph(name):
    """A graph of the corpus on four GPUs."""
    return tf.place(folder("corpus", "1.15") / f"{name}.pb", "4x Tesla K20m", on_error="keep")


@pytest.fixture
def opened(browser, tmp_path):
    """`opened(placement)` writes the page and opens it; it may neither err nor ask for anything."""
    pages, watches = [], []

    def open_page(placement, name="page"):
        path = tmp_path / f"{name}.html"
        path.write_text(page_html(placement, title=name), encoding="utf-8")
        page = browser.new_page(viewport={"width": 1400, "height": 900})
        watches.append(Watch(path.as_uri()).over(page))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    for watch in watches:
        assert watch.errors == [] and watch.elsewhere == []


@pytest.mark.parametrize("name", CORPUS)
def test_no_line_runs_behind_a_box(opened, name):
    page = opened(corpus_graph(name), name)
    for most in (0, 60, 150):
        page.evaluate(UNFOLD, most)
        seen = page.evaluate(CROSSED)
        assert seen["boxes"] >= min(most, 8) and (seen["lines"] > 0 or not most)
        assert seen["found"] == []
        took = page.evaluate(
            "() => { const start = performance.now(); window.gpuplacePage.paint(); return performance.now() - start; }"
        )
        print(f"{name}: {seen['boxes']} boxes, {seen['lines']} lines, drawn in {took:.0f} ms")


def test_lines_between_open_scopes_end_at_boxes(opened):
    """Variables outside, towers inside scopes: the way goes through the scopes' frames to the boxes."""
    with tf.Graph().as_default() as graph:
        with tf.name_scope("weights"):
            weights = [tf.constant(1.0, name=f"w{i}") for i in range(4)]
            tf.no_op(name="check")
        for i, weight in enumerate(weights):
            with tf.name_scope(f"tower_{i}"), tf.name_scope("inner"):
                tf.negative(weight, name="out")
    page = opened(tf.place(graph, "4x Tesla K20m"))
    page.evaluate(UNFOLD, 100)
    seen = page.evaluate(CROSSED)
    assert seen["found"] == [] and page.locator("#graph g.cluster").count() == 9
    ends = page.locator("#graph g.edge").evaluate_all("(lines) => lines.map((line) => line.dataset.ends)")
    assert len(ends) == 4 and all("->n" in pair for pair in ends)


def chain(length):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4], name="x")
        for i in range(length):
            x = tf.negative(x, name=f"step_{i}")
    return graph


def fan(width):
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4], name="x")
        tf.add_n([tf.negative(x, name=f"branch_{i}") for i in range(width)], name="total")
    return graph


@pytest.mark.parametrize("graph", [chain(14), fan(13)], ids=["long chain", "wide rank"])
def test_a_drawing_has_the_proportions_of_its_canvas(opened, graph):
    page = opened(tf.place(graph, "cpu"))
    width, height, canvas_width, canvas_height = page.evaluate(
        """() => {
            const { w, h } = window.gpuplacePage.drawn;
            const { clientWidth, clientHeight } = document.querySelector("#graph .gp-canvas");
            return [w, h, clientWidth, clientHeight];
        }"""
    )
    assert page.locator("#graph g.node").count() >= 14
    assert 0.5 < (width / height) / (canvas_width / canvas_height) < 2
    assert min(canvas_width / width, canvas_height / height) > 0.6
    assert page.evaluate(CROSSED)["found"] == []


def test_lines_that_go_the_same_way_are_one_line(opened):
    """Ten variables of one scope that two others read: from its frame to each of theirs goes one line."""
    with tf.Graph().as_default() as graph:
        with tf.name_scope("params"):
            params = [tf.constant(1.0, name=f"p{i}") for i in range(10)]
            tf.no_op(name="done")
        for name in ("left", "right"):
            with tf.name_scope(name):
                for i, param in enumerate(params):
                    tf.negative(param, name=f"use_{i}")
                tf.no_op(name="end")
    page = opened(tf.place(graph, "cpu"))
    page.evaluate(UNFOLD, 40)
    ends = page.locator("#graph g.edge").evaluate_all(
        "(lines) => lines.map((line) => line.dataset.ends.split(' ').length)"
    )
    assert page.evaluate(CROSSED) == {"found": [], "lines": len(ends), "boxes": 33}
    assert sorted(ends)[-2:] == [10, 10]


SHOWN = """() => Object.fromEntries([...document.querySelectorAll("#graph g.node, #graph g.cluster")].map((group) => {
    const { x, y, width, height } = group.querySelector("path, polygon").getBoundingClientRect();
    return [group.id, { x, y, width, height }];
}))"""


def kept(before, after, opened=()):
    """What was shown is there still, but for what was opened."""
    gone = {box for box in before if box not in after and box not in opened}
    return not gone and len(after) >= len(before)


@pytest.mark.parametrize("name", ["resnet_true", "lstm_unrolled", "towers_1"])
def test_unfolding_only_adds(opened, name):
    page = opened(corpus_graph(name), name)
    button = page.get_by_role("button", name="Unfold", exact=False)
    for step in range(12):
        folded = page.locator("#graph g.node.scope").evaluate_all("(all) => all.map((group) => group.id)")
        if not folded:
            break
        box = folded[(5 * step) % len(folded)]
        before = page.evaluate(SHOWN)
        page.evaluate("(id) => window.gpuplacePage.send({ type: 'toggle', id })", box)
        assert kept(before, page.evaluate(SHOWN), [box])
    ops = set(page.locator("#graph g.node.op").evaluate_all("(all) => all.map((group) => group.id)"))
    frames = set(page.locator("#graph g.cluster").evaluate_all("(all) => all.map((group) => group.id)"))
    before = page.evaluate(SHOWN)
    button.first.click()
    after = page.evaluate(SHOWN)
    assert ops | frames <= set(after) and len(after) >= len(before)
    page.get_by_role("button", name="Fold all").click()
    counts = [page.locator("#graph g.node").count()]
    for _ in range(3):
        button.first.click()
        counts.append(page.locator("#graph g.node").count())
    assert counts == sorted(counts) and counts[1] > counts[0] and counts[2] > counts[1]


def test_unfolding_stops_at_the_most_boxes(opened):
    with tf.Graph().as_default() as graph:
        for scope in range(4):
            with tf.name_scope(f"part_{scope}"):
                x = tf.constant(1.0, name="x")
                for i in range(150):
                    x = (tf.negative, tf.square, tf.exp, tf.sqrt)[(i + scope) % 4](
                        x, name=f"{'abcd'[i % 4]}_{i}"
                    )
    page = opened(tf.place(graph, "cpu"))
    for _ in range(4):
        before = page.evaluate(SHOWN)
        box = page.locator("#graph g.node.scope").first.get_attribute("id")
        page.evaluate("(id) => window.gpuplacePage.send({ type: 'toggle', id })", box)
        after = page.evaluate(SHOWN)
        assert kept(before, after, [box])
        for bundle in page.locator("#graph g.node.bundle").evaluate_all(
            "(all) => all.map((group) => group.id)"
        )[:2]:
            before = page.evaluate(SHOWN)
            page.evaluate("(id) => window.gpuplacePage.send({ type: 'toggle', id })", bundle)
            assert kept(before, page.evaluate(SHOWN), [bundle])
        assert page.locator("#graph g.node").count() <= 300


@pytest.mark.parametrize("name", ["resnet_true", "dcgan"])
def test_what_is_unfolded_stays_under_the_pointer_and_siblings_keep_their_order(opened, name):
    page = opened(corpus_graph(name), name)
    page.get_by_role("button", name="Fold all").click()
    page.get_by_role("button", name="Fit the whole picture").click()
    start = page.evaluate(SHOWN)
    for box in list(start)[1:8:2]:
        before = page.evaluate(SHOWN)
        group = page.locator(f"#{box}")
        if "scope" not in group.get_attribute("class"):
            continue
        x, y = before[box]["x"] + before[box]["width"] / 2, before[box]["y"] + before[box]["height"] / 2
        page.mouse.dblclick(x, y)
        frame = f"c{box[1:]}"
        page.locator(f"#{frame}").wait_for()
        after = page.evaluate(SHOWN)
        at = after[frame]
        assert at["x"] < x < at["x"] + at["width"] and at["y"] < y < at["y"] + at["height"]
        x, y = at["x"] + 12, at["y"] + 8  # beside its name
        page.mouse.dblclick(x, y)
        page.locator(f"#{box}").wait_for()
        at = page.evaluate(SHOWN)[box]
        assert abs(at["x"] + at["width"] / 2 - x) < 3 and abs(at["y"] + at["height"] / 2 - y) < 3
        page.get_by_role("button", name="Fit the whole picture").click()
        again = page.evaluate(SHOWN)
        order = sorted(before, key=lambda key: (before[key]["y"], before[key]["x"]))
        assert order == sorted(again, key=lambda key: (again[key]["y"], again[key]["x"]))


UNFOLDED = """() => {
    const model = window.gpuplacePage, start = new Set(model.opened), found = [];
    const places = () => new Map([...model.drawn.at]
        .filter(([id, { x }]) => id !== "c0" && x !== undefined).map(([id, { x, y, w, h }]) => [id, { x, y, w, h }]));
    const isAround = (a, b) => a.x <= b.x && a.y <= b.y && a.x + a.w >= b.x + b.w && a.y + a.h >= b.y + b.h;
    for (const { id, kind, scopes } of [...model.drawn.boxes]) {
        if (kind !== "scope") continue;
        const before = places();
        model.send({ type: "toggle", id });
        const after = places();
        const [was, is] = [before.get(id), after.get(`c${scopes[0]}`)];
        // Seen from the middle of the upper side of what is unfolded, which stays on the screen.
        const [right, down] = [is.x + is.w / 2 - was.x - was.w / 2, is.y - was.y];
        const room = { x: Math.max(0, is.w - was.w), y: Math.max(0, is.h - was.h) };
        for (const [other, at] of before) {
            const now = after.get(other);
            if (!now || other === id || isAround(at, was)) continue;
            const moved = { x: Math.abs(now.x - at.x - right), y: Math.abs(now.y - at.y - down) };
            found.push([id, other, moved.x - room.x, moved.y - room.y]);
        }
        model.opened = new Set(start);
        model.drawn = null;
        model.paint();
    }
    return found;
}"""


@pytest.mark.parametrize("name", ["towers_1", "resnet_true", "dcgan", "sequence_to_sequence"])
def test_unfolding_moves_nothing_farther_than_the_room_that_it_takes_and_a_box_s_height(opened, name):
    page = opened(corpus_graph(name), name)
    moved = page.evaluate(UNFOLDED)
    assert len({box for box, *_ in moved}) > 3
    height = 60.0  # of a box
    too_far = [one for one in moved if max(one[2:]) > height]
    assert too_far == []

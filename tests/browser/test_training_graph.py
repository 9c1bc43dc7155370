"""Training graphs of 10,000 and of 100,000 nodes: every control and view, tables that scroll, and how quick it all is.

The figures are printed (``pytest -s``), not asserted: machines are noisy.
"""

import re

import pytest

from tests.browser.conftest import VIEWPORT, write_notebook
from tests.browser.jupyterlab import Watch, open_notebook

pytestmark = [pytest.mark.browser]

GRAPH = """
import time
import gpuplace as tf

with tf.Graph().as_default() as graph:
    losses = []
    for tower in range(4):
        with tf.device(f"/gpu:{tower}"), tf.name_scope(f"tower_{tower}"):
            x = tf.placeholder(tf.float32, [32, 8], name="x")
            for layer in range(LAYERS):
                with tf.name_scope(f"layer_{layer}"):
                    w = tf.Variable(tf.zeros([8, 8]), name="w")
                    x = tf.nn.relu(tf.matmul(x, w) + 1.0)
            losses.append(tf.reduce_mean(x))
    with tf.device("/cpu:0"):
        loss = tf.add_n(losses, name="loss")
    grads = tf.gradients(loss, tf.trainable_variables())
    with tf.name_scope("train"):
        for w, g in zip(tf.trainable_variables(), grads):
            tf.assign_sub(w, 0.1 * g)
tf.explore(tf.Graph())
"""
EXPLORE = """
began = time.time()
explorer = tf.explore(graph, machine="4x Tesla K20m")
display(explorer)
print("began at", began)
"""
FIRST = """() => {
    window.firstPicture = 0;
    new MutationObserver(() => {
        if (!window.firstPicture && document.querySelector('.gp-canvas svg g.node')) {
            window.firstPicture = -1;
            requestAnimationFrame(() => requestAnimationFrame(() => { window.firstPicture = Date.now() / 1000; }));
        }
    }).observe(document.body, { childList: true, subtree: true });
}"""
REPAINT = """(label) => new Promise((done) => {
    const root = document.querySelector('.gp-explorer');
    const legend = root.querySelector('.gp-legend').textContent;
    const field = [...root.querySelectorAll('.gp-gpus input')].find((found) => found.ariaLabel.startsWith(label));
    const start = performance.now();
    const look = () => {
        if (root.querySelector('.gp-legend').textContent !== legend) {
            requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
        } else setTimeout(look, 2);
    };
    field.click();
    look();
})"""
LIGHT = """(what) => new Promise((done) => {
    const root = [...document.querySelectorAll('.gp-explorer')].at(-1);
    const choice = root.querySelector('.gp-lights select');
    const text = root.querySelector('.gp-lit-text');
    const before = text.textContent;
    const start = performance.now();
    const look = () => {
        if (text.textContent !== before && root.querySelector('.gp-canvas g.node.gp-on')) {
            requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - start)));
        } else setTimeout(look, 2);
    };
    choice.value = what;
    choice.dispatchEvent(new Event('change'));
    look();
})"""
SIZES = {139: "10,051", 1389: "100,051"}


@pytest.fixture(scope="module", params=SIZES)
def opened(request, browser, jupyter):
    """(page with the explorer, number of nodes as text); the first explorer of the process has been made before."""
    with jupyter.fresh() as base:
        write_notebook(jupyter.root / "train.ipynb", f"LAYERS = {request.param}{GRAPH}", EXPLORE)
        page = browser.new_page(viewport=VIEWPORT)
        page.watch = Watch(base).over(page)
        open_notebook(page, base, "train.ipynb")
        page.keyboard.press("Control+b")
        _run(page, 0)
        page.wait_for_function("() => document.querySelector('.gp-explorer')", timeout=120_000)
        page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[0].model.clearExecution()")
        before = _heap(page)
        page.evaluate(FIRST)
        _run(page, 1)
        page.wait_for_function("() => window.firstPicture > 0", timeout=60_000)
        output = page.locator(".jp-OutputArea-output", has_text="began at").first
        began = float(re.search(r"[\d.]+$", output.inner_text().strip())[0])
        seconds = page.evaluate("() => window.firstPicture") - began
        print(f"\n{SIZES[request.param]} nodes: first picture after {seconds:.2f} s;", end=" ")
        print(f"heap of the page {before:.0f} MB before, {_heap(page):.0f} MB after")
        yield page, SIZES[request.param]
        page.close()
        assert page.watch.errors == []
        assert page.watch.elsewhere == []


def _run(page, number):
    page.locator(".jp-CodeCell").nth(number).locator(".cm-content").click()
    page.keyboard.press("Control+Enter")


def _heap(page) -> float:
    """MB of JavaScript objects after a garbage collection."""
    client = page.context.new_cdp_session(page)
    client.send("HeapProfiler.collectGarbage")
    client.send("Performance.enable")
    metrics = {item["name"]: item["value"] for item in client.send("Performance.getMetrics")["metrics"]}
    client.detach()
    return metrics["JSHeapUsedSize"] / 1e6


@pytest.fixture
def explorer(opened):
    return opened[0].locator(".gp-explorer").last


def test_it_opens_folded_and_repaints(opened, explorer, screenshots):
    from playwright.sync_api import expect

    page, nodes = opened
    assert 0 < explorer.locator(".gp-canvas g.node").count() <= 300
    expect(explorer.locator(".gp-legend")).to_contain_text(f"{nodes} nodes in")
    explorer.screenshot(path=screenshots / f"train-{nodes}.png")
    explorer.get_by_label("Soft placement").check()
    times = [page.evaluate(REPAINT, f"GPU {gpu} ·") for gpu in (3, 2, 1, 3, 2, 1)]
    print(f"{nodes} nodes: from a click to the repainted page", [round(ms) for ms in times], "ms;", end=" ")
    print(f"heap {_heap(page):.0f} MB")
    expect(explorer.locator(".gp-legend")).to_contain_text("GPU:3")
    explorer.get_by_label("Soft placement").uncheck()
    expect(explorer.get_by_role("alert")).to_have_count(0)


def test_the_table_scrolls_to_its_end(opened, explorer, screenshots):
    from playwright.sync_api import expect

    page, nodes = opened
    table = explorer.get_by_role("grid", name="Nodes and their devices")
    expect(table).to_have_attribute("aria-rowcount", str(int(nodes.replace(",", "")) + 1))
    assert table.locator("tr[data-row]").count() < 80
    first = table.locator("tr[data-row]").first
    expect(first).to_contain_text("tower_0/x")
    ms = page.evaluate(
        """() => new Promise((done) => {
            const scroll = [...document.querySelectorAll('.gp-explorer')].at(-1).querySelector('.gp-rows .gp-scroll');
            const start = performance.now();
            scroll.scrollTop = scroll.scrollHeight;
            const look = () => {
                const last = scroll.querySelector('tbody tr:last-child');
                if (last?.dataset.key?.startsWith('train/')) done(performance.now() - start);
                else setTimeout(look, 2);
            };
            setTimeout(look, 0);
        })"""
    )
    print(f"{nodes} nodes: the table's last rows are there after {ms:.0f} ms")
    last = table.locator("tr[data-row]").last
    expect(last).to_contain_text("train/")
    last.click()
    expect(explorer.locator(".gp-why h3")).to_contain_text("train/")
    expect(last).to_have_attribute("aria-selected", "true")
    explorer.screenshot(path=screenshots / f"train-end-{nodes}.png")
    table.focus()
    for key in ("Home", "ArrowDown", "PageDown", "ArrowUp"):
        page.keyboard.press(key)
    row = re.search(r"\d+$", table.get_attribute("aria-activedescendant"))[0]
    assert 5 < int(row) < 40
    page.keyboard.press("Enter")
    selected = table.locator("tr[aria-selected=true]")
    expect(selected).to_have_attribute("data-row", row)
    name = selected.get_attribute("data-key")
    expect(explorer.locator(".gp-why h3")).to_have_text(name)
    page.keyboard.press("End")
    expect(table.locator("tr.gp-active")).to_contain_text("train/")


def test_sorting_and_filtering_keep_what_is_selected(opened, explorer):
    from playwright.sync_api import expect

    _, nodes = opened
    table = explorer.get_by_role("grid", name="Nodes and their devices")
    explorer.get_by_label("Find an op by regular expression").fill("tower_2/layer_100/Relu$")
    explorer.get_by_label("Find an op by regular expression").press("Enter")
    chosen = table.locator("tr[aria-selected=true]")
    expect(chosen).to_have_attribute("data-key", "tower_2/layer_100/Relu")
    table.get_by_role("button", name="assigned").click()
    expect(table.get_by_role("columnheader", name="assigned")).to_have_attribute("aria-sort", "ascending")
    expect(chosen).to_have_attribute("data-key", "tower_2/layer_100/Relu")
    table.get_by_role("button", name="node").click()
    expect(table.get_by_role("columnheader", name="node")).to_have_attribute("aria-sort", "ascending")
    table.get_by_role("button", name="node").click()
    expect(table.get_by_role("columnheader", name="node")).to_have_attribute("aria-sort", "descending")
    filter_box = explorer.get_by_label("Filter rows by regular expression: Nodes and")
    filter_box.fill("layer_100/.*GPU:2")
    expect(explorer.locator(".gp-table-head").first).to_contain_text(re.compile(rf"of {nodes} rows"))
    expect(chosen).to_have_attribute("data-key", "tower_2/layer_100/Relu")
    filter_box.fill("no such node")
    expect(explorer.locator(".gp-empty").first).to_have_text("No row matches the filter.")
    filter_box.fill("")
    table.get_by_role("button", name="node").click()
    expect(table.get_by_role("columnheader", name="node")).to_have_attribute("aria-sort", "none")


def test_what_an_op_depends_on_is_lit(opened, explorer, screenshots):
    from playwright.sync_api import expect

    page, nodes = opened
    choice = explorer.get_by_label("Highlight", exact=True)
    explorer.get_by_label("Find an op by regular expression").fill("tower_1/layer_100/Relu$")
    explorer.get_by_label("Find an op by regular expression").press("Enter")
    expect(explorer.locator(".gp-why h3")).to_have_text("tower_1/layer_100/Relu")
    times = {}
    for what in ("inputs", "consumers", "both", "path by ops"):
        times[what] = round(page.evaluate(LIGHT, what))
        choice.select_option("")
        expect(explorer.locator(".gp-canvas")).not_to_have_class(re.compile("gp-lighting"))
    print(f"{nodes} nodes: from a choice to the lit page", times, "ms")
    choice.select_option("inputs")
    told = explorer.locator(".gp-lit-text")
    expect(told).to_contain_text(
        re.compile(
            r"what tower_1/layer_100/Relu depends on: [\d,]+ nodes on GPU:1; 1 copy between devices, 1.0 KiB"
        )
    )
    number = int(re.search(r": ([\d,]+) nodes", told.inner_text())[1].replace(",", ""))
    assert number > 500
    badges = explorer.locator(".gp-canvas .gp-badge")
    expect(badges.first).to_contain_text(re.compile(r"◉ [\d,]+ of [\d,]+"))
    assert explorer.locator(".gp-canvas g.node.gp-off").count() > 0
    explorer.screenshot(path=screenshots / f"train-lit-{nodes}.png")
    explorer.get_by_label("Only these in the tables").check()
    expect(explorer.locator(".gp-table-head").first).to_contain_text(f"{number + 1:,} of {nodes} rows")
    choice.select_option("consumers")
    expect(told).to_contain_text("GPU:1")
    expect(told).to_contain_text("CPU:0 1")
    expect(told).to_contain_text(re.compile(r"cop(y|ies) between devices, "))
    choice.select_option("path by bytes")
    expect(told).to_contain_text("most bytes copied between devices")
    explorer.screenshot(path=screenshots / f"train-path-{nodes}.png")
    explorer.get_by_label("Only these in the tables").uncheck()
    choice.select_option("")
    expect(badges).to_have_count(0)
    expect(explorer.locator(".gp-table-head").first).to_contain_text(f"{nodes} rows")


def test_every_view(opened, explorer, screenshots):
    from playwright.sync_api import expect

    _, nodes = opened

    def front(tab):
        explorer.get_by_role("tab", name=tab, exact=True).click()

    def shoot(name):
        explorer.screenshot(path=screenshots / f"train-{name}-{nodes}.png")

    front("Log")
    log = explorer.get_by_role("grid", name="Placement log")
    expect(log).to_have_attribute("aria-rowcount", re.compile("^100"))
    explorer.get_by_label("Find an op by regular expression").fill("tower_3/layer_90/MatMul$")
    explorer.get_by_label("Find an op by regular expression").press("Enter")
    expect(log.locator("tr[aria-selected=true]")).to_contain_text("tower_3/layer_90/MatMul: (MatMul): /job")
    shoot("log")
    front("Copies")
    copies = explorer.get_by_role("grid", name="Copies between devices")
    copies.locator("tr[data-key]").first.click()
    expect(explorer.locator(".gp-why h3")).to_have_text(
        copies.locator("tr[data-key]").first.get_attribute("data-key")
    )
    front("Memory")
    memory = explorer.get_by_role("table", name="Memory by device")
    expect(memory).to_contain_text("KiB")
    shoot("memory")
    front("Devices")
    expect(explorer.get_by_role("table", name="From GPUs to devices")).to_contain_text("0000:83:00.0")
    front("Compare")
    explorer.get_by_role("button", name="Pin the current placement").click()
    explorer.get_by_label("Soft placement").check()
    explorer.get_by_label("GPU 2 ·").uncheck()
    expect(explorer.get_by_role("table", name="Moves by cause")).to_be_visible()
    moved = explorer.get_by_role("grid", name="Nodes that moved")
    expect(moved.locator("tr[data-key]").first).to_be_visible()
    expect(explorer.locator(".gp-legend")).to_contain_text("moved")
    shoot("compare")
    explorer.get_by_label("Soft placement").uncheck()
    expect(explorer.get_by_role("alert")).to_contain_text("/device:GPU:")
    front("Errors")
    errors = explorer.locator(".gp-panel").filter(has_text="Remedies (tested)")
    errors.locator(".gp-node").first.click()
    expect(explorer.locator(".gp-why")).to_contain_text("none left")
    shoot("errors")
    errors.get_by_role("button", name="Show all GPUs").click()
    expect(explorer.get_by_role("alert")).to_have_count(0)
    expect(explorer.get_by_label("GPU 2 ·")).to_be_checked()
    front("Compare")
    explorer.get_by_role("button", name="Stop comparing").click()
    front("Table")


def test_every_setting(opened, explorer, screenshots):
    from playwright.sync_api import expect

    page, nodes = opened
    explorer.get_by_label("Soft placement").check()
    legend = explorer.locator(".gp-legend")
    explorer.get_by_role("button", name=re.compile("^Settings")).click()

    def type_into(label, text):
        field = explorer.get_by_label(label, exact=True)
        field.fill(text)
        field.press("Enter")
        return field

    type_into("CUDA_VISIBLE_DEVICES", "1,0")
    expect(explorer.get_by_label("GPU 0 · Tesla K20m → GPU:1")).to_be_checked()
    expect(explorer.get_by_label("GPU 2 ·")).not_to_be_checked()
    expect(legend).not_to_contain_text("GPU:2")
    explorer.get_by_label("GPU 0 ·").uncheck()
    expect(explorer.get_by_label("CUDA_VISIBLE_DEVICES", exact=True)).to_have_value("1")
    explorer.get_by_role("button", name="Unset CUDA_VISIBLE_DEVICES").click()
    expect(legend).to_contain_text("GPU:3")
    explorer.get_by_label("CUDA_DEVICE_ORDER").select_option("PCI_BUS_ID")
    expect(explorer.get_by_role("button", name=re.compile("^Settings"))).to_contain_text("(1 set)")
    bad = type_into("visible_device_list", "0,7")
    expect(explorer.get_by_role("alert")).to_contain_text("listed an invalid GPU id '7'")
    expect(bad).to_have_attribute("aria-invalid", "true")
    expect(explorer.locator(".gp-stale-tag")).to_be_visible()
    explorer.screenshot(path=screenshots / f"train-stale-{nodes}.png")
    type_into("visible_device_list", "3,2")
    expect(explorer.locator(".gp-stale-tag")).to_have_count(0)
    expect(explorer.get_by_label("GPU 3 · Tesla K20m → GPU:0")).to_be_checked()
    type_into("device_count GPU", "1")
    expect(legend).not_to_contain_text("GPU:1")
    type_into("device_count CPU", "2")
    expect(legend).to_contain_text("CPU:1")
    type_into("device_count CPU", "two")
    expect(explorer.get_by_role("alert")).to_contain_text("must be an integer")
    type_into("per_process_gpu_memory_fraction", "0.25")
    explorer.get_by_label("allow_growth").check()
    explorer.get_by_role("tab", name="Devices").click()
    expect(explorer.get_by_role("table", name="From GPUs to devices")).to_contain_text("1.2 GiB")
    explorer.get_by_role("tab", name="Memory").click()
    panel = explorer.locator(".gp-panel").filter(has_text="reserves memory on demand")
    expect(panel).to_be_visible()
    explorer.get_by_role("button", name="Copy the settings as Python").click()
    code = explorer.get_by_label("Settings as Python", exact=True)
    expect(code).to_contain_text('visible_device_list="3,2", allow_growth=True')
    expect(code).to_contain_text("def same_devices(op)")
    explorer.get_by_role("button", name="Close the program text").click()
    explorer.get_by_label("allow_growth").focus()
    page.keyboard.press("Control+z")
    expect(explorer.get_by_label("allow_growth")).not_to_be_checked()
    page.keyboard.press("Control+Shift+Z")
    expect(explorer.get_by_label("allow_growth")).to_be_checked()
    explorer.get_by_label("Colour by").select_option("type")
    expect(legend).to_contain_text("MatMul")
    explorer.get_by_label("Colour by").select_option("assigned")
    undo = explorer.get_by_role("button", name="Undo the last change (Ctrl+Z)")
    while undo.is_enabled():
        undo.evaluate("button => button.click()")  # may be the last: a click would wait for the next
        page.wait_for_timeout(60)
    expect(explorer.get_by_label("visible_device_list", exact=True)).to_have_value("")
    expect(explorer.get_by_label("Soft placement")).not_to_be_checked()
    explorer.get_by_role("tab", name="Table").click()

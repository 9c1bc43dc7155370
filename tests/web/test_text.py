"""The scripts' own search: what it finds, and that no pattern keeps the page busy."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from gpuplace.web.modules import modules
from gpuplace.web.rules import words

DENO = shutil.which("deno")
pytestmark = pytest.mark.skipif(DENO is None, reason="needs deno, which runs scripts without a browser")
SLOW = [
    r"(a+)+$",
    r"(a|a)*$",
    r"(a|aa)+$",
    r"(.*)*x",
    r"(x+x+)+y",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"(a?){30}a{30}",
    r"((a{1,20}){1,20}){1,20}$",
    r".*.*.*.*.*.*x",
    r"(a?a?)*b",
    r"(?:a+)*$",
    r"(\w+)\1",
    r"(?<n>a+)\k<n>b",
]
GOOD = [
    (r"a.*b", "xaab"),
    (r"tower_\d+/w$", "tower_12/w"),
    (r"layer_(7|8)/.*Add|layer_7/add", "layer_8/BiasAdd"),
    (r"conv\d+(_\d+)?/w", "conv2_1/w"),
    (r"(?:tower_(0|1)/)?x", "tower_1/x"),
    (r"[(+]*x", "((x"),
    (r"grad.*conv.*w.*1", "gradients/conv/w_1"),
    (r"MATMUL", "MatMul"),
]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """`run(text)`: what a script that imports the modules prints, as JSON."""
    folder = tmp_path_factory.mktemp("scripts")
    imports = {}
    for name, text in modules("gpuplace/text.js").items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        imports[name] = path.as_uri()
    (folder / "deno.json").write_text(json.dumps({"imports": imports}))

    def run_script(text):
        script = Path(folder / "script.js")
        script.write_text(text, encoding="utf-8")
        command = [DENO, "run", "--quiet", "--no-lock", "--config", str(folder / "deno.json"), str(script)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    return run_script


def test_patterns(run):
    cases = [*GOOD, *((pattern, "a" * 60) for pattern in SLOW), ("(", "f(x)"), ("[a", "x[ab")]
    found = run(
        f"""import {{ searcher }} from "gpuplace/text.js";
        console.log(JSON.stringify({json.dumps(cases)}.map(([pattern, text]) => {{
            const search = searcher(pattern);
            const isFound = search.test(text);
            return [pattern, search.note, isFound, search.test("none of it")];
        }})));"""
    )
    assert found == [
        *([pattern, "", True, False] for pattern, _ in GOOD),
        *([pattern, words("slow_pattern"), False, False] for pattern in SLOW),
        ["(", words("wrong_pattern"), True, False],
        ["[a", words("wrong_pattern"), True, False],
    ]


def test_a_slow_pattern_is_given_up(run):
    """What grows as a power of the length is searched for as it is in long texts, and after a while in all."""
    found = run(
        """import { searcher } from "gpuplace/text.js";
        const search = searcher("x.*x.*x.*y");
        const isLong = search.test("x".repeat(5000));
        const names = Array.from({ length: 100000 }, () => "x".repeat(110));
        const found = names.filter((name) => search.test(name)).length;
        console.log(JSON.stringify([isLong, found, search.note]));"""
    )
    assert found == [False, 0, words("slow_pattern")]

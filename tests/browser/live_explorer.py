"""An explorer's picture on a page of its own, without a notebook: the page asks, and Python answers."""

from collections.abc import Callable
from typing import Any

from tests.browser.test_graph_view import page_with

PLACES = """() => Object.fromEntries([...document.querySelectorAll("g.node, g.cluster")].map((group) => {
    const outline = group.querySelector("path, polygon");
    const { x, y, width, height } = outline.getBBox();
    const seen = outline.getBoundingClientRect();
    return [group.id, { x, y, w: width, h: height,
        seen: { x: seen.x, y: seen.y, w: seen.width, h: seen.height } }];
}))"""


class LiveExplorer:
    """A page that shows the picture of an explorer, and its answers to what is done on it."""

    def __init__(self, browser: Any, explorer: Any, theme: str = "light") -> None:
        self.explorer = explorer
        self.graph = explorer._views.graph
        self.page = page_with(browser, self._state(), theme, width=1100, height=900)
        self.page.wait_for_function("window.sent.some((message) => message.type === 'canvas')")
        self._heard = 0
        self.answer()

    def _state(self) -> dict[str, Any]:
        return {name: value for name, value in self.graph.get_state().items() if not name.startswith("_")}

    def answer(self) -> None:
        """Let Python answer what the page has sent since, and show the answers on the page, until it sends no more."""
        while new := self.page.evaluate("window.sent")[self._heard :]:
            self._heard += len(new)
            self.change(lambda new=new: [self.graph._handle_custom_msg(message, []) for message in new])

    def change(self, act: Callable[[], Any]) -> None:
        """Do something to the explorer, and show what it changes on the page."""
        before = self._state()
        act()
        changed = {name: value for name, value in self._state().items() if value != before[name]}
        self.page.evaluate("(values) => window.change(values)", changed)

    def places(self) -> dict[str, dict[str, Any]]:
        """Id of each box and open scope -> left, top, width and height in the picture, and where it is ``seen``."""
        return self.page.evaluate(PLACES)

    def unfold(self, box: str) -> tuple[float, float]:
        """Double-click on the middle of a box, and return the place."""
        seen = self.places()[box]["seen"]
        return self._double_click(seen["x"] + seen["w"] / 2, seen["y"] + seen["h"] / 2)

    def fold(self, frame: str) -> tuple[float, float]:
        """Double-click on the upper left corner of an open scope, and return the place."""
        seen = self.places()[frame]["seen"]
        return self._double_click(seen["x"] + 12, seen["y"] + 8)

    def _double_click(self, x: float, y: float) -> tuple[float, float]:
        self.page.mouse.dblclick(x, y)
        self.answer()
        return x, y

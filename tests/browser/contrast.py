"""Which words of a page stand out too little: contrast as WCAG 2 computes it, of what the browser has painted."""

LEAST = 4.5
"""Contrast that level AA asks of text."""

_FAINT = """([selector, least]) => {
    const sheet = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const known = new Map();  // pages have few colours
    const rgba = (colour) => {
        if (!known.has(colour)) {
            sheet.clearRect(0, 0, 1, 1);
            sheet.fillStyle = colour;
            sheet.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = sheet.getImageData(0, 0, 1, 1).data;
            known.set(colour, [r, g, b, a / 255]);
        }
        return known.get(colour);
    };
    const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
    const light = (colour) => colour.slice(0, 3)
        .map((value) => value / 255)
        .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
        .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    const found = new Set();
    for (const element of document.querySelectorAll(`${selector} *`)) {
        const texts = [...element.childNodes].filter((node) => node.nodeType === 3);
        const words = texts.map((node) => node.data.trim()).join(' ').trim();
        if (!words || element.closest('svg, option, :disabled, [aria-hidden=true]')) continue;
        if (!element.checkVisibility()) continue;
        const around = [];
        for (let at = element; at; at = at.parentElement) around.unshift(getComputedStyle(at));
        let ground = [255, 255, 255, 1];
        let opacity = 1;
        for (const style of around) {
            ground = over(rgba(style.backgroundColor), ground);
            opacity *= Number(style.opacity);
        }
        const ink = rgba(around.at(-1).color);
        const seen = over([...ink.slice(0, 3), ink[3] * opacity], ground);
        const [low, high] = [light(seen), light(ground)].sort((a, b) => a - b);
        const ratio = (high + 0.05) / (low + 0.05);
        if (ratio < least) found.add(`${ratio.toFixed(2)} ${words.slice(0, 40)} .${element.className}`);
    }
    return [...found];
}"""


def faint_words(page, selector: str, least: float = LEAST) -> list[str]:
    """Words inside the elements that have less contrast to what is behind them, with their ratio."""
    return page.evaluate(_FAINT, [selector, least])

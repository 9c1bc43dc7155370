// A page follows the theme that the browser asks for, also while it is open.

const scheme = matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.setAttribute("theme", scheme.matches ? "dark" : "light");
scheme.addEventListener("change", follow);
follow();

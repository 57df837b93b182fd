// What is wider than the page scrolls; with the focus on it, the arrow keys scroll it too.
const WIDE = "pre, .formula, .text_html, .pst-scrollable-table-container, p:has(> math)";

function mark() {
  for (const part of document.querySelectorAll(WIDE)) {
    if (part.scrollWidth > part.clientWidth && part.tabIndex < 0) {
      part.tabIndex = 0;
      part.setAttribute("role", "group");
      part.setAttribute("aria-label", "scrolls sideways");
    }
  }
}

addEventListener("load", mark);
addEventListener("resize", mark);
addEventListener("deepdive-predict", mark); // what was hidden had no width either
document.addEventListener("toggle", mark, true); // what was folded has no width before

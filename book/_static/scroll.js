// What is wider than the page scrolls, and a shade at the edge says that there is more; with the
// focus on it, the arrow keys scroll it too.
const WIDE = "pre, .formula, p:has(> math), .dd-picture, .film figure, .still, .dd-still, .text_html, " +
  ".pst-scrollable-table-container";

function shade(part) {
  const left = part.scrollLeft > 1;
  const right = part.scrollLeft + part.clientWidth < part.scrollWidth - 1;
  const more = [left && "left", right && "right"].filter(Boolean).join(" ");
  if (more) part.dataset.more = more;
  else delete part.dataset.more;
}

function mark() {
  for (const part of document.querySelectorAll(WIDE)) {
    if (part.scrollWidth > part.clientWidth && part.tabIndex < 0) {
      part.tabIndex = 0;
      part.setAttribute("role", "group");
      part.setAttribute("aria-label", "scrolls sideways");
      part.addEventListener("scroll", () => shade(part), { passive: true });
    }
    shade(part);
  }
}

addEventListener("load", mark);
addEventListener("resize", mark);
addEventListener("deepdive-predict", mark); // what was hidden had no width either
document.addEventListener("toggle", mark, true); // what was folded has no width before

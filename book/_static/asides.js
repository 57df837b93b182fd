// A section that a page marks as an aside is folded under its heading. It opens when a link leads
// into it, and on paper; without scripts it stands open.
for (const mark of document.querySelectorAll(".aside-mark")) {
  const section = mark.closest("section"), heading = section.querySelector("h2, h3, h4");
  const fold = document.createElement("details"), summary = document.createElement("summary");
  fold.className = "aside";
  fold.append(summary, ...[...section.childNodes].filter(node => node !== heading));
  summary.append(heading);
  section.append(fold);
}

// The place that the address names; one such as `#%` names none.
const named = () => {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
};
const reveal = () => {
  const target = document.getElementById(named());
  for (let part = target; part; part = part.parentElement)
    if (part.matches("details.aside")) part.open = true;
  const own = target && target.querySelector(":scope > details.aside");
  if (own) own.open = true;
  if (target) target.scrollIntoView();
};
addEventListener("hashchange", reveal);
reveal();

addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details.aside")) fold.open = true;
});

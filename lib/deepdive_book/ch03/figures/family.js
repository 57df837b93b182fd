const box = document.getElementById(given.id);
const rows = [...box.querySelectorAll(".fm-row")], cards = [...box.querySelectorAll(".fm-card")];
const tree = box.querySelector(".fm-tree"), places = box.querySelector(".fm-places");
const choose = (id, focus = false) => {
  for (const row of rows) {
    const yes = row.dataset.id === id;
    row.setAttribute("aria-checked", yes);
    row.setAttribute("tabindex", yes ? 0 : -1);
    if (yes && focus) row.focus();
  }
  for (const card of cards) card.hidden = card.dataset.id !== id;
};
tree.setAttribute("role", "radiogroup");
rows.forEach((row, i) => {
  row.setAttribute("role", "radio");
  row.setAttribute("aria-label", row.dataset.label);
  row.onclick = () => choose(row.dataset.id, true);
  row.onkeydown = event => {
    const last = rows.length - 1;
    const to = { ArrowDown: i + 1, ArrowRight: i + 1, ArrowUp: i - 1, ArrowLeft: i - 1,
      Home: 0, End: last, " ": i, Enter: i }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(rows[Math.max(0, Math.min(last, to))].dataset.id, true);
  };
});
places.onchange = event => {
  const place = event.target.value;
  for (const row of rows) {
    row.classList.toggle("fm-pale", place && !row.dataset.place.split(" ").includes(place));
  }
  const shown = rows.filter(row => !row.classList.contains("fm-pale"));
  if (shown.length && !shown.some(row => row.getAttribute("aria-checked") === "true")) {
    choose(shown[0].dataset.id);
  }
};
places.hidden = false;
box.classList.add("fm-live");
choose(given.chosen);

// The filter of the atlas: shows the rows that fit, counts them, opens the row that a link names.
(() => {
  const form = document.querySelector(".atlas-filter");
  const all = [...document.querySelectorAll(".atlas-rows details")];
  if (!form) return;
  const said = form.querySelector("output");
  const fits = (row, given) => {
    const words = given.words.toLowerCase().split(/\s+/).filter(Boolean);
    const year = Number(row.dataset.year);
    return words.every(word => row.dataset.words.includes(word))
      && ["place", "chapter", "growth", "status"].every(k => !given[k] || row.dataset[k] === given[k])
      && (!given.from || year >= Number(given.from)) && (!given.to || year <= Number(given.to));
  };
  const show = () => {
    const given = Object.fromEntries(new FormData(form));
    let count = 0;
    all.forEach(row => {
      row.hidden = !fits(row, given);
      count += !row.hidden;
    });
    document.querySelectorAll(".atlas-rows section").forEach(part => {
      part.hidden = ![...part.querySelectorAll("details")].some(row => !row.hidden);
    });
    said.textContent = count === 1 ? `1 of ${all.length} systems` : `${count} of ${all.length} systems`;
  };
  const open = () => {
    let named = "";
    try { named = decodeURIComponent(location.hash); } catch {} // such as `#%`, which names none
    const row = all.find(one => `#${one.id}` === named);
    if (!row) return;
    if (row.hidden) form.reset();
    show();
    row.open = true;
    row.scrollIntoView();
    row.querySelector("summary").focus({ preventScroll: true });
  };
  form.hidden = false;
  form.addEventListener("input", show);
  form.addEventListener("reset", () => setTimeout(show));
  form.addEventListener("submit", event => event.preventDefault());
  addEventListener("hashchange", open);
  document.addEventListener("click", event => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.getAttribute("href") === location.hash) open();
  });
  show();
  open();
})();

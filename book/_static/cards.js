// Cards: what the glossary says of a term, and the bibliography of a paper, beside the link to it.
// The words stand in the link's title; the card shows them to the mouse, the focus and a tap.
(() => {
  const LINKS = "a.term[title], a.paper[title]", SHOW = 250, HIDE = 200;
  const card = Object.assign(document.createElement("div"), { className: "card-tip", id: "card-tip" });
  card.setAttribute("role", "tooltip");
  card.hidden = true;
  document.body.append(card);
  let owner = null, timer = 0;

  const put = link => {
    const at = link.getClientRects()[0], size = card.getBoundingClientRect();
    const left = Math.min(at.left, document.documentElement.clientWidth - size.width - 8);
    const below = at.bottom + size.height + 8 < innerHeight || at.top < size.height + 8;
    card.style.left = `${Math.max(left, 8) + scrollX}px`;
    card.style.top = `${(below ? at.bottom + 6 : at.top - size.height - 6) + scrollY}px`;
  };
  const show = link => {
    clearTimeout(timer);
    if (owner === link) return;
    close();
    owner = link;
    const term = link.matches(".term");
    const more = document.createElement("a");
    more.href = link.href;
    more.textContent = term ? "In the glossary" : "In the bibliography";
    const text = document.createElement("p");
    text.textContent = link.dataset.card;
    card.replaceChildren(text, more);
    card.hidden = false;
    link.setAttribute("aria-describedby", card.id);
    put(link);
  };
  const close = () => {
    clearTimeout(timer);
    owner?.removeAttribute("aria-describedby");
    owner = null;
    card.hidden = true;
  };
  const later = (what, wait) => {
    clearTimeout(timer);
    timer = setTimeout(what, wait);
  };

  for (const link of document.querySelectorAll(LINKS)) {
    link.dataset.card = link.title;
    link.removeAttribute("title"); // the browser would show it as well
    link.addEventListener("pointerenter", event =>
      event.pointerType === "mouse" && later(() => show(link), SHOW));
    link.addEventListener("pointerleave", () => later(close, HIDE));
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", () => later(close, HIDE));
    // A finger cannot hover: its first tap shows the card, and the card leads on.
    link.addEventListener("click", event => {
      if (event.pointerType !== "touch") return;
      event.preventDefault();
      show(link);
    });
  }
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", () => later(close, HIDE));
  document.addEventListener("keydown", event => event.key === "Escape" && close());
  document.addEventListener("pointerdown", event =>
    owner && !card.contains(event.target) && !owner.contains(event.target) && close());
})();

// Reading paths and progress, kept in this browser alone under keys that begin with "deepdive:".
// What is read and drawn here stands in the pages already; without a store nothing is added.
(() => {
  const { pages, paths } = deepdivePaths; // of paths_data.js
  const PATH = "deepdive:path", READ = "deepdive:read/";
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  let store;
  try {
    store = window.localStorage;
    store.getItem(PATH);
  } catch (error) { /* no store: see below */ }
  if (!store) return;

  const find = (what, within = document) => within.querySelector(what);
  const all = what => [...document.querySelectorAll(what)];
  const make = (tag, text, given = {}) =>
    Object.assign(document.createElement(tag), { textContent: text, ...given });
  const keep = (key, value) => {
    try {
      if (value) store.setItem(key, value);
      else store.removeItem(key);
    } catch (error) { /* full, or closed since: then it is not kept */ }
    refresh();
  };

  const hours = minutes => [
    minutes >= 60 && `${Math.floor(minutes / 60)} h`,
    (minutes % 60 || !minutes) && `${minutes % 60} min`,
  ].filter(Boolean).join(" ");
  // As `spent` of book/paths.py says it.
  const about = minutes => {
    const halves = Math.round(minutes / 30);
    return minutes < 60 ? hours(minutes) : `${halves >> 1}${halves % 2 ? "½" : ""} h`;
  };
  const timeOf = steps => {
    const sum = done => steps.filter(step => /\/(exercises|clinic)$/.test(step[0]) === done)
      .reduce((total, step) => total + step[1], 0);
    if (!steps.length) return "0 min";
    return `${about(sum(false))} reading${sum(true) ? ` + ${about(sum(true))} exercises` : ""}`;
  };
  const nameOf = address => {
    const [path, start] = [new URL(address, location.href), root].map(u => decodeURI(u.pathname));
    return path.startsWith(start) ? path.slice(start.length).replace(/\.html$/, "") : "";
  };
  const here = nameOf(location.href);
  const isRead = name => store.getItem(READ + name) !== null;
  const link = name => make("a", pages[name][0], { href: `${new URL(name, root)}.html` });

  // The first page of a path that is not read, from the one after `name` on and then from the start.
  const after = (path, name) => {
    const place = path.steps.findIndex(step => step[0] === name) + 1;
    const later = [...path.steps.slice(place), ...path.steps.slice(0, place)];
    return later.find(step => !isRead(step[0]) && step[0] !== name);
  };
  const left = path => {
    const open = path.steps.filter(step => !isRead(step[0]));
    const count = path.steps.length - open.length;
    return { count, text: `${count} of ${path.steps.length} pages read, ${timeOf(open)} left` };
  };
  const onward = (path, name, words) => {
    const step = after(path, name);
    if (step) return [words, link(step[0]), `(${hours(step[1])})`];
    const [end, at] = path.end;
    return at === name ? [`last, ${end}`] : [`all read. Last: ${end}`, link(at)];
  };

  // The landing page: what is chosen, read and left.
  const showPath = (path, chosen) => {
    const mine = path.id === chosen, state = left(path), id = `[data-path="${path.id}"]`;
    all(`.path-cards ${id}, .path-map i${id}, .path-lists ${id}`)
      .forEach(part => part.classList.toggle("chosen", mine));
    all(`.path-map li[data-on~="${path.id}"]`)
      .forEach(row => mine && row.classList.add("chosen"));
    all(`${id} .path-sum`).forEach(place => {
      place.dataset.whole ??= place.textContent;
      place.textContent = state.count ? state.text : place.dataset.whole;
    });
    const card = find(`.path-cards ${id}`);
    if (!card) return;
    const title = find(".path-name a", card);
    if (mine) title.setAttribute("aria-current", "true");
    else title.removeAttribute("aria-current");
    const [words, next] = onward(path, "", state.count ? "Continue with" : "Start with");
    find(".path-go span", card).textContent = words;
    Object.assign(find(".path-go a", card), { href: next.href, textContent: next.textContent });
    const list = find(`.path-lists ${id}`);
    find(".path-leave", list)?.remove();
    if (!mine) return;
    const leave = make("button", "Leave this path", { type: "button" });
    leave.addEventListener("click", () => keep(PATH, ""));
    const line = make("p", "", { className: "path-leave" });
    line.append(leave);
    list.append(line);
  };

  // The end of a page: read or not, and where the path goes on.
  const article = find("article.bd-article");
  const reading = make("section", "", { className: "reading" });
  reading.setAttribute("aria-label", "Your reading");
  const mark = make("button", "", { type: "button" });
  const told = make("p", "", { role: "status" });
  mark.addEventListener("click", () => keep(READ + here, isRead(here) ? "" : "yes"));
  if (article && pages[here]) {
    reading.append(mark, told);
    article.append(reading);
  }
  const showPage = path => {
    mark.textContent = isRead(here) ? "Mark as not read" : "Mark as read";
    told.replaceChildren(isRead(here) ? "✓ Read. " : "");
    if (path) onward(path, here, "next is").forEach((part, i) => told.append(i ? " " : `${path.name}: `, part));
  };

  const showTicks = () => {
    const places = [".bd-sidebar-primary nav a.reference", ".path-map li a"];
    if (here === "contents") places.push(".bd-article a.reference");
    all(places.join()).forEach(each => {
      find(".tick", each)?.remove();
      if (!isRead(nameOf(each.href))) return;
      const tick = make("span", " ✓", { className: "tick" });
      tick.append(make("span", " read", { className: "visually-hidden" }));
      each.append(tick);
    });
  };

  const refresh = () => {
    const chosen = store.getItem(PATH);
    const path = paths.find(each => each.id === chosen);
    all(".path-map nav").forEach(map => map.classList.toggle("chosen", Boolean(path)));
    all(".path-map li.chosen").forEach(row => row.classList.remove("chosen"));
    paths.forEach(each => showPath(each, chosen));
    all(".path-map details:has(li.chosen)").forEach(chapter => { chapter.open = true; });
    showPage(path);
    showTicks();
  };

  document.addEventListener("click", event => {
    const card = event.target.closest("a[data-choose]")?.closest("[data-path]");
    if (!card) return;
    const list = find(`.path-lists [data-path="${card.dataset.path}"]`);
    all(".path-lists details[data-path]").forEach(each => { each.open = each === list; });
    keep(PATH, card.dataset.path);
  });
  all(".path-keep").forEach(box => {
    box.hidden = false;
    find(".path-file", box).hidden = location.protocol !== "file:";
    find("button", box).addEventListener("click", () => {
      Object.keys(store).filter(key => key.startsWith("deepdive:"))
        .forEach(key => store.removeItem(key));
      find("details", box).open = false;
      refresh();
    });
  });
  addEventListener("storage", refresh); // marked in another tab
  addEventListener("pageshow", event => event.persisted && refresh()); // back from a marked page
  refresh();
  const open = find(".path-lists details.chosen");
  if (open) open.open = true;
})();

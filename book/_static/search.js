// The search page: terms of the glossary first, then pages, each by its best section.
(() => {
  const { sections, glossary } = searchData; // of search_data.js, which book/finder.py writes
  const MOST = 25, AROUND = 110, REST = 0.2, SOME = 0.3, FEW = 3;

  // Masks, masked and masking are one word; a question's small words are none.
  const SMALL = new Set(("a an and are can do does for how in is it its more of on or should than that the to what "
    + "when which why with").split(" "));
  const process = term => {
    const word = term.toLowerCase();
    if (SMALL.has(word)) return null;
    return word.length > 5 ? word.replace(/(?:ing|ed|(?<!s)s)$/, "") : word.replace(/(?<=\w{3})(?<!s)s$/, "");
  };
  // A word with a hyphen is found by its pieces, and written as one word (backpropagation).
  const tokenize = text => text.split(/[^\p{L}\p{N}-]+/u).flatMap(word =>
    word.includes("-") ? [...word.split("-"), word.replaceAll("-", "")] : word).filter(Boolean);
  const index = new MiniSearch({
    fields: ["title", "terms", "heading", "text", "code"],
    extractField: (section, field) => field === "id" ? section.id : [section[field]].flat().join(" "),
    processTerm: process,
    tokenize,
  });
  const plain = text => text.split(/[^\p{L}\p{N}]+/u).filter(Boolean).map(process).filter(Boolean).join(" ");

  // A section whose own name is asked for comes before one that only uses the words.
  const has = (text, asked) => ` ${plain(text)} `.includes(` ${asked} `);
  const named = (section, asked) => {
    const own = section.heading || section.title;
    if (plain(own) === asked || section.terms.some(term => plain(term) === asked)) return 9;
    const page = has(section.title, asked) || has(asked, plain(section.title));
    return (page ? section.heading ? 1.5 : 4 : 1) * (has(own, asked) ? 2 : 1);
  };
  // What teaches comes before asides, cases and exercises, and these before what is about the book.
  const ASIDE = /^(Common mistake|Exercises|Further reading|In practice|The map|How it differs$|What differs$)/;
  const place = ({ page, heading }) => (ASIDE.test(heading) ? 0.4 : 1)
    * (/\/(exercises|clinic)$/.test(page) ? 0.3 : /^casestudies/.test(page) ? 0.7 : /\//.test(page) ? 1
      : /^(bibliography|ERRATA|errata)$/.test(page) ? 0.1 : 0.4);

  // Every name of what is asked for: an entry of the glossary has several.
  const names = query => {
    const entry = glossary.find(([name]) => plain(name) === plain(query));
    const others = entry ? glossary.filter(([, anchor]) => anchor === entry[1]).map(([name]) => name) : [];
    return [...new Set([query, ...others])];
  };

  const found = query => {
    const asked = names(query);
    const words = asked.map(plain);
    const options = {
      boost: { title: 4, terms: 6, heading: 3, text: 1, code: 0.5 },
      prefix: term => term.length > 2,
      fuzzy: term => term.length > 5 ? 0.2 : false,
      boostDocument: id => place(sections[id]) * Math.max(...words.map(each => named(sections[id], each))),
    };
    const queries = asked.map(each => ({ queries: [each], combineWith: "AND" }));
    const all = index.search({ queries, combineWith: "OR" }, options);
    // Where few pages that teach have all of the words, those with some of them come after.
    const teach = new Set(all.map(({ id }) => sections[id].page).filter(page => page.includes("/")));
    if (teach.size >= FEW) return all;
    const ids = new Set(all.map(({ id }) => id));
    const some = index.search(query, options).filter(({ id }) => !ids.has(id));
    return [...all, ...some.map(result => ({ ...result, score: SOME * result.score }))];
  };

  // A page counts by its best section, and a little by each of the others.
  const best = results => {
    const pages = new Map();
    for (const result of results) {
      const { page } = sections[result.id];
      if (pages.has(page)) pages.get(page).score += REST * result.score;
      else pages.set(page, { ...result });
    }
    return [...pages.values()].sort((a, b) => b.score - a.score);
  };

  const make = (tag, text, name = "") =>
    Object.assign(document.createElement(tag), { textContent: text, className: name });

  // Some words around the first that was looked for; those looked for are marked.
  const snippet = (text, terms) => {
    const escaped = terms.map(term => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    const wanted = new RegExp(`(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})[\\p{L}\\p{N}]*`, "giu");
    const at = Math.max(text.search(wanted), 0);
    const start = at > AROUND ? text.indexOf(" ", at - AROUND) + 1 : 0;
    const end = at + 2 * AROUND < text.length ? text.lastIndexOf(" ", at + 2 * AROUND) : text.length;
    const line = make("p", start ? "… " : "");
    const shown = text.slice(start, end);
    let rest = 0;
    for (const match of shown.matchAll(wanted)) {
      line.append(shown.slice(rest, match.index), make("mark", match[0]));
      rest = match.index + match[0].length;
    }
    line.append(shown.slice(rest), end < text.length ? " …" : "");
    return line;
  };

  const item = result => {
    const section = sections[result.id];
    const line = make("li", "");
    const address = `${section.page}.html${section.anchor ? `#${section.anchor}` : ""}`;
    const link = make("a", section.title);
    link.href = address;
    if (section.number) link.prepend(make("span", section.number, "number"), " ");
    line.append(link);
    if (section.heading) line.append(make("p", section.heading, "where"));
    // A section without prose of its own shows how its page begins.
    const text = section.text || sections.find(one => one.page === section.page).text;
    line.append(snippet(text, Object.keys(result.match)));
    return line;
  };

  const terms = query => {
    const asked = plain(query);
    const anchors = new Map(glossary
      .filter(([name]) => plain(name) === asked)
      .map(([name, anchor, definition]) => [anchor, [name, definition]]));
    return [...anchors].flatMap(([anchor, [name, definition]]) => {
      const link = Object.assign(make("a", name), { href: `glossary.html#${anchor}` });
      const term = make("dt", "");
      term.append(link, make("span", " in the glossary", "where"));
      return [term, make("dd", definition)];
    });
  };

  const query = new URLSearchParams(location.search).get("q")?.trim() ?? "";
  const field = document.querySelector(".bd-search-container input[name=q]");
  field.value = query;
  field.focus();
  field.select();
  if (!query) return;
  index.addAll(sections.map((section, id) => ({ ...section, id })));
  globalThis.pagesFor = asked => best(found(asked)).map(({ id }) => sections[id].page); // for tests
  const pages = best(found(query));
  const count = pages.length === 1 ? "1 page" : `${pages.length} pages`;
  const more = pages.length > MOST ? `; the best ${MOST} are shown` : "";
  document.querySelector(".search-summary").textContent = pages.length
    ? `Search finished: ${count}${more}.`
    : `Search finished: no page has “${query}”. Try fewer words, or look in the contents.`;
  document.querySelector(".search-terms").append(...terms(query));
  document.querySelector("#search-results").append(...pages.slice(0, MOST).map(item));
})();

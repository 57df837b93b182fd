// A text as pieces and as bytes. `given`: id, values (JSON).
const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const input = box.querySelector("input"), told = box.querySelector("[role=status]");
const [ofPieces, ofBytes] = box.querySelectorAll(".by-chips"), buttons = box.querySelectorAll("button");
const rank = new Map(spec.merges.map(([a, b], i) => [`${a} ${b}`, i]));
const byte = new Map(spec.visible.map((char, i) => [char, i]));
const WORDS = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;
const strict = new TextDecoder("utf-8", { fatal: true }), written = new TextEncoder();
let first = spec.text, draws = 1;
const shown = some => {
  try { return strict.decode(some).replaceAll(" ", "_"); }
  catch { return [...some].map(b => b.toString(16).padStart(2, "0")).join("").toUpperCase(); }
};
const merged = word => {
  let parts = [...written.encode(word)].map(b => spec.visible[b]);
  for (;;) {
    let best = Infinity, pair = "";
    for (let i = 0; i + 1 < parts.length; i += 1) {
      const key = `${parts[i]} ${parts[i + 1]}`, at = rank.get(key) ?? Infinity;
      if (at < best) { best = at; pair = key; }
    }
    if (best === Infinity) return parts;
    const next = [];
    for (let i = 0; i < parts.length; i += 1) {
      if (`${parts[i]} ${parts[i + 1]}` === pair) { next.push(parts[i] + parts[i + 1]); i += 1; }
      else next.push(parts[i]);
    }
    parts = next;
  }
};
const pieces = text => (text.match(WORDS) ?? []).flatMap(merged)
  .map(piece => shown(Uint8Array.from([...piece].map(char => byte.get(char)))));
const octets = text => [...written.encode(text)].map(b => shown(Uint8Array.of(b)));
const left = (was, are) => {
  const best = Array(are.length + 1).fill(0);
  for (const a of was) {
    let before = 0;
    are.forEach((b, j) => {
      const old = best[j + 1];
      best[j + 1] = a === b ? before + 1 : Math.max(best[j + 1], best[j]);
      before = old;
    });
  }
  return best.at(-1);
};
const draw = () => {
  const said = [`${[...input.value].length} characters.`];
  for (const [name, cut, chips] of [["pieces", pieces, ofPieces], ["bytes", octets, ofBytes]]) {
    const was = cut(first), are = cut(input.value);
    chips.replaceChildren(...are.map(each => {
      const chip = document.createElement("span");
      chip.textContent = each;
      return chip;
    }));
    said.push(`As ${name}: ${are.length}; of the first ${was.length} are left ${left(was, are)}.`);
  }
  told.textContent = said.join(" ");
};
const spoil = change => () => {
  const chars = [...input.value], places = chars.flatMap((c, i) => (/\p{L}/u.test(c) ? [i] : []));
  if (!places.length) return;
  draws = (draws * 48271) % 2147483647; // lots that are the same for every reader
  change(chars, places[draws % places.length]);
  input.value = [...chars.join("")].slice(0, input.maxLength).join("");
  draw();
};
[
  (chars, i) => chars.splice(i, 1),
  (chars, i) => { if (i + 1 < chars.length) chars.splice(i, 2, chars[i + 1], chars[i]); },
  (chars, i) => { chars[i] = chars[i].toUpperCase(); },
  (chars, i) => chars.splice(i, 0, chars[i]),
].forEach((change, i) => { buttons[i].onclick = spoil(change); });
buttons[4].onclick = () => { input.value = first; draw(); };
input.oninput = () => { first = input.value; draw(); };
for (const part of box.querySelectorAll(".by-type, .by-spoil")) part.hidden = false;
draw();

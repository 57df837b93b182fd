const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const all = box.querySelector(".lh-all"), told = box.querySelector("[role=status]");
const [sound, words, bars] = [".lh-sound", ".lh-words", ".lh-bars"].map(c => all.querySelector(c));
const row = box.querySelector(".lh-letters"), players = [...box.querySelectorAll("audio")];
const strings = [...box.querySelectorAll(".lh-strings input")];
const heads = [...box.querySelectorAll(".lh-heads input")];
const WIDE = 400, LEFT = 4, TOP = 20, HIGH = 84, BARS = 176, FOOT = 214, every = spec.every;
const weight = bars.querySelector("rect").getAttribute("fill");
const mark = bars.querySelector("path").getAttribute("fill");
let state = spec.strings[0], letter = spec.letter;
const x = frame => LEFT + (WIDE - 2 * LEFT) * frame / state.n;
const label = (at, y, text, anchor) => `<text x="${at.toFixed(1)}" y="${y}" font-size="12" ` +
  `text-anchor="${anchor}" fill="currentColor">${text}</text>`;
const drawWords = () => {
  let body = "";
  for (const [word, first, last] of state.words)
    body += label((x(first) + x(last)) / 2, 14, word.toLowerCase(), "middle") +
      `<path d="M${x(last).toFixed(1)} 4V${BARS}" stroke="#888" stroke-dasharray="4 3"/>`;
  const seconds = state.n * state.step, gap = seconds < 2.4 ? 0.5 : 1;
  for (let k = 0; k * gap <= seconds; k++)
    body += label(x(k * gap / state.step), FOOT - 4, `${k * gap} s`, k ? "middle" : "start");
  words.innerHTML = body;
  sound.setAttribute("href", state.png);
};
const show = () => {
  const shares = state.weights[heads.find(each => each.checked).value][letter];
  const most = Math.max(1, ...shares), sum = Math.max(1, shares.reduce((a, b) => a + b, 0));
  const wide = (WIDE - 2 * LEFT) * every / state.n, room = BARS - TOP - HIGH - 6;
  const centre = every * shares.reduce((a, share, s) => a + s * share, 0) / sum;
  bars.innerHTML = shares.map((share, s) => {
    const high = room * share / most;
    return `<rect x="${x(every * s).toFixed(1)}" y="${(BARS - high).toFixed(1)}" fill="${weight}" ` +
      `width="${(wide * 0.86).toFixed(1)}" height="${high.toFixed(1)}"/>`;
  }).join("") + `<path d="M${x(centre + every / 2).toFixed(1)} ${BARS + 3}l6 10h-12z" fill="${mark}"/>`;
  [...row.children].forEach((each, i) => each.setAttribute("aria-pressed", i === letter));
  const text = state.text, digit = [...text.slice(0, letter)].filter(c => c === " ").length;
  const who = letter === text.length ? "The decision to stop" : `Letter ${letter + 1} of ` +
    (text[letter] === " " ? `${text.length}, the space after word ${digit + 1}`
      : `${text.length}, ${text[letter]} of word ${digit + 1}`);
  const largest = every * shares.indexOf(Math.max(...shares));
  const here = state.words.find(([, first, last]) => first <= largest && largest < last);
  told.textContent = `${who}: the largest weight is ${(Math.max(...shares) / 1000).toFixed(2)}, at ` +
    `${(largest * state.step).toFixed(2)} s, ` +
    `${here ? "in " + here[0].toLowerCase() : "outside all words"}; the centre of all is at ` +
    `${(centre * state.step).toFixed(2)} s.`;
};
const go = to => { letter = Math.max(0, Math.min(state.text.length, to)); show(); };
const buttons = () => {
  row.innerHTML = [...state.text, "end"].map(c => `<button type="button" aria-label="` +
    `${c === " " ? "space" : c}">${c === " " ? "␣" : c}</button>`).join("");
  [...row.children].forEach((each, i) => { each.onclick = () => go(i); });
};
row.addEventListener("keydown", event => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by) return;
  event.preventDefault();
  go(letter + by);
  row.children[letter].focus();
});
strings.forEach((each, i) => { each.onchange = () => {
  state = spec.strings[i];
  players.forEach((player, k) => { player.hidden = k !== i; if (k !== i) player.pause(); });
  drawWords(); buttons(); go(0);
}; });
heads.forEach(each => { each.onchange = show; });
[...row.children].forEach((each, i) => { each.onclick = () => go(i); });
box.querySelector(".lh-heads").hidden = false;
box.querySelector(".lh-strings").hidden = strings.length < 2;
box.classList.add("lh-live");

const { said, true: truth, names } = JSON.parse(atob(given.answers)); // JSON's own escapes: bytes
const box = document.getElementById(given.id), told = box.querySelector("[role=status]");
const next = box.querySelector(".fs-next"), again = box.querySelector(".fs-again");
const asked = [...box.querySelectorAll("li")], n = asked.length;
const inputs = asked.map(li => [...li.querySelectorAll("input")]);
const guesses = () => inputs.map(row => row.findIndex(input => input.checked));
const hits = (from, to) => from.filter((guess, i) => guess === to[i]).length;
let phase = 0, first = []; // 0 without colours, 1 with them, 2 over
const say = () => {
  const left = guesses().filter(guess => guess < 0).length;
  next.setAttribute("aria-disabled", left > 0);
  told.textContent = left ? `${n - left} of ${n} guessed. Guess the model, not the truth.`
    : phase ? "The colours say how much a word counted. Change what you like, then see the score."
    : `All ${n} guessed. Now look at the examples with their colours.`;
};
const over = () => {
  const last = guesses(), changed = last.filter((guess, i) => guess !== first[i]).length;
  asked.forEach((li, i) => {
    const right = last[i] === said[i], wrong = said[i] === truth[i] ? "" : ", against the truth";
    li.querySelector(".fs-told").textContent = `${right ? "✓" : "✗"} it says ${names[said[i]]}${wrong}`;
    inputs[i].forEach(input => { input.disabled = true; });
  });
  told.textContent = `Right without colours: ${hits(first, said)} of ${n}; with them: ` +
    `${hits(last, said)} of ${n}, ${changed} changed. Who always says the truth has ` +
    `${hits(truth, said)} of ${n}.`;
  next.hidden = true;
  again.hidden = false;
  again.focus({ preventScroll: true });
};
const begin = () => {
  phase = 0;
  box.classList.add("fs-bare");
  inputs.flat().forEach(input => { input.checked = input.disabled = false; });
  asked.forEach(li => { li.querySelector(".fs-told").textContent = ""; });
  next.textContent = "show the colours";
  next.hidden = false;
  again.hidden = true;
  say();
};
next.onclick = () => {
  if (guesses().includes(-1)) return;
  if (phase === 1) { phase = 2; over(); return; }
  first = guesses();
  phase = 1;
  box.classList.remove("fs-bare");
  next.textContent = "see the score";
  say();
};
again.onclick = () => { begin(); inputs[0][0].focus({ preventScroll: true }); };
inputs.flat().forEach(input => { input.onchange = say; });
box.querySelectorAll(".fs-choose").forEach(part => { part.hidden = false; });
begin();

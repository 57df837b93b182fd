const texts = JSON.parse(given.values).texts, box = document.getElementById(given.id);
const select = box.querySelector("select"), line = box.querySelector(".sh-words");
const questions = [...box.querySelectorAll(".questions button")];
const looks = [...box.querySelectorAll(".sh-look")], boxes = [...box.querySelectorAll("input")];
const told = box.querySelector("[role=status]"), all = box.querySelector(".all");
let question = questions[0].textContent, head = 0;
const show = () => {
  const text = texts[+select.value], one = text.asked[question];
  line.replaceChildren(...[one.before, ...text.words].flatMap((word, i) => {
    const each = document.createElement("span");
    each.className = !i ? "sh-before" : one.answer[0].includes(i - 1) ? "sh-right" : "";
    each.style.setProperty("--look", `${one.looks[head][i]}%`);
    each.title = `head ${looks[head].textContent} looks here with ${one.looks[head][i]} %`;
    each.textContent = word;
    return [each, " "];
  }));
  const off = boxes.reduce((sum, on, h) => sum + (on.checked ? 0 : 1 << h), 0);
  const count = boxes.filter((on) => !on.checked).length;
  const [right, other] = one.answer.map((places) => places.map((i) => text.words[i]).join(" "));
  const said = one.texts[one.says[off]];
  const which = said === right ? "the span that was asked for"
    : said === other ? "the other question's span" : "neither span";
  const without = count ? `${count} of ${boxes.length} heads are off.` : "All heads are on.";
  told.textContent = `${without} It writes “${said}”: ${which}.`;
};
questions.forEach((button) => {
  button.onclick = () => {
    questions.forEach((each) => each.setAttribute("aria-pressed", each === button));
    question = button.textContent;
    show();
  };
});
looks.forEach((button, h) => {
  button.onclick = () => {
    looks.forEach((each) => each.setAttribute("aria-pressed", each === button));
    head = h;
    show();
  };
});
boxes.forEach((each) => {
  each.disabled = false;
  each.onchange = show;
});
all.onclick = () => {
  boxes.forEach((each) => { each.checked = true; });
  show();
};
select.onchange = show;
box.querySelectorAll("[hidden]").forEach((each) => { each.hidden = false; });
show();

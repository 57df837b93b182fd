const spec = JSON.parse(given.values), box = document.getElementById(given.id);
const rows = [...box.querySelectorAll("fieldset")], choice = box.querySelector("select");
const put = text => spec.ask.replace("{}", () => text);
const draw = () => {
  const key = rows.map(row => row.querySelector("input:checked").value).join("");
  const share = spec.shares[key][+choice.value], said = spec.shown.map(([text, label], i) =>
    key[i] === "0" ? "" : `${put(text)} ${spec.words[key[i] === "2" ? 1 - label : label]}\n\n`);
  box.querySelector("pre").textContent = said.join("") + put(spec.asked[+choice.value]);
  box.querySelector("i").style.width = `${share / 10}%`;
  const count = state => [...key].filter(each => each === state).length;
  const shown = key.length - count("0"), noun = shown === 1 ? "demonstration" : "demonstrations";
  const labels = count("2") ? `, ${count("2")} of them with a false label` : "";
  box.querySelector("[role=status]").textContent =
    `${shown || "No"} ${noun}${labels}. Of the two words, “${spec.words[1]}” gets ` +
    `${(share / 10).toFixed(1)} %: the model says ${spec.words[share >= 500 ? 1 : 0]}.`;
};
box.querySelector(".bu-choose").addEventListener("change", draw);
box.querySelector(".bu-choose").hidden = false;
draw();

// What the reader chooses. `given`: id, spec (JSON). Every change runs each model twice: on the text
// and on its twin.

const spec = JSON.parse(given.spec), box = document.getElementById(given.id);
const choices = [...box.querySelectorAll("select")], told = box.querySelector("[role=status]");
const judges = spec.models.map(({ model, weights }) => judge(model, cut(model.shapes, halves(weights))));
const rows = [...box.querySelectorAll(".tw-rows")];
const ids = words => [spec.ends[0], ...words.map(word => spec.vocabulary[word]), spec.ends[1]];
const whole = share => Math.floor(100 * share + 0.5);
const show = () => {
  const chosen = choices.map(each => each.value);
  const names = [chosen[0], spec.pairs[chosen[0]]];
  const said = names.map(name => {
    let gap = 0;
    const words = spec.template.map(word => word !== "{}" ? word : gap++ ? chosen[gap - 1] : name);
    return judges.map(read => read(ids(words))[1]);
  });
  rows.forEach((row, m) => names.forEach((name, k) => {
    row.querySelectorAll(".tw-name")[k].textContent = name;
    row.querySelectorAll(".tw-bar i")[k].style.width = `${(100 * said[k][m]).toFixed(1)}%`;
    row.querySelectorAll(".tw-share")[k].textContent = `${whole(said[k][m])} %`;
  }));
  told.textContent = spec.models.map(({ name }, m) => {
    const [own, other] = [whole(said[0][m]), whole(said[1][m])];
    return `${name}: ${names[0]} ${spec.called} ${own} %, ${names[1]} ${other} %, `
      + `${Math.abs(own - other)} apart`;
  }).join("; ") + ".";
};
choices.forEach(each => { each.disabled = false; each.onchange = show; });
const [other, office] = box.querySelectorAll("button");
other.onclick = () => { choices[0].value = spec.pairs[choices[0].value]; show(); };
office.onclick = () => {
  choices[1].selectedIndex = (choices[1].selectedIndex + 1) % choices[1].options.length;
  show();
};
box.querySelector(".tw-moves").hidden = false;
show();

const box = document.getElementById(given.id), lists = [...box.querySelectorAll("select")];
const states = box.querySelectorAll(".pn-one");
const show = () => {
  const at = lists.reduce((at, list, i) => at * given.sizes[i] + list.selectedIndex, 0);
  states.forEach((each, i) => { each.hidden = i !== at; });
};
lists.forEach(list => { list.onchange = show; });
box.querySelector(".pn-choose").hidden = false;
show();

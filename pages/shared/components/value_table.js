const make = (name, className, parent) => {
  const node = document.createElement(name);
  node.className = className;
  parent.append(node);
  return node;
};

export default function ({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".value-table");
  const focused = [...root.querySelectorAll("button")].findIndex((button) => button.matches(":focus"));
  root.replaceChildren();
  const table = make("table", "", root);
  table.ariaLabel = data.name;
  const head = make("tr", "", make("thead", "", table));
  const body = make("tbody", "", table);
  const [low, high] = data.domain;
  const at = (value) => `${(100 * (Math.max(low, Math.min(high, value)) - low)) / (high - low)}%`;
  data.head.forEach((name, i) => {
    const cell = make("th", i === data.head.length - 1 && data.drawn ? "drawn" : "", head);
    cell.scope = "col";
    cell.textContent = name;
  });
  data.rows.forEach((row, i) => {
    const line = make("tr", row.faint ? "faint" : "", body);
    row.cells.forEach((text, j) => {
      const cell = make("td", "", line);
      if (j || !data.picks) cell.textContent = text;
      else {
        const button = make("button", "", cell);
        button.type = "button";
        button.textContent = text;
        button.onclick = () => setTriggerValue("picked", { row: i, stamp: data.stamp });
      }
    });
    if (!data.drawn) return;
    const track = make("span", "track", make("td", "drawn", line));
    track.ariaHidden = "true";
    if (low < 0) make("span", "zero", track).style.left = at(0);
    if (row.low !== null) {
      const ends = make("span", "ends", track);
      ends.style.left = at(row.low);
      ends.style.right = `calc(100% - ${at(row.high)})`;
    }
    if (row.value !== null) make("span", "dot", track).style.left = at(row.value);
  });
  if (root.scrollWidth > root.clientWidth) root.tabIndex = 0; // so that arrows scroll it
  else root.removeAttribute("tabindex");
  if (focused >= 0) root.querySelectorAll("button")[focused]?.focus();
}

const write = async (text) => {
  if (navigator.clipboard) {
    try {
      return await navigator.clipboard.writeText(text);
    } catch {} // the browser may forbid it
  }
  // Pages that are served over plain http from elsewhere, as to a class, have no clipboard of the new kind.
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  if (!done) window.prompt("", text); // selected, to be copied by hand
};

export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".copies");
  data.forEach(({ label, done, text, query }, i) => {
    const button = root.children[i] ?? root.appendChild(document.createElement("button"));
    button.type = "button";
    button.textContent = label;
    button.onclick = async () => {
      await write(query === null ? text : `${location.origin}${location.pathname}?${query}`);
      button.focus(); // the text that was selected had it
      button.textContent = done;
      setTimeout(() => (button.textContent = label), 1500);
    };
  });
}

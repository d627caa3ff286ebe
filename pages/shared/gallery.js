// Everything that comes from the data is written with textContent; nothing is ever parsed as HTML.

const make = (name, className, parent) => {
  const node = document.createElement(name);
  node.className = className;
  parent?.append(node);
  return node;
};

const fitChildren = (parent, n, create) => {
  while (parent.children.length > n) parent.lastElementChild.remove();
  while (parent.children.length < n) parent.append(create());
  return [...parent.children];
};

const setText = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

const createTile = (name) => {
  const tile = make(name, "tile");
  if (name === "button") tile.type = "button";
  const frame = make("span", "frame", tile);
  const image = make("img", "", frame);
  image.alt = "";
  image.decoding = "sync";
  for (const part of ["badge", "mark"]) make("span", part, frame).ariaHidden = "true";
  for (const part of ["title", "note", "beside", "marks"]) make("span", part, tile);
  return tile;
};

const fillTile = (tile, given) => {
  const part = (name) => tile.querySelector(`:scope > .${name}, :scope > .frame > .${name}`);
  const image = tile.querySelector("img");
  if (image.getAttribute("src") !== given.src) {
    if (given.src) image.src = given.src;
    else image.removeAttribute("src");
  }
  const kind = given.right === null ? "" : given.right ? "right" : "wrong";
  const several = given.beside.length ? "several" : "";
  const look = given.src.startsWith("data:image/png") ? "crisp" : given.src ? "" : "bare";
  tile.className = `tile ${kind} ${look} ${several}`;
  const others = fitChildren(part("beside"), given.beside.length, () => createTile("span"));
  others.forEach((other, i) => fillTile(other, given.beside[i]));
  setText(part("mark"), { right: "✓", wrong: "✗" }[kind] ?? "");
  for (const name of ["badge", "title", "note"]) setText(part(name), given[name]);
  tile.title = given.title;
  if (tile.tagName === "BUTTON") tile.ariaLabel = given.label;
  else if (tile.tagName === "DIV") image.alt = given.label;
};

const createPanel = () => {
  const panel = make("section", "panel");
  make("h3", "", panel);
  make("div", "tiles", panel);
  make("div", "lines", panel);
  return panel;
};

const fillPanel = (panel, given) => {
  setText(panel.querySelector("h3"), given.heading);
  const tiles = panel.querySelector(".tiles");
  tiles.className = `tiles ${given.large ? "large" : "small"}`;
  const children = fitChildren(tiles, given.tiles.length, () => createTile("div"));
  children.forEach((tile, i) => fillTile(tile, given.tiles[i]));
  const lines = fitChildren(panel.querySelector(".lines"), given.lines.length, () => make("p", ""));
  lines.forEach((line, i) => setText(line, given.lines[i]));
};

const createButton = (text, parent) => {
  const button = make("button", "step", parent);
  button.type = "button";
  button.textContent = text;
  return button;
};

const build = (root) => {
  const layout = make("div", "layout", root);
  const side = make("div", "side", layout);
  const main = make("div", "main", layout);
  const head = make("div", "head", main);
  const heading = make("h3", "", head);
  const stepper = make("div", "stepper", head);
  const previous = createButton("‹", stepper);
  const where = make("span", "where", stepper);
  const next = createButton("›", stepper);
  const triage = buildTriage(main);
  const grid = make("div", "grid", main);
  grid.setAttribute("role", "group");
  const empty = make("p", "empty", main);
  const pager = make("div", "pager", main);
  const previousPage = createButton("‹", pager);
  const page = make("span", "where", pager);
  const nextPage = createButton("›", pager);
  return { layout, side, head, heading, stepper, previous, where, next, grid, empty, pager, previousPage, page, nextPage, triage };
};

const typing = (event) => {
  const target = event.composedPath()[0];
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
};

// How many tiles stand in the first row: those whose top edge is that of the first.
const rowLength = (tiles) => {
  const past = tiles.findIndex((tile) => tile.offsetTop > tiles[0].offsetTop);
  return past < 0 ? tiles.length : past;
};

export default function (component) {
  const { data, parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".gallery");
  const view = (root.view ??= { parts: build(root), number: data.place?.number ?? 0, place: null, at: 0, actions: [] });
  const { parts } = view;

  const fill = (text, i, n) => text.replace("{i}", i).replace("{n}", n);

  const showPlace = () => {
    const { query, page } = view.place ?? { query: 1, page: 1 };
    setText(parts.where, fill(data.words.position, query, data.n_query));
    parts.previous.disabled = query <= 1;
    parts.next.disabled = query >= data.n_query;
    setText(parts.page, fill(data.words.page, page, data.n_page));
    parts.previousPage.disabled = page <= 1;
    parts.nextPage.disabled = page >= data.n_page;
  };

  const report = (change) => {
    view.number += 1;
    view.place = { ...(view.place ?? {}), ...change, number: view.number };
    showPlace();
    setStateValue("event", { ...view.place, ...(view.triage ? { list: view.triage.list, actions: view.actions } : {}) });
  };

  // Which place of the list do the keys speak of: the query that is stepped to, or the tile that has the focus?
  const target = () => (data.n_query ? view.place.query : view.at || data.first);

  const act = (action) => {
    const before = view.actions.at(-1)?.number ?? view.triage.done;
    view.actions.push({ ...action, number: Math.max(before + 1, Date.now()) });
    report({});
    showMarks();
  };

  const speak = (text) => setText(parts.triage.said, text);

  const toggleTag = (i) => {
    const item = itemAt(view, target());
    if (item === undefined) speak(view.triage.words.wait);
    else if (i < view.triage.tags.length) act({ do: "tag", item, tag: i, on: !tagsOf(view, item).has(view.triage.tags[i]) });
  };

  const write = () => {
    const item = itemAt(view, target());
    if (item === undefined) return speak(view.triage.words.wait);
    view.writing = { item, back: root.getRootNode().activeElement };
    parts.triage.text.value = noteOf(view, item);
    parts.triage.form.hidden = false;
    parts.triage.written.hidden = true;
    parts.triage.text.focus();
  };

  const stopWriting = (keep) => {
    const { item, back } = view.writing;
    parts.triage.form.hidden = true;
    if (keep) act({ do: "note", item, text: parts.triage.text.value.trim() });
    else showMarks();
    back?.focus();
  };

  // What is judged is what is on the screen, even where the visitor has stepped on already.
  const judge = () => {
    const tiles = [...parts.grid.children];
    const focused = tiles.findIndex((tile) => tile.matches(":focus"));
    const place = focused >= 0 ? view.first + focused : view.place.picked;
    const item = view.triage.shown;
    const tile = tiles[place - view.first];
    if (!tile) return speak(view.triage.words.focus);
    const judged = judgementOf(view, item, place);
    act({ do: "judge", item, place, relevant: judged === null ? !tile.classList.contains("right") : null });
  };

  const showMarks = () => {
    // A mark for tests: how many key presses the server has not carried out yet.
    root.dataset.pending = String(view.actions.length);
    showTriage(view, parts.triage, view.triage ? itemAt(view, target()) : undefined);
    [...parts.grid.children].forEach((tile, i) => {
      let text = "";
      if (view.triage && !data.n_query) {
        const item = itemAt(view, view.first + i);
        if (item !== undefined) text = [...tagsOf(view, item), noteOf(view, item) && `✎ ${noteOf(view, item)}`].filter(Boolean).join(" · ");
        tile.classList.toggle("current", view.first + i === target());
      } else if (view.triage) {
        const judged = judgementOf(view, view.triage.shown, view.first + i);
        text = judged === null ? "" : view.triage.words[judged ? "right" : "wrong"];
      }
      setText(tile.querySelector(":scope > .marks"), text);
    });
  };

  // J and K among the tiles: the place in the whole list, so that a press while the page turns is not lost.
  const walk = (distance) => {
    view.at = Math.max(1, Math.min(data.n_tile, target() + distance));
    const page = Math.ceil(view.at / data.page_size);
    if (page !== (view.place?.page ?? 1)) report({ page });
    else focusTile(view.at - view.first).focus();
    showMarks();
  };

  const onTriageKey = (key) => {
    if (!view.triage || parts.triage.sheet.open) return false;
    if (/^[1-9]$/.test(key)) toggleTag(Number(key) - 1);
    else if (key === "n") write();
    else if (key === "u") act({ do: "undo" });
    else if (key === "t" && data.n_query) judge();
    else if (key === "?") parts.triage.sheet.showModal();
    else return false;
    return true;
  };

  const step = (distance) => {
    const query = Math.max(1, Math.min(data.n_query, view.place.query + distance));
    if (query === view.place.query) return;
    report({ query, page: 1, picked: 0, item: view.triage ? (itemAt(view, query) ?? null) : null });
    showMarks();
  };

  const turn = (distance) => {
    const page = Math.max(1, Math.min(data.n_page, (view.place?.page ?? 1) + distance));
    if (page !== (view.place?.page ?? 1)) report({ page });
  };

  const pick = (i) => {
    const picked = view.first + i;
    report({ picked: view.place?.picked === picked ? 0 : picked });
    markPicked();
  };

  const markPicked = () => {
    [...parts.grid.children].forEach((tile, i) => {
      const on = view.place?.picked === view.first + i;
      tile.classList.toggle("picked", on);
      if (data.active && data.place) tile.ariaPressed = String(on);
    });
  };

  // Roving tabindex: the grid is one stop of the Tab key, arrows move inside.
  const focusTile = (i) => {
    const tiles = [...parts.grid.children];
    const at = Math.max(0, Math.min(tiles.length - 1, i));
    tiles.forEach((tile, j) => (tile.tabIndex = j === at ? 0 : -1));
    return tiles[at];
  };

  const onGridKey = (event) => {
    const tiles = [...parts.grid.children];
    const i = tiles.indexOf(event.target.closest(".tile"));
    if (i < 0) return;
    const row = rowLength(tiles);
    const moves = { ArrowRight: i + 1, ArrowLeft: i - 1, ArrowDown: i + row, ArrowUp: i - row, Home: 0, End: tiles.length - 1 };
    const to = moves[event.key];
    if (to === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (to >= 0 && to < tiles.length) focusTile(to).focus();
  };

  const onKey = (event) => {
    if (!data.place || typing(event) || event.altKey || event.ctrlKey || event.metaKey) return;
    const key = event.key.toLowerCase();
    const distance = { j: 1, k: -1 }[key];
    if (distance && data.n_query) step(distance);
    else if (distance && view.triage) walk(distance);
    else if (!onTriageKey(key)) return;
    event.preventDefault();
  };

  const stale = data.place && data.place.number < view.number;
  if (!stale) {
    if (data.place) view.place = data.place;
    view.triage = data.triage;
    view.first = data.first;
    view.actions = data.triage ? view.actions.filter((action) => action.number > data.triage.done) : [];
    parts.layout.className = `layout ${data.panels.length ? "sided" : ""}`;
    parts.side.hidden = !data.panels.length;
    fitChildren(parts.side, data.panels.length, createPanel).forEach((panel, i) => fillPanel(panel, data.panels[i]));
    setText(parts.heading, data.heading);
    parts.head.style.display = data.heading || data.n_query ? "" : "none";
    parts.stepper.style.display = data.n_query ? "" : "none";
    parts.previous.ariaLabel = parts.previous.title = data.words.previous;
    parts.next.ariaLabel = parts.next.title = data.words.next;
    parts.previousPage.ariaLabel = data.words.previous_page;
    parts.nextPage.ariaLabel = data.words.next_page;
    parts.grid.ariaLabel = data.heading || data.words.grid;
    parts.grid.classList.toggle("fixed", data.columns > 0);
    parts.grid.style.setProperty("--columns", data.columns);
    parts.grid.classList.toggle("paired", data.paired);
    const kind = data.active ? "button" : "div";
    if (parts.grid.dataset.kind !== kind) parts.grid.replaceChildren();
    parts.grid.dataset.kind = kind;
    const tiles = fitChildren(parts.grid, data.tiles.length, () => createTile(kind));
    tiles.forEach((tile, i) => fillTile(tile, data.tiles[i]));
    setText(parts.empty, data.tiles.length ? "" : data.empty);
    parts.empty.hidden = data.tiles.length > 0 || !data.empty;
    parts.pager.hidden = data.n_page < 2;
    if (data.active && tiles.length) focusTile(Math.max(0, tiles.findIndex((tile) => tile.tabIndex === 0 && tile.matches(":focus"))));
    if (data.triage && !data.n_query && view.at && tiles.length) {
      const i = view.at - data.first;
      if (i < 0 || i >= tiles.length) view.at = 0;
      else if (view.turned !== data.first) focusTile(i).focus();
    }
    view.turned = data.first;
    markPicked();
    showPlace();
    showMarks();
    // A mark for tests and measurements: which query is on the screen.
    root.dataset.query = data.place ? String(data.place.query) : "";
  }

  parts.previous.onclick = () => step(-1);
  parts.next.onclick = () => step(1);
  parts.previousPage.onclick = () => turn(-1);
  parts.nextPage.onclick = () => turn(1);
  parts.grid.onclick = (event) => {
    const tile = event.target.closest("button.tile");
    if (tile) pick([...parts.grid.children].indexOf(tile));
  };
  parts.grid.onkeydown = onGridKey;
  parts.grid.onfocusin = (event) => {
    const i = [...parts.grid.children].indexOf(event.target.closest(".tile"));
    if (i >= 0) view.at = view.first + i;
    if (view.triage && !data.n_query) showMarks();
  };
  const { triage } = parts;
  triage.tags.onclick = (event) => {
    const chip = event.target.closest(".chip");
    if (chip) toggleTag([...triage.tags.children].indexOf(chip));
  };
  triage.note.onclick = write;
  triage.undo.onclick = () => act({ do: "undo" });
  triage.keys.onclick = () => triage.sheet.showModal();
  triage.close.onclick = () => triage.sheet.close();
  triage.save.onclick = () => stopWriting(true);
  triage.cancel.onclick = () => stopWriting(false);
  triage.text.onkeydown = (event) => {
    if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey)) {
      event.preventDefault();
      event.stopPropagation();
      stopWriting(event.key === "Enter");
    }
  };
  if (view.onKey) document.removeEventListener("keydown", view.onKey);
  view.onKey = onKey;
  document.addEventListener("keydown", onKey);
  return () => document.removeEventListener("keydown", view.onKey);
}

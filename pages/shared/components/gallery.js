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

// The address follows the cursor when that has rested so long: browsers allow few changes of it a second.
const REST_MS = 150;

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
  const { parentElement, setStateValue } = component;
  const root = parentElement.querySelector(".gallery");
  const host = root.getRootNode().host;
  const view = (root.view ??= { parts: build(root), number: component.data.place?.number ?? 0, place: null, at: 0, actions: [] });
  const { parts } = view;
  const stale = component.data.place && component.data.place.number < view.number;
  if (!stale) view.data = component.data;
  const { data } = view;

  // Are the tiles the queries themselves, or the images of the query that is shown?
  const listed = data.addresses.length > 0;

  // There is one cursor, a place in the whole list, 1-based. Where the tiles are the queries, it is the query that every
  // key speaks of, and the address names it.
  const cursor = () => (listed ? view.place.query : view.at);

  const tileAt = (at) => parts.grid.children[at - data.first];

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

  const report = (change, more = {}) => {
    view.number += 1;
    view.place = { ...(view.place ?? {}), ...change, number: view.number };
    view.reported = view.place.query;
    if (listed) writeAddress();
    showPlace();
    const triaged = data.triage ? { list: data.triage.list, actions: view.actions } : {};
    setStateValue("event", { ...view.place, ...triaged, ...more });
  };

  // Name the query under the cursor in the address, without a new entry in the history of the browser.
  const writeAddress = () => {
    clearTimeout(view.resting);
    if (inAddress(cursor())) return;
    const asked = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(data.addresses[cursor() - data.first] ?? {})) asked.set(name, value);
    history.replaceState(history.state, "", `?${asked}${location.hash}`);
  };

  const inAddress = (at) => {
    const asked = new URLSearchParams(location.search);
    const address = data.addresses[at - data.first];
    return Boolean(address) && Object.entries(address).every(([name, value]) => asked.get(name) === value);
  };

  const standAt = (at) => {
    if (listed) Object.assign(view.place, { query: at, item: itemAt(data, at) ?? null });
    else view.at = at;
    showCursor();
    showMarks();
  };

  // The focus goes with the cursor; where a page has to be turned first, it follows.
  const moveTo = (at) => {
    if (at < 1 || at > data.n_tile) return;
    standAt(at);
    const page = Math.ceil(at / data.page_size);
    if (data.place && page !== view.place.page) {
      view.chasing = true;
      report({ page });
    } else tileAt(at)?.focus();
  };

  // Roving tabindex: the grid is one stop of the Tab key, and arrows move inside.
  const showCursor = () => {
    const tiles = [...parts.grid.children];
    const here = tileAt(cursor());
    for (const tile of tiles) {
      if (data.active) tile.tabIndex = tile === (here ?? tiles[0]) ? 0 : -1;
      tile.classList.toggle("current", Boolean(data.triage) && tile === here);
      tile.ariaCurrent = tile === here && data.triage ? "true" : null;
    }
  };

  const act = (action) => {
    const before = view.actions.at(-1)?.number ?? data.triage.done;
    view.actions.push({ ...action, number: Math.max(before + 1, Date.now()) });
    report({});
    showMarks();
  };

  const speak = (text) => setText(parts.triage.said, text);

  // Tags and notes are of a query: the one under the cursor, or the one that is stepped to.
  const asked = () => itemAt(data, view.place.query);

  const toggleTag = (i) => {
    const item = asked();
    if (item === undefined) speak(data.triage.words.wait);
    else if (i < data.triage.tags.length) act({ do: "tag", item, tag: i, on: !tagsOf(view, item).has(data.triage.tags[i]) });
  };

  const write = () => {
    const item = asked();
    if (item === undefined) return speak(data.triage.words.wait);
    view.writing = { item, back: root.getRootNode().activeElement };
    parts.triage.text.value = noteOf(view, item);
    parts.triage.form.hidden = false;
    parts.triage.text.focus();
  };

  const stopWriting = (keep) => {
    const { item, back } = view.writing;
    parts.triage.form.hidden = true;
    if (keep) act({ do: "note", item, text: parts.triage.text.value.trim() });
    back?.focus();
  };

  // What is judged is what is on the screen, even where the visitor has stepped on already.
  const judge = () => {
    const item = data.triage.shown;
    const place = cursor();
    const tile = tileAt(place);
    if (!tile) return speak(data.triage.words.focus);
    const judged = judgementOf(view, item, place);
    act({ do: "judge", item, place, relevant: judged === null ? !tile.classList.contains("right") : null });
  };

  const marksOf = (place) => {
    if (!data.triage) return "";
    if (!listed) {
      const judged = judgementOf(view, data.triage.shown, place);
      return judged === null ? "" : data.triage.words[judged ? "right" : "wrong"];
    }
    const item = itemAt(data, place);
    if (item === undefined) return "";
    return [...tagsOf(view, item), noteOf(view, item) && `✎ ${noteOf(view, item)}`].filter(Boolean).join(" · ");
  };

  const showMarks = () => {
    // A mark for tests: how many key presses the server has not carried out yet.
    root.dataset.pending = String(view.actions.length);
    showTriage(view, parts.triage, data.triage ? asked() : undefined);
    [...parts.grid.children].forEach((tile, i) => {
      const marks = tile.querySelector(":scope > .marks");
      setText(marks, marksOf(data.first + i));
      marks.title = marks.textContent;
      if (data.active) tile.ariaLabel = [data.tiles[i].label, marks.textContent].filter(Boolean).join(", ");
    });
  };

  const onTriageKey = (key) => {
    if (!data.triage) return false;
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
    report({ query, page: 1, picked: 0, item: data.triage ? (itemAt(data, query) ?? null) : null });
    standAt(0);
  };

  const turn = (distance) => {
    const page = (view.place?.page ?? 1) + distance;
    if (page < 1 || page > data.n_page) return;
    standAt(listed ? (page - 1) * data.page_size + 1 : 0);
    report({ page });
  };

  const pick = (at) => {
    standAt(at);
    if (listed) return report({}, { open: true });
    report({ picked: view.place?.picked === at ? 0 : at });
    markPicked();
  };

  const markPicked = () => {
    [...parts.grid.children].forEach((tile, i) => {
      const on = view.place?.picked === data.first + i;
      tile.classList.toggle("picked", on);
      if (data.active && data.place && !listed) tile.ariaPressed = String(on);
    });
  };

  const onArrow = (key) => {
    const tiles = [...parts.grid.children];
    const [at, row, end] = [cursor(), rowLength(tiles), data.first + tiles.length - 1];
    const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + row, ArrowUp: at - row, Home: data.first, End: end };
    if (!(key in moves) || !tiles.length) return false;
    moveTo(at ? moves[key] : data.first);
    return true;
  };

  // Arrows are the grid's also where nothing has the focus: on what holds the whole gallery, the page itself.
  const onKey = (event) => {
    if (typing(event) || event.altKey || event.ctrlKey || event.metaKey) return;
    if (parts.triage.sheet.open || !parts.triage.form.hidden) return;
    const [key, path] = [event.key.toLowerCase(), event.composedPath()];
    const distance = { j: 1, k: -1 }[key];
    const nowhere = data.triage && path[0].contains(host);
    if (distance && data.n_query) step(distance);
    else if (distance && listed) moveTo(cursor() + distance);
    else if (key === "enter" && nowhere && listed) pick(cursor());
    else if ((nowhere || path.includes(data.triage ? root : parts.grid)) && onArrow(event.key));
    else if (!onTriageKey(key)) return;
    event.preventDefault();
  };

  parts.previous.onclick = () => step(-1);
  parts.next.onclick = () => step(1);
  parts.previousPage.onclick = () => turn(-1);
  parts.nextPage.onclick = () => turn(1);
  parts.grid.onclick = (event) => {
    const tile = event.target.closest("button.tile");
    if (tile) pick(data.first + [...parts.grid.children].indexOf(tile));
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
  triage.form.onkeydown = (event) => {
    if (event.key !== "Escape" && (event.key !== "Enter" || event.shiftKey || event.target !== triage.text)) return;
    event.preventDefault();
    event.stopPropagation();
    stopWriting(event.key === "Enter");
  };
  view.stop?.();
  const listeners = new AbortController();
  const { signal } = listeners;
  view.stop = () => {
    clearTimeout(view.resting);
    listeners.abort();
  };
  document.addEventListener("keydown", onKey, { signal });
  // What the server says after a step back or forward in the history is the visitor's will, whatever it was told.
  window.addEventListener("popstate", () => (view.reported = undefined), { signal });
  parts.grid.addEventListener(
    "focusin",
    (event) => {
      const i = [...parts.grid.children].indexOf(event.target.closest(".tile"));
      if (i < 0) return;
      standAt(data.first + i);
      clearTimeout(view.resting);
      if (listed) view.resting = setTimeout(writeAddress, REST_MS);
    },
    { signal },
  );
  // Last, so that the focus which it sets is heard with the list that it shows.
  if (!stale) {
    const before = view.place;
    view.triage = data.triage;
    view.actions = data.triage ? view.actions.filter((action) => action.number > data.triage.done) : [];
    // The server has not heard of moves within a page: its word counts where it is another than what it was told, where
    // the list is another, and where the visitor goes back.
    const held = listed && before && data.place.query === view.reported && itemAt(data, before.query) === before.item;
    if (data.place) {
      view.place = { ...data.place, item: data.triage ? (itemAt(data, data.place.query) ?? null) : null };
      if (held) Object.assign(view.place, { query: before.query, item: before.item });
      else if (before && before.query !== data.place.query) view.at = 0;
      view.reported = data.place.query;
    }
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
    parts.grid.classList.toggle("marked", Boolean(data.triage));
    const kind = data.active ? "button" : "div";
    if (parts.grid.dataset.kind !== kind) parts.grid.replaceChildren();
    parts.grid.dataset.kind = kind;
    const tiles = fitChildren(parts.grid, data.tiles.length, () => createTile(kind));
    tiles.forEach((tile, i) => fillTile(tile, data.tiles[i]));
    setText(parts.empty, data.tiles.length ? "" : data.empty);
    parts.empty.hidden = data.tiles.length > 0 || !data.empty;
    parts.pager.hidden = data.n_page < 2;
    if (view.at >= data.first + tiles.length) view.at = 0;
    clearTimeout(view.resting);
    showCursor();
    markPicked();
    showPlace();
    showMarks();
    // Whoever comes by an address that names a tile finds it under the hand.
    if (view.chasing || (listed && !held && inAddress(cursor()))) tileAt(cursor())?.focus();
    view.chasing = false;
    // A mark for tests and measurements: which query is on the screen.
    root.dataset.query = data.place && !listed ? String(data.place.query) : "";
  }
  return () => view.stop();
}

// Tags, notes and judgements by keyboard. Every press is kept until the server says that it is done, and is reported
// as what shall be so: hearing it twice changes nothing.

const buildTriage = (main) => {
  const desk = make("div", "desk", main);
  const bar = make("div", "triage", desk);
  const tags = make("div", "tagset", bar);
  tags.setAttribute("role", "group");
  const tools = make("div", "tools", bar);
  const [note, undo, keys] = ["N", "U", "?"].map((key) => createChip(key, tools));
  const line = make("div", "line", desk);
  const written = make("p", "written", line);
  const said = make("span", "said", line);
  said.setAttribute("role", "status");
  const form = make("form", "writing", desk);
  const text = make("textarea", "", form);
  text.rows = 2;
  const save = createButton("", form);
  const cancel = createButton("", form);
  form.hidden = true;
  const sheet = make("dialog", "sheet", main);
  const title = make("h3", "", sheet);
  const list = make("dl", "", sheet);
  const close = createButton("", sheet);
  return { desk, tags, note, undo, keys, said, written, form, text, save, cancel, sheet, title, list, close };
};

const createChip = (key, parent) => {
  const chip = make("button", "chip", parent);
  chip.type = "button";
  setText(make("kbd", "", chip), key);
  make("span", "", chip);
  return chip;
};

const nameChip = (chip, name) => setText(chip.lastElementChild, name);

// The latest word on a thing: what is not done yet counts more than what the server knows.
const latest = (actions, wanted, known) => actions.findLast(wanted) ?? known;

const tagsOf = (view, item) => {
  const { tags, tagged } = view.triage;
  const known = new Set(tagged[item] ?? []);
  for (const action of view.actions) {
    if (action.do === "tag" && action.item === item) known[action.on ? "add" : "delete"](tags[action.tag]);
  }
  return known;
};

const noteOf = (view, item) =>
  latest(view.actions, (one) => one.do === "note" && one.item === item, { text: view.triage.notes[item] ?? "" }).text;

const judgementOf = (view, item, place) =>
  latest(view.actions, (one) => one.do === "judge" && one.item === item && one.place === place, {
    relevant: view.triage.judged[place] ?? null,
  }).relevant;

const itemAt = (view, place) => (place ? view.triage.items[place - view.triage.first] : (view.triage.shown ?? undefined));

const showSheet = (triage, parts) => {
  setText(parts.title, triage.words.keys);
  const rows = triage.keys.flat();
  while (parts.list.children.length > rows.length) parts.list.lastElementChild.remove();
  rows.forEach((text, i) => {
    const cell = parts.list.children[i] ?? make(i % 2 ? "dd" : "dt", "", parts.list);
    setText(cell, text);
  });
  setText(parts.close, triage.words.close);
};

const showTriage = (view, parts, item) => {
  const { triage } = view;
  parts.desk.hidden = !triage;
  if (!triage) return;
  const on = item === undefined ? new Set() : tagsOf(view, item);
  const extra = [...on].filter((name) => !triage.tags.includes(name));
  const chips = fitChildren(parts.tags, triage.tags.length, () => createChip("", null));
  chips.forEach((chip, i) => {
    setText(chip.firstElementChild, i < 9 ? String(i + 1) : "");
    nameChip(chip, triage.tags[i]);
    chip.ariaPressed = String(on.has(triage.tags[i]));
  });
  parts.tags.ariaLabel = triage.words.tags;
  nameChip(parts.note, triage.words.note);
  nameChip(parts.undo, triage.words.undo);
  nameChip(parts.keys, triage.words.keys);
  // One line of a fixed height, so that the tiles stay where they are; only a problem may take more.
  setText(parts.said, [...extra, triage.said].filter(Boolean).join(" · "));
  parts.said.classList.toggle("problem", triage.said.startsWith("⚠️"));
  setText(parts.written, item === undefined ? "" : noteOf(view, item));
  for (const part of [parts.said, parts.written]) part.title = part.textContent;
  parts.text.ariaLabel = triage.words.note;
  setText(parts.save, triage.words.save);
  setText(parts.cancel, triage.words.cancel);
  showSheet(triage, parts);
};

// Tags, notes and judgements by keyboard. Every press is kept until the server says that it is done, and is reported
// as what shall be so: hearing it twice changes nothing.

const buildTriage = (main) => {
  const bar = make("div", "triage", main);
  const tags = make("div", "tagset", bar);
  tags.setAttribute("role", "group");
  const tools = make("div", "tools", bar);
  const [note, undo, keys] = ["N", "U", "?"].map((key) => createChip(key, tools));
  const said = make("span", "said", bar);
  said.setAttribute("role", "status");
  const written = make("p", "written", main);
  const form = make("form", "writing", main);
  const text = make("textarea", "", form);
  text.rows = 2;
  const save = createButton("", form);
  const cancel = createButton("", form);
  form.hidden = true;
  const sheet = make("dialog", "sheet", main);
  const title = make("h3", "", sheet);
  const list = make("dl", "", sheet);
  const close = createButton("", sheet);
  return { bar, tags, note, undo, keys, said, written, form, text, save, cancel, sheet, title, list, close };
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
  parts.bar.hidden = !triage;
  if (!triage) {
    parts.written.hidden = parts.form.hidden = true;
    return;
  }
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
  setText(parts.said, [...extra, triage.said].filter(Boolean).join(" · "));
  const note = item === undefined ? "" : noteOf(view, item);
  setText(parts.written, note);
  parts.written.hidden = !note || !parts.form.hidden;
  parts.text.ariaLabel = triage.words.note;
  setText(parts.save, triage.words.save);
  setText(parts.cancel, triage.words.cancel);
  showSheet(triage, parts);
};

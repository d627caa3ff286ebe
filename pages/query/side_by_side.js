// Two pictures side by side, their difference, or one after the other. Everything is written with textContent.

// Slower than one change a second: far below the three flashes a second that may harm (WCAG 2.3.1).
const TURN_MS = 1200;

const make = (name, className, parent) => {
  const node = document.createElement(name);
  node.className = className;
  parent?.append(node);
  return node;
};

const setText = (node, text) => {
  if (node.textContent !== text) node.textContent = text;
};

const fit = (parent, n, create) => {
  while (parent.children.length > n) parent.lastElementChild.remove();
  while (parent.children.length < n) create(parent);
  return [...parent.children];
};

const createFigure = (parent) => {
  const figure = make("figure", "", parent);
  make("img", "", make("div", "frame", figure));
  make("figcaption", "", figure);
};

const fillFigure = (figure, picture) => {
  const image = figure.querySelector("img");
  if (image.getAttribute("src") !== picture.src) image.src = picture.src;
  image.alt = picture.caption;
  figure.className = `${picture.kind} ${picture.src.startsWith("data:image/png") ? "crisp" : ""}`;
  setText(figure.querySelector("figcaption"), picture.caption);
};

const createChoice = (parent) => {
  const group = make("div", "choice", parent);
  group.setAttribute("role", "radiogroup");
  return group;
};

// One stop of the Tab key, arrows choose, as among radio buttons.
const fillChoice = (group, name, options, chosen, choose) => {
  group.ariaLabel = name;
  const buttons = fit(group, options.length, (parent) => {
    const button = make("button", "", parent);
    button.type = "button";
    button.setAttribute("role", "radio");
  });
  buttons.forEach((button, i) => {
    setText(button, options[i].label);
    button.ariaChecked = String(i === chosen);
    button.ariaDisabled = String(!options[i].possible);
    button.tabIndex = i === chosen ? 0 : -1;
    button.onclick = () => options[i].possible && choose(i);
  });
  group.onkeydown = (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    let to = chosen;
    do to = (to + step + options.length) % options.length;
    while (!options[to].possible);
    choose(to);
    group.children[to].focus();
  };
};

const build = (root) => {
  const choices = make("div", "choices", root);
  const [pairs, modes] = [createChoice(choices), createChoice(choices)];
  const stage = make("div", "stage", root);
  const steps = make("div", "steps", root);
  const [swap, run] = ["button", "button"].map((name) => make(name, "", steps));
  swap.type = run.type = "button";
  const note = make("p", "note", root);
  note.setAttribute("role", "status");
  return { pairs, modes, stage, steps, swap, run, note };
};

export default (component) => {
  const { parentElement, data } = component;
  const root = parentElement.querySelector(".look");
  const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  root.view ??= { parts: build(root), pair: 0, mode: 0, turn: 0, running: !calm };
  const { view } = root;
  const { parts } = view;

  const show = () => {
    clearInterval(view.timer);
    const at = Math.min(view.pair, data.pairs.length - 1);
    const pair = data.pairs[at];
    const same = Boolean(pair.difference);
    const mode = same ? view.mode : 0;
    const labels = data.pairs.map(({ label }) => ({ label, possible: true }));
    const ways = data.modes.map((label, i) => ({ label, possible: i === 0 || same }));
    fillChoice(parts.pairs, data.words.pair, labels, at, (i) => change({ pair: i }));
    fillChoice(parts.modes, data.words.mode, ways, mode, (i) => change({ mode: i }));
    parts.pairs.hidden = data.pairs.length < 2;
    const [one, other] = pair.pictures;
    const between = { src: pair.difference, caption: pair.scale, kind: "" };
    const shown = [[one, other], [one, between, other], [view.turn ? other : one]][mode];
    fit(parts.stage, shown.length, createFigure).forEach((figure, i) => fillFigure(figure, shown[i]));
    parts.steps.hidden = mode !== 2;
    setText(parts.swap, data.words.swap);
    setText(parts.run, view.running ? data.words.stop : data.words.start);
    parts.run.hidden = calm;
    setText(parts.note, pair.note);
    // Marks for tests: how the pictures are shown, and which one of the two.
    Object.assign(root.dataset, { mode: String(mode), turn: String(view.turn), running: String(mode === 2 && view.running) });
    if (mode === 2 && view.running) view.timer = setInterval(() => change({ turn: 1 - view.turn }), TURN_MS);
  };

  const change = (what) => {
    Object.assign(view, what);
    show();
  };

  parts.swap.onclick = () => change({ turn: 1 - view.turn, running: false });
  parts.run.onclick = () => change({ running: !view.running });
  show();
  return () => clearInterval(view.timer);
};

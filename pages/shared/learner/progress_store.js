const NAME = "recall-explorer-progress";

export default function ({ data, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".kept");
  const stored = localStorage.getItem(NAME);
  if (!root.known && stored && stored !== data.text) setStateValue("stored", stored);
  else localStorage.setItem(NAME, data.text);
  root.known = true;
  root.dataset.text = data.text;
}

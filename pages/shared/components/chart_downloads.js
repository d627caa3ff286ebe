export default function ({ data, parentElement }) {
  const root = parentElement.querySelector(".downloads");
  if (root.dataset.chart === data.chart && root.dataset.words === data.words.join()) return;
  root.dataset.chart = data.chart;
  root.dataset.words = data.words.join();
  root.replaceChildren();
  ["png", "svg"].forEach((format, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = format.toUpperCase();
    button.ariaLabel = data.words[i];
    button.onclick = () => {
      const plot = document.querySelector(`.st-key-${CSS.escape(data.chart)} .js-plotly-plot`);
      const own = plot?.querySelector(".modebar-btn[data-title^='Download plot']");
      if (!own) return;
      // The chart's own button reads the format when it is clicked, so one chart can give both.
      Object.assign(plot._context.toImageButtonOptions, { format, filename: data.file, scale: 2 });
      own.click();
    };
    root.append(button);
  });
}

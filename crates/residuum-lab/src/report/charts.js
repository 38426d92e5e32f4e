"use strict";
(() => {
  const number = x => {
    const size = Math.abs(x);
    const text = size !== 0 && (size < 1e-3 || size >= 1e6) ? x.toExponential(3) : String(Number(x.toPrecision(5)));
    return text.replace("-", "−");
  };
  const pixels = path => [...path.getAttribute("d").matchAll(/[ML]([-\d.]+) ([-\d.]+)/g)].map(m => [Number(m[1]), Number(m[2])]);

  const hover = chart => {
    const svg = chart.querySelector("svg");
    const data = JSON.parse(chart.querySelector("script").textContent);
    const plot = svg.querySelector("g[clip-path]");
    const frame = svg.querySelector("clipPath rect");
    const series = data.series.map(s => ({ ...s, path: plot.querySelector(`path[fill="none"][stroke="${s.color}"]`) }))
      .filter(s => s.path).map(s => ({ ...s, at: pixels(s.path) }));
    if (!series.length) return;
    const tip = document.createElement("div");
    tip.className = "tip";
    tip.hidden = true;
    tip.setAttribute("role", "status");
    chart.append(tip);
    const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
    line.setAttribute("stroke", "#6e6e6e");
    line.setAttribute("stroke-width", "0.7");
    line.setAttribute("visibility", "hidden");
    plot.append(line);
    const top = Number(frame.getAttribute("y")), height = Number(frame.getAttribute("height"));
    const nearest = (s, x) => s.at.reduce((best, p, i) => (Math.abs(p[0] - x) < Math.abs(s.at[best][0] - x) ? i : best), 0);
    const shown = () => series.filter(s => s.path.style.display !== "none");
    let place = null;

    const hide = () => { tip.hidden = true; line.setAttribute("visibility", "hidden"); place = null; };
    const show = (x, low = true) => {
      const visible = shown();
      if (!visible.length) return hide();
      const picks = visible.map(s => [s, nearest(s, x)]);
      const [first, i] = picks.reduce((a, b) => (Math.abs(a[0].at[a[1]][0] - x) <= Math.abs(b[0].at[b[1]][0] - x) ? a : b));
      place = first.at[i][0];
      tip.replaceChildren(`${data.x} ${number(first.x[i])}`);
      const table = document.createElement("table");
      for (const [s] of picks) {
        const j = nearest(s, place);
        if (Math.abs(s.at[j][0] - place) > 3) continue;
        const row = table.insertRow();
        const swatch = row.insertCell();
        swatch.innerHTML = `<svg width="10" height="8" aria-hidden="true"><path d="M0 4H10" stroke-width="2.5" stroke="${s.color}"/></svg>`;
        row.insertCell().textContent = s.label;
        const range = s.low ? ` (${number(s.low[j])} to ${number(s.high[j])})` : "";
        row.insertCell().textContent = number(s.y[j]) + range;
      }
      tip.append(table);
      tip.hidden = false;
      line.setAttribute("d", `M${place} ${top}V${top + height}`);
      line.setAttribute("visibility", "visible");
      const scale = svg.clientWidth / svg.viewBox.baseVal.width;
      const left = place * scale + 12;
      const room = chart.clientWidth - tip.offsetWidth;
      tip.style.left = `${left <= room ? left : Math.max(0, Math.min(place * scale - tip.offsetWidth - 12, room))}px`;
      // Beside the hand, not under it: values stand in the other half of the plot.
      tip.style.top = `${low ? Math.max(0, (top + height) * scale - tip.offsetHeight - 6) : top * scale + 6}px`;
    };
    svg.addEventListener("pointermove", event => {
      const box = svg.getBoundingClientRect();
      const scale = svg.viewBox.baseVal.width / box.width;
      show((event.clientX - box.left) * scale, (event.clientY - box.top) * scale < top + height / 2);
    });
    svg.addEventListener("pointerleave", hide);
    svg.setAttribute("tabindex", "0");
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", event => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const [s] = shown();
      if (event.key === "Escape") hide();
      if (!step || !s) return;
      event.preventDefault();
      const i = place === null ? (step > 0 ? -1 : s.at.length) : nearest(s, place);
      show(s.at[Math.max(0, Math.min(s.at.length - 1, i + step))][0]);
    });
  };
  document.querySelectorAll(".chart").forEach(hover);

  for (const entry of document.querySelectorAll(".legend li")) {
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", "true");
    button.append(...entry.childNodes);
    entry.append(button);
    const color = entry.dataset.color;
    const paths = entry.closest("figure").querySelectorAll(
      `.chart g[clip-path] path[stroke="${color}"], .chart g[clip-path] path[fill="${color}"]`);
    button.addEventListener("click", () => {
      const pressed = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(pressed));
      paths.forEach(path => { path.style.display = pressed ? "" : "none"; });
    });
  }
})();

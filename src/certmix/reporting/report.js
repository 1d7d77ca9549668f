"use strict";
// Draws the samples, answers the pointer, sorts the table. Names are only ever written as text.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  sortTables();
  if (!data.samples) return;

  const plane = document.getElementById("plane"), marks = document.getElementById("marks");
  const tip = document.getElementById("tip"), box = plane.parentElement;
  const s = data.samples, n = s.name.length;
  const shapes = data.shapes.map((d) => new Path2D(d));
  const hidden = new Set(), uncertain = new Set(s.uncertain), fixed = new Set(s.fixed);
  const placeOf = new Map(s.row.map((row, i) => [row, i]));
  const CELL = 24, REACH = 14;
  let view = null, chosen = [], hovered = -1;

  // Samples that are uncertain are drawn last, above the others.
  const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => uncertain.has(a) - uncertain.has(b));

  function limits(axis) {
    let low = Infinity, high = -Infinity;
    for (const points of [s.at, data.means]) for (const p of points) {
      low = Math.min(low, p[axis]);
      high = Math.max(high, p[axis]);
    }
    const room = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
    return [low - room, high + room];
  }
  const spans = [limits(0), limits(1)];

  function steps([low, high], count) {
    const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((m) => m >= rough * 0.999);
    const found = [];
    for (let i = Math.ceil(low / step); i * step <= high; i++) found.push(Number((i * step).toPrecision(12)));
    return found;
  }

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colours = () => Array.from({ length: 7 }, (_, k) => colour(`--c${k}`));

  function prepared(canvas, width, height, ratio) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    return g;
  }

  function draw() {
    const width = box.clientWidth, height = box.clientHeight;
    if (!width || !height) return;
    const ratio = Math.min(3, Math.max(window.devicePixelRatio || 1, matchMedia("print").matches ? 3 : 1));
    const left = 58, right = 10, top = 10, bottom = 44;
    const x = (v) => left + (width - left - right) * (v - spans[0][0]) / (spans[0][1] - spans[0][0]);
    const y = (v) => height - bottom - (height - top - bottom) * (v - spans[1][0]) / (spans[1][1] - spans[1][0]);
    const size = n > 5000 ? 2.2 : n > 1000 ? 3 : n > 300 ? 3.6 : 4.4;
    view = { width, height, ratio, x, y, size, at: new Float64Array(2 * n), grid: new Map() };
    const g = prepared(plane, width, height, ratio);
    drawAxes(g, left, top, width - right, height - bottom);
    drawSamples(g);
    drawMeans(g);
    for (let i = 0; i < n; i++) if (!hidden.has(s.label[i])) {
      const key = `${Math.floor(view.at[2 * i] / CELL)},${Math.floor(view.at[2 * i + 1] / CELL)}`;
      if (!view.grid.has(key)) view.grid.set(key, []);
      view.grid.get(key).push(i);
    }
    drawMarks();
  }

  function drawAxes(g, x0, y0, x1, y1) {
    g.font = "12px system-ui, sans-serif";
    g.strokeStyle = colour("--grid");
    g.fillStyle = colour("--soft");
    g.lineWidth = 1;
    g.textAlign = "center";
    for (const v of steps(spans[0], Math.max(3, Math.round((x1 - x0) / 110)))) {
      line(g, view.x(v), y0, view.x(v), y1);
      g.fillText(String(v), view.x(v), y1 + 16);
    }
    const named = data.axes[1] === "component";
    g.textAlign = "right";
    const rows = named ? data.components.map((_, k) => k) : steps(spans[1], Math.max(3, Math.round((y1 - y0) / 70)));
    for (const v of rows) {
      line(g, x0, view.y(v), x1, view.y(v));
      g.fillText(cut(named ? data.components[v] : String(v), 8), x0 - 6, view.y(v) + 4);
    }
    g.fillStyle = colour("--ink");
    g.textAlign = "center";
    g.fillText(cut(data.axes[0], (x1 - x0) / 7), (x0 + x1) / 2, y1 + 36);
    g.save();
    g.translate(12, (y0 + y1) / 2);
    g.rotate(-Math.PI / 2);
    g.fillText(cut(data.axes[1], (y1 - y0) / 7), 0, 0);
    g.restore();
  }

  function line(g, x0, y0, x1, y1) {
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
    g.stroke();
  }

  const cut = (text, most) => text.length > most ? `${text.slice(0, Math.max(1, most - 1))}…` : text;

  function drawSamples(g) {
    const tones = colours(), edge = colour("--edge"), ring = colour("--ink");
    const { ratio, size, at } = view;
    for (const i of order) {
      const k = s.label[i], px = view.x(s.at[i][0]), py = view.y(s.at[i][1]);
      at[2 * i] = px;
      at[2 * i + 1] = py;
      if (hidden.has(k)) continue;
      g.setTransform(ratio * size, 0, 0, ratio * size, ratio * px, ratio * py);
      g.fillStyle = tones[k % tones.length];
      g.fill(shapes[k % shapes.length]);
      if (n <= 5000) {
        g.lineWidth = 0.15;
        g.strokeStyle = edge;
        g.stroke(shapes[k % shapes.length]);
      }
    }
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.strokeStyle = ring;
    g.lineWidth = 1.1;
    for (const i of uncertain) if (!hidden.has(s.label[i])) circle(g, at[2 * i], at[2 * i + 1], size + 3.5);
  }

  function drawMeans(g) {
    const tones = colours();
    data.means.forEach(([mx, my], k) => {
      if (hidden.has(k)) return;
      const px = view.x(mx), py = view.y(my), r = 7;
      for (const [wide, tone] of [[6.5, colour("--card")], [4.5, colour("--ink")], [2.2, tones[k % tones.length]]]) {
        g.lineWidth = wide;
        g.strokeStyle = tone;
        line(g, px - r, py - r, px + r, py + r);
        line(g, px - r, py + r, px + r, py - r);
      }
    });
  }

  function circle(g, px, py, r) {
    g.beginPath();
    g.arc(px, py, r, 0, 2 * Math.PI);
    g.stroke();
  }

  // What is pointed at or chosen lies on a canvas of its own, so that nothing else has to be drawn again.
  function drawMarks() {
    const g = prepared(marks, view.width, view.height, view.ratio);
    g.strokeStyle = colour("--link");
    g.lineWidth = 2.5;
    for (const i of hovered >= 0 ? [...chosen, hovered] : chosen) {
      if (!hidden.has(s.label[i])) circle(g, view.at[2 * i], view.at[2 * i + 1], view.size + 6);
    }
  }

  function nearest(px, py) {
    const cx = Math.floor(px / CELL), cy = Math.floor(py / CELL);
    let best = -1, least = REACH * REACH;
    for (let a = cx - 1; a <= cx + 1; a++) for (let b = cy - 1; b <= cy + 1; b++) {
      for (const i of view.grid.get(`${a},${b}`) || []) {
        const dx = view.at[2 * i] - px, dy = view.at[2 * i + 1] - py, away = dx * dx + dy * dy;
        if (away < least) [best, least] = [i, away];
      }
    }
    return best;
  }

  function show(i) {
    tip.hidden = i < 0;
    if (i < 0) return;
    tip.replaceChildren();
    const name = document.createElement("b");
    name.textContent = cut(s.name[i], 200);
    tip.append(name);
    const lines = [`component ${data.components[s.label[i]]}`];
    lines.push(fixed.has(i) ? "fixed by the side constraints" : `posterior ${s.posterior[i]}`);
    if (s.margin.length) lines.push(`margin ${[s.margin[i], data.unit].join(" ").trim()} (${s.state[i]})`);
    if (s.other[i]) lines.push(`would go to ${s.other[i]}`);
    for (const text of lines) {
      const row = document.createElement("div");
      row.textContent = text;
      tip.append(row);
    }
    const px = view.at[2 * i], py = view.at[2 * i + 1];
    tip.style.left = `${Math.max(0, px + 16 + tip.offsetWidth > view.width ? px - 16 - tip.offsetWidth : px + 16)}px`;
    tip.style.top = `${Math.max(0, Math.min(py - 10, view.height - tip.offsetHeight))}px`;
  }

  function hover(i) {
    if (i === hovered) return;
    hovered = i;
    drawMarks();
    show(i);
  }

  plane.addEventListener("pointermove", (event) => {
    const frame = plane.getBoundingClientRect();
    hover(nearest(event.clientX - frame.left, event.clientY - frame.top));
  });
  plane.addEventListener("pointerleave", () => hover(-1));

  for (const key of document.querySelectorAll(".key")) {
    key.addEventListener("click", () => {
      const k = Number(key.dataset.component), shown = hidden.delete(k);
      if (!shown) hidden.add(k);
      key.setAttribute("aria-pressed", String(shown));
      draw();
    });
  }

  const find = document.getElementById("find"), count = document.getElementById("matches");
  find.addEventListener("input", () => {
    const wanted = find.value.trim().toLowerCase();
    chosen = wanted ? order.filter((i) => s.name[i].toLowerCase().includes(wanted)) : [];
    count.textContent = wanted ? `${chosen.length} found` : "";
    chosen = chosen.slice(0, 500);
    drawMarks();
  });

  for (const row of document.querySelectorAll("tr[data-sample]")) {
    const choose = () => {
      document.querySelectorAll("tr.chosen").forEach((other) => other.classList.remove("chosen"));
      row.classList.add("chosen");
      const i = placeOf.get(Number(row.dataset.sample));
      if (i === undefined) return;
      chosen = [i];
      hovered = -1;
      drawMarks();
      show(i);
    };
    row.addEventListener("click", () => {
      choose();
      box.scrollIntoView({ block: "nearest" });
    });
    row.addEventListener("keydown", (event) => event.key === "Enter" && choose());
  }

  new ResizeObserver(draw).observe(box);
  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", draw);
  window.addEventListener("beforeprint", draw);
  window.addEventListener("afterprint", draw);
  draw();

  function sortTables() {
    for (const table of document.querySelectorAll("table.sortable")) {
      const heads = [...table.querySelectorAll("thead th")];
      heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") !== "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const value = (row) => row.cells[column].dataset.value;
        const compare = head.dataset.kind === "number"
          ? (a, b) => value(a) - value(b)
          : (a, b) => value(a).localeCompare(value(b), undefined, { numeric: true });
        const rows = [...table.tBodies[0].rows].sort((a, b) => up ? compare(a, b) : compare(b, a));
        table.tBodies[0].append(...rows);
      }));
    }
  }
})();

"use strict";
// Draws what the server tells. Names, panels, sticks, colours and words all come from there; whatever is text is
// set as text, never as markup.

const LINE_PX = { stick: 5, ligament: 1.6, residual: 1.6, curve: 1.8 };
const RADIUS_PX = { joint: 4.5, marker: 2.6, cross: 3.5, contact: 4 };
const BORDER_PX = 24, GRID_M = 0.25, GRID_REACH_M = 1.5, N_FIT = 8, CHOSEN_USUAL = 3;
const FIT_FIELDS = ["joint_centres", "markers_measured", "markers_model", "segment_positions", "contact_places"];

const $ = (id) => document.getElementById(id);
const known = (p) => p && p[0] !== null && p[1] !== null && p[2] !== null;
let look = null, theme = null, layout = null, state = null, stream = null;
let chosen = [], plots = [], heard = 0, asked = "";

// --- the figure -------------------------------------------------------------------------------------------------
const camera = { target: [0, 0.5, 0], span: 1.6, azimuth: 35, elevation: 14, perspective: true,
                 view: "3-D", across: null, fitted: false, zoomed: false };

function basis() {
  const a = camera.azimuth * Math.PI / 180, e = camera.elevation * Math.PI / 180;
  const ca = Math.cos(a), sa = Math.sin(a), ce = Math.cos(e), se = Math.sin(e);
  return [[ca, 0, -sa], [-sa * se, ce, -ca * se], [sa * ce, se, ca * ce]];
}

function projector(width, height) {
  const rows = basis(), t = camera.target;
  const perMetre = Math.min(height, look.camera.aspect * width) / camera.span;
  const far = look.camera.eye_distance * camera.span;
  return (p) => {
    if (!known(p)) return null;
    const d = [p[0] - t[0], p[1] - t[1], p[2] - t[2]];
    const [x, y, z] = rows.map((r) => r[0] * d[0] + r[1] * d[1] + r[2] * d[2]);
    const scale = camera.perspective ? perMetre * far / Math.max(far - z, 0.1 * far) : perMetre;
    return [0.5 * width + scale * x, 0.5 * height - scale * y];
  };
}

function lookFrom(name) {
  const view = look.views[name], across = state && state.across;
  Object.assign(camera, { view: name, elevation: view.elevation, perspective: view.perspective,
                          across: across ?? null, azimuth: view.azimuth + (across ?? 0) });
  if (!camera.zoomed) camera.fitted = false;
  for (const button of $("views").children) button.setAttribute("aria-pressed", button.textContent === name);
}

function turnAlong() {
  if (!camera.view || state.across === null || state.across === undefined) return;
  const turned = camera.across === null ? 360 : ((state.across - camera.across + 540) % 360) - 180;
  if (Math.abs(turned) > look.camera.turned_least) lookFrom(camera.view);
}

function figurePoints() {
  const points = [];
  for (const name of FIT_FIELDS) for (const p of state.figure[name] || []) if (known(p)) points.push(p);
  return points;
}

function filled(points, width, height) {
  const project = projector(width, height);
  const reach = [Math.max(0.5 * width - BORDER_PX, 1), Math.max(0.5 * height - BORDER_PX, 1)];
  let most = 0;
  for (const p of points) {
    const [x, y] = project(p);
    most = Math.max(most, Math.abs(x - 0.5 * width) / reach[0], Math.abs(y - 0.5 * height) / reach[1]);
  }
  return most;
}

function follow(width, height) {
  const at = layout.follow !== null && (state.figure.segment_positions || [])[layout.follow];
  if (known(at)) { camera.target[0] = at[0]; camera.target[2] = at[2]; }
  const points = figurePoints();
  if (camera.zoomed || !points.length) return;
  const share = camera.fitted ? filled(points, width, height) : 0;
  if (camera.fitted && share > look.camera.filled_least && share <= 1) return;
  const low = [0, 1, 2].map((k) => Math.min(...points.map((p) => p[k])));
  const high = [0, 1, 2].map((k) => Math.max(...points.map((p) => p[k])));
  const extent = Math.max(...high.map((h, k) => h - low[k]), look.camera.extent_least);
  if (low[1] > 0 && low[1] < extent) low[1] = 0;
  const centre = low.map((l, k) => 0.5 * (l + high[k]));
  camera.target = known(at) ? [at[0], centre[1], at[2]] : centre;
  const within = points.concat([[points[0][0], low[1], points[0][2]]]);
  for (let k = 0; k < N_FIT; k++) {
    const ratio = filled(within, width, height) / look.camera.filled;
    camera.span = Math.min(3000, Math.max(0.05, camera.span * Math.max(ratio, 1e-3)));
    if (Math.abs(ratio - 1) < 0.01) break;
  }
  camera.fitted = true;
}

function sized(canvas) {
  const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return [pen, width, height];
}

function line(pen, a, b) {
  if (!a || !b) return;
  pen.beginPath(); pen.moveTo(a[0], a[1]); pen.lineTo(b[0], b[1]); pen.stroke();
}

function dot(pen, p, radius, fill, stroke) {
  if (!p) return;
  pen.beginPath(); pen.arc(p[0], p[1], radius, 0, 2 * Math.PI);
  if (fill) { pen.fillStyle = fill; pen.fill(); }
  if (stroke) { pen.strokeStyle = stroke; pen.stroke(); }
}

function drawFloor(pen, project) {
  pen.strokeStyle = theme.grid; pen.lineWidth = 1;
  const n = Math.round(GRID_REACH_M / GRID_M), reach = n * GRID_M;
  const x0 = GRID_M * Math.round(camera.target[0] / GRID_M), z0 = GRID_M * Math.round(camera.target[2] / GRID_M);
  for (let k = -n; k <= n; k++) {
    line(pen, project([x0 + k * GRID_M, 0, z0 - reach]), project([x0 + k * GRID_M, 0, z0 + reach]));
    line(pen, project([x0 - reach, 0, z0 + k * GRID_M]), project([x0 + reach, 0, z0 + k * GRID_M]));
  }
}

function drawSticks(pen, places, colourOf, dashed) {
  pen.lineWidth = LINE_PX.stick; pen.lineCap = dashed ? "butt" : "round";
  for (const [a, b] of layout.sticks) {
    const side = layout.sides[b] || "", dash = dashed && look.dashes[side];
    pen.setLineDash(dash ? dash.map((d) => d * LINE_PX.stick) : []);
    pen.strokeStyle = colourOf(side);
    line(pen, places[a], places[b]);
  }
  pen.setLineDash([]);
}

function drawMarkers(pen, project) {
  const measured = (state.figure.markers_measured || []).map(project);
  const model = (state.figure.markers_model || []).map(project), both = measured.length === model.length;
  model.forEach((p, k) => {
    if (both && measured[k]) {
      pen.strokeStyle = theme.residual; pen.lineWidth = LINE_PX.residual;
      line(pen, measured[k], p);
    }
    if (both && !measured[k] && p) {
      pen.strokeStyle = theme.occluded; pen.lineWidth = LINE_PX.residual;
      const r = RADIUS_PX.cross;
      line(pen, [p[0] - r, p[1] - r], [p[0] + r, p[1] + r]);
      line(pen, [p[0] - r, p[1] + r], [p[0] + r, p[1] - r]);
    } else dot(pen, p, RADIUS_PX.marker, theme.model);
  });
  pen.lineWidth = 1.2;
  for (const p of measured) dot(pen, p, RADIUS_PX.marker + 1.6, null, theme.measured);
}

function drawFigure() {
  const canvas = $("figure"), [pen, width, height] = sized(canvas);
  if (!layout || !state || !state.figure || !width || !height) return;
  turnAlong();
  follow(width, height);
  canvas.className = state.dim ? "dim" : "";
  const project = projector(width, height), centres = state.figure.joint_centres || [];
  drawFloor(pen, project);
  drawSticks(pen, centres.map((p) => known(p) ? project([p[0], 0, p[2]]) : null), () => theme.shadow, false);
  const places = centres.map(project);
  drawSticks(pen, places, (side) => theme[side] || theme.stick, true);
  pen.lineWidth = 1.6;
  for (const p of places) dot(pen, p, RADIUS_PX.joint, theme.panel, theme.stick);
  pen.strokeStyle = theme[look.colours.ligament]; pen.lineWidth = LINE_PX.ligament;
  for (const name of ["ligament_ends", "spring_ends"])
    for (const ends of state.figure[name] || []) line(pen, project(ends[0]), project(ends[1]));
  for (const p of (state.figure.contact_places || []).map(project))
    dot(pen, p, RADIUS_PX.contact, theme[look.colours.contact]);
  drawMarkers(pen, project);
}

function watchHands(canvas) {
  const hands = new Map();
  let spread = 0;
  const apart = () => { const [a, b] = [...hands.values()]; return Math.hypot(a[0] - b[0], a[1] - b[1]); };
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId); hands.set(e.pointerId, [e.clientX, e.clientY]);
    if (hands.size === 2) spread = apart();
  });
  canvas.addEventListener("pointermove", (e) => {
    const before = hands.get(e.pointerId);
    if (!before) return;
    hands.set(e.pointerId, [e.clientX, e.clientY]);
    if (hands.size === 2) {
      camera.zoomed = true;
      camera.span = Math.min(3000, Math.max(0.05, camera.span * spread / Math.max(apart(), 1)));
      spread = apart();
    } else {
      camera.azimuth -= 0.4 * (e.clientX - before[0]);
      camera.elevation = Math.min(90, Math.max(-90, camera.elevation + 0.4 * (e.clientY - before[1])));
      camera.view = "";
      for (const button of $("views").children) button.setAttribute("aria-pressed", "false");
    }
  });
  for (const name of ["pointerup", "pointercancel"])
    canvas.addEventListener(name, (e) => hands.delete(e.pointerId));
  canvas.addEventListener("dblclick", () => { camera.zoomed = camera.fitted = false; });
}

// --- the curves -------------------------------------------------------------------------------------------------
class Plot {
  constructor(index) {
    this.index = index; this.panel = layout.panels[index];
    this.time = []; this.quality = []; this.values = this.panel.names.map(() => []);
    this.range = null;
    this.card = element("div", "card plot");
    this.card.append(element("h2", "", this.panel.title ? `${this.panel.title}: ${this.panel.axis}` : this.panel.axis));
    const names = element("div", "values");
    this.shown = this.panel.names.map((name, k) => {
      const item = element("span", "", name);
      item.style.color = this.colour(k);
      const value = element("b", "", "–");
      item.append(" ", value);
      names.append(item);
      return value;
    });
    this.canvas = document.createElement("canvas");
    this.card.append(names, this.canvas);
  }
  colour(k) { return theme[this.panel.sides[k]] || colour(k); }
  add(time, quality, values) {
    if (!values) return;
    this.time.push(...time); this.quality.push(...quality);
    values.forEach((v, k) => this.values[k].push(...v));
    const from = this.time.findIndex((t) => t > this.time[this.time.length - 1] - layout.shown_s);
    if (from > 0) {
      this.time.splice(0, from); this.quality.splice(0, from);
      for (const v of this.values) v.splice(0, from);
    }
  }
  extent() {
    let low = this.panel.zero ? 0 : Infinity, high = this.panel.zero ? 0 : -Infinity;
    for (const v of this.values) for (const x of v) if (x !== null) { low = Math.min(low, x); high = Math.max(high, x); }
    if (low > high) { low = 0; high = 0; }
    const short = this.panel.least - (high - low);
    if (short > 0) { high += this.panel.zero ? short : short / 2; low -= this.panel.zero ? 0 : short / 2; }
    const wide = high - low, held = this.range;
    const fits = held && low >= held[0] && high <= held[1] && wide > 0.4 * (held[1] - held[0]);
    if (!fits) this.range = [low - (this.panel.zero && low === 0 ? 0 : 0.06 * wide), high + 0.06 * wide];
    return this.range;
  }
  draw() {
    const [pen, width, height] = sized(this.canvas);
    const [low, high] = this.extent(), left = 46, bottom = 18, n = this.time.length;
    const end = n ? this.time[n - 1] : 0, w = width - left - 6, h = height - bottom - 4;
    if (w < 20 || h < 20) return;
    const x = (t) => left + w * (1 + (t - end) / layout.shown_s), y = (v) => 4 + h * (high - v) / (high - low);
    this.shade(pen, x, h);
    pen.font = "11px system-ui, sans-serif"; pen.lineWidth = 1;
    const step = nice((high - low) / Math.max(2, h / 45));
    for (let k = Math.ceil(low / step); k * step <= high; k++) {
      pen.strokeStyle = theme.grid; line(pen, [left, y(k * step)], [left + w, y(k * step)]);
      pen.fillStyle = theme.text_dim; pen.textAlign = "right"; pen.textBaseline = "middle";
      pen.fillText(String(+(k * step).toPrecision(6)), left - 6, y(k * step));
    }
    pen.textAlign = "center"; pen.textBaseline = "alphabetic";
    for (let s = 0; s < layout.shown_s; s += 5) pen.fillText(s ? `-${s} s` : "now", Math.min(x(end - s), left + w - 12), height - 4);
    this.values.forEach((values, k) => {
      pen.strokeStyle = this.colour(k); pen.lineWidth = LINE_PX.curve; pen.beginPath();
      pen.setLineDash((look.dashes[this.panel.sides[k]] || []).map((d) => d * 2 * LINE_PX.curve));
      let open = false;
      values.forEach((v, i) => {
        if (v === null) { open = false; return; }
        if (open) pen.lineTo(x(this.time[i]), y(v)); else pen.moveTo(x(this.time[i]), y(v));
        open = true;
      });
      pen.stroke(); pen.setLineDash([]);
      const newest = n ? values[n - 1] : null;
      this.shown[k].textContent = newest === null ? "–" : newest.toFixed(Math.abs(newest) < 100 ? 1 : 0);
    });
  }
  shade(pen, x, h) {
    const fills = [null, theme.degraded_fill, theme.missing_fill, theme.missing_fill];  // by Quality
    for (let i = 0; i < this.time.length; ) {
      let j = i;
      while (j < this.time.length && this.quality[j] === this.quality[i]) j++;
      if (fills[this.quality[i]]) {
        const from = x(this.time[i]), to = x(this.time[Math.min(j, this.time.length - 1)]);
        pen.fillStyle = rgba(fills[this.quality[i]]);
        pen.fillRect(Math.max(from, 46), 4, Math.max(to - Math.max(from, 46), 1), h);
      }
      i = j;
    }
  }
}

const colour = (k) => theme.curves[k % theme.curves.length];
const rgba = (c) => c.length === 9 ? `#${c.slice(3)}${c.slice(1, 3)}` : c;  // the server's alpha stands first

function nice(step) {
  const power = 10 ** Math.floor(Math.log10(step)), share = step / power;
  return power * (share <= 1 ? 1 : share <= 2 ? 2 : share <= 5 ? 5 : 10);
}

// --- words ------------------------------------------------------------------------------------------------------
function element(kind, classes, text) {
  const made = document.createElement(kind);
  if (classes) made.className = classes;
  if (text !== undefined) made.textContent = text;
  return made;
}

function showTheme(name) {
  theme = look.themes[name];
  for (const [key, value] of Object.entries(theme))
    if (typeof value === "string" && value.startsWith("#")) document.documentElement.style.setProperty(`--${key}`, rgba(value));
  $("theme").textContent = name === "dark" ? "Light" : "Dark";
  remember("theme", name);
  if (layout) { choose(chosen); showKey(); }
  if (state) showState();
}

function showKey() {
  $("key").replaceChildren();
  const sides = look.sides.filter((side) => layout.sides.includes(side));
  const markers = layout.labels.markers_measured || layout.labels.markers_model ? ["measured", "model", "occluded"] : [];
  const forces = [["ligament", "ligament_ends"], ["spring", "spring_ends"], ["contact", "contact_places"]];
  for (const name of [...sides, ...markers, ...forces.filter((f) => layout.labels[f[1]]).map((f) => f[0])]) {
    const item = element("span", "", `● ${name}`);
    item.style.color = theme[look.colours[name] || name];
    $("key").append(item);
  }
}

function showState() {
  $("dot").style.color = theme[state.connection.mood];
  $("connection").textContent = state.connection.words;
  for (const [key, [text, mood]] of Object.entries(state.chips)) {
    const value = $(`chip-${key}`);
    value.textContent = text; value.style.color = mood ? theme[mood] : "";
  }
  $("notes").textContent = state.notes.length ? `Left out: ${state.notes.join("; ")}.` : "";
  $("sentence").textContent = state.sentences.length ? state.sentences[state.sentences.length - 1] : "";
  const recent = state.events.slice(-24).reverse();
  $("events").replaceChildren(...recent.map((event) => {
    const item = element("span", "", `${event.time.toFixed(2)} s ${event.side} ${event.kind}`);
    item.style.borderLeftColor = theme[event.side] || theme.stick;
    return item;
  }));
}

function lost(words) {
  $("dot").style.color = theme ? theme.bad : "";
  $("connection").textContent = words;
  $("figure").className = "dim";
}

// --- choosing and hearing -----------------------------------------------------------------------------------------
function remember(key, value) { try { localStorage.setItem(`rtsim.${key}`, JSON.stringify(value)); } catch { /* not kept */ } }
function recall(key) { try { return JSON.parse(localStorage.getItem(`rtsim.${key}`)); } catch { return null; } }

const nameOf = (panel) => `${panel.title}: ${panel.axis}`;

function choose(indices) {
  build(indices);
  listen(chosen.join(","));
}

function build(indices) {
  chosen = indices;
  plots = chosen.map((k) => new Plot(k));
  $("plots").replaceChildren(...plots.map((plot) => plot.card));
}

function takeLayout(told) {
  const anew = !layout || JSON.stringify(told.panels) !== JSON.stringify(layout.panels);
  layout = told;
  camera.fitted = false;
  $("details").textContent = layout.details;
  showKey();
  if (!anew) { build(chosen); return; }  // all curves follow anew
  const kept = recall("panels");
  const wanted = layout.panels.map((_, k) => k).filter((k) => kept ? kept.includes(nameOf(layout.panels[k])) : k < CHOSEN_USUAL);
  $("choices").replaceChildren(...layout.panels.map((panel, k) => {
    const label = element("label", "", ""), box = document.createElement("input");
    box.type = "checkbox"; box.checked = wanted.includes(k);
    box.addEventListener("change", () => {
      const now = [...$("choices").querySelectorAll("input")].flatMap((b, i) => b.checked ? [i] : []);
      remember("panels", now.map((i) => nameOf(layout.panels[i])));
      choose(now);
    });
    label.append(box, nameOf(panel));
    return label;
  }));
  if (wanted.join(",") !== asked) choose(wanted);
  else build(wanted);
}

function listen(panels) {
  if (stream) stream.close();
  asked = panels;
  stream = new EventSource(`/stream?panels=${panels}`);
  stream.addEventListener("layout", (e) => { heard = Date.now(); takeLayout(JSON.parse(e.data)); });
  stream.addEventListener("state", (e) => { heard = Date.now(); state = JSON.parse(e.data); showState(); });
  stream.addEventListener("curves", (e) => {
    const told = JSON.parse(e.data);
    for (const plot of plots) plot.add(told.time, told.quality, told.panels[plot.index]);
  });
  stream.addEventListener("error", () => {
    lost("no connection to the server of this page; trying again");
    if (stream.readyState === EventSource.CLOSED) setTimeout(() => listen(asked), 1000);
  });
}

function frame() {
  if (look) {
    drawFigure();
    for (const plot of plots) plot.draw();
    if (heard && Date.now() - heard > 3000) lost("the server of this page is silent");
  }
  requestAnimationFrame(frame);
}

async function begin() {
  look = await (await fetch("/look.json")).json();
  for (const name of Object.keys(look.views)) {
    const button = element("button", "", name);
    button.type = "button";
    button.addEventListener("click", () => lookFrom(name));
    $("views").append(button);
  }
  for (const [key, text] of Object.entries(look.chips)) {
    const chip = element("div", "chip"), value = element("b", "", "–");
    value.id = `chip-${key}`;
    chip.title = text.explanation;
    chip.append(element("small", "", text.caption), value);
    $("chips").append(chip);
  }
  $("theme").addEventListener("click", () => showTheme(theme.name === "dark" ? "light" : "dark"));
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  showTheme(recall("theme") in look.themes ? recall("theme") : dark);
  lookFrom("3-D");
  watchHands($("figure"));
  listen("");
  requestAnimationFrame(frame);
}

begin();

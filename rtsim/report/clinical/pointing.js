"use strict";
// Reads curves of the report by pointing, by touch and by keys: values of all series at a percent of the cycle, or a time.
const pages = JSON.parse(document.getElementById("panels").textContent);
const told = document.getElementById("told");
const SVG = "http://www.w3.org/2000/svg";
const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10, Home: -Infinity, End: Infinity };

function shown(value) {
  const digits = Math.abs(value) < 10 ? 2 : 1;
  const text = value.toFixed(digits);
  return Number(text) === 0 ? (0).toFixed(digits) : text;
}

function lastOf(panel) {
  return panel.times ? panel.times.length - 1 : 100;
}

// Place of a point on the abscissa, as a part of its length.
function placeOf(panel, k) {
  return panel.times ? panel.times[k] / (panel.times[lastOf(panel)] || 1) : k / 100;
}

function nearest(panel, part) {
  let best = 0;
  for (let k = 1; k <= lastOf(panel); k += 1) {
    best = Math.abs(placeOf(panel, k) - part) < Math.abs(placeOf(panel, best) - part) ? k : best;
  }
  return best;
}

function valueOf(panel, series, k) {
  if (series.mean[k] !== null) {
    const spread = series.sd[k];
    return shown(series.mean[k]) + (spread === null ? "" : " \u00b1 " + shown(spread));
  }
  if (!series.low || series.low[k] === null) {
    return "not known";
  }
  const [low, high] = [shown(series.low[k]), shown(series.high[k])];
  if (panel.times) {
    return "flagged, " + low;
  }
  return low === high ? "no mean, stride " + low : "no mean, strides " + low + " to " + high;
}

function words(panel, k) {
  const where = panel.times ? panel.times[k].toFixed(2) + " s" : k + " %";
  const lines = panel.series.map((series) => series.name + ": " + valueOf(panel, series, k));
  return [panel.title + " [" + panel.unit + "], " + where, ...lines];
}

// Shows words at a place of the window, beside it where there is room.
function tell(panel, k, x, y) {
  const lines = words(panel, k).map((text, n) => {
    const line = document.createElement("div");
    line.textContent = text;
    if (n > 0) {
      line.style.borderLeft = "6px solid " + panel.series[n - 1].colour;
      line.style.paddingLeft = "6px";
    }
    return line;
  });
  told.replaceChildren(...lines);
  told.style.display = "block";
  const [width, height] = [told.offsetWidth, told.offsetHeight];
  const left = x + 16 + width > document.documentElement.clientWidth ? x - 16 - width : x + 16;
  const top = y + 16 + height > document.documentElement.clientHeight ? y - 16 - height : y + 16;
  told.style.left = Math.max(0, left) + "px";
  told.style.top = Math.max(0, top) + "px";
}

function added(svg, kind, attributes) {
  const element = document.createElementNS(SVG, kind);
  for (const [name, value] of Object.entries(attributes)) {
    element.setAttribute(name, value);
  }
  return svg.appendChild(element);
}

document.querySelectorAll(".page").forEach((div, number) => {
  const svg = div.querySelector("svg");
  const panels = pages[number].filter((panel) => panel.series.length);
  const line = added(svg, "line", { class: "cursor", stroke: "#1a1a1a", "stroke-width": 2, visibility: "hidden" });
  const hide = () => {
    told.style.display = "none";
    line.setAttribute("visibility", "hidden");
  };
  const mark = (panel, k) => {
    const [left, right, top, bottom] = panel.box;
    const at = left + placeOf(panel, k) * (right - left);
    for (const [name, value] of [["x1", at], ["x2", at], ["y1", top], ["y2", bottom], ["visibility", "visible"]]) {
      line.setAttribute(name, value);
    }
    return at;
  };
  const point = (event) => {
    const room = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / room.width;
    const x = (event.clientX - room.left) * scale;
    const y = (event.clientY - room.top) * scale;
    const panel = panels.find((one) => x >= one.box[0] && x <= one.box[1] && y >= one.box[2] && y <= one.box[3]);
    if (!panel) {
      hide();
      return;
    }
    const k = nearest(panel, (x - panel.box[0]) / (panel.box[1] - panel.box[0]));
    mark(panel, k);
    tell(panel, k, event.clientX, event.clientY);
  };
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") { // a finger that is lifted leaves what it has read
      hide();
    }
  });
  panels.forEach((panel) => {
    const [left, right, top, bottom] = panel.box;
    const name = panel.title + " [" + panel.unit + "]";
    const area = added(svg, "rect", {
      class: "panel", x: left, y: top, width: right - left, height: bottom - top, fill: "none", tabindex: 0,
      "pointer-events": "none", role: "slider", "aria-label": name, "aria-valuemin": 0, "aria-valuemax": lastOf(panel),
    });
    let k = 0;
    const read = () => {
      const at = mark(panel, k);
      const room = svg.getBoundingClientRect();
      const scale = room.width / svg.viewBox.baseVal.width;
      tell(panel, k, room.left + at * scale, room.top + 0.5 * (top + bottom) * scale);
      area.setAttribute("aria-valuenow", k);
      area.setAttribute("aria-valuetext", words(panel, k).slice(1).join("; "));
    };
    area.addEventListener("focus", read);
    area.addEventListener("blur", hide);
    area.addEventListener("keydown", (event) => {
      if (event.key === "Escape") {
        hide();
      } else if (event.key in STEPS && !event.ctrlKey && !event.altKey && !event.metaKey) {
        event.preventDefault();
        k = Math.min(Math.max(k + STEPS[event.key], 0), lastOf(panel));
        read();
      }
    });
  });
});

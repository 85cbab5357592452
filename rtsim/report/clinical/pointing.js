"use strict";
// Reads curves of the report by pointing: values of all series at the percent of the cycle, or the time, under the pointer.
const pages = JSON.parse(document.getElementById("panels").textContent);
const told = document.getElementById("told");
const SVG = "http://www.w3.org/2000/svg";

function shown(value) {
  return value === null ? "not known" : value.toFixed(Math.abs(value) < 10 ? 2 : 1);
}

// Places of the points on the abscissa, as parts of its length: percents of the cycle, or times.
function placesOf(panel) {
  return panel.times ? panel.times.map((t) => t / panel.times[panel.times.length - 1]) : null;
}

function nearest(panel, part) {
  const places = placesOf(panel);
  if (!places) {
    return [Math.round(100 * part), Math.round(100 * part) / 100];
  }
  let best = 0;
  for (let k = 1; k < places.length; k += 1) {
    best = Math.abs(places[k] - part) < Math.abs(places[best] - part) ? k : best;
  }
  return [best, places[best]];
}

function words(panel, k) {
  const where = panel.times ? panel.times[k].toFixed(2) + " s" : k + " %";
  const lines = [panel.title + " [" + panel.unit + "], " + where];
  for (const series of panel.series) {
    const spread = series.sd[k];
    lines.push(series.name + ": " + shown(series.mean[k]) + (spread === null ? "" : " \u00b1 " + shown(spread)));
  }
  return lines.join("\n");
}

document.querySelectorAll(".page").forEach((div) => {
  const svg = div.querySelector("svg");
  const panels = pages[Number(div.dataset.page)];
  const line = document.createElementNS(SVG, "line");
  line.setAttribute("stroke", "#1a1a1a");
  line.setAttribute("stroke-width", "2");
  line.setAttribute("visibility", "hidden");
  svg.appendChild(line);
  const hide = () => {
    told.style.display = "none";
    line.setAttribute("visibility", "hidden");
  };
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("pointermove", (event) => {
    const room = svg.getBoundingClientRect();
    const scale = svg.viewBox.baseVal.width / room.width;
    const x = (event.clientX - room.left) * scale;
    const y = (event.clientY - room.top) * scale;
    const panel = panels.find((one) => x >= one.box[0] && x <= one.box[1] && y >= one.box[2] && y <= one.box[3]);
    if (!panel || !panel.series.length) {
      hide();
      return;
    }
    const [left, right, top, bottom] = panel.box;
    const [k, part] = nearest(panel, (x - left) / (right - left));
    const at = left + part * (right - left);
    for (const [name, value] of [["x1", at], ["x2", at], ["y1", top], ["y2", bottom]]) {
      line.setAttribute(name, value);
    }
    line.setAttribute("visibility", "visible");
    told.textContent = words(panel, k);
    told.style.display = "block";
    const side = event.clientX + 16 + told.offsetWidth > window.innerWidth ? -16 - told.offsetWidth : 16;
    told.style.left = event.clientX + side + "px";
    told.style.top = event.clientY + 16 + "px";
  });
});

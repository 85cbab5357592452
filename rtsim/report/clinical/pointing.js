"use strict";
// Reads curves of the report by pointing: values of all series at the percent of the cycle under the pointer.
const pages = JSON.parse(document.getElementById("panels").textContent);
const told = document.getElementById("told");
const SVG = "http://www.w3.org/2000/svg";

function shown(value) {
  return value === null ? "not known" : value.toFixed(Math.abs(value) < 10 ? 2 : 1);
}

function words(panel, percent) {
  const lines = [panel.title + " [" + panel.unit + "], " + percent + " %"];
  for (const series of panel.series) {
    const spread = series.sd[percent];
    lines.push(series.name + ": " + shown(series.mean[percent]) + (spread === null ? "" : " \u00b1 " + shown(spread)));
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
    const percent = Math.round(100 * (x - left) / (right - left));
    const at = left + percent / 100 * (right - left);
    for (const [name, value] of [["x1", at], ["x2", at], ["y1", top], ["y2", bottom]]) {
      line.setAttribute(name, value);
    }
    line.setAttribute("visibility", "visible");
    told.textContent = words(panel, percent);
    told.style.display = "block";
    const side = event.clientX + 16 + told.offsetWidth > window.innerWidth ? -16 - told.offsetWidth : 16;
    told.style.left = event.clientX + side + "px";
    told.style.top = event.clientY + 16 + "px";
  });
});

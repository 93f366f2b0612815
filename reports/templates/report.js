(function () {
  "use strict";
  var NARROW = 520, LEGEND_ROOM = 44, PAPER_WIDTH = 660, PAPER_HEIGHT = 880, drawnOnPaper = false;
  var figures = JSON.parse(document.getElementById("figures").textContent);
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function saved(place, format) {
    return { format: format, filename: place.dataset.name || "chart", width: place.clientWidth, height: place.clientHeight };
  }
  var svg = {
    name: "saveSvg",
    title: "Download as SVG",
    icon: { width: 24, height: 24, path: "M5 20h14v-2H5v2zM19 9h-4V3H9v6H5l7 7 7-7z" },
    click: function (place) { Plotly.downloadImage(place, saved(place, "svg")); }
  };
  var png = {
    name: "savePng",
    title: "Download as PNG",
    icon: Plotly.Icons.camera,
    click: function (place) { Plotly.downloadImage(place, Object.assign({ scale: 2 }, saved(place, "png"))); }
  };
  var config = {
    displaylogo: false,
    responsive: true,
    plotlyServerURL: "",
    modeBarButtonsToRemove: ["select2d", "lasso2d", "toImage", "sendChartToCloud"],
    modeBarButtonsToAdd: [png, svg]
  };
  function patched(light, patch) {
    if (Object.prototype.hasOwnProperty.call(patch, "=")) return patch["="];
    var keys = Object.keys(patch);
    if (!keys.length) return light;
    var out = Array.isArray(light) ? light.slice() : Object.assign({}, light);
    keys.forEach(function (key) { var name = key.slice(1); out[name] = patched(out[name], patch[key]); });
    return out;
  }
  function outline(mark) {
    var at = function (name) { return parseFloat(mark.getAttribute(name)); }, r = at("r");
    if (mark.tagName === "path") return mark.getAttribute("d");
    return "M" + (at("cx") - r) + "," + at("cy") + "a" + [r, r, 0, 1, 0, 2 * r, 0] + "a" + [r, r, 0, 1, 0, -2 * r, 0];
  }
  function moved(d, x, y) {
    return d.replace(/([ML])([^,]+),([\d.e-]+)/g, function (_, how, a, b) { return how + (Number(a) + x) + "," + (Number(b) + y); });
  }
  function engrave(bar, number) {
    var found = /#([^"')]+)/.exec(bar.style.fill), tile = found && document.getElementById(found[1]);
    var mark = tile && tile.querySelector("path, circle"), ground = tile && tile.querySelector("rect");
    if (!mark) return;
    var box = bar.getBBox(), wide = parseFloat(tile.getAttribute("width")), high = parseFloat(tile.getAttribute("height"));
    var clip = document.createElementNS(bar.namespaceURI, "clipPath"), lines = document.createElementNS(bar.namespaceURI, "path");
    var d = "", x, y;
    for (x = Math.floor(box.x / wide) * wide; x < box.x + box.width; x += wide)
      for (y = Math.floor(box.y / high) * high; y < box.y + box.height; y += high) d += moved(outline(mark), x, y);
    clip.id = "hatch-" + number;
    var edge = clip.appendChild(bar.cloneNode(false));
    ["style", "transform"].forEach(function (name) { edge.removeAttribute(name); });
    if (bar.hasAttribute("transform")) lines.setAttribute("transform", bar.getAttribute("transform"));
    lines.setAttribute("d", d);
    lines.setAttribute("fill", "none");
    ["fill", "stroke", "stroke-width", "opacity"].forEach(function (name) { if (mark.hasAttribute(name)) lines.setAttribute(name, mark.getAttribute(name)); });
    lines.setAttribute("clip-path", "url(#" + clip.id + ")");
    bar.style.fill = ground ? ground.getAttribute("fill") : "none";
    bar.parentNode.append(clip, lines);
  }
  function draw(paper) {
    document.querySelectorAll(".plot").forEach(function (place) {
      var figure = figures[Number(place.dataset.figure)];
      var face = dark.matches && !paper ? patched(figure.light, figure.patch) : figure.light;
      var layout = Object.assign({}, face.layout, { autosize: true });
      delete layout.width;
      if (paper) {
        layout.autosize = false;
        layout.width = PAPER_WIDTH;
        if (layout.height > PAPER_HEIGHT) layout.height = PAPER_HEIGHT;
      } else if (place.clientWidth < NARROW && layout.height) {
        layout.height += LEGEND_ROOM;
        layout.margin = Object.assign({}, layout.margin, { b: (layout.margin || {}).b + LEGEND_ROOM || LEGEND_ROOM });
      }
      if (drawnOnPaper) Plotly.purge(place);
      Plotly.react(place, face.data, layout, config);
    });
    // Chromium prints each pattern as a bitmap of its bar: on paper the hatches are lines.
    if (paper) document.querySelectorAll(".plot .pattern_filled").forEach(engrave);
    drawnOnPaper = paper;
  }
  document.querySelectorAll("details.drawn").forEach(function (table) { table.open = false; });
  draw(false);
  dark.addEventListener("change", function () { draw(false); });
  window.addEventListener("beforeprint", function () { draw(true); });
  window.addEventListener("afterprint", function () { draw(false); });
})();

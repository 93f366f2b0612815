(function () {
  "use strict";
  var NARROW = 520, LEGEND_ROOM = 44;
  var figures = JSON.parse(document.getElementById("figures").textContent);
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var config = { displaylogo: false, responsive: true, modeBarButtonsToRemove: ["select2d", "lasso2d"] };
  function draw(paper) {
    document.querySelectorAll(".plot").forEach(function (place) {
      var figure = figures[Number(place.dataset.figure)];
      var face = dark.matches && !paper ? figure.dark : figure.light;
      var layout = Object.assign({}, face.layout, { autosize: true });
      delete layout.width;
      if (place.clientWidth < NARROW && layout.height) {
        layout.height += LEGEND_ROOM;
        layout.margin = Object.assign({}, layout.margin, { b: (layout.margin || {}).b + LEGEND_ROOM || LEGEND_ROOM });
      }
      Plotly.react(place, face.data, layout, config);
    });
  }
  draw(false);
  dark.addEventListener("change", function () { draw(false); });
  window.addEventListener("beforeprint", function () { draw(true); });
  window.addEventListener("afterprint", function () { draw(false); });
})();

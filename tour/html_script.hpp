// tour/html_script.hpp -- what makes the page's films move: buttons, the arrow keys, and play.
// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace tour {
inline constexpr std::string_view html_script = R"(
"use strict";
const films = [...document.querySelectorAll(".film")].map(root => {
  const parts = [...root.querySelectorAll("[data-step]")];
  const lines = [...root.querySelectorAll("[data-line]")];
  const steps = Number(root.dataset.steps);
  const list = root.querySelector(".events");
  const times = [...root.querySelectorAll("[data-at]")].map(each => Number(each.dataset.at));
  const controls = root.querySelector(".controls");
  const button = name => controls.querySelector(`[data-go=${name}]`);
  let now = 0, timer = 0;

  const show = step => {
    now = Math.max(0, Math.min(steps - 1, step));
    let active = [], others = [];
    for (const part of parts) {
      const its = Number(part.dataset.step);
      part.classList.toggle("past", its < now);
      part.classList.toggle("now", its === now);
      if (its === now && part.dataset.lines) active = part.dataset.lines.split(" ");
      if (its === now && part.dataset.others) others = part.dataset.others.split(" ");
    }
    for (const line of lines) {
      line.classList.toggle("runs", active.includes(line.dataset.line));
      line.classList.toggle("stands", others.includes(line.dataset.line));
    }
    root.style.setProperty("--head", 100 * (now + 0.5) / steps + "%");
    controls.querySelector("output").textContent = `${now + 1} of ${steps}`;
    button("back").disabled = now === 0;
    button("next").disabled = now === steps - 1;
    const current = list && list.querySelector(".now");
    if (current) list.scrollTop = current.offsetTop - list.offsetTop - list.clientHeight / 2;
  };
  // In proportion to the recorded times, but neither too fast nor too slow to follow.
  const pause = () => {
    const all = times[times.length - 1] - times[0];
    if (!(all > 0)) return times.length ? 600 : 1800;
    return 300 + Math.min(2000, 5000 * (times[now + 1] - times[now]) / all);
  };
  const stop = () => {
    clearTimeout(timer);
    timer = 0;
    button("play").textContent = "play";
  };
  const play = () => {
    button("play").textContent = "pause";
    timer = setTimeout(() => {
      show(now + 1);
      if (now === steps - 1) stop(); else play();
    }, pause());
  };
  const go = what => {
    const playing = timer !== 0;
    stop();
    if (what === "back") show(now - 1);
    if (what === "next") show(now + 1);
    if (what === "start") show(0);
    if (what === "end") show(steps - 1);
    if (what === "play" && !playing) {
      if (now === steps - 1) show(0);
      play();
    }
  };
  for (const each of controls.querySelectorAll("button")) each.addEventListener("click", () => go(each.dataset.go));
  controls.hidden = false;
  root.classList.add("live");
  show(0);
  return {root, go};
});
// The film that has the focus; else the one nearest to the middle of the screen.
const chosen = () => {
  const focused = films.find(film => film.root.contains(document.activeElement));
  if (focused) return focused;
  const distance = film => {
    const {top, bottom} = film.root.getBoundingClientRect();
    return bottom < 0 || top > innerHeight ? Infinity : Math.abs((top + bottom) / 2 - innerHeight / 2);
  };
  const nearest = films.reduce((a, b) => (distance(b) < distance(a) ? b : a), films[0]);
  return nearest && distance(nearest) < Infinity ? nearest : undefined;
};
document.addEventListener("keydown", event => {
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  const film = chosen();
  if (!film) return;
  const focused = film.root === document.activeElement;
  const what = {ArrowLeft: "back", ArrowRight: "next"}[event.key] ||
    (focused && {" ": "play", Home: "start", End: "end"}[event.key]);
  if (!what) return;
  event.preventDefault();
  film.go(what);
});
)";
}  // namespace tour

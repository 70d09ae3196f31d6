// tour/html_style.hpp -- how the page looks: light and dark, from a phone to a wide screen.
// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>

namespace tour {
inline constexpr std::string_view html_style = R"(
:root {
  color-scheme: light dark;
  --paper: #fbfaf7; --card: #ffffff; --ink: #1d2126; --soft: #59616b; --rule: #d9d6ce; --track: #ece9e1;
  --accent: #0b6e69; --accent-wash: #e2f1ef; --bad: #b3261e;
  --curve-0: #b8420c; --curve-1: #6a3fc4; --curve-2: #0b6e69; --warn: #8a5a00;
  --keyword: #6a3fc4; --string: #8a5a00; --number: #b8420c; --call: #1f5fa8; --coroutine: #0b6e69;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171a; --card: #1c2024; --ink: #e6e4df; --soft: #a3abb3; --rule: #363c42; --track: #2a2f34;
    --accent: #4fc4b8; --accent-wash: #16352f; --bad: #ff8a80;
    --curve-0: #ff9d5c; --curve-1: #bda4ff; --curve-2: #4fc4b8; --warn: #f2c35c;
    --keyword: #bda4ff; --string: #f2c35c; --number: #ff9d5c; --call: #8cc0ff; --coroutine: #4fc4b8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 72rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; overflow-wrap: anywhere;
}
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 0 0 .8rem; }
h3, caption { font-size: 1rem; font-weight: 600; margin: 0 0 .5rem; text-align: left; }
p { margin: .7rem 0; max-width: 46rem; }
.soft { color: var(--soft); }
nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; margin: 1rem 0; }
a { color: var(--accent); }
section { border-top: 1px solid var(--rule); padding-top: 1.4rem; margin-top: 2rem; }
code, pre, .mono { font-family: ui-monospace, "DejaVu Sans Mono", Consolas, monospace; }
pre { background: var(--track); padding: .8rem 1rem; overflow-x: auto; font-size: .85rem; overflow-wrap: normal; }
pre, .card { border-radius: .5rem; }
.wide { overflow-x: auto; margin: 1.2rem 0; }
table { border-collapse: collapse; font-size: .92rem; overflow-wrap: normal; }
th, td { padding: .3rem 1.2rem .3rem 0; border-bottom: 1px solid var(--rule); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
figure { margin: 1.4rem 0; max-width: 46rem; }
.bars { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr max-content; gap: .45rem .9rem; align-items: center; }
.bars > .value { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.track { background: var(--track); border-radius: .25rem; height: 1.1rem; }
.track > i { display: block; height: 100%; min-width: 1px; background: var(--accent); border-radius: .25rem; }
.claim { display: flex; gap: .6rem; margin: .35rem 0; }
.claim > b { color: var(--accent); flex: none; width: 3.2rem; overflow-wrap: normal; }
.claim > span { min-width: 0; }
.claim.broken > b, .broken { color: var(--bad); }
.keyword { color: var(--keyword); } .string { color: var(--string); } .number { color: var(--number); }
.call { color: var(--call); } .comment { color: var(--soft); } .coroutine { color: var(--coroutine); font-weight: 700; }
td.number { color: inherit; }
.film { max-width: none; border: 1px solid var(--rule); border-radius: .5rem; padding: 1rem; background: var(--card); }
.film:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.controls { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; margin-bottom: .8rem; }
.controls[hidden] { display: none; }
.controls button { font: inherit; min-width: 2.75rem; min-height: 2.5rem; padding: 0 .8rem; border: 1px solid var(--accent); border-radius: .4rem; background: var(--accent-wash); color: var(--accent); cursor: pointer; }
.controls button:disabled { opacity: .4; cursor: default; }
.controls output { font-variant-numeric: tabular-nums; min-width: 4.5rem; }
.with-code { display: grid; grid-template-columns: minmax(0, 25rem) minmax(0, 1fr); gap: 0 1.2rem; align-items: start; }
.with-code > h3, .with-code > .controls { grid-column: 1 / -1; }
.with-code > pre { margin: 0; }
.with-code .lane { grid-template-columns: minmax(0, 6.5rem) minmax(0, 1fr); }
.line { display: block; margin: 0 -1rem; padding: 0 1rem; border-left: 3px solid transparent; }
.line.stands { border-left: 3px dotted var(--soft); }
.line.runs { background: var(--accent-wash); border-left: 3px solid var(--accent); }
.steps { display: grid; gap: 1rem; }
.live .steps { gap: 0; }
.live .steps > .card { grid-area: 1 / 1; visibility: hidden; border: 0; padding: 0; }
.live .steps > .card.now { visibility: visible; }
.caption { font-size: .95rem; margin: 0 0 .6rem; }
.box.new { border-left-width: 5px; }
.lanes { display: grid; gap: .4rem; margin-bottom: 1rem; }
.lane { display: grid; grid-template-columns: 9.5rem minmax(0, 1fr); gap: .8rem; align-items: center; font-size: .92rem; }
.track { position: relative; }
.lane .track { height: 1.5rem; overflow: hidden; }
.lane .track > i { position: absolute; top: .45rem; height: .6rem; min-width: 0; border-radius: 0; background: none; }
.lane .track > i.running { background: var(--accent); }
.lane .track > i.waiting { background: repeating-linear-gradient(90deg, var(--soft) 0 3px, transparent 3px 7px); top: .65rem; height: .2rem; }
.lane .track > b { position: absolute; top: .35rem; width: .8rem; height: .8rem; margin-left: -.4rem; border-radius: 50%; background: var(--ink); }
.lane .track > b.failed { background: var(--bad); border-radius: 0; transform: rotate(45deg); }
.lane .track > b.stopped { background: var(--warn); border-radius: 0; }
.lane .track > b.done { background: var(--card); border: 3px solid var(--ink); }
.lane .track > u { display: none; }
.live .lane .track > u { display: block; position: absolute; top: 0; bottom: 0; left: var(--head); width: 2px; margin-left: -1px; background: var(--curve-0); transition: left .25s; }
.live .lane .track > u::after { content: ""; position: absolute; top: 0; bottom: 0; left: .5rem; width: 100vw; background: var(--track); opacity: .8; }
.events { list-style: none; margin: 0; padding: 0; font-size: .92rem; }
.events > li { display: flex; gap: .8rem; padding: .25rem .5rem; border-left: 3px solid transparent; overflow-wrap: anywhere; }
.events .when { flex: none; width: 4.5rem; text-align: right; color: var(--soft); font-variant-numeric: tabular-nums; }
.events .failed b { color: var(--bad); } .events .stopped b { color: var(--warn); }
.live .events { max-height: 16rem; overflow-y: auto; }
.live .events > li { opacity: .35; }
.live .events > .past { opacity: 1; }
.live .events > .now { opacity: 1; background: var(--accent-wash); border-left-color: var(--accent); }
svg polyline.area { fill: var(--accent); stroke: none; fill-opacity: .55; }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; } }
.card { background: var(--card); border: 1px solid var(--rule); padding: .9rem; }
.columns { display: grid; grid-auto-flow: column; grid-auto-columns: minmax(0, 1fr); gap: .6rem; }
.columns h4 { font-size: .8rem; font-weight: 600; color: var(--soft); margin: 0 0 .3rem; }
.box { border: 1px solid var(--soft); padding: .3rem .45rem; font-size: .8rem; line-height: 1.35; margin-top: -1px; }
.box > b { display: block; }
.box .mono { font-size: .74rem; letter-spacing: -.02em; }
.box.about { background: var(--accent-wash); border: 2px solid var(--accent); }
.box small { display: block; color: var(--soft); font-size: .74rem; }
.none { color: var(--soft); font-size: .8rem; border: 1px dashed var(--rule); padding: .3rem .45rem; }
figure > svg { max-width: 31rem; }
svg { width: 100%; height: auto; display: block; }
svg text { fill: var(--soft); font-size: 13px; }
svg .grid { stroke: var(--rule); stroke-width: 1; }
svg .limit { stroke: var(--bad); stroke-width: 1.5; stroke-dasharray: 2 4; }
svg .limit-label { fill: var(--bad); }
svg polyline { fill: none; stroke-width: 2.5; }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; list-style: none; padding: 0; margin: .6rem 0 0; font-size: .9rem; }
.legend svg { width: 2.2rem; display: inline-block; vertical-align: middle; margin-right: .4rem; }
.c0 { stroke: var(--curve-0); } .c1 { stroke: var(--curve-1); stroke-width: 5; } .c2 { stroke: var(--curve-2); stroke-dasharray: 7 5; }
circle.c0 { fill: var(--curve-0); } circle.c1 { fill: var(--curve-1); } circle.c2 { fill: var(--curve-2); }
@media (max-width: 52rem) { .with-code { grid-template-columns: minmax(0, 1fr); } .with-code > pre { margin-bottom: 1rem; } }
@media (max-width: 34rem) {
  .keys { display: none; }
  .film { padding: .7rem; }
  .lane { grid-template-columns: minmax(0, 1fr); gap: 0; }
  .bars { grid-template-columns: 1fr max-content; gap: .1rem .6rem; }
  .bars > .label { grid-column: 1 / -1; margin-top: .5rem; }
  .three .columns { grid-auto-flow: row; }
  .many table, .many tbody, .many caption { display: block; }
  .many tr { display: block; border-bottom: 1px solid var(--rule); padding: .5rem 0; }
  .many tr:first-child { display: none; }
  .many td, .many td.number { display: flex; justify-content: space-between; gap: 1rem; border: 0; padding: .1rem 0; text-align: right; white-space: normal; }
  .many td::before { content: attr(data-column); color: var(--soft); text-align: left; flex: none; max-width: 55%; }
  .many td:first-child { font-weight: 600; }
}
)";
}  // namespace tour

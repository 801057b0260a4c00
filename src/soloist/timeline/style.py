"""Colours, in light and in dark. They stand in the drawing itself, so that it can also stand alone."""

STYLE = """
.timeline { --ink: #1c2330; --dim: #667085; --paper: #fff; --line: #e8ebf1; --generator: #2f6fde; --on-generator: #fff;
  --handler: #bfe0d3; --handled: #23876b; --silent: #e0a020; --frozen: #35a6c6; --cut: #9a6fd0; --bad: #c4302b; --band: #c4302b;
  width: 100%; max-width: none; min-width: 56rem; height: auto; }
@media (prefers-color-scheme: dark) { .timeline { --ink: #e6e9ef; --dim: #98a2b3; --paper: #14181f; --line: #262d38;
  --generator: #5b93ff; --on-generator: #0b1220; --handler: #2b5448; --handled: #58c3a2; --silent: #c58f22; --frozen: #4db8d6;
  --cut: #a985dd; --bad: #ff6b64; --band: #ff6b64; } }
.timeline text { font: 12px system-ui, sans-serif; fill: var(--ink); } .timeline .small { font-size: 10.5px; }
.timeline .dim { fill: var(--dim); } .timeline .strong { font-weight: 600; } .timeline .bad { fill: var(--bad); font-weight: 600; }
.timeline .on-hatch, .timeline .count { stroke: var(--paper); stroke-width: 4; paint-order: stroke; stroke-linejoin: round; }
.timeline .key-published { fill: var(--generator); } .timeline .key-handled { fill: var(--handled); }
.timeline .on { fill: var(--on-generator); font-size: 11px; } .timeline .grid { stroke: var(--line); }
.timeline .base { stroke: var(--dim); stroke-opacity: .5; } .timeline a { cursor: pointer; }
.timeline .generator { fill: var(--generator); } .timeline .handler { fill: var(--handler); }
.timeline .silent { fill: url(#hatch-silent); stroke: var(--silent); stroke-opacity: .6; }
.timeline .frozen { fill: url(#hatch-frozen); stroke: var(--frozen); } .timeline .cut-off { fill: url(#hatch-cut); stroke: var(--cut); }
.timeline .hatch-silent { stroke: var(--silent); } .timeline .hatch-frozen { stroke: var(--frozen); }
.timeline .hatch-cut { stroke: var(--cut); } .timeline .hatch-unknown { stroke: var(--line); }
.timeline .hatch { stroke-width: 3; } .timeline .unknown { fill: url(#hatch-unknown); }
.timeline .gone { stroke: var(--dim); stroke-dasharray: 1 5; stroke-linecap: round; stroke-opacity: .7; }
.timeline .vacant { fill: var(--bad); } .timeline .band { fill: var(--band); fill-opacity: .13; }
.timeline .baton { stroke: var(--generator); stroke-width: 1.5; stroke-opacity: .75; fill: none; }
.timeline .elected { fill: var(--generator); stroke: var(--paper); stroke-width: 1.5; }
.timeline .ring { fill: var(--paper); stroke: var(--generator); stroke-width: 2; }
.timeline .halo { stroke: var(--paper); stroke-width: 5; fill: none; stroke-linecap: round; }
.timeline .cross { stroke: var(--bad); stroke-width: 2.5; fill: none; stroke-linecap: round; }
.timeline .refused { fill: var(--silent); stroke: var(--paper); } .timeline .came { fill: var(--handled); stroke: var(--paper); }
.timeline .went { fill: var(--paper); stroke: var(--dim); stroke-width: 2; } .timeline .paused { stroke: var(--ink); stroke-width: 2.5; }
.timeline .lasting { stroke: var(--ink); stroke-width: 3; stroke-opacity: .35; } .timeline .dot { fill: var(--dim); }
.timeline .failed { fill: var(--bad); fill-opacity: .75; } .timeline .fault { fill: var(--bad); stroke: var(--paper); }
.timeline .fault-line { stroke: var(--bad); stroke-width: 1.5; } .timeline .fault-span { stroke: var(--bad); stroke-width: 3; }
.timeline .published-line { stroke: var(--generator); } .timeline .handled-line { stroke: var(--handled); }
.timeline .line { fill: none; stroke-width: 1.5; stroke-linejoin: round; }
.timeline .fine { stroke-width: .8; }
.timeline .backlog { fill: var(--silent); fill-opacity: .3; stroke: var(--silent); stroke-width: 1.25; }
"""

/** A line of a panel. */
export interface Line {
  name: string;
  points: readonly (readonly [x: number, y: number])[];
}

/** One pair of axes. */
export interface Panel {
  /** What the panel shows, with the unit. */
  title: string;
  lines: readonly Line[];
}

/** One picture with one or more panels that share the meaning of the x axis. */
export interface Picture {
  title: string;
  xTitle: string;
  /** Both axes are logarithmic, and a dashed line shows proportional growth; otherwise both begin at zero. */
  scale: 'log' | 'linear';
  panels: readonly Panel[];
}

interface Axis {
  from: number;
  to: number;
  ticks: readonly number[];
  /** Returns the position of a value: 0 is the begin of the axis, 1 the end. */
  at(value: number): number;
}

const PANEL = { width: 360, height: 220, left: 62, right: 32, top: 58, bottom: 44 };
const HEAD = 40;
const COLUMNS = 2;
const STEPS = [1, 2, 5];
const MOST_TICKS = 5;

const STYLE = `
  svg { font: 12px system-ui, sans-serif; --back: #fff; --text: #1f2328; --grid: #d1d9e0; --one: #0969da; --other: #bc4c00; }
  @media (prefers-color-scheme: dark) {
    svg { --back: #0d1117; --text: #e6edf3; --grid: #3d444d; --one: #58a6ff; --other: #f0883e; }
  }
  .back { fill: var(--back); }
  text { fill: var(--text); }
  .title { font-size: 15px; font-weight: 600; }
  .panel { font-weight: 600; }
  .grid { stroke: var(--grid); }
  .line { fill: none; stroke-width: 2; }
  .even { fill: none; stroke: var(--text); stroke-dasharray: 4 4; opacity: 0.6; }
  .s0 { stroke: var(--one); } .d0 { fill: var(--one); }
  .s1 { stroke: var(--other); } .d1 { fill: var(--other); }`;

/** Returns a picture as SVG, legible on light and on dark pages. */
export function renderPicture({ title, xTitle, scale, panels }: Picture): string {
  const columns = Math.min(COLUMNS, panels.length);
  const width = Math.max(2 * PANEL.width, columns * PANEL.width);
  const height = HEAD + Math.ceil(panels.length / columns) * PANEL.height + 8;
  const each = columns === 1 ? width : PANEL.width;
  const drawn = panels.map((panel, index) => {
    const [x, y] = [(index % columns) * each, HEAD + Math.floor(index / columns) * PANEL.height];
    return `<g transform="translate(${x} ${y})">\n${renderPanel(panel, { xTitle, scale, width: each })}\n</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<style>${STYLE}\n</style>`,
    `<rect class="back" width="${width}" height="${height}"/>`,
    `<text class="title" x="16" y="26">${escaped(title)}</text>`,
    ...drawn,
    '</svg>\n',
  ].join('\n');
}

interface Frame {
  xTitle: string;
  scale: Picture['scale'];
  width: number;
}

function renderPanel({ title, lines }: Panel, { xTitle, scale, width }: Frame): string {
  const points = lines.flatMap((line) => line.points);
  const [ofX, ofY] = [points.map(([value]) => value), points.map(([, value]) => value)];
  const [x, y] = scale === 'log' ? [logAxis(ofX), logAxis(ofY)] : [endedBy(Math.max(...ofX)), linearAxis(ofY)];
  const [right, bottom] = [width - PANEL.right, PANEL.height - PANEL.bottom];
  const left = (value: number) => round(PANEL.left + x.at(value) * (right - PANEL.left));
  const top = (value: number) => round(bottom - y.at(value) * (bottom - PANEL.top));
  const path = (line: Line['points']) => line.map(([one, other]) => `${left(one)},${top(other)}`).join(' ');
  const isDense = points.length > 40;
  const drawn = lines.flatMap((line, index) => [
    ...(scale === 'log'
      ? evenGrowth(line.points, y).map((each) => `<polyline class="even" points="${path(each)}"/>`)
      : []),
    `<polyline class="line s${index}" points="${path(line.points)}"/>`,
    ...line.points
      .filter(() => !isDense)
      .map(([one, other]) => `<circle class="d${index}" cx="${left(one)}" cy="${top(other)}" r="3"/>`),
  ]);
  return [
    `<text class="panel" x="16" y="${lines.length > 1 ? 18 : 36}">${escaped(title)}</text>`,
    ...(lines.length > 1 ? legend(lines) : []),
    ...y.ticks.flatMap((tick) => [
      `<line class="grid" x1="${PANEL.left}" y1="${top(tick)}" x2="${right}" y2="${top(tick)}"/>`,
      `<text x="${PANEL.left - 6}" y="${top(tick) + 4}" text-anchor="end">${shownNumber(tick)}</text>`,
    ]),
    ...x.ticks.map(
      (tick) => `<text x="${left(tick)}" y="${bottom + 17}" text-anchor="middle">${shownNumber(tick)}</text>`,
    ),
    `<text x="${(PANEL.left + right) / 2}" y="${bottom + 34}" text-anchor="middle">${escaped(xTitle)}</text>`,
    ...drawn,
  ].join('\n');
}

function legend(lines: readonly Line[]): string[] {
  let x = 16;
  return lines.flatMap(({ name }, index) => {
    const at = x;
    x += 36 + 6.4 * name.length;
    return [
      `<line class="line s${index}" x1="${at}" y1="34" x2="${at + 16}" y2="34"/>`,
      `<text x="${at + 21}" y="38">${escaped(name)}</text>`,
    ];
  });
}

/** The line of proportional growth that ends in the last point, as far as the axis shows it. */
function evenGrowth(points: Line['points'], { from }: Axis): Line['points'][] {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || first === last) return [];
  const each = last[1] / last[0];
  const begin = Math.max(first[0], from / each);
  return begin < last[0] ? [[[begin, begin * each], last]] : [];
}

function logAxis(values: readonly number[]): Axis {
  const positive = values.filter((value) => value > 0);
  const [least, most] = [Math.min(...positive), Math.max(...positive)];
  const candidates = (steps: readonly number[]) =>
    Array.from({ length: Math.ceil(Math.log10(most)) - Math.floor(Math.log10(least)) + 1 }, (_, index) =>
      steps.map((step) => Number(`${step}e${Math.floor(Math.log10(least)) + index}`)),
    ).flat();
  const from = Math.max(...candidates(STEPS).filter((step) => step <= least));
  const to = Math.min(...candidates(STEPS).filter((step) => step >= most && step > from));
  const inside = (steps: readonly number[]) => candidates(steps).filter((step) => step >= from && step <= to);
  const decades = inside([1]);
  const ticks = decades.length >= 3 ? decades : inside(STEPS);
  const span = Math.log10(to / from);
  return { from, to, ticks: thinned(ticks), at: (value) => Math.max(0, Math.log10(value / from) / span) };
}

function linearAxis(values: readonly number[]): Axis {
  const most = Math.max(...values);
  const power = 10 ** Math.floor(Math.log10(most / MOST_TICKS));
  const step = power * ([...STEPS, 10].find((each) => each * power * (MOST_TICKS - 1) >= most) ?? 10);
  const count = Math.ceil(most / step);
  const ticks = Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)));
  return { from: 0, to: count * step, ticks, at: (value) => value / (count * step) };
}

/** A linear axis that ends at the last value. */
function endedBy(most: number): Axis {
  const { ticks } = linearAxis([most]);
  return { from: 0, to: most, ticks: ticks.filter((tick) => tick <= most), at: (value) => value / most };
}

function thinned(ticks: readonly number[]): readonly number[] {
  const every = Math.ceil(ticks.length / MOST_TICKS);
  return ticks.filter((_, index) => index % every === 0);
}

function shownNumber(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 3 });
}

function round(value: number): number {
  return Number(value.toFixed(1));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

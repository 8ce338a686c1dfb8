import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { lazily } from '../../../core/model/cache.ts';

/** Source of a block: `both` if clinic and calendar agree on the time. */
export type Side = 'clinic' | 'calendar' | 'both';

/** Minutes per row of the grid. */
export const ROW_MINUTES = 5;
/** Maximum number of parallel blocks in a day. The page lists further blocks below the day, because narrower blocks are unreadable. */
export const MOST_LANES = 6;
/** Columns of a day, divisible by each possible number of lanes. */
const COLUMNS = 120;
const HOURS = 24;
const ROWS_OF_HOUR = 60 / ROW_MINUTES;

/** Returns the class for a block's first or last row, relative to the first displayed row. */
export function rowClass(edge: 'from' | 'to', minute: number, fromHour: number): string {
  return `${edge}-${minute / ROW_MINUTES - fromHour * ROWS_OF_HOUR}`;
}

/** Returns the class for a block's columns. */
export function laneClass(lane: number, lanes: number, side: Side): string {
  return `lane-${lane}-${lanes}-${side}`;
}

/** Returns the class for a day's height in hours. */
export function hoursClass(hours: number): string {
  return `hours-${hours}`;
}

/** Returns all grid positions as CSS classes, because the Content-Security-Policy forbids inline styles. */
export function weekStyles(): string {
  const rows = Array.from({ length: HOURS * ROWS_OF_HOUR + 1 }, (_, row) => row);
  const lanes = Array.from({ length: MOST_LANES }, (_, index) => index + 1);
  return [
    ...rows.map((row) => `.from-${row}{grid-row-start:${row + 1}}.to-${row}{grid-row-end:${row + 1}}`),
    ...lanes.flatMap((of) => Array.from({ length: of }, (_, lane) => laneStyles(lane, of))),
    ...Array.from({ length: HOURS }, (_, hour) => {
      return `.${hoursClass(hour + 1)}{grid-template-rows:repeat(${(hour + 1) * ROWS_OF_HOUR},5px)}`;
    }),
  ].join('\n');
}

/** Each side fills half of the day. If blocks overlap, each block fills a whole lane, and its style shows the side. */
function laneStyles(lane: number, lanes: number): string {
  const width = COLUMNS / lanes;
  const start = lane * width + 1;
  const end = start + width;
  const middle = start + width / 2;
  const rule = (side: Side, from: number, to: number) => `.${laneClass(lane, lanes, side)}{grid-column:${from}/${to}}`;
  const isShared = lanes > 1;
  return [
    rule('both', start, end),
    rule('clinic', start, isShared ? end : middle),
    rule('calendar', isShared ? start : middle, end),
  ].join('');
}

const require = createRequire(import.meta.url);
const own = (name: string) => readFileSync(new URL(`assets/${name}`, import.meta.url));

/** Files of the pages by URL name, from this project and from packages. */
const FILES = {
  'pages.css': () => own('pages.css'),
  'pages.js': () => own('pages.js'),
  'icon.svg': () => own('icon.svg'),
  // https://github.com/bigskysoftware/idiomorph: updates a page in place and preserves focus and unfolded details.
  'idiomorph.js': () => readFileSync(require.resolve('idiomorph/dist/idiomorph.min.js')),
  'history.css': () => own('history.css'),
  'week.css': () => Buffer.concat([own('week.css'), Buffer.from(weekStyles())]),
};

export type AssetName = keyof typeof FILES;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
/** In seconds. The URL contains a digest, so the content never changes. */
const CACHE_SECONDS = 365 * 24 * 3_600;

interface Asset {
  content: Buffer;
  packed: Buffer;
  digest: string;
  type: string;
}

const assets = lazily(() => new Map(Object.entries(FILES).map(([name, read]) => [name, assetOf(name, read())])));

function assetOf(name: string, content: Buffer): Asset {
  return {
    content,
    packed: gzipSync(content, { level: constants.Z_BEST_COMPRESSION }),
    digest: createHash('sha256').update(content).digest('base64url').slice(0, 16),
    type: TYPES[name.slice(name.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
  };
}

/** Returns a file's URL, which contains a digest of the content. */
export function assetAddress(name: AssetName): string {
  return `/assets/${name}?v=${assets().get(name)?.digest ?? ''}`;
}

/** Adds the static files, which are public because they contain no data. */
export function addAssets(app: FastifyInstance): void {
  app.get<{ Params: { name: string }; Querystring: { v?: string } }>('/assets/:name', async (request, reply) => {
    const asset = assets().get(request.params.name);
    if (asset === undefined) return reply.callNotFound();
    const isCurrent = request.query.v === asset.digest;
    reply.header('cache-control', isCurrent ? `public, max-age=${CACHE_SECONDS}, immutable` : 'no-cache');
    reply.header('vary', 'accept-encoding').type(asset.type);
    if (!/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) return reply.send(asset.content);
    return reply.header('content-encoding', 'gzip').send(asset.packed);
  });
}

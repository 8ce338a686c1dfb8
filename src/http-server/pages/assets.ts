import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { lazily } from '../../model/cache.ts';

/** On which side a block stands: `both` where clinic and calendar have the same time for it. */
export type Side = 'clinic' | 'calendar' | 'both';

/** Rows of the grid are of so many minutes. */
export const ROW_MINUTES = 5;
/** Blocks side by side in a day; the page lists further ones below the day, since nobody could read narrower ones. */
export const MOST_LANES = 6;
/** Columns of a day: each number of lanes up to the most is a whole number of them. */
const COLUMNS = 120;
const HOURS = 24;
const ROWS_OF_HOUR = 60 / ROW_MINUTES;

/** Class of the row that a block begins or ends with, counted from the first row that is drawn. */
export function rowClass(edge: 'from' | 'to', minute: number, fromHour: number): string {
  return `${edge}-${minute / ROW_MINUTES - fromHour * ROWS_OF_HOUR}`;
}

/** Class of the columns that a block takes up. */
export function laneClass(lane: number, lanes: number, side: Side): string {
  return `lane-${lane}-${lanes}-${side}`;
}

/** Class of a day that is so many hours high. */
export function hoursClass(hours: number): string {
  return `hours-${hours}`;
}

/**
 * Where everything in a week's grid may stand, as rules for the classes above: a style in an element is what our Content-Security-Policy
 * forbids.
 */
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

/** Each side fills one half of the day; where blocks share the day, a block takes up a whole lane and its appearance shows the side. */
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

/** Every file that pages load, by its name in addresses, with what it holds: ours, and those of packages. */
const FILES = {
  'pages.css': () => own('pages.css'),
  'pages.js': () => own('pages.js'),
  'icon.svg': () => own('icon.svg'),
  // https://github.com/bigskysoftware/idiomorph: changes a page into its newer self, with focus and what is unfolded as they were.
  'idiomorph.js': () => readFileSync(require.resolve('idiomorph/dist/idiomorph.min.js')),
  'week.css': () => Buffer.concat([own('week.css'), Buffer.from(weekStyles())]),
};

/** Such a name. */
export type AssetName = keyof typeof FILES;

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};
/** Seconds; an address names what the file holds, so it never comes to hold anything else. */
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

/** Where browsers get a file: the address changes with what it holds. */
export function assetAddress(name: AssetName): string {
  return `/assets/${name}?v=${assets().get(name)?.digest ?? ''}`;
}

/** Adds the files that pages load. They hold nothing of anybody, so everybody may have them. */
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

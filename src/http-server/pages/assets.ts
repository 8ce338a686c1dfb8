import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { constants, gzipSync } from 'node:zlib';
import type { FastifyInstance } from 'fastify';
import { lazily } from '../../model/cache.ts';
import { weekStyles } from './week/style.ts';

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

import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startGuarded } from '../../../tools/guarded-process.ts';

/** A running json-server with its own database file. */
export interface JsonServer {
  url: string;
  rows(collection: string): Promise<Record<string, unknown>[]>;
  stop(): Promise<void>;
}

/** Starts json-server on a free loopback port, over a database of these collections. It can't outlive the tests. */
export async function startJsonServer(collections: Record<string, object[]>): Promise<JsonServer> {
  const ownFolder = mkdtempSync(join(tmpdir(), 'json-server-'));
  const database = join(ownFolder, 'db.json');
  writeFileSync(database, JSON.stringify(collections));
  const child = fileURLToPath(new URL('json-server-child.js', import.meta.url));
  const { process: guarded, match } = await startGuarded({
    server: { command: process.execPath, args: [child], env: {} },
    args: [database],
    ownFolder,
    ready: /listening on (\d+)/,
    readyTimeoutMs: 20_000,
  });
  const url = `http://127.0.0.1:${match[1]}`;
  return {
    url,
    rows: async (collection) => (await (await fetch(`${url}/${collection}`)).json()) as Record<string, unknown>[],
    stop: () => guarded.stop(),
  };
}

import { createHash } from 'node:crypto';
import { ReadingMemory } from '../../src/clinic/read/reading-memory.ts';
import { CacheBudget } from '../../src/core/model/cache.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import type { AppointmentSnapshot } from '../../src/core/model/snapshots.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { openClient, profileOf, unhurried, type WrittenProfile } from './open-client.ts';
import { type ScriptedAnswer, type ScriptedRequest, startScriptedServer } from './scripted-server.ts';

/** When the tests' readings begin. */
export const NOW = Date.parse('2026-03-01T08:00:00Z');
/** Rows of a page. */
const PAGE_SIZE = 3;

const PAGING: WrittenProfile['paging'] = {
  ...{ style: 'offset-limit', size: PAGE_SIZE, totalPath: 'total' },
  ends: ['total', 'empty-page'],
};

/** A row as the clinic sends it. */
export interface Row {
  id: string;
  start: string;
  status?: string;
  updatedAt?: string | null;
  agendaId?: string;
  patientId?: string;
  end?: string;
}

/** A row at an hour of the first of March. */
export function rowOf(id: string, { hour = 10, ...more }: { hour?: number } & Partial<Row> = {}): Row {
  return { id, start: `2026-03-01T${hour}:00:00Z`, ...more };
}

/** A clinic whose list the test sets, and one process that reads it again and again. */
export async function openRememberingClinic(written: WrittenProfile = {}, room = new CacheBudget(1_000)) {
  const world = {
    rows: [] as Row[],
    now: NOW,
    /** How far the readings' window reaches. */
    aheadMs: 2 * DAY_MS,
    /** Replaces the clinic's answer, which would be `usual`. */
    answer: (usual: ScriptedAnswer, _request: ScriptedRequest): ScriptedAnswer => usual,
    /** What the clinic lists for a query. */
    listed: (rows: readonly Row[], _query: URLSearchParams): readonly Row[] => rows,
  };
  const server = await startScriptedServer((request) => world.answer(pageOf(world, request), request));
  const profile = profileOf({ paging: PAGING, listPath: 'data', ...written });
  const { client } = openClient(server.url, profile, { clock: () => world.now });
  const memory = new ReadingMemory<Appointment>(room);
  const question = () => ({
    agendaIds: null,
    window: { fromAt: world.now - DAY_MS, toAt: world.now + world.aheadMs },
  });
  return {
    world,
    server,
    client,
    memory,
    /** A read that continues from the previous one. @param login present for a user's connection */
    read: (login: number | null = null, tenant = 't'): Promise<AppointmentSnapshot> =>
      client.readAppointments(tenant, { ...question(), login, memory }, unhurried()),
    /** A read without memory. */
    readAnew: () => client.readAppointments('t', question(), unhurried()),
    /** Requests since the last call: the If-None-Match of each, null for none. */
    asked(): (string | null)[] {
      return server.requests.splice(0).map(({ headers }) => headers['if-none-match'] ?? null);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

function pageOf({ rows, listed }: { rows: Row[]; listed: Listed }, { path, query }: ScriptedRequest): ScriptedAnswer {
  const [, alone] = /\/appointments\/(.+)$/.exec(path) ?? [];
  if (alone !== undefined) {
    const found = rows.find(({ id }) => id === decodeURIComponent(alone));
    return found === undefined ? { status: 404, json: {} } : { json: told(found) };
  }
  const all = listed(rows, query);
  const offset = Number(query.get('offset'));
  const page = all.slice(offset, offset + PAGE_SIZE);
  return { json: { data: page.map(told), total: all.length } };
}

type Listed = (rows: readonly Row[], query: URLSearchParams) => readonly Row[];

/** A row with the fields that every row has. */
export function told(row: Row): object {
  return { agendaId: 'g', status: 'Booked', end: '2026-03-01T23:00:00Z', ...row };
}

/** Lists the rows changed at or after the parameter `updatedSince`. */
export function changedSince(rows: readonly Row[], query: URLSearchParams): readonly Row[] {
  const from = query.get('updatedSince');
  return from === null ? rows : rows.filter(({ updatedAt }) => Date.parse(updatedAt ?? '') >= Date.parse(from));
}

/** A server that gives each content an ETag, and answers 304 to a matching If-None-Match. */
export function withEtags(style: 'strong' | 'weak' = 'strong') {
  return (usual: ScriptedAnswer, { headers }: ScriptedRequest): ScriptedAnswer => {
    const digest = createHash('sha256').update(JSON.stringify(usual.json)).digest('base64url');
    const etag = style === 'weak' ? `W/"${digest}"` : `"${digest}"`;
    return headers['if-none-match'] === etag
      ? { status: 304, headers: { etag } }
      : { ...usual, headers: { ...usual.headers, etag } };
  };
}

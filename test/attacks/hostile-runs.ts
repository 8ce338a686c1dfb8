import { readWhole } from '../../src/clinic/read/lists.ts';
import { ReadingMemory } from '../../src/clinic/read/reading-memory.ts';
import type { Collection } from '../../src/connectors/caldav/collection.ts';
import { multiget } from '../../src/connectors/caldav/reading.ts';
import { DavSession } from '../../src/connectors/caldav/webdav.ts';
import { htmlToText } from '../../src/connectors/outlook-calendar/html.ts';
import { LONGEST_BODY } from '../../src/connectors/outlook-calendar/limits.ts';
import { readJson } from '../../src/http/answer.ts';
import { createHttpClient, MEBIBYTE } from '../../src/http/client.ts';
import { inPieces } from '../../src/http/in-pieces.ts';
import { CacheBudget } from '../../src/model/cache.ts';
import { eachInPieces } from '../../src/model/pieces.ts';
import type { Appointment } from '../../src/model/records.ts';
import { DAY_MS } from '../../src/model/time.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import { compileMapping } from '../../src/sync/mapping/compile.ts';
import type { WrittenProfile } from '../../test/clinic/open-client.ts';
import { openClient, profileOf } from '../../test/clinic/open-client.ts';
import { ofPatient } from '../../test/sync/mapping/sources.ts';

const NEVER = new AbortController().signal;
const LISTS: WrittenProfile = {
  listPath: 'data',
  paging: { style: 'cursor', cursorPath: 'next', cursorParameter: 'cursor', ends: ['no-next'] },
  limits: { maxRecords: 50_000 },
};
const ORDINARY: WrittenProfile = {
  listPath: 'data',
  paging: { style: 'offset-limit', size: 500, totalPath: 'total', ends: ['total'] },
};
const QUERY = { agendaIds: null, window: { fromAt: Date.parse('2026-03-01'), toAt: Date.parse('2026-03-02') } };
/** Patients that a mapping maps. */
const PATIENTS = 1_000;
/** Rows that a tenant's memory may hold. */
const ROOM = 100_000;

/** The ordinary request of the other tenant: a reading of one page. @throws Error unless all rows are read */
export function honestRequest(clinicUrl: string): () => Promise<void> {
  const { client } = openClient(clinicUrl, profileOf(ORDINARY));
  return async () => {
    const { records } = await client.readAppointments('t', QUERY, NEVER);
    if (records.size === 0) throw new Error('the ordinary page has no records');
  };
}

/** What the process of all tenants does for the attacking tenant, with the server of one draw. Refusals are expected. */
type Run = (url: string) => Promise<unknown>;

const http = createHttpClient({ userAgent: 'clinic-mirror-bench', clock: Date.now });
const authorizer = { header: async () => 'a', renew: async () => 'a', quotaUser: null };

/** Attacks by the name of their servers. */
export const RUNS: Readonly<Record<string, Run>> = {
  async json(url) {
    const { client } = openClient(url, profileOf({ listPath: null }));
    await refused(readWhole((signal) => client.patients.list('t', [], signal) as never, NEVER));
    const memory = new ReadingMemory<Appointment>(new CacheBudget(ROOM));
    const window = { fromAt: 0, toAt: DAY_MS };
    await refused(client.readAppointments('t', { agendaIds: null, window, memory }, NEVER));
  },
  async xml(url) {
    const session = new DavSession({ http, authorizer }, new URL(url));
    await refused(session.ask({ method: 'PROPFIND', url: new URL(`${url}/start`) }, NEVER));
  },
  async 'calendar objects'(url) {
    const home = new URL(`${url}/c/`);
    const session = new DavSession({ http, authorizer }, home);
    const collection: Collection = {
      ...{ session, url: home, isOwn: true, ownerTag: 'tag', clock: Date.now, signal: NEVER },
    };
    await refused(multiget(collection, [new URL('a.ics', home)], true));
  },
  async lists(url) {
    const { client } = openClient(url, profileOf(LISTS));
    const memory = new ReadingMemory<Appointment>(new CacheBudget(ROOM));
    const window = { fromAt: 0, toAt: DAY_MS };
    await refused(client.readAppointments('t', { agendaIds: null, window, memory }, NEVER));
  },
  async 'long links'(url) {
    const session = new DavSession({ http, authorizer }, new URL(url));
    await refused(session.ask({ method: 'PROPFIND', url: new URL(`${url}/`) }, NEVER));
  },
  async mappings(url) {
    const request = { label: 'x', method: 'GET', url, signal: NEVER };
    const templates = readJson(await http.send(request), 'x') as Record<string, string>;
    const rules = Object.entries(templates).map(([name, template]) => [name, { template }]);
    const mapping = compileMapping(crmSchema.parse({ mapping: Object.fromEntries(rules) }), 'Europe/Rome');
    const patients = Array.from({ length: PATIENTS }, () => ofPatient());
    await inPieces(eachInPieces(patients, (patient) => mapping.map(patient)));
  },
  async html(url) {
    const request = { label: 'x', method: 'GET', url, signal: NEVER, maxResponseBytes: 16 * MEBIBYTE };
    const { content } = readJson(await http.send(request), 'x') as { content: string };
    if (content.length <= LONGEST_BODY) htmlToText(content);
  },
};

async function refused(work: Promise<unknown>): Promise<void> {
  await work.catch(() => {});
}

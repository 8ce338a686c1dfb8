import { readWhole } from '../../src/clinic/read/lists.ts';
import { ReadingMemory } from '../../src/clinic/read/reading-memory.ts';
import type { Collection } from '../../src/connectors/caldav/collection.ts';
import { multiget } from '../../src/connectors/caldav/reading.ts';
import { DavSession } from '../../src/connectors/caldav/webdav.ts';
import type { CrmContext } from '../../src/connectors/connector.ts';
import { googleCalendar } from '../../src/connectors/google-calendar/index.ts';
import { hubspot } from '../../src/connectors/hubspot/index.ts';
import { outlookCalendar } from '../../src/connectors/outlook-calendar/index.ts';
import { restCrm } from '../../src/connectors/rest-crm/index.ts';
import { createOrgClient } from '../../src/connectors/salesforce/client.ts';
import type { RecordForm } from '../../src/connectors/salesforce/description.ts';
import { salesforce } from '../../src/connectors/salesforce/index.ts';
import { readPages } from '../../src/connectors/salesforce/reading.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { readJson } from '../../src/core/http/answer.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { CacheBudget } from '../../src/core/model/cache.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { eachInPieces } from '../../src/core/model/pieces.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { inPieces } from '../../src/core/pieces/in-pieces.ts';
import { compileMapping } from '../../src/domain/mapping/compile.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import { readYamlInPieces } from '../../src/settings/yaml-file.ts';
import type { WrittenProfile } from '../clinic/open-client.ts';
import { openClient, profileOf } from '../clinic/open-client.ts';
import { ofPatient } from '../domain/mapping/sources.ts';
import { containerOf } from '../support/container-of.ts';
import { KEY, KEY_PROPERTY, OWNER_TAG, STAMP_PROPERTY } from './hostile-pages.ts';
import { checkTenantFile } from './hostile-tenants.ts';

const NEVER = new AbortController().signal;
const LISTS: WrittenProfile = {
  listPath: 'data',
  paging: { style: 'cursor', cursorPath: 'next', cursorParameter: 'cursor', ends: ['no-next'] },
  limits: { maxRecords: 50_000 },
};
/** Patients that a mapping maps. */
const PATIENTS = 200;
const CRM: CrmContext = { stream: 'patients', properties: [{ name: 'email', kind: 'text' }] };
const WINDOW = { fromAt: 0, toAt: DAY_MS };
/** Keys of one search: a whole batch of any vendor. */
const KEYS = [KEY, ...Array.from({ length: 49 }, (_, at) => at.toString(32).padStart(32, 'c'))];
/** Rows that a tenant's memory may hold. */
const ROOM = 100_000;

/** What the process of all tenants does for the attacking tenant, with the server of one draw. Refusals are expected. @throws any other error */
type Run = (url: string) => Promise<unknown>;

const http = createHttpClient({ userAgent: 'clinic-mirror-bench', clock: Date.now });
const authorizer = { header: async () => 'a', renew: async () => 'a', quotaUser: null };

/** Attacks by the name of their servers. */
export const RUNS: Readonly<Record<string, Run>> = {
  async json(url) {
    const { client } = openClient(url, profileOf({ listPath: null }));
    await refused(readWhole((signal) => client.patients.list('t', [], signal) as never, NEVER));
    const memory = new ReadingMemory<Appointment>(new CacheBudget(ROOM));
    await refused(client.readAppointments('t', { agendaIds: null, window: WINDOW, memory }, NEVER));
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
    await refused(client.readAppointments('t', { agendaIds: null, window: WINDOW, memory }, NEVER));
  },
  async 'long links'(url) {
    const session = new DavSession({ http, authorizer }, new URL(url));
    await refused(session.ask({ method: 'PROPFIND', url: new URL(`${url}/`) }, NEVER));
  },
  async mappings(url) {
    const request = { label: 'x', method: 'GET', url, signal: NEVER };
    const templates = readJson(await http.send(request), 'x') as Record<string, string>;
    const rules = Object.entries(templates).map(([name, template]) => [name, { template }]);
    const crm = crmSchema.safeParse({ mapping: Object.fromEntries(rules) });
    if (!crm.success) return;
    const mapping = compileMapping(crm.data, 'Europe/Rome');
    const patients = Array.from({ length: PATIENTS }, () => ofPatient());
    await inPieces(eachInPieces(patients, (patient) => mapping.map(patient)));
  },
  async records(url) {
    const { client } = openClient(url, profileOf({ listPath: 'data' }));
    await refused(client.patients.read('t', '1', NEVER));
    await refused(readWhole((signal) => client.patients.list('t', [], signal) as never, NEVER));
  },
  async html(url) {
    await readAll(outlookAt(url));
  },
  async 'tenant files'(url) {
    const request = { label: 'x', method: 'GET', url, signal: NEVER };
    const { body } = await http.send(request);
    const read = await inPieces(readYamlInPieces('tenants/a.yaml', body));
    if ('file' in read) read.lineOf(['a', 'b']);
  },
  async 'tenant checks'(url) {
    const { body } = await http.send({ label: 'x', method: 'GET', url, signal: NEVER });
    await checkTenantFile(body.toString());
  },
  async google(url) {
    const settings = googleCalendar.settingsSchema.parse({ calendar: { id: 'c' }, rootUrl: url });
    const connector = googleCalendar.open({ ...context(), settings });
    await readAll(connector);
    await refused(connector.find('c', KEYS, NEVER));
    await refused(connector.changes('c', { cursor: null, window: WINDOW }, NEVER));
    await refused(containerOf(connector, null, NEVER));
  },
  async microsoft(url) {
    const connector = outlookAt(url);
    await readAll(connector);
    await refused(connector.find('c', KEYS, NEVER));
    await refused(connector.changes('c', { cursor: null, window: WINDOW }, NEVER));
    await refused(containerOf(connector, null, NEVER));
  },
  async hubspot(url) {
    const names = { keyProperty: KEY_PROPERTY, stampProperty: STAMP_PROPERTY };
    const settings = hubspot.settingsSchema.parse({ apiUrl: url, ...names });
    const connector = hubspot.open({ ...context(), crm: CRM, settings });
    await readAll(connector);
    await refused(connector.find('c', KEYS, NEVER));
    await refused(containerOf(connector, null, NEVER));
  },
  async salesforce(url) {
    const settings = salesforce.settingsSchema.parse({ instanceUrl: url });
    const client = createOrgClient({ ...context(), settings, signal: NEVER });
    const form: RecordForm = {
      ...{ ...CRM, object: 'Contact', keyField: KEY_PROPERTY, stampField: STAMP_PROPERTY, contact: null },
      ...{
        refusalFields: [],
        rules: new Map(),
        choices: new Map(),
        blanks: {},
        individuals: null,
        fieldNames: new Set(),
      },
    };
    const scope = { client, form, ownerTag: OWNER_TAG, pace: { rows: 1 }, log: silentLogger };
    const choices = { allowDuplicates: false, emptiesBin: false };
    await refused(Array.fromAsync(readPages({ ...scope, ...choices }, WINDOW)));
    await refused(containerOf(salesforce.open({ ...context(), crm: CRM, settings }), null, NEVER));
  },
  async 'other CRM'(url) {
    const settings = restCrm.settingsSchema.parse({ baseUrl: url, profile: 'espocrm' });
    const connector = restCrm.open({ ...context(), crm: CRM, settings });
    await readAll(connector);
    await refused(connector.find('c', KEYS, NEVER));
  },
};

interface Readable {
  read(container: string, window: null, signal: AbortSignal): AsyncIterable<unknown>;
}

/** What a connector needs of the process. */
function context() {
  return { ownerTag: OWNER_TAG, authorizer, http, shared: new SharedState(), log: silentLogger, clock: Date.now };
}

function outlookAt(rootUrl: string) {
  const settings = outlookCalendar.settingsSchema.parse({ mailbox: 'me', calendar: { id: 'c' }, rootUrl });
  return outlookCalendar.open({ ...context(), settings });
}

async function readAll(connector: Readable): Promise<void> {
  await refused(Array.fromAsync(connector.read('c', null, NEVER)));
}

async function refused(work: Promise<unknown>): Promise<void> {
  await work.catch((error: unknown) => {
    if (!(error instanceof MirrorError)) throw error;
  });
}

import {
  type HubSpotSandbox,
  type ObjectTypeName,
  type RecordResource,
  startHubSpotSandbox,
} from '../../sandbox/hubspot/index.ts';
import { type FaultProxy, type ProxyMatch, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { hubspot } from '../../src/connectors/hubspot/index.ts';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { CrmItem, PropertyValue, StreamName } from '../../src/core/model/items.ts';
import { containerOf } from '../support/container-of.ts';
import { paced } from '../support/pace.ts';
import type { ContractDialect, Worker } from './contract-target.ts';
import {
  CRM_ROLES,
  type CrmRole,
  type CrmServer,
  type CrmTarget,
  mappedProperties,
  type RemoteRow,
} from './crm-target.ts';
import {
  changeJson,
  FOREIGN_STAMP,
  type Json,
  jsonAnswer,
  moreThan,
  partsOfStamp,
  rewriteNext,
  toNames,
  valuesOf,
} from './crm-wire.ts';

const DEFAULTS = hubspot.settingsSchema.parse({});
const BATCH_SIZE = 100;
const SEARCH_SIZE = 50;
const KEY = 'clinic_mirror_key';
const STAMP = 'clinic_mirror_stamp';

const OBJECTS = { patients: 'contacts', appointments: 'meetings', invoices: 'deals' } as const;

const LIST = 'suite_list';

/** HubSpot's own names for some of the suite's properties; the others have the suite's names. */
const OWN_NAMES: Readonly<Record<StreamName, Partial<Record<CrmRole, string>>>> = {
  patients: { title: 'lastname', email: 'email', phone: 'phone' },
  appointments: { title: 'hs_meeting_title' },
  invoices: { title: 'dealname' },
};

const TYPES = {
  text: { type: 'string', fieldType: 'textarea' },
  number: { type: 'number', fieldType: 'number' },
  boolean: { type: 'bool', fieldType: 'booleancheckbox' },
  date: { type: 'date', fieldType: 'date' },
  instant: { type: 'datetime', fieldType: 'date' },
} as const;

/**
 * The HubSpot sandbox behind the proxy, without limits, with properties of every kind. Its search shows everything at once.
 * @param choice of the version of the API, by date; default: that of the settings
 */
export async function openHubSpotTarget({
  version,
}: {
  version: string;
} = DEFAULTS): Promise<CrmTarget & { sandbox: HubSpotSandbox }> {
  const clock = { aheadMs: 0 };
  const sandbox = await startHubSpotSandbox({
    tenSecondlyOAuth: Number.POSITIVE_INFINITY,
    searchesPerSecond: Number.POSITIVE_INFINITY,
    searchLagMs: 0,
    now: () => Date.now() + clock.aheadMs,
  });
  const proxy = await startFaultProxy(sandbox.apiUrl);
  const header = async () => `Bearer ${sandbox.issueAccessToken()}`;
  const account: Account = { sandbox, proxy, version, clock, header };
  return {
    ...(await openStream(account, 'patients')),
    sandbox,
    async close() {
      await proxy.close();
      await sandbox.close();
    },
  };
}

interface Account {
  sandbox: HubSpotSandbox;
  proxy: FaultProxy;
  version: string;
  /** How far the account's clock is ahead, in milliseconds. */
  clock: { aheadMs: number };
  header: () => Promise<string>;
}

async function openStream(account: Account, stream: StreamName): Promise<CrmTarget> {
  const { sandbox, proxy, version, clock, header } = account;
  const object = OBJECTS[stream];
  const names = createProperties(sandbox, object, OWN_NAMES[stream]);
  const authorizer = { header, renew: header, quotaUser: null };
  const openAt = (apiUrl: string, { createCalendar: _, properties = mappedProperties(names), ...worker }: Worker) =>
    hubspot.open({
      ...worker,
      clock: Date.now,
      crm: { stream, properties },
      settings: hubspot.settingsSchema.parse({ apiUrl, version }),
    });
  const http = createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5_000) });
  const preparer = openAt(sandbox.apiUrl, {
    ownerTag: '',
    authorizer,
    http,
    shared: new SharedState(),
    log: silentLogger,
    createCalendar: null,
  });
  return {
    supports: { ...hubspot.supports, keys: hubspot.keysOf!(DEFAULTS, stream) },
    stream,
    names,
    firstName: { property: 'firstname', isLastRequired: false },
    list: LIST,
    required: [],
    constants: [],
    container: await containerOf(preparer, null, AbortSignal.timeout(paced(60_000))),
    belonging: { contactKey: null, startAt: stream === 'patients' ? 0 : Date.parse('2027-03-10T08:00:00Z') },
    authorizer,
    open: (worker) => openAt(proxy.url, worker),
    proxy,
    search: {
      pass(byMs) {
        clock.aheadMs += byMs;
      },
      lag: (byMs) => sandbox.configure({ searchLagMs: byMs }),
    },
    server: serverVerbs(sandbox, object, names),
    dialect: dialectOf(account, object),
    beside: (other) => openStream(account, other),
    close: async () => {},
  };
}

function createProperties(
  sandbox: HubSpotSandbox,
  object: ObjectTypeName,
  own: Partial<Record<CrmRole, string>>,
): CrmTarget['names'] {
  const roles = Object.keys(CRM_ROLES) as CrmRole[];
  const names = Object.fromEntries(roles.map((role) => [role, own[role] ?? `suite_${role}`]));
  const known = new Set(sandbox.properties(object).map(({ name }) => name));
  for (const role of roles) {
    const name = names[role]!;
    if (!known.has(name))
      sandbox.createProperty(object, { name, label: name, ...TYPES[CRM_ROLES[role]], ...options(role) });
  }
  const choice = (value: string, displayOrder: number) => ({ label: value, value, displayOrder, hidden: false });
  const list = { type: 'enumeration' as const, fieldType: 'select', options: [choice('north', 0), choice('south', 1)] };
  if (!known.has(LIST)) sandbox.createProperty(object, { name: LIST, label: LIST, ...list });
  return names as CrmTarget['names'];
}

/** Truth is an enumeration of two. */
function options(role: CrmRole) {
  if (CRM_ROLES[role] !== 'boolean') return {};
  const option = (value: string, displayOrder: number) => ({ label: value, value, displayOrder, hidden: false });
  return { options: [option('true', 0), option('false', 1)] };
}

function serverVerbs(sandbox: HubSpotSandbox, object: ObjectTypeName, names: CrmTarget['names']): CrmServer {
  const add = (values: Json) => {
    const timed = object === 'meetings' ? { hs_timestamp: '2027-03-10T12:00:00Z' } : {};
    return sandbox.add(object, { ...timed, ...texts(values) });
  };
  return {
    objects: async () => sandbox.records(object).map((record) => toRow(sandbox, object, names, record)),
    editByHand: async (id, { title }) => sandbox.edit(object, id, { [names.title]: title }),
    deleteByHand: async (id) => sandbox.archive(object, id),
    removeMarkByHand: async (id) => sandbox.edit(object, id, { [KEY]: '', [STAMP]: '' }),
    removeStampByHand: async (id) => sandbox.edit(object, id, { [STAMP]: '' }),
    damageStamp: async (id, damage) =>
      sandbox.edit(object, id, { [STAMP]: damage(String(sandbox.record(object, id)?.properties[STAMP] ?? '')) ?? '' }),
    putForeign: async (title, key) =>
      add({ [names.title]: title, ...(key === undefined ? {} : { [KEY]: key, [STAMP]: FOREIGN_STAMP }) }),
    addByHand: async (values) => add(toNames(names, values)),
    mergeByHand: async (keptId, otherId) => sandbox.merge(object, keptId, otherId),
    removeProperty: async (role) => sandbox.removeProperty(object, names[role]),
    isInBin: async (id) => sandbox.record(object, id)?.archived ?? false,
  };
}

function texts(values: Json): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value ?? '')]));
}

function toRow(
  sandbox: HubSpotSandbox,
  object: ObjectTypeName,
  names: CrmTarget['names'],
  { id, properties, updatedAt }: RecordResource,
): RemoteRow {
  return {
    remoteId: id,
    ...partsOfStamp(properties[STAMP]),
    key: properties[KEY] ?? null,
    title: properties[names.title] ?? '',
    version: updatedAt,
    values: valuesOf(names, (name, role) => read(properties[name] ?? null, role)),
    contactIds: object === 'contacts' ? [] : sandbox.associated(object, id, 'contacts'),
  };
}

function read(value: string | null, role: CrmRole): PropertyValue {
  if (value === null || value === '') return null;
  if (CRM_ROLES[role] === 'number') return Number(value);
  return CRM_ROLES[role] === 'boolean' ? value === 'true' : value;
}

function dialectOf({ sandbox, proxy, version }: Account, object: ObjectTypeName): ContractDialect<CrmItem> {
  const below = `/crm/objects/${version}/${object}`;
  const upserts: ProxyMatch = { method: /^POST$/, url: new RegExp(`${below}/batch/(upsert|create|update)$`) };
  const reads: ProxyMatch = { method: /^GET$/, url: new RegExp(`${below}\\?`) };
  const batches = (n: number) => Math.ceil(n / BATCH_SIZE);
  // The connector searches for the keys of meetings and reads the found meetings in their current state.
  const searches = (n: number) => (object === 'meetings' ? Math.ceil(n / SEARCH_SIZE) : 0);
  return {
    writes: { method: /^POST$/, url: new RegExp(`${below}/(batch/(upsert|archive|create|update)|gdpr-delete)$`) },
    reads,
    throttled: (retryAfter) =>
      jsonAnswer(
        429,
        { ...refused('RATE_LIMITS'), errorType: 'RATE_LIMIT', policyName: 'TEN_SECONDLY_ROLLING' },
        retryAfter,
      ),
    unauthorized: () => jsonAnswer(401, refused('EXPIRED_AUTHENTICATION')),
    forbidden: () => jsonAnswer(403, refused('MISSING_SCOPES')),
    unavailable: () => jsonAnswer(503, refused('INTERNAL_ERROR')),
    // Activities: one lookup for their contacts, and another call to associate them.
    requestsForCreates: (n) => (object === 'contacts' ? 1 : 3) * batches(n) + searches(n),
    // One lookup by key first: key and id of a record that users merged lead to another record.
    requestsForUpdates: (n) => (object === 'contacts' ? 2 : 4) * batches(n),
    requestsForDeletes: (n) => 2 * batches(n) + searches(n),
    requestsForReading: (n) => Math.max(1, batches(n)),
    requestsForRetriedCreates: (n) => (object === 'contacts' ? 2 : 6) * batches(n) + 2 * searches(n),
    withUnknownFields: (answer) =>
      changeJson(answer, (body) => ({
        ...body,
        ...STRANGE,
        results: rowsOf(body, 'results').map((row) => ({
          ...row,
          ...STRANGE,
          properties: { ...(row.properties as Json), new_thing: 'x' },
        })),
      })),
    poison(operation) {
      sandbox.faults.add({ match: { path: '/batch/' }, fault: { kind: 'poison-row', ids: [operation.key] } });
      return operation;
    },
    ...batchesIn(proxy, upserts),
    pageLength: (length) =>
      rewriteNext(
        proxy,
        reads,
        { request: (request) => ({ ...request, url: request.url.replace(/limit=\d+/, `limit=${length}`) }) },
        Number.POSITIVE_INFINITY,
      ),
    emptyFirstPage: () =>
      rewriteNext(proxy, reads, {
        answer: (answer) =>
          changeJson(answer, () => ({
            results: [],
            paging: { next: { after: '1', link: 'https://api.hubapi.com/' } },
          })),
      }),
  };
}

/** What is done to batches on their way. */
function batchesIn(
  proxy: FaultProxy,
  upserts: ProxyMatch,
): Pick<ContractDialect<CrmItem>, 'failOnce' | 'dropAnswerOf' | 'reverseAnswers' | 'lowerBatchLimit'> {
  return {
    failOnce: ({ key }) =>
      rewriteNext(proxy, upserts, {
        request: (request) =>
          changeJson(request, (body) => ({
            inputs: rowsOf(body, 'inputs').filter(({ objectWriteTraceId }) => objectWriteTraceId !== key),
          })),
      }),
    dropAnswerOf: ({ key }) =>
      rewriteNext(proxy, upserts, {
        answer: (answer) =>
          changeJson(answer, (body) => ({
            ...body,
            results: rowsOf(body, 'results').filter((row) => (row.properties as Json)[KEY] !== key),
          })),
      }),
    reverseAnswers: () =>
      rewriteNext(proxy, upserts, {
        answer: (answer) => changeJson(answer, (body) => ({ ...body, results: rowsOf(body, 'results').toReversed() })),
      }),
    lowerBatchLimit: (limit) =>
      proxy.add({
        ...upserts,
        body: moreThan(limit, '"objectWriteTraceId"'),
        times: Number.POSITIVE_INFINITY,
        fault: { kind: 'answer', answer: jsonAnswer(400, refused('VALIDATION_ERROR')) },
      }),
  };
}

function rowsOf(body: Json, name: 'inputs' | 'results'): Json[] {
  return (body[name] ?? []) as Json[];
}

const STRANGE = { newThing: { deep: [1, null] }, archivedAt: 'never' };

/** An error as HubSpot words it. */
function refused(category: string) {
  return { status: 'error', message: 'no', category, correlationId: 'c-1' };
}

import { type FaultProxy, type ProxyMatch, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { type RestCrmSandbox, type StoredRecord, startRestCrmSandbox } from '../../sandbox/rest-crm/index.ts';
import { restCrm } from '../../src/connectors/rest-crm/index.ts';
import { createHttpDoor } from '../../src/http/door.ts';
import { silentLogger } from '../../src/log/logger.ts';
import type { CrmItem, PropertyKind, PropertyValue } from '../../src/model/items.ts';
import type { StreamName } from '../../src/model/streams.ts';
import { SECOND_MS } from '../../src/model/time.ts';
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
  partsOfStamp,
  rewriteNext,
  toNames,
  valuesOf,
} from './crm-wire.ts';

const KEY = 'cMirrorKey';
const STAMP = 'cMirrorStamp';
const KINDS = { patients: 'Contact', appointments: 'Meeting', invoices: 'Opportunity' } as const;
/** Keys of one look, as the profile says. */
const LOOK_SIZE = 50;
const PAGE_SIZE = 200;

const SUITE: CrmTarget['names'] = {
  title: 'name',
  email: 'cEmail',
  phone: 'cPhone',
  note: 'cNote',
  number: 'cNumber',
  boolean: 'cBoolean',
  date: 'cDate',
  instant: 'cInstant',
};

const NAMES: Readonly<Record<StreamName, CrmTarget['names']>> = {
  patients: { ...SUITE, title: 'lastName', email: 'emailAddress', phone: 'phoneNumber' },
  appointments: SUITE,
  invoices: { ...SUITE, date: 'closeDate' },
};

/** A CRM that speaks as EspoCRM behind the proxy, by the shipped profile; its clock goes on a second with every look. */
export async function openRestCrmTarget(): Promise<CrmTarget & { sandbox: RestCrmSandbox }> {
  let ticks = 0;
  const now = () => {
    ticks += 1;
    return Date.UTC(2026, 10, 20) + ticks * SECOND_MS;
  };
  const sandbox = await startRestCrmSandbox({ dialect: 'espocrm', now });
  const proxy = await startFaultProxy(sandbox.url);
  for (const stream of ['patients', 'appointments', 'invoices'] as const) addFields(sandbox, stream);
  return {
    ...(await openStream(sandbox, proxy, 'patients')),
    sandbox,
    async close() {
      await proxy.close();
      await sandbox.close();
    },
  };
}

function addFields(sandbox: RestCrmSandbox, stream: StreamName): void {
  for (const [role, kind] of Object.entries(CRM_ROLES) as [CrmRole, PropertyKind][]) {
    if (role !== 'title') {
      const length = role === 'note' ? { maxLength: 65_535 } : {};
      sandbox.addField(KINDS[stream], NAMES[stream][role], { type: kind, ...length });
    }
  }
}

async function openStream(sandbox: RestCrmSandbox, proxy: FaultProxy, stream: StreamName): Promise<CrmTarget> {
  const names = NAMES[stream];
  const header = async () => sandbox.token;
  const authorizer = { header, renew: header, quotaUser: null, headerName: 'x-api-key' };
  const open = ({ createCalendar: _, properties = mappedProperties(names), ...worker }: Worker) =>
    restCrm.open({
      ...worker,
      clock: Date.now,
      crm: { stream, properties },
      settings: restCrm.settingsSchema.parse({
        baseUrl: sandbox.apiUrl.replace(sandbox.url, proxy.url),
        profile: 'espocrm',
      }),
    });
  const http = createHttpDoor({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: 5_000 });
  const preparer = open({ mark: 'contractmark0000', authorizer, http, log: silentLogger, createCalendar: null });
  const container = await preparer.prepare(null, AbortSignal.timeout(5_000));
  proxy.forget();
  return {
    supports: restCrm.supports,
    stream,
    names,
    required: [],
    constants: [],
    container,
    belonging: { contactKey: null, startAt: stream === 'patients' ? 0 : Date.parse('2027-03-10T08:00:00Z') },
    authorizer,
    open,
    proxy,
    server: serverVerbs(sandbox, stream),
    dialect: dialectOf(proxy, stream),
    beside: (other) => openStream(sandbox, proxy, other),
    close: async () => {},
  };
}

function serverVerbs(sandbox: RestCrmSandbox, stream: StreamName): CrmServer {
  const kind = KINDS[stream];
  const names = NAMES[stream];
  const add = (values: Json) => {
    const timed = stream === 'appointments' ? { dateStart: '2027-03-10 12:00:00' } : {};
    return sandbox.addByHand(kind, { ...timed, ...values }).id;
  };
  return {
    objects: async () => sandbox.records(kind).map((record) => toRow(record, names)),
    editByHand: async (id, { title }) => sandbox.editByHand(kind, id, { [names.title]: title }),
    deleteByHand: async (id) => sandbox.deleteByHand(kind, id),
    removeMarkByHand: async (id) => sandbox.editByHand(kind, id, { [KEY]: null, [STAMP]: null }),
    removeStampByHand: async (id) => sandbox.editByHand(kind, id, { [STAMP]: null }),
    putForeign: async (title, key) =>
      add({ [names.title]: title, ...(key === undefined ? {} : { [KEY]: key, [STAMP]: FOREIGN_STAMP }) }),
    addByHand: async (values) => add(toNames(names, values)),
    removeProperty: async (role) => sandbox.removeField(kind, names[role]),
    // Deleted records are kept, out of everybody's sight.
    isInBin: async (id) => !sandbox.records(kind).some((record) => record.id === id),
  };
}

/** A copy: the sandbox goes on writing in its own. */
function toRow({ id, values, updatedAt }: StoredRecord, names: CrmTarget['names']): RemoteRow {
  return {
    remoteId: id,
    ...partsOfStamp(values[STAMP]),
    key: (values[KEY] as string | null | undefined) ?? null,
    title: String(values[names.title] ?? ''),
    version: String(updatedAt),
    values: valuesOf(names, (name, role) => read(values[name], role)),
    contactIds: [...((values.contactsIds as string[] | null | undefined) ?? [])],
  };
}

function read(value: unknown, role: CrmRole): PropertyValue {
  if (value === undefined || value === null || value === '') return null;
  if (CRM_ROLES[role] === 'instant') return new Date(`${String(value).replace(' ', 'T')}Z`).toISOString();
  return value as PropertyValue;
}

function dialectOf(proxy: FaultProxy, stream: StreamName): ContractDialect<CrmItem> {
  const path = `/api/v1/${KINDS[stream]}`;
  const writes: ProxyMatch = { method: /^(POST|PUT|DELETE)$/, url: new RegExp(`${path}(/|$)`) };
  const reads: ProxyMatch = { method: /^GET$/, url: new RegExp(`${path}\\?.*startsWith`) };
  const looks = (n: number) =>
    Math.ceil(n / LOOK_SIZE) + (stream === 'patients' ? 0 : Math.ceil(n / restCrm.supports.batchSize));
  const writeOf = (key: string): ProxyMatch => ({ ...writes, body: new RegExp(key) });
  return {
    writes,
    reads,
    throttled: (retryAfter) => jsonAnswer(429, {}, retryAfter),
    unauthorized: () => jsonAnswer(401, {}),
    forbidden: () => jsonAnswer(403, {}),
    unavailable: () => jsonAnswer(503, {}),
    // A look by key, since nothing is upserted, then each alone.
    requestsForCreates: (n) => looks(n) + n,
    requestsForReading: (n) => Math.max(1, Math.ceil(n / PAGE_SIZE)),
    requestsForRetriedCreates: (n) => 2 * (looks(n) + n),
    withUnknownFields: (answer) =>
      changeJson(answer, (body) => ({
        ...body,
        ...STRANGE,
        list: (body.list as Json[]).map((row) => ({ ...row, ...STRANGE })),
      })),
    poison(operation) {
      const answer = jsonAnswer(400, { messageTranslation: { label: 'no' } });
      proxy.add({ ...writeOf(operation.key), times: Number.POSITIVE_INFINITY, fault: { kind: 'answer', answer } });
      return operation;
    },
    failOnce: ({ key }) => proxy.add({ ...writeOf(key), fault: { kind: 'answer', answer: jsonAnswer(500, {}) } }),
    dropAnswerOf: ({ key }) => proxy.add({ ...writeOf(key), fault: { kind: 'lost-answer' } }),
    pageLength: (length) =>
      rewriteNext(
        proxy,
        reads,
        { request: (request) => ({ ...request, url: request.url.replace(/maxSize=\d+/, `maxSize=${length}`) }) },
        Number.POSITIVE_INFINITY,
      ),
  };
}

const STRANGE = { newThing: { deep: [1, null] }, createdById: 7 };

import { type FaultProxy, type ProxyMatch, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import {
  type FieldOptions,
  type SalesforceSandbox,
  type SeenRecord,
  startSalesforceSandbox,
} from '../../sandbox/salesforce/index.ts';
import { salesforce } from '../../src/connectors/salesforce/index.ts';
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
  partsOfStamp,
  rewriteNext,
  toNames,
  valuesOf,
} from './crm-wire.ts';

const KEY = 'Clinic_Key__c';
const STAMP = 'Clinic_Stamp__c';
const LIST = 'Suite_List__c';
const OBJECTS = { patients: 'Contact', appointments: 'Event', invoices: 'Opportunity' } as const;
const CONTACT_FIELDS = { patients: null, appointments: 'WhoId', invoices: 'Contact__c' } as const;

const SUITE = {
  email: 'Suite_Email__c',
  phone: 'Suite_Phone__c',
  note: 'Description',
  number: 'Suite_Number__c',
  boolean: 'Suite_Boolean__c',
  date: 'Suite_Date__c',
  instant: 'Suite_Instant__c',
};

const NAMES: Readonly<Record<StreamName, CrmTarget['names']>> = {
  patients: { ...SUITE, title: 'LastName', email: 'Email', phone: 'Phone' },
  appointments: { ...SUITE, title: 'Subject', instant: 'StartDateTime' },
  invoices: { ...SUITE, title: 'Name', date: 'CloseDate' },
};

/** Further properties that Salesforce requires. */
const CONSTANTS: Readonly<Record<StreamName, CrmTarget['constants']>> = {
  patients: [],
  appointments: [{ name: 'DurationInMinutes', kind: 'number', value: 30 }],
  invoices: [{ name: 'StageName', kind: 'text', value: 'Prospecting' }],
};

/** A start and a closing date are a must. */
const REQUIRED: Readonly<Record<StreamName, readonly CrmRole[]>> = {
  patients: [],
  appointments: ['instant'],
  invoices: ['date'],
};

const FIELDS: FieldOptions[] = [
  { name: KEY, type: 'string', length: 64, externalId: true, unique: true },
  { name: STAMP, type: 'string', length: 255 },
  { name: SUITE.email, type: 'email' },
  { name: SUITE.phone, type: 'phone' },
  { name: SUITE.number, type: 'double' },
  { name: SUITE.boolean, type: 'boolean' },
  { name: SUITE.date, type: 'date' },
  { name: SUITE.instant, type: 'datetime' },
  { name: LIST, type: 'picklist', values: ['north', 'south'], restricted: true },
];

const LOOKUP: FieldOptions = {
  name: 'Contact__c',
  type: 'reference',
  referenceTo: ['Contact'],
  relationshipName: 'Contact__r',
};

/** The Salesforce sandbox behind the proxy, with fields of every kind. */
export async function openSalesforceTarget(): Promise<CrmTarget & { sandbox: SalesforceSandbox }> {
  const sandbox = await startSalesforceSandbox({
    customFields: { Contact: FIELDS, Event: FIELDS, Opportunity: [...FIELDS, LOOKUP] },
  });
  const proxy = await startFaultProxy(sandbox.url);
  return {
    ...(await openStream(sandbox, proxy, 'patients')),
    sandbox,
    async close() {
      await proxy.close();
      await sandbox.close();
    },
  };
}

async function openStream(sandbox: SalesforceSandbox, proxy: FaultProxy, stream: StreamName): Promise<CrmTarget> {
  const names = NAMES[stream];
  const constants = CONSTANTS[stream];
  const mapped = [...mappedProperties(names), ...constants];
  const openWorker = ({ createCalendar: _, properties = mapped, ...worker }: Worker) =>
    salesforce.open({
      ...worker,
      clock: Date.now,
      crm: { stream, properties },
      settings: salesforce.settingsSchema.parse({}),
    });
  const http = createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5_000) });
  const preparer = openWorker({
    ownerTag: '',
    authorizer: loginAt(sandbox, sandbox.url),
    http,
    shared: new SharedState(),
    log: silentLogger,
    createCalendar: null,
  });
  return {
    supports: salesforce.supports,
    stream,
    names,
    required: REQUIRED[stream],
    firstName: { property: 'FirstName', isLastRequired: true },
    list: LIST,
    constants,
    container: await containerOf(preparer, null, AbortSignal.timeout(paced(60_000))),
    belonging: { contactKey: null, startAt: stream === 'patients' ? 0 : Date.parse('2027-03-10T08:00:00Z') },
    authorizer: loginAt(sandbox, proxy.url),
    open: openWorker,
    proxy,
    server: serverVerbs(sandbox, stream),
    dialect: dialectOf(sandbox, proxy, stream),
    beside: (other) => openStream(sandbox, proxy, other),
    close: async () => {},
  };
}

/** Returns a connection whose token comes with the instance URL. */
function loginAt(sandbox: SalesforceSandbox, url: string) {
  let token = sandbox.issueAccessToken();
  return {
    header: async () => `Bearer ${token}`,
    async renew() {
      token = sandbox.issueAccessToken();
      return `Bearer ${token}`;
    },
    quotaUser: null,
    baseUrl: () => url,
  };
}

function serverVerbs(sandbox: SalesforceSandbox, stream: StreamName): CrmServer {
  const object = OBJECTS[stream];
  const names = NAMES[stream];
  const isContact = stream === 'patients';
  const least = stream === 'appointments' ? { StartDateTime: '2027-03-10T12:00:00Z' } : { CloseDate: '2027-03-10' };
  const constants = Object.fromEntries(CONSTANTS[stream].map(({ name, value }) => [name, value]));
  const add = (values: Json) => sandbox.addByHand(object, { ...(isContact ? {} : least), ...constants, ...values }).Id;
  return {
    objects: async () => sandbox.records(object).map((record) => toRow(record, stream)),
    editByHand: async (id, { title }) => void sandbox.editByHand(id, { [names.title]: title }),
    deleteByHand: async (id) => sandbox.deleteByHand(id),
    removeMarkByHand: async (id) => void sandbox.editByHand(id, { [KEY]: null, [STAMP]: null }),
    removeStampByHand: async (id) => void sandbox.editByHand(id, { [STAMP]: null }),
    async damageStamp(id, damage) {
      const stamp = sandbox.records(object).find(({ Id }) => Id === id)?.[STAMP];
      sandbox.editByHand(id, { [STAMP]: damage(String(stamp ?? '')) });
    },
    putForeign: async (title, key) =>
      add({ [names.title]: title, ...(key === undefined ? {} : { [KEY]: key, [STAMP]: FOREIGN_STAMP }) }),
    addByHand: async (values) => add(toNames(names, values)),
    giveByHand: async (id, contactId) =>
      void sandbox.editByHand(id, { [stream === 'appointments' ? 'WhoId' : 'Contact__c']: contactId }),
    mergeByHand: async (keptId, otherId) => sandbox.merge(keptId, [otherId]).Id,
    removeProperty: async (role) => sandbox.setFieldAccess(object, names[role], 'hidden'),
    isInBin: async (id) =>
      sandbox.records(object, { includeDeleted: true }).some((one) => one.Id === id && one.IsDeleted),
  };
}

function toRow(record: SeenRecord, stream: StreamName): RemoteRow {
  const names = NAMES[stream];
  const contactField = CONTACT_FIELDS[stream];
  const contactId = contactField === null ? null : record[contactField];
  return {
    remoteId: record.Id,
    ...partsOfStamp(record[STAMP]),
    key: (record[KEY] as string | null | undefined) ?? null,
    title: String(record[names.title] ?? ''),
    version: String(record.SystemModstamp),
    values: valuesOf(names, (name, role) => read(record[name] ?? null, role)),
    contactIds: typeof contactId === 'string' ? [contactId] : [],
  };
}

function read(value: PropertyValue, role: CrmRole): PropertyValue {
  if (CRM_ROLES[role] === 'instant' && typeof value === 'string') return value.replace('+0000', 'Z');
  return value;
}

const WRITES: ProxyMatch = { method: /^POST$/, url: /\/composite$/, body: /"method":"(PATCH|DELETE)"/ };
const READS: ProxyMatch = { method: /^GET$/, url: /\/query[?/]/ };

function dialectOf(sandbox: SalesforceSandbox, proxy: FaultProxy, stream: StreamName): ContractDialect<CrmItem> {
  const { batchSize } = salesforce.supports;
  const calls = (n: number) => Math.ceil(n / batchSize);
  const spoilRow = (key: string, statusCode: string, times?: number) =>
    void sandbox.faults.add({
      match: { path: `#${key}$` },
      ...(times === undefined ? {} : { times }),
      fault: { kind: 'row-error', statusCode, message: 'no' },
    });
  return {
    writes: WRITES,
    reads: READS,
    throttled: (retryAfter) => jsonAnswer(403, refused('REQUEST_LIMIT_EXCEEDED'), retryAfter),
    unauthorized: () => jsonAnswer(401, refused('INVALID_SESSION_ID')),
    forbidden: () => jsonAnswer(403, refused('INSUFFICIENT_ACCESS')),
    unavailable: () => jsonAnswer(503, refused('SERVER_UNAVAILABLE')),
    // A worker describes the object once.
    requestsForCreates: (n) => 1 + calls(n),
    // One lookup first: the id may belong to a record that is no longer managed.
    requestsForDeletes: (n) => 2 * calls(n),
    // Activities: another for the keys of their contacts.
    requestsForReading: (n) => (stream === 'patients' ? 1 : 2) * Math.max(1, Math.ceil(n / 2_000)),
    requestsForRetriedCreates: (n) => 1 + 2 * calls(n),
    hideObjects: () =>
      proxy.add({
        url: /\/(composite|query)/,
        times: Number.POSITIVE_INFINITY,
        fault: { kind: 'answer', answer: jsonAnswer(404, refused('NOT_FOUND')) },
      }),
    withUnknownFields: (answer) =>
      changeJson(answer, (body) => ({
        ...body,
        ...STRANGE,
        records: (body.records as Json[]).map((record) => ({ ...record, ...STRANGE })),
      })),
    poison(operation) {
      spoilRow(operation.key, 'FIELD_CUSTOM_VALIDATION_EXCEPTION');
      return operation;
    },
    // Once more than the connector's own second try.
    failOnce: ({ key }) => spoilRow(key, 'UNABLE_TO_LOCK_ROW', 2),
    reverseAnswers: () =>
      rewriteNext(proxy, WRITES, {
        answer: (answer) =>
          changeJson(answer, ({ compositeResponse }) => ({
            compositeResponse: (compositeResponse as Json[]).toReversed(),
          })),
      }),
    lowerBatchLimit: (limit) => lowerBatchLimit(proxy, limit),
    pageLength(length) {
      sandbox.configure({ queryPageSize: length });
      rewriteNext(
        proxy,
        READS,
        { request: ({ headers: { 'sforce-query-options': _, ...headers }, ...request }) => ({ ...request, headers }) },
        Number.POSITIVE_INFINITY,
      );
    },
    emptyFirstPage: () =>
      rewriteNext(proxy, READS, {
        answer(answer, { url }) {
          const next = `${url.split('/query')[0]}/query/01g000000000001-0`;
          proxy.add({ method: /^GET$/, url: /01g000000000001-0$/, fault: { kind: 'answer', answer } });
          return changeJson(answer, (body) => ({ ...body, records: [], done: false, nextRecordsUrl: next }));
        },
      }),
  };
}

const STRANGE = { New_Thing__c: { deep: [1, null] }, newThing: 7 };

/** An error as Salesforce words it. */
function refused(errorCode: string) {
  return [{ message: 'no', errorCode }];
}

/** Collections with more rows are refused as a whole, each for itself. */
function lowerBatchLimit(proxy: FaultProxy, limit: number): void {
  const rowsOf = (part: Json) => ((part.body as Json | undefined)?.records as Json[] | undefined) ?? [];
  const isTooLong = (part: Json) => rowsOf(part).length > limit;
  const parts = (body: string) => (JSON.parse(body) as { compositeRequest: Json[] }).compositeRequest;
  const tooLong = new Set<unknown>();
  rewriteNext(
    proxy,
    WRITES,
    {
      request(request) {
        tooLong.clear();
        for (const part of parts(request.body)) if (isTooLong(part)) tooLong.add(part.referenceId);
        return changeJson(request, (body) => ({
          ...body,
          compositeRequest: parts(request.body).map((part) =>
            isTooLong(part) ? { ...part, body: { allOrNone: false, records: [] } } : part,
          ),
        }));
      },
      answer: (answer) =>
        changeJson(answer, ({ compositeResponse }) => ({
          compositeResponse: (compositeResponse as Json[]).map((part) =>
            tooLong.has(part.referenceId) ? { ...part, httpStatusCode: 400, body: refused('LIMIT_EXCEEDED') } : part,
          ),
        })),
    },
    Number.POSITIVE_INFINITY,
  );
}

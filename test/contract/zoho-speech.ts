import type { FaultProxy, ProxyMatch } from '../../sandbox/kit/fault-proxy.ts';
import { restCrm } from '../../src/connectors/rest-crm/index.ts';
import type { CrmItem, StreamName } from '../../src/core/model/items.ts';
import type { Operation } from '../../src/core/model/operations.ts';
import type { ContractDialect } from './contract-target.ts';
import type { CrmTarget } from './crm-target.ts';
import { changeJson, type Json, jsonAnswer, moreThan, rewriteNext } from './crm-wire.ts';
import type { RestCrmSpeech } from './rest-crm-target.ts';

const KEY = 'Clinic_Mirror_Key';
const STAMP = 'Clinic_Mirror_Stamp';
const KINDS = { patients: 'Contacts', appointments: 'Events', invoices: 'Deals' } as const;
/** Keys of one lookup and records of a page, as in the profile. */
const LOOK_SIZE = 100;
const PAGE_SIZE = 200;

const SUITE: Omit<CrmTarget['names'], 'title'> = {
  email: 'Suite_Email',
  phone: 'Suite_Phone',
  note: 'Description',
  number: 'Suite_Number',
  boolean: 'Suite_Boolean',
  date: 'Suite_Date',
  instant: 'Suite_Instant',
};

/** Zoho CRM: contacts and deals by upserts of a hundred, one request per event. */
export const zoho: RestCrmSpeech = {
  dialect: 'zoho',
  profile: 'zoho-like',
  key: KEY,
  stamp: STAMP,
  kinds: KINDS,
  names: {
    patients: { ...SUITE, title: 'Last_Name', email: 'Email', phone: 'Phone' },
    appointments: { ...SUITE, title: 'Event_Title' },
    invoices: { ...SUITE, title: 'Deal_Name', date: 'Closing_Date' },
  },
  firstName: 'First_Name',
  list: 'Suite_List',
  login(token) {
    const header = async () => `Bearer ${token}`;
    return { header, renew: header, quotaUser: null };
  },
  least: { patients: {}, appointments: { Start_DateTime: '2027-03-10T12:00:00+00:00' }, invoices: {} },
  instant: (kept) => new Date(kept).toISOString(),
  constants: {},
  belonging: (id, stream) => ({ [stream === 'appointments' ? 'Who_Id' : 'Contact_Name']: { id } }),
  contactIds: ({ Who_Id, Contact_Name }) => {
    const { id } = (Who_Id ?? Contact_Name ?? {}) as { id?: string | null };
    return typeof id === 'string' ? [id] : [];
  },
  faults: (proxy, stream) => faultsOf(proxy, stream),
};

function faultsOf(proxy: FaultProxy, stream: StreamName): ContractDialect<CrmItem> {
  const path = `/crm/v8/${KINDS[stream]}`;
  const writes: ProxyMatch = { method: /^(POST|PUT|DELETE)$/, url: new RegExp(`${path}(/|\\?|$)`) };
  const reads: ProxyMatch = { method: /^GET$/, url: new RegExp(`${path}\\?`) };
  const isUpserted = stream !== 'appointments';
  const looks = (n: number) => Math.ceil(n / LOOK_SIZE) + Math.ceil(n / restCrm.supports.batchSize);
  const creates = (n: number) => (isUpserted ? 2 * Math.ceil(n / restCrm.supports.batchSize) : looks(n) + n);
  const { title } = zoho.names[stream];
  return {
    writes,
    reads,
    throttled: (retryAfter) => jsonAnswer(429, refused('TOO_MANY_REQUESTS'), retryAfter),
    unauthorized: () => jsonAnswer(401, refused('INVALID_TOKEN')),
    forbidden: () => jsonAnswer(403, refused('NO_PERMISSION')),
    unavailable: () => jsonAnswer(503, refused('INTERNAL_ERROR')),
    requestsForCreates: creates,
    // A lookup by key, then the deletion of all found records.
    requestsForDeletes: looks,
    // In addition to the pages, one lookup for the contact of all.
    requestsForReading: (n) => Math.max(1, Math.ceil(n / PAGE_SIZE)) + (stream === 'patients' ? 0 : 1),
    requestsForRetriedCreates: (n) => 2 * creates(n),
    withUnknownFields: (answer) =>
      changeJson(answer, (body) => ({
        ...body,
        ...STRANGE,
        data: (body.data as Json[]).map((row) => ({ ...row, ...STRANGE })),
      })),
    poison: (operation) => (operation.kind === 'delete' ? operation : withoutTitle(operation, title)),
    failOnce: ({ key }) => failRowOnce(proxy, writes, key),
    lowerBatchLimit: (limit) =>
      proxy.add({
        ...writes,
        body: moreThan(limit, `"${STAMP}"`),
        times: Number.POSITIVE_INFINITY,
        fault: { kind: 'answer', answer: jsonAnswer(400, refused('LIMIT_EXCEEDED')) },
      }),
    pageLength: (length) =>
      rewriteNext(
        proxy,
        reads,
        { request: (request) => ({ ...request, url: request.url.replace(/per_page=\d+/, `per_page=${length}`) }) },
        Number.POSITIVE_INFINITY,
      ),
    emptyFirstPage: () =>
      rewriteNext(proxy, reads, {
        answer: (answer) =>
          changeJson(answer, () => ({ data: [], info: { more_records: true, next_page_token: '0', count: 0 } })),
      }),
  };
}

const STRANGE = { New_Thing: { deep: [1, null] }, $approval_state: 'cosmic' };

/** An error as Zoho words it. */
function refused(code: string) {
  return { code, status: 'error', message: 'no', details: {} };
}

/** A mandatory field is empty. */
function withoutTitle(operation: Extract<Operation<CrmItem>, { item: CrmItem }>, title: string): Operation<CrmItem> {
  const { item } = operation;
  return { ...operation, item: { ...item, properties: { ...item.properties, [title]: null } } };
}

/** Withholds the row from the server and returns an error for it. */
function failRowOnce(proxy: FaultProxy, writes: ProxyMatch, key: string): void {
  let place = 0;
  rewriteNext(
    proxy,
    { ...writes, body: new RegExp(key) },
    {
      request: (request) =>
        changeJson(request, ({ data, ...rest }) => {
          const rows = data as Json[];
          place = rows.findIndex((row) => row[KEY] === key);
          return { ...rest, data: rows.toSpliced(place, 1) };
        }),
      answer: (answer) =>
        changeJson(answer, ({ data }) => ({ data: (data as Json[]).toSpliced(place, 0, refused('INTERNAL_ERROR')) })),
    },
  );
}

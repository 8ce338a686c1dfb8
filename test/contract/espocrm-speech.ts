import type { FaultProxy, ProxyMatch } from '../../sandbox/kit/fault-proxy.ts';
import { restCrm } from '../../src/connectors/rest-crm/index.ts';
import type { CrmItem, StreamName } from '../../src/core/model/items.ts';
import type { ContractDialect } from './contract-target.ts';
import type { CrmTarget } from './crm-target.ts';
import { changeJson, type Json, jsonAnswer, rewriteNext } from './crm-wire.ts';
import type { RestCrmSpeech } from './rest-crm-target.ts';

const KINDS = { patients: 'Contact', appointments: 'Meeting', invoices: 'Opportunity' } as const;
/** Keys of one lookup, as in the profile. */
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

/** EspoCRM: one request per record, after a lookup by key. */
export const espocrm: RestCrmSpeech = {
  dialect: 'espocrm',
  profile: 'espocrm',
  key: 'cMirrorKey',
  stamp: 'cMirrorStamp',
  kinds: KINDS,
  names: NAMES,
  firstName: 'firstName',
  list: 'cList',
  login(token) {
    const header = async () => token;
    return { header, renew: header, quotaUser: null, headerName: 'x-api-key' };
  },
  least: { patients: {}, appointments: { dateStart: '2027-03-10 12:00:00' }, invoices: {} },
  instant: (kept) => new Date(`${kept.replace(' ', 'T')}Z`).toISOString(),
  constants: { appointments: [{ name: 'assignedUserId', kind: 'text', value: 'a1b2c3d4e5f6a7b8c' }] },
  belonging: (contactId) => ({ contactsIds: [contactId] }),
  contactIds: ({ contactsIds }) => [...((contactsIds as string[] | null | undefined) ?? [])],
  faults: dialectOf,
};

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
    // A lookup by key, since EspoCRM has no upsert, then one request per record.
    requestsForCreates: (n) => looks(n) + n,
    // In addition to the pages, one lookup for the contact of all.
    requestsForReading: (n) => Math.max(1, Math.ceil(n / PAGE_SIZE)) + (stream === 'patients' ? 0 : 1),
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

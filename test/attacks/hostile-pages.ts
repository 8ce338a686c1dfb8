import fc from 'fast-check';
import { LARGEST_ANSWER_BYTES } from '../../src/connectors/google-calendar/limits.ts';
import { PROPERTIES } from '../../src/connectors/outlook-calendar/limits.ts';
import type { ScriptedAnswer, ScriptedRequest } from '../clinic/scripted-server.ts';

/** Owner tag, and key of an object, of the target that reads hostile pages. */
export const OWNER_TAG = 'a'.repeat(16);
export const KEY = 'b'.repeat(32);
/** Properties of a CRM's object with the key and the stamp. */
export const [KEY_PROPERTY, STAMP_PROPERTY] = ['mirror_key', 'mirror_stamp'];
const STAMP = `${OWNER_TAG}.sealed.a.`;

/** A JSON text that a vendor can repeat, and the form of its answers. */
interface Vendor {
  /** An object with the marks of the target. */
  own(text: string, drawn: Drawn): object;
  /** A page of elements, as JSON. */
  page(elements: string): string;
  /** An answer to a batch; absent without batches. */
  batch?(elements: string, drawn: Drawn): ScriptedAnswer;
}

/** Parameters of a page. */
interface Drawn {
  element: string;
  piece: string;
  length: number;
  /** Characters of clinic-mirror's part of a description, by the stamp. */
  stamped: number;
  bytes: number;
  head: number;
}

/** Pieces of text and HTML that an object can repeat. */
export const PIECES = [
  ...['<!--', '<style>', '<', '<b', '<br', ' ', '<head', '<br>a', '</p>', '&amp;', '<style></style>', 'a\r\n', '<b>'],
  ...['a', '\n--------\n', '-', '&', '<br/>--------', '"', '€'],
];
/** Elements that are no object of the target. */
const OTHERS: Readonly<Record<string, (drawn: Drawn) => string>> = {
  'empty objects': () => '{}',
  numbers: () => '0',
  lists: () => '[]',
  foreign: ({ piece }) => JSON.stringify({ id: 'x', Id: 'a'.repeat(18), body: null, properties: { [piece]: piece } }),
  members: ({ stamped }) => `{${Array.from({ length: stamped % 300 }, (_, at) => `"k${at}":0`).join()}}`,
};
const time = { dateTime: '2026-03-01T10:00:00.0000000', timeZone: 'UTC' };
const stampOf = (stamped: number) => `ours.${stamped}.aaaaaaaaaaa`;

/** An Outlook event with the marks of the target. */
export const outlookEvent = (content: string, stamped: number) => ({
  ...{ id: 'x', transactionId: KEY, body: { contentType: 'html', content }, subject: content.slice(0, 10_000) },
  ...{ start: time, end: time, showAs: 'busy', sensitivity: 'private' },
  singleValueExtendedProperties: [
    { id: PROPERTIES.ownerTag, value: OWNER_TAG },
    { id: PROPERTIES.notes, value: stampOf(stamped) },
    { id: PROPERTIES.zone, value: 'Europe/Rome' },
  ],
});

/** Vendors with lists and batches, by attack. */
const VENDORS: Readonly<Record<string, Vendor>> = {
  google: {
    own: (description, { stamped }) => ({
      ...{ id: KEY, etag: '"1"', status: 'confirmed', summary: description.slice(0, 10_000), description },
      ...{ start: { ...time, timeZone: 'Europe/Rome' }, end: { ...time, timeZone: 'Europe/Rome' } },
      extendedProperties: { private: { clinicMirror: OWNER_TAG, clinicMirrorNotes: stampOf(stamped) } },
    }),
    page: (elements) => `{"items":[${elements}]}`,
    batch: (elements, { head, bytes }) => {
      const heads = 'a: b\r\n'.repeat(head);
      const part = (at: number) =>
        `--x\r\nContent-ID: <response-${at}>\r\n\r\nHTTP/1.1 200 OK\r\n${heads}\r\n{"id":"${KEY}","a":[${elements}]}\r\n`;
      const length = Math.max(1, Math.floor(bytes / (elements.length + heads.length + 100)));
      const body = Array.from({ length }, (_, at) => part(at % 50)).join('');
      return { body, headers: { 'content-type': 'multipart/mixed; boundary=x' } };
    },
  },
  microsoft: {
    own: (content, { stamped }) => outlookEvent(content, stamped),
    page: (elements) => `{"value":[${elements}]}`,
    batch: (elements, { bytes }) => {
      const part = (id: number) => `{"id":"${id}","status":200,"body":{"value":[${elements}]}}`;
      const length = Math.max(1, Math.floor(bytes / (elements.length + 100)));
      const body = `{"responses":[${Array.from({ length }, (_, at) => part(at % 20)).join()}]}`;
      return { body, headers: { 'content-type': 'application/json' } };
    },
  },
  hubspot: {
    own: (text) => ({ id: '1', properties: { [KEY_PROPERTY]: KEY, [STAMP_PROPERTY]: STAMP, email: text } }),
    page: (elements) => `{"results":[${elements}]}`,
  },
  salesforce: {
    own: (text) => ({ Id: 'a'.repeat(18), [KEY_PROPERTY]: KEY, [STAMP_PROPERTY]: STAMP, email: text }),
    page: (elements) => `{"done":true,"records":[${elements}]}`,
  },
  'other CRM': {
    own: (text) => ({ id: '1', cMirrorKey: KEY, cMirrorStamp: STAMP, email: text }),
    page: (elements) => `{"total":1,"list":[${elements}]}`,
  },
};

export const VENDOR_NAMES = Object.keys(VENDORS);

const drawn = fc.record({
  element: fc.oneof(fc.constant('own'), fc.constantFrom(...Object.keys(OTHERS))),
  piece: fc.constantFrom(...PIECES),
  length: fc.oneof(
    fc.nat({ max: 1_000 }),
    { weight: 2, arbitrary: fc.integer({ min: 5_000, max: 20_000 }) },
    fc.nat({ max: 8_000_000 }),
  ),
  stamped: fc.oneof({ weight: 2, arbitrary: fc.integer({ min: 1, max: 30 }) }, fc.integer({ min: 1, max: 5_000 })),
  bytes: fc.oneof(
    fc.integer({ min: 10, max: 200_000 }),
    // Small elements exceed the limit of values soon.
    fc.integer({ min: 200_000, max: 1_200_000 }),
    fc.integer({ min: 1_000_000, max: LARGEST_ANSWER_BYTES - 100_000 }),
  ),
  head: fc.oneof({ weight: 3, arbitrary: fc.nat({ max: 10 }) }, fc.nat({ max: 1_000_000 })),
});

/** Servers of a vendor whose pages and batches repeat an element. */
export const hostileVendor = (name: string) =>
  drawn.map((parameters) => ({ ...parameters, open: () => answerer(VENDORS[name]!, parameters) }));

function answerer(vendor: Vendor, parameters: Drawn): (request: ScriptedRequest) => ScriptedAnswer {
  const { element, piece, length, bytes } = parameters;
  const text = piece.repeat(Math.ceil(length / piece.length));
  const one = OTHERS[element]?.(parameters) ?? JSON.stringify(vendor.own(text, parameters));
  const repeated = (most: number) =>
    Array(Math.max(1, Math.floor(most / (one.length + 1))))
      .fill(one)
      .join();
  const page = Buffer.from(vendor.page(repeated(bytes)));
  const batch = vendor.batch?.(repeated(Math.floor(bytes / (1 + (parameters.stamped % 60)))), parameters);
  return ({ path }) => {
    if (path.includes('batch') && batch !== undefined) return batch;
    return { body: page, headers: { 'content-type': 'application/json' } };
  };
}

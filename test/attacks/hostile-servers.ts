import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { LARGEST_ANSWER_BYTES } from '../../src/connectors/caldav/limits.ts';
import { LONGEST_BODY } from '../../src/connectors/outlook-calendar/limits.ts';
import { MEBIBYTE } from '../../src/core/http/client.ts';
import { LONGEST_TEMPLATE } from '../../src/settings/crm-schema.ts';
import type { ScriptedAnswer, ScriptedRequest } from '../clinic/scripted-server.ts';
import { costlyJson } from './costly-json.ts';
import { hostileVendor, outlookEvent, PIECES, VENDOR_NAMES } from './hostile-pages.ts';
import { faultyTenants } from './hostile-tenants.ts';
import { multiplyingXml } from './multiplying-xml.ts';

/** Answers a request for `/<attack>/<draw>/…`; `rest` is the path after the draw. */
export type Hostile = (request: ScriptedRequest, rest: string) => ScriptedAnswer;

/** A family of hostile servers with parameters drawn at random. A server writes its answers when it is opened. */
type Family = fc.Arbitrary<{ open(): Hostile }>;

const drawn = <Parameters_>(family: fc.Arbitrary<Parameters_>, open: (parameters: Parameters_) => Hostile): Family =>
  family.map((parameters) => ({ ...parameters, open: () => open(parameters) }));

/** Opens servers of a family. */
export function sampleOf(family: Family, parameters: { seed: number; numRuns: number }): Hostile[] {
  return fc.sample(family, parameters).map((server) => server.open());
}

/** Longest XML around an answer's repeated parts: namespaces of 20,000 characters. */
const XML_AROUND_BYTES = 100_000;
const MOST_BYTES = LARGEST_ANSWER_BYTES - XML_AROUND_BYTES;
const LONGEST_OBJECT = 8_000_000;

const filled = (piece: string, length: number) => piece.repeat(Math.max(1, Math.floor(length / piece.length)));
const times = (count: number, make: (index: number) => string) =>
  Array.from({ length: count }, (_, at) => make(at)).join('');

/** Lines of an event, by the number of characters, a width and a letter. */
const EVENTS: Readonly<Record<string, (length: number, width: number, letter: string) => string>> = {
  'an attachment': (length, width, letter) =>
    `ATTACH;ENCODING=BASE64;VALUE=BINARY:${filled(letter.repeat(width), length)}\r\n`,
  'a folded attachment': (length, _, letter) => `ATTACH:${filled(`${letter.repeat(73)}\r\n `, length)}\r\n`,
  'a long description': (length, width, letter) => `DESCRIPTION:${filled(`${letter.repeat(width)}\\n\\,`, length)}\r\n`,
  'ten thousand lines': (length, _, letter) =>
    times(9_900, (at) => `X-A${at}:${letter.repeat(Math.floor(length / 9_900))}\r\n`),
  parameters: (_, width, letter) => times(500, () => `X-A${filled(`;${letter}=b`, 4 * width)}:c\r\n`),
  'separated values': (_, width, letter) => times(900, () => `CATEGORIES:${filled(`${letter},`, 3 * width)}\r\n`),
  guests: (_, width, letter) => times(5_000, (at) => `ATTENDEE;CN=${letter.repeat(width)}:mailto:${at}@a.example\r\n`),
  alarms: (_, width, letter) =>
    times(1_900, () => `BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT${width}M\r\nX-A:${letter}\r\nEND:VALARM\r\n`),
  repetitions: (_, width) => times(900, () => `RDATE:${filled('20260301T100000Z,', 17 * width)}20260301T100000Z\r\n`),
};
const ZONES: Readonly<Record<string, (width: number) => string>> = {
  'no zone': () => '',
  'many offsets': (width) => times(199, (at) => observance(1_600 + (at % width), '')),
  'many rules': () => times(32, () => observance(1_600, 'RRULE:FREQ=YEARLY;BYMONTH=3;BYDAY=-1SU\r\n')),
};
const observance = (year: number, rule: string) =>
  `BEGIN:STANDARD\r\nDTSTART:${year}0329T020000\r\nTZOFFSETFROM:+0100\r\nTZOFFSETTO:+0200\r\n${rule}END:STANDARD\r\n`;

interface CalendarObject {
  event: string;
  zone: string;
  length: number;
  width: number;
  letter: string;
  year: number;
  repeated: number;
}

const calendarObjects = fc
  .record({
    event: fc.constantFrom(...Object.keys(EVENTS)),
    zone: fc.constantFrom(...Object.keys(ZONES)),
    length: fc.integer({ min: 100_000, max: LONGEST_OBJECT - 100_000 }),
    width: fc.integer({ min: 1, max: 300 }),
    letter: fc.constantFrom('A', 'z', 'é', '7'),
    year: fc.integer({ min: 1_971, max: 2_199 }),
    /** Above one, the object exceeds its limits. */
    repeated: fc.constantFrom(1, 1, 8),
  })
  .map((parameters) => ({ ...parameters, text: () => objectText(parameters) }));

function objectText({ event, zone, length, width, letter, year, repeated }: CalendarObject): string {
  const rules = ZONES[zone]?.(width) ?? '';
  const theirs = rules === '' ? '' : `BEGIN:VTIMEZONE\r\nTZID:Theirs\r\n${rules}END:VTIMEZONE\r\n`;
  const start = rules === '' ? `DTSTART:${year}0701T100000Z` : `DTSTART;TZID=Theirs:${year}0701T100000`;
  const once = EVENTS[event]?.(length, width, letter) ?? '';
  const lines = once.repeat(Math.max(1, Math.min(repeated, Math.floor((2 * LONGEST_OBJECT) / (once.length + 1)))));
  const head = `BEGIN:VCALENDAR\r\nVERSION:2.0\r\n${theirs}BEGIN:VEVENT\r\nUID:1\r\nSUMMARY:a\r\n${start}\r\n`;
  return `${head}${lines}END:VEVENT\r\nEND:VCALENDAR\r\n`;
}

const lists = fc.record({
  pageRows: fc.integer({ min: 5_000, max: 60_000 }),
  isUsable: fc.boolean(),
  isCompressed: fc.boolean(),
});

/** Texts of a tenant file, by a width and a number of characters. */
const YAML: Readonly<Record<string, (width: number, length: number) => string>> = {
  scalar: (width, length) => `a: "${filled('b'.repeat(width), length)}"`,
  keys: (width, length) => times(Math.floor(length / (width + 9)), (at) => `${'k'.repeat(width)}${at}: a\n`),
  'equal keys': (width, length) => filled(`${'k'.repeat(width)}: a\n`, length),
  aliases: (width) => times(width, (at) => `k${at}: &a${at} [${at === 0 ? 'a' : `${filled(`*a${at - 1},`, 20)}a`}]\n`),
  'flow lists': (_, length) => filled('[', length),
  'nested lists': (width, length) => `${filled(`${'- '.repeat(width)}a\n`, length)}`,
  faults: (_, length) => `"${filled('\n\\z', length)}"`,
  'no YAML': (width, length) => filled(']:{&*!|>%@'.slice(width % 10), length),
  comments: (width, length) => `a: 1\n${filled(`#${' '.repeat(width)}\n`, length)}`,
  escapes: (_, length) => `a: "${filled('\\u20ac', length)}"`,
  'block text': (width, length) => `a: |\n${filled(`  ${'b'.repeat(width)}\n`, length)}`,
  numbers: (_, length) => `a: [${filled('1e9,', length)}1]`,
};
const tenantFiles = fc.record({
  form: fc.constantFrom(...Object.keys(YAML)),
  width: fc.integer({ min: 1, max: 300 }),
  length: fc.oneof(fc.integer({ min: 100, max: 50_000 }), fc.integer({ min: 100, max: 1_000_000 })),
});

const bodies = fc.record({
  piece: fc.constantFrom(...PIECES),
  length: fc.oneof(
    fc.integer({ min: 1, max: LONGEST_BODY }),
    fc.integer({ min: 10 * LONGEST_BODY, max: 20 * LONGEST_BODY }),
  ),
  stamped: fc.integer({ min: 1, max: 100 }),
});

const records = costlyJson.chain((json) =>
  fc.record({ isRow: fc.boolean(), share: fc.integer({ min: 1, max: 8 }) }).map((more) => ({ ...json, ...more })),
);

const longLinks = fc.record({ length: fc.integer({ min: 2_000, max: 800_000 }), isLongTag: fc.boolean() });

const mappings = fc.record({
  // Half of them exceed the limit of all templates.
  fields: fc.oneof(fc.integer({ min: 15, max: 20 }), fc.integer({ min: 21, max: 400 })),
  part: fc.constantFrom('{lastName}', '{firstName}[ ({email})]', '[{phone}]', '{mobilePhone} {lastName}'),
});

/** Servers of an attacking tenant, by attack. */
export const HOSTILE: Readonly<Record<string, Family>> = {
  json: drawn(costlyJson, ({ text }) => {
    const body = Buffer.from(text());
    return () => ({ body, headers: { 'content-type': 'application/json' } });
  }),
  xml: drawn(multiplyingXml(MOST_BYTES), ({ document }) => {
    const { body: text, path } = document();
    const body = Buffer.from(text);
    return (request, rest) => {
      if (rest === path) return { status: 207, body };
      return { status: 307, headers: { location: request.path.slice(0, -rest.length) + path } };
    };
  }),
  'calendar objects': drawn(calendarObjects, ({ text }) => {
    const body = Buffer.from(text());
    return (request) => {
      const head = `<multistatus xmlns="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"><response><href>${request.path}a.ics</href>`;
      const ok = '<status>HTTP/1.1 200 OK</status>';
      return {
        status: 207,
        body: Buffer.concat([
          Buffer.from(`${head}<propstat>${ok}<prop><getetag>"1"</getetag><c:calendar-data><![CDATA[`),
          body,
          Buffer.from(']]></c:calendar-data></prop></propstat></response></multistatus>'),
        ]),
      };
    };
  }),
  'long links': drawn(longLinks, ({ length, isLongTag }) => {
    const ok = '<status>HTTP/1.1 200 OK</status>';
    const long = 'a'.repeat(length);
    const member = `<response><href>${isLongTag ? 'a' : long}</href><propstat>${ok}<prop><getetag>"${isLongTag ? long : 1}"</getetag></prop></propstat></response>`;
    const body = Buffer.from(`<multistatus xmlns="DAV:">${filled(member, MOST_BYTES)}</multistatus>`);
    return () => ({ status: 207, body });
  }),
  mappings: drawn(mappings, ({ fields, part }) => {
    const names = Array.from({ length: fields }, (_, at) => [`p${at}`, filled(part, LONGEST_TEMPLATE)]);
    return () => ({ json: Object.fromEntries(names) });
  }),
  lists: drawn(lists, ({ pageRows, isUsable, isCompressed }) => {
    const rest = isUsable ? ',"agendaId":"a","start":"1970-01-01T10:00:00Z","end":"1970-01-01T11:00:00Z"' : '';
    return ({ query }) => {
      const from = Number(query.get('cursor') ?? 0);
      const rows = Array.from({ length: pageRows }, (_, at) => `{"id":${from + at}${rest}}`).join();
      const text = Buffer.from(`{"data":[${rows}],"next":"${from + pageRows}"}`);
      const headers = { 'content-type': 'application/json' };
      if (!isCompressed) return { body: text, headers };
      return { body: gzipSync(text, { level: 1 }), headers: { ...headers, 'content-encoding': 'gzip' } };
    };
  }),
  records: drawn(records, ({ text, isRow, share }) => {
    const value = text();
    const inner = value.length > share * MEBIBYTE ? '0' : value;
    const body = Buffer.from(isRow ? `{"data":[{"id":"1","x":${inner}}]}` : value);
    return () => ({ body, headers: { 'content-type': 'application/json' } });
  }),
  html: drawn(bodies, ({ piece, length, stamped }) => {
    const event = outlookEvent(filled(piece, length), stamped);
    return () => ({ json: { value: [event] } });
  }),
  'tenant files': drawn(tenantFiles, ({ form, width, length }) => {
    const body = Buffer.from(YAML[form]?.(width, length) ?? '');
    return () => ({ body });
  }),
  'tenant checks': drawn(faultyTenants, ({ text }) => {
    const body = Buffer.from(text());
    return () => ({ body });
  }),
  ...Object.fromEntries(VENDOR_NAMES.map((name) => [name, hostileVendor(name)])),
};

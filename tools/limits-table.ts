import { clinicProfileSchema } from '../src/clinic/schema/profile.ts';
import * as caldav from '../src/connectors/caldav/limits.ts';
import * as google from '../src/connectors/google-calendar/limits.ts';
import * as hubspot from '../src/connectors/hubspot/limits.ts';
import * as icalendar from '../src/connectors/icalendar.ts';
import * as outlook from '../src/connectors/outlook-calendar/limits.ts';
import * as salesforce from '../src/connectors/salesforce/limits.ts';
import * as xml from '../src/connectors/xml.ts';
import { MEBIBYTE } from '../src/core/http/client.ts';
import { DEEPEST, MOST_UNSPLIT_BYTES, MOST_UNSPLIT_VALUES, MOST_VALUES } from '../src/core/model/json.ts';
import { STORED_LIMITS } from '../src/core/model/stored-limits.ts';
import { LONGEST_TEMPLATE, MOST_TEMPLATE_CHARACTERS } from '../src/settings/crm-schema.ts';
import { FILE_LIMITS } from '../src/settings/yaml-file.ts';

/** Bounds of one reading on a usual, idle host, with margin for the form of the content. */
interface ReadingBounds {
  /** Processor time of the main thread without a break. */
  pauseMs: number;
  /** Growth of the memory of a process, with buffers and garbage. */
  memoryMebibytes: number;
}

/** Limits of a source of content that the operator does not control. */
interface SourceLimits {
  source: string;
  /** What is accepted. */
  input: string;
  /** What leaves the parser, or is stored. */
  output: string;
  /** What causes the longest pause of other tenants. */
  pause: string;
  /** Bounds of reading foreign bytes, proved by `test/attacks/sources-without-measure`; null for a source without bytes. */
  bounds: ReadingBounds | null;
  /** Who waits, or loses, if the source exceeds a limit. */
  pays: string;
  /** Tests that drive the source to its limits, below `test/`. */
  tests: readonly string[];
}

const count = (value: number) => value.toLocaleString('en');
const mebibytes = (bytes: number) => `${bytes / MEBIBYTE} MiB`;
const PROFILE = clinicProfileSchema.parse({}).limits;

/** The limits that attacks by content meet, with the figures of the code. */
export const SOURCE_LIMITS: readonly SourceLimits[] = [
  {
    source: 'XML of a CalDAV server',
    input: `${mebibytes(caldav.LARGEST_ANSWER_BYTES)}, decompressed`,
    output: `${count(xml.MOST_ELEMENTS)} elements, attributes and references; ${xml.DEEPEST_ELEMENT} levels; ${count(caldav.MOST_MEMBERS)} members; URLs of ${count(caldav.LONGEST_URL)} characters, also after redirects; only names that the code compares`,
    pause: `pieces of ${xml.DECODED_AT_ONCE / 1_024} KiB to decode and ${count(xml.ELEMENTS_AT_ONCE)} elements to parse`,
    bounds: { pauseMs: 40, memoryMebibytes: 250 },
    pays: 'the target; of an object with a long URL, the object',
    tests: ['attacks/xml-without-measure', 'connectors/xml'],
  },
  {
    source: 'Calendar object of a CalDAV server',
    input: `${count(icalendar.MOST_CHARACTERS)} characters, ${count(icalendar.MOST_LINES)} unfolded lines, and the work for parameters and values`,
    output: 'as the input; yearly rules of time zones',
    pause: 'lines, parser or additions of users; longest for a folded attachment',
    bounds: { pauseMs: 60, memoryMebibytes: 150 },
    pays: 'the object, which counts as present and unreadable',
    tests: ['connectors/icalendar', 'attacks/answers-without-measure'],
  },
  {
    source: 'JSON of a clinic',
    input: `\`limits.maxAnswerBytes\` of the profile, default ${mebibytes(PROFILE.maxAnswerBytes)}`,
    output: `${count(MOST_VALUES)} values, with more than one for a new sequence of names, a short text and long digits; ${DEEPEST} levels`,
    pause: 'rows in groups of 128 KiB',
    bounds: { pauseMs: 50, memoryMebibytes: 250 },
    pays: 'the tenant',
    tests: ['attacks/json-without-measure', 'clinic/read/list-page', 'core/model/json', 'core/model/json-list'],
  },
  {
    source: 'One record, row or page of a clinic that cannot be split',
    input: mebibytes(MOST_UNSPLIT_BYTES),
    output: `${count(MOST_UNSPLIT_VALUES)} values`,
    pause: 'one pass and one parse',
    bounds: { pauseMs: 50, memoryMebibytes: 200 },
    pays: 'the tenant',
    tests: ['clinic/read/list-page', 'core/model/json-list'],
  },
  {
    source: 'Body of an Outlook event',
    input: `${count(outlook.LONGEST_BODY)} characters`,
    output: 'text without tags',
    pause: 'one event',
    bounds: { pauseMs: 60, memoryMebibytes: 200 },
    pays: 'the event, which counts as present and unreadable',
    tests: ['connectors/outlook-calendar/from-model'],
  },
  {
    source: 'JSON of Google, Microsoft, HubSpot, Salesforce and other CRMs',
    input: mebibytes(google.LARGEST_ANSWER_BYTES),
    output: `as JSON of a clinic, for all parts of a batch together; of Microsoft ${count(outlook.MOST_ANSWER_VALUES)}, of HubSpot ${count(hubspot.MOST_ANSWER_VALUES)} (except its list of properties) and of another CRM ${count(MOST_UNSPLIT_VALUES)} values; a page of ${count(google.EVENTS_PAGE_SIZE)} (Google), ${count(outlook.LARGEST_PAGE)} (Microsoft), ${count(hubspot.LARGEST_LIST)} (HubSpot) and ${count(salesforce.PAGE_SIZE)} (Salesforce) objects`,
    pause: 'pieces of 32 KiB, or one string of 2 MiB; objects are read with breaks',
    bounds: { pauseMs: 40, memoryMebibytes: 450 },
    pays: 'the target',
    tests: ['core/model/json-pieces'],
  },
  {
    source: 'List of a clinic',
    input: `\`limits.maxPages\`, default ${count(PROFILE.maxPages)}; \`limits.maxRecords\`, default ${count(PROFILE.maxRecords)}`,
    output: 'checked page by page, before the rows of the page are kept',
    pause: 'rows in groups of 128 KiB',
    bounds: { pauseMs: 50, memoryMebibytes: 200 },
    pays: 'the tenant: the list is not used, and nothing is removed',
    tests: ['attacks/lists-without-end', 'clinic/read/lists'],
  },
  {
    source: 'Tenant file',
    input: `${FILE_LIMITS.bytes / 1_024} KiB; ${count(FILE_LIMITS.tokens)} tokens, lines and escapes in values; ${FILE_LIMITS.aliases} aliases, ${FILE_LIMITS.levels} levels`,
    output: 'values that the schema names',
    pause: 'the tree of a file, or its check by the schema',
    bounds: { pauseMs: 30, memoryMebibytes: 150 },
    pays: 'the tenant',
    tests: ['attacks/answers-without-measure', 'settings/yaml-parser', 'settings/twin-checks'],
  },
  {
    source: 'CRM mapping',
    input: `a template of ${count(LONGEST_TEMPLATE)} characters; all templates of a mapping ${count(MOST_TEMPLATE_CHARACTERS)}`,
    output: `a text of ${count(STORED_LIMITS.property)} characters; no expressions`,
    pause: 'the fields of a record, or the templates of a target',
    bounds: { pauseMs: 30, memoryMebibytes: 200 },
    pays: 'the property',
    tests: ['domain/mapping/compile', 'settings/crm-schema'],
  },
  {
    source: 'Strings that are stored',
    input: 'any length',
    output: Object.entries(STORED_LIMITS)
      .map(([kind, most]) => `\`${kind}\` ${count(most)}`)
      .join(', '),
    pause: 'none',
    bounds: null,
    pays: 'the object, the name or the tag',
    tests: ['core/model/stored-limits', 'connectors/bounded'],
  },
  {
    source: 'Jobs of a tenant',
    input: 'any number of connections and requests',
    output: 'a quarter of each pool that tenants share',
    pause: 'none',
    bounds: null,
    pays: 'the tenant',
    tests: ['tenant/job-shares'],
  },
  {
    source: 'Clients of the public port',
    input: 'any number of IP addresses',
    output: 'a share for each IP address, /64, /56 and /48',
    pause: 'none',
    bounds: null,
    pays: 'the network',
    tests: ['attacks/blocks-of-addresses', 'core/model/client-shares'],
  },
];

/** Returns a Markdown table with one line per source. */
export function renderLimits(limits: readonly SourceLimits[]): string {
  const rows = limits.map(({ source, input, output, pause, bounds, pays, tests }) => {
    const named = tests.map((test) => `\`${test}\``).join(', ');
    const longest = bounds === null ? pause : `${bounds.pauseMs} ms: ${pause}`;
    const memory = bounds === null ? 'none' : `${bounds.memoryMebibytes} MiB`;
    return `| ${[source, input, output, longest, memory, pays, named].join(' | ')} |`;
  });
  const head = [
    '| source | accepted | output | pause of others | memory | cost | test |',
    '|---|---|---|---|---|---|---|',
  ];
  return [...head, ...rows].join('\n');
}

import type { ErrorKind, VendorErrors } from '../src/connectors/errors.ts';
import { type Code, isCode, type Message, namesIn, render } from '../src/messages/message.ts';
import type { Actor } from '../src/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../src/model/time.ts';

/** Who must act, on the scale of `docs/errors.md`. */
const WHO: Readonly<Record<Actor, 'action required' | 'retrying'>> = {
  settings: 'action required',
  authorization: 'action required',
  guard: 'action required',
  contract: 'action required',
  remote: 'retrying',
  conflict: 'retrying',
};
/** Values of sample messages. Templates without a value here show the name of the value in angle brackets. */
const SAMPLES: Readonly<Record<string, string>> = {
  calendar: 'Appointments',
  connection: 'practice-google',
  label: 'clinic.appointments.list',
  target: 'doctor-1',
  tenant: 'aurora',
};

/** Key of errors that any connector may report. */
export const ANY = 'any';

/** Every code of the catalogues, sorted. @param catalogues errors by the connector's name, or {@link ANY} */
export function codesOf(catalogues: ReadonlyMap<string, VendorErrors>): string[] {
  return [...kindsByCode(catalogues).keys()].sort();
}

/** Renders a Markdown table with one line per code; different meanings of a code follow the connectors' names. */
export function renderErrors(catalogues: ReadonlyMap<string, VendorErrors>): string {
  const byCode = kindsByCode(catalogues);
  const lines = codesOf(catalogues).map((code) => {
    const found = byCode.get(code)!;
    const who = distinct(found.map(({ kind }) => WHO[kind.actor])).join(', ');
    const concerns = distinct(found.map(({ kind }) => (kind.scope === 'item' ? 'record' : 'target'))).join(', ');
    const samples = meanings(found, ({ message }) => message);
    return `| \`${code}\` | ${who} | ${concerns} | ${samples} | ${meanings(found, remedyOf) || '–'} |`;
  });
  return ['| code | who acts | concerns | sample message | remedy |', '|---|---|---|---|---|', ...lines].join('\n');
}

/** Areas of message keys, such as `clinic.not-found`, in the order of preference. Vendors' messages are in their own table. */
const AREAS = ['clinic', 'oauth', 'api', 'managed', 'settings', 'remark', 'port'];

/** Returns the codes in the first column of hand-written tables. @param markdown document with generated tables */
export function writtenCodes(markdown: string): string[] {
  const written = markdown.replaceAll(/<!-- reference: [a-z-]+ -->[\s\S]*?<!-- end -->/g, '');
  return [...written.matchAll(/^\| `([^`]+)` \|/gm)].map(([, code = '']) => code);
}

/** Renders a Markdown table with the sample message of each code, sorted. Codes without a message are omitted. */
export function renderSamples(codes: readonly string[]): string {
  const lines = distinct(codes)
    .sort()
    .flatMap((code) => {
      const key = [code, ...AREAS.map((area) => `${area}.${code}`)].find(isCode);
      return key === undefined ? [] : [`| \`${code}\` | ${sample({ code: key as Code })} |`];
    });
  return ['| code | sample message |', '|---|---|', ...lines].join('\n');
}

interface Found {
  connector: string;
  vendor: string;
  kind: ErrorKind;
  /** Sample message, with `{vendor}` for the vendor's name. */
  message: string;
  /** What to do, with `{vendor}` for the vendor's name; null if the error has no remedy. */
  remedy: string | null;
}

function kindsByCode(catalogues: ReadonlyMap<string, VendorErrors>): Map<string, Found[]> {
  const all = [...catalogues].flatMap(([connector, { vendor, kinds, textsOf }]) =>
    Object.entries(kinds).map(([name, kind]) => {
      const { message, remedy } = textsOf(name, '{vendor}');
      const texts = { message: sample(message), remedy: remedy === null ? null : sample(remedy) };
      return { code: kind.code ?? name, connector, vendor: render(vendor), kind, ...texts };
    }),
  );
  return Map.groupBy(all, ({ code }) => code);
}

/** Returns a text with sample values, as a sentence. */
function sample(text: Message): string {
  const names = namesIn(render({ code: text.code })).filter((name) => text.values?.[name] === undefined);
  const samples = Object.fromEntries(names.map((name) => [name, SAMPLES[name] ?? `\\<${name}>`]));
  return sentence(render({ code: text.code, values: { ...text.values, ...samples } }));
}

/** Returns a text with a full stop, and with a capital letter unless the first word is a code or a name. */
function sentence(text: string): string {
  const first = /^[a-z]+[ ,:]/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(first) ? first : `${first}.`;
}

/** Joins the texts of the connectors that share a code; a text of all connectors names no connector. */
function meanings(found: readonly Found[], textOf: (one: Found) => string): string {
  const groups = Map.groupBy(found, textOf);
  return [...groups]
    .filter(([meaning]) => meaning !== '')
    .map(([meaning, those]) => {
      const connectors = distinct(those.map(({ connector }) => connector));
      const text = meaning.replaceAll('{vendor}', connectors.length === 1 ? those[0]!.vendor : 'the vendor');
      const shown = text.charAt(0) === 't' ? `T${text.slice(1)}` : text;
      return connectors.includes(ANY) ? shown : `${connectors.map((name) => `\`${name}\``).join(', ')}: ${shown}`;
    })
    .join('<br>');
}

/** First steps for errors that require action and have no remedy of their own. */
const RECORD_REMEDY =
  'Compare the record: `clinic-mirror explain <tenant> <appointment>`. If the record is correct, report the code.';
const TARGET_REMEDY = 'Run `clinic-mirror doctor <tenant>`. If the settings are correct, report the code.';

function remedyOf({ remedy, kind }: Found): string {
  const { detail: note, pauseMs, leastPauseMs } = kind;
  const sentences = remedy === null ? [] : [remedy];
  if (note !== undefined) sentences.push(sentence(note));
  if (leastPauseMs !== undefined) sentences.push(`Retry after at least ${duration(leastPauseMs)}.`);
  if (pauseMs !== undefined) sentences.push(`Retry after ${duration(pauseMs)}, or after the time in the response.`);
  if (sentences.length > 0 || WHO[kind.actor] === 'retrying') return sentences.join(' ');
  return kind.scope === 'item' ? RECORD_REMEDY : TARGET_REMEDY;
}

function duration(ms: number): string {
  const units = [
    [DAY_MS, 'd'],
    [HOUR_MS, 'h'],
    [MINUTE_MS, 'min'],
    [SECOND_MS, 's'],
  ] as const;
  const [unitMs, unit] = units.find(([size]) => ms >= size) ?? [1, 'ms'];
  return `${ms / unitMs} ${unit}`;
}

function distinct(values: readonly string[]): string[] {
  return [...new Set(values)];
}

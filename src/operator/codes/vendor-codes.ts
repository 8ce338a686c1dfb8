import type { ErrorKind, VendorErrors } from '../../connectors/errors.ts';
import type { Actor } from '../../core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { render } from '../../messages/message.ts';
import { sample, sentence } from './samples.ts';

/** Responsibility, on the scale of `docs/errors.md`. */
const WHO: Readonly<Record<Actor, 'action required' | 'retrying'>> = {
  settings: 'action required',
  authorization: 'action required',
  guard: 'action required',
  contract: 'action required',
  remote: 'retrying',
  conflict: 'retrying',
};

/** Key of errors that any connector may report. */
export const ANY = 'any';

/** Code of connectors, in Markdown. Different meanings of a code follow the names of the connectors. */
export interface VendorCode {
  code: string;
  whoActs: string;
  /** `record`, `target`, or both. */
  concerns: string;
  message: string;
  /** Empty if nothing is to do. */
  remedy: string;
}

/** Returns every code of the catalogues, sorted. @param catalogues errors by the connector's name, or {@link ANY} */
export function vendorCodesOf(catalogues: ReadonlyMap<string, VendorErrors>): VendorCode[] {
  const codes = [...kindsByCode(catalogues)].map(([code, found]) => ({
    code,
    whoActs: distinct(found.map(({ kind }) => WHO[kind.actor])).join(', '),
    concerns: distinct(found.map(({ kind }) => (kind.scope === 'item' ? 'record' : 'target'))).join(', '),
    message: meanings(found, ({ message }) => message),
    remedy: meanings(found, remedyOf),
  }));
  return codes.sort((one, other) => (one.code < other.code ? -1 : 1));
}

/** One meaning of a code of connectors, in Markdown. */
export interface VendorMeaning {
  code: string;
  /** Names of the connectors that report this; empty for any. */
  connectors: string[];
  whoActs: 'action required' | 'retrying';
  concerns: 'record' | 'target';
  message: string;
  /** Empty if nothing is to do. */
  remedy: string;
}

/** Returns each meaning of each code. @param catalogues as for {@link vendorCodesOf} */
export function vendorMeaningsOf(catalogues: ReadonlyMap<string, VendorErrors>): VendorMeaning[] {
  return [...kindsByCode(catalogues)].flatMap(([code, found]) => {
    const groups = Map.groupBy(found, (one) => [one.message, remedyOf(one), one.kind.scope].join('\n'));
    return [...groups.values()].map((those): VendorMeaning => {
      const [one] = those as [Found];
      const names = distinct(those.map(({ connector }) => connector));
      return {
        ...{ code, connectors: names.includes(ANY) ? [] : names, whoActs: WHO[one.kind.actor] },
        concerns: one.kind.scope === 'item' ? 'record' : 'target',
        message: meaningFor(those, one.message),
        remedy: meaningFor(those, remedyOf(one)),
      };
    });
  });
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

/** Joins the texts of the connectors that share a code; a text of all connectors names no connector. */
function meanings(found: readonly Found[], textOf: (one: Found) => string): string {
  const groups = Map.groupBy(found, textOf);
  return [...groups]
    .filter(([meaning]) => meaning !== '')
    .map(([meaning, those]) => {
      const connectors = distinct(those.map(({ connector }) => connector));
      const shown = meaningFor(those, meaning);
      return connectors.includes(ANY) ? shown : `${connectors.map((name) => `\`${name}\``).join(', ')}: ${shown}`;
    })
    .join('<br>');
}

/** Returns a text with the name of the vendor, if only one vendor reports it. */
function meaningFor(those: readonly Found[], meaning: string): string {
  const vendors = distinct(those.map(({ vendor }) => vendor));
  const text = meaning.replaceAll('{vendor}', vendors.length === 1 ? vendors[0]! : 'the vendor');
  return text.charAt(0) === 't' ? `T${text.slice(1)}` : text;
}

/** First steps for errors that require action without another remedy. */
const RECORD_REMEDY =
  'Compare the record: `clinic-mirror explain <tenant> <appointment>`. If the record is correct, report the code.';
const TARGET_REMEDY = 'Run `clinic-mirror doctor <tenant>`. If the settings are correct, report the code.';

function remedyOf({ remedy, kind }: Found): string {
  const { detail, pauseMs, leastPauseMs } = kind;
  const sentences = remedy === null ? [] : [remedy];
  if (detail !== undefined) sentences.push(sentence(detail));
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

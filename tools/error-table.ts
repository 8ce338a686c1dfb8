import type { ErrorKind, VendorErrors } from '../src/connectors/errors.ts';
import { render } from '../src/messages/message.ts';
import type { Actor } from '../src/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../src/model/time.ts';

/** Who acts, in the words of `docs/errors.md`. */
const WHO: Readonly<Record<Actor, string>> = {
  settings: 'operator',
  authorization: 'person',
  guard: 'person',
  remote: 'wait',
  conflict: 'daemon',
  contract: 'developer',
};

/** Under this name stands what any connector may meet. */
export const ANY = 'any';

/** Every code of the catalogues, sorted. @param catalogues errors by the connector's name, or {@link ANY} */
export function codesOf(catalogues: ReadonlyMap<string, VendorErrors>): string[] {
  return [...kindsByCode(catalogues).keys()].sort();
}

/** A Markdown table with a row for each code; what connectors mean by it differently stands under their names. */
export function renderErrors(catalogues: ReadonlyMap<string, VendorErrors>): string {
  const byCode = kindsByCode(catalogues);
  const rows = codesOf(catalogues).map((code) => {
    const found = byCode.get(code)!;
    const who = distinct(found.map(({ kind }) => WHO[kind.actor])).join(', ');
    const concerns = distinct(found.map(({ kind }) => (kind.scope === 'item' ? 'record' : 'target'))).join(', ');
    return `| \`${code}\` | ${who} | ${concerns} | ${meanings(found)} |`;
  });
  return ['| code | who acts | concerns | what happened → what to do |', '|---|---|---|---|', ...rows].join('\n');
}

interface Found {
  connector: string;
  vendor: string;
  kind: ErrorKind;
  /** What happened and what to do, with `{vendor}` for the vendor's name. */
  said: string;
}

function kindsByCode(catalogues: ReadonlyMap<string, VendorErrors>): Map<string, Found[]> {
  const all = [...catalogues].flatMap(([connector, { vendor, kinds, textsOf }]) =>
    Object.entries(kinds).map(([name, kind]) => {
      const { message, remedy } = textsOf(name, '{vendor}');
      const said = [message, ...(remedy === null ? [] : [remedy])].map((text) => render(text)).join(' → ');
      return { code: kind.code ?? name, connector, vendor: render(vendor), kind, said };
    }),
  );
  return Map.groupBy(all, ({ code }) => code);
}

function meanings(found: readonly Found[]): string {
  const groups = Map.groupBy(found, meaningOf);
  return [...groups]
    .map(([meaning, those]) => {
      const connectors = distinct(those.map(({ connector }) => connector));
      const text = meaning.replaceAll('{vendor}', connectors.length === 1 ? those[0]!.vendor : 'the vendor');
      return connectors.includes(ANY) ? text : `${connectors.map((name) => `\`${name}\``).join(', ')}: ${text}`;
    })
    .join('<br>');
}

function meaningOf({ said, kind: { detail: note, pauseMs, leastPauseMs } }: Found): string {
  const sentences = [said];
  if (note !== undefined) sentences.push(note);
  if (leastPauseMs !== undefined) sentences.push(`Waits ${duration(leastPauseMs)} at least`);
  if (pauseMs !== undefined) sentences.push(`Waits ${duration(pauseMs)} unless the answer says how long`);
  return sentences.join('. ');
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

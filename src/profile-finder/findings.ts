import { isDeepStrictEqual } from 'node:util';
import { Document, isMap, isScalar, visit } from 'yaml';
import { isJsonObject, type JsonObject } from '../clinic/http/rows.ts';
import { pagingSchema } from '../clinic/schema/paging.ts';
import { type ClinicProfile, clinicProfileSchema } from '../clinic/schema/profile.ts';

/**
 * How a value of the profile compares with what the clinic tells:
 * - `fits`: the profile says the same;
 * - `differs`: the clinic does otherwise; a change says what the profile should say, or there is none since no profile can say it;
 * - `undecided`: it could not be told; `ask` says what to ask the clinic;
 * - `absent`: the clinic does not tell it at all, and nothing needs it.
 */
export type FindingResult = 'fits' | 'differs' | 'undecided' | 'absent';

/** One value of a profile, compared. */
export interface Finding {
  area: 'routes' | 'paging' | 'lists' | 'filters' | 'fields' | 'words' | 'times' | 'errors' | 'scopes';
  /** Where in a profile, such as `appointments.fields.start`, or a route. */
  location: string;
  result: FindingResult;
  /** `sure`: named alike or seen at work; `likely`: by a known word. */
  certainty: 'sure' | 'likely';
  /** What the profile says now. */
  here: string;
  /** What the clinic tells. */
  there: string;
  /** What the operator should ask the clinic, or look at. */
  ask: string | null;
}

/** What the operator asks the clinic where neither its document nor its answers tell. */
export const ASK_CLINIC = {
  timeForm: 'in which form does it take times?',
  overlaps: 'does it list what overlaps the window, or only what starts in it (then set leadHours)?',
  isDayIncluded: (parameter: string) => `does the day in ${parameter} belong to the answer?`,
};

/** What goes wrong for patients and doctors when it is wrong, the worst first; what is not here comes last. */
const WEIGHTS: readonly RegExp[] = [
  /^appointments\.(fields\.(id|agendaId|start|end|status)|statuses|flags)$/,
  /^(epochUnit|pathPrefix|agendas\.list|locations\.list|userInfo\.read|appointments\.(list|read)|appointments\S* \((list|cancelled|words)\))/,
  /^(paging|listPath|recordPath|zone|appointments\.(paging|filters|window|query|listPath|recordPath|agendaFilter|allDayEnd))\b/,
  /^(appointments|agendas|locations|patients|tenants)\b/,
];

function weightOf({ location }: Finding): number {
  const index = WEIGHTS.findIndex((pattern) => pattern.test(location));
  return index < 0 ? WEIGHTS.length : index;
}

/** What costs most when it is wrong first; of those alike what is open before what is proposed. */
export function byWeight(findings: readonly Finding[]): Finding[] {
  const isOpen = ({ result }: Finding) => Number(result === 'undecided');
  return findings.toSorted((one, other) => weightOf(one) - weightOf(other) || isOpen(other) - isOpen(one));
}

/** Whether a profile may be used: nothing differs from it, and nothing is open without which rows are read wrong. */
export function fitsAll(findings: readonly Finding[]): boolean {
  return findings.every((one) => one.result !== 'differs' && (one.result !== 'undecided' || weightOf(one) > 0));
}

/** One value that a profile should have instead of its own. */
interface ProfileChange {
  path: readonly string[];
  value: unknown;
  /** A comment above it in the proposed file. */
  comment: string;
}

/** A location of the profile, and what was found for it. */
export interface Location extends Partial<Pick<Finding, 'location' | 'here' | 'there' | 'certainty' | 'ask'>> {
  area: Finding['area'];
  /** Where in the profile, in steps. `location` is for people if it is not these. */
  path: readonly string[];
  /** The value that the profile should have; undefined if it was not found: then `ask` is the question. */
  wanted: unknown;
  /** Above the value in the proposed file. */
  comment?: string | undefined;
}

/** A value as people read it. Of paging: its style and the names in it. */
export function textOf(value: unknown, none = '(none)'): string {
  if (isJsonObject(value) && typeof value.style === 'string') {
    const names = Object.entries(value).filter(([name, one]) => /Parameter$|Path$/.test(name) && one !== null);
    return [value.style, ...names.map(([, one]) => String(one))].join(' ');
  }
  return (Array.isArray(value) ? value.join(', ') : String(value ?? '')) || none;
}

/** Compares a profile with what was found for its locations. */
export class Comparison {
  readonly findings: Finding[] = [];
  readonly changes: ProfileChange[] = [];
  readonly profile: ClinicProfile;

  constructor(profile: ClinicProfile) {
    this.profile = profile;
  }

  /** The value that the profile has there. */
  valueAt(path: readonly string[]): unknown {
    return path.reduce<unknown>((value, name) => (isJsonObject(value) ? value[name] : undefined), this.profile);
  }

  /** Adds a finding; what is not said of it is usual. */
  add(result: FindingResult, finding: Pick<Finding, 'area' | 'location'> & Partial<Finding>): void {
    this.findings.push({ here: '–', there: '–', certainty: 'sure', ask: null, ...finding, result });
  }

  /** Compares locations: the profile fits, or it should have another value, or the question is asked. */
  compare(...locations: readonly Location[]): void {
    for (const { area, path, wanted, comment, certainty = 'sure', ask = null, ...said } of locations) {
      const now = this.valueAt(path);
      const { location = path.join('.'), here = textOf(now), there = textOf(wanted, '–') } = said;
      const finding = { area, location, here, there };
      if (wanted === undefined) this.add(ask === null ? 'absent' : 'undecided', { ...finding, ask });
      else if (isDeepStrictEqual(now, wanted)) this.add('fits', finding);
      else {
        this.add('differs', { ...finding, certainty, ask });
        const how = certainty === 'sure' ? '' : ', likely';
        this.changes.push({ path, value: wanted, comment: `${comment ?? `not ${here}`}${how}` });
      }
    }
  }

  /** Drops what was found for a location. */
  drop(location: string): void {
    const isOther = (one: string) => one !== location;
    this.findings.splice(0, Infinity, ...this.findings.filter((one) => isOther(one.location)));
    this.changes.splice(0, Infinity, ...this.changes.filter(({ path }) => isOther(path.join('.'))));
  }

  /** Compares locations again, by better evidence. */
  recompare(...locations: readonly Location[]): void {
    for (const { path } of locations) this.drop(path.join('.'));
    this.compare(...locations);
  }
}

/** A profile that was made, and the file that says it. */
export interface Proposal {
  profile: ClinicProfile;
  /** YAML that holds only what differs from the built-in defaults; it loads as it is. */
  yaml: string;
  /** Changes that no profile can hold together, by their places: left out. */
  omitted: string[];
}

const HEADER = [
  ' yaml-language-server: $schema=../schema/clinic-profile.json',
  '',
  ' Proposed by comparison; look through what is called likely. What is not here is as in the documented profile.',
].join('\n');

/**
 * The profile with the changes in it. Each is tried alone first: one that the schema refuses is left out and named.
 * @param asked what a person must decide: it stands first in the file
 */
export function propose(
  base: ClinicProfile,
  changes: readonly ProfileChange[],
  asked: readonly Finding[] = [],
): Proposal {
  let written = structuredClone(base) as unknown as JsonObject;
  const skipped: string[] = [];
  const applied: ProfileChange[] = [];
  for (const group of together(changes)) {
    const next = structuredClone(written);
    for (const { path, value } of group) set(next, path, value);
    if (clinicProfileSchema.safeParse(next).success) {
      written = next;
      applied.push(...group);
    } else skipped.push(...group.map(({ path }) => path.join('.')));
  }
  const profile = clinicProfileSchema.parse(written);
  const overlay = minimal(profile, clinicProfileSchema.parse({}), []) ?? {};
  if (!isDeepStrictEqual(clinicProfileSchema.parse(overlay), profile)) {
    throw new Error('the proposed file does not say the proposed profile');
  }
  return { profile, yaml: render(overlay as JsonObject, applied, asked), omitted: skipped };
}

/** The names of a window go together: one without the other is refused. */
function together(changes: readonly ProfileChange[]): ProfileChange[][] {
  const key = ({ path }: ProfileChange) => (path[1] === 'filters' ? `${path[0]}.filters` : path.join('.'));
  return [...Map.groupBy(changes, key).values()];
}

function set(target: JsonObject, path: readonly string[], value: unknown): void {
  let current = target;
  for (const name of path.slice(0, -1)) {
    const inner = current[name];
    if (!isJsonObject(inner)) return;
    current = inner;
  }
  current[path.at(-1) ?? ''] = structuredClone(value);
}

/** Mappings with keys of the operator's own: they stand whole or not at all. */
const WHOLE = new Set(['statuses', 'query', 'consents', 'statusWords']);

/** What differs from the defaults; undefined for nothing. */
function minimal(value: unknown, usual: unknown, path: readonly string[]): unknown {
  const name = path.at(-1) ?? '';
  if (isDeepStrictEqual(value, usual)) return undefined;
  if (!isJsonObject(value) || WHOLE.has(name)) return value;
  if (name === 'paging')
    return { style: value.style, ...reduced(value, pagingSchema.parse({ style: value.style }), path) };
  return isJsonObject(usual) ? reduced(value, usual, path) : value;
}

function reduced(value: JsonObject, usual: object, path: readonly string[]): JsonObject {
  const entries = Object.entries(value).map(
    ([name, inner]) => [name, minimal(inner, (usual as JsonObject)[name], [...path, name])] as const,
  );
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined));
}

function render(overlay: JsonObject, changes: readonly ProfileChange[], asked: readonly Finding[]): string {
  const document = new Document(overlay);
  const questions = asked.map(({ location, ask }) => ` - ${oneLine(`${location}: ${ask}`)}`);
  const header =
    questions.length === 0 ? HEADER : `${HEADER}\n\n To decide, what costs most first:\n${questions.join('\n')}`;
  document.commentBefore = header;
  visit(document, {
    Seq(_key, list) {
      if (list.items.every(isScalar)) list.flow = true;
    },
  });
  for (const { path, comment } of changes) {
    const parent = document.getIn(path.slice(0, -1), true);
    const map = path.length === 1 ? document.contents : parent;
    if (!isMap(map)) continue;
    const pair = map.items.find(({ key }) => isScalar(key) && key.value === path.at(-1));
    if (pair !== undefined && isScalar(pair.key)) pair.key.commentBefore = ` ${oneLine(comment)}`;
  }
  const text = document.toString({ lineWidth: 118, flowCollectionPadding: false });
  return Object.keys(overlay).length === 0 ? `#${header.replaceAll('\n', '\n#')}\n{}\n` : text;
}

/** A comment, whatever stands in what the clinic says. */
function oneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, ' ');
}

import { isDeepStrictEqual } from 'node:util';
import { Document, isMap, isScalar, visit } from 'yaml';
import { pagingSchema } from '../../clinic/schema/paging.ts';
import { type ClinicProfile, clinicProfileSchema } from '../../clinic/schema/profile.ts';
import { shownLine } from '../../core/model/text.ts';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';

/**
 * Comparison of a profile value with the clinic:
 * - `fits`: equal;
 * - `differs`: different; a change has the proposed value, unless no profile can express it;
 * - `undecided`: unknown; `ask` is the question for the clinic;
 * - `absent`: not provided by the clinic, and not required.
 */
export type FindingResult = 'fits' | 'differs' | 'undecided' | 'absent';

/** One compared value of a profile. */
export interface Finding {
  area: 'routes' | 'paging' | 'lists' | 'filters' | 'fields' | 'words' | 'times' | 'errors' | 'scopes';
  /** Profile location, such as `appointments.fields.start`, or a route. */
  location: string;
  result: FindingResult;
  /** `sure`: equal names or observed; `likely`: by a known word. */
  certainty: 'sure' | 'likely';
  /** Current value in the profile. */
  here: string;
  /** Value of the clinic. */
  there: string;
  /** Question for the clinic, or check for the operator. */
  ask: string | null;
}

/** Questions for the clinic if neither document nor answers decide. */
export const ASK_CLINIC = {
  timeForm: 'in which form does it take times?',
  overlaps:
    'does the list contain records that overlap the window, or only records that start in the window (then set leadHours)?',
  isDayIncluded: (parameter: string) => `does the day in ${parameter} belong to the answer?`,
};

/** Locations by damage to patients and practitioners if wrong, most serious first; others last. */
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

/** Sorts findings, most serious first; open questions precede proposals. */
export function byWeight(findings: readonly Finding[]): Finding[] {
  const isOpen = ({ result }: Finding) => Number(result === 'undecided');
  return findings.toSorted((one, other) => weightOf(one) - weightOf(other) || isOpen(other) - isOpen(one));
}

/** Decides whether a profile is usable: no differences, and no critical open questions. */
export function fitsAll(findings: readonly Finding[]): boolean {
  return findings.every((one) => one.result !== 'differs' && (one.result !== 'undecided' || weightOf(one) > 0));
}

/** A proposed value for a profile. */
interface ProfileChange {
  path: readonly string[];
  value: unknown;
  /** Comment above the value in the proposed file. */
  comment: string;
}

/** A profile location with its finding. */
export interface Location extends Partial<Pick<Finding, 'location' | 'here' | 'there' | 'certainty' | 'ask'>> {
  area: Finding['area'];
  /** Path in the profile; `location` is the displayed form if different. */
  path: readonly string[];
  /** Proposed value; undefined if not found, and then `ask` is the question. */
  wanted: unknown;
  /** Comment above the value in the proposed file. */
  comment?: string | undefined;
}

/** Formats a value for display; for paging, its style and names. */
export function textOf(value: unknown, none = '(none)'): string {
  if (isJsonObject(value) && typeof value.style === 'string') {
    const names = Object.entries(value).filter(([name, one]) => /Parameter$|Path$/.test(name) && one !== null);
    return [value.style, ...names.map(([, one]) => String(one))].join(' ');
  }
  return (Array.isArray(value) ? value.join(', ') : String(value ?? '')) || none;
}

/** Collects findings on profile locations. */
export class Comparison {
  readonly findings: Finding[] = [];
  readonly changes: ProfileChange[] = [];
  readonly profile: ClinicProfile;

  constructor(profile: ClinicProfile) {
    this.profile = profile;
  }

  /** Returns the profile's value. */
  valueAt(path: readonly string[]): unknown {
    return path.reduce<unknown>((value, name) => (isJsonObject(value) ? value[name] : undefined), this.profile);
  }

  /** Adds a finding with defaults. */
  add(result: FindingResult, finding: Pick<Finding, 'area' | 'location'> & Partial<Finding>): void {
    this.findings.push({ here: '–', there: '–', certainty: 'sure', ask: null, ...finding, result });
  }

  /** Compares locations: match, proposal or question. */
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

  /** Removes the findings of a location. */
  drop(location: string): void {
    const isOther = (one: string) => one !== location;
    this.findings.splice(0, Infinity, ...this.findings.filter((one) => isOther(one.location)));
    this.changes.splice(0, Infinity, ...this.changes.filter(({ path }) => isOther(path.join('.'))));
  }

  /** Compares locations again with better evidence. */
  recompare(...locations: readonly Location[]): void {
    for (const { path } of locations) this.drop(path.join('.'));
    this.compare(...locations);
  }
}

/** A proposed profile and its file. */
export interface Proposal {
  profile: ClinicProfile;
  /** YAML with only the differences from the defaults, ready to use. */
  yaml: string;
  /** Locations of omitted changes that no profile can combine. */
  omitted: string[];
}

const HEADER = [
  ' yaml-language-server: $schema=../schema/clinic-profile.json',
  '',
  ' Proposed by comparison; look through what is called likely. What is not here is as in the documented profile.',
].join('\n');

/**
 * Applies the changes to a profile. Each change is tried separately first, and refused changes are omitted and listed.
 * @param asked decisions for the operator, placed first in the file
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

/** Groups the names of a window, because the schema refuses one without the other. */
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

/** Mappings with free keys: written completely or not at all. */
const WHOLE = new Set(['statuses', 'query', 'consents', 'statusWords']);

/** Returns the differences from the defaults, or undefined. */
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
  const questions = asked.map(({ location, ask }) => ` - ${shownLine(`${location}: ${ask}`)}`);
  const header =
    questions.length === 0
      ? HEADER
      : `${HEADER}\n\n To decide, most expensive mistakes first:\n${questions.join('\n')}`;
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
    if (pair !== undefined && isScalar(pair.key)) pair.key.commentBefore = ` ${shownLine(comment)}`;
  }
  const text = document.toString({ lineWidth: 118, flowCollectionPadding: false });
  return Object.keys(overlay).length === 0 ? `#${header.replaceAll('\n', '\n#')}\n{}\n` : text;
}

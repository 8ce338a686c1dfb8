import { isDeepStrictEqual } from 'node:util';

/**
 * How a value of the profile compares with what the clinic tells:
 * - `fits`: the profile says the same;
 * - `differs`: the clinic does otherwise; a change says what the profile should say, or there is none since no profile can say it;
 * - `undecided`: it could not be told; `ask` says what to ask the clinic;
 * - `absent`: the clinic does not tell it at all, and nothing needs it.
 */
export type Verdict = 'fits' | 'differs' | 'undecided' | 'absent';

/** One value of a profile, compared. */
export interface Finding {
  area: 'routes' | 'paging' | 'lists' | 'filters' | 'fields' | 'words' | 'times' | 'errors' | 'scopes';
  /** Where in a profile, such as `appointments.fields.start`, or a route. */
  place: string;
  verdict: Verdict;
  /** `sure`: named alike or seen at work; `likely`: by a known word. */
  certainty: 'sure' | 'likely';
  /** What the profile says now. */
  here: string;
  /** What the clinic tells. */
  there: string;
  /** What the operator should ask the clinic, or look at. */
  ask: string | null;
}

/** What goes wrong for patients and doctors when it is wrong, the worst first; what is not here comes last. */
const WEIGHTS: readonly RegExp[] = [
  /^appointments\.(fields\.(id|agendaId|start|end|status)|statuses|flags)$/,
  /^(epochUnit|pathPrefix|agendas\.list|locations\.list|userInfo\.read|appointments\.(list|read)|appointments\S* \((list|cancelled|words)\))/,
  /^(paging|listPath|recordPath|zone|appointments\.(paging|filters|window|query|listPath|recordPath|agendaFilter|allDayEnd))\b/,
  /^(appointments|agendas|locations|patients|tenants)\b/,
];

function weightOf({ place }: Finding): number {
  const index = WEIGHTS.findIndex((pattern) => pattern.test(place));
  return index < 0 ? WEIGHTS.length : index;
}

/** What costs most when it is wrong first; of those alike what is open before what is proposed. */
export function byWeight(findings: readonly Finding[]): Finding[] {
  const isOpen = ({ verdict }: Finding) => Number(verdict === 'undecided');
  return findings.toSorted((one, other) => weightOf(one) - weightOf(other) || isOpen(other) - isOpen(one));
}

/** Whether a profile may be used: nothing differs from it, and nothing is open without which rows are read wrong. */
export function fitsAll(findings: readonly Finding[]): boolean {
  return findings.every((one) => one.verdict !== 'differs' && (one.verdict !== 'undecided' || weightOf(one) > 0));
}

/** One value that a profile should have instead of its own. */
export interface ProfileChange {
  path: readonly string[];
  value: unknown;
  /** A comment above it in the proposed file. */
  comment: string;
}

/** A value of the profile, and what the clinic tells of it. */
interface Pair extends Partial<Pick<Finding, 'certainty' | 'ask'>> {
  area: Finding['area'];
  /** Where in the profile, in steps. */
  path: readonly string[];
  /** As people read it; else the path. */
  place?: string;
  /** What the profile says. */
  now: unknown;
  /** What it should say. */
  wanted: unknown;
  /** Both for people, unless the values speak for themselves. */
  here?: string;
  there?: string;
  comment?: string | undefined;
}

/** A value as people read it. */
export function textOf(value: unknown, none = '(none)'): string {
  return (Array.isArray(value) ? value.join(', ') : String(value ?? '')) || none;
}

/** Collects findings. */
export class Comparison {
  readonly findings: Finding[] = [];
  readonly changes: ProfileChange[] = [];

  /** Adds a finding; what is not said of it is usual. */
  add(verdict: Verdict, finding: Pick<Finding, 'area' | 'place'> & Partial<Finding>): void {
    this.findings.push({ here: '–', there: '–', certainty: 'sure', ask: null, ...finding, verdict });
  }

  /** Compares two values: they fit, or the profile should say what the clinic tells. */
  compare({ area, path, now, wanted, comment, ...pair }: Pair): void {
    const { place = path.join('.'), here = textOf(now), there = textOf(wanted, '–') } = pair;
    const { certainty = 'sure', ask = null } = pair;
    if (isDeepStrictEqual(now, wanted)) {
      this.add('fits', { area, place, here, there });
      return;
    }
    this.add('differs', { area, place, here, there, certainty, ask });
    const how = certainty === 'sure' ? '' : ', likely';
    this.changes.push({ path, value: wanted, comment: `${comment ?? `not ${here}`}${how}` });
  }
}

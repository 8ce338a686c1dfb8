/**
 * How a place of the profile stands to what the clinic tells:
 * - `fits`: the profile says the same;
 * - `differs`: the clinic does otherwise; `change` says what the profile should say, or there is none since no profile can say it;
 * - `undecided`: it could not be told; `ask` says what to ask the clinic;
 * - `absent`: the clinic does not tell it at all, and nothing needs it.
 */
export type Verdict = 'fits' | 'differs' | 'undecided' | 'absent';

/** `sure`: named alike or seen at work; `likely`: by a known word; `guess`: by its kind alone. */
export type Certainty = 'sure' | 'likely' | 'guess';

/** One place of a profile, compared. */
export interface Finding {
  area: 'routes' | 'paging' | 'lists' | 'filters' | 'fields' | 'words' | 'times' | 'errors' | 'scopes';
  /** Where in a profile, such as `appointments.fields.start`, or a route. */
  place: string;
  verdict: Verdict;
  certainty: Certainty;
  /** What the profile says now. */
  here: string;
  /** What the clinic tells. */
  there: string;
  /** What a person should ask the clinic, or look at. */
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

/** What a person must decide or ask, what costs most when it is wrong first. */
export function toDecide(findings: readonly Finding[]): Finding[] {
  return byWeight(findings.filter(({ ask }) => ask !== null));
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

/** One value that a profile should have in another's place. */
export interface ProfileChange {
  path: readonly string[];
  value: unknown;
  /** Stands beside it in the proposed file. */
  comment: string;
}

/** What a comparison found, and what it would change. */
export interface Compared {
  findings: Finding[];
  changes: ProfileChange[];
}

/** What is told of a finding; the rest is usual. */
export type Told = Pick<Finding, 'area' | 'place' | 'here' | 'there'> & Partial<Finding>;

/** Collects findings. */
export class Comparison implements Compared {
  readonly findings: Finding[] = [];
  readonly changes: ProfileChange[] = [];

  fits(told: Told): void {
    this.findings.push({ verdict: 'fits', certainty: 'sure', ask: null, ...told });
  }

  /** @param change null when a profile can't say it */
  differs(told: Told, change: ProfileChange | null): void {
    const finding: Finding = { verdict: 'differs', certainty: 'sure', ask: null, ...told };
    this.findings.push(finding);
    if (change === null) return;
    const doubt = finding.certainty === 'sure' ? '' : `, ${finding.certainty === 'guess' ? 'a guess' : 'likely'}`;
    this.changes.push({ ...change, comment: `${change.comment}${doubt}` });
  }

  undecided(told: Told & { ask: string }): void {
    this.findings.push({ verdict: 'undecided', certainty: 'sure', ...told });
  }

  absent(told: Told): void {
    this.findings.push({ verdict: 'absent', certainty: 'sure', ask: null, ...told });
  }

  add({ findings, changes }: Compared): void {
    this.findings.push(...findings);
    this.changes.push(...changes);
  }
}

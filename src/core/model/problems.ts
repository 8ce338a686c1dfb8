import { message, render, type Text } from '../../messages/message.ts';
import type { Health, SyncHealth } from './schemas.ts';
import { worseHealth } from './sync-state.ts';
import type { Instant } from './time.ts';

/** Code for an unreachable server; one problem covers all tenants that wait for the server. */
export const SERVER_AWAY = 'server-away';

/** A problem of a target, connection or tenant, with one sentence for every interface. */
export interface Problem {
  /** Null for the whole installation. */
  tenant: string | null;
  /**
   * Affected object: `target <id>`, `connection <id>`, `reminders by <id>`, `appointment <id>`, `triggers to <id>`, `configuration`,
   * `clinic` or `state`.
   */
  subject: string;
  /** Code of the error or state. */
  code: string;
  /** Whether an administrator must act, or the daemon retries. */
  health: 'action-required' | 'retrying';
  /** Null if unknown. */
  sinceAt: Instant | null;
  /** The problem in constant words, ids and counts. Begins in lower case, ends without a full stop. */
  sentence: string;
  /** Next step of the administrator, possibly a command to paste; null if none is required. */
  next: string | null;
  /** Start of the damage from a predicted problem, possibly in the past. Null if unknown, or without a prediction. */
  breaksAt: Instant | null;
  /** Next automatic attempt; null if unknown. */
  nextTryAt: Instant | null;
  /** State of all targets of the clinic together; null without a clinic or if the clinic does not run. */
  syncHealth: SyncHealth | null;
  /** Changes that wait for the solution. */
  waiting: number;
  /** Subject, sentence and next step for any language; `status --json` has English only. */
  texts: { subject: Text; sentence: Text; next: Text | null };
  /** Affected tenants of a shared problem, with the waiting changes of each. `tenant` is then null. */
  tenants?: readonly { tenant: string; waiting: number }[];
}

/** Returns the subject of a problem that concerns a connection. */
export function connectionSubject(id: string): string {
  return render(message('subject.login', { id }));
}

/** Returns kind and id of a problem's subject by its text code. The id is empty for a kind with a single subject. */
export function subjectOf({ texts: { subject } }: Pick<Problem, 'texts'>): { kind: string; id: string } {
  if (typeof subject === 'string') return { kind: '', id: '' };
  const [id = ''] = Object.values(subject.values ?? {});
  return { kind: subject.code.replace(/^subject\./, ''), id: String(id) };
}

/** Returns an id that is independent of a problem's figures. */
export function problemId({ tenant, texts, code }: Problem): string {
  return JSON.stringify([tenant, texts.subject, code]);
}

/** Lists the affected tenants; empty for the whole installation. */
export function tenantsOf({ tenant, tenants = [] }: Problem): string[] {
  return tenant === null ? tenants.map((each) => each.tenant) : [tenant];
}

/** Filters problems by tenant and removes mentions of other tenants. @param isWanted selects a tenant */
export function problemsWithin<Found extends Problem>(
  problems: readonly Found[],
  isWanted: (tenant: string) => boolean,
): Found[] {
  return problems.flatMap((problem) => {
    if (problem.tenants === undefined) return tenantsOf(problem).some(isWanted) ? [problem] : [];
    const tenants = problem.tenants.filter(({ tenant }) => isWanted(tenant));
    const waiting = tenants.reduce((sum, each) => sum + each.waiting, 0);
    return tenants.length === 0 ? [] : [{ ...problem, tenants, waiting }];
  });
}

/** A problem that an administrator must solve. */
interface NeededPerson {
  /** Null for the whole installation. */
  tenant: string | null;
  subject: Text;
  code: string;
  sentence: Text;
  /** Next step; null if unknown. */
  next: Text | null;
}

/** Returns a problem that requires an action now, without times and counts. */
export function needsPerson({ tenant, subject, code, sentence, next }: NeededPerson): Problem {
  return {
    ...{ tenant, subject: render(subject), code, health: 'action-required' },
    ...{ sentence: render(sentence), next: next === null ? null : render(next) },
    ...{ sinceAt: null, breaksAt: null, nextTryAt: null, syncHealth: null, waiting: 0 },
    texts: { subject, sentence, next },
  };
}

/** State of a tenant and its targets, as far as its health is concerned. */
interface Ailing {
  tenant: string;
  paused: boolean;
  health: Health;
}

/**
 * Returns the health of each tenant: the worst of its targets and of the problems that name it. Every surface takes the health from here. A
 * paused tenant has only the health of its problems.
 */
export function healthByTenant(tenants: readonly Ailing[], problems: readonly Problem[]): Map<string, Health> {
  const found = new Map(tenants.map(({ tenant, paused, health }) => [tenant, paused ? 'ok' : health]));
  for (const problem of problems)
    for (const tenant of tenantsOf(problem)) found.set(tenant, worseHealth(found.get(tenant) ?? 'ok', problem.health));
  return found;
}

/** Returns the tenants in disjoint groups: action required, retrying, paused, first sync, others. */
export function groupsOf<Each extends Ailing & { firstSync: unknown }>(
  tenants: readonly Each[],
  problems: readonly Problem[],
): { needing: string[]; waiting: string[]; paused: Each[]; first: Each[]; well: Each[] } {
  const health = healthByTenant(tenants, problems);
  const of = (wanted: Health) => [...health].flatMap(([tenant, each]) => (each === wanted ? [tenant] : []));
  const others = tenants.filter(({ tenant }) => health.get(tenant) === 'ok');
  const active = others.filter(({ paused }) => !paused);
  return {
    needing: of('action-required'),
    waiting: of('retrying'),
    paused: others.filter(({ paused }) => paused),
    first: active.filter(({ firstSync }) => firstSync !== null),
    well: active.filter(({ firstSync }) => firstSync === null),
  };
}

import { message, render, type Text } from '../messages/message.ts';
import type { SyncHealth } from './sync-state.ts';
import type { Instant } from './time.ts';

/** Code of the problem that a server is away: one for all clinics that wait for it. */
export const SERVER_AWAY = 'server-away';

/** Something that keeps a target, a login or a tenant from being as it should, in the sentence that every surface repeats. */
export interface Problem {
  /** Null for what concerns the whole installation. */
  tenant: string | null;
  /** What it concerns: `target <id>`, `connection <id>`, `reminders by <id>`, `appointment <id>`, `triggers to <id>`, `configuration`, `clinic` or `state`. */
  subject: string;
  /** Code of the error, or of the state. */
  code: string;
  /** Whether an administrator must act, or the daemon retries. */
  health: 'action-required' | 'retrying';
  /** Null where it is not known. */
  sinceAt: Instant | null;
  /** What is the matter: constant words, ids and counts. Begins in lower case, ends without a stop. */
  sentence: string;
  /** What a person does next, ready to be pasted where it is a command; null where nothing is to be done. */
  next: string | null;
  /** When what was seen coming begins to do harm; in the past once it has. Null where that is not known, or it does already. */
  breaksAt: Instant | null;
  /** When it is tried again without anyone's doing; null where that is not known. */
  nextTryAt: Instant | null;
  /** Where the clinic that it is of stands with it, all of its targets together; null for what is of none, or of one that is not run. */
  syncHealth: SyncHealth | null;
  /** Changes that wait for it. */
  waiting: number;
  /** Subject, sentence and next step for any language; `status --json` has them in English alone. */
  texts: { subject: Text; sentence: Text; next: Text | null };
  /** Of one that several clinics may share: which ones, with the changes of each that wait. `tenant` is null then. */
  clinics?: readonly { tenant: string; waiting: number }[];
}

/** Returns the subject of a problem that concerns a connection. */
export function connectionSubject(id: string): string {
  return render(message('subject.login', { id }));
}

/** Kind and id of what a problem concerns, by the code of its text: `target` and the target's id. The id is empty for what there is one of. */
export function subjectOf({ texts: { subject } }: Pick<Problem, 'texts'>): { kind: string; id: string } {
  if (typeof subject === 'string') return { kind: '', id: '' };
  const [id = ''] = Object.values(subject.values ?? {});
  return { kind: subject.code.replace(/^subject\./, ''), id: String(id) };
}

/** Which clinics it is of; none for what concerns the whole installation. */
export function clinicsOf({ tenant, clinics = [] }: Problem): string[] {
  return tenant === null ? clinics.map((clinic) => clinic.tenant) : [tenant];
}

/** Of problems those that concern some clinics, with no word of others. @param isWanted by tenant */
export function problemsWithin(problems: readonly Problem[], isWanted: (tenant: string) => boolean): Problem[] {
  return problems.flatMap((problem) => {
    if (problem.clinics === undefined) return clinicsOf(problem).some(isWanted) ? [problem] : [];
    const clinics = problem.clinics.filter(({ tenant }) => isWanted(tenant));
    const waiting = clinics.reduce((sum, clinic) => sum + clinic.waiting, 0);
    return clinics.length === 0 ? [] : [{ ...problem, clinics, waiting }];
  });
}

/** What a problem says that a person ends. */
interface NeededPerson {
  /** Null for the whole installation. */
  tenant: string | null;
  subject: Text;
  code: string;
  sentence: Text;
  /** What the person does next; null if that is not known. */
  next: Text | null;
}

/** A problem that a person ends now, without times and counts. */
export function needsPerson({ tenant, subject, code, sentence, next }: NeededPerson): Problem {
  return {
    ...{ tenant, subject: render(subject), code, health: 'action-required' },
    ...{ sentence: render(sentence), next: next === null ? null : render(next) },
    ...{ sinceAt: null, breaksAt: null, nextTryAt: null, syncHealth: null, waiting: 0 },
    texts: { subject, sentence, next },
  };
}

/** Something outside of the daemon that ends at a known time unless somebody replaces it. */
export interface Ending {
  kind: 'certificate' | 'secret';
  /** The server, `<host>:<port>`, or where the settings name it: `googleClients main`. */
  of: string;
  /** Since when it has counted; null where that is not known. */
  beganAt: Instant | null;
  endsAt: Instant;
}

/** What a client has used of what it may ask, as counted where the requests are allowed. */
export interface QuotaStatus {
  /** Where the settings name it: `hubspotClients main`. */
  client: string;
  /** Of what the budget gives in an hour: 0 to 1, or a little more. */
  hourShare: number;
  /** Tenants whose account has used so much of what the other side allows in 24 hours, where the settings say how much that is. */
  days: readonly { tenant: string; share: number; usedUpAt: Instant | null }[];
}

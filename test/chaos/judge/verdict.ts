import { expectedState } from '../crm/expected.ts';
import { judge as judgeCrm } from '../crm/judge.ts';
import type { CrmSide } from '../crm/side.ts';
import { compareTarget, type Difference, type Exceptions, type RemoteObject } from './compare.ts';
import type { ContactLoss, PatientHistory } from './contacts.ts';
import type { Denials } from './denials.ts';
import type { ClinicData, History } from './history.ts';
import { leaksIn, type Place } from './leaks.ts';
import { doublesIn, type Got } from './reminders.ts';
import { type Removal, unjustified } from './removals.ts';
import type { TargetRules } from './rules.ts';
import type { Defect } from './tally.ts';

const KINDS = { duplicate: 'duplicates', missing: 'missing', wrong: 'wrong' } as const;

/** A calendar as read at the end, with the data to judge it. */
export interface JudgedCalendar extends Exceptions {
  name: string;
  history: History;
  rules: TargetRules;
  remote: readonly RemoteObject[];
  removals: readonly Removal[];
  denials: readonly Denials[];
  /** Epoch ms at which it was read. */
  at: number;
}

/** Returns the defects of a calendar. */
export function judgeCalendar(calendar: JudgedCalendar): Defect[] {
  const { name, history, rules, remote, removals, denials, at, strangers, touched } = calendar;
  const differences = compareTarget(history, rules, remote, { from: at, to: at, strangers, touched });
  const wild = unjustified(removals, { history, denials, rulesAt: () => rules });
  return [
    ...differences.map(({ kind, text }) => ({ kind: KINDS[kind], text: `${name}: ${text}` })),
    ...wild.map(({ surname, at: removedAt }) => ({
      kind: 'unjustifiedDeletes' as const,
      text: `${name}: ${surname} was removed at ${new Date(removedAt).toISOString()}`,
    })),
  ];
}

/** A target that said in sync as of a time, and what it held then. */
export interface Claim extends Exceptions {
  name: string;
  history: History;
  rules: TargetRules;
  /** Epoch ms of which it said so. */
  asOf: number;
  /** Epoch ms at which it was read, after it said so. */
  readAt: number;
  remote: readonly RemoteObject[];
}

/** What a claim is false in. */
export function judgeClaim({ name, history, rules, asOf, readAt, remote, ...exceptions }: Claim): Defect[] {
  const describe = ({ kind, text }: Difference) =>
    `${name} said in sync as of ${new Date(asOf).toISOString()}: ${kind} ${text}`;
  const future =
    asOf > readAt + 1_000 ? [{ kind: 'falseInSync' as const, text: `${name} is in sync as of a time to come` }] : [];
  const found = compareTarget(history, rules, remote, { from: asOf, to: readAt, ...exceptions });
  return [...future, ...found.map((one) => ({ kind: 'falseInSync' as const, text: describe(one) }))];
}

/** Returns the defects of a CRM. @param since epoch ms at which the judged cycle began */
export function judgeCrmSide(
  name: string,
  side: CrmSide,
  data: ClinicData,
  { clinicId, since, now }: { clinicId: string; since: number; now: number },
): Defect[] {
  const rules = { oneOwner: side.oneOwner, ofStrangers: side.strangersAddresses() };
  const wanted = expectedState(data, clinicId, [since, now], rules);
  // Salesforce has only contacts here.
  const due = side.vendor === 'salesforce' ? { ...wanted, activities: [] } : wanted;
  const { contacts, activities, strangers } = judgeCrm(side.holdings(), due);
  const told = (kind: Defect['kind'], text: string): Defect => ({ kind, text: `${name}: ${text}` });
  const shared = contacts.wrong - contacts.texts.filter(({ kind }) => kind === 'wrong').length;
  return [
    ...contacts.texts.map(({ kind, text }) => told(kind, `contact ${text}`)),
    ...activities.texts.map(({ kind, text }) => told(kind, `activity ${text}`)),
    ...Array.from({ length: shared }, () => told('wrong', 'a shared address is at no contact or at several')),
    ...Array.from({ length: strangers.changed }, () => told('wrong', 'a record of a stranger')),
  ];
}

/** Contacts that a daemon removed or emptied, although the clinic's data gives no reason. */
export function judgeContactLosses(
  name: string,
  losses: readonly ContactLoss[],
  patients: Pick<PatientHistory, 'isUnexplained'>,
): Defect[] {
  return losses
    .filter((loss) => patients.isUnexplained(loss))
    .map(({ surname, field, at }) => {
      const when = new Date(at).toISOString();
      if (field === null)
        return { kind: 'unjustifiedDeletes', text: `${name}: contact ${surname} was lost at ${when}` };
      return { kind: 'wrong', text: `${name}: contact ${surname} lost its ${field} at ${when}` };
    });
}

/** Messages that came twice. */
export function judgeReminders(messages: readonly Got[]): Defect[] {
  return doublesIn(messages).map(({ to }) => ({ kind: 'doubleReminders', text: `a second message to ${to}` }));
}

/** A connection as the operator sees it. */
export interface Login {
  connection: string;
  state: string;
  reason: string | null;
}

/** Returns connections that ended; those revoked by a fault were renewed before. */
export function judgeLogins(tenant: string, logins: readonly Login[]): Defect[] {
  return logins
    .filter(({ state }) => state === 'needs-login' || state === 'never')
    .map(({ connection, reason }) => ({ kind: 'lostTokens', text: `${tenant}/${connection}: ${reason}` }));
}

/** Texts of patients where none may stand. */
export function judgeLeaks(places: readonly Place[], planted: readonly string[]): Defect[] {
  return leaksIn(places, planted).map(({ place, text }) => ({ kind: 'leaks', text: `${text} stands in ${place}` }));
}

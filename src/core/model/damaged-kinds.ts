/**
 * Treatment of a stored value that does not open, or is not a value that clinic-mirror writes (`state-damaged`): its content is never used,
 * and
 * - `rebuild`: the value counts as absent. clinic-mirror determines it again from the clinic and the targets, asks again for a decision, or
 *   does without it. One problem of the tenant names the kinds.
 * - `ask`: the work that needs the value stops until an operator decides. That work reports its own problem, with the operator's command.
 * - `stop`: reading fails. People sign in again, and a feed answers with an error.
 */
export type Treatment = 'rebuild' | 'ask' | 'stop';

/** Treatment of each kind of data. Absence of a hold or an approval approves nothing: the next plan or the user asks again. */
const TREATMENTS = {
  access: 'stop',
  alerts: 'rebuild',
  approvals: 'rebuild',
  'audit-log': 'ask',
  certificates: 'rebuild',
  'clinic-tenant': 'rebuild',
  configuration: 'rebuild',
  credentials: 'stop',
  documents: 'rebuild',
  'feed-access': 'rebuild',
  feeds: 'stop',
  holds: 'rebuild',
  journals: 'rebuild',
  logins: 'stop',
  'managed-tenants': 'ask',
  misses: 'rebuild',
  outages: 'rebuild',
  outbox: 'rebuild',
  pins: 'rebuild',
  processes: 'rebuild',
  'recent-objects': 'rebuild',
  reloads: 'rebuild',
  reminders: 'rebuild',
  removed: 'rebuild',
  runs: 'rebuild',
  safeguards: 'ask',
  'state-counter': 'rebuild',
  storage: 'rebuild',
  subscriptions: 'rebuild',
  targets: 'rebuild',
  triggers: 'rebuild',
} as const satisfies Record<string, Treatment>;

/** Kind of stored data. */
export type DamagedKind = keyof typeof TREATMENTS;

/** Returns the treatment of a kind of data. */
export const treatmentOf = (kind: DamagedKind): Treatment => TREATMENTS[kind];

/** Decides whether a text names a kind of stored data. */
export function isDamagedKind(kind: string): kind is DamagedKind {
  return Object.hasOwn(TREATMENTS, kind);
}

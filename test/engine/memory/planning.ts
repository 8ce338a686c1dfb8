import type { Link } from '../../../src/core/model/operations.ts';
import { atOnce, type Pieces } from '../../../src/core/model/pieces.ts';
import type { Hold, PendingChange, PlannedChange } from '../../../src/core/model/plan.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { type Confirmation, nothingMissing } from '../../../src/engine/absence.ts';
import { diff } from '../../../src/engine/diff.ts';
import { createTargetIdentity } from '../../../src/engine/identity.ts';
import { describeRecord, itemOf, type MemoryRecord, memoryForm, spanOf } from '../../../src/engine/memory/items.ts';
import { type MemoryShown, projectionOf } from '../../../src/engine/memory/projection.ts';
import { planTarget } from '../../../src/engine/plan.ts';
import type { CycleInput, Projection, TargetInput, TargetView } from '../../../src/engine/ports.ts';
import type { TargetRules } from '../../../src/engine/target.ts';
import type { TargetPlan } from '../../../src/engine/target-plan.ts';
import { recordOf, START, STREAM, TARGET } from './world.ts';

const WINDOW = { fromAt: START - 30 * DAY_MS, toAt: START + 60 * DAY_MS };
const IDENTITY = createTargetIdentity(new Uint8Array(32), 'memory', TARGET, memoryForm(STREAM));
const NOTHING_GONE = { cancelled: 0, excluded: 0, vanished: 0, released: 0, restored: 0 };
const RULES: TargetRules = {
  policy: 'sync',
  firstRun: 'apply',
  guard: { cancelled: { share: 0.5, count: 20 }, vanished: { share: 0.1, count: 5 }, holdExpiresAfterHours: 168 },
  audit: { drift: 'repair', rewritesPerDay: 3 },
};

/** A hold in short. */
export type ShortHold = Pick<Hold, 'kind' | 'state' | 'recordIds'> & { target?: string };

/** What one plan starts from. What is left out is empty, and the list is complete. */
export interface Situation {
  /** Records on the list. */
  listed?: readonly MemoryRecord[];
  /** Records with an object, as they were written. */
  written?: readonly MemoryRecord[];
  pending?: readonly PendingChange[];
  tombstones?: readonly string[];
  confirmation?: Partial<Confirmation<MemoryRecord>>;
  holds?: readonly ShortHold[];
  pinned?: readonly string[];
  rules?: Partial<TargetRules>;
  /** Records that the rules exclude, with the code. */
  excluded?: Readonly<Record<string, string>>;
  /** Records about which the rules decide nothing for now. */
  undecided?: readonly string[];
  /** Records that the comparison skips, by code. */
  passedOver?: Readonly<Record<string, number>>;
  input?: Partial<Pick<TargetInput, 'absent' | 'toConfirm'>>;
  stored?: Partial<TargetInput['stored']>;
  cycle?: Partial<CycleInput>;
  projection?: Partial<Projection>;
}

/** Plans the only target of a situation. */
export function planOf(situation: Situation): TargetPlan {
  const input = inputOf(situation);
  const { listed = [], tombstones = [], confirmation = {}, holds = [], cycle = {}, projection = {} } = situation;
  const shown = { window: WINDOW, windowRead: WINDOW, tombstones, records: byId(listed) };
  const confirmations = { [STREAM]: { ...nothingMissing<MemoryRecord>(), ...confirmation } };
  const isForgotten = Object.assign(() => false, { version: '' });
  const usual = projectionOf(input, { confirmations, isForgotten }, shown);
  const view = function* (): Pieces<TargetView> {
    return viewIn(situation, yield* usual.view());
  };
  const common = {
    now: START,
    reach: 'whole',
    isUncertain: false,
    configVersion: { number: 1, isOurs: true },
  } as const;
  const facts: CycleInput = { ...common, holds: holds.map(holdOf), targets: [input], ...cycle };
  return atOnce(planTarget(input, facts, { ...usual, view, ...projection }));
}

function inputOf({ written = [], pending = [], pinned = [], rules, excluded = {}, ...rest }: Situation) {
  const configuration = { ...RULES, ...rules };
  const stored = { firstRunApprovedAt: null, comparableUnder: 1, refusedThere: {}, withheldBefore: new Set<string>() };
  const target = { id: TARGET, stream: STREAM, configuration, identity: IDENTITY };
  const input: TargetInput<MemoryShown> = {
    target: { ...target, exclusionOf: ({ id }) => excluded[id] ?? null },
    state: {
      links: new Map(written.map((record) => [record.id, linkOf(record)])),
      pending: new Map(pending.map((change) => [change.recordId, change])),
    },
    pinned: new Set(pinned),
    ...{ absent: [], toConfirm: [], ...rest.input },
    stored: { ...stored, ...rest.stored },
    gone: { hour: NOTHING_GONE, week: NOTHING_GONE },
    ...{ restorations: new Map(), recent: new Map() },
  };
  return input;
}

/** The view with what the situation skips or leaves undecided. */
function viewIn(
  { listed = [], undecided = [], passedOver = {}, confirmation }: Situation,
  usual: TargetView,
): TargetView {
  const records = [...listed, ...(confirmation?.found ?? [])];
  const rule = ({ id }: MemoryRecord) =>
    undecided.includes(id) ? { retain: 'undecided' } : { exclude: 'not of this test' };
  return {
    ...usual,
    countPassedOver: () => passedOver,
    compare: (common) =>
      undecided.length === 0 ? usual.compare(common) : diff({ ...common, records, describe: describeRecord, rule }),
  };
}

/** A pending write of a record that was decided an hour ago and not sent. */
export function waitingOf(record: MemoryRecord, changes: Partial<PendingChange> = {}): PendingChange {
  const { fingerprint, startAt, endAt } = linkOf(record);
  const unsent = { attempts: 0, lastError: null, sent: false, parked: false, dueAt: START };
  const change = { recordId: record.id, reason: 'new', want: 'present', fingerprint, startAt, endAt } as const;
  return { ...change, ...unsent, enqueuedAt: START - HOUR_MS, ...changes };
}

/** A pending removal of a record's object. */
export function leavingOf(record: MemoryRecord): PendingChange {
  return waitingOf(record, { reason: 'cancelled', want: 'absent', fingerprint: null });
}

/** Many records, each at another time. */
export function recordsOf(prefix: string, count: number): MemoryRecord[] {
  return Array.from({ length: count }, (_, index) => recordOf(`${prefix}${index}`, { inHours: 24 + index }));
}

/** The ids of changes. */
export function idsOf(changes: readonly PlannedChange[]): string[] {
  return changes.map(({ recordId }) => recordId);
}

/** The ids of held changes by kind, without empty kinds. */
export function heldIn({ held }: TargetPlan): Record<string, string[]> {
  const named = Object.entries(held).filter(([, changes]) => changes.length > 0);
  return Object.fromEntries(named.map(([kind, changes]) => [kind, idsOf(changes)]));
}

function linkOf(record: MemoryRecord): Link {
  const fingerprint = IDENTITY.fingerprint(itemOf(record), record.subjectId);
  const place = { versionTag: null, idAttempt: 0, remoteId: null, drift: null };
  return { recordId: record.id, fingerprint, ...spanOf(record), ...place };
}

function holdOf({ target = TARGET, ...short }: ShortHold, index: number): Hold {
  const times = { createdAt: START, decidedAt: short.state === 'open' ? null : START, expiresAt: START + DAY_MS };
  return { id: `hold-${index}`, target, linkCount: 9, ...times, ...short };
}

function byId(records: readonly MemoryRecord[]): ReadonlyMap<string, MemoryRecord> {
  return new Map(records.map((record) => [record.id, record]));
}

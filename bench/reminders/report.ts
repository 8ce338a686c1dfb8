import { createReminderLedger } from '../../src/features/reminders/store.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import type { FortnightRun } from './fortnight.ts';
import { judge, reminderName, type Wrong } from './judge.ts';
import { owed } from './missed.ts';
import { IDENTITY_KEY } from './open-worker.ts';
import { judgeTold } from './told.ts';
import { traceOf } from './trace.ts';
import { TENANTS } from './world-plan.ts';

/** Outcomes of the reminders, and the judge's findings. */
export interface SimulationReport {
  appointments: number;
  /** Counts from the product's ledger. */
  sent: number;
  dropped: Record<string, number>;
  unknown: number;
  /** What the judge found that should not have come. */
  wrong: number;
  double: number;
  /** Workers that were killed. */
  killed: number;
  /** Reminders without an obstacle that were not received. */
  missed: number;
  /** Of those, how many a worker had at hand when it was killed: the price of at most once. */
  lostToKills: number;
  /** Reminders that the ledger reports as sent and no patient received. */
  claimed: number;
  /** Webhooks that came again under the same id. */
  repeated: number;
  /** Corrections above the limit of their recipient. */
  flooded: number;
  /** Cancellations of a visit that already stood under another id. */
  split: number;
  /** Reminders without an obstacle. */
  owed: number;
  received: number;
  wrongBy: Partial<Record<Wrong, number>>;
  /** Appointments and channels by which a patient got a message. */
  told: number;
  corrected: number;
  /** Number of these that the product reported as wrong information. */
  listed: number;
  /** Number of these said to concern another patient, which no merge makes true. */
  strangers: number;
  /** Whose last message stayed false, and was not shown. */
  false: number;
  /** Reminders that are still open long after their time. */
  open: number;
  /** Names of some that were missed. */
  examples: string[];
}

const MANY = 1_000_000;
const EXAMPLES = 5;

/** Holds what the ledger says against what the judge says. */
export async function reportOn(run: FortnightRun, appointments: number, redis: RedisClient): Promise<SimulationReport> {
  const { wrong, double, repeated, received, corrected, flooded, split } = judge(run.history);
  const expected = owed(run.history, run.circumstances);
  const said = await readLedgers(redis);
  const told = judgeTold(run.history);
  const withoutMessage = [...expected].filter((name) => !received.has(name) && !corrected.has(name));
  const atHand = new Set(
    [...said.ids].flatMap(([name, id]) => (run.atHand.has(id) ? (said.messages.get(name) ?? []) : [])),
  );
  const isAtHand = (name: string) => (said.messages.get(name) ?? []).some((place) => atHand.has(place));
  const excused = withoutMessage.filter((name) => said.unknown.has(name) && isAtHand(name));
  const missed = withoutMessage.filter((name) => !excused.includes(name));
  return {
    appointments,
    sent: said.sent.size,
    dropped: said.dropped,
    unknown: said.unknown.size,
    wrong: Object.values(wrong).reduce((sum, count) => sum + count, 0),
    double,
    killed: run.killed,
    missed: missed.length,
    lostToKills: excused.length,
    claimed: [...said.sent].filter((name) => !received.has(name)).length,
    repeated,
    flooded,
    split,
    owed: expected.size,
    received: received.size,
    wrongBy: wrong,
    ...told,
    false: told.false.length,
    open: said.open,
    examples: [
      ...told.false
        .slice(0, EXAMPLES)
        .flatMap((name) => [`${name}: the last message is false`, ...traceOf(run.history, name)]),
      ...missed.slice(0, EXAMPLES).map((name) => `${name}: ${said.fates.get(name) ?? 'never planned'}`),
    ],
  };
}

async function readLedgers(redis: RedisClient) {
  const said = {
    sent: new Set<string>(),
    unknown: new Set<string>(),
    dropped: {} as Record<string, number>,
    ids: new Map<string, string>(),
    fates: new Map<string, string>(),
    /** Places of the message of a reminder, and its neighbours', in the order of what was handed over: a list has several. */
    messages: new Map<string, readonly string[]>(),
    open: 0,
  };
  for (const tenant of TENANTS) {
    const ledger = createReminderLedger(redis, tenant, {
      retentionMs: MANY,
      sealer: createProofSealer(IDENTITY_KEY, tenant),
    });
    said.open += await ledger.openCount();
    for (const {
      id,
      recipient,
      handedAs,
      appointmentId,
      startAt,
      rule,
      channel,
      state,
      reason,
      correction,
    } of await ledger.finished(MANY)) {
      if (correction !== null) continue;
      const name = reminderName(appointmentId, startAt, rule, channel);
      said.ids.set(name, `${tenant} ${id}`);
      const places = handedAs === null ? [] : [handedAs - 1, handedAs, handedAs + 1];
      said.messages.set(name, [`${tenant} ${id}`, ...places.map((place) => `${tenant} ${recipient} ${place}`)]);
      said.fates.set(name, `${state} ${reason ?? ''}`);
      if (state === 'dropped') said.dropped[reason ?? ''] = (said.dropped[reason ?? ''] ?? 0) + 1;
      else if (state === 'sent' || state === 'unknown') said[state].add(name);
    }
  }
  return said;
}

/** Adds up the reports of several runs. */
export function addUp(reports: readonly SimulationReport[]): SimulationReport {
  return reports.reduce((sum, each) => ({
    ...(Object.fromEntries(
      Object.entries(sum).map(([name, value]) => [
        name,
        typeof value === 'number' ? value + Number(each[name as keyof SimulationReport]) : value,
      ]),
    ) as unknown as SimulationReport),
    dropped: addCounts(sum.dropped, each.dropped),
    wrongBy: addCounts(sum.wrongBy, each.wrongBy),
    examples: [...sum.examples, ...each.examples],
  }));
}

function addCounts<Name extends string>(one: Partial<Record<Name, number>>, other: Partial<Record<Name, number>>) {
  const names = new Set([...Object.keys(one), ...Object.keys(other)] as Name[]);
  return Object.fromEntries([...names].sort().map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)])) as Record<
    Name,
    number
  >;
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Status } from '../../../src/operator/control/status-schemas.ts';
import { verdictOn } from '../judge/rules.ts';
import { loginsInUse, type Scene } from './scene.ts';

/** Final state of the world. */
export interface Settled {
  /** Epoch ms since which nothing was in the way. */
  since: number;
  /** The time by the daemons' clocks, epoch ms: later than the judge's clock if the daemons had long pauses. */
  at: number;
  /** Targets that are not in sync, with their reason; empty when all is well. */
  unsettled: string[];
  /** How often the daemons' clocks had to be set ahead for it. */
  timePassed: TimePassed[];
}

/** The daemons' clocks were set ahead, since not everything was in sync by then. */
export interface TimePassed {
  /** Difference from the judge's clock. */
  aheadMs: number;
  /** Targets that were not in sync, with their reason. */
  unsettled: string[];
}

const LOOK_MS = 100;
/** Enough to see whether they agree. */
const MOST_DAEMONS = 2;
/** A request may get lost with a daemon, so it is repeated. */
const ASK_AGAIN_MS = 3_000;
/**
 * Verdicts depend on the daemons' cycles, not on the host's load: after this many cycles of every tenant the clocks are set ahead, past
 * every pause of a target; a target that is not in sync after as many cycles again is a defect.
 */
const PATIENCE_CYCLES = 6;
const AHEAD_MS = [0, 65 * 60_000, 26 * 60 * 60_000] as const;
/** A tenant without cycles is skipped after this many cycles of another tenant, or after this time without any cycle. */
const OVERTAKEN_CYCLES = 2 * PATIENCE_CYCLES;
const STANDSTILL_MS = 300_000;

/** Ends every fault, makes all repairs that need an operator, restarts the daemons, and waits until every target reports in sync. */
export async function settle(scene: Scene): Promise<Settled> {
  const { world, operator } = scene;
  await calmDown(scene);
  const since = Date.now();
  const watch = await watchCycles(scene);
  await logInAgain(scene);
  for (const daemon of world.daemons.slice(0, MOST_DAEMONS)) daemon.start();
  let unsettled: string[] = [];
  const timePassed: TimePassed[] = [];
  for (const aheadMs of AHEAD_MS) {
    if (aheadMs > 0) {
      world.note('time passes', { aheadMs, unsettled });
      timePassed.push({ aheadMs, unsettled });
    }
    for (const daemon of world.daemons) daemon.setClock(aheadMs);
    operator.setClock(aheadMs);
    watch.begin();
    let asked = 0;
    do {
      if (performance.now() - asked > ASK_AGAIN_MS) {
        // A token from before the state reset may turn out to be invalid only now.
        if (scene.doubts.has('state-back')) await logInAgain(scene);
        for (const { tenant, target } of scene.touched.keys()) await operator.checkTarget(tenant, target);
        await operator.wake();
        asked = performance.now();
      }
      const status = await operator.status();
      watch.note(status);
      await decideHolds(scene, watch);
      unsettled = unsettledIn(scene, status, { since, until: Date.now() + aheadMs, watch });
      if (unsettled.length === 0) return { since, at: Date.now() + aheadMs, unsettled, timePassed };
      await delay(LOOK_MS);
    } while (watch.least() < PATIENCE_CYCLES && !watch.isStill());
  }
  return { since, at: Date.now() + (AHEAD_MS.at(-1) ?? 0), unsettled, timePassed };
}

/** Counts the cycles of each tenant that ended since it began to look. */
async function watchCycles({ operator }: Scene) {
  const last = new Map<string, number | null>();
  const counts = new Map<string, number>();
  let movedAt = performance.now();
  const note = ({ tenants }: Status, isCounted = true) => {
    for (const { tenant, lastRun } of tenants) {
      const startedAt = lastRun?.startedAt ?? null;
      if (!isCounted) counts.set(tenant, 0);
      else if (last.get(tenant) !== startedAt) {
        counts.set(tenant, (counts.get(tenant) ?? 0) + 1);
        movedAt = performance.now();
      }
      last.set(tenant, startedAt);
    }
  };
  note(await operator.status(), false);
  const seen = new Map<string, number>();
  const since = () => [...counts].map(([tenant, count]) => count - (seen.get(tenant) ?? 0));
  return {
    note,
    /** Begins to count again. */
    begin() {
      for (const [tenant, count] of counts) seen.set(tenant, count);
      movedAt = performance.now();
    },
    least: () => Math.min(...since()),
    /** Whether one ended at all since the world is calm. */
    hasRun: (tenant: string) => (counts.get(tenant) ?? 0) > 0,
    isStill: () =>
      Math.max(...since()) - Math.min(...since()) >= OVERTAKEN_CYCLES || performance.now() - movedAt > STANDSTILL_MS,
  };
}

type Watch = Awaited<ReturnType<typeof watchCycles>>;

async function calmDown(scene: Scene): Promise<void> {
  const { world, operator } = scene;
  world.hub.clear();
  world.lies.clear();
  for (const { faults } of [world.clinic, world.google, world.graph, world.sms]) faults.clear();
  await Promise.all(world.daemons.map((daemon) => daemon.kill()));
  for (const { gate, setClock } of world.daemons) {
    Object.assign(gate, { silent: false, delayMs: 0 });
    setClock(0);
  }
  await world.redis.setFull(false);
  await scene.end();
  await operator.reload();
}

/** Reconnects all connections that a fault revoked or the loss of state removed. */
async function logInAgain(scene: Scene): Promise<void> {
  const { operator, revoked, doubts } = scene;
  const { tenants } = await operator.status();
  for (const login of loginsInUse(scene)) {
    const connections = tenants.find(({ tenant }) => tenant === login.tenant)?.connections;
    const state = connections?.find(({ connection }) => connection === login.connection)?.state;
    if (state === undefined) continue;
    const isLost = state !== 'connected' && doubts.has('state-back');
    if (revoked.delete(login) || isLost) await operator.logIn(login);
  }
}

/** @param until a time that lies ahead was written by a clock that was wrong, and says nothing */
function unsettledIn(
  { touched }: Scene,
  { tenants }: Status,
  { since, until, watch }: { since: number; until: number; watch: Watch },
): string[] {
  const readBack = new Set([...touched.keys()].map(({ tenant, target }) => `${tenant}/${target}`));
  const isRecent = (at: number | null | undefined) => at != null && at >= since && at <= until;
  return tenants.flatMap(({ tenant, targets }) =>
    targets
      .filter((one) => {
        const isRead = !readBack.has(`${tenant}/${one.target}`) || isRecent(one.drift?.checkedAt);
        return !watch.hasRun(tenant) || !isRead || one.sync !== 'in-sync' || !isRecent(one.inSyncAsOf);
      })
      .map(({ target, reason, failure }) => `${tenant}/${target} ${reason} ${failure?.code ?? ''}`.trim()),
  );
}

/** Decides holds as an operator who knows the expected state: removals of unwanted objects and restorations are approved, all others rejected. */
async function decideHolds({ operator, world }: Scene, watch: Watch): Promise<void> {
  for (const { tenant, target, id, kind, state, recordIds } of await operator.holds()) {
    const desk = world.tenants.get(tenant);
    const calendar = world.targets.find((each) => each.tenant === tenant && each.target === target);
    // A hold created during a lie ends automatically; the current reads are true.
    if (state !== 'open' || desk === undefined || !watch.hasRun(tenant)) continue;
    const entries = new Map(desk.history.now().map((entry) => [entry.id, entry]));
    const isWanted = (record: string) => {
      const entry = entries.get(record);
      if (entry === undefined || calendar === undefined) return false;
      return verdictOn(entry, calendar.rules, Date.now()) !== 'hidden';
    };
    const wanted = kind === 'replaced' || kind === 'manual-changes' ? [] : recordIds.filter(isWanted);
    // Records that reappeared leave the hold in the next cycle; the hold is decided after that.
    if (wanted.length > 0 && wanted.length < recordIds.length) continue;
    await operator.decide(tenant, id, wanted.length === 0 ? 'approved' : 'rejected').catch(() => {});
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import type { Status } from '../../../src/control/status.ts';
import { verdictOn } from '../judge/rules.ts';
import type { Scene } from './scene.ts';

/** How the world came to rest. */
export interface Settled {
  /** Epoch ms since which nothing was in the way. */
  since: number;
  /** Targets that are not in sync, with their reason; empty when all is well. */
  unsettled: string[];
}

const LONGEST_MS = 30_000;
const MOST_PACE = 10;
const LOOK_MS = 150;
/** Enough to see whether they agree. */
const MOST_DAEMONS = 2;
/** What is asked for may get lost with a daemon; it is asked for again. */
const ASK_AGAIN_MS = 4_000;

/** Ends every fault, puts right what people have to, starts the daemons anew, and waits until every target says that it is in sync. */
export async function settle(scene: Scene): Promise<Settled> {
  const { world, operator } = scene;
  await calmDown(scene);
  const since = Date.now();
  for (const daemon of world.daemons.slice(0, MOST_DAEMONS)) daemon.start();
  await logInAgain(scene);
  const deadline = performance.now() + LONGEST_MS * Math.min(scene.pace, MOST_PACE);
  let asked = 0;
  for (;;) {
    if (performance.now() - asked > ASK_AGAIN_MS) {
      for (const { tenant, target } of scene.touched.keys()) await operator.look(tenant, target);
      await operator.wake();
      asked = performance.now();
    }
    await decideHolds(scene, since);
    const unsettled = unsettledIn(scene, await operator.status(), since);
    if (unsettled.length === 0 || performance.now() > deadline) return { since, unsettled };
    await delay(LOOK_MS);
  }
}

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

/** Whoever was logged out on purpose, and whoever the loss of state logged out, logs in again. */
async function logInAgain({ operator, world, revoked, doubts }: Scene): Promise<void> {
  const { tenants } = await operator.status();
  for (const login of world.logins) {
    const connections = tenants.find(({ tenant }) => tenant === login.tenant)?.connections;
    const state = connections?.find(({ connection }) => connection === login.connection)?.state;
    if (state === undefined) continue;
    if (revoked.has(login) || (state !== 'connected' && doubts.has('state-back'))) await operator.logIn(login);
  }
}

function unsettledIn({ touched }: Scene, { tenants }: Status, since: number): string[] {
  const readBack = new Set([...touched.keys()].map(({ tenant, target }) => `${tenant}/${target}`));
  return tenants.flatMap(({ tenant, targets, lastRun }) => {
    const ran = (lastRun?.startedAt ?? 0) >= since;
    return targets
      .filter((one) => {
        const isRead = !readBack.has(`${tenant}/${one.target}`) || (one.drift?.checkedAt ?? 0) >= since;
        return !ran || !isRead || one.state !== 'in-sync' || (one.inSyncAsOf ?? 0) < since;
      })
      .map(({ target, state, trouble }) => `${tenant}/${target} ${state} ${trouble?.code ?? ''}`.trim());
  });
}

/** What the guard kept back is looked at by a person who knows the books: what is no longer wanted may go, the rest stays. */
async function decideHolds({ operator, world }: Scene, since: number): Promise<void> {
  for (const { tenant, target, id, kind, state, recordIds, createdAt } of await operator.holds()) {
    const desk = world.tenants.get(tenant);
    const calendar = world.targets.find((each) => each.tenant === tenant && each.target === target);
    if (state !== 'open' || desk === undefined) continue;
    if (kind === 'replaced') {
      // One that was made while the clinic lied ends by itself; what is read now is true.
      if (createdAt >= since) await operator.decide(tenant, id, 'approved').catch(() => {});
      continue;
    }
    const entries = new Map(desk.history.now().map((entry) => [entry.id, entry]));
    const isWanted = (record: string) => {
      const entry = entries.get(record);
      if (entry === undefined || calendar === undefined) return false;
      return verdictOn(entry, calendar.rules, Date.now()) !== 'hidden';
    };
    const wanted = recordIds.filter(isWanted);
    // Those that came back leave the hold with the next cycle; then it is looked at again.
    if (wanted.length > 0 && wanted.length < recordIds.length) continue;
    await operator.decide(tenant, id, wanted.length === 0 ? 'approved' : 'rejected').catch(() => {});
  }
}

import type { Scene } from '../run/scene.ts';
import { type DaemonPlace, loneRedis } from '../world/processes.ts';
import { REFUSALS } from '../world/refusals.ts';
import { type Fault, fault } from './fault.ts';

/** A daemon proves writes every two seconds. */
const LONGEST_READY_MS = 8_000;
const LOOK_MS = 200;
const LONGEST_ANSWER_MS = 1_000;

/** Returns whether a daemon says that it is ready. One that is not at work, or is silent, says nothing. */
async function saysReady(place: DaemonPlace): Promise<boolean> {
  const port = place.operatorPort();
  if (port === null) return false;
  const signal = AbortSignal.timeout(LONGEST_ANSWER_MS);
  const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal }).catch(() => null);
  return answer?.ok === true;
}

/** Waits until no daemon says that it is ready, and judges what daemons and the status say while writes are refused. */
async function judgeRefusal({ world, operator, pace, claims, after }: Scene, how: string): Promise<void> {
  const deadline = performance.now() + LONGEST_READY_MS * pace;
  let ready = world.daemons;
  for (;;) {
    const said = await Promise.all(ready.map(saysReady));
    ready = ready.filter((_, index) => said[index]);
    if (ready.length === 0 || performance.now() > deadline) break;
    await after(LOOK_MS, () => {});
  }
  for (const { number } of ready)
    claims.push({ kind: 'falseInSync', text: `daemon ${number} was ready while Redis refused writes (${how})` });
  const view = await operator.status().catch(() => null);
  if (view !== null && view.redis.refusal === null)
    claims.push({ kind: 'falseInSync', text: `the status accepted a Redis that refused writes (${how})` });
}

/** What happens to the state. */
export const REDIS_FAULTS: Readonly<Record<string, Fault>> = {
  'redis-restart': fault({
    ...{ group: 'redis', isOfLoneRedis: true },
    draw: (draw) => ({ afterMs: draw.upTo(600) }),
    async play(scene, { afterMs }) {
      const struck = scene.after(afterMs, async () => {
        scene.count('redis-restart');
        await loneRedis(scene.world.redis).restart();
      });
      return { lasts: struck };
    },
  }),
  'redis-silent': fault({
    ...{ group: 'redis', isOfLoneRedis: true },
    draw: (draw) => ({ ms: draw.pick([400, 1_500, 3_000]), cut: draw.chance(0.5), all: draw.chance(0.5) }),
    async play(scene, { ms, cut, all }) {
      scene.count('redis-silent');
      const gates = scene.world.daemons.map(({ gate }) => gate).slice(0, all ? undefined : 1);
      for (const gate of gates) gate.silent = true;
      const cease = () => {
        for (const gate of gates) {
          gate.silent = false;
          if (cut) gate.cut();
        }
      };
      return { lasts: scene.after(ms, cease), cease };
    },
  }),
  'redis-slow': fault({
    ...{ group: 'redis', isOfLoneRedis: true },
    draw: (draw) => ({ ms: draw.pick([5, 20, 60]) }),
    async play(scene, { ms }) {
      scene.count('redis-slow');
      for (const { gate } of scene.world.daemons) gate.delayMs = ms;
      return {
        cease() {
          for (const { gate } of scene.world.daemons) gate.delayMs = 0;
        },
      };
    },
  }),
  'redis-cut': fault({
    ...{ group: 'redis', isOfLoneRedis: true },
    draw: (draw) => ({ afterMs: draw.upTo(600), times: draw.between(1, 4) }),
    async play(scene, { afterMs, times }) {
      const cutAll = () => {
        for (const { gate } of scene.world.daemons) gate.cut();
      };
      const struck = scene.after(afterMs, async () => {
        scene.count('redis-cut');
        for (let time = 0; time < times; time += 1) {
          cutAll();
          await scene.after(60, () => {});
        }
      });
      return { lasts: struck };
    },
  }),
  'redis-full': fault({
    group: 'redis',
    draw: (draw) => ({ afterMs: draw.upTo(500), ms: draw.pick([200, 800, 1_800]) }),
    async play(scene, { afterMs, ms }) {
      const struck = scene.after(afterMs, async () => {
        scene.count('redis-full');
        await scene.world.redis.setFull(true);
        await scene.after(ms, () => scene.world.redis.setFull(false));
      });
      return { lasts: struck };
    },
  }),
  // It answers each read.
  'redis-refuses': fault({
    ...{ group: 'redis', isOfLoneRedis: true },
    draw: (draw) => ({ how: draw.pick(REFUSALS), afterMs: draw.upTo(500) }),
    async play(scene, { how, afterMs }) {
      const struck = scene.after(afterMs, async () => {
        scene.count('redis-refuses', how);
        const accept = await loneRedis(scene.world.redis).refuseWrites(how);
        await judgeRefusal(scene, how).finally(accept);
      });
      return { lasts: struck };
    },
  }),
  'redis-back': fault({
    ...{ group: 'redis', isOfLoneRedis: true },
    draw: (draw) => ({ awaits: draw.between(20, 400) }),
    async play(scene, { awaits }) {
      const redis = loneRedis(scene.world.redis);
      await redis.keepCopy();
      const passed = scene.passed(awaits);
      return {
        lasts: passed,
        async cease() {
          scene.count('redis-back');
          scene.doubt('state-back');
          await redis.goBack();
        },
      };
    },
  }),
  'redis-failover': fault({
    group: 'redis',
    draw: (draw) => ({ behind: draw.chance(0.6), awaits: draw.between(5, 200) }),
    async play(scene, { behind, awaits }) {
      const { redis } = scene.world;
      await redis.addReplica();
      if (behind) {
        await redis.cutReplica();
        scene.doubt('state-back');
      }
      return {
        lasts: scene.passed(awaits),
        async cease() {
          if (!(await redis.failOver())) return;
          scene.count('redis-failover');
          for (const { gate } of scene.world.daemons) gate.cut();
        },
      };
    },
  }),
};

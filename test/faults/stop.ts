import { setTimeout as delay } from 'node:timers/promises';
import { startDaemon } from '../../demo/daemon.ts';
import type { CrmResults } from './crm/crms.ts';
import { endProcess, forgetTargets, openScene, runOneCycle, type Scene, type Totals } from './scene.ts';

/** One stop in the middle of a sync. */
export interface StopRun {
  exitCode: number | null;
  secondsToExit: number;
  /** Changes that waited when the daemon was told to end: it was at work. */
  pendingAtStop: number;
  unsettled: string[];
  totals: Totals;
  crm: CrmResults;
  ok: boolean;
}

/** All stops together. */
export interface StopResult {
  runs: StopRun[];
  ok: boolean;
}

/** A container engine kills ten seconds after its signal (Docker and Kubernetes allow ten and thirty by default). */
const LONGEST_SECONDS = 10;
/** Answers of the targets take this long, so that the signal falls into calls that are under way. */
const LATENCY_MS = 400;
const RUNS = 2;

/** Tells the daemon to end in the middle of a first sync; the cycle after the next start must be complete. */
export async function runStops(say: (text: string) => void): Promise<StopResult> {
  say('SIGTERM: starting the world …');
  const scene = await openScene({ appointmentsPerTenant: 600, agendasPerTenant: 3, crm: true, say });
  try {
    const runs: StopRun[] = [];
    for (let run = 1; run <= RUNS; run += 1) {
      if (run > 1) await forgetTargets(scene);
      const result = await stopOnce(scene);
      say(
        `  exit code ${result.exitCode} after ${result.secondsToExit.toFixed(1)} s with ${result.pendingAtStop} changes waiting, then ${result.ok ? 'exact' : 'WRONG'}`,
      );
      runs.push(result);
    }
    return { runs, ok: runs.every(({ ok }) => ok) };
  } finally {
    await scene.close();
  }
}

async function stopOnce(scene: Scene): Promise<StopRun> {
  const proxies = [...scene.world.targets, ...scene.crms].map(({ proxy }) => proxy);
  for (const proxy of proxies) {
    proxy.forget();
    proxy.add({ times: 1_000, fault: { kind: 'latency', ms: LATENCY_MS } });
  }
  const daemon = startDaemon(scene.world);
  try {
    const pendingAtStop = await untilWriting(scene);
    const signalledAt = performance.now();
    const exitCode = await daemon.stop();
    const secondsToExit = (performance.now() - signalledAt) / 1_000;
    for (const proxy of proxies) proxy.clear();
    const { unsettled, totals, crm, exact } = await runOneCycle(scene);
    const ended = exitCode === 0 && secondsToExit < LONGEST_SECONDS && pendingAtStop > 0;
    return { exitCode, secondsToExit, pendingAtStop, unsettled, totals, crm, ok: ended && exact };
  } finally {
    for (const proxy of proxies) proxy.clear();
    await endProcess(daemon);
  }
}

/** Until several targets have been written to. @returns how many changes wait then */
async function untilWriting({ world, watch }: Scene): Promise<number> {
  const isWrite = ({ method, url }: { method: string; url: string }) => method === 'PUT' || url.startsWith('/batch');
  const deadline = performance.now() + 60_000;
  while (world.targets.filter(({ proxy }) => proxy.requests.some(isWrite)).length < 2) {
    if (performance.now() > deadline) throw new Error('the daemon wrote nothing for a minute');
    await delay(10);
  }
  const targets = (await watch.status()).tenants.flatMap((tenant) => tenant.targets);
  return targets.reduce((sum, { pending }) => sum + pending, 0);
}

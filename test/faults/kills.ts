import { startDaemon } from '../../demo/daemon.ts';
import { killAt, type Moment, moments } from './moments.ts';
import {
  compareAll,
  forgetTargets,
  isExact,
  openScene,
  runOneCycle,
  type Scene,
  type Totals,
  unsettled,
} from './scene.ts';

/** One kill and what came of it. */
export interface KillRun {
  run: number;
  /** What the killed cycle had to do. */
  work: 'first-sync' | 'changes';
  moment: Moment;
  /** Whether the moment came before all was done. */
  cameInTime: boolean;
  /** How far the cycle was when it died, by what it left behind. */
  diedIn: 'pull' | 'plan' | 'push' | 'after';
  /** From the next start until every target was in sync. */
  recoverySeconds: number;
  exitCode: number | null;
  unsettled: string[];
  totals: Totals;
  exact: boolean;
}

/** All kills together. */
export interface KillResult {
  runs: number;
  seed: number;
  diedIn: Record<KillRun['diedIn'], number>;
  totals: Totals;
  recoverySeconds: { median: number; longest: number };
  exactRuns: number;
  wrong: KillRun[];
  ok: boolean;
}

const FIRST_SYNC_EVERY = 4;
const CHANGES = { booked: 25, moved: 20, cancelled: 8, checkedIn: 2 };

/** Kills a working daemon at many moments; after one more cycle each time, both sides are compared. */
export async function runKills(runs: number, seed: number, say: (text: string) => void): Promise<KillResult> {
  say('Kills: starting the world …');
  const scene = await openScene({ appointmentsPerTenant: 450, agendasPerTenant: 3, say });
  try {
    const results: KillRun[] = [];
    const chosen = moments(seed, scene.world.targets);
    for (let run = 1; run <= runs; run += 1) {
      const result = await runOne(scene, run, chosen.next().value as Moment);
      results.push(result);
      say(`  kill ${run}/${runs}: ${describe(result)}`);
    }
    return summarize(results, seed);
  } finally {
    await scene.close();
  }
}

async function runOne(scene: Scene, run: number, moment: Moment): Promise<KillRun> {
  const work = run % FIRST_SYNC_EVERY === 1 ? 'first-sync' : 'changes';
  if (work === 'first-sync') await forgetTargets(scene);
  else for (const tenant of scene.world.clinicTenants.values()) scene.world.clinic.simulate(tenant, CHANGES);
  for (const { proxy } of scene.world.targets) proxy.forget();
  const startedAt = Date.now();
  const cameInTime = await killAt(moment, startDaemon(scene.world), scene);
  const diedIn = await placeOfDeath(scene, startedAt);
  const { seconds, view, exitCode } = await runOneCycle(scene);
  const totals = await compareAll(scene.world);
  const problems = unsettled(view);
  const exact = isExact(totals) && problems.length === 0 && exitCode === 0;
  return {
    run,
    work,
    moment,
    cameInTime,
    diedIn,
    recoverySeconds: seconds,
    exitCode,
    unsettled: problems,
    totals,
    exact,
  };
}

async function placeOfDeath({ watch, world }: Scene, startedAt: number): Promise<KillRun['diedIn']> {
  const targets = (await watch.status()).tenants.flatMap((tenant) => tenant.targets);
  const written = world.targets.some(({ proxy }) =>
    proxy.requests.some(({ method, url }) => method === 'PUT' || url.startsWith('/batch')),
  );
  if (targets.every(({ state, inSyncAsOf }) => state === 'in-sync' && (inSyncAsOf ?? 0) >= startedAt)) return 'after';
  if (written) return 'push';
  return targets.some(({ pending }) => pending > 0) ? 'plan' : 'pull';
}

function describe({ work, moment, diedIn, recoverySeconds, exact, totals, unsettled: problems }: KillRun): string {
  const count = (name: 'duplicates' | 'missing') => Object.values(totals).reduce((sum, each) => sum + each[name], 0);
  const result = exact
    ? 'exact'
    : `WRONG: ${count('duplicates')} duplicates, ${count('missing')} missing, ${problems.join('; ')}`;
  return `${work}, aimed at ${moment.at}, died in ${diedIn}, recovered in ${recoverySeconds.toFixed(1)} s, ${result}`;
}

function summarize(results: readonly KillRun[], seed: number): KillResult {
  const diedIn = { pull: 0, plan: 0, push: 0, after: 0 };
  for (const result of results) diedIn[result.diedIn] += 1;
  const seconds = results.map(({ recoverySeconds }) => recoverySeconds).sort((a, b) => a - b);
  const wrong = results.filter(({ exact }) => !exact);
  return {
    runs: results.length,
    seed,
    diedIn,
    totals: sumOf(results.map(({ totals }) => totals)),
    recoverySeconds: { median: seconds[Math.floor(seconds.length / 2)] ?? 0, longest: seconds.at(-1) ?? 0 },
    exactRuns: results.length - wrong.length,
    wrong,
    ok: wrong.length === 0,
  };
}

function sumOf(all: readonly Totals[]): Totals {
  const sum = (kind: keyof Totals) => {
    const add = (name: keyof Totals['caldav']) => all.reduce((total, totals) => total + totals[kind][name], 0);
    return {
      targets: add('targets'),
      records: add('records'),
      remoteEvents: add('remoteEvents'),
      duplicates: add('duplicates'),
      missing: add('missing'),
      extraCalendars: add('extraCalendars'),
    };
  };
  return {
    'google-calendar': sum('google-calendar'),
    'outlook-calendar': sum('outlook-calendar'),
    caldav: sum('caldav'),
  };
}

import { startDaemon } from '../../demo/daemon.ts';
import { seededRandom } from '../../sandbox/kit/random.ts';
import { type CrmResults, faultsOf, sumOfCrms } from './crm/crms.ts';
import { keepChanging, workAtTheClinics } from './crm/work.ts';
import { hasWritten, killAt, type Moment, moments, placesOf } from './moments.ts';
import { forgetTargets, openScene, runOneCycle, type Scene, type Totals } from './scene.ts';

/** One kill and what came of it. */
export interface KillRun {
  run: number;
  /** What the killed cycle had to do. */
  work: 'first-sync' | 'changes';
  moment: Moment;
  /** What the moment was counted by, for people: requests to the clinic, time, or a kind of write. */
  aimedAt: string;
  /** Whether the moment came before all was done. */
  cameInTime: boolean;
  /** How far the cycle was when it died, by what it left behind. */
  diedIn: 'pull' | 'plan' | 'push' | 'after';
  /** From the next start until every target was in sync. */
  recoverySeconds: number;
  exitCode: number | null;
  unsettled: string[];
  totals: Totals;
  crm: CrmResults;
  exact: boolean;
}

/** All kills together. */
export interface KillResult {
  runs: number;
  seed: number;
  diedIn: Record<KillRun['diedIn'], number>;
  /** How many runs were aimed at what. */
  aimedAt: Record<string, number>;
  totals: Totals;
  crm: CrmResults;
  recoverySeconds: { median: number; longest: number };
  exactRuns: number;
  wrong: KillRun[];
  ok: boolean;
}

const FIRST_SYNC_EVERY = 4;

/** Kills a working daemon at many moments; after one more cycle each time, both sides are compared. */
export async function runKills(runs: number, seed: number, say: (text: string) => void): Promise<KillResult> {
  say('Kills: starting the world …');
  const scene = await openScene({ appointmentsPerTenant: 450, agendasPerTenant: 3, crm: true, say });
  try {
    const results: KillRun[] = [];
    const chosen = moments(seed, placesOf(scene));
    const random = seededRandom(seed);
    for (let run = 1; run <= runs; run += 1) {
      const result = await runOne(scene, run, chosen.next().value as Moment, random);
      results.push(result);
      say(`  kill ${run}/${runs}: ${describe(result)}`);
    }
    return summarize(results, seed);
  } finally {
    await scene.close();
  }
}

async function runOne(scene: Scene, run: number, moment: Moment, random: () => number): Promise<KillRun> {
  const work = run % FIRST_SYNC_EVERY === 1 ? 'first-sync' : 'changes';
  if (work === 'first-sync') await forgetTargets(scene);
  else workAtTheClinics(scene, random);
  for (const { proxy } of placesOf(scene)) proxy.forget();
  const startedAt = Date.now();
  const stopChanging = keepChanging(scene, random);
  const cameInTime = await killAt(moment, startDaemon(scene.world), scene).finally(stopChanging);
  const diedIn = await placeOfDeath(scene, startedAt);
  const { seconds, ...cycle } = await runOneCycle(scene);
  const aimedAt = moment.at === 'write' ? `write to ${placesOf(scene)[moment.place]?.name}` : moment.at;
  return { run, work, moment, aimedAt, cameInTime, diedIn, recoverySeconds: seconds, ...cycle };
}

async function placeOfDeath(scene: Scene, startedAt: number): Promise<KillRun['diedIn']> {
  const targets = (await scene.watch.status()).tenants.flatMap((tenant) => tenant.targets);
  if (targets.every(({ state, inSyncAsOf }) => state === 'in-sync' && (inSyncAsOf ?? 0) >= startedAt)) return 'after';
  if (hasWritten(scene)) return 'push';
  return targets.some(({ pending }) => pending > 0) ? 'plan' : 'pull';
}

function describe(result: KillRun): string {
  const { work, aimedAt, cameInTime, diedIn, recoverySeconds, exact, totals, crm, unsettled } = result;
  const count = (name: 'duplicates' | 'missing') => Object.values(totals).reduce((sum, each) => sum + each[name], 0);
  const faults = [`${count('duplicates')} duplicates, ${count('missing')} missing`, ...faultsOf(crm), ...unsettled];
  const verdict = exact ? 'exact' : `WRONG: ${faults.join('; ')}`;
  const missed = cameInTime ? '' : ', which did not come';
  return `${work}, aimed at ${aimedAt}${missed}, died in ${diedIn}, recovered in ${recoverySeconds.toFixed(1)} s, ${verdict}`;
}

function summarize(results: readonly KillRun[], seed: number): KillResult {
  const diedIn = { pull: 0, plan: 0, push: 0, after: 0 };
  const aimedAt: Record<string, number> = {};
  for (const result of results) {
    diedIn[result.diedIn] += 1;
    aimedAt[result.aimedAt] = (aimedAt[result.aimedAt] ?? 0) + 1;
  }
  const seconds = results.map(({ recoverySeconds }) => recoverySeconds).sort((a, b) => a - b);
  const wrong = results.filter(({ exact }) => !exact);
  return {
    runs: results.length,
    seed,
    diedIn,
    aimedAt,
    totals: sumOf(results.map(({ totals }) => totals)),
    crm: sumOfCrms(results.map(({ crm }) => crm)),
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

import { readFile } from 'node:fs/promises';
import { seededRandom } from '../../../sandbox/kit/random.ts';
import { FAULTS } from '../faults/index.ts';
import { type RemoteObject, surnameOf } from '../judge/compare.ts';
import type { Place } from '../judge/leaks.ts';
import { type Defect, type Tally, tallyOf } from '../judge/tally.ts';
import {
  judgeCalendar,
  judgeContactLosses,
  judgeCrmSide,
  judgeLeaks,
  judgeLogins,
  judgeReminders,
} from '../judge/verdict.ts';
import type { Script, Step } from '../script/generate.ts';
import type { DaemonPlace } from '../world/processes.ts';
import type { ClinicDesk } from '../world/tenants.ts';
import type { Park } from '../world/world.ts';
import { openWorld } from '../world/world.ts';
import { loginsInUse, openScene, type Scene } from './scene.ts';
import { type Settled, settle, type TimePassed } from './settle.ts';

/** Result of one run. */
export interface RunResult {
  script: Script;
  tally: Tally;
  defects: Defect[];
  byFault: Record<string, number>;
  /** Awaits that were met, and at how many of them something happened. */
  awaits: { met: string[]; struck: string[] };
  unsettled: string[];
  timePassed: TimePassed[];
  /** Places that were searched for patients' names. */
  searched: string[];
  seconds: number;
}

/** Options of a run in addition to its script. */
export interface RunOptions {
  /** A safety that the daemons run without. */
  without?: string | null;
  /** Receives the daemons' log, for the analysis of a failure. */
  onLog?: (log: string) => void;
}

const LONGEST_WARM_UP_MS = 10_000;
/** From the start of a daemon to its first question to the clinic. */
const USUAL_START_MS = 1_500;
/** Verdicts must not depend on the host's load; a daemon that has not started by then never will. */
const LONGEST_START_MS = 600_000;
const FIRST_READING = 'clinic GET /v2/tenants/*/appointments';

/** Plays a script in a separate world and judges the final state. */
export async function play(park: Park, script: Script, options: RunOptions = {}): Promise<RunResult> {
  const startedAt = performance.now();
  const world = await openWorld(park, { ...script, without: options.without ?? null });
  const scene = openScene(world);
  try {
    for (const login of world.logins) await scene.operator.logIn(login);
    for (const daemon of world.daemons) daemon.start();
    await measurePace(scene);
    park.pace = scene.pace;
    if (script.warm) await warmUp(scene);
    for (const [index, step] of script.steps.entries()) {
      const taken = takeStep(scene, step);
      await Promise.all([taken, checkMeanwhile(scene, taken, script.seed + index)]);
      await scene.check();
    }
    const settled = await settle(scene);
    const places = await placesOf(scene);
    const defects = [...scene.claims, ...(await judgeAll(scene, settled, places))];
    options.onLog?.(await readFile(world.logFile, 'utf8'));
    return {
      script,
      tally: tallyOf(defects),
      defects,
      byFault: Object.fromEntries(scene.byFault),
      awaits: { met: [...world.hub.met.keys()], struck: [...world.hub.hit.keys()] },
      unsettled: settled.unsettled,
      timePassed: settled.timePassed,
      searched: places.map(({ name }) => name),
      seconds: (performance.now() - startedAt) / 1_000,
    };
  } finally {
    await scene.operator.close();
    await world.close();
  }
}

/** Measures a daemon's start time relative to an idle host. */
async function measurePace(scene: Scene): Promise<void> {
  const startedAt = performance.now();
  while (!scene.world.hub.met.has(FIRST_READING)) {
    const elapsedMs = performance.now() - startedAt;
    scene.pace = Math.max(1, elapsedMs / USUAL_START_MS);
    if (elapsedMs > LONGEST_START_MS) throw new Error('no daemon asked the clinic for anything');
    await scene.after(20, () => {});
  }
}

/** A report is judged at random moments of a step, at most this many ms apart on an idle host. */
const LONGEST_PAUSE_MS = 1_200;

/** Judges what the status says at random moments until the step is over: not only when all is at rest. */
async function checkMeanwhile(scene: Scene, step: Promise<void>, seed: number): Promise<void> {
  let isOver = false;
  const end = step
    .catch(() => {})
    .finally(() => {
      isOver = true;
    });
  const random = seededRandom(seed);
  while (!isOver) {
    await Promise.race([end, scene.after(50 + random() * LONGEST_PAUSE_MS * scene.pace, () => {})]);
    if (!isOver) await scene.check();
  }
}

/** Until every target was in sync once. */
async function warmUp({ operator, after, pace }: Scene): Promise<void> {
  const deadline = performance.now() + LONGEST_WARM_UP_MS * pace;
  const isDone = async () =>
    (await operator.status()).tenants.every(({ targets }) => targets.every(({ sync }) => sync === 'in-sync'));
  while (!(await isDone()) && performance.now() < deadline) await after(100, () => {});
}

async function takeStep(scene: Scene, { fault: name, given, work, pieces, awaits }: Step): Promise<void> {
  const { world } = scene;
  const fault = FAULTS.get(name);
  if (fault === undefined) throw new RangeError(`there is no fault "${name}"`);
  world.note(`step ${name}`, given);
  scene.start();
  const { struck, lasts, cease } = await fault.play(scene, given);
  // A step that fails elsewhere awaits neither; its own error counts, not theirs when the world closes.
  for (const part of [struck, lasts]) part?.catch(() => {});
  for (const [index, desk] of [...world.tenants.values()].entries()) desk.work(work + index, pieces);
  await scene.wake();
  const passed = scene.passed(awaits);
  await lasts;
  await (struck === undefined ? passed : scene.unlessQuiet(struck.then(() => passed)));
  if (given.lasting === true) scene.atEnd(() => cease?.());
  else await cease?.();
}

async function judgeAll(scene: Scene, { since, at, unsettled }: Settled, places: readonly Place[]): Promise<Defect[]> {
  const { world, dismissed } = scene;
  const defects: Defect[] = [];
  for (const calendar of world.targets) {
    const desk = world.tenants.get(calendar.tenant);
    if (desk === undefined || dismissed.has(calendar)) continue;
    const remote = await calendar.read();
    const { tenant, target, rules, removals } = calendar;
    const exceptions = { strangers: unknowable(scene, desk, remote), touched: new Set<string>() };
    const { denials } = scene;
    const held = { rules, remote, removals, denials, at };
    const judged = { name: `${tenant}/${target}`, history: desk.history, ...held, ...exceptions };
    defects.push(...judgeCalendar(judged));
  }
  for (const { tenant, side, losses } of world.crms) {
    const desk = world.tenants.get(tenant);
    const clinicId = desk?.tenantId ?? '';
    const name = `${tenant}/${side.vendor}`;
    defects.push(...judgeCrmSide(name, side, world.clinic, { clinicId, since, now: at }));
    if (desk !== undefined) defects.push(...judgeContactLosses(name, losses, desk.patients));
  }
  defects.push(...judgeReminders(world.sms.messages()));
  const unused = world.logins.filter((login) => !loginsInUse(scene).includes(login));
  for (const { tenant, connections } of (await scene.operator.status()).tenants) {
    const isUsed = (name: string) => !unused.some((login) => login.tenant === tenant && login.connection === name);
    defects.push(
      ...judgeLogins(
        tenant,
        connections.filter(({ connection }) => isUsed(connection)),
      ),
    );
  }
  const planted = [...world.tenants.values()].flatMap(({ history }) => history.now().map(({ lastName }) => lastName));
  defects.push(...judgeLeaks(places, [...new Set(planted)]));
  // A target that is not in sync must report that; a target that differs and never settles is counted above.
  if (unsettled.length > 0 && defects.length === 0) {
    defects.push({ kind: 'missing', text: `never in sync: ${unsettled.join(', ')}` });
  }
  return defects;
}

/**
 * Returns objects whose record nobody can name: they lost their marks, Redis lost the links, and the clinic no longer has the appointment, so
 * that no list contains the id from which the name was derived.
 */
function unknowable(
  { unmarked, doubts }: Scene,
  { history }: ClinicDesk,
  remote: readonly RemoteObject[],
): Set<string> {
  if (!doubts.has('state-back')) return new Set();
  const gone = history.now().filter(({ deleted }) => deleted);
  const isGone = ({ title }: RemoteObject) => gone.some((entry) => title.includes(surnameOf(entry)));
  return new Set(remote.filter((object) => unmarked.has(object.id) && isGone(object)).map(({ id }) => id));
}

/** Where no name of a patient may stand. */
async function placesOf({ world }: Scene): Promise<Place[]> {
  const metrics = await Promise.all(world.daemons.map(metricsOf));
  return [
    { name: 'the log', text: await readFile(world.logFile, 'utf8') },
    { name: 'addresses', text: [...world.addresses].join('\n') },
    { name: 'Redis', text: await world.redis.dump() },
    ...metrics.flatMap((text) => (text === null ? [] : { name: '/metrics', text })),
  ];
}

/** @returns null from a daemon that is not at work */
async function metricsOf(place: DaemonPlace): Promise<string | null> {
  const port = place.operatorPort();
  if (port === null) return null;
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`).catch(() => null);
  return answer?.ok === true ? answer.text() : null;
}

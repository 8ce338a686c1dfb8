import { setTimeout as delay } from 'node:timers/promises';
import type { Status } from '../../../src/operator/control/status-schemas.ts';
import type { RemoteObject } from '../judge/compare.ts';
import { surnameOf } from '../judge/compare.ts';
import type { Denials } from '../judge/denials.ts';
import type { Defect } from '../judge/tally.ts';
import type { CalendarTarget, Login } from '../world/tenants.ts';
import type { World } from '../world/world.ts';
import { type Operator, openOperator } from '../world/world.ts';
import { checkClaims } from './claims.ts';

/** Why a claim of the status can't be held against the daemons, or what a loss is explained by. */
export type Doubt = 'clock' | 'state-back' | 'titles';

/** A target by its names. */
export type Named = Pick<CalendarTarget, 'tenant' | 'target'>;

/** One run at work. */
export interface Scene {
  readonly world: World;
  readonly operator: Operator;
  readonly byFault: Map<string, number>;
  readonly doubts: Set<Doubt>;
  /** Connections that a fault revoked. */
  readonly revoked: Set<Login>;
  /** What the daemons last logged in to each clinic with. */
  readonly tokens: ReadonlyMap<string, string>;
  /** Appointments whose objects a user changed, by target. */
  readonly touched: Map<CalendarTarget, Set<string>>;
  /** Ids of objects that lost their marks. */
  readonly unmarked: Set<string>;
  /** Calendars that are no longer in the configuration. */
  readonly dismissed: Set<CalendarTarget>;
  /** From when to when the clinic told lies, epoch ms; the last may be open. */
  readonly lying: { from: number; to: number }[];
  /** Factor for maximum waits on a busy host. */
  pace: number;
  /** Of each lie that the clinic told. */
  readonly denials: Denials[];
  /** A fault struck. */
  count(fault: string, where?: string): void;
  doubt(doubt: Doubt): void;
  after<Result>(ms: number, what: () => Result | Promise<Result>): Promise<Result>;
  /** Resolves after this many awaits, or when no daemon waits for anything any more. */
  passed(awaits: number): Promise<void>;
  /** Until it settles, or nothing has happened for a while. */
  unlessQuiet(what: Promise<unknown>): Promise<void>;
  /** Starts the daemons that don't run. */
  start(): void;
  /** Until every target says that it is in sync, for a while at most. */
  quiet(): Promise<void>;
  /**
   * Resolves when all targets are in sync as of a time (epoch ms), waking the daemons repeatedly. @param also targets in addition to the
   * calendars
   */
  untilInSync(since: number, longestMs: number, also?: readonly Named[]): Promise<void>;
  /** Looks whether what the status says is true. */
  check(): Promise<void>;
  /** False reports found by the checks. */
  readonly claims: Defect[];
  /** Makes every tenant due for a read, as far as Redis accepts the command. */
  wake(): Promise<void>;
  beginLie(): void;
  endLie(): void;
  /** Before the world settles. */
  atEnd(what: () => unknown): void;
  touch(target: CalendarTarget, object: RemoteObject): void;
  /** The world settles only after this target was read back; what its objects show is judged all the time. */
  readBack(target: CalendarTarget): void;
  dismiss(target: CalendarTarget): void;
  /** Daemons are replaced one after another; all but the first with `butOne`. */
  rollOver(options?: { butOne?: boolean }): Promise<void>;
  /** Runs the deferred end of the faults. */
  end(): Promise<void>;
}

const LONGEST_PASS_MS = 2_500;
const LONGEST_STRIKE_MS = 4_000;
/** From the start of a daemon to its first wait. */
const START_MS = 1_500;
const LOOK_MS = 10;
const WAKE_MS = 400;
const LONGEST_QUIET_MS = 2_500;
const LOOK_AGAIN_MS = 250;

/** Opens the scene of a world. */
export function openScene(world: World): Scene {
  const operator = openOperator(world);
  const byFault = new Map<string, number>();
  const doubts = new Set<Doubt>();
  const lying: { from: number; to: number }[] = [];
  const endings: (() => unknown)[] = [];
  const touched = new Map<CalendarTarget, Set<string>>();
  const dismissed = new Set<CalendarTarget>();
  let lies = 0;
  const scene: Scene = {
    pace: 1,
    claims: [],
    ...{
      world,
      operator,
      byFault,
      doubts,
      lying,
      touched,
      dismissed,
      unmarked: new Set(),
      revoked: new Set(),
      tokens: world.clinicTokens,
    },
    denials: [],
    count(fault, where) {
      byFault.set(fault, (byFault.get(fault) ?? 0) + 1);
      world.note(fault, where === undefined ? {} : { where });
    },
    doubt: (doubt) => void doubts.add(doubt),
    after: async (ms, what) => {
      await delay(ms);
      return what();
    },
    ...openWaits(world, operator, () => scene.pace),
    async check() {
      scene.claims.push(...(await checkClaims(scene)));
    },
    beginLie() {
      lies += 1;
      if (lies === 1) lying.push({ from: Date.now(), to: Infinity });
    },
    endLie() {
      lies -= 1;
      const last = lying.at(-1);
      if (lies === 0 && last !== undefined) last.to = Date.now();
    },
    atEnd: (what) => void endings.push(what),
    touch(target, { title }) {
      const entries = world.tenants.get(target.tenant)?.history.now() ?? [];
      for (const entry of entries.filter((each) => title.includes(surnameOf(each))))
        touched.set(target, (touched.get(target) ?? new Set()).add(entry.id));
    },
    readBack: (target) => void touched.set(target, touched.get(target) ?? new Set()),
    dismiss: (target) => void dismissed.add(target),
    async rollOver({ butOne = false } = {}) {
      await operator.reload();
      for (const daemon of world.daemons.slice(butOne && world.daemons.length > 1 ? 1 : 0)) {
        await daemon.stop();
        scene.start();
      }
    },
    async end() {
      for (const ending of endings.splice(0)) await ending();
    },
  };
  return scene;
}

interface Wait {
  since: number;
  longestMs: number;
  also?: readonly Named[];
  meanwhile: () => Promise<void>;
}

/** Opens the waits of a scene for its world. @param pace slowdown of the host */
function openWaits(
  world: World,
  operator: Scene['operator'],
  pace: () => number,
): Pick<Scene, 'passed' | 'unlessQuiet' | 'start' | 'quiet' | 'untilInSync' | 'wake'> {
  async function untilInSync({ since, longestMs, also = [], meanwhile }: Wait): Promise<void> {
    const awaited = [...world.targets, ...also];
    const deadline = performance.now() + longestMs * pace();
    for (;;) {
      const view = await Promise.race([operator.status().catch(() => null), delay(WAKE_MS, null)]);
      if ((view !== null && areFresh(awaited, view, since)) || performance.now() > deadline) return;
      await meanwhile();
      await delay(LOOK_AGAIN_MS);
    }
  }
  function wake(): Promise<void> {
    world.hub.expect(WAKE_MS * pace());
    return Promise.race([operator.wake().catch(() => {}), delay(WAKE_MS)]);
  }
  return {
    async passed(awaits) {
      const [until, deadline] = [world.hub.total + awaits, performance.now() + LONGEST_PASS_MS * pace()];
      while (world.hub.total < until && !world.hub.isQuiet && performance.now() < deadline) await delay(LOOK_MS);
    },
    async unlessQuiet(what) {
      let isDone = false;
      void what.finally(() => {
        isDone = true;
      });
      const deadline = performance.now() + LONGEST_STRIKE_MS * pace();
      while (!isDone && !world.hub.isQuiet && performance.now() < deadline) await delay(LOOK_MS);
    },
    start() {
      for (const daemon of world.daemons) {
        if (daemon.isAlive()) continue;
        daemon.start();
        world.hub.expect(START_MS * pace());
      }
    },
    async quiet() {
      const since = Date.now();
      await wake();
      await untilInSync({ since, longestMs: LONGEST_QUIET_MS, meanwhile: async () => {} });
    },
    untilInSync: (since, longestMs, also = []) => untilInSync({ since, longestMs, also, meanwhile: wake }),
    wake,
  };
}

/** Returns connections in use: an operator does not reconnect a calendar that is no longer configured. */
export function loginsInUse({ world, dismissed }: Pick<Scene, 'world' | 'dismissed'>): Login[] {
  const ofDismissed = ({ tenant, connection }: Login) =>
    // A target that was renamed keeps its connection's name before its own.
    [...dismissed].some((calendar) => calendar.tenant === tenant && calendar.target.startsWith(connection));
  return world.logins.filter((login) => !ofDismissed(login));
}

/**
 * Returns whether each configured target is in sync as of a time. CRM patients are excluded, because they are read too seldom for a wait.
 */
function areFresh(targets: readonly Named[], { tenants }: Status, since: number): boolean {
  return targets.every(({ tenant, target }) => {
    const found = tenants.find((each) => each.tenant === tenant)?.targets.find((each) => each.target === target);
    if (found === undefined || found.reason === 'paused') return true;
    return found.sync === 'in-sync' && (found.inSyncAsOf ?? 0) > since;
  });
}

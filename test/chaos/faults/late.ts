import type { Scene } from '../run/scene.ts';
import type { Await, Service } from '../world/gates.ts';
import type { ClinicDesk } from '../world/tenants.ts';
import { type Ceasing, type Fault, fault } from './fault.ts';
import { placeOf } from './processes.ts';

const DAY_MS = 86_400_000;
/** The longest wait for the await, for another daemon's takeover, and for the effect of the late operation. */
const WAITS_MS = { await: 5_000, successor: 9_000, harm: 1_200 };
/** Independent of the host's load: the sender gives up a request that takes longer. */
const LONGEST_HELD_MS = 24_000;

interface Kind {
  side: 'before' | 'after';
  /** Null: a write to the service. */
  only: RegExp | null;
}

/** The late operation, and its await. */
const LATE: Readonly<Record<string, Kind>> = {
  /** A request takes longer than its sender holds the lease. */
  request: { side: 'before', only: null },
  /** A command to Redis is: the plan of a cycle. */
  command: { side: 'before', only: /^redis \w+ lease-plan\+target\+outbox/ },
  /** A worker pauses between its last check of the lease and its call. */
  worker: { side: 'after', only: /^redis \w+ lease-lane\+outbox$/ },
  /** A command to Redis is late: the result of a write. Afterwards the appointment returns to the state of that write. */
  settlement: { side: 'before', only: /^redis \w+ lease-lane\+outbox\+outbox-due/ },
  /**
   * A worker no longer gets answers of Redis, and a read takes longer than the worker holds the lease, followed by a write. Only HubSpot
   * accepts a write without a check of the current state.
   */
  deaf: { side: 'before', only: /^hubspot POST .*\/meetings\/(batch\/read|search)$/ },
};
/** The tenant with HubSpot, and its target of appointments. */
const HUBSPOT = { tenant: 'aurora', target: 'visits' };

interface Late {
  [name: string]: string | number | boolean;
  how: string;
  service: string;
  tenant: number;
  which: number;
}

/**
 * Delays one daemon's decision until another daemon has taken over and written a newer one: an appointment is moved, the second daemon is
 * stopped during its work, the appointment is moved again, and a third daemon takes over.
 */
async function playLate(scene: Scene, { how, service, tenant, which }: Late): Promise<Ceasing> {
  const { world } = scene;
  const late = LATE[how];
  const desk = [...world.tenants.values()][tenant % world.tenants.size];
  if (world.daemons.length < 2 || desk === undefined || late === undefined) return {};
  await scene.quiet();
  const released = Promise.withResolvers<void>();
  const undo: (() => void)[] = [];
  const agenda = agendaOf(scene, desk, service);
  const snare = world.hub.lay({
    moment: {
      service: late.only === null ? (service as Service) : null,
      write: false,
      skip: 0,
      side: late.side,
      fresh: false,
    },
    times: 1,
    only: late.only === null ? ({ isWrite }) => isWrite : isOf(late.only, laneOf(scene, desk, agenda)),
    async strike(at) {
      scene.count(`late-${how}`, at.name);
      const place = placeOf(scene, at);
      if (how === 'deaf' && place !== undefined) {
        place.gate.silent = true;
        undo.push(() => Object.assign(place.gate, { silent: false }));
      }
      if (how !== 'worker') return released.promise;
      place?.freeze();
      void released.promise.then(() => place?.thaw());
    },
  });
  const ahead = desk.ahead().filter(({ agendaId }) => agendaId === agenda);
  const id = ahead[which % Math.max(1, ahead.length)]?.id;
  if (id === undefined) return { cease: () => snare.lift() };
  move(desk, id, 3);
  await scene.wake();
  await Promise.race([snare.spent, scene.after(WAITS_MS.await * scene.pace, () => {})]);
  snare.lift();
  move(desk, id, 5);
  const heldMs = Math.min(WAITS_MS.successor, LONGEST_HELD_MS / scene.pace);
  await scene.untilInSync(Date.now(), heldMs, how === 'deaf' ? [HUBSPOT] : []);
  released.resolve();
  // Immediately: the next read would show that the late result differs from the clinic's data.
  if (how === 'settlement') move(desk, id, -5);
  await scene.after(WAITS_MS.harm * scene.pace, () => {});
  for (const each of undo) each();
  await scene.check();
  return {};
}

/** The agenda that is shown where the service is. */
function agendaOf({ world }: Scene, { agendaIds }: ClinicDesk, service: string): string {
  const target = world.targets.find(
    (each) => each.service === service && agendaIds.includes(each.rules.agendaIds[0] ?? ''),
  );
  return target?.rules.agendaIds[0] ?? agendaIds[0] ?? '';
}

/** The calendar that shows an agenda. */
function laneOf({ world }: Scene, { agendaIds }: ClinicDesk, agenda: string): string | undefined {
  const own = world.targets.filter(({ rules }) => agendaIds.includes(rules.agendaIds[0] ?? ''));
  return own.find(({ rules }) => rules.agendaIds.includes(agenda))?.target;
}

/** Awaits of a name; of those that are about a lane, the ones about this lane. */
function isOf(name: RegExp, lane: string | undefined): (at: Await) => boolean {
  return (at) => name.test(at.name) && (at.lane === undefined || at.lane === lane);
}

function move(desk: ClinicDesk, id: string, days: number): void {
  const one = desk.history.now().find((entry) => entry.id === id);
  if (one === undefined) return;
  const start = one.start + days * DAY_MS;
  desk.do((clinic) => clinic.move(desk.tenantId, id, { start, end: start + one.end - one.start }));
}

/** Late operations. */
export const LATE_FAULTS: Readonly<Record<string, Fault>> = {
  late: fault({
    ...{ group: 'kills', isOfLoneRedis: true },
    draw: (draw): Late => {
      const how = draw.pick(['request', 'command', 'worker', 'settlement', 'deaf']);
      const service = draw.pick(['google', 'graph', 'caldav']);
      return { how, service, tenant: how === 'deaf' ? 0 : draw.upTo(2), which: draw.upTo(10) };
    },
    play: playLate,
  }),
};

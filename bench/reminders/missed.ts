import { reminderName } from './judge.ts';
import { type Allowed, allowedFor, isNight } from './local-time.ts';
import {
  AGENDAS,
  type ChannelName,
  type Happening,
  type PlannedRule,
  PROMISE,
  RULES,
  type TrueAppointment,
  type TruePatient,
} from './world-plan.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** A later read plans reminders after this horizon. */
const HORIZON_MS = 2 * DAY_MS;
/** A reminder that could have been sent for less than this may be given up. */
const LEAST_CHANCE_MS = 20 * MINUTE_MS;

/** Half-open span of time. */
export interface Span {
  fromAt: number;
  toAt: number;
}

/** Events that prevented reminders, and events that let the daemon plan them. */
export interface Circumstances {
  /** No worker ran. */
  down: readonly Span[];
  /** The clinic did not answer. */
  away: readonly Span[];
  /** When each tenant's appointments were read as a whole. */
  readings: ReadonlyMap<string, readonly number[]>;
}

/** An appointment that stood unchanged for a while, as far as reminders go. */
interface Stand extends Span {
  appointment: TrueAppointment;
}

/** Returns the names of the reminders without an obstacle: each of them must be received. */
export function owed(history: readonly Happening[], circumstances: Circumstances): Set<string> {
  const names = new Set<string>();
  const patients = patientSpans(history);
  // The first one counts: each member of a family may send one.
  const optOuts = new Map(
    history.toReversed().flatMap((one) => (one.kind === 'opt-out' ? [[one.address, one.at] as const] : [])),
  );
  for (const stand of standsOf(history)) {
    const { appointment } = stand;
    for (const rule of RULES.filter(({ agendas }) => agendas.includes(appointment.agendaId))) {
      const allowed = allowedFor(rule, appointment.startAt, zoneOf(appointment));
      if (allowed === null || !hadItsChance(stand, allowed, circumstances)) continue;
      for (const channel of rule.channels) {
        if (isReachable(channel, patients.get(appointment.patientId) ?? [], allowed, optOuts)) {
          names.add(nameOf(appointment, rule, channel));
        }
      }
    }
  }
  return names;
}

function nameOf({ id, startAt }: TrueAppointment, rule: PlannedRule, channel: ChannelName): string {
  return reminderName(id, startAt, rule.id, channel);
}

function zoneOf({ agendaId }: TrueAppointment): string {
  return AGENDAS[agendaId]?.zone ?? 'UTC';
}

function hadItsChance({ fromAt, toAt, appointment }: Stand, allowed: Allowed, circumstances: Circumstances): boolean {
  const plannedBy = allowed.fromAt - PROMISE.leadMinutes * MINUTE_MS;
  if (toAt <= allowed.untilAt || fromAt > plannedBy) return false;
  const readings = circumstances.readings.get(AGENDAS[appointment.agendaId]?.tenant ?? '') ?? [];
  const planFrom = Math.max(fromAt, allowed.fromAt - HORIZON_MS);
  if (!readings.some((at) => at >= planFrom && at <= plannedBy)) return false;
  const obstacles = [...circumstances.down, ...circumstances.away];
  const isAway = circumstances.away.some((span) => span.fromAt <= allowed.untilAt && span.toAt > allowed.fromAt);
  // While the clinic is unreachable, the daemon does not wait until the end of the grace period.
  const patienceMs = (isAway ? PROMISE.unreachableMinutes - 5 : PROMISE.graceMinutes) * MINUTE_MS;
  const untilAt = Math.min(allowed.untilAt, allowed.fromAt + patienceMs);
  let chanceMs = 0;
  for (let at = allowed.fromAt; at < untilAt && chanceMs < LEAST_CHANCE_MS; at += MINUTE_MS) {
    const isBlocked = obstacles.some((span) => span.fromAt <= at && at < span.toAt) || isNight(at, zoneOf(appointment));
    if (!isBlocked) chanceMs += MINUTE_MS;
  }
  return chanceMs >= LEAST_CHANCE_MS || (obstacles.length === 0 && chanceMs > 0);
}

function isReachable(
  channel: ChannelName,
  spans: readonly (Span & { patient: TruePatient })[],
  { fromAt, untilAt }: Allowed,
  optOuts: ReadonlyMap<string, number>,
): boolean {
  if (channel === 'hook') return true;
  const meanwhile = spans.filter((span) => span.fromAt <= untilAt && span.toAt > fromAt);
  return meanwhile.every(({ patient }) => {
    const address = channel === 'text' ? patient.phone : patient.email;
    if (address === null || (optOuts.get(address) ?? Number.POSITIVE_INFINITY) <= untilAt) return false;
    return patient.isActive && (channel === 'mail' || patient.agreed);
  });
}

/** Periods in which an appointment was booked or confirmed with an unchanged start. */
function standsOf(history: readonly Happening[]): Stand[] {
  const stands: Stand[] = [];
  const open = new Map<string, Stand>();
  for (const happening of history) {
    if (happening.kind !== 'appointment') continue;
    const { id, at, now } = happening;
    const standing = open.get(id);
    const isWanted = now !== null && (now.status === 'booked' || now.status === 'confirmed');
    if (standing !== undefined) {
      if (isWanted && now.startAt === standing.appointment.startAt && now.agendaId === standing.appointment.agendaId)
        continue;
      standing.toAt = at;
      open.delete(id);
    }
    if (!isWanted) continue;
    const stand = { fromAt: at, toAt: Number.POSITIVE_INFINITY, appointment: now };
    stands.push(stand);
    open.set(id, stand);
  }
  return stands;
}

function patientSpans(history: readonly Happening[]): Map<string, (Span & { patient: TruePatient })[]> {
  const spans = new Map<string, (Span & { patient: TruePatient })[]>();
  for (const happening of history) {
    if (happening.kind !== 'patient') continue;
    const own = spans.get(happening.id) ?? [];
    const last = own.at(-1);
    if (last !== undefined) last.toAt = happening.at;
    own.push({ fromAt: happening.at, toAt: Number.POSITIVE_INFINITY, patient: happening.now });
    spans.set(happening.id, own);
  }
  return spans;
}

import { type Installation, requireTenant } from '../../control/installation.ts';
import { type Document, explainAddress, link, paragraph, toned } from '../../documents/document.ts';
import type { Language } from '../../messages/message.ts';
import { type Appointment, agendasOf } from '../../model/records.ts';
import { DAY_MS, type Instant, MINUTE_MS } from '../../model/time.ts';
import { OVERLAPS } from './texts.ts';

/** One of two appointments that overlap. */
interface OverlappingAppointment {
  record: string;
  startAt: Instant;
  endAt: Instant;
}

/** Two appointments of one agenda at the same time. */
interface Overlap {
  agenda: string;
  /** The one that begins first. */
  first: OverlappingAppointment;
  second: OverlappingAppointment;
  minutes: number;
}

/** Overlaps of the next days, by the clinic's list. */
interface OverlapReport {
  tenant: string;
  fromAt: Instant;
  toAt: Instant;
  /** False: the clinic's list was incomplete, and more appointments may overlap. */
  isComplete: boolean;
  /** By start, then by agenda. `name` is null if the clinic's list of agendas lacks the agenda. */
  overlaps: readonly (Overlap & { name: string | null })[];
}

/**
 * Returns pairs of appointments in one agenda at overlapping times. Cancelled appointments and appointments without a duration are ignored.
 */
export function overlapsOf(appointments: Iterable<Appointment>): Overlap[] {
  const taking = [...appointments].filter(({ status, time }) => status !== 'cancelled' && time.endAt > time.startAt);
  const overlaps: Overlap[] = [];
  for (const agenda of new Set(taking.flatMap(agendasOf))) {
    const own = taking.filter((one) => agendasOf(one).includes(agenda));
    let open: Appointment[] = [];
    for (const next of own.toSorted(
      (one, other) => one.time.startAt - other.time.startAt || (one.id < other.id ? -1 : 1),
    )) {
      open = open.filter(({ time }) => time.endAt > next.time.startAt);
      for (const before of open) overlaps.push(overlapOf(agenda, before, next));
      open.push(next);
    }
  }
  return overlaps.toSorted(
    (one, other) => one.second.startAt - other.second.startAt || one.agenda.localeCompare(other.agenda),
  );
}

function overlapOf(agenda: string, before: Appointment, next: Appointment): Overlap {
  const sharedMs = Math.min(before.time.endAt, next.time.endAt) - next.time.startAt;
  return { agenda, first: shown(before), second: shown(next), minutes: Math.ceil(sharedMs / MINUTE_MS) };
}

function shown({ id, time: { startAt, endAt } }: Appointment): OverlappingAppointment {
  return { record: id, startAt, endAt };
}

/** Reads the appointments of the next days from the clinic and reports overlaps. @throws MirrorError as the clinic API does */
export async function reportOverlaps(
  installation: Installation,
  tenantId: string,
  days: number,
  signal: AbortSignal,
): Promise<OverlapReport> {
  const { id, clinic, clock } = requireTenant(installation, tenantId);
  const window = { fromAt: clock(), toAt: clock() + days * DAY_MS };
  const names = new Map((await clinic.agendas(signal)).map((agenda) => [agenda.id, agenda.name]));
  const { records, completeness } = await clinic.readAppointments({ agendaIds: null, window }, signal);
  const overlaps = overlapsOf(records.values()).map((each) => ({ ...each, name: names.get(each.agenda) ?? null }));
  return { tenant: id, ...window, isComplete: completeness === 'complete', overlaps };
}

/** Renders the report. */
export function overlapsDocument({ tenant, ...report }: OverlapReport, language: Language): Document {
  const words = OVERLAPS[language];
  const appointment = (record: string) => link(explainAddress(tenant, record), record);
  const rows = report.overlaps.map(({ agenda, name, first, second, minutes }) => ({
    id: `overlap-${first.record}-${second.record}`,
    cells: [
      name ?? agenda,
      appointment(first.record),
      appointment(second.record),
      { is: 'time', at: second.startAt, hasAge: false } as const,
      minutes,
    ],
  }));
  return {
    title: words.title,
    blocks: [
      paragraph(words.about(Math.round((report.toAt - report.fromAt) / DAY_MS))),
      ...(report.isComplete ? [] : [paragraph(toned('wait', words.partial))]),
      rows.length === 0
        ? { is: 'empty', text: words.none }
        : {
            is: 'table',
            caption: words.title,
            headings: [words.agenda, words.first, words.second, words.from, words.minutes],
            rows,
            most: { page: 300, terminal: 50 },
            more: words.more,
          },
    ],
  };
}

import type { Appointment, Invoice, Patient } from '../model/records.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import type { ClinicShown, CycleInput, TargetInput, TargetSetup } from './cycle-input.ts';
import type { SourceRecord } from './diff.ts';
import { shownOf } from './followed.ts';
import type { Mapped, MappingSource } from './mapping/contract.ts';

/** Which appointments feed a target. */
export interface FeedRules {
  /** Ids of agendas. */
  agendas: 'all' | readonly string[];
  /** Ids of treatments; an appointment without one passes only `all`. */
  treatments: 'all' | readonly string[];
  /** Time that is blocked for no patient. */
  blockedTime: 'show' | 'hide';
}

/** What keeps an appointment out of a target; null when nothing does. */
export type Exclusion = 'agenda' | 'treatment' | 'blocked-time';

/** @returns the first rule that keeps the appointment out; blocked time has no treatment, so that rule does not ask for one */
export function exclusionOf(appointment: Appointment, rules: FeedRules): Exclusion | null {
  const { agendas, treatments, blockedTime } = rules;
  if (agendas !== 'all' && !agendas.includes(appointment.agendaId)) return 'agenda';
  if (appointment.patientId === null) return blockedTime === 'hide' ? 'blocked-time' : null;
  const { treatmentId } = appointment;
  const passes = treatments === 'all' || (treatmentId !== null && treatments.includes(treatmentId));
  return passes ? null : 'treatment';
}

/** An appointment as the comparison sees it. */
export function describeAppointment({ id, time, status }: Appointment): SourceRecord {
  return { id, startAt: time.startAt, endAt: time.endAt, isCancelled: status === 'cancelled' };
}

/** A record to be mapped. */
interface Mappable {
  id: string;
  source: MappingSource;
}

/** What a plan maps of a target's records, to be mapped ahead where the mapping holds expressions. */
export function* mappables(
  target: TargetSetup,
  pinned: ReadonlySet<string>,
  { clinicReading, confirmations }: Pick<CycleInput, 'clinicReading' | 'confirmations'>,
): Generator<Mappable> {
  switch (target.stream) {
    case 'patients': {
      if (!isComputable(target, clinicReading)) return;
      const sourceOf = patientSource(target, clinicReading);
      for (const patient of shownOf(clinicReading.streams.patients, confirmations.patients.found)) {
        yield { id: patient.id, source: sourceOf(patient) };
      }
      return;
    }
    case 'appointments': {
      const sourceOf = activitySource(clinicReading);
      const exclusion = activityExclusion(target, pinned);
      for (const appointment of shownOf(clinicReading, confirmations.appointments.found)) {
        if (exclusion(appointment) === null) yield { id: appointment.id, source: sourceOf(appointment) };
      }
      return;
    }
    case 'invoices': {
      for (const invoice of shownOf(clinicReading.streams.invoices, confirmations.invoices.found)) {
        yield { id: invoice.id, source: invoiceSource(invoice) };
      }
    }
  }
}

/** How a target's records are mapped: at once, or as they were mapped ahead. */
export function mapperOf<Source extends { id: string }>(
  { target: { crm }, mapped }: Pick<TargetInput, 'target' | 'mapped'>,
  sourceOf: (record: Source) => MappingSource,
): (record: Source) => Mapped {
  return (record) => {
    const ahead = mapped?.get(record.id);
    if (ahead !== undefined) return ahead;
    return mapped === null && crm !== null ? crm.mapping.mapNow(sourceOf(record)) : { fault: 'not-mapped' };
  };
}

/** Whether all was read that derived properties are computed from: the past, and what is ahead in the target's window. */
export function isComputable(
  { crm, configuration }: TargetSetup,
  { startedAt }: Pick<ClinicShown, 'startedAt'>,
): boolean {
  // The end of the window moves on with each cycle; readings that broke off for less than a day lack next to nothing.
  const aheadUntil = startedAt + (configuration.window.futureDays - 1) * DAY_MS;
  return crm?.patientHistory?.covers(startedAt, aheadUntil) ?? true;
}

/** What keeps an appointment out of a target of activities; null when nothing does. */
export function activityExclusion(
  { configuration }: Pick<TargetSetup, 'configuration'>,
  pinned: ReadonlySet<string>,
): (appointment: Appointment) => string | null {
  return (appointment) => {
    const { id, status, patientId } = appointment;
    if (status === 'cancelled') return 'status';
    if (pinned.has(id)) return null;
    if (patientId === null) return 'blocked-time';
    return exclusionOf(appointment, configuration) ?? (configuration.statuses.includes(status) ? null : 'status');
  };
}

export function patientSource(
  { crm }: TargetSetup,
  { startedAt }: Pick<ClinicShown, 'startedAt'>,
): (patient: Patient) => MappingSource {
  const patientHistory = crm?.patientHistory ?? null;
  return (patient) => ({
    stream: 'patients',
    patient,
    derived: patientHistory === null ? null : patientHistory.of(patient.id, startedAt),
  });
}

/** What an appointment's activity is mapped from. */
export function activitySource({ directory }: ClinicShown): (appointment: Appointment) => MappingSource {
  const { agendas, locations, treatments } = directory;
  return (appointment) => {
    const agenda = agendas.get(appointment.agendaId);
    const location = locations.get(appointment.locationId ?? agenda?.locationId ?? '');
    return {
      stream: 'appointments',
      appointment,
      agenda: agenda?.name ?? null,
      location: location?.name ?? null,
      treatment: treatments.get(appointment.treatmentId ?? '')?.name ?? null,
    };
  };
}

/** Texts of the clinic that an appointment's activity may tell. */
export function clinicTexts(shown: ClinicShown): (appointment: Appointment) => (string | null)[] {
  const sourceOf = activitySource(shown);
  return (appointment) => {
    const source = sourceOf(appointment);
    return source.stream === 'appointments'
      ? [source.agenda, source.location, source.treatment, appointment.status]
      : [];
  };
}

/** What an invoice's deal is mapped from. */
export function invoiceSource(invoice: Invoice): MappingSource {
  const { id, patientId, number, issueDate: date, currency, status, doctors } = invoice;
  const [total, paid] = [amountOf(invoice.totalAmount), amountOf(invoice.paidAmount)];
  return {
    stream: 'invoices',
    invoice: { id, patientId, number, date, total, paid, currency, doctors: [...doctors], status },
  };
}

/** A patient has no time: they are there always. */
export function describePatient({ id }: Patient): SourceRecord {
  return { id, startAt: 0, endAt: 1, isCancelled: false };
}

/** An invoice as the comparison sees it: the day of its issue. */
export function describeInvoice(invoice: Invoice): SourceRecord {
  const startAt = startOfInvoice(invoice);
  return { id: invoice.id, startAt, endAt: startAt + DAY_MS, isCancelled: invoice.status === 'Cancelled' };
}

/** A decimal of the clinic as a number: two digits after the point, far below where numbers lose cents. */
function amountOf(decimal: string | null): number | null {
  const amount = decimal === null ? Number.NaN : Number(decimal);
  return Number.isFinite(amount) ? amount : null;
}

/** By UTC: a deal's date need not be exact to the hour to be in a window. */
export function startOfInvoice({ issueDate }: Invoice): Instant {
  return issueDate === null ? 0 : Date.parse(`${issueDate}T00:00:00Z`);
}

import { addDays, type Zone } from '../../../sandbox/clinic/data/zone.ts';
import { FLAGS, type Form, type ListName, STATUS_VALUES, type TimeForm, unitOf } from './form.ts';
import { AGENDA_IDS, isFlags, type MeantAppointment, type MeantPatient, spanOf, zoneOf } from './meant.ts';

export const TENANT = '77';
export const FOREIGN_TENANT = '78';

/** A row of a list with where it belongs. */
export interface ToldRow {
  id: string;
  agendaId: string | null;
  startAt: number;
  endAt: number;
  row: Record<string, unknown>;
}

/** Names of fields that refer to other records. */
const REFERENCES: Record<string, string> = { agendaId: 'agenda', patientId: 'patient', doctorId: 'doctor' };

/** The path of a field of ours in the rows of a form. */
export function pathOf({ names, references }: Form, field: string): string {
  const thing = REFERENCES[field];
  const spelled = (name: string) => {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (names === 'camel') return name;
    if (names === 'snake') return snake;
    return names === 'shouted' ? snake.toUpperCase() : `attributes.${snake}`;
  };
  return thing !== undefined && references === 'nested'
    ? `${spelled(thing)}.${spelled('id').split('.').at(-1)}`
    : spelled(field);
}

/** Where a row names its tenant; null where it doesn't. */
export function tenantPathOf({ tenant }: Form): string | null {
  if (tenant === 'none') return null;
  return tenant === 'flat' ? 'studio_id' : 'studio.id';
}

/** An id as a form has it. */
export function idIn({ ids }: Form, id: string): string | number {
  if (ids === 'text') return `x-${id}`;
  return ids === 'number' ? Number(id) : id;
}

/** Puts values into a row, by their paths. */
class Row {
  readonly row: Record<string, unknown> = {};
  readonly #form: Form;
  readonly #zone: Zone;

  constructor(form: Form) {
    this.#form = form;
    this.#zone = zoneOf(form.zone);
  }

  put(field: string, value: unknown): this {
    return this.at(pathOf(this.#form, field), value);
  }

  at(path: string, value: unknown): this {
    if (value === 'missing') return this;
    const names = path.split('.');
    let holder = this.row;
    for (const name of names.slice(0, -1)) {
      holder[name] ??= {};
      holder = holder[name] as Record<string, unknown>;
    }
    holder[names.at(-1) ?? ''] = value;
    return this;
  }

  id(field: string, id: string | null): this {
    return this.put(field, id === null ? null : idIn(this.#form, id));
  }

  truth(field: string, is: boolean | null): this {
    return this.put(field, is === null ? null : truthIn(this.#form, is));
  }

  time(field: string, at: number | null): this {
    const { apart, noTime, times } = this.#form;
    if (at === null) return this.put(field, noTime === 0 && unitOf(times) === null ? null : noTime);
    if (apart?.isEverywhere !== true || field !== 'updatedAt') return this.put(field, timeIn(times, at, this.#zone));
    return this.put('changedDay', dayIn(this.#form, this.#zone.formatDate(at))).put('changedTime', this.#clock(at));
  }

  /** A moment whose date and time of day come apart; without a time it is a day. */
  apart(name: 'start' | 'end', { date, at }: { date: string; at: number | null }): this {
    const { apart } = this.#form;
    const day = name === 'end' && apart?.isShared === false ? 'endDay' : 'day';
    this.put(day, dayIn(this.#form, date));
    return this.put(`${name}Time`, at === null ? apart?.none : this.#clock(at));
  }

  #clock(at: number): string {
    const clock = this.#zone.formatInstant(at).slice(11, 19);
    switch (this.#form.apart?.time) {
      case 'HH:MM':
        return clock.endsWith(':00') ? clock.slice(0, 5) : clock;
      case 'H:MM':
        return clock.replace(/^0/, '').replace(/:00$/, '');
      case 'dated':
        return `0001-01-01T${clock}`;
      default:
        return clock;
    }
  }
}

/** Yes or no as a form tells it. */
function truthIn({ truth }: Form, is: boolean): boolean | number | string {
  if (truth === 'number') return is ? 1 : 0;
  return truth === 'text' ? String(is) : is;
}

/** A time as a form tells it. */
function timeIn(form: TimeForm, at: number, zone: Zone): string | number {
  const told = zone.formatInstant(at);
  switch (form) {
    case 'offset':
      return told;
    case 'basic-offset':
      return told.replace(/:(\d\d)$/, '$1');
    case 'utc':
      return new Date(at).toISOString();
    case 'local':
      return told.slice(0, 19);
    case 'local-space':
      return told.slice(0, 19).replace('T', ' ');
    case 'local-minutes':
      return told.slice(0, 16);
    case 'epoch-seconds':
      return at / 1_000;
    case 'epoch-ms':
      return at;
    case 'epoch-text':
      return String(at / 1_000);
  }
}

/** The date of a moment whose time of day comes apart. */
function dayIn({ apart, epochUnit }: Form, date: string): string | number {
  switch (apart?.date) {
    case 'midnight':
      return `${date}T00:00:00`;
    case 'utc-midnight':
      return `${date}T00:00:00Z`;
    case 'epoch':
      return epochIn(epochUnit, Date.parse(date));
    default:
      return date;
  }
}

function epochIn(unit: Form['epochUnit'], at: number): number {
  return unit === 'ms' ? at : at / 1_000;
}

/** An appointment as a form tells it. */
export function appointmentIn(form: Form, meant: MeantAppointment, tenant: string): ToldRow {
  const { startAt, endAt } = spanOf(meant, form.zone);
  const row = new Row(form)
    .id('id', meant.id)
    .id('agendaId', meant.agendaId)
    .id('patientId', meant.patientId)
    .put('patientFirstName', meant.firstName)
    .time('updatedAt', meant.updatedAt);
  putSpan(row, form, meant);
  putStatus(row, form, meant);
  putTenant(row, form, tenant);
  return { id: meant.id, agendaId: meant.agendaId, startAt, endAt, row: row.row };
}

function putSpan(row: Row, form: Form, meant: MeantAppointment): void {
  const { date, minute, length } = meant;
  const { startAt, endAt } = spanOf(meant, form.zone);
  if (form.end !== 'end') row.put('lasts', minute === null ? null : lengthIn(form, length));
  if (minute !== null) {
    if (form.apart !== null) row.apart('start', { date, at: startAt });
    else row.time('start', startAt);
    if (form.end !== 'end') return;
    if (form.apart !== null) row.apart('end', { date, at: endAt });
    else row.time('end', endAt);
    return;
  }
  putWholeDays(row, form, { date, end: addDays(date, length) });
}

/** Whole days from a date to another that is no more one of them. */
function putWholeDays(row: Row, form: Form, { date, end }: { date: string; end: string }): void {
  const zone = zoneOf(form.zone);
  const last = form.allDayEnd === 'inclusive' ? addDays(end, -1) : end;
  const hasEnd = form.end === 'end';
  row.truth('isWholeDay', true);
  if (form.apart !== null) {
    row.apart('start', { date, at: null });
    if (hasEnd && !form.apart.isShared) row.apart('end', { date: last, at: null });
  } else if (form.wholeDays === 'instants') {
    row.time('start', zone.startOfDay(date)).time('end', hasEnd ? zone.startOfDay(end) : null);
  } else {
    const told = (day: string) => (form.wholeDays === 'dates' ? day : `${day}T00:00:00Z`);
    row.put('start', told(date)).put('end', hasEnd ? told(form.wholeDays === 'dates' ? last : end) : null);
  }
}

function lengthIn({ end }: Form, minutes: number): number | string {
  if (end === 'seconds') return minutes * 60;
  if (end === 'iso') return `PT${Math.floor(minutes / 60)}H${minutes % 60}M`;
  if (end === 'clock') return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`;
  return end === 'minutes' ? minutes : String(minutes);
}

function putStatus(row: Row, form: Form, { status, updatedAt }: MeantAppointment): void {
  if (!isFlags(form.status)) {
    const value = STATUS_VALUES[form.status as keyof typeof STATUS_VALUES][status];
    row.at(statusPathOf(form), value ?? null);
    return;
  }
  for (const [index, [name, means]] of FLAGS.entries()) {
    // What was so before stays told: who was confirmed and cancelled is cancelled.
    const isSo = means === status || (index === 0 && status !== 'booked');
    if (form.status === 'flags-as-times')
      row.time(name, isSo ? (updatedAt ?? Date.parse('2026-02-01T10:00:00Z')) : null);
    else row.put(name, FLAG_VALUES[form.status as keyof typeof FLAG_VALUES][isSo ? 0 : 1]);
  }
}

/** What raises a flag, and what does not. */
export const FLAG_VALUES = {
  flags: [true, false],
  'flags-as-numbers': [1, 0],
  'flags-as-words': ['present', 'absent'],
} as const;

/** Where the status stands. */
export function statusPathOf(form: Form): string {
  return form.status === 'inner-number' ? `${pathOf(form, 'state')}.code` : pathOf(form, 'state');
}

function putTenant(row: Row, form: Form, tenant: string): void {
  const path = tenantPathOf(form);
  if (path !== null) row.at(path, idIn(form, tenant));
}

/** A patient as a form tells them. */
export function patientIn(form: Form, meant: MeantPatient, tenant: string): ToldRow {
  const row = new Row(form)
    .id('id', meant.id)
    .put('lastName', meant.lastName)
    .put('birthDate', meant.birthDate === null ? null : birthIn(form, meant.birthDate))
    .truth('isActive', meant.isActive)
    .truth('mail', meant.agreesToMail);
  putTenant(row, form, tenant);
  return { id: meant.id, agendaId: null, startAt: 0, endAt: 0, row: row.row };
}

function birthIn({ births, zone, epochUnit }: Form, date: string): string | number {
  switch (births) {
    case 'date':
      return date;
    case 'time':
      return `${date}T00:00:00`;
    case 'utc-time':
      return `${date}T00:00:00Z`;
    case 'local-midnight':
      return new Date(zoneOf(zone).startOfDay(date)).toISOString();
    case 'epoch':
      return epochIn(epochUnit, Date.parse(date));
  }
}

/** The agendas as a form tells them. */
export function agendasIn(form: Form, tenant: string): ToldRow[] {
  return AGENDA_IDS.map((id) => {
    const row = new Row(form)
      .id('id', id)
      .put('name', `Agenda ${id}`)
      .id('doctorId', `9${id}`)
      .truth('isActive', id !== '13');
    putTenant(row, form, tenant);
    return { id, agendaId: null, startAt: 0, endAt: 0, row: row.row };
  });
}

/** The rows of a list as a form tells them. */
export type ToldLists = Record<ListName, ToldRow[]>;

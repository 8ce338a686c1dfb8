import { addDays, type Zone } from '../../../sandbox/clinic/data/zone.ts';
import { FLAGS, type Form, hasNumbers, type ListName, STATUS_VALUES, unitOf } from './form.ts';
import { AGENDA_IDS, isFlags, LAST_NAMES, type MeantAppointment, type MeantPatient, spanOf, zoneOf } from './meant.ts';
import {
  fullNameIn,
  LOCATION_ZONES,
  locationOfAgenda,
  locationOfRow,
  longId,
  putAt,
  putContacts,
  zoneNameOf,
  zoneOfAgenda,
  zoneOfRow,
} from './row-form.ts';
import { spelledDate, spelledTime } from './spelling.ts';

export const TENANT = '77';
export const FOREIGN_TENANT = '78';

/** A row of a list with where it belongs. */
export interface ToldRow {
  id: string;
  agendaId: string | null;
  startAt: number;
  endAt: number;
  isTombstone?: boolean;
  row: Record<string, unknown>;
}

/** Names of fields that refer to other records. */
const REFERENCES: Record<string, string> = { agendaId: 'agenda', patientId: 'patient', doctorId: 'doctor' };

/** The path of a model field in the rows of a form. */
export function pathOf({ names, references, rows: { idName } }: Form, field: string): string {
  const thing = REFERENCES[field];
  const spelled = (name: string) => {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (names === 'camel') return name;
    if (names === 'snake') return snake;
    return names === 'shouted' ? snake.toUpperCase() : `attributes.${snake}`;
  };
  if (field === 'id') return spelled(idName);
  if (thing === undefined || references === 'flat') return spelled(field);
  const within = { nested: '', listed: '[]', conditioned: `[kind=${thing}]` }[references];
  return `${spelled(references === 'conditioned' ? 'parties' : thing)}${within}.${spelled(idName).split('.').at(-1)}`;
}

/** Where a row names its tenant; null where it doesn't. */
export function tenantPathOf({ tenant }: Form): string | null {
  if (tenant === 'none') return null;
  return tenant === 'flat' ? 'studio_id' : 'studio.id';
}

export function idIn({ ids, rows }: Form, id: string): string | number | bigint {
  if (ids === 'text') return `x-${id}`;
  if (rows.hasLongIds) return ids === 'number' ? longId(id) : String(longId(id));
  return ids === 'number' ? Number(id) : id;
}

/** Puts values into a row, by their paths. */
class Row {
  readonly row: Record<string, unknown> = {};
  readonly #form: Form;
  readonly #zone: Zone;

  constructor(form: Form, zone: string = form.zone) {
    this.#form = form;
    this.#zone = zoneOf(zone);
  }

  put(field: string, value: unknown): this {
    return this.at(pathOf(this.#form, field), value);
  }

  at(path: string, value: unknown): this {
    if (value !== 'missing') putAt(this.row, path, value);
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
    if (apart?.isEverywhere !== true || field !== 'updatedAt')
      return this.put(field, timeIn(this.#form, at, this.#zone));
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

/** A boolean in a form. */
function truthIn({ truth }: Form, is: boolean): boolean | number | string {
  if (truth === 'number') return is ? 1 : 0;
  return truth === 'text' ? String(is) : is;
}

function timeIn({ times, rows }: Form, at: number, zone: Zone): string | number {
  const told = zone.formatInstant(at);
  switch (times) {
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
    case 'dot-net':
      return `/Date(${at}${told.slice(19).replace(':', '')})/`;
    case 'digits':
      return Number(told.slice(0, 19).replaceAll(/\D/g, ''));
    case 'spelled':
    case 'spelled-too':
      return spelledTime(rows.spelling, at, { zone, name: zone.name });
  }
}

/** The date of a moment whose time of day comes apart. */
function dayIn(form: Form, date: string): string | number {
  const { apart, epochUnit } = form;
  switch (apart?.date) {
    case 'midnight':
      return `${date}T00:00:00`;
    case 'utc-midnight':
      return `${date}T00:00:00Z`;
    case 'epoch':
      return epochIn(epochUnit, Date.parse(date));
    default:
      return dateIn(form, date);
  }
}

function dateIn(form: Form, date: string): string | number {
  const { spelling } = form.rows;
  if (!spelling.isOnDates) return date;
  return spelling.isNumber && spelling.date === 'basic' && !hasNumbers(form)
    ? Number(date.replaceAll('-', ''))
    : spelledDate(spelling, date);
}

function epochIn(unit: Form['epochUnit'], at: number): number {
  return unit === 'ms' ? at : at / 1_000;
}

export function appointmentIn(form: Form, meant: MeantAppointment, tenant: string): ToldRow {
  const zone = zoneNameOf(form, meant);
  const { startAt, endAt } = spanOf(meant, zone);
  const told = { id: meant.id, agendaId: meant.agendaId, startAt, endAt };
  if (meant.isGone === true && form.rows.tombstones !== 'whole') {
    const stone = new Row(form).id('id', meant.id);
    if (form.rows.tombstones === 'bare') putDeletion(stone, form, true);
    else putStatus(stone, form, { ...meant, status: 'cancelled' });
    putTenant(stone, form, tenant);
    return { ...told, isTombstone: true, row: stone.row };
  }
  const row = new Row(form, zone)
    .id('id', meant.id)
    .id('agendaId', meant.agendaId)
    .id('patientId', meant.patientId)
    .time('updatedAt', meant.updatedAt);
  if (form.rows.fullName === null) row.put('patientFirstName', meant.firstName);
  else row.put('patientName', fullNameIn(form, meant.firstName, lastNameOf(meant.id)));
  if (form.rows.zones.row) row.put('zone', zoneOfRow(form, meant.id));
  if (form.rows.zones.location === 'row') row.id('locationId', locationOfRow(form, meant.id));
  putDeletion(row, form, meant.isGone === true);
  putSpan(row, form, meant);
  putStatus(row, form, meant);
  putTenant(row, form, tenant);
  return { ...told, isTombstone: meant.isGone === true, row: row.row };
}

/** The family name in an appointment, for forms with one name field. */
export function lastNameOf(id: string): string {
  return LAST_NAMES[Number(id) % LAST_NAMES.length] ?? '';
}

function putDeletion(row: Row, form: Form, isGone: boolean): void {
  const { tombstones, raised } = form.rows;
  if (tombstones !== 'bare' && tombstones !== 'whole') return;
  if (raised === 'yes') row.truth('isDeleted', isGone);
  else if (raised === 'time') row.time('deletedAt', isGone ? Date.parse('2026-02-01T10:00:00Z') : null);
  else row.put('record.state', isGone ? 'Removed' : 'Live');
}

function putSpan(row: Row, form: Form, meant: MeantAppointment): void {
  const { date, minute, length } = meant;
  const zone = zoneNameOf(form, meant);
  const { startAt, endAt } = spanOf(meant, zone);
  if (form.end !== 'end') row.put('lasts', minute === null ? null : lengthIn(form, length));
  if (minute !== null) {
    if (form.apart !== null) row.apart('start', { date, at: startAt });
    else row.time('start', startAt);
    if (form.end !== 'end') return;
    if (form.apart !== null) row.apart('end', { date, at: endAt });
    else row.time('end', endAt);
    return;
  }
  putWholeDays(row, form, { date, end: addDays(date, length), zone: zoneOf(zone) });
}

/** Writes whole days; `end` is exclusive. */
function putWholeDays(row: Row, form: Form, { date, end, zone }: { date: string; end: string; zone: Zone }): void {
  const last = form.allDayEnd === 'inclusive' ? addDays(end, -1) : end;
  const hasEnd = form.end === 'end';
  row.truth('isWholeDay', true);
  if (form.apart !== null) {
    row.apart('start', { date, at: null });
    if (hasEnd && !form.apart.isShared) row.apart('end', { date: last, at: null });
  } else if (form.wholeDays === 'instants') {
    row.time('start', zone.startOfDay(date)).time('end', hasEnd ? zone.startOfDay(end) : null);
  } else {
    const told = (day: string) => (form.wholeDays === 'dates' ? dateIn(form, day) : `${day}T00:00:00Z`);
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
    if (form.rows.statusAt !== '') row.at(`${pathOf(form, 'state')}.display`, 'as the desk sees it');
    return;
  }
  for (const [index, [name, means]] of FLAGS.entries()) {
    // The first flag stays set: a cancelled appointment keeps its confirmation.
    const isSo = means === status || (index === 0 && status !== 'booked');
    if (form.status === 'flags-as-times')
      row.time(name, isSo ? (updatedAt ?? Date.parse('2026-02-01T10:00:00Z')) : null);
    else row.put(name, FLAG_VALUES[form.status as keyof typeof FLAG_VALUES][isSo ? 0 : 1]);
  }
}

/** Values that raise a flag, and a value that does not. */
export const FLAG_VALUES = {
  flags: [true, false],
  'flags-as-numbers': [1, 0],
  'flags-as-words': ['present', 'absent'],
} as const;

/** Where the status stands. */
export function statusPathOf(form: Form): string {
  return `${pathOf(form, 'state')}${form.rows.statusAt}`;
}

function putTenant(row: Row, form: Form, tenant: string): void {
  const path = tenantPathOf(form);
  if (path !== null) row.at(path, idIn(form, tenant));
}

export function patientIn(form: Form, meant: MeantPatient, tenant: string): ToldRow {
  const isBare = meant.isGone === true && form.rows.tombstones === 'bare';
  const row = new Row(form).id('id', meant.id);
  const told = { id: meant.id, agendaId: null, startAt: 0, endAt: 0, isTombstone: meant.isGone === true };
  putDeletion(row, form, meant.isGone === true);
  if (isBare) return { ...told, row: row.row };
  if (form.rows.fullName === null) row.put('firstName', meant.firstName).put('lastName', meant.lastName);
  else row.put('name', fullNameIn(form, meant.firstName, meant.lastName));
  const phone = meant.phone !== null && form.rows.hasNumbersForText ? Number(meant.phone) : meant.phone;
  putContacts(row.row, form, { phone, email: meant.email });
  row
    .put('birthDate', meant.birthDate === null ? null : birthIn(form, meant.birthDate))
    .truth('isActive', meant.isActive)
    .truth('mail', meant.agreesToMail);
  putTenant(row, form, tenant);
  return { ...told, row: row.row };
}

function birthIn(form: Form, date: string): string | number {
  const { births, zone, epochUnit } = form;
  switch (births) {
    case 'date':
      return dateIn(form, date);
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

export function agendasIn(form: Form, tenant: string): ToldRow[] {
  return AGENDA_IDS.map((id) => {
    const row = new Row(form)
      .id('id', id)
      .put('name', `Agenda ${id}`)
      .id('doctorId', `9${id}`)
      .truth('isActive', id !== '13')
      .id('locationId', locationOfAgenda(form, id))
      .put('zone', zoneOfAgenda(form, id));
    putTenant(row, form, tenant);
    return { id, agendaId: null, startAt: 0, endAt: 0, row: row.row };
  });
}

export function locationsIn(form: Form, tenant: string): ToldRow[] {
  return Object.entries(LOCATION_ZONES).map(([id, zone]) => {
    const row = new Row(form).id('id', id).put('name', `Location ${id}`).put('zone', zone);
    putTenant(row, form, tenant);
    return { id, agendaId: null, startAt: 0, endAt: 0, row: row.row };
  });
}

/** The rows of each list in a form. */
export type ToldLists = Record<ListName, ToldRow[]>;

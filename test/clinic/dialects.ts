import type { AppointmentStatus } from '../../src/core/model/records.ts';
import {
  AGENDAS,
  APPOINTMENTS,
  instantOf,
  overlaps,
  PATIENTS,
  type TrueAppointment,
  withOffset,
} from './dialect-truth.ts';
import type { Script, ScriptedAnswer, ScriptedRequest } from './scripted-server.ts';

/** A clinic system with its own form of rows, lists and errors. The profile of the same name matches it. */
export interface Dialect {
  profile: 'documented' | 'bare' | 'pages' | 'hostile';
  /** Statuses that its lists leave out. */
  hides: AppointmentStatus[];
  /** Whether its lists carry evidence of an early end. */
  tellsWhole: boolean;
  row(appointment: TrueAppointment): object;
  catalogueRow(row: object): object;
  /** Answers a list from all rows that fit the request. */
  list(rows: object[], request: ScriptedRequest, truncated: boolean): ScriptedAnswer;
  fits(appointment: TrueAppointment, request: ScriptedRequest): boolean;
  missingClaim: ScriptedAnswer;
  insufficientPermissions: ScriptedAnswer;
  absent: ScriptedAnswer;
}

const WORDS: Record<AppointmentStatus, string> = {
  booked: 'Booked',
  confirmed: 'Confirmed',
  arrived: 'CheckedIn',
  in_progress: 'InProgress',
  completed: 'Completed',
  cancelled: 'Cancelled',
  no_show: 'NoShow',
  unknown: 'Rescheduled',
};

function camelCaseRow(appointment: TrueAppointment): object {
  const { start, end, status, ...ids } = appointment;
  const isDay = start.length === 10;
  const patient = PATIENTS.find(({ id }) => id === ids.patientId) ?? null;
  const time = isDay ? { allDay: true, start, end } : { start: withOffset(start), end: withOffset(end) };
  return { ...ids, patient, ...time, status: WORDS[status], updatedAt: '2026-02-01T10:00:00+01:00' };
}

function within(appointment: TrueAppointment, request: ScriptedRequest): boolean {
  const { query } = request;
  const agendas = query.getAll('agendaId');
  const isAgenda = agendas.length === 0 || agendas.includes(appointment.agendaId);
  return isAgenda && overlaps(appointment, Date.parse(query.get('from') ?? ''), Date.parse(query.get('to') ?? ''));
}

function byOffset(rows: object[], { query }: ScriptedRequest, cap: number): { data: object[]; hasMore: boolean } {
  const offset = Number(query.get('offset') ?? 0);
  const limit = Math.min(Number(query.get('limit') ?? 50), cap);
  return { data: rows.slice(offset, offset + limit), hasMore: offset + limit < rows.length };
}

export const documented: Dialect = {
  profile: 'documented',
  hides: [],
  tellsWhole: true,
  row: camelCaseRow,
  catalogueRow: (row) => row,
  fits: within,
  list(rows, request, truncated) {
    const page = byOffset(rows, request, 40);
    const offset = Number(request.query.get('offset'));
    return { json: { ...page, hasMore: page.hasMore && !truncated, offset, limit: 40, total: rows.length } };
  },
  missingClaim: { status: 403, json: { error: 'missing_claim', message: 'no scope' } },
  insufficientPermissions: { status: 403, json: { error: 'insufficient_permissions', message: 'no' } },
  absent: { status: 404, json: { error: 'not_found' } },
};

export const bare: Dialect = {
  profile: 'bare',
  hides: [],
  tellsWhole: false,
  row(appointment) {
    const { id, agendaId, patientId, treatmentId, start, end, status } = appointment;
    const numbers = { id: Number(id), agendaId: Number(agendaId), patientId: patientId && Number(patientId) };
    return { ...numbers, treatmentId: treatmentId && Number(treatmentId), start, end, status: WORDS[status] };
  },
  catalogueRow: numbered,
  fits: () => true,
  list: (rows, _request, truncated) => ({ json: truncated ? rows.slice(0, 3) : rows }),
  missingClaim: { status: 403, json: { Message: 'The scope agenda is required' } },
  insufficientPermissions: { status: 403, json: { Message: 'You are not permitted to see agendas' } },
  absent: { status: 404, body: '' },
};

const FLAGGED: Record<AppointmentStatus, object> = {
  booked: { status: 'booked' },
  confirmed: { status: 'booked', confirmed: true },
  arrived: { status: 'booked', confirmed: true, arrived_at: '2026-03-01T09:00:00' },
  in_progress: { status: 'in_care', confirmed: true },
  completed: { status: 'done', arrived_at: '2026-03-01T09:00:00' },
  cancelled: { status: 'booked', cancelled_at: '2026-03-01T09:00:00' },
  no_show: { status: 'booked', did_not_arrive: true },
  unknown: { status: 'rescheduled' },
};

export const pages: Dialect = {
  profile: 'pages',
  hides: [],
  tellsWhole: true,
  row(appointment) {
    const { id, agendaId, patientId, treatmentId, start, end, status } = appointment;
    const patient = PATIENTS.find((known) => known.id === patientId);
    const told = patient === undefined ? null : { first_name: patient.firstName, last_name: patient.lastName };
    const lastDay = new Date(Date.parse(end) - 86_400_000).toISOString().slice(0, 10);
    const isDay = start.length === 10;
    const times = isDay ? { starts_at: start, ends_at: lastDay, all_day: true } : { starts_at: start, ends_at: end };
    const ids = { id, agenda_id: agendaId, patient_id: patientId, treatment_id: treatmentId };
    return { ...ids, patient: told, ...times, price: '125.12', updated_at: '2026-02-01 10:00:00', ...FLAGGED[status] };
  },
  catalogueRow: (row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        value,
      ]),
    ),
  fits(appointment, { query }) {
    const from = query.get('date_start') ?? '';
    const afterTo = Date.parse(query.get('date_end') ?? '') + 86_400_000;
    const agendas = query.get('agenda_ids')?.split(',') ?? [];
    const isAgenda = agendas.length === 0 || agendas.includes(appointment.agendaId);
    const toAt = instantOf(new Date(afterTo).toISOString().slice(0, 10));
    return isAgenda && overlaps(appointment, instantOf(from), toAt);
  },
  list(rows, { query }, truncated) {
    const size = Math.min(Number(query.get('pageSize')), 25);
    const start = (Number(query.get('page')) - 1) * size;
    return {
      json: { results: truncated && start > 0 ? [] : rows.slice(start, start + size), total: String(rows.length) },
    };
  },
  missingClaim: { status: 403, json: { error: { code: 'missing_claim' } } },
  insufficientPermissions: { status: 403, json: { error: 'insufficient_permissions', error_description: 'no' } },
  absent: { status: 410, json: { error: 'gone' } },
};

/** Caps pages at 15, repeats one now and then, hides cancelled rows, refuses long windows and more than one agenda. */
export function hostile(): Dialect {
  let listed = 0;
  return {
    ...documented,
    profile: 'hostile',
    hides: ['cancelled'],
    tellsWhole: false,
    fits: (appointment, request) => within(appointment, request) && appointment.status !== 'cancelled',
    list(rows, request, truncated) {
      const { query } = request;
      const days = (Date.parse(query.get('to') ?? '') - Date.parse(query.get('from') ?? '')) / 86_400_000;
      if (days > 30 || query.getAll('agendaId').length > 1) return { status: 400, body: '<html>Bad request</html>' };
      listed += 1;
      const isRepeating = listed === 2;
      const page = byOffset(rows, request, 15);
      if (!isRepeating) return { json: { data: page.data, ...(truncated ? { hasMore: false } : {}) } };
      return { json: { data: rows.slice(0, 15) } };
    },
    missingClaim: { status: 403, json: { title: 'Missing scope', status: 403 } },
    insufficientPermissions: { status: 403, json: { detail: 'Insufficient permissions' } },
  };
}

/** Serves the truth in a dialect. `mood` can be changed while it runs. */
export function speak(dialect: Dialect, mood: { truncated?: boolean; refusal?: ScriptedAnswer }): Script {
  const single = new Map(APPOINTMENTS.map((appointment) => [appointment.id, appointment]));
  return (request) => {
    const { path } = request;
    if (mood.refusal !== undefined) return mood.refusal;
    if (path === '/v2/userinfo') return { json: { sub: 'u', name: 'Ada', tenants: [{ id: 't1', name: 'Uno' }] } };
    if (path === '/v2/tenants/t1/agendas') return dialect.list(AGENDAS.map(dialect.catalogueRow), request, false);
    if (path === '/v2/tenants/t1/patients') return dialect.list(PATIENTS.map(dialect.catalogueRow), request, false);
    if (path === '/v2/tenants/t1/appointments') {
      const rows = APPOINTMENTS.filter((appointment) => dialect.fits(appointment, request)).map(dialect.row);
      return dialect.list(rows, request, mood.truncated === true);
    }
    const appointment = single.get(path.replace('/v2/tenants/t1/appointments/', ''));
    return appointment === undefined ? dialect.absent : { json: dialect.row(appointment) };
  };
}

function numbered(row: object): object {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, name.toLowerCase().endsWith('id') ? Number(value) : value]),
  );
}

import type { AppointmentStatus } from '../../../src/core/model/records.ts';
import {
  AGENDAS,
  APPOINTMENTS,
  instantOf,
  overlaps,
  PATIENTS,
  type TrueAppointment,
  withOffset,
} from '../../clinic/dialect-truth.ts';
import type { Script } from '../../clinic/scripted-server.ts';

const WORDS: Record<AppointmentStatus, string> = {
  booked: 'PRENOTATO',
  confirmed: 'CONFERMATO',
  arrived: 'ACCETTATO',
  in_progress: 'IN_CORSO',
  completed: 'ESEGUITO',
  cancelled: 'DISDETTO',
  no_show: 'NON_PRESENTATO',
  unknown: 'SOSPESO',
};

/** Whole days are no matter of this clinic. */
const TIMED = APPOINTMENTS.filter(({ start }) => start.length > 10);

function row(appointment: TrueAppointment): object {
  const { id, agendaId, patientId, treatmentId, start, end, status } = appointment;
  const patient = PATIENTS.find((known) => known.id === patientId);
  return {
    identificativo: Number(id),
    agenda: { id: Number(agendaId), genitore: null },
    idSede: 9,
    paziente: patient && { id: Number(patient.id), nome: patient.firstName, cognome: patient.lastName },
    idPrestazione: treatmentId && Number(treatmentId),
    dataOraInizio: withOffset(start),
    durataSecondi: (instantOf(end) - instantOf(start)) / 1000,
    stato: WORDS[status],
    ultimaModifica: '2026-02-01T10:00:00+01:00',
  };
}

/** A clinic of the Italian document: cursors, cancelled rows only on request, one list for several agendas. */
export const italianClinic: Script = ({ path, query }) => {
  const paged = (rows: object[]) => {
    const at = Number(query.get('cursor') ?? 0);
    const next = at + Math.min(Number(query.get('per_page') ?? 10), 25);
    const meta = { next_cursor: next < rows.length ? String(next) : null, total_count: rows.length };
    return { json: { meta, elenco: rows.slice(at, next) } };
  };
  const below = path.replace('/gestionale/v3', '');
  if (below === '/userinfo') return { json: { tenants: [{ id: 7 }] } };
  if (below === '/tenants/7/agendas') {
    return paged(
      AGENDAS.map(({ id, name, isActive }) => ({ id: Number(id), denominazione: name, idSede: 9, attivo: isActive })),
    );
  }
  if (below !== '/tenants/7/appointments') return { status: 404, json: { codice: 'non_trovato', messaggio: 'no' } };
  const [from, to] = [Date.parse(query.get('dal') ?? ''), Date.parse(query.get('al') ?? '')];
  if (Number.isNaN(from) || Number.isNaN(to)) return { status: 400, json: { codice: 'periodo_mancante' } };
  const agendas = query.get('idAgenda')?.split(',') ?? null;
  const shown = TIMED.filter(
    (each) =>
      overlaps(each, from, to) &&
      (agendas?.includes(each.agendaId) ?? true) &&
      (each.status !== 'cancelled' || query.get('includiAnnullati') === 'true'),
  );
  return paged(shown.map(row));
};

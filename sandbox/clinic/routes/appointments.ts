import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { AppointmentFilter } from '../data/appointments.ts';
import { type Appointment, isAppointmentStatus } from '../data/records.ts';
import { badRequest, ruleBroken } from '../rules/errors.ts';
import { readAppointment, readPayment, readStatus } from './bodies.ts';
import { type ApiContext, faultable } from './context.ts';
import { guard, pathParameter, tenantIdOf } from './guard.ts';
import { answerList } from './lists.ts';
import { moment, queryOf, values } from './query.ts';
import { appointmentsToWire } from './wire.ts';

const BASE = '/v2/tenants/:tenantId/appointments';
const DAY_MS = 86_400_000;

/** Every operation of the specification's section 4.4. */
export function appointmentRoutes(app: FastifyInstance, context: ApiContext): void {
  const { operations, data } = context;
  const read = { preHandler: guard(context, { scope: 'agenda', permission: 'agenda.read' }) };
  const write = { preHandler: guard(context, { scope: 'agenda', permission: 'agenda.write' }) };

  app.get(BASE, read, async (request) => {
    const { tenantId } = target(request);
    const filter = readFilter(context, request);
    return answerList(
      context,
      request,
      (offset, limit) => data.appointments.list(tenantId, filter, offset, limit),
      (rows) => appointmentsToWire(context, tenantId, rows),
    );
  });

  app.get(`${BASE}/:appointmentId`, read, async (request) => {
    const { tenantId, id } = target(request);
    return show(context, operations.get(tenantId, id));
  });

  app.post(BASE, write, async (request, reply) => {
    const { tenantId } = target(request);
    const { input } = readAppointment(request.body, data.zone);
    const created = operations.book(tenantId, input);
    return reply
      .status(201)
      .header('location', `/v2/tenants/${tenantId}/appointments/${created.id}`)
      .send(show(context, created));
  });

  app.put(`${BASE}/:appointmentId`, write, async (request) => {
    const { tenantId, id } = target(request);
    const { input, status } = readAppointment(request.body, data.zone);
    if (status !== undefined && status !== operations.get(tenantId, id).status) {
      throw ruleBroken('status', 'The status is changed by PUT …/status');
    }
    return show(context, operations.update(tenantId, id, input));
  });

  app.put(`${BASE}/:appointmentId/status`, write, async (request) => {
    const { tenantId, id } = target(request);
    const { status, reason } = readStatus(request.body);
    return show(context, operations.setStatus(tenantId, id, status, reason));
  });

  app.put(`${BASE}/:appointmentId/payment`, write, async (request) => {
    const { tenantId, id } = target(request);
    return show(context, operations.setPayment(tenantId, id, readPayment(request.body)));
  });

  app.delete(`${BASE}/:appointmentId/payment`, write, async (request, reply) => {
    const { tenantId, id } = target(request);
    operations.removePayment(tenantId, id);
    return reply.status(204).send();
  });

  app.delete(`${BASE}/:appointmentId`, write, async (request, reply) => {
    const { tenantId, id } = target(request);
    operations.remove(tenantId, id);
    return reply.status(204).send();
  });

  app.post(`${BASE}/:appointmentId/checkin`, write, async (request) => {
    const { tenantId, id } = target(request);
    return show(context, operations.checkIn(tenantId, id));
  });
}

function target(request: FastifyRequest): { tenantId: string; id: string } {
  return { tenantId: tenantIdOf(request) ?? '', id: pathParameter(request, 'appointmentId') ?? '' };
}

function show(context: ApiContext, appointment: Appointment): object | undefined {
  return appointmentsToWire(context, appointment.tenantId, [appointment])[0];
}

function readFilter(context: ApiContext, request: FastifyRequest): AppointmentFilter {
  const { data, wire, kit } = context;
  const query = queryOf(context, request);
  const statuses = values(query, 'status');
  if (statuses?.some((status) => !isAppointmentStatus(status)) === true) {
    throw badRequest([{ field: 'status', message: 'is not a known status' }]);
  }
  const [from, to] = [moment(query, 'from', data.zone), moment(query, 'to', data.zone)];
  checkWindow(from, to, wire.maxWindowDays);
  const hidesCancelled =
    context.dialect.hidesCancelled || kit.faults.active('hide-cancelled', faultable(context, request)) !== undefined;
  return {
    ...(context.dialect.listsByStart ? { startsFrom: from } : { from }),
    to,
    agendaIds: values(query, 'agendaId'),
    statuses,
    patientId: query.get('patientId') ?? undefined,
    updatedSince: wire.updatedSinceFilter ? moment(query, 'updatedSince', data.zone) : undefined,
    withoutStatus: hidesCancelled ? 'Cancelled' : undefined,
  };
}

/** A day of slack covers the change to winter time. */
function checkWindow(from: number | undefined, to: number | undefined, maxDays: number | undefined): void {
  if (maxDays === undefined) return;
  if (from === undefined || to === undefined || to - from >= (maxDays + 1) * DAY_MS) {
    const message = `is required, at most ${maxDays} days from the other end of the window`;
    throw badRequest(['from', 'to'].map((field) => ({ field, message })));
  }
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Patient } from '../data/records.ts';
import { notFound } from '../rules/errors.ts';
import { readPatient } from './bodies.ts';
import type { ApiContext } from './context.ts';
import { guard, pathParameter, tenantIdOf } from './guard.ts';
import { answerList } from './lists.ts';
import { moment, queryOf } from './query.ts';
import { patientToWire } from './wire.ts';

const BASE = '/v2/tenants/:tenantId/patients';

/** Section 4.2 of the specification. */
export function patientRoutes(app: FastifyInstance, context: ApiContext): void {
  const { data, wire } = context;
  const read = { preHandler: guard(context, { scope: 'patients', permission: 'patients.read' }) };
  const write = { preHandler: guard(context, { scope: 'patients', permission: 'patients.write' }) };

  app.get(BASE, read, async (request) => {
    const since = wire.updatedSinceFilter ? moment(queryOf(context, request), 'updatedSince', data.zone) : undefined;
    return answerList(
      context,
      request,
      (offset, limit) => data.patients.list(tenantIdOf(request) ?? '', offset, limit, since),
      (rows) => rows.map((row) => patientToWire(context, row)),
    );
  });

  app.get(`${BASE}/:patientId`, read, async (request, reply) => {
    const id = pathParameter(request, 'patientId') ?? '';
    const merge = data.merges.get(id);
    if (merge === undefined) return patientToWire(context, find(context, request));
    if (merge.answer === 'stub') return { id, mergedInto: merge.into };
    const location = `/v2/tenants/${tenantIdOf(request) ?? ''}/patients/${merge.into}`;
    return reply.status(301).header('location', location).send();
  });

  app.post(BASE, write, async (request, reply) => {
    const now = data.clock();
    const tenantId = tenantIdOf(request) ?? '';
    const patient: Patient = {
      ...readPatient(request.body),
      id: data.ids.next('pat'),
      tenantId,
      createdAt: now,
      updatedAt: now,
    };
    data.patients.insert(patient);
    return reply
      .status(201)
      .header('location', `/v2/tenants/${tenantId}/patients/${patient.id}`)
      .send(patientToWire(context, patient));
  });

  app.put(`${BASE}/:patientId`, write, async (request) => {
    const patient: Patient = { ...find(context, request), ...readPatient(request.body), updatedAt: data.clock() };
    data.patients.update(patient);
    return patientToWire(context, patient);
  });
}

/** Throws ClinicError 404. */
function find({ data }: ApiContext, request: FastifyRequest): Patient {
  const patient = data.patients.get(tenantIdOf(request) ?? '', pathParameter(request, 'patientId') ?? '');
  if (patient === undefined) throw notFound('patient');
  return patient;
}

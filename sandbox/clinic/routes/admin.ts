import { Readable } from 'node:stream';
import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ADMIN_PREFIX } from '../../kit/admin.ts';
import { PERMISSIONS } from '../authorization/accounts.ts';
import { APPOINTMENT_STATUSES } from '../data/records.ts';
import type { FrontDesk } from '../front-desk.ts';
import { PLANTABLE } from '../planting.ts';
import { badRequest } from '../rules/errors.ts';
import type { ClinicRules } from '../rules/operations.ts';
import type { ClinicVerbs, TrueAppointment } from '../verbs.ts';
import { parseBody } from './bodies.ts';
import { rawQueryOf } from './query.ts';

const tenantId = z.string();
const id = z.string();
const amount = z.number().int().nonnegative().default(0);
const epochMs = z.number().int().optional();

const SCHEMAS = {
  simulate: z.object({ tenantId, booked: amount, moved: amount, cancelled: amount, checkedIn: amount }),
  frontDesk: z.object({ everyMs: z.number().int().positive() }),
  book: z.object({
    tenantId,
    agendaId: z.string().optional(),
    patientId: z.string().nullable().optional(),
    treatmentId: z.string().nullable().optional(),
    start: epochMs,
    end: epochMs,
    allDay: z.boolean().optional(),
    notes: z.string().optional(),
  }),
  move: z.object({ tenantId, id, agendaId: z.string().optional(), start: epochMs, end: epochMs }),
  cancel: z.object({ tenantId, id, reason: z.string().optional() }),
  remove: z.object({ tenantId, id, mode: z.enum(['soft', 'hard']).optional() }),
  setStatus: z.object({ tenantId, id, status: z.enum(APPOINTMENT_STATUSES), reason: z.string().optional() }),
  user: z.object({ username: z.string() }),
  changeRole: z.object({
    username: z.string(),
    tenantId,
    role: z.string(),
    permissions: z.array(z.enum(PERMISSIONS)),
  }),
  permissions: z.object({ username: z.string(), tenantId, permissions: z.array(z.enum(PERMISSIONS)) }),
  membership: z.object({ username: z.string(), tenantId }),
  scopes: z.object({ username: z.string(), clientId: z.string(), scopes: z.array(z.string()) }),
  plant: z.object({ tenantId, kind: z.enum(PLANTABLE), id, members: z.record(z.string(), z.unknown()) }),
  registerPatient: z.object({ tenantId }),
  removePatient: z.object({ tenantId, id }),
  access: z.object({ username: z.string(), clientId: z.string() }),
  client: z.object({ clientId: z.string() }),
  rules: z.object({
    allowReopen: z.boolean().optional(),
    repeatedCheckIn: z.enum(['same', 'conflict']).optional(),
    deleteMode: z.enum(['soft', 'hard']).optional(),
    allowDoubleBooking: z.boolean().optional(),
    maxReportBytes: z.number().int().positive().optional(),
    oversizeStatus: z.union([z.literal(400), z.literal(413), z.literal(422)]).optional(),
    outOfSequenceStatus: z.union([z.literal(400), z.literal(409), z.literal(422)]).optional(),
    invoiceCreationMs: z.number().int().nonnegative().optional(),
  }),
};

/** What the admin routes reach. */
export interface AdminParts {
  verbs: ClinicVerbs;
  frontDesk: FrontDesk;
  rules: ClinicRules;
  /** Content of GET …/clinic: URLs, tenants and credentials; undefined while the sandbox is starting (503). */
  describe(): object | undefined;
}

/**
 * Offers the verbs over HTTP to another process: `POST /__sandbox/<verb>` with the arguments as JSON. `GET …/clinic` describes the sandbox,
 * `GET …/appointments?tenantId=` streams all appointments as JSON lines, `DELETE …/front-desk` stops the simulator, `PUT …/rules` changes
 * the clinic's rules.
 */
export function adminRoutes(app: FastifyInstance, { verbs, frontDesk, rules, describe }: AdminParts): void {
  function verb<T>(name: string, schema: z.ZodType<T>, act: (body: T) => unknown): void {
    app.post(`${ADMIN_PREFIX}${name}`, async (request, reply) => {
      const result = orBadRequest(() => act(parseBody(schema, request.body)));
      return result === undefined ? reply.status(204).send() : reply.send(result);
    });
  }

  verb('simulate', SCHEMAS.simulate, (body) => ({ changes: frontDesk.simulate(body.tenantId, body) }));
  verb('front-desk', SCHEMAS.frontDesk, (body) => void frontDesk.start(body));
  verb('book', SCHEMAS.book, (body) => verbs.book(body.tenantId, defined(body)));
  verb('move', SCHEMAS.move, (body) => verbs.move(body.tenantId, body.id, defined(body)));
  verb('cancel', SCHEMAS.cancel, (body) => verbs.cancel(body.tenantId, body.id, body.reason));
  verb('remove', SCHEMAS.remove, (body) => verbs.remove(body.tenantId, body.id, body.mode));
  verb('set-status', SCHEMAS.setStatus, (body) => verbs.setStatus(body.tenantId, body.id, body.status, body.reason));
  verb('disable-user', SCHEMAS.user, (body) => verbs.disableUser(body.username));
  verb('enable-user', SCHEMAS.user, (body) => verbs.enableUser(body.username));
  verb('change-role', SCHEMAS.changeRole, (body) =>
    verbs.changeRole(body.username, body.tenantId, body.role, body.permissions),
  );
  verb('set-permissions', SCHEMAS.permissions, (body) =>
    verbs.setPermissions(body.username, body.tenantId, body.permissions),
  );
  verb('leave-tenant', SCHEMAS.membership, (body) => verbs.leaveTenant(body.username, body.tenantId));
  verb('reduce-scopes', SCHEMAS.scopes, (body) => verbs.reduceScopes(body.username, body.clientId, body.scopes));
  verb('plant', SCHEMAS.plant, (body) => verbs.plant(body.tenantId, body.kind, body.id, body.members));
  verb('register-patient', SCHEMAS.registerPatient, (body) => verbs.registerPatient(body.tenantId));
  verb('remove-patient', SCHEMAS.removePatient, (body) => verbs.removePatient(body.tenantId, body.id));
  verb('revoke-access', SCHEMAS.access, (body) => verbs.revokeAccess(body.username, body.clientId));
  verb('revoke-client', SCHEMAS.client, (body) => verbs.revokeClient(body.clientId));

  app.delete(`${ADMIN_PREFIX}front-desk`, async (_request, reply) => {
    frontDesk.stopAll();
    return reply.status(204).send();
  });
  app.put(`${ADMIN_PREFIX}rules`, async (request) =>
    Object.assign(rules, defined(parseBody(SCHEMAS.rules, request.body))),
  );
  app.get(`${ADMIN_PREFIX}clinic`, async (_request, reply) => describe() ?? reply.status(503).send());
  app.get(`${ADMIN_PREFIX}appointments`, async (request, reply) => {
    const rows = orBadRequest(() => started(verbs.appointments(rawQueryOf(request.url).get('tenantId') ?? '')));
    return reply.type('application/x-ndjson').send(Readable.from(lines(rows)));
  });
}

/** A RangeError names something that does not exist, which over HTTP is the caller's mistake. */
function orBadRequest<T>(act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof RangeError) throw badRequest([{ field: '', message: error.message }]);
    throw error;
  }
}

type Defined<T> = { [Key in keyof T]: Exclude<T[Key], undefined> };

/** Without the members that are undefined. */
function defined<T extends object>(body: T): Defined<T> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Reads the first element at once, so that an unknown tenant is reported before the answer begins. */
function started(rows: Iterable<TrueAppointment>): Iterable<TrueAppointment> {
  const iterator = rows[Symbol.iterator]();
  let next = iterator.next();
  return {
    *[Symbol.iterator]() {
      for (; next.done !== true; next = iterator.next()) yield next.value;
    },
  };
}

function* lines(rows: Iterable<TrueAppointment>): Generator<string> {
  for (const row of rows) yield `${JSON.stringify(row)}\n`;
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { silentLogger } from '../../../../src/core/log/logger.ts';
import type { Appointment } from '../../../../src/core/model/records.ts';
import type { Installation } from '../../../../src/operator/control/installation.ts';
import { addAccess } from '../../../../src/operator/http-server/access/access.ts';
import { openApp, PAGES_POLICY } from '../../../../src/operator/http-server/app.ts';
import type { OperatorServices, Visitor } from '../../../../src/operator/http-server/operators.ts';
import { addPages } from '../../../../src/operator/http-server/pages/pages.ts';
import type { ApprovalSettings } from '../../../../src/settings/access-schema.ts';
import { createApprovalStore } from '../../../../src/state/stored-documents.ts';
import { appointmentOf, NOW } from '../../../domain/arbitraries.ts';
import type { useRedis } from '../../../support/redis.ts';
import { cycle } from '../../../tenant/cycle.ts';
import { type ActingChoice, openActing, person } from '../../control/acting.ts';
import { openBooked } from '../../control/open-installation.ts';
import { openActsWorld } from '../../control/services-world.ts';
import { openServices, visitorNamed } from '../open-services.ts';

/** A visitor with all rights. */
export const OWNER: Visitor = { id: 'owner', name: 'owner', level: 'owner', tenants: null, csrf: 'proof-of-owner' };
/** The clinic of {@link usePages}. */
export const CLINIC = 'studio-rossi';
const CSRF = 'a-proof-of-tests';

/** Options of a test: the pages and their visitor. */
export interface PagesChoice {
  installation: Installation;
  /** Null: no visitor is known. Default: the owner. */
  visitor?: Visitor | null;
  acting?: ActingChoice;
  desk?: Partial<OperatorServices>;
  /** Adds more to the port. */
  before?: (app: FastifyInstance, desk: OperatorServices) => void;
}

/** Opens the operator port with its pages for the visitor of the test. Closed after the test. */
export async function openPages({
  installation,
  visitor = OWNER,
  acting: choice = {},
  desk: given = {},
  before = () => {},
}: PagesChoice) {
  const acting = openActing(choice);
  const desk = openServices(installation, {
    loginServices: () => ({ remote: null }) as ReturnType<OperatorServices['loginServices']>,
    acting: ({ name, id }, why) => ({
      who: { kind: 'account', name, id, claimed: null },
      why,
      actServices: acting.actServices,
    }),
    ...given,
  });
  const { app, routes, listen } = await openPort(desk, () => visitor, before);
  onTestFinished(() => app.close());
  const see = async (path: string, headers: Record<string, string> = {}) =>
    (await app.inject({ url: path, headers })).body;
  const post = (path: string, fields: Record<string, string> = {}) =>
    app.inject({
      ...{
        method: 'POST',
        url: path,
        payload: new URLSearchParams({ csrf: visitor?.csrf ?? '', ...fields }).toString(),
      },
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    });
  return { app, see, post, routes, recorded: acting.recorded, listen };
}

/** The pages over the clinic of {@link openActsWorld}. */
export async function openActsPages(connection: Redis, choice: Partial<PagesChoice> = {}) {
  const world = await openActsWorld(connection);
  return { ...world, ...(await openPages({ installation: world.installation, ...choice })) };
}

/** What a group of tests chooses. */
export interface GroupChoice {
  policy?: Partial<ApprovalSettings>;
  reasonFor?: readonly ('approve' | 'apply')[];
  appointments?: number;
}

/**
 * Opens the pages over one clinic for the tests of a group, in an otherwise empty Redis. A first cycle has filled the calendar. A cookie
 * names the visitor.
 */
export function usePages(redis: ReturnType<typeof useRedis>, choice: GroupChoice = {}) {
  let pages: Awaited<ReturnType<typeof openClinicPages>>;
  beforeAll(async () => {
    await redis.connect().flushall();
    pages = await openClinicPages(redis, choice);
  });
  afterAll(() => pages?.app.close());
  return () => pages;
}

async function openClinicPages(
  redis: ReturnType<typeof useRedis>,
  { policy = {}, reasonFor = [], appointments = 30 }: GroupChoice,
) {
  const booked = openBooked(redis, 0, { id: CLINIC }, { title: 'full' });
  const { clinic, tenant, clock, installation } = booked;
  const book = (id: string, changes: Partial<Appointment> & { inHours?: number } = {}) =>
    clinic.appointments.set(id, appointmentOf(id, changes));
  for (let index = 0; index < appointments; index += 1) book(`apt-${index}`, { inHours: 1 + index * 2 });
  await cycle(tenant);
  const store = createApprovalStore(redis.connect(), CLINIC, Buffer.alloc(32, 7), () => clock.now);
  installation.approvals = () => store.list();
  const job = { id: '7', tenant: CLINIC, target: 'doctor', addedAt: NOW, dueAt: NOW, endedAt: NOW, attempts: 3 };
  const counts = { waiting: 0, active: 0, delayed: 2, failed: 1 };
  installation.queues = async () => [{ queue: 'push', counts, waiting: [], active: [], failed: [job] }];
  const desk = openServices(installation, {
    acting: ({ name }, why) => openActing({ who: person(name), why, policy, reasonFor, store }),
  });
  const visitorOf = ({ headers: { cookie = '' } }: FastifyRequest) =>
    visitorNamed(/visitor=(\w+)/.exec(cookie)?.[1] ?? '', 'account', CSRF);
  const { app, listen } = await openPort(desk, visitorOf);
  const base = await listen();
  return { ...booked, app, base, book, ...asks(app, base) };
}

/** Returns functions that request pages and send their forms, as the browser of a visitor does. */
function asks(app: FastifyInstance, base: string) {
  const headersOf = (visitor: string) => ({ cookie: `visitor=${visitor}; language=en`, host: new URL(base).host });
  const open = async (visitor: string, url: string) => {
    const { statusCode, body, headers } = await app.inject({ url, headers: headersOf(visitor) });
    return { status: statusCode, body, headers };
  };
  const send = async (visitor: string, url: string, fields: [string, string][]) => {
    const { statusCode, body, headers } = await app.inject({
      method: 'POST',
      url,
      headers: {
        ...headersOf(visitor),
        'content-type': 'application/x-www-form-urlencoded',
        origin: base,
        'sec-fetch-site': 'same-origin',
      },
      payload: new URLSearchParams([['csrf', CSRF], ...fields]).toString(),
    });
    return { status: statusCode, body, headers };
  };
  return { open, send };
}

/** The port for operators with its pages and every route that it has. */
async function openPort(
  desk: OperatorServices,
  visitorOf: (request: FastifyRequest) => Visitor | null,
  before: (app: FastifyInstance, desk: OperatorServices) => void = () => {},
) {
  const app = await openApp({ log: silentLogger, policy: PAGES_POLICY });
  const routes: { method: string; url: string; level: string | null }[] = [];
  app.addHook('onRoute', ({ method, url: path, config }) => {
    routes.push({ method: String(method), url: path, level: config?.level ?? null });
  });
  let url = 'http://localhost';
  const visitorBy = async (request: FastifyRequest) => visitorOf(request);
  addAccess(app, {
    ...{ publicUrl: () => url, visitorOf: visitorBy, stillVisitorOf: visitorBy, heldBackMs: async () => null },
  });
  before(app, desk);
  addPages(app, desk);
  await app.ready();
  return {
    ...{ app, routes },
    /** Listens on a free port of this host, for a browser. */
    async listen(): Promise<string> {
      url = await app.listen({ host: '127.0.0.1', port: 0 });
      return url;
    },
  };
}

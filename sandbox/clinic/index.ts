import type { Counts } from '../kit/counts.ts';
import type { FaultPlan } from '../kit/faults.ts';
import { SandboxKit } from '../kit/kit.ts';
import { listen, type RunningServer } from '../kit/listen.ts';
import type { Recording } from '../kit/recording.ts';
import { createAccounts } from './authorization/accounts.ts';
import { createRequestClients } from './authorization/client-of-request.ts';
import { type ClientRegistration, createClients } from './authorization/clients.ts';
import { startAuthorizationServer } from './authorization/server.ts';
import { createTokenStore } from './authorization/token-store.ts';
import { createAppointmentStore } from './data/appointments.ts';
import type { ClinicData } from './data/clinic-data.ts';
import { type Database, openDatabase } from './data/database.ts';
import { createDocumentStore } from './data/documents.ts';
import { createFileStore } from './data/files.ts';
import { createIds } from './data/ids.ts';
import { createPatientStore } from './data/patients.ts';
import type { Agenda, Location, Tenant } from './data/records.ts';
import { seedTenant } from './data/seed.ts';
import { seedRecords } from './data/seed-records.ts';
import { createZone } from './data/zone.ts';
import { createDialect } from './dialects/index.ts';
import { createFrontDesk, type FrontDesk } from './front-desk.ts';
import { type ClinicSandboxOptions, type ResolvedOptions, resolveOptions } from './options.ts';
import { addFrontDeskUser, addSpecialUsers, type Credentials, type SpecialUsers } from './people-at-work.ts';
import { createRateLimiter } from './rate-limit.ts';
import { adminRoutes } from './routes/admin.ts';
import { createApi } from './routes/app.ts';
import { type ApiContext, bearerOf } from './routes/context.ts';
import { createEpisodeOperations } from './rules/episodes.ts';
import { createInvoiceOperations } from './rules/invoices.ts';
import { type ClinicRules, createOperations } from './rules/operations.ts';
import { type ClinicVerbs, createVerbs } from './verbs.ts';

export { approveDevice, authorizeInBrowser, type Person } from './browser.ts';
export type { Patient as TruePatient } from './data/records.ts';
export type { SimulatedChange } from './front-desk.ts';
export type { TrueAppointment } from './verbs.ts';
export type { ClientRegistration, ClinicSandboxOptions, Credentials };

/** One clinic as tests see it. */
export interface SandboxTenant {
  id: string;
  name: string;
  agendas: Pick<Agenda, 'id' | 'name' | 'type'>[];
  locations: Location[];
  /** The clinic's front-desk user, who may do everything there. */
  user: Credentials;
}

/** A running clinic system with its authorization server. */
export interface ClinicSandbox extends ClinicVerbs {
  /** The API, without the `/v2`. */
  baseUrl: string;
  /** The authorization server, which is also the issuer. */
  authUrl: string;
  tenants: SandboxTenant[];
  /** Users in addition to each tenant's front desk. */
  users: SpecialUsers;
  clients: ClientRegistration[];
  /** Every scope there is, with the prefix. */
  scopes: string[];
  /** How the clinic decides what the specification leaves open; may be changed at any time. */
  rules: ClinicRules;
  /** See FrontDesk.simulate. */
  simulate: FrontDesk['simulate'];
  /** Works until the returned function is called or the sandbox closes. */
  startFrontDesk: FrontDesk['start'];
  /** Faults of both servers; the path of a request identifies the server. */
  faults: FaultPlan;
  /**
   * Counters of both servers, including `requests client:<id>` (with the token endpoint), `requests client:<id> tenant:<id>` and
   * `rate-limited client:<id>`.
   */
  counts: Counts;
  recording: Recording;
  /** The clinics' clock, epoch ms. */
  clock(): number;
  close(): Promise<void>;
}

const SCOPE_NAMES = ['patients', 'agenda', 'treatments', 'episodes', 'medicalreports', 'invoices', 'fhir'];

/**
 * Starts a clinic system on loopback with generated clinics: the API and its authorization server, each on a separate port. Throws
 * RangeError when the agendas are too small for the appointments, Error when a port is in use.
 */
export async function startClinicSandbox(options: ClinicSandboxOptions = {}): Promise<ClinicSandbox> {
  const resolved = resolveOptions(options);
  const database = openDatabase(resolved.databasePath);
  try {
    return await start(resolved, database);
  } catch (error) {
    database.close();
    throw error;
  }
}

async function start(options: ResolvedOptions, database: Database): Promise<ClinicSandbox> {
  const data = createData(options, database);
  const context = createContext(options, data);
  const frontDesk = createFrontDesk(data, context.operations, options.seed);
  const verbs = createVerbs(context);
  const app = createApi(context);
  let ready: object | undefined;
  adminRoutes(app, { verbs, frontDesk, rules: options.rules, describe: () => ready });
  const api = await listen(app, options.port);
  const scopes = ['openid', 'offline_access', ...SCOPE_NAMES.map((name) => options.scopePrefix + name)];
  const userinfoEndpoint = `${api.url}/v2/userinfo`;
  const authorization = await startAuthorizationServer(
    { ...context, scopes, userinfoEndpoint },
    options.authorization,
  ).catch(async (error: unknown) => {
    await api.close();
    throw error;
  });
  const tenants = [...data.tenants.values()];
  const description = {
    baseUrl: api.url,
    authUrl: authorization.url,
    tenants: tenants.map((tenant, index) => describeTenant(context, tenant, index + 1)),
    users: addSpecialUsers(context.accounts, tenants),
    clients: [...options.clients],
    scopes,
  };
  ready = description;
  const { faults, counts, recording } = context.kit;
  let closing: Promise<void> | undefined;
  return {
    ...description,
    ...verbs,
    rules: options.rules,
    simulate: frontDesk.simulate,
    startFrontDesk: frontDesk.start,
    faults,
    counts,
    recording,
    clock: data.clock,
    close() {
      closing ??= close(frontDesk, [api, authorization], database);
      return closing;
    },
  };
}

function createData(options: ResolvedOptions, database: Database): ClinicData {
  const { startedAt, pastDays, futureDays, seed } = options;
  const [ids, zone] = [createIds(options.dialect === 'bare'), createZone(options.timeZone)];
  const tenants = options.plans.map((plan, index) => {
    const input = { database, ids, zone, now: startedAt, pastDays, futureDays, seed: seed * 1000 + index };
    const tenant = seedTenant(input, plan);
    database.transaction(() => seedRecords(input, tenant));
    return tenant;
  });
  const began = performance.now();
  return {
    tenants: new Map(tenants.map((tenant) => [tenant.id, tenant])),
    appointments: createAppointmentStore(database),
    patients: createPatientStore(database),
    priceLists: createDocumentStore(database, 'priceList'),
    episodes: createDocumentStore(database, 'episode'),
    reports: createDocumentStore(database, 'medicalReport'),
    invoices: createDocumentStore(database, 'invoice'),
    sections: createDocumentStore(database, 'section'),
    issuers: createDocumentStore(database, 'issuer'),
    files: createFileStore(database),
    ids,
    zone,
    waiting: new Set(),
    merges: new Map(),
    clock: () => Math.round(startedAt + performance.now() - began),
  };
}

function createContext(options: ResolvedOptions, data: ClinicData): ApiContext {
  const [tokens, requestClients] = [createTokenStore(), createRequestClients()];
  const kit = new SandboxKit({
    seed: options.seed,
    clientOf(request) {
      if (requestClients.get(request) === undefined) {
        requestClients.note(request, tokens.accessToken(bearerOf(request) ?? '')?.clientId);
      }
      return requestClients.get(request);
    },
    faultBody: (status) => ({ error: status === 429 ? 'rate_limit_exceeded' : 'server_error', message: 'Try again' }),
  });
  return {
    data,
    operations: createOperations(data, options.rules),
    episodes: createEpisodeOperations(data),
    invoices: createInvoiceOperations(data, options.rules),
    rules: options.rules,
    dialect: createDialect(options.dialect, data.zone),
    accounts: createAccounts(),
    clients: createClients(options.clients),
    tokens,
    requestClients,
    kit,
    limiter: createRateLimiter(kit, options.rateLimit),
    wire: options.wire,
    scopePrefix: options.scopePrefix,
  };
}

function describeTenant({ accounts }: ApiContext, tenant: Tenant, number: number): SandboxTenant {
  return {
    id: tenant.id,
    name: tenant.name,
    agendas: tenant.agendas.map(({ id, name, type }) => ({ id, name, type })),
    locations: tenant.locations,
    user: addFrontDeskUser(accounts, tenant, number),
  };
}

async function close(frontDesk: FrontDesk, servers: RunningServer[], database: Database): Promise<void> {
  frontDesk.stopAll();
  await Promise.all(servers.map((server) => server.close()));
  database.close();
}

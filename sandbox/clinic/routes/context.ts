import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { FaultableRequest } from '../../kit/faults.ts';
import type { SandboxKit } from '../../kit/kit.ts';
import type { Accounts } from '../authorization/accounts.ts';
import type { RequestClients } from '../authorization/client-of-request.ts';
import type { Clients } from '../authorization/clients.ts';
import type { TokenStore } from '../authorization/token-store.ts';
import type { ClinicData } from '../data/clinic-data.ts';
import type { Dialect } from '../dialects/dialect.ts';
import type { RateLimiter } from '../rate-limit.ts';
import type { EpisodeOperations } from '../rules/episodes.ts';
import type { InvoiceOperations } from '../rules/invoices.ts';
import type { ClinicRules, Operations } from '../rules/operations.ts';

/** How the API words what the specification leaves open. */
export interface WireOptions {
  /** Appointments carry their patient's name and contacts. */
  embedPatient: boolean;
  /** Appointments and patients carry createdAt and updatedAt. */
  timestamps: boolean;
  /** `updatedSince` filters lists; otherwise the parameter is ignored. */
  updatedSinceFilter: boolean;
  /** Appointment lists require `from` and `to`, this many days apart or fewer; otherwise they answer 400. */
  maxWindowDays: number | undefined;
  /** Lists are bare arrays of at most so many rows, and a `Link` header (RFC 8288) leads to the next. */
  linkPages: number | undefined;
  /** Whether answers carry ETags, and what If-None-Match is compared with. */
  etags: 'none' | 'strong' | 'weak';
  /** Whether calls must accept JSON explicitly, as the specification requires, or may accept any type. */
  accept: 'json' | 'any';
  /** A tenant that is not the user's: 403, as the specification says (section 7.1), or 404, as if there were none. */
  foreignTenant: 'forbidden' | 'absent';
}

/** What the routes work with. */
export interface ApiContext {
  data: ClinicData;
  operations: Operations;
  episodes: EpisodeOperations;
  invoices: InvoiceOperations;
  rules: ClinicRules;
  /** How the API speaks. */
  dialect: Dialect;
  accounts: Accounts;
  clients: Clients;
  tokens: TokenStore;
  requestClients: RequestClients;
  kit: SandboxKit;
  limiter: RateLimiter;
  wire: WireOptions;
  /** Before each scope's name, for example `svc.`. */
  scopePrefix: string;
}

/** The bearer value of a request, or undefined; never one from the query string. */
export function bearerOf(request: IncomingMessage): string | undefined {
  return /^bearer ([\w.~+/-]+=*)$/i.exec(request.headers.authorization ?? '')?.[1];
}

/** Returns the part of a request that fault rules match. */
export function faultable(context: ApiContext, request: FastifyRequest): FaultableRequest {
  return { method: request.method, path: request.url, client: context.requestClients.get(request.raw) };
}

/** Whether a path is the API's: only its routes speak the dialect. */
export function isApiPath(url: string): boolean {
  return url.startsWith('/v2/');
}

/** The part of a route's path that names the resource: `appointments`, `accounting`; `availabilities` for both forms. */
export function resourceOf(request: FastifyRequest): string {
  const { url = '' } = request.routeOptions;
  return url.endsWith('/availabilities') ? 'availabilities' : (url.split('/')[4] ?? '');
}

import { Redis } from 'ioredis';
import { authorizeInBrowser, type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import type { Credential } from '../../../src/core/model/credentials.ts';
import type { PendingLogin } from '../../../src/oauth/credential.ts';
import type { LoginTarget } from '../../../src/oauth/login.ts';
import { loginOnLoopback } from '../../../src/oauth/loopback-login.ts';
import { clinicProvider } from '../../../src/oauth/providers.ts';
import { createLoginStore } from '../../../src/operator/control/login-stores.ts';
import { NEVER, openWorker, RING, type Worker } from '../connection.ts';
import { type Given, startFleet } from './fleet.ts';
import { PLACES, type Place } from './process.ts';

/** How the trial is done. */
export interface TrialOptions {
  redisUrl: string;
  processes: number;
  /** Expiries of the access token. */
  rounds: number;
  /** Number of rounds for each kill of a process during its refresh; the kills alternate between the steps. */
  killEvery: number;
  /** Called after each round. */
  onRound?(round: number): void;
}

/** Results of the rounds of one kind. */
export interface RoundFigures {
  rounds: number;
  /** Requests to refresh that the authorization server got in a round, fewest and most. */
  requests: { least: number; most: number };
  /** Rounds after which an operator had to log in again. */
  lost: number;
  /** Of these, those in which all processes that were left, and the store, said so and why. */
  told: number;
  /** The longest round, in milliseconds, and those of the middle. */
  durationMs: { most: number; median: number };
}

/** What a trial found. */
export interface TrialFigures {
  /** Results by the step of the kill; `none` for rounds without one. */
  kinds: Record<Place | 'none', RoundFigures>;
  /** Descriptions of wrong behaviour; empty if there is none. */
  defects: string[];
}

interface Round {
  kind: Place | 'none';
  requests: number;
  isLost: boolean;
  isTold: boolean;
  durationMs: number;
  defects: string[];
}

const SCOPES = ['openid', 'offline_access', 'svc.agenda', 'svc.patients'];
const REASON = 'refresh-answer-lost';
/** Shorter than a daemon's 30 s, so that a round with a kill is shorter; far longer than a refresh takes on a busy host. */
const LEASE_TTL_MS = 5_000;

/**
 * Runs many processes that share one connection at an authorization server that replaces refresh tokens and ends the grant when an old one
 * is used. Each round the access token expires, and all processes request a header at once.
 */
export async function runTrial({ processes, rounds, killEvery, ...options }: TrialOptions): Promise<TrialFigures> {
  await using opened = new AsyncDisposableStack();
  const clinic = await startClinicSandbox({ tenants: 1, appointments: 10 });
  opened.defer(() => clinic.close());
  const redis = new Redis(options.redisUrl, { maxRetriesPerRequest: null });
  opened.defer(() => redis.disconnect());
  const { clientId = '', clientSecret = null } = clinic.clients[0] ?? {};
  const provider = clinicProvider({ authUrl: clinic.authUrl, clientId, clientSecret: clientSecret ?? null });
  const person = openWorker({ redis, issuer: clinic.authUrl, provider, scopes: SCOPES, leaseTtlMs: LEASE_TTL_MS });
  const logIn = () => logInAt(clinic, person, redis);
  await logIn();
  const fleet = await startFleet(processes, {
    ...{ redisUrl: options.redisUrl, provider, scopes: SCOPES, leaseTtlMs: LEASE_TTL_MS },
  });
  opened.defer(() => fleet.end());

  const done: Round[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const killAt = round % killEvery === 0 ? (PLACES[(round / killEvery - 1) % PLACES.length] ?? null) : null;
    await expire(person);
    const before = refreshesAt(clinic);
    const startedAt = performance.now();
    const given = await fleet.ask(killAt);
    const durationMs = performance.now() - startedAt;
    const stored = await person.credentials.read('clinic');
    const requests = refreshesAt(clinic) - before;
    const judged = judge({ given, stored, requests, killAt });
    if (!judged.isLost) judged.defects.push(...(await unusable(clinic, stored)));
    done.push({ ...judged, durationMs, defects: judged.defects.map((defect) => `round ${round}: ${defect}`) });
    await fleet.refill();
    if (judged.isLost) await logIn();
    options.onRound?.(round);
  }
  const kinds = Object.fromEntries((['none', ...PLACES] as const).map((kind) => [kind, sum(done, kind)]));
  return { kinds: kinds as TrialFigures['kinds'], defects: done.flatMap(({ defects }) => defects) };
}

/** Judges a round by the answers of the processes, the stored state, and the requests that the server got. */
function judge({
  given,
  stored,
  requests,
  killAt,
}: {
  given: readonly Given[];
  stored: Credential | null;
  requests: number;
  killAt: Place | null;
}): Omit<Round, 'durationMs'> {
  const left = given.filter((each) => each !== null);
  const killed = given.length - left.length;
  const headers = new Set(left.flatMap((each) => ('header' in each ? [each.header] : [])));
  const codes = new Set(left.flatMap((each) => ('code' in each ? [each.code] : [])));
  const isLost = stored?.state !== 'connected';
  const isTold = isLost && stored?.reason === REASON && headers.size === 0 && [...codes].join() === REASON;
  const mayBeLost = killAt === 'answered';
  // A process that detects a lost answer sends one more request with the stored token, and another request confirms the refusal.
  const wanted = mayBeLost ? 3 : 1;
  const defects = [
    ...(killed === (killAt === null ? 0 : 1) ? [] : [`${killed} processes ended`]),
    ...(requests === wanted ? [] : [`${requests} requests to refresh instead of ${wanted}`]),
    ...(isLost && !mayBeLost ? [`the grant was lost (${stored?.reason})`] : []),
    ...(isLost && !isTold ? [`not all processes reported the loss (${[...codes].join(', ') || 'no error'})`] : []),
    ...(!isLost && (headers.size !== 1 || codes.size > 0)
      ? [`${headers.size} different headers, errors: ${[...codes].join(', ') || 'none'}`]
      : []),
  ];
  return { kind: killAt ?? 'none', requests, isLost, isTold, defects };
}

/** The header that is stored must open the clinic. */
async function unusable({ baseUrl }: ClinicSandbox, stored: Credential | null): Promise<string[]> {
  const headers = { accept: 'application/json', authorization: `Bearer ${stored?.tokens.accessToken}` };
  const { status } = await fetch(`${baseUrl}/v2/userinfo`, { headers });
  return status === 200 ? [] : [`the clinic answers ${status} to what is stored`];
}

function refreshesAt({ counts }: ClinicSandbox): number {
  return counts.requests({ method: 'POST', route: '/connect/token' });
}

/** As if its time were over. */
async function expire({ place, credentials }: Worker): Promise<void> {
  const lease = await place.leases.take('credential:clinic', 2 * LEASE_TTL_MS, NEVER);
  const before = await credentials.read('clinic');
  if (before === null) throw new Error('no connection is stored');
  const next = { ...before, version: before.version + 1, accessExpiresAt: Date.now() - 1 };
  const isWritten = await credentials.write(lease, 'clinic', before.version, next);
  await lease.release();
  if (!isWritten) throw new Error('another process wrote between two rounds');
}

async function logInAt(clinic: ClinicSandbox, person: Worker, redis: Redis): Promise<void> {
  const user = clinic.tenants[0]?.user ?? { username: '', password: '' };
  const target: LoginTarget = { context: person.place, server: person.server, scopes: SCOPES, clock: Date.now };
  const logins = createLoginStore<PendingLogin>(redis, RING);
  const visit = async (url: URL) => fetch(await authorizeInBrowser(url.href, user));
  await loginOnLoopback(target, { pending: logins }, (url) => void visit(url), NEVER);
}

function sum(rounds: readonly Round[], kind: Round['kind']): RoundFigures {
  const own = rounds.filter((round) => round.kind === kind);
  const requests = own.map((round) => round.requests);
  const durations = own.map(({ durationMs }) => Math.round(durationMs)).toSorted((one, other) => one - other);
  return {
    rounds: own.length,
    requests: { least: Math.min(...requests), most: Math.max(...requests) },
    lost: own.filter(({ isLost }) => isLost).length,
    told: own.filter(({ isTold }) => isTold).length,
    durationMs: { most: durations.at(-1) ?? 0, median: durations[Math.floor(durations.length / 2)] ?? 0 },
  };
}

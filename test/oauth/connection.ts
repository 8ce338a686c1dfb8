import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { expect } from 'vitest';
import { createHttpClient } from '../../src/core/http/client.ts';
import type { Logger } from '../../src/core/log/logger.ts';
import type { Credential } from '../../src/core/model/credentials.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { createCredentialStore } from '../../src/daemon/credentials.ts';
import { createTokenAuthorizer } from '../../src/oauth/authorizer.ts';
import type { ConnectionContext, CredentialStorage } from '../../src/oauth/credential.ts';
import { DEFAULT_REFRESH_RULES } from '../../src/oauth/due.ts';
import { clinicProvider, type Provider } from '../../src/oauth/providers.ts';
import { createRefresher } from '../../src/oauth/refresh.ts';
import { createAuthorizationServer } from '../../src/oauth/server.ts';
import { createLeases } from '../../src/state/leases.ts';
import type { AwaitDurable } from '../../src/state/redis.ts';
import { createSealer } from '../../src/state/sealing.ts';

export const TENANT = 'studio-rossi';
export const SCOPES = ['openid', 'offline_access', 'svc.agenda', 'svc.patients'];
export const RING = [{ id: 'k1', key: Buffer.alloc(32, 1) }];
export const NEVER = new AbortController().signal;

/** Everything that one worker has of one connection: its own Redis connection, HTTP client and in-process state. */
export interface Worker {
  place: ConnectionContext;
  credentials: CredentialStorage;
  /** Discards cached connections, like a job that begins. */
  beginAnew: () => void;
  server: ReturnType<typeof createAuthorizationServer>;
  refresher: ReturnType<typeof createRefresher>;
  authorizer: ReturnType<typeof createTokenAuthorizer>;
  logged: string[];
}

export interface WorkerOptions {
  redis: Redis;
  issuer: string;
  clock?: () => number;
  /** Default: the clinic's at `issuer`, as a client that scripted servers take. */
  provider?: Provider;
  scopes?: readonly string[];
  /** As for Salesforce. */
  isFromFile?: boolean;
  leaseTtlMs?: number;
  requestTimeoutMs?: number;
  /** Between a refusal and the try that confirms it. Default: none, so that the next try confirms it. */
  confirmAfterMs?: number;
  /** Interval at which a process that waits for a peer's refresh checks. Default 20, a fifth of a daemon's. */
  longestPauseMs?: number;
  /** Default: treats data that Redis accepted as durable. */
  awaitDurable?: AwaitDurable;
  /** Stands before the store, to make it fail. */
  wrapStore?: (store: CredentialStorage) => CredentialStorage;
}

/** Joins the real parts as the daemon does. */
export function openWorker(options: WorkerOptions): Worker {
  const clock = options.clock ?? Date.now;
  const logged: string[] = [];
  const log = recordingLog(logged);
  const sealer = createSealer(RING, TENANT);
  const store = createCredentialStore({
    redis: options.redis,
    awaitDurable: options.awaitDurable ?? (async () => 'durable'),
    writer: options.redis,
    sealer,
    tenant: TENANT,
    log,
  });
  const credentials = options.wrapStore?.(store) ?? store;
  const leases = createLeases(options.redis, TENANT, options.leaseTtlMs ?? 10_000);
  const place = { tenant: TENANT, connection: 'clinic', credentials, leases };
  const http = createHttpClient({ userAgent: 'test', clock, timeoutMs: options.requestTimeoutMs ?? 5_000 });
  const client = { clientId: 'client-1', clientSecret: 'secret-canary' };
  const provider = options.provider ?? clinicProvider({ authUrl: options.issuer, ...client });
  const server = createAuthorizationServer({ provider, http, clock });
  const scopes = options.scopes ?? SCOPES;
  const refresher = createRefresher({
    context: place,
    server,
    scopes,
    clock,
    log,
    confirmAfterMs: options.confirmAfterMs ?? 0,
    pause: (durationMs) => delay(Math.min(durationMs, options.longestPauseMs ?? 20)),
  });
  const rules = DEFAULT_REFRESH_RULES;
  const isFromFile = options.isFromFile ?? false;
  const authorizer = createTokenAuthorizer({ connection: 'clinic', credentials, refresher, rules, clock, isFromFile });
  return { place, credentials, beginAnew: store.beginAnew, server, refresher, authorizer, logged };
}

/** Refuses the connection for the first time, which does not end the connection. */
export async function refusedOnce({ authorizer, credentials }: Worker): Promise<void> {
  const renewing = authorizer.renew(new AbortController().signal);
  await expect(renewing).rejects.toMatchObject({ actor: 'remote', code: 'refusal-unconfirmed', retry: 'later' });
  expect(await credentials.read('clinic')).toMatchObject({ state: 'connected', reason: 'refusal-unconfirmed' });
}

/** Stores a connection as if an operator had made it: `access-0`, `refresh-0`, and due for a refresh unless `changes` sets another expiry. */
export async function connect(worker: Worker, changes: Partial<Credential> = {}): Promise<Credential> {
  const now = Date.now();
  const credential: Credential = {
    version: 1,
    tokens: { accessToken: 'access-0', refreshToken: 'refresh-0' },
    grantedScopes: SCOPES,
    obtainedAt: now - HOUR_MS,
    refreshedAt: null,
    accessExpiresAt: now + 60_000,
    refreshExpiresAt: null,
    state: 'connected',
    reason: null,
    since: now - HOUR_MS,
    unansweredSince: null,
    ...changes,
  };
  const lease = await worker.place.leases.take('credential:clinic', 1_000, NEVER);
  await worker.credentials.write(lease, 'clinic', null, credential);
  await lease.release();
  return credential;
}

/** Removes the account from the stored connection. */
export async function forgetAccount(worker: Worker): Promise<void> {
  const { credentials, leases } = worker.place;
  const credential = await credentials.read('clinic');
  if (credential === null) throw new Error('no connection is stored');
  const { account: _forgotten, ...tokens } = credential.tokens;
  const lease = await leases.take('credential:clinic', 1_000, NEVER);
  await credentials.write(lease, 'clinic', credential.version, { ...credential, tokens });
  await lease.release();
}

function recordingLog(lines: string[]): Logger {
  const write = (data: object, message: string) => void lines.push(`${message} ${JSON.stringify(data)}`);
  const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log };
  return log;
}

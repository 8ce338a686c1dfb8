import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errors as caldav } from '../../src/connectors/caldav/errors.ts';
import { errors as google } from '../../src/connectors/google-calendar/errors.ts';
import { toMirrorError as toHubspotError } from '../../src/connectors/hubspot/errors.ts';
import { errors as outlook } from '../../src/connectors/outlook-calendar/errors.ts';
import { errors as restCrm } from '../../src/connectors/rest-crm/errors.ts';
import { wholeRefusalOf as toSalesforceError } from '../../src/connectors/salesforce/errors.ts';
import type { WireResponse } from '../../src/connectors/wire.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { asMirrorError, type MirrorError } from '../../src/core/model/errors.ts';
import { targetBackoffMs } from '../../src/engine/retry.ts';
import { openBudgetShare } from '../../src/state/budget.ts';
import { openClient, profileOf, unhurried } from '../clinic/open-client.ts';
import { moveBudget } from '../state/budget-moves.ts';
import { BEGIN, FORMS, type Lasted, LIMIT_MS, LimitTable } from '../support/limit-forms.ts';
import { useRedis } from '../support/redis.ts';

const BODY = {
  google: { error: { errors: [{ domain: 'usageLimits', reason: 'rateLimitExceeded' }] } },
  hubspot: { category: 'RATE_LIMITS', errorType: 'RATE_LIMIT', policyName: 'TEN_SECONDLY_ROLLING' },
  searches: { category: 'RATE_LIMITS', errorType: 'RATE_LIMIT', policyName: 'SECONDLY' },
  graph: { error: { code: 'TooManyRequests' } },
};
const VENDORS: Record<string, { status?: number; body?: unknown; toError: (answer: WireResponse) => MirrorError }> = {
  Google: { body: BODY.google, toError: google.of },
  'Google, with 403': { status: 403, body: BODY.google, toError: google.of },
  Microsoft: { body: BODY.graph, toError: outlook.of },
  CalDAV: { toError: caldav.of },
  HubSpot: { body: BODY.hubspot, toError: (answer) => toHubspotError(answer, { at: BEGIN, zone: null }) },
  'HubSpot, searches': { body: BODY.searches, toError: (answer) => toHubspotError(answer, { at: BEGIN, zone: null }) },
  Salesforce: { toError: (answer) => toSalesforceError(answer, false) },
  'another CRM': { toError: restCrm.of },
};

const redis = useRedis();
const world = { now: BEGIN, status: 429, headers: FORMS['no header']!, refused: 0 };
const server = createServer((_, response) => {
  const isOver = world.now >= BEGIN + LIMIT_MS;
  const headers = isOver ? {} : world.headers(world.now);
  if (!isOver) world.refused += 1;
  const date = new Date(world.now).toUTCString();
  response.writeHead(isOver ? 200 : world.status, { date, ...headers }).end('{"tenants":["t1"]}');
});
let url: string;
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
const table = new LimitTable();
afterAll(() => {
  server.close();
  table.print();
});

/** A target that pauses after each refusal as a lane pauses it, until it gets an answer. */
async function lastThroughLimit({ status = 429, body = {}, toError }: (typeof VENDORS)[string], random: number) {
  const http = createHttpClient({ userAgent: 'test', clock: () => world.now });
  // The target's first request meets a limit that has begun a moment before.
  Object.assign(world, { now: BEGIN + 300, status });
  const firstAt = world.now;
  for (let refused = 0; refused < 50; refused += 1) {
    const answer = await http.send({ label: 'x', method: 'GET', url, signal: new AbortController().signal });
    if (answer.status === 200) return { refused, lateMs: world.now - BEGIN - LIMIT_MS };
    const error = toError({ status: answer.status, body, retryAfterMs: answer.retryAfterMs });
    world.now += 50 + targetBackoffMs(error, () => random, world.now - firstAt);
  }
  throw new Error('it never ends');
}

/** The clinic's client with its budget, which waits outside of the call as a job that comes back. */
async function clinicThroughLimit(random: number) {
  Object.assign(world, { now: BEGIN + 300, status: 429, refused: 0 });
  const connection = redis.connect();
  const limits = { requestsPerMinute: 6_000, burst: 100 };
  const name = `clinic-${random}`;
  const budget = openBudgetShare(
    connection,
    { budget: name, participant: 'tenant', limits, priority: 'background' },
    { pauseWaitMs: 0 },
  );
  const http = createHttpClient({ userAgent: 'test', clock: () => world.now });
  const { client } = openClient(url, profileOf(), { http, budget, clock: () => world.now });
  const firstAt = world.now;
  for (let tries = 0; tries < 50; tries += 1) {
    const failure = await client.userInfo(unhurried()).then(
      () => null,
      (error: unknown) => asMirrorError(error),
    );
    if (failure === null) return { refused: world.refused, lateMs: world.now - BEGIN - LIMIT_MS };
    const waitMs = 50 + targetBackoffMs(failure, () => random, world.now - firstAt);
    world.now += waitMs;
    await moveBudget(connection, name, waitMs);
  }
  throw new Error('it never ends');
}

test.each(Object.entries(FORMS))(
  'a limit of 20 seconds at the clinic reported by %s causes at most two refusals, and ends within 10 s',
  async (form, headers) => {
    world.headers = headers;
    const lasted: Lasted[] = [];
    for (const random of [0, 0.5, 0.999]) lasted.push(await clinicThroughLimit(random));
    table.note(form, 'the clinic', lasted);
    for (const { refused, lateMs } of lasted) {
      expect(refused).toBeLessThanOrEqual(2);
      expect(lateMs).toBeLessThanOrEqual(10_000);
    }
  },
);

describe.each(Object.entries(VENDORS))('a limit of 20 seconds at %s', (side, vendor) => {
  test.each(Object.entries(FORMS))(
    'reported by %s causes at most two refusals, and ends within 10 s',
    async (form, headers) => {
      world.headers = headers;
      const lasted: Lasted[] = [];
      for (const random of [0, 0.5, 0.999]) {
        lasted.push(await lastThroughLimit(vendor, random));
      }
      table.note(form, side, lasted);
      for (const { refused, lateMs } of lasted) {
        expect(refused).toBeLessThanOrEqual(2);
        expect(lateMs).toBeLessThanOrEqual(10_000);
      }
    },
  );
});
